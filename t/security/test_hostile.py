"""A corpus of what somebody who means harm sends, by all ways in, to one server. The cases are tables in hostile/*.yaml.
A case is what is sent, and what must hold by the contract:

  expect: refused   a status of 400 to 499 (of a command: exit status 1 to 4)
          harmless  any answer but an error of the server
          [400]     one of these
          one       at most one reply on the connection, and what is hidden behind the request is not done
          closed    the server ends the connection

Whatever a case expects, no answer has a word of the canaries. In the end these are as they were, nothing was started or
called that should not be, and the server is the one that was started.
`each` makes a case of each value, put in for {}; ${name} is a thing of the house."""

import base64
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import socket
import time
import urllib.parse

import archives
import pytest
import yaml
from conftest import PATIENCE, Server, open_way, processes_of, wait_for
from paddleflow.client import BASE, Flow
from people import Person
from seeds import noise

HERE = pathlib.Path(__file__).parent / "hostile"
TABLES = sorted(path.stem for path in HERE.glob("*.yaml"))
AT_LEAST = 400
SAFE = "%/?&=:;,+$'()*[]@!~.-_"  # of a path: the rest cannot stand in a request's first line
LINKS = {"out": "${secret}", "bob": "../bob", "root": "/", "proc": "/proc/self", "up": "../bob"}
HIDDEN = "hidden"  # the job that no request should make


def cases(table):
    """[(its name, the case, the value of {} or None)]"""
    rows = yaml.safe_load((HERE / f"{table}.yaml").read_text())
    return [(f"{row['name']}: {value!r}", row, value) for row in rows for value in row.get("each", [None])]


class House:
    """One server with two users of each interface, and canaries where ann must not come."""

    def __init__(self, top):
        self.top, self.secret = top, f"canary-{os.urandom(8).hex()}"
        open_way(top)
        self.outside, self.pwned = top / "outside", top / "pwned"
        self.outside.mkdir(mode=0o711)
        self.pwned.mkdir()
        self.pwned.chmod(0o777)
        (self.outside / "secret").write_text(self.secret)
        (self.outside / "secret").chmod(0o600)
        self.listener = socket.create_server(("127.0.0.1", 0))  # nobody should call it
        self.server = Server(
            top / "state", "--cpus", "64", "--listen", "127.0.0.1:0", "--published-password", "127.0.0.1"
        )
        self.server.start()
        self.pid, self.port = self.server.process.pid, self.server.port
        self.ann, self.bob = Person(self.server, "ann"), Person(self.server, "bob")
        self.flow = Flow(self.server, "127.0.0.1", self.port)
        self.words = {**self.things(), **self.tokens(), **self.older()}
        self.before = self.canaries()

    # -- what is there

    def things(self):
        for person in (self.ann, self.bob):
            person.run("true", output=f"/pfs/local/home/{person.name}/made")
        (self.bob.disk / "secret").write_text(self.secret)
        (self.ann.disk / "x").write_text("ann's own")
        os.mkfifo(self.ann.disk / "pipe")
        script = f"echo {self.secret}; exec sleep 600"
        self.running = [
            self.bob.submit(script, name="of-bob", env={"CANARY": self.secret})["id"],
            self.ann.submit("exec sleep 600", name="of-ann")["id"],
        ]
        for job in self.running:
            self.server.wait(job, "running")
        here = self.top / "here"
        here.mkdir()
        (here / "file").write_text("a file")
        return {
            "state": str(self.server.state),
            "secret": str(self.outside / "secret"),
            "pwned": str(self.pwned),
            "here": str(here),
            "port": str(self.port),
            "ssrf": str(self.listener.getsockname()[1]),
            "hash": self.hash(b"pwned"),
            "newhash": self.hash(b"new"),
            "upper": self.hash(b"pwned").upper(),
            "long": "x" * 70000,
            "bobjob": self.running[0],
            "annrunning": self.running[1],
            "annjob": self.ann.submit("true")["id"],
            "bobcontent": self.hash(self.secret.encode()),
            "bobpackage": self.package(self.bob, self.secret.encode()),
            "annpackage": self.package(self.ann, b"pwned"),
        }

    @staticmethod
    def hash(data):
        return hashlib.blake2b(data, digest_size=32).hexdigest()

    def package(self, person, content):
        info = archives.entry("secret")
        assert len(archives.TEXT) == info.size
        made = archives.tar(info) if content == archives.TEXT else archives.of_zip("secret", content)
        headers = {**person.headers, "Content-Type": "application/octet-stream"}
        reply = self.server.request("POST", "/v1/packages", made, headers)
        assert reply.status == 200, reply.body
        return reply.json["package"]

    def tokens(self):
        gone = self.server.post("/v1/tokens", {"user": "ann"}).json
        short = self.server.post("/v1/tokens", {"user": "ann", "expires_in": 1}).json
        assert self.server.request("DELETE", f"/v1/tokens/{gone['id']}").status == 204
        wait_for(lambda: self.ask("GET", "/v1/whoami", token=short["token"]).status == 401, what="the token's end")
        token = self.ann.token
        return {
            "token": token,
            "tokencut": token[:-1],
            "tokenupper": token.upper(),
            "revoked": gone["token"],
            "expired": short["token"],
            "basic": base64.b64encode(b"root:paddleflow").decode(),
            "bobtokenid": self.server.get("/v1/tokens?user=bob").json["items"][0]["id"],
        }

    def older(self):
        for name in ("annn", "bobb"):
            reply = self.flow.post("/user", {"username": name, "password": "secret1"})
            assert reply.status == 200, reply
            self.flow.passwords[name] = "secret1"
        for queue, name in (("flowq", "annn"), ("bobq", "bobb")):
            self.flow.make_queue(name=queue)
            self.flow.grant(name, queue)
        job = {
            "image": "any",
            "command": f"echo {self.secret}",
            "env": {"CANARY": self.secret},
            "flavour": {"name": "flavour1"},
            "schedulingPolicy": {"queue": "bobq"},
        }
        made = self.flow.post("/job/single", job, who="bobb")
        assert made.status == 200, made
        token, other = (self.flow.token(name) for name in ("annn", "bobb"))
        half = len(token) // 2
        return {
            "flowjob": made.json["id"],
            "flowtoken": token,
            "flowcut": token[:-2],
            "flowother": token[:half] + other[half:],
        }

    def lay(self):
        """Links of ann's home, as a job of hers would make them: a case may have dropped some."""
        owner = self.ann.disk.stat().st_uid
        for name, target in LINKS.items():
            link = self.ann.disk / name
            if not link.is_symlink():
                link.unlink(missing_ok=True)
                link.symlink_to(self.fill(target))
                os.lchown(link, owner, owner)
        if not (self.ann.disk / "pipe").is_fifo():
            (self.ann.disk / "pipe").unlink(missing_ok=True)
            os.mkfifo(self.ann.disk / "pipe")

    # -- one case

    def fill(self, what, value=None):
        """`what` with the case's value and the house's words in it, however deep."""
        if isinstance(what, dict):
            return {self.fill(key, value): self.fill(item, value) for key, item in what.items()}
        if isinstance(what, list):
            return [self.fill(item, value) for item in what]
        if not isinstance(what, str):
            return what
        if what == "{}" and value is not None:
            return self.fill(value)
        if value is not None:
            what = what.replace("{}", str(value))
        return re.sub(r"\$\{(\w+)\}", lambda found: self.words[found[1]], what)

    def raw(self, data):
        """All that comes back until the server ends the connection, or is silent after a reply to the last request."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
            text = b""
            with contextlib.suppress(ConnectionError):
                while piece := connection.recv(65536):
                    text += piece
        return text

    def ask(self, method, path, headers=None, body=b"", token=None):
        """A request as bytes, so that no library makes it any better; its reply."""
        lines = [f"{method} {urllib.parse.quote(path, safe=SAFE)} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if body or method not in ("GET", "DELETE"):
            lines.append(f"Content-Length: {len(body)}")
        data = "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
            answer = http.client.HTTPResponse(connection, method=method)
            answer.begin()
            answer.text = answer.read()
            return answer

    def request(self, row, value):
        method, path = self.fill(row["request"], value).split(" ", 1)
        headers = {str(name): word for name, word in self.fill(row.get("headers", {}), value).items()}
        body = b""
        if "json" in row:
            body = json.dumps(self.fill(row["json"], value)).encode()
            headers.setdefault("Content-Type", "application/json")
        elif "body" in row:
            body = self.fill(row["body"], value).encode("utf-8", "surrogatepass")
        known = row.get("who") != "stranger"
        if row.get("face") == "flow":
            path = BASE + path
            if known:
                headers["x-pf-authorization"] = self.words["flowtoken"]
            known = False
        reply = self.ask(method, path, headers, body, self.words["token"] if known else None)
        return reply.status, reply.text + str(reply.headers).encode()

    def build(self, row, value):
        """A job with these requirements; one that is taken has to fail before anything runs."""
        job = {"command": ["true"], "requirements": self.fill(value)}
        headers = {"Content-Type": "application/json"}
        reply = self.ask("POST", "/v1/jobs", headers, json.dumps(job).encode(), self.words["token"])
        if reply.status != 201:
            return reply.status, reply.text
        ended = self.server.wait(json.loads(reply.text)["id"])
        refused = ended["state"] == "failed" and "refers to another file" in ended["reason"]
        return 400 if refused else 200, ended["reason"].encode()

    def archive(self, row, value):
        kind, value = row["kind"], self.fill(value)
        if kind == "form":
            data = archives.tar(archives.entry("x"))
            head = f'--b\r\nContent-Disposition: form-data; name="package"; filename="{value}"\r\n\r\n'.encode()
            data, about = head + data + b"\r\n--b--\r\n", "multipart/form-data; boundary=b"
        else:
            data, about = archives.MAKERS[kind](value), "application/octet-stream"
        reply = self.ask("POST", "/v1/packages", {"Content-Type": about}, data, self.words["token"])
        return reply.status, reply.text

    def text(self, row, value):
        return None, self.raw(self.fill(row["text"], value).encode("utf-8", "surrogatepass"))

    def smuggle(self, row, value):
        body = json.dumps({"command": ["true"], "name": HIDDEN}).encode()
        behind = (
            f"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self.words['token']}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        ).encode()
        before = self.hidden()
        said = self.raw(self.fill(row["text"], value).encode("utf-8", "surrogatepass") + behind + body)
        return 599 if self.hidden() != before else None, said

    def hidden(self):
        return len(self.server.get(f"/v1/jobs?all=true&limit=1000&name={HIDDEN}").json["items"])

    # -- WebSockets

    def shake(self, path, token, change=None):
        headers = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(noise(16, "key")).decode(),
            "Authorization": f"Bearer {token}" if token else None,
            **(change or {}),
        }
        lines = [f"GET {urllib.parse.quote(path, safe=SAFE)} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        head = b""
        while b"\r\n\r\n" not in head and (piece := connection.recv(65536)):
            head += piece
        return connection, head

    def handshake(self, row, value):
        token = None if row.get("who") == "stranger" else self.words["token"]
        connection, head = self.shake(self.fill(row["path"], value), token, self.fill(row.get("change"), value))
        connection.close()
        return int(head.split()[1]), head

    def frames(self, row, value):
        path = f"/v1/jobs/{self.words['annrunning']}/members/worker-0/exec?command=cat"
        connection, head = self.shake(path, self.words["token"])
        with connection:
            assert b" 101 " in head, head
            with contextlib.suppress(ConnectionError):
                connection.sendall(bytes.fromhex(value))
                while piece := connection.recv(65536):  # a server that keeps it lets this run into PATIENCE
                    head += piece
        return None, head

    # -- again

    def submit(self, key, command="true", person=None):
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        body = json.dumps({"command": [command]}).encode()
        return self.ask("POST", "/v1/jobs", headers, body, (person or self.ann).token)

    def twice(self, row, value):
        key = f"key-{value}"
        if value in ("space", "long", "control", "empty"):
            bad = {"space": "a\u00e9b", "long": "x" * 129, "control": "a\u0001b", "empty": ""}[value]
            status = self.submit(bad).status
            return 200 if status == 400 else status, b""
        first = json.loads(self.submit(key).text)
        again = self.submit(key, "false" if value == "other-body" else "true", self.bob if value == "of-bob" else None)
        made = json.loads(again.text)
        held = {
            "same": again.status == 200 and made.get("id") == first["id"],
            "other-body": again.status >= 400 or made["id"] == first["id"],  # never a second job
            "of-bob": again.status == 201 and made["id"] != first["id"],  # keys are each user's own
        }
        return 200 if held[value] else again.status, again.text

    def upload(self, row, value):
        place, own = f"/v1/files/pfs/local/home/ann/again-{value}", self.words["token"]

        def put(data, name=None, at=0, token=own):
            return self.ask("PUT", f"{place}?chunk={at}&hash={name or self.hash(data)}", {}, data, token).status

        def finish(size, *chunks, token=own):
            body = json.dumps({"op": "finish", "size": size, "chunks": chunks}).encode()
            return self.ask("POST", place, {"Content-Type": "application/json"}, body, token).status

        good, bad = b"good", b"evil"
        assert put(good) == 204
        tried = {
            "same": lambda: put(good) == 204,
            "other-content": lambda: 400 <= put(bad, self.hash(good)) < 500,
            "other-place": lambda: 400 <= put(good, at=-1) < 500 and 400 <= put(good, at=10**18) < 500,
            "finish-twice": lambda: finish(4, self.hash(good)) == 200 and finish(4, self.hash(good)) < 500,
            "finish-less": lambda: (
                400 <= finish(3, self.hash(good)) < 500 and 400 <= finish(10**18, self.hash(good)) < 500
            ),
            "finish-other": lambda: 400 <= finish(4, self.hash(self.secret.encode())) < 500,
            "of-bob": lambda: (
                400 <= put(bad, token=self.bob.token) < 500
                and 400 <= finish(4, self.hash(good), token=self.bob.token) < 500
            ),
        }
        held = tried[value]()
        there = self.ann.disk / f"again-{value}"
        return 200 if held and (not there.exists() or there.read_bytes() == good) else None, b""

    # -- the command line

    def command(self, row, value):
        words = self.fill(row["words"], value)
        env = {"PADDLE_SERVER": f"http://127.0.0.1:{self.port}", "PADDLE_TOKEN": self.words["token"]}
        done = self.server.paddle(*words, cwd=self.words["here"], env=env)
        # exit statuses as statuses of HTTP: 0 done, 1 to 4 refused; a crash is an error of the server's kind
        return {0: 200, 1: 400, 2: 400, 3: 403, 4: 404}.get(done.returncode, 599), (done.stdout + done.stderr).encode()

    WAYS = {  # noqa: RUF012
        "request": request,
        "build": build,
        "archive": archive,
        "raw": text,
        "smuggle": smuggle,
        "handshake": handshake,
        "frames": frames,
        "twice": twice,
        "upload": upload,
        "command": command,
    }

    def wrong(self, row, value):
        """What of the case does not hold; None: it holds."""
        self.lay()
        status, said = self.WAYS[row.get("way", "request")](self, row, value)
        if self.secret.encode() in said:
            return "it told a secret"
        if self.words["state"].encode() in said and "${state}" not in repr((row, value)):
            return f"it told where the server's files are: {said!r}"
        expect = row["expect"]
        if expect in ("one", "closed"):
            heads = re.sub(
                rb"(HTTP/1\.1 [1-9].*?\r\n\r\n)\1", rb"\1", said, flags=re.S
            )  # the library says some of its own twice
            return f"{status} {said!r}" if status or len(re.findall(rb"HTTP/1\.1 [1-9]", heads)) > 1 else None
        allowed = (
            {"refused": range(400, 500), "harmless": range(200, 500)}[expect] if isinstance(expect, str) else expect
        )
        return None if status in allowed else f"{status}, not {expect}: {said[:300]!r}"

    # -- in the end

    def canaries(self):
        """What must be as it was."""
        places = (
            self.outside,
            self.pwned,
            self.bob.disk,
            self.server.state / "storage/local/public",
            pathlib.Path("/etc/cron.d"),
        )
        files = [(str(path), path.lstat().st_mode) for place in places for path in sorted(place.rglob("*"))]
        texts = [
            path.read_bytes()
            for path in (self.outside / "secret", self.bob.disk / "secret", self.server.state / "server-id")
        ]
        jobs = [self.server.job(job)["state"] for job in self.running]
        users = sorted((item["name"], item["admin"]) for item in self.server.get("/v1/users?limit=1000").json["items"])
        objects = [
            sorted(item["name"] for item in self.server.get(f"/v1/{kind}?limit=1000").json["items"])
            for kind in ("clusters", "queues", "flavours", "grants", "pools")
        ]
        tokens = (
            self.server.get("/v1/tokens?user=bob").json["items"],
            self.server.get("/v1/tokens?user=root").json["items"],
        )
        return files, texts, jobs, users, objects, tokens

    def calls(self):
        """True if the port that nobody should know was called."""
        self.listener.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            self.listener.accept()
            return True
        return False

    def strangers(self):
        """Processes of ann's jobs that have ended."""
        open_jobs = {job["id"] for job in self.server.get("/v1/jobs?limit=1000&state=running,starting").json["items"]}
        kept = ("sleep 600", "paddled", "paddle-agent", "paddle-spawner")
        return [
            line
            for line in processes_of(self.server.state).values()
            if open_jobs == set(self.running) and not any(word in line for word in kept)
        ]

    def check(self):
        """No escape, by whatever was tried up to now."""
        waiting = "queued,suspended,starting,running,preempting,stopping"
        mine = [
            job["id"]
            for job in self.server.get(f"/v1/jobs?all=true&limit=1000&state={waiting}").json["items"]
            if job["id"] not in self.running
        ]
        self.server.cancel(mine)
        wait_for(lambda: self.server.get("/v1/info").json["jobs"]["open"] == len(self.running), what="the end of jobs")
        assert self.server.process.poll() is None and self.server.process.pid == self.pid
        assert self.canaries() == self.before
        assert not self.calls(), "the server called where it was told to"
        wait_for(lambda: not self.strangers(), what="the end of processes")
        assert not re.search("ERROR: [A-Za-z]*Sanitizer|: runtime error: ", self.server.log())
        assert self.secret not in self.server.log()


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("hostile"))
    yield house
    house.listener.close()
    house.server.destroy()


@pytest.mark.parametrize("table", TABLES)
def test_corpus(house, table):
    start, all_of_it = time.monotonic(), cases(table)
    found = [f"{name}\n    {wrong}" for name, row, value in all_of_it if (wrong := house.wrong(row, value))]
    house.check()
    print(f"{table}: {len(all_of_it)} cases, {len(found)} escapes, {time.monotonic() - start:.1f} s")
    assert not found, "\n".join(found)


def test_it_is_large_enough(capsys):
    """Distinct cases: what is sent differs."""
    sent = {
        json.dumps(
            [{key: part for key, part in row.items() if key not in ("name", "each", "expect")}, value], sort_keys=True
        )
        for table in TABLES
        for _, row, value in cases(table)
    }
    with capsys.disabled():
        print(f"\nhostile corpus: {len(sent)} cases by {len(TABLES)} tables")
    assert len(sent) >= AT_LEAST
