package validate_test

import (
	"testing"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestUnprovableCommand(t *testing.T) {
	const bad = "unprovable-command"
	own := func(c pod.Container) *pod.Pod { return labelled(c, component, "chat") }
	check(t, "unprovable-command.txt", []ruleCase{
		{"a program", own(running("/server")), bad},
		{"a script in a shell", own(shell("python3 worker.py | tee log")), bad},
		{"a script file", own(pod.Container{Name: "main", Command: []string{"bash", "/run.sh"}}), bad},
		{"the image's own command", own(pod.Container{Name: "main"}), bad},
		{"a test decides", own(shell("if [ -f /x ]; then " + vllm + "; else sleep 1; fi")), bad},
		{"another module", own(running("python3 -m vllm.entrypoints.openai.api_server")), bad},
		{"no module of Dynamo's", own(running("python3 -m dynamo.bogus")), bad},
		{"a module that is not known", own(secret(running("python3 -m $(M)"), "M")), bad},
		{"named by variable", labelled(running("/server", "DYN_COMPONENT=chat"), role, "worker"), bad},
		{"a frontend of one's own", labelled(running("/gateway"), component, "gateway", role, "frontend"), bad},
		{"a label that is no name", labelled(running("/server"), component, "chat.v2"), "invalid-name " + bad},
		{"two programs", func() *pod.Pod {
			p := containers(named("a", running("/server")), named("b", running("/proxy")))
			p.Metadata.Labels[component] = "chat"
			return p
		}(), bad},

		{"module", own(running(vllm)), ""},
		{"module in a shell", own(shell("exec " + vllm + " --model m")), ""},
		{"module behind others", own(shell("ray start --head && " + vllm)), ""},
		{"sidecar beside an engine", own(running("dynamo-vllm-sidecar")), ""},
		{"frontend", own(running(frontend)), ""},
		{"headless", own(running(vllm + " --headless")), ""},
		{"a tool", own(running("python3 -m dynamo.profiler")), ""},
		{"module beside a program", func() *pod.Pod {
			p := containers(named("a", running("/proxy")), named("b", running(vllm)))
			p.Metadata.Labels[component] = "chat"
			return p
		}(), ""},
		{"no component", labelled(running("/server"), role, "worker"), ""},
		{"component not known", labelled(secret(running("/server"), "DYN_COMPONENT"), role, "worker"), ""},
		{"not Dynamo's", labelled(running("/server"), "app", "x"), ""},
		{"opted out", labelled(running("/server"), component, "x", wiring.LabelDiscoveryEnabled, "false"), ""},
		{"the operator's", labelled(running("/server"), component, "x", wiring.LabelOperatorSelector, "y"), ""},
	})
}

func TestUnresolvedVariable(t *testing.T) {
	const bad = "unresolved-variable"
	check(t, "unresolved-variable.txt", []ruleCase{
		{"braces", labelled(running(vllm + " --namespace ${NS}-kv")), bad},
		{"kubelet's, not there", labelled(running(vllm + " --namespace $(NS)")), bad},
		{"bare", labelled(running(vllm + " --namespace $NS")), bad},
		{"endpoint", labelled(running(sglang + " --endpoint=dyn://${NS}.backend.generate")), bad},
		{"mocker", labelled(running(mocker + " --endpoint dyn://$(NS).backend.generate")), bad},
		{"mode", labelled(running(trtllm + " --disaggregation-mode ${MODE}")), bad},
		{"prefix", labelled(running(frontend + " --namespace-prefix ${NS}")), bad},
		{"component", labelled(running("dynamo-vllm-sidecar --component ${C}")), bad},
		{"variable", labelled(running(vllm, "DYN_NAMESPACE=${K8S_NAMESPACE}")), bad},
		{"defined below", labelled(running(vllm, "DYN_NAMESPACE=$(NS)", "NS=a")), bad},
		{"escaped", labelled(running(vllm+" --namespace $$(NS)", "NS=a")), bad},
		{"escaped in a shell's quotes", labelled(shell(vllm+" --namespace '${NS}'"), component, "backend"), bad},
		{"suffix", labelled(running(vllm, "DYN_NAMESPACE_WORKER_SUFFIX=${H}"), ns, "a"), bad},
		{"router's target", labelled(running("python3 -m dynamo.router --endpoint a.${C}.generate")), bad},
		{"a program of one's own", labelled(running("/server", "DYN_NAMESPACE=$(NS)"), role, "worker"), bad},
		{"two", labelled(running(vllm+" --namespace ${A} --disaggregation-mode ${B}"), component, "x"), bad + " " + bad},

		{"literal", labelled(running(vllm+" --namespace $(NS)", "NS=a")), ""},
		{"chain", labelled(running(vllm+" --namespace $(B)", "A=a", "B=$(A)")), ""},
		{"fieldRef", labelled(field(running(vllm+" --namespace $(NS)"), "NS", "metadata.namespace")), ""},
		{"Secret", labelled(secret(running(vllm+" --namespace $(NS)"), "NS")), ""},
		{"perhaps from a ConfigMap", labelled(configured(running(vllm+" --namespace $(NS)"), "")), ""},
		{"injected", labelled(running(vllm + " --namespace $(POD_NAMESPACE)")), ""},
		{"injected namespace", labelled(running(vllm+" --endpoint dyn://$(DYN_NAMESPACE).backend.generate"), ns, "a"), ""},
		{"shell expands it", labelled(pod.Container{Name: "main", Command: []string{"sh", "-c", vllm + " --namespace ${NS}"}, Env: []pod.EnvVar{{Name: "NS", Value: "a"}}}), ""},
		{"no identity", labelled(running(vllm + " --model ${MODEL}")), ""},
		{"a price", labelled(running(vllm + " --namespace a --served-model-name $5")), ""},
		{"the endpoint replaces it", labelled(running(vllm+" --namespace ${NS} --endpoint a.b.c"), ns, "a"), ""},
		{"the last one counts", labelled(running(vllm + " --namespace ${NS} --namespace a")), ""},
		{"flag over variable", labelled(running(vllm+" --namespace a", "DYN_NAMESPACE=${NS}")), ""},
		{"not Dynamo's", containers(running(vllm), named("x", running("/proxy --namespace ${NS}"))), ""},
	})
}

func TestAbbreviatedFlag(t *testing.T) {
	const bad = "abbreviated-flag"
	check(t, "abbreviated-flag.txt", []ruleCase{
		{"taken", labelled(running(trtllm + " --names a")), bad},
		{"joined", labelled(running(sglang + " --namespac=a")), bad},
		{"mocker", labelled(running(mocker + " --end dyn://a.b.c")), bad},
		{"short in an old release", labelled(of("1.3.1", running(sglang+" --na a"))), bad},
		{"not taken by vllm", labelled(running(vllm + " --names a")), bad},
		{"ambiguous", labelled(running(sglang + " --endp a.b.c")), bad},
		{"frontend", labelled(running(frontend + " --namespace-pre a")), bad},
		{"backend", labelled(running(frontend + " --disc kubernetes")), bad},
		{"mode", labelled(running(trtllm + " --disag prefill")), bad},
		{"modality", labelled(running(trtllm + " --modal text")), bad},
		{"router", labelled(running("python3 -m dynamo.router --end a.b.c")), bad},
		{"sidecar", labelled(running("dynamo-vllm-sidecar --comp x")), bad},
		{"in a shell", labelled(shell("exec "+trtllm+" --names a"), component, "backend"), bad},
		{"from a variable in a shell", labelled(pod.Container{Name: "main", Command: []string{"sh", "-c", trtllm + " $MORE"}, Env: []pod.EnvVar{{Name: "MORE", Value: "--names a"}}}), bad},
		{"module in the command", labelled(pod.Container{Name: "main", Command: []string{"python3", "-m", "dynamo.trtllm", "--names", "a"}}), bad},
		{"two", labelled(running(trtllm + " --names a --disag prefill --names b")), bad + " " + bad},

		{"whole", labelled(running(trtllm + " --namespace a --endpoint a.b.c --discovery-backend kubernetes --disaggregation-mode agg")), ""},
		{"another flag", labelled(running(sglang + " --endpoint-types chat")), ""},
		{"longer", labelled(running(frontend + " --namespace-prefix a")), ""},
		{"of no identity", labelled(running(frontend + " --http-p 8000")), ""},
		{"too short to say", labelled(running(vllm + " --n 2 --d x")), ""},
		{"a value", labelled(running(trtllm + " --served-model-name names")), ""},
		{"behind --", labelled(running(trtllm + " -- --names a")), ""},
		{"in front of the module", labelled(pod.Container{Name: "main", Command: []string{"wrap", "--names", "x"}}, component, "backend"), "unprovable-command"},
		{"in a string", labelled(running(trtllm + ` --config {"--names":1}`)), ""},
		{"model", labelled(running(trtllm + " --model-path m --model m")), ""},
		{"another container", containers(running(vllm), named("x", running("/proxy --names a"))), ""},
		{"a negation", labelled(running(vllm + " --no-enable-prefix-caching")), ""},
	})
}

func TestEnvFromHidden(t *testing.T) {
	const bad = "env-from-hidden"
	secretFrom := func(c pod.Container) pod.Container {
		c.EnvFrom = append(c.EnvFrom, pod.EnvFromSource{SecretRef: &pod.LocalRef{Name: "s"}})
		return c
	}
	check(t, "env-from-hidden.txt", []ruleCase{
		{"nothing says it", labelled(configured(running(vllm), "")), bad},
		{"prefix that fits", labelled(configured(running(vllm), "DYN_")), bad},
		{"prefix all but one", labelled(configured(running(vllm), "DYN_NAMESPAC")), bad},
		{"mocker", labelled(configured(running(mocker), "")), bad},
		{"planner", labelled(configured(running("python3 -m dynamo.planner"), "")), bad},
		{"beside a Secret", labelled(secretFrom(configured(running(vllm), ""))), bad},
		{"the second of two", labelled(configured(configured(running(vllm), "X_"), "")), bad},
		{"in a shell", labelled(configured(shell("exec "+vllm), ""), component, "backend"), bad},
		{"component by variable", labelled(configured(running("dynamo-vllm-sidecar", "DYN_COMPONENT=x"), "")), bad},
		{"a program of one's own", labelled(configured(running("/server"), ""), role, "worker"), bad},
		{"a native sidecar", func() *pod.Pod {
			p := labelled(running("/proxy"))
			s := named("s", configured(running(vllm), ""))
			s.RestartPolicy = "Always"
			p.Spec.InitContainers = []pod.Container{s}
			return p
		}(), bad},
		{"another suffix variable", labelled(configured(running(vllm, "DYN_NAMESPACE_WORKER_SUFFIX=x"), "")), bad},

		{"label", labelled(configured(running(vllm), ""), ns, "a"), ""},
		{"argument", labelled(configured(running(vllm+" --namespace a"), "")), ""},
		{"endpoint", labelled(configured(running(vllm+" --endpoint a.b.c"), "")), ""},
		{"variable", labelled(configured(running(vllm, "DYN_NAMESPACE=a"), "")), ""},
		{"endpoint variable", labelled(configured(running(vllm, "DYN_ENDPOINT=dynamo.backend.generate"), "")), ""},
		{"variable from a Secret", labelled(secret(configured(running(vllm), ""), "DYN_NAMESPACE")), ""},
		{"a Secret", labelled(secretFrom(running(vllm))), ""},
		{"another prefix", labelled(configured(running(vllm), "APP_")), ""},
		{"a prefix that leaves nothing", labelled(configured(running(vllm), "DYN_NAMESPACE")), ""},
		{"set by the shell", labelled(configured(shell("DYN_NAMESPACE=a exec "+vllm), "")), ""},
		{"frontends see all", labelled(configured(running(frontend), "")), ""},
		{"routers go by their target", labelled(configured(running(router), "")), ""},
		{"another container", containers(running(vllm), named("x", configured(running("/proxy"), ""))), ""},
		{"hand-wired like the mutation", labelled(configured(field(field(field(pod.Container{Name: "main", Args: []string{"python3", "-m", "dynamo.vllm"},
			Env: []pod.EnvVar{{Name: "DYN_DISCOVERY_BACKEND", Value: "kubernetes"}, {Name: "DYN_NAMESPACE", Value: "dynamo"}}},
			"POD_NAME", "metadata.name"), "POD_NAMESPACE", "metadata.namespace"), "POD_UID", "metadata.uid"), "")), ""},
	})
}

func TestMultiWorkerProcess(t *testing.T) {
	const bad = "multi-worker-process"
	check(t, "multi-worker-process.txt", []ruleCase{
		{"mocker", labelled(running(mocker + " --num-workers 2")), bad},
		{"joined", labelled(running(mocker + " --num-workers=8")), bad},
		{"sglang", labelled(running(sglang + " --gateway-workers 4")), bad},
		{"sglang's variable", labelled(running(sglang, "DYN_SGL_GATEWAY_WORKERS=2")), bad},
		{"vllm", labelled(running(vllm + " --embedding-worker-processes 3")), bad},
		{"through a variable", labelled(running(mocker+" --num-workers $(N)", "N=2")), bad},
		{"the last one counts", labelled(running(mocker + " --num-workers 1 --num-workers 2")), bad},
		{"flag over variable", labelled(running(sglang+" --gateway-workers 2", "DYN_SGL_GATEWAY_WORKERS=1")), bad},
		{"in a shell", labelled(shell(mocker+" --num-workers 4"), component, "backend"), bad},
		{"beside a frontend", containers(named("f", running(frontend)), named("m", running(mocker+" --num-workers 4"))), bad},
		{"a variable of the shell", labelled(pod.Container{Name: "main", Command: []string{"sh", "-c", "N=3; " + mocker + " --num-workers $N"}}), bad},

		{"one", labelled(running(mocker + " --num-workers 1")), ""},
		{"nothing", labelled(running(mocker)), ""},
		{"none", labelled(running(mocker + " --num-workers 0")), ""},
		{"no number", labelled(running(mocker + " --num-workers many")), ""},
		{"not known", labelled(secret(running(mocker+" --num-workers $(N)"), "N")), ""},
		{"another module's flag", labelled(running(vllm + " --num-workers 2")), ""},
		{"another flag", labelled(running(vllm + " --tensor-parallel-size 8")), ""},
		{"turned back", labelled(running(sglang+" --gateway-workers 1", "DYN_SGL_GATEWAY_WORKERS=4")), ""},
		{"headless", labelled(running(vllm+" --headless --embedding-worker-processes 2"), ns, "a"), ""},
		{"a program of one's own", labelled(running("/server --num-workers 2"), role, "worker"), ""},
		{"another container", containers(running(vllm), named("x", running("gunicorn --num-workers 4"))), ""},
	})
}

// alive is a container with a liveness probe.
func alive(c pod.Container, probe pod.Probe) pod.Container {
	c.LivenessProbe = &probe
	return c
}

func TestLivenessBeforeReady(t *testing.T) {
	const bad = "liveness-before-ready"
	get := func(path string, delay, period, failures int32) pod.Probe {
		return pod.Probe{HTTPGet: &pod.HTTPGet{Path: path, Port: pod.IntOrString{Number: 9090}}, InitialDelaySeconds: delay, PeriodSeconds: period, FailureThreshold: failures}
	}
	tcp := func(delay, period, failures int32) pod.Probe {
		return pod.Probe{TCPSocket: &pod.Socket{Port: pod.IntOrString{Number: 9090}}, InitialDelaySeconds: delay, PeriodSeconds: period, FailureThreshold: failures}
	}
	exec := func(words ...string) pod.Probe { return pod.Probe{Exec: &pod.Exec{Command: words}} }
	started := func(c pod.Container) pod.Container {
		c.StartupProbe = &pod.Probe{HTTPGet: &pod.HTTPGet{Path: "/live", Port: pod.IntOrString{Number: 9090}}}
		return c
	}
	check(t, "liveness-before-ready.txt", []ruleCase{
		{"at once", labelled(alive(running(vllm), get("/live", 0, 5, 1))), bad},
		{"defaults", labelled(alive(running(sglang), get("/live", 0, 0, 0))), bad},
		{"300 s", labelled(alive(running(vllm), get("/live", 0, 10, 30))), bad},
		{"with a delay", labelled(alive(running(vllm), get("/live", 120, 10, 3))), bad},
		{"health", labelled(alive(running(trtllm), get("/health", 60, 10, 3))), bad},
		{"mocker", labelled(alive(running(mocker), get("/live", 0, 10, 3))), bad},
		{"router", labelled(alive(running(router), get("/live", 0, 10, 3))), bad},
		{"TCP", labelled(alive(running(vllm), tcp(0, 10, 3))), bad},
		{"TCP, 120 s", labelled(alive(running(vllm), tcp(60, 20, 3))), bad},
		{"a command that asks", labelled(alive(running(vllm), exec("sh", "-c", "curl -f localhost:9090/live"))), bad},
		{"sidecar", labelled(alive(running("dynamo-vllm-sidecar"), get("/live", 10, 10, 3))), bad},
		{"a rank that serves nothing", labelled(alive(running(sglang+" --node-rank 1"), get("/live", 0, 10, 3)), ns, "a"), bad},
		{"beside a frontend", containers(named("f", alive(running(frontend), pod.Probe{HTTPGet: &pod.HTTPGet{Path: "/live", Port: pod.IntOrString{Number: 8000}}})),
			named("w", alive(running(vllm), get("/live", 0, 10, 3)))), bad},

		{"startup probe", labelled(started(alive(running(vllm), get("/live", 0, 5, 1)))), ""},
		{"longer than 300 s", labelled(alive(running(vllm), get("/live", 1, 10, 30))), ""},
		{"long delay", labelled(alive(running(vllm), get("/live", 600, 0, 0))), ""},
		{"TCP, longer than 120 s", labelled(alive(running(vllm), tcp(91, 10, 3))), ""},
		{"none", labelled(running(vllm)), ""},
		{"metrics", labelled(alive(running(vllm), get("/metrics", 0, 5, 1))), ""},
		{"frontend", labelled(alive(running(frontend), pod.Probe{HTTPGet: &pod.HTTPGet{Path: "/live", Port: pod.IntOrString{Number: 8000}}})), ""},
		{"a command that does not ask", labelled(alive(running(vllm), exec("pgrep", "python3"))), ""},
		{"a longer name", labelled(alive(running(vllm), exec("/liveness.sh"))), ""},
		{"a program of one's own", labelled(alive(running("/server"), get("/live", 0, 5, 1)), role, "worker"), ""},
		{"ready from the start", labelled(alive(running(vllm, "DYN_SYSTEM_STARTING_HEALTH_STATUS=ready"), get("/live", 0, 5, 1))), "not-ready-blind"},
		{"another container", containers(running(vllm), named("x", alive(running("/proxy"), tcp(0, 1, 1)))), ""},
		{"grpc", labelled(alive(running(vllm), pod.Probe{GRPC: &pod.GRPC{Port: 9090}})), ""},
	})
}

func TestStaleEnv(t *testing.T) {
	const bad = "stale-env"
	check(t, "stale-env.txt", []ruleCase{
		{"namespace", labelled(running(vllm, "DYNAMO_NAMESPACE=a")), bad},
		{"backend", labelled(running(vllm, "DYN_STORE_KV=mem")), bad},
		{"port", labelled(running(frontend, "DYNAMO_PORT=8000")), bad},
		{"prefill since 1.5", labelled(of("1.5.1", running(vllm, "DYN_VLLM_IS_PREFILL_WORKER=1"))), bad},
		{"decode since 1.5", labelled(of("v1.6.1", running(vllm, "DYN_VLLM_IS_DECODE_WORKER=true"))), bad},
		{"its value not known", labelled(of("1.6.1", secret(running(vllm), "DYN_VLLM_IS_PREFILL_WORKER"))), bad},
		{"not known", labelled(secret(running(vllm), "DYNAMO_NAMESPACE")), bad},
		{"empty", labelled(running(vllm, "DYN_STORE_KV=")), bad},
		{"twice is once", labelled(running(vllm, "DYN_STORE_KV=a", "DYN_STORE_KV=b")), bad},
		{"two", labelled(running(vllm, "DYN_STORE_KV=a", "DYNAMO_NAMESPACE=b")), bad + " " + bad},
		{"in each container", containers(named("a", running(vllm, "DYN_STORE_KV=a")), named("b", running(frontend, "DYN_STORE_KV=a"))), bad + " " + bad},
		{"a program of one's own", labelled(running("/server", "DYNAMO_NAMESPACE=a"), role, "worker"), bad},
		{"router", labelled(running(router, "DYN_STORE_KV=etcd")), bad},

		{"prefill in 1.3", labelled(of("1.3.1", running(vllm, "DYN_VLLM_IS_PREFILL_WORKER=1"))), ""},
		{"prefill without a release", labelled(running(vllm, "DYN_VLLM_IS_PREFILL_WORKER=1")), ""},
		{"a tag that is a date", labelled(of("20260101", running(vllm, "DYN_VLLM_IS_PREFILL_WORKER=1"))), ""},
		{"off", labelled(of("1.6.1", running(vllm, "DYN_VLLM_IS_PREFILL_WORKER=0"))), ""},
		{"not vllm", labelled(of("1.6.1", running(sglang, "DYN_VLLM_IS_PREFILL_WORKER=1"))), ""},
		{"today's", labelled(running(vllm, "DYN_NAMESPACE=a", "DYN_DISCOVERY_BACKEND=kubernetes", "DYN_SYSTEM_PORT=9090")), ""},
		{"deprecated and read", labelled(running(vllm, "DYN_SYSTEM_ENABLED=true")), ""},
		{"a prefix", labelled(running(vllm, "DYNAMO_NAMESPACES=a")), ""},
		{"another container", containers(running(vllm), named("x", running("/proxy", "DYNAMO_NAMESPACE=a"))), ""},
		{"in a ConfigMap", labelled(configured(running(vllm), ""), ns, "a"), ""},
		{"opted out", labelled(running(vllm, "DYN_STORE_KV=a"), wiring.LabelDiscoveryEnabled, "false"), ""},
		{"mocker's own flag", labelled(of("1.6.1", running(mocker+" --is-prefill-worker"))), ""},
	})
}

// asked is a container with a readiness probe.
func asked(c pod.Container, probe pod.Probe) pod.Container {
	c.ReadinessProbe = &probe
	return c
}

func TestNotReadyBlind(t *testing.T) {
	const bad = "not-ready-blind"
	get := func(path string, port int32) pod.Probe {
		return pod.Probe{HTTPGet: &pod.HTTPGet{Path: path, Port: pod.IntOrString{Number: port}}}
	}
	exec := func(words ...string) pod.Probe { return pod.Probe{Exec: &pod.Exec{Command: words}} }
	tcp := pod.Probe{TCPSocket: &pod.Socket{Port: pod.IntOrString{Number: 9090}}}
	own := func(c pod.Container) *pod.Pod { return labelled(c, role, "worker") }
	check(t, "not-ready-blind.txt", []ruleCase{
		{"metrics", labelled(asked(running(vllm), get("/metrics", 9090))), bad},
		{"the root", labelled(asked(running(vllm), get("", 9090))), bad},
		{"another name", labelled(asked(running(mocker), get("/healthz", 9090))), bad},
		{"TCP", labelled(asked(running(vllm), tcp)), bad},
		{"always true", labelled(asked(running(vllm), exec("true"))), bad},
		{"a script", labelled(asked(running(vllm), exec("sh", "-c", "/opt/healthcheck.sh"))), bad},
		{"models of a frontend", labelled(asked(running(frontend), get("/v1/models", 8000))), bad},
		{"live of a frontend", labelled(asked(running(frontend), get("/live", 8000))), bad},
		{"live of a program of one's own", own(asked(running("/server"), get("/live", 9090))), bad},
		{"TCP of a program of one's own", own(asked(running("/server"), tcp)), bad},
		{"starts ready", labelled(running(vllm, "DYN_SYSTEM_STARTING_HEALTH_STATUS=ready")), bad},
		{"a program of one's own starts ready", own(running("/server", "DYN_SYSTEM_STARTING_HEALTH_STATUS=ready")), bad},
		{"both", labelled(asked(running(vllm, "DYN_SYSTEM_STARTING_HEALTH_STATUS=ready"), tcp)), bad + " " + bad},
		{"moved", labelled(asked(running(vllm, "DYN_SYSTEM_HEALTH_PATH=/ok"), get("/health", 9090))), bad},
		{"a command that asks live of a frontend", labelled(asked(running(frontend), exec("curl", "localhost:8000/live"))), bad},

		{"health", labelled(asked(running(vllm), get("/health", 9090))), ""},
		{"without a slash", labelled(asked(running(vllm), get("health", 9090))), ""},
		{"with a query", labelled(asked(running(vllm), get("/health?x=1", 9090))), ""},
		{"live of a worker", labelled(asked(running(vllm), get("/live", 9090))), ""},
		{"live of a router", labelled(asked(running(router), get("/live", 9090))), ""},
		{"moved with it", labelled(asked(running(vllm, "DYN_SYSTEM_HEALTH_PATH=/ok"), get("/ok", 9090))), ""},
		{"path not known", labelled(asked(secret(running(vllm), "DYN_SYSTEM_HEALTH_PATH"), get("/ok", 9090))), ""},
		{"a command that asks", labelled(asked(running(vllm), exec("sh", "-c", "curl -fs http://127.0.0.1:9090/health | grep ready"))), ""},
		{"a command that asks live", labelled(asked(running(vllm), exec("curl", "-f", "localhost:9090/live"))), ""},
		{"frontend", labelled(asked(running(frontend), get("/health", 8000))), ""},
		{"none", labelled(running(vllm)), ""},
		{"a program of one's own", own(asked(running("/server"), get("/health", 9090))), ""},
		{"starts not ready", labelled(running(vllm, "DYN_SYSTEM_STARTING_HEALTH_STATUS=notready")), ""},
		{"a frontend has no such status", labelled(running(frontend, "DYN_SYSTEM_STARTING_HEALTH_STATUS=ready")), ""},
		{"grpc", labelled(asked(running("dynamo-vllm-sidecar"), pod.Probe{GRPC: &pod.GRPC{Port: 1}})), ""},
		{"a rank that serves nothing", labelled(asked(running(sglang+" --node-rank 1"), tcp), ns, "a"), ""},
		{"another container", containers(running(vllm), named("x", asked(running("/proxy"), tcp))), ""},
	})
}
