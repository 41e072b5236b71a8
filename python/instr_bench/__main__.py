"""`python -m instr_bench`: the program of this environment."""
import os
import sys

from instr_bench.program import find_program


def main() -> None:
    """Replaces this process by the program; does not return."""
    program = find_program()
    if program is None:
        sys.exit("error: the program is not part of this environment: pip install instr_bench")
    os.execv(program, ["instr_bench", *sys.argv[1:]])


if __name__ == "__main__":
    main()
