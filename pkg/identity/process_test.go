package identity_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// registered is what the process registers as, and "!" where its path is malformed.
func registered(p *pod.Pod) string {
	r := identity.Resolve(p, wiring.Settings{})
	proc := r.Process()
	text := proc.RegistersIn(r.Identity.Namespace.Text) + " " + proc.Component.Text + " " + proc.Endpoint.Text
	if proc.Malformed {
		text += " !"
	}
	return text
}

func TestMockerFoldsPaths(t *testing.T) {
	for path, want := range map[string]string{
		"dyn://a.b.c": "a b c", "dyn://a/b/c": "a b c", "dyn://.a.b.c.": "a b c",
		"dyn://a.b.c.d": "a b c_d !", "dyn://b.c": "b c E !", "dyn://a..c": "a c E !", "dyn://c": "NS c E !", "dyn://": "NS C E !",
		"dyn://dyn://a.b.c": "dyn: a b_c !",
		"a.b.c":             "   !", "DYN://a.b.c": "   !",
		"dyn://$(X).b.c": " b c", "dyn://$(X).c": "  ",
	} {
		assert.Equal(t, want, registered(of(container("python3 -m dynamo.mocker --endpoint "+path, secret("X")))), path)
	}
	for _, tc := range []struct{ namespace, suffix, want string }{
		{"a", "", "a backend generate"}, {"a", "s", "a-s backend generate"}, {"a.b", "", "a b backend_generate"}, {"a.b", "s", "a b-s backend_generate"},
		{"", "", "backend generate E"}, {"", "s", "-s backend generate"}, {"a", "x.y", "a-x y backend_generate"}, {"a/", "", "a backend generate"},
	} {
		c := container("python3 -m dynamo.mocker", variable("DYN_NAMESPACE", tc.namespace), variable("DYN_NAMESPACE_WORKER_SUFFIX", tc.suffix))
		assert.Equal(t, tc.want, registered(of(c)), "%+v", tc)
	}
	hides := container("python3 -m dynamo.mocker --disaggregation-mode $(M)", secret("M"), variable("DYN_NAMESPACE", ""))
	assert.Equal(t, " generate E", registered(of(hides)), "the component is not known, and takes the namespace's place")
	hides = container("python3 -m dynamo.mocker", variable("DYN_NAMESPACE", "a.b"), secret("DYN_NAMESPACE_WORKER_SUFFIX"))
	assert.Equal(t, "a  backend_generate", registered(of(hides)))
}

func TestSuffix(t *testing.T) {
	for _, tc := range []struct{ command, namespace, want string }{
		{"python3 -m dynamo.vllm", "x", "x-s backend generate"}, {"python3 -m dynamo.vllm", "x-s", "x-s-s backend generate"},
		{"python3 -m dynamo.vllm", "", "-s backend generate"}, {"python3 -m dynamo.triton", "x", "x triton "},
		{"dynamo-vllm-sidecar", "x", "x-s backend generate"}, {"dynamo-vllm-sidecar", "x-s", "x-s backend generate"},
		{"dynamo-vllm-sidecar", "", " backend generate"},
	} {
		c := container(tc.command, variable("DYN_NAMESPACE", tc.namespace), variable("DYN_NAMESPACE_WORKER_SUFFIX", "s"))
		assert.Equal(t, tc.want, registered(of(c)), "%+v", tc)
	}
	c := container("dynamo-vllm-sidecar", variable("DYN_NAMESPACE", "x-s"), variable("DYN_NAMESPACE_WORKER_SUFFIX", "s"))
	assert.Equal(t, "x/env", known(identity.Resolve(of(c), wiring.Settings{}).Identity.Namespace), "the label has no suffix")
}

// What the process does not take keeps its name and its place, so that they can be told.
func TestRefusedNames(t *testing.T) {
	for _, tc := range []struct {
		command, env string
		refused      bool
		namespace    string
	}{
		{"python3 -m dynamo.sglang", "a.b", true, "a.b"},
		{"python3 -m dynamo.vllm", "a.b", true, "a.b"},
		{"python3 -m dynamo.vllm", "ab", false, "ab"},
		{"python3 -m dynamo.vllm", "", false, ""},
		{"python3 -m dynamo.trtllm --endpoint a.b.c", "a.b", false, "a"},
		{"python3 -m dynamo.planner --config {}", "a.b", true, "a.b"},
		{"python3 -m dynamo.router --endpoint a.b.c", "a.b", true, "a.b"},
		{"python3 -m dynamo.global_router --component-name a.b", "n", true, "n"},
		{"python3 -m dynamo.triton", "", true, ""},
		{"python3 -m dynamo.global_planner", "", true, ""},
		{"python3 -m dynamo.mocker", "a.b", false, "a.b"},
		{"dynamo-sglang-sidecar", "a.b", false, "a.b"},
		{"python3 -m dynamo.frontend", "a.b", false, "a.b"},
		{"python3 -m dynamo.common.backend.sample_main --namespace a.b", "", false, "a.b"},
	} {
		p := identity.Resolve(of(container(tc.command, variable("DYN_NAMESPACE", tc.env))), wiring.Settings{}).Processes[0]
		assert.Equal(t, tc.refused, p.NameRefused, tc.command)
		assert.Equal(t, tc.namespace, p.Namespace.Text, tc.command)
		assert.False(t, p.Malformed, tc.command)
		if tc.refused && tc.env != "" {
			assert.Equal(t, "spec.containers[0].env[DYN_NAMESPACE]", p.Namespace.Field.String(), tc.command)
		}
	}
	c := container("python3 -m dynamo.vllm", variable("DYN_NAMESPACE_WORKER_SUFFIX", "1.2"))
	assert.True(t, identity.Resolve(of(c), wiring.Settings{}).Processes[0].NameRefused, "a dotted suffix")
	dotted := labelled(of(container("python3 -m dynamo.vllm")), wiring.LabelNamespace, "a.b")
	assert.True(t, identity.Resolve(dotted, wiring.Settings{}).Processes[0].NameRefused, "the mutation gives it the label's")
}

func TestWhatIsNotCompared(t *testing.T) {
	for _, command := range []string{`python3 -m dynamo.planner --config {"namespace":"n"}`, "python3 -m dynamo.mocker --endpoint dyn://b.c"} {
		p := identity.Resolve(of(container(command)), wiring.Settings{}).Processes[0]
		assert.True(t, p.Agrees("other"), command)
	}
	for command, folded := range map[string]bool{
		"python3 -m dynamo.mocker --endpoint dyn://b.c": true, "python3 -m dynamo.mocker --endpoint dyn://a.b.c": false, "python3 -m dynamo.mocker --endpoint b.c": false,
	} {
		assert.Equal(t, folded, identity.Resolve(of(container(command)), wiring.Settings{}).Processes[0].Folded, command)
	}
	p := identity.Resolve(of(container("python3 -m dynamo.vllm --endpoint b.c --namespace n")), wiring.Settings{}).Processes[0]
	assert.False(t, p.Agrees("other"), "a namespace beside a malformed path")
}

// What the command itself takes away the mutation cannot give.
func TestTakenAway(t *testing.T) {
	for _, c := range []pod.Container{
		container("env -i python3 -m dynamo.vllm"), container("env -u DYN_NAMESPACE -u DYN_ENDPOINT python3 -m dynamo.vllm"),
		script("unset DYN_NAMESPACE DYN_ENDPOINT; exec python3 -m dynamo.vllm"),
	} {
		r := identity.Resolve(labelled(of(c), wiring.LabelNamespace, "team", wiring.LabelComponent, "k"), wiring.Settings{})
		p := r.Process()
		assert.Equal(t, "dynamo/module-default", known(p.Namespace))
		assert.Equal(t, "dynamo", p.RegistersIn("team"))
		assert.False(t, p.Agrees("team"))
		assert.False(t, p.Redirectable())
		assert.Equal(t, "dynamo/module-default", known(identity.Resolve(of(c), wiring.Settings{DynamoNamespace: "team"}).Identity.Namespace))
	}
	r := identity.Resolve(of(container("env -u DYN_NAMESPACE python3 -m dynamo.vllm", variable("DYN_NAMESPACE_WORKER_SUFFIX", "s"))), wiring.Settings{})
	assert.Equal(t, "dynamo-s", r.Process().RegistersIn(r.Identity.Namespace.Text))
}

func TestGivenNamespace(t *testing.T) {
	r := identity.Resolve(of(container("python3 -m dynamo.planner --config /x.yaml")), wiring.Settings{DynamoNamespace: "team"})
	assert.Equal(t, "team", r.Identity.Namespace.Text)
	assert.Equal(t, "team", r.Process().GivenNamespace(r.NamespaceOf(0)))
	r = identity.Resolve(of(container("python3 -m dynamo.vllm --namespace $(NS)", secret("NS"))), wiring.Settings{})
	assert.Empty(t, r.Process().GivenNamespace(r.NamespaceOf(0)))
}

func TestHealthPath(t *testing.T) {
	env := []pod.EnvVar{variable("DYN_SYSTEM_HEALTH_PATH", "/system"), variable("DYN_HTTP_SVC_HEALTH_PATH", "/http")}
	for _, tc := range []struct{ command, role, path string }{
		{"python3 -m dynamo.vllm", wiring.TypeWorker, "/system"},
		{"python3 -m dynamo.vllm", wiring.TypeFrontend, "/system"},
		{"python3 -m dynamo.frontend", "", "/http"},
		{"/server", wiring.TypeWorker, "/system"},
		{"/server", wiring.TypeFrontend, "/http"},
	} {
		p := labelled(of(container(tc.command, env...)), wiring.LabelComponentType, tc.role)
		r := identity.Resolve(p, wiring.Settings{})
		assert.Equal(t, tc.path, r.Process().HealthPath(tc.role), "%+v", tc)
		assert.Equal(t, tc.path == "/http", r.Process().Health(tc.role).Name == wiring.HTTPPortName, "%+v", tc)
	}
}

func TestFlagsOfARelease(t *testing.T) {
	for tag, want := range map[string]string{"1.5.1": "kubernetes", "1.6.1": "mem", "latest": "mem"} {
		c := with(container("dynamo-trtllm-sidecar --discovery-backend mem", variable("DYN_DISCOVERY_BACKEND", "kubernetes")), image("x:"+tag))
		v := identity.Resolve(of(c), wiring.Settings{}).Processes[0].Told(identity.FlagBackend)
		assert.Equal(t, want, v.Text, tag)
	}
}

func TestModel(t *testing.T) {
	for _, tc := range []struct{ command, want string }{
		{"python3 -m dynamo.vllm --model qwen", "qwen"},
		{"python3 -m dynamo.vllm --model /models/x --served-model-name qwen other", "qwen"},
		{"python3 -m dynamo.sglang --model-path /models/x", "/models/x"},
		{"python3 -m dynamo.sglang --model-path /models/x --served-model-name qwen,other", "qwen"},
		{"python3 -m dynamo.trtllm --model /models/x", "/models/x"},
		{"python3 -m dynamo.mocker --model-path /models/x --model-name qwen", "qwen"},
		{"python3 -m dynamo.mocker", ""},
		{"/server --model x", ""},
	} {
		r := identity.Resolve(labelled(of(container(tc.command)), wiring.LabelComponentType, wiring.TypeWorker), wiring.Settings{})
		assert.Equal(t, tc.want, r.Process().Model().Text, tc.command)
	}
	r := identity.Resolve(of(container("python3 -m dynamo.vllm --model $(M)", secret("M"))), wiring.Settings{})
	assert.False(t, r.Process().Model().Known())
}
