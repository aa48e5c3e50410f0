package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/api/v1alpha1"
)

// api is the little of Kubernetes that the library needs. A clientset would bring every API group into the binary.
type api struct {
	http      *http.Client
	params    k8sruntime.ParameterCodec
	core      rest.Interface // pods, configmaps
	discovery rest.Interface // endpointslices
	dynamo    rest.Interface // dynamoworkermetadatas
}

func newAPI(cfg *rest.Config) (*api, error) {
	scheme := k8sruntime.NewScheme()
	for _, add := range []func(*k8sruntime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build scheme: %w", err)
		}
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("configure API client: %w", err)
	}
	a := &api{http: client, params: k8sruntime.NewParameterCodec(scheme)}
	codecs := serializer.NewCodecFactory(scheme)
	for _, g := range []struct {
		into *rest.Interface
		gv   schema.GroupVersion
		path string
		// Protobuf is seven times cheaper to decode; custom resources have none.
		contentType string
	}{
		{&a.core, corev1.SchemeGroupVersion, "/api", k8sruntime.ContentTypeProtobuf},
		{&a.discovery, discoveryv1.SchemeGroupVersion, "/apis", k8sruntime.ContentTypeProtobuf},
		{&a.dynamo, v1alpha1.GroupVersion(), "/apis", k8sruntime.ContentTypeJSON},
	} {
		c := rest.CopyConfig(cfg)
		c.GroupVersion, c.APIPath = &g.gv, g.path
		c.NegotiatedSerializer = codecs.WithoutConversion()
		c.ContentType = g.contentType
		c.AcceptContentTypes = g.contentType
		if g.contentType != k8sruntime.ContentTypeJSON {
			c.AcceptContentTypes += "," + k8sruntime.ContentTypeJSON
		}
		rc, err := rest.RESTClientForConfigAndClient(c, client)
		if err != nil {
			return nil, fmt.Errorf("configure API client for %s: %w", g.gv, err)
		}
		*g.into = rc
	}
	return a, nil
}

// collection is one kind in one namespace, narrowed by labels: what a follower follows.
type collection struct {
	client    rest.Interface
	params    k8sruntime.ParameterCodec
	format    format
	resource  string
	namespace string
	selector  string
}

func (a *api) endpointSlices(namespace, selector string) collection {
	return collection{
		client: a.discovery, params: a.params, format: protobufFormat{},
		resource: "endpointslices", namespace: namespace, selector: selector,
	}
}

func (c collection) get(ctx context.Context, opts metav1.ListOptions) (io.ReadCloser, error) {
	opts.LabelSelector = c.selector
	return c.client.Get().Namespace(c.namespace).Resource(c.resource).VersionedParams(&opts, c.params).
		SetHeader("Accept", c.format.contentType()).Stream(ctx)
}

// object returns one object as it is encoded.
func (c collection) object(ctx context.Context, name string) (string, error) {
	result := c.client.Get().Namespace(c.namespace).Resource(c.resource).Name(name).
		SetHeader("Accept", c.format.contentType()).Do(ctx)
	if err := result.Error(); err != nil { // Raw would not read what the API server says
		return "", err
	}
	text, err := result.Raw()
	return string(text), err
}

// page passes on the objects of one page of a list, each as it is encoded.
func (c collection) page(
	ctx context.Context, opts metav1.ListOptions, each func(object string) error,
) (metav1.ListMeta, error) {
	body, err := c.get(ctx, opts)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer func() { _ = body.Close() }()
	var text strings.Builder
	if _, err := io.Copy(&text, body); err != nil {
		return metav1.ListMeta{}, err
	}
	return c.format.page(text.String(), each)
}

// watch returns a stream of events.
func (c collection) watch(ctx context.Context, opts metav1.ListOptions) (io.ReadCloser, error) {
	opts.Watch = true
	return c.get(ctx, opts)
}
