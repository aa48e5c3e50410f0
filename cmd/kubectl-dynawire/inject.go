package main

import (
	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/internal/cli/wire"
)

func newInject() *cobra.Command {
	return (&transformation{change: wire.Inject}).command(&cobra.Command{
		Use:   "inject -f FILE",
		Short: "Wire the pods of manifests as the webhook would",
		Long: `Write manifests with the labels, variables, port, probe and ServiceAccount that the webhook would
give their pods. Everything else stays as it is written, comments and order included. What happened
to each object, and what the webhook would refuse, is told on standard error.`,
		Example: `  kubectl dynawire inject -f worker.yaml | kubectl apply -f -
  kubectl dynawire inject -R -f deploy/ -o diff
  cat all.yaml | kubectl dynawire inject -f - --dynamo-namespace team-a`,
	})
}

func newUninject() *cobra.Command {
	return (&transformation{change: wire.Uninject}).command(&cobra.Command{
		Use:   "uninject -f FILE",
		Short: "Take out of manifests what inject put in",
		Long: `Write manifests without the labels, variables, port, probe and ServiceAccount that inject puts in.
Only what inject would put in again just so is taken out; what was there before inject stays, as far
as the file's comments tell. Use the flags that inject was used with. A pod that is not wired
completely is left alone.`,
		Example: `  kubectl dynawire uninject -f wired.yaml
  kubectl dynawire inject -f worker.yaml | kubectl dynawire uninject -f - -o diff`,
	})
}
