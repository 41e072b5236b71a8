"""`torch.utils.benchmark` with exact counts: `import instr_bench.benchmark as benchmark`.

`Timer` counts with instr_bench, `Compare` also shows counts, and all other names are torch's.
"""
import ast
import collections
import dataclasses
import json
import os
import pickle
import re
import sys
import tempfile
import types
from typing import Any, Callable, Dict, List, Optional, Tuple, cast, overload

import torch
import torch.utils.benchmark as _torch
from torch.utils.benchmark.utils.common import TaskSpec
from torch.utils.benchmark.utils.timer import Language
from torch.utils.benchmark.utils.valgrind_wrapper.timer_interface import FunctionCount

from instr_bench.program import CountError, count

_INSTRUCTIONS = "instructions"  # in the environment of counts


def __getattr__(name: str) -> Any:
    return getattr(_torch, name)


class _PlainObject:
    """Keeps torch's CallgrindStats, which asks the next class for these, from those of Measurement."""

    __repr__ = object.__repr__
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class CallgrindStats(_torch.CallgrindStats, _PlainObject, _torch.Measurement):
    """torch's CallgrindStats, without the loop around the statement: `baseline_inclusive_stats` is empty.

    It is also a Measurement of the instructions of one iteration, so that torch's Compare prints it. The
    environment of its task names the unit: Compare does not merge environments."""

    steady: bool  # False: the count differs from run to run

    @classmethod
    def _make(cls, fields: Dict[str, Any], steady: bool, instructions: float) -> "CallgrindStats":
        stats = cls(**fields)
        stats.steady = steady
        stats.raw_times = [instructions * stats.number_per_run]
        stats.metadata = None
        stats.__post_init__()
        return stats

    def __repr__(self) -> str:
        text = super().__repr__()
        return text if self.steady else text + "\nWarning: not steady: the count differs from run to run."

    def as_standardized(self) -> "CallgrindStats":
        return self._make(vars(super().as_standardized()), self.steady, self.median)


class Compare(_torch.Compare):
    """torch's Compare, which shows counts as instructions per iteration, apart from times."""

    @staticmethod
    def _is_count(result: _torch.Measurement) -> bool:
        return (result.task_spec.env or "").endswith(_INSTRUCTIONS)

    def _group_by_label(self, results: List[_torch.Measurement]) -> Any:
        groups: Any = collections.defaultdict(list)
        for result in results:
            groups[result.task_spec.label, self._is_count(result)].append(result)
        return groups

    def _layout(self, results: List[_torch.Measurement]) -> str:
        text = cast(str, super()._layout(results))
        return re.sub("Times are in .*", "Instructions per iteration.", text) if self._is_count(results[0]) else text


class Timer(_torch.Timer):
    """torch's Timer, whose collect_callgrind() counts in milliseconds, and the same number each time.

    The first count of a process starts LibTorch under Callgrind. Times are torch's."""

    @overload
    def collect_callgrind(self, number: int = ..., *, repeats: None = ..., collect_baseline: bool = ...,
                          retain_out_file: bool = ...) -> CallgrindStats: ...

    @overload
    def collect_callgrind(self, number: int = ..., *, repeats: int, collect_baseline: bool = ...,
                          retain_out_file: bool = ...) -> Tuple[CallgrindStats, ...]: ...

    def collect_callgrind(self, number: int = 100, *, repeats: Optional[int] = None, collect_baseline: bool = True,
                          retain_out_file: bool = False) -> Any:
        """Returns the CallgrindStats of `number` iterations or, with `repeats`, a tuple of that many.

        The count of one iteration does not depend on `number`. There is no baseline to collect, since
        counts are without the loop. Raises CountError if the statement cannot be counted, and ValueError
        if a global that the code uses cannot be copied to another process."""
        if number < 1 or (repeats is not None and repeats < 1):
            raise ValueError("`number` and `repeats` must be at least 1")
        results = tuple(self._count(number, retain_out_file) for _ in range(repeats or 1))
        return results[0] if repeats is None else results

    def definition(self) -> str:
        """Returns the same benchmark as TOML: a file of definitions with it has the same count.

        Raises ValueError if it uses globals other than modules, texts and numbers."""
        return self._define(None)

    def _count(self, number: int, retain_out_file: bool) -> CallgrindStats:
        with tempfile.TemporaryDirectory(prefix="instr_bench-") as folder:
            path = os.path.join(folder, "timer.toml")
            definition = self._define(folder)
            with open(path, "w", encoding="utf-8") as file:
                file.write(definition)
            options = [f"--libtorch={os.path.dirname(torch.__file__)}", f"--python={sys.executable}"]
            try:
                measurement, *explanation = count(path, options)
                problem = measurement.get("failure", {}).get("message") or measurement.get("reason")
                if problem:
                    raise CountError(problem)
            except CountError as error:
                raise CountError(_with_places(str(error), path, definition)) from None
            callgrind_out = None
            if retain_out_file:
                with open(measurement["profile"], encoding="utf-8") as file:
                    callgrind_out = file.read()
        return self._make_stats(number, measurement, explanation[1:], callgrind_out)

    def _make_stats(self, number: int, measurement: Dict[str, Any], functions: List[Dict[str, Any]],
                    callgrind_out: Optional[str]) -> CallgrindStats:
        spec = self._task_spec
        instructions = measurement["metrics"]["instructions"]
        build = re.search("BUILD_TYPE=([^,]+),", torch.__config__.show())
        fields = {
            "task_spec": dataclasses.replace(spec, env=f"{spec.env}, {_INSTRUCTIONS}" if spec.env else _INSTRUCTIONS),
            "number_per_run": number,
            "built_with_debug_symbols": build is not None and build[1] == "RelWithDebInfo",
            "baseline_inclusive_stats": _torch.FunctionCounts((), inclusive=True),
            "baseline_exclusive_stats": _torch.FunctionCounts((), inclusive=False),
            "stmt_inclusive_stats": _function_counts(functions, "inclusive", number),
            "stmt_exclusive_stats": _function_counts(functions, "self", number, round(instructions * number)),
            "stmt_callgrind_out": callgrind_out,
        }
        return CallgrindStats._make(fields, measurement["steady"] and measurement["gated"], instructions)

    def _define(self, folder: Optional[str]) -> str:
        spec = self._task_spec
        names = (spec.label, spec.sub_label, spec.description, spec.env)
        label = "/".join(" ".join(name.split()) for name in names if name) or "timer"
        is_python = self._language == Language.PYTHON
        texts = {"global_setup": _copy_globals(self._globals, spec, folder) if is_python else spec.global_setup,
                 "setup": "" if spec.setup == "pass" else spec.setup,
                 "stmt": spec.stmt}
        prefix = "py_" if is_python else ""
        lines = ["schema = 1", "[[benchmark]]", f"label = {json.dumps(label, ensure_ascii=False)}"]
        lines += [f"{prefix}{name} = {_toml(text)}" for name, text in texts.items() if text]
        return "\n".join([*lines, f"threads = [{spec.num_threads}]", ""])


def _toml(text: str) -> str:
    is_plain = "'''" not in text and all(character >= " " or character in "\n\t" for character in text)
    return f"'''\n{text}\n'''" if is_plain else json.dumps(text, ensure_ascii=False)


def _with_places(message: str, path: str, definition: str) -> str:
    """Replaces places in the file by lines of the texts."""
    lines = definition.split("\n")

    def place(match: "re.Match[str]") -> str:
        number = int(match[1])
        for start in range(min(number, len(lines)) - 1, -1, -1):
            key = re.match("(?:py_)?(global_setup|setup|stmt) = ", lines[start])
            if key:
                return f"{key[1]}:{max(number - start - 1, 1)}"
        return "the definition"

    return re.sub(re.escape(path) + r":(\d+)", place, message)


def _function_counts(functions: List[Dict[str, Any]], cost: str, number: int,
                     total: Optional[int] = None) -> _torch.FunctionCounts:
    """Makes torch's container of the costs of `number` iterations, named as callgrind_annotate names them."""
    counts: Dict[str, int] = collections.defaultdict(int)
    for function in functions:
        if function[cost] is not None:
            place = f" [{function['object']}]" if function["object"] else ""
            counts[f"???:{function['function']}{place}"] += round(function[cost] * number)
    if total is not None:
        counts["???:rounding of the others"] = total - sum(counts.values())
    data = (FunctionCount(ir, name) for name, ir in counts.items() if ir)
    return _torch.FunctionCounts(tuple(sorted(data, reverse=True)), inclusive=total is None)


# Sets attributes one by one, as __init__() does, and with interned names: the interpreter finds attributes that were
# set as a whole dictionary, as pickles do, in another way.
_SET_ATTRIBUTES = """lambda module, state, intern=__import__("sys").intern: [
    object.__setattr__(module, intern(name), type(value)((intern(key), each) for key, each in value.items())
                       if name in ("_parameters", "_buffers", "_modules") else value)
    for name, value in state.items()]"""


class _Made:
    """A value that a pickle makes by a call."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = (function, arguments)

    def __reduce__(self) -> Tuple[Any, ...]:
        return self._call

    def __call__(self) -> None:
        """Makes it a function, which pickle requires of one that sets attributes."""


class _Pickler(pickle.Pickler):
    """Copies tensors and modules such that operators cost what they cost on the originals."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._set_attributes = _Made(eval, _SET_ATTRIBUTES)

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) in (torch.Tensor, torch.nn.Parameter):
            return NotImplemented if obj._backward_hooks or obj.__dict__ else _reduce_tensor(obj)
        is_plain_module = (isinstance(obj, torch.nn.Module) and
                           type(obj).__reduce_ex__ is object.__reduce_ex__ and
                           type(obj).__setstate__ is torch.nn.Module.__setstate__)
        if not is_plain_module:
            return NotImplemented
        make, arguments, state, *_ = obj.__reduce_ex__(2)
        return make, arguments, state, None, None, self._set_attributes


def _reduce_tensor(tensor: Any) -> Any:
    """Leaves out the hooks: unpickling sets empty ones, with which each operator costs more."""
    rebuild, arguments = tensor.__reduce_ex__(2)
    if rebuild is torch._utils._rebuild_parameter:
        return torch.nn.Parameter, (tensor.data, tensor.requires_grad)
    if rebuild is not torch._utils._rebuild_tensor_v2:
        return NotImplemented
    plain: Tuple[Any, ...] = (torch._utils._rebuild_tensor, arguments[:4])
    if tensor.is_contiguous() and tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size():
        plain = (torch.Tensor.clone, (_Made(*plain[:1], *plain[1]),))  # its storage never had an object in Python
    return (*plain, True, None, None, torch.Tensor.requires_grad_) if tensor.requires_grad else plain


_PICKLING = types.SimpleNamespace(**{**vars(pickle), "Pickler": _Pickler})  # for torch.save()


def _copy_globals(values: Dict[str, Any], spec: TaskSpec, folder: Optional[str]) -> str:
    """Returns Python that makes those of the globals that the code uses; files for it are written to the folder."""
    code = f"{spec.setup}\n{spec.stmt}"
    used = {name: value for name, value in values.items()
            if value is not torch and re.search(rf"\b{re.escape(name)}\b", code)}
    return "\n".join(_copy_global(name, value, folder) for name, value in used.items())


def _copy_global(name: str, value: Any, folder: Optional[str]) -> str:
    if isinstance(value, _torch.CopyIfCallgrind):
        copied = _copy_global(name, value.value, folder)
        return f"{value.setup}\n{copied}" if value.setup else copied
    if isinstance(value, types.ModuleType):
        return f"import {value.__name__} as {name}"
    if isinstance(value, (type(None), bool, int, float, complex, str, bytes)):
        literal = repr(value)
        if _is_literal(literal, value):
            return f"{name} = {literal}"
    if folder is None:
        raise ValueError(f"the global `{name}` is no text, number or module: make it in `setup`")
    path = os.path.join(folder, f"{name}.pt")
    is_script = isinstance(value, (torch.jit.ScriptModule, torch.jit.ScriptFunction))
    try:
        torch.jit.save(value, path) if is_script else torch.save(value, path, _PICKLING)
    except Exception as error:  # of any class, from the object's own code
        raise ValueError(f"the global `{name}` cannot be pickled ({error}): make it in `setup`") from None
    with open(path, "rb") as file:
        if b"c__main__\n" in file.read():
            raise ValueError(f"the global `{name}` needs code of this notebook or script, which no other process "
                             "can import: put that code in a module or in `setup`")
    return f"{name} = " + (f"torch.jit.load({path!r})" if is_script else f"torch.load({path!r}, weights_only=False)")


def _is_literal(text: str, value: Any) -> bool:
    try:
        return type(ast.literal_eval(text)) is type(value)
    except (SyntaxError, ValueError):
        return False  # nan, or a class of the user's
