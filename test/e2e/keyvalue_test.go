//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// asAccount is the library under the rights of the account that dynawire made for a namespace, and no others.
func asAccount(t *testing.T, ns string) runtime.Discovery {
	t.Helper()
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = "system:serviceaccount:" + ns + ":" + wiring.ServiceAccount
	d, err := kube.New(kube.Config{REST: as, Identity: runtime.Identity{PodNamespace: ns}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestKeyValue(t *testing.T) {
	ns := optedIn(t, map[string]string{wiring.AnnotationKeyValue: "true"})
	d := asAccount(t, ns)
	card := []byte(`{"name":"Qwen3-32B"}`)
	eventually(t, "the right to write", func() error { return d.WriteKV(t.Context(), "mdc/Qwen3-32B", card) })
	got, err := d.ReadKV(t.Context(), "mdc/Qwen3-32B")
	require.NoError(t, err)
	assert.Equal(t, card, got.Value)

	require.NoError(t, d.WriteKV(t.Context(), "mdc/Qwen3-32B", card))
	again, err := d.ReadKV(t.Context(), "mdc/Qwen3-32B")
	require.NoError(t, err)
	assert.Equal(t, got.Version, again.Version, "writing what is there already is no write")
	assert.ErrorIs(t, d.WriteKV(t.Context(), "mdc/Qwen3-32B", []byte("other"), runtime.CreateOnly()), runtime.ErrAlreadyExists)
	_, err = d.ReadKV(t.Context(), "mdc/qwen3-32b")
	assert.ErrorIs(t, err, runtime.ErrNotFound)
}

// ConfigMaps are the namespace's own: nobody may write them unless the namespace says so.
func TestKeyValueNeedsTheNamespacesWord(t *testing.T) {
	ns := optedIn(t, nil)
	d := asAccount(t, ns)
	eventually(t, "the rights of the account", func() error {
		_, err := client.RbacV1().RoleBindings(ns).Get(t.Context(), wiring.ServiceAccount, metav1.GetOptions{})
		return err
	})
	eventually(t, "the right to look", func() error {
		instances, err := d.ListInstances(t.Context(), "dynamo", "backend", runtime.NoWait())
		if err == nil && len(instances) > 0 {
			return fmt.Errorf("%d instances in an empty namespace", len(instances))
		}
		return err
	})
	err := d.WriteKV(t.Context(), "key", []byte("value"))
	assert.True(t, errors.Is(err, runtime.ErrForbidden), "%v", err)
	assert.ErrorContains(t, err, "configmaps")
}
