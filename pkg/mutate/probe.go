package mutate

import (
	"strconv"

	"github.com/dynawire/dynawire/pkg/identity"
)

// Port is a container port as the patch writes it.
type Port struct {
	Name          string `json:"name"`
	ContainerPort int32  `json:"containerPort"`
	Protocol      string `json:"protocol"`
}

// Probe is a readiness probe as the patch writes it.
type Probe struct {
	HTTPGet          HTTPGet `json:"httpGet"`
	PeriodSeconds    int32   `json:"periodSeconds"`
	TimeoutSeconds   int32   `json:"timeoutSeconds"`
	FailureThreshold int32   `json:"failureThreshold"`
}

// HTTPGet is what the kubelet asks for. Port is a number or a name. Without a Scheme it is HTTP.
type HTTPGet struct {
	Path   string `json:"path"`
	Port   any    `json:"port"`
	Scheme string `json:"scheme,omitempty"`
}

// A worker is asked every second: one that misses a probe waits a whole period until it is routable (measured with 1.6.1:
// 1.1 to 1.8 s, against 11 s with the kubelet's default of 10). Three misses make it unready: a worker that hangs loses its
// traffic after 3 s, and one late answer of a busy machine costs nothing. While it starts, failing costs nothing either.
var workerProbe = Probe{PeriodSeconds: 1, TimeoutSeconds: 1, FailureThreshold: 3}

// A frontend writes two log lines for each probe, so it is asked every 10 s. The values are those of Dynamo's operator
// (deploy/operator/internal/dynamo/component_frontend.go, 1.3.0) without its initial delay: the first probe comes with
// the start, and a failing one costs nothing.
var frontendProbe = Probe{PeriodSeconds: 10, TimeoutSeconds: 3, FailureThreshold: 3}

// health names the port of the health server, and has the kubelet ask there for readiness where the container has no
// readiness probe and the process can become ready.
func (m *mutation) health(p *identity.Process, n names, at *paths, endpointHealth bool) {
	frontend := p.ServesHTTP(n.role)
	if p.Module == nil && !frontend && !registers(p, n) {
		return
	}
	port := p.Health(n.role)
	if port.State != identity.PortOpen {
		return
	}
	name, added := port.Reference(p.Container)
	if added {
		declared := Port{Name: port.Name, ContainerPort: port.Number, Protocol: "TCP"}
		if p.Container.Ports == nil {
			m.add(at.ports, []Port{declared})
		} else {
			m.add(at.portsLast, declared)
		}
	}
	// A frontend's Service targets its port by name.
	if i, unnamed := port.Unnamed(p.Container); frontend && unnamed && port.Name != "" {
		m.add(at.ports+"/"+strconv.Itoa(i)+"/name", port.Name)
		name = port.Name
	}
	if p.Container.ReadinessProbe == nil && !port.Closed && (frontend || becomesReady(p, endpointHealth)) {
		m.probe(p, n, at, port, name)
	}
}

// probe adds the readiness probe, to the port by its name, or by its number where it has none.
func (m *mutation) probe(p *identity.Process, n names, at *paths, port identity.Port, name string) {
	tuning, path := &m.resolution.Tuning, p.HealthPath(n.role)
	if tuning.SkipProbe || path == "" {
		return
	}
	probe := workerProbe
	if p.ServesHTTP(n.role) {
		probe = frontendProbe
	}
	if tuning.ProbePeriod != 0 {
		probe.PeriodSeconds = tuning.ProbePeriod
		probe.TimeoutSeconds = min(probe.TimeoutSeconds, tuning.ProbePeriod)
	}
	probe.HTTPGet = HTTPGet{Path: path, Port: name}
	if name == "" {
		probe.HTTPGet.Port = port.Number
	}
	if port.HTTPS {
		probe.HTTPGet.Scheme = "HTTPS"
	}
	m.add(at.readinessProbe, probe)
}

// becomesReady reports whether /health will be 200 at some time. A pod whose rank serves nothing would stay unready for
// ever; it is not discovered anyhow, for it writes no metadata.
func becomesReady(p *identity.Process, endpointHealth bool) bool {
	if p.Follower {
		return false
	}
	return endpointHealth || p.ReadyAlone || p.Variable("DYN_SYSTEM_STARTING_HEALTH_STATUS").Text == "ready"
}
