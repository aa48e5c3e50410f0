package wiring

import (
	"fmt"
	"strconv"
	"strings"
)

// Annotations that tune what is injected. On a pod they count for the pod, on a Namespace for all pods that do not have
// them. A value that cannot be read counts as not given.
const (
	// AnnotationProbePeriod is periodSeconds of the injected readiness probe: 1 to 300. Else 1 for workers and 10 for
	// frontends.
	AnnotationProbePeriod = "dynawire.io/probe-period"
	// AnnotationSystemPort is the injected DYN_SYSTEM_PORT, with its named port and probe: 1 to 32767. Else SystemPort. A
	// Service of dynawire's keeps its port; discovery does not depend on it.
	AnnotationSystemPort = "dynawire.io/system-port"
	// AnnotationSkip lists, with commas, parts that are not injected: "probe" (readiness), "port" (the named container
	// port), "service-account" (account and token). Labels and env are what discovery is made of and cannot be skipped;
	// LabelDiscoveryEnabled "false" on the pod leaves it alone altogether.
	AnnotationSkip = "dynawire.io/skip"
)

const (
	maxProbePeriod = 300
	// maxSystemPort: the runtime parses DYN_SYSTEM_PORT as i16 (ai-dynamo/dynamo lib/runtime/src/config.rs, 1.6.1).
	maxSystemPort = 32767
)

// Tuning is what the annotations ask for. The zero value asks for nothing.
type Tuning struct {
	// ProbePeriod and SystemPort are 0 where the contract's values hold.
	ProbePeriod, SystemPort int32
	// SkipProbe, SkipPort and SkipServiceAccount leave a part out.
	SkipProbe, SkipPort, SkipServiceAccount bool
}

// TuningFor is what holds for a pod with these annotations: its own, then those of the Namespace. What cannot be read is
// named in warnings.
func (s Settings) TuningFor(annotations map[string]string) (t Tuning, warnings []string) {
	if len(annotations) == 0 {
		return s.Tuning, nil
	}
	return s.Tuning.over(annotations)
}

// over puts what annotations say over t.
func (t Tuning) over(annotations map[string]string) (Tuning, []string) {
	var warnings []string
	number := func(key string, most int, into *int32) {
		text, ok := annotations[key]
		if !ok {
			return
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			warnings = append(warnings, fmt.Sprintf("annotation %s is %q, want a number from 1 to %d; it is ignored", key, text, most))
			return
		}
		*into = int32(n)
	}
	number(AnnotationProbePeriod, maxProbePeriod, &t.ProbePeriod)
	number(AnnotationSystemPort, maxSystemPort, &t.SystemPort)
	if text, ok := annotations[AnnotationSkip]; ok {
		t.SkipProbe, t.SkipPort, t.SkipServiceAccount = false, false, false
		for part := range strings.SplitSeq(text, ",") {
			switch strings.TrimSpace(part) {
			case "probe":
				t.SkipProbe = true
			case "port":
				t.SkipPort = true
			case "service-account":
				t.SkipServiceAccount = true
			case "":
			default:
				warnings = append(warnings, fmt.Sprintf("annotation %s has %q, want probe, port or service-account; it is ignored", AnnotationSkip, part))
			}
		}
	}
	return t, warnings
}
