// Package review reads AdmissionReviews: everything in one pass, into as little as is needed.
package review

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/dynawire/dynawire/pkg/pod"
)

const (
	apiVersion = "admission.k8s.io/v1"
	kind       = "AdmissionReview"
)

// review is what is read of an admission.k8s.io/v1 AdmissionReview. Unknown fields and managedFields are passed over
// without being built.
type review[T any] struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Request    *Request[T] `json:"request"`
}

// Request is a request about objects that are read into a T.
type Request[T any] struct {
	Head
	Object    *T `json:"object"`
	OldObject *T `json:"oldObject"`
}

// Head is what requests about all objects have.
type Head struct {
	UID         string           `json:"uid"`
	Kind        GroupVersionKind `json:"kind"`
	SubResource string           `json:"subResource"`
	Name        string           `json:"name"`
	Namespace   string           `json:"namespace"`
	Operation   string           `json:"operation"`
	UserInfo    UserInfo         `json:"userInfo"`
	DryRun      bool             `json:"dryRun"`
}

// Writes reports whether the request is about an object's content as a whole: webhooks are configured for nothing else, and
// a subresource such as ephemeralcontainers or scale is not ours to judge.
func (h *Head) Writes() bool {
	return h.SubResource == "" && (h.Operation == Create || h.Operation == Update)
}

// Operations.
const (
	Create = "CREATE"
	Update = "UPDATE"
)

// GroupVersionKind is the kind of the object.
type GroupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// APIVersion is group and version as objects say them.
func (k *GroupVersionKind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// UserInfo is who asks.
type UserInfo struct {
	Username string   `json:"username"`
	Pod      BoundPod `json:"extra"`
}

// Decode reads a request that can be answered.
func Decode[T any](body []byte) (*Request[T], error) {
	if len(body) == 0 {
		return nil, errors.New("the body is empty")
	}
	var r review[T]
	if err := json.Unmarshal(body, &r, pod.Options); err != nil {
		return nil, fmt.Errorf("decode the body: %w", err)
	}
	if r.APIVersion != apiVersion || r.Kind != kind {
		return nil, fmt.Errorf("the body is %q %q, want %q %q", r.APIVersion, r.Kind, apiVersion, kind)
	}
	if r.Request == nil {
		return nil, errors.New("the review has no request")
	}
	if r.Request.UID == "" {
		return nil, errors.New("the request has no uid")
	}
	return r.Request, nil
}
