"""Users, passwords, log-ins, grants: doc/guide/people.md and the routes of doc/guide/rest.md, from outside."""

import concurrent.futures
import contextlib
import http.client
import json
import queue
import re
import subprocess
import threading
import time

import pytest
from conftest import BIN, PATIENCE, Reply, Server, wait_for
from test_tokens import call, make_token, refused

GOOD = "correct horse 1"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server on TCP, which we can be a proxy of: so requests come from addresses."""
    options = ("--cpus", "8", "--listen", "127.0.0.1:0", "--trusted-proxies", "127.0.0.1")
    server = Server(tmp_path_factory.mktemp("state"), *options).start()
    yield server
    server.destroy()


def user(server, name, **about):
    """Makes a user, by the socket."""
    reply = server.post("/v1/users", {"name": name, **about})
    assert reply.status == 201, reply.body
    return reply.json


def call_from(server, source, method, path, body, token=None):
    """A request from an address: failed log-ins count for each."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if source:
        headers["X-Forwarded-For"] = source
    connection.request(method, path, json.dumps(body), headers)
    reply = Reply(connection.getresponse())
    connection.close()
    return reply


def login(server, name, password, source=None):
    return call_from(server, source, "POST", "/v1/login", {"user": name, "password": password})


def logged_in(server, name, password=GOOD, source=None):
    reply = login(server, name, password, source)
    assert reply.status == 200, reply.body
    return reply.json["token"]


def patch(server, path, body, token=None, **headers):
    if token is None:
        return server.request("PATCH", path, body, headers)
    return call(server, path, token, "PATCH", json.dumps(body))


# -- users


def test_a_user_is_made_shown_changed_and_dropped(served):
    made = user(served, "carl", password=GOOD)
    assert (made["name"], made["admin"], made["has_password"]) == ("carl", False, True)
    assert "password" not in made and GOOD not in str(made) and "argon2" not in str(made)
    shown = served.get("/v1/users/carl")
    assert shown.json == made
    assert re.fullmatch(r'"\d+"', shown.headers["ETag"])
    assert "carl" in [item["name"] for item in served.get("/v1/users").json["items"]]
    changed = served.request("PATCH", "/v1/users/carl", {"admin": True})
    assert changed.status == 200 and changed.json["admin"] is True
    assert served.request("DELETE", "/v1/users/carl").status == 204
    refused(served.get("/v1/users/carl"), 404, "not_found", "carl")
    refused(served.request("DELETE", "/v1/users/carl"), 404, "not_found", "carl")


def test_the_database_keeps_hashes_alone(served):
    user(served, "hashed", password="a password of its own")
    token = logged_in(served, "hashed", "a password of its own")
    kept = b"".join(p.read_bytes() for p in served.state.glob("paddle.db*"))
    assert b"$argon2id$" in kept
    assert b"a password of its own" not in kept and token.encode() not in kept
    assert "a password of its own" not in served.log() and token not in served.log()


@pytest.mark.parametrize(
    "body, status, code, says",
    [
        ({}, 400, "invalid", "name is missing"),
        ({"name": ""}, 400, "invalid", "name"),
        ({"name": "-x"}, 400, "invalid", "-x"),
        ({"name": "a b"}, 400, "invalid", "a b"),
        ({"name": "x" * 61}, 400, "invalid", "60"),
        ({"name": 7}, 400, "invalid", "name"),
        ({"name": "dora", "password": "short"}, 400, "invalid", "8"),
        ({"name": "dora", "password": "x" * 257}, 400, "invalid", "256"),
        ({"name": "dora", "password": "paddleflow"}, 400, "invalid", "published"),
        ({"name": "dora", "password": ["x"]}, 400, "invalid", "password"),
        ({"name": "dora", "admin": "yes"}, 400, "invalid", "admin"),
        ({"name": "dora", "unix_user": True}, 400, "invalid", "unix_user"),
        ({"name": "dora", "colour": "red"}, 400, "invalid", "colour"),
        ({"name": "root"}, 409, "exists", "root"),
    ],
)
def test_users_that_cannot_be_made(served, body, status, code, says):
    refused(served.post("/v1/users", body), status, code, says)
    assert "dora" not in [item["name"] for item in served.get("/v1/users").json["items"]]


def test_lists_come_in_pages(served):
    for i in range(5):
        user(served, f"page{i}")
    names, after = [], ""
    while after is not None:
        page = served.get(f"/v1/users?limit=2{after and '&after=' + after}").json
        assert len(page["items"]) <= 2
        names += [item["name"] for item in page["items"]]
        after = page["next"]
    assert names == [item["name"] for item in served.get("/v1/users?limit=1000").json["items"]]
    assert [name for name in names if name.startswith("page")] == [f"page{i}" for i in range(5)]  # as they were made
    for query in ("limit=0", "limit=1001", "limit=x", "after=x", "after=-1"):
        refused(served.get(f"/v1/users?{query}"), 400, "invalid", query.split("=")[0])


def test_what_names_one_user_is_for_administrators_or_the_user(served):
    user(served, "eve", password=GOOD)
    user(served, "finn", password=GOOD)
    eve = logged_in(served, "eve")
    assert call(served, "/v1/users/eve", eve).json["name"] == "eve"
    refused(call(served, "/v1/users/finn", eve), 403, "denied", "'eve'", "finn")
    refused(call(served, "/v1/users", eve), 403, "denied", "administrators")
    refused(patch(served, "/v1/users/eve", {"admin": True}, eve), 403, "denied", "administrators")
    refused(call(served, "/v1/users/finn", eve, "DELETE"), 403, "denied", "administrators")
    assert call(served, "/v1/whoami", eve).json["admin"] is False


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ({"extensionTemplate": {"spec": {"hostPID": True}}}, "pod.spec.hostPID"),
        (
            {"members": [{"role": "worker", "extensionTemplate": {"spec": {"nodeName": "n"}}}]},
            "pod.spec.nodeName",
        ),
        ({"defaultTemplate": {"spec": {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}}}, "volumes[0].hostPath"),
    ],
    ids=["job", "member", "default"],
)
def test_what_of_pods_is_for_administrators(served, asked, where):
    """doc/guide/kubernetes.md, "What a template may ask for": however a template comes in."""
    name = "gil-" + where.rpartition(".")[2].lower()
    user(served, name, password=GOOD)
    token = logged_in(served, name)
    job = {"command": ["true"], "origin": {"paddleflow": asked}}
    refused(call(served, "/v1/jobs", token, "POST", json.dumps(job)), 403, "denied", where, "administrator")
    refused(call(served, "/v1/jobs?dry_run=true", token, "POST", json.dumps(job)), 403, "denied", where)
    refused(call(served, "/v1/jobs/batch", token, "POST", json.dumps({"jobs": [job]})), 403, "denied", where)
    harmless = {"extensionTemplate": {"spec": {"nodeSelector": {"a": "b"}}}}
    job["origin"] = {"paddleflow": harmless}
    assert call(served, "/v1/jobs", token, "POST", json.dumps(job)).status == 201
    job["origin"] = {"paddleflow": asked}
    assert served.post("/v1/jobs", job).status == 201  # by the socket: an administrator


def test_namespaces_of_kubernetes_are_for_administrators(served):
    user(served, "hal", password=GOOD)
    token = logged_in(served, "hal")
    job = {"command": ["true"], "namespace": "kube-system"}
    refused(call(served, "/v1/jobs", token, "POST", json.dumps(job)), 403, "denied", "'kube-system'", "administrators")
    assert call(served, "/v1/jobs", token, "POST", json.dumps({**job, "namespace": "team"})).status == 201
    assert served.post("/v1/jobs", job).status == 201


def test_what_lies_in_a_namespace_that_a_user_chose(served):
    """Whose it is nobody knows: a template may name it where an administrator has named the namespace."""
    user(served, "ida", password=GOOD)
    token = logged_in(served, "ida")
    queue = {"name": "ida-q", "namespace": "team", "everyone": True, "max": {"cpu": "1"}}
    assert served.post("/v1/queues", queue).status == 201
    spec = {"volumes": [{"name": "a", "secret": {"secretName": "any"}}]}
    job = {"command": ["true"], "origin": {"paddleflow": {"extensionTemplate": {"spec": spec}}}}
    elsewhere = json.dumps({**job, "namespace": "team"})
    refused(call(served, "/v1/jobs", token, "POST", elsewhere), 403, "denied", "secretName", "that the job chose")
    assert call(served, "/v1/jobs", token, "POST", json.dumps(job)).status == 201
    there = call(served, "/v1/jobs", token, "POST", json.dumps({**job, "namespace": "team", "queue": "ida-q"}))
    assert there.status == 201, there.body
    assert served.post("/v1/jobs", {**job, "namespace": "team"}).status == 201  # an administrator


def test_root_stays(served):
    refused(served.request("DELETE", "/v1/users/root"), 409, "conflict", "root")
    reply = served.request("PATCH", "/v1/users/root", {"admin": False})
    assert reply.status in (400, 409), reply.body
    assert served.get("/v1/users/root").json["admin"] is True


def test_dropping_a_user_takes_grants_and_tokens(served):
    user(served, "gone", password=GOOD)
    assert served.post("/v1/queues", {"name": "gone-q", "max": {"cpu": "1"}}).status == 201
    assert served.post("/v1/grants", {"user": "gone", "resource": "gone-q"}).status == 201
    own, given = logged_in(served, "gone"), make_token(served, user="gone")["token"]
    assert call(served, "/v1/whoami", own).status == call(served, "/v1/whoami", given).status == 200
    assert served.request("DELETE", "/v1/users/gone").status == 204
    for token in (own, given):
        refused(call(served, "/v1/whoami", token), 401, "unauthenticated", "not known")
    assert "gone" not in [item["user"] for item in served.get("/v1/grants").json["items"]]
    user(served, "gone")  # another one of that name: the old tokens are not theirs
    for token in (own, given):
        refused(call(served, "/v1/whoami", token), 401, "unauthenticated", "not known")


def test_a_user_made_anew_does_not_see_the_former_ones_jobs(served):
    user(served, "twice")
    token = make_token(served, user="twice")["token"]
    job = call(served, "/v1/jobs", token, "POST", '{"command": "echo mine", "name": "old"}')
    assert job.status == 201, job.body
    job = served.wait(job.json["id"])
    one = f"/v1/jobs/{job['id']}"
    assert call(served, one, token).status == 200
    assert served.request("DELETE", "/v1/users/twice").status == 204
    user(served, "twice")
    token = make_token(served, user="twice")["token"]
    assert call(served, "/v1/jobs", token).json["items"] == []
    for path in (one, "/v1/jobs/old", one + "/logs/worker-0", one + "/events"):
        refused(call(served, path, token), 404, "not_found")
    shown = wait_for(lambda: (now := served.job(job["id"]))["user"] != "twice" and now, 5, "its new owner")
    assert re.fullmatch(r"twice#\d+", shown["user"])
    kept = served.get(f"/v1/jobs?user={shown['user'].replace('#', '%23')}").json["items"]
    assert [item["id"] for item in kept] == [job["id"]]
    events = served.get(one + "/events").json["items"]
    assert events and {event["user"] for event in events} == {shown["user"]}
    again = call(served, "/v1/jobs", token, "POST", '{"command": "true", "name": "old"}')
    assert again.status == 201, again.body
    assert [item["id"] for item in call(served, "/v1/jobs", token).json["items"]] == [again.json["id"]]


def test_jobs_of_anothers_array_are_not_told_apart_from_none(served):
    """Neither which arrays there are, nor how many jobs they have."""
    tokens = {}
    for name in ("arrayed", "curious"):
        user(served, name)
        tokens[name] = make_token(served, user=name)["token"]
    body = '{"command": "true", "name": "row", "array": "0-3", "begin": "2099-01-01T00:00:00Z"}'
    array = call(served, "/v1/jobs", tokens["arrayed"], "POST", body).json["id"]
    assert call(served, f"/v1/jobs/{array}%5B3%5D", tokens["arrayed"]).status == 200
    said = set()
    for word in (array, "a" + 15 * "7"):
        for index in (3, 99):
            reply = call(served, f"/v1/jobs/{word}%5B{index}%5D", tokens["curious"])
            assert reply.status == 404
            said.add(reply.json["message"].replace(word, "X"))
    assert len(said) == 1, said


def test_a_user_with_open_jobs_is_not_dropped(served):
    user(served, "busy")
    token = make_token(served, user="busy")["token"]
    job = call(served, "/v1/jobs", token, "POST", '{"command": ["sleep", "600"], "name": "long"}')
    assert job.status == 201, job.body
    refused(served.request("DELETE", "/v1/users/busy"), 409, "conflict", "busy")
    assert served.request("DELETE", f"/v1/jobs/{job.json['id']}").status == 200
    wait_for(lambda: served.job(job.json["id"])["state"] == "cancelled", 30, "its end")
    assert served.request("DELETE", "/v1/users/busy").status == 204


# -- log-in


def test_log_in(served):
    user(served, "gail", password=GOOD)
    reply = login(served, "gail", GOOD)
    assert reply.status == 200 and set(reply.json) == {"user", "token", "expires_at"}
    assert len(reply.json["token"]) >= 43  # 256 bits
    assert call(served, "/v1/whoami", reply.json["token"]).json["user"] == "gail"
    kept = call(served, "/v1/tokens", reply.json["token"]).json["items"]
    assert [(t["login"], t["expires_at"]) for t in kept] == [(True, reply.json["expires_at"])]
    again = login(served, "gail", GOOD).json["token"]
    assert again != reply.json["token"]
    assert call(served, "/v1/whoami", reply.json["token"]).status == 200


def test_wrong_password_and_unknown_user_are_not_told_apart(served):
    user(served, "hanna", password=GOOD)
    user(served, "without")
    wrong, unknown = login(served, "hanna", "no", "10.0.1.1"), login(served, "nobody-here", "no", "10.0.1.2")
    without, empty = login(served, "without", "", "10.0.1.3"), login(served, "hanna", "", "10.0.1.4")
    for reply in (wrong, unknown, without, empty):
        refused(reply, 401, "unauthenticated", "wrong user name or password")
    assert len({reply.json["message"] for reply in (wrong, unknown, without, empty)}) == 1


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{",
        '{"user": "x"}',
        '{"password": "x"}',
        '{"user": 1, "password": "x"}',
        '{"user": "x", "password": null}',
    ],
)
def test_log_ins_that_are_none(served, body):
    refused(call(served, "/v1/login", None, "POST", body), 400, "invalid")


def first_refusal(ask):
    """Of many at once: the first answer that is 429. What still waits for its turn then is nobody's."""
    answers = queue.SimpleQueue()

    def ask_once():
        with contextlib.suppress(OSError, http.client.HTTPException):  # the server may end before its turn
            answers.put(ask())

    for _ in range(40):
        threading.Thread(target=ask_once, daemon=True).start()
    for _ in range(40):
        reply = answers.get(timeout=PATIENCE)
        if reply.status == 429:
            return reply
    raise AssertionError("none was refused")


def test_failures_slow_down_who_made_them(served):
    """The account from that address: its next turns come later and later."""
    user(served, "slow", password=GOOD)
    start = time.monotonic()
    for _ in range(7):  # five are free; the next waits 1 s, the one after it 2 s
        refused(login(served, "slow", "wrong", "10.0.3.1"), 401, "unauthenticated")
    assert time.monotonic() - start >= 3
    assert login(served, "slow", GOOD, "10.0.3.2").status == 200
    assert login(served, "other", "wrong", "10.0.3.1").status == 401
    reply = first_refusal(lambda: login(served, "slow", "wrong", "10.0.3.1"))
    refused(reply, 429, "quota", "slow", "Try again in")
    assert 1 <= int(reply.headers["Retry-After"]) <= 60
    assert login(served, "slow", GOOD, "10.0.3.2").status == 200


def test_a_refusal_takes_its_time(served):
    """Whoever guesses again at once does not keep the server busy: half a second, far longer than a refusal takes to make."""
    user(served, "hasty", password=GOOD)
    took = []

    def guess():
        start = time.monotonic()
        reply = login(served, "hasty", "wrong", "10.0.3.7")
        took.extend([time.monotonic() - start] if reply.status == 429 else [])
        return reply

    first_refusal(guess)
    assert min(took) > 0.49, took


def test_failures_of_one_address_concern_only_strangers_there(served):
    user(served, "addressed", password=GOOD)
    assert login(served, "addressed", GOOD, "10.0.4.1").status == 200
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        guesses = [pool.submit(login, served, f"guess{i}", "wrong", "10.0.4.1") for i in range(60)]
        assert {one.result().status for one in guesses} <= {401, 429}
    assert login(served, "addressed", GOOD, "10.0.4.1").status == 200


def test_many_at_once_do_not_stop_the_server(served):
    """100 log-ins at a time: each is answered, none of them holds up other requests."""
    user(served, "crowd", password=GOOD)
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        waiting = [pool.submit(login, served, "crowd", GOOD, f"10.0.5.{i}") for i in range(1, 101)]
        between = 0
        while not all(one.done() for one in waiting):
            assert served.get("/v1/version").status == 200
            between += 1
        answers = [one.result().status for one in waiting]
    assert set(answers) <= {200, 503} and answers.count(200) >= 64, answers
    assert between > 1, "the other request waited for all log-ins"


# -- passwords


def put_password(server, name, body, token=None, source=None):
    if token is None:
        return server.request("PUT", f"/v1/users/{name}/password", body)
    return call_from(server, source, "PUT", f"/v1/users/{name}/password", body, token)


def test_a_new_password_ends_log_ins(served):
    user(served, "ines", password=GOOD)
    session, token = logged_in(served, "ines"), make_token(served, user="ines")["token"]
    assert call(served, "/v1/whoami", session).status == 200
    assert put_password(served, "ines", {"password": "another one 2"}).status == 204
    refused(call(served, "/v1/whoami", session), 401, "unauthenticated", "not known")
    assert call(served, "/v1/whoami", token).status == 200  # an administrator's, not a log-in's
    assert login(served, "ines", GOOD).status == 401
    assert login(served, "ines", "another one 2").status == 200


def test_a_new_password_ends_what_log_ins_made(served):
    """A stolen session may have made tokens for later."""
    user(served, "sita", password=GOOD)
    session, own = logged_in(served, "sita"), make_token(served, user="sita")["token"]
    child = call(served, "/v1/tokens", session, "POST", '{"note": "child"}').json["token"]
    grandchild = call(served, "/v1/tokens", child, "POST", '{"note": "grandchild"}').json["token"]
    of_own = call(served, "/v1/tokens", own, "POST", '{"note": "of own"}').json["token"]
    kept = {t["note"]: t["login"] for t in call(served, "/v1/tokens", session).json["items"]}
    assert kept == {"log-in": True, "": False, "child": True, "grandchild": True, "of own": False}
    assert put_password(served, "sita", {"password": "another one 2"}).status == 204
    for token in (session, child, grandchild):
        refused(call(served, "/v1/whoami", token), 401, "unauthenticated", "not known")
    for token in (own, of_own):
        assert call(served, "/v1/whoami", token).status == 200


def test_a_user_has_a_thousand_tokens(served):
    user(served, "many")
    token = make_token(served, user="many")["token"]
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
    headers, made = {"Authorization": f"Bearer {token}"}, []
    for _ in range(999):
        connection.request("POST", "/v1/tokens", "{}", headers)
        made.append(Reply(connection.getresponse()))
        assert made[-1].status == 201, made[-1].body
    connection.close()
    refused(call(served, "/v1/tokens", token, "POST", "{}"), 429, "quota", "'many'", "1000", "token revoke")
    assert call(served, "/v1/tokens/" + made[0].json["id"], token, "DELETE").status == 204
    assert call(served, "/v1/tokens", token, "POST", "{}").status == 201
    assert make_token(served, user="few")["user"] == "few"


def test_ones_own_password_over_tcp(served):
    user(served, "jo", password=GOOD)
    user(served, "kim", password=GOOD)
    session = logged_in(served, "jo")
    refused(put_password(served, "jo", {"password": "another one 2"}, session), 400, "invalid", "old")
    refused(put_password(served, "jo", {"password": "another one 2", "old": "wrong"}, session), 403, "denied", "old")
    refused(put_password(served, "kim", {"password": "another one 2", "old": GOOD}, session), 403, "denied", "'jo'")
    refused(put_password(served, "nobody-here", {"password": "another one 2"}, session), 403, "denied", "'jo'")
    refused(put_password(served, "jo", {"password": "short", "old": GOOD}, session), 400, "invalid", "8")
    assert login(served, "jo", GOOD).status == 200
    assert put_password(served, "jo", {"password": "another one 2", "old": GOOD}, session).status == 204
    assert login(served, "jo", "another one 2").status == 200
    refused(put_password(served, "nobody-here", {"password": "another one 2"}), 404, "not_found", "nobody-here")


def test_guessing_the_old_password_is_slowed_down(served):
    user(served, "lea", password=GOOD)
    session = logged_in(served, "lea")
    body = {"password": "another one 2", "old": "wrong"}
    refused(put_password(served, "lea", body, session, "10.9.0.1"), 403, "denied")
    reply = first_refusal(lambda: put_password(served, "lea", body, session, "10.9.0.1"))
    refused(reply, 429, "quota", "lea")
    body["old"] = GOOD
    assert put_password(served, "lea", body, session, "10.9.0.2").status == 204


def test_the_first_password_is_not_set_with_a_token(served):
    user(served, "mia")
    token = make_token(served, user="mia")["token"]
    refused(put_password(served, "mia", {"password": GOOD}, token), 403, "denied", "administrator")
    assert put_password(served, "mia", {"password": GOOD}).status == 204
    assert login(served, "mia", GOOD, "10.0.6.1").status == 200


# -- grants


def test_grants_open_a_queue(served):
    assert served.post("/v1/queues", {"name": "team", "max": {"cpu": "2"}}).status == 201
    user(served, "nina", password=GOOD)
    session = logged_in(served, "nina", source="10.0.7.1")
    body = '{"command": ["true"], "queue": "team"}'
    refused(call(served, "/v1/jobs", session, "POST", body), 403, "denied", "team", "grant")
    refused(call(served, "/v1/queues/team", session), 403, "denied", "team", "grant")
    assert "team" not in [q["name"] for q in call(served, "/v1/queues", session).json["items"]]
    assert "default" in [q["name"] for q in call(served, "/v1/queues", session).json["items"]]

    made = served.post("/v1/grants", {"user": "nina", "resource": "team"})
    assert made.status == 201 and made.json["name"] == "nina/queue/team" and made.json["type"] == "queue"
    assert call(served, "/v1/grants/nina/queue/team", session).json == made.json
    assert [g["name"] for g in call(served, "/v1/grants", session).json["items"]] == ["nina/queue/team"]
    assert call(served, "/v1/queues/team", session).status == 200
    assert "team" in [q["name"] for q in call(served, "/v1/queues", session).json["items"]]
    job = call(served, "/v1/jobs", session, "POST", body)
    assert job.status == 201 and job.json["queue"] == "team", job.body

    refused(call(served, "/v1/grants/nina/queue/team", session, "DELETE"), 403, "denied")
    assert served.request("DELETE", "/v1/grants/nina/queue/team").status == 204
    refused(call(served, "/v1/jobs", session, "POST", body), 403, "denied", "team")


@pytest.mark.parametrize(
    "body, status, says",
    [
        ({}, 400, "user is missing"),
        ({"user": "oskar"}, 400, "resource is missing"),
        ({"user": "oskar", "resource": "no-such"}, 404, "no-such"),
        ({"user": "no-such", "resource": "default"}, 404, "no-such"),
        ({"user": "oskar", "resource": "default", "type": "planet"}, 400, "planet"),
        ({"user": "oskar", "resource": "default", "colour": 1}, 400, "colour"),
        ({"user": "root", "resource": "default"}, (400, 409), "root"),
    ],
)
def test_grants_that_cannot_be_made(served, body, status, says):
    served.post("/v1/users", {"name": "oskar"})
    reply = served.post("/v1/grants", body)
    assert reply.status in (status if isinstance(status, tuple) else (status,)), reply.body
    assert says in reply.json["message"]


def test_open_queues_ask_for_no_grants(make_server):
    server = make_server("--cpus", "4", "--open-queues", "--listen", "127.0.0.1:0")
    assert server.post("/v1/queues", {"name": "team", "max": {"cpu": "2"}}).status == 201
    token = make_token(server, user="ann")["token"]
    assert "team" in [q["name"] for q in call(server, "/v1/queues", token).json["items"]]
    assert call(server, "/v1/jobs", token, "POST", '{"command": ["true"], "queue": "team"}').status == 201
    assert call(server, "/v1/jobs?dry_run=true", token, "POST", '{"command": ["true"], "queue": "team"}').json[
        "admitted"
    ]


# -- the seeded account, listening, expiry


def test_the_seeded_account_until_its_password_is_changed(make_server):
    server = make_server("--listen", "127.0.0.1:0", "--published-password", "127.0.0.1")
    token = logged_in(server, "root", "paddleflow")
    assert call(server, "/v1/whoami", token).json["admin"] is True
    # a page of elsewhere, whose name was made to mean the loopback
    for path, member in (("/v1/login", "user"), ("/api/paddleflow/v1/login", "username")):
        body = json.dumps({member: "root", "password": "paddleflow"})
        for host, good in (("example.org", False), ("127.0.0.1.example.org:80", False), ("localhost:1", True)):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            connection.request("POST", path, body, {"Host": host})
            assert (connection.getresponse().status == 200) is good, (path, host)
            connection.close()
    assert server.get("/v1/users/root").json["has_password"] is True
    assert put_password(server, "root", {"password": GOOD}).status == 204
    server.stop()
    server.options = ("--listen", "0.0.0.0:0", "--plain-http")
    server.start()
    assert login(server, "root", "paddleflow").status == 401
    assert login(server, "root", GOOD).status == 200


def test_log_ins_expire_as_told(make_server):
    for hours, check in (("-1", lambda t: t is None), ("1", lambda t: t is not None)):
        server = make_server(
            "--listen", "127.0.0.1:0", "--token-expire-hours", hours, "--published-password", "127.0.0.1"
        )
        reply = login(server, "root", "paddleflow")
        assert check(reply.json["expires_at"]), reply.json
        server.stop()


@pytest.mark.parametrize("hours", ["0", "-2", "x", "1.5", "99999999999999999999"])
def test_expiry_that_is_none(tmp_path, hours):
    line = [BIN / "paddled", "--state", str(tmp_path / "state"), "--token-expire-hours", hours]
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and "--token-expire-hours" in done.stderr and hours in done.stderr, done


def test_metrics_have_a_port_of_their_own(make_server):
    server = make_server("--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
    reply = call(server, "/metrics", port=server.metrics_port)
    assert reply.status == 200 and b"paddle_jobs_open 0" in reply.body
    for path in ("/v1/version", "/v1/jobs", "/healthz", "/v1/login"):
        refused(call(server, path, port=server.metrics_port), 404, "not_found")
    assert call(server, "/metrics").status == 200  # over the loopback


def test_a_thousand_log_ins_are_kept_and_the_oldest_goes(served):
    """By the store's own table: a thousand real log-ins would hash for a minute."""
    import sqlite3

    user(served, "often", password=GOOD)
    first = logged_in(served, "often", source="10.0.8.1")
    served.stop()
    with sqlite3.connect(served.state / "paddle.db") as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(token)")]
        row = dict(zip(columns, db.execute("SELECT * FROM token WHERE user = 'often'").fetchone(), strict=True))
        for i in range(999):
            copy = {**row, "id": f"copy{i:012d}", "hash": f"{i:064x}", "created": row["created"] + 1 + i}
            marks = ", ".join("?" * len(columns))
            db.execute(f"INSERT INTO token ({', '.join(columns)}) VALUES ({marks})", [copy[c] for c in columns])
    db.close()
    served.start()
    last = logged_in(served, "often", source="10.0.8.2")
    kept = call(served, "/v1/tokens", last).json["items"]
    assert len(kept) <= 1000 and call(served, "/v1/whoami", last).status == 200
    refused(call(served, "/v1/whoami", first), 401, "unauthenticated", "not known")


def test_who_submits_too_fast_is_told_how_long_to_wait(make_server):
    server = make_server("--listen", "127.0.0.1:0", "--submit-rate", "1")
    user(server, "fast")
    token = make_token(server, user="fast")["token"]

    def submit():
        return call(server, "/v1/jobs", token, "POST", json.dumps({"command": "true"}))

    assert submit().status == 201
    reply = submit()
    refused(reply, 429, "quota", "may submit 1 job in a minute")
    assert 0 < int(reply.headers["Retry-After"]) <= 60
