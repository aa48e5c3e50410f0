package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-dynawire",
		Short: "Wire plain pod specs into NVIDIA Dynamo's service discovery",
		Long: `Wire plain pod specs into NVIDIA Dynamo's service discovery, without a cluster: the same
core as dynawire's webhook, the same words.

Exit codes: 0 done; 1 found what --exit-code asks for; 2 wrong usage, or input that cannot be read.`,
		Example: `  # what dynawire knows about the pods of a file, what it would add and refuse
  kubectl dynawire explain -f worker.yaml

  # wire a directory of manifests and apply it
  kubectl dynawire inject -R -f deploy/ | kubectl apply -f -

  # show what inject would change
  kubectl dynawire inject -f worker.yaml -o diff`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl dynawire"}
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newInject(), newUninject(), newExplain())
	return root
}
