"""The audit log: what was done is in it, no secret is, and whoever was at it is told: doc/guide/audit.md."""

import http.client
import json
import shutil
import subprocess
import threading

import pytest
from conftest import BIN, PATIENCE, Server, UnixConnection, wait_for
from people import Person

GOOD = "correct horse 1"
FLOW = "/api/paddleflow/v1"
CANARY = "canary7f3a"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "8", "--listen", "127.0.0.1:0").start()
    assert server.post("/v1/users", {"name": "lola", "password": GOOD}).status == 201
    yield server
    server.destroy()


@pytest.fixture(scope="module")
def ann(served):
    return Person(served, "ann")


def tcp(server, method, path, body=None, token=None, **headers):
    """A request over the network: (status, headers, text)."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    reply = connection.getresponse()
    text = reply.read()
    connection.close()
    return reply.status, reply.headers, text


def lines_of(state):
    """All lines as they are in the files."""
    files = sorted((state / "audit").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def head_of(server):
    return server.get("/v1/audit/verify").json["last"]


def since(server, number, **about):
    """What was recorded after that line."""
    query = "".join(f"&{name}={value}" for name, value in about.items())
    return server.get(f"/v1/audit?since={number}&limit=1000{query}").json["items"]


def told(lines, **members):
    return [line for line in lines if all(line.get(name) == value for name, value in members.items())]


def verify(where, *options):
    """`paddle audit verify` of a directory: (good?, what it says)."""
    done = subprocess.run(
        [BIN / "paddle", "audit", "verify", where / "audit", *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0, done.stdout + done.stderr


def test_who_did_what(served, ann):
    """Each of these is one line with who, from where, what, on what and how it ended."""
    start = head_of(served)
    login = served.post("/v1/login", {"user": "lola", "password": GOOD}).json["token"]
    assert served.post("/v1/login", {"user": "lola", "password": "wrong horse"}).status == 401
    assert tcp(served, "POST", FLOW + "/login", {"username": "lola", "password": GOOD})[0] == 200
    made = served.request("POST", "/v1/tokens", '{"scope": "submit"}', {"Authorization": f"Bearer {login}"}).json
    assert served.request("DELETE", f"/v1/tokens/{made['id']}").status == 204
    assert served.post("/v1/queues", {"name": "vision", "max": {"cpu": "4"}}).status == 201
    assert served.post("/v1/grants", {"user": "lola", "resource": "vision"}).status == 201
    change = {"password": "another horse 2", "old": GOOD}
    headers = {"Authorization": f"Bearer {login}"}
    assert served.request("PUT", "/v1/users/lola/password", json.dumps(change), headers).status == 204
    job = ann.submit("exec sleep 600")
    served.wait(job["id"], "running")
    env = {"PADDLE_TOKEN": ann.token, "PADDLE_SERVER": f"http://127.0.0.1:{served.port}"}
    served.paddle("exec", job["id"], "--", "true", env=env, check=0)
    assert served.request("PATCH", "/v1/users/lola", '{"disabled": true}').status == 200
    assert tcp(served, "DELETE", f"/v1/jobs/{job['id']}", token=ann.token)[0] == 200
    assert served.request("DELETE", "/v1/users/lola").status in (200, 204)
    lines = since(served, start)
    for members in (
        {"action": "login", "user": "lola", "outcome": "ok", "address": "unix"},
        {"action": "login", "subject": "lola", "outcome": "denied", "status": 401},
        {"action": "login", "user": "lola", "outcome": "ok", "address": "127.0.0.1", "route": FLOW + "/login"},
        {"action": "token create", "user": "lola", "subject": f"{made['id']} for lola: scope submit"},
        {"action": "token delete", "user": "root", "subject": made["id"], "owner": "lola"},
        {"action": "queue create", "user": "root", "subject": "vision"},
        {"action": "grant create", "user": "root", "subject": "lola/queue/vision"},
        {"action": "password update", "user": "lola", "subject": "lola"},
        {"action": "job create", "user": "ann", "subject": job["id"]},
        {"action": "job exec", "user": "ann", "subject": f"{job['id']} worker-0", "status": 101},
        {"action": "user update", "user": "root", "subject": "lola: disabled=true"},
        {"action": "job delete", "user": "ann", "subject": job["id"], "outcome": "ok", "address": "127.0.0.1"},
        {"action": "user delete", "user": "root", "subject": "lola"},
    ):
        assert len(told(lines, **members)) == 1, (members, lines)
    token = next(item["id"] for item in served.get("/v1/tokens?user=ann").json["items"])
    assert all(line["token"] == token for line in told(lines, user="ann"))
    assert {line["user"] for line in since(served, start, user="ann")} == {"ann"}
    served.wait(job["id"])


def test_what_was_denied(served, ann):
    job = ann.submit("true")["id"]
    bob = Person(served, "bob")
    read = served.request("POST", "/v1/tokens", '{"scope": "read"}', bob.headers).json["token"]
    start = head_of(served)
    for status, method, path, token in (
        (401, "GET", "/v1/jobs", None),
        (401, "GET", "/v1/users", "x" * 52),
        (403, "GET", "/v1/users", bob.token),
        (404, "GET", f"/v1/jobs/{job}", bob.token),  # another's: not told to bob, but here
        (404, "GET", f"/v1/jobs/{job}/logs", bob.token),
        (403, "POST", "/v1/users", bob.token),
        (403, "DELETE", "/v1/jobs/x", read),
    ):
        assert tcp(served, method, path, {} if method == "POST" else None, token)[0] == status
    assert tcp(served, "GET", FLOW + "/user", **{"x-pf-authorization": "x" * 52})[0] == 400
    assert tcp(served, "GET", "/v1/jobs/none", token=bob.token)[0] == 404  # there is none: no line
    lines = told(since(served, start), outcome="denied")
    assert [line["action"] for line in lines] == [
        "job list",
        "user list",
        "user list",
        "job show",
        "log show",
        "user create",
        "job delete",
        "user list",
    ]
    assert [line.get("user") for line in lines[:3]] == [None, None, "bob"]


def test_what_administrators_look_at(served):
    eve = Person(served, "eve")
    job = eve.submit("echo hello")["id"]
    served.wait(job)
    assert served.request("POST", f"{eve.home}/seen", '{"op": "mkdir"}', eve.headers).status in (200, 201)
    start = head_of(served)
    for _ in range(5):
        assert served.get(f"/v1/jobs/{job}/logs/worker-0").status == 200
    assert served.get(f"{eve.home}/seen?list=true").status == 200
    assert served.get("/v1/tokens?user=eve").status == 200
    assert eve.get(f"/v1/jobs/{job}/logs/worker-0").status == 200  # her own
    assert served.get("/v1/jobs").status == 200
    lines = since(served, start)
    assert [(line["action"], line["owner"]) for line in lines] == [
        ("log show", "eve"),
        ("file show", "eve"),
        ("token list", "eve"),
    ]


def test_a_trial_is_no_change(served, ann):
    """Neither is it recorded on a route that does not know it, where it would be none."""
    assert served.post("/v1/queues", {"name": "audited", "max": {"cpu": "1"}}).status == 201
    last = head_of(served)
    assert served.post("/v1/storage/gc?dry_run=true").status == 200
    assert served.post("/v1/jobs?dry_run=true", {"command": ["true"]}).status == 200
    assert served.request("PATCH", "/v1/queues/audited?what_if=true", {"max": {"cpu": "2"}}).status == 200
    assert ann.server.request("POST", "/v1/storage/gc?dry_run=true", headers=ann.headers).status == 403
    assert [(line["action"], line["outcome"]) for line in since(served, last)] == [("storage delete", "denied")]
    last = head_of(served)
    assert served.post("/v1/storage/gc").status == 200
    assert served.request("DELETE", "/v1/queues/audited?dry_run=true").status in (200, 204)
    said = [(line["action"], line["outcome"]) for line in since(served, last)]
    assert said == [("storage delete", "ok"), ("queue delete", "ok")]


def test_who_looks_at_what_another_holds(served, ann):
    last = head_of(served)
    assert ann.get("/v1/storage/usage").status == 200
    assert served.get("/v1/storage/usage?all=true").status == 200
    assert served.get("/v1/storage/usage?user=ann").status == 200
    (line,) = since(served, last)
    assert (line["action"], line["owner"], line["outcome"]) == ("storage list", "ann", "ok")


def test_only_administrators_read_it(served, ann):
    root = served.post("/v1/tokens", {"user": "root"}).json["token"]
    lesser = tcp(served, "POST", "/v1/tokens", {"scope": "submit"}, root)[2]
    for path in ("/v1/audit", "/v1/audit/verify"):
        assert tcp(served, "GET", path)[0] == 401
        assert tcp(served, "GET", path, token=ann.token)[0] == 403
        assert tcp(served, "GET", path, token=json.loads(lesser)["token"])[0] == 403
        assert tcp(served, "GET", path, token=root)[0] == 200
    modes = {path.stat().st_mode & 0o777 for path in (served.state / "audit").iterdir()}
    assert modes == {0o600} and (served.state / "audit").stat().st_mode & 0o777 == 0o700


def test_the_command_line_lists_and_verifies(served):
    head = served.paddle("audit", "verify", check=0).stdout.strip()
    rows = served.paddle("audit", "list", "-n", "5", check=0).stdout.splitlines()
    assert rows[0].split()[:4] == ["NUMBER", "TIME", "USER", "ADDRESS"] and len(rows) == 6
    later = served.paddle("audit", "list", "--since", head.split(":")[0], check=0).stdout
    assert len(later.splitlines()) <= 1
    served.paddle("audit", "verify", "--head", head, check=0)
    number, _, digest = head.partition(":")
    assert "was changed" in served.paddle("audit", "verify", "--head", f"{number}:{digest[::-1]}", check=1).stderr


def test_no_secret_is_in_it(served, ann):
    """Wherever a secret may be in a request, and a few places where it should not be."""
    secrets = iter(f"{CANARY}{n:02}" for n in range(100))
    used = []

    def secret():
        used.append(next(secrets))
        return used[-1]

    start = head_of(served)
    headers = {"Content-Type": "application/json"}
    assert served.post("/v1/users", {"name": "carol", "password": secret()}).status == 201
    assert served.post("/v1/login", {"user": "carol", "password": used[-1]}).status == 200
    served.post("/v1/login", {"user": "carol", "password": secret()})
    served.post("/v1/login", {"user": secret(), "password": secret()})  # typed into the wrong field
    tcp(served, "POST", FLOW + "/login", {"username": secret(), "password": secret()})
    served.request("PUT", "/v1/users/carol/password", {"password": secret()})
    served.post(FLOW + "/user", {"username": "dave", "password": secret()}, headers=headers)
    made = served.post("/v1/tokens", {"user": "carol", "note": secret()}).json["token"]
    tcp(served, "GET", f"/v1/jobs?key={secret()}", token=secret())
    tcp(served, "GET", f"/v1/jobs/{secret()}")
    tcp(served, "GET", f"/{secret()}?a={secret()}")
    tcp(served, "GET", "/v1/users", token=made, **{"X-Secret": secret(), "Cookie": secret()})
    tcp(served, "POST", f"/v1/users?password={secret()}", {"name": secret()}, token=made)
    spec = {"command": ["sh", "-c", "true " + secret()], "env": {"KEY": secret()}}
    assert served.post("/v1/jobs", spec).status == 201
    assert served.post("/v1/jobs", {"command": [secret()], "env": [secret()]}).status == 400
    job = ann.submit("exec sleep 600", env={"KEY": secret()})
    served.wait(job["id"], "running")
    served.paddle("exec", job["id"], "--", "true", secret(), check=0)
    cluster = {"name": "prod", "type": "Kubernetes", "kubeconfig": f"apiVersion: v1\ntoken: {secret()}\n"}
    served.post("/v1/clusters", cluster)
    served.request("PATCH", "/v1/clusters/prod", {"kubeconfig": secret()})
    served.post(FLOW + "/cluster", {"clusterName": "older", "endpoint": "127.0.0.1", "credential": secret()})
    served.request("PUT", f"{ann.home}/x?hash={secret()}", secret(), ann.headers)
    served.paddle("cancel", job["id"], check=0)
    lines = since(served, start)
    assert len(lines) > 15  # it was recorded, just not with these
    text = b"".join(path.read_bytes() for path in sorted((served.state / "audit").iterdir())).decode()
    assert [one for one in [*used, made, ann.token] if one in text] == []
    assert CANARY not in text


# ---- tampering ----


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The directory of a server that wrote several files and stopped."""
    server = Server(tmp_path_factory.mktemp("written"), "--audit-file-size", "2Ki", "--audit-files", "4").start()
    for n in range(40):
        assert server.post("/v1/tokens", {"note": str(n)}).status == 201
    head = server.get("/v1/audit/verify").json["head"]
    server.stop()
    yield server.state, head
    server.destroy()


def edit(change):
    def be_at_it(audit):
        files = sorted(audit.glob("*.jsonl"))
        lines = [file.read_text().splitlines(keepends=True) for file in files]
        change(lines)
        for file, text in zip(files, lines, strict=True):
            file.write_text("".join(text))

    return be_at_it


def changed(lines):
    lines[1][2] = lines[1][2].replace('"root"', '"ann_"')


def last_changed(lines):
    lines[-1][-1] = lines[-1][-1].replace('"root"', '"ann_"')


def removed(lines):
    del lines[1][2]


def removed_at_the_end(lines):
    del lines[-1][-1]


def inserted(lines):
    lines[1].insert(2, lines[1][2].replace('"root"', '"ann_"'))


def reordered(lines):
    lines[1][1], lines[1][2] = lines[1][2], lines[1][1]


def moved_to_another_file(lines):
    lines[1].insert(1, lines[2].pop(1))


def truncated(lines):
    lines[-1][-1] = lines[-1][-1][:-20]


def cut_in_an_older_file(lines):
    lines[1][-1] = lines[1][-1][:-20]


def without(which):
    return lambda audit: sorted(audit.glob("*.jsonl"))[which].unlink()


TAMPERING = {
    "changed": edit(changed),
    "the last changed": edit(last_changed),
    "removed": edit(removed),
    "removed at the end": edit(removed_at_the_end),
    "inserted": edit(inserted),
    "reordered": edit(reordered),
    "moved to another file": edit(moved_to_another_file),
    "truncated": edit(truncated),
    "cut in an older file": edit(cut_in_an_older_file),
    "the oldest file removed": without(0),
    "a file removed": without(1),
    "the newest file removed": without(-1),
    "the head removed": lambda audit: (audit / "head").unlink(),
    "all removed": lambda audit: [path.unlink() for path in audit.iterdir()],
}


def test_what_nobody_was_at_is_whole(written):
    state, head = written
    assert len(list((state / "audit").glob("*.jsonl"))) == 4  # older ones are gone, and that is in the log
    good, said = verify(state, "--head", head)
    assert good and head in said


@pytest.mark.parametrize("how", TAMPERING)
def test_tampering_is_found(written, tmp_path, how):
    shutil.copytree(written[0] / "audit", tmp_path / "audit")
    TAMPERING[how](tmp_path / "audit")
    good, said = verify(tmp_path)
    assert not good, (how, said)


def test_a_log_written_anew_is_told_by_a_head_that_was_kept(written, tmp_path):
    """By who may write all of it: only the head from before can tell."""
    server = Server(tmp_path / "other").start()
    for _ in range(60):
        assert server.post("/v1/tokens", {}).status == 201
    server.stop()
    assert verify(server.state)[0]
    assert not verify(server.state, "--head", written[1])[0]
    server.destroy()


# ---- crashes, floods, full disks ----


def test_nothing_that_was_acknowledged_is_lost(tmp_path):
    """kill -9 in a storm of log-ins and tokens: what was answered is in the log, which is whole after the next start."""
    server = Server(tmp_path / "state", "--listen", "127.0.0.1:0").start()
    assert server.post("/v1/users", {"name": "lola", "password": GOOD}).status == 201
    answered, lock, enough = [], threading.Lock(), threading.Event()

    def storm(path, body):
        connection = UnixConnection(server.socket, PATIENCE)
        try:
            while True:
                connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
                reply = connection.getresponse()
                reply.read()
                with lock:
                    answered.append((reply.status, reply.headers["X-Request-Id"]))
                    if sum(status == 200 for status, _ in answered) >= 10:
                        enough.set()
        except (OSError, http.client.HTTPException):
            connection.close()  # the server is gone

    asks = [("/v1/login", {"user": "lola", "password": GOOD})] * 4 + [("/v1/tokens", {"user": "lola"})] * 2
    threads = [threading.Thread(target=storm, args=ask) for ask in asks]
    for thread in threads:
        thread.start()
    assert enough.wait(PATIENCE * 3)
    server.kill()
    for thread in threads:
        thread.join()
    audit = server.state / "audit"
    text = b"".join(file.read_bytes() for file in sorted(audit.glob("*.jsonl"))).decode()
    lost = [(status, id) for status, id in answered if status < 300 and f'"request":"{id}"' not in text]
    assert not lost and len(answered) > 10
    newest = sorted(audit.glob("*.jsonl"))[-1]
    with newest.open("a") as file:
        file.write('{"seq":99999,"prev":"00')  # as if it had died in the middle of a line
    server.start()
    assert server.post("/v1/tokens", {}).status == 201
    assert server.get("/v1/audit/verify").json["intact"] is True
    assert told(server.get("/v1/audit").json["items"], action="audit recover")
    assert "ended in the middle of a line" in server.log()
    server.destroy()


def test_a_start_after_lines_were_taken_away_says_so(written, tmp_path):
    server = Server(tmp_path / "state").start()
    for _ in range(3):
        assert server.post("/v1/tokens", {}).status == 201
    server.stop()
    TAMPERING["removed at the end"](server.state / "audit")
    server.start()
    assert server.post("/v1/tokens", {}).status == 201
    report = server.get("/v1/audit/verify").json
    assert report["intact"] is False and "missing" in report["problems"][0]
    assert told(server.get("/v1/audit").json["items"], action="audit damaged")
    server.destroy()


def test_a_flood_does_not_fill_it(tmp_path):
    server = Server(tmp_path / "state", "--listen", "127.0.0.1:0").start()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    for n in range(400):
        connection.request("GET", "/v1/jobs", headers={"Authorization": f"Bearer {n:052}"})
        reply = connection.getresponse()
        reply.read()
        assert reply.status == 401
    connection.close()
    server.stop()
    lines = told(lines_of(server.state), outcome="denied")
    single = [line for line in lines if "count" not in line]
    assert 30 <= len(single) < 100  # one in 6 s more, on a slow machine
    (counted,) = (line for line in lines if "count" in line)
    assert counted["count"] + len(single) == 400 and counted["who"] == "127.0.0.1"
    server.destroy()


def test_a_full_disk_refuses_changes_and_loses_nothing(tmp_path):
    server = Server(tmp_path / "state", "--listen", "127.0.0.1:0")
    audit = server.state / "audit"
    audit.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k,mode=0700", "audit-test", audit], check=True)
    try:
        server.start()
        token = server.post("/v1/tokens", {"user": "root"}).json["token"]
        job = server.submit(["sleep", "600"])["id"]
        with (audit / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space"):
            while True:
                filler.write(b"x" * 512)
        made = []

        def is_refused():
            status, _, text = tcp(server, "POST", "/v1/tokens", {}, token)
            made.extend([json.loads(text)["id"]] if status == 201 else [])
            return status == 503 and b"audit log cannot be written" in text

        wait_for(is_refused, what="the refusal of changes")
        assert tcp(server, "GET", "/v1/jobs", token=token)[0] == 200
        assert server.post("/v1/tokens", {}).status == 201  # over the socket
        assert tcp(server, "DELETE", f"/v1/jobs/{job}", token=token)[0] == 200  # makes room
        (audit / "filler").unlink()
        wait_for(lambda: tcp(server, "POST", "/v1/tokens", {}, token)[0] == 201, what="changes to go on")
        text = "".join(line.get("subject", "") for line in lines_of(server.state))
        assert job in text and all(id in text for id in made)
        assert server.get("/v1/audit/verify").json["intact"] is True
        server.wait(job)
        server.take_down()
    finally:
        if server.process:
            server.kill()
        subprocess.run(["umount", "-l", audit], check=True)
        server.destroy()
