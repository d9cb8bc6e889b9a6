"""`python -m paddleflow`: the command line, which is a program of its own (doc/guide/cli.md, "The name paddleflow").

The distribution has no script `paddleflow`: pip would overwrite that of the older client without a word, and remove it with ours."""

import os
import shutil
import sys
from typing import Optional

HEAD = 4096  # bytes of a script that are looked at
MISSING = """paddleflow: there is no program 'paddleflow' on the PATH; the command line is a program of its own
Install the programs of the platform: `make install` in its sources installs `paddle` and `paddleflow`."""


def _leads_back(program: str) -> bool:
    """True for a script that calls this module, such as the older client's, which may be left when that client is gone."""
    try:
        with open(program, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return head.startswith(b"#!") and b"paddleflow.__main__" in head


def _program() -> Optional[str]:
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which("paddleflow", path=folder) if folder else None
        if found is not None and not _leads_back(found):
            return found
    return None


def main() -> None:
    """Becomes the program `paddleflow` on the PATH; exit status 1 if there is none."""
    program = _program()
    if program is None:
        sys.exit(MISSING)
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
