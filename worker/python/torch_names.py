"""Lists as JSON the names that torch knows here: of backends of torch.compile(), and in its configurations."""

import importlib
import json
import sys

CONFIGS = {
    "dynamo": "torch._dynamo.config",
    "functorch": "torch._functorch.config",
    "inductor": "torch._inductor.config",
}


def list_config(module):
    """Returns the names in a configuration, such as "triton.cudagraphs"; empty if torch has none."""
    try:
        config = importlib.import_module(module)
    except ImportError:
        return []
    return sorted(getattr(config, "_config", {}))


def main():
    import torch._dynamo

    names = {name: list_config(module) for name, module in CONFIGS.items()}
    names["backends"] = sorted(torch._dynamo.list_backends(None))
    json.dump(names, sys.stdout)


if __name__ == "__main__":
    main()
