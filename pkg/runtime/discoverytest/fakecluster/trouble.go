package fakecluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// sync lets the controller look at every Service. Called with mu held.
func (c *Cluster) sync() { c.syncWith(false) }

func (c *Cluster) syncWith(stale bool) {
	for _, service := range c.services {
		var pods []*corev1.Pod
		for _, p := range c.pods {
			if p.object.Namespace == service.Namespace && selects(service, p.object) {
				pods = append(pods, p.object)
			}
		}
		// The API server of a test does not fail its controller.
		_ = c.controller.sync(service, pods, stale)
	}
}

func selects(service *corev1.Service, p *corev1.Pod) bool {
	for key, value := range service.Spec.Selector {
		if p.Labels[key] != value {
			return false
		}
	}
	return true
}

// Repack changes every Service's target port, which makes the controller take all endpoints out of their slices and put
// them into others: under new names and under recycled ones, with moments in two slices and in none.
func (c *Cluster) Repack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, old := range c.services {
		service := old.DeepCopy()
		port := &service.Spec.Ports[0]
		port.TargetPort = intstr.FromInt32(wiring.SystemPort + (port.TargetPort.IntVal+1)%7)
		c.services[name] = service
	}
	c.sync()
}

// Confuse makes the controller overlook a slice of each Service: it lists the slice's pods a second time, and mends it
// when it next looks.
func (c *Cluster) Confuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.syncWith(true)
}

// Duplicate gives every component a second Service with the same labels and selector, or takes it away again: every pod is
// then in two sets of slices.
func (c *Cluster) Duplicate(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const suffix = "-twin"
	for name, service := range c.services {
		twin := name + suffix
		switch {
		case len(name) > len(suffix) && name[len(name)-len(suffix):] == suffix:
			continue
		case yes && c.services[twin] == nil:
			c.services[twin] = c.service(service.Namespace, twin, service.Labels[wiring.LabelNamespace], service.Labels[wiring.LabelComponent])
		case !yes && c.services[twin] != nil:
			_ = c.controller.sync(c.services[twin], nil, false)
			c.controller.drop(c.services[twin])
			delete(c.services, twin)
		}
	}
	c.sync()
}

// Forget makes the API server forget its history and ends all watches: they are told 410 and start over.
func (c *Cluster) Forget() {
	c.API.Compact()
	c.API.EndWatches()
}

// Shake does one of all these things, a different one for each round. Nothing happens to any pod.
func (c *Cluster) Shake(round int) {
	switch round % 8 {
	case 0:
		c.API.EndWatches()
	case 1:
		c.Repack()
	case 2:
		c.Duplicate(true)
	case 3:
		c.Forget()
	case 4:
		c.Confuse()
	case 5:
		c.Duplicate(false)
	case 6:
		c.Repack()
		c.Forget()
	case 7:
		c.mu.Lock()
		c.sync()
		c.mu.Unlock()
		c.API.Bookmark()
		c.API.Trim()
	}
}
