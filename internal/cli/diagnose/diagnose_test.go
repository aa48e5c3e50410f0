package diagnose_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/internal/cli/diagnose"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/discoverytest/fakecluster"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

func container(name string, env ...string) corev1.Container {
	c := corev1.Container{Name: name, Env: []corev1.EnvVar{{Name: "DYN_DISCOVERY_BACKEND", Value: "kubernetes"}}}
	for i := 0; i < len(env); i += 2 {
		c.Env = append(c.Env, corev1.EnvVar{Name: env[i], Value: env[i+1]})
	}
	return c
}

func inMode(name string) corev1.Container {
	return container(name, "DYN_KUBE_DISCOVERY_MODE", "container", "CONTAINER_NAME", name)
}

// Which instance a pod's diagnosis is about follows from the variables of its containers.
func TestPodKnowsItsMode(t *testing.T) {
	pod := func(containers ...corev1.Container) corev1.PodSpec { return corev1.PodSpec{Containers: containers} }
	for name, c := range map[string]struct {
		spec      corev1.PodSpec
		container string
		want      string
		of        []string
		cause     runtime.CheckID // pod mode lacks a Service here
		fails     string
	}{
		"pod mode":              {spec: pod(container("main")), cause: runtime.CheckService},
		"pod mode, said":        {spec: pod(container("main", "DYN_KUBE_DISCOVERY_MODE", "pod")), cause: runtime.CheckService},
		"pod mode, of one":      {spec: pod(container("main"), corev1.Container{Name: "proxy"}), container: "main", cause: runtime.CheckService},
		"container mode":        {spec: pod(inMode("engine")), want: "engine", cause: runtime.CheckMetadata},
		"beside others":         {spec: pod(corev1.Container{Name: "proxy"}, inMode("engine")), want: "engine", cause: runtime.CheckMetadata},
		"the main one of two":   {spec: pod(inMode("engine"), inMode("main")), want: "main", of: []string{"engine", "main"}, cause: runtime.CheckMetadata},
		"the first of two":      {spec: pod(inMode("b"), inMode("a")), want: "b", of: []string{"b", "a"}, cause: runtime.CheckMetadata},
		"the one asked for":     {spec: pod(inMode("b"), inMode("a")), container: "a", want: "a", cause: runtime.CheckMetadata},
		"one that is not there": {spec: pod(inMode("b"), inMode("a")), container: "c", fails: `pod llm/worker-0 has no container "c": it has b, a`},
		"a wrong name": {
			spec: pod(container("engine", "DYN_KUBE_DISCOVERY_MODE", "container", "CONTAINER_NAME", "b")), want: "b", cause: runtime.CheckIdentity,
		},
		"a sidecar": {
			spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}, InitContainers: []corev1.Container{inMode("engine")}},
			want: "engine", cause: runtime.CheckIdentity,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.New(t)
			p := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "worker-0", Namespace: "llm", UID: "uid-0", Labels: fakecluster.Labels("dynamo", "backend")},
				Spec:       c.spec, Status: corev1.PodStatus{Phase: corev1.PodRunning},
			}
			for i := range c.spec.Containers {
				p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.spec.Containers[i].Name, Ready: true})
			}
			s.Set(p)
			d, of, found, err := diagnose.Pod(t.Context(), s.Config(), "llm", "worker-0", c.container)
			require.True(t, found)
			if c.fails != "" {
				require.EqualError(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			cause, _ := d.Cause()
			assert.Equal(t, c.cause, cause.ID, d.String())
			assert.Equal(t, c.want, d.Container)
			assert.Equal(t, c.of, of)
			assert.Equal(t, runtime.OK, d.Checks[0].Verdict, "the backend is read of that container")
		})
	}
	_, _, found, err := diagnose.Pod(t.Context(), apitest.New(t).Config(), "llm", "worker-0", "")
	require.NoError(t, err)
	assert.False(t, found)
}
