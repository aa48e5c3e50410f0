package identity

import (
	"strconv"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// PortState is what is known of a port.
type PortState uint8

const (
	// PortNone: the process serves no health.
	PortNone PortState = iota
	// PortOpen: health is on Number.
	PortOpen
	// PortHidden: only the running pod knows the number.
	PortHidden
	// PortOff: the setting turns the health server off.
	PortOff
	// PortRandom: the system picks one.
	PortRandom
	// PortInvalid: the process does not start with it.
	PortInvalid
)

// Port is where a process serves its health after the mutation.
type Port struct {
	State  PortState
	Number int32
	// Name is the port's name by the contract; empty where the pod wants none declared.
	Name string
	// HTTPS: plain HTTP is not served there. Closed: the kubelet cannot ask there, because a client's certificate is asked for.
	HTTPS, Closed bool
	// Why is the flag or variable that says it; the zero value where it is the contract's or the module's own number.
	Why Value
}

const (
	// maxSystemPort: the runtime parses DYN_SYSTEM_PORT as i16 (lib/runtime/src/config.rs, 1.6.1).
	maxSystemPort = 32767
	maxPort       = 65535
	// grpcMetricsPort is where a frontend in KServe gRPC mode serves HTTP (dynamo.frontend --grpc-metrics-port).
	grpcMetricsPort = 8788
)

// ServesHTTP reports whether health is on the HTTP port, as a frontend has it, and not on the system port. What runs an
// unrecognised command is taken at the word of its role.
func (p *Process) ServesHTTP(role string) bool {
	if p.Module == nil {
		return role == wiring.TypeFrontend
	}
	return p.Module.HTTP
}

// Health is the port of the health server of a process that has that role.
func (p *Process) Health(role string) Port {
	switch {
	case p.ServesHTTP(role):
		return p.httpPort()
	case p.servesSystem(role):
		return p.systemPort()
	}
	return Port{}
}

// givePorts gives every process that is told no system port one of its own: the containers of a pod share the network. As
// Dynamo's operator numbers the engines of a pod (deploy/operator/internal/dynamo/failover.go), they follow each other.
func (r *Resolution) givePorts() {
	next := int32(wiring.SystemPort)
	if r.Tuning.SystemPort != 0 {
		next = r.Tuning.SystemPort
	}
	for i := range r.Processes {
		p := &r.Processes[i]
		p.port = next
		if len(r.Processes) == 1 || !p.servesSystem(r.RoleOf(i)) || p.Variable(wiring.EnvSystemPort).Told() {
			continue
		}
		for r.tells(p.port) {
			p.port++
		}
		if p.port > maxSystemPort {
			p.port = wiring.SystemPort
		}
		next = p.port + 1
	}
}

// tells reports whether some process of the pod is told that system port.
func (r *Resolution) tells(port int32) bool {
	text := strconv.Itoa(int(port))
	for i := range r.Processes {
		if r.Processes[i].Variable(wiring.EnvSystemPort).Text == text {
			return true
		}
	}
	return false
}

// SystemPort is what DYN_SYSTEM_PORT is to be where the process is told none.
func (p *Process) SystemPort() int32 { return p.port }

// servesSystem reports whether a process that has that role serves its health on the system port.
func (p *Process) servesSystem(role string) bool {
	return !p.ServesHTTP(role) && (p.Module == nil || p.Module.SystemPort && p.Registers)
}

func (p *Process) systemPort() Port {
	port := Port{State: PortOpen, Number: p.port, Name: p.portName(wiring.SystemPortName)}
	v := p.Variable(wiring.EnvSystemPort)
	if !v.Told() {
		return port
	}
	port.Why, port.Number = v, 0
	if v.Sure == Unknown {
		port.State = PortHidden
		return port
	}
	n, err := strconv.Atoi(v.Text)
	switch {
	case v.Text == "", err == nil && n < 0:
		port.State = PortOff
	case err != nil, n > maxSystemPort:
		port.State = PortInvalid
	case n == 0:
		port.State = PortRandom
	default:
		port.Number = int32(n)
	}
	return port
}

// portName is the contract's name for a port; empty where none is to be declared.
func (p *Process) portName(name string) string {
	if p.tuning.SkipPort {
		return ""
	}
	return name
}

func (p *Process) httpPort() Port {
	port := Port{State: PortOpen, Number: wiring.HTTPPort, Name: p.portName(wiring.HTTPPortName)}
	port.HTTPS, port.Closed = p.hasFile(FlagTLSCertificate), p.hasFile(FlagTLSClientCA)
	flag := FlagHTTPPort
	if grpc, on := p.Switch(FlagGRPCServer); on {
		flag, port.Number = FlagGRPCMetricsPort, grpcMetricsPort
	} else if grpc.Told() && grpc.Sure == Unknown {
		port.State = PortHidden
		return port
	}
	v := p.Told(flag)
	if p.Module == nil {
		v = p.Variable(wiring.EnvHTTPPort)
	}
	if !v.Told() {
		return port
	}
	port.Why = v
	n, err := strconv.Atoi(v.Text)
	switch {
	case v.Sure == Unknown:
		port.State, port.Number = PortHidden, 0
	case err != nil, n < 0, n > maxPort:
		port.State, port.Number = PortInvalid, 0
	case n == 0:
		port.State, port.Number = PortRandom, 0
	default:
		port.Number = int32(n)
	}
	return port
}

// hasFile reports whether a flag names a file, be it readable here or not.
func (p *Process) hasFile(f Flag) bool {
	v := p.Told(f)
	return v.Told() && (v.Text != "" || v.Sure == Unknown)
}

// HealthPath is where a process that has that role answers for its health; empty where only the running pod knows.
func (p *Process) HealthPath(role string) string {
	name := "DYN_SYSTEM_HEALTH_PATH"
	if p.ServesHTTP(role) {
		name = "DYN_HTTP_SVC_HEALTH_PATH"
	}
	v := p.Variable(name)
	if v.Told() && (v.Text != "" || v.Sure == Unknown) {
		return v.Text
	}
	return wiring.HealthPath
}

// Unnamed is the index of the container's own entry for the port, where that has no name and the contract's is free: a
// Service that targets the port by name would not find it.
func (port Port) Unnamed(c *pod.Container) (index int, ok bool) {
	index = -1
	for i := range c.Ports {
		known := &c.Ports[i]
		if known.Name == port.Name {
			return -1, false
		}
		if index < 0 && known.Name == "" && known.ContainerPort == port.Number && (known.Protocol == "" || known.Protocol == "TCP") {
			index = i
		}
	}
	return index, index >= 0
}

// Reference is how a probe of the container refers to the port after the mutation: by the name that the container has
// for it, by the contract's name where the mutation declares it (added), else by the number alone.
func (port Port) Reference(c *pod.Container) (name string, added bool) {
	taken := false
	for i := range c.Ports {
		known := &c.Ports[i]
		if known.ContainerPort == port.Number && (known.Protocol == "" || known.Protocol == "TCP") {
			return known.Name, false
		}
		taken = taken || known.Name == port.Name
	}
	if taken {
		return "", false
	}
	return port.Name, port.Name != ""
}
