package mutate

import (
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// labelSet is a pod's labels where it has none yet. It is a struct so that it is written in one order.
type labelSet struct {
	Namespace string `json:"nvidia.com/dynamo-namespace,omitempty"`
	Component string `json:"nvidia.com/dynamo-component,omitempty"`
	Type      string `json:"nvidia.com/dynamo-component-type,omitempty"`
	Enabled   string `json:"nvidia.com/dynamo-discovery-enabled,omitempty"`
	Backend   string `json:"nvidia.com/dynamo-discovery-backend,omitempty"`
}

// annotationSet is the same for annotations.
type annotationSet struct {
	Scope   string `json:"dynawire.io/frontend-scope,omitempty"`
	Account string `json:"dynawire.io/service-account,omitempty"`
}

const enabled = "true"

var (
	namespaceLabelPath = labelsPath + "/" + escape(wiring.LabelNamespace)
	componentLabelPath = labelsPath + "/" + escape(wiring.LabelComponent)
	typeLabelPath      = labelsPath + "/" + escape(wiring.LabelComponentType)
	enabledLabelPath   = labelsPath + "/" + escape(wiring.LabelDiscoveryEnabled)
	backendLabelPath   = labelsPath + "/" + escape(wiring.LabelDiscoveryBackend)
)

// labels stamps what is known and leaves every label that is there.
func (m *mutation) labels() {
	id := &m.resolution.Identity
	set := labelSet{
		Namespace: labelValue(id.Namespace), Component: labelValue(id.Component), Type: labelValue(id.Role),
		Enabled: enabled, Backend: wiring.BackendKubernetes,
	}
	if m.pod.Metadata.Labels == nil {
		m.add(labelsPath, set)
		return
	}
	m.label(wiring.LabelNamespace, namespaceLabelPath, set.Namespace)
	m.label(wiring.LabelComponent, componentLabelPath, set.Component)
	m.label(wiring.LabelComponentType, typeLabelPath, set.Type)
	m.label(wiring.LabelDiscoveryEnabled, enabledLabelPath, set.Enabled)
	m.label(wiring.LabelDiscoveryBackend, backendLabelPath, set.Backend)
}

func (m *mutation) label(key, path, value string) {
	if _, ok := m.pod.Metadata.Labels[key]; !ok && value != "" {
		m.add(path, value)
	}
}

// labelValue is the text where a label can carry it: with another the API server would refuse the pod and name a label
// that the user never wrote.
func labelValue(v identity.Value) string {
	if wiring.IsLabelValue(v.Text) {
		return v.Text
	}
	return ""
}

// annotations stamps the account that the reconciler has to bind, and the scope of a frontend that is told none: once
// the pod has its namespace label, nothing else tells it from one that asks for that namespace.
func (m *mutation) annotations() {
	var set annotationSet
	account := m.finalAccount()
	if account != wiring.ServiceAccount && m.pod.Metadata.Annotations[wiring.AnnotationServiceAccount] != account {
		set.Account = account
	}
	if m.scopeUndeclared() {
		set.Scope = string(wiring.ScopeAll)
	}
	if set == (annotationSet{}) {
		return
	}
	if m.pod.Metadata.Annotations == nil {
		m.add(annotationsPath, set)
		return
	}
	if set.Scope != "" {
		m.add(scopeAnnotationPath, set.Scope)
	}
	if set.Account != "" {
		m.add(accountAnnotationPath, set.Account)
	}
}
