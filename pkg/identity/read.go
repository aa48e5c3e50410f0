package identity

import (
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// begin sets the process up before its command is read.
func (p *Process) begin(env environment, c *pod.Container, at Field) {
	env.c = c
	p.Container, p.At, p.env = c, at, env
	p.Release = ReleaseOf(c.Image)
}

// read reads the container's command; false where it is no module that the table knows.
func (p *Process) read(ns wiring.Settings) bool {
	var buf [64]string
	if !p.readWords(buf[:0]) {
		return false
	}
	given := p.env.namespace
	if p.Module.Namespace != OwnNamespace {
		// $(DYN_NAMESPACE) stands for nothing where the mutation does not give the process DYN_NAMESPACE.
		p.reread("", buf[:0])
	}
	if p.Module.Namespace == Scope && !p.TellsScope() && exactScope(p.env.pod, ns) {
		if p.reread(given, buf[:0]); p.TellsScope() {
			p.reread("", buf[:0])
		}
	}
	return true
}

// reread reads the command again with another value of DYN_NAMESPACE, where the command depends on that.
func (p *Process) reread(namespace string, buf []string) {
	p.env.namespace = namespace
	if p.env.used {
		p.readWords(buf)
	}
}

// readWords reads the command with what is known of the environment.
func (p *Process) readWords(buf []string) bool {
	words := p.env.words(buf)
	inv := p.env.recognise(words, len(p.Container.Command), nil, 0)
	if inv.module == nil {
		return false
	}
	p.Module = inv.module
	p.env.set, p.env.cleared, p.Lost = inv.set, inv.cleared, inv.lost
	var open bool
	p.given, open = inv.module.flags(inv.words, inv.fromCommand, p.Release)
	p.settle()
	p.Follower = p.Follower || inv.conditional
	if open {
		p.settleOpen()
	}
	return true
}
