package kube_test

import (
	"context"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// From nothing to Synced, over HTTP on loopback from a server in another process that has everything encoded already: 20,000
// endpoints in 200 slices, and the metadata of every pod. ms-to-synced is the median, cpu-ms the client's on all cores;
// B/instance is the heap then, collected, without the metadata documents themselves (B/document), which both keep.
func BenchmarkSync20k(b *testing.B) { benchmarkSync(b, "workers") }

// The same with the metadata of Dynamo's own workers: ten times the bytes.
func BenchmarkSync20kDynamo(b *testing.B) { benchmarkSync(b, "dynamo") }

// The same without metadata: endpoints only, which no Event ever tells of.
func BenchmarkSync20kSlices(b *testing.B) { benchmarkSync(b, "slices") }

// The same in a cluster with two address families: each pod is in a slice of each.
func BenchmarkSync20kDual(b *testing.B) { benchmarkSync(b, "dual") }

func benchmarkSync(b *testing.B, fleet string) {
	for _, side := range []struct {
		name string
		// synced returns when everything is there, with what ends it.
		synced func(b *testing.B, cfg *rest.Config, instances int) (end func())
	}{{"dynawire", syncDynawire}, {"informer", syncInformer}} {
		b.Run(side.name, func(b *testing.B) {
			cfg := serveFleet(b, fleet)
			instances := fleetSize
			if fleet == "slices" {
				instances = 0
			}
			side.synced(b, cfg, instances)() // connections, types, and the server's encoding
			var took, cpu []time.Duration
			var bytes float64
			for b.Loop() {
				b.StopTimer()
				before := heap()
				b.StartTimer()
				start, used := time.Now(), kube.CPUTime()
				end := side.synced(b, cfg, instances)
				took, cpu = append(took, time.Since(start)), append(cpu, kube.CPUTime()-used)
				b.StopTimer()
				bytes = float64(heap()) - float64(before)
				end()
				b.StartTimer()
			}
			slices.Sort(took)
			slices.Sort(cpu)
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
			b.ReportMetric(ms(took[len(took)/2]), "ms-to-synced")
			b.ReportMetric(ms(took[0]), "ms-best")
			b.ReportMetric(ms(cpu[len(cpu)/2]), "cpu-ms")
			b.ReportMetric(bytes/fleetSize-documentSize(fleet), "B/instance")
			b.ReportMetric(documentSize(fleet), "B/document")
			b.ReportMetric(0, "ns/op") // includes the measuring
		})
	}
}

func heap() uint64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

func syncDynawire(b *testing.B, cfg *rest.Config, instances int) func() {
	c, err := kube.New(clientConfig(cfg))
	require.NoError(b, err)
	sub, err := c.Subscribe(b.Context(), dynNamespace, component)
	require.NoError(b, err)
	n := 0
	for ev, err := range sub.Events(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		if ev.Type == runtime.Synced {
			break
		}
		n++
	}
	require.Equal(b, instances, n)
	return func() { require.NoError(b, c.Close()) }
}

func stripManagedFields(obj any) (any, error) {
	if m, err := meta.Accessor(obj); err == nil {
		m.SetManagedFields(nil)
	}
	return obj, nil
}

// informer is client-go's, with the managedFields stripped as is common.
func informer(b *testing.B, cfg *rest.Config, gv schema.GroupVersion, contentType, resource, selector string, example k8sruntime.Object) cache.SharedIndexInformer {
	scheme := k8sruntime.NewScheme()
	require.NoError(b, discoveryv1.AddToScheme(scheme))
	require.NoError(b, v1alpha1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	cfg = rest.CopyConfig(cfg)
	cfg.GroupVersion, cfg.APIPath = &gv, "/apis"
	cfg.ContentType, cfg.AcceptContentTypes = contentType, contentType
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	require.NoError(b, err)
	lw := cache.NewFilteredListWatchFromClient(client, resource, kubeNamespace, func(o *metav1.ListOptions) { o.LabelSelector = selector })
	i := cache.NewSharedIndexInformer(lw, example, 0, cache.Indexers{})
	require.NoError(b, i.SetTransform(stripManagedFields))
	return i
}

func sliceInformer(b *testing.B, cfg *rest.Config) cache.SharedIndexInformer {
	return informer(b, cfg, discoveryv1.SchemeGroupVersion, k8sruntime.ContentTypeProtobuf, "endpointslices",
		wiring.LabelDiscoveryEnabled+"=true,"+wiring.LabelNamespace+"="+dynNamespace+","+wiring.LabelComponent+"="+component,
		&discoveryv1.EndpointSlice{})
}

// syncInformer is what a program on client-go would write: two informers, and handlers that join endpoints and metadata by
// the pod's UID.
func syncInformer(b *testing.B, cfg *rest.Config, instances int) func() {
	slices := sliceInformer(b, cfg)
	metadata := informer(b, cfg, v1alpha1.GroupVersion(), k8sruntime.ContentTypeJSON, v1alpha1.Resource, "", &v1alpha1.DynamoWorkerMetadata{})

	var mu sync.Mutex
	endpoints, owned := map[string]*discoveryv1.Endpoint{}, map[string]*v1alpha1.DynamoWorkerMetadata{}
	ready := 0
	slicesTold, err := slices.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		mu.Lock()
		defer mu.Unlock()
		es := obj.(*discoveryv1.EndpointSlice) //nolint:forcetypeassert // the informer's only type
		for i := range es.Endpoints {
			uid := string(es.Endpoints[i].TargetRef.UID)
			if endpoints[uid] == nil && owned[uid] != nil {
				ready++
			}
			endpoints[uid] = &es.Endpoints[i]
		}
	}})
	require.NoError(b, err)
	metadataTold, err := metadata.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		mu.Lock()
		defer mu.Unlock()
		dwm := obj.(*v1alpha1.DynamoWorkerMetadata) //nolint:forcetypeassert // the informer's only type
		uid := string(dwm.OwnerReferences[0].UID)
		if owned[uid] == nil && endpoints[uid] != nil {
			ready++
		}
		owned[uid] = dwm
	}})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { slices.RunWithContext(ctx) })
	running.Go(func() { metadata.RunWithContext(ctx) })
	for !slicesTold.HasSynced() || !metadataTold.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Equal(b, instances, ready)
	return func() {
		cancel()
		running.Wait()
		goruntime.KeepAlive(endpoints)
		goruntime.KeepAlive(owned)
	}
}
