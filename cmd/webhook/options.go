package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/dynawire/dynawire/certs"
)

// namespaceFile is where a pod finds its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Values of --cert-mode.
const (
	certSelfManaged = "self-managed"
	certFiles       = "files"
)

// options are the flags.
type options struct {
	kubeconfig   string
	namespace    string
	excluded     []string
	printVersion bool

	webhookHost   string
	webhookPort   int
	tlsMinVersion uint16
	shutdownDelay time.Duration
	accountWait   time.Duration

	certMode       string
	certDir        string
	caSecret       string
	service        string
	dnsNames       []string
	publishBundle  bool
	configurations certs.Configurations

	leaderElection  bool
	idleServiceTTL  time.Duration
	reportRetention time.Duration
	driftInterval   time.Duration
	repairBudget    int

	metricsAddress string
	healthAddress  string
	pprofAddress   string
	logLevel       slog.Level
	logFormat      string
}

// parse reads and checks the flags.
func parse(args []string) (options, error) {
	var o options
	f := pflag.NewFlagSet("webhook", pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() {
		fmt.Fprintf(os.Stderr, "webhook serves dynawire's admission webhooks and runs its reconcilers.\n\nFlags:\n%s", f.FlagUsages())
	}

	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; empty uses the pod's own account")
	f.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace that this server runs in; empty reads $POD_NAMESPACE, then the pod's account")
	f.StringSliceVar(&o.excluded, "exclude-namespaces", []string{"kube-system"}, "namespaces that are never reconciled, beside our own, whatever their labels say; the webhook configurations must exclude them too")

	f.StringVar(&o.webhookHost, "webhook-host", "", "address that the webhook server listens on; empty is all")
	f.IntVar(&o.webhookPort, "webhook-port", 9443, "port of the webhook server")
	minVersion := f.String("tls-min-version", "1.3", "oldest TLS version that the webhook server takes: 1.2 or 1.3")
	f.DurationVar(&o.accountWait, "account-wait", 2*time.Second, "how long a pod's admission waits for the namespace's ServiceAccount before the pod keeps its own; must be well below the webhook's timeoutSeconds")
	f.DurationVar(&o.shutdownDelay, "shutdown-delay", 8*time.Second, "how long to go on serving after SIGTERM, not ready any more, so that the API server calls another replica")

	f.StringVar(&o.certMode, "cert-mode", certSelfManaged, "where the serving certificate comes from: self-managed (own CA, kept in a Secret) or files (for example of cert-manager)")
	f.StringVar(&o.certDir, "cert-dir", "/etc/dynawire/certs", "directory of tls.crt, tls.key and ca.crt; files mode only")
	f.StringVar(&o.caSecret, "ca-secret", "dynawire-webhook-ca", "Secret of our namespace that holds the CA; self-managed mode only")
	f.StringVar(&o.service, "service", "dynawire-webhook", "Service of our namespace through which the API server calls us; it goes into the certificate")
	f.StringSliceVar(&o.dnsNames, "extra-dns-names", nil, "further names for the certificate; self-managed mode only")
	f.BoolVar(&o.publishBundle, "publish-ca-bundle", true, "keep the CA bundle in the webhook configurations; false where something else does, as cert-manager's cainjector")
	f.StringVar(&o.configurations.Mutating, "mutating-webhook-configuration", "dynawire", "name of our MutatingWebhookConfiguration; empty for none")
	f.StringVar(&o.configurations.Validating, "validating-webhook-configuration", "dynawire", "name of our ValidatingWebhookConfiguration; empty for none")

	f.BoolVar(&o.leaderElection, "leader-election", true, "run the reconcilers in one replica only; the webhooks are served by all")
	f.DurationVar(&o.idleServiceTTL, "idle-service-ttl", time.Hour, "how long a component without pods keeps its Service")
	f.DurationVar(&o.reportRetention, "report-retention", 30*24*time.Hour, "how long a namespace's report keeps a finding that has not been made again; 0 keeps it until there is no more room")

	f.DurationVar(&o.driftInterval, "drift-interval", 10*time.Minute, "how long after a scan of all running pods for drift the next one begins; 0 scans never")
	f.IntVar(&o.repairBudget, "repair-budget", 0, "how many unwired pods a scan may evict in each namespace, at most one of a workload; 0 evicts none. It needs the right to create pods/eviction")

	f.StringVar(&o.metricsAddress, "metrics-address", ":8080", "address of /metrics, plain HTTP; 0 turns it off")
	f.StringVar(&o.healthAddress, "health-address", ":8081", "address of /healthz and /readyz, plain HTTP")
	f.StringVar(&o.pprofAddress, "pprof-address", "", "address of /debug/pprof, plain HTTP; empty turns it off")
	f.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "least severe level to log: debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "json", "json or text")
	f.BoolVar(&o.printVersion, "version", false, "print the version and exit")

	if err := f.Parse(args); err != nil || o.printVersion {
		return o, err
	}
	return o, o.complete(f.Args(), *minVersion)
}

// complete derives what was not given and refuses what cannot work.
func (o *options) complete(args []string, minVersion string) error {
	if len(args) > 0 {
		return fmt.Errorf("unknown argument %q", args[0])
	}
	switch minVersion {
	case "1.2":
		o.tlsMinVersion = tls.VersionTLS12
	case "1.3":
		o.tlsMinVersion = tls.VersionTLS13
	default:
		return fmt.Errorf("--tls-min-version is %q, want 1.2 or 1.3", minVersion)
	}
	if o.certMode != certSelfManaged && o.certMode != certFiles {
		return fmt.Errorf("--cert-mode is %q, want %s or %s", o.certMode, certSelfManaged, certFiles)
	}
	if o.logFormat != "json" && o.logFormat != "text" {
		return fmt.Errorf("--log-format is %q, want json or text", o.logFormat)
	}
	if o.driftInterval < 0 || o.repairBudget < 0 {
		return errors.New("--drift-interval and --repair-budget must not be negative")
	}
	if o.repairBudget > 0 && o.driftInterval == 0 {
		return errors.New("--repair-budget needs a --drift-interval: it is the scan that finds what to evict")
	}
	if o.namespace == "" {
		b, err := os.ReadFile(namespaceFile)
		if err != nil {
			return errors.New("the namespace is not known: give --namespace or set POD_NAMESPACE")
		}
		o.namespace = strings.TrimSpace(string(b))
	}
	o.excluded = append(o.excluded, o.namespace)
	o.dnsNames = append([]string{
		o.service + "." + o.namespace + ".svc",
		o.service + "." + o.namespace,
		o.service,
	}, o.dnsNames...)
	return nil
}
