"""Reads the results files of instr_bench.

The program itself is `instr_bench` on the command line, and `python -m instr_bench`.
"""
from instr_bench.results import Measurement, ResultsError, read, read_frame

__all__ = ["Measurement", "ResultsError", "read", "read_frame"]
