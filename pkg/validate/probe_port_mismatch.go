package validate

import (
	"strconv"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// probe-port-mismatch: a probe does not ask where the process serves its health.
//
// Restricted: the ports of httpGet in startupProbe, readinessProbe and livenessProbe of every container that runs a Dynamo
// module; DYN_SYSTEM_PORT, which must not be off ("" or negative) or above 32767 where the process registers.
//
// Allowed: the system port (DYN_SYSTEM_PORT; where it is not set 9090, or for a pod's further workers 9091 and on); a frontend's HTTP port (--http-port,
// DYN_HTTP_PORT, 8000; in KServe gRPC mode --grpc-metrics-port, DYN_GRPC_METRICS_PORT, 8788); by number or by the name of
// a port that has it; anything where only the running pod knows the port.
func probePortMismatch(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		if p.Module == nil {
			continue // what a program of the user's own listens on is not known
		}
		port := p.Health(p.Role.Text)
		switch port.State {
		case identity.PortOff, identity.PortInvalid:
			s.noPort(p, port)
		case identity.PortOpen, identity.PortRandom:
			s.probes(p, port)
		}
	}
}

// noPort is about a setting with which there is no health server.
func (s *subject) noPort(p *identity.Process, port identity.Port) {
	found := port.Why.Name + " is " + quoted(port.Why.Text)
	takes, fallback := "a port below 32768", "9090"
	if p.Module.HTTP {
		takes, fallback = "a port number", "8000"
	}
	if port.State == identity.PortOff {
		s.find(port.Why.Field, "", found+", which turns the health server off, but "+module(p)+
			" answers "+wiring.HealthPath+" nowhere else; nothing could tell when the pod is ready. Set it to "+quoted(fallback)+" or remove it.")
		return
	}
	s.find(port.Why.Field, "", found+", but "+module(p)+" takes "+takes+
		"; the process would exit. Set it to "+quoted(fallback)+" or remove it.")
}

// probes compares each probe with the port. One finding names them all.
func (s *subject) probes(p *identity.Process, port identity.Port) {
	c := p.Container
	var first, found, rest string
	var asked int32
	for _, probe := range [...]struct {
		name string
		*pod.Probe
	}{{"readinessProbe", c.ReadinessProbe}, {"livenessProbe", c.LivenessProbe}, {"startupProbe", c.StartupProbe}} {
		if probe.Probe == nil || probe.HTTPGet == nil {
			continue
		}
		asks, ok := portNumber(c, probe.HTTPGet.Port, port)
		if ok && asks == port.Number {
			continue
		}
		if first != "" {
			rest += ", " + probe.name
			continue
		}
		asked = asks
		first, found = "."+probe.name+".httpGet.port", "the probe asks port "+probe.HTTPGet.Port.String()
		if probe.HTTPGet.Port.Name != "" && ok {
			found += " (" + strconv.Itoa(int(asks)) + ")"
		}
		if !ok {
			found += ", which the container does not have"
		}
	}
	if first == "" {
		return
	}
	if rest != "" {
		found += " (so does " + rest[len(", "):] + ")"
	}
	s.find(p.At, first, found+", but "+s.serves(p, port)+"; the probe would never succeed. "+s.portRemedy(port, asked)+".")
}

// serves says where the health is and why.
func (s *subject) serves(p *identity.Process, port identity.Port) string {
	serves := module(p) + " serves its health on "
	if port.State == identity.PortRandom {
		return serves + "a random port (" + port.Why.Name + ` is "0", ` + s.path(port.Why.Field) + ")"
	}
	serves += strconv.Itoa(int(port.Number))
	if s.chosen(port) {
		serves += " (" + port.Why.Name + ", " + s.path(port.Why.Field) + ")"
	}
	return serves
}

// chosen reports whether the user picked another port than the contract has, and could pick this one. Several processes
// have the system port and those that follow it.
func (s *subject) chosen(port identity.Port) bool {
	given := port.Number >= wiring.SystemPort && int(port.Number-wiring.SystemPort) < len(s.resolution.Processes)
	return port.Why.Told() && !given && port.Number != wiring.HTTPPort
}

// portRemedy sets the probe to the port, or the port to what the probe asks.
func (s *subject) portRemedy(port identity.Port, asked int32) string {
	if port.State == identity.PortRandom {
		return "Set " + port.Why.Name + ` to "9090" and the probe's port to 9090`
	}
	remedy := "Set the probe's port to " + strconv.Itoa(int(port.Number))
	if s.chosen(port) && asked > 0 {
		remedy += " or " + place(port.Why) + " to " + quoted(strconv.Itoa(int(asked)))
	}
	return remedy
}

// portNumber is what a probe's port stands for, with the port that the mutation adds.
func portNumber(c *pod.Container, v pod.IntOrString, added identity.Port) (int32, bool) {
	if v.Name == "" {
		return v.Number, true
	}
	for i := range c.Ports {
		if c.Ports[i].Name == v.Name {
			return c.Ports[i].ContainerPort, true
		}
	}
	if name, adds := added.Reference(c); adds && v.Name == name && added.State == identity.PortOpen {
		return added.Number, true
	}
	if n, err := strconv.Atoi(v.Name); err == nil {
		return int32(n), true // the kubelet takes a number in quotes (pkg/probe/util.go ResolveContainerPort)
	}
	return 0, false
}
