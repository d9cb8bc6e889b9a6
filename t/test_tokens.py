"""Who calls: tokens over TCP, the Unix user on the socket, and what each may see."""

import http.client
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from conftest import BIN, PATIENCE, Reply, Server, server_of_module, wait_for

NOBODY = 65534

# A server on TCP.
served = server_of_module("--cpus", "8", "--listen", "127.0.0.1:0")


def call(server, path, token=None, method="GET", body=None, scheme="Bearer", port=None):
    connection = http.client.HTTPConnection("127.0.0.1", port or server.port, timeout=PATIENCE)
    headers = {"Authorization": f"{scheme} {token}".strip()} if token is not None else {}
    connection.request(method, path, body, headers)
    reply = Reply(connection.getresponse())
    connection.close()
    return reply


def make_token(server, **ask):
    reply = server.post("/v1/tokens", ask)
    assert reply.status == 201, reply.body
    return reply.json


def refused(reply, status, code, *parts):
    assert reply.status == status, (reply.status, reply.body)
    assert reply.json["code"] == code
    said = reply.json["message"] + "\n" + reply.json["hint"]
    for part in parts:
        assert part in said, f"{part!r} is not in {said!r}"


def test_tcp_needs_a_token(served):
    for path in ("/v1/jobs", "/v1/whoami", "/v1/info", "/v1/tokens", "/v1/files/pfs/local/public"):
        reply = call(served, path)
        refused(reply, 401, "unauthenticated", "token", "paddle token create")
        assert "Bearer" in reply.headers["WWW-Authenticate"]
    refused(call(served, "/v1/jobs", "x" * 32), 401, "unauthenticated", "not known", "paddle token create")
    refused(call(served, "/v1/jobs", ""), 401, "unauthenticated")
    refused(call(served, "/v1/jobs", "a b c"), 401, "unauthenticated")
    refused(call(served, "/v1/jobs", "x" * 5000), 401, "unauthenticated")
    refused(call(served, "/v1/jobs", "cm9vdDo=", scheme="Basic"), 401, "unauthenticated", "Bearer TOKEN")
    for path in ("/healthz", "/readyz", "/v1/version", "/v1/openapi.json"):
        assert call(served, path).status == 200, path


def test_a_token_is_its_user(served):
    made = make_token(served, user="ann", note="laptop")
    assert made["user"] == "ann" and len(made["token"]) >= 32
    who = {"user": "ann", "admin": False, "address": "127.0.0.1", "token": made["id"]}
    assert call(served, "/v1/whoami", made["token"]).json == who
    assert call(served, "/v1/whoami", made["token"], scheme="Token").json["user"] == "ann"
    own = make_token(served)
    root = {**who, "user": "root", "admin": True, "token": own["id"]}
    assert call(served, "/v1/whoami", own["token"]).json == root
    assert call(served, "/v1/whoami", make_token(served, user="boss", admin=True)["token"]).json["admin"] is True
    items = call(served, "/v1/tokens", made["token"]).json["items"]
    assert [(item["id"], item["user"], item["note"]) for item in items] == [(made["id"], "ann", "laptop")]
    assert made["token"] not in str(items)
    kept = b"".join(p.read_bytes() for p in served.state.glob("paddle.db*"))
    assert made["token"].encode() not in kept  # only its hash is kept


def test_an_expired_token_is_refused(served):
    lasting = make_token(served, user="brief", expires_in=600)
    made = make_token(served, user="brief", expires_in=1)
    reply = wait_for(lambda: (r := call(served, "/v1/whoami", made["token"])).status == 401 and r, 10, "its end")
    refused(reply, 401, "unauthenticated", "expired", "paddle token create")
    assert call(served, "/v1/whoami", lasting["token"]).status == 200


def test_a_revoked_token_is_refused_at_once(served):
    made = make_token(served, user="ann")
    for _ in range(3):
        assert call(served, "/v1/whoami", made["token"]).status == 200
    assert served.request("DELETE", f"/v1/tokens/{made['id']}").status == 204
    refused(call(served, "/v1/whoami", made["token"]), 401, "unauthenticated", "not known")
    refused(served.request("DELETE", f"/v1/tokens/{made['id']}"), 404, "not_found", made["id"])


def test_users_see_only_their_own(served):
    ann, bob = make_token(served, user="ann")["token"], make_token(served, user="bob")["token"]
    body = '{"command": ["sh", "-c", "echo secret"], "name": "hers"}'
    made = call(served, "/v1/jobs", ann, "POST", body)
    assert made.status == 201 and made.json["user"] == "ann"
    job = made.json["id"]
    wait_for(lambda: call(served, f"/v1/jobs/{job}", ann).json["state"] == "succeeded", 30, "its success")
    for name in (job, "hers"):
        for rest in ("", "/members", "/events", "/logs", "/logs/worker-0"):
            refused(call(served, f"/v1/jobs/{name}{rest}", bob), 404, "not_found", name)
        refused(call(served, f"/v1/jobs/{name}", bob, "DELETE"), 404, "not_found", name)
    assert call(served, "/v1/jobs", bob).json["items"] == []
    assert [item["id"] for item in call(served, "/v1/jobs", ann).json["items"]] == [job]
    refused(call(served, "/v1/jobs?user=ann", bob), 403, "denied", "'bob'")
    refused(call(served, "/v1/jobs?all=true", bob), 403, "denied", "'bob'")
    refused(call(served, f"/v1/events?since=0&job={job}", bob), 404, "not_found", job)
    # administrators see them, by id and by name
    assert job in [item["id"] for item in served.get("/v1/jobs?user=ann").json["items"]]
    assert job in [item["id"] for item in served.get("/v1/jobs?all=true").json["items"]]
    assert served.get(f"/v1/jobs/{job}").json["user"] == "ann"
    assert served.get("/v1/jobs/hers?user=ann").json["id"] == job
    assert served.get("/v1/jobs/hers").status == 404  # a name is the caller's own


def test_events_are_the_callers_own(served):
    ann, bob = make_token(served, user="ann")["token"], make_token(served, user="bob")["token"]
    job = call(served, "/v1/jobs", ann, "POST", '{"command": ["true"], "name": "quiet"}').json["id"]
    own = call(served, "/v1/jobs", bob, "POST", '{"command": ["true"], "name": "loud"}').json["id"]
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
    connection.request("GET", "/v1/events?since=0", headers={"Authorization": f"Bearer {bob}"})
    stream = connection.getresponse()
    assert stream.status == 200
    seen = b""
    while b"job.succeeded" not in seen:
        seen += stream.readline()
    connection.close()
    assert own.encode() in seen and job.encode() not in seen and b"quiet" not in seen


def test_tokens_of_others(served):
    ann, bob = make_token(served, user="ann"), make_token(served, user="bob")
    refused(call(served, "/v1/tokens", ann["token"], "POST", '{"user": "bob"}'), 403, "denied", "'ann'")
    refused(call(served, "/v1/tokens", ann["token"], "POST", '{"admin": true}'), 403, "denied", "'ann'")
    refused(call(served, f"/v1/tokens/{bob['id']}", ann["token"], "DELETE"), 404, "not_found", bob["id"])
    assert call(served, "/v1/whoami", bob["token"]).status == 200
    own = call(served, "/v1/tokens", ann["token"], "POST", '{"note": "second"}')
    assert own.status == 201 and own.json["user"] == "ann"
    assert call(served, f"/v1/tokens/{own.json['id']}", ann["token"], "DELETE").status == 204


def test_tokens_through_the_command_line(served, tmp_path):
    made = served.paddle("token", "create", check=0)
    secret = made.stdout.split()[-1]
    url = f"http://127.0.0.1:{served.port}"
    listed = served.paddle("list", "--server", url, "--token", secret, check=0)
    assert listed.returncode == 0
    for env in ({"PADDLE_TOKEN": "wrong"}, {}):
        done = served.paddle("list", "--server", url, env=env)
        assert done.returncode == 3 and "token" in done.stderr and "PADDLE_TOKEN" in done.stderr, done.stderr
    config = tmp_path / "config"
    config.write_text(f"paddleServer: {url}\ntoken: {secret} //of the laptop\n")
    served.paddle("list", env={"PADDLE_CONFIG": str(config), "PADDLE_SERVER": ""}, check=0)


# -- the Unix socket


def as_user(uid, groups, *line, **kwargs):
    who = ["setpriv", f"--reuid={uid}", f"--regid={uid}", f"--groups={groups}" if groups else "--clear-groups"]
    return subprocess.run(
        [*who, *map(str, line)], capture_output=True, text=True, timeout=PATIENCE, check=False, **kwargs
    )


@pytest.fixture
def group_server():
    """A server whose state directory belongs to a group (with the set-group-ID bit), where others can reach it."""
    base = pathlib.Path(tempfile.mkdtemp(prefix="paddle-group-"))
    os.chmod(base, 0o755)
    state = base / "state"
    state.mkdir()
    os.chown(state, 0, 4242)
    os.chmod(state, 0o2710)
    server = Server(state, "--cpus", "2")
    try:
        yield server.start()
    finally:
        server.destroy()
        shutil.rmtree(base, ignore_errors=True)


def curl(server, uid, groups, path, *options):
    line = ["curl", "-s", "--unix-socket", server.socket, *options, f"http://localhost{path}"]
    return as_user(uid, groups, *line)


def test_members_of_the_group_are_users_on_the_socket(group_server):
    found = os.stat(group_server.socket)
    assert (found.st_mode & 0o777, found.st_gid) == (0o660, 4242)
    done = curl(group_server, NOBODY, "4242", "/v1/whoami")
    assert done.stdout == '{"user":"nobody","admin":false,"address":"unix"}'
    job = group_server.submit(["true"])["id"]
    done = curl(group_server, NOBODY, "4242", f"/v1/jobs/{job}")
    assert '"not_found"' in done.stdout
    done = curl(group_server, NOBODY, "4242", "/v1/jobs", "--json", '{"command": ["true"], "name": "by-nobody"}')
    assert '"user":"nobody"' in done.stdout, done
    assert group_server.get("/v1/jobs/by-nobody?user=nobody").status == 200
    done = curl(group_server, 4711, "4242", "/v1/whoami")  # a user without a name
    assert done.stdout == '{"user":"uid-4711","admin":false,"address":"unix"}'
    assert group_server.get("/v1/whoami").json == {"user": "root", "admin": True, "address": "unix"}


def test_others_do_not_reach_the_socket(group_server):
    assert curl(group_server, NOBODY, "", "/v1/whoami").returncode == 7  # could not connect
    env = {**os.environ, "PADDLE_SERVER": group_server.url, "HOME": "/nonexistent"}
    done = as_user(NOBODY, "", BIN / "paddle", "list", env=env)
    assert done.returncode in (3, 4) and "Permission denied" in done.stderr, done
    assert "token" in done.stderr and "paddle up" not in done.stderr, done
    done = as_user(NOBODY, "", BIN / "paddle", "doctor", env=env)  # who cannot mount is not told so
    assert "under /pfs" not in done.stdout and "PADDLE_OUTPUT" in done.stdout, done
    for name in ("paddle.db", "storage/local", "packages", "jobs", "tmp"):
        assert as_user(NOBODY, "4242", "test", "-r", group_server.state / name).returncode == 1, name
