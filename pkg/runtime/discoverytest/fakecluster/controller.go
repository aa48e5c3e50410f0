package fakecluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

const (
	nodeName       = "node-1"
	zoneName       = "zone-a"
	controllerName = "endpointslice-controller.k8s.io"
)

// controller is the EndpointSlice controller: the real reconciler between the cluster's pods and its API server. Its
// methods are called one at a time.
type controller struct {
	api        *apitest.Server
	reconciler *endpointslice.Reconciler
	slices     map[string]*discoveryv1.EndpointSlice // by namespace/name
	created    int
}

func newController(api *apitest.Server, sliceSize int) *controller {
	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	_ = nodes.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: nodeName, Labels: map[string]string{corev1.LabelTopologyZone: zoneName},
	}}) // cannot fail: the key function knows nodes
	c := &controller{api: api, slices: map[string]*discoveryv1.EndpointSlice{}}
	c.reconciler = endpointslice.NewReconciler(
		clientset{controller: c}, corelisters.NewNodeLister(nodes), int32(sliceSize),
		endpointsliceutil.NewEndpointSliceTracker(), nil, &record.FakeRecorder{}, controllerName,
	)
	return c
}

// sync makes the slices of a Service what the pods say. stale makes it overlook one of them, as a controller does whose
// cache is behind.
func (c *controller) sync(service *corev1.Service, pods []*corev1.Pod, stale bool) error {
	var existing []*discoveryv1.EndpointSlice
	for _, s := range c.slices {
		if s.Namespace == service.Namespace && s.Labels[discoveryv1.LabelServiceName] == service.Name {
			existing = append(existing, s.DeepCopy())
		}
	}
	slices.SortFunc(existing, func(a, b *discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	if stale && len(existing) > 0 {
		existing = existing[1:]
	}
	return c.reconciler.Reconcile(klog.Background(), service, pods, existing, time.Now())
}

// clientset is the little of one that the reconciler uses.
type clientset struct {
	kubernetes.Interface
	controller *controller
}

func (c clientset) DiscoveryV1() discoveryclient.DiscoveryV1Interface {
	return discovery{controller: c.controller}
}

type discovery struct {
	discoveryclient.DiscoveryV1Interface
	controller *controller
}

func (d discovery) EndpointSlices(namespace string) discoveryclient.EndpointSliceInterface {
	return slicesOf{controller: d.controller, namespace: namespace}
}

type slicesOf struct {
	discoveryclient.EndpointSliceInterface
	controller *controller
	namespace  string
}

func (s slicesOf) Create(_ context.Context, es *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	es = es.DeepCopy()
	s.controller.created++
	es.Namespace, es.Name = s.namespace, fmt.Sprintf("%s%05d", es.GenerateName, s.controller.created)
	return s.controller.store(es), nil
}

func (s slicesOf) Update(_ context.Context, es *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	es = es.DeepCopy()
	es.Namespace = s.namespace
	if s.controller.slices[s.namespace+"/"+es.Name] == nil {
		return nil, apierrors.NewNotFound(discoveryv1.Resource("endpointslices"), es.Name)
	}
	return s.controller.store(es), nil
}

func (s slicesOf) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	delete(s.controller.slices, s.namespace+"/"+name)
	s.controller.api.Delete("endpointslices", s.namespace, name)
	return nil
}

func (c *controller) store(es *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	es.Generation++
	stored, ok := c.api.Set(es).(*discoveryv1.EndpointSlice)
	if !ok {
		return es
	}
	c.slices[es.Namespace+"/"+es.Name] = stored
	return stored.DeepCopy()
}

// drop deletes what is left of a Service's slices: the garbage collector's work.
func (c *controller) drop(service *corev1.Service) {
	for key, s := range c.slices {
		if s.Namespace == service.Namespace && s.Labels[discoveryv1.LabelServiceName] == service.Name {
			delete(c.slices, key)
			c.api.Delete("endpointslices", s.Namespace, s.Name)
		}
	}
}
