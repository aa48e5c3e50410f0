//go:build modules

package modules_test

var modules = []module{
	{name: "vllm", cases: join(workerCases, exactCases, vllmRoles)},
	{name: "vllm.omni", cases: omniCases},
	{name: "sglang", cases: join(workerCases, abbreviatedCases, dottedCases, sglangRoles)},
	{name: "trtllm", cases: join(workerCases, abbreviatedCases, dottedCases, trtllmRoles)},
	{name: "tokenspeed", cases: join(workerCases, exactCases, dottedCases, tokenspeedRoles)},
	{name: "triton", always: "--model-repository /models", cases: tritonCases},
	{name: "mocker", cases: mockerCases},
	{name: "common.backend.sample_main", cases: join(sampleCases, sampleModes)},
	{name: "common.backend.sample_diffusion_main", cases: sampleCases},
	{name: "frontend", cases: frontendCases},
	{name: "router", cases: targetRouterCases},
	{name: "thunderagent_router", cases: targetRouterCases},
	{name: "global_router", always: "--config /etc/pools.json --model-name m", cases: globalRouterCases},
	{name: "squeeze_evolve", always: `--model-name m --tiers [{"model":"m","endpoint":"a.b.c"}]`, cases: squeezeCases},
	{name: "kv_state_agent", cases: namespaceEnvCases},
	{name: "kv_dc_relay", always: "--dc-id a --namespace-filter a", cases: namespaceEnvCases},
	{name: "planner", cases: plannerCases},
	{name: "global_planner", cases: globalPlannerCases},
}

// notAsked are the rows of the table that nothing here checks, and why.
var notAsked = map[string]string{
	"vllm.unified_main":                   "1.3 only; it takes vllm's parser and starts its engine around it",
	"vllm.unified_omni_main":              "1.3 only; it takes vllm.omni's parser and starts its engine around it",
	"sglang.unified_main":                 "1.3 only; it takes sglang's parser and starts its engine around it",
	"sglang.unified_diffusion_main":       "1.3 only; it takes sglang's parser and starts its engine around it",
	"trtllm.unified_main":                 "1.3 only; it takes trtllm's parser and starts its engine around it",
	"trtllm.unified_diffusion_main":       "1.3 only; it takes trtllm's parser and starts its engine around it",
	"tokenspeed.unified_main":             "it takes tokenspeed's parser and starts its engine around it",
	"mocker._worker":                      "1.5 only; another name of mocker",
	"common.recv_forward_pass_metrics":    "a client, which registers nothing",
	"indexer":                             nothing,
	"select_service":                      nothing,
	"slot_tracker":                        nothing,
	"profiler":                            nothing,
	"profiler.profile_endpoint":           nothing,
	"common.utils.install_media_decoders": nothing,
	"replay":                              nothing,
	"triton.client":                       nothing,
}

const nothing = "it neither registers nor discovers"

// gone says that a flag, a value or a variable was taken away.
const gone = "gone since 1.5"
