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

// review is what is read of an admission.k8s.io/v1 AdmissionReview: everything in one pass, the pod included; unknown
// fields and managedFields are passed over without being built.
type review struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Request    *request `json:"request"`
}

type request struct {
	UID         string           `json:"uid"`
	Kind        groupVersionKind `json:"kind"`
	SubResource string           `json:"subResource"`
	Name        string           `json:"name"`
	Namespace   string           `json:"namespace"`
	Operation   string           `json:"operation"`
	UserInfo    userInfo         `json:"userInfo"`
	Object      *pod.Pod         `json:"object"`
	OldObject   *pod.Pod         `json:"oldObject"`
	DryRun      bool             `json:"dryRun"`
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

type userInfo struct {
	Username string `json:"username"`
}

// decode reads a request that can be answered.
func decode(body []byte) (*request, error) {
	if len(body) == 0 {
		return nil, errors.New("the body is empty")
	}
	var r review
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
