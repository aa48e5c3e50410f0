package identitytest

import (
	"encoding/json"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/dynawire/dynawire/pkg/wiring"
)

type object = map[string]any

// Pods draws the JSON of pods: Dynamo's and others, half wired, contradictory, with fields that no API has.
func Pods() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		spec := object{"containers": containers(t, "containers", 1), "futureField": object{"x": 1}}
		if rapid.Bool().Draw(t, "has init containers") {
			spec["initContainers"] = containers(t, "initContainers", 0)
		}
		maybe(t, spec, "serviceAccountName", "default", "own", wiring.ServiceAccount)
		if name, ok := spec["serviceAccountName"]; ok {
			maybe(t, spec, "serviceAccount", name)
		} else {
			maybe(t, spec, "serviceAccount", "default", "own", wiring.ServiceAccount)
		}
		maybe(t, spec, "automountServiceAccountToken", true, false)
		maybe(t, spec, "volumes", []any{object{"name": "kube-api-access-x", "projected": object{"sources": []any{
			object{"serviceAccountToken": object{"path": "token"}}}}}}, []any{}, nil)
		metadata := object{"generateName": "pod-"}
		maybe(t, metadata, "namespace", "llm")
		maybe(t, metadata, "labels", nil, labels(t), labels(t), labels(t), object{"app": "x"})
		maybe(t, metadata, "annotations", nil, object{}, object{wiring.AnnotationFrontendScope: "prefix"},
			object{wiring.AnnotationEndpoint: "serve", wiring.AnnotationServiceAccount: "stale", "other": "y"})
		pod := object{"kind": "Pod", "spec": spec, "status": object{}}
		maybe(t, pod, "metadata", nil, object{}, metadata, metadata, metadata, metadata)
		data, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	})
}

// Workloads draws the JSON of pods and of objects that make such pods.
func Workloads() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var pod object
		if err := json.Unmarshal([]byte(Pods().Draw(t, "pod")), &pod); err != nil {
			t.Fatal(err)
		}
		template := object{"spec": pod["spec"]}
		if metadata, ok := pod["metadata"]; ok {
			template["metadata"] = metadata
		}
		workload := rapid.SampledFrom([]object{
			pod,
			{"apiVersion": "apps/v1", "kind": "Deployment", "spec": object{"template": template, "replicas": 2}},
			{"apiVersion": "batch/v1", "kind": "CronJob", "spec": object{"jobTemplate": object{"spec": object{"template": template}}}},
			{"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "spec": object{"leaderWorkerTemplate": object{"leaderTemplate": template, "workerTemplate": template}}},
			{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": object{"replicatedJobs": []any{object{"template": object{"spec": object{"template": template}}}}}},
			{"apiVersion": "v1", "kind": "List", "items": []any{pod, object{"kind": "ConfigMap", "data": object{"on": "yes"}}}},
		}).Draw(t, "workload")
		data, err := json.Marshal(workload)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	})
}

func maybe(t *rapid.T, o object, key string, values ...any) {
	if i := rapid.IntRange(-1, len(values)-1).Draw(t, key); i >= 0 {
		o[key] = values[i]
	}
}

func labels(t *rapid.T) object {
	l := object{}
	maybe(t, l, wiring.LabelNamespace, "dynamo", "team-a", "", "a.b")
	maybe(t, l, wiring.LabelComponent, "backend", "prefill", "VllmDecode", "frontend", "")
	maybe(t, l, wiring.LabelComponentType, "worker", "prefill", "frontend", "router", "default")
	maybe(t, l, wiring.LabelDiscoveryEnabled, "true", "true", "true", "no")
	maybe(t, l, wiring.LabelDiscoveryBackend, "kubernetes", "etcd")
	maybe(t, l, "team", "blue")
	return l
}

func containers(t *rapid.T, label string, least int) []any {
	n := rapid.IntRange(least, 3).Draw(t, label)
	list := make([]any, 0, n)
	for i := range n {
		c := object{"name": label[:1] + strconv.Itoa(i), "image": rapid.SampledFrom([]string{"a", "a:1.3.1", "a:1.5.1", "a:1.6.1"}).Draw(t, "image")}
		command(t, c)
		maybe(t, c, "env", nil, []any{}, variables(t), variables(t), variables(t))
		maybe(t, c, "envFrom", []any{object{"configMapRef": object{"name": "x"}}}, []any{object{"secretRef": object{"name": "x"}}})
		maybe(t, c, "ports", nil, []any{}, []any{object{"name": "system", "containerPort": 9090}}, []any{object{"containerPort": 9090}},
			[]any{object{"name": "system", "containerPort": 8081}, object{"name": "http", "containerPort": 9000, "futureField": 1}},
			[]any{object{"name": "web", "containerPort": 8000, "protocol": "TCP"}, object{"name": "u", "containerPort": 9090, "protocol": "UDP"}})
		for _, name := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
			maybe(t, c, name, nil, nil, nil, object{"httpGet": object{"path": "/health", "port": 9090}}, object{"httpGet": object{"path": "/live", "port": "system"}},
				object{"tcpSocket": object{"port": 1}}, object{"exec": object{"command": []any{"x"}}}, object{"httpGet": object{"port": "http"}})
		}
		maybe(t, c, "restartPolicy", "Always")
		list = append(list, c)
	}
	return list
}

var (
	programs = []string{
		"python3 -m dynamo.vllm", "python3 -m dynamo.sglang", "python3 -m dynamo.trtllm", "python3 -m dynamo.mocker",
		"python3 -m dynamo.frontend", "python3 -m dynamo.frontend", "python3 -m dynamo.router", "python3 -m dynamo.global_router",
		"python3 -m dynamo.planner", "dynamo-vllm-sidecar", "python3 -m dynamo.vllm.omni", "python3 -m dynamo.triton",
		"python3 -m dynamo.common.backend.sample_main", "python3 -m dynamo.indexer", "/app/server", "redis",
	}
	flags = []string{
		"--namespace", "--namespace=team-b", "--endpoint", "--endpoint=dyn://team-a.backend.generate", "--namespace-prefix", "--names",
		"--disaggregation-mode=prefill", "--disaggregation-mode", "--is-prefill-worker", "--headless", "--node-rank=1", "--node-rank",
		"--discovery-backend=etcd", "--discovery-backend", "--http-port=9000", "--config", "--kserve-grpc-server", "--component", "--",
		"--num-workers=2", "--names", "--end=x",
	}
	values = []string{
		"team-a", "dyn://team-a.backend.generate", "team-b.x.serve", "a.b", "", "$(A)", "$(DYN_NAMESPACE)", "$(POD_NAMESPACE)", "${A}", "$A",
		"dyn://$(DYN_NAMESPACE).b.c", "kubernetes", "prefill", "serve", "9090", "-1", "0", "container", "ready", `["generate"]`, "40000", "a b", "é", "x$(", strange,
	}
	variableNames = []string{
		"A", "B", "DYN_NAMESPACE", "DYN_NAMESPACE", "DYN_ENDPOINT", "DYN_COMPONENT", "DYN_NAMESPACE_WORKER_SUFFIX", "DYN_NAMESPACE_PREFIX", "DYN_SYSTEM_PORT",
		"DYN_DISCOVERY_BACKEND", "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", "POD_NAME", "DYN_HTTP_PORT", "DYN_VLLM_IS_PREFILL_WORKER",
		"DYN_KUBE_DISCOVERY_MODE", "CONTAINER_NAME", "POD_UID", "DYNAMO_NAMESPACE",
		"DYN_VLLM_DISAGGREGATION_MODE", "DYN_SYSTEM_HEALTH_PATH", "DYN_ROUTER_ENDPOINT", "DYN_SYSTEM_STARTING_HEALTH_STATUS",
	}
)

// strange is nothing that a name should be.
const strange = "\"\\\x01/~#"

func command(t *rapid.T, c object) {
	words := strings.Fields(rapid.SampledFrom(programs).Draw(t, "program"))
	for range rapid.IntRange(0, 4).Draw(t, "flags") {
		words = append(words, rapid.SampledFrom(flags).Draw(t, "flag"))
		if rapid.Bool().Draw(t, "with value") {
			words = append(words, rapid.SampledFrom(values).Draw(t, "value"))
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "in a shell") == 0 {
		text := strings.Join(words, " ")
		c["command"] = []any{"/bin/sh", "-c", rapid.SampledFrom([]string{"", "exec ", "export DYN_NAMESPACE=team-c; ", "a && ", "[ x ] && "}).Draw(t, "before") + text}
		maybe(t, c, "args", []any{"sh", "--namespace", "team-d"})
		return
	}
	at := rapid.IntRange(0, len(words)).Draw(t, "split")
	c["command"], c["args"] = words[:at], words[at:]
}

func variables(t *rapid.T) []any {
	n := rapid.IntRange(1, 5).Draw(t, "variables")
	list := make([]any, 0, n)
	for range n {
		v := object{"name": rapid.SampledFrom(variableNames).Draw(t, "name"), "futureField": true}
		switch rapid.IntRange(0, 5).Draw(t, "source") {
		case 0:
			v["valueFrom"] = object{"secretKeyRef": object{"name": "s", "key": "k"}}
		case 1:
			v["valueFrom"] = object{"fieldRef": object{"fieldPath": rapid.SampledFrom([]string{
				"metadata.name", "metadata.namespace", "metadata.labels['" + wiring.LabelNamespace + "']", "metadata.labels['" + wiring.LabelComponent + "']",
				"metadata.labels['team']", "spec.nodeName", "spec.serviceAccountName",
			}).Draw(t, "field")}}
		default:
			v["value"] = rapid.SampledFrom(values).Draw(t, "value")
		}
		list = append(list, v)
	}
	return list
}
