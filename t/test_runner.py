"""The test runner itself (t/runner): what it makes of tests that fail, skip or cannot be read, and what it measures."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import types

import pytest
from conftest import PATIENCE, ROOT, open_way, wait_for
from runner import cores, endtoend, plugin, process, steps
from runner.__main__ import Run, only_run, report

TABLE = """
| name | what |
|---|---|
| `test_skips` | a row of another table |

| test | why it may skip |
|---|---|
| `test_may` | needs what is not everywhere |
| `/part/may` | the same |

| `test_skips` | after the table |
"""
GOOD = "def test_good(): pass"
# Fails the first time it is run.
ONCE = """
    import pathlib
    def test_once():
        ran = pathlib.Path(__file__).with_suffix(".ran")
        first = not ran.exists()
        ran.touch()
        assert not first
"""


@pytest.fixture
def run_of(tmp_path, monkeypatch, capsys):
    """Runs the end-to-end step over small test files; returns exit status, last line, and what build/unsteady.txt says."""
    (tmp_path / "doc/internals").mkdir(parents=True)
    (tmp_path / "doc/internals/testing.md").write_text(TABLE)

    def run(workers=1, **files):
        monkeypatch.setenv("PADDLE_TEST_WORKERS", str(workers))
        for name, text in files.items():
            (tmp_path / f"test_{name}.py").write_text(textwrap.dedent(text))
        about = steps.About(root=tmp_path, build=tmp_path, tests=(".",))
        step = steps.Step("end-to-end", steps.MAIN, steps.end_to_end, again=steps.end_to_end_again)
        one = Run(about, [step])
        one.all_steps()
        status = report(one, one.failed_tests_again())
        unsteady = (tmp_path / "unsteady.txt").read_text().splitlines()
        return status, capsys.readouterr().out.splitlines()[-1], [name.split("::")[1] for name in unsteady]

    return run


def test_all_pass(run_of):
    assert run_of(a=GOOD, b=GOOD) == (0, "2 passed, 0 failed, 0 skipped", [])


def test_one_that_passes_the_second_time_is_unsteady(run_of):
    assert run_of(a=GOOD, b=ONCE) == (0, "2 passed, 0 failed, 0 skipped", ["test_once"])


def test_one_that_fails_twice_fails_the_run(run_of):
    assert run_of(a=GOOD, b="def test_bad(): assert False") == (1, "1 passed, 1 failed, 0 skipped", [])


def test_four_unsteady_ones_fail_the_run(run_of):
    assert run_of(a=ONCE, b=ONCE, c=ONCE, d=ONCE) == (1, "0 passed, 4 failed, 0 skipped", [])


def test_a_skip_without_a_reason_fails(run_of):
    skips = "import pytest\ndef test_skips(): pytest.skip('no')"
    assert run_of(a=GOOD, b=skips) == (1, "1 passed, 1 failed, 0 skipped", [])
    assert run_of(b=skips.replace("test_skips", "test_may")) == (0, "1 passed, 0 failed, 1 skipped", [])


def test_a_file_that_cannot_be_read_fails(run_of):
    status, last, _ = run_of(a=GOOD, b="import no_such_module")
    assert status == 1 and "0 failed" not in last


def test_a_worker_that_dies_fails_the_run(run_of):
    status, last, _ = run_of(2, a=GOOD, b="import os\ndef test_dies(): os._exit(3)")
    assert (status, last) == (1, "1 passed, 1 failed, 0 skipped")


# Ends its worker the first time it is run. The test after it uses the same fixture.
DIES = """
    import os, pathlib, pytest
    @pytest.fixture(scope="module")
    def made(): pass
    def test_dies(made):
        ran = pathlib.Path(__file__).with_suffix(".ran")
        if not ran.exists():
            ran.touch()
            os._exit(3)
    def test_after(made): pass
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_dead_worker_has_not_run_is_run(run_of, workers):
    """Groups that are done when it dies, and some that are not."""
    files = {f"a{i}": GOOD for i in range(9)} | {"b": DIES, "c": GOOD}
    assert run_of(workers, **files) == (0, "12 passed, 0 failed, 0 skipped", ["test_dies"])


def test_what_is_not_run_fails_the_run(run_of):
    """xdist gives up after some dead workers: four a worker."""
    dying = {f"a{i}": "import os\ndef test_dies(): os._exit(3)" for i in range(6)}
    status, last, _ = run_of(**dying, b=GOOD)
    assert status == 1 and "0 failed" not in last


def test_a_tear_down_that_hangs_ends(run_of, monkeypatch):
    monkeypatch.setattr(steps.About, "test_timeout", 2)
    text = """
        import pytest, time
        @pytest.fixture
        def made():
            yield
            time.sleep(600)
        def test_hangs(made): time.sleep(600)
    """
    assert run_of(a=GOOD, b=text) == (1, "1 passed, 1 failed, 0 skipped", [])


def test_an_end_that_fails_fails_the_run(run_of, tmp_path):
    """Such as that of a cluster that cannot be taken down."""
    end = "def pytest_unconfigure(config):\n    if not hasattr(config, 'workerinput'): raise OSError('busy')"
    (tmp_path / "conftest.py").write_text(end)
    assert run_of(a=GOOD)[0] == 1


def test_a_step_whose_need_failed_is_not_run(tmp_path, capsys):
    about, ran = steps.About(root=ROOT, build=tmp_path), []
    table = [
        steps.Step("first", steps.MAIN, steps.commands(("sh", "-c", "echo the reason; exit 3"))),
        steps.Step("second", steps.BACKGROUND, lambda *_: ran.append(1), needs=("first",)),
        steps.Step("third", steps.BACKGROUND, steps.commands(("true",))),
    ]
    run = Run(about, table)
    run.all_steps()
    assert report(run, []) == 1 and not ran
    out = capsys.readouterr().out
    assert "the reason" in out and "failed: second: not run, because first failed" in out
    assert out.endswith("1 passed, 2 failed, 0 skipped\n")


MESON = """project('tests', 'c')
alias_target('programs', custom_target('one', output: 'one', command: ['touch', '@OUTPUT@']))
flag = meson.current_build_dir() / 'flag'
test('steady', find_program('true'), suite: 'two')
test('two/once', find_program('sh'), args: ['-c', 'test -e $0 || { touch $0; exit 1; }', flag], suite: 'two')
test('bad', find_program('false'), suite: 'bad')
foreach name : ['may', 'skips']
  plan = 'echo TAP version 13; echo 1..2; echo "ok 1 /whole"; echo "ok 2 /part/@0@ # SKIP no"'.format(name)
  test(name, find_program('sh'), args: ['-c', plan], suite: name, protocol: 'tap')
endforeach
"""


@pytest.mark.parametrize(
    ("options", "status", "last", "unsteady"),
    [
        (("--suite", "two"), 0, "2 passed, 0 failed, 0 skipped", ["two/once"]),
        (("--suite", "two", "--suite", "bad"), 1, "2 passed, 1 failed, 0 skipped", ["two/once"]),
        (("--suite", "may"), 0, "1 passed, 0 failed, 0 skipped", []),
        (("--suite", "skips"), 1, "0 passed, 1 failed, 0 skipped", []),
        (("--suite", "none"), 1, "0 passed, 1 failed, 0 skipped", []),
    ],
)
def test_unit_tests_run_again_too(tmp_path, capsys, options, status, last, unsteady):
    (tmp_path / "meson.build").write_text(MESON)
    (tmp_path / "doc/internals").mkdir(parents=True)
    (tmp_path / "doc/internals/testing.md").write_text(TABLE)

    class Built:
        path = "build"
        setup = ("meson", "setup", "build")

    act, again = steps.unit_tests(Built, *options), steps.unit_tests_again(Built)
    run = Run(steps.About(root=tmp_path, build=tmp_path), [steps.Step("unit", steps.MAIN, act, again=again)])
    run.all_steps()
    assert report(run, run.failed_tests_again()) == status
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == last and (tmp_path / "unsteady.txt").read_text().splitlines() == unsteady
    assert "bad" not in options or "failed: bad: FAIL; to repeat: meson test -C build --print-errorlogs bad" in out


COUNTS = """project('tests', 'c')
alias_target('programs', custom_target('one', output: 'one', command: ['touch', '@OUTPUT@']))
test('good', find_program('good'))
test('bad', find_program('bad'))
"""


def test_a_check_runs_what_changed(tmp_path, monkeypatch, capsys):
    """A unit test that passed is not run again until its program changes; one that failed is, and `make test` runs all."""
    monkeypatch.setenv("PADDLE_TEST_CACHE", str(tmp_path / "cache"))
    (tmp_path / "meson.build").write_text(COUNTS)
    (tmp_path / "doc/internals").mkdir(parents=True)
    (tmp_path / "doc/internals/testing.md").write_text(TABLE)

    def write(name, status, note=""):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{note}echo x >>{path}.ran\nexit {status}\n")
        path.chmod(0o755)

    def ran(check):
        before = {name: len(lines_of(tmp_path / f"{name}.ran")) for name in ("good", "bad")}
        run = Run(steps.About(root=tmp_path, build=tmp_path, check=check), [steps.Step("unit", steps.MAIN, act)])
        run.all_steps()
        report(run, [])
        last = capsys.readouterr().out.splitlines()[-1]
        return last, [name for name in before if len(lines_of(tmp_path / f"{name}.ran")) > before[name]]

    class Built:
        path = "build"
        setup = ("sh", "-c", "test -d build || meson setup build")

    act = steps.unit_tests(Built)
    write("good", 0)
    write("bad", 1)
    assert ran(check=True) == ("1 passed, 1 failed, 0 skipped", ["good", "bad"])
    assert ran(check=True) == ("1 passed, 1 failed, 0 skipped", ["bad"])
    write("good", 0, note="# changed\n")
    write("bad", 0)
    assert ran(check=True) == ("2 passed, 0 failed, 0 skipped", ["good", "bad"])
    assert ran(check=True) == ("2 passed, 0 failed, 0 skipped", [])
    assert ran(check=False) == ("2 passed, 0 failed, 0 skipped", ["good", "bad"])


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def test_a_release_build_has_no_programs_of_unit_tests():
    """The target that `make build` asks for. All build directories have the same."""
    command = ["ninja", "-C", ROOT / "build/asan", "-t", "inputs", "programs"]
    files = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "src/cli/libcli.a" in files and not [name for name in files if "/test-" in name]


def test_a_run_beside_shuts_nobody_out(tmp_path):
    """Members run as other users in folders of tests."""
    open_way(tmp_path)
    (tmp_path / "test_a.py").write_text("def test_a(tmp_path): pass\n")
    line = [sys.executable, "-m", "pytest", "-q", "--rootdir", tmp_path, tmp_path / "test_a.py"]
    assert subprocess.run(line, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    top = pathlib.Path(tempfile.gettempdir()).resolve()
    shut = [path for path in (tmp_path, *tmp_path.parents) if top in path.parents and not path.stat().st_mode & 0o001]
    assert not shut


def test_folders_of_a_killed_run_go_with_the_next(tmp_path):
    folders, ours = tmp_path / "folders", tmp_path / "test_a.py"
    folders.mkdir()
    environ = {**os.environ, "TMPDIR": str(folders), "PYTHONPATH": str(ROOT / "t")}
    line = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "--rootdir", tmp_path, ours]
    for text, left in (("import os\ndef test_a(): os.kill(os.getpid(), 9)", True), (GOOD, False)):
        ours.write_text(text)
        subprocess.run(line, cwd=tmp_path, env=environ, capture_output=True, check=False)
        assert any(folders.iterdir()) == left


def test_cpu_time_of_what_loses_its_parent_counts(tmp_path):
    burn = "import time\nwhile time.process_time() < 0.5: pass\nopen('ended', 'w')"
    orphan = f'(setsid {sys.executable} -c "{burn}" &)'
    done = process.run(
        ["sh", "-c", f"{orphan}; until [ -e ended ]; do sleep 0.1; done; sleep 0.2"], tmp_path / "log", tmp_path
    )
    assert done.status == 0 and done.cpu >= 0.5


def test_nothing_that_a_command_starts_is_left(tmp_path, monkeypatch):
    """Such as the server of a test whose worker died, and what that started."""
    monkeypatch.setattr(process, "GRACE", 0)
    left = "setsid sh -c 'echo $$ >> pids; sleep 600 & echo $! >> pids; wait' &"
    until = "until [ -e pids ] && [ $(wc -l < pids) = 2 ]; do sleep 0.1; done"
    done = process.run(["sh", "-c", f"{left} {until}; exit 3"], tmp_path / "log", tmp_path)
    assert done.status == 3
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2 and not any(pathlib.Path("/proc", pid).exists() for pid in pids)
    assert "left behind and killed: sleep 600 (" in (tmp_path / "log").read_text()


def item(name, scope="function"):
    definition = types.SimpleNamespace(scope=scope)
    info = types.SimpleNamespace(name2fixturedefs={"fixture": [definition]})
    return types.SimpleNamespace(nodeid=name, _fixtureinfo=info)


def test_the_longest_group_comes_first():
    items = [item("a::1"), item("a::2"), item("b::1", "module"), item("b::2", "module"), item("c::1", "session")]
    order = plugin.longest_first(items, {"a::2": 9, "b::1": 4, "b::2": 6})
    assert [one.nodeid for one in order] == ["b::1", "b::2", "a::2", "a::1", "c::1"]


def test_tests_that_share_a_fixture_stay_together(run_of):
    """A module's fixture is made once; tests of the same kind without one run on both workers."""
    text = """
        import pathlib, pytest, time
        @pytest.fixture(scope="module")
        def made():
            with open(pathlib.Path(__file__).with_suffix(".made"), "a") as file:
                file.write("x")
        @pytest.fixture
        def through(made): pass
        @pytest.mark.parametrize("i", range(6))
        def test_shares(through, i):
            time.sleep(0.05)
        def test_made_once(made):
            assert pathlib.Path(__file__).with_suffix(".made").read_text() == "x"
    """
    assert run_of(2, a=text, b=GOOD) == (0, "8 passed, 0 failed, 0 skipped", [])


def test_what_breaks_off_has_not_passed(run_of):
    status, last, unsteady = run_of(a=GOOD, b="def test_breaks(): raise KeyboardInterrupt")
    assert status == 1 and "0 failed" not in last and not unsteady


def test_a_file_that_skips_is_counted(run_of):
    assert run_of(a=GOOD, b="import pytest\npytest.skip('no', allow_module_level=True)")[0] == 1


def test_what_is_needed_is_a_step(tmp_path):
    with pytest.raises(AssertionError, match="nosuch"):
        Run(steps.About(root=ROOT, build=tmp_path), [steps.Step("one", steps.MAIN, None, needs=("nosuch",))])


def one_passes(*_):
    return steps.Outcome(passed=1)


@pytest.mark.parametrize(
    "table",
    [
        [("one", steps.MAIN, ()), ("one", steps.BACKGROUND, ())],
        [("one", steps.MAIN, ("two",)), ("two", steps.MAIN, ())],
        [("one", steps.MAIN, ("two",)), ("two", steps.BACKGROUND, ("one",))],
        [("one", steps.MAIN, ("one",))],
    ],
)
def test_a_table_that_would_lose_or_wait_is_refused(tmp_path, table):
    table = [steps.Step(name, lane, one_passes, needs=needs) for name, lane, needs in table]
    with pytest.raises(AssertionError, match="'one'"):
        Run(steps.About(root=ROOT, build=tmp_path), table)


def test_a_step_that_runs_nothing_fails(tmp_path, capsys):
    table = [
        steps.Step("first", steps.MAIN, lambda *_: steps.Outcome()),
        steps.Step("second", steps.MAIN, one_passes),
    ]
    run = Run(steps.About(root=ROOT, build=tmp_path), table)
    run.all_steps()
    assert report(run, []) == 1 and "failed: first: it ran nothing" in capsys.readouterr().out


def test_a_test_of_a_step_without_again_fails_the_run(tmp_path):
    outcome = steps.Outcome(passed=1, failed={"bad": "bad: FAIL"})
    run = Run(steps.About(root=ROOT, build=tmp_path), [steps.Step("one", steps.MAIN, lambda *_: outcome)])
    run.all_steps()
    assert report(run, run.failed_tests_again()) == 1


@pytest.mark.parametrize("option", ["--check", "t/test_jobs.py"])
def test_durations_are_those_of_all_tests(option):
    done = subprocess.run(
        [ROOT / "t/run", "--save-durations", option], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 2 and f"leave out {option}" in done.stderr


def test_the_command_that_repeats_a_test_needs_no_more_than_the_run():
    short, whole = (steps.About(root=ROOT, build=ROOT, check=check) for check in (True, False))
    assert steps.to_repeat(short, "t/test_a.py::test_b") == "t/run --check t/test_a.py::test_b"
    assert steps.to_repeat(whole, "t/test_a.py::test_b[c d]") == "t/run 't/test_a.py::test_b[c d]'"
    assert "--check leaves out" in steps.why(short, steps.NONE) and "--check" not in steps.why(whole, steps.NONE)


def test_a_lane_that_breaks_ends_the_other(tmp_path):
    def breaks(*_):
        raise OSError("the disk is full")

    table = [steps.Step("first", steps.MAIN, breaks), steps.Step("second", steps.BACKGROUND, breaks, needs=("first",))]
    run = Run(steps.About(root=ROOT, build=tmp_path), table)
    run.all_steps()
    assert report(run, []) == 1


def test_a_full_disk_does_not_hide_what_failed(tmp_path, capsys):
    (tmp_path / "times.json").symlink_to("/dev/full")
    run = Run(steps.About(root=ROOT, build=tmp_path), [steps.Step("one", steps.MAIN, one_passes)])
    run.all_steps()
    assert report(run, []) == 1
    out = capsys.readouterr().out
    assert "No space left on device" in out and out.endswith("1 passed, 1 failed, 0 skipped\n")


def test_one_run_at_a_time(tmp_path):
    """Two in one checkout would read each other's results."""
    with only_run(tmp_path / "build"):
        assert not only_run(tmp_path / "build")
    with only_run(tmp_path / "build") as lock:
        assert lock


INTERRUPTED = """
import signal, sys, threading
sys.path.insert(0, "t")
from runner import steps
from runner.__main__ import Run
wait = steps.commands(("sh", "-c", "trap 'echo ended > {mark}; exit 0' INT; touch {ready}; while :; do sleep 0.1; done"))
ran = steps.commands(("touch", "{after}"))
run = Run(steps.About(root={root!r}, build={build!r}), [steps.Step("one", "main", wait), steps.Step("two", "main", ran)])
run.all_steps()
"""


def test_ctrl_c_ends_what_runs(tmp_path):
    mark, ready, after = (tmp_path / name for name in ("mark", "ready", "after"))
    about = {"mark": mark, "ready": ready, "after": after, "root": tmp_path, "build": tmp_path}
    program = "from pathlib import *\n" + INTERRUPTED.format(**about)
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stderr=subprocess.DEVNULL)
    wait_for(ready.exists, what="the command")
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) != 0
    assert mark.exists() and not after.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_in_the_background_that_is_killed_ends_what_runs(tmp_path, number):
    mark, ready, after = (tmp_path / name for name in ("mark", "ready", "after"))
    about = {"mark": mark, "ready": ready, "after": after, "root": tmp_path, "build": tmp_path}
    program = "from pathlib import *\n" + INTERRUPTED.format(**about)
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c", program]  # as the shell's & does
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    wait_for(ready.exists, what="the command")
    process.send_signal(number)
    assert process.wait(PATIENCE) == -number
    wait_for(mark.exists, what="the end of the command")
    assert not after.exists()


def test_the_busy_share():
    assert cores.parse("cpu  10 1 2 80 5 1 1 0 7 0\n") == (15, 100)
    samples = [(0.0, 0, 0), (1.0, 100, 200), (2.0, 150, 400), (3.0, 350, 600)]
    assert cores.busy_share(samples, 1.0, 3.0) == 250 / 400
    assert cores.busy_share(samples, 0.0, 2.0) == 150 / 400
    assert cores.busy_share(samples, 2.5, 2.7) is None


def test_more_memory_more_workers(monkeypatch):
    monkeypatch.delenv("PADDLE_TEST_WORKERS", raising=False)
    assert 1 <= endtoend.workers() <= endtoend.WORKERS_MAX
