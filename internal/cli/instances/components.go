package instances

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
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

// Source tells which components to follow: at once, and all of them again whenever one comes or goes, until ctx ends.
type Source func(ctx context.Context, tell func([]Component)) error

// These are components that stay the same.
func These(all []Component) Source {
	return func(_ context.Context, tell func([]Component)) error {
		tell(all)
		return nil
	}
}

// All are the components that have EndpointSlices in a Kubernetes namespace.
type All struct {
	client        rest.Interface
	kubeNamespace string
	// Retry is how long to wait for an API server that does not answer.
	Retry time.Duration
}

// NewAll asks nobody.
func NewAll(config *rest.Config, kubeNamespace string) (*All, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &discoveryv1.SchemeGroupVersion, "/apis", scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("configure API client: %w", err)
	}
	return &All{client: client, kubeNamespace: kubeNamespace, Retry: 2 * time.Second}, nil
}

// List is those that there are now, sorted.
func (a *All) List(ctx context.Context) ([]Component, error) {
	of, _, err := a.list(ctx)
	return sorted(of), err
}

// Follow is a Source. It fails where the first list does, and where there is no right to look; anything else it sits out.
func (a *All) Follow(ctx context.Context, tell func([]Component)) error {
	told := false
	for ctx.Err() == nil {
		err := a.session(ctx, func(all []Component) {
			told = true
			tell(all)
		})
		if ctx.Err() == nil && err != nil && (!told || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(a.Retry):
		}
	}
	return nil
}

// session lists, and watches from there until the watch ends.
func (a *All) session(ctx context.Context, tell func([]Component)) error {
	of, version, err := a.list(ctx)
	if err != nil {
		return err
	}
	last := sorted(of)
	tell(last)
	body, err := a.get("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").
		Param("watch", "true").Param("resourceVersion", version).Stream(ctx)
	if err != nil {
		return a.explain("watch", err)
	}
	defer func() { _ = body.Close() }()
	for events := json.NewDecoder(body); ; {
		var ev struct {
			Type   watch.EventType
			Object metav1.PartialObjectMetadata
		}
		switch err := events.Decode(&ev); {
		case errors.Is(err, io.EOF) || err == nil && ev.Type == watch.Error: // what the list is too old for, the next one is not
			return nil
		case err != nil:
			return a.explain("watch", err)
		case ev.Type == watch.Deleted:
			delete(of, ev.Object.Name)
		default:
			of[ev.Object.Name] = componentOf(&ev.Object)
		}
		if now := sorted(of); !slices.Equal(last, now) {
			last = now
			tell(now)
		}
	}
}

// list is the component of each slice, and where to watch from.
func (a *All) list(ctx context.Context) (of map[string]Component, version string, err error) {
	answer := a.get("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").Do(ctx)
	var list metav1.PartialObjectMetadataList
	if err = answer.Error(); err == nil { // of a refusal, Raw would not tell what was refused to whom
		text, _ := answer.Raw()
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, "", a.explain("list", err)
	}
	of = map[string]Component{}
	for i := range list.Items {
		of[list.Items[i].Name] = componentOf(&list.Items[i])
	}
	return of, list.ResourceVersion, nil
}

// get asks for slices without what they list: it is their labels that tell.
func (a *All) get(accept string) *rest.Request {
	return a.client.Get().Namespace(a.kubeNamespace).Resource("endpointslices").
		Param("labelSelector", wiring.LabelDiscoveryEnabled+"=true,"+wiring.LabelNamespace+","+wiring.LabelComponent).
		SetHeader("Accept", accept+",application/json")
}

func (a *All) explain(verb string, err error) error {
	err = fmt.Errorf("look for components in %s: %s endpointslices: %w", a.kubeNamespace, verb, err)
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; list and watch on endpointslices and dynamoworkermetadatas are needed, as the Role %s has them",
			err, wiring.ServiceAccount)
	}
	return err
}

func componentOf(slice *metav1.PartialObjectMetadata) Component {
	return Component{slice.Labels[wiring.LabelNamespace], slice.Labels[wiring.LabelComponent]}
}

func sorted(of map[string]Component) []Component {
	return slices.Compact(slices.SortedFunc(maps.Values(of), func(a, b Component) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}))
}
