"""What was taken back ends at once, also where it is in use: streams of events, terminals."""

import http.client
import pathlib
import subprocess
import time

import pytest
from conftest import BIN, PATIENCE, Server, wait_for
from people import Person

GOOD = "correct horse 1"


@pytest.fixture
def served(tmp_path):
    server = Server(tmp_path / "state", "--cpus", "8", "--listen", "127.0.0.1:0").start()
    yield server
    server.destroy()


@pytest.fixture
def ann(served):
    return Person(served, "ann")


def follow(server, token):
    """An open stream of events: its reply."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {token}"})
    reply = connection.getresponse()
    assert reply.status == 200
    return reply


def ends(reply):
    """Reads to the end of the stream; its heartbeats come every 15 s."""
    start = time.monotonic()
    while reply.readline():
        pass
    return time.monotonic() - start < 600  # the age at which any stream ends


def shell(server, token, job):
    env = {
        "PADDLE_SERVER": f"http://127.0.0.1:{server.port}",
        "PADDLE_TOKEN": token,
        "HOME": str(server.state),
        "PATH": "/",
    }
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [BIN / "paddle", "exec", "-i", job, "--", "sh", "-c", "echo here; cat"], env=env, text=True, **pipes
    )


def token_id(server, user):
    return next(item["id"] for item in server.get(f"/v1/tokens?user={user}").json["items"])


def test_a_revoked_token_ends_what_is_open(served, ann):
    job = ann.submit("exec sleep 600")
    served.wait(job["id"], "running")
    events = follow(served, ann.token)
    command = shell(served, ann.token, job["id"])
    assert command.stdout.readline() == "here\n"
    command.stdin.write("still\n")
    command.stdin.flush()
    assert command.stdout.readline() == "still\n"
    assert served.request("DELETE", f"/v1/tokens/{token_id(served, 'ann')}").status == 204
    assert ends(events)
    assert command.wait(timeout=PATIENCE) != 0
    assert "revoked" in command.stderr.read()
    wait_for(lambda: "cat" not in commands_of(job), what="the end of the command")
    served.paddle("cancel", job["id"])


def commands_of(job):
    """Words of the processes that know the job."""
    words = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"PADDLE_JOB_ID={job['id']}".encode() in (path / "environ").read_bytes():
                words += (path / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
    return words


def test_a_changed_password_ends_what_log_ins_opened(served):
    assert served.post("/v1/users", {"name": "carol", "password": GOOD}).status == 201
    token = served.post("/v1/login", {"user": "carol", "password": GOOD}).json["token"]
    own = served.post("/v1/tokens", {"user": "carol"}).json["token"]
    logged_in, made = follow(served, token), follow(served, own)
    assert served.request("PUT", "/v1/users/carol/password", '{"password": "another horse 2"}').status == 204
    assert ends(logged_in)
    # What an administrator made for her is not of the password: it goes with her account.
    assert served.request("DELETE", "/v1/users/carol").status in (200, 204)
    assert ends(made)


def test_a_disabled_account_is_shut_at_once(served, ann):
    assert served.post("/v1/users", {"name": "dora", "password": GOOD}).status == 201
    login = {"user": "dora", "password": GOOD}
    token = served.post("/v1/login", login).json["token"]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    job = served.request("POST", "/v1/jobs", '{"command": ["sleep", "600"]}', headers).json
    served.wait(job["id"], "running")
    events = follow(served, token)
    served.paddle("user", "set", "dora", "--disabled")
    assert ends(events)
    reply = served.request("GET", "/v1/jobs", headers=headers)
    assert reply.status == 401 and "disabled" in reply.json["message"]
    flow = {"username": "dora", "password": GOOD}
    assert served.post("/v1/login", login).status == 401
    assert served.post("/api/paddleflow/v1/login", flow).status == 400
    assert served.job(job["id"])["state"] == "running"  # it is for an administrator to say what becomes of it
    served.paddle("user", "set", "dora", "--no-disabled")
    assert served.request("GET", "/v1/jobs", headers=headers).status == 200
    assert ann.get("/v1/jobs").status == 200
    served.paddle("cancel", job["id"])


def test_administrators_list_and_revoke_anybodys_tokens(served, ann):
    other = served.post("/v1/tokens", {"user": "ann", "note": "laptop"}).json["token"]
    listed = served.paddle("token", "list", "--user", "ann").stdout
    assert "laptop" in listed and other not in listed
    refused = ann.get("/v1/tokens?user=root")
    assert refused.status == 403
    served.paddle("token", "revoke", "--user", "ann")
    assert ann.get("/v1/jobs").status == 401
    assert served.get("/v1/tokens?user=ann").json["items"] == []
