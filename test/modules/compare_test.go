//go:build modules

package modules_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// podOf is a pod that runs the module as the question does, in an image of that release.
func podOf(module, release string, q question) *pod.Pod {
	c := pod.Container{
		Name: "main", Image: "example.com/dynamo:" + release,
		Command: []string{"python3", "-m", "dynamo." + module}, Args: q.Args,
	}
	for name, value := range q.Env {
		c.Env = append(c.Env, pod.EnvVar{Name: name, Value: value})
	}
	slices.SortFunc(c.Env, func(a, b pod.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
	return &pod.Pod{Metadata: pod.Metadata{Namespace: "llm"}, Spec: pod.Spec{Containers: []pod.Container{c}}}
}

// differences compares what the module says with what the table makes of the same pod.
func differences(r *identity.Resolution, a *answer) []string {
	p := r.Process()
	switch {
	case a.Headless && p == nil:
		return nil
	case a.Headless:
		return []string{"the process starts no runtime, identity has " + summary(r)}
	case p == nil:
		return []string{"identity sees no Dynamo process: " + string(r.Reason)}
	}
	if a.Stopped != "" {
		if doubts(r) {
			return nil
		}
		return []string{fmt.Sprintf("the process ends (%s), identity has %s", a.Stopped, summary(r))}
	}
	var d diff
	if p.Module.Namespace == identity.Scope {
		d.said("namespace", p.Told(identity.FlagNamespace).Text, text(a.Namespace))
		d.said("namespace prefix", p.Told(identity.FlagNamespacePrefix).Text, text(a.NamespacePrefix))
		d.said("health port", fmt.Sprint(p.Health("").Number), fmt.Sprint(*cmp.Or(a.HTTPMetricsPort, a.HTTPPort)))
	} else {
		d.identity(r, a)
	}
	if a.Backend != nil {
		backend := "etcd" // the runtime's default, which the mutation replaces
		if v := p.Told(identity.FlagBackend); v.Told() {
			backend = v.Text
		}
		d.said("discovery backend", backend, *a.Backend)
	}
	return d
}

// diff collects differences.
type diff []string

func (d *diff) said(what, identity, process string) {
	if identity != process {
		*d = append(*d, fmt.Sprintf("%s: identity %q, the process %q", what, identity, process))
	}
}

// identity compares namespace, component, endpoint and role of what registers.
func (d *diff) identity(r *identity.Resolution, a *answer) {
	p := r.Process()
	namespace, component, endpoint := text(a.Namespace), text(a.Component), text(a.Endpoint)
	var beside []string
	if len(a.Serves) > 0 {
		namespace, component, endpoint, beside = registered(p, a.Serves)
	}
	// The process and not the pod, of which a malformed path decides nothing.
	d.said("namespace", p.RegistersIn(r.Identity.Namespace.Text), namespace)
	if component != p.Component.Text && p.Component != (identity.Value{}) {
		d.said("component", p.Component.Text, component)
	}
	if len(a.Serves) > 0 || a.Endpoint != nil {
		d.said("endpoint", p.Endpoint.Text, endpoint)
	}
	decides := p.Module.Endpoint == "" && len(p.Module.Beside) == 0 // the configuration
	for _, name := range beside {
		if !decides && !p.Module.Serves(name) {
			*d = append(*d, fmt.Sprintf("endpoint %q is served beside the main one, and not in the table", name))
		}
	}
	if a.Mode != nil {
		d.said("role", r.Identity.Role.Text, roleOf(*a.Mode))
	}
}

// registered splits what is served. A module whose row has no main endpoint has only others.
func registered(p *identity.Process, serves []string) (namespace, component, endpoint string, beside []string) {
	for _, path := range serves {
		parts := strings.SplitN(path, ".", 3)
		namespace, component = parts[0], parts[1]
		if endpoint == "" && p.Module.Endpoint != "" {
			endpoint = parts[2]
		} else {
			beside = append(beside, parts[2])
		}
	}
	return namespace, component, endpoint, beside
}

// roleOf is the component type of a disaggregation mode.
func roleOf(mode string) string {
	switch mode {
	case "prefill":
		return wiring.TypePrefill
	case "decode":
		return wiring.TypeDecode
	}
	return wiring.TypeWorker
}

// doubts reports whether identity says of anything that it cannot know it, or that the process does not take it.
func doubts(r *identity.Resolution) bool {
	p := r.Process()
	unknown := func(v identity.Value) bool { return v.Told() && v.Sure == identity.Unknown }
	return p.Malformed || p.NameRefused || p.Health("").State == identity.PortInvalid || unknown(p.Told(identity.FlagBackend)) ||
		unknown(r.Identity.Namespace) || unknown(r.Identity.Component) || unknown(r.Identity.Endpoint) || unknown(r.Identity.Role) ||
		r.Identity.Role == (identity.Value{}) && p.Module.Role != "" ||
		r.Identity.Namespace == (identity.Value{}) && p.Module.Namespace != identity.Scope
}

// summary is an identity in a line.
func summary(r *identity.Resolution) string {
	id := &r.Identity
	return fmt.Sprintf("namespace %q, component %q, endpoint %q, role %q",
		r.Process().RegistersIn(id.Namespace.Text), id.Component.Text, id.Endpoint.Text, id.Role.Text)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
