package validate

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// role-mismatch: the label's component type contradicts the module or its role flag.
//
// Restricted: label nvidia.com/dynamo-component-type, against the module of the process that gives the pod its identity, and
// against the flag or variable that makes it a prefill, decode or encode worker.
//
// Allowed: "default" everywhere; "worker" on every worker; "prefill" and "decode" on a worker that no flag makes another;
// a type that is none of Dynamo's; anything where the module is not known, and on a rank that registers nothing.
func roleMismatch(s *subject) {
	label, p := s.label(wiring.LabelComponentType), s.main()
	if p.Module == nil || p.Module.Role == "" || !p.Registers && !p.Module.HTTP || !known(label) {
		return
	}
	const labelIs = ", but label " + wiring.LabelComponentType + " is "
	if !p.Module.Worker() || !worker(label) {
		if label != p.Module.Role {
			s.find(p.At, "", "the container runs "+module(p)+", a "+p.Module.Role+labelIs+quoted(label)+
				"; planners, monitors and Services that go by the label would take it for a "+noun(label)+". Set the label to "+quoted(p.Module.Role)+" or remove it.")
		}
		return
	}
	mode, told := workerMode(p)
	if label == wiring.TypeWorker || mode == "" || mode == label {
		return
	}
	fits := mode
	if mode == encode {
		fits = wiring.TypeWorker
	}
	found := told.Name + " is " + quoted(mode)
	if !strings.Contains(strings.ToLower(told.Name), "mode") {
		found = told.Name + " makes it a worker for " + mode
	}
	s.find(told.Field, "", found+labelIs+quoted(label)+"; planners and routers that go by the label would give it work that it does not do. Set the label to "+
		quoted(fits)+" or remove it.")
}

const encode = "encode"

// noun is what a component type means.
func noun(role string) string {
	if role == wiring.TypePrefill || role == wiring.TypeDecode {
		return role + " worker"
	}
	return role
}

// workerMode is the one thing that a flag or variable makes a worker do, and what says so; empty where none does.
func workerMode(p *identity.Process) (string, identity.Value) {
	if p.Role.Sure == identity.Proven && p.Role.Text != wiring.TypeWorker {
		return p.Role.Text, p.Role
	}
	if v := p.Told(identity.FlagMode); v.Text == encode && p.Role.Text == wiring.TypeWorker {
		return encode, v
	}
	return "", identity.Value{}
}

// known are Dynamo's component types that say something (deploy/operator/internal/consts/consts.go).
func known(role string) bool {
	return worker(role) || role == wiring.TypeFrontend || role == wiring.TypeRouter || role == wiring.TypePlanner || role == "epp"
}

func worker(role string) bool {
	return role == wiring.TypeWorker || role == wiring.TypePrefill || role == wiring.TypeDecode
}
