package kube

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
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
		e := discoveryv1.Endpoint{Conditions: c, TargetRef: &corev1.ObjectReference{Kind: "Pod", UID: "1"}}
		raw, err := e.Marshal()
		require.NoError(t, err)
		got, isPod, ok := readEndpoint(string(raw))
		assert.True(t, isPod && ok)
		assert.Equal(t, tc.want, got.Ready, "%s", c.String())
		assert.Equal(t, tc.terminating != nil && *tc.terminating, got.Terminating)
	}
}

func TestReadSliceTakesPodsOnly(t *testing.T) {
	pod := &corev1.ObjectReference{Kind: "Pod", Name: "p", UID: "1"}
	raw, err := (&discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "17"},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.0.0.1", "10.0.0.2"}, TargetRef: pod},
			{Addresses: []string{"10.0.0.3"}},
			{Addresses: []string{"10.0.0.4"}, TargetRef: &corev1.ObjectReference{Kind: "Node", Name: "n", UID: "2"}},
			{Addresses: []string{"10.0.0.5"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "without-uid"}},
			{Addresses: []string{"a.name.example"}, TargetRef: pod},
			{TargetRef: pod},
		},
	}).Marshal()
	require.NoError(t, err)
	s, version, err := readSlice(string(raw), nil)
	require.NoError(t, err)
	assert.Equal(t, "17", version)
	assert.Equal(t, uint64(17), s.Version)
	require.Len(t, s.Endpoints, 3)
	assert.Equal(t, "10.0.0.1", s.Endpoints[0].Address.String())
	assert.False(t, s.Endpoints[1].Address.IsValid())
	for n := range raw {
		_, _, _ = readSlice(string(raw[:n]), nil) // cut off anywhere it must come to an end
	}
}

// typed is what readSlice does, from the real type.
func typed(es *discoveryv1.EndpointSlice) join.Slice {
	s := join.Slice{Name: es.Name}
	s.Version, _ = strconv.ParseUint(es.ResourceVersion, 10, 64)
	no := func(b *bool) bool { return b != nil && !*b }
	for _, e := range es.Endpoints {
		if e.TargetRef == nil || e.TargetRef.Kind != "Pod" || e.TargetRef.UID == "" {
			continue
		}
		c := e.Conditions
		out := join.Endpoint{PodName: e.TargetRef.Name, PodUID: string(e.TargetRef.UID)}
		out.Terminating = c.Terminating != nil && *c.Terminating
		out.Ready = !no(c.Ready) && !no(c.Serving) && !out.Terminating
		if e.NodeName != nil {
			out.Node = *e.NodeName
		}
		if e.Zone != nil {
			out.Zone = *e.Zone
		}
		if len(e.Addresses) > 0 {
			if addr, err := netip.ParseAddr(e.Addresses[0]); err == nil {
				out.Address = addr.Unmap()
			}
		}
		s.Endpoints = append(s.Endpoints, out)
	}
	return s
}

// Whatever an API server can write, it is read as the real type reads it.
func FuzzReadSlice(f *testing.F) {
	raw, err := os.ReadFile(filepath.Join("testdata", "endpointslices.json"))
	require.NoError(f, err)
	var list discoveryv1.EndpointSliceList
	require.NoError(f, json.Unmarshal(raw, &list))
	for i := range list.Items {
		encoded, err := list.Items[i].Marshal()
		require.NoError(f, err)
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _ = readSlice(string(data), nil)
		var es discoveryv1.EndpointSlice
		if es.Unmarshal(data) != nil || es.Name == "" {
			return
		}
		encoded, err := es.Marshal()
		require.NoError(t, err)
		got, version, err := readSlice(string(encoded), nil)
		require.NoError(t, err)
		assert.Equal(t, es.ResourceVersion, version)
		assert.Equal(t, typed(&es), got)
	})
}

func BenchmarkReadSlice(b *testing.B) {
	es := discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "17"}}
	yes, node, zone := true, "node-17", "zone-a"
	for i := range 100 {
		es.Endpoints = append(es.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}).String()},
			Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes}, NodeName: &node, Zone: &zone,
			TargetRef: &corev1.ObjectReference{
				Kind: "Pod", Namespace: "llm", Name: "worker-6747464465-tj4s8", UID: "4d8e4a56-fdbd-4ca8-bb3c-98062c411a5a",
			},
		})
	}
	raw, err := es.Marshal()
	require.NoError(b, err)
	b.Run("dynawire", func(b *testing.B) {
		text, into := string(raw), []join.Endpoint(nil)
		b.ReportAllocs()
		for b.Loop() {
			s, _, err := readSlice(text, into)
			if err != nil {
				b.Fatal(err)
			}
			into = s.Endpoints
		}
	})
	b.Run("k8s.io-api", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var es discoveryv1.EndpointSlice
			if err := es.Unmarshal(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
