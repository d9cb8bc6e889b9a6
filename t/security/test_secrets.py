"""Secrets of users: jobs get them, and no route shows them. doc/guide/security.md, "Secrets"."""

import base64
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess

import pytest
from conftest import BIN, Server, wait_for
from people import Person

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a server that is not root runs members as itself")

VALUE = "correct-horse-battery-staple-7431"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("secrets") / "state", "--listen", "127.0.0.1:0").start()
    yield server
    server.destroy()


@pytest.fixture(scope="module")
def ann(served):
    return Person(served, "ann")


@pytest.fixture(scope="module")
def bob(served):
    return Person(served, "bob")


def call(person, method, path, body=None, token=None):
    headers = {"Authorization": f"Bearer {token or person.token}", "Content-Type": "application/json"}
    return person.server.request(method, path, json.dumps(body) if body is not None else None, headers)


def put(person, name, value=VALUE, **more):
    body = {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else {"value": value}
    return call(person, "PUT", f"/v1/secrets/{name}", body, **more)


def make(person, name, value=VALUE):
    reply = put(person, name, value)
    assert reply.status == 200, reply.body
    return reply.json


def says(reply, status, code, *words):
    assert (reply.status, reply.json["code"]) == (status, code), reply.body
    for word in words:
        assert word in reply.json["message"] + (reply.json.get("hint") or ""), reply.body


def memory_of(server):
    """Where files with secrets are."""
    return pathlib.Path(os.readlink(server.state / "secret-files"))


def files_below(*roots):
    for root in roots:
        for path in [root, *root.rglob("*")]:
            if path.is_file() and not path.is_symlink():
                yield path


def holding(value, *roots):
    """The files that hold these bytes, plain or in base 64 (at any of its three shifts)."""
    plain = value.encode()
    forms = {plain} | {base64.b64encode(b"x" * shift + plain)[4:-4] for shift in range(3)}
    found = []
    for path in files_below(*roots):
        data = path.read_bytes()
        found += [str(path)] if any(form in data for form in forms) else []
    return found


# -- what jobs get


def test_a_job_has_its_secrets(ann):
    make(ann, "wandb")
    assert make(ann, "key", b"\x00\xff\n")["binary"] is True
    said = ann.run(
        'echo "=$WANDB_API_KEY="; od -An -tx1 "$PADDLE_SECRETS_DIR/k.bin"; stat -c "%a %u" "$PADDLE_SECRETS_DIR/k.bin"; id -u',
        secrets={"WANDB_API_KEY": "wandb"},
        secret_files={"k.bin": "key"},
    )
    lines = said.split("\n")
    assert lines[0] == f"={VALUE}="
    assert lines[1].split() == ["00", "ff", "0a"]
    assert lines[2].split() == ["400", lines[3]]


def test_all_members_of_a_job_have_them_and_a_new_value_holds_for_the_next_attempt(served, ann):
    make(ann, "rotated", "first")
    once = served.state.parent / "once"
    once.mkdir(mode=0o777)
    once.chmod(0o777)
    script = (
        'echo "got $TOKEN $(cat $PADDLE_SECRETS_DIR/token)";'
        f'test "$PADDLE_TRAINER_ID" = 0 || exit 0; while test ! -e {once}/go; do sleep 0.05; done; ! mkdir {once}/failed'
    )
    job = ann.submit(
        script,
        framework="paddle-collective",
        roles=[{"name": "trainer", "replicas": 2}],
        secrets={"TOKEN": "rotated"},
        secret_files={"token": "rotated"},
        retries=1,
        backoff="0s",
    )["id"]
    for member in ("trainer-0", "trainer-1"):
        wait_for(lambda name=member: "got first first" in served.member_log(job, name), what=f"the secret in {member}")
    make(ann, "rotated", "second")
    (once / "go").touch()  # the first attempt makes the directory and fails, the second finds it
    assert served.wait(job)["state"] == "succeeded", served.job(job)["reason"]
    assert served.job(job)["attempt"] == 2
    assert "got second second" in served.member_log(job, "trainer-0")


def test_files_are_in_memory_and_go_with_the_attempt(served, ann, bob):
    make(ann, "held")
    job = ann.submit("echo here; exec sleep 600", secret_files={"held": "held"})["id"]
    wait_for(lambda: "here" in served.member_log(job), what="the job's first line")
    place = memory_of(served) / f"{job}.1"
    assert (place / "held").read_text() == VALUE
    assert str(place).startswith("/dev/shm/")
    look = f"ls -la {place} /dev/shm; cat {place}/held; true"
    assert VALUE not in bob.run(look) and "held" not in bob.run(look).replace(f"{place}/held", "")
    assert VALUE not in ann.run(look)  # another job of the same user: its sandbox has none of it
    served.cancel([job])
    served.wait(job)
    wait_for(lambda: not place.exists(), what="the end of the files")


def test_a_sandbox_with_secrets_is_not_given_to_the_next_job(served, ann):
    make(ann, "one")
    first = ann.run("ls -A /dev/shm; cat $PADDLE_SECRETS_DIR/f", secret_files={"f": "one"})
    assert VALUE in first
    assert ann.run("ls -A /dev/shm") == ""


def test_a_job_cannot_fill_the_machines_memory_through_its_files(served, ann):
    """They are the member's own. Still it can neither make them writable nor add any."""
    make(ann, "small")
    said = ann.run(
        'cd "$PADDLE_SECRETS_DIR"; chmod 600 f; ln f g; touch h; head -c 100000 /dev/zero >f; ls; stat -c "%a %s" f',
        secret_files={"f": "small"},
        framework="plain",
    )
    assert said.endswith(f"f\n400 {len(VALUE)}\n"), said
    assert said.count("Read-only file system") >= 3, said


def test_a_dead_servers_files_go(served, ann):
    """What ended while no server ran leaves nothing in memory; what runs keeps its files."""
    make(ann, "kept")
    runs = ann.submit("echo here; exec sleep 600", secret_files={"f": "kept"})["id"]
    stale = ann.submit("echo here; exec sleep 600", secret_files={"f": "kept"})["id"]
    for job in (runs, stale):
        wait_for(lambda name=job: "here" in served.member_log(name), what="the first line")
    left = memory_of(served) / "0123456789abcdef.1"
    left.mkdir()
    (left / "f").write_text("of a job that is gone")
    served.kill()
    os.kill(served_pid(stale), signal.SIGKILL)
    served.start()
    served.wait(stale)
    wait_for(lambda: not left.exists(), what="the sweep")
    wait_for(lambda: not (memory_of(served) / f"{stale}.1").exists(), what="the end of the files")
    assert (memory_of(served) / f"{runs}.1" / "f").read_text() == VALUE
    served.cancel([runs])
    served.wait(runs)


def test_a_server_that_runs_members_as_itself(tmp_path):
    """No sandbox and no other user: the same, for the server's own user."""
    server = Server(tmp_path / "state", "--run-as", "server").start()
    try:
        assert server.request("PUT", "/v1/secrets/s", json.dumps({"value": VALUE})).status == 200
        script = (
            'echo "$S"; cat "$PADDLE_SECRETS_DIR/f"; echo; stat -c %a "$PADDLE_SECRETS_DIR" "$PADDLE_SECRETS_DIR/f"'
        )
        job = server.submit(["sh", "-c", script], secrets={"S": "s"}, secret_files={"f": "s"})["id"]
        assert server.wait(job)["state"] == "succeeded"
        assert server.member_log(job).split() == [VALUE, VALUE, "700", "400"]
        wait_for(lambda: not list(memory_of(server).iterdir()), what="the end of the files")
    finally:
        server.destroy()


def served_pid(job):
    """The member's process, found by its environment."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"PADDLE_JOB_ID={job}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                return int(entry.name)
        except OSError:
            continue
    raise AssertionError(f"no process of {job}")


# -- what nobody gets


def test_a_value_is_nowhere(served, ann):
    """Not on the disk, plain or in base 64, in no answer and no command line: not while a job has it, nor after."""
    value = "needle-in-the-haystack-90210-abc"
    make(ann, "needle", value)
    job = ann.submit(
        'test -n "$N" && test -s "$PADDLE_SECRETS_DIR/n" && echo here; exec sleep 600',
        secrets={"N": "needle"},
        secret_files={"n": "needle"},
    )["id"]
    wait_for(lambda: "here" in served.member_log(job), what="the job's first line")
    ways = [f"/v1/jobs/{job}", "/v1/jobs", f"/v1/jobs/{job}/events?limit=1000", "/v1/secrets"]
    for person in (ann, served):
        for way in ways:
            reply = person.get(way)
            assert reply.status == 200 and value not in reply.body.decode(), way
    with sqlite3.connect(served.state / "paddle.db") as database:
        events = [row[0] for row in database.execute("SELECT kind || data FROM event WHERE kind LIKE 'secret%'")]
    assert any("ann/needle" in event for event in events), events
    assert value not in served.get("/v1/audit?limit=1000").body.decode()
    assert value not in served.log()
    assert holding(value, served.state) == []
    command_lines = [path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if readable(path)]
    assert not [line for line in command_lines if value.encode() in line]
    served.cancel([job])
    served.wait(job)
    served.kill()
    served.start()  # the log of the database has been copied
    assert holding(value, served.state, pathlib.Path("/dev/shm")) == []


def readable(path):
    try:
        path.read_bytes()
    except OSError:
        return False
    return True


def test_a_reason_quotes_no_secret(served, ann):
    """The last line of a failed member stands in the job's reason, in events, and in the database. Its log has it."""
    value = "thistle-and-thorn-of-the-north-5150"
    make(ann, "thorn", value)
    for line, shown in {
        "HTTPError: 401 for https://ann:$T@lab/": "HTTPError: 401 for https://ann:***@lab/",
        "refused: Basic $(printf %s ann:$T | base64 -w0)": "refused: Basic YW5uOn***",
        "%0180d $T": "0" * 180 + " ***…",
    }.items():
        for given in ({"secrets": {"T": "thorn"}}, {"secret_files": {"t": "thorn"}}):
            script = f'T=${{T:-$(cat "$PADDLE_SECRETS_DIR/t")}}; printf "{line}\\n"; exit 1'
            job = served.wait(ann.submit(script, **given)["id"])
            assert job["state"] == "failed" and job["reason"].endswith("last line: " + shown), job["reason"]
    assert value in served.member_log(job["id"])
    asked = [f"/v1/jobs/{job['id']}/events?limit=1000", "/v1/jobs?all=true&limit=1000", f"/v1/jobs/{job['id']}"]
    for way in asked:
        assert "thistle" not in ann.get(way).body.decode()
    served.kill()
    served.start()
    assert holding(value, *served.state.glob("paddle.db*"), served.state / "server.log") == []


def test_a_reason_quotes_nothing_when_secrets_have_changed(served, ann, tmp_path):
    """What the members were given is not known any more."""
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        parent.chmod(parent.stat().st_mode | 0o011)
    make(ann, "turning", "earlier-value-of-it-1")
    script = f'while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo "bad: $T"; exit 1'
    job = ann.submit(script, secrets={"T": "turning"})["id"]
    served.wait(job, "running")
    make(ann, "turning", "later-value-of-it-2")
    (tmp_path / "go").touch()
    reason = served.wait(job)["reason"]
    assert "exited with status 1" in reason and "earlier" not in reason and "last line" not in reason, reason


def test_a_copied_row_does_not_open(served, ann, bob):
    """Who can write the database cannot give one user's secret to another's job."""
    make(ann, "mine", "of-ann-alone")
    make(bob, "mine", "of-bob")
    served.kill()
    with sqlite3.connect(served.state / "paddle.db") as database:
        row = dict(database.execute("SELECT name, body FROM object WHERE name IN ('ann/mine', 'bob/mine')"))
        sealed = json.loads(row["ann/mine"])["value"]
        stolen = json.dumps({**json.loads(row["bob/mine"]), "value": sealed})
        database.execute("UPDATE object SET body = ? WHERE name = 'bob/mine'", (stolen,))
    served.start()
    job = served.wait(bob.submit('echo "$M"', secrets={"M": "mine"})["id"])
    assert job["state"] == "failed" and "cannot be read with this server's key" in job["reason"], job["reason"]
    make(bob, "mine", "again")
    assert bob.run('echo "$M"', secrets={"M": "mine"}) == "again\n"


def test_a_lost_key_is_not_replaced_in_silence(served, ann):
    make(ann, "before")
    served.kill()
    key = served.state / "secrets.key"
    assert key.stat().st_mode & 0o777 == 0o600 and key.stat().st_size == 32
    kept = key.read_bytes()
    key.unlink()
    served.start()
    says(put(ann, "after"), 503, "unavailable", "the key of secrets cannot be read", "secrets.key")
    job = served.wait(ann.submit("true", secrets={"B": "before"})["id"])
    assert job["state"] == "failed" and "the key of secrets cannot be read" in job["reason"], job["reason"]
    key.write_bytes(kept)
    key.chmod(0o600)
    assert ann.run('echo "$B"', secrets={"B": "before"}) == f"{VALUE}\n"


# -- whose they are


def test_names_are_a_users_own(served, ann, bob):
    make(ann, "private", "of-ann")
    says(
        bob.ask({"command": ["true"], "secrets": {"P": "private"}}),
        404,
        "not_found",
        "no secret 'private'",
        "paddle secret",
    )
    says(bob.ask({"command": ["true"], "secrets": {"P": "ann/private"}}), 400, "invalid", "not a secret's name")
    assert [row["name"] for row in bob.get("/v1/secrets").json["items"] if row["user"] != "bob"] == []
    says(call(bob, "GET", "/v1/secrets?user=ann"), 403, "denied", "only administrators")
    says(call(bob, "DELETE", "/v1/secrets/private?user=ann"), 403, "denied", "only administrators")
    says(call(bob, "DELETE", "/v1/secrets/private"), 404, "not_found", "has no secret 'private'")
    names = [row["name"] for row in served.get("/v1/secrets?user=ann").json["items"]]
    assert "private" in names and names == sorted(names)
    says(served.get("/v1/secrets?user=nosuch"), 404, "not_found", "nosuch")
    assert served.request("DELETE", "/v1/secrets/private?user=ann").status == 204
    says(ann.ask({"command": ["true"], "secrets": {"P": "private"}}), 404, "not_found", "no secret 'private'")


def test_a_stranger_and_lesser_tokens(served, ann):
    assert served.request("GET", "/v1/secrets", headers={"Authorization": "Bearer wrong"}).status == 401
    make(ann, "scoped", "by-submit")
    for scope in ("read", "submit"):
        made = call(ann, "POST", "/v1/tokens", {"scope": scope})
        token = made.json["token"]
        assert call(ann, "GET", "/v1/secrets", token=token).status == 200
        assert put(ann, "scoped", "other", token=token).status == 403
        assert call(ann, "DELETE", "/v1/secrets/scoped", token=token).status == 403
    assert ann.run('echo "$S"', secrets={"S": "scoped"}) == "by-submit\n"


def test_they_go_with_their_user(served):
    gone = Person(served, "leaver")
    make(gone, "s", "of-the-first")
    assert served.request("DELETE", "/v1/users/leaver").status == 204
    again = Person(served, "leaver")
    assert again.get("/v1/secrets").json["items"] == []
    says(again.ask({"command": ["true"], "secrets": {"S": "s"}}), 404, "not_found", "no secret 's'")


def test_what_is_recorded(served, ann):
    make(ann, "recorded", "never-recorded")
    assert call(ann, "DELETE", "/v1/secrets/recorded").status == 204
    lines = [line for line in served.get("/v1/audit?limit=1000").json["items"] if "recorded" in json.dumps(line)]
    assert {(line["action"], line["user"], line["outcome"]) for line in lines} >= {
        ("secret update", "ann", "ok"),
        ("secret delete", "ann", "ok"),
    }, lines
    assert "never-recorded" not in json.dumps(lines)


# -- bad input


BAD = [
    ({}, 400, "one of 'value' (text) and 'base64'"),
    ({"value": "a", "base64": "YQ=="}, 400, "one of"),
    ({"value": ""}, 400, "the value is empty"),
    ({"base64": ""}, 400, "the value is empty"),
    ({"base64": "Y Q="}, 400, "not in base 64"),
    ({"base64": "YQ"}, 400, "not in base 64"),
    ({"base64": "===="}, 400, "not in base 64"),
    ({"base64": "YQ==YWFh"}, 400, "not in base 64"),
    ({"base64": "YQ==YQ=="}, 400, "not in base 64"),
    ({"base64": "YQ=A"}, 400, "not in base 64"),
    ({"value": 7}, 400, "one of"),
    ({"value": "a", "more": 1}, 400, "more"),
    ({"value": "x" * 65537}, 413, "65537 bytes, and the limit is 65536"),
]


@pytest.mark.parametrize("body, status, words", BAD, ids=[str(row[0])[:30] for row in BAD])
def test_bad_values(ann, body, status, words):
    reply = call(ann, "PUT", "/v1/secrets/bad", body)
    assert reply.status == status and words in reply.json["message"], reply.body
    assert "bad" not in [row["name"] for row in ann.get("/v1/secrets").json["items"]]


BROKEN = [
    '{"value": %s}',
    '{"value": "%s" "%s"}',
    '{"value": "%s',
    '{"value": "%s\udcff"}',
    '{"value": "x", "value": "%s"}',
]


@pytest.mark.parametrize("form", BROKEN)
def test_a_broken_body_is_not_shown(ann, form):
    """An answer may go to a log of the client. No piece of the body is in it."""
    body = form.replace("%s", "hunter2").encode(errors="surrogateescape")
    headers = {**ann.headers, "Content-Type": "application/json"}
    for method, path in [("PUT", "/v1/secrets/broken"), ("PUT", "/v1/users/ann/password"), ("POST", "/v1/login")]:
        reply = ann.server.request(method, path, body, headers)
        says(reply, 400, "invalid", "not valid JSON at line 1, column")
        assert b"hunter2" not in reply.body, (path, reply.body)


@pytest.mark.parametrize("name", ["a%2fb", "..", ".x", "-x", "a%20b", "x" * 61, "%00"])
def test_bad_names(ann, name):
    assert put(ann, name).status in (400, 404)


def test_a_job_that_asks_for_what_it_cannot_have(served, ann):
    make(ann, "bytes", b"a\0b")
    assert make(ann, "latin", "café".encode("latin-1"))["binary"] is True
    make(ann, "text")
    for spec, words in [
        ({"secrets": {"B": "bytes"}}, "no variable can hold"),
        ({"secrets": {"L": "latin"}}, "no variable can hold"),
        ({"secrets": {"B": "nosuch"}}, "no secret 'nosuch'"),
        ({"secrets": {"A": "text"}, "env": {"A": "b"}}, "in env, too"),
        ({"secrets": {"A" * 131072: "text"}}, "and its value are longer than 131071 bytes"),
        ({"secret_files": {"../x": "text"}}, "not a file's name"),
        ({"secrets": {f"V{i}": "text" for i in range(21)}}, "can have 20 secrets"),
    ]:
        reply = ann.ask({"command": ["true"], **spec})
        assert reply.status in (400, 404) and words in reply.json["message"] + (reply.json.get("hint") or ""), (
            reply.body
        )
        dry = ann.server.request(
            "POST", "/v1/jobs?dry_run=true", json.dumps({"command": ["true"], **spec}),
            {**ann.headers, "Content-Type": "application/json"},
        )  # fmt: skip
        refused = dry.json if dry.status >= 400 else dry.json["error"]  # what only the engine knows
        assert words in refused["message"] + (refused.get("hint") or ""), dry.body


def test_one_that_is_gone_when_the_job_starts(served, ann):
    make(ann, "fleeting")
    job = ann.submit("true", secrets={"F": "fleeting"}, begin="2099-01-01T00:00:00Z")["id"]
    held = ann.submit("true", secrets={"F": "fleeting"}, after=[f"any:{job}"], retries=3)["id"]
    assert call(ann, "DELETE", "/v1/secrets/fleeting").status == 204
    served.cancel([job])
    ended = served.wait(held)
    assert ended["state"] == "failed" and ended["attempt"] == 1, ended
    assert re.search(r"user 'ann' has no secret 'fleeting'", ended["reason"]), ended["reason"]


def test_values_that_grow_while_a_job_waits(served, ann):
    make(ann, "growing", "x")
    first = ann.submit("true", begin="2099-01-01T00:00:00Z")["id"]
    files = {f"f{i}": "growing" for i in range(5)}
    held = ann.submit("true", secret_files=files, after=[f"any:{first}"], retries=3)["id"]
    make(ann, "growing", "x" * 65536)
    served.cancel([first])
    ended = served.wait(held)
    assert (ended["state"], ended["attempt"]) == ("failed", 1), ended
    assert "327680 bytes together, and the limit is 262144" in ended["reason"], ended["reason"]


def test_so_many_and_no_more(served):
    hoarder = Person(served, "hoarder")
    for i in range(100):
        make(hoarder, f"s{i}", "v")
    says(put(hoarder, "more", "v"), 429, "quota", "100 secrets")
    make(hoarder, "s7", "w")  # another value for one that is there
    for i in range(15):
        make(hoarder, f"s{i}", "x" * 65536)
    says(put(hoarder, "s16", "x" * 65536), 429, "quota", "1048576")


# -- the command line


def cli(person, *args, cwd, input=None, env=None, stdin=None):
    """As `person`, from an empty directory."""
    settings = {
        "PADDLE_SERVER": person.server.url,
        "PADDLE_TOKEN": person.token,
        "HOME": str(cwd),
        "PATH": os.environ["PATH"],
    }
    data = input.encode() if isinstance(input, str) else input
    done = subprocess.run(
        [BIN / "paddle", *args], cwd=cwd, input=data, env={**settings, **(env or {})}, capture_output=True, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_command_line(ann, tmp_path):
    """Set from a pipe and from a file, listed without values, given to a job, deleted."""
    key = tmp_path / "key.bin"
    key.write_bytes(b"\x00\xfe\n")
    status, out, words = cli(ann, "secret", "set", "cli-token", input=VALUE + "\n", cwd=tmp_path)
    assert (status, out) == (0, "") and "secret 'cli-token' is set (33 bytes)" in words and VALUE not in words
    assert cli(ann, "secret", "set", "cli-key", "--from-file", "key.bin", cwd=tmp_path)[0] == 0
    status, out, _ = cli(ann, "secret", "list", cwd=tmp_path)
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert status == 0 and "cli-token" in rows and VALUE not in out and rows["cli-key"][0] == "3", out
    status, out, words = cli(
        ann, "submit", "--no-package", "--follow", "--secret", "T=cli-token", "--secret-file", "k=cli-key", "--",
        "sh", "-c", 'echo "[$T]"; od -An -tx1 $PADDLE_SECRETS_DIR/k; echo "files: $(ls $PADDLE_SECRETS_DIR)"', cwd=tmp_path,
    )  # fmt: skip
    assert status == 0 and f"[{VALUE}]" in out and "00 fe 0a" in out and "files: k" in out, (out, words)
    status, out, _ = cli(ann, "secret", "delete", "cli-token", "cli-key", cwd=tmp_path)
    assert status == 0
    assert cli(ann, "secret", "list", "-o", "name", cwd=tmp_path)[1].find("cli-") < 0
    status, _, words = cli(ann, "submit", "--no-package", "--secret", "T=cli-token", "--", "true", cwd=tmp_path)
    assert status == 3 and "no secret 'cli-token'" in words and "paddle secret set cli-token" in words, words


def test_variables_from_a_file_and_from_here(ann, tmp_path):
    (tmp_path / "job.env").write_text(
        "# comment\n\nA=1\nexport B='two words'\n C = \"x=y\" \nFROM_HERE\nQUOTE=it's\r\nA2=\n", newline=""
    )
    status, out, words = cli(
        ann, "submit", "--no-package", "--follow", "--env-file", "job.env", "-e", "A=over", "-e", "HERE_TOO", "--",
        "sh", "-c", 'echo "<$A|$B|$C|$FROM_HERE|$QUOTE|$A2|$HERE_TOO>"', cwd=tmp_path, env={"FROM_HERE": "f", "HERE_TOO": "h"},
    )  # fmt: skip
    assert status == 0 and "<over|two words|x=y|f|it's||h>" in out, (out, words)


MISTAKES = [
    (["secret", "set"], 2, "NAME"),
    (["secret", "set", "a/b"], 2, "a/b"),
    (["secret", "set", "empty"], 2, "the value is empty"),
    (["secret", "set", "x", "VALUE"], 2, "VALUE"),
    (["secret", "set", "x", "--from-file", "nosuch"], 1, "nosuch"),
    (["secret", "delete", "nosuch"], 1, "no secret 'nosuch'"),
    (["secret", "list", "--user", "root"], 3, "only administrators"),
    (["submit", "--no-package", "--secret", "a-b", "--", "true"], 2, "'a-b' is not a variable's name"),
    (["submit", "--no-package", "--secret-file", "../x=a", "--", "true"], 2, "'../x' is not a file's name"),
    (["submit", "--no-package", "--secret", "A=a", "-e", "A=b", "--", "true"], 2, "'A' is in env, too"),
    (["submit", "--no-package", "-e", "NOT_SET_HERE", "--", "true"], 2, "there is no such variable here"),
    (["submit", "--no-package", "--env-file", "nosuch.env", "--", "true"], 2, "nosuch.env"),
    (["submit", "--no-package", "--env-file", "bad.env", "--", "true"], 2, "'bad.env', line 2: '2X'"),
]


@pytest.mark.parametrize("args, status, words", MISTAKES, ids=[" ".join(row[0])[:50] for row in MISTAKES])
def test_mistakes_on_the_command_line(ann, tmp_path, args, status, words):
    (tmp_path / "bad.env").write_text("A=1\n2X=3\n")
    said = cli(ann, *args, cwd=tmp_path, input=b"")
    assert said[0] == status and words in said[2], said
