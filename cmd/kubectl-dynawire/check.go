package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/internal/cli/check"
)

// checking is the command that judges objects by the rules.
type checking struct {
	input
	cluster
	kustomization string
	allNamespaces bool
	filter        check.Filter
	severity      string
	failOn        string
	printer       check.Printer
}

func newCheck() *cobra.Command {
	k := &checking{printer: check.Printer{Version: built}}
	c := &cobra.Command{
		Use:   "check -f FILE | -k DIRECTORY | -n NAMESPACE | -A",
		Short: "Judge manifests, or what runs in a cluster, by the rules of admission",
		Long: `Judge pods, the pod templates of workloads, and Services by the rules that the webhook refuses and
warns by. With -f or -k no cluster is asked. With -n or -A the objects of namespaces that are opted in
are read from the cluster, pods as they run, and nothing is written.

What is found goes to standard output, one line that sums it up to standard error. Outcomes: refused,
warned, admitted (under validation: audit), as the object's Namespace has it.

With -o json or yaml: one list with an entry for each object. Keys: object, namespace, file, line,
skipped (not-dynamo, opted-out, operator-owned), findings (rule, severity, outcome, field, line,
message), warnings. -o sarif is SARIF 2.1.0; -o junit has a test case for each object.

Exit codes: 0 nothing at or above --fail-on; 1 something; 2 wrong usage, or input that cannot be read.`,
		Example: `  kubectl dynawire check -R -f deploy/
  kubectl dynawire check -k overlays/production --fail-on warn
  kubectl dynawire check -f deploy/ -o sarif > dynawire.sarif
  kubectl dynawire check -n llm
  kubectl dynawire check -A --rule component-mismatch -o json`,
		Args: noFiles,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return k.run(ctx, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	k.judgingFlags(c)
	f := c.Flags()
	k.cluster.flags(f)
	f.Lookup("namespace").Usage = "Kubernetes namespace to look in"
	f.StringVarP(&k.kustomization, "kustomize", "k", "", "directory with a kustomization, built by the kubectl or kustomize on the PATH")
	f.BoolVarP(&k.allNamespaces, "all-namespaces", "A", false, "all namespaces that are opted in")
	f.StringSliceVar(&k.filter.Rules, "rule", nil, "only what these rules find; may be repeated")
	f.StringVar(&k.severity, "severity", string(check.Warn), "deny or warn: the least that is shown")
	f.StringVar(&k.failOn, "fail-on", string(check.Deny), "deny, warn or never: the least that ends with exit code 1")
	f.StringVarP(&k.printer.Format, "output", "o", "text", "text, json, yaml, sarif or junit")
	_ = c.RegisterFlagCompletionFunc("rule", cobra.FixedCompletions(check.RuleIDs(), cobra.ShellCompDirectiveNoFileComp)) // only fails for a flag that is not there
	return c
}

func (k *checking) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := k.validate(); err != nil {
		return err
	}
	k.printer.FailOn, k.printer.Colour = check.Level(k.failOn), isTerminal(stdout)
	k.filter.Severity = check.Level(k.severity)
	judge := k.offline
	if k.live() {
		judge = k.online
	}
	objects, warnings, err := judge(ctx, stdin, stderr)
	if err != nil {
		return err
	}
	k.filter.Apply(objects)
	var out bytes.Buffer
	if err := k.printer.Print(&out, objects); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	if _, err := stdout.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	slices.Sort(warnings)
	for _, warning := range slices.Compact(warnings) {
		_, _ = fmt.Fprintln(stderr, "warning:", warning)
	}
	_, _ = io.WriteString(stderr, check.Summary(objects))
	if check.Failed(objects, k.printer.FailOn) {
		return errFound
	}
	return nil
}

func (k *checking) live() bool { return k.allNamespaces || k.namespace != "" }

// validate is about the flags.
func (k *checking) validate() error {
	offline := len(k.filenames) > 0 || k.kustomization != ""
	switch {
	case !offline && !k.live():
		return errors.New(`what to check is missing: -f FILE, -f DIRECTORY, "-f -", -k DIRECTORY, or -n NAMESPACE or -A for a cluster`)
	case offline && k.live():
		return errors.New("-f and -k need no cluster, -n and -A look into one: give one or the other. The Namespace of manifests is told by metadata.namespace, --namespace-file and --namespace-annotation")
	case k.allNamespaces && k.namespace != "":
		return errors.New("-A is all namespaces, -n one: give one or the other")
	case !slices.Contains([]string{"deny", "warn"}, k.severity):
		return fmt.Errorf("--severity is %q, want deny or warn", k.severity)
	case !slices.Contains([]string{"deny", "warn", "never"}, k.failOn):
		return fmt.Errorf("--fail-on is %q, want deny, warn or never", k.failOn)
	case k.live() && (k.dynamoNamespace != "" || len(k.annotations) > 0 || k.namespaceFile != ""):
		return errors.New("--dynamo-namespace, --namespace-annotation and --namespace-file are for files: the cluster's Namespaces speak for themselves")
	}
	ids := check.RuleIDs()
	for _, rule := range k.filter.Rules {
		if !slices.Contains(ids, rule) {
			return fmt.Errorf("rule %q is unknown, want one of: %s", rule, strings.Join(ids, ", "))
		}
	}
	return k.printer.Check()
}

func (k *checking) offline(ctx context.Context, stdin io.Reader, _ io.Writer) (found []check.Object, warnings []string, err error) {
	files, err := k.files(stdin)
	if err != nil {
		return nil, nil, err
	}
	if k.kustomization != "" {
		built, err := check.Kustomize(ctx, k.kustomization)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, built)
	}
	namespaces, err := k.namespaces(files)
	if err != nil {
		return nil, nil, err
	}
	found = []check.Object{}
	for n, file := range files {
		for i := range file.Documents {
			objects, more, err := check.Document(&file.Documents[i], namespaces)
			if err != nil {
				return nil, nil, err
			}
			if k.kustomization != "" && n == len(files)-1 {
				check.Built(objects, k.kustomization)
			}
			found, warnings = append(found, objects...), append(warnings, more...)
		}
	}
	return found, warnings, nil
}

func (k *checking) online(ctx context.Context, _ io.Reader, stderr io.Writer) (found []check.Object, warnings []string, err error) {
	config, namespace, err := k.connect()
	if err != nil {
		return nil, nil, err
	}
	config.UserAgent = "kubectl-dynawire/" + built
	cluster, err := check.NewCluster(config)
	if err != nil {
		return nil, nil, err
	}
	if isTerminal(stderr) {
		cluster.Progress = func(namespace string, objects int) {
			_, _ = fmt.Fprintf(stderr, "\r\x1b[Kreading namespace %s, objects so far: %d", namespace, objects)
		}
		defer func() { _, _ = io.WriteString(stderr, "\r\x1b[K") }()
	}
	if k.allNamespaces {
		found, warnings, err = cluster.All(ctx)
	} else {
		found, warnings, err = cluster.Namespace(ctx, namespace)
	}
	if found == nil {
		found = []check.Object{}
	}
	return found, warnings, err
}
