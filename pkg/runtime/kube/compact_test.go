package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/api/v1alpha1"
)

// Absent conditions mean ready and not terminating (discovery.k8s.io/v1); a Service that publishes not-ready addresses says
// ready of all of them.
func TestConditions(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		ready, serving, terminating *bool
		want                        bool
	}{
		{nil, nil, nil, true},
		{&yes, nil, nil, true},
		{&yes, &yes, &no, true},
		{&no, &no, &no, false},
		{&no, nil, nil, false},
		{&yes, &no, &no, false},
		{&yes, &yes, &yes, false},
		{nil, &yes, &yes, false},
	} {
		c := discoveryv1.EndpointConditions{Ready: tc.ready, Serving: tc.serving, Terminating: tc.terminating}
		assert.Equal(t, tc.want, ready(c), "%s", c.String())
	}
}

func TestCompactSliceTakesPodsOnly(t *testing.T) {
	pod := &corev1.ObjectReference{Kind: "Pod", Name: "p", UID: "1"}
	s, ok := compactSlice(&discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "17"},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.0.0.1", "10.0.0.2"}, TargetRef: pod},
			{Addresses: []string{"10.0.0.3"}},
			{Addresses: []string{"10.0.0.4"}, TargetRef: &corev1.ObjectReference{Kind: "Node", Name: "n", UID: "2"}},
			{Addresses: []string{"10.0.0.5"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "without-uid"}},
			{Addresses: []string{"a.name.example"}, TargetRef: pod},
			{TargetRef: pod},
		},
	})
	require.True(t, ok)
	assert.Equal(t, uint64(17), s.Version)
	require.Len(t, s.Endpoints, 3)
	assert.Equal(t, "10.0.0.1", s.Endpoints[0].Address.String())
	assert.False(t, s.Endpoints[1].Address.IsValid())
	_, ok = compactSlice(&corev1.Pod{})
	assert.False(t, ok)
}

func TestCompactMetadataTakesTheFirstPodThatOwnsIt(t *testing.T) {
	dwm := &v1alpha1.DynamoWorkerMetadata{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "cr", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", UID: "rs"},
		{APIVersion: "v1", Kind: "Pod", UID: "1"},
		{APIVersion: "v1", Kind: "Pod", UID: "2"},
	}}}
	o, err := compactMetadata(dwm)
	require.Error(t, err, "there is no data")
	assert.Nil(t, o.Metadata)
	assert.Equal(t, "1", o.PodUID)
	assert.Equal(t, "cr", o.UID)
}
