package admission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/require"
	jsonpatchop "gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Both ways to the same pod: what is measured beside each other does the same work.
func TestDefaulterMakesTheSamePod(t *testing.T) {
	for review, wired := range map[string]bool{"small": false, "worker": true, "large": true} {
		t.Run(review, func(t *testing.T) {
			body := identitytest.Review(t, review)
			ours := patched(t, newAdmission(t).MutatePods(), body)
			theirs := patched(t, newDefaulter(t), body)
			require.Equal(t, ours, theirs)
			_, labelled := ours.Labels[wiring.LabelComponent]
			require.Equal(t, wired, labelled)
		})
	}
}

// patched is the pod that comes of a review's answer.
func patched(t *testing.T, h http.Handler, body []byte) corev1.Pod {
	t.Helper()
	var request, response admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(body, &request))
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &response))
	require.True(t, response.Response.Allowed)
	require.Equal(t, request.Request.UID, response.Response.UID)
	raw := request.Request.Object.Raw
	if len(response.Response.Patch) > 0 {
		patch, err := jsonpatch.DecodePatch(response.Response.Patch)
		require.NoError(t, err)
		raw, err = patch.Apply(raw)
		require.NoError(t, err)
	}
	var p corev1.Pod
	require.NoError(t, json.Unmarshal(raw, &p))
	return p
}

// defaulter is the same mutation written for controller-runtime: on the API type, without a detour through JSON.
type defaulter struct{}

func (defaulter) Default(_ context.Context, p *corev1.Pod) error {
	result := mutate.Pod(convert(p), mutate.Options{ServiceAccount: wiring.ServiceAccount})
	for _, op := range result.Patch {
		if err := apply(p, op); err != nil {
			return fmt.Errorf("apply %s %s: %w", op.Operation, op.Path, err)
		}
	}
	return nil
}

func convert(in *corev1.Pod) *pod.Pod {
	out := &pod.Pod{Metadata: pod.Metadata{
		Given: true, Name: in.Name, GenerateName: in.GenerateName, Namespace: in.Namespace, UID: string(in.UID), Labels: in.Labels, Annotations: in.Annotations,
	}}
	out.Spec.ServiceAccountName, out.Spec.ServiceAccount = in.Spec.ServiceAccountName, in.Spec.DeprecatedServiceAccount
	out.Spec.AutomountServiceAccountToken = in.Spec.AutomountServiceAccountToken
	for i := range in.Spec.InitContainers {
		out.Spec.InitContainers = append(out.Spec.InitContainers, convertContainer(&in.Spec.InitContainers[i]))
	}
	for i := range in.Spec.Containers {
		out.Spec.Containers = append(out.Spec.Containers, convertContainer(&in.Spec.Containers[i]))
	}
	for i := range in.Spec.Volumes {
		out.Spec.Volumes = append(out.Spec.Volumes, pod.Volume{Name: in.Spec.Volumes[i].Name})
	}
	return out
}

func convertContainer(in *corev1.Container) pod.Container {
	out := pod.Container{
		Name: in.Name, Image: in.Image, Command: in.Command, Args: in.Args, StartupProbe: convertProbe(in.StartupProbe),
		ReadinessProbe: convertProbe(in.ReadinessProbe), LivenessProbe: convertProbe(in.LivenessProbe),
	}
	if in.RestartPolicy != nil {
		out.RestartPolicy = string(*in.RestartPolicy)
	}
	if in.Env != nil {
		out.Env = make([]pod.EnvVar, 0, len(in.Env))
	}
	for _, e := range in.Env {
		v := pod.EnvVar{Name: e.Name, Value: e.Value}
		if e.ValueFrom != nil {
			v.ValueFrom = &pod.EnvVarSource{}
			if f := e.ValueFrom.FieldRef; f != nil {
				v.ValueFrom.FieldRef = &pod.FieldRef{FieldPath: f.FieldPath}
			}
		}
		out.Env = append(out.Env, v)
	}
	for _, p := range in.Ports {
		out.Ports = append(out.Ports, pod.Port{Name: p.Name, ContainerPort: p.ContainerPort, Protocol: string(p.Protocol)})
	}
	return out
}

func convertProbe(in *corev1.Probe) *pod.Probe {
	if in == nil {
		return nil
	}
	out := &pod.Probe{InitialDelaySeconds: in.InitialDelaySeconds, PeriodSeconds: in.PeriodSeconds, FailureThreshold: in.FailureThreshold}
	if in.HTTPGet != nil {
		out.HTTPGet = &pod.HTTPGet{Path: in.HTTPGet.Path, Port: pod.IntOrString{Number: in.HTTPGet.Port.IntVal, Name: in.HTTPGet.Port.StrVal}}
	}
	return out
}

// apply does to the API type what an operation of the core says.
func apply(p *corev1.Pod, op jsonpatchop.Operation) error {
	path := strings.Split(op.Path, "/")[1:]
	switch {
	case path[0] == "metadata" && path[1] == "labels":
		return applyMap(&p.Labels, path[2:], op.Value)
	case path[0] == "metadata" && path[1] == "annotations":
		return applyMap(&p.Annotations, path[2:], op.Value)
	case path[1] == "serviceAccountName":
		p.Spec.ServiceAccountName = op.Value.(string)
		return nil
	case path[1] == "serviceAccount":
		p.Spec.DeprecatedServiceAccount = op.Value.(string)
		return nil
	case path[1] == "automountServiceAccountToken":
		v := op.Value.(bool)
		p.Spec.AutomountServiceAccountToken = &v
		return nil
	}
	containers := p.Spec.Containers
	if path[1] == "initContainers" {
		containers = p.Spec.InitContainers
	}
	i, err := strconv.Atoi(path[2])
	if err != nil {
		return err
	}
	return applyContainer(&containers[i], path[3], op.Value)
}

func applyMap(m *map[string]string, key []string, value any) error {
	if len(key) == 0 {
		raw, err := json.Marshal(value)
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, m)
	}
	(*m)[strings.ReplaceAll(key[0], "~1", "/")] = value.(string)
	return nil
}

func applyContainer(c *corev1.Container, field string, value any) error {
	switch v := value.(type) {
	case *mutate.EnvVar:
		c.Env = append([]corev1.EnvVar{envVar(v)}, c.Env...)
	case []*mutate.EnvVar:
		for _, e := range v {
			c.Env = append(c.Env, envVar(e))
		}
	case mutate.Port:
		c.Ports = append(c.Ports, port(v))
	case []mutate.Port:
		for _, p := range v {
			c.Ports = append(c.Ports, port(p))
		}
	case mutate.Probe:
		number := intstr.IntOrString{}
		switch p := v.HTTPGet.Port.(type) {
		case string:
			number = intstr.FromString(p)
		case int32:
			number = intstr.FromInt32(p)
		}
		c.ReadinessProbe = &corev1.Probe{
			PeriodSeconds: v.PeriodSeconds, TimeoutSeconds: v.TimeoutSeconds, FailureThreshold: v.FailureThreshold,
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: v.HTTPGet.Path, Port: number}},
		}
	default:
		return fmt.Errorf("unknown value %T for %s", value, field)
	}
	return nil
}

func envVar(in *mutate.EnvVar) corev1.EnvVar {
	out := corev1.EnvVar{Name: in.Name, Value: in.Value}
	if in.ValueFrom != nil {
		out.ValueFrom = &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: in.ValueFrom.FieldRef.FieldPath}}
	}
	return out
}

func port(in mutate.Port) corev1.ContainerPort {
	return corev1.ContainerPort{Name: in.Name, ContainerPort: in.ContainerPort, Protocol: corev1.Protocol(in.Protocol)}
}
