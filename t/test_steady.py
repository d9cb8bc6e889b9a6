"""t/steady: it finds a test that depends on the pace of the machine, and leaves nothing stopped behind."""

import os
import pathlib
import random
import re
import signal
import subprocess

import pytest
from conftest import ROOT, processes_of, wait_for
from steadiness.family import TAG, Family, Process
from steadiness.log import Log
from steadiness.repetition import Outcome, report
from steadiness.stopper import Stop, Stopper

SAMPLES = "t/steadiness/samples.py"


def steady(*arguments, **about):
    """Starts t/steady with the samples of these names."""
    words = [f"{SAMPLES}::{word}" if word.startswith("test_") else word for word in arguments]
    return subprocess.Popen([ROOT / "t/steady", *words], stdout=subprocess.PIPE, text=True, cwd=ROOT, **about)


def state_of(pid):
    process = Process.read(pid)
    return process.state if process else None


def test_a_race_is_found():
    with steady("--times", "1", "--load", "0", "--stop", "3", "test_racy") as program:
        output, _ = program.communicate()
    assert program.returncode == 1 and f"{SAMPLES}::test_racy: 0 of 1\n" in output
    assert f"{SAMPLES}::test_racy failed at " in output
    log = ROOT / re.search("log: (build/steady/.*)", output)[1]
    assert re.search(r"^ *\d+\.\d\d  E +assert .* < 0\.6$", log.read_text(), re.M)
    log.unlink()


def test_a_sound_test_passes():
    with steady("--times", "3", "--load", "0", "--seed", "7", "test_sound") as program:
        output, _ = program.communicate()
    assert program.returncode == 0, output
    assert output.startswith("seed 7\n") and output.endswith(f"{SAMPLES}::test_sound: 3 of 3\n")
    assert len(re.findall(r"test_sound \d/3: passed after ", output)) == 3


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_it_is_killed(tmp_path, number):
    def living():
        return processes_of(tmp_path)

    said = tmp_path / "said"
    mark = {**os.environ, "STEADY_MARK": str(tmp_path)}
    options = ["--load", "1", "--seed", str(int(number))]  # a seed of its own, so that it writes over its old log
    with open(said, "w") as file, steady(*options, "test_endless", stderr=file, env=mark) as program:
        try:
            wait_for(lambda: any(state_of(pid) == "T" for pid in living()), what="a stop")
            assert any("select.select" in command for command in living().values()), "there is no load"
            program.send_signal(number)
            wait_for(lambda: not any(state_of(pid) == "T" for pid in living()), what="the end of all stops")
            wait_for(lambda: not living(), what="the end of the run")
        finally:
            for pid in living():
                os.kill(pid, signal.SIGKILL)
    assert "killed" not in said.read_text()  # the test ended by itself, so it was continued


def test_all_of_a_run_and_nothing_else_is_found(tmp_path):
    """A child without the tag, too, and when its parent is gone. Nothing else: here the session is that of all tests."""
    command, family = ["bash", "-c", "env -i sleep 600 & echo $!; read line"], Family(str(tmp_path))
    tagged = {**os.environ, TAG: family.tag}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=tagged) as parent:
        child = int(parent.stdout.readline())
        try:
            wait_for(lambda: not Process.read(child).has_tag(family.tag), what="the child without the tag")
            assert [process.pid for process in family.living()] == [parent.pid, child]
            parent.kill()
            parent.wait()
            assert [process.pid for process in family.living()] == [child]
        finally:
            os.kill(child, signal.SIGKILL)
    wait_for(lambda: not family.living(), what="the end of the run")


class NoGuard:
    def hold(self, fd):
        pass

    release = hold


@pytest.mark.parametrize("by_the_test", [False, True])
def test_a_process_that_the_test_stops_stays_stopped(tmp_path, by_the_test):
    with subprocess.Popen(["sleep", "600"]) as child, Log(tmp_path / "log") as log:
        try:
            stopper, process = Stopper(None, NoGuard(), log, 1, None), Process.read(child.pid)
            stopper.stop(process, process.open(), 60)
            wait_for(lambda: state_of(child.pid) == "T", what="the stop")
            if by_the_test:
                child.send_signal(signal.SIGSTOP)
            stopper.resume_until(float("inf"))
            assert (state_of(child.pid) == "T") == by_the_test
        finally:
            child.kill()


class Processes:
    """In the place of a family."""

    def living(self):
        return [Process(pid, pid, f"program-{pid % 7}", "S", 1, 1) for pid in range(2, 40)]


def test_a_seed_repeats_the_choices():
    def choices(seed):
        stopper = Stopper(Processes(), None, None, 1, random.Random(seed))
        return [stopper.choose().pid for _ in range(20)]

    assert choices("7 t/a.py 1") == choices("7 t/a.py 1") != choices("7 t/a.py 2")


def test_a_failure_is_reported_with_the_stops_before_it():
    def stop(begin, seconds):
        return Stop(Process(9, 1, "paddled", "S", 1, 1), "bin/paddled --state /x", begin, seconds)

    outcome = Outcome(
        passed=False,
        seconds=60.0,
        stops=[stop(1, 1.5), stop(8, 1.25), stop(14, 0.5), stop(30, 1)],
        failures=[(14.1, "t/test_a.py::test_a"), (50.0, "t/test_a.py::test_b")],
        log=pathlib.Path("log"),
    )
    assert list(report(outcome)) == [
        "  t/test_a.py::test_a failed at 14.10 s; in the 5 s before:",
        "    8.00 s: stopped paddled (9) for 1.25 s: bin/paddled --state /x",
        "    14.00 s: stopped paddled (9) for 0.50 s: bin/paddled --state /x",
        "  t/test_a.py::test_b failed at 50.00 s; in the 5 s before:",
        "    nothing was stopped",
    ]


def test_none_of_none_is_refused():
    with steady("--times", "0", "test_sound", stderr=subprocess.PIPE) as program:
        _, said = program.communicate()
    assert program.returncode == 2 and "--times" in said


def test_a_file_that_is_not_there_is_refused():
    with steady("t/none.py", stderr=subprocess.PIPE) as program:
        _, said = program.communicate()
    assert program.returncode == 2 and "there is no file 't/none.py'" in said
