package identity_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// container is one whose command is written as words, with "|" between command and args.
func container(command string, env ...pod.EnvVar) pod.Container {
	c := pod.Container{Name: "main", Image: "example.com/runtime:1.6.1", Env: env}
	left, right, split := strings.Cut(command, "|")
	c.Command = strings.Fields(left)
	if split {
		c.Args = strings.Fields(right)
	}
	return c
}

// script is a container whose command is a shell string, with the words after it.
func script(text string, words ...string) pod.Container {
	return pod.Container{Name: "main", Image: "example.com/runtime:1.6.1", Command: []string{"/bin/sh", "-c"}, Args: append([]string{text}, words...)}
}

func with(c pod.Container, change func(*pod.Container)) pod.Container {
	change(&c)
	return c
}

func image(name string) func(*pod.Container) { return func(c *pod.Container) { c.Image = name } }

func envFrom(c *pod.Container) {
	c.EnvFrom = []pod.EnvFromSource{{ConfigMapRef: &pod.LocalRef{Name: "settings"}}}
}

func variable(name, value string) pod.EnvVar { return pod.EnvVar{Name: name, Value: value} }

func secret(name string) pod.EnvVar { return pod.EnvVar{Name: name, ValueFrom: &pod.EnvVarSource{}} }

func field(name, path string) pod.EnvVar {
	return pod.EnvVar{Name: name, ValueFrom: &pod.EnvVarSource{FieldRef: &pod.FieldRef{FieldPath: path}}}
}

func of(containers ...pod.Container) *pod.Pod {
	return &pod.Pod{Metadata: pod.Metadata{Namespace: "llm"}, Spec: pod.Spec{Containers: containers}}
}

func labelled(p *pod.Pod, pairs ...string) *pod.Pod {
	p.Metadata.Labels = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		p.Metadata.Labels[pairs[i]] = pairs[i+1]
	}
	return p
}

// known is a value and how it is known, as "text/how"; "?" where it is unknown.
func known(v identity.Value) string {
	text := v.Text
	if text == "" {
		text = "?"
	}
	if v.How == "" {
		return text
	}
	return text + "/" + string(v.How)
}

func whole(r identity.Resolution) string {
	if r.Reason != identity.Wired {
		return string(r.Reason)
	}
	id := r.Identity
	return strings.Join([]string{known(id.Namespace), known(id.Component), known(id.Endpoint), known(id.Role)}, " ")
}

const (
	plain   = "dynamo/module-default backend/module-default generate/module-default worker/module-default"
	nothing = "not-dynamo"
)

func inNamespace(ns string) string {
	return strings.Replace(plain, "dynamo/module-default", ns, 1)
}

type resolveCase struct {
	name string
	pod  *pod.Pod
	want string
}

func runCases(t *testing.T, cases []resolveCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, whole(identity.Resolve(tc.pod, wiring.Settings{})))
		})
	}
}

func TestRecognisedCommands(t *testing.T) {
	for _, command := range []string{
		"python3 -m dynamo.vllm", "python -m dynamo.vllm", "python3.12 -m dynamo.vllm", "/usr/bin/python3 -m dynamo.vllm",
		"python3 | -m dynamo.vllm", "python3 -m | dynamo.vllm", "| python3 -m dynamo.vllm", "| -m dynamo.vllm",
		"python3 -u -m dynamo.vllm", "python3 -uB -m dynamo.vllm", "python3 -um dynamo.vllm", "python3 -mdynamo.vllm",
		"python3 -W ignore -X dev -m dynamo.vllm", "python3 -Wignore -Xdev -m dynamo.vllm",
		"python3 --check-hash-based-pycs never -m dynamo.vllm",
		"env A=b python3 -m dynamo.vllm", "/usr/bin/env -u A -C /x A=b B= python3 -m dynamo.vllm", "env -i -- python3 -m dynamo.vllm",
		"tini -- python3 -m dynamo.vllm", "tini -s -g -- python3 -m dynamo.vllm", "/sbin/tini python3 -m dynamo.vllm",
		"dumb-init python3 -m dynamo.vllm", "/opt/nvidia/nvidia_entrypoint.sh python3 -m dynamo.vllm",
		"numactl --cpunodebind=0 -m 0 python3 -m dynamo.vllm", "nice -n 5 python3 -m dynamo.vllm",
		"timeout -k 5 3600 python3 -m dynamo.vllm", "taskset -c 0-7 python3 -m dynamo.vllm", "stdbuf -oL python3 -m dynamo.vllm",
		"opentelemetry-instrument python3 -m dynamo.vllm", "gosu dynamo:dynamo python3 -m dynamo.vllm",
		"uv run python -m dynamo.vllm", "uv run --no-sync --python 3.12 --extra=x python -m dynamo.vllm", "uv --quiet run -- python -m dynamo.vllm", "uv run -m dynamo.vllm",
		"nsys profile -o /x -t cuda,nvtx --force-overwrite=true python3 -m dynamo.vllm", "nsys profile --output /x python3 -m dynamo.vllm",
		"python3 -m dynamo.vllm.__main__", "python3 -m dynamo.vllm.main",
	} {
		assert.Equal(t, plain, whole(identity.Resolve(of(container(command)), wiring.Settings{})), command)
	}
	for _, command := range []string{
		"", "|", "python3", "python3 -m", "python3 -m vllm.entrypoints.openai.api_server", "python3 -c dynamo.vllm", "python3 app.py -m dynamo.vllm",
		"python3 -m dynamo", "python3 -m dynamo.unheard_of", "pythonista -m dynamo.vllm", "env A=b", "env -S python3 -m dynamo.vllm",
		"/app/start.sh python3 -m dynamo.vllm", "vllm serve m", "$(PY) -m dynamo.vllm", "tini --", "timeout 5", "python3 - -m dynamo.vllm",
		"python3 -m dynamo.profiler", "python3 -m dynamo.indexer", "python3 -m dynamo.vllm --headless", "mpirun -n 2 python3 -m dynamo.trtllm",
		"uv run", "uv pip install dynamo.vllm", "uv run --env-file /x python -m dynamo.vllm", "uv run serve.py -m dynamo.vllm", "uv sync run python3 -m dynamo.vllm",
		"nsys launch python3 -m dynamo.vllm", "nsys profile", "gosu python3 -m dynamo.vllm", "torchrun --nproc-per-node 8 -m dynamo.vllm",
		"python3 -m dynamo.mocker.main", "python3 -m dynamo.vllm.args",
	} {
		assert.Equal(t, nothing, whole(identity.Resolve(of(container(command)), wiring.Settings{})), command)
	}
}

func TestShellStrings(t *testing.T) {
	for text, want := range map[string]string{
		`python3 -m dynamo.vllm`:                                          plain,
		`exec python3 -m dynamo.vllm`:                                     plain,
		`exec -a vllm env A=b python3 -m dynamo.vllm`:                     plain,
		`cd /workspace && exec python3 -m dynamo.vllm`:                    plain,
		`source /venv/bin/activate; python3 -m dynamo.vllm`:               plain,
		`set -euo pipefail; python3 -m dynamo.vllm 2>&1 | tee /log`:       plain,
		`until nc -z etcd 2379; do sleep 1; done; python3 -m dynamo.vllm`: plain,
		`bash -c "exec python3 -m dynamo.vllm"`:                           plain,
		`python3 -m dynamo.frontend & python3 -m dynamo.vllm`:             plain,
		`MODULE=dynamo.vllm; python3 -m $MODULE`:                          plain,
		`mpirun -n 2 trtllm-llmapi-launch python3 -m dynamo.trtllm`:       plain,

		`python3 -m dynamo.vllm --namespace prod`:                                               inNamespace("prod/argument"),
		`NS=prod; python3 -m dynamo.vllm --namespace=$NS-x`:                                     inNamespace("prod-x/argument"),
		`export DYN_NAMESPACE=prod; python3 -m dynamo.vllm`:                                     inNamespace("prod/env"),
		`DYN_NAMESPACE=prod python3 -m dynamo.vllm`:                                             inNamespace("prod/env"),
		`python3 -m dynamo.vllm --namespace "$(cat /ns)"`:                                       inNamespace("?/argument"),
		`python3 -m dynamo.vllm --namespace ${NOWHERE}`:                                         inNamespace("?/argument"),
		`python3 -m dynamo.vllm --namespace ${NOWHERE:-prod}`:                                   inNamespace("prod/argument"),
		`python3 -m dynamo.vllm --namespace '$DYN_NAMESPACE'`:                                   inNamespace("?/argument"),
		`python3 -m dynamo.vllm --model $MODEL --namespace prod`:                                inNamespace("prod/argument"),
		`A=(--namespace prod); python3 -m dynamo.vllm "${A[@]}"`:                                inNamespace("prod/argument"),
		`A=(--model m); A+=(--namespace prod); exec python3 -m dynamo.vllm "${A[@]}"`:           inNamespace("prod/argument"),
		`A=(--model m); if x; then A+=(--namespace prod); fi; python3 -m dynamo.vllm "${A[@]}"`: "?/argument ?/argument ?/argument ?/argument",
		`python3 -m dynamo.vllm $(cat /flags)`:                                                  "?/argument ?/argument ?/argument ?/argument",
		`python3 -m dynamo.vllm --model $(cat /model)`:                                          plain,
		`python3 -m dynamo.vllm --model "$(cat /model)" "$(cat /other)"`:                        plain,

		`if [ "$R" = 0 ]; then python3 -m dynamo.vllm; fi`:                   nothing,
		`[ "$R" = 0 ] && python3 -m dynamo.vllm`:                             plain,
		`[ "$R" = 0 ] && python3 -m dynamo.vllm || python3 -m dynamo.sglang`: nothing,
		`eval "python3 -m dynamo.vllm"`:                                      nothing,
		`./start.sh # dynamo.vllm`:                                           nothing,
		`echo dynamo.vllm`:                                                   nothing,
		`python3 -m "dynamo.vllm`:                                            nothing,
	} {
		assert.Equal(t, want, whole(identity.Resolve(of(script(text)), wiring.Settings{})), text)
	}
}

func TestWordsBehindAShellString(t *testing.T) {
	runCases(t, []resolveCase{
		{"all", of(script(`exec python3 -m dynamo.vllm "$@"`, "--", "--namespace", "prod")), inNamespace("prod/argument")},
		{"the program too", of(script(`exec "$@"`, "sh", "python3", "-m", "dynamo.vllm")), plain},
		{"by number", of(script(`python3 -m dynamo.vllm --namespace $1`, "sh", "prod")), inNamespace("prod/argument")},
		{"as $0", of(script(`python3 -m dynamo.vllm --namespace $0`, "prod")), inNamespace("prod/argument")},
		{"unused", of(script(`python3 -m dynamo.vllm`, "--namespace", "prod")), plain},
	})
	lost := func(c pod.Container) []string {
		return identity.Resolve(of(c), wiring.Settings{}).Processes[0].Lost
	}
	assert.Equal(t, []string{"--namespace", "prod"}, lost(script(`python3 -m dynamo.vllm`, "--namespace", "prod")))
	assert.Equal(t, []string{"--model"}, lost(script(`python3 -m dynamo.vllm "$@"`, "--model", "m")))
	assert.Empty(t, lost(script(`python3 -m dynamo.vllm "$@"`, "--", "--model", "m")))
	assert.Empty(t, lost(script(`python3 -m dynamo.vllm`, "sh")))
	assert.Empty(t, lost(container("python3 -m dynamo.vllm | x y")))
}

func TestShellOptions(t *testing.T) {
	for _, options := range []string{"-c", "-ec", "-lc", "-euxo pipefail -c", "-o pipefail -c", "--login -c", "--norc --noprofile -c", "-c --"} {
		c := container("bash " + options)
		c.Args = []string{"python3 -m dynamo.vllm"}
		assert.Equal(t, plain, whole(identity.Resolve(of(c), wiring.Settings{})), options)
	}
	c := container("busybox sh -c")
	c.Args = []string{"python3 -m dynamo.vllm"}
	assert.Equal(t, plain, whole(identity.Resolve(of(c), wiring.Settings{})))
	c = container("bash")
	c.Args = []string{"python3 -m dynamo.vllm"}
	assert.Equal(t, nothing, whole(identity.Resolve(of(c), wiring.Settings{})), "a script's file name")
}

func TestFlags(t *testing.T) {
	vllm := func(rest string, env ...pod.EnvVar) *pod.Pod {
		return of(container("python3 -m dynamo.vllm | "+rest, env...))
	}
	path := "a/argument b/argument c/argument worker/module-default"
	runCases(t, []resolveCase{
		{"value", vllm("--namespace prod"), inNamespace("prod/argument")},
		{"joined", vllm("--namespace=prod"), inNamespace("prod/argument")},
		{"last wins", vllm("--namespace=a --model m --namespace b"), inNamespace("b/argument")},
		{"flag beats env", vllm("--namespace a", variable("DYN_NAMESPACE", "b")), inNamespace("a/argument")},
		{"empty flag falls back to env", vllm("--namespace=", variable("DYN_NAMESPACE", "b")), inNamespace("b/env")},
		{"env", vllm("", variable("DYN_NAMESPACE", "b")), inNamespace("b/env")},
		{"last entry of env", vllm("", variable("DYN_NAMESPACE", "a"), variable("DYN_NAMESPACE", "b")), inNamespace("b/env")},
		{"no value", vllm("--namespace --model m"), plain},
		{"no value at the end", vllm("--namespace"), plain},
		{"behind --", vllm("-- --namespace a"), plain},
		{"no abbreviation in vllm", vllm("--namespac a"), plain},
		{"longer flags are others", vllm("--namespace-x a --endpoint-types chat"), plain},

		{"endpoint", vllm("--endpoint dyn://a.b.c"), path},
		{"endpoint without a scheme", vllm("--endpoint a.b.c"), path},
		{"endpoint beats namespace", vllm("--endpoint a.b.c --namespace x"), path},
		{"endpoint from env", vllm("", variable("DYN_ENDPOINT", "a.b.c")), "a/env b/env c/env worker/module-default"},
		{"endpoint from env beats --namespace", vllm("--namespace x", variable("DYN_ENDPOINT", "a.b.c")), "a/env b/env c/env worker/module-default"},
		{"suffix is not part of the label", vllm("--endpoint a-1.b.c", variable("DYN_NAMESPACE_WORKER_SUFFIX", "1")), path},
		{"malformed", vllm("--endpoint b.c"), "? ? ? worker/module-default"},
		{"malformed beside a namespace", vllm("--endpoint b.c --namespace a"), "a/argument ? ? worker/module-default"},
		{"a part that is not known", vllm("--endpoint dyn://$(NS).b.c", secret("NS")), "?/argument b/argument c/argument worker/module-default"},
		{"all of it unknown", vllm("--endpoint $(E)", secret("E")), "?/argument ?/argument ?/argument worker/module-default"},
		{"nothing expands it", vllm("--endpoint dyn://${NS}.b.c"), "?/argument ?/argument ?/argument worker/module-default"},

		{"mode", vllm("--disaggregation-mode prefill"), "dynamo/module-default prefill/module-default generate/module-default prefill/argument"},
		{"mode from env", vllm("", variable("DYN_VLLM_DISAGGREGATION_MODE", "decode")), "dynamo/module-default backend/module-default generate/module-default decode/env"},
		{"aggregated", vllm("--disaggregation-mode agg"), plain},
		{"encode", vllm("--disaggregation-mode encode"), strings.Replace(plain, "backend", "encode", 1)},
		{"mode that is not known", vllm("--disaggregation-mode $(M)", secret("M")), "dynamo/module-default ? generate/module-default ?"},
	})
}

func TestExpansion(t *testing.T) {
	ns := func(arg string, env ...pod.EnvVar) *pod.Pod {
		return of(container("python3 -m dynamo.vllm --namespace "+arg, env...))
	}
	labelledPod := ns("$(TEAM)", field("TEAM", "metadata.labels['team']"))
	labelledPod.Metadata.Labels = map[string]string{"team": "blue"}
	account := ns("$(SA)", field("SA", "spec.serviceAccountName"))
	account.Spec.ServiceAccountName = "runner"
	runCases(t, []resolveCase{
		{"literal", ns("$(A)-x", variable("A", "a")), inNamespace("a-x/argument")},
		{"literal of literals", ns("$(B)", variable("A", "a"), variable("B", "$(A)$(A)")), inNamespace("aa/argument")},
		{"only what stands above counts", ns("$(B)", variable("B", "$(A)"), variable("A", "a")), inNamespace("?/argument")},
		{"escaped", ns("$$(A)", variable("A", "a")), inNamespace("?/argument")},
		{"a dollar alone", ns("a$", variable("A", "a")), inNamespace("a$/argument")},
		{"undefined", ns("$(A)"), inNamespace("?/argument")},
		{"of a Secret", ns("$(A)", secret("A")), inNamespace("?/argument")},
		{"of a label", labelledPod, inNamespace("blue/argument")},
		{"of a label that is not there", ns("$(A)", field("A", "metadata.labels['team']")), inNamespace("?/argument")},
		{"of the account", account, inNamespace("runner/argument")},
		{"of the node", ns("$(A)", field("A", "spec.nodeName")), inNamespace("?/argument")},
		{"of the namespace", ns("$(A)", field("A", "metadata.namespace")), inNamespace("llm/argument")},
		{"injected POD_NAMESPACE", ns("$(POD_NAMESPACE)"), inNamespace("llm/argument")},
		{"injected DYN_NAMESPACE", of(container("python3 -m dynamo.vllm --endpoint dyn://$(DYN_NAMESPACE).b.c")), "dynamo/argument b/argument c/argument worker/module-default"},
		{"no DYN_NAMESPACE is injected on a router", of(container("python3 -m dynamo.router --endpoint $(DYN_NAMESPACE).b.c")), "?/argument router/module-default generate/module-default router/module-default"},
		{"variables that multiply", ns("$(Z)", multiplied()...), inNamespace("?/argument")},
	})
}

// multiplied is a chain of variables, each ten times the one above.
func multiplied() []pod.EnvVar {
	vars := []pod.EnvVar{variable("A", "")}
	for c := 'B'; c <= 'Z'; c++ {
		vars = append(vars, variable(string(c), strings.Repeat("$("+string(c-1)+")", 10)))
	}
	return vars
}

func TestModules(t *testing.T) {
	role := func(module, rest string) *pod.Pod { return of(container("python3 -m dynamo." + module + " " + rest)) }
	at := func(tag string, c pod.Container) *pod.Pod { return of(with(c, image("nvcr.io/x/y:"+tag))) }
	d := func(component, endpoint, role string) string {
		return "dynamo/module-default " + component + " " + endpoint + " " + role
	}
	const worker, generate, backend = "worker/module-default", "generate/module-default", "backend/module-default"
	runCases(t, []resolveCase{
		{"vllm legacy prefill", role("vllm", "--is-prefill-worker"), d("prefill/module-default", generate, "prefill/argument")},
		{"vllm legacy variable in 1.3", at("1.3.1", container("python3 -m dynamo.vllm", variable("DYN_VLLM_IS_PREFILL_WORKER", "true"))), d("prefill/module-default", generate, "prefill/env")},
		{"vllm legacy variable in 1.5", at("1.5.1", container("python3 -m dynamo.vllm", variable("DYN_VLLM_IS_PREFILL_WORKER", "true"))), plain},
		{"omni endpoint is a name", role("vllm.omni", "--endpoint serve"), d(backend, "serve/argument", worker)},
		{"omni endpoint is no path", role("vllm.omni", "--endpoint a.b.c"), d(backend, "?", worker)},
		{"omni stage", role("vllm.omni", "--stage-id 1"), d("?", generate, worker)},
		{"sidecar binary", of(container("dynamo-vllm-sidecar --grpc-endpoint x")), plain},
		{"sidecar module", role("trtllm.sidecar", ""), plain},
		{"sidecar whose mode is unknown", of(container("dynamo-vllm-sidecar --disaggregation-mode $(M)", secret("M"))), d(backend, generate, "?")},
		{"sidecar component", of(container("dynamo-vllm-sidecar", variable("DYN_COMPONENT", "decode"))), d("decode/env", generate, worker)},
		{"sglang", role("sglang", "--disaggregation-mode decode"), d(backend, generate, "decode/argument")},
		{"sglang embedding beats prefill", role("sglang", "--embedding-worker --disaggregation-mode prefill"), plain},
		{"sglang rerank", role("sglang", "--rerank-worker"), d("rerank/module-default", generate, worker)},
		{"sglang mode may hide in a file", role("sglang", "--config f.yaml"), d("?", generate, "?")},
		{"sglang mode beside a file", role("sglang", "--config f.yaml --disaggregation-mode prefill"), d("prefill/module-default", generate, "prefill/argument")},
		{"trtllm diffusion", role("trtllm", "--modality video_diffusion --disaggregation-mode prefill"), d("diffusion/module-default", generate, worker)},
		{"trtllm prefill", role("trtllm", "--disaggregation-mode prefill"), d("prefill/module-default", generate, "prefill/argument")},
		{"trtllm ignores an empty endpoint", of(container("python3 -m dynamo.trtllm", variable("DYN_ENDPOINT", ""))), plain},
		{"vllm stops with an empty endpoint", of(container("python3 -m dynamo.vllm", variable("DYN_ENDPOINT", ""))), "? ? ? " + worker},
		{"tokenspeed prefill since 1.6", role("tokenspeed", "--disaggregation-mode prefill"), d("prefill/module-default", generate, "prefill/argument")},
		{"tokenspeed prefill before", at("1.5.1", container("python3 -m dynamo.tokenspeed --disaggregation-mode prefill")), d(backend, generate, "prefill/argument")},
		{"triton", role("triton", "--id x"), d("x/argument", "?", worker)},
		{"mocker", role("mocker", "--endpoint dyn://a.b.c"), "a/argument b/argument c/argument " + worker},
		{"mocker wants dyn://", role("mocker", "--endpoint a.b.c"), "? ? ? " + worker},
		{"mocker has no --namespace", role("mocker", "--namespace a"), plain},
		{"mocker ignores DYN_ENDPOINT", of(container("python3 -m dynamo.mocker", variable("DYN_ENDPOINT", "a.b.c"))), plain},
		{"mocker with slashes", role("mocker", "--endpoint dyn://a/b.c"), "a/argument b/argument c/argument " + worker},
		{"a path that the mocker folds decides nothing", role("mocker", "--endpoint dyn://b.c"), "? ? ? " + worker},
		{"mocker with a dotted namespace", of(container("python3 -m dynamo.mocker", variable("DYN_NAMESPACE", "a.b"))), "a.b/env b/env backend_generate/env " + worker},
		{"mocker with an empty namespace", of(container("python3 -m dynamo.mocker", variable("DYN_NAMESPACE", ""))), "?/env generate/env E/env " + worker},
		{"mocker with a dotted label", labelled(role("mocker", ""), wiring.LabelNamespace, "a.b"), "a.b/label b/env backend_generate/env " + worker},
		{"mocker prefill", role("mocker", "--is-prefill-worker"), d("prefill/module-default", generate, "prefill/argument")},
		{"sample abbreviated", role("common.backend.sample_main", "--n a --comp b --disag prefill --endpoint a.b.c"), "a/argument b/argument a.b.c/argument prefill/argument"},
		{"sample whose mode is unknown", role("common.backend.sample_main", "--disaggregation-mode $(M)"), d("sample/module-default", generate, "?")},
		{"sample diffusion has no mode", role("common.backend.sample_diffusion_main", "--disaggregation-mode prefill --di mem"), d("sample/module-default", generate, worker)},
		{"sample", of(container("python3 -m dynamo.common.backend.sample_main", variable("DYN_NAMESPACE", "a"))), d("sample/module-default", generate, worker)},
		{"frontend", role("frontend", "--namespace a"), "a/argument frontend/module-default ? frontend/module-default"},
		{"frontend with a prefix", role("frontend", "--namespace-prefix a"), "a/argument frontend/module-default ? frontend/module-default"},
		{"frontend with an empty flag", of(container("python3 -m dynamo.frontend --namespace=", variable("DYN_NAMESPACE", "n"))), d("frontend/module-default", "?", "frontend/module-default")},
		{"global router with an empty flag", of(container("python3 -m dynamo.global_router --namespace=", variable("DYN_NAMESPACE", "n"))), "?/argument global_router/module-default ? router/module-default"},
		{"frontend with an empty namespace", of(container("python3 -m dynamo.frontend", variable("DYN_NAMESPACE", ""))), "dynamo/module-default frontend/module-default ? frontend/module-default"},
		{"router", role("router", "--endpoint a.b.c"), "a/argument router/module-default generate/module-default router/module-default"},
		{"router with DYN_NAMESPACE", of(container("python3 -m dynamo.router --endpoint a.b.c", variable("DYN_NAMESPACE", "n"))), "n/env router/module-default generate/module-default router/module-default"},
		{"router 1.3 with DYN_NAMESPACE", at("1.3.1", container("python3 -m dynamo.router --endpoint a.b.c", variable("DYN_NAMESPACE", "n"))), "a/argument router/module-default generate/module-default router/module-default"},
		{"global router", role("global_router", "--component-name g"), d("g/argument", "?", "router/module-default")},
		{"planner", role("planner", "--config {}"), d("Planner/module-default", generate, "planner/module-default")},
		{"planner with settings", role("planner", `--config {"namespace":"n"}`), "n/argument Planner/module-default generate/module-default planner/module-default"},
		{"planner's settings beat the variable", of(container(`python3 -m dynamo.planner --config={"namespace":"n"}`, variable("DYN_NAMESPACE", "m"))), "n/argument Planner/module-default generate/module-default planner/module-default"},
		{"planner with the variable", of(container("python3 -m dynamo.planner --config {}", variable("DYN_NAMESPACE", "m"))), "m/env Planner/module-default generate/module-default planner/module-default"},
		{"planner whose settings are in a file", of(container("python3 -m dynamo.planner --config /x.yaml", variable("DYN_NAMESPACE", "m"))), "m/env Planner/module-default generate/module-default planner/module-default"},
		{"planner whose settings are hidden", of(container("python3 -m dynamo.planner --config $(C)", secret("C"))), d("Planner/module-default", generate, "planner/module-default")},
		{"planner with a part that nothing expands", role("planner", `--config {"namespace":"${NS}"}`), "?/argument Planner/module-default generate/module-default planner/module-default"},
		{"planner with a namespace that is no string", role("planner", `--config {"namespace":1}`), "?/argument Planner/module-default generate/module-default planner/module-default"},
		{"global planner has no --config", role("global_planner", `--config {"namespace":"n"}`), d("GlobalPlanner/module-default", "?", "planner/module-default")},
		{"global planner", of(container("python3 -m dynamo.global_planner", variable("DYN_NAMESPACE", "n"))), "n/env GlobalPlanner/module-default ? planner/module-default"},
		{"a client", role("common.recv_forward_pass_metrics", "--namespace a"), "dynamo/module-default ? ? ?"},
	})
}

func TestAbbreviations(t *testing.T) {
	ns := func(module, flag string) *pod.Pod {
		return of(container("python3 -m dynamo." + module + " " + flag + " a"))
	}
	runCases(t, []resolveCase{
		{"sglang", ns("sglang", "--names"), inNamespace("a/argument")},
		{"trtllm", ns("trtllm", "--nam"), inNamespace("a/argument")},
		{"ambiguous since 1.5", ns("trtllm", "--na"), inNamespace("?/argument")},
		{"but not before", of(with(container("python3 -m dynamo.trtllm --na a"), image("x:1.3.1"))), inNamespace("a/argument")},
		{"--endp is never taken for --endpoint", ns("sglang", "--endp"), plain},
		{"mocker", of(container("python3 -m dynamo.mocker --endpo dyn://a.b.c")), "a/argument b/argument c/argument worker/module-default"},
		{"frontend --namesp is ambiguous", ns("frontend", "--namesp"), "?/argument frontend/module-default ? frontend/module-default"},
		{"frontend --namespace- is the prefix", ns("frontend", "--namespace-"), "a/argument frontend/module-default ? frontend/module-default"},
	})
}

func TestLabelsComeFirst(t *testing.T) {
	vllm := func() *pod.Pod {
		return of(container("python3 -m dynamo.vllm --endpoint a.b.c --disaggregation-mode decode"))
	}
	own := func() *pod.Pod { return of(container("/app/server")) }
	runCases(t, []resolveCase{
		{"all", labelled(vllm(), wiring.LabelNamespace, "n", wiring.LabelComponent, "k", wiring.LabelComponentType, "prefill"),
			"n/label k/label c/argument prefill/label"},
		{"an empty label says nothing", labelled(vllm(), wiring.LabelNamespace, ""), "a/argument b/argument c/argument decode/argument"},
		{"a program of one's own", labelled(own(), wiring.LabelComponent, "k"), "dynamo/module-default k/label ? ?"},
		{"a program of one's own with variables", labelled(of(container("/app/server", variable("DYN_NAMESPACE", "n"), variable("DYN_COMPONENT", "k"))),
			wiring.LabelComponentType, "worker"), "n/env k/env ? worker/label"},
		{"opted out", labelled(vllm(), wiring.LabelDiscoveryEnabled, "false"), "opted-out"},
		{"opted in", labelled(own(), wiring.LabelDiscoveryEnabled, "true"), "dynamo/module-default ? ? ?"},
		{"operator's", labelled(vllm(), wiring.LabelOperatorSelector, "x"), "operator-owned"},
		{"a follower with a label", labelled(of(container("python3 -m dynamo.vllm --headless")), wiring.LabelNamespace, "n"),
			"n/label backend/module-default generate/module-default worker/module-default"},
		{"a tool with a label", labelled(of(container("python3 -m dynamo.indexer")), wiring.LabelNamespace, "n"), "n/label ? ? ?"},
	})
	annotated := own()
	annotated.Metadata.Annotations = map[string]string{wiring.AnnotationEndpoint: "serve"}
	assert.Equal(t, "n/label ? serve/annotation ?", whole(identity.Resolve(labelled(annotated, wiring.LabelNamespace, "n"), wiring.Settings{})))
}

func TestNamespaceAnnotation(t *testing.T) {
	ns := wiring.Settings{DynamoNamespace: "team"}
	resolve := func(command string, env ...pod.EnvVar) string {
		return known(identity.Resolve(of(container(command, env...)), ns).Identity.Namespace)
	}
	assert.Equal(t, "team/namespace-annotation", resolve("python3 -m dynamo.vllm"))
	assert.Equal(t, "team/namespace-annotation", resolve("python3 -m dynamo.frontend"))
	assert.Equal(t, "a/argument", resolve("python3 -m dynamo.vllm --namespace a"))
	assert.Equal(t, "a/env", resolve("python3 -m dynamo.vllm", variable("DYN_NAMESPACE", "a")))
	assert.Equal(t, "team/argument", resolve("python3 -m dynamo.vllm --endpoint $(DYN_NAMESPACE).b.c"))
	assert.Equal(t, "dynamo/module-default", resolve("python3 -m dynamo.common.backend.sample_main"), "it cannot be told")
}

func TestSeveralContainers(t *testing.T) {
	vllm, frontend := container("python3 -m dynamo.vllm"), container("python3 -m dynamo.frontend")
	resolve := func(p *pod.Pod) (string, int) {
		r := identity.Resolve(p, wiring.Settings{})
		return known(r.Identity.Role), len(r.Processes)
	}
	check := func(p *pod.Pod, role string, processes int) {
		t.Helper()
		gotRole, gotProcesses := resolve(p)
		assert.Equal(t, role, gotRole)
		assert.Equal(t, processes, gotProcesses)
	}
	check(of(frontend, vllm), "worker/module-default", 2)
	check(of(container("redis"), vllm), "worker/module-default", 1)
	check(of(container("python3 -m dynamo.router --endpoint a.b.c"), vllm), "worker/module-default", 2)

	sidecar := of(container("redis"))
	sidecar.Spec.InitContainers = []pod.Container{with(vllm, func(c *pod.Container) { c.RestartPolicy = "Always" })}
	check(sidecar, "worker/module-default", 1)
	sidecar.Spec.InitContainers[0].RestartPolicy = ""
	check(sidecar, "?", 0)
}

func TestFollowers(t *testing.T) {
	for command, want := range map[string]bool{
		"python3 -m dynamo.vllm": false, "python3 -m dynamo.vllm --node-rank 0": false, "python3 -m dynamo.vllm --node-rank 1": true,
		"python3 -m dynamo.sglang --node-rank=2": true, "python3 -m dynamo.sglang --node-rank $(LWS_WORKER_INDEX)": true,
	} {
		r := identity.Resolve(of(container(command)), wiring.Settings{})
		assert.Equal(t, want, r.Processes[0].Follower, command)
	}
	for text, want := range map[string]bool{
		`[ "$RANK" = 0 ] && exec python3 -m dynamo.vllm || ray start --block`: true, `ray start --head && python3 -m dynamo.vllm`: false,
	} {
		assert.Equal(t, want, identity.Resolve(of(script(text)), wiring.Settings{}).Processes[0].Follower, text)
	}
	// The rank of a pod of a LeaderWorkerSet is known where its label is.
	p := of(container("python3 -m dynamo.sglang --node-rank $(RANK)", field("RANK", "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']")))
	p.Metadata.Labels = map[string]string{"leaderworkerset.sigs.k8s.io/worker-index": "0"}
	assert.False(t, identity.Resolve(p, wiring.Settings{}).Processes[0].Follower)
}

func TestEnvFromHidesVariables(t *testing.T) {
	c := with(container("python3 -m dynamo.vllm --namespace $(NS)"), envFrom)
	v := identity.Resolve(of(c), wiring.Settings{}).Identity.Namespace
	assert.Equal(t, "?/argument", known(v))
	assert.Empty(t, v.Unread(), "the ConfigMap may have it")
	c = container("python3 -m dynamo.vllm --namespace $(NS)")
	assert.Equal(t, "$(NS)", identity.Resolve(of(c), wiring.Settings{}).Identity.Namespace.Unread())
}

func TestFields(t *testing.T) {
	r := identity.Resolve(of(container("redis"), container("python3 -m dynamo.vllm | --namespace a", variable("DYN_VLLM_DISAGGREGATION_MODE", "decode"))), wiring.Settings{})
	assert.Equal(t, "spec.containers[1].args", r.Identity.Namespace.Field.String())
	assert.Equal(t, "spec.template.spec.containers[1].env[DYN_VLLM_DISAGGREGATION_MODE]", r.Identity.Role.Field.In("spec.template."))
	r = identity.Resolve(of(container("python3 -m dynamo.vllm --namespace a")), wiring.Settings{DynamoNamespace: "x"})
	assert.Equal(t, "spec.containers[0].command", r.Identity.Namespace.Field.String())
	r = identity.Resolve(of(script("python3 -m dynamo.vllm --namespace a")), wiring.Settings{})
	assert.Equal(t, "spec.containers[0].args", r.Identity.Namespace.Field.String())
}

func TestReleaseOf(t *testing.T) {
	for image, want := range map[string]identity.Release{
		"nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.1": {1, 3}, "a:v1.6": {1, 6}, "a:1.5.1-cuda13": {1, 5}, "a:1.6.1@sha256:00": {1, 6},
		"a": {}, "a:latest": {}, "localhost:5000/a": {}, "a:1": {}, "a:20260101.5": {}, "a:1.x": {}, "a@sha256:1.2": {}, "a:1.6rc1": {},
	} {
		assert.Equal(t, want, identity.ReleaseOf(image), image)
	}
}
