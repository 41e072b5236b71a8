"""Describes as JSON the interpreter that runs this, and its packages. Does not import torch."""

import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import sysconfig


def find_torch():
    """Returns torch's folder and version. Reads them, since importing takes seconds."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None, None
    folder = list(spec.submodule_search_locations)[0]
    version = ""
    with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("__version__"):
                version = line.split("=", 1)[1].strip().strip("'\"")
    return folder, version.split("+")[0]


def find_torchscript(torch):
    """Returns whether torch has TorchScript, and the variable, NAME=VALUE, without which a torch later than
    2.15 may refuse to run it; empty if this torch has no such variable."""
    if not os.path.exists(os.path.join(torch, "jit", "_script.py")):
        return False, ""
    with open(os.path.join(torch, "jit", "_state.py"), encoding="utf-8") as file:
        text = file.read()
    name = re.search(r"""["'](TORCH_\w*TORCHSCRIPT\w*)["']""", text)
    value = re.search(r"""["'](I promise[^"']*)["']""", text)
    return True, f"{name[1]}={value[1] if value else 1}" if name else ""


def packages():
    """Returns versions by name, normalised as by PyPI."""
    versions = {}
    for package in importlib.metadata.distributions():
        name = package.metadata["Name"]
        if name:  # absent in remnants of a package
            versions.setdefault(re.sub("[-_.]+", "-", name).lower(), package.version)
    return versions


def main():
    own = os.path.dirname(os.path.abspath(__file__))
    library = sysconfig.get_paths()
    standard = {library["stdlib"], library["platstdlib"]}
    standard |= {os.path.join(folder, "lib-dynload") for folder in standard}
    path = []
    for entry in sys.path:
        if not entry or entry == own or entry in standard or not os.path.exists(entry):
            continue
        if os.path.basename(entry).startswith("python") and entry.endswith(".zip"):
            continue
        path.append(os.path.realpath(entry))
    torch, torch_version = find_torch()
    has_torchscript, torchscript_variable = find_torchscript(torch) if torch else (False, "")
    if torch and os.path.realpath(os.path.dirname(torch)) not in path:
        path.append(os.path.realpath(os.path.dirname(torch)))  # an editable installation's folder
    json.dump(
        {
            "implementation": sys.implementation.name,
            "version": ".".join(str(part) for part in sys.version_info[:3]),
            "build": " ".join(sys.version.split()),
            "is_free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
            "program": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
            "home": sys.base_prefix,
            "platform_home": sys.base_exec_prefix,
            "path": path,
            "torch": torch,
            "torch_version": torch_version,
            "has_torchscript": has_torchscript,
            "torchscript_variable": torchscript_variable,
            "packages": packages(),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
