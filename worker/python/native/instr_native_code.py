"""Runs snippets natively: timed ones, which are suspended between blocks, and verifiers."""

import copy
import dataclasses
import marshal
import os
import sys
import types

import __main__ as serve
import torch

_first = None  # the first result of _loaded_once()


def _loaded_once(code):
    """Runs the code of a unit and returns its names. All that a process times or verifies is of one
    benchmark and has the same global setup. If that raises an exception the second time, as registering an
    operator does, the snippet's functions use what the first time has left."""
    global _first
    try:
        names = serve.loaded(code)
    except Exception:
        if _first is None:
            raise
        constants = marshal.loads(code).co_consts
        functions = [one for one in constants if isinstance(one, types.CodeType)]
        return {one.co_name: types.FunctionType(one, _first)
                for one in functions if one.co_name.startswith("instr_")}
    _first = _first or names
    return names


class Suspended:
    """A timed snippet, suspended between blocks."""

    def __init__(self, code, mark):
        self._code, self._mark, self._snippet = code, mark, None

    def resume(self, iterations):
        """Runs the setup in the first call, and a block of `iterations` in each later one; 0 leaves the
        loop. Returns how the snippet ended, or None if it is suspended."""
        try:
            if self._snippet is None:
                self._snippet = _loaded_once(self._code)["instr_timed_snippet_"](self._mark, bool, range)
                next(self._snippet)
            else:
                self._snippet.send(iterations)
        except StopIteration:
            return serve.END
        except BaseException as error:
            return serve.ended(error)


_PACKAGES = "site-packages", "dist-packages"


def _real_file(file):
    """Returns a module's file by its own name, not by the links in the worker's folder."""
    links = f"{serve.folder}/path/"
    if not file.startswith(links):
        return file
    number, _, rest = file[len(links) :].partition("/")
    return f"{os.readlink(links + number)}/{rest}"


def _find_input(file):
    """Returns the file, or the folder of the installed package that it is in."""
    folder = os.path.dirname(file)
    while os.path.basename(folder) not in (*_PACKAGES, ""):
        file_or_package, folder = folder, os.path.dirname(folder)
        if os.path.basename(folder) in _PACKAGES:
            return file_or_package
    return file


def loaded_files():
    """Returns a line for each file or installed package that modules were imported from, outside the
    standard library, torch and the worker."""
    homes = [os.path.dirname(os.__file__), f"{serve.folder}/platform_home", os.path.dirname(torch.__file__)]
    homes += [f"{os.path.dirname(torch.__file__)}gen", os.path.join(os.path.dirname(homes[-1]), "functorch")]
    files = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__dict__", {}).get("__file__")
        is_ours = name.startswith("instr_") and isinstance(file, str) and os.path.dirname(file) == serve.folder
        if not isinstance(file, str) or is_ours or file.startswith(tuple(f"{home}/" for home in homes)):
            continue
        files.add(_find_input(os.path.abspath(_real_file(file))))
    return "\n".join(sorted(files)).encode("utf-8", "replace").decode()


def _changed(value, change):
    """Applies `change` to a tensor, or to those in a list, tuple or dictionary."""
    if isinstance(value, (list, tuple)):
        items = [_changed(one, change) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        changed = copy.copy(value)
        changed.update((key, _changed(one, change)) for key, one in value.items())
        return changed
    return change(value) if isinstance(value, torch.Tensor) else value


def _in_double(tensor):
    if not tensor.is_floating_point() and not tensor.is_complex():
        return tensor
    exact = torch.complex128 if tensor.is_complex() else torch.float64
    return tensor.detach().to(exact).requires_grad_(tensor.requires_grad)


def in_channels_last(*values):
    """Returns the values with their modules, and tensors of four dimensions, in this memory format."""
    return [value.to(memory_format=torch.channels_last) if isinstance(value, torch.nn.Module)
            else _changed(value, _in_channels_last) for value in values]


def _in_channels_last(tensor):
    if tensor.dim() != 4:
        return tensor
    return tensor.detach().to(memory_format=torch.channels_last).requires_grad_(tensor.requires_grad)


def _copy(tensor):
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


class _Verification:
    """The functions that a verifier calls. `begin` and `take` are the worker's."""

    def __init__(self, is_reference, begin, take):
        self.is_reference, self._begin, self._take = is_reference, begin, take

    def begin(self):
        self._begin(None)

    def to_reference(self, *values):
        """Returns the values with their tensors in double precision."""
        return [_changed(value, _in_double) for value in values]

    def copies(self, *values):
        return [_changed(value, _copy) for value in values]

    def watch(self, *values):
        for value in values:
            for _, tensor in _tensors_in("", value):
                if tensor.requires_grad:
                    tensor.retain_grad()
                    tensor.grad = None

    def output(self, variables, name):
        """Hands over the statement's output, or the tensors in it. Returns whether it is a tensor, so that
        gradients can follow."""
        if name not in variables:
            self._take(("", "", "no value: the statement does not assign one to the output's name"))
            return False
        value = variables[name]
        parts = list(_tensors_in("output", value)) if _parts(value) else [("", value)]
        for part, tensor in parts or [("", value)]:
            self._hand_over(part, tensor)
        return isinstance(value, torch.Tensor)

    def gradients(self, name, value):
        for part, tensor in _tensors_in(name, value):
            if tensor.requires_grad:
                self._hand_over(f"gradient of {part}", tensor.grad)

    def _hand_over(self, name, value):
        if value is None and name:
            self._take((name, "", "there is none"))
        elif not isinstance(value, torch.Tensor):
            kind = type(value).__name__
            self._take((name, "", f"a{'n' if kind[0] in 'aeiou' else ''} {kind}, not a tensor"))
        else:
            plain = value.detach().resolve_conj().resolve_neg()
            # Older versions of DLPack have no type for bool.
            plain = plain.to(torch.uint8) if plain.dtype is torch.bool else plain
            plain = plain.cpu() if plain.device.type == "xla" else plain
            self._take((name, torch.utils.dlpack.to_dlpack(plain), ""))


def _tensors_in(name, value):
    """Yields names and tensors: an argument's, or a module's parameters."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, torch.nn.Module):
        yield from value.named_parameters()
    else:
        for part, one in _parts(value):
            yield from _tensors_in(f"{name}{part}", one)


def _parts(value):
    """Returns what a list, tuple, dictionary or dataclass holds, as pairs of a name such as "[0]" and a value."""
    if isinstance(value, (list, tuple)):
        return [(f"[{i}]", one) for i, one in enumerate(value)]
    if isinstance(value, dict):
        return [(f"[{key!r}]", one) for key, one in value.items()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f".{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value)]
    return []


def verify(code, is_reference, begin, take):
    """Runs a verifier. Returns how it ended."""
    try:
        _loaded_once(code)["instr_verifier_"](_Verification(bool(is_reference), begin, take))
    except BaseException as error:
        return serve.ended(error)
    return serve.END
