package explain

import "github.com/dynawire/dynawire/pkg/identity"

// Sentence says what a reason means.
func Sentence(r identity.Reason) string {
	switch r {
	case identity.Wired:
		return "a Dynamo label, or a command that is a Dynamo module"
	case identity.NotDynamo:
		return "no Dynamo label, and no command that is a Dynamo module which registers or discovers"
	case identity.OptedOut:
		return "the pod's label nvidia.com/dynamo-discovery-enabled is \"false\""
	case identity.OperatorOwned:
		return "the pod belongs to the Dynamo operator"
	}
	return ""
}
