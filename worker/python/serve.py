"""The side of Python of the Python worker.

Run by the user's own interpreter, in a pinned environment, with the arguments KIND FOLDER. FOLDER, of fixed
length wherever it is, holds worker.so and, as path/0, path/1, ..., links to the entries of the
interpreter's module path, so that no installation's path shows on the heap. The current folder is /.
"""

import os
import sys
from importlib.machinery import FileFinder

_kind, _folder = sys.argv[1], sys.argv[2]


class _Everything:
    """The content of any folder."""

    def __contains__(self, name):
        return True


class _Finder(FileFinder):
    """Looks for each file, where the usual one reads the folder, and keeps its names on the heap."""

    def _fill_cache(self):
        self._path_cache = self._relaxed_path_cache = _Everything()


def _pin_paths():
    """Lets modules be found by FOLDER's links, and nothing learn where these lead."""
    usual = os.path.realpath

    def realpath(path, **options):
        at_home = isinstance(path, str) and path.startswith(_folder)
        return os.path.abspath(path) if at_home else usual(path, **options)

    os.path.realpath = realpath
    number = 0
    while os.path.exists(entry := f"{_folder}/path/{number}"):
        sys.path.append(entry)
        number += 1
    loaders = sys.path_hooks.pop()(_folder)._loaders
    by_loader = {}
    for suffix, loader in loaders:
        by_loader.setdefault(loader, []).append(suffix)
    sys.path_hooks.append(_Finder.path_hook(*by_loader.items()))
    sys.path_importer_cache.clear()


_pin_paths()

import builtins
import ctypes
import gc
import marshal
import random

import torch


def version():
    return torch.__version__.split("+")[0]


def cpu_capability():
    if hasattr(torch.backends.cpu, "get_cpu_capability"):
        return torch.backends.cpu.get_cpu_capability()
    mark = "CPU capability usage: "
    for line in torch.__config__.show().splitlines():
        if mark in line:
            return line.split(mark)[1]
    return "unknown"


def prepare(threads):
    """The state that a snippet finds: seeds, number of threads."""
    torch.set_num_threads(threads)
    torch.default_generator.manual_seed(0)
    random.seed(0)


def run(code, next_block):
    """Runs a compiled snippet. Nothing, or how it ended: "exit" and the status, or "exception", the line
    in its code and the text."""
    namespace = {"__name__": "__main__", "__builtins__": builtins, "torch": torch}
    try:
        exec(marshal.loads(code), namespace)
        namespace["instr_snippet_"](next_block, range)
    except SystemExit as ended:
        status = ended.code
        return "exit", 0 if status is None else status if isinstance(status, int) else 1, ""
    except BaseException as error:
        return "exception", _line_of(error), _text_of(error)


def _line_of(error):
    """Of the snippet's innermost frame; 0: it has none."""
    line = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<snippet>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _text_of(error):
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:
        text = "an exception whose text raises another one"
    return f"{name}: {text}" if text else name


def _warm_up_eager():
    for _ in range(3):
        x = torch.rand((4, 4))
        w = torch.rand((4, 4), requires_grad=True)
        y = torch.mm(x, w)
        y = torch.relu(y + x) * 2
        y = y.t().contiguous().view(16).sum()
        y.backward()


def warm_up(kind):
    prepare(1)
    _warm_up_eager()
    # From here on there is nothing to collect, and what is there is never looked at again.
    gc.collect()
    gc.freeze()
    gc.disable()


if __name__ == "__main__" and _kind != "prime":
    serve = ctypes.PyDLL(f"{_folder}/worker.so").instr_serve
    serve.argtypes = [ctypes.py_object, ctypes.c_char_p]
    serve(sys.modules["__main__"], _kind.encode())
