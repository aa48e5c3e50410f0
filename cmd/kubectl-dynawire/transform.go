package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/internal/cli/explain"
	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/wire"
	"github.com/dynawire/dynawire/pkg/identity"
)

// transformation is a command that writes the manifests that it reads.
type transformation struct {
	input
	change   func(*manifest.Document, *wire.Options) (wire.Result, error)
	format   string
	quiet    bool
	exitCode bool
}

// transformed is a file and what became of its documents.
type transformed struct {
	manifest.File
	results []wire.Result
}

func (t *transformation) command(c *cobra.Command) *cobra.Command {
	c.Args = noFiles
	c.RunE = func(c *cobra.Command, _ []string) error {
		return t.run(c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
	}
	t.flags(c)
	c.Flags().StringVarP(&t.format, "output", "o", "", "yaml, json or diff; else each document stays what it is")
	c.Flags().BoolVarP(&t.quiet, "quiet", "q", false, "say nothing about the objects on standard error")
	c.Flags().BoolVar(&t.exitCode, "exit-code", false, "exit with 1 if something is changed")
	return c
}

func (t *transformation) run(stdin io.Reader, stdout, stderr io.Writer) error {
	write, err := writer(t.format)
	if err != nil {
		return err
	}
	files, options, err := t.read(stdin)
	if err != nil {
		return err
	}
	changed := false
	all := make([]transformed, len(files))
	for i, file := range files {
		all[i].File = file
		for j := range file.Documents {
			r, err := t.change(&file.Documents[j], options)
			if err != nil {
				return err
			}
			changed = changed || r.Changed
			all[i].results = append(all[i].results, r)
		}
	}
	// Everything is read and changed before anything is written: half an output would be applied.
	var out bytes.Buffer
	if err := write(&out, all); err != nil {
		return err
	}
	if _, err := stdout.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	if !t.quiet {
		_, _ = io.WriteString(stderr, report(all))
	}
	if t.exitCode && changed {
		return errFound
	}
	return nil
}

// report tells what happened to each object.
func report(all []transformed) string {
	var b strings.Builder
	for i := range all {
		for _, r := range all[i].results {
			for j := range r.Outcomes {
				b.WriteString(line(&r.Outcomes[j]))
			}
		}
	}
	return b.String()
}

// line is what happened to an object, and what there is to say about it.
func line(o *wire.Outcome) string {
	name := o.Object
	if o.Prefix != "" && o.Prefix != "spec.template." {
		name += " (" + strings.TrimSuffix(o.Prefix, ".") + ")"
	}
	text := name + ": "
	switch {
	case o.Reason != identity.Wired:
		text += "skipped (" + string(o.Reason) + "): " + explain.Sentence(o.Reason) + "\n"
	case o.Incomplete:
		text += "left alone: it is not wired completely\n"
	case o.Changes == 0:
		text += "nothing to change\n"
	case o.Changes == 1:
		text += "1 change\n"
	default:
		text += strconv.Itoa(o.Changes) + " changes\n"
	}
	for _, refusal := range o.Refusals {
		text += "  refused: " + refusal + "\n"
	}
	for _, warning := range o.Warnings {
		text += "  warning: " + warning + "\n"
	}
	return text
}
