// Package diagnose asks the library, from outside a pod, why something is found or not.
package diagnose

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/internal/cli/instances"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Pod diagnoses why a pod is found or not; it is false where there is no such pod.
func Pod(ctx context.Context, config *rest.Config, kubeNamespace, name string) (runtime.Diagnosis, bool, error) {
	client, err := coreclient.NewForConfig(config)
	if err != nil {
		return runtime.Diagnosis{}, false, err
	}
	p, err := client.Pods(kubeNamespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return runtime.Diagnosis{}, false, nil
	case err != nil:
		return runtime.Diagnosis{}, false, fmt.Errorf("read pod %s/%s: %w", kubeNamespace, name, err)
	}
	d, err := ask(ctx, config, identityOf(p), "", "")
	return d, true, err
}

// Component diagnoses why any instance of a component is found, or none.
func Component(ctx context.Context, config *rest.Config, kubeNamespace string, c instances.Component) (runtime.Diagnosis, error) {
	return ask(ctx, config, runtime.Identity{PodNamespace: kubeNamespace}, c.Namespace, c.Name)
}

func ask(ctx context.Context, config *rest.Config, id runtime.Identity, namespace, component string) (runtime.Diagnosis, error) {
	d, err := kube.New(kube.Config{Identity: id, REST: config})
	if err != nil {
		return runtime.Diagnosis{}, err
	}
	defer func() { _ = d.Close() }()
	return d.Diagnose(ctx, namespace, component)
}

// identityOf is what the process in a pod believes, as far as its spec tells: what it registers as is what its labels say,
// which the webhook has made sure of.
func identityOf(p *corev1.Pod) runtime.Identity {
	return runtime.Identity{
		PodName: p.Name, PodNamespace: p.Namespace, PodUID: string(p.UID),
		Namespace: p.Labels[wiring.LabelNamespace], Component: p.Labels[wiring.LabelComponent],
		Backend: variable(p, wiring.EnvDiscoveryBackend),
	}
}

// variable is the value that the first container which has it gives it.
func variable(p *corev1.Pod, name string) string {
	for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
		for _, e := range slices.Backward(c.Env) { // the last of a name counts
			if e.Name == name {
				return e.Value
			}
		}
	}
	return ""
}
