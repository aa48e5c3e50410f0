// Webhook is dynawire's server: the admission webhooks, and the reconcilers that make what they rely on.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/dynawire/dynawire/internal/build"
)

// version is set by the build, or not: -ldflags "-X main.version=v1.2.3".
var version string

// built is what this build is, with or without that.
var built = build.Version(version)

// gcPercent is half of Go's default: nearly all of the heap is caches, which live on, and requests allocate little, so
// that smaller headroom saves a third of the memory and costs next to no time. GOGC in the environment decides instead.
const gcPercent = 50

func main() {
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	case o.printVersion:
		fmt.Println(built)
		return
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if o.pprofAddress == "" {
		runtime.MemProfileRate = 0 // what nobody can ask for needs no memory either
	}
	log := newLogger(os.Stderr, o.logLevel, o.logFormat)
	if err := run(ctrl.SetupSignalHandler(), log, o); err != nil {
		log.Error(err, "webhook server failed")
		os.Exit(1)
	}
}
