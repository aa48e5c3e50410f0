package audit

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// pendingEntries and pendingBytes bound what waits to be written: thousands of workloads that fail for different
	// reasons. Equal verdicts are one entry, however many they are.
	pendingEntries = 4096
	pendingBytes   = 6 << 20
	// namespaceEntries leaves room for others: a namespace of which nothing can be written holds twice as many.
	namespaceEntries = 1536
)

// pending is verdicts that wait to be written, equal ones counted. Adding never blocks: when it is full, verdicts that
// equal none of those that wait are dropped and counted.
type pending struct {
	dropped prometheus.Counter
	// wake has a token when something may have been added since it was read last.
	wake chan struct{}

	mu         sync.Mutex
	namespaces map[string]map[verdictKey]*entry
	// entries and bytes are what is held; what was taken counts until it is done.
	entries, bytes int
}

func newPending(dropped prometheus.Counter) *pending {
	return &pending{dropped: dropped, wake: make(chan struct{}, 1), namespaces: map[string]map[verdictKey]*entry{}}
}

// add counts a verdict.
func (p *pending) add(k verdictKey, v *Verdict, near corev1.ObjectReference) {
	if !p.count(k, v, near) {
		p.dropped.Inc()
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pending) count(k verdictKey, v *Verdict, near corev1.ObjectReference) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	equal := p.namespaces[k.namespace]
	if e, ok := equal[k]; ok {
		e.add(v, near)
		return true
	}
	e := newEntry(v, near)
	if len(equal) >= namespaceEntries || p.entries >= pendingEntries || p.bytes+e.size > pendingBytes {
		return false
	}
	if equal == nil {
		equal = map[verdictKey]*entry{}
		p.namespaces[k.namespace] = equal
	}
	equal[k] = e
	p.entries++
	p.bytes += e.size
	return true
}

// waiting are the namespaces of which something waits.
func (p *pending) waiting() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.namespaces))
}

// has is whether anything of a namespace waits.
func (p *pending) has(namespace string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.namespaces[namespace]) > 0
}

// held is how many entries are held.
func (p *pending) held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.entries
}

// take hands out all that waits of a namespace.
func (p *pending) take(namespace string) []*entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := slices.Collect(maps.Values(p.namespaces[namespace]))
	delete(p.namespaces, namespace)
	return out
}

// pop hands out one entry, of a namespace picked at random so that none has to wait for another's flood; nil for none.
func (p *pending) pop() *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	for namespace, equal := range p.namespaces {
		for k, e := range equal {
			delete(equal, k)
			if len(equal) == 0 {
				delete(p.namespaces, namespace)
			}
			return e
		}
	}
	return nil
}

// done makes room: the entries that were handed out are written, or given up.
func (p *pending) done(entries ...*entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range entries {
		p.entries--
		p.bytes -= e.size
	}
}
