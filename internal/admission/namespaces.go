package admission

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Namespaces is the NamespaceGetter of a cluster.
type Namespaces struct {
	// Cached holds the metadata of opted-in Namespaces. It may lag behind.
	Cached client.Reader
	// Live asks the API server.
	Live client.Reader
}

// Get implements NamespaceGetter. What the cache lacks is asked for: the label may be younger than the cache.
func (n *Namespaces) Get(ctx context.Context, name string) (Namespace, error) {
	ns := metadata("Namespace")
	err := n.Cached.Get(ctx, client.ObjectKey{Name: name}, ns)
	if err != nil || ns.Labels[wiring.LabelDiscoveryEnabled] != "true" {
		ns = metadata("Namespace")
		err = n.Live.Get(ctx, client.ObjectKey{Name: name}, ns)
	}
	if apierrors.IsNotFound(err) {
		return Namespace{}, nil
	}
	if err != nil {
		return Namespace{}, fmt.Errorf("get the metadata of namespace %s: %w", name, err)
	}
	settings, warnings := wiring.SettingsOf(ns.Annotations)
	return Namespace{
		OptedIn:  ns.Labels[wiring.LabelDiscoveryEnabled] == "true",
		Settings: settings,
		Warnings: append(warnings, validate.CheckSettings(settings)...),
	}, nil
}

// metadata is a core object to read metadata into.
func metadata(kind string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}}
}
