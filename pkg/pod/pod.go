// Package pod is the part of a pod that dynawire reads: a small mirror of core/v1 with the same JSON, so that an
// admission request is decoded in one pass and what is newer than our vendored API is neither decoded nor lost.
package pod

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Pod is a pod, or a workload's pod template. Absent fields have their zero value.
type Pod struct {
	Metadata Metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`
	Status   Status   `json:"status"`
}

// Status is what is read of corev1.PodStatus.
type Status struct {
	Phase string `json:"phase"`
}

// Metadata is what is read of metav1.ObjectMeta.
type Metadata struct {
	Name            string            `json:"name"`
	GenerateName    string            `json:"generateName"`
	Namespace       string            `json:"namespace"`
	UID             string            `json:"uid"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	OwnerReferences []OwnerReference  `json:"ownerReferences"`
	// DeletionTimestamp is empty unless the pod is being deleted.
	DeletionTimestamp string `json:"deletionTimestamp"`

	// Given tells that the object has metadata; what is decoded without, or with null, has not.
	Given bool `json:"-"`
}

// plainMetadata is Metadata without its decoder.
type plainMetadata Metadata

// UnmarshalJSONFrom tells metadata that is empty from metadata that is not there.
func (m *Metadata) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == 'n' {
		*m = Metadata{}
		_, err := dec.ReadToken()
		return err
	}
	m.Given = true
	return json.UnmarshalDecode(dec, (*plainMetadata)(m))
}

// OwnerReference is what is read of metav1.OwnerReference.
type OwnerReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// Spec is what is read of corev1.PodSpec.
type Spec struct {
	ServiceAccountName string `json:"serviceAccountName"`
	// ServiceAccount is the deprecated alias; the API server keeps both.
	ServiceAccount               string      `json:"serviceAccount"`
	AutomountServiceAccountToken *bool       `json:"automountServiceAccountToken"`
	InitContainers               []Container `json:"initContainers"`
	Containers                   []Container `json:"containers"`
	Volumes                      []Volume    `json:"volumes"`
}

// Container is what is read of corev1.Container.
type Container struct {
	Name    string   `json:"name"`
	Image   string   `json:"image"`
	Command []string `json:"command"`
	Args    []string `json:"args"`
	// RestartPolicy is "Always" on a native sidecar among the init containers.
	RestartPolicy  string          `json:"restartPolicy"`
	Env            []EnvVar        `json:"env"`
	EnvFrom        []EnvFromSource `json:"envFrom"`
	Ports          []Port          `json:"ports"`
	StartupProbe   *Probe          `json:"startupProbe"`
	ReadinessProbe *Probe          `json:"readinessProbe"`
	LivenessProbe  *Probe          `json:"livenessProbe"`
	VolumeMounts   []VolumeMount   `json:"volumeMounts"`
}

// EnvVar is what is read of corev1.EnvVar. ValueFrom is nil for a literal.
type EnvVar struct {
	Name      string        `json:"name"`
	Value     string        `json:"value"`
	ValueFrom *EnvVarSource `json:"valueFrom"`
}

// EnvVarSource is what is read of corev1.EnvVarSource; FieldRef is nil for every other source.
type EnvVarSource struct {
	FieldRef *FieldRef `json:"fieldRef"`
}

// FieldRef is corev1.ObjectFieldSelector.
type FieldRef struct {
	FieldPath string `json:"fieldPath"`
}

// EnvFromSource is what is read of corev1.EnvFromSource.
type EnvFromSource struct {
	Prefix       string    `json:"prefix"`
	ConfigMapRef *LocalRef `json:"configMapRef"`
	SecretRef    *LocalRef `json:"secretRef"`
}

// LocalRef names an object of the pod's namespace.
type LocalRef struct {
	Name string `json:"name"`
}

// Port is what is read of corev1.ContainerPort.
type Port struct {
	Name          string `json:"name"`
	ContainerPort int32  `json:"containerPort"`
	Protocol      string `json:"protocol"`
}

// Probe is corev1.Probe without the fields that nothing here depends on. Zero means the API's default.
type Probe struct {
	HTTPGet             *HTTPGet `json:"httpGet"`
	TCPSocket           *Socket  `json:"tcpSocket"`
	GRPC                *GRPC    `json:"grpc"`
	Exec                *Exec    `json:"exec"`
	InitialDelaySeconds int32    `json:"initialDelaySeconds"`
	TimeoutSeconds      int32    `json:"timeoutSeconds"`
	PeriodSeconds       int32    `json:"periodSeconds"`
	SuccessThreshold    int32    `json:"successThreshold"`
	FailureThreshold    int32    `json:"failureThreshold"`
}

// HTTPGet is what is read of corev1.HTTPGetAction.
type HTTPGet struct {
	Path   string      `json:"path"`
	Port   IntOrString `json:"port"`
	Scheme string      `json:"scheme"`
}

// Socket is what is read of corev1.TCPSocketAction.
type Socket struct {
	Port IntOrString `json:"port"`
}

// GRPC is what is read of corev1.GRPCAction.
type GRPC struct {
	Port int32 `json:"port"`
}

// Exec is corev1.ExecAction.
type Exec struct {
	Command []string `json:"command"`
}

// VolumeMount is what is read of corev1.VolumeMount.
type VolumeMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
}

// Volume is what is read of corev1.Volume: enough to see a service account token.
type Volume struct {
	Name      string     `json:"name"`
	Projected *Projected `json:"projected"`
}

// Projected is what is read of corev1.ProjectedVolumeSource.
type Projected struct {
	Sources []ProjectedSource `json:"sources"`
}

// ProjectedSource is what is read of corev1.VolumeProjection.
type ProjectedSource struct {
	ServiceAccountToken *TokenProjection `json:"serviceAccountToken"`
}

// TokenProjection is what is read of corev1.ServiceAccountTokenProjection.
type TokenProjection struct {
	Audience string `json:"audience"`
	Path     string `json:"path"`
}

// Decode reads a pod's JSON. Unknown fields are passed over, names are case-sensitive as in the API server.
func Decode(data []byte) (*Pod, error) {
	p := new(Pod)
	if err := json.Unmarshal(data, p, Options); err != nil {
		return nil, err
	}
	return p, nil
}

// Options are the decoding options of this package's types. Duplicate names pass because the API server, whose canonical
// JSON has none, already did the strict reading, and the check costs on every request.
var Options = json.JoinOptions(jsontext.AllowDuplicateNames(true))
