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
	// Processes are what the wiring and the rules are about: the containers, then the native sidecars, that run a Dynamo
	// module; in a labelled pod where none does, the first container.
	Processes []Process
	// Main is the process that gives the identity: the first worker, else the first that registers, else the first.
	Main int
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
	labelled := isLabelled(p.Metadata.Labels)
	r := Resolution{Reason: Wired, Processes: processes(p, ns, labelled)}
	if len(r.Processes) == 0 {
		return Resolution{Reason: NotDynamo}
	}
	r.Main = mainProcess(r.Processes)
	r.Identity = identify(p, &r.Processes[r.Main], ns)
	return r
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

// processes reads the containers. Without a label only what starts a Dynamo runtime makes a pod Dynamo's.
func processes(p *pod.Pod, ns wiring.Settings, labelled bool) []Process {
	var all []Process
	env := environment{pod: p, namespace: fallback(p, ns)}
	scan := func(list []pod.Container, init bool) {
		for i := range list {
			if init && list[i].RestartPolicy != "Always" {
				continue // it ends before the pod serves
			}
			var proc Process
			proc.begin(env, &list[i], ContainerField(init, i))
			if proc.read(ns) && (labelled || proc.Runtime) {
				all = append(all, proc)
			}
		}
	}
	scan(p.Spec.Containers, false)
	scan(p.Spec.InitContainers, true)
	if len(all) == 0 && labelled && len(p.Spec.Containers) > 0 {
		var proc Process
		proc.begin(env, &p.Spec.Containers[0], ContainerField(false, 0))
		proc.settleUnrecognised()
		all = append(all, proc)
	}
	return all
}

func mainProcess(all []Process) int {
	first := -1
	for i := range all {
		m := all[i].Module
		if m != nil && m.Worker() && all[i].Registers {
			return i
		}
		if first < 0 && all[i].Registers {
			first = i
		}
	}
	return max(first, 0)
}

// fallback is the Dynamo namespace of a pod whose process is told none.
func fallback(p *pod.Pod, ns wiring.Settings) string {
	if label := p.Metadata.Labels[wiring.LabelNamespace]; label != "" {
		return label
	}
	if ns.DynamoNamespace != "" {
		return ns.DynamoNamespace
	}
	return wiring.DefaultNamespace
}

// identify puts the labels in front of what the process says, and the defaults behind it.
func identify(p *pod.Pod, proc *Process, ns wiring.Settings) Identity {
	id := Identity{Namespace: namespaceOf(proc, ns), Component: proc.Component, Endpoint: proc.Endpoint, Role: proc.Role}
	override(&id.Namespace, p, wiring.LabelNamespace)
	override(&id.Component, p, wiring.LabelComponent)
	override(&id.Role, p, wiring.LabelComponentType)
	return id
}

func namespaceOf(proc *Process, ns wiring.Settings) Value {
	switch {
	case proc.Namespace != (Value{}):
		return proc.Namespace
	case ns.DynamoNamespace != "":
		return Value{
			Text: ns.DynamoNamespace, How: NamespaceAnnotation, Sure: Proven,
			Field: Field{kind: namespaceAnnotationField, key: wiring.AnnotationDynamoNamespace},
		}
	case proc.Malformed && proc.Module.Syntax != BareName:
		return Value{} // the path that should name it cannot be read, and nothing takes its place
	default:
		return byDefault(wiring.DefaultNamespace)
	}
}

func override(v *Value, p *pod.Pod, label string) {
	if text := p.Metadata.Labels[label]; text != "" {
		*v = Value{Text: text, How: Label, Sure: Proven, Field: LabelField(label), Name: label}
	}
}
