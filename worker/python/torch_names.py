"""Lists as JSON the names that torch knows here: of backends of torch.compile(), each with the reason why it cannot
run, and in its configurations."""

import importlib
import json
import sys

import torch._dynamo

CONFIGS = {
    "dynamo": "torch._dynamo.config",
    "functorch": "torch._functorch.config",
    "inductor": "torch._inductor.config",
}


def list_config(module):
    """Returns the names in a configuration, such as "triton.cudagraphs", without texts; empty if torch has none."""
    try:
        config = importlib.import_module(module)
    except ImportError:
        return {}
    return {name: "" for name in getattr(config, "_config", {})}


def find_obstacle(backend):
    """Returns the reason why a backend cannot be loaded; empty if it can. Loading imports the package of its
    entry point; torch's own for XLA imports its package later."""
    try:
        torch._dynamo.lookup_backend(backend)
        if backend.startswith("openxla"):
            importlib.import_module("torch_xla")
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main():
    names = {name: list_config(module) for name, module in CONFIGS.items()}
    names["backends"] = {name: find_obstacle(name) for name in torch._dynamo.list_backends(None)}
    json.dump(names, sys.stdout)


if __name__ == "__main__":
    main()
