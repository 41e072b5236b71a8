"""XLA's device: moves values there, waits for it, and reports its graphs and unsupported operators.

Imported only by code that runs on it, since it imports torch_xla.
"""

import os
import sys

os.environ["PJRT_DEVICE"] = "CPU"  # the name in results; the default depends on the machine

import torch
import torch_xla
import torch_xla.core.xla_model as xla_model
import torch_xla.debug.metrics as metrics

_library = torch_xla._XLAC
_device = torch_xla.device()  # makes the device known to autograd
_moved = []  # tensors and modules
_waits = 0
graphs = []  # (HLO, StableHLO) of each compiled graph, if they are dumped


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
    global _waits
    _waits += output is not None
    if _waits == 2 and _is_dumped():  # the first call makes the gradients, later ones add to them
        _keep(_pending(output))
    torch_xla.sync()
    xla_model.wait_device_ops()  # which sync(wait=True) does not


def _is_dumped():
    compiler = sys.modules.get("instr_compiler")
    return compiler is not None and not compiler.logs.isdisjoint(("hlo", "stablehlo"))


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
        graphs.append((_library._get_xla_tensors_hlo(outputs), xla_model.get_stablehlo(outputs)))


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


if _is_dumped():
    _watch_compiler()
