"""Runs the tests of a folder as the worker does, without Valgrind, with blocks of 1, 1 and 2 calls.

collected.py FOLDER TEST...: prints JSON, what each test ended with.
"""
import json
import os
import sys
import tempfile
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "worker/python/counted"))
ROOT, LIST, SNIPPET = 7, 8, 101  # descriptors of worker/wire.h


def provide(path, number):
    descriptor = os.open(path, os.O_RDONLY)
    os.dup2(descriptor, number)


def main():
    folder, *tests = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "reports").touch()
        wanted = {"cwd": ".", "path": [], "args": [], "reports": f"{scratch}/reports",
                  "tests": [{"id": test} for test in tests]}
        Path(scratch, "list").write_text(json.dumps(wanted))
        provide(folder, ROOT), provide(f"{scratch}/list", LIST), provide(scratch, SNIPPET)
        usual = os.path.realpath
        os.path.realpath = lambda path, **options: (
            os.path.abspath(path) if str(path).startswith("/proc/self/fd/") else usual(path, **options))
        sys.modules["__main__"]._native = types.SimpleNamespace(count_once=lambda calls: None,
                                                                end_block=lambda _: None)
        output = os.dup(1)
        import instr_pytest
        instr_pytest.collect()
        ends = {}
        for test in tests:
            blocks = iter((1, 1, 2, 0))
            try:
                instr_pytest.run(test, lambda _: next(blocks))
                ends[test] = "counted"
            except (instr_pytest.TestFailed, instr_pytest.TestSkipped) as error:
                ends[test] = f"{type(error).__name__}: {error}"
        reports = [json.loads(line)["id"] for line in Path(scratch, "reports").read_text().splitlines()]
        os.write(output, json.dumps({"ends": ends, "reports": reports}).encode())


main()
