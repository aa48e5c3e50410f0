//go:build integration

package kube_test

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

// A real API server turns writers away when too many write at once.
func TestKVManyWritersOnARealAPIServer(t *testing.T) {
	c := newCluster(t)
	writes := &landed{}
	cfg := clientConfig(c.pod)
	cfg.REST.QPS = -1
	countWrites(writes)(&cfg)
	d, err := kube.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	atOnce := func(writers int, write func(i int) error) {
		t.Helper()
		var running sync.WaitGroup
		for i := range writers {
			running.Go(func() { assert.NoError(t, write(i)) })
		}
		running.Wait()
	}
	card := bytes.Repeat([]byte("card"), 10<<10)
	atOnce(1000, func(int) error { return d.WriteKV(context.Background(), "same", card) })
	assert.Equal(t, map[string]int{http.MethodPost: 1}, writes.writes)

	atOnce(100, func(i int) error { return d.WriteKV(context.Background(), "any", []byte(strconv.Itoa(i))) })
	_, err = d.ReadKV(t.Context(), "any")
	require.NoError(t, err)

	const owners = 50
	atOnce(owners, func(i int) error {
		id := runtime.InstanceID{PodName: "worker-" + strconv.Itoa(i), UID: "uid-" + strconv.Itoa(i)}
		return d.WriteKV(context.Background(), "owned", []byte("v"), runtime.OwnedBy(id.Owner()))
	})
	var list corev1.ConfigMapList
	require.NoError(t, c.admin.List(t.Context(), &list))
	for i := range list.Items {
		if list.Items[i].Annotations["dynawire.io/key"] == "owned" {
			assert.Len(t, list.Items[i].OwnerReferences, owners)
		}
	}
}
