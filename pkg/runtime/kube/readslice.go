package kube

import (
	"errors"
	"net/netip"
	"strconv"

	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

var errMalformed = errors.New("malformed answer of the API server")

// conditions are those of an endpoint (discovery.k8s.io/v1 EndpointConditions): where they are not said, an endpoint is
// ready, serving and not terminating.
type conditions struct{ notReady, notServing, terminating bool }

// ready is right on a Service that publishes not-ready addresses, too: there ready is always true, and serving tells.
func (c conditions) ready() bool { return !c.notReady && !c.notServing && !c.terminating }

// readSlice keeps what the join needs of an EndpointSlice in protobuf; into lends its memory. The result shares memory with
// the text. Field numbers are those of k8s.io/api/discovery/v1 and k8s.io/apimachinery/pkg/apis/meta/v1.
func readSlice(text string, into []join.Endpoint) (s join.Slice, version string, err error) {
	s.Endpoints = into[:0]
	m := message{rest: text}
	for m.next() {
		switch m.field {
		case 1:
			meta := message{rest: m.text}
			for meta.next() {
				switch meta.field {
				case 1:
					s.Name = meta.text
				case 6:
					version = meta.text
				}
			}
			m.bad = m.bad || meta.bad
		case 2:
			e, isPod, ok := readEndpoint(m.text)
			if isPod {
				s.Endpoints = append(s.Endpoints, e)
			}
			m.bad = m.bad || !ok
		}
	}
	if m.bad || s.Name == "" {
		return s, "", errMalformed
	}
	// Resource versions can be compared as numbers (KEP-5504). Should one not be, the last heard wins.
	s.Version, _ = strconv.ParseUint(version, 10, 64)
	return s, version, nil
}

// read takes what is said, on top of what was said before.
func (c *conditions) read(text string) (ok bool) {
	m := message{rest: text}
	for m.next() {
		switch m.field {
		case 1:
			c.notReady = !m.flag
		case 2:
			c.notServing = !m.flag
		case 3:
			c.terminating = m.flag
		}
	}
	return !m.bad
}

func readEndpoint(text string) (e join.Endpoint, isPod, ok bool) {
	var c conditions
	var kind, address string
	addressed := false
	m := message{rest: text}
	for m.next() {
		switch m.field {
		case 1:
			if !addressed { // the API gives meaning to the first only
				address, addressed = m.text, true
			}
		case 2:
			m.bad = !c.read(m.text)
		case 4:
			ref := message{rest: m.text}
			for ref.next() {
				switch ref.field {
				case 1:
					kind = ref.text
				case 3:
					e.PodName = ref.text
				case 4:
					e.PodUID = ref.text
				}
			}
			m.bad = m.bad || ref.bad
		case 6:
			e.Node = m.text
		case 7:
			e.Zone = m.text
		}
	}
	if addr, err := netip.ParseAddr(address); err == nil {
		e.Address = addr.Unmap()
	}
	e.Ready, e.Terminating = c.ready(), c.terminating
	return e, kind == "Pod" && e.PodUID != "", !m.bad
}
