package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// component is a Dynamo component in a Kubernetes namespace, by the values of the pods' labels.
type component struct {
	namespace       string
	dynamoNamespace string
	name            string
}

// componentOf reads a component from labels; ok is false where they name none.
func componentOf(namespace string, l map[string]string) (c component, ok bool) {
	c = component{namespace, l[wiring.LabelNamespace], l[wiring.LabelComponent]}
	return c, c.dynamoNamespace != "" && c.name != ""
}

// index is the component as a value of the pods' index; frontends have one of their own.
func (c component) index(frontend bool) string {
	if frontend {
		return c.dynamoNamespace + "/" + c.name + "/frontend"
	}
	return c.dynamoNamespace + "/" + c.name
}

// selector picks the component's pods, by the identity labels alone: whatever wired them.
func (c component) selector() map[string]string {
	return map[string]string{wiring.LabelNamespace: c.dynamoNamespace, wiring.LabelComponent: c.name}
}

// labels of the component's Service, which its EndpointSlices inherit. Dynamo selects slices by the first.
func (c component) labels() map[string]string {
	l := c.selector()
	l[wiring.LabelDiscoveryEnabled] = "true"
	l[wiring.LabelDiscoveryBackend] = wiring.BackendKubernetes
	maps.Copy(l, managedLabels())
	return l
}

// names are what the component's Service may be called, best first: the second is for where a Service of the user's
// has the first. Nobody looks Services up by name.
func (c component) names() []string {
	first := wiring.ServiceName(c.dynamoNamespace, c.name)
	sum := sha256.Sum256([]byte(c.dynamoNamespace + "\x00" + c.name))
	const hashLen = 8
	stem := first
	if limit := validation.DNS1035LabelMaxLength - hashLen - 1; len(stem) > limit {
		stem = strings.TrimRight(stem[:limit], "-")
	}
	return []string{first, stem + "-" + hex.EncodeToString(sum[:])[:hashLen]}
}

// port is the only one of a component's Service. A worker's is the constant number of the system server: Dynamo reads
// addresses, not ports, from the slices, and a number means that the endpoints of all pods stay in one slice. A
// frontend's Service is there for clients, who need the port that the process really listens on: the named one.
func port(frontend bool) corev1.ServicePort {
	if frontend {
		return corev1.ServicePort{
			Name: wiring.HTTPPortName, Port: wiring.HTTPPort, TargetPort: intstr.FromString(wiring.HTTPPortName), Protocol: corev1.ProtocolTCP,
		}
	}
	return corev1.ServicePort{
		Name: wiring.SystemPortName, Port: wiring.SystemPort, TargetPort: intstr.FromInt32(wiring.SystemPort), Protocol: corev1.ProtocolTCP,
	}
}

// applyService is the Service of a component. Workers' are headless: nobody calls them by a virtual address.
func applyService(c component, name string, frontend bool) *applycore.ServiceApplyConfiguration {
	p := port(frontend)
	spec := applycore.ServiceSpec().
		WithType(corev1.ServiceTypeClusterIP).
		WithSelector(c.selector()).
		WithPublishNotReadyAddresses(false).
		WithPorts(applycore.ServicePort().WithName(p.Name).WithPort(p.Port).WithTargetPort(p.TargetPort).WithProtocol(p.Protocol))
	if !frontend {
		spec.WithClusterIP(corev1.ClusterIPNone)
	}
	return applycore.Service(name, c.namespace).WithLabels(c.labels()).WithSpec(spec)
}

// isHeadless decides whether a Service can become what it should be without being made anew.
func isHeadless(s *corev1.Service) bool { return s.Spec.ClusterIP == corev1.ClusterIPNone }

// upToDate is whether everything that applyService writes is there. What others added is theirs.
func upToDate(s *corev1.Service, c component, frontend bool) bool {
	for k, v := range c.labels() {
		if s.Labels[k] != v {
			return false
		}
	}
	if s.Spec.Type != corev1.ServiceTypeClusterIP || s.Spec.PublishNotReadyAddresses || !maps.Equal(s.Spec.Selector, c.selector()) {
		return false
	}
	want := port(frontend)
	for _, p := range s.Spec.Ports {
		if p.Name == want.Name && p.Port == want.Port && p.TargetPort == want.TargetPort && p.Protocol == want.Protocol {
			return true
		}
	}
	return false
}
