package admission

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/dynawire/dynawire/pkg/pod"
)

const (
	reviewAPIVersion = "admission.k8s.io/v1"
	reviewKind       = "AdmissionReview"
)

// review is what is read of an admission.k8s.io/v1 AdmissionReview about objects that are read into a T: everything in one
// pass, the object included; unknown fields and managedFields are passed over without being built.
type review[T any] struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Request    *request[T] `json:"request"`
}

type request[T any] struct {
	head
	Object    *T `json:"object"`
	OldObject *T `json:"oldObject"`
}

// head is what requests about all objects have.
type head struct {
	UID         string           `json:"uid"`
	Kind        groupVersionKind `json:"kind"`
	SubResource string           `json:"subResource"`
	Name        string           `json:"name"`
	Namespace   string           `json:"namespace"`
	Operation   string           `json:"operation"`
	UserInfo    userInfo         `json:"userInfo"`
	DryRun      bool             `json:"dryRun"`
}

// writes reports whether the request is about an object's content as a whole: webhooks are configured for nothing else, and
// a subresource such as ephemeralcontainers or scale is not ours to judge.
func (h *head) writes() bool {
	return h.SubResource == "" && (h.Operation == operationCreate || h.Operation == operationUpdate)
}

const (
	operationCreate = "CREATE"
	operationUpdate = "UPDATE"
)

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// apiVersion is group and version as objects say them.
func (k *groupVersionKind) apiVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

type userInfo struct {
	Username string   `json:"username"`
	Pod      boundPod `json:"extra"`
}

// decode reads a request that can be answered.
func decode[T any](body []byte) (*request[T], error) {
	if len(body) == 0 {
		return nil, errors.New("the body is empty")
	}
	var r review[T]
	if err := json.Unmarshal(body, &r, pod.Options); err != nil {
		return nil, fmt.Errorf("decode the body: %w", err)
	}
	if r.APIVersion != reviewAPIVersion || r.Kind != reviewKind {
		return nil, fmt.Errorf("the body is %q %q, want %q %q", r.APIVersion, r.Kind, reviewAPIVersion, reviewKind)
	}
	if r.Request == nil {
		return nil, errors.New("the review has no request")
	}
	if r.Request.UID == "" {
		return nil, errors.New("the request has no uid")
	}
	return r.Request, nil
}
