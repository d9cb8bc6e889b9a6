"""No test draws without a seed that is printed (doc/internals/testing.md, "Seeds")."""

import importlib.metadata
import re
import sysconfig

import pytest
import seeds
from conftest import ROOT

# Draws that two runs at one time must not share.
MUST_NOT_COLLIDE = {
    "src/agent/test/agent.c": "g_random_int_range(10000, 20000)",  # a port
    "t/kube/supervise.py": "random.sample(",  # ports
}
C_DRAW = r"\bg_(?:random|test_rand)_\w+\(.*|\bg_rand_new\(|\bs?rand(?:om)?\("
PYTHON_DRAW = r"(?<![\w.])(?:random\.(?!Random\([^)])\w+\(|os\.urandom\((?!\d\)\.hex\(\)\})|uuid\.|secrets\.\w+\()"


def drawn(paths, pattern):
    for path in sorted(paths):
        name = str(path.relative_to(ROOT))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(pattern, line) and MUST_NOT_COLLIDE.get(name, "\n") not in line:
                yield f"{name}:{number}: {line.strip()}"


def test_c_tests_draw_with_the_seed():
    sources = {*ROOT.glob("src/*/test/*.c"), *ROOT.glob("fuzz/*.c")}
    assert list(drawn(sources, C_DRAW)) == []


def test_python_tests_draw_with_the_seed():
    ours = {
        ROOT / "t/seeds.py",
        ROOT / "t/test_seeds.py",
        *ROOT.glob("t/steadiness/*.py"),
    }  # t/steady prints its own seed
    assert list(drawn(set(ROOT.glob("t/**/*.py")) - ours, PYTHON_DRAW)) == []


@pytest.mark.parametrize(
    "line",
    [
        "int port = g_random_int_range(1, 9);",
        "x = g_test_rand_bit();",
        "rand = g_rand_new();",
        "srand(1);",
        "n = rand();",
    ],
)
def test_a_draw_in_c_is_found(line):
    assert re.search(C_DRAW, line)


@pytest.mark.parametrize(
    "line", ["random.choice(x)", "random.Random()", "os.urandom(20)", "os.urandom(9 << 20)", "uuid.uuid4()"]
)
def test_a_draw_in_python_is_found(line):
    assert re.search(PYTHON_DRAW, line)


@pytest.mark.parametrize("line", ["random.Random(seed)", 'f"{name}-{os.urandom(3).hex()}"', "self.random.choice(x)"])
def test_a_seed_and_a_unique_name_may_be(line):
    assert not re.search(PYTHON_DRAW, line)


def test_the_seed_is_fixed_random_or_given():
    assert seeds.choose({}) == seeds.choose({"PADDLE_SOAK": ""}) == seeds.choose({"PADDLE_SOAK": "0"}) == seeds.FIXED
    assert len({seeds.choose({"PADDLE_SOAK": "1"}) for _ in range(5)}) > 1
    assert seeds.choose({"PADDLE_SEED": "7"}) == seeds.choose({"PADDLE_SEED": "7", "PADDLE_SOAK": "1"}) == 7


def test_all_agree_on_the_long_form():
    """Each asks one of two functions that read PADDLE_SOAK the same way: `PADDLE_SOAK=0 make test` is `make test`."""
    asks = re.compile(r"""getenv\("PADDLE_SOAK"|environ(?:\.get\(|\[)"PADDLE_SOAK|os\.getenv\("PADDLE_SOAK""")
    files = [*ROOT.glob("src/**/*.[ch]"), *ROOT.glob("fuzz/*.c"), *ROOT.glob("t/**/*.py"), ROOT / "fuzz/run"]
    found = {str(path.relative_to(ROOT)) for path in files if asks.search(path.read_text())}
    assert found == {"src/base/test/seed.h", "t/soak.py"}


def test_the_command_repeats_the_test():
    environ = {"PADDLE_SOAK": "1", "PADDLE_BIN": "build/a b", "HOME": "/root"}
    said = seeds.repeat_command(ROOT / "t/test_x.py", "test_y[a b]", 7, environ)
    assert (
        said
        == "PADDLE_BIN='build/a b' PADDLE_SOAK=1 PADDLE_SEED=7 .venv/bin/python -m pytest 't/test_x.py::test_y[a b]'"
    )


def test_tools_have_fixed_versions():
    """Another Schemathesis draws other requests from the same seed, another ruff finds other things."""
    site = sysconfig.get_paths()["purelib"]
    listed = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "deploy/constraints.txt").read_text(), re.M))
    fixed = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in listed.items()}
    installed = {one.name: one.version for one in importlib.metadata.distributions(path=[site]) if one.name != "pip"}
    assert fixed == {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in installed.items()}


def test_noise_is_the_same_in_each_run():
    assert seeds.noise(4, "a") == b"J\xba\xa3E" and seeds.noise(4, "b") != seeds.noise(4, "a")
