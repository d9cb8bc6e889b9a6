"""Terminals and ports of jobs that run as a user, in a sandbox (doc/guide/security.md, "Rights of members")."""

import os
import re

import pytest
from conftest import Server, wait_for
from people import Person
from screen import Screen
from test_port_forward import SERVICE, Forward, is_refused

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs members as others")


@pytest.fixture
def ann(tmp_path):
    server = Server(tmp_path / "state", "--cpus", "8").start()
    yield Person(server, "ann")
    server.destroy()


def said_port(ann, job):
    ann.server.wait(job["id"], "running")
    return int(wait_for(lambda: re.search(r"port (\d+)", ann.server.member_log(job["id"])), what="the port")[1])


def test_a_terminal_has_the_users_rights(ann):
    job = ann.submit("echo up; PS1='$ ' exec sh", tty=True)
    ann.server.wait(job["id"], "running")
    with Screen(ann.server, "attach", job["id"]) as screen:  # an administrator may
        screen.until("up")
        screen.type(
            "grep NoNewPrivs: /proc/self/status; grep CapBnd: /proc/self/status; id -u; tty; stty size; echo all-$((1+1))\r"
        )
        screen.until("NoNewPrivs:\t1")
        screen.until("CapBnd:\t0000000000000000")
        screen.until(f"{job_uid(ann, job)}\r\n/dev/pts/")
        screen.until("24 80")
        screen.until("all-2")
        screen.type("exit 4\r")
        assert screen.wait() == 4


def job_uid(ann, job):
    return os.stat(f"/proc/{ann.server.job(job['id'])['members'][0]['pid']}").st_uid


@pytest.mark.parametrize("network", ["host", "none"])
def test_a_port_in_a_sandbox(ann, network):
    job = ann.ask({"command": ["python3", "-c", SERVICE, "echo", "127.0.0.1"], "network": network}).json
    there = Forward(ann.server, job["id"], f"0:{said_port(ann, job)}", "0:1")
    try:
        with there.connect() as connection:
            connection.sendall(b"x")
            assert connection.recv(1) == b"x"
        assert is_refused(there.connect(1))
    finally:
        there.close()


def test_a_port_of_another_user_is_not_reached(ann):
    job = ann.ask({"command": ["python3", "-c", SERVICE, "echo", "127.0.0.1"]}).json
    port = said_port(ann, job)
    bob = Person(ann.server, "bob")
    own = bob.submit("sleep 600")
    ann.server.wait(own["id"], "running")
    there = Forward(ann.server, own["id"], f"0:{port}")
    try:
        assert is_refused(there.connect())
        there.says("nothing listens")
    finally:
        there.close()
