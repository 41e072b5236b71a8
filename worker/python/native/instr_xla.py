"""XLA's device: moves values there, waits for it, and reports its graphs and unsupported operators.

Imported only by code that runs on it, since it imports torch_xla.
"""

import os
import sys
import time

os.environ["PJRT_DEVICE"] = "CPU"  # the name in results; the default depends on the machine

import torch
import torch_xla
import torch_xla.core.xla_model as xla_model
import torch_xla.debug.metrics as metrics

GRAPH_LOGS = "ir", "hlo", "stablehlo"

_library = torch_xla._XLAC
_device = torch_xla.device()  # makes the device known to autograd
_moved = []  # tensors and modules
_waits = 0
_waited_ns = 0  # in waits for outputs
graphs = []  # each compiled graph by the names of logs, if they are dumped


def _move(value):
    if isinstance(value, (list, tuple)):
        return type(value)(_move(item) for item in value)
    if isinstance(value, torch.nn.Module):
        value = value.to(_device)
    elif isinstance(value, torch.Tensor):
        moved = value.detach().to(_device)
        value = moved.requires_grad_(value.requires_grad)
    else:
        return value
    _moved.append(value)
    return value


def moved(*values):
    """Moves these to the device and waits for that."""
    moved_values = [_move(value) for value in values]
    wait()
    return moved_values


def wait(output=None):
    """Runs the pending operators whose results are still referenced, and waits for them."""
    global _waits, _waited_ns
    begin = time.perf_counter_ns()
    _waits += output is not None
    if _waits == 2 and _is_dumped():  # the first call makes the gradients, later ones add to them
        _keep(_pending(output))
    torch_xla.sync()
    xla_model.wait_device_ops()  # which sync(wait=True) does not
    if output is not None:
        _waited_ns += time.perf_counter_ns() - begin


def totals():
    """Returns this process's totals so far by metric, times in nanoseconds."""
    compilations, compile_time, _ = metrics.metric_data("CompileTime") or (0, 0, ())
    executions, execute_time, _ = metrics.metric_data("ExecuteTime") or (0, 0, ())
    return {"xla_wait": _waited_ns, "xla_compile_time": compile_time, "xla_compilations": compilations,
            "xla_execute_time": execute_time, "xla_executions": executions}


def _is_dumped():
    compiler = sys.modules.get("instr_compiler")
    return compiler is not None and not compiler.logs.isdisjoint(GRAPH_LOGS)


def _pending(output):
    tensors = [output]
    for value in _moved:
        own = [*value.parameters(), *value.buffers()] if isinstance(value, torch.nn.Module) else [value]
        tensors += own + [tensor.grad for tensor in own]
    tensors = [value for value in tensors if isinstance(value, torch.Tensor) and value.device.type == "xla"]
    needed = _library._check_tensor_need_materialization(tensors)
    return [tensor for tensor, is_needed in zip(tensors, needed) if is_needed]


def _keep(outputs):
    if outputs:
        graphs.append({"ir": _library._get_xla_tensors_text(outputs), "hlo": _library._get_xla_tensors_hlo(outputs),
                       "stablehlo": xla_model.get_stablehlo(outputs)})


def _watch_compiler():
    """Keeps the graphs that the backend of torch.compile() passes to this function."""
    compile_graph = _library._xla_warm_up_cache

    def watched(outputs, *more):
        _keep(list(outputs))
        return compile_graph(outputs, *more)

    _library._xla_warm_up_cache = watched


def unlowered():
    """Counts operators that the CPU ran since XLA has no code for them, except the reading of a value."""
    names = (name for name in metrics.counter_names() if name.startswith("aten::"))
    return {name: metrics.counter_value(name) for name in names if name != "aten::_local_scalar_dense"}


def log_lines(log):
    """Returns the compiled graphs as ir, hlo or stablehlo, or the report of xla_metrics; empty for another log."""
    if log == "xla_metrics":
        return [metrics.metrics_report()]
    return [graph[log] for graph in graphs] if log in GRAPH_LOGS else []


if _is_dumped():
    _watch_compiler()
