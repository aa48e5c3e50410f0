// Package instances prints what discovery finds, once or as it changes, for people and for programs.
package instances

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Component is one, by Dynamo's names.
type Component struct{ Namespace, Name string }

func (c Component) String() string { return c.Namespace + "/" + c.Name }

// ParseComponent reads NAMESPACE/COMPONENT, or COMPONENT of Dynamo's default namespace.
func ParseComponent(arg string) (Component, error) {
	namespace, name, both := strings.Cut(arg, "/")
	if !both {
		namespace, name = wiring.DefaultNamespace, arg
	}
	if err := runtime.CheckComponent(namespace, name); err != nil {
		return Component{}, fmt.Errorf("%q: want NAMESPACE/COMPONENT in Dynamo's names: %w", arg, err)
	}
	return Component{namespace, name}, nil
}

// Components are those that have EndpointSlices in a Kubernetes namespace, sorted.
func Components(ctx context.Context, config *rest.Config, kubeNamespace string) ([]Component, error) {
	client, err := discoveryclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := client.EndpointSlices(kubeNamespace).List(ctx, metav1.ListOptions{
		LabelSelector: wiring.LabelDiscoveryEnabled + "=true," + wiring.LabelNamespace + "," + wiring.LabelComponent,
	})
	if err != nil {
		return nil, fmt.Errorf("look for components in %s: %w", kubeNamespace, err)
	}
	seen := map[Component]bool{}
	var all []Component
	for i := range list.Items {
		labels := list.Items[i].Labels
		c := Component{labels[wiring.LabelNamespace], labels[wiring.LabelComponent]}
		if !seen[c] {
			seen[c] = true
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Component) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// List is the instances of the components, in their order, each sorted by pod name.
func List(ctx context.Context, d runtime.Discovery, components []Component) ([]runtime.Instance, error) {
	var all []runtime.Instance
	for _, c := range components {
		some, err := d.ListInstances(ctx, c.Namespace, c.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// Watch passes on what happens to the components until ctx ends or a subscription does. Synced is not passed on.
func Watch(ctx context.Context, d runtime.Discovery, components []Component, tell func(runtime.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, failed := make(chan runtime.Event), make(chan error, len(components))
	for _, c := range components {
		sub, err := d.Subscribe(ctx, c.Namespace, c.Name)
		if err != nil {
			return err
		}
		defer func() { _ = sub.Close() }()
		go func() {
			for ev, err := range sub.Events(ctx) {
				if err != nil {
					failed <- err
					return
				}
				select {
				case events <- ev:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for {
		select {
		case ev := <-events:
			if ev.Type == runtime.Synced {
				continue
			}
			if err := tell(ev); err != nil {
				return err
			}
		case err := <-failed:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}
