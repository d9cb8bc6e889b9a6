"""Tests that t/test_steady.py runs under t/steady. They are not part of the suite."""

import subprocess
import sys
import time

CLOCK = "import time\nwhile True:\n    print(time.monotonic(), flush=True)\n    time.sleep(0.02)"


def clock():
    """A child that tells the time all the time."""
    return subprocess.Popen([sys.executable, "-c", CLOCK], stdout=subprocess.PIPE, text=True)


def test_racy():
    """Passes where the child runs all the time: its clock shows no gap."""
    with clock() as child:
        try:
            told = float(child.stdout.readline())
            end = told + 20
            while told < end:
                now = float(child.stdout.readline())
                assert now - told < 0.6
                told = now
        finally:
            child.kill()


def test_sound():
    """Waits for the event, whenever that comes."""
    with clock() as child:
        assert len([child.stdout.readline() for _ in range(50)]) == 50
        child.kill()


def test_endless():
    with clock() as child:
        try:
            time.sleep(600)
        finally:
            child.kill()
