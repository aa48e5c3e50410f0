package kube_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// The objects are those of three real workers, one of each release, behind one Service of a real cluster.
func TestDynamosWorkersAreFound(t *testing.T) {
	s := apitest.New(t)
	var slices struct {
		Items []discoveryv1.EndpointSlice
	}
	readJSON(t, filepath.Join("testdata", "endpointslices.json"), &slices)
	for i := range slices.Items {
		s.Set(&slices.Items[i])
	}
	for _, release := range []string{"1.3.1", "1.5.1", "1.6.1"} {
		var object struct {
			v1alpha1.DynamoWorkerMetadata
			Items []v1alpha1.DynamoWorkerMetadata
		}
		readJSON(t, filepath.Join("..", "wire", "testdata", "worker-metadata-"+release+".json"), &object)
		if len(object.Items) > 0 {
			object.DynamoWorkerMetadata = object.Items[0]
		}
		s.Set(&object.DynamoWorkerMetadata)
	}

	c := newClient(t, s, nil)
	all, err := c.ListInstances(t.Context(), dynNamespace, component)
	require.NoError(t, err)
	require.Len(t, all, 3)
	for i, want := range []struct{ pod, address, model string }{
		{"mocker-v131-7ddb88c45d-ghgzw", "198.51.100.31", "tiny-v131"},
		{"mocker-v151-7545856996-xrv95", "198.51.100.33", "tiny-v151"},
		{"mocker-v161-6747464465-tj4s8", "198.51.100.35", "tiny-v161"},
	} {
		got := all[i]
		assert.Equal(t, want.pod, got.ID.PodName)
		assert.True(t, got.Ready)
		assert.Equal(t, "node1", got.Node)
		require.Len(t, got.Addresses, 1)
		assert.Equal(t, want.address, got.Addresses[0].String())
		e, ok := got.Endpoint("generate")
		require.True(t, ok)
		assert.Equal(t, wiring.InstanceID(want.pod), e.InstanceID)
		assert.Equal(t, got.ID.Number(), e.InstanceID)

		m, err := c.Metadata(t.Context(), got.ID)
		require.NoError(t, err)
		require.Len(t, m.ModelCards(), 1)
		assert.Contains(t, string(m.ModelCards()[0].Card), `"display_name":"`+want.model+`"`)
		status, err := c.Status(t.Context(), got)
		require.NoError(t, err)
		assert.Equal(t, runtime.StatusReady, status)
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, into))
}
