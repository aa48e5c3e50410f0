package identity

import (
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Resolution is all that is known about a pod.
type Resolution struct {
	Reason Reason
	// Identity is the zero value unless Reason is Wired.
	Identity Identity
	// Processes are what the wiring and the rules are about: the containers, then the native sidecars, that start a Dynamo
	// runtime; in a labelled pod where none does, those that run any module of Dynamo's, else the containers in container
	// mode, else the first one.
	Processes []Process
	// Main is the process that gives the identity: the first worker, else the first that registers, else the first.
	Main int
	// Tuning is what the annotations of the pod and of its Namespace ask for; Warnings name what the pod's ask in vain.
	Tuning   wiring.Tuning
	Warnings []string
}

// Process is the one that gives the identity; nil when the pod is skipped.
func (r *Resolution) Process() *Process {
	if len(r.Processes) == 0 {
		return nil
	}
	return &r.Processes[r.Main]
}

// Resolve reads a pod, or a workload's pod template. The result points into p. It is the same before and after the
// mutation, except that a value that the mutation wrote down is known from there.
func Resolve(p *pod.Pod, ns wiring.Settings) Resolution {
	if reason := skipped(p.Metadata.Labels); reason != "" {
		return Resolution{Reason: reason}
	}
	r := resolve(p, ns, stampedLabels{})
	// A variable may take a label that the mutation is about to write. As long as knowing it only adds to what is known, or
	// leaves the labels as they are, it is known.
	for i := 0; i < maxRounds && r.mirrored(); i++ {
		again := resolve(p, ns, r.Identity.stamps())
		if !again.Identity.extends(&r.Identity) && again.Identity.stamps() != r.Identity.stamps() {
			r.Identity.doubt(&again.Identity)
			break
		}
		r = again
	}
	r.Tuning, r.Warnings = ns.TuningFor(p.Metadata.Annotations)
	for i := range r.Processes {
		r.Processes[i].tuning = r.Tuning
		// From here on variables are what they are after the mutation.
		e := &r.Processes[i].env
		e.stamped = r.Identity.stamps()
		if e.namespace != "" {
			e.namespace = r.Processes[i].GivenNamespace(r.NamespaceOf(i))
		}
	}
	r.givePorts()
	return r
}

// stamps are the labels that the mutation writes for an identity.
func (id *Identity) stamps() stampedLabels {
	return stampedLabels{labelText(id.Namespace), labelText(id.Component), labelText(id.Role)}
}

// maxRounds: each round adds one of the three labels, or nothing.
const maxRounds = 4

func resolve(p *pod.Pod, ns wiring.Settings, stamped stampedLabels) Resolution {
	env := environment{pod: p, namespace: fallback(p, ns), stamped: stamped, left: maxWork}
	r := Resolution{Reason: Wired, Processes: processes(env, ns, isLabelled(p.Metadata.Labels))}
	if len(r.Processes) == 0 {
		return Resolution{Reason: NotDynamo}
	}
	r.Main = mainProcess(r.Processes)
	r.Identity = identify(p, &r.Processes[r.Main], ns)
	return r
}

func (r *Resolution) mirrored() bool {
	for i := range r.Processes {
		if r.Processes[i].env.mirrored {
			return true
		}
	}
	return false
}

// extends reports whether id has all that other knows.
func (id *Identity) extends(other *Identity) bool {
	has := func(v, known Value) bool { return known.Text == "" || v.Text == known.Text }
	return has(id.Namespace, other.Namespace) && has(id.Component, other.Component) &&
		has(id.Endpoint, other.Endpoint) && has(id.Role, other.Role)
}

// doubt drops what would be something else once it stands on a label: then it is not written there.
func (id *Identity) doubt(other *Identity) {
	for _, v := range [...]struct{ mine, other *Value }{
		{&id.Namespace, &other.Namespace}, {&id.Component, &other.Component}, {&id.Endpoint, &other.Endpoint}, {&id.Role, &other.Role},
	} {
		if v.mine.Text != "" && v.mine.Text != v.other.Text {
			*v.mine = Value{How: v.mine.How, Field: v.mine.Field, Name: v.mine.Name}
		}
	}
}

// labelText is the text where the mutation writes it on a label.
func labelText(v Value) string {
	if wiring.IsName(v.Text) {
		return v.Text
	}
	return ""
}

func skipped(labels map[string]string) Reason {
	if labels[wiring.LabelDiscoveryEnabled] == "false" {
		return OptedOut
	}
	for _, key := range [...]string{wiring.LabelGraphDeployment, wiring.LabelOperatorSelector} {
		if _, ok := labels[key]; ok {
			return OperatorOwned
		}
	}
	return ""
}

func isLabelled(labels map[string]string) bool {
	for _, key := range [...]string{
		wiring.LabelNamespace, wiring.LabelComponent, wiring.LabelComponentType, wiring.LabelDiscoveryEnabled, wiring.LabelDiscoveryBackend,
	} {
		if _, ok := labels[key]; ok {
			return true
		}
	}
	return false
}
