package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName and Version are the group and the only version in which Dynamo ever served these kinds.
const (
	GroupName = "nvidia.com"
	Version   = "v1alpha1"
)

// Resource is the plural of DynamoWorkerMetadata in URLs and rules.
const Resource = "dynamoworkermetadatas"

// GroupVersion is the group and version of this package's kinds.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: GroupName, Version: Version}
}

// AddToScheme makes the kinds of this package known to s.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &DynamoWorkerMetadata{}, &DynamoWorkerMetadataList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
