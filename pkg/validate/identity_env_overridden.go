package validate

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// identity-env-overridden: a variable that tells the process which pod it is in says something else.
//
// Restricted: POD_NAME, POD_NAMESPACE and POD_UID of every Dynamo container, as env and as the command sets them.
//
// Allowed: nothing, for the mutation sets them; the fieldRef of metadata.name, metadata.namespace and metadata.uid, also by
// $(NAME) of a variable that has it; the very name or namespace that the pod is known to have; POD_NAMESPACE from a
// ConfigMap or Secret, which may know it; anything in a container that mounts /etc/podinfo, whose files count more.
func identityEnvOverridden(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		if p.Module != nil && !p.Runtime || mounts(p, "/etc/podinfo") {
			continue
		}
		m := &s.pod.Metadata
		s.identityEnv(p, wiring.EnvPodName, "metadata.name", m.Name, "it would write the discovery entry of another pod, or of none")
		s.identityEnv(p, wiring.EnvPodNamespace, "metadata.namespace", m.Namespace, "it would register and look for peers in another Kubernetes namespace")
		s.identityEnv(p, wiring.EnvPodUID, "metadata.uid", m.UID, "its discovery entry would belong to no pod and be deleted")
	}
}

func (s *subject) identityEnv(p *identity.Process, name, field, actual, consequence string) {
	remedy := ". Set it from the fieldRef " + field + " or remove it."
	v := p.Variable(name)
	if !v.Told() {
		if p.TakesAway(name) {
			s.find(p.At, "", "the command takes "+name+" away, but the runtime reads it to know which pod it is; the process would not start. Leave it in the environment.")
		}
		return
	}
	if p.TakesField(name, field) || v.Sure == identity.Proven && v.Text == actual && actual != "" {
		return
	}
	const but = ", but the runtime takes it for the pod's own "
	what := field[len("metadata."):]
	if what == "uid" {
		what = "UID"
	}
	switch {
	case v.Sure == identity.Proven:
		s.find(v.Field, "", name+" is "+quoted(v.Text)+but+what+"; "+consequence+remedy)
	case setByCommand(p, v):
		// What a shell makes of it only the running pod knows.
	case otherField(p, name) != "":
		s.find(v.Field, "", name+" is the fieldRef "+otherField(p, name)+but+what+"; "+consequence+remedy)
	case name != wiring.EnvPodNamespace:
		s.find(v.Field, "", name+" does not come from the pod"+but+what+"; "+consequence+remedy)
	}
}

func setByCommand(p *identity.Process, v identity.Value) bool { return v.Field == p.At.Args() }

// otherField is the field that a variable takes; empty where it has another source.
func otherField(p *identity.Process, name string) string {
	for i := len(p.Container.Env) - 1; i >= 0; i-- {
		if v := &p.Container.Env[i]; v.Name == name {
			if v.ValueFrom == nil || v.ValueFrom.FieldRef == nil {
				return ""
			}
			return v.ValueFrom.FieldRef.FieldPath
		}
	}
	return ""
}

// mounts reports whether something is mounted at a directory of the container, or above it.
func mounts(p *identity.Process, directory string) bool {
	for i := range p.Container.VolumeMounts {
		path := strings.TrimRight(p.Container.VolumeMounts[i].MountPath, "/")
		if path == directory || strings.HasPrefix(directory, path+"/") {
			return true
		}
	}
	return false
}
