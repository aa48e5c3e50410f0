package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/internal/cli/encode"
	"github.com/dynawire/dynawire/internal/cli/explain"
)

func newExplain() *cobra.Command {
	var in input
	var format string
	var exitCode bool
	c := &cobra.Command{
		Use:   "explain -f FILE",
		Short: "Tell who pods are, how that is known, what they would be given and what would be refused",
		Long: `Tell for each object who its pods are, how and how surely that is known and from where, what the
webhook would add, and what it would refuse by which rule.

With -o json or yaml: one list with an entry for each object, in their order. Keys: object, pod
(touched, skipped), reason (not-dynamo, opted-out, operator-owned), identity (namespace, component,
endpoint, role, how), deny and warn (ids of rules), messages, patch (relative to the pod template).
What an object does not say is null.`,
		Example: `  kubectl dynawire explain -f worker.yaml
  kubectl get deployments -o yaml | kubectl dynawire explain -f - -o json
  kubectl dynawire explain -R -f deploy/ --exit-code   # for CI: 1 if something would be refused`,
		Args: noFiles,
		RunE: func(c *cobra.Command, _ []string) error {
			entries, err := in.explain(c.InOrStdin())
			if err != nil {
				return err
			}
			if err := writeEntries(c.OutOrStdout(), entries, format); err != nil {
				return err
			}
			for i := range entries {
				if exitCode && len(entries[i].Deny) > 0 {
					return errFound
				}
			}
			return nil
		},
	}
	in.flags(c)
	c.Flags().StringVarP(&format, "output", "o", "text", "text, json or yaml")
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 1 if something would be refused")
	return c
}

func (in *input) explain(stdin io.Reader) ([]explain.Entry, error) {
	files, o, err := in.read(stdin)
	if err != nil {
		return nil, err
	}
	entries := []explain.Entry{}
	for _, file := range files {
		for i := range file.Documents {
			some, err := explain.Document(&file.Documents[i], o.Namespaces, o.ServiceAccount)
			if err != nil {
				return nil, err
			}
			entries = append(entries, some...)
		}
	}
	return entries, nil
}

func writeEntries(w io.Writer, entries []explain.Entry, format string) error {
	switch format {
	case "text":
		for i := range entries {
			if err := entries[i].Text(w); err != nil {
				return err
			}
		}
		return nil
	case "json":
		return encode.JSON(w, entries)
	case "yaml":
		return encode.YAML(w, entries)
	}
	return fmt.Errorf("output format %q is unknown: want text, json or yaml", format)
}
