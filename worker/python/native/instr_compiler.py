"""Reports torch.compile()'s work in this process, from its counters and logs.

Only the native worker loads this: it must not be on the heap of a process that counts.
"""

import json
import logging
import operator
import os
import re
import sys
from collections import Counter
from importlib import import_module

import torch

MAX_NOTES = 20
MAX_NAMES = 200  # names in a group of counters
MAX_NOTE_LENGTH = 4_000
MAX_NAME_LENGTH = 200  # the longest name of a counter: some are whole messages

# Logs whose messages become notes.
_NOTES = {"graph_breaks": "breaks", "recompiles": "recompiles"}

# A place in the user's code in a message; other messages end with a traceback.
_PLACES = re.compile(r"(?:user code at|Recompiling function .+? in) (.+?):(\d+)$", re.MULTILINE)
_FRAMES = re.compile(r'File "(.+?)", line (\d+)')


class _Listener(logging.Handler):
    """Keeps the messages of the requested logs, as (log, message)."""

    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        _, mark, log = record.name.rpartition(".__")
        if mark:
            self.messages.append((log, record.getMessage()))


_listener = _Listener()
_is_listening = False
logs = set()  # the requested logs


class _Refusal(logging.Handler):
    """Raises a failure that a backend would only log before another compiler replaces it."""

    def emit(self, record):
        message = record.getMessage()
        if "failed" in message.lower():
            raise RuntimeError(message)


_OPENVINO = "openvino.frontend.pytorch.torchdynamo"

# The modules that log it, for the backends that do so.
_FALLING_BACK = {"openvino": [f"{_OPENVINO}.backend", f"{_OPENVINO}.execute"]}


def load(backend):
    """Imports a backend of torch.compile() that no other compiler may replace."""
    torch._dynamo.lookup_backend(backend)
    for name in _FALLING_BACK.get(backend, []):
        logger = logging.getLogger(name)
        logger.addHandler(_Refusal())
        logger.setLevel(logging.DEBUG)


def _listen(logs):
    internal = getattr(getattr(torch, "_logging", None), "_internal", None)  # missing before 2.1
    known = getattr(getattr(internal, "log_registry", None), "artifact_names", ())
    wanted = {log: True for log in logs if log in known}
    if not wanted:
        return
    global _is_listening
    _is_listening = True
    os.environ.pop("TORCH_LOGS", None)  # it would override the following
    torch._logging.set_logs(**wanted)
    for name, logger in list(logging.root.manager.loggerDict.items()):
        is_of_torch = name.split(".")[0] == "torch" and ".__" not in name
        if is_of_torch and getattr(logger, "handlers", None):
            for handler in logger.handlers:
                handler.setLevel(logging.WARNING)
            logger.addHandler(_listener)


def _compile_in_this_process():
    """Has Inductor use a thread for each core that this process is pinned to, and no compile workers. They
    would use the same cores, also while the result is timed, and could not start Triton's programs: the path
    of torch's environment leads through a descriptor that only the programs of this process are given."""
    workers = getattr(sys.modules.get("torch._inductor.async_compile"), "AsyncCompile", None)
    can_refuse = hasattr(workers, "use_process_pool")  # new in 2.6
    if can_refuse:
        workers.use_process_pool = classmethod(lambda _: False)
    if "TORCHINDUCTOR_COMPILE_THREADS" not in os.environ:
        threads = len(os.sched_getaffinity(0)) if can_refuse else 1
        sys.modules["torch._inductor.config"].compile_threads = threads


_eager_graphs = 0  # number of graphs that the backend gave back, so that eager runs them


def _watch_backend():
    """Counts the graphs that a backend gives back as they are, instead of code of its own."""
    graphs = import_module("torch._dynamo.output_graph").OutputGraph
    name = "_call_user_compiler" if hasattr(graphs, "_call_user_compiler") else "call_user_compiler"
    compile_graph = getattr(graphs, name)

    def watched(self, graph, *more):
        global _eager_graphs
        compiled = compile_graph(self, graph, *more)
        _eager_graphs += compiled is graph or getattr(compiled, "__self__", None) is graph
        return compiled

    setattr(graphs, name, watched)


def _within_range(run):
    """Has the profiler show a range around each call. On a device the call's work is then part of it."""

    def marked(*inputs):
        is_on_device = torch.cuda.is_available() and torch.cuda.is_initialized()
        if is_on_device:
            torch.cuda.synchronize()
        with torch.autograd.profiler.record_function("instr_graph"):
            result = run(*inputs)
            if is_on_device:
                torch.cuda.synchronize()
        return result

    return marked


def _run_marked(graph, inputs):
    """A backend of torch.compile(): eager runs the graph and, for gradients, that of AOTAutograd."""
    tensors = [one for one in inputs if isinstance(one, torch.Tensor)]
    if not torch.is_grad_enabled() or not any(one.requires_grad for one in [*tensors, *graph.parameters()]):
        return _within_range(graph.forward)
    aot_autograd = import_module("torch._dynamo.backends.common").aot_autograd
    make_boxed = import_module("functorch.compile").make_boxed_func

    def compile_graph(one, _):
        return make_boxed(_within_range(one.forward))

    # As Inductor has it: the graph itself changes buffers, such as statistics of a batch.
    return aot_autograd(fw_compiler=compile_graph, keep_inference_input_mutations=True)(graph, inputs)


def _mark_graphs():
    """Has torch.compile() run its graphs within ranges of the profiler, whatever the backend."""
    compile_function = torch.compile

    def compile_marked(model=None, *, fullgraph=False, dynamic=None, **_):
        return compile_function(model, fullgraph=fullgraph, dynamic=dynamic, backend=_run_marked)

    torch.compile = compile_marked


def watch(cache, wanted):
    """To be called before anything is compiled. `cache`: the folder of the compiler's cache; empty: the usual
    one. `wanted`: names of logs to keep besides those of notes: torch's, or those of
    instr_xla.log_lines(); "xla" imports its device, and "coverage" marks graphs."""
    logs.update(wanted.split())
    if "coverage" in logs:
        _mark_graphs()
    if "xla" in logs:
        import_module("instr_xla")
    if cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
    os.environ["TORCH_WARM_POOL"] = "0"  # starts no compile workers
    try:
        import_module("torch._inductor.compile_fx")  # the first compilation is not to pay for it
    except Exception:
        return  # a snippet that needs it reports the error
    _compile_in_this_process()
    _watch_backend()
    _listen([*_NOTES, *logs])


def _find_place(message):
    places = _PLACES.findall(message) or _FRAMES.findall(message)[-1:]
    if not places:
        return "", 0
    file, line = places[0]
    for home in sorted(sys.path, key=len, reverse=True):
        if home and file.startswith(home + "/"):
            file = file[len(home) + 1 :]
            break
    return file, int(line)


def _messages(log):
    return [message for name, message in _listener.messages if name == log]


def _notes(log):
    """Returns the first message of a log for each place, and their number."""
    notes = {}
    for message in _messages(log):
        file, line = place = _find_place(message)
        text = message[:MAX_NOTE_LENGTH]
        notes.setdefault(place, {"file": file, "line": line, "text": text, "count": 0})["count"] += 1
    return list(notes.values())[:MAX_NOTES]


def _counters(all_counters):
    shown = {}
    for group, counts in all_counters.items():
        for name, count in counts.items():
            name = " ".join(str(name).split())[:MAX_NAME_LENGTH]
            shown_group = shown.setdefault(str(group), {})
            if isinstance(count, (int, float)) and len(shown_group) < MAX_NAMES:
                shown_group[name] = count
    return shown


def _unlowered_by_openvino():
    """Counts the operators of its graphs outside the parts that it runs."""
    execute = sys.modules.get(f"{_OPENVINO}.execute")
    modules = getattr(execute, "partitioned_modules", {}).values()
    nodes = [node for module in modules for node in module.graph.nodes if node.op == "call_function"]
    return Counter(str(node.target) for node in nodes if node.target is not operator.getitem)


def _unlowered():
    xla = sys.modules.get("instr_xla")
    return xla.unlowered() if xla else _unlowered_by_openvino()


def _json(value):
    """Returns JSON in UTF-8, which has no lone surrogates."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()


def report():
    """Returns names and values alternately; empty if nothing has been compiled."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    all_counters = getattr(dynamo, "counters", None)
    if not all_counters:
        unlowered = _unlowered()  # a device's operators, without torch.compile()
        return ["compiler", _json({"unlowered": unlowered})] if unlowered else []
    notes = {name: _notes(log) for log, name in _NOTES.items()}
    frames = all_counters.get("frames", {})
    numbers = {
        "graphs": all_counters["stats"]["unique_graphs"],
        "eager_graphs": _eager_graphs,
        "graph_breaks": sum(all_counters["graph_break"].values()),
        "frames": frames.get("total", 0),
        "frames_compiled": frames.get("ok", 0),
        "guard_failures": sum(map(len, getattr(dynamo, "guard_failures", {}).values())),
    }
    if _is_listening:
        numbers["recompilations"] = len(_messages("recompiles"))
    notes["counters"] = _counters(all_counters)
    notes["choices"] = getattr(sys.modules.get("instr_best"), "choices", [])
    notes["unlowered"] = dict(list(_unlowered().items())[:MAX_NAMES])
    numbers["compiler"] = _json(notes)
    return [str(item) for pair in numbers.items() for item in pair]


def device_totals():
    """Returns names and totals of XLA alternately; empty without it."""
    xla = sys.modules.get("instr_xla")
    return [str(item) for pair in xla.totals().items() for item in pair] if xla else []


def log_text(log):
    """Returns the messages of a log, or what XLA has as such: the graphs that it compiled, its metrics."""
    xla = sys.modules.get("instr_xla")
    text = "\n".join(_messages(log) or (xla.log_lines(log) if xla else []))
    return text.encode("utf-8", "replace").decode()
