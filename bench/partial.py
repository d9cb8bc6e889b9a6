"""How long an unended line takes from the job to the terminal. Part of bench.py."""

import os
import pty
import re
import subprocess
import sys
import time

UPDATES, PAUSE = 100, 0.23
STAMP = re.compile(rb"at (\d+) ")
BAR = f"""
import sys, time
time.sleep(1)
for n in range({UPDATES}):
    sys.stdout.write(chr(13) + f"at {{time.time_ns()}} |" + "#" * 20)
    sys.stdout.flush()
    time.sleep({PAUSE})
"""
PROMPTS = BAR.replace('chr(13) + f"', 'chr(10) + f"').replace('"#" * 20', '"name? "')


def watch(words, server, cwd=None):
    """What a command writes to its terminal, as pairs of the time at which it can be shown, in ns, and the bytes."""
    master, slave = pty.openpty()
    env = {**os.environ, "PADDLE_SERVER": server.url, "TERM": "xterm", "LANG": "C.UTF-8"}
    process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=cwd, start_new_session=True)
    os.close(slave)
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # the program has ended
            break
        yield time.time_ns(), data
    os.close(master)
    process.wait()


def latencies(bench, server, program):
    """Milliseconds from each write to the moment at which a terminal can show it."""
    words = [bench.BIN / "paddle", "submit", "--no-package", "--follow", "--", sys.executable, "-c", program]
    seen, rest = {}, b""
    for now, data in watch(words, server):
        rest += data
        for stamp in STAMP.findall(rest):
            seen.setdefault(int(stamp), now)
        rest = rest[-60:]
    return sorted((shown - written) / 1e6 for written, shown in seen.items())


def figures(bench):
    result = {}
    with bench.Scratch("--cpus", "4") as server:
        for name, program in (("a bar that is redrawn", BAR), ("a prompt behind a line", PROMPTS)):
            rounds = [latencies(bench, server, program) for _ in range(max(1, bench.ROUNDS // 2))]
            times = sorted(time for round_ in rounds for time in round_)
            result[f"{name}: shown of {UPDATES * len(rounds)} writes"] = len(times)
            result[f"{name}: ms to the terminal"] = bench.spread(times)
            result[f"{name}: ms, p99 (bar 200)"] = round(times[len(times) * 99 // 100], 2)
    return result
