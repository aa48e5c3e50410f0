"""Asks one module of Dynamo's what command lines and environments resolve to.

In: {"module": "mocker", "cases": [{"args": [...], "env": {...}}]} on stdin.
Out: {"skip": why} or {"answers": [{...}]} on stdout, an answer for each case: what the module made of it, or
{"stopped": why} where the process ends instead.

The module's own code runs up to the point where it would start its runtime; only what needs a network, a cluster or an
engine is replaced. Each case runs in a child of its own, because some modules read the environment while being imported.
"""

import argparse
import asyncio
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import runpy
import signal
import sys
import types
from unittest import mock

SECONDS = 60  # a case that takes longer hangs

# Engines and what comes with them. None of these is installed beside Dynamo.
ENGINES = {
    "vllm", "vllm_omni", "tensorrt_llm", "torch", "PIL", "httpx", "diffusers", "blake3", "torchvision", "soundfile", "sglang", "tokenspeed", "tritonserver", "tritonclient",
    # What the planner calculates with.
    "sklearn", "aisimulate", "aisimulate_core", "aiconfigurator", "aiconfigurator_core",
    "prophet", "pmdarima", "filterpy", "scipy", "pandas", "plotly", "matplotlib", "prometheus_api_client",
}  # fmt: skip


class Hollow(type):
    """A class that has whatever it is asked for."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return mock.MagicMock(name=f"{cls.__name__}.{name}")


class Stub(types.ModuleType):
    """A module in which everything exists and does nothing."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = mock.MagicMock(name=f"{self.__name__}.{name}")
        if name[:1].isupper():  # a class may be inherited from, or stand in an annotation
            value = Hollow(name, (), {"__init__": lambda self, *a, **k: None})
        setattr(self, name, value)
        return value


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ENGINES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module):
        pass


class Quiet:
    """Parsed engine arguments; what was not asked for is None."""

    def __init__(self, parsed):
        self.__dict__.update(vars(parsed))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class EngineArgs:
    """The engine's own flags, as far as they matter to who a worker is."""

    @staticmethod
    def add_cli_args(parser, **_):
        parser.add_argument("--model", "--model-path", dest="model_path", default="some/model")
        parser.add_argument("--served-model-name", nargs="+")
        parser.add_argument("--disaggregation-mode", choices=["null", "prefill", "decode"], default="null")
        parser.add_argument("--config")
        # Read by SGLang's worker before it has its endpoint.
        parser.set_defaults(elastic_ep_backend=None, enable_dp_attention=False, dp_size=1)
        parser.set_defaults(disable_radix_cache=False, chunked_prefill_size=-1)
        # TokenSpeed takes no other backend.
        parser.set_defaults(disaggregation_transfer_backend="mooncake", block_size=64, prefix_granularity=64)
        return parser

    @classmethod
    def from_cli_args(cls, parsed):
        return Quiet(parsed)


class VllmArgs(EngineArgs):
    @staticmethod
    def add_cli_args(parser, **_):
        parser.add_argument("--model", default="some/model")
        parser.add_argument("--served-model-name", nargs="+")
        parser.add_argument("--kv-transfer-config", type=lambda text: Quiet(argparse.Namespace(**json.loads(text))))
        parser.add_argument("--data-parallel-size", type=int, default=1)
        parser.add_argument("--node-rank", type=int, default=0)
        parser.add_argument("--stream-interval", type=int, default=1)
        parser.set_defaults(enable_lora=False)
        return parser


def stop_with_reason(parser, message):
    """In place of argparse's error(), whose message goes to stderr alone."""
    raise SystemExit(f"2, {message}")


class ExactParser(argparse.ArgumentParser):
    """vLLM's FlexibleArgumentParser takes no abbreviations either."""

    def __init__(self, *args, **kwargs):
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)


answer = {}
report_to = -1


def report(**more):
    """Ends the child with what is known."""
    answer.update(more)
    with os.fdopen(report_to, "w") as out:
        json.dump(answer, out)
    os._exit(0)


class Endpoint:
    def __init__(self, path):
        self.path = path

    def serve_endpoint(self, *_, **__):
        answer.setdefault("serves", []).append(self.path)
        return self.served()

    async def served(self):
        await asyncio.sleep(0)
        report()

    async def client(self, *_, **__):
        return mock.MagicMock()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return mock.MagicMock(name=name)


class Runtime:
    def __init__(self, loop, backend, *_, **__):
        answer["backend"] = backend

    def endpoint(self, path):
        # The runtime's own rule, and its only one.
        if len(path.removeprefix("dyn://").split(".")) != 3:
            raise ValueError(f"Invalid endpoint path {path!r}")
        return Endpoint(path.removeprefix("dyn://"))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return mock.MagicMock(name=name)


class Lazy(mock.MagicMock):
    """Something with a life of its own: every method can be awaited."""

    def _get_child_mock(self, **kwargs):
        return mock.AsyncMock(**kwargs)


class GlobalRouterHandler:
    """The real one reads its pools from a file, and which of its endpoints there are."""

    def __init__(self, *_, **__):
        self.config = types.SimpleNamespace(mode="agg")

    async def initialize(self):
        pass

    def get_pool_info(self):
        return {}

    async def handle_generate(self, request):
        yield request


def endpoint_id(path):
    """The path as the runtime reads it (EndpointId): dots or slashes, and what is more than three parts in the last."""
    parts = [part for part in path.removeprefix("dyn://").strip(" /.").replace("/", ".").split(".") if part]
    if len(parts) < 3:
        return ".".join({0: ["NS", "C", "E"], 1: ["NS", *parts, "E"], 2: [*parts, "E"]}[len(parts)])
    return ".".join([*parts[:2], "_".join(parts[2:])])


def replace_runtime():
    """Puts the recorder in place of all that starts something."""
    core = importlib.import_module("dynamo._core")
    core.DistributedRuntime = Runtime
    importlib.import_module("dynamo.runtime").DistributedRuntime = Runtime
    llm = importlib.import_module("dynamo.llm")
    real = llm.EntrypointArgs

    def entrypoint(engine_type, **kwargs):
        keep = ("http_port", "http_metrics_port", "namespace", "namespace_prefix")
        answer.update({k: kwargs[k] for k in keep if kwargs.get(k) is not None})
        for mode in ("prefill", "decode"):
            if kwargs.get(f"is_{mode}"):
                answer["mode"] = mode
        return real(engine_type, **kwargs)  # which checks what Python does not

    async def make_engine(*_):
        return None

    def run_input(runtime, where, *_):
        if where in ("http", "grpc", "text"):
            report()
        if not where.startswith("dyn://"):
            raise ValueError(f"Invalid in= option: {where}")
        report(serves=[endpoint_id(where)])

    async def nothing(*_, **__):
        return None

    llm.EntrypointArgs, llm.make_engine, llm.run_input = entrypoint, make_engine, run_input
    for name in ("register_model", "register_llm", "fetch_model", "fetch_llm"):
        if hasattr(llm, name):
            setattr(llm, name, nothing)
    for name in ("KvRouter", "KvStateAgentHost", "KvDcRelay", "FpmEventSubscriber"):
        if hasattr(llm, name):
            setattr(llm, name, mock.MagicMock(side_effect=lambda *_, **__: Lazy()))


def replace(module, name, value):
    setattr(importlib.import_module(module), name, value)


def run_main(name):
    """python -m, up to where the runtime would start."""
    runpy.run_module(f"dynamo.{name}", run_name="__main__", alter_sys=True)


def run_planner(name):
    try:
        replace("dynamo.planner.core.planner_factory", "construct_planner", lambda **_: Lazy())
    except ModuleNotFoundError:  # before 1.5
        for mode in ("Agg", "Decode", "Disagg", "Prefill"):
            replace("dynamo.planner.core.adapters", f"{mode}Planner", lambda *_, **__: Lazy())
    run_main(name)


def run_global_planner(name):
    replace("dynamo.global_planner.scale_handler", "ScaleRequestHandler", mock.MagicMock())
    run_main(name)


def run_global_router(name):
    replace("dynamo.global_router.handler", "GlobalRouterHandler", GlobalRouterHandler)
    run_main(name)


def run_squeeze_evolve(name):
    replace("dynamo.squeeze_evolve.orchestrator", "SqueezeEvolveOrchestrator", mock.MagicMock())
    run_main(name)


def worker(config, mode=None):
    mode = getattr(mode, "value", mode)
    report(
        namespace=config.namespace,
        component=config.component,
        endpoint=config.endpoint,
        backend=config.discovery_backend,
        mode=None if mode is None else str(mode),
    )


def as_path(*names):
    """As the mains do: the runtime takes a path, and reads the names anew."""
    Runtime(None, answer.get("backend")).endpoint(".".join(names))


def run_sample(name):
    what = name.rpartition(".")[2].removesuffix("_main")
    module = importlib.import_module(f"dynamo.common.backend.{what}_engine")
    engine = module.SampleLLMEngine if what == "sample" else module.SampleDiffusionEngine
    _, config = asyncio.run(engine.from_args(None))
    worker(config, config.disaggregation_mode if hasattr(config, "disaggregation_mode") else None)


def run_vllm(_):
    config = importlib.import_module("dynamo.vllm.args").parse_args()
    answer["headless"] = bool(config.headless)
    if not config.headless:
        as_path(config.namespace, config.component, config.endpoint)
    worker(config, config.disaggregation_mode)


def run_omni(_):
    config = importlib.import_module("dynamo.vllm.omni.args").parse_omni_args()
    as_path(config.namespace, config.component, config.endpoint)  # the endpoint is a name and not a path
    worker(config)


def run_trtllm(_):
    config = importlib.import_module("dynamo.trtllm.args").parse_args()
    # As its diffusion workers register (workers/*_diffusion_worker.py): they have no phases.
    diffusion = config.modality.is_diffusion(config.modality)
    worker(config, "agg" if diffusion else config.disaggregation_mode)


def run_tokenspeed(_):
    config = importlib.import_module("dynamo.tokenspeed.args").parse_args()
    worker(config, config.server_args.disaggregation_mode)


def run_sglang(_):
    args = importlib.import_module("dynamo.sglang.args")
    seen = {}
    # What follows the endpoint in parse_args belongs to the engine: stop where the path is read.
    parse = args.parse_endpoint

    def parse_endpoint(path):
        frame = sys._getframe(1).f_locals
        config, parsed = frame["dynamo_config"], frame["parsed_args"]
        seen["namespace"], seen["component"], seen["endpoint"] = parse(path)
        # As its main does: these start workers that register as aggregated (init_embedding.py, init_diffusion.py).
        whole = ("embedding_worker", "rerank_worker", "image_diffusion_worker", "video_generation_worker")
        mode = "agg" if any(getattr(config, name, False) for name in whole) else parsed.disaggregation_mode
        report(backend=config.discovery_backend, mode=mode, **seen)

    args.parse_endpoint = parse_endpoint
    asyncio.run(args.parse_args(sys.argv[1:]))


def run_triton(_):
    config = importlib.import_module("dynamo.triton.backend_args").parse_args(sys.argv[1:])
    as_path(config.namespace, config.server_id, "some_model")
    report(namespace=config.namespace, component=config.server_id, backend=config.discovery_backend)


# How to run a module, and what importing it needs before the children are made.
MODULES = {
    "mocker": (run_main, "dynamo.mocker.main"),
    "frontend": (run_main, "dynamo.frontend.main"),
    "router": (run_main, "dynamo.router.__main__"),
    "thunderagent_router": (run_main, "dynamo.thunderagent_router.__main__"),
    "global_router": (run_global_router, "dynamo.global_router.__main__"),
    "squeeze_evolve": (run_squeeze_evolve, "dynamo.squeeze_evolve.__main__"),
    "kv_state_agent": (run_main, "dynamo.kv_state_agent.__main__"),
    "kv_dc_relay": (run_main, "dynamo.kv_dc_relay.__main__"),
    "planner": (run_planner, "dynamo.planner.__main__"),
    "global_planner": (run_global_planner, "dynamo.global_planner.__main__"),
    "common.backend.sample_main": (run_sample, "dynamo.common.backend.sample_engine"),
    "common.backend.sample_diffusion_main": (run_sample, "dynamo.common.backend.sample_diffusion_engine"),
    "vllm": (run_vllm, "dynamo.vllm.args"),
    "vllm.omni": (run_omni, "dynamo.vllm.omni.args"),
    "sglang": (run_sglang, "dynamo.sglang.args"),
    "trtllm": (run_trtllm, "dynamo.trtllm.args"),
    "tokenspeed": (run_tokenspeed, "dynamo.tokenspeed.args"),
    "triton": (run_triton, "dynamo.triton.backend_args"),
}


def stub_engines():
    sys.meta_path.append(Stubs())
    argparse.ArgumentParser.error = stop_with_reason
    for module, name, value in (
        ("vllm.engine.arg_utils", "AsyncEngineArgs", VllmArgs),
        ("vllm.utils", "FlexibleArgumentParser", ExactParser),
        ("vllm.utils.argparse_utils", "FlexibleArgumentParser", ExactParser),
        ("vllm.transformers_utils.repo_utils", "get_model_path", lambda model, _: model),
        ("vllm_omni.engine.arg_utils", "OmniEngineArgs", VllmArgs),
        ("sglang.srt.server_args", "ServerArgs", EngineArgs),
        ("tokenspeed.runtime.utils.server_args", "ServerArgs", EngineArgs),
    ):
        replace(module, name, value)


def child(module, run, case, write_to):
    """One case, in a process of its own, as if it had just been started with this environment."""
    global report_to
    report_to = write_to
    home = {k: os.environ[k] for k in ("HOME", "PATH", "PYTHONPATH", "TMPDIR", "HF_HUB_OFFLINE") if k in os.environ}
    os.environ.clear()
    os.environ.update(home)
    os.environ.update(case.get("env") or {})
    sys.argv = [f"python -m dynamo.{module}", *(case.get("args") or [])]
    for name in list(sys.modules):  # so that what reads the environment while it is imported reads this one
        if name.startswith(f"dynamo.{module.partition('.')[0]}.") and not name.startswith("dynamo.common"):
            del sys.modules[name]
    signal.alarm(SECONDS)
    try:
        run(module)
    except SystemExit as e:
        report(stopped=f"exit {e.code}")
    except BaseException as e:  # the process would end with it
        report(stopped=f"{type(e).__name__}: {e}"[:300])
    report(stopped="it ended without serving")


def ask(module, run, case):
    read_from, write_to = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_from)
        child(module, run, case, write_to)
    os.close(write_to)
    with os.fdopen(read_from) as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(text) if text else {"broken": f"the probe's child ended with status {status}"}


def main():
    asked = json.load(sys.stdin)
    module = asked["module"]
    run, needs = MODULES[module]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the modules print is not an answer
    package = os.path.join("dynamo", *needs.split(".")[1:])
    if not any(os.path.exists(os.path.join(p, f"{package}.py")) for p in sys.path):
        json.dump({"skip": "the release does not have it"}, out)
        return
    try:
        stub_engines()
        replace_runtime()
        with contextlib.redirect_stdout(sys.stderr):
            importlib.import_module(needs)
    except Exception as e:
        json.dump({"skip": f"it cannot be imported without its engine: {type(e).__name__}: {e}"}, out)
        return
    json.dump({"answers": [ask(module, run, case) for case in asked["cases"]]}, out)


if __name__ == "__main__":
    main()
