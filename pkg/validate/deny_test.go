package validate_test

import (
	"strings"
	"testing"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

const (
	vllm     = "python3 -m dynamo.vllm"
	sglang   = "python3 -m dynamo.sglang"
	trtllm   = "python3 -m dynamo.trtllm"
	mocker   = "python3 -m dynamo.mocker"
	frontend = "python3 -m dynamo.frontend"
	router   = "python3 -m dynamo.router --endpoint dynamo.backend.generate"
)

// of is a container with an image's tag.
func of(tag string, c pod.Container) pod.Container {
	c.Image = "registry.example/dynamo:" + tag
	return c
}

// shell is a container that runs a string, with words behind it.
func shell(script string, words ...string) pod.Container {
	return pod.Container{Name: "main", Command: append([]string{"/bin/sh", "-c", script}, words...)}
}

// field is a container with one more variable, which takes a field of the pod.
func field(c pod.Container, name, path string) pod.Container {
	c.Env = append(c.Env, pod.EnvVar{Name: name, ValueFrom: &pod.EnvVarSource{FieldRef: &pod.FieldRef{FieldPath: path}}})
	return c
}

// literal is a container with one more variable, whose value may hold spaces.
func literal(c pod.Container, name, value string) pod.Container {
	c.Env = append(c.Env, pod.EnvVar{Name: name, Value: value})
	return c
}

// configured is a container with a ConfigMap's variables.
func configured(c pod.Container, prefix string) pod.Container {
	c.EnvFrom = append(c.EnvFrom, pod.EnvFromSource{Prefix: prefix, ConfigMapRef: &pod.LocalRef{Name: "settings"}})
	return c
}

// named is a container of that name.
func named(name string, c pod.Container) pod.Container {
	c.Name = name
	return c
}

// containers is a pod with several.
func containers(c ...pod.Container) *pod.Pod {
	return &pod.Pod{Metadata: pod.Metadata{Labels: map[string]string{}}, Spec: pod.Spec{Containers: c}}
}

func TestRoleMismatch(t *testing.T) {
	const bad = "role-mismatch"
	typed := func(c pod.Container, label string) *pod.Pod { return labelled(c, role, label) }
	check(t, "role-mismatch.txt", []ruleCase{
		{"prefill mode", typed(running(vllm+" --disaggregation-mode prefill"), "decode"), bad},
		{"decode mode", typed(running(sglang+" --disaggregation-mode=decode"), "prefill"), bad},
		{"the last one counts", typed(running(trtllm+" --disaggregation-mode decode --disaggregation-mode prefill"), "decode"), bad},
		{"by variable", typed(running(vllm, "DYN_VLLM_DISAGGREGATION_MODE=prefill"), "decode"), bad},
		{"old switch", typed(of("1.3.1", running(vllm+" --is-prefill-worker")), "decode"), bad},
		{"old variable", typed(of("1.3.1", running(vllm, "DYN_VLLM_IS_PREFILL_WORKER=true")), "decode"), bad},
		{"mocker", typed(running(mocker+" --is-decode-worker"), "prefill"), bad},
		{"encode", typed(running(vllm+" --disaggregation-mode encode"), "prefill"), bad},
		{"through a variable", typed(running(vllm+" --disaggregation-mode $(MODE)", "MODE=prefill"), "decode"), bad},
		{"in a shell", typed(shell("exec "+vllm+" --disaggregation-mode prefill"), "decode"), bad},
		{"frontend on a worker", typed(running(vllm), "frontend"), bad},
		{"worker on a frontend", typed(running(frontend), "worker"), bad},
		{"worker on a router", typed(running(router), "worker"), bad},
		{"decode on a planner", typed(running("python3 -m dynamo.planner"), "decode"), bad},
		{"router on a sidecar's worker", typed(running("dynamo-vllm-sidecar"), "router"), bad},
		{"a mode that is not known does not make a worker a frontend", typed(running(vllm+" --disaggregation-mode ${M}"), "frontend"), bad + " unresolved-variable"},

		{"the same", typed(running(vllm+" --disaggregation-mode prefill"), "prefill"), ""},
		{"worker fits a prefill worker", typed(running(vllm+" --disaggregation-mode prefill"), "worker"), ""},
		{"default fits all", typed(running(frontend), "default"), ""},
		{"decode of an aggregated worker", typed(running(vllm), "decode"), ""},
		{"agg says no role", typed(running(sglang+" --disaggregation-mode agg"), "decode"), ""},
		{"worker encodes", typed(running(trtllm+" --disaggregation-mode encode"), "worker"), ""},
		{"frontend", typed(running(frontend), "frontend"), ""},
		{"planner", typed(running("python3 -m dynamo.planner"), "planner"), ""},
		{"mode not known", typed(secret(running(vllm+" --disaggregation-mode $(MODE)"), "MODE"), "decode"), ""},
		{"old variable in a new release", typed(of("1.5.1", running(vllm, "DYN_VLLM_IS_PREFILL_WORKER=0")), "decode"), ""},
		{"old variable without a release", typed(running(vllm, "DYN_VLLM_IS_PREFILL_WORKER=1"), "decode"), ""},
		{"a program of one's own", typed(running("/server"), "router"), ""},
		{"no type of Dynamo's", typed(running(vllm), "gpu"), ""},
		{"a rank that registers nothing", typed(running(sglang+" --node-rank 1 --disaggregation-mode prefill"), "decode"), ""},
		{"opted out", labelled(running(vllm), role, "frontend", wiring.LabelDiscoveryEnabled, "false"), ""},
		{"a frontend beside the worker", func() *pod.Pod {
			p := containers(named("w", running(vllm)), named("f", running(frontend)))
			p.Metadata.Labels[role] = "worker"
			return p
		}(), ""},
	})
}

func TestInvalidName(t *testing.T) {
	const bad = "invalid-name"
	long := strings.Repeat("x", 64)
	check(t, "invalid-name.txt", []ruleCase{
		{"label with a dot", labelled(running(vllm), ns, "team.a"), bad},
		{"component label with a dot", labelled(running(vllm), component, "chat.v2"), bad},
		{"empty label", labelled(running(vllm), ns, ""), bad},
		{"flag with a dot", labelled(running(vllm + " --namespace team.a")), bad},
		{"variable with a dot", labelled(running(sglang, "DYN_NAMESPACE=team.a")), bad},
		{"both", labelled(running(sglang, "DYN_NAMESPACE=team.a"), ns, "team.a"), bad + " " + bad},
		{"empty variable", labelled(running(vllm, "DYN_NAMESPACE=")), bad},
		{"empty part", labelled(running(vllm + " --endpoint dyn://a..generate")), bad},
		{"empty namespace of a path", labelled(running(vllm + " --endpoint .backend.generate")), bad},
		{"too long", labelled(running(vllm + " --namespace " + long)), bad},
		{"other characters", labelled(running(vllm + " --endpoint a.back/end.generate")), bad},
		{"ends with a dash", labelled(running(vllm + " --endpoint a.backend-.generate")), bad},
		{"endpoint", labelled(running(vllm + " --endpoint a.backend._x")), bad},
		{"component of a sidecar", labelled(running("dynamo-vllm-sidecar", "DYN_COMPONENT=a.b")), bad},
		{"empty component of a sidecar", labelled(running("dynamo-vllm-sidecar", "DYN_COMPONENT=")), bad},
		{"empty endpoint of omni", labelled(running("python3 -m dynamo.vllm.omni", "DYN_ENDPOINT=")), bad},
		{"global router", labelled(running("python3 -m dynamo.global_router --component-name a.b")), bad},
		{"suffix with a dot", labelled(running(vllm, "DYN_NAMESPACE_WORKER_SUFFIX=1.2"), ns, "a"), bad},
		{"annotation", &pod.Pod{Metadata: pod.Metadata{Labels: map[string]string{role: "worker"}, Annotations: map[string]string{wiring.AnnotationEndpoint: "a.b"}},
			Spec: pod.Spec{Containers: []pod.Container{running("/server")}}}, bad},
		{"frontend that sees such a namespace", labelled(running(frontend + " --namespace team.a")), bad},
		{"mocker, which reads its path anew", labelled(running(mocker, "DYN_NAMESPACE=team.a")), bad},
		{"mocker with a dotted suffix", labelled(running(mocker, "DYN_NAMESPACE=a", "DYN_NAMESPACE_WORKER_SUFFIX=1.2")), bad},
		{"in a shell", labelled(shell("python3 -m dynamo.vllm --namespace a_")), bad},
		{"router's own namespace", labelled(running("python3 -m dynamo.router --endpoint a_.backend.generate")), bad},

		{"upper case", labelled(running(vllm+" --endpoint dyn://dynamo.VllmDecode.generate"), component, "VllmDecode"), ""},
		{"underscores", labelled(running(vllm + " --namespace a_b")), ""},
		{"leading digit", labelled(running(vllm + " --namespace 0a")), ""},
		{"63", labelled(running(vllm + " --namespace " + long[1:])), ""},
		{"empty flag falls back", labelled(running(vllm + " --namespace=")), ""},
		{"empty endpoint is none to trtllm", labelled(running(trtllm, "DYN_ENDPOINT=")), ""},
		{"not known", labelled(secret(running(vllm+" --namespace a.$(X)"), "X")), ""},
		{"not expanded", labelled(running(vllm + " --namespace a.${X}")), "unresolved-variable"},
		{"a prefix", labelled(running(frontend + " --namespace-prefix team-")), ""},
		{"empty scope", labelled(running(frontend, "DYN_NAMESPACE=")), ""},
		{"what routers target", labelled(running("python3 -m dynamo.router --endpoint a.back~end.x_")), ""},
		{"a malformed path alone", labelled(running(vllm + " --endpoint a.b.c.d")), "endpoint-malformed"},
		{"DYN_COMPONENT means nothing to Python", labelled(running(vllm, "DYN_COMPONENT=a.b")), ""},
		{"an empty variable of one's own program", labelled(running("/server", "DYN_NAMESPACE="), role, "worker"), ""},
		{"capitals of planners", labelled(running("python3 -m dynamo.global_planner", "DYN_NAMESPACE=a")), ""},
		{"opted out", labelled(running(vllm), ns, "a.b", wiring.LabelDiscoveryEnabled, "false"), ""},
	})
}

func TestArgumentsLost(t *testing.T) {
	const bad = "arguments-lost"
	args := func(command []string, words ...string) *pod.Pod {
		return labelled(pod.Container{Name: "main", Command: command, Args: words}, ns, "a")
	}
	sh := []string{"sh", "-c"}
	check(t, "arguments-lost.txt", []ruleCase{
		{"flags", args(sh, vllm, "--model", "m"), bad},
		{"one flag", args(sh, sglang, "--trust-remote-code"), bad},
		{"all in the command", args([]string{"bash", "-c", vllm, "--model", "m"}), bad},
		{"string in the command", args([]string{"/bin/bash", "-c", vllm}, "--model", "m"), bad},
		{"behind a name", args(sh, vllm, "sh", "--model", "m"), bad},
		{"some are used", args(sh, vllm+" $1", "sh", "--a", "--b"), bad},
		{"$0 alone", args(sh, vllm+" $0", "--a", "--b"), bad},
		{"frontend", args(sh, frontend, "--http-port", "9000"), bad},
		{"options of the shell", args([]string{"bash", "-euo", "pipefail", "-c"}, vllm, "--model", "m"), bad},
		{"exec", args([]string{"tini", "--", "sh", "-c"}, "exec "+vllm, "--model", "m"), bad},
		{"many", args(sh, vllm, "--a", "1", "--b", "2", "--c", "3"), bad},

		{"none", args(sh, vllm+" --model m"), ""},
		{"all used", args(sh, vllm+` "$@"`, "sh", "--model", "m"), ""},
		{"$* too", args(sh, vllm+" $*", "sh", "--model", "m"), ""},
		{"the shell's name", args(sh, vllm, "sh"), ""},
		{"one by one", args(sh, vllm+" $1 $2", "sh", "--model", "m"), ""},
		{"no shell", args([]string{"python3", "-m", "dynamo.vllm"}, "--model", "m"), ""},
		{"another container", func() *pod.Pod {
			p := containers(named("w", running(vllm)), pod.Container{Name: "x", Command: sh, Args: []string{"sleep", "1"}})
			return p
		}(), ""},
		{"not Dynamo's", args(sh, "sleep 1", "--x"), ""},
		{"shift", args(sh, `shift; `+vllm+` "$@"`, "sh", "x", "--model", "m"), ""},
		{"a script of one's own", args([]string{"/run.sh"}, "--model", "m"), ""},
		{"opted out", labelled(pod.Container{Name: "main", Command: sh, Args: []string{vllm, "--a"}}, wiring.LabelDiscoveryEnabled, "false"), ""},
	})
}

func TestIdentityEnvOverridden(t *testing.T) {
	const bad = "identity-env-overridden"
	bare := func(c pod.Container) *pod.Pod {
		p := labelled(c, ns, "a")
		p.Metadata.Name, p.Metadata.Namespace = "w-0", "llm"
		return p
	}
	mounted := func(c pod.Container, at string) pod.Container {
		c.VolumeMounts = []pod.VolumeMount{{Name: "podinfo", MountPath: at}}
		return c
	}
	check(t, "identity-env-overridden.txt", []ruleCase{
		{"literal name", labelled(running(vllm, "POD_NAME=w")), bad},
		{"literal namespace", labelled(running(vllm, "POD_NAMESPACE=llm")), bad},
		{"literal UID", labelled(running(vllm, "POD_UID=1")), bad},
		{"empty", labelled(running(vllm, "POD_NAME=")), bad},
		{"another pod's namespace", bare(running(vllm, "POD_NAMESPACE=other")), bad},
		{"another field", labelled(field(running(vllm), "POD_NAME", "spec.nodeName")), bad},
		{"label for name", labelled(field(running(vllm), "POD_NAME", "metadata.labels['app']")), bad},
		{"UID from a Secret", labelled(secret(running(vllm), "POD_UID")), bad},
		{"name from a ConfigMap", labelled(secret(running(vllm), "POD_NAME")), bad},
		{"the last entry counts", labelled(literal(field(running(vllm), "POD_NAME", "metadata.name"), "POD_NAME", "w")), bad},
		{"by way of another variable", labelled(running(vllm, "N=w", "POD_NAME=$(N)")), bad},
		{"of itself", labelled(running(vllm, "POD_NAME=$(POD_NAME)")), bad},
		{"made of the field", labelled(literal(field(running(vllm), "N", "metadata.name"), "POD_NAME", "$(N)-x")), bad},
		{"in a shell", labelled(shell("POD_NAME=w "+vllm), ns, "a"), bad},
		{"taken away", labelled(shell("unset POD_UID; "+vllm), ns, "a"), bad},
		{"nothing left", labelled(running("env -i " + vllm)), bad + " " + bad + " " + bad},
		{"frontend", labelled(running(frontend, "POD_NAME=w")), bad},
		{"a program of one's own", labelled(running("/server", "POD_NAME=w"), role, "worker"), bad},
		{"two at once", labelled(running(vllm, "POD_NAME=w", "POD_UID=1")), bad + " " + bad},

		{"nothing", labelled(running(vllm)), ""},
		{"fieldRef", labelled(field(running(vllm), "POD_NAME", "metadata.name")), ""},
		{"all of them", labelled(field(field(field(running(vllm), "POD_UID", "metadata.uid"), "POD_NAMESPACE", "metadata.namespace"), "POD_NAME", "metadata.name")), ""},
		{"fieldRef by another name", labelled(literal(field(running(vllm), "N", "metadata.name"), "POD_NAME", "$(N)")), ""},
		{"twice removed", labelled(literal(literal(field(running(vllm), "N", "metadata.uid"), "M", "$(N)"), "POD_UID", "$(M)")), ""},
		{"the field after a literal", labelled(field(running(vllm, "POD_NAME=w"), "POD_NAME", "metadata.name")), ""},
		{"its very name", bare(running(vllm, "POD_NAME=w-0")), ""},
		{"its very namespace", bare(running(vllm, "POD_NAMESPACE=llm")), ""},
		{"namespace from a ConfigMap", labelled(secret(running(vllm), "POD_NAMESPACE")), ""},
		{"files count more", labelled(mounted(running(vllm, "POD_NAME=w"), "/etc/podinfo/")), ""},
		{"of the shell's", labelled(shell("POD_NAME=$HOSTNAME "+vllm), ns, "a"), ""},
		{"envFrom", labelled(configured(running(vllm), ""), ns, "a"), ""},
		{"another container", containers(running(vllm), pod.Container{Name: "x", Env: []pod.EnvVar{{Name: "POD_NAME", Value: "y"}}}), ""},
		{"an init container", &pod.Pod{Spec: pod.Spec{Containers: []pod.Container{running(vllm)}, InitContainers: []pod.Container{running(vllm, "POD_NAME=y")}}}, ""},
		{"used elsewhere", labelled(running(vllm, "NAME=$(POD_NAME)")), ""},
	})
}

func TestHealthEndpointMismatch(t *testing.T) {
	const bad = "health-endpoint-mismatch"
	waits := func(command, list string, env ...string) *pod.Pod {
		return labelled(literal(running(command, env...), "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", list))
	}
	check(t, "health-endpoint-mismatch.txt", []ruleCase{
		{"another name", waits(vllm+" --endpoint a.b.serve", `["generate"]`), bad},
		{"the default is another", waits(mocker, `["serve"]`), bad},
		{"one of two", waits(vllm, `["generate","load"]`), bad},
		{"two wrong", waits(trtllm, `["clear_kv_blocks","x"]`), bad},
		{"bare word", waits(vllm, `generate`), bad},
		{"no list", waits(vllm, `"generate"`), bad},
		{"list of words", waits(vllm, `[generate]`), bad},
		{"numbers", waits(vllm, `[1]`), bad},
		{"null", waits(vllm, `null`), bad},
		{"empty", waits(vllm, ``), bad},
		{"by variable", waits(vllm, `["$(E)"]`, "E=serve"), bad},
		{"endpoint by variable", waits(sglang, `["generate"]`, "DYN_ENDPOINT=a.b.serve"), bad},
		{"omni", waits("python3 -m dynamo.vllm.omni --endpoint image", `["generate"]`), bad},
		{"sidecar", waits("dynamo-sglang-sidecar", `["generate"]`, "DYN_ENDPOINT=serve"), bad},
		{"router", waits(router, `["health"]`), bad},
		{"global planner", waits("python3 -m dynamo.global_planner", `["generate"]`, "DYN_NAMESPACE=a"), bad},
		{"triton's are made of models", waits("python3 -m dynamo.triton", `["generate"]`), bad},
		{"global router", waits("python3 -m dynamo.global_router", `["serve"]`), bad},
		{"frontend cannot read it either", waits(frontend, `generate`), bad},

		{"own", waits(vllm, `["generate"]`), ""},
		{"own with spaces", waits(vllm, ` [ "generate" ] `), ""},
		{"own by path", waits(vllm+" --endpoint a.b.serve", `["serve"]`), ""},
		{"beside", waits(vllm, `["generate", "clear_kv_blocks", "load_lora"]`), ""},
		{"of key-value events", waits(mocker, `["generate","worker_kv_query_source_00ff"]`), ""},
		{"none", waits(vllm, `[]`), ""},
		{"not known", labelled(secret(running(vllm), "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS")), ""},
		{"endpoint not known", waits(vllm+" --endpoint a.b.${E}", `["serve"]`), "unresolved-variable"},
		{"malformed endpoint", waits(vllm+" --endpoint a.b", `["serve"]`), "endpoint-malformed"},
		{"frontend does not wait", waits(frontend, `["serve"]`), ""},
		{"router's", waits(router, `["generate","best_worker_id"]`), ""},
		{"global router's", waits("python3 -m dynamo.global_router", `["prefill_generate","decode_generate"]`), ""},
		{"triton's", waits("python3 -m dynamo.triton", `["resnet_0123abcd"]`), ""},
		{"ready from the start", waits(vllm, `["serve"]`, "DYN_SYSTEM_STARTING_HEALTH_STATUS=ready"), "not-ready-blind"},
		{"a rank that serves nothing", waits(sglang+" --node-rank 1", `["serve"]`), ""},
		{"a program of one's own", labelled(literal(running("/server"), "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", `["x"]`), role, "worker"), ""},
		{"the last one counts", waits(vllm, `["generate"]`, "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS=x"), ""},
	})
}

func TestContainerModeMismatch(t *testing.T) {
	const bad = "container-mode-mismatch"
	mode := "DYN_KUBE_DISCOVERY_MODE="
	check(t, "container-mode-mismatch.txt", []ruleCase{
		{"no name", labelled(running(vllm, mode+"container")), bad},
		{"another name", labelled(running(vllm, mode+"container", "CONTAINER_NAME=engine")), bad},
		{"empty name", labelled(running(vllm, mode+"container", "CONTAINER_NAME=")), bad},
		{"the pod's name", labelled(named("engine", running(vllm, mode+"container", "CONTAINER_NAME=main"))), bad},
		{"empty mode", labelled(running(vllm, mode)), bad},
		{"case", labelled(running(vllm, mode+"Pod")), bad},
		{"unknown", labelled(running(frontend, mode+"service")), bad},
		{"by variable", labelled(running(vllm, "M=x", mode+"$(M)")), bad},
		{"the last one counts", labelled(running(vllm, mode+"pod", mode+"Container")), bad},
		{"in a shell", labelled(shell("export DYN_KUBE_DISCOVERY_MODE=container; exec "+vllm), ns, "a"), bad},
		{"a program of one's own", labelled(running("/server", mode+"container"), role, "worker"), bad},
		{"each container", containers(named("a", running(vllm, mode+"container")), named("b", running(frontend, mode+"x"))), bad + " " + bad},

		{"nothing", labelled(running(vllm)), ""},
		{"pod", labelled(running(vllm, mode+"pod")), ""},
		{"pod with any name", labelled(running(vllm, mode+"pod", "CONTAINER_NAME=x")), ""},
		{"container", labelled(running(vllm, mode+"container", "CONTAINER_NAME=main")), ""},
		{"name by variable", labelled(running(vllm, mode+"container", "N=main", "CONTAINER_NAME=$(N)")), ""},
		{"name not known", labelled(secret(running(vllm, mode+"container"), "CONTAINER_NAME")), ""},
		{"mode not known", labelled(secret(running(vllm), "DYN_KUBE_DISCOVERY_MODE")), ""},
		{"name perhaps from a ConfigMap", labelled(configured(running(vllm, mode+"container"), ""), ns, "a"), ""},
		{"a name without a mode", labelled(running(vllm, "CONTAINER_NAME=x")), ""},
		{"another container", containers(running(vllm), pod.Container{Name: "x", Env: []pod.EnvVar{{Name: "DYN_KUBE_DISCOVERY_MODE", Value: "y"}}}), ""},
		{"headless", labelled(running(vllm+" --headless", mode+"x"), ns, "a"), ""},
	})
}

func TestNoAPIAccess(t *testing.T) {
	const bad = "no-api-access"
	no, yes := false, true
	refusing := func(c ...pod.Container) *pod.Pod {
		p := containers(c...)
		p.Metadata.Labels[ns] = "a"
		p.Spec.AutomountServiceAccountToken = &no
		return p
	}
	mounting := func(c pod.Container, volume, at string) pod.Container {
		c.VolumeMounts = append(c.VolumeMounts, pod.VolumeMount{Name: volume, MountPath: at})
		return c
	}
	volume := func(p *pod.Pod, name, audience string) *pod.Pod {
		p.Spec.Volumes = append(p.Spec.Volumes, pod.Volume{Name: name, Projected: &pod.Projected{Sources: []pod.ProjectedSource{
			{}, {ServiceAccountToken: &pod.TokenProjection{Audience: audience, Path: "token"}}}}})
		return p
	}
	const place = "/var/run/secrets/kubernetes.io/serviceaccount"
	check(t, "no-api-access.txt", []ruleCase{
		{"worker", refusing(running(vllm)), bad},
		{"frontend", refusing(running(frontend)), bad},
		{"router", refusing(running("python3 -m dynamo.router --endpoint a.b.c")), bad},
		{"planner", refusing(running("python3 -m dynamo.planner")), bad},
		{"in a shell", refusing(shell("exec " + vllm)), bad},
		{"a volume without a token", func() *pod.Pod {
			p := refusing(mounting(running(vllm), "v", "/v"))
			p.Spec.Volumes = []pod.Volume{{Name: "v", Projected: &pod.Projected{Sources: []pod.ProjectedSource{{}}}}}
			return p
		}(), bad},
		{"a token for somebody else", volume(refusing(mounting(running(vllm), "vault", "/vault")), "vault", "vault"), bad},
		{"a token that is not mounted", volume(refusing(running(vllm)), "t", ""), bad},
		{"mounted elsewhere in the pod", volume(refusing(named("a", running(vllm)), named("b", mounting(pod.Container{}, "t", place))), "t", ""), bad},
		{"only one of two", volume(refusing(named("a", mounting(running(vllm), "t", place)), named("b", running(frontend))), "t", ""), bad},
		{"a follower with a runtime", refusing(running(sglang + " --node-rank 1")), bad},

		{"nothing said", containers(running(vllm)), ""},
		{"true", func() *pod.Pod {
			p := refusing(running(vllm))
			p.Spec.AutomountServiceAccountToken = &yes
			return p
		}(), ""},
		{"token of its own", volume(refusing(mounting(running(vllm), "t", place)), "t", ""), ""},
		{"token with the server's audience", volume(refusing(mounting(running(vllm), "t", place+"/")), "t", "https://kubernetes.default.svc"), ""},
		{"token in another place", volume(refusing(mounting(running(vllm), "t", "/tokens")), "t", ""), ""},
		{"something is mounted there", refusing(mounting(running(vllm), "csi", place)), ""},
		{"or above", refusing(mounting(running(vllm), "csi", "/var/run/secrets")), ""},
		{"kubeconfig", refusing(running(vllm, "KUBECONFIG=/k")), ""},
		{"headless", refusing(running(vllm + " --headless")), ""},
		{"a program of one's own", refusing(running("/server")), ""},
		{"perhaps another backend", refusing(secret(running(vllm), "DYN_DISCOVERY_BACKEND")), ""},
		{"opted out", func() *pod.Pod {
			p := refusing(running(vllm))
			p.Metadata.Labels[wiring.LabelDiscoveryEnabled] = "false"
			return p
		}(), ""},
	})
}

func TestTwoRegistrarsOnePod(t *testing.T) {
	const bad = "two-registrars-one-pod"
	two := func(a, b pod.Container) *pod.Pod { return containers(named("a", a), named("b", b)) }
	sidecars := func(c pod.Container, s pod.Container) *pod.Pod {
		p := containers(named("a", c))
		s.Name, s.RestartPolicy = "s", "Always"
		p.Spec.InitContainers = []pod.Container{s}
		return p
	}
	inMode := func(name string, c pod.Container) pod.Container {
		return literal(literal(c, "DYN_KUBE_DISCOVERY_MODE", "container"), "CONTAINER_NAME", name)
	}
	check(t, "two-registrars-one-pod.txt", []ruleCase{
		{"workers", two(running(vllm), running(sglang)), bad},
		{"three", containers(named("a", running(vllm)), named("b", running(vllm)), named("c", running(mocker))), bad},
		{"worker and router", two(running(vllm), running(router)), bad},
		{"worker and planner", two(running(vllm), running("python3 -m dynamo.planner")), bad},
		{"native sidecar", sidecars(running(vllm), running(mocker)), bad},
		{"Rust sidecars", two(running("dynamo-vllm-sidecar"), running("dynamo-sglang-sidecar")), bad},
		{"a frontend that serves an index", two(running(vllm), running(frontend+" --serve-indexer")), bad},
		{"a frontend with KV routing before 1.6", two(running(vllm), of("1.5.1", running(frontend+" --router-mode kv"))), bad},
		{"the same by variable", two(running(vllm), of("1.3.1-cuda13", running(frontend, "DYN_ROUTER_MODE=kv"))), bad},
		{"two such frontends", two(of("1.3.1", running(frontend+" --router-mode=kv")), of("1.3.1", running(frontend+" --router-mode=kv"))), bad},
		{"pod mode said", two(running(vllm, "DYN_KUBE_DISCOVERY_MODE=pod"), running(vllm)), bad},
		{"in shells", two(shell("exec "+vllm), shell(mocker)), bad},
		{"rank 0", two(running(sglang+" --node-rank 0"), running(vllm)), bad},

		{"worker and frontend", two(running(vllm), running(frontend)), ""},
		{"KV routing since 1.6", two(running(vllm), of("1.6.1", running(frontend+" --router-mode kv"))), ""},
		{"KV routing without a release", two(running(vllm), of("latest", running(frontend+" --router-mode kv"))), ""},
		{"another mode of routing", two(running(vllm), of("1.3.1", running(frontend+" --router-mode round-robin"))), ""},
		{"container mode", two(inMode("a", running(vllm)), inMode("b", running(vllm))), ""},
		{"one in container mode", two(running(vllm), inMode("b", running(vllm))), ""},
		{"mode not known", two(running(vllm), secret(running(vllm), "DYN_KUBE_DISCOVERY_MODE")), ""},
		{"a rank above 0", two(running(sglang), running(sglang+" --node-rank 1")), ""},
		{"a rank that is not known", two(running(sglang), secret(running(sglang+" --node-rank $(R)"), "R")), ""},
		{"headless", two(running(vllm), running(vllm+" --headless")), ""},
		{"engine beside a sidecar", two(running("dynamo-vllm-sidecar"), running("vllm serve m")), ""},
		{"an init container that ends", func() *pod.Pod {
			p := containers(running(vllm))
			p.Spec.InitContainers = []pod.Container{named("i", running(mocker))}
			return p
		}(), ""},
		{"a tool", two(running(vllm), running("python3 -m dynamo.indexer")), ""},
		{"one", labelled(running(vllm)), ""},
	})
}

func TestFrontendScopeMismatch(t *testing.T) {
	const bad = "frontend-scope-mismatch"
	sees := func(c pod.Container) *pod.Pod { return labelled(c, ns, "team-a") }
	own := func(env ...string) *pod.Pod {
		return labelled(running("/gateway", env...), ns, "team-a", role, "frontend")
	}
	check(t, "frontend-scope-mismatch.txt", []ruleCase{
		{"flag", sees(running(frontend + " --namespace team-b")), bad},
		{"variable", sees(running(frontend, "DYN_NAMESPACE=team-b")), bad},
		{"prefix", sees(running(frontend + " --namespace-prefix team-b")), bad},
		{"prefix variable", sees(running(frontend, "DYN_NAMESPACE_PREFIX=x")), bad},
		{"the prefix counts more", sees(running(frontend+" --namespace-prefix team-b", "DYN_NAMESPACE=team-a")), bad},
		{"flag over variable", sees(running(frontend+" --namespace team-b", "DYN_NAMESPACE=team-a")), bad},
		{"shorter is another", sees(running(frontend + " --namespace team")), bad},
		{"case", sees(running(frontend + " --namespace Team-a")), bad},
		{"no dash between", sees(running(frontend + " --namespace team-ab")), bad},
		{"through a variable", sees(running(frontend+" --namespace $(N)", "N=team-b")), bad},
		{"in a shell", sees(shell("DYN_NAMESPACE=team-b exec " + frontend)), bad},
		{"empty prefix is none", sees(running(frontend+" --namespace team-b", "DYN_NAMESPACE_PREFIX=")), bad},
		{"a frontend of one's own", own("DYN_NAMESPACE=team-b"), bad},
		{"its prefix", own("DYN_NAMESPACE_PREFIX=team-b"), bad},

		{"the same", sees(running(frontend + " --namespace team-a")), ""},
		{"nothing", sees(running(frontend)), ""},
		{"empty", sees(running(frontend, "DYN_NAMESPACE=")), ""},
		{"prefix of it", sees(running(frontend + " --namespace-prefix team")), ""},
		{"with a worker's suffix", sees(running(frontend + " --namespace team-a-abc")), ""},
		{"prefix with a worker's suffix", sees(running(frontend + " --namespace-prefix team-a-")), ""},
		{"the prefix counts more and fits", sees(running(frontend + " --namespace-prefix team --namespace team-b")), ""},
		{"no label", labelled(running(frontend + " --namespace team-b")), ""},
		{"two scopes and no label", labelled(running(frontend + " --namespace team-b --namespace-prefix x")), ""},
		{"not known", sees(secret(running(frontend), "DYN_NAMESPACE")), ""},
		{"prefix not known", sees(secret(running(frontend+" --namespace team-b"), "DYN_NAMESPACE_PREFIX")), ""},
		{"not expanded", sees(running(frontend + " --namespace ${N}")), "unresolved-variable"},
		{"beside a worker", func() *pod.Pod {
			p := containers(named("w", running(vllm)), named("f", running(frontend+" --namespace team-b")))
			p.Metadata.Labels[ns] = "team-a"
			return p
		}(), ""},
		{"a frontend of one's own that fits", own("DYN_NAMESPACE=team-a"), ""},
		{"annotated", func() *pod.Pod {
			p := sees(running(frontend))
			p.Metadata.Annotations = map[string]string{wiring.AnnotationFrontendScope: "prefix"}
			return p
		}(), ""},
	})
}
