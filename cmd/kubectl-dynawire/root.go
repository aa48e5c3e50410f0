package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-dynawire",
		Short: "Wire plain pod specs into NVIDIA Dynamo's service discovery",
		Long: `Wire plain pod specs into NVIDIA Dynamo's service discovery, and see what is wrong with them: the
same core as dynawire's webhook, the same words. Manifests need no cluster.

Exit codes: 0 done; 1 found what check, or --exit-code, asks for; 2 wrong usage, or input that cannot
be read.`,
		Example: `  # what dynawire knows about the pods of a file, what it would add and refuse
  kubectl dynawire explain -f worker.yaml

  # judge manifests in CI
  kubectl dynawire check -R -f deploy/

  # wire a directory of manifests and apply it
  kubectl dynawire inject -R -f deploy/ | kubectl apply -f -

  # show what inject would change
  kubectl dynawire inject -f worker.yaml -o diff`,
		Version:       built,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl dynawire"}
	}
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newInstances(), newDiagnose(), newAudit())
	root.AddCommand(newInject(), newUninject(), newExplain(), newCheck())
	return root
}

// flagError adds the flags that may have been meant, and where all of them are.
func flagError(c *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	}
	name, meant := unknown.GetSpecifiedName(), ""
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if n := min(3, len(f.Name)); len(name) > n && !f.Hidden && strings.HasPrefix(name, f.Name[:n]) {
			meant += " --" + f.Name
		}
	})
	if meant != "" {
		return fmt.Errorf("%w: did you mean%s?", err, meant)
	}
	return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
}
