package pod_test

import (
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/pod"
)

func TestDecode(t *testing.T) {
	p, err := pod.Decode([]byte(`{
		"kind": "Pod", "future": {"x": [1, "y", null]},
		"metadata": {"generateName": "a-", "namespace": "n", "uid": "u", "deletionTimestamp": "2026-01-02T03:04:05Z", "labels": {"a": "1"}, "annotations": null, "managedFields": [{"fieldsV1": {"f:x": {}}}],
			"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "v", "controller": true}]},
		"spec": {
			"serviceAccountName": "default", "serviceAccount": "default", "automountServiceAccountToken": false,
			"initContainers": [{"name": "i", "restartPolicy": "Always"}],
			"containers": [{
				"name": "c", "image": "img:1", "command": ["a"], "args": ["b", "c"], "Name": "case counts",
				"env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}, {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s"}}}],
				"envFrom": [{"prefix": "P_", "configMapRef": {"name": "m"}}, {"secretRef": {"name": "s"}}],
				"ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP", "hostPort": 1}],
				"readinessProbe": {"httpGet": {"path": "/health", "port": "http", "scheme": "HTTP"}, "periodSeconds": 10},
				"livenessProbe": {"tcpSocket": {"port": 8000}, "failureThreshold": 2}, "startupProbe": {"exec": {"command": ["x"]}, "initialDelaySeconds": 1},
				"volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
			"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"audience": "a", "path": "token"}}, {"configMap": {}}]}}, {"name": "w", "emptyDir": {}}]},
		"status": {"phase": "Pending"}}`))
	require.NoError(t, err)
	no := false
	assert.Equal(t, &pod.Pod{
		Metadata: pod.Metadata{
			Given: true, GenerateName: "a-", Namespace: "n", UID: "u", DeletionTimestamp: "2026-01-02T03:04:05Z", Labels: map[string]string{"a": "1"},
			OwnerReferences: []pod.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "v", Controller: true}},
		},
		Spec: pod.Spec{
			ServiceAccountName: "default", ServiceAccount: "default", AutomountServiceAccountToken: &no,
			InitContainers: []pod.Container{{Name: "i", RestartPolicy: "Always"}},
			Containers: []pod.Container{{
				Name: "c", Image: "img:1", Command: []string{"a"}, Args: []string{"b", "c"},
				Env: []pod.EnvVar{
					{Name: "A", Value: "1"}, {Name: "B", ValueFrom: &pod.EnvVarSource{FieldRef: &pod.FieldRef{FieldPath: "metadata.name"}}},
					{Name: "C", ValueFrom: &pod.EnvVarSource{}},
				},
				EnvFrom:        []pod.EnvFromSource{{Prefix: "P_", ConfigMapRef: &pod.LocalRef{Name: "m"}}, {SecretRef: &pod.LocalRef{Name: "s"}}},
				Ports:          []pod.Port{{Name: "http", ContainerPort: 8000, Protocol: "TCP"}},
				ReadinessProbe: &pod.Probe{HTTPGet: &pod.HTTPGet{Path: "/health", Port: pod.IntOrString{Name: "http"}, Scheme: "HTTP"}, PeriodSeconds: 10},
				LivenessProbe:  &pod.Probe{TCPSocket: &pod.Socket{Port: pod.IntOrString{Number: 8000}}, FailureThreshold: 2},
				StartupProbe:   &pod.Probe{Exec: &pod.Exec{Command: []string{"x"}}, InitialDelaySeconds: 1},
				VolumeMounts:   []pod.VolumeMount{{Name: "v", MountPath: "/v"}},
			}},
			Volumes: []pod.Volume{{Name: "v", Projected: &pod.Projected{Sources: []pod.ProjectedSource{
				{ServiceAccountToken: &pod.TokenProjection{Audience: "a", Path: "token"}}, {},
			}}}, {Name: "w"}},
		},
		Status: pod.Status{Phase: "Pending"},
	}, p)
}

func TestMetadataIsGiven(t *testing.T) {
	for text, given := range map[string]bool{`{}`: false, `{"metadata": null}`: false, `{"metadata": {}}`: true, `{"metadata": {"labels": null}}`: true} {
		p, err := pod.Decode([]byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, given, p.Metadata.Given, text)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, data := range []string{``, `{`, `[]`, `{"spec":{"containers":{}}}`, `{"spec":{"containers":[{"ports":[{"containerPort":"x"}]}]}}`,
		`{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":99999999999}}}]}}`, `{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}}`, `{} {}`} {
		_, err := pod.Decode([]byte(data))
		assert.Error(t, err, data)
	}
}

func TestIntOrString(t *testing.T) {
	assert.Equal(t, "8000", pod.IntOrString{Number: 8000}.String())
	assert.Equal(t, "http", pod.IntOrString{Name: "http"}.String())
	var v pod.IntOrString
	require.NoError(t, jsonv2.Unmarshal([]byte(`null`), &v))
	assert.Zero(t, v)
}

// review is the envelope as the handler has it.
type review struct {
	Request struct {
		UID    string  `json:"uid"`
		Object pod.Pod `json:"object"`
	} `json:"request"`
}

func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"small", "worker", "large"} {
		data := identitytest.Review(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				var r review
				if err := jsonv2.Unmarshal(data, &r, pod.Options); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"small", "worker", "future"} {
		f.Add(identitytest.ReviewPod(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := pod.Decode(data); (p == nil) != (err != nil) {
			t.Fatal("neither a pod nor an error, or both")
		}
	})
}
