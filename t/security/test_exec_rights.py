"""`paddle exec` and members among programs that change their user: nobody gains rights that the server did not give.

doc/guide/security.md, "Rights of members"."""

import os
import shutil
import subprocess

import pytest
from conftest import Server, open_way, wait_for
from people import Person

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root makes set-uid programs, and runs members as others"
)

# As chfn and sudo do: root by all its numbers, then busy for a while.
SET_UID = """#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
        if (setgid(0) || setuid(0)) return 3;
        FILE *file = fopen("became", "w");
        fclose(file);
        pause();
}"""
IDS = ["sh", "-c", "id -u; id -ru; id -g; grep NoNewPrivs /proc/self/status"]


@pytest.fixture(scope="module")
def set_uid(tmp_path_factory):
    """A program of root's that everybody may run as root."""
    folder = tmp_path_factory.mktemp("set-uid")
    program = folder / "become-root"
    compiler = shutil.which("cc") or shutil.which("clang")
    subprocess.run([compiler, "-x", "c", "-", "-o", program], input=SET_UID, text=True, check=True, timeout=120)
    program.chmod(0o4755)
    open_way(folder)
    return program


def server_with(folder, *options):
    return Server(folder, "--cpus", "8", *options).start()


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    server = server_with(tmp_path_factory.mktemp("usual"))
    yield server
    server.destroy()


@pytest.fixture(scope="module")
def trusting(tmp_path_factory):
    """An administrator lets ann's members gain rights."""
    server = server_with(tmp_path_factory.mktemp("trusting"), "--allow-new-privileges", "bob,ann")
    yield server
    server.destroy()


def test_a_member_gains_nothing_by_a_set_uid_program(usual, set_uid):
    ann = Person(usual, "ann")
    said = ann.run(f"grep NoNewPrivs /proc/self/status; {set_uid} || echo refused $?")
    assert said.split() == ["NoNewPrivs:", "1", "refused", "3"]


def test_a_command_beside_a_member_gains_nothing(usual, set_uid):
    ann = Person(usual, "beside")
    job = ann.submit("exec sleep 600")
    usual.wait(job["id"], "running")
    done = ann.paddle("exec", job["id"], "--", *IDS)
    uid = str(ann.uid())
    assert done.stdout.split() == [uid, uid, uid, "NoNewPrivs:", "1"]
    assert ann.paddle("exec", job["id"], "--", set_uid).returncode == 3
    ann.paddle("cancel", job["id"])


def test_the_servers_own_members_are_confined_too(usual):
    job = usual.wait(usual.submit(["grep", "NoNewPrivs", "/proc/self/status"])["id"])
    assert usual.member_log(job["id"]).split() == ["NoNewPrivs:", "1"]


def test_no_command_gets_the_rights_that_a_member_has_gained(trusting, set_uid):
    """The way from user to root: a member that is a set-uid program, and a command that takes its user from it."""
    ann = Person(trusting, "ann")
    job = ann.submit(f"exec {set_uid}")
    became = f"jobs/*/{job['id']}/*/work/became"
    wait_for(lambda: any(trusting.state.glob(became)), what="the member to become root")
    done = ann.paddle("exec", job["id"], "--", *IDS)
    assert done.returncode == 126
    assert "runs with other rights than its user's" in done.stderr
    assert done.stdout == ""
    ann.paddle("cancel", job["id"])


def test_rights_are_for_those_whom_the_administrator_names(trusting, set_uid):
    said = Person(trusting, "carol").run(f"{set_uid} || echo refused $?")
    assert said.split() == ["refused", "3"]
    bob = Person(trusting, "bob")
    job = bob.submit("exec sleep 600")
    trusting.wait(job["id"], "running")
    assert bob.paddle("exec", job["id"], "--", *IDS).stdout.split()[-2:] == ["NoNewPrivs:", "0"]
    bob.paddle("cancel", job["id"])
    assert "users=bob,ann" in trusting.log() and "lets a job become root" in trusting.log()
