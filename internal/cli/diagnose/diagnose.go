// Package diagnose asks the library, from outside a pod, why something is found or not.
package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

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

// Pod diagnoses why a pod is found or not; it is false where there is no such pod. In container mode, where each container
// is an instance, the question is about the one of that name. Empty: the main one, or the first in that mode; of them then
// tells, where there is a choice.
func Pod(
	ctx context.Context, config *rest.Config, kubeNamespace, name, container string,
) (d runtime.Diagnosis, of []string, found bool, err error) {
	client, err := coreclient.NewForConfig(config)
	if err != nil {
		return d, nil, false, err
	}
	p, err := client.Pods(kubeNamespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return d, nil, false, nil
	case err != nil:
		return d, nil, false, fmt.Errorf("read pod %s/%s: %w", kubeNamespace, name, err)
	}
	id, of, err := identityOf(p, container)
	if err != nil {
		return d, nil, true, err
	}
	d, err = ask(ctx, config, id, "", "")
	return d, of, true, err
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

// identityOf is what the process in a pod, or in that container of it, believes, as far as its spec tells: what it registers
// as is what its labels say, which the webhook has made sure of; where one is missing, what its variables do.
func identityOf(p *corev1.Pod, container string) (id runtime.Identity, of []string, err error) {
	id = runtime.Identity{
		PodName: p.Name, PodNamespace: p.Namespace, PodUID: string(p.UID),
		Component: p.Labels[wiring.LabelComponent],
	}
	containers := slices.Concat(p.Spec.Containers, p.Spec.InitContainers)
	if container != "" {
		all := containers
		containers = slices.DeleteFunc(slices.Clone(all), func(c corev1.Container) bool { return c.Name != container })
		if len(containers) == 0 {
			return id, nil, fmt.Errorf("pod %s/%s has no container %q: it has %s", p.Namespace, p.Name, container, strings.Join(names(all), ", "))
		}
	}
	instances := slices.DeleteFunc(slices.Clone(containers), func(c corev1.Container) bool {
		return variable([]corev1.Container{c}, wiring.EnvKubeDiscoveryMode) != wiring.ContainerMode
	})
	if len(instances) > 0 {
		i := max(0, slices.IndexFunc(instances, func(c corev1.Container) bool { return c.Name == wiring.MainContainer }))
		containers = instances[i : i+1]
		id.Container = cmp.Or(variable(containers, wiring.EnvContainerName), containers[0].Name)
		if len(instances) > 1 {
			of = names(instances)
		}
	}
	id.Backend = variable(containers, wiring.EnvDiscoveryBackend)
	id.Namespace = cmp.Or(p.Labels[wiring.LabelNamespace], variable(containers, wiring.EnvNamespace), wiring.DefaultNamespace)
	return id, of, nil
}

func names(containers []corev1.Container) []string {
	all := make([]string, len(containers))
	for i := range containers {
		all[i] = containers[i].Name
	}
	return all
}

// variable is the value that the first container which has it gives it.
func variable(containers []corev1.Container, name string) string {
	for i := range containers {
		for _, e := range slices.Backward(containers[i].Env) { // the last of a name counts
			if e.Name == name {
				return e.Value
			}
		}
	}
	return ""
}
