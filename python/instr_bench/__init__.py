"""Counts snippets of PyTorch, and reads the results files of instr_bench.

The program itself is `instr_bench` on the command line, and `python -m instr_bench`.
"""
from typing import TYPE_CHECKING, Any

from instr_bench.program import CountError
from instr_bench.results import Measurement, ResultsError, read, read_frame

if TYPE_CHECKING:
    from instr_bench.benchmark import Compare, Timer

__all__ = ["Compare", "CountError", "Measurement", "ResultsError", "Timer", "read", "read_frame"]


def __getattr__(name: str) -> Any:
    # Results are read without torch.
    if name in ("Compare", "Timer"):
        import instr_bench.benchmark

        return getattr(instr_bench.benchmark, name)
    raise AttributeError(f"module 'instr_bench' has no attribute '{name}'")
