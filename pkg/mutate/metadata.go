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
	Assumed string `json:"dynawire.io/namespace-assumed,omitempty"`
}

// Metadata is the metadata of a template that has none, as the patch writes it.
type Metadata struct {
	Labels      labelSet      `json:"labels"`
	Annotations annotationSet `json:"annotations,omitzero"`
}

const enabled = "true"

var (
	namespaceLabelPath = labelsPath + "/" + escape(wiring.LabelNamespace)
	componentLabelPath = labelsPath + "/" + escape(wiring.LabelComponent)
	typeLabelPath      = labelsPath + "/" + escape(wiring.LabelComponentType)
	enabledLabelPath   = labelsPath + "/" + escape(wiring.LabelDiscoveryEnabled)
	backendLabelPath   = labelsPath + "/" + escape(wiring.LabelDiscoveryBackend)
)

// metadata stamps the labels and the annotations, as one addition where the pod has no metadata to add them to.
func (m *mutation) metadata() {
	labels, annotations := m.labelSet(), m.annotationSet()
	if !m.pod.Metadata.Given {
		m.add(metadataPath, Metadata{labels, annotations})
		return
	}
	m.labels(labels)
	m.annotations(annotations)
}

func (m *mutation) labelSet() labelSet {
	id := &m.resolution.Identity
	return labelSet{
		Namespace: labelValue(id.Namespace), Component: labelValue(id.Component), Type: labelValue(id.Role),
		Enabled: enabled, Backend: wiring.BackendKubernetes,
	}
}

// labels stamps what is known and leaves every label that is there.
func (m *mutation) labels(set labelSet) {
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

// labelValue is the text where it is a name: one that no label can carry would have the API server refuse the pod for a
// label that the user never wrote.
func labelValue(v identity.Value) string {
	if wiring.IsName(v.Text) {
		return v.Text
	}
	return ""
}

// annotationSet is the account that the reconciler has to bind, and what nothing else tells once the pod has its namespace
// label: that a frontend is told no scope, and that nobody declared the namespace.
func (m *mutation) annotationSet() annotationSet {
	var set annotationSet
	account := m.finalAccount()
	if account != wiring.ServiceAccount && m.pod.Metadata.Annotations[wiring.AnnotationServiceAccount] != account {
		set.Account = account
	}
	if m.scopeUndeclared() {
		set.Scope = string(wiring.ScopeAll)
	}
	known := m.pod.Metadata.Annotations
	if p := m.resolution.AssumedNamespace(known, m.options.Namespace); p != nil && known[wiring.AnnotationNamespaceAssumed] != p.Container.Name {
		set.Assumed = p.Container.Name
	}
	return set
}

func (m *mutation) annotations(set annotationSet) {
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
	if set.Assumed != "" {
		m.add(assumedAnnotationPath, set.Assumed)
	}
}
