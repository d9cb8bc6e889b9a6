"""A token that was stolen does not become the account: doc/guide/security.md, "Tokens"."""

import json
import sqlite3

import pytest
from conftest import Server

GOOD, NEW = "correct horse 1", "better horse 2"
FLOW = "/api/paddleflow/v1"


@pytest.fixture
def served(tmp_path):
    server = Server(tmp_path / "state", "--listen", "127.0.0.1:0").start()
    assert server.post("/v1/users", {"name": "ann", "password": GOOD}).status == 201
    yield server
    server.destroy()


def log_in(server, password, base=FLOW):
    names = {"username" if base == FLOW else "user": "ann", "password": password}
    reply = server.post(f"{base}/login", names)
    return reply.json.get("authorization") or reply.json.get("token")


def change(server, token, password=NEW):
    headers = {"x-pf-authorization": token, "Content-Type": "application/json"}
    return server.request("PUT", f"{FLOW}/user/ann", json.dumps({"password": password}), headers)


def test_a_token_that_was_made_changes_no_password(served):
    made = served.post("/v1/tokens", {"user": "ann"}).json["token"]
    reply = change(served, made)
    assert reply.json["code"] == "AccessDenied" and "15 minutes" in reply.json["message"]
    assert log_in(served, GOOD)


def test_a_token_says_the_old_password_on_the_socket_as_well(served):
    """The machine vouches for who shows no token. Who shows one may have stolen it."""
    made = served.post("/v1/tokens", {"user": "ann"}).json["token"]
    headers = {"Authorization": f"Bearer {made}", "Content-Type": "application/json"}

    def ask(**body):
        return served.request("PUT", "/v1/users/ann/password", json.dumps({"password": NEW, **body}), headers).status

    assert ask() == 400
    assert ask(old="some other horse") in (400, 401, 403)
    assert log_in(served, GOOD)
    assert ask(old=GOOD) == 204
    assert log_in(served, NEW)


def test_who_has_just_logged_in_changes_the_password(served):
    assert change(served, log_in(served, GOOD)).status == 200
    assert not log_in(served, GOOD) and log_in(served, NEW)
    assert change(served, log_in(served, NEW, "/v1"), GOOD).status == 200


def test_an_older_log_in_does_not(served):
    token = log_in(served, GOOD)
    served.stop()
    with sqlite3.connect(served.state / "paddle.db") as db:
        assert db.execute("UPDATE token SET created = created - 16 * 60 * 1000 WHERE user = 'ann'").rowcount == 1
    served.start()
    headers = {"x-pf-authorization": token}
    assert served.request("GET", f"{FLOW}/queue", headers=headers).status == 200  # it is good for all else
    assert change(served, token).json["code"] == "AccessDenied"
