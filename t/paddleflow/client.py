"""What the tests of the PaddleFlow interface share: a client that says exactly what a test means, the rules every
reply keeps, and cases as rows of a table."""

import base64
import contextlib
import dataclasses
import datetime
import hashlib
import http.client
import itertools
import json
import random
import re
import socket
import struct
import time
import urllib.parse

import pytest
from conftest import wait_for
from seeds import noise

BASE = "/api/paddleflow/v1"
ROOT_PASSWORD = "paddleflow"  # of the seeded account
PASSWORD = "secret1"  # of the users that tests make

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
LOCAL_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
RFC3339 = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
FINAL = {"succeeded", "failed", "terminated", "cancelled", "skipped", "preempted"}
STATES = FINAL | {"init", "pending", "running", "terminating", "preempting"}

# Which status each code comes with (doc/reference/paddleflow-api.md, "Errors and their codes").
STATUS = {
    **dict.fromkeys(
        [
            "InappropriateJSON",
            "InvalidHTTPRequest",
            "InvalidURI",
            "MalformedJSON",
            "MalformedYaml",
            "Decode base64",
            "InvalidPipeline",
            "ReadYamlFileFailed",
            "InvalidNamePattern",
            "InvalidMarker",
            "InvalidScaleResource",
            "NamespaceNotFound",
            "CPUNotFound",
            "MemoryNotFound",
            "DuplicatedName",
            "InvalidArguments",
            "RequiredFieldEmpty",
            "AuthWithoutToken",
            "AuthInvalidToken",
            "AuthFailed",
            "AuthIllegalUser",
            "UserNotExist",
            "UserPasswordWeak",
            "QueueActionIsNotSupported",
            "QueueQuotaTypeIsNotSupported",
            "QueueNameNotFound",
            "QueueResourceNotMatch",
            "QueueIsNotClosed",
            "QueueIsInUse",
            "QueueInvalidField",
            "QueueUpdateFailed",
            "GrantResourceTypeNotFound",
            "GrantNotFound",
            "GrantAlreadyExist",
            "GrantRootActionNotSupport",
            "FlavourNameEmpty",
            "FlavourInvalidField",
            "JobInvalidField",
            "JobCreateFailed",
            "ClusterNameNotFound",
            "ClusterIdNotFound",
            "ClusterNotFound",
            "InvalidClusterProperties",
            "InvalidClusterCredential",
            "InvalidClusterStatus",
            "FileSystemNameFormatError",
            "InvalidFileSystemParamsURL",
            "InvalidFileSystemParamsProperties",
            "InvalidFileSystemFsName",
            "ConnectivityFailed",
            "LinkNotExist",
        ],
        400,
    ),
    **dict.fromkeys(
        [
            "AccessDenied",
            "ActionNotAllowed",
            "OnlyRootAllowed",
            "UserNameDuplicated",
            "QueueNameDuplicated",
            "FileSystemNotExist",
        ],
        403,
    ),
    **dict.fromkeys(
        [
            "PathNotFound",
            "RecordNotFound",
            "ResourceNotFound",
            "RunNotFound",
            "ArtifactEventNotFound",
            "RunCacheNotFound",
            "PipelineNotFound",
            "ScheduleNotFound",
            "FlavourNotFound",
            "JobNotFound",
        ],
        404,
    ),
    "MethodNotAllowed": 405,
    **dict.fromkeys(["InternalError", "InvalidComputeResource", "LinkModelError"], 500),
}

counter = itertools.count(1)


def fresh(prefix):
    """A name nobody has."""
    return f"{prefix}{next(counter)}"


class Reply:
    def __init__(self, reply):
        self.status, self.headers, self.body = reply.status, reply.headers, reply.read()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {dict(self.headers)} {self.body[:400]!r}>"


class Flow:
    """A server and its users. `who` of a request is a user's name ("root"), or None: no token."""

    def __init__(self, server, host, port):
        self.server, self.host, self.port = server, host, port
        self.tokens, self.passwords = {}, {"root": ROOT_PASSWORD}

    def raw(self, method, path, body=None, headers=None, timeout=60):
        """One request on its own connection; `path` is sent as it stands."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            if isinstance(body, str):
                body = body.encode()
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def call(self, method, path, body=None, who="root", headers=None, query=None):
        """A request below the base path. A body that is no text goes as JSON."""
        headers = dict(headers or {})
        if who is not None:
            headers.setdefault("x-pf-authorization", self.token(who))
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        if query:
            path += "?" + urllib.parse.urlencode(query)
        return self.raw(method, BASE + path, body, headers)

    def get(self, path, **about):
        return self.call("GET", path, **about)

    def post(self, path, body=None, **about):
        return self.call("POST", path, body, **about)

    def put(self, path, body=None, **about):
        return self.call("PUT", path, body, **about)

    def delete(self, path, **about):
        return self.call("DELETE", path, **about)

    # -- users

    def login(self, user, password):
        return self.call("POST", "/login", {"username": user, "password": password}, who=None)

    def token(self, who):
        if who not in self.tokens:
            reply = self.login(who, self.passwords[who])
            assert reply.status == 200, reply
            self.tokens[who] = reply.json["authorization"]
        return self.tokens[who]

    def make_user(self, prefix="user"):
        name = fresh(prefix)
        good(self.post("/user", {"username": name, "password": PASSWORD}))
        self.passwords[name] = PASSWORD
        return name

    # -- other objects

    def make_queue(self, prefix="queue", **about):
        name = about.pop("name", None) or fresh(prefix + "-")
        body = {"name": name, "namespace": "default", "quotaType": "volcanoCapabilityQuota"}
        good(self.post("/queue", {**body, "maxResources": {"cpu": "8", "mem": "8Gi"}, **about}))
        return name

    def grant(self, user, queue):
        return good(self.post("/grant", {"username": user, "resourceType": "queue", "resourceID": queue})).json[
            "grantID"
        ]

    def make_cluster(self, **about):
        name = about.pop("clusterName", None) or fresh("cluster")
        return good(
            self.post("/cluster", {"clusterName": name, "endpoint": "127.0.0.1", "clusterType": "Local", **about})
        ).json

    # -- jobs

    def submit(self, command="true", who="root", **about):
        """A job of one member in a queue of its user; returns its id."""
        body = {"image": "any", "command": command, "flavour": {"name": "flavour1"}, **about}
        if who == "root":
            body.setdefault("schedulingPolicy", {"queue": "default-queue"})
        return good(self.post("/job/single", body, who=who)).json["id"]

    def job(self, job, who="root"):
        return good(self.get(f"/job/{job}", who=who), message=True).json

    def wait(self, job, states=FINAL, timeout=60):
        states = {states} if isinstance(states, str) else set(states)
        last = {}

        def reached():
            last.update(self.job(job))
            return last["status"] in states or (last["status"] in FINAL and states.isdisjoint(FINAL))

        wait_for(reached, timeout, f"{job} in {states}")
        assert last["status"] in states, last
        return last

    def stop(self, job):
        """Whatever it does, it ends."""
        with contextlib.suppress(AssertionError):
            good(self.put(f"/job/{job}?action=stop"), empty=True)
        self.wait(job)


# -- what every reply keeps


def has_type(reply, kind="application/json"):
    assert (reply.headers["Content-Type"] or "").split(";")[0] == kind, reply


def good(reply, status=200, empty=False, message=False):
    """A success; `message`: a top-level one is allowed (GET /job/{id} alone)."""
    assert reply.status == status, reply
    has_type(reply)
    assert reply.headers["x-pf-request-id"], reply
    if empty:
        assert reply.body == b"", reply
    else:
        assert reply.body, reply
        value = reply.json
        assert message or not isinstance(value, dict) or "message" not in value, reply
    return reply


def refused(reply, *codes, status=None):
    """An error with one of these codes, the status of its code, and an envelope of exactly three keys."""
    assert reply.status >= 400, reply
    has_type(reply)
    value = reply.json
    assert set(value) == {"requestID", "code", "message"}, reply
    assert all(isinstance(item, str) for item in value.values()), reply
    assert value["requestID"] == reply.headers["x-pf-request-id"], reply
    assert value["requestID"], reply
    assert value["code"] in codes, f"{value['code']} is not one of {codes}: {reply}"
    assert reply.status == (status or STATUS[value["code"]]), reply
    return value


def matches(pattern, text):
    assert isinstance(text, str), text
    assert re.fullmatch(pattern, text), f"{text!r} is not {pattern}"


def is_recent(text):
    """A server-local time of the last minutes."""
    matches(LOCAL_TIME, text)
    then = datetime.datetime.strptime(text, "%Y-%m-%d %H:%M:%S")
    assert abs((datetime.datetime.now() - then).total_seconds()) < 600, text


def has_keys(value, keys, optional=""):
    """Exactly these members, and maybe the optional ones."""
    want, may = set(keys.split()), set(optional.split())
    assert want <= set(value), f"missing: {want - set(value)} of {value}"
    assert set(value) <= want | may, f"too many: {set(value) - want - may}"


# -- tables


@dataclasses.dataclass
class Case:
    """One refused request. `codes`: what it may be refused with, the first is the reference's own word. Text in braces
    in path and body is filled in from the names that the test made."""

    id: str
    method: str
    path: str
    body: object
    codes: tuple
    who: object = "root"
    status: object = None


def case(id, method, path, body, *codes, who="root", status=None):
    return Case(id, method, path, body, codes, who, status)


def table(cases):
    ids = [row.id for row in cases]
    assert len(set(ids)) == len(ids), [name for name in ids if ids.count(name) > 1]
    return pytest.mark.parametrize("row", cases, ids=ids)


def fill(value, names):
    if isinstance(value, str):
        return re.sub(r"<(\w+)>", lambda found: str(names[found[1]]), value)
    if isinstance(value, list):
        return [fill(item, names) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, names) for key, item in value.items()}
    return value


def check(flow, row, names=None):
    names = names or {}
    who = fill(row.who, names)
    reply = flow.call(row.method, fill(row.path, names), fill(row.body, names), who=who)
    return refused(reply, *row.codes, status=row.status)


def pages(flow, path, key, name, limit=2, who="root"):
    """All items of a list, page by page; checks what pages promise."""
    found, marker = [], None
    for _ in range(1000):
        query = {"maxKeys": limit, **({"marker": marker} if marker else {})}
        page = good(flow.get(path + ("&" if "?" in path else "?") + urllib.parse.urlencode(query), who=who)).json
        items = page[key] or []
        assert len(items) <= limit
        found += [item[name] for item in items]
        assert isinstance(page["isTruncated"], bool)
        if not page["isTruncated"]:
            assert not page.get("nextMarker"), page
            return found
        assert items, "a page in the middle is empty"
        marker = page["nextMarker"]
        assert isinstance(marker, str) and marker
    raise AssertionError("the list does not end")


# -- WebSocket (RFC 6455), the client's side


class Socket:
    """A client of GET /wsjob. `refusal` is the reply when it was no upgrade."""

    def __init__(self, flow, who="root", headers=None, path="/wsjob"):
        self.masks = random.Random("masks")
        key = base64.b64encode(noise(16, "key")).decode()
        lines = [
            f"GET {BASE}{path} HTTP/1.1",
            f"Host: {flow.host}:{flow.port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
        ]
        lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
        lines += [f"x-pf-authorization: {flow.token(who)}"] if who else []
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self.sock = socket.create_connection((flow.host, flow.port), 60)
        self.sock.sendall("\r\n".join([*lines, "", ""]).encode())
        self.refusal = Reply(self._reply()) if self._peek() != b"HTTP/1.1 101" else None
        if self.refusal:
            return
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self._read(1)
        accept = base64.b64encode(
            hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        ).decode()
        assert f"sec-websocket-accept: {accept}".lower() in head.decode().lower(), head

    def _peek(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            head = self.sock.recv(12, socket.MSG_PEEK)
            if len(head) == 12 or not head:
                return head
        raise AssertionError("no answer to the handshake")

    def _reply(self):
        reply = http.client.HTTPResponse(self.sock)
        reply.begin()
        return reply

    def _read(self, count):
        data = b""
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            assert part, "the connection ended"
            data += part
        return data

    def send(self, data, opcode=1):
        data, mask = data.encode() if isinstance(data, str) else data, self.masks.randbytes(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(data))
        self.sock.sendall(bytes([0x80 | opcode]) + size + mask + bytes(c ^ mask[i % 4] for i, c in enumerate(data)))

    def frame(self, timeout=60):
        """The next frame: (opcode, bytes)."""
        self.sock.settimeout(timeout)
        opcode, size = self._read(2)
        assert opcode & 0x80, "a fragment"
        assert not size & 0x80, "a mask"
        if size == 126:
            (size,) = struct.unpack(">H", self._read(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self._read(8))
        return opcode & 15, self._read(size)

    def text(self, timeout=60):
        """The next message; pings are answered."""
        while True:
            opcode, data = self.frame(timeout)
            if opcode == 9:
                self.send(data, 10)
            elif opcode == 1:
                return data.decode()
            else:
                raise AssertionError((opcode, data))

    def until(self, wanted, timeout=60):
        """The first message that is JSON and wanted; also all before it."""
        end, seen = time.monotonic() + timeout, []
        while True:
            left = end - time.monotonic()
            assert left > 0, seen
            value = json.loads(self.text(left))
            seen.append(value)
            if wanted(value):
                return value, seen

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
