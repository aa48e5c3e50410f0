// Kubectl-dynawire is dynawire's command line: it wires manifests as the webhook wires pods, takes the wiring out again, explains
// what it knows, judges manifests and clusters, and looks at what runs. As kubectl-dynawire on the PATH it is "kubectl dynawire".
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dynawire/dynawire/internal/build"
)

// version is set by the build, or not: -ldflags "-X main.version=v1.2.3".
var version string

// built is what this build is, with or without that.
var built = build.Version(version)

// The exit codes.
const (
	exitOK = 0
	// exitFound is for --exit-code, and what check fails on.
	exitFound = 1
	// exitFailed: wrong usage, or input that cannot be read.
	exitFailed = 2
)

// errFound ends a command that found what it was asked for. It has nothing to say.
var errFound = errors.New("found")

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	switch err := root.Execute(); {
	case err == nil:
		return exitOK
	case errors.Is(err, errFound):
		return exitFound
	default:
		_, _ = fmt.Fprintln(stderr, "error:", err)
		return exitFailed
	}
}
