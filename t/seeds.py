"""The seed of a test that draws at random.

It is always the same one, so that `make test` does the same thing every time. With PADDLE_SOAK=1 each test draws another.
PADDLE_SEED=N takes precedence and repeats a run. A test that fails shows the command.
"""

import os
import random
import shlex

import pytest
from soak import is_soak

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOAK = is_soak(os.environ)
FIXED = 1


def choose(environ):
    if "PADDLE_SEED" in environ:
        return int(environ["PADDLE_SEED"])
    return random.SystemRandom().randrange(1 << 32) if is_soak(environ) else FIXED


def repeat_command(path, name, number, environ):
    """The command that runs the test `name` of the file `path` again with this seed."""
    kept = {name: environ[name] for name in ("PADDLE_BIN", "PADDLE_SOAK") if environ.get(name)}
    words = [f"{key}={shlex.quote(value)}" for key, value in {**kept, "PADDLE_SEED": str(number)}.items()]
    return " ".join([*words, ".venv/bin/python -m pytest", shlex.quote(f"{os.path.relpath(path, ROOT)}::{name}")])


@pytest.fixture
def seed(request):
    """The seed of this test."""
    number = choose(os.environ)
    print("repeat with:", repeat_command(request.path, request.node.name, number, os.environ))
    return number


def noise(size, name):
    """Bytes that do not compress; each name has its own, and they never change."""
    return random.Random(name).randbytes(size)
