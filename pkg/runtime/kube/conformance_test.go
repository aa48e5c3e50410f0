package kube_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/discoverytest"
	"github.com/dynawire/dynawire/pkg/runtime/discoverytest/fakecluster"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

// pods is the fake cluster as the suite wants it.
type pods struct {
	*fakecluster.Cluster
	change func(*kube.Config)
}

func (p pods) Start(t testing.TB, pod discoverytest.Pod) runtime.Discovery {
	health := runtime.NewHealth()
	run := fakecluster.Pod{Name: pod.Name, Namespace: kubeNamespace, Health: health}
	if pod.Component != "" {
		run.Labels = fakecluster.Labels(pod.Namespace, pod.Component)
	}
	cfg := kube.Config{
		Identity: p.Run(run), REST: p.API.Config(), Health: health,
		Logger: slog.New(slog.DiscardHandler), ServiceWait: patience,
	}
	if p.change != nil {
		p.change(&cfg)
	}
	c, err := kube.New(cfg)
	require.NoError(t, err)
	return c
}

func (p pods) Terminate(_ testing.TB, name string) { p.Cluster.Terminate(name) }
func (p pods) Delete(_ testing.TB, name string)    { p.Cluster.Delete(name) }
func (p pods) Interrupt(_ testing.TB, away bool)   { p.API.SetDown(away) }

// shaken also lets the cluster misbehave.
type shaken struct{ pods }

func (p shaken) Shake(_ testing.TB, round int) { p.Cluster.Shake(round) }

func TestConformance(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster fakecluster.Options
		change  func(*kube.Config)
	}{
		"DynamoWorkerMetadata": {},
		"ConfigMap":            {change: func(c *kube.Config) { c.MetadataStore = kube.ConfigMaps }},
		"containers":           {change: func(c *kube.Config) { c.Identity.Container = "main" }},
		"dual stack":           {cluster: fakecluster.Options{SliceSize: 1, DualStack: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			discoverytest.Run(t, func(t *testing.T) discoverytest.World {
				return shaken{pods{fakecluster.New(t, tc.cluster), tc.change}}
			})
		})
	}
}
