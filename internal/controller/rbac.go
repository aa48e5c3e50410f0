package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	applyrbac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// discoveryRules are what a Dynamo process needs to register itself and to find others
// (ai-dynamo/dynamo lib/runtime/src/discovery/kube: slices and metadata objects are watched, its own metadata is
// written; pods are watched in container mode only). The ClusterRole of dynawire must hold every one of them, or the API
// server lets it grant none: manifests/base/rbac.yaml.
func discoveryRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
		{
			APIGroups: []string{"nvidia.com"}, Resources: []string{"dynamoworkermetadatas"},
			Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"},
		},
	}
}

// keyValueRules are what the library's key-value store needs. Without list: its keys are names. Without delete: it has no
// such call.
func keyValueRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update", "patch"}},
	}
}

// subjects of the RoleBindings: our own account, and those that wired pods keep.
func subjects(namespace string, accounts []string) []rbacv1.Subject {
	names := append([]string{wiring.ServiceAccount}, accounts...)
	slices.Sort(names)
	names = slices.Compact(names)
	out := make([]rbacv1.Subject, len(names))
	for i, name := range names {
		out[i] = rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}
	}
	return out
}

func roleRef(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}
}

func managedLabels() map[string]string {
	return map[string]string{wiring.LabelManagedBy: wiring.ManagedBy}
}

func applyRole(namespace, name string, rules []rbacv1.PolicyRule) *applyrbac.RoleApplyConfiguration {
	role := applyrbac.Role(name, namespace).WithLabels(managedLabels())
	for _, r := range rules {
		role.WithRules(applyrbac.PolicyRule().WithAPIGroups(r.APIGroups...).WithResources(r.Resources...).WithVerbs(r.Verbs...))
	}
	return role
}

func applyBinding(namespace, name string, subjects []rbacv1.Subject) *applyrbac.RoleBindingApplyConfiguration {
	ref := roleRef(name)
	binding := applyrbac.RoleBinding(name, namespace).WithLabels(managedLabels()).
		WithRoleRef(applyrbac.RoleRef().WithAPIGroup(ref.APIGroup).WithKind(ref.Kind).WithName(ref.Name))
	for _, s := range subjects {
		binding.WithSubjects(applyrbac.Subject().WithKind(s.Kind).WithName(s.Name).WithNamespace(s.Namespace))
	}
	return binding
}

// Events on objects that stand in the way.
const (
	reasonNameTaken = "NameTaken"
	actionReconcile = "Reconcile"
	eventWarning    = corev1.EventTypeWarning
)
