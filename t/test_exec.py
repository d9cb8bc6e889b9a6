"""`paddle exec`: a command beside a member that runs on this machine."""

import contextlib
import fcntl
import os
import pathlib
import pty
import signal
import struct
import subprocess
import termios
import time

import pytest
from conftest import BIN, wait_for
from seeds import noise


@pytest.fixture
def job(server):
    made = server.submit(["sh", "-c", "export LATER=1; touch here; sleep 600"], name="job", env={"WORD": "a b"})
    server.wait(made["id"], "running")
    yield made
    server.paddle("cancel", made["id"])


@contextlib.contextmanager
def started(server, *words, **streams):
    """`paddle exec` as a process of its own."""
    env = {**os.environ, "PADDLE_SERVER": server.url, "HOME": str(server.state / "client")}
    with subprocess.Popen([BIN / "paddle", "exec", *words], env=env, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


def execute(server, *words, **options):
    return server.paddle("exec", *words, **options)


def test_it_stands_where_the_member_does(server, job):
    script = 'until [ -e here ]; do sleep 0.05; done; ls; echo "$WORD" "$PADDLE_JOB_ID"; id -u; echo oops >&2; exit 3'
    done = execute(server, "job", "--", "sh", "-c", script)
    user = str(os.getuid())
    assert done.stdout.splitlines()[-2:] == [f"a b {job['id']}", user]
    assert "here" in done.stdout.splitlines()
    assert (done.stderr, done.returncode) == ("oops\n", 3)


def test_its_words_stay_apart(server, job):
    done = execute(server, "job", "--", "printf", "%s|", "", "a b", "&=%+", "$HOME")
    assert (done.stdout, done.returncode) == ("|a b|&=%+|$HOME|", 0)


def test_input_goes_to_it_and_ends(server, job):
    much = noise(3 << 20, "input").hex()
    assert execute(server, "-i", "job", "--", "cat", input=much).stdout == much
    # ours is nobody's without -i
    assert execute(server, "job", "--", "cat", input="x").stdout == ""
    # a command that does not read all of it
    done = execute(server, "-i", "job", "--", "sh", "-c", "head -c 4; exit 5", input=much)
    assert (done.stdout, done.returncode) == (much[:4], 5)


def test_a_slow_reader_holds_the_command_up(server, job):
    """What nobody reads is not made: 64 MiB do not go through the server."""
    script = "head -c 67108864 /dev/zero; touch all-is-out"
    with started(server, "job", "--", "sh", "-c", script, stdout=subprocess.PIPE) as process:
        assert process.stdout.read(1000) == b"\0" * 1000
        time.sleep(1)  # for it to run on, if it could
        assert "all-is-out" not in execute(server, "job", "--", "ls").stdout.split()
        assert len(process.stdout.read()) == 67108864 - 1000
        assert process.wait() == 0
    assert "all-is-out" in execute(server, "job", "--", "ls").stdout.split()


def test_the_end_of_a_signal_is_told_as_a_shell_does(server, job):
    assert execute(server, "job", "--", "sh", "-c", "kill -9 $$").returncode == 137


def test_it_counts_as_the_members(server, job):
    """Its cgroups are those of the member, and it ends with it."""
    groups = execute(server, "job", "--", "cat", "/proc/self/cgroup").stdout
    pid = server.job(job["id"])["members"][0]["pid"]
    assert groups == pathlib.Path(f"/proc/{pid}/cgroup").read_text()


def check_terminal(server):
    """A terminal in the job 'job' has the size of ours, also when that changes."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    reach = 'reach() { until [ "$(stty size)" = "$1" ]; do sleep 0.1; done; stty size; }'  # a cluster's may come later
    script = f"{reach}; test -t 0 && reach '33 99'; read x; reach '11 22'; echo got $x; exit 4"
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with started(server, "-it", "job", "--", "sh", "-c", script, **streams) as process:
        seen = b""
        while b"33 99\r\n" not in seen:
            seen += os.read(ours, 1000)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 11, 22, 0, 0))
        process.send_signal(signal.SIGWINCH)
        os.write(ours, b"this\r")
        while b"got this" not in seen:
            seen += os.read(ours, 1000)
        assert b"\n11 22" in seen
        assert process.wait() == 4
    os.close(ours)
    os.close(theirs)


def test_a_terminal(server, job):
    check_terminal(server)


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("job", "--", "/no/such"), 127, "cannot run '/no/such'"),
        (("job", "--", "/etc"), 126, "cannot run '/etc'"),
        (("none", "--", "true"), 1, "no job 'none'"),
        (("--member", "worker-7", "job", "--", "true"), 1, "has no member 'worker-7'"),
    ],
)
def test_what_cannot_be_run_says_why(server, job, words, status, says):
    done = execute(server, *words)
    assert says in done.stderr
    assert done.returncode == status


def test_only_beside_members_that_run(server):
    waiting = server.submit(["true"], name="later", begin="2099-01-01T00:00:00Z")
    done = execute(server, "later", "--", "true")
    assert done.returncode != 0
    assert "no member of job 'later' runs" in done.stderr
    server.paddle("cancel", waiting["id"], check=0)


def test_whose_connection_ends_is_hung_up(server, job):
    script = "trap 'touch hung-up; exit' HUP; touch up; sleep 600 & wait"
    with started(server, "job", "--", "sh", "-c", script):
        wait_for(lambda: "up" in execute(server, "job", "--", "ls").stdout.split(), what="the command")
    wait_for(lambda: "hung-up" in execute(server, "job", "--", "ls").stdout.split(), what="its end")


def test_the_end_of_the_server_is_that_of_the_client(server, job):
    script = "trap 'touch hung-up; exit' HUP; touch up; sleep 600 & wait"
    with started(server, "job", "--", "sh", "-c", script):
        wait_for(lambda: "up" in execute(server, "job", "--", "ls").stdout.split(), what="the command")
        server.kill()
        server.start()
    wait_for(lambda: "hung-up" in execute(server, "job", "--", "ls").stdout.split(), what="its end")


def test_one_that_does_not_heed_the_hangup_is_killed(server, job):
    """Also with its whole process group, and one that is stopped."""
    script = "trap '' HUP; sh -c 'echo $$ >child; sleep 601' & echo $$ >stubborn; kill -STOP $$"

    def runs(name):
        return execute(server, "job", "--", "sh", "-c", f"kill -0 $(cat {name})").returncode == 0

    with started(server, "job", "--", "sh", "-c", script):
        wait_for(lambda: runs("child") and runs("stubborn"), what="the command")
    wait_for(lambda: not runs("child") and not runs("stubborn"), what="its end")


def test_it_is_only_for_who_may_change_the_job(server, job):
    assert server.post("/v1/users", {"name": "eve"}).status == 201
    token = server.post("/v1/tokens", {"user": "eve"}).json["token"]
    path = f"/v1/jobs/{job['id']}/members/worker-0/exec?command=true"
    reply = server.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    assert reply.status == 404, reply.body
    assert server.request("GET", path).status == 400  # it is a WebSocket
