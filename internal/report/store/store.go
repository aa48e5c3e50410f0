// Package store reads and writes Reports, straight from and to the API server: nothing is cached.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/internal/report"
)

// CRD is the name of what must be installed.
const CRD = "reports.openreports.io"

const resource = "reports"

// What callers must tell apart. Others are the API server's errors, wrapped.
var (
	// ErrNotInstalled: the cluster has no Reports.
	ErrNotInstalled = errors.New("the CustomResourceDefinition " + CRD + " is not installed")
	// ErrNamespaceGone: the namespace is not there, or is going.
	ErrNamespaceGone = errors.New("the namespace is gone")
)

// Client reads and writes Reports. It may be used by several goroutines.
type Client struct{ rest rest.Interface }

// New makes a client; h is the transport.
func New(config *rest.Config, h *http.Client) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.Install(scheme); err != nil {
		return nil, fmt.Errorf("register reports: %w", err)
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	c := rest.CopyConfig(config)
	c.GroupVersion = &schema.GroupVersion{Group: v1alpha1.GroupName, Version: v1alpha1.GroupVersion.Version}
	c.APIPath = "/apis"
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientForConfigAndClient(c, h)
	if err != nil {
		return nil, fmt.Errorf("make a client for reports: %w", err)
	}
	return &Client{client}, nil
}

// Get reads a Report. One that is not there is an error of which apierrors.IsNotFound holds.
func (c *Client) Get(ctx context.Context, namespace, name string) (*report.Report, error) {
	r := &report.Report{}
	err := c.rest.Get().Namespace(namespace).Resource(resource).Name(name).Do(ctx).Into(r)
	r.TypeMeta = report.New(namespace, name).TypeMeta // the decoder leaves it out, and an update needs it
	return r, classify(err)
}

// Create stores a Report that is not there yet, and returns how many bytes that took.
func (c *Client) Create(ctx context.Context, r *report.Report) (int, error) {
	return c.write(ctx, c.rest.Post(), r)
}

// Update stores a Report in place of the one of the same resource version, and returns how many bytes that took.
func (c *Client) Update(ctx context.Context, r *report.Report) (int, error) {
	return c.write(ctx, c.rest.Put().Name(r.Name), r)
}

// write does not decode the answer: it is what was sent.
func (c *Client) write(ctx context.Context, request *rest.Request, r *report.Report) (int, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("encode report %s/%s: %w", r.Namespace, r.Name, err)
	}
	request = request.Namespace(r.Namespace).Resource(resource).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)
	return len(body), classify(request.Do(ctx).Error())
}

// selector finds our own Reports.
const selector = report.LabelManagedBy + "=" + report.ManagedBy

// List reads our Reports of a namespace, or of all where it is empty.
func (c *Client) List(ctx context.Context, namespace string) (*v1alpha1.ReportList, error) {
	l := &v1alpha1.ReportList{}
	err := c.rest.Get().Namespace(namespace).Resource(resource).Param("labelSelector", selector).Do(ctx).Into(l)
	return l, classify(err)
}

// Namespaces are those that have a Report of that name, without what it says.
func (c *Client) Namespaces(ctx context.Context, name string) ([]string, error) {
	answer := c.rest.Get().Resource(resource).Param("fieldSelector", "metadata.name="+name).
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").Do(ctx)
	if err := answer.Error(); err != nil { // Raw would not tell what was refused
		return nil, classify(err)
	}
	body, _ := answer.Raw()
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("decode the list of reports %s: %w", name, err)
	}
	namespaces := make([]string, len(list.Items))
	for i := range list.Items {
		namespaces[i] = list.Items[i].Namespace
	}
	return namespaces, nil
}

// Watch follows our Reports of a namespace, or of all where it is empty, from a resource version on.
func (c *Client) Watch(ctx context.Context, namespace, version string) (watch.Interface, error) {
	w, err := c.rest.Get().Namespace(namespace).Resource(resource).
		Param("labelSelector", selector).Param("watch", "true").Param("resourceVersion", version).Watch(ctx)
	return w, classify(err)
}

// classify makes an error one of ours where it is one.
func classify(err error) error {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		// Nobody knows the path. A Report that is not there is a Status without causes.
		return fmt.Errorf("%w: %w", ErrNotInstalled, err)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Errorf("%w: %w", ErrNamespaceGone, err)
	case apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces":
		return fmt.Errorf("%w: %w", ErrNamespaceGone, err)
	}
	return err
}
