//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/wiring"
)

const dynamoImage = "docker.io/local/dynamo:1.6.1"

// claim is what a rule says would happen, and what does happen.
type claim struct {
	rule string
	// pod breaks the rule. Its name is its Dynamo namespace, too.
	pod *corev1.Pod
	// says is in the message.
	says string
	// seen waits for what happens in a namespace with the rule off.
	seen seen
	// still looks a while later whether it is still so; nil where it cannot change.
	still seen
}

type seen func(t *testing.T, ns, pod string)

func claims() []claim {
	return []claim{
		{"health-endpoint-mismatch", dynamo("health", mockerOf("health"), wiring.EnvEndpointHealthStatus, `["serve"]`),
			"the pod would never be ready", serves, isUnready},
		{"health-endpoint-mismatch", dynamo("health-list", mockerOf("health-list"), wiring.EnvEndpointHealthStatus, "generate"),
			"the process would not start", exits("expected a sequence"), nil},
		{"two-registrars-one-pod", beside(dynamo("two", mockerOf("two")), mockerOf("second"), wiring.EnvSystemPort, "9091"),
			"the last one to write would erase the others", oneIsErased, nil},
		{"endpoint-malformed", dynamo("malformed", mocker("--endpoint", "malformed.backend.generate")),
			"the process would exit", exits("Invalid in= option 'malformed.backend.generate'"), nil},
		{"invalid-name", dynamo("dotted-router", []string{"python3", "-m", "dynamo.router", "--endpoint", "a.backend.generate"}, wiring.EnvNamespace, "a.b"),
			"the process would exit", exits("Expected format: namespace.component.endpoint"), nil},
		{"invalid-name", dynamo("dotted", mocker("--model-name", "dotted"), wiring.EnvNamespace, "dotted.b"),
			"the process would register as dotted.b.backend_generate", registersAs("dotted/b/backend_generate"), nil},
		{"invalid-name", dynamo("dotted-scope", frontendOf("--namespace", "healthy.b")), "the frontend would find no model", becomesReady, findsNoModel},
		{"probe-port-mismatch", probed(dynamo("probe", mockerOf("probe")), 8081), "the probe would never succeed", isHealthy, isUnready},
		{"probe-port-mismatch", dynamo("port", mockerOf("port"), wiring.EnvSystemPort, "40000"), "the process would exit", exits("expected i16"), nil},
		{"discovery-backend-conflict", dynamo("file", append(mockerOf("file"), "--discovery-backend", "file")),
			"it would register and look for peers where nobody in this namespace does", registersNothing, nil},
		{"discovery-backend-conflict", dynamo("spelling", mockerOf("spelling"), wiring.EnvDiscoveryBackend, "Kubernetes"),
			"the process would not start, for the value is case-sensitive", exits("Unknown key-value store type 'Kubernetes'"), nil},
		{"identity-env-overridden", dynamo("thief", mockerOf("thief"), wiring.EnvPodName, "victim"),
			"it would write the discovery entry of another pod, or of none", erases("victim"), nil},
		{"identity-env-overridden", dynamo("uid", mockerOf("uid"), wiring.EnvPodUID, "00000000-0000-4000-8000-000000000000"),
			"its discovery entry would belong to no pod and be deleted", registersNothing, nil},
		{"multi-worker-process", dynamo("multi", append(mockerOf("multi"), "--num-workers", "2")), "only one of them would be found", countsOnce, nil},
		{"frontend-scope-mismatch", labelled(dynamo("scope", frontendOf("--namespace", "elsewhere")), wiring.LabelNamespace, "healthy"),
			"it would find no model of that namespace", becomesReady, findsNoModel},
	}
}

// What the messages say would happen does happen to the real Dynamo 1.6.1 where the rule is off. All pods run at once.
func TestClaims(t *testing.T) {
	all := claims()
	off := []string{"metadata-impersonation=off"} // a second door, which would stop the thief
	for _, c := range all {
		off = append(off, c.rule+"=off")
	}
	ns, strict := optedIn(t, map[string]string{wiring.AnnotationRules: strings.Join(off, ",")}), optedIn(t, nil)

	kubectl(t, manifest(t, dynamo("healthy", mockerOf("healthy")), dynamo("victim", mockerOf("victim")), dynamo("frontend", frontendOf())),
		"-n", ns, "apply", "-f", "-")
	start := time.Now()
	becomesReady(t, ns, "frontend")
	eventually(t, "the frontend lists what is as it should be", func() error { return lists(t, ns, "frontend", "healthy", "victim") })
	t.Logf("what is as it should be was listed after %s", time.Since(start).Round(time.Second))

	var pods []any
	for _, c := range all {
		pods = append(pods, c.pod)
		out, _ := tryKubectl(t, manifest(t, c.pod), "-n", strict, "apply", "--dry-run=server", "-f", "-")
		assert.Contains(t, out, c.says, c.pod.Name)
		assert.Contains(t, out, "["+c.rule+"]", c.pod.Name)
	}
	kubectl(t, manifest(t, pods...), "-n", ns, "apply", "-f", "-")
	for _, c := range all {
		t.Run(c.rule+"/"+c.pod.Name, func(t *testing.T) { c.seen(t, ns, c.pod.Name) })
	}
	rest := []string{"healthy", "multi", "one of two"}
	eventually(t, "the frontend lists no others", func() error { return lists(t, ns, "frontend", rest...) })
	time.Sleep(8 * time.Second) // where it happens, it takes a second or two
	assert.NoError(t, lists(t, ns, "frontend", rest...), "never listed")
	for _, c := range all {
		if c.still != nil {
			t.Run(c.rule+"/"+c.pod.Name+"/still", func(t *testing.T) { c.still(t, ns, c.pod.Name) })
		}
	}
}

// dynamo is a pod of the real Dynamo, with variables in pairs. It is not restarted, so that its end can be seen.
func dynamo(name string, command []string, env ...string) *corev1.Pod {
	grace := int64(1)
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{dynamoContainer("main", command, env...)},
		},
	}
}

func dynamoContainer(name string, command []string, env ...string) corev1.Container {
	c := corev1.Container{Name: name, Image: dynamoImage, ImagePullPolicy: corev1.PullNever, Command: command}
	for i := 0; i < len(env); i += 2 {
		c.Env = append(c.Env, corev1.EnvVar{Name: env[i], Value: env[i+1]})
	}
	return c
}

// beside is a pod with one more container.
func beside(p *corev1.Pod, command []string, env ...string) *corev1.Pod {
	p.Spec.Containers = append(p.Spec.Containers, dynamoContainer("beside", command, env...))
	return p
}

// probed is a pod whose health is asked for at a port.
func probed(p *corev1.Pod, port int32) *corev1.Pod {
	p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: "/health", Port: intstr.FromInt32(port)},
	}}
	return p
}

func labelled(p *corev1.Pod, key, value string) *corev1.Pod {
	p.Labels = map[string]string{key: value}
	return p
}

// mockerOf is a worker that registers as NAME.backend.generate, with a model of that name.
func mockerOf(name string) []string {
	return mocker("--model-name", name, "--endpoint", "dyn://"+name+".backend.generate")
}

func frontendOf(args ...string) []string {
	return append([]string{"python3", "-m", "dynamo.frontend"}, args...)
}

// manifest is what `kubectl apply -f -` takes.
func manifest(t *testing.T, objects ...any) string {
	t.Helper()
	var out strings.Builder
	for _, o := range objects {
		data, err := json.Marshal(o)
		require.NoError(t, err)
		out.WriteString("---\n" + string(data) + "\n")
	}
	return out.String()
}

// exits is the end of a process, and what it said.
func exits(says string) seen {
	return func(t *testing.T, ns, pod string) {
		eventually(t, pod+" exits", func() error {
			p, err := client.CoreV1().Pods(ns).Get(t.Context(), pod, metav1.GetOptions{})
			if err == nil && p.Status.Phase != corev1.PodFailed {
				err = fmt.Errorf("it is %s", p.Status.Phase)
			}
			return err
		})
		assert.Contains(t, kubectl(t, "", "-n", ns, "logs", pod), says)
	}
}

func serves(t *testing.T, ns, pod string) {
	eventually(t, pod+" serves", func() error {
		data, err := getFromPod(t, ns, pod, wiring.SystemPort, "health")
		if !strings.Contains(string(data), `"generate":"ready"`) {
			return fmt.Errorf("/health says %s: %w", data, err)
		}
		assert.Contains(t, string(data), `"status":"notready"`)
		return nil
	})
}

func isHealthy(t *testing.T, ns, pod string) {
	eventually(t, pod+" is healthy", func() error {
		_, err := getFromPod(t, ns, pod, wiring.SystemPort, "health")
		return err
	})
}

// isUnready: a pod that is probed each second runs and is not ready.
func isUnready(t *testing.T, ns, pod string) {
	p, err := client.CoreV1().Pods(ns).Get(t.Context(), pod, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, corev1.PodRunning, p.Status.Phase)
	assert.False(t, isReady(p))
}

// oneIsErased: both containers are ready, and the entry has one of them.
func oneIsErased(t *testing.T, ns, pod string) {
	becomesReady(t, ns, pod)
	eventually(t, "one of two", func() error {
		endpoints, err := registered(t, ns, pod)
		if len(endpoints) != 1 || endpoints["two/backend/generate"] == endpoints["second/backend/generate"] {
			return fmt.Errorf("it registered %v: %w", endpoints, err)
		}
		return nil
	})
}

func registersAs(path string) seen {
	return func(t *testing.T, ns, pod string) {
		eventually(t, pod+" registers", func() error {
			endpoints, err := registered(t, ns, pod)
			if _, ok := endpoints[path]; err == nil && !ok {
				err = fmt.Errorf("it registered %v", endpoints)
			}
			return err
		})
	}
}

// registersNothing: the pod is ready and nobody can know.
func registersNothing(t *testing.T, ns, pod string) {
	becomesReady(t, ns, pod)
	eventually(t, "no entry of "+pod, func() error { return isErased(t, ns, pod) })
}

// erases: once the pod has written its entry, that of another is gone.
func erases(victim string) seen {
	return func(t *testing.T, ns, pod string) {
		becomesReady(t, ns, pod)
		eventually(t, "no entry of "+victim, func() error { return isErased(t, ns, victim) })
		p, err := client.CoreV1().Pods(ns).Get(t.Context(), victim, metav1.GetOptions{})
		require.NoError(t, err)
		assert.True(t, isReady(p), "%s serves and is ready all the same", victim)
	}
}

func isErased(t *testing.T, ns, pod string) error {
	endpoints, err := registered(t, ns, pod)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("it has %v (%w)", endpoints, err)
}

// countsOnce: two workers run, and there is one entry.
func countsOnce(t *testing.T, ns, pod string) {
	becomesReady(t, ns, pod)
	assert.Contains(t, kubectl(t, "", "-n", ns, "logs", pod), "Creating mocker worker 2/2")
	eventually(t, "one of the two workers", func() error {
		endpoints, err := registered(t, ns, pod)
		if want := wiring.InstanceID(pod); len(endpoints) != 1 || endpoints["multi/backend/generate"] != want {
			return fmt.Errorf("it registered %v: %w", endpoints, err)
		}
		return nil
	})
}

func findsNoModel(t *testing.T, ns, pod string) {
	data, err := getFromPod(t, ns, pod, wiring.HTTPPort, "v1/models")
	require.NoError(t, err)
	assert.Contains(t, string(data), `"data":[]`)
}

func becomesReady(t *testing.T, ns, pod string) {
	t.Helper()
	eventually(t, pod+" is ready", func() error {
		p, err := client.CoreV1().Pods(ns).Get(t.Context(), pod, metav1.GetOptions{})
		if err == nil && !isReady(p) {
			err = fmt.Errorf("it is %s: %+v", p.Status.Phase, p.Status.ContainerStatuses)
		}
		return err
	})
}

// registered is the endpoints of an entry, as namespace/component/endpoint, without those of key-value events, and their
// instance ids.
func registered(t *testing.T, ns, name string) (map[string]uint64, error) {
	t.Helper()
	data, err := client.RESTClient().Get().AbsPath("/apis", v1alpha1.GroupVersion().String(), "namespaces", ns, v1alpha1.Resource, name).DoRaw(t.Context())
	if err != nil {
		return nil, err
	}
	var object struct {
		Spec struct {
			Data struct {
				Endpoints map[string]struct {
					Namespace  string `json:"namespace"`
					Component  string `json:"component"`
					Endpoint   string `json:"endpoint"`
					InstanceID uint64 `json:"instance_id"`
				} `json:"endpoints"`
			} `json:"data"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, err
	}
	endpoints := map[string]uint64{}
	for _, e := range object.Spec.Data.Endpoints {
		if !strings.HasPrefix(e.Endpoint, "worker_kv_") {
			endpoints[e.Namespace+"/"+e.Component+"/"+e.Endpoint] = e.InstanceID
		}
	}
	return endpoints, nil
}

// lists is whether a frontend that sees all namespaces lists the generate endpoint of just these.
func lists(t *testing.T, ns, frontend string, want ...string) error {
	t.Helper()
	data, err := getFromPod(t, ns, frontend, wiring.HTTPPort, "health")
	if err != nil {
		return err
	}
	var health frontendHealth
	if err := json.Unmarshal(data, &health); err != nil {
		return err
	}
	got := map[string]bool{}
	for _, i := range health.Instances {
		switch {
		case i.Endpoint != "generate":
		case i.Namespace == "two" || i.Namespace == "second":
			got["one of two"] = true
		default:
			got[i.Namespace] = true
		}
	}
	slices.Sort(want)
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		return fmt.Errorf("it lists %v, want %v", names, want)
	}
	return nil
}

// getFromPod gets something from a pod through the API server. What comes with an error status is given, too.
func getFromPod(t *testing.T, ns, pod string, port int, path string) ([]byte, error) {
	return client.CoreV1().RESTClient().Get().
		AbsPath("/api/v1/namespaces", ns, "pods", fmt.Sprintf("%s:%d", pod, port), "proxy", path).DoRaw(t.Context())
}
