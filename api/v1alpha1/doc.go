// Package v1alpha1 holds the custom resources of NVIDIA Dynamo's Kubernetes discovery. DynamoWorkerMetadata is
// Dynamo's own (its runtime writes and reads it): same group, same names, same schema.
//
// +kubebuilder:object:generate=true
// +groupName=nvidia.com
package v1alpha1
