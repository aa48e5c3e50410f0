package kube

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
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
	resource  string
	namespace string
	selector  string
	newList   func() k8sruntime.Object
}

func (a *api) endpointSlices(namespace, selector string) collection {
	return collection{
		client: a.discovery, params: a.params, resource: "endpointslices", namespace: namespace, selector: selector,
		newList: func() k8sruntime.Object { return &discoveryv1.EndpointSliceList{} },
	}
}

func (a *api) workerMetadata(namespace string) collection {
	return collection{
		client: a.dynamo, params: a.params, resource: v1alpha1.Resource, namespace: namespace,
		newList: func() k8sruntime.Object { return &v1alpha1.DynamoWorkerMetadataList{} },
	}
}

func (c collection) list(ctx context.Context, opts metav1.ListOptions) (k8sruntime.Object, error) {
	opts.LabelSelector = c.selector
	into := c.newList()
	err := c.client.Get().Namespace(c.namespace).Resource(c.resource).VersionedParams(&opts, c.params).Do(ctx).Into(into)
	return into, err
}

func (c collection) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.LabelSelector = c.selector
	opts.Watch = true
	return c.client.Get().Namespace(c.namespace).Resource(c.resource).VersionedParams(&opts, c.params).Watch(ctx)
}
