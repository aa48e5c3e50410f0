package runtime

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dynawire/dynawire/pkg/runtime/wire"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Resolve is what every backend does first with a registration: it fills in what is left to the identity and returns the
// instance as it will be (not ready, no addresses) and the document to publish. It asks nobody. The error is ErrTooLarge
// above MaxMetadata, else it names the field and what is wrong with it.
func (r Registration) Resolve(id Identity) (Instance, json.RawMessage, error) {
	fail := func(err error) (Instance, json.RawMessage, error) { return Instance{}, nil, err }
	if id.PodName == "" || id.PodUID == "" {
		return fail(fmt.Errorf("the identity has no PodName or PodUID: only a pod can register"))
	}
	if r.Namespace == "" {
		r.Namespace = id.Namespace
	}
	if r.Component == "" {
		r.Component = id.Component
	}
	if err := r.checkNames(); err != nil {
		return fail(err)
	}
	self := Instance{
		ID:        id.InstanceID(),
		Namespace: r.Namespace, Component: r.Component,
	}
	data, err := r.document(self.ID.Number(), id.WorkerSuffix)
	if err != nil {
		return fail(err)
	}
	if len(data) > MaxMetadata {
		return fail(fmt.Errorf("metadata: %w: %d bytes, at most %d; keep what is large under a key (WriteKV)",
			ErrTooLarge, len(data), MaxMetadata))
	}
	if self.Metadata, err = wire.Parse(data); err != nil {
		return fail(err)
	}

	return self, data, nil
}

func (r Registration) document(number uint64, suffix string) (json.RawMessage, error) {
	namespace := r.Namespace
	if suffix != "" {
		namespace += "-" + suffix
	}
	doc := wire.Document{InstanceID: number, Values: r.Metadata}
	for _, e := range r.Endpoints {
		doc.Endpoints = append(doc.Endpoints, wire.Endpoint{
			Namespace: namespace, Component: r.Component, Name: e.Name,
			Transport: e.Transport, DeviceType: e.DeviceType, Codec: e.Codec,
		})
		if len(e.ModelCard) > 0 {
			doc.ModelCards = append(doc.ModelCards, wire.ModelCard{
				Namespace: namespace, Component: r.Component, Endpoint: e.Name, Card: e.ModelCard,
			})
		}
	}
	return wire.Encode(doc)
}

// checkNames refuses what the webhook refuses of a pod: a name that it would never have let become a label.
func (r Registration) checkNames() error {
	if err := CheckComponent(r.Namespace, r.Component); err != nil {
		return err
	}
	if err := checkName("namespace", r.Namespace); err != nil {
		return err
	}
	if err := checkName("component", r.Component); err != nil {
		return err
	}
	for _, e := range r.Endpoints {
		if err := checkName("endpoint", e.Name); err != nil {
			return err
		}
	}
	return nil
}

func checkName(what, name string) error {
	if wiring.IsName(name) {
		return nil
	}
	why, remedy := "cannot be a name", ""
	switch undotted := strings.ReplaceAll(name, ".", "-"); {
	case name == "":
		why = "is empty"
	case wiring.IsName(undotted):
		why = "has a dot, which parts the names in NAMESPACE.COMPONENT.ENDPOINT"
		remedy = fmt.Sprintf("; %q would do", undotted)
	}
	return fmt.Errorf("%s %q %s: want at most 63 letters, digits, '-' or '_', the first and the last a letter or a digit%s (rule invalid-name)",
		what, name, why, remedy)
}

// CheckComponent refuses names that no label can carry, and empty ones: nothing would ever select them. A dot may be looked
// for, though not registered (rule invalid-name): Dynamo's own workers register a namespace with dots where they are told to.
func CheckComponent(namespace, component string) error {
	for _, v := range [...]struct{ what, value string }{{"namespace", namespace}, {"component", component}} {
		if v.value == "" {
			return fmt.Errorf("no %s is given, and the environment has none", v.what)
		}
		if !wiring.IsLabelValue(v.value) {
			return fmt.Errorf("%s %q cannot be a label value: want at most 63 letters, digits, '-', '_' or '.', the first and the "+
				"last a letter or a digit", v.what, v.value)
		}
	}
	return nil
}
