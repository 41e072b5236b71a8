"""What torch.compile() does in this process, as its counters and its logs tell.

Only the native worker loads this: where Python is counted, none of it is on the heap.
"""

import json
import logging
import operator
import os
import re
import sys
from importlib import import_module

import torch

MOST_NOTES = 20
MOST_NAMES = 200  # of a group of counters
LONGEST_NOTE = 4_000
LONGEST_NAME = 200  # of a counter: some are whole messages

# Of the logs, those whose messages become notes.
_NOTES = {"graph_breaks": "breaks", "recompiles": "recompiles"}

# How a message names the place in the user's code; else it ends with a traceback.
_PLACES = re.compile(r"(?:user code at|Recompiling function .+? in) (.+?):(\d+)$", re.MULTILINE)
_FRAMES = re.compile(r'File "(.+?)", line (\d+)')


class _Listener(logging.Handler):
    """Keeps what the logs that were asked for say, as (log, message)."""

    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        _, mark, log = record.name.rpartition(".__")
        if mark:
            self.messages.append((log, record.getMessage()))


_listener = _Listener()
_is_listening = False
logs = set()  # that were asked for


class _Refusal(logging.Handler):
    """Raises what a backend would only note before another compiler takes its place."""

    def emit(self, record):
        message = record.getMessage()
        if "failed" in message.lower():
            raise RuntimeError(message)


_OPENVINO = "openvino.frontend.pytorch.torchdynamo"

# For the backends that do so, the modules whose logs note it.
_FALLING_BACK = {"openvino": [f"{_OPENVINO}.backend", f"{_OPENVINO}.execute"]}


def load(backend):
    """Imports a backend of torch.compile(). From here on it is the only one."""
    torch._dynamo.lookup_backend(backend)
    for name in _FALLING_BACK.get(backend, []):
        logger = logging.getLogger(name)
        logger.addHandler(_Refusal())
        logger.setLevel(logging.DEBUG)


def _listen(logs):
    internal = getattr(getattr(torch, "_logging", None), "_internal", None)  # not before 2.1
    known = getattr(getattr(internal, "log_registry", None), "artifact_names", ())
    wanted = {log: True for log in logs if log in known}
    if not wanted:
        return
    global _is_listening
    _is_listening = True
    os.environ.pop("TORCH_LOGS", None)  # it would win, and be seen by nobody
    torch._logging.set_logs(**wanted)
    for name, logger in list(logging.root.manager.loggerDict.items()):
        is_of_torch = name.split(".")[0] == "torch" and ".__" not in name
        if is_of_torch and getattr(logger, "handlers", None):
            for handler in logger.handlers:
                handler.setLevel(logging.WARNING)
            logger.addHandler(_listener)


def watch(cache, wanted):
    """To be called before anything is compiled. `cache`: the folder in which the compiler keeps what it
    made; empty: the usual one. `wanted`: the names of logs to keep, besides those of notes: torch's, or
    hlo and stablehlo, for what XLA compiled; xla: its device is to be there before anything runs."""
    logs.update(wanted.split())
    if "xla" in logs:
        import_module("instr_xla")
    if cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
    try:
        import_module("torch._inductor.compile_fx")  # a cost of the first compilation in a process
    except Exception:
        return  # a snippet that needs it says why
    _listen([*_NOTES, *logs])


def _place_of(message):
    found = _PLACES.findall(message) or _FRAMES.findall(message)[-1:]
    if not found:
        return "", 0
    file, line = found[0]
    for home in sorted(sys.path, key=len, reverse=True):
        if home and file.startswith(home + "/"):
            file = file[len(home) + 1 :]
            break
    return file, int(line)


def _notes(log):
    """What a log said, by place: the first message, and how many there were."""
    notes = {}
    for its, message in _listener.messages:
        if its == log:
            place = _place_of(message)
            notes.setdefault(place, {"file": place[0], "line": place[1], "text": message, "count": 0})
            notes[place]["count"] += 1
    first = list(notes.values())[:MOST_NOTES]
    return [{**note, "text": note["text"][:LONGEST_NOTE]} for note in first]


def _counters(all_counters):
    shown = {}
    for group, counts in all_counters.items():
        for name, count in counts.items():
            name = " ".join(str(name).split())[:LONGEST_NAME]
            its = shown.setdefault(str(group), {})
            if isinstance(count, (int, float)) and len(its) < MOST_NAMES:
                its[name] = count
    return shown


def _unlowered_by_openvino():
    """The operators of its graphs that are in none of the parts that it runs, and how many there are."""
    execute = sys.modules.get(f"{_OPENVINO}.execute")
    found = {}
    for module in getattr(execute, "partitioned_modules", {}).values():
        for node in module.graph.nodes:
            if node.op == "call_function" and node.target is not operator.getitem:
                found[str(node.target)] = found.get(str(node.target), 0) + 1
    return found


def _unlowered():
    xla = sys.modules.get("instr_xla")
    return xla.unlowered() if xla else _unlowered_by_openvino()


def report():
    """Names and values, one after the other; nothing if nothing has been compiled."""
    graphs = sys.modules["__main__"].compiled_graphs()
    if not graphs:
        unlowered = _unlowered()  # by a device, without torch.compile()
        return ["compiler", json.dumps({"unlowered": unlowered})] if unlowered else []
    dynamo = sys.modules["torch._dynamo.utils"]
    notes = {name: _notes(log) for log, name in _NOTES.items()}
    frames = dynamo.counters.get("frames", {})
    numbers = {
        "graphs": graphs[0],
        "graph_breaks": graphs[1],
        "frames": frames.get("total", 0),
        "frames_compiled": frames.get("ok", 0),
        "guard_failures": sum(map(len, getattr(dynamo, "guard_failures", {}).values())),
    }
    if _is_listening:
        numbers["recompilations"] = sum(log == "recompiles" for log, _ in _listener.messages)
    notes["counters"] = _counters(dynamo.counters)
    notes["unlowered"] = dict(list(_unlowered().items())[:MOST_NAMES])
    numbers["compiler"] = json.dumps(notes)
    return [str(one) for pair in numbers.items() for one in pair]


def said(log):
    """All messages of a log, or what XLA compiled."""
    messages = [message for its, message in _listener.messages if its == log]
    if log in ("hlo", "stablehlo"):
        graphs = getattr(sys.modules.get("instr_xla"), "graphs", [])
        messages = [graph[log == "stablehlo"] for graph in graphs]
    text = "\n".join(messages)
    return text.encode("utf-8", "replace").decode()
