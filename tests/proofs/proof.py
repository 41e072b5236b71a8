"""Helpers of all proofs: the program, commands, temporary folders, results, options, tables."""
import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("INSTR_BENCH_PROGRAM", str(ROOT / "build/release/instr_bench"))


def make_parser(description):
    """Returns a parser of options; `description`, the program's docstring, is its --help."""
    return argparse.ArgumentParser(description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def exit_with(main, *more_errors):
    """Exits with the status that `main` returns, or with 2 and a message if the proof could not be run."""
    try:
        sys.exit(main())
    except (RuntimeError, OSError, subprocess.CalledProcessError, *more_errors) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


@contextlib.contextmanager
def temporary_folder(name, parent=None, keep=None):
    """Makes a folder, and removes it at the end of the `with` block; `keep` is one that stays."""
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix=f"instr_bench_{name}_", dir=parent,
                                     ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def run(command, statuses=(0,), **more):
    """Runs a command, and returns it with its output as text; any other exit status is an error."""
    command = list(map(str, command))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode not in statuses:
        raise RuntimeError(f"{' '.join(command)[:500]}: exit {done.returncode}\n"
                           f"{done.stderr.strip()[-2000:]}")
    return done


def run_timed(command, **more):
    """Returns the seconds that a command took, and what `run` returns."""
    begin = time.monotonic()
    done = run(command, **more)
    return time.monotonic() - begin, done


def run_timer(python, script, arguments, folder, **environment):
    """Returns the output of a script that uses torch.utils.benchmark's Callgrind timer."""
    file = folder / "timer.py"
    file.write_text(script)
    # The timer starts `python` by that name.
    path = f"{Path(python).absolute().parent}:{os.environ['PATH']}"
    return run([python, file, *arguments], cwd=folder,
               env={**os.environ, **environment, "PATH": path}).stdout


def python_of(libtorch):
    """Returns the interpreter of the virtual environment that contains a LibTorch."""
    return Path(libtorch).resolve().parents[3] / "bin/python"


def libtorch_option(libtorch):
    """Returns the options of instr_bench for --libtorch; none if instr_bench finds LibTorch itself."""
    return [f"--libtorch={libtorch}"] if libtorch else []


def write_definitions(file, snippets, prefix=""):
    """Writes a benchmark for each (label, setup, statement), in Python if the prefix is `py_`."""
    file.write_text("schema = 1\n" + "".join(
        f"[[benchmark]]\nlabel = {json.dumps(label)}\n{prefix}setup = {json.dumps(setup)}\n"
        f"{prefix}stmt = {json.dumps(statement)}\n" for label, setup, statement in snippets))


def read_measurements(results):
    """Returns the measurements of a complete results file: its lines between header and end."""
    return [json.loads(line) for line in results.read_text().splitlines()[1:-1]]


def read_counts(results):
    """Returns the metrics of each one-thread count in a complete results file, by key."""
    return {record["key"]: record["metrics"] for record in read_measurements(results)
            if record["outcome"] == "counted" and record["threads"] == 1}


def exact_filter(key):
    """Returns a value of --filter that selects this key alone."""
    escaped = "".join("\\" + ch if not ch.isalnum() and ch not in "/_ =" else ch for ch in key)
    return f"^{escaped}$"


def sample_evenly(keys, count):
    """Returns `count` of the keys, or slightly more, at equal distances."""
    return keys[::max(1, len(keys) // count)]


def print_row(columns, *cells):
    """Prints a row of a table, whose columns are alignments and widths: `<24 >9 >11`."""
    print("".join(f"{cell:{column}}" for column, cell in zip(columns.split(), cells, strict=True)),
          flush=True)
