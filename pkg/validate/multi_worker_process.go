package validate

import (
	"strconv"

	"github.com/dynawire/dynawire/pkg/identity"
)

// multi-worker-process: one process starts several runtimes, which write the pod's one discovery entry in turn.
//
// Restricted: --num-workers (mocker), --gateway-workers and DYN_SGL_GATEWAY_WORKERS (sglang), --embedding-worker-processes (vllm)
// above 1.
//
// Allowed: 1, or nothing; a number that only the running pod knows.
func multiWorkerProcess(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		if p.Module == nil || !p.Runtime {
			continue
		}
		v := p.Told(identity.FlagWorkers)
		if n, err := strconv.Atoi(v.Text); err != nil || n < 2 {
			continue
		}
		s.find(v.Field, "", v.Name+" is "+quoted(v.Text)+", but the workers of one process share the pod's one discovery entry; only one of them would be found. Set it to \"1\" and run "+
			v.Text+" replicas.")
	}
}
