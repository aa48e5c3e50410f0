//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/internal/cli/audit"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// All Dynamo pods of a namespace share an account, which may write all metadata. Who is who, tells the token.
func TestImpersonation(t *testing.T) {
	ns := optedIn(t, nil)
	for _, name := range []string{"a", "b"} {
		p := dynamo(name, []string{"sleep", "infinity"})
		p.Labels = map[string]string{wiring.LabelComponent: "chat"}
		kubectl(t, manifest(t, p), "-n", ns, "apply", "-f", "-")
	}
	a, b := running(t, ns, "a"), running(t, ns, "b")
	require.Equal(t, wiring.ServiceAccount, a.Spec.ServiceAccountName)
	mayWriteMetadata(t, ns)
	asA, asB := withToken(t, tokenIn(t, a)), withToken(t, tokenIn(t, b))

	require.NoError(t, writeMetadata(t, asB, ns, "b", b, "itself"), "its own")
	for name, tc := range map[string]struct {
		as    *kubernetes.Clientset
		write string
		owner *corev1.Pod
		want  string // in the refusal; empty where there is none
	}{
		"its own":                      {asA, "a", a, ""},
		"another's, which is there":    {asA, "b", b, `the owner is Pod "b" (UID ` + string(b.UID) + `), but Pod "a" (UID ` + string(a.UID) + `) writes it`},
		"another's, as its own":        {asA, "b", a, `the name is "b", but Pod "a"`},
		"its own, as another's":        {asA, "a", b, `the owner is Pod "b"`},
		"one of nobody":                {asA, "c", nil, "there are 0, but it speaks for one pod"},
		"by an account without a pod":  {withToken(t, unbound(t, ns)), "b", b, "with a token that is bound to no pod"},
		"by another account of no pod": {as(t, "system:serviceaccount:"+ns+":"+wiring.ServiceAccount), "b", b, "with a token that is bound to no pod"},
	} {
		t.Run(name, func(t *testing.T) {
			err := writeMetadata(t, tc.as, ns, tc.write, tc.owner, name)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			assert.ErrorContains(t, err, tc.want)
			assert.ErrorContains(t, err, "[metadata-impersonation]")
			assert.NotContains(t, kubectl(t, "", "-n", ns, "get", v1alpha1.Resource, "-o", "yaml"), name, "nothing of it is stored")
		})
	}
	t.Run("by an administrator, who is let in and recorded", func(t *testing.T) {
		out := kubectl(t, manifest(t, metadataOf("b", b, "by hand")), "-n", ns, "apply", "--server-side", "--force-conflicts", "-f", "-")
		assert.Contains(t, out, "Warning: metadata.ownerReferences: user ")
		assert.Contains(t, out, `writes it, and not the pod that owns it, "b"`)
		assert.Contains(t, kubectl(t, "", "-n", ns, "get", v1alpha1.Resource, "b", "-o", "yaml"), "by hand")
		who := strings.TrimSpace(kubectl(t, "", "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"))
		eventually(t, "what the administrator and the others did, on record", func() error {
			var found []audit.Finding
			if err := json.Unmarshal([]byte(kubectlDynawire(t, "audit", "-n", ns, "--rule", "metadata-impersonation", "-o", "json")), &found); err != nil {
				return err
			}
			outcomes := map[string]string{}
			for _, f := range found {
				outcomes[f.User+" "+f.Outcome] = f.Object
			}
			for _, want := range []string{who + " warned", "system:serviceaccount:" + ns + ":" + wiring.ServiceAccount + " refused"} {
				if outcomes[want] == "" {
					return fmt.Errorf("no %q in %v", want, outcomes)
				}
			}
			return nil
		})
	})
}

// running waits until a pod runs.
func running(t *testing.T, ns, name string) *corev1.Pod {
	t.Helper()
	var p *corev1.Pod
	eventually(t, name+" runs", func() error {
		var err error
		if p, err = client.CoreV1().Pods(ns).Get(t.Context(), name, metav1.GetOptions{}); err == nil && p.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", p.Status.Phase)
		}
		return err
	})
	return p
}

// tokenIn is the token that the kubelet mounts in a pod.
func tokenIn(t *testing.T, p *corev1.Pod) string {
	t.Helper()
	return kubectl(t, "", "-n", p.Namespace, "exec", p.Name, "--", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token")
}

// unbound is a token of the namespace's account that belongs to no pod.
func unbound(t *testing.T, ns string) string {
	t.Helper()
	request, err := client.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), wiring.ServiceAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return request.Status.Token
}

func withToken(t *testing.T, token string) *kubernetes.Clientset {
	t.Helper()
	c := rest.AnonymousClientConfig(config)
	c.BearerToken = token
	made, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return made
}

func as(t *testing.T, user string) *kubernetes.Clientset {
	t.Helper()
	c := rest.CopyConfig(config)
	c.Impersonate.UserName = user
	made, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return made
}

// writeMetadata applies an object as Dynamo does; mark can be found again in it.
func writeMetadata(t *testing.T, by *kubernetes.Clientset, ns, name string, owner *corev1.Pod, mark string) error {
	t.Helper()
	data, err := json.Marshal(metadataOf(name, owner, mark))
	require.NoError(t, err)
	return by.RESTClient().Patch(types.ApplyPatchType).
		AbsPath("/apis", v1alpha1.GroupVersion().String(), "namespaces", ns, v1alpha1.Resource, name).
		Param("fieldManager", "dynamo-worker").Param("force", "true").Body(data).Do(t.Context()).Error()
}

func metadataOf(name string, owner *corev1.Pod, mark string) map[string]any {
	meta := map[string]any{"name": name}
	if owner != nil {
		meta["ownerReferences"] = []any{map[string]any{
			"apiVersion": "v1", "kind": "Pod", "name": owner.Name, "uid": owner.UID, "controller": true, "blockOwnerDeletion": false,
		}}
	}
	return map[string]any{
		"apiVersion": v1alpha1.GroupVersion().String(), "kind": "DynamoWorkerMetadata", "metadata": meta,
		"spec": map[string]any{"data": map[string]any{"endpoints": map[string]any{}, "mark": mark}},
	}
}
