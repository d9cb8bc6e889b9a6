"""What passed before and has not changed since. `make check` does not run it again; `make test` runs everything.

A unit test or a fuzz target does the same each time (doc/internals/testing.md, "Seeds"), so its result can only change with one of
its inputs: its program, the programs it starts, its other files, the environment that chooses a seed, the kernel and the
installed packages. An empty file in PADDLE_TEST_CACHE (~/.cache/paddle-test) stands for a pass, named by their hash.
"""

import functools
import hashlib
import os
import pathlib
import time

# Programs that unit tests start.
STARTED = ("src/agent/paddle-agent", "src/agent/paddle-spawner", "src/gate/paddle-gate")
VARIABLES = ("PADDLE_SEED", "PADDLE_SOAK")
PACKAGES = pathlib.Path("/var/lib/dpkg/status")
KEPT_DAYS = 30


def directory():
    cache = os.environ.get("PADDLE_TEST_CACHE") or pathlib.Path.home() / ".cache/paddle-test"
    return pathlib.Path(cache) / "passed"


@functools.cache
def machine():
    about = [os.uname().release, os.uname().machine, *(os.environ.get(name, "") for name in VARIABLES)]
    packages = PACKAGES.read_bytes() if PACKAGES.exists() else b""
    return "\0".join(about).encode() + hashlib.sha256(packages).digest()


@functools.lru_cache(maxsize=1024)
def of_file(path, mtime_ns):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def mark(words, files):
    """The file that stands for a pass of the command `words` with these files as its input."""
    total = hashlib.sha256(machine() + "\0".join(map(str, words)).encode())
    for path in files:
        total.update(of_file(path, os.stat(path).st_mtime_ns))
    return directory() / total.hexdigest()[:40]


def remember(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def forget_old():
    if directory().exists():
        for path in directory().iterdir():
            if path.stat().st_mtime < time.time() - KEPT_DAYS * 86400:
                path.unlink(missing_ok=True)


def marks_of_tests(build, tests):
    """By the name of each of Meson's tests (`meson introspect --tests`) its mark. All programs have to be built."""
    started = [path for name in STARTED if (path := build / name).exists()]
    marks = {}
    for test in tests:
        programs = [word for word in test["cmd"] if os.path.isfile(word)]
        words = [word for word in test["cmd"] if word not in programs]
        marks[test["name"]] = mark([test["name"], *words], [*programs, *started])
    return marks
