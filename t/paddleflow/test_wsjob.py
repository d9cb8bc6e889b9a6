"""2.11 GET /wsjob: changed jobs over a WebSocket."""

import time

import pytest
from conftest import PATIENCE

from paddleflow.client import Socket, has_type, refused
from paddleflow.test_job import KEYS


def test_plain(flow):
    """12: no upgrade is answered 400, text/plain."""
    reply = flow.get("/wsjob")
    assert reply.status == 400
    has_type(reply, "text/plain")


def test_log_in(flow):
    refused(flow.get("/wsjob", who=None), "AuthWithoutToken")
    with Socket(flow, who=None) as sock:
        refused(sock.refusal, "AuthWithoutToken")
    with Socket(flow, who=None, headers={"x-pf-authorization": "x" * 40}) as sock:
        refused(sock.refusal, "AuthInvalidToken")


@pytest.mark.parametrize("headers", [{}, {"x-pf-client-id": "conn-0123abcd"}], ids=["alone", "2.11 with a client id"])
def test_changed_jobs_are_pushed(flow, headers):
    with Socket(flow, headers=headers) as sock:
        assert sock.refusal is None
        job = flow.submit("sleep 600")
        seen, _ = sock.until(lambda value: value.get("id") == job and value["status"] == "running")
        assert set(KEYS.split()) <= set(seen)
        flow.stop(job)
        ended, _ = sock.until(lambda value: value.get("id") == job and value["status"] == "terminated")
        assert ended["finishTime"]


def test_of_others_nothing_is_heard(flow):
    """9: upstream tells everybody."""
    user, queue = flow.make_user(), flow.make_queue()
    flow.grant(user, queue)
    with Socket(flow, who=user) as sock:
        other = flow.submit("true")
        flow.wait(other)
        mine = flow.submit("true", who=user, schedulingPolicy={"queue": queue})
        _, seen = sock.until(lambda value: value.get("id") == mine and value["status"] == "succeeded")
        assert {value["id"] for value in seen} == {mine}


def test_root_hears_of_all(flow):
    user, queue = flow.make_user(), flow.make_queue()
    flow.grant(user, queue)
    with Socket(flow) as sock:
        job = flow.submit("true", who=user, schedulingPolicy={"queue": queue})
        seen, _ = sock.until(lambda value: value.get("id") == job and value["status"] == "succeeded")
        assert seen["UserName"] == user


def echoes(sock, text):
    sock.send(text)
    for _ in range(1000):
        heard = sock.text()
        if heard == text:
            return True
    return False


@pytest.mark.parametrize(
    "text", ["heartbeat", '{"any": "thing"}', "größe", "x" * 5000], ids=["word", "json", "utf8", "long"]
)
def test_heartbeat(flow, text):
    """Whatever a client says comes back."""
    with Socket(flow) as sock:
        assert echoes(sock, text)
        assert echoes(sock, text)


def test_several_hear(flow):
    with Socket(flow) as one, Socket(flow) as two:
        job = flow.submit("true")
        for sock in (one, two):
            sock.until(lambda value: value.get("id") == job and value["status"] == "succeeded")


def test_goodbye(flow):
    with Socket(flow) as sock:
        sock.send(b"\x03\xe8bye", opcode=8)
        opcode, data = 0, b""
        end = time.monotonic() + PATIENCE
        while opcode != 8:
            assert time.monotonic() < end
            opcode, data = sock.frame()
        assert data[:2] == b"\x03\xe8"


def test_a_server_that_stops_says_so(make_flow):
    flow = make_flow()
    with Socket(flow) as sock:
        flow.server.process.terminate()
        opcode, data = 0, b""
        while opcode != 8:
            opcode, data = sock.frame()
        assert data[:2] == b"\x03\xe9"  # 1001
        sock.send(data[:2], opcode=8)
    assert flow.server.process.wait(PATIENCE) == 0


def test_other_methods(flow):
    refused(flow.call("POST", "/wsjob", {}), "MethodNotAllowed")
