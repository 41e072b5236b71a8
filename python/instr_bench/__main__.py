"""`python -m instr_bench`: the program of this environment."""
import os
import sys

from instr_bench.program import CountError, find_program


def main() -> None:
    """Replaces this process by the program; does not return."""
    try:
        program = find_program()
    except CountError as error:
        sys.exit(f"error: {error}")
    os.execv(program, ["instr_bench", *sys.argv[1:]])


if __name__ == "__main__":
    main()
