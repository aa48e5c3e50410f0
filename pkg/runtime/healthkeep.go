package runtime

import (
	"context"
	"time"
)

// No probe is kept until the kubelet takes the process for not ready, which takes it that many refusals of the injected
// probe: that news would come later. None is kept longer than the kubelet listens, which is a second at the least.
const (
	promptRefusals = 3
	probeKept      = 900 * time.Millisecond
)

// keep keeps a probe while the process is not ready and may become so.
func (h *Health) keep(ctx context.Context) {
	h.mu.Lock()
	changed, prompt := h.changed, h.status == StatusReady || h.draining || h.refusals < promptRefusals
	h.refusals++
	h.mu.Unlock()
	if prompt {
		return
	}
	select {
	case <-changed:
	case <-ctx.Done():
	case <-time.After(probeKept):
	}
}
