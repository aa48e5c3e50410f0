package validate_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// labelled is a pod with one container; labels come in pairs.
func labelled(c pod.Container, pairs ...string) *pod.Pod {
	p := &pod.Pod{Metadata: pod.Metadata{Labels: map[string]string{}}, Spec: pod.Spec{Containers: []pod.Container{c}}}
	for i := 0; i < len(pairs); i += 2 {
		p.Metadata.Labels[pairs[i]] = pairs[i+1]
	}
	return p
}

// running is a container with a command and variables, as NAME=value.
func running(command string, env ...string) pod.Container {
	c := pod.Container{Name: "main", Args: strings.Fields(command)}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		c.Env = append(c.Env, pod.EnvVar{Name: name, Value: value})
	}
	return c
}

func secret(c pod.Container, name string) pod.Container {
	c.Env = append(c.Env, pod.EnvVar{Name: name, ValueFrom: &pod.EnvVarSource{}})
	return c
}

const (
	ns        = wiring.LabelNamespace
	component = wiring.LabelComponent
	role      = wiring.LabelComponentType
)

type ruleCase struct {
	name string
	pod  *pod.Pod
	// rules are the ids of the findings, in order.
	rules string
}

func check(t *testing.T, file string, cases []ruleCase) {
	t.Helper()
	var all strings.Builder
	for _, tc := range cases {
		findings := validate.Pod(tc.pod, wiring.Settings{})
		assert.Equal(t, findings, validate.Pod(mutated(t, jsonOf(t, tc.pod), wiring.Settings{}), wiring.Settings{}), "%s: after mutation", tc.name)
		ids := []string{}
		for _, f := range findings {
			ids = append(ids, f.Rule)
			all.WriteString(tc.name + "\n  " + f.String() + "\n")
		}
		assert.Equal(t, tc.rules, strings.Join(ids, " "), tc.name)
	}
	golden(t, file, all.String())
}

// port is how a pod.IntOrString is marshalled, which the product never does.
var port = regexp.MustCompile(`\{"Number":(\d+),"Name":"([^"]*)"\}`)

func jsonOf(t *testing.T, p *pod.Pod) []byte {
	t.Helper()
	data, err := json.Marshal(p)
	require.NoError(t, err)
	return port.ReplaceAllFunc(data, func(match []byte) []byte {
		if parts := port.FindSubmatch(match); len(parts[2]) > 0 {
			return strconv.AppendQuote(nil, string(parts[2]))
		}
		return port.FindSubmatch(match)[1]
	})
}

func TestNamespaceMismatch(t *testing.T) {
	const bad = "namespace-mismatch"
	check(t, "namespace-mismatch.txt", []ruleCase{
		{"flag", labelled(running("python3 -m dynamo.vllm --namespace b"), ns, "a"), bad},
		{"variable", labelled(running("python3 -m dynamo.mocker", "DYN_NAMESPACE=b"), ns, "a"), bad},
		{"endpoint", labelled(running("python3 -m dynamo.vllm --endpoint dyn://b.backend.generate"), ns, "a"), bad},
		{"endpoint variable", labelled(running("python3 -m dynamo.vllm", "DYN_ENDPOINT=b.backend.generate"), ns, "a"), bad},
		{"mocker endpoint", labelled(running("python3 -m dynamo.mocker --endpoint dyn://b.backend.generate"), ns, "a"), bad},
		{"router target", labelled(running("python3 -m dynamo.router --endpoint b.backend.generate"), ns, "a"), bad},
		{"a module that reads no variable", labelled(running("python3 -m dynamo.common.backend.sample_main --discovery-backend kubernetes"), ns, "a"), bad},
		{"a program of one's own", labelled(running("/server", "DYN_NAMESPACE=b"), ns, "a"), bad},
		{"set by the shell", labelled(pod.Container{Command: []string{"sh", "-c", "DYN_NAMESPACE=b exec python3 -m dynamo.vllm"}}, ns, "a"), bad},

		{"the same", labelled(running("python3 -m dynamo.vllm --namespace a", "DYN_NAMESPACE=b"), ns, "a"), ""},
		{"nothing said", labelled(running("python3 -m dynamo.vllm"), ns, "a"), ""},
		{"no label", labelled(running("python3 -m dynamo.vllm --namespace b"), component, "backend"), ""},
		{"the suffix is the runtime's", labelled(running("python3 -m dynamo.vllm", "DYN_NAMESPACE=a", "DYN_NAMESPACE_WORKER_SUFFIX=1"), ns, "a"), ""},
		{"or part of the label", labelled(running("python3 -m dynamo.vllm", "DYN_NAMESPACE=a", "DYN_NAMESPACE_WORKER_SUFFIX=1"), ns, "a-1"), ""},
		{"or of the endpoint", labelled(running("python3 -m dynamo.vllm --endpoint a-1.backend.generate", "DYN_NAMESPACE_WORKER_SUFFIX=1"), ns, "a"), ""},
		{"a suffix that is not known", labelled(secret(running("python3 -m dynamo.vllm", "DYN_NAMESPACE=a"), "DYN_NAMESPACE_WORKER_SUFFIX"), ns, "a-1"), ""},
		{"a namespace that is not known", labelled(secret(running("python3 -m dynamo.vllm"), "DYN_NAMESPACE"), ns, "a"), ""},
		{"a variable that nothing expands", labelled(running("python3 -m dynamo.vllm --namespace ${NS}"), ns, "a"), "unresolved-variable"},
		{"frontend", labelled(running("python3 -m dynamo.frontend --namespace b"), ns, "a"), "frontend-scope-mismatch"},
		{"opted out", labelled(running("python3 -m dynamo.vllm --namespace b"), ns, "a", wiring.LabelDiscoveryEnabled, "false"), ""},
	})
}

func TestComponentMismatch(t *testing.T) {
	const bad = "component-mismatch"
	check(t, "component-mismatch.txt", []ruleCase{
		{"endpoint", labelled(running("python3 -m dynamo.vllm --endpoint dyn://dynamo.prefill.generate"), component, "decode"), bad},
		{"endpoint variable", labelled(running("python3 -m dynamo.vllm", "DYN_ENDPOINT=dynamo.prefill.serve"), component, "decode"), bad},
		{"sidecar flag", labelled(running("dynamo-vllm-sidecar --component prefill"), component, "decode"), bad},
		{"sidecar variable", labelled(running("dynamo-vllm-sidecar", "DYN_COMPONENT=worker"), component, "decode"), bad},
		{"global router flag", labelled(running("python3 -m dynamo.global_router --component-name x"), component, "y"), bad},
		{"mocker default", labelled(running("python3 -m dynamo.mocker"), component, "decode"), bad},
		{"triton default", labelled(running("python3 -m dynamo.triton"), component, "decode"), bad},
		{"omni default", labelled(running("python3 -m dynamo.vllm.omni"), component, "decode"), bad},
		{"router", labelled(running("python3 -m dynamo.router --endpoint dynamo.backend.generate"), component, "backend"), bad},
		{"planner", labelled(running("python3 -m dynamo.planner"), component, "planner"), bad},
		{"an empty variable is in the way", labelled(running("python3 -m dynamo.trtllm", "DYN_ENDPOINT="), component, "decode"), bad},

		{"the same", labelled(running("python3 -m dynamo.vllm --endpoint dynamo.decode.generate"), component, "decode"), ""},
		{"vllm default is made true", labelled(running("python3 -m dynamo.vllm"), component, "decode"), ""},
		{"sidecar default is made true", labelled(running("dynamo-vllm-sidecar"), component, "decode"), ""},
		{"frontend", labelled(running("python3 -m dynamo.frontend"), component, "gateway"), ""},
		{"not known", labelled(running("python3 -m dynamo.vllm --endpoint dynamo.${C}.generate"), component, "decode"), "unresolved-variable"},
		{"a rank that registers nothing", labelled(running("python3 -m dynamo.sglang --node-rank 1 --endpoint dynamo.x.generate"), component, "decode"), ""},
		{"a program of one's own", labelled(running("/server", "DYN_COMPONENT=x"), component, "decode"), "unprovable-command"},
	})
}

func TestEndpointMalformed(t *testing.T) {
	const bad = "endpoint-malformed"
	check(t, "endpoint-malformed.txt", []ruleCase{
		{"two parts", labelled(running("python3 -m dynamo.vllm --endpoint backend.generate"), ns, "a"), bad},
		{"four parts", labelled(running("python3 -m dynamo.sglang --endpoint=dyn://a.b.c.d"), ns, "a"), bad},
		{"slashes", labelled(running("python3 -m dynamo.trtllm", "DYN_ENDPOINT=dyn://a/b/c"), ns, "a"), bad},
		{"empty", labelled(running("python3 -m dynamo.vllm", "DYN_ENDPOINT="), ns, "a"), bad},
		{"mocker without dyn://", labelled(running("python3 -m dynamo.mocker --endpoint a.b.c"), ns, "a"), bad},
		{"omni with a path", labelled(running("python3 -m dynamo.vllm.omni --endpoint dyn://a.b.c"), ns, "a"), bad},
		{"sidecar with a path", labelled(running("dynamo-vllm-sidecar", "DYN_ENDPOINT=a.b.c"), ns, "a"), bad},
		{"router", labelled(running("python3 -m dynamo.router --endpoint backend"), ns, "a"), bad},
		{"router variable", labelled(running("python3 -m dynamo.thunderagent_router", "DYN_ROUTER_ENDPOINT=x.y"), ns, "a"), bad},

		{"path", labelled(running("python3 -m dynamo.vllm --endpoint a.b.c"), ns, "a"), ""},
		{"path with a scheme", labelled(running("python3 -m dynamo.vllm --endpoint dyn://a.b.c"), ns, "a"), ""},
		{"mocker", labelled(running("python3 -m dynamo.mocker --endpoint dyn://a.b.c"), ns, "a"), ""},
		{"mocker with slashes", labelled(running("python3 -m dynamo.mocker --endpoint dyn://a/b/c"), ns, "a"), ""},
		{"mocker reads no DYN_ENDPOINT", labelled(running("python3 -m dynamo.mocker", "DYN_ENDPOINT=x"), ns, "a"), ""},
		{"name", labelled(running("python3 -m dynamo.vllm.omni --endpoint serve"), ns, "a"), ""},
		{"empty is nothing to trtllm", labelled(running("python3 -m dynamo.trtllm", "DYN_ENDPOINT="), ns, "a"), ""},
		{"not known", labelled(running("python3 -m dynamo.vllm --endpoint $(E)"), ns, "a"), "unresolved-variable"},
		{"the last one counts", labelled(running("python3 -m dynamo.vllm --endpoint x --endpoint a.b.c"), ns, "a"), ""},
		{"another flag", labelled(running("python3 -m dynamo.sglang --endpoint-types chat"), ns, "a"), ""},
		{"headless", labelled(running("python3 -m dynamo.vllm --headless --endpoint x"), ns, "a"), ""},
	})
}

func TestDiscoveryBackendConflict(t *testing.T) {
	const bad = "discovery-backend-conflict"
	check(t, "discovery-backend-conflict.txt", []ruleCase{
		{"variable", labelled(running("python3 -m dynamo.vllm", "DYN_DISCOVERY_BACKEND=etcd")), bad},
		{"flag", labelled(running("python3 -m dynamo.vllm --discovery-backend mem", "DYN_DISCOVERY_BACKEND=kubernetes")), bad},
		{"case", labelled(running("python3 -m dynamo.frontend", "DYN_DISCOVERY_BACKEND=Kubernetes")), bad},
		{"empty", labelled(running("python3 -m dynamo.vllm", "DYN_DISCOVERY_BACKEND=")), bad},
		{"router has the variable only", labelled(running("python3 -m dynamo.router --endpoint a.b.c", "DYN_DISCOVERY_BACKEND=file")), bad},
		{"sample reads none", labelled(running("python3 -m dynamo.common.backend.sample_main", "DYN_DISCOVERY_BACKEND=kubernetes")), bad},
		{"a program of one's own", labelled(running("/server", "DYN_DISCOVERY_BACKEND=etcd"), role, "worker"), bad},
		{"each container", &pod.Pod{Spec: pod.Spec{Containers: []pod.Container{
			running("python3 -m dynamo.vllm", "DYN_DISCOVERY_BACKEND=etcd"), running("python3 -m dynamo.frontend --discovery-backend etcd")}}}, bad + " " + bad},

		{"kubernetes", labelled(running("python3 -m dynamo.vllm --discovery-backend=kubernetes")), ""},
		{"flag beats variable", labelled(running("python3 -m dynamo.vllm --discovery-backend kubernetes", "DYN_DISCOVERY_BACKEND=etcd")), ""},
		{"nothing", labelled(running("python3 -m dynamo.vllm")), ""},
		{"not known", labelled(secret(running("python3 -m dynamo.vllm"), "DYN_DISCOVERY_BACKEND")), ""},
		{"a sidecar that is not Dynamo's", &pod.Pod{Spec: pod.Spec{Containers: []pod.Container{
			running("python3 -m dynamo.vllm"), running("/proxy", "DYN_DISCOVERY_BACKEND=etcd")}}}, ""},
	})
}

func get(port string) *pod.Probe {
	return &pod.Probe{HTTPGet: &pod.HTTPGet{Path: "/health", Port: portOf(port)}}
}

func portOf(text string) pod.IntOrString {
	switch text {
	case "9090":
		return pod.IntOrString{Number: 9090}
	case "8081":
		return pod.IntOrString{Number: 8081}
	case "8000":
		return pod.IntOrString{Number: 8000}
	}
	return pod.IntOrString{Name: text}
}

func TestProbePortMismatch(t *testing.T) {
	const bad = "probe-port-mismatch"
	probed := func(c pod.Container, readiness, liveness *pod.Probe, ports ...pod.Port) *pod.Pod {
		c.ReadinessProbe, c.LivenessProbe, c.Ports = readiness, liveness, ports
		if liveness != nil {
			c.StartupProbe = &pod.Probe{Exec: &pod.Exec{Command: []string{"true"}}}
		}
		return labelled(c)
	}
	vllm, frontend := running("python3 -m dynamo.vllm"), running("python3 -m dynamo.frontend")
	system := pod.Port{Name: "system", ContainerPort: 9090}
	second := func(readiness *pod.Probe) *pod.Pod { // of two workers in a pod, which share the network
		p := labelled(running("python3 -m dynamo.vllm", "DYN_KUBE_DISCOVERY_MODE=container", "CONTAINER_NAME=a"))
		p.Spec.Containers = append(p.Spec.Containers, running("python3 -m dynamo.vllm", "DYN_KUBE_DISCOVERY_MODE=container", "CONTAINER_NAME=b"))
		p.Spec.Containers[0].Name, p.Spec.Containers[1].Name = "a", "b"
		p.Spec.Containers[1].ReadinessProbe = readiness
		return p
	}
	check(t, "probe-port-mismatch.txt", []ruleCase{
		{"number", probed(vllm, get("8081"), nil), bad},
		{"named port", probed(running("python3 -m dynamo.vllm", "DYN_SYSTEM_PORT=8081"), get("system"), get("system"), system), bad},
		{"no such name", probed(vllm, get("web"), nil), bad},
		{"liveness alone", probed(vllm, nil, get("8081")), bad},
		{"frontend on the system port", probed(frontend, get("9090"), nil), bad},
		{"frontend moved", probed(running("python3 -m dynamo.frontend --http-port 8080"), get("8000"), nil), bad},
		{"random port", probed(running("python3 -m dynamo.vllm", "DYN_SYSTEM_PORT=0"), get("9090"), nil), bad},
		{"off", probed(running("python3 -m dynamo.vllm", "DYN_SYSTEM_PORT=-1"), nil, nil), bad},
		{"off by an empty value", probed(running("python3 -m dynamo.mocker", "DYN_SYSTEM_PORT="), get("9090"), nil), bad},
		{"above an i16", probed(running("python3 -m dynamo.vllm", "DYN_SYSTEM_PORT=40000"), get("9090"), nil), bad},
		{"no number", probed(running("python3 -m dynamo.vllm", "DYN_SYSTEM_PORT=auto"), nil, nil), bad},
		{"another worker's port", second(get("9090")), bad},
		{"frontend with no port", probed(running("python3 -m dynamo.frontend", "DYN_HTTP_PORT=http"), nil, nil), bad},

		{"default", probed(vllm, get("9090"), get("9090")), ""},
		{"the name that is injected", probed(vllm, get("system"), nil), ""},
		{"named port of that number", probed(vllm, get("web"), nil, pod.Port{Name: "web", ContainerPort: 9090}), ""},
		{"its own number", probed(running("python3 -m dynamo.vllm", "DYN_SYSTEM_PORT=8081"), get("8081"), nil), ""},
		{"the second worker's own", second(get("system")), ""},
		{"frontend", probed(frontend, get("8000"), get("http")), ""},
		{"not known", probed(secret(vllm, "DYN_SYSTEM_PORT"), get("8081"), nil), ""},
		{"TCP asks no health", probed(vllm, &pod.Probe{TCPSocket: &pod.Socket{Port: portOf("8081")}}, nil), "not-ready-blind"},
		{"a program of one's own", labelled(pod.Container{Command: []string{"/server"}, ReadinessProbe: get("8081")}, role, "worker"), ""},
		{"another container", &pod.Pod{Spec: pod.Spec{Containers: []pod.Container{vllm, {Name: "proxy", ReadinessProbe: get("8081")}}}}, ""},
	})
}

// The findings of a template say where in the workload they are.
func TestTemplate(t *testing.T) {
	findings := validate.Template(labelled(running("python3 -m dynamo.vllm", "DYN_SYSTEM_PORT=-1", "DYN_NAMESPACE=b"), ns, "a"), wiring.Settings{}, "spec.template.")
	assert.Len(t, findings, 2)
	assert.Equal(t, "spec.template.spec.containers[0].env[DYN_NAMESPACE]", findings[0].Field)
	assert.Equal(t, "spec.template.spec.containers[0].env[DYN_SYSTEM_PORT]", findings[1].Field)
}
