"""XLA's device: moving there, waiting for it, what it compiles, what it leaves to the CPU.

Imported by code that runs there, and only then: it imports torch_xla.
"""

import os
import sys

os.environ["PJRT_DEVICE"] = "CPU"  # what the results name; on another machine its usual device is another

import torch
import torch_xla
import torch_xla.core.xla_model as xla_model
import torch_xla.debug.metrics as metrics

_library = torch_xla._XLAC
_device = torch_xla.device()  # which autograd counts from here on
_moved = []  # tensors and modules
_waits = 0
graphs = []  # (HLO, StableHLO) of what was compiled, if they are dumped


def _move(value):
    if isinstance(value, (list, tuple)):
        return type(value)(_move(one) for one in value)
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
    """These on the device, once they are there."""
    there = [_move(value) for value in values]
    wait()
    return there


def wait(output=None):
    """Has done what was called since the last time, of which something is left, and waits for that."""
    global _waits
    _waits += output is not None
    if _waits == 2 and _is_dumped():  # the first call makes the gradients, to which later ones add
        _keep(_pending(output))
    torch_xla.sync()
    xla_model.wait_device_ops()  # which sync(wait=True) does not


def _is_dumped():
    compiler = sys.modules.get("instr_compiler")
    return compiler is not None and not compiler.logs.isdisjoint(("hlo", "stablehlo"))


def _pending(output):
    tensors = [output]
    for one in _moved:
        its = [*one.parameters(), *one.buffers()] if isinstance(one, torch.nn.Module) else [one]
        tensors += its + [tensor.grad for tensor in its]
    tensors = [one for one in tensors if isinstance(one, torch.Tensor) and one.device.type == "xla"]
    needed = _library._check_tensor_need_materialization(tensors)
    return [tensor for tensor, is_needed in zip(tensors, needed) if is_needed]


def _keep(outputs):
    if outputs:
        graphs.append((_library._get_xla_tensors_hlo(outputs), xla_model.get_stablehlo(outputs)))


def _watch_compiler():
    """The backend of torch.compile() hands its graphs to this function."""
    compile_graph = _library._xla_warm_up_cache

    def watched(outputs, *more):
        _keep(list(outputs))
        return compile_graph(outputs, *more)

    _library._xla_warm_up_cache = watched


def unlowered():
    """The operators that XLA has no code for and the CPU ran, and how often; not the reading of a value."""
    names = (name for name in metrics.counter_names() if name.startswith("aten::"))
    return {name: metrics.counter_value(name) for name in names if name != "aten::_local_scalar_dense"}


if _is_dumped():
    _watch_compiler()
