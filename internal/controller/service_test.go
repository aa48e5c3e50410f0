package controller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestNamesAreValidAndDiffer(t *testing.T) {
	for _, c := range []component{
		{"llm", "dynamo", "backend"}, {"llm", "vllm-disagg", "VllmDecodeWorker"}, {"llm", strings.Repeat("n", 63), strings.Repeat("c", 63)},
		{"llm", strings.Repeat("n", 46), "backend"},
	} {
		names := c.names()
		require.Len(t, names, 2)
		assert.NotEqual(t, names[0], names[1])
		for _, name := range names {
			assert.Empty(t, validation.IsDNS1035Label(name), name)
		}
	}
}

func TestComponentOf(t *testing.T) {
	c, ok := componentOf("llm", map[string]string{wiring.LabelNamespace: "dynamo", wiring.LabelComponent: "backend"})
	assert.True(t, ok)
	assert.Equal(t, component{"llm", "dynamo", "backend"}, c)
	_, ok = componentOf("llm", map[string]string{wiring.LabelNamespace: "dynamo"})
	assert.False(t, ok)
}

// service is a Service as the API server keeps what applyService writes.
func service(c component, frontend bool) *corev1.Service {
	s := &corev1.Service{}
	s.Labels = c.labels()
	s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: c.selector(), Ports: []corev1.ServicePort{port(frontend)}}
	if !frontend {
		s.Spec.ClusterIP = corev1.ClusterIPNone
	}
	return s
}

func TestDriftIsSeen(t *testing.T) {
	c := component{"llm", "dynamo", "backend"}
	for _, frontend := range []bool{false, true} {
		require.True(t, upToDate(service(c, frontend), c, frontend))
		for name, change := range map[string]func(*corev1.Service){
			"label gone":     func(s *corev1.Service) { delete(s.Labels, wiring.LabelDiscoveryEnabled) },
			"label changed":  func(s *corev1.Service) { s.Labels[wiring.LabelComponent] = "x" },
			"selector":       func(s *corev1.Service) { s.Spec.Selector["x"] = "y" },
			"no selector":    func(s *corev1.Service) { s.Spec.Selector = nil },
			"type":           func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort },
			"not ready":      func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true },
			"no port":        func(s *corev1.Service) { s.Spec.Ports = nil },
			"port's name":    func(s *corev1.Service) { s.Spec.Ports[0].Name = "x" },
			"target":         func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("x") },
			"other protocol": func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP },
		} {
			s := service(c, frontend)
			change(s)
			assert.False(t, upToDate(s, c, frontend), name)
		}
		s := service(c, frontend)
		s.Labels["team"] = "a"
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "metrics", Port: 9091})
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		assert.True(t, upToDate(s, c, frontend), "what others add is theirs")
	}
}

func TestSubjectsAreSortedAndUnique(t *testing.T) {
	var names []string
	for _, s := range subjects("llm", []string{"z", "a", "z", wiring.ServiceAccount}) {
		names = append(names, s.Name)
		assert.Equal(t, "llm", s.Namespace)
	}
	assert.Equal(t, []string{"a", wiring.ServiceAccount, "z"}, names)
}
