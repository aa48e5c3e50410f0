package admission

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Writer is what a pod that writes is allowed to say.
type Writer struct {
	// Labels of identity.
	Labels map[string]string
	// Containers by name, native sidecars among them.
	Containers []string
}

const (
	// writersKept bounds the memory of look-ups, at about half a kilobyte each.
	writersKept = 4096
	// writerAge is how long labels are believed. The identity of a running pod does not change under validation: enforce.
	writerAge = 5 * time.Minute
	// podTimeout is well below the timeout of the webhooks that look pods up.
	podTimeout = time.Second
)

// Pods is the PodGetter of a cluster. A worker writes half a dozen times while it starts, and costs one look-up: a cache of
// all pods in every replica would cost more.
type Pods struct {
	// Live asks the API server.
	Live client.Reader

	mu    sync.Mutex
	known map[string]knownWriter // by UID
}

type knownWriter struct {
	Writer
	until time.Time
}

// Get implements PodGetter.
func (p *Pods) Get(ctx context.Context, namespace, name, uid string) (Writer, bool) {
	if w, ok := p.remembered(uid); ok {
		return w, true
	}
	ctx, cancel := context.WithTimeout(ctx, podTimeout)
	defer cancel()
	var pod corev1.Pod
	if p.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod) != nil || string(pod.UID) != uid {
		return Writer{}, false
	}
	w := writer(&pod)
	p.remember(uid, w)
	return w, true
}

// Gone implements PodGetter. It asks the API server each time: a token is good for a while after its pod.
func (p *Pods) Gone(ctx context.Context, namespace, name, uid string) bool {
	ctx, cancel := context.WithTimeout(ctx, podTimeout)
	defer cancel()
	pod := metadata("Pod")
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod)
	return apierrors.IsNotFound(err) || err == nil && string(pod.UID) != uid
}

func writer(p *corev1.Pod) Writer {
	w := Writer{Labels: make(map[string]string, len(identityLabels))}
	for _, key := range identityLabels {
		if v, ok := p.Labels[key]; ok {
			w.Labels[key] = v
		}
	}
	for i := range p.Spec.InitContainers {
		w.Containers = append(w.Containers, p.Spec.InitContainers[i].Name)
	}
	for i := range p.Spec.Containers {
		w.Containers = append(w.Containers, p.Spec.Containers[i].Name)
	}
	return w
}

func (p *Pods) remembered(uid string) (Writer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, ok := p.known[uid]
	return k.Writer, ok && time.Now().Before(k.until)
}

func (p *Pods) remember(uid string, w Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= writersKept {
		// Starting anew is simpler than choosing, and costs one look-up for each pod that still writes.
		p.known = make(map[string]knownWriter)
	}
	p.known[uid] = knownWriter{w, time.Now().Add(writerAge)}
}
