"""Makes an AOTInductor package of what a snippet computes, with the arguments PACKAGE and LIST: the paths of
the package, and of a list for make of the files that were imported outside the standard library and torch.

The request, on standard input, is JSON: the texts of a snippet (compile_snippets.py), whose statement passes
a module or a function and its arguments to instr_export_, and "threads". The reply, on standard output, is an
empty object, or {"line", "message"} with a line as compile_snippets.py counts them.
"""

import json
import os
import sys

_reply = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # snippets and compilers may print

from compile_snippets import FILE, code_of

sys.path.pop(0)  # the folder of this file is not the user's

import builtins
import marshal
import random
import traceback

MAX_MESSAGE = 2_000
OWN = __file__, sys.modules["compile_snippets"].__file__


def prepare(threads):
    """Does the same as prepare() in serve.py, so that parameters are those of the eager module."""
    import torch

    torch.set_num_threads(threads)
    torch.default_generator.manual_seed(0)
    random.seed(0)
    return torch


def as_module(torch, function):
    if isinstance(function, torch.nn.Module):
        return function
    module = torch.nn.Module()
    module.forward = function
    return module


def exporter(torch, path):
    def export(function, arguments):
        import torch._inductor
        import torch.export

        with torch.no_grad():
            program = torch.export.export(as_module(torch, function), arguments, strict=False)
            torch._inductor.aoti_compile_and_package(program, package_path=path)

    return export


def write_list(torch, path):
    """Lists the imported files. Modules of torch import others of its environment."""
    homes = [os.path.dirname(os.__file__), os.path.dirname(torch.__file__)]
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    inputs = [
        os.path.abspath(file).replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")
        for file in files
        if isinstance(file, str) and file not in OWN and not file.startswith(tuple(f"{home}/" for home in homes))
    ]
    with open(path, "w") as file:
        file.write("package: " + " ".join(sorted(inputs)) + "\n")


def line_of(error):
    """Returns the line in the snippet's innermost frame; 0 if there is none."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    return lines[-1] if lines else 0


def describe(error):
    text = f"{type(error).__name__}: {error}".strip()
    line = line_of(error)
    if line:
        text = text.split("\n\n")[0]  # the rest is about options of torch
    return {"line": line, "message": text[:MAX_MESSAGE]}


def make(request, path, list_path):
    torch = prepare(request["threads"])
    names = {"__name__": "__main__", "__builtins__": builtins, "torch": torch}
    exec(marshal.loads(bytes.fromhex(code_of(request))), names)
    names["instr_exporter_"](exporter(torch, path))
    write_list(torch, list_path)
    return {}


if __name__ == "__main__":
    try:
        reply = make(json.load(sys.stdin), *sys.argv[1:])
    except (Exception, SystemExit) as error:
        reply = describe(error)
    json.dump(reply, _reply)
    _reply.flush()
    os._exit(0)  # not through the destructors of what was compiled
