package identity

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// environment is a container's env as the process will find it, including what the mutation puts in front.
type environment struct {
	pod *pod.Pod
	c   *pod.Container
	// set is what the command itself sets in front of the program (env A=b, A=b in a shell); it beats the container's env.
	set []assignment
	// cleared is env -i: nothing of the container's env remains.
	cleared bool
	// namespace is what the mutation gives DYN_NAMESPACE where the container has none; empty where it gives none.
	namespace string
	// used: another value depends on that one, or would if there were one.
	used bool
	// stamped is what the mutation puts on the labels, as far as that is known yet; mirrored: a value depends on one.
	stamped  stampedLabels
	mirrored bool
	// left bounds the work on variables, which can multiply each other, and on shell strings. Below zero the one is hidden
	// and the other not read.
	left int
}

// stampedLabels are the labels that the mutation writes and a variable may refer to.
type stampedLabels struct{ namespace, component, role string }

// assignment is NAME=text; gone where the name is unset.
type assignment struct {
	name, text string
	gone       bool
}

// maxWork is what the commands of one pod may cost: a unit for each byte of an expansion, more for what is slower.
const (
	maxWork      = 4 << 20
	variableWork = 64
	scriptWork   = 64 // for each byte
)

// get is the value of a variable that the container or its command sets. Hidden parts are marked in the text.
// What the mutation puts there and what an envFrom may hold do not count.
func (e *environment) get(name string) (string, bool) {
	for i := len(e.set) - 1; i >= 0; i-- {
		if e.set[i].name == name {
			return e.set[i].text, !e.set[i].gone
		}
	}
	if e.cleared {
		return "", false
	}
	if i := e.last(name, len(e.c.Env)); i >= 0 {
		return e.at(i), true
	}
	return "", false
}

// seen is the value of a variable as the program, its shell or the kubelet's $(NAME) finds it; false where nothing in
// the spec can give it one.
func (e *environment) seen(name string) (string, bool) {
	if text, ok := e.get(name); ok {
		return text, true
	}
	if e.cleared || e.sets(name) {
		return "", false
	}
	return e.elsewhere(name)
}

// sets reports whether the command itself sets a variable or takes it away.
func (e *environment) sets(name string) bool {
	for i := range e.set {
		if e.set[i].name == name {
			return true
		}
	}
	return false
}

// arg expands a word of command or args.
func (e *environment) arg(word string) string {
	if strings.IndexByte(word, '$') < 0 {
		return word
	}
	return expand(word, func(name string) (string, bool) { return e.before(name, len(e.c.Env)) })
}

// words are command and args, expanded, on top of buf.
func (e *environment) words(buf []string) []string {
	for _, list := range [...][]string{e.c.Command, e.c.Args} {
		for _, word := range list {
			buf = append(buf, e.arg(word))
		}
	}
	return buf
}

// last is the index of the last entry of that name among the first n, or -1.
func (e *environment) last(name string, n int) int {
	for i := n - 1; i >= 0; i-- {
		if e.c.Env[i].Name == name {
			return i
		}
	}
	return -1
}

// before is what $(name) stands for in front of entry n: the entries above it, what the mutation injects, then the rest.
func (e *environment) before(name string, n int) (string, bool) {
	if i := e.last(name, n); i >= 0 {
		if e.left -= variableWork; e.left < 0 {
			return hidden, true
		}
		text := e.at(i)
		e.left -= len(text)
		return text, true
	}
	return e.elsewhere(name)
}

// at is the value of entry i.
func (e *environment) at(i int) string {
	v := &e.c.Env[i]
	if v.ValueFrom != nil {
		if v.ValueFrom.FieldRef == nil {
			return hidden
		}
		return e.field(v.ValueFrom.FieldRef.FieldPath)
	}
	return expand(v.Value, func(name string) (string, bool) { return e.before(name, i) })
}

// elsewhere is the value of a variable that has no entry of the user's above.
func (e *environment) elsewhere(name string) (string, bool) {
	if text, ok := e.injected(name); ok && e.last(name, len(e.c.Env)) < 0 {
		return text, true
	}
	if len(e.c.EnvFrom) > 0 || isServiceVariable(name) {
		return hidden, true
	}
	return "", false
}

// injected is what the mutation puts in front where the user has no such variable.
func (e *environment) injected(name string) (string, bool) {
	switch name {
	case wiring.EnvPodName:
		return e.field("metadata.name"), true
	case wiring.EnvPodNamespace:
		return e.field("metadata.namespace"), true
	case wiring.EnvPodUID:
		return e.field("metadata.uid"), true
	case wiring.EnvDiscoveryBackend:
		return wiring.BackendKubernetes, true
	case wiring.EnvNamespace:
		e.used = true
		return e.namespace, e.namespace != ""
	}
	return "", false
}

// isServiceVariable tells what the kubelet adds for the Services of the namespace ({SVC}_SERVICE_HOST, {SVC}_PORT…).
func isServiceVariable(name string) bool {
	return strings.HasSuffix(name, "_SERVICE_HOST") || strings.Contains(name, "_SERVICE_PORT") ||
		strings.HasSuffix(name, "_PORT") && strings.ToUpper(name) == name && !strings.HasPrefix(name, "DYN_")
}

// field is the value of a downward API field, hidden where admission does not know it. An absent label may still come
// from a controller or another webhook.
func (e *environment) field(path string) string {
	m := &e.pod.Metadata
	text := ""
	switch path {
	case "metadata.name":
		text = m.Name
	case "metadata.namespace":
		text = m.Namespace
	case "metadata.uid":
		text = m.UID
	case "spec.serviceAccountName":
		text = e.pod.Spec.ServiceAccountName
		if text == "default" || text == wiring.ServiceAccount {
			text = "" // the mutation puts the one in place of the other
		}
	default:
		if key, ok := subscript(path, "metadata.labels"); ok {
			if label, ok := m.Labels[key]; ok {
				return label
			}
			text = e.stamp(key)
		} else if key, ok := subscript(path, "metadata.annotations"); ok {
			if annotation, ok := m.Annotations[key]; ok {
				return annotation
			}
		}
	}
	if text == "" {
		return hidden
	}
	return text
}

// stamp is a label that the pod does not have yet.
func (e *environment) stamp(key string) string {
	var text string
	switch key {
	case wiring.LabelNamespace:
		text = e.stamped.namespace
	case wiring.LabelComponent:
		text = e.stamped.component
	case wiring.LabelComponentType:
		text = e.stamped.role
	default:
		return ""
	}
	e.mirrored = true
	return text
}

// mirrors reports whether a variable takes a label that the pod does not have yet.
func (e *environment) mirrors(name, label string) bool {
	if e.sets(name) {
		return false
	}
	i := e.last(name, len(e.c.Env))
	if i < 0 || e.c.Env[i].ValueFrom == nil || e.c.Env[i].ValueFrom.FieldRef == nil {
		return false
	}
	key, _ := subscript(e.c.Env[i].ValueFrom.FieldRef.FieldPath, "metadata.labels")
	_, there := e.pod.Metadata.Labels[label]
	return key == label && !there
}

// subscript takes KEY out of prefix['KEY'].
func subscript(path, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok || len(rest) < 4 || !strings.HasPrefix(rest, "['") || !strings.HasSuffix(rest, "']") {
		return "", false
	}
	return rest[2 : len(rest)-2], true
}
