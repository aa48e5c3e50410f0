package admission

// WritersKept is the bound of what Pods remember.
const WritersKept = writersKept

// Known is how many pods are remembered.
func (p *Pods) Known() int { return len(p.known) }
