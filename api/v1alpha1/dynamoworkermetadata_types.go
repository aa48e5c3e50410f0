package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DynamoWorkerMetadata is what one worker says about itself: its endpoints and how to reach them, its model cards, its
// event channels. The worker writes it under its pod's name with its pod as the only owner; frontends join it by the pod's
// UID with the readiness that the EndpointSlices report.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=dynamoworkermetadatas,singular=dynamoworkermetadata,shortName=dwm,scope=Namespaced
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
type DynamoWorkerMetadata struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DynamoWorkerMetadataSpec `json:"spec,omitempty"`
}

// DynamoWorkerMetadataSpec carries the metadata.
type DynamoWorkerMetadataSpec struct {
	// Data is a free-form JSON object, in the form of the runtime's DiscoveryMetadata.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +required
	Data runtime.RawExtension `json:"data"`
}

// DynamoWorkerMetadataList is a list of DynamoWorkerMetadata.
//
// +kubebuilder:object:root=true
type DynamoWorkerMetadataList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DynamoWorkerMetadata `json:"items"`
}
