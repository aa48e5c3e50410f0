//go:build modules

package modules_test

var frontendCases = []testCase{
	{},
	{args: "--namespace x"},
	{args: "--namespace-prefix=x"},
	{args: "--namespace- x"},
	{args: "--namesp x"},
	{args: "--namespace x --namespace-prefix y"},
	{args: "--namespace x --namespace y"},
	{env: "DYN_NAMESPACE=x"},
	{env: "DYN_NAMESPACE="},
	{env: "DYN_NAMESPACE=x", args: "--namespace y"},
	{env: "DYN_NAMESPACE=x", args: "--namespace=", differs: always("an empty --namespace means all, whatever DYN_NAMESPACE says")},
	{env: "DYN_NAMESPACE_PREFIX=x"},
	{env: "DYN_NAMESPACE_PREFIX=x", args: "--namespace-prefix="},
	{env: "DYN_NAMESPACE_PREFIX=", args: "--namespace y"},
	{env: "DYN_NAMESPACE=x DYN_NAMESPACE_WORKER_SUFFIX=s"},
	{env: "DYN_ENDPOINT=a.b.c"},
	{args: "--http-port 9000"},
	{args: "--http-port=9000 --http-port 9001"},
	{args: "--http-p 9000"},
	{env: "DYN_HTTP_PORT=9000"},
	{env: "DYN_HTTP_PORT=9000", args: "--http-port 9001"},
	{env: "DYN_HTTP_PORT="},
	{env: "DYN_HTTP_PORT=http"},
	{env: "DYN_SYSTEM_PORT=9090"},
	{args: "--http-port 0"},
	{args: "--http-port 70000"},
	{args: "--http-port -1"},
	{args: "--http-port web"},
	{args: "--kserve-grpc-server"},
	{args: "--kserve-grpc-server --grpc-metrics-port 9100"},
	{env: "DYN_KSERVE_GRPC_SERVER=true DYN_GRPC_METRICS_PORT=9100"},
	{env: "DYN_KSERVE_GRPC_SERVER=true", args: "--no-kserve-grpc-server"},
	{args: "--discovery-backend kubernetes"},
	{args: "--di mem"},
	{args: "--d mem", ends: always("ambiguous")},
	{env: "DYN_DISCOVERY_BACKEND=file"},
	{args: "--router-mode kv"},
	{args: "--no-such-flag", ends: always("an unknown flag")},
}

var targetRouterCases = []testCase{
	{args: "--endpoint a.b.c"},
	{args: "--endpoint=a.b.c"},
	{args: "--endpoint dyn://a.b.c"},
	{args: "--end a.b.c"},
	{args: "--e a.b.c", ends: only("1.6.1", "ambiguous")},
	{args: "--endpoint a.b.c --endpoint d.e.f"},
	{env: "DYN_ROUTER_ENDPOINT=a.b.c"},
	{env: "DYN_ROUTER_ENDPOINT=a.b.c", args: "--endpoint d.e.f"},
	{env: "DYN_ENDPOINT=a.b.c", ends: always("a target is required")},
	{env: "DYN_NAMESPACE=x", args: "--endpoint a.b.c"},
	{env: "DYN_NAMESPACE=", args: "--endpoint a.b.c"},
	{env: "DYN_NAMESPACE=x DYN_NAMESPACE_WORKER_SUFFIX=s", args: "--endpoint a.b.c"},
	{env: "DYN_NAMESPACE_WORKER_SUFFIX=s", args: "--endpoint a.b.c"},
	{args: "--endpoint b.c"},
	{args: "--endpoint a.b.c.d"},
	{args: "--endpoint ''"},
	{ends: always("a target is required")},
	{env: "DYN_DISCOVERY_BACKEND=kubernetes", args: "--endpoint a.b.c"},
	{args: "--discovery-backend kubernetes --endpoint a.b.c", ends: always("an unknown flag")},
	{args: "--namespace x --endpoint a.b.c", ends: always("an unknown flag")},
}

var globalRouterCases = []testCase{
	{},
	{args: "--namespace x"},
	{args: "--n x"},
	{args: "--component-name g"},
	{args: "--com g"},
	{env: "DYN_GLOBAL_ROUTER_COMPONENT_NAME=g"},
	{env: "DYN_GLOBAL_ROUTER_COMPONENT_NAME=g", args: "--component-name h"},
	{env: "DYN_COMPONENT=c"},
	{env: "DYN_NAMESPACE=x DYN_NAMESPACE_WORKER_SUFFIX=s"},
	{env: "DYN_NAMESPACE=x", args: "--namespace y"},
	{env: "DYN_NAMESPACE=x", args: "--namespace=", differs: always(emptyFlag)},
	{env: "DYN_NAMESPACE="},
	{env: "DYN_DISCOVERY_BACKEND=kubernetes"},
	{args: "--discovery-backend kubernetes", ends: always("an unknown flag")},
}

var squeezeCases = []testCase{
	{},
	{args: "--namespace x"},
	{args: "--na x"},
	{args: "--n x", ends: always("ambiguous")},
	{env: "DYN_NAMESPACE=x DYN_NAMESPACE_WORKER_SUFFIX=s"},
	{env: "DYN_NAMESPACE=x", args: "--namespace y"},
	{env: "DYN_NAMESPACE=x", args: "--namespace=", differs: always(emptyFlag)},
	{env: "DYN_NAMESPACE="},
	{env: "DYN_DISCOVERY_BACKEND=kubernetes"},
}

var namespaceEnvCases = []testCase{
	{},
	{env: "DYN_NAMESPACE=x"},
	{env: "DYN_NAMESPACE=x DYN_NAMESPACE_WORKER_SUFFIX=s DYN_ENDPOINT=a.b.c DYN_COMPONENT=c"},
	{env: "DYN_NAMESPACE="},
	{env: "DYN_DISCOVERY_BACKEND=kubernetes"},
	{args: "--namespace x", in: "1.6.1", ends: always("no such flag")},
}

var plannerCases = []testCase{
	{args: "--config {}"},
	{args: `--config {"namespace":"x"}`, differs: always(plannerConfig)},
	{args: `--config {"namespace":"x"}`, env: "DYN_NAMESPACE=y", differs: always(plannerConfig)},
	{args: "--config {}", env: "DYN_NAMESPACE=y DYN_NAMESPACE_WORKER_SUFFIX=s"},
	{args: "--c {}"},
	{args: "--config {}", env: "DYN_DISCOVERY_BACKEND=kubernetes"},
	{args: "--namespace x --config {}", ends: always("an unknown flag")},
	{ends: always("--config is required")},
}

var globalPlannerCases = []testCase{
	{env: "DYN_NAMESPACE=x"},
	{env: "DYN_NAMESPACE=x DYN_NAMESPACE_WORKER_SUFFIX=s DYN_COMPONENT=c DYN_DISCOVERY_BACKEND=kubernetes"},
	{ends: always("it needs DYN_NAMESPACE, which the mutation gives it")},
	{env: "DYN_NAMESPACE=x", args: "--namespace y", ends: always("an unknown flag")},
}
