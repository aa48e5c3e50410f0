package validate

import (
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Service is the part of a Service that is judged, with the JSON of core/v1.
type Service struct {
	Metadata pod.Metadata `json:"metadata"`
	Spec     ServiceSpec  `json:"spec"`
}

// ServiceSpec is what is read of corev1.ServiceSpec.
type ServiceSpec struct {
	PublishNotReadyAddresses bool `json:"publishNotReadyAddresses"`
}

// RulePublishNotReady is the id of the rule about Services.
const RulePublishNotReady = "publish-not-ready"

// Findings is what is wrong with a Service.
//
// publish-not-ready: a Service that discovery reads publishes addresses that are not ready.
//
// Restricted: spec.publishNotReadyAddresses of a Service with label nvidia.com/dynamo-discovery-enabled "true", which its
// EndpointSlices inherit; readiness in those slices is all that peers know of it.
//
// Allowed: false and unset; anything on a Service without the label, such as the headless one by which the pods of a group
// find each other before they are ready.
func (s *Service) Findings() []Finding {
	if !s.Spec.PublishNotReadyAddresses || s.Metadata.Labels[wiring.LabelDiscoveryEnabled] != "true" {
		return nil
	}
	return []Finding{{
		Rule: RulePublishNotReady, Severity: Deny, Field: "spec.publishNotReadyAddresses",
		Message: `it is true, but label ` + wiring.LabelDiscoveryEnabled + ` is "true" (metadata.labels), by which peers look for ` +
			`pods that are ready; every pod would look ready from its start until it is gone. ` +
			`Set it to false, or remove the label from a Service that is there for names only.`,
	}}
}
