// Package identity tells who a pod is: Dynamo namespace, component, endpoint and role, read from labels, arguments and env.
package identity

// Reason says why a pod was wired or skipped. The ids are stable: log, metric label, Event and command line share them.
type Reason string

const (
	Wired         Reason = "wired"
	NotDynamo     Reason = "not-dynamo"
	OptedOut      Reason = "opted-out"
	OperatorOwned Reason = "operator-owned"
)

// Identity is who a pod is.
type Identity struct {
}
