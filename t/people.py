"""Ordinary users of a server."""

import json

import pytest
from witness import Witness


class Person:
    """A user that exists on the platform only, and what they do with their token."""

    def __init__(self, server, name):
        self.server, self.name = server, name
        reply = server.post("/v1/users", {"name": name})
        assert reply.status == 201, reply.body
        self.token = server.post("/v1/tokens", {"user": name}).json["token"]
        self.headers = {"Authorization": f"Bearer {self.token}"}
        self.home = f"/v1/files/pfs/local/home/{name}"
        self.disk = server.state / "storage/local/home" / name

    def get(self, path):
        return self.server.request("GET", path, headers=self.headers)

    def ask(self, spec):
        headers = {**self.headers, "Content-Type": "application/json"}
        return self.server.request("POST", "/v1/jobs", json.dumps(spec), headers=headers)

    def submit(self, script, **spec):
        reply = self.ask({"command": ["sh", "-c", script], **spec})
        assert reply.status == 201, reply.body
        return reply.json

    def id_of(self, job):
        """Names of jobs are a user's own; an id is known to all who may see the job."""
        return self.get(f"/v1/jobs/{job}").json["id"]

    def run(self, script, state="succeeded", **spec):
        """The log of a job's only member once it has ended."""
        job = self.server.wait(self.submit(script, **spec)["id"])
        said = self.server.member_log(job["id"])
        assert job["state"] == state, (job["reason"], said)
        return said

    def uid(self):
        return int(self.run("id -u"))

    def paddle(self, *args, **about):
        return self.server.paddle(*args, env={"PADDLE_TOKEN": self.token}, **about)


# Fixtures of all files whose `server` is one for the file (conftest.server_of_module).


@pytest.fixture(scope="module")
def ann(server):
    return Person(server, "ann")


@pytest.fixture(scope="module")
def bob(server):
    return Person(server, "bob")


@pytest.fixture(scope="module")
def uid(ann):
    return ann.uid()


@pytest.fixture(scope="module")
def witness(tmp_path_factory):
    return Witness(tmp_path_factory.mktemp("witness"))
