package runtime

import (
	"fmt"
	"log/slog"
	"strings"
)

// Diagnosis says why a component's instances are found, or why not: the way from the pod's environment to the list, one
// check after the other. Backends that can tell make it (kube.Client.Diagnose); the command line prints it.
type Diagnosis struct {
	// KubeNamespace is where was looked.
	KubeNamespace string `json:"kubeNamespace"`
	// Namespace and Component are Dynamo's; empty where the pod that was asked about has none.
	Namespace string `json:"namespace,omitempty"`
	Component string `json:"component,omitempty"`
	// Pod is the one that was asked about; empty where only the component was.
	Pod string `json:"pod,omitempty"`
	// Container is the one of the pod that was asked about; empty where the pod is the instance.
	Container string `json:"container,omitempty"`
	// Instances and Ready are what a list would have now.
	Instances int `json:"instances"`
	Ready     int `json:"ready"`
	// Checks are in the order in which things must hold. Where one is a Problem, those after it may be consequences.
	Checks []Check `json:"checks"`
}

// Check is one step of a Diagnosis.
type Check struct {
	ID      CheckID `json:"id"`
	Verdict Verdict `json:"verdict"`
	// Found is what there is, in a sentence.
	Found string `json:"found"`
	// Remedy is what to do about it; empty where nothing is to be done.
	Remedy string `json:"remedy,omitempty"`
	// Details are a line each: the pods that are not ready and why, the objects that belong to others.
	Details []string `json:"details,omitempty"`
}

// CheckID names a check; it is stable.
type CheckID string

// The checks, in their order.
const (
	// CheckBackend: the pod's environment says to look in Kubernetes.
	CheckBackend CheckID = "backend"
	// CheckIdentity: the pod is the one that it believes to be.
	CheckIdentity CheckID = "identity"
	// CheckLabels: the pod's labels name the component.
	CheckLabels CheckID = "labels"
	// CheckAccess: the account may read what discovery reads.
	CheckAccess CheckID = "access"
	// CheckPods: there are pods with the component's labels.
	CheckPods CheckID = "pods"
	// CheckService: there are EndpointSlices with the component's labels, so a Service has made them.
	CheckService CheckID = "service"
	// CheckEndpoints: the slices list pods.
	CheckEndpoints CheckID = "endpoints"
	// CheckReady: pods are ready.
	CheckReady CheckID = "ready"
	// CheckMetadata: the pods have published what they are.
	CheckMetadata CheckID = "metadata"
	// CheckSynced: this client has heard all of it, and hears on.
	CheckSynced CheckID = "synced"
)

// Verdict is what a Check came to.
type Verdict string

const (
	// OK: as it must be.
	OK Verdict = "ok"
	// Warning: something is found all the same, or this may be as it is meant to be.
	Warning Verdict = "warning"
	// Problem: nothing (of the pod that was asked about) is found before this is mended.
	Problem Verdict = "problem"
	// Unknown: it could not be looked at.
	Unknown Verdict = "unknown"
)

// Cause is the first problem, and whether there is one.
func (d Diagnosis) Cause() (Check, bool) {
	for _, c := range d.Checks {
		if c.Verdict == Problem {
			return c, true
		}
	}
	return Check{}, false
}

// String is the diagnosis for people: a line for each check, its remedy and its details indented below.
func (d Diagnosis) String() string {
	var b strings.Builder
	what := d.Namespace + "/" + d.Component
	switch {
	case d.Pod != "" && d.Component == "":
		what = "pod " + d.Pod
	case d.Pod != "":
		what = "pod " + d.Pod + " of " + what
	}
	if d.Container != "" {
		what = "container " + d.Container + " of " + what
	}
	instances := "instances"
	if d.Instances == 1 {
		instances = "instance"
	}
	fmt.Fprintf(&b, "%s in %s: %d %s, %d ready\n", what, d.KubeNamespace, d.Instances, instances, d.Ready)
	for _, c := range d.Checks {
		fmt.Fprintf(&b, "%-8s %-9s  %s\n", c.Verdict, c.ID, c.Found)
		for _, line := range c.Details {
			fmt.Fprintf(&b, "%20s- %s\n", "", line)
		}
		if c.Remedy != "" {
			fmt.Fprintf(&b, "%20s> %s\n", "", c.Remedy)
		}
	}
	return b.String()
}

// LogValue is the diagnosis in a log line: how many there are, and the cause.
func (d Diagnosis) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("component", d.Namespace+"/"+d.Component), slog.Int("instances", d.Instances), slog.Int("ready", d.Ready),
	}
	if c, ok := d.Cause(); ok {
		attrs = append(attrs, slog.String("check", string(c.ID)), slog.String("found", c.Found), slog.String("remedy", c.Remedy))
	}
	return slog.GroupValue(attrs...)
}
