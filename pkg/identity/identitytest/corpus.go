// Package identitytest has the pod specs and admission requests that several packages test against.
package identitytest

import (
	"embed"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/dynawire/dynawire/pkg/pod"
)

//go:embed testdata
var files embed.FS

// Spec is one object of the corpus and what must come out of it; testdata/specs/README.md says what the parts mean.
type Spec struct {
	File     string    `json:"file"`
	Object   string    `json:"object"`
	Pod      string    `json:"pod"`
	Reason   string    `json:"reason"`
	Identity *Identity `json:"identity"`
	Deny     []string  `json:"deny"`
	Warn     []string  `json:"warn"`
	Update   *Update   `json:"update"`

	// JSON is the pod, or the workload's pod template.
	JSON []byte `json:"-"`
}

// Identity is an expected identity; nil where nothing may be claimed.
type Identity struct {
	Namespace *string `json:"namespace"`
	Component *string `json:"component"`
	Endpoint  *string `json:"endpoint"`
	Role      *string `json:"role"`
	How       How     `json:"how"`
}

// How is the source of each part; nil where it is not judged.
type How struct {
	Namespace *string `json:"namespace"`
	Component *string `json:"component"`
	Endpoint  *string `json:"endpoint"`
	Role      *string `json:"role"`
}

// Update is a change to the admitted, running pod.
type Update struct {
	Labels map[string]string `json:"labels"`
	Deny   []string          `json:"deny"`
	Warn   []string          `json:"warn"`
}

// Decode is the pod of a spec, fresh each time.
func (s Spec) Decode(t testing.TB) *pod.Pod {
	t.Helper()
	p, err := pod.Decode(s.JSON)
	require.NoError(t, err)
	return p
}

// Specs is the corpus, in order.
func Specs(t testing.TB) []Spec {
	t.Helper()
	var specs []Spec
	require.NoError(t, yaml.Unmarshal(read(t, "specs/expected.yaml"), &specs))
	for i := range specs {
		object, err := yaml.YAMLToJSON(read(t, "specs/"+specs[i].File))
		require.NoError(t, err, specs[i].File)
		specs[i].JSON = template(t, object)
	}
	return specs
}

// template takes the pod template out of a workload; a Pod is returned as it is.
func template(t testing.TB, object []byte) []byte {
	t.Helper()
	var o struct {
		Kind string `json:"kind"`
		Spec struct {
			Template json.RawMessage `json:"template"`
		} `json:"spec"`
	}
	require.NoError(t, json.Unmarshal(object, &o))
	if o.Kind == "Pod" {
		return object
	}
	require.NotEmpty(t, o.Spec.Template, o.Kind)
	return o.Spec.Template
}

// Review is an AdmissionReview as an API server sent it: small, worker, large or future (fields newer than any API).
func Review(t testing.TB, name string) []byte {
	t.Helper()
	return read(t, "reviews/"+name+".review.json")
}

// ReviewPod is the pod in a Review.
func ReviewPod(t testing.TB, name string) []byte {
	t.Helper()
	var r struct {
		Request struct {
			Object json.RawMessage `json:"object"`
		} `json:"request"`
	}
	require.NoError(t, json.Unmarshal(Review(t, name), &r))
	return r.Request.Object
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := files.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return data
}
