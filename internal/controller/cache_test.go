package controller

import (
	"maps"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

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
	keep := slimPods()
	var kept []*metav1.PartialObjectMetadata
	for _, name := range []string{"w-1", "w-2"} {
		p := podMetadata()
		p.Name, p.Namespace, p.UID, p.ResourceVersion, p.GenerateName = name, "llm", "uid", "7", "w-"
		p.Labels = map[string]string{"app": "w", wiring.LabelComponent: "backend", wiring.LabelNamespace: "dynamo"}
		p.Annotations = map[string]string{wiring.AnnotationServiceAccount: "own", "kubectl.kubernetes.io/last-applied-configuration": "{…}"}
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		p.OwnerReferences = []metav1.OwnerReference{{Name: "rs"}}
		out, err := keep(p)
		require.NoError(t, err)
		want := podMetadata()
		want.Name, want.Namespace, want.UID, want.ResourceVersion = name, "llm", "uid", "7"
		want.Labels = map[string]string{wiring.LabelComponent: "backend", wiring.LabelNamespace: "dynamo"}
		want.Annotations = map[string]string{wiring.AnnotationServiceAccount: "own"}
		assert.Equal(t, want, out)
		kept = append(kept, out.(*metav1.PartialObjectMetadata))
	}
	assert.Equal(t, reflect.ValueOf(kept[0].Labels).Pointer(), reflect.ValueOf(kept[1].Labels).Pointer(), "one copy for the component")

	tombstone := cache.DeletedFinalStateUnknown{Key: "llm/w-1"}
	out, err := keep(tombstone)
	require.NoError(t, err)
	assert.Equal(t, tombstone, out)
}

func TestCacheKeepsTheSettingsOfNamespaces(t *testing.T) {
	ns := namespaceMetadata()
	ns.Name = "llm"
	ns.Labels = map[string]string{wiring.LabelDiscoveryEnabled: "true"}
	settings := map[string]string{
		wiring.AnnotationDynamoNamespace: "team-a", wiring.AnnotationKeyValue: "true", wiring.AnnotationValidation: "warn",
		wiring.AnnotationFrontendScope: "all", wiring.AnnotationProbePeriod: "5", wiring.AnnotationSystemPort: "9091", wiring.AnnotationSkip: "port",
	}
	ns.Annotations = maps.Clone(settings)
	ns.Annotations["other"] = "x"
	ns.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	out, err := slim(ns)
	require.NoError(t, err)
	want := namespaceMetadata()
	want.Name = "llm"
	want.Labels = map[string]string{wiring.LabelDiscoveryEnabled: "true"}
	want.Annotations = settings
	assert.Equal(t, want, out)
}
