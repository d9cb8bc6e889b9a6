"""What tells a little more than it should, or says it badly."""

import contextlib
import http.client
import io
import json
import os
import socket
import tarfile
import time

import pytest
from conftest import PATIENCE, Reply, Server, open_way, server_of_module, wait_for
from people import Person
from test_cli_terminal import Terminal
from test_people import first_refusal

SILENCE = 55  # seconds; after 60 without traffic the library ends a connection by itself

served = server_of_module("--cpus", "8", "--listen", "127.0.0.1:0")


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


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_metrics_are_not_for_who_comes_through_a_proxy(served, header):
    """The proxy is near, who asks is not: without a token the numbers are for this machine alone."""
    for headers, status in (({}, 200), ({header: "203.0.113.9"}, 401)):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)) as connection:
            connection.request("GET", "/metrics", headers=headers)
            assert connection.getresponse().status == status, headers


# -- the older interface


def flow_login(server, name, host="127.0.0.1"):
    body = json.dumps({"username": name, "password": "wrong 1"})
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("POST", "/api/paddleflow/v1/login", body, {"Host": host})
    reply = Reply(connection.getresponse())
    connection.close()
    return reply


def test_a_log_in_does_not_tell_who_has_an_account(served, make_server):
    """Where older clients are at home its word is said (doc/reference/paddleflow-api.md, "Log-in and tokens"), to nobody else."""
    assert served.post("/v1/users", {"name": "dave", "password": "correct horse"}).status == 201
    told = {name: flow_login(served, name) for name in ("dave", "nobody1")}
    assert {reply.status for reply in told.values()} == {400}
    assert {reply.json["code"] for reply in told.values()} == {"AuthFailed"}
    words = {reply.json["message"].replace(name, "X") for name, reply in told.items()}
    assert len(words) == 1, words
    older = make_server("--listen", "127.0.0.1:0", "--published-password", "127.0.0.1")
    assert flow_login(older, "nobody1").json["code"] == "UserNotExist"
    assert flow_login(older, "nobody1", "evil.example.com").json["code"] == "AuthFailed"


# -- where the server is, and who else is there


def archive(name="train.py", text=b"print(1)\n"):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        about = tarfile.TarInfo(name)
        about.size = len(text)
        tar.addfile(about, io.BytesIO(text))
    return made.getvalue()


def test_a_package_is_not_said_to_be_in_the_state_directory(served):
    eve = Person(served, "eve")
    headers = {**eve.headers, "Content-Type": "application/x-tar"}
    reply = served.request("POST", "/v1/packages", archive(), headers)
    assert reply.status == 200 and str(served.state) not in reply.body.decode()
    assert reply.json["path"] == f"packages/{reply.json['package']}"
    by_root = served.request("POST", "/v1/packages", archive(), {"Content-Type": "application/x-tar"}).json["path"]
    assert by_root == f"{served.state}/packages/{reply.json['package']}"


def test_jobs_of_others_are_not_named(make_server):
    """In a dry run, and in the reasons why a job waits."""
    server = make_server("--cpus", "4")
    ann, bob = Person(server, "ann"), Person(server, "bob")
    queue = {"name": "team", "everyone": True, "max": {"cpu": "4"}, "preemption": "lower-priority"}
    assert server.post("/v1/queues", queue).status == 201
    for name in ("ann", "bob"):
        assert server.post("/v1/grants", {"user": name, "resource": "team", "max_priority": "high"}).status == 201
    own = {"queue": "team", "priority": "low", "roles": [{"name": "worker", "cpu": "2"}], "grace": "8s"}
    stays = "trap '' TERM; exec sleep 600"  # while it is evicted, what needs its place waits
    held, _ = (person.submit(stays, name=f"secret-of-{person.name}", **own)["id"] for person in (ann, bob))
    wait_for(lambda: server.get("/v1/info").json["jobs"]["running"] == 2, what="both jobs")
    wish = {"command": ["true"], "queue": "team", "priority": "normal", "roles": [{"name": "worker", "cpu": "4"}]}

    def victims(headers):
        reply = server.request("POST", "/v1/jobs?dry_run=true", json.dumps(wish), headers)
        assert reply.status == 200, reply.body
        return reply.body.decode(), sorted(str(one["user"]) for one in reply.json["evicts"])

    said, users = victims({**ann.headers, "Content-Type": "application/json"})
    assert users == ["None", "ann"] and "secret-of-bob" not in said and "secret-of-ann" in said
    assert victims({"Content-Type": "application/json"})[1] == ["ann", "bob"]
    shown = ann.paddle("submit", "--dry-run", "--queue", "team", "--priority", "high", "--cpu", "4", "--", "true")
    assert "a job of another user" in shown.stdout + shown.stderr and "bob" not in shown.stdout + shown.stderr
    waits = ann.submit("true", queue="team", roles=[{"name": "worker", "cpu": "3"}])["id"]
    wait_for(lambda: server.job(waits)["reason"], what="why it waits")
    for path in (f"/v1/jobs/{waits}", f"/v1/jobs/{waits}/explain"):
        assert "secret-of-bob" not in ann.get(path).body.decode()
    high = bob.submit(
        "true", name="urgent-of-bob", queue="team", priority="high", roles=[{"name": "worker", "cpu": "4"}]
    )["id"]
    server.wait(high, "succeeded")
    for path in (
        "/v1/jobs",
        f"/v1/jobs/{waits}",
        f"/v1/jobs/{held}",
        f"/v1/jobs/{held}/events",
        f"/v1/jobs/{waits}/events",
    ):
        said = ann.get(path).body.decode()
        assert "of-bob" not in said and high not in said, said
    assert server.job(held)["evictions"] >= 1  # the job that waits may evict it a second time


# -- what members are given


@pytest.mark.skipif(os.geteuid() != 0, reason="without root there are no other users")
def test_members_have_the_search_path_of_everybody(tmp_path_factory):
    top = tmp_path_factory.mktemp("paths")
    open_way(top)
    places = {name: top / name for name in ("everybodys", "private", "writable")}
    for place, mode in zip(places.values(), (0o755, 0o700, 0o777), strict=True):
        place.mkdir()
        place.chmod(mode)
    path = os.environ["PATH"]
    try:
        os.environ["PATH"] = ":".join([*map(str, places.values()), "relative", path])
        server = Server(tmp_path_factory.mktemp("state"), "--cpus", "2").start()
    finally:
        os.environ["PATH"] = path
    try:
        said = Person(server, "fay").run('echo "$PATH"').strip().split(":")
        assert str(places["everybodys"]) in said and "/usr/bin" in said
        assert not {str(places["private"]), str(places["writable"]), "relative"} & set(said), said
        assert not [part for part in said if part.startswith("/root")], said
    finally:
        server.destroy()


# -- files, terminals


def test_a_file_that_is_cut_while_it_is_sent(served):
    """Its client is let go at once: what was promised will not come."""
    gus = Person(served, "gus")
    gus.run("true", output="/pfs/local/home/gus/out")
    big = gus.disk / "big"
    with open(big, "wb") as file:
        file.truncate(1 << 30)
    request = f"GET {gus.home}/big HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {gus.token}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        got = len(connection.recv(65536))
        os.truncate(big, 1 << 20)
        start = time.monotonic()
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(1 << 20):
                got += len(piece)
        assert got < 1 << 30
        assert time.monotonic() - start < SILENCE  # else it was silence that ended it


def test_a_log_does_not_move_the_terminal(served):
    """Colours pass, all else is text; `--raw`, a file and a pipe have what the job wrote."""
    evil = r"\033]0;owned\007\033[2J\033[31mred\033[0m\033]52;c;aGk=\007\033[6n"
    job = served.submit(["printf", evil + r"\n"], name="evil")["id"]
    served.wait(job)
    raw = evil.replace(r"\033", "\033").replace(r"\007", "\a").encode()

    def on_terminal(*words):
        terminal = Terminal(served, "logs", *words, job)
        assert terminal.end() == 0
        return terminal.said

    tamed = on_terminal()
    assert b"\033[31mred\033[0m" in tamed and b"^[]0;owned^G^[[2J" in tamed and b"^[[6n" in tamed, tamed
    assert not [word for word in (b"\033]", b"\033[2J", b"\033[6n", b"\007") if word in tamed], tamed
    assert raw in on_terminal("--raw")
    assert raw.decode() in served.paddle("logs", job, check=0).stdout
