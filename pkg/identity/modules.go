package identity

import "github.com/dynawire/dynawire/pkg/wiring"

// The rows were read in, and largely executed from, the wheels ai-dynamo and ai-dynamo-runtime 1.3.1, 1.5.1 and 1.6.1.
// Where releases differ, a row is the newest one's, and the difference is named.

// Flags that every Python worker takes (dynamo/common/configuration/groups/runtime_args.py). vLLM's parsers take no
// abbreviations; where argparse does, --na became ambiguous with --nats-tls-* in 1.5, and --endp always is with --endpoint-types.
var (
	exactFlags = []FlagName{
		{Flag: FlagNamespace, Name: "--namespace", Env: wiring.EnvNamespace, EmptyIsNone: true},
		{Flag: FlagEndpoint, Name: "--endpoint", Env: wiring.EnvEndpoint},
		{Flag: FlagBackend, Name: "--discovery-backend", Env: wiring.EnvDiscoveryBackend},
	}
	abbreviatedFlags = []FlagName{
		{Flag: FlagNamespace, Name: "--namespace", Env: wiring.EnvNamespace, EmptyIsNone: true, Shortest: "--nam", Older: "--na", Until: Release{1, 5}},
		{Flag: FlagEndpoint, Name: "--endpoint", Env: wiring.EnvEndpoint},
		{Flag: FlagBackend, Name: "--discovery-backend", Env: wiring.EnvDiscoveryBackend, Shortest: "--disc"},
	}
	sidecarFlags = []FlagName{
		{Flag: FlagNamespace, Name: "--namespace", Env: wiring.EnvNamespace},
		{Flag: FlagComponent, Name: "--component", Env: wiring.EnvComponent},
		{Flag: FlagEndpoint, Name: "--endpoint", Env: wiring.EnvEndpoint},
		{Flag: FlagBackend, Name: "--discovery-backend", Env: wiring.EnvDiscoveryBackend, From: Release{1, 6}},
		{Flag: FlagMode, Name: "--disaggregation-mode", Env: "DYN_DISAGGREGATION_MODE"},
	}
	vllmFlags = append([]FlagName{
		{Flag: FlagMode, Name: "--disaggregation-mode", Env: "DYN_VLLM_DISAGGREGATION_MODE"},
		// Gone in 1.5: the flags stop the process, the variables are ignored.
		{Flag: FlagPrefillWorker, Name: "--is-prefill-worker", Env: "DYN_VLLM_IS_PREFILL_WORKER", Switch: true},
		{Flag: FlagDecodeWorker, Name: "--is-decode-worker", Env: "DYN_VLLM_IS_DECODE_WORKER", Switch: true},
		{Flag: FlagEncodeWorker, Name: "--multimodal-encode-worker", Env: "DYN_VLLM_MULTIMODAL_ENCODE_WORKER", Switch: true},
		{Flag: FlagHeadless, Name: "--headless", Env: "DYN_VLLM_HEADLESS", Switch: true},
		{Flag: FlagNodeRank, Name: "--node-rank"},
		{Flag: FlagWorkers, Name: "--embedding-worker-processes"},
		{Flag: FlagModel, Name: "--model"},
		{Flag: FlagModelName, Name: "--served-model-name"},
	}, exactFlags...)
	omniFlags = append([]FlagName{
		{Flag: FlagStage, Name: "--stage-id"},
		{Flag: FlagOmniRouter, Name: "--omni-router", Switch: true},
		{Flag: FlagNodeRank, Name: "--data-parallel-rank"},
	}, exactFlags...)
	sglangFlags = append([]FlagName{
		{Flag: FlagMode, Name: "--disaggregation-mode", Shortest: "--disaggregation-m"},
		{Flag: FlagBackendWorker, Name: "--embedding-worker", Env: "DYN_SGL_EMBEDDING_WORKER", Switch: true},
		{Flag: FlagBackendWorker, Name: "--image-diffusion-worker", Env: "DYN_SGL_IMAGE_DIFFUSION_WORKER", Switch: true},
		{Flag: FlagBackendWorker, Name: "--video-generation-worker", Env: "DYN_SGL_VIDEO_GENERATION_WORKER", Switch: true},
		{Flag: FlagRerankWorker, Name: "--rerank-worker", Env: "DYN_SGL_RERANK_WORKER", Switch: true},
		{Flag: FlagEncodeWorker, Name: "--multimodal-encode-worker", Env: "DYN_SGL_MULTIMODAL_ENCODE_WORKER", Switch: true},
		{Flag: FlagConfig, Name: "--config"},
		{Flag: FlagConfig, Name: "--disagg-config", Env: "DYN_SGL_DISAGG_CONFIG"},
		{Flag: FlagNodeRank, Name: "--node-rank"},
		{Flag: FlagWorkers, Name: "--gateway-workers", Env: "DYN_SGL_GATEWAY_WORKERS"},
		{Flag: FlagModel, Name: "--model-path"},
		{Flag: FlagModel, Name: "--model"},
		{Flag: FlagModelName, Name: "--served-model-name"},
	}, abbreviatedFlags...)
	trtllmFlags = append([]FlagName{
		{Flag: FlagModality, Name: "--modality", Env: "DYN_TRTLLM_MODALITY", Shortest: "--moda"},
		{Flag: FlagMode, Name: "--disaggregation-mode", Env: "DYN_TRTLLM_DISAGGREGATION_MODE", Shortest: "--disag"},
		{Flag: FlagModel, Name: "--model-path", Env: "DYN_TRTLLM_MODEL"},
		{Flag: FlagModel, Name: "--model"},
		{Flag: FlagModelName, Name: "--served-model-name", Env: "DYN_TRTLLM_SERVED_MODEL_NAME"},
	}, abbreviatedFlags...)
)

var (
	vllmRoles = []RoleRule{
		{Flag: FlagEncodeWorker, EnvBefore: Release{1, 5}, Component: "encode", Mute: true},
		{Flag: FlagPrefillWorker, EnvBefore: Release{1, 5}, Component: "prefill", Role: wiring.TypePrefill},
		{Flag: FlagDecodeWorker, EnvBefore: Release{1, 5}, Role: wiring.TypeDecode},
		{Flag: FlagMode, Value: "prefill", Component: "prefill", Role: wiring.TypePrefill},
		{Flag: FlagMode, Value: "decode", Role: wiring.TypeDecode},
		{Flag: FlagMode, Value: "encode", Component: "encode", Mute: true},
	}
	sglangRoles = []RoleRule{
		{Flag: FlagBackendWorker},
		{Flag: FlagRerankWorker, From: Release{1, 6}, Component: "rerank"},
		{Flag: FlagMode, Value: "prefill", Component: "prefill", Role: wiring.TypePrefill},
		{Flag: FlagEncodeWorker, EnvBefore: Release{1, 5}, Component: "encode", Mute: true},
		{Flag: FlagMode, Value: "decode", Role: wiring.TypeDecode},
		{Flag: FlagMode, Value: "encode", Component: "encode", Mute: true},
	}
	trtllmRoles = []RoleRule{
		{Flag: FlagModality, Value: "video_diffusion", Component: "diffusion", Mute: true},
		{Flag: FlagModality, Value: "image_diffusion", Component: "diffusion", Mute: true},
		{Flag: FlagMode, Value: "prefill", Component: "prefill", Role: wiring.TypePrefill},
		{Flag: FlagMode, Value: "decode", Role: wiring.TypeDecode},
		{Flag: FlagMode, Value: "encode", Component: "encode"},
	}
	modeRoles = []RoleRule{
		{Flag: FlagMode, Value: "prefill", Component: "prefill", Role: wiring.TypePrefill},
		{Flag: FlagMode, Value: "decode", Role: wiring.TypeDecode},
	}
	// The mode of a sidecar and of the sample decides no component.
	roleAlone = []RoleRule{
		{Flag: FlagMode, Value: "prefill", Role: wiring.TypePrefill},
		{Flag: FlagMode, Value: "decode", Role: wiring.TypeDecode},
	}
)

// Endpoints beside the main one: engine routes, LoRA, and the key-value events' queries (…_dp0 in 1.3, …source_<hex> since).
var (
	kvEvents  = []string{"worker_kv_indexer_query_dp*", "worker_kv_query_source_*"}
	lora      = append([]string{"load_lora", "unload_lora", "list_loras"}, kvEvents...)
	vllmSide  = append([]string{"clear_kv_blocks", "get_perf_metrics", "rl"}, lora...)
	routerLot = []string{"best_worker_id", "get_overlap_scores", "router-discovery", "kv_indexer_query"}
)

var modules = []Module{
	worker(Module{Name: "vllm", Main: true, Syntax: FullPath, ReadyAlone: true, Flags: vllmFlags, Roles: vllmRoles, Beside: vllmSide}),
	worker(Module{Name: "vllm.unified_main", Syntax: FullPath, ReadyAlone: true, Flags: vllmFlags, Roles: vllmRoles, Beside: vllmSide}),
	worker(Module{Name: "vllm.omni", Syntax: BareName, EmptyEndpoint: true, Flags: omniFlags, Beside: lora}),
	worker(Module{Name: "vllm.unified_omni_main", Syntax: BareName, EmptyEndpoint: true, Flags: omniFlags, Beside: lora}),
	sidecar("vllm"), sidecar("sglang"), sidecar("trtllm"),
	worker(Module{Name: "sglang", Main: true, Syntax: FullPath, ReadyAlone: true, Abbreviations: true, Flags: sglangFlags, Roles: sglangRoles, Beside: vllmSide}),
	worker(Module{Name: "sglang.unified_main", Syntax: FullPath, ReadyAlone: true, Abbreviations: true, Flags: sglangFlags, Roles: sglangRoles, Beside: vllmSide}),
	worker(Module{Name: "sglang.unified_diffusion_main", Syntax: FullPath, Abbreviations: true, Flags: sglangFlags, Roles: sglangRoles, Beside: lora}),
	worker(Module{Name: "trtllm", Main: true, Syntax: FullPath, EmptyEndpoint: true, ReadyAlone: true, Abbreviations: true, Flags: trtllmFlags, Roles: trtllmRoles, Beside: kvEvents}),
	worker(Module{Name: "trtllm.unified_main", Syntax: FullPath, EmptyEndpoint: true, ReadyAlone: true, Abbreviations: true, Flags: trtllmFlags, Roles: trtllmRoles, Beside: kvEvents}),
	worker(Module{Name: "trtllm.unified_diffusion_main", Syntax: FullPath, EmptyEndpoint: true, Abbreviations: true, Flags: trtllmFlags, Roles: trtllmRoles, Beside: kvEvents}),
	tokenspeed("tokenspeed"), tokenspeed("tokenspeed.unified_main"),
	{
		Name: "triton", Main: true, Role: wiring.TypeWorker, Component: "triton", Runtime: true, Registers: true, Namespace: OwnNamespace, SystemPort: true,
		NeedsNamespace: true, Abbreviations: true, Flags: []FlagName{
			{Flag: FlagNamespace, Name: "--namespace", Env: wiring.EnvNamespace, Shortest: "--n"},
			{Flag: FlagComponent, Name: "--id", Env: "DYN_TRITON_RUNTIME_ID"},
			{Flag: FlagBackend, Name: "--discovery-backend", Env: wiring.EnvDiscoveryBackend, Shortest: "--d"},
		},
	},
	mocker("mocker"), mocker("mocker._worker"),
	// --disa became ambiguous in 1.5.
	sample("common.backend.sample_main", "--disc", FlagName{Flag: FlagMode, Name: "--disaggregation-mode", Shortest: "--disag", Older: "--disa", Until: Release{1, 5}}),
	sample("common.backend.sample_diffusion_main", "--di"),
	{
		Name: "frontend", Main: true, Role: wiring.TypeFrontend, Component: "frontend", Runtime: true, Namespace: Scope, HTTP: true, ReadyAlone: true,
		Abbreviations: true, Flags: []FlagName{
			{Flag: FlagNamespace, Name: "--namespace", Env: wiring.EnvNamespace},
			{Flag: FlagNamespacePrefix, Name: "--namespace-prefix", Env: wiring.EnvNamespacePrefix, Shortest: "--namespace-"},
			{Flag: FlagBackend, Name: "--discovery-backend", Env: wiring.EnvDiscoveryBackend, Shortest: "--di"},
			{Flag: FlagHTTPPort, Name: "--http-port", Env: wiring.EnvHTTPPort, Shortest: "--http-p"},
			{Flag: FlagGRPCServer, Name: "--kserve-grpc-server", Env: "DYN_KSERVE_GRPC_SERVER", Switch: true},
			{Flag: FlagGRPCMetricsPort, Name: "--grpc-metrics-port", Env: "DYN_GRPC_METRICS_PORT"},
			// https://docs.nvidia.com/dynamo/v1.6.0/reference/components/tls-configuration
			{Flag: FlagTLSCertificate, Name: "--tls-cert-path", Env: "DYN_TLS_CERT_PATH"},
			{Flag: FlagTLSClientCA, Name: "--tls-client-ca-cert-path", Env: "DYN_TLS_CLIENT_CA_CERT_PATH"},
			{Flag: FlagRouterMode, Name: "--router-mode", Env: "DYN_ROUTER_MODE"},
			{Flag: FlagServeIndexer, Name: "--serve-indexer", Switch: true},
		},
	},
	targetRouter(Module{Name: "router", Component: "router", Beside: routerLot}),
	targetRouter(Module{Name: "thunderagent_router", Component: "thunderagent_router", Beside: []string{"status", "metrics"}}),
	router(Module{Name: "global_router", Component: "global_router", Flags: []FlagName{
		{Flag: FlagNamespace, Name: "--namespace", Env: wiring.EnvNamespace, Shortest: "--n"},
		{Flag: FlagComponent, Name: "--component-name", Env: "DYN_GLOBAL_ROUTER_COMPONENT_NAME", Shortest: "--com"},
	}}),
	router(Module{Name: "squeeze_evolve", Component: "squeeze_evolve", Endpoint: wiring.DefaultEndpoint, Flags: []FlagName{
		{Flag: FlagNamespace, Name: "--namespace", Env: wiring.EnvNamespace, Shortest: "--na"},
	}}),
	// Their components are kv_dc_relay_<hash of the data centre> and kv_state_agent; neither serves "generate".
	router(Module{Name: "kv_dc_relay", Flags: namespaceEnv, Beside: []string{"health", "stats", "snapshot"}}),
	router(Module{Name: "kv_state_agent", Component: "kv_state_agent", Flags: namespaceEnv, Beside: []string{"control", "health"}}),
	planner(Module{Name: "planner", Component: "Planner", Endpoint: wiring.DefaultEndpoint, ConfigNamespace: true},
		FlagName{Flag: FlagConfig, Name: "--config", Shortest: "--c"}),
	planner(Module{Name: "global_planner", Component: "GlobalPlanner", NeedsNamespace: true, Beside: []string{"scale_request", "health"}}),
	// A client: its --namespace, --component and --endpoint name targets.
	{Name: "common.recv_forward_pass_metrics", Runtime: true},
	// These neither register nor discover.
	{Name: "indexer"}, {Name: "select_service"}, {Name: "slot_tracker"},
	{Name: "profiler"}, {Name: "profiler.profile_endpoint"}, {Name: "common.utils.install_media_decoders"}, {Name: "replay"},
	{Name: "triton.client"},
}

var namespaceEnv = []FlagName{{Flag: FlagNamespace, Env: wiring.EnvNamespace}}

// worker fills in what Python's workers share.
func worker(m Module) Module {
	m.Role, m.Component, m.Endpoint = wiring.TypeWorker, "backend", wiring.DefaultEndpoint
	m.Runtime, m.Registers, m.SystemPort = true, true, true
	m.Namespace, m.Suffix = OwnNamespace, AppendSuffix
	return m
}

// sidecar is the Rust process beside an engine (since 1.5): no abbreviations, the component from DYN_COMPONENT.
func sidecar(engine string) Module {
	m := worker(Module{
		Name: engine + ".sidecar", Binary: "dynamo-" + engine + "-sidecar", Syntax: BareName, EmptyEndpoint: true,
		ReadyAlone: true, Flags: sidecarFlags, Roles: roleAlone, Beside: lora, AnyName: true,
	})
	m.Suffix = EnsureSuffix
	return m
}

// tokenspeed has a prefill component since 1.6.
func tokenspeed(name string) Module {
	return worker(Module{
		Name: name, Syntax: FullPath, EmptyEndpoint: true, ReadyAlone: true, Beside: kvEvents,
		Flags: append([]FlagName{{Flag: FlagMode, Name: "--disaggregation-mode"}}, exactFlags...),
		Roles: []RoleRule{
			{Flag: FlagMode, Value: "prefill", From: Release{1, 6}, Component: "prefill", Role: wiring.TypePrefill},
			{Flag: FlagMode, Value: "prefill", Role: wiring.TypePrefill},
			{Flag: FlagMode, Value: "decode", Role: wiring.TypeDecode},
		},
	})
}

// mocker takes its namespace from DYN_NAMESPACE or from --endpoint with dyn:// in front; DYN_ENDPOINT is not read. It makes
// one path of what it has, which the runtime reads in its own way.
func mocker(name string) Module {
	return worker(Module{
		Name: name, Syntax: SchemePath, AnyName: true, Abbreviations: true, Beside: kvEvents,
		Flags: []FlagName{
			{Flag: FlagNamespace, Env: wiring.EnvNamespace},
			{Flag: FlagEndpoint, Name: "--endpoint", Shortest: "--end"},
			{Flag: FlagBackend, Name: "--discovery-backend", Env: wiring.EnvDiscoveryBackend, Shortest: "--disc"},
			{Flag: FlagMode, Name: "--disaggregation-mode", Shortest: "--disa"},
			{Flag: FlagPrefillWorker, Name: "--is-prefill-worker", Switch: true},
			{Flag: FlagDecodeWorker, Name: "--is-decode-worker", Switch: true},
			{Flag: FlagWorkers, Name: "--num-workers"},
			{Flag: FlagModel, Name: "--model-path"},
			{Flag: FlagModelName, Name: "--model-name"},
		},
		Roles: append([]RoleRule{
			{Flag: FlagPrefillWorker, Component: "prefill", Role: wiring.TypePrefill},
			{Flag: FlagDecodeWorker, Role: wiring.TypeDecode},
		}, modeRoles...),
	})
}

// sample is the demonstration backend, which reads no variable for its identity or its discovery.
func sample(name, discovery string, more ...FlagName) Module {
	m := worker(Module{
		Name: name, Syntax: AnyBareName, AnyName: true, EmptyEndpoint: true, NoBackendEnv: true, Abbreviations: true, Beside: kvEvents,
		Flags: append([]FlagName{
			{Flag: FlagNamespace, Name: "--namespace", Shortest: "--n"},
			{Flag: FlagComponent, Name: "--component", Shortest: "--c"},
			{Flag: FlagEndpoint, Name: "--endpoint"},
			{Flag: FlagBackend, Name: "--discovery-backend", Shortest: discovery},
		}, more...),
	})
	if len(more) > 0 {
		m.Roles = roleAlone
	}
	m.Component, m.Namespace, m.Suffix = "sample", FlagNamespaceOnly, NoSuffix
	return m
}

// router fills in what routers share: never ready by themselves, discovery by the variable alone, no worker suffix.
func router(m Module) Module {
	m.Role, m.Runtime, m.Registers, m.SystemPort, m.Abbreviations = wiring.TypeRouter, true, true, true, true
	if m.Namespace == NoNamespace {
		m.Namespace = OwnNamespace
	}
	m.Flags = append([]FlagName{{Flag: FlagBackend, Env: wiring.EnvDiscoveryBackend}}, m.Flags...)
	return m
}

// targetRouter is a router whose --endpoint names the workers behind it. --e became ambiguous in 1.6.
func targetRouter(m Module) Module {
	m.Endpoint, m.Namespace, m.Syntax = wiring.DefaultEndpoint, TargetNamespace, TargetPath
	m.Flags = []FlagName{
		{Flag: FlagNamespace, Env: wiring.EnvNamespace},
		{Flag: FlagEndpoint, Name: "--endpoint", Env: "DYN_ROUTER_ENDPOINT", Shortest: "--end", Older: "--e", Until: Release{1, 6}},
		{Flag: FlagServeIndexer, Name: "--serve-indexer", Switch: true},
	}
	return router(m)
}

// planner fills in what planners share: no flag for the identity, names with capitals.
func planner(m Module, more ...FlagName) Module {
	m.Role, m.Runtime, m.Registers, m.SystemPort, m.Abbreviations = wiring.TypePlanner, true, true, true, true
	m.Namespace = OwnNamespace
	m.Flags = append([]FlagName{
		{Flag: FlagNamespace, Env: wiring.EnvNamespace},
		{Flag: FlagBackend, Env: wiring.EnvDiscoveryBackend},
	}, more...)
	return m
}
