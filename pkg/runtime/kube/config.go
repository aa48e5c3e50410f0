package kube

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// Config says who the process is and how it reaches the API server. The zero value is right in a pod that dynawire wired.
type Config struct {
	// Identity; the zero value means what the environment says (runtime.IdentityFromEnv). A program that only looks, outside
	// a pod, sets PodNamespace.
	Identity runtime.Identity
	// REST is the way to the API server; nil means the in-cluster configuration. It is copied. QPS and burst are raised from
	// client-go's 5 and 10 where they are not set.
	REST *rest.Config
	// Health is what the kubelet asks, where the program serves it itself. Nil means one of the client's own, served on the
	// identity's SystemPort from the first CreateInstance on.
	Health *runtime.Health
	// MetadataStore is where instances publish what they are; empty means WorkerMetadata.
	MetadataStore MetadataStore
	// Logger; nil means slog.Default.
	Logger *slog.Logger
	// Clock; nil means the real one.
	Clock clock.WithDelayedExecution

	// ServiceWait bounds how long CreateInstance waits for a Service to select this pod; 0 means 30 s. dynawire creates the
	// Service when it sees the first pod of a component.
	ServiceWait time.Duration
	// Grace is how long an instance that vanishes from its slices without having been terminating is held back before it is
	// Deleted: while the EndpointSlice controller rewrites slices, live pods are in none for a moment. 0 means 500 ms,
	// negative none.
	Grace time.Duration
	// ListIdle is how long a watch that only ListInstances asked for is kept after the last call; 0 means a minute.
	ListIdle time.Duration
}

const (
	defaultServiceWait = 30 * time.Second
	defaultGrace       = 500 * time.Millisecond
	defaultListIdle    = time.Minute
	// The API server's priority and fairness is the real limit; client-go's default would make a start-up crawl.
	defaultQPS   = 50
	defaultBurst = 100
)

func (c Config) withDefaults() (Config, error) {
	if c.Identity == (runtime.Identity{}) {
		id, err := runtime.IdentityFromEnv()
		if err != nil {
			return c, err
		}
		c.Identity = id
	}
	if c.Identity.PodNamespace == "" {
		return c, fmt.Errorf("config: Identity.PodNamespace is empty: it names the Kubernetes namespace to look in")
	}
	if c.REST == nil {
		r, err := rest.InClusterConfig()
		if err != nil {
			return c, fmt.Errorf("in-cluster configuration (outside a pod, set Config.REST): %w", err)
		}
		c.REST = r
	}
	c.REST = rest.CopyConfig(c.REST)
	c.REST.Timeout = 0 // it would end watches; requests end with their contexts
	if c.REST.QPS == 0 {
		c.REST.QPS, c.REST.Burst = defaultQPS, defaultBurst
	}
	if c.REST.UserAgent == "" {
		c.REST.UserAgent = userAgent()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	for _, d := range []struct {
		value *time.Duration
		zero  time.Duration
	}{{&c.ServiceWait, defaultServiceWait}, {&c.Grace, defaultGrace}, {&c.ListIdle, defaultListIdle}} {
		if *d.value == 0 {
			*d.value = d.zero
		}
	}
	return c, nil
}

// userAgent names this library with the version that is built in.
func userAgent() string {
	const module = "github.com/dynawire/dynawire"
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module && m.Version != "" {
				version = m.Version
			}
		}
	}
	return "dynawire-runtime/" + version
}
