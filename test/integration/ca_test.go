//go:build integration

package integration_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/test/controlplane"
)

// otherCA is a CA that nothing here was signed by.
const otherCA = `-----BEGIN CERTIFICATE-----
MIIBXTCCAQOgAwIBAgIBATAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwphbm90aGVy
IENBMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAVMRMwEQYDVQQD
Ewphbm90aGVyIENBMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZiS8JxTLMHZO
k0+kXLMDIRrK10jhqbXCZ7nPLkmJZwxNAPJ1tGeWkdpd6WXZpo+9U45laS1MojFp
u8wota4Yk6NCMEAwDgYDVR0PAQH/BAQDAgIEMA8GA1UdEwEB/wQFMAMBAf8wHQYD
VR0OBBYEFDwYjkf8ZXeh/rWs4uRnkr4tnLmbMAoGCCqGSM49BAMCA0gAMEUCIQCa
JrfyBUxY8Yk1QurJH/jLg5yFveZaso6jojmIAkxU8gIgdfaR3EoG0R5OCn7NtBGx
oTxk2nuIbmzoCuCI7cWJFkI=
-----END CERTIFICATE-----
`

// grant lets the server read a webhook configuration of another name.
func grant(t *testing.T, name string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: name}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
		Verbs: []string{"get", "list", "watch"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: controlplane.SystemNamespace, Name: "dynawire"}},
	}
	create(t, role)
	create(t, binding)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		require.NoError(t, cluster.Delete(ctx, binding))
		require.NoError(t, cluster.Delete(ctx, role))
	})
}
