package mutate_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

type object = map[string]any

type list = []any

// container runs a command, with what else fields say.
func container(command string, fields object) object {
	c := object{"name": "main", "image": "example.com/runtime:1.6.1", "command": strings.Fields(command)}
	for key, value := range fields {
		c[key] = value
	}
	return c
}

func env(pairs ...string) object {
	vars := list{}
	for i := 0; i < len(pairs); i += 2 {
		vars = append(vars, object{"name": pairs[i], "value": pairs[i+1]})
	}
	return object{"env": vars}
}

func podOf(metadata object, containers ...any) object {
	if metadata == nil {
		metadata = object{}
	}
	return object{"metadata": metadata, "spec": object{"containers": containers, "serviceAccountName": "default", "serviceAccount": "default"}}
}

func label(pairs ...string) object {
	labels := object{}
	for i := 0; i < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	return object{"labels": labels}
}

// wired is the pod after the mutation.
func wired(t *testing.T, o object, options mutate.Options) *pod.Pod {
	t.Helper()
	data, err := json.Marshal(o)
	require.NoError(t, err)
	return decode(t, assertSettled(t, data, options))
}

func value(c pod.Container, name string) string {
	for _, v := range c.Env {
		if v.Name == name {
			if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
				return v.ValueFrom.FieldRef.FieldPath
			}
			return v.Value
		}
	}
	return "-"
}

func names(c pod.Container) string {
	all := make([]string, 0, len(c.Env))
	for _, v := range c.Env {
		all = append(all, v.Name)
	}
	return strings.Join(all, " ")
}

func TestEnvTable(t *testing.T) {
	const all = "POD_NAME POD_NAMESPACE POD_UID DYN_DISCOVERY_BACKEND "
	for _, tc := range []struct {
		name     string
		metadata object
		c        object
		want     string
	}{
		{"vllm", nil, container("python3 -m dynamo.vllm", nil), all + "DYN_NAMESPACE DYN_COMPONENT DYN_ENDPOINT DYN_SYSTEM_PORT DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"},
		{"in front of the user's", nil, container("python3 -m dynamo.vllm", env("A", "$(POD_NAME)", "DYN_SYSTEM_PORT", "9090")),
			all + "DYN_NAMESPACE DYN_COMPONENT DYN_ENDPOINT DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS A DYN_SYSTEM_PORT"},
		{"an explicit endpoint", nil, container("python3 -m dynamo.vllm --endpoint a.b.c", nil), all + "DYN_NAMESPACE DYN_COMPONENT DYN_SYSTEM_PORT DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"},
		{"an endpoint that cannot be read", nil, container("python3 -m dynamo.vllm --endpoint a.b.${C}", nil), all + "DYN_SYSTEM_PORT"},
		{"mocker has no DYN_ENDPOINT", nil, container("python3 -m dynamo.mocker", nil), all + "DYN_NAMESPACE DYN_COMPONENT DYN_SYSTEM_PORT DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"},
		{"omni takes it for a name", nil, container("python3 -m dynamo.vllm.omni", nil), all + "DYN_NAMESPACE DYN_COMPONENT DYN_SYSTEM_PORT DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"},
		{"sidecar too", nil, container("dynamo-vllm-sidecar", nil), all + "DYN_NAMESPACE DYN_COMPONENT DYN_SYSTEM_PORT DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"},
		{"triton's endpoints are not known", nil, container("python3 -m dynamo.triton", nil), all + "DYN_NAMESPACE DYN_COMPONENT DYN_SYSTEM_PORT"},
		{"router keeps its targets", nil, container("python3 -m dynamo.router --endpoint a.b.c", nil), all + "DYN_COMPONENT DYN_SYSTEM_PORT DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"},
		{"global router", nil, container("python3 -m dynamo.global_router", nil), all + "DYN_NAMESPACE DYN_COMPONENT DYN_SYSTEM_PORT"},
		{"planner", nil, container("python3 -m dynamo.planner", nil), all + "DYN_NAMESPACE DYN_COMPONENT DYN_SYSTEM_PORT"},
		{"frontend sees all", nil, container("python3 -m dynamo.frontend", nil), all + "DYN_COMPONENT"},
		{"frontend with a label", label(wiring.LabelNamespace, "a"), container("python3 -m dynamo.frontend", nil), all + "DYN_NAMESPACE DYN_COMPONENT"},
		{"frontend that is told", label(wiring.LabelNamespace, "a"), container("python3 -m dynamo.frontend --namespace a", nil), all + "DYN_COMPONENT"},
		{"headless rank", label(wiring.LabelNamespace, "a"), container("python3 -m dynamo.vllm --headless", nil), all + "DYN_NAMESPACE DYN_COMPONENT"},
		{"a rank that serves nothing", nil, container("python3 -m dynamo.sglang --node-rank 1", nil), all + "DYN_NAMESPACE DYN_COMPONENT"},
		{"a worker of one's own", label(wiring.LabelComponentType, "worker"), container("/server", nil), all + "DYN_NAMESPACE DYN_SYSTEM_PORT DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"},
		{"a router of one's own", label(wiring.LabelComponentType, "router"), container("/server", nil), all + "DYN_SYSTEM_PORT"},
		{"a frontend of one's own", label(wiring.LabelComponentType, "frontend"), container("/server", nil), all[:len(all)-1]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, names(wired(t, podOf(tc.metadata, tc.c), options).Spec.Containers[0]))
		})
	}
}

func TestEnvValues(t *testing.T) {
	first := func(metadata object, c object) pod.Container {
		return wired(t, podOf(metadata, c), options).Spec.Containers[0]
	}
	c := first(label(wiring.LabelNamespace, "team", wiring.LabelComponent, "Decode"), container("python3 -m dynamo.vllm", env("DYN_NAMESPACE_WORKER_SUFFIX", "ab")))
	assert.Equal(t, "metadata.uid", value(c, "POD_UID"))
	assert.Equal(t, "kubernetes", value(c, "DYN_DISCOVERY_BACKEND"))
	assert.Equal(t, "team", value(c, "DYN_NAMESPACE"), "the runtime appends the suffix")
	assert.Equal(t, "team-ab.Decode.generate", value(c, "DYN_ENDPOINT"), "an endpoint replaces the namespace, suffix and all")
	assert.Equal(t, "Decode", value(c, "DYN_COMPONENT"))
	assert.Equal(t, `["generate"]`, value(c, "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"))
	assert.Equal(t, "9090", value(c, "DYN_SYSTEM_PORT"))

	c = first(nil, container("python3 -m dynamo.vllm --endpoint a.b.serve", nil))
	assert.Equal(t, `["serve"]`, value(c, "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"))
	assert.Equal(t, "a", value(c, "DYN_NAMESPACE"))

	c = first(label(wiring.LabelNamespace, "x"), container("python3 -m dynamo.vllm --namespace y", nil))
	assert.Equal(t, "-", value(c, "DYN_ENDPOINT"), "nothing overrides --namespace")
	c = first(nil, object{"name": "main", "command": list{"python3", "-m", "dynamo.vllm"}, "env": list{
		object{"name": "DYN_NAMESPACE_WORKER_SUFFIX", "valueFrom": object{"secretKeyRef": object{}}}}})
	assert.Equal(t, "-", value(c, "DYN_ENDPOINT"), "the suffix is not known")
	c = first(label(wiring.LabelNamespace, "a.b"), container("python3 -m dynamo.vllm", nil))
	assert.Equal(t, "-", value(c, "DYN_ENDPOINT"), "it would have four parts")

	annotated := label(wiring.LabelComponentType, "worker")
	annotated["annotations"] = object{wiring.AnnotationEndpoint: "serve"}
	assert.Equal(t, `["serve"]`, value(first(annotated, container("/server", nil)), "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"))

	c = first(nil, container("python3 -m dynamo.vllm --endpoint $(DYN_NAMESPACE).x.y", nil))
	assert.Equal(t, "dynamo", value(c, "DYN_NAMESPACE"), "an argument may refer to what is injected")
}

func TestFrontendScope(t *testing.T) {
	frontend := container("python3 -m dynamo.frontend", nil)
	annotated := func(scope string) object {
		m := label(wiring.LabelNamespace, "team")
		m["annotations"] = object{wiring.AnnotationFrontendScope: scope}
		return m
	}
	for _, tc := range []struct {
		name              string
		metadata          object
		ns                wiring.Settings
		namespace, prefix string
	}{
		{"nobody declares one", nil, wiring.Settings{}, "-", "-"},
		{"label", label(wiring.LabelNamespace, "team"), wiring.Settings{}, "team", "-"},
		{"namespace annotation", nil, wiring.Settings{DynamoNamespace: "team"}, "team", "-"},
		{"prefix", annotated("prefix"), wiring.Settings{}, "-", "team"},
		{"all", annotated("all"), wiring.Settings{}, "-", "-"},
		{"exact over the Namespace's", annotated("exact"), wiring.Settings{FrontendScope: wiring.ScopeAll}, "team", "-"},
		{"of the Namespace", label(wiring.LabelNamespace, "team"), wiring.Settings{FrontendScope: wiring.ScopePrefix}, "-", "team"},
		{"declared without a name", nil, wiring.Settings{FrontendScope: wiring.ScopeExact}, "dynamo", "-"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := wired(t, podOf(tc.metadata, frontend), mutate.Options{Namespace: tc.ns})
			assert.Equal(t, tc.namespace, value(p.Spec.Containers[0], "DYN_NAMESPACE"))
			assert.Equal(t, tc.prefix, value(p.Spec.Containers[0], "DYN_NAMESPACE_PREFIX"))
		})
	}
	p := wired(t, podOf(nil, frontend), options)
	assert.Equal(t, "dynamo", p.Metadata.Labels[wiring.LabelNamespace])
	assert.Equal(t, "all", p.Metadata.Annotations[wiring.AnnotationFrontendScope], "the label alone would narrow it")
}

func TestLabels(t *testing.T) {
	labels := func(metadata object, c object) map[string]string {
		return wired(t, podOf(metadata, c), options).Metadata.Labels
	}
	want := map[string]string{
		wiring.LabelNamespace: "dynamo", wiring.LabelComponent: "prefill", wiring.LabelComponentType: "prefill",
		wiring.LabelDiscoveryEnabled: "true", wiring.LabelDiscoveryBackend: "kubernetes",
	}
	prefill := container("python3 -m dynamo.vllm --disaggregation-mode prefill", nil)
	assert.Equal(t, want, labels(nil, prefill))
	assert.Equal(t, want, labels(object{"labels": object{}}, prefill))
	want["app"], want[wiring.LabelComponentType] = "x", "default"
	assert.Equal(t, want, labels(label("app", "x", wiring.LabelComponentType, "default"), prefill), "what is there stays")
	unknown := labels(nil, container("python3 -m dynamo.vllm --endpoint ${NS}.b.c", nil))
	assert.NotContains(t, unknown, wiring.LabelNamespace)
	assert.NotContains(t, unknown, wiring.LabelComponent)
	assert.NotContains(t, labels(nil, container("python3 -m dynamo.vllm --namespace a@b", nil)), wiring.LabelNamespace, "no label can carry it")
	own := labels(label(wiring.LabelDiscoveryEnabled, "true"), container("/server", nil))
	assert.NotContains(t, own, wiring.LabelComponent)
	assert.NotContains(t, own, wiring.LabelComponentType)
}

func TestPortsAndProbes(t *testing.T) {
	for _, tc := range []struct {
		name     string
		metadata object
		c        object
		probe    string // path, port, period; "-" for none
		ports    string
	}{
		{"worker", nil, container("python3 -m dynamo.vllm", nil), "/health system 1", "system:9090"},
		{"frontend", nil, container("python3 -m dynamo.frontend", nil), "/health http 10", "http:8000"},
		{"frontend with a port", nil, container("python3 -m dynamo.frontend --http-port 9000", nil), "/health http 10", "http:9000"},
		{"frontend with a variable", nil, container("python3 -m dynamo.frontend", env("DYN_HTTP_PORT", "9001")), "/health http 10", "http:9001"},
		{"frontend in gRPC mode", nil, container("python3 -m dynamo.frontend --kserve-grpc-server --http-port 9000", nil), "/health http 10", "http:8788"},
		{"frontend in gRPC mode with a port", nil, container("python3 -m dynamo.frontend", env("DYN_KSERVE_GRPC_SERVER", "true", "DYN_GRPC_METRICS_PORT", "9002")), "/health http 10", "http:9002"},
		{"frontend with TLS", nil, container("python3 -m dynamo.frontend --tls-cert-path /c", nil), "HTTPS /health http 10", "http:8000"},
		{"frontend that asks for certificates", nil, container("python3 -m dynamo.frontend", env("DYN_TLS_CERT_PATH", "/c", "DYN_TLS_CLIENT_CA_CERT_PATH", "/ca")), "-", "http:8000"},
		{"frontend without TLS after all", nil, container("python3 -m dynamo.frontend", env("DYN_TLS_CERT_PATH", "")), "/health http 10", "http:8000"},
		{"its own port number", nil, container("python3 -m dynamo.vllm", env("DYN_SYSTEM_PORT", "8081")), "/health system 1", "system:8081"},
		{"port under another name", nil, container("python3 -m dynamo.vllm", object{"ports": list{object{"name": "metrics", "containerPort": 9090}}}), "/health metrics 1", "metrics:9090"},
		{"port without a name", nil, container("python3 -m dynamo.vllm", object{"ports": list{object{"containerPort": 9090}}}), "/health 9090 1", ":9090"},
		{"name of another port", nil, container("python3 -m dynamo.vllm", object{"ports": list{object{"name": "system", "containerPort": 1}}}), "/health 9090 1", "system:1"},
		{"other ports stay", nil, container("python3 -m dynamo.vllm", object{"ports": list{object{"name": "nixl", "containerPort": 19090}}}), "/health system 1", "nixl:19090 system:9090"},
		{"UDP is another port", nil, container("python3 -m dynamo.vllm", object{"ports": list{object{"name": "u", "containerPort": 9090, "protocol": "UDP"}}}), "/health system 1", "u:9090 system:9090"},
		{"a probe of the user's", nil, container("python3 -m dynamo.vllm", object{"readinessProbe": object{"tcpSocket": object{"port": 1}}}), "tcp 1 0", "system:9090"},
		{"other probes do not count", nil, container("python3 -m dynamo.vllm", object{"livenessProbe": object{"httpGet": object{"path": "/live", "port": "system"}}}), "/health system 1", "system:9090"},
		{"health elsewhere", nil, container("python3 -m dynamo.vllm", env("DYN_SYSTEM_HEALTH_PATH", "/ready")), "/ready system 1", "system:9090"},
		{"port off", nil, container("python3 -m dynamo.vllm", env("DYN_SYSTEM_PORT", "-1")), "-", ""},
		{"port random", nil, container("python3 -m dynamo.vllm", env("DYN_SYSTEM_PORT", "0")), "-", ""},
		{"port unknown", nil, container("python3 -m dynamo.vllm", env("DYN_SYSTEM_PORT", "${P}")), "-", ""},
		{"router", nil, container("python3 -m dynamo.router --endpoint a.b.c", nil), "/health system 1", "system:9090"},
		{"global router is never ready", nil, container("python3 -m dynamo.global_router", nil), "-", "system:9090"},
		{"unless the user knows its endpoints", nil, container("python3 -m dynamo.global_router", env("DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", `["x"]`)), "/health system 1", "system:9090"},
		{"triton", nil, container("python3 -m dynamo.triton", nil), "-", "system:9090"},
		{"mocker whose endpoint is unknown", nil, container("python3 -m dynamo.mocker --endpoint dyn://a.b.${C}", nil), "-", "system:9090"},
		{"vllm whose endpoint is unknown reports by itself", nil, container("python3 -m dynamo.vllm --endpoint a.b.${C}", nil), "/health system 1", "system:9090"},
		{"vllm encode does not", nil, container("python3 -m dynamo.vllm --disaggregation-mode encode --endpoint a.b.${C}", nil), "-", "system:9090"},
		{"blind by choice", nil, container("python3 -m dynamo.triton", env("DYN_SYSTEM_STARTING_HEALTH_STATUS", "ready")), "/health system 1", "system:9090"},
		{"follower", nil, container("python3 -m dynamo.sglang --node-rank 1", nil), "-", ""},
		{"perhaps a follower", nil, container("python3 -m dynamo.sglang --node-rank $(RANK)", nil), "-", "system:9090"},
		{"headless", label(wiring.LabelComponentType, "worker"), container("python3 -m dynamo.vllm --headless", nil), "-", ""},
		{"worker of one's own", label(wiring.LabelComponentType, "worker"), container("/server", nil), "/health system 1", "system:9090"},
		{"component of one's own", label(wiring.LabelComponent, "x"), container("/server", nil), "-", "system:9090"},
		{"frontend of one's own", label(wiring.LabelComponentType, "frontend"), container("/server", nil), "/health http 10", "http:8000"},
		{"frontend of one's own with health elsewhere", label(wiring.LabelComponentType, "frontend"),
			container("/server", env("DYN_HTTP_SVC_HEALTH_PATH", "/up", "DYN_SYSTEM_HEALTH_PATH", "/ready")), "/up http 10", "http:8000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := wired(t, podOf(tc.metadata, tc.c), options).Spec.Containers[0]
			assert.Equal(t, tc.probe, probeText(c.ReadinessProbe))
			ports := []string{}
			for _, p := range c.Ports {
				ports = append(ports, p.Name+":"+strconv.Itoa(int(p.ContainerPort)))
			}
			assert.Equal(t, tc.ports, strings.Join(ports, " "))
		})
	}
}

func probeText(p *pod.Probe) string {
	switch {
	case p == nil:
		return "-"
	case p.TCPSocket != nil:
		return "tcp " + p.TCPSocket.Port.String() + " " + strconv.Itoa(int(p.PeriodSeconds))
	}
	return strings.TrimSpace(p.HTTPGet.Scheme+" "+p.HTTPGet.Path) + " " + p.HTTPGet.Port.String() + " " + strconv.Itoa(int(p.PeriodSeconds))
}

func TestServiceAccount(t *testing.T) {
	mutated := func(account string, o mutate.Options, more object) *pod.Pod {
		spec := object{"containers": list{container("python3 -m dynamo.vllm", nil)}}
		if account != "" {
			spec["serviceAccountName"], spec["serviceAccount"] = account, account
		}
		for key, value := range more {
			spec[key] = value
		}
		return wired(t, object{"metadata": object{}, "spec": spec}, o)
	}
	check := func(p *pod.Pod, account, annotation string) {
		t.Helper()
		assert.Equal(t, account, p.Spec.ServiceAccountName)
		assert.Equal(t, account, p.Spec.ServiceAccount)
		assert.Equal(t, annotation, p.Metadata.Annotations[wiring.AnnotationServiceAccount])
	}
	check(mutated("default", options, nil), wiring.ServiceAccount, "")
	check(mutated("", options, nil), wiring.ServiceAccount, "")
	check(mutated("own", options, nil), "own", "own")
	check(mutated("default", mutate.Options{}, nil), "default", "default")
	check(mutated("", mutate.Options{}, nil), "", "default")
	check(mutated(wiring.ServiceAccount, options, nil), wiring.ServiceAccount, "")

	// A manifest may have the deprecated field alone.
	deprecated := mutated("", options, object{"serviceAccount": "own"})
	assert.Equal(t, []string{"", "own", "own"}, []string{deprecated.Spec.ServiceAccountName, deprecated.Spec.ServiceAccount, deprecated.Metadata.Annotations[wiring.AnnotationServiceAccount]})
	check(mutated("", options, object{"serviceAccount": "default"}), wiring.ServiceAccount, "")

	automount := func(p *pod.Pod) any {
		if p.Spec.AutomountServiceAccountToken == nil {
			return nil
		}
		return *p.Spec.AutomountServiceAccountToken
	}
	token := func(name, audience string) object {
		return object{"volumes": list{object{"name": name, "projected": object{"sources": list{object{"serviceAccountToken": object{"audience": audience}}}}}}}
	}
	assert.Equal(t, true, automount(mutated("default", options, nil)), "the account may not mount by itself")
	assert.Equal(t, false, automount(mutated("default", options, object{"automountServiceAccountToken": false})), "the user's word")
	assert.Nil(t, automount(mutated("default", options, token("kube-api-access-x", ""))), "the API server has mounted it")
	assert.Nil(t, automount(mutated("default", options, token("own", ""))))
	assert.Equal(t, true, automount(mutated("default", options, token("vault", "vault"))), "a token for somebody else")
}

// The containers of a pod share the network: in container mode each worker has a system port, a probe and a readiness of
// its own, whether or not its command is recognised.
func TestContainersInContainerMode(t *testing.T) {
	instance := func(name, command string, variables ...string) object {
		c := container(command, env(append([]string{"DYN_KUBE_DISCOVERY_MODE", "container", "CONTAINER_NAME", name}, variables...)...))
		c["name"] = name
		return c
	}
	const mocker, own, frontend = "python3 -m dynamo.mocker --model-path /m", "./worker", "python3 -m dynamo.frontend"
	worker := label("nvidia.com/dynamo-namespace", "prod", "nvidia.com/dynamo-component", "backend", "nvidia.com/dynamo-component-type", "worker")
	annotated := func(port string) object {
		m := object{"annotations": object{wiring.AnnotationSystemPort: port}}
		m["labels"] = worker["labels"]
		return m
	}
	for _, tc := range []struct {
		name     string
		metadata object
		pod      list
		ports    string // by container; "-" for none
	}{
		{"two of Dynamo's", worker, list{instance("main", mocker), instance("engine-1", mocker)}, "9090 9091"},
		{"without labels", nil, list{instance("main", mocker), instance("engine-1", mocker)}, "9090 9091"},
		{"three of the user's own", worker, list{instance("a", own), instance("b", own), instance("c", own)}, "9090 9091 9092"},
		{"a sidecar between them", worker, list{instance("a", own), container("redis", object{"name": "b"}), instance("c", own)}, "9090 - 9091"},
		{"with a frontend", worker, list{instance("f", frontend), instance("a", mocker), instance("b", mocker)}, "- 9090 9091"},
		{"the second one is told", worker, list{instance("a", mocker), instance("b", mocker, "DYN_SYSTEM_PORT", "9090")}, "9091 9090"},
		{"all are told", worker, list{instance("a", own, "DYN_SYSTEM_PORT", "7001"), instance("b", own, "DYN_SYSTEM_PORT", "7000")}, "7001 7000"},
		{"tuned", annotated("7000"), list{instance("a", mocker), instance("b", mocker)}, "7000 7001"},
		{"tuned to the last one", annotated("32767"), list{instance("a", mocker), instance("b", mocker)}, "32767 9090"},
		{"pod mode, of the user's own", worker, list{container(own, nil), container(own, object{"name": "b"})}, "9090 -"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := wired(t, podOf(tc.metadata, tc.pod...), options)
			var ports []string
			for _, c := range p.Spec.Containers {
				port := value(c, wiring.EnvSystemPort)
				ports = append(ports, port)
				if port == "-" {
					continue
				}
				require.Len(t, c.Ports, 1)
				assert.Equal(t, port, strconv.Itoa(int(c.Ports[0].ContainerPort)))
				require.NotNil(t, c.ReadinessProbe)
				assert.Equal(t, "system", c.ReadinessProbe.HTTPGet.Port.Name, "which the kubelet looks up in the container itself")
				assert.Equal(t, "metadata.name", value(c, wiring.EnvPodName))
				assert.Equal(t, "backend", value(c, wiring.EnvComponent))
				assert.Equal(t, `["generate"]`, value(c, wiring.EnvEndpointHealthStatus))
			}
			assert.Equal(t, tc.ports, strings.Join(ports, " "))
		})
	}
}

func TestTuning(t *testing.T) {
	annotated := func(pairs ...string) object { return object{"annotations": label(pairs...)["labels"]} }
	ns, warnings := wiring.SettingsOf(map[string]string{wiring.AnnotationProbePeriod: "5", wiring.AnnotationSkip: "service-account"})
	require.Empty(t, warnings)
	worker, frontend := container("python3 -m dynamo.vllm", nil), container("python3 -m dynamo.frontend", nil)
	probe := func(metadata, c object, o mutate.Options) string {
		return probeText(wired(t, podOf(metadata, c), o).Spec.Containers[0].ReadinessProbe)
	}
	assert.Equal(t, "/health system 2", probe(annotated(wiring.AnnotationProbePeriod, "2"), worker, options))
	assert.Equal(t, "/health http 2", probe(annotated(wiring.AnnotationProbePeriod, "2"), frontend, options))
	assert.Equal(t, "/health system 5", probe(nil, worker, mutate.Options{Namespace: ns}))
	assert.Equal(t, "/health system 3", probe(annotated(wiring.AnnotationProbePeriod, "3"), worker, mutate.Options{Namespace: ns}), "the pod's own comes first")
	assert.Equal(t, "-", probe(annotated(wiring.AnnotationSkip, "probe"), worker, options))
	assert.Equal(t, "/health 9090 1", probe(annotated(wiring.AnnotationSkip, "port"), worker, options))

	p := wired(t, podOf(annotated(wiring.AnnotationSystemPort, "9100"), worker), options)
	assert.Equal(t, "9100", value(p.Spec.Containers[0], "DYN_SYSTEM_PORT"))
	assert.Equal(t, []pod.Port{{Name: "system", ContainerPort: 9100, Protocol: "TCP"}}, p.Spec.Containers[0].Ports)
	p = wired(t, podOf(annotated(wiring.AnnotationSkip, " port , service-account"), worker), options)
	assert.Empty(t, p.Spec.Containers[0].Ports)
	assert.Equal(t, "default", p.Spec.ServiceAccountName)
	assert.Equal(t, "default", p.Metadata.Annotations[wiring.AnnotationServiceAccount], "somebody has to bind it")
	assert.Equal(t, "default", wired(t, podOf(nil, worker), mutate.Options{ServiceAccount: wiring.ServiceAccount, Namespace: ns}).Spec.ServiceAccountName)

	data, err := json.Marshal(podOf(annotated(wiring.AnnotationProbePeriod, "soon", wiring.AnnotationSystemPort, "40000", wiring.AnnotationSkip, "env"), worker))
	require.NoError(t, err)
	assert.Len(t, mutate.Pod(decode(t, data), options).Warnings, 3)
}

func TestSkips(t *testing.T) {
	for want, o := range map[identity.Reason]object{
		identity.NotDynamo:     podOf(nil, container("redis-server", nil)),
		identity.OptedOut:      podOf(label(wiring.LabelDiscoveryEnabled, "false", wiring.LabelNamespace, "x"), container("python3 -m dynamo.vllm", nil)),
		identity.OperatorOwned: podOf(label(wiring.LabelGraphDeployment, "x"), container("python3 -m dynamo.vllm", nil)),
	} {
		data, err := json.Marshal(o)
		require.NoError(t, err)
		assert.Equal(t, mutate.Result{Reason: want}, mutate.Pod(decode(t, data), options))
	}
}

func TestSidecarsAndSeveralContainers(t *testing.T) {
	spec := object{
		"initContainers": list{container("prepare", nil), container("dynamo-vllm-sidecar", object{"restartPolicy": "Always"})},
		"containers":     list{container("vllm-rs serve", nil), container("python3 -m dynamo.frontend", nil)},
	}
	p := wired(t, object{"metadata": label(wiring.LabelNamespace, "n"), "spec": spec}, options)
	assert.Equal(t, "worker", p.Metadata.Labels[wiring.LabelComponentType])
	assert.Empty(t, p.Spec.InitContainers[0].Env)
	assert.Equal(t, "/health system 1", probeText(p.Spec.InitContainers[1].ReadinessProbe))
	assert.Empty(t, p.Spec.Containers[0].Env)
	assert.Equal(t, "/health http 10", probeText(p.Spec.Containers[1].ReadinessProbe))
	assert.Equal(t, "frontend", value(p.Spec.Containers[1], "DYN_COMPONENT"))
}

// A frontend's Service targets the port by its name.
func TestFrontendPortGetsItsName(t *testing.T) {
	for name, tc := range map[string]struct {
		ports list
		want  []pod.Port
	}{
		"without a name": {
			list{object{"containerPort": 9000}, object{"containerPort": 8000}},
			[]pod.Port{{ContainerPort: 9000}, {ContainerPort: 8000, Name: "http"}},
		},
		"with a name of its own": {
			list{object{"containerPort": 8000, "name": "web"}},
			[]pod.Port{{ContainerPort: 8000, Name: "web"}},
		},
		"where the name is another port's": {
			list{object{"containerPort": 8000}, object{"containerPort": 80, "name": "http"}},
			[]pod.Port{{ContainerPort: 8000}, {ContainerPort: 80, Name: "http"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := wired(t, podOf(nil, container("python3 -m dynamo.frontend", object{"ports": tc.ports})), mutate.Options{})
			assert.Equal(t, tc.want, p.Spec.Containers[0].Ports)
		})
	}
}

// Whatever a pod leaves out or has as null is there after the patch, whose every path has its parent.
func TestAbsentParents(t *testing.T) {
	const containers = `"spec":{"containers":[{"name":"c","command":["python3","-m","dynamo.vllm"]%s}]}`
	frontend := strings.Replace(containers, "vllm", "frontend", 1)
	for name, c := range map[string]struct {
		metadata, fields, spec string
		first                  string // the paths that begin with the first missing parent
	}{
		"no metadata":             {"", "", containers, "/metadata"},
		"metadata null":           {`"metadata":null,`, "", containers, "/metadata"},
		"metadata empty":          {`"metadata":{},`, "", containers, "/metadata/labels"},
		"labels null":             {`"metadata":{"labels":null,"futureField":1},`, "", containers, "/metadata/labels"},
		"labels empty":            {`"metadata":{"labels":{}},`, "", containers, "/metadata/labels/nvidia.com~1dynamo-namespace"},
		"no metadata, frontend":   {"", "", frontend, "/metadata"},
		"no annotations":          {`"metadata":{"labels":{}},`, "", frontend, "/metadata/labels/nvidia.com~1dynamo-namespace"},
		"annotations null":        {`"metadata":{"annotations":null},`, "", frontend, "/metadata/labels"},
		"env and ports null":      {`"metadata":{},`, `,"env":null,"ports":null,"readinessProbe":null`, containers, "/metadata/labels"},
		"env and ports empty":     {`"metadata":{},`, `,"env":[],"ports":[]`, containers, "/metadata/labels"},
		"env of names and future": {`"metadata":{},`, `,"env":[{"name":"A","futureField":1}],"futureField":{}`, containers, "/metadata/labels"},
	} {
		t.Run(name, func(t *testing.T) {
			data := []byte("{" + c.metadata + strings.Replace(c.spec, "%s", c.fields, 1) + "}")
			r := mutate.Pod(decode(t, data), mutate.Options{})
			require.NotEmpty(t, r.Patch)
			assert.Equal(t, c.first, r.Patch[0].Path)
			after := decode(t, assertSettled(t, data, mutate.Options{}))
			assert.Equal(t, "true", after.Metadata.Labels[wiring.LabelDiscoveryEnabled])
			if strings.Contains(c.spec, "frontend") {
				assert.Equal(t, "all", after.Metadata.Annotations[wiring.AnnotationFrontendScope])
			}
			main := after.Spec.Containers[0]
			assert.NotEmpty(t, main.Env)
			assert.NotEmpty(t, main.Ports)
			assert.NotNil(t, main.ReadinessProbe)
		})
	}
}
