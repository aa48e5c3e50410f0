// Package fakecluster is the part of a Kubernetes cluster that discovery runs on, in this process: an API server (apitest),
// pods whose readiness a kubelet asks for, a Service for each component as dynawire makes it, and the EndpointSlice
// controller's own code (k8s.io/endpointslice) that writes the slices. So slices are filled, split, recycled and moved here
// the way they are in a real cluster, and it can be made to do so at will.
package fakecluster

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Options change what is built. The zero value is right for most tests.
type Options struct {
	// SliceSize is how many endpoints the controller puts into a slice; 0 means 3, so that a few pods need several slices.
	SliceSize int
	// DualStack gives pods an IPv6 address, too, and Services a second set of slices.
	DualStack bool
	// Period is how often the kubelet asks; 0 means 2 ms.
	Period time.Duration
}

// Cluster is the fake. All methods may be called from any goroutine.
type Cluster struct {
	// API is the API server: tests end its watches, forget its history, take it down, deny verbs.
	API *apitest.Server

	options    Options
	controller *controller

	mu       sync.Mutex
	pods     map[string]*pod // by name
	services map[string]*corev1.Service
	dead     []dead
	created  int
}

type pod struct {
	object *corev1.Pod
	health *runtime.Health
}

// dead is a pod whose dependants the garbage collector has yet to find.
type dead struct {
	namespace, name string
	uid             types.UID
	at              time.Time
}

// Pod is what Run runs.
type Pod struct {
	Name, Namespace string
	// Labels as the pod's author and dynawire's webhook wrote them; a pod with a component gets a Service.
	Labels map[string]string
	// Health is what the kubelet asks; nil is a pod that never becomes ready.
	Health *runtime.Health
	// Container is its one container's name; empty means "main".
	Container string
}

// Labels are those that dynawire gives the pods of a component, their Service and its slices.
func Labels(namespace, component string) map[string]string {
	return map[string]string{
		wiring.LabelDiscoveryEnabled: "true", wiring.LabelDiscoveryBackend: wiring.BackendKubernetes,
		wiring.LabelNamespace: namespace, wiring.LabelComponent: component,
	}
}

// New starts a cluster, which ends with the test.
func New(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.SliceSize == 0 {
		o.SliceSize = 3
	}
	if o.Period == 0 {
		o.Period = 2 * time.Millisecond
	}
	c := &Cluster{API: apitest.New(t), options: o, pods: map[string]*pod{}, services: map[string]*corev1.Service{}}
	c.controller = newController(c.API, o.SliceSize)
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { c.kubelet(stop) })
	t.Cleanup(func() {
		close(stop)
		running.Wait()
	})
	return c
}

// Run creates a pod and returns what its process finds in its environment. The name must be free.
func (c *Cluster) Run(p Pod) runtime.Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.created++
	uid := types.UID(fmt.Sprintf("pod-uid-%d", c.created))
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: uid, Labels: maps.Clone(p.Labels)},
		Spec:       corev1.PodSpec{NodeName: nodeName},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: c.addresses()},
	}
	object.Status.PodIP = object.Status.PodIPs[0].IP
	object.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: cmp.Or(p.Container, "main")}}
	setReady(object, false)
	c.pods[p.Name] = &pod{object: object, health: p.Health}
	c.API.Set(object)
	if component := p.Labels[wiring.LabelComponent]; component != "" {
		c.ensureService(p.Namespace, p.Labels[wiring.LabelNamespace], component)
	}
	c.sync()
	return runtime.Identity{
		PodName: p.Name, PodNamespace: p.Namespace, PodUID: string(uid), Backend: wiring.BackendKubernetes,
		Namespace: p.Labels[wiring.LabelNamespace], Component: p.Labels[wiring.LabelComponent], Endpoint: wiring.DefaultEndpoint,
	}
}

// addresses are the next ones of the ranges for benchmarks and documentation. Called with mu held.
func (c *Cluster) addresses() []corev1.PodIP {
	n := c.created
	ips := []corev1.PodIP{{IP: netip.AddrFrom4([4]byte{198, 18, byte(n >> 8), byte(n)}).String()}}
	if c.options.DualStack {
		ips = append(ips, corev1.PodIP{IP: fmt.Sprintf("2001:db8::%x", n)})
	}
	return ips
}

// Terminate begins to end a pod: it stays in its slices, terminating.
func (c *Cluster) Terminate(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[name]
	if p == nil {
		return
	}
	now := metav1.Now()
	p.change(c, func(o *corev1.Pod) { o.DeletionTimestamp = &now })
	c.sync()
}

// Delete ends a pod at once. What it owned is collected a little later, as in a real cluster.
func (c *Cluster) Delete(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[name]
	if p == nil {
		return
	}
	delete(c.pods, name)
	c.dead = append(c.dead, dead{p.object.Namespace, name, p.object.UID, time.Now()})
	c.API.Delete("pods", p.object.Namespace, name)
	c.sync()
}

// change replaces the pod's object: the old one may be read by others. Called with mu held.
func (p *pod) change(c *Cluster, f func(*corev1.Pod)) {
	p.object = p.object.DeepCopy()
	f(p.object)
	c.API.Set(p.object)
}

// ensureService makes a component's Service as dynawire does: headless, one constant port. Called with mu held.
func (c *Cluster) ensureService(namespace, dynamoNamespace, component string) {
	name := wiring.ServiceName(dynamoNamespace, component)
	if c.services[name] != nil {
		return
	}
	c.services[name] = c.service(namespace, name, dynamoNamespace, component)
}

func (c *Cluster) service(namespace, name, dynamoNamespace, component string) *corev1.Service {
	families := []corev1.IPFamily{corev1.IPv4Protocol}
	if c.options.DualStack {
		families = append(families, corev1.IPv6Protocol)
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, UID: types.UID("service-" + name), Labels: Labels(dynamoNamespace, component),
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, IPFamilies: families,
			Selector: map[string]string{wiring.LabelNamespace: dynamoNamespace, wiring.LabelComponent: component},
			Ports:    []corev1.ServicePort{{Name: wiring.SystemPortName, Port: wiring.SystemPort}},
		},
	}
}
