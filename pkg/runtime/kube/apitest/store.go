// Package apitest is the part of a Kubernetes API server that the kube backend talks to, for tests: it keeps pods,
// ConfigMaps, EndpointSlices and DynamoWorkerMetadata, streams watches in JSON and protobuf with initial state and
// bookmarks, and can be made to misbehave the way API servers do.
package apitest

import (
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/api/v1alpha1"
)

// Server is the fake. All methods may be called from any goroutine.
type Server struct {
	http   *httptest.Server
	codecs serializer.CodecFactory
	scheme *runtime.Scheme

	mu       sync.Mutex
	version  uint64
	objects  map[string]runtime.Object // by resource/namespace/name
	history  []change
	oldest   uint64 // a watch from before is answered with 410
	watchers map[*watcher]struct{}
	down     bool
	noStream bool
	denied   map[string]bool // "verb resource"
	requests map[string]int  // "verb resource"
	initial  map[string]initialState
}

// initialState is what a watch begins with, encoded: the same for all watches until something changes.
type initialState struct {
	version uint64
	frames  []byte
}

type change struct {
	version  uint64
	resource string
	event    watch.Event
}

type watcher struct {
	request             request
	resource, namespace string
	selector            labels.Selector
	wake                chan struct{}
	first               []byte
	queue               []watch.Event
	ended               bool
}

// New starts a server, which ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server that the caller closes.
func Start() (*Server, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build scheme: %w", err)
		}
	}
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	s := &Server{
		scheme: scheme, codecs: serializer.NewCodecFactory(scheme), version: 100,
		objects: map[string]runtime.Object{}, watchers: map[*watcher]struct{}{},
		denied: map[string]bool{}, requests: map[string]int{}, initial: map[string]initialState{},
	}
	s.http = httptest.NewServer(s)
	return s, nil
}

// Close ends every watch and stops the server.
func (s *Server) Close() {
	s.EndWatches()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Config is how to reach it.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.http.URL, QPS: -1} }

// Set creates or replaces an object and returns it as stored. The kinds are those that the package comment names.
func (s *Server) Set(obj runtime.Object) runtime.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(obj)
}

func (s *Server) set(obj runtime.Object) runtime.Object {
	obj = obj.DeepCopyObject()
	resource := resourceOf(obj)
	m, _ := meta.Accessor(obj)
	key := keyOf(resource, m.GetNamespace(), m.GetName())
	typ := watch.Added
	if old := s.objects[key]; old != nil {
		typ = watch.Modified
		om, _ := meta.Accessor(old)
		m.SetUID(om.GetUID())
	}
	s.version++
	if m.GetUID() == "" {
		m.SetUID(types.UID(fmt.Sprintf("uid-%d", s.version)))
	}
	m.SetResourceVersion(strconv.FormatUint(s.version, 10))
	s.objects[key] = obj
	s.publish(resource, watch.Event{Type: typ, Object: obj})
	return obj
}

// Delete removes an object; resource is the plural.
func (s *Server) Delete(resource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(resource, namespace, name)
	obj := s.objects[key]
	if obj == nil {
		return
	}
	delete(s.objects, key)
	s.version++
	obj = obj.DeepCopyObject()
	m, _ := meta.Accessor(obj)
	m.SetResourceVersion(strconv.FormatUint(s.version, 10))
	s.publish(resource, watch.Event{Type: watch.Deleted, Object: obj})
}

// Get returns an object as stored, or nil.
func (s *Server) Get(resource, namespace, name string) runtime.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[keyOf(resource, namespace, name)]
}

// All returns the objects of a namespace as stored, by name.
func (s *Server) All(resource, namespace string) []runtime.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.matching(request{resource: resource, namespace: namespace}, labels.Everything())
}

func (s *Server) publish(resource string, ev watch.Event) {
	s.history = append(s.history, change{s.version, resource, ev})
	for w := range s.watchers {
		w.offer(resource, ev)
	}
}

// EndWatches closes every watch the way an API server does when it stops or a timeout is over.
func (s *Server) EndWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		w.ended = true
		w.notify()
	}
}

// Bookmark tells every watch how far it has heard.
func (s *Server) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		ev := s.bookmark(w.request)
		if m, err := meta.Accessor(ev.Object); err == nil {
			m.SetAnnotations(nil)
		}
		w.queue = append(w.queue, ev)
		w.notify()
	}
}

// Trim forgets what happened so far: only a watch that has heard of the last version, of whatever resource, can resume.
func (s *Server) Trim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history, s.oldest = nil, s.version
}

// Compact forgets the history: a watch that wants to resume is told to start over.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history, s.oldest = nil, s.version+1
	s.version++
}

// SetDown makes every request fail with 503, or work again, and ends the watches.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	if down {
		s.EndWatches()
	}
}

// Deny makes a verb on a resource answer 403.
func (s *Server) Deny(verb, resource string, denied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[verb+" "+resource] = denied
}

// RefuseInitialState makes watches that ask for the initial state fail, as API servers do that cannot stream it.
func (s *Server) RefuseInitialState() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noStream = true
}

// Requests is how often a verb was used on a resource.
func (s *Server) Requests(verb, resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[verb+" "+resource]
}

// Watches is how many watches are open.
func (s *Server) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watchers)
}

// WaitWatches waits until so many watches are open.
func (s *Server) WaitWatches(t testing.TB, n int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for s.Watches() != n {
		if time.Now().After(deadline) {
			t.Fatalf("%d watches are open, want %d", s.Watches(), n)
		}
		time.Sleep(time.Millisecond)
	}
}

func (w *watcher) offer(resource string, ev watch.Event) {
	m, _ := meta.Accessor(ev.Object)
	if w.ended || resource != w.resource || m.GetNamespace() != w.namespace || !w.selector.Matches(labels.Set(m.GetLabels())) {
		return
	}
	w.queue = append(w.queue, ev)
	w.notify()
}

func (w *watcher) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func keyOf(resource, namespace, name string) string {
	return strings.Join([]string{resource, namespace, name}, "/")
}

func resourceOf(obj runtime.Object) string {
	switch obj.(type) {
	case *corev1.Pod:
		return "pods"
	case *corev1.ConfigMap:
		return "configmaps"
	case *discoveryv1.EndpointSlice:
		return "endpointslices"
	case *v1alpha1.DynamoWorkerMetadata:
		return v1alpha1.Resource
	default:
		return fmt.Sprintf("%T", obj)
	}
}
