package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func (k componentKey) check() error { return runtime.CheckComponent(k.namespace, k.component) }

// assertLabels compares the pod's own labels with what it registers as.
func (c *Client) assertLabels(ctx context.Context, key componentKey) error {
	var pod corev1.Pod
	err := c.retry(ctx, func() error {
		return c.api.core.Get().Namespace(c.identity.PodNamespace).Resource("pods").Name(c.identity.PodName).Do(ctx).Into(&pod)
	})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("read own pod: %w; are POD_NAME and POD_NAMESPACE this pod's?", err)
	case err != nil:
		return fmt.Errorf("read own pod: %w", explain(err))
	case string(pod.UID) != c.identity.PodUID:
		return fmt.Errorf("own pod has UID %s, but POD_UID is %s", pod.UID, c.identity.PodUID)
	}
	for _, want := range [...]struct{ label, value string }{
		{wiring.LabelNamespace, key.namespace}, {wiring.LabelComponent, key.component},
	} {
		found, ok := pod.Labels[want.label]
		switch {
		case !ok:
			return fmt.Errorf("%w: it has no label %s, wanted %q; label the Kubernetes namespace %s=true, so that dynawire stamps it, "+
				"and recreate the pod", runtime.ErrLabelMismatch, want.label, want.value, wiring.LabelDiscoveryEnabled)
		case found != want.value:
			return fmt.Errorf("%w: label %s is %q, registered is %q, where nobody would look for this pod; set the label to %q "+
				"or register as %q", runtime.ErrLabelMismatch, want.label, found, want.value, want.value, found)
		}
	}
	return nil
}

const (
	// ownSlices is how many slices are read to look for the own pod: a thousand endpoints. In a larger component a slice
	// with the right labels is taken at its word, lest a fleet that starts reads the whole fleet each.
	ownSlices                      = 10
	servicePollMin, servicePollMax = 100 * time.Millisecond, 2 * time.Second
)

// assertService waits until a slice with the component's labels lists this pod: then a Service selects it. There is no
// right to read Services, nor need: what is in the slices is what peers see.
func (c *Client) assertService(ctx context.Context, key componentKey) error {
	wait, cancel := context.WithTimeout(ctx, c.cfg.ServiceWait)
	defer cancel()
	slices := c.api.endpointSlices(c.identity.PodNamespace, key.selector())
	var found int
	var lastErr error
	for delay := servicePollMin; ; delay = min(servicePollMax, delay*3/2) {
		selected, n, err := c.selected(wait, slices)
		if selected {
			return nil
		}
		if wait.Err() == nil {
			found, lastErr = n, err
		}
		select {
		case <-time.After(delay/2 + rand.N(delay/2)):
			continue
		case <-wait.Done():
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for a service: %w", ctx.Err())
		}
		return c.noService(key, found, lastErr)
	}
}

// selected reports whether the slices list this pod, and how many there are.
func (c *Client) selected(ctx context.Context, slices collection) (bool, int, error) {
	listed, found := 0, false
	page, err := slices.page(ctx, metav1.ListOptions{Limit: ownSlices}, func(object string) error {
		slice, _, err := readSlice(object, nil)
		for i := range slice.Endpoints {
			found = found || slice.Endpoints[i].PodUID == c.identity.PodUID
		}
		listed++
		return err
	})
	if err != nil {
		return false, 0, err
	}
	return found || page.Continue != "", listed, nil
}

func (c *Client) noService(key componentKey, slices int, cause error) error {
	switch {
	case cause != nil:
		return fmt.Errorf("%w: cannot read endpointslices: %w", runtime.ErrNoService, explain(cause))
	case slices == 0:
		return fmt.Errorf("%w within %s: no EndpointSlice is labelled %s; dynawire creates the Service %s by itself: is its controller "+
			"running, and the Kubernetes namespace labelled %s=true? A Service of your own needs these labels, and a selector of this pod",
			runtime.ErrNoService, c.cfg.ServiceWait, key.selector(), wiring.ServiceName(key.namespace, key.component),
			wiring.LabelDiscoveryEnabled)
	default:
		return fmt.Errorf("%w within %s: the EndpointSlices labelled %s do not list it; its labels must match their Service's selector",
			runtime.ErrNoService, c.cfg.ServiceWait, key.selector())
	}
}
