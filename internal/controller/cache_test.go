package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestCacheHoldsWiredPodsOnly(t *testing.T) {
	s := wiredPods()
	assert.True(t, s.Matches(labels.Set{wiring.LabelDiscoveryEnabled: "true", "app": "w"}))
	for name, l := range map[string]labels.Set{
		"no label":        {"app": "w"},
		"opted out":       {wiring.LabelDiscoveryEnabled: "false"},
		"of the operator": {wiring.LabelDiscoveryEnabled: "true", wiring.LabelGraphDeployment: "g"},
		"its other label": {wiring.LabelDiscoveryEnabled: "true", wiring.LabelOperatorSelector: "g-worker"},
	} {
		assert.False(t, s.Matches(l), name)
	}
}

func TestCacheKeepsWhatIsRead(t *testing.T) {
	p := podMetadata()
	p.Name, p.Namespace, p.UID, p.ResourceVersion = "w-1", "llm", "uid", "7"
	p.Labels = map[string]string{"app": "w", wiring.LabelComponent: "backend"}
	p.Annotations = map[string]string{wiring.AnnotationServiceAccount: "own", "kubectl.kubernetes.io/last-applied-configuration": "{…}"}
	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	p.OwnerReferences = []metav1.OwnerReference{{Name: "rs"}}
	out, err := slim(p)
	require.NoError(t, err)
	want := podMetadata()
	want.Name, want.Namespace, want.UID, want.ResourceVersion = "w-1", "llm", "uid", "7"
	want.Labels = map[string]string{"app": "w", wiring.LabelComponent: "backend"}
	want.Annotations = map[string]string{wiring.AnnotationServiceAccount: "own"}
	assert.Equal(t, want, out)
}
