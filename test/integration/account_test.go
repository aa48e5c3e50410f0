//go:build integration

package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/pkg/wiring"
	"github.com/dynawire/dynawire/test/controlplane"
)

// accounts are the names that a RoleBinding is for.
func accounts(t require.TestingT, namespace, name string) []string {
	var out []string
	for _, s := range getObject[rbacv1.RoleBinding](t, namespace, name).Subjects {
		out = append(out, s.Name)
	}
	return out
}

func TestOptedInNamespaceGetsAccountRoleAndBinding(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	eventually(t, func(c require.TestingT) {
		require.Equal(c, []string{wiring.ServiceAccount}, accounts(c, namespace, wiring.ServiceAccount))
	})
	role := getObject[rbacv1.Role](t, namespace, wiring.ServiceAccount)
	allowed := map[string][]string{}
	for _, r := range role.Rules {
		allowed[r.APIGroups[0]+"/"+r.Resources[0]] = r.Verbs
	}
	assert.Equal(t, map[string][]string{
		"discovery.k8s.io/endpointslices":  {"get", "list", "watch"},
		"/pods":                            {"get", "list", "watch"},
		"nvidia.com/dynamoworkermetadatas": {"get", "list", "watch", "create", "update", "patch", "delete"},
	}, allowed)
	gone(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wiring.KeyValueRole}})
}

func TestChangedAndDeletedObjectsAreRepaired(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	eventually(t, func(c require.TestingT) { accounts(c, namespace, wiring.ServiceAccount) })
	role := getObject[rbacv1.Role](t, namespace, wiring.ServiceAccount)
	want := role.DeepCopy().Rules
	role.Rules = role.Rules[:1]
	require.NoError(t, cluster.Update(t.Context(), role))
	binding := getObject[rbacv1.RoleBinding](t, namespace, wiring.ServiceAccount)
	binding.Subjects = nil
	require.NoError(t, cluster.Update(t.Context(), binding))
	repaired := func(c require.TestingT) {
		require.Equal(c, want, getObject[rbacv1.Role](c, namespace, wiring.ServiceAccount).Rules)
		require.Len(c, accounts(c, namespace, wiring.ServiceAccount), 1)
		getObject[corev1.ServiceAccount](c, namespace, wiring.ServiceAccount)
	}
	eventually(t, repaired)

	for _, o := range []client.Object{role, binding, &corev1.ServiceAccount{}} {
		o.SetNamespace(namespace)
		o.SetName(wiring.ServiceAccount)
		o.SetResourceVersion("")
		remove(t, o)
	}
	eventually(t, repaired)
}

func TestBindingToAnotherRoleIsMadeAnew(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, nil)
	create(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: wiring.ServiceAccount, Labels: map[string]string{wiring.LabelManagedBy: wiring.ManagedBy},
	}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "another"}})
	label(t, namespace, "true")
	eventually(t, func(c require.TestingT) {
		require.Equal(c, wiring.ServiceAccount, getObject[rbacv1.RoleBinding](c, namespace, wiring.ServiceAccount).RoleRef.Name)
		require.Equal(c, []string{wiring.ServiceAccount}, accounts(c, namespace, wiring.ServiceAccount))
	})
}

func TestKeyValueRoleOnlyWhereAskedFor(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, map[string]string{wiring.AnnotationKeyValue: "true"})
	eventually(t, func(c require.TestingT) {
		require.Equal(c, []string{wiring.ServiceAccount}, accounts(c, namespace, wiring.KeyValueRole))
		require.Equal(c, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update", "patch"}}},
			getObject[rbacv1.Role](c, namespace, wiring.KeyValueRole).Rules)
	})
	ns := getObject[corev1.Namespace](t, "", namespace)
	delete(ns.Annotations, wiring.AnnotationKeyValue)
	require.NoError(t, cluster.Update(t.Context(), ns))
	eventually(t, func(c require.TestingT) {
		gone(c, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wiring.KeyValueRole}})
		gone(c, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wiring.KeyValueRole}})
	})
}

func TestBindingFollowsTheAccountsOfThePods(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-own"}})
	own := worker(namespace, "own", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "a-own" })
	create(t, own)
	assert.Equal(t, "a-own", own.Spec.ServiceAccountName)
	eventually(t, func(c require.TestingT) {
		require.Equal(c, []string{"a-own", wiring.ServiceAccount}, accounts(c, namespace, wiring.ServiceAccount))
	})
	remove(t, own)
	eventually(t, func(c require.TestingT) {
		require.Equal(c, []string{wiring.ServiceAccount}, accounts(c, namespace, wiring.ServiceAccount))
	})
}

func TestOptOutWaitsForTheLastPod(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, map[string]string{wiring.AnnotationKeyValue: "true"})
	p := worker(namespace, "w")
	create(t, p)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dynamo-backend-service"}}
	eventually(t, func(c require.TestingT) {
		accounts(c, namespace, wiring.KeyValueRole)
		getObject[corev1.Service](c, namespace, service.Name)
	})
	label(t, namespace, "false")
	time.Sleep(settling)
	accounts(t, namespace, wiring.ServiceAccount)
	getObject[corev1.Service](t, namespace, service.Name)

	remove(t, p)
	eventually(t, func(c require.TestingT) {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: wiring.ServiceAccount}
		kv := metav1.ObjectMeta{Namespace: namespace, Name: wiring.KeyValueRole}
		for _, o := range []client.Object{
			&corev1.ServiceAccount{ObjectMeta: meta}, &rbacv1.Role{ObjectMeta: meta}, &rbacv1.RoleBinding{ObjectMeta: meta},
			&rbacv1.Role{ObjectMeta: kv}, &rbacv1.RoleBinding{ObjectMeta: kv}, service.DeepCopy(),
		} {
			gone(c, o)
		}
	})
}

func TestOptOutWithoutPodsClearsAtOnce(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	label(t, namespace, "")
	eventually(t, func(c require.TestingT) {
		gone(c, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wiring.ServiceAccount}})
	})
}

// What is the user's stays the user's: it has no label of ours.
func TestObjectsOfTheUserAreLeftAlone(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, nil)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: wiring.ServiceAccount}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	create(t, account)
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}}
	create(t, role)
	label(t, namespace, "true")
	eventually(t, func(c require.TestingT) {
		accounts(c, namespace, wiring.ServiceAccount)
		var events corev1.EventList
		require.NoError(c, cluster.List(context.Background(), &events, client.InNamespace(namespace)))
		require.NotEmpty(c, events.Items)
		require.Equal(c, "NameTaken", events.Items[0].Reason)
		require.Equal(c, "Role", events.Items[0].InvolvedObject.Kind)
	})
	assert.Equal(t, role.ResourceVersion, getObject[rbacv1.Role](t, namespace, role.Name).ResourceVersion)
	assert.Equal(t, account.ResourceVersion, getObject[corev1.ServiceAccount](t, namespace, account.Name).ResourceVersion)

	label(t, namespace, "")
	eventually(t, func(c require.TestingT) { gone(c, &rbacv1.RoleBinding{ObjectMeta: meta}) })
	getObject[rbacv1.Role](t, namespace, role.Name)
	getObject[corev1.ServiceAccount](t, namespace, account.Name)
}

func TestExcludedNamespacesAreNotReconciled(t *testing.T) {
	t.Parallel()
	label(t, controlplane.SystemNamespace, "true")
	label(t, "kube-system", "true")
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, name := range []string{controlplane.SystemNamespace, "kube-system"} {
			ns := &corev1.Namespace{}
			if cluster.Get(ctx, client.ObjectKey{Name: name}, ns) == nil {
				delete(ns.Labels, wiring.LabelDiscoveryEnabled)
				_ = cluster.Update(ctx, ns)
			}
		}
	})
	time.Sleep(settling)
	for _, name := range []string{controlplane.SystemNamespace, "kube-system"} {
		gone(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: wiring.ServiceAccount}})
	}
}
