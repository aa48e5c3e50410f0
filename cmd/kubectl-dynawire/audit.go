package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/internal/cli/audit"
	"github.com/dynawire/dynawire/internal/drift/lack"
	"github.com/dynawire/dynawire/internal/report/store"
	"github.com/dynawire/dynawire/pkg/validate"
)

// auditing is the command that shows the Reports of a cluster.
type auditing struct {
	cluster
	allNamespaces bool
	since         string
	rule          string
	watch         bool
	exitCode      bool
	printer       audit.Printer
}

func newAudit() *cobra.Command {
	a := &auditing{printer: audit.Printer{Now: time.Now}}
	c := &cobra.Command{
		Use:   "audit",
		Short: "Show what was refused or warned of in a cluster and why, and what runs that should not",
		Long: `Show what the reports of a namespace say (reports.openreports.io, kept by dynawire): what admission
refused, warned of or let in, and what the last scan of running pods found. One line for each object,
rule and outcome, however often it was; what was seen last stands at the end.

With -o json or yaml: one list, with an entry for each field and message. Keys: lastSeen, firstSeen,
count, namespace, object, example, rule, severity (deny, warn), outcome (refused, warned, admitted,
running), field, message, mode, operation, user, report. With --watch, JSON has one object on each line.`,
		Example: `  kubectl dynawire audit -n llm
  kubectl dynawire audit -A --since 7d -o wide
  kubectl dynawire audit -A --rule component-mismatch --watch
  kubectl dynawire audit -n llm --since 1h --exit-code   # 1 if there is anything`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%[1]q is no flag: %[2]s takes no arguments; -n %[3]s is the namespace, --rule %[3]s a rule", args[0], c.CommandPath(), args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return a.run(ctx, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	a.flags(f)
	f.BoolVarP(&a.allNamespaces, "all-namespaces", "A", false, "all namespaces")
	f.StringVar(&a.since, "since", "", "only what was seen in this time: 30m, 24h, 7d")
	f.StringVar(&a.rule, "rule", "", "only what this rule found")
	f.StringVarP(&a.printer.Format, "output", "o", "", "wide, json or yaml; else a table")
	_ = c.RegisterFlagCompletionFunc("rule", cobra.FixedCompletions(ruleIDs(), cobra.ShellCompDirectiveNoFileComp)) // only fails for a flag that is not there
	f.BoolVarP(&a.watch, "watch", "w", false, "go on with what is found anew or again")
	f.BoolVar(&a.exitCode, "exit-code", false, "exit with 1 if there is anything to show")
	return c
}

func (a *auditing) run(ctx context.Context, stdout, stderr io.Writer) error {
	filter, err := a.filter(time.Now())
	if err != nil {
		return err
	}
	if err := a.printer.Check(); err != nil {
		return err
	}
	if a.watch && a.exitCode {
		return errors.New("--watch never ends by itself: --exit-code has no meaning beside it")
	}
	a.printer.Namespaces, a.printer.Colour, a.printer.Streaming = a.allNamespaces, isTerminal(stdout), a.watch
	reports, namespace, err := a.open()
	if err != nil {
		return err
	}
	if a.allNamespaces {
		namespace = ""
	}
	if a.watch {
		return explained(audit.Follow(ctx, reports, namespace, filter, func(findings []audit.Finding) error {
			return a.printer.Print(stdout, findings)
		}))
	}
	list, err := reports.List(ctx, namespace)
	if err != nil {
		return explained(err)
	}
	findings := audit.Findings(list.Items, filter)
	if len(findings) == 0 && a.printer.Table() {
		_, _ = fmt.Fprintln(stderr, "no findings"+in(namespace)+".")
		return nil
	}
	if err := a.printer.Print(stdout, findings); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	if n := audit.Dropped(list.Items); n > 0 {
		_, _ = fmt.Fprintf(stderr, "older findings that had no room in the reports, and are in the webhook's log: %d\n", n)
	}
	if a.exitCode && len(findings) > 0 {
		return errFound
	}
	return nil
}

func in(namespace string) string {
	if namespace == "" {
		return " in any namespace"
	}
	return " in namespace " + namespace
}

// driftRules are the ids of what the scan of running pods finds, beside the rules of admission: see internal/drift.
var driftRules = []string{lack.Unwired, lack.Outdated, "model-mismatch"}

// ruleIDs are all that --rule may be.
func ruleIDs() []string {
	var ids []string
	for _, r := range validate.Rules() {
		ids = append(ids, r.ID)
	}
	return append(ids, driftRules...)
}

// filter reads --since and --rule.
func (a *auditing) filter(now time.Time) (audit.Filter, error) {
	f := audit.Filter{Rule: a.rule, Lines: a.printer.Table()}
	if ids := ruleIDs(); a.rule != "" && !slices.Contains(ids, a.rule) {
		return f, fmt.Errorf("rule %q is unknown, want one of: %s", a.rule, strings.Join(ids, ", "))
	}
	if a.since == "" {
		return f, nil
	}
	age, err := time.ParseDuration(a.since)
	if days, ok := strings.CutSuffix(a.since, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		age = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || age <= 0 {
		return f, fmt.Errorf("--since is %q, want a time like 30m, 24h or 7d", a.since)
	}
	f.After = now.Add(-age)
	return f, nil
}

// explained adds what to do about errors that are the cluster's.
func explained(err error) error {
	switch {
	case errors.Is(err, store.ErrNotInstalled):
		return fmt.Errorf("%w: dynawire keeps no reports in this cluster. Install it with: kubectl create -k manifests/crds/openreports", store.ErrNotInstalled)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w. Ask for a Role that allows get, list and watch on %s", err, store.CRD)
	case err != nil:
		return fmt.Errorf("read the reports: %w", err)
	}
	return nil
}

// isTerminal is whether colours are welcome.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || slices.Contains([]string{"", "dumb"}, os.Getenv("TERM")) {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// open makes the client and tells the namespace.
func (a *auditing) open() (*store.Client, string, error) {
	config, namespace, err := a.connect()
	if err != nil {
		return nil, "", err
	}
	config.UserAgent = "kubectl-dynawire/" + built
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, "", fmt.Errorf("make a client: %w", err)
	}
	client, err := store.New(config, h)
	return client, namespace, err
}
