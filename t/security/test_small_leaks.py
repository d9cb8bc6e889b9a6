"""What tells a little more than it should, or says it badly."""

import os
import socket

import pytest
from conftest import Server
from people import Person
from test_people import first_refusal


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "8", "--listen", "127.0.0.1:0").start()
    yield server
    server.destroy()


def test_where_files_are_is_for_administrators(served):
    ann = Person(served, "ann")
    assert "state_dir" not in ann.get("/v1/info").json
    assert served.get("/v1/info").json["state_dir"] == str(served.state)


def test_a_socket_in_a_home_is_no_file(served):
    bob = Person(served, "bob")
    bob.run("true", output="/pfs/local/home/bob/out")
    with socket.socket(socket.AF_UNIX) as made:
        there = os.getcwd()
        os.chdir(bob.disk)  # its path would be too long
        made.bind("socket")
        os.chdir(there)
        for query in ("", "?chunks=true"):
            reply = bob.get(f"{bob.home}/socket{query}")
            assert reply.status in (400, 409) and "file" in reply.json["message"], reply.body


def test_how_long_to_wait_is_said_once(served):
    assert served.post("/v1/users", {"name": "carol", "password": "correct horse"}).status == 201
    reply = first_refusal(lambda: served.post("/v1/login", {"user": "carol", "password": "wrong"}))
    waits = [value for name, value in reply.headers.items() if name.lower() == "retry-after"]
    assert len(waits) == 1 and int(waits[0]) >= 1
