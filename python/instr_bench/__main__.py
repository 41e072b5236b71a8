"""`python -m instr_bench`: the program of this environment."""
import importlib.metadata
import os
import sys


def _program():
    """Returns the path of the installed program, or None."""
    try:
        files = importlib.metadata.files("instr_bench") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((file.locate() for file in files if file.parts[-2:] == ("bin", "instr_bench")), None)


def main():
    """Replaces this process by the program; does not return."""
    program = _program()
    if program is None:
        sys.exit("error: the program is not part of this environment: pip install instr_bench")
    os.execv(program, ["instr_bench", *sys.argv[1:]])


if __name__ == "__main__":
    main()
