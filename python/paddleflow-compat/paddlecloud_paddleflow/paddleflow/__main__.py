"""`python -m paddleflow`: the command line, which is a program of its own (doc/guide/cli.md, "The name paddleflow")."""

import os
import shutil
import sys


def main() -> None:
    """Becomes the program `paddleflow` on the PATH; exit status 1 if there is none."""
    program = shutil.which("paddleflow")
    if program is None:
        sys.exit("paddleflow: there is no program 'paddleflow' on the PATH; install it with the programs of paddle")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
