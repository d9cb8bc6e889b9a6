"""The command line of t/steady."""

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys

from steadiness.repetition import LOGS, PYTEST, TOP, kind_of, repeat, report

BUSY = "import select\nwhile not select.select([0], [], [], 0)[0]:\n    sum(range(10**5))"  # until its input is closed


def count(text):
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def times(text):
    number = count(text)
    if not number:
        raise ValueError
    return number


def seconds(text):
    number = float(text)
    if not 0 < number <= 60:
        raise ValueError
    return number


def parser():
    made = argparse.ArgumentParser(
        prog="t/steady",
        description="Repeats tests beside a load, while random processes of theirs are stopped and continued. "
        "A test that does not depend on the pace of the machine passes every time.",
        epilog="The programs are those of build/asan; PADDLE_BIN names others for pytest. "
        "Logs of what failed, with the time of each stop, stay in build/steady.",
    )
    add = made.add_argument
    add("names", metavar="NAME", nargs="+", help="t/FILE.py, t/FILE.py::TEST, or a unit test such as engine/random")
    add("--times", type=times, default=5, help="how often each test is run (default: %(default)s)")
    add("--load", type=count, default=2, help="busy processes beside it (default: %(default)s)")
    add("--seed", type=int, default=random.randrange(100000), help="repeats the choices of an earlier run")
    stop = made.add_mutually_exclusive_group()
    stop.add_argument(
        "--stop", metavar="SECONDS", type=seconds, default=1.5, help="the longest stop (default: %(default)s)"
    )
    stop.add_argument("--no-stop", dest="stop", action="store_const", const=0, help="no stops, only the load")
    return made


def parse():
    made = parser()
    options = made.parse_args()
    for name in options.names:
        file, _, test = name.partition("::")
        if kind_of(name) is PYTEST and not (TOP / file).exists():
            made.error(f"there is no file '{file}'")
        if test and f" {test.split('::')[-1].split('[')[0]}(" not in (TOP / file).read_text(encoding="utf-8"):
            made.error(f"'{file}' has no test '{test}'")
    return options


@contextlib.contextmanager
def load(number):
    """Busy processes. They end with this one, however it ends: then the kernel closes their input."""
    with contextlib.ExitStack() as stack:
        for _ in range(number):
            command = [sys.executable, "-c", BUSY]
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True))
        yield


def repeat_all(name, options):
    """Returns how often the test passed."""
    passed = 0
    for number in range(1, options.times + 1):
        base = re.sub(r"[^\w.-]+", "-", name)
        log = LOGS / f"{base}.{options.seed}.{number}.log"
        outcome = repeat(name, log, options.stop, random.Random(f"{options.seed} {name} {number}"))
        line = f"{name} {number}/{options.times}: %s after {outcome.seconds:.1f} s, {len(outcome.stops)} stops"
        if outcome.passed:
            log.unlink()
            print(line % "passed", flush=True)
            passed += 1
        else:
            print(line % "failed" + f"; log: {os.path.relpath(log)}", *report(outcome), sep="\n", flush=True)
    return passed


def main():
    options = parse()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup has it ignored
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    print(f"seed {options.seed}", flush=True)
    try:
        with load(options.load):
            passed = {name: repeat_all(name, options) for name in options.names}
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    for name, number in passed.items():
        print(f"{name}: {number} of {options.times}")
    return 0 if all(number == options.times for number in passed.values()) else 1
