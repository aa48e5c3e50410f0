// Package report is the durable record of findings: an OpenReports Report for each namespace, and what may happen to it.
// It is pure: no I/O, no clock, no client.
package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
)

// Report is a Report of OpenReports.
type Report = v1alpha1.Report

// Names of our Reports. There is one of each in a namespace, at most.
const (
	// Admission is what admission refused, warned of or let in. Every replica adds to it: see Merge.
	Admission = "dynawire-admission"
	// Drift is what the last scan of running pods found. The leader replaces it as a whole: see Replace.
	Drift = "dynawire-drift"
)

const (
	// LabelManagedBy and ManagedBy are on every Report of ours.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "dynawire"
	// source is who reports, and policy the name that all our rules go by.
	source = "dynawire"
	policy = "dynawire"
)

// Annotations of a Report.
const (
	// AnnotationBatches is the last batch that each of the latest writers added: see Merge.
	AnnotationBatches = "dynawire.io/batches"
	// AnnotationDroppedResults and AnnotationDroppedFindings count what had to go for lack of room: the entries, and the
	// findings that they stood for.
	AnnotationDroppedResults  = "dynawire.io/dropped-results"
	AnnotationDroppedFindings = "dynawire.io/dropped-findings"
)

// New is an empty Report.
func New(namespace, name string) *Report {
	return &Report{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Report"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{LabelManagedBy: ManagedBy}},
		Source:     source,
	}
}
