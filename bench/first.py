"""How long a new user waits for the first line of their own program. Part of bench.py."""

import pathlib
import sys
import tempfile
import time

from partial import watch

PROGRAM = """print("the first line")
import time
for epoch in range(3):
    print(f"epoch {epoch}")
"""
HELPERS = 20  # more files in the directory, as a real one has


def until_first_line(words, server, directory):
    began = time.time_ns()
    times = [now for now, data in watch(words, server, directory) if b"the first line" in data]
    return (times[0] - began) / 1e6


def figures(bench):
    """`paddle submit --follow -- PYTHON train.py` in a directory of one's own, sent before, beside the program by itself."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="bench-program-"))
    (directory / "train.py").write_text(PROGRAM)
    for n in range(HELPERS):
        (directory / f"helper{n}.py").write_text(f"VALUE = {n}\n" * 100)
    submit = [bench.BIN / "paddle", "submit", "--follow", "--", sys.executable, "train.py"]
    alone = [sys.executable, "-u", "train.py"]
    with bench.Scratch() as server:
        first = until_first_line(submit, server, directory)
        pairs = [
            (until_first_line(submit, server, directory), until_first_line(alone, server, directory))
            for _ in range(4 * bench.ROUNDS)
        ]
    return {
        "ms to the first line, warm (bar 100)": bench.spread([ours for ours, _ in pairs]),
        "ms to the first line, the first time": round(first, 1),
        "ms to the first line of the program by itself": bench.spread([theirs for _, theirs in pairs]),
    }
