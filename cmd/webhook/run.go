package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/fields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/dynawire/dynawire/certs"
	"github.com/dynawire/dynawire/internal/admission"
	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/internal/controller"
	"github.com/dynawire/dynawire/internal/report/store"
)

// leaderElectionID is the name of the Lease.
const leaderElectionID = "dynawire"

// run wires everything together and serves until ctx ends, and the shutdown delay after that.
func run(ctx context.Context, log logr.Logger, o options) error {
	release(log) // what package initialization has touched
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	source := newSource(config, o)
	mgr, err := newManager(config, log, source, o)
	if err != nil {
		return err
	}
	recorder, err := newRecorder(config, log, mgr, o)
	if err != nil {
		return err
	}
	drain := &admission.Drain{}
	serve(mgr, log, drain, recorder, o)
	if err := addHealth(mgr, log, drain, o); err != nil {
		return err
	}
	if err := mgr.Add(everyReplica(source.Start)); err != nil {
		return fmt.Errorf("add the certificate source: %w", err)
	}
	if err := mgr.Add(releaseLater(log, mgr.GetCache())); err != nil {
		return fmt.Errorf("add the release of pages: %w", err)
	}
	if o.publishBundle {
		publisher := &certs.Publisher{Client: mgr.GetClient(), Source: source, Configurations: o.configurations}
		if err := publisher.SetupWithManager(mgr); err != nil {
			return err
		}
	}
	if err := startCaches(ctx, mgr.GetCache()); err != nil {
		return err
	}
	if err := controller.Setup(ctx, mgr, controller.Options{Excluded: o.excluded, IdleServiceTTL: o.idleServiceTTL}); err != nil {
		return err
	}
	if err := addDrift(mgr, config, log, o); err != nil {
		return err
	}
	log.Info("starting", "version", built, "namespace", o.namespace)

	// The recorder ends after the manager, so that it writes down what was refused last.
	recording, stopRecording := context.WithCancel(context.WithoutCancel(ctx))
	var recorded sync.WaitGroup
	recorded.Go(func() { recorder.Run(recording) })
	defer recorded.Wait()
	defer stopRecording()
	if err := mgr.Start(delayed(ctx, log, drain, o.shutdownDelay)); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	return nil
}

// delayed is a context that ends some time after ctx. Meanwhile the server drains.
func delayed(ctx context.Context, log logr.Logger, drain *admission.Drain, delay time.Duration) context.Context {
	late, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		log.Info("shutting down: not ready any more, still serving", "for", delay.String())
		drain.Begin()
		time.AfterFunc(delay, stop)
	})
	return late
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	// No limit of our own: the API server has priority and fairness, and a pod's admission must not queue behind the
	// reconcilers here.
	config.QPS = -1
	config.UserAgent = "dynawire/" + built
	return config, nil
}

func newSource(config *rest.Config, o options) certs.Source {
	if o.certMode == certFiles {
		return certs.NewFiles(o.certDir)
	}
	return certs.NewSelfManaged(certs.SelfManagedConfig{
		RESTConfig: config, Namespace: o.namespace, Secret: o.caSecret, DNSNames: o.dnsNames,
	})
}

func newManager(config *rest.Config, log logr.Logger, source certs.Source, o options) (ctrl.Manager, error) {
	objects := controller.CachedObjects()
	objects[&admissionv1.MutatingWebhookConfiguration{}] = cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", o.configurations.Mutating)}
	objects[&admissionv1.ValidatingWebhookConfiguration{}] = cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", o.configurations.Validating)}
	// A leader that dies without a word is replaced within lease; one that stops gives the lease back at once.
	lease, renew, retry := 10*time.Second, 7*time.Second, time.Second
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: clientgoscheme.Scheme,
		Logger: log,
		Cache:  cache.Options{ByObject: objects, ReaderFailOnMissingInformer: true},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: o.webhookHost, Port: o.webhookPort,
			TLSOpts: []func(*tls.Config){func(c *tls.Config) {
				c.MinVersion = o.tlsMinVersion
				c.NextProtos = []string{"h2", "http/1.1"}
				c.GetCertificate = source.GetCertificate
			}},
		}),
		Metrics:                       metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:        o.healthAddress,
		PprofBindAddress:              o.pprofAddress,
		LeaderElection:                o.leaderElection,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	return mgr, nil
}

// startCaches makes the caches run that every replica reads: for admission and for readiness. The others run only where the
// reconcilers do.
func startCaches(ctx context.Context, c cache.Cache) error {
	objects := append(controller.AdmissionObjects(), &admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{})
	for _, o := range objects {
		if _, err := c.GetInformer(ctx, o, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("make the cache of %T: %w", o, err)
		}
	}
	return nil
}

func newRecorder(config *rest.Config, log logr.Logger, mgr ctrl.Manager, o options) (*audit.Recorder, error) {
	core, err := corev1client.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make a client for events: %w", err)
	}
	reports, err := store.New(config, mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find the host's name: %w", err)
	}
	return audit.NewRecorder(audit.Config{
		Log: log.WithName("audit"), Owners: &audit.Owners{Live: mgr.GetAPIReader()}, Sink: audit.Events{Client: core},
		Reports: reports, Retention: o.reportRetention, Registerer: metrics.Registry, Host: host,
	}), nil
}

// serve registers the webhooks.
func serve(mgr ctrl.Manager, log logr.Logger, drain *admission.Drain, recorder *audit.Recorder, o options) {
	m := admission.NewMetrics(metrics.Registry)
	a := &admission.Admission{
		Namespaces: &admission.Namespaces{Cached: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Accounts:   &admission.Accounts{Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Wait: o.accountWait, Metrics: m},
		Pods:       &admission.Pods{Live: mgr.GetAPIReader()},
		Recorder:   recorder,
		Metrics:    m,
		Log:        log.WithName("admission"),
	}
	server := mgr.GetWebhookServer()
	for path, hook := range a.Hooks() {
		server.Register(path, drain.Wrap(hook))
	}
	server.WebhookMux().HandleFunc(certs.ProbePath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
}

// everyReplica is something that runs whether or not this replica leads.
type everyReplica func(context.Context) error

var (
	_ manager.Runnable               = everyReplica(nil)
	_ manager.LeaderElectionRunnable = everyReplica(nil)
)

// Start implements manager.Runnable.
func (f everyReplica) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (f everyReplica) NeedLeaderElection() bool { return false }
