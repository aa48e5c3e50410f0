package validate

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// not-ready-blind: readiness cannot tell whether the process serves, so that the pod is discovered before it does.
//
// Restricted: readinessProbe of every Dynamo container that asks another path than /health, a TCP port, or runs a command
// that asks neither; DYN_SYSTEM_STARTING_HEALTH_STATUS=ready, which makes /health 200 from the start.
//
// Allowed: /health, or where DYN_SYSTEM_HEALTH_PATH puts it; /live of Dynamo's own workers and routers, which answers the
// same (of programs on dynawire's library it is always 200); no probe, for one is injected; a grpc probe; ranks that
// register nothing.
func notReadyBlind(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		role := s.resolution.RoleOf(i)
		if p.Module != nil && !p.Module.HTTP && !p.Registers {
			continue
		}
		if !p.ServesHTTP(role) {
			if v := p.Variable(startingHealth); v.Text == "ready" {
				s.find(v.Field, "", v.Name+` is "ready", but readiness is to tell when `+module(p)+" serves; the pod would be discovered before that. Remove it.")
			}
		}
		if p.Container.ReadinessProbe != nil {
			s.blind(p, p.Container.ReadinessProbe, role)
		}
	}
}

// blind judges a readiness probe.
func (s *subject) blind(p *identity.Process, probe *pod.Probe, role string) {
	health := path(p.HealthPath(role))
	live := ""
	if p.Module != nil && p.Module.SystemPort {
		live = livePath(p)
	}
	var field, does string
	switch get := probe.HTTPGet; {
	case get != nil:
		asked := asks(get)
		if health == "" || asked == health || asked == live {
			return
		}
		field, does = "httpGet.path", "asks "+asked
	case probe.TCPSocket != nil:
		field, does = "tcpSocket", "only opens a TCP connection"
	case probe.Exec != nil:
		if health == "" || names(probe.Exec.Command, health, live) {
			return
		}
		field, does = "exec", "runs a command that does not ask "+health
	default:
		return
	}
	if health == "" {
		health = wiring.HealthPath
	}
	port := "the port of its health"
	if at := p.Health(role); at.State == identity.PortOpen {
		port = "port " + pod.IntOrString{Number: at.Number}.String()
	}
	s.find(p.At, ".readinessProbe."+field, "the probe "+does+", but only "+health+" tells when "+module(p)+
		" serves; the pod would be discovered before that. Use httpGet "+health+" on "+port+", or remove the probe and one is injected.")
}

// livePath is where a process on the system port answers /live, which is /health by another name; empty where only the
// running pod knows.
func livePath(p *identity.Process) string {
	if v := p.Variable("DYN_SYSTEM_LIVE_PATH"); v.Told() && (v.Text != "" || v.Sure == identity.Unknown) {
		return path(v.Text)
	}
	return wiring.LivePath
}

// asks is what an httpGet asks for.
func asks(get *pod.HTTPGet) string {
	if text := path(get.Path); text != "" {
		return text
	}
	return "/"
}

// path is what the kubelet asks for; empty stays empty.
func path(text string) string {
	text, _, _ = strings.Cut(text, "?")
	if text != "" && !strings.HasPrefix(text, "/") {
		return "/" + text
	}
	return text
}

// names reports whether a command asks for one of the paths.
func names(command []string, paths ...string) bool {
	for _, word := range command {
		for _, path := range paths {
			if path != "" && mentions(word, path) {
				return true
			}
		}
	}
	return false
}

// mentions reports whether text has path in it, and not as the beginning of a longer name.
func mentions(text, path string) bool {
	for {
		i := strings.Index(text, path)
		if i < 0 {
			return false
		}
		text = text[i+len(path):]
		if text == "" || !wiring.IsLabelValue("a"+text[:1]+"a") && text[0] != '/' {
			return true
		}
	}
}
