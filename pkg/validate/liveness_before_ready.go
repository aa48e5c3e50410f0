package validate

import (
	"strconv"

	"github.com/dynawire/dynawire/pkg/pod"
)

// liveness-before-ready: the kubelet kills the process while it loads its model, for /live is 503 until then.
//
// Restricted: livenessProbe without a startupProbe on every container that serves its health on the system port, where
// initialDelaySeconds + periodSeconds x failureThreshold is at most 300 s, or 120 s for tcpSocket.
//
// Allowed: with a startupProbe; a probe that asks something else (/metrics; an exec that names neither /live nor /health);
// DYN_SYSTEM_STARTING_HEALTH_STATUS=ready; frontends, whose /live is 200 from the start; programs of one's own.
func livenessBeforeReady(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		probe := p.Container.LivenessProbe
		if probe == nil || p.Container.StartupProbe != nil || p.Module == nil || !p.Module.SystemPort || !p.Runtime {
			continue
		}
		loading, does := loadingTime(probe)
		gives := givesUp(probe)
		if does == "" || gives > loading || p.Variable(startingHealth).Text == "ready" {
			continue
		}
		answers := " answers 503 until its model is loaded"
		if probe.TCPSocket != nil {
			answers = " may open the port only when its engine has started"
		}
		s.find(p.At, ".livenessProbe", "the probe "+does+" and gives up "+strconv.Itoa(gives)+" s after the start, but "+module(p)+
			answers+", and there is no startupProbe; the kubelet would restart it before it is ready. Add a startupProbe with the same handler, periodSeconds 10 and failureThreshold "+strconv.Itoa(2*loading/10)+".")
	}
}

// loadingTime is what a probe has to wait at least, in seconds, and what it asks; empty where that does not depend on
// readiness.
func loadingTime(probe *pod.Probe) (seconds int, does string) {
	switch {
	case probe.HTTPGet != nil && asks(probe.HTTPGet) != "/metrics":
		return 300, "asks " + asks(probe.HTTPGet)
	case probe.TCPSocket != nil:
		return 120, "opens a TCP connection"
	case probe.Exec != nil && names(probe.Exec.Command, "/live", "/health"):
		return 300, "runs a command"
	}
	return 0, ""
}

// givesUp is when the kubelet gives up, in seconds after the container's start; zeros are the API's defaults.
func givesUp(probe *pod.Probe) int {
	period, failures := probe.PeriodSeconds, probe.FailureThreshold
	if period == 0 {
		period = 10
	}
	if failures == 0 {
		failures = 3
	}
	return int(probe.InitialDelaySeconds) + int(period)*int(failures)
}
