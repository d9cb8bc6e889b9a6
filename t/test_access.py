"""Who may do what: every route of the API's description, with every role, ownership, kind of token and scope, against the
tables of doc/guide/people.md. The expected answers are read from the document; a route that does not say its kind and verb fails."""

import http.client
import itertools
import json
import re

import pytest
from conftest import ROOT, Reply, Server, UnixConnection, wait_for
from test_packages import tar_of

METHODS = ("get", "post", "put", "delete", "patch")
VERBS = ("list", "show", "create", "update", "delete")
WORDS = {
    "anyone": "anyone",
    "user": "user",
    "owner": "owner",
    "oneself": "owner",
    "granted": "granted",
    "admin": "admin",
}
# The table's "other" column names kinds and verbs of their own.
OTHERS = {
    "password": [("password", "update")],
    "nodes": [("node", "list"), ("node", "show")],
    "submit": [("queue", "submit")],
    "figures": [],  # GET /v1/scheduler counts as statistics
}
# Who calls: what holds of each. The owner and the granted user are users, too, and so is the administrator.
ROLES = {
    "nobody": {"anyone"},
    "stranger": {"anyone", "user"},
    "granted": {"anyone", "user", "granted"},
    "owner": {"anyone", "user", "owner"},
    "admin": {"anyone", "user", "admin"},
}


def relations(cell):
    """The words of a cell: 'admin (/v1: user)' and 'admin; /v1: user (own)' are 'user' here; what is in parentheses else is prose."""
    ours = re.search(r"/v1: ([a-z, ]+)", cell)
    text = ours[1] if ours else re.sub(r"\([^)]*\)", "", cell)
    text = text.partition(" on loopback")[0]  # the test calls over the loopback
    words = [word.strip() for word in text.split(",") if word.strip()]
    return {WORDS[word] for word in words}


def rows_of(heading):
    section = (ROOT / "doc/guide/people.md").read_text().split(heading)[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def table():
    """{(kind, verb): relations that suffice}"""
    found = {}
    for cells in rows_of("## Who may do what"):
        assert len(cells) == 7, cells
        for kind in re.sub(r"\([^)]*\)", "", cells[0]).split(","):
            for verb, cell in zip(VERBS, cells[1:6], strict=True):
                if cell:
                    found[kind.strip(), verb] = relations(cell)
        name, _, who = cells[6].partition(":")
        for key in OTHERS[name] if name else ():
            found[key] = relations(who)
    return found


# Of tokens: each reaches further than the one before. What the table of scopes leaves out takes the last.
SCOPES = ("read", "submit", "admin")


def reaches():
    """{(kind, verb): the least scope}"""
    found = {}
    for cells in rows_of("## What tokens reach"):
        assert len(cells) == 7, cells
        for kind in cells[0].split(","):
            for verb, cell in zip((*VERBS, "submit"), cells[1:], strict=True):
                if cell:
                    assert cell in SCOPES, cells
                    found[kind.strip(), verb] = cell
    return found


def test_the_tables_are_read_as_they_are_meant():
    scopes = reaches()
    assert scopes["job", "update"] == "submit" and scopes["log", "show"] == "read"
    assert ("user", "create") not in scopes and ("token", "delete") not in scopes
    rules = table()
    assert rules["user", "list"] == {"admin"} and rules["user", "show"] == {"admin", "owner"}
    assert rules["grant", "list"] == {"user"} and rules["cluster", "show"] == {"user"}
    assert rules["queue", "show"] == {"granted", "admin"} and rules["log", "show"] == {"owner", "admin"}
    assert rules["metrics", "show"] == {"anyone"} and rules["password", "update"] == {"admin", "owner"}
    assert ("token", "update") not in rules and ("statistics", "create") not in rules


class House:
    """A server with one thing of each kind and a caller of each role. What a test drops is made anew."""

    def __init__(self, state):
        self.server = Server(state, "--cpus", "4", "--listen", "127.0.0.1:0").start()
        self.port = self.server.port
        self.numbers = itertools.count()
        self.names = {"stranger": "sam", "granted": "gail", "owner": "olga", "admin": "root"}
        self.tokens = {"nobody": None}
        for role, name in self.names.items():
            self.tokens[role] = self.make("/v1/tokens", {"user": name})["token"]
        self.scoped = {"nobody": {}}
        for role, token in list(self.tokens.items()):
            if token:
                made = {
                    scope: self.make("/v1/tokens", {"scope": scope}, token)["token"] for scope in ("read", "submit")
                }
                self.scoped[role] = {**made, "admin": token}
        self.document = self.server.get("/v1/openapi.json").json

    def make(self, path, body, token=None):
        reply = self.call("POST", path, token, body) if token else self.server.post(path, body)
        assert reply.status in (200, 201), (path, body, reply.body)
        return reply.json

    def call(self, method, path, token, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        if answer.headers["Content-Type"] == "text/event-stream":  # it may follow for ever
            reply = Reply.__new__(Reply)
            reply.status, reply.headers, reply.body = answer.status, answer.headers, b""
        else:
            reply = Reply(answer)
        connection.close()
        return reply

    def flow(self, method, path, token, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"x-pf-authorization": token} if token else {}
        text = json.dumps(body) if body is not None and method != "GET" else None
        connection.request(method, FLOW + path, text, headers)
        reply = Reply(connection.getresponse())
        connection.close()
        return reply

    # -- things

    def a_job(self, role):
        job = self.make("/v1/jobs", {"command": ["true"]}, self.tokens["owner"])["id"]
        wait_for(lambda: self.server.job(job)["state"] == "succeeded", 30, "the job's end")
        return {"job": job, "member": "worker-0"}

    def a_run(self, role):
        """With an entry of its step in the cache, which no other run has."""
        text = f'name: p\ncache: {{enable: true}}\nentry_points:\n  a: {{command: "true {next(self.numbers)}"}}\n'
        run = self.make("/v1/runs", {"definition": text}, self.tokens["owner"])["id"]
        wait_for(lambda: self.server.get(f"/v1/runs/{run}").json["state"] == "succeeded", 30, "the run's end")
        return {"run": run, "entry": self.server.get(f"/v1/cache?run={run}").json["items"][0]["id"]}

    def a_pipeline(self, role):
        name = f"stored{next(self.numbers)}"
        text = f'name: {name}\nentry_points:\n  a: {{command: "true"}}\n'
        made = self.make("/v1/pipelines", {"definition": text}, self.tokens["owner"])
        return {"pipeline": made["id"], "version": 1}

    def a_schedule(self, role):
        name = f"schedule{next(self.numbers)}"
        pipeline = self.a_pipeline(role)["pipeline"]
        body = {"name": name, "pipeline": pipeline, "crontab": "@daily"}
        return {"schedule": self.make("/v1/schedules", body, self.tokens["owner"])["id"]}

    def a_record(self, role):
        """Of a job and of a run: logs and events."""
        return {**self.a_job(role), **self.a_run(role)}

    def a_user(self, role):
        return {"name": self.names["owner"]}

    def a_victim(self, role):
        name = f"victim{next(self.numbers)}"
        self.make("/v1/users", {"name": name})
        return {"name": name}

    def a_token(self, role):
        return {"id": self.make("/v1/tokens", {}, self.tokens["owner"])["id"]}

    def a_cluster(self, role):
        name = f"cluster{next(self.numbers)}"
        self.make("/v1/clusters", {"name": name, "type": "Kubernetes"})
        return {"name": name}

    def a_queue(self, role):
        name = f"queue{next(self.numbers)}"
        self.make("/v1/queues", {"name": name, "max": {"cpu": "1"}})
        self.make("/v1/grants", {"user": self.names["granted"], "resource": name})
        return {"name": name}

    def a_grant(self, role):
        name = f"queue{next(self.numbers)}"
        self.make("/v1/queues", {"name": name, "max": {"cpu": "1"}})
        return {"name": self.make("/v1/grants", {"user": self.names["owner"], "resource": name})["name"]}

    def a_secret(self, role):
        name = f"secret{next(self.numbers)}"
        assert self.call("PUT", f"/v1/secrets/{name}", self.tokens["owner"], {"value": "v"}).status == 200
        return {"name": name}

    def a_filesystem(self, role):
        name = f"fs{next(self.numbers)}"
        self.make("/v1/filesystems", {"name": name, "url": "local://usr/lib"}, self.tokens["owner"])
        return {"name": name}

    def a_flavour(self, role):
        name = f"flavour{next(self.numbers)}"
        self.make("/v1/flavours", {"name": name, "cpu": "1", "memory": "1Gi"}, self.tokens["owner"])
        return {"name": name}

    def a_pool(self, role):
        name = f"pool{next(self.numbers)}"
        self.make("/v1/pools", {"name": name})
        return {"name": name}

    def a_file(self, role):
        """Of the owner when it is to be dropped; else files go by their path: each caller in their own home."""
        return {"path": f"pfs/local/home/{self.names.get(role, 'sam')}/x"}

    def the_owners_file(self, role):
        path = f"pfs/local/home/{self.names['owner']}/d{next(self.numbers)}"
        self.make(f"/v1/files/{path}", {"op": "mkdir"}, self.tokens["owner"])
        return {"path": path}

    def a_package(self, role):
        headers = {"Authorization": f"Bearer {self.tokens['owner']}", "Content-Type": "application/x-tar"}
        return {"hash": self.server.post("/v1/packages", tar_of(("x", b"")), headers=headers).json["package"]}

    THINGS = {
        "job": a_job,
        "log": a_record,
        "event": a_record,
        "run": a_run,
        "pipeline": a_pipeline,
        "schedule": a_schedule,
        "user": a_user,
        "password": a_user,
        "second factor": a_user,
        "token": a_token,
        "cluster": a_cluster,
        "queue": a_queue,
        "secret": a_secret,
        "file system": a_filesystem,
        "grant": a_grant,
        "flavour": a_flavour,
        "resource pool": a_pool,
        "file": a_file,
        "package": a_package,
    }
    DROPPED = {"user": a_victim, "file": the_owners_file}

    def thing(self, kind, verb, role):
        make = self.DROPPED.get(kind) if verb == "delete" else None
        return (make or self.THINGS[kind])(self, role)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = House(tmp_path_factory.mktemp("state"))
    yield made
    made.server.destroy()


def routes(document):
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path, item[method]


# Queries that keep a request short, and bodies that are read before the thing is looked for: both leave who may alone.
# Without `user` a secret or file system is the caller's own, whoever else has one of the name.
QUERIES = {
    "/v1/jobs/{job}/logs": "?follow=false",
    "/v1/runs/{run}/logs": "?follow=false",
    "/v1/events": "?since=0",
    "/v1/secrets/{name}": "?user=olga",
    "/v1/filesystems/{name}": "?user=olga",
    "/v1/packages/{hash}/compare": "?with={hash}",
}


def is_denied(reply, kind, verb):
    """401 and 403; another's job, token or package is not told apart from one that is not there. Whoever sends the contents of
    a package may do that for any hash."""
    if reply.status in (401, 403):
        assert reply.json["code"] == ("unauthenticated" if reply.status == 401 else "denied"), reply.body
        return True
    if reply.status != 404:
        return False
    return kind in ("job", "run", "pipeline", "schedule", "log", "event", "token") or (kind, verb) == (
        "package",
        "show",
    )


def expects(rules, scopes, kind, verb, holds, scope):
    """May a caller of whom this holds, with such a token? A lesser token has none of an administrator's right."""
    needs = rules[kind, verb]
    if "anyone" in needs:
        return True
    reach = SCOPES.index(scope) >= SCOPES.index(scopes.get((kind, verb), "admin"))
    return reach and bool((holds if scope == "admin" else holds - {"admin"}) & needs)


def real_path(path, thing):
    return re.sub(r"\{(\w+)\}", lambda name: str(thing[name[1]]), path + QUERIES.get(path, ""))


def test_every_route_with_every_role_and_token(house):
    rules, scopes, wrong, asked = table(), reaches(), [], 0
    for method, path, operation in routes(house.document):
        access = operation.get("x-access", {})
        kind, verb = access.get("kind"), access.get("verb")
        if kind in (None, "nothing") or verb in (None, "nothing") or (kind, verb) not in rules:
            wrong.append(f"{method} {path}: {kind!r}, {verb!r} is no row of the table")
            continue
        body = {} if "requestBody" in operation else None
        for role, holds in ROLES.items():
            # A refusal leaves the thing as it is, so the lesser tokens go first and share it.
            thing = house.thing(kind, verb, role) if "{" in path else {}
            for scope, token in (house.scoped[role] or {"admin": None}).items():
                reply = house.call(method, real_path(path, thing), token, body)
                known = {"owner"} if path == "/v1/whoami" and "user" in holds else set()  # it is about the caller
                expected = expects(rules, scopes, kind, verb, holds | known, scope)
                asked += 1
                if is_denied(reply, kind, verb) == expected or reply.status >= 500:
                    wrong.append(
                        f"{method} {real_path(path, thing)} ({kind}, {verb}) as {role} with {scope}: {reply.status}, "
                        f"expected {'leave' if expected else 'refusal'}"
                    )
                if role == "nobody" and not expected and reply.status != 401:
                    wrong.append(f"{method} {path}: {reply.status} for nobody, not 401")
                if expected and verb == "delete" and reply.status < 300:
                    thing = house.thing(kind, verb, role) if "{" in path else {}
    assert not wrong, "\n".join(wrong)
    assert asked > 13 * 60


def test_a_log_in_the_socket_and_a_made_token_of_whole_right_are_alike(house):
    """Kinds of tokens: each opens what the row says for its user, no more. The administrator and an ordinary user."""
    server = house.server
    assert server.post("/v1/users", {"name": "lola", "password": "correct horse 1"}).status == 201
    log_in = server.post("/v1/login", {"user": "lola", "password": "correct horse 1"}).json["token"]
    flow = server.post("/api/paddleflow/v1/login", {"username": "lola", "password": "correct horse 1"}).json
    made = house.make("/v1/tokens", {"user": "lola"})["token"]
    whole = house.make("/v1/tokens", {}, log_in)["token"]
    wrong = []
    for method, path, _ in routes(house.document):
        if "{" in path or method != "GET" or path in ("/v1/whoami",):
            continue
        kinds = {
            "log-in": house.call(method, path + QUERIES.get(path, ""), log_in).status,
            "made": house.call(method, path + QUERIES.get(path, ""), made).status,
            "of a log-in": house.call(method, path + QUERIES.get(path, ""), whole).status,
        }
        if len(set(kinds.values())) != 1:
            wrong.append(f"{method} {path}: {kinds}")
        socket = server.request(method, path + QUERIES.get(path, "")).status if path != "/v1/events" else 200
        admin = house.call(method, path + QUERIES.get(path, ""), house.tokens["admin"]).status
        if socket != admin:
            wrong.append(f"{method} {path}: {socket} by the socket, {admin} by the administrator's token")
    assert not wrong, "\n".join(wrong)
    # The token of the older interface's log-in is none of /v1, and its secret is not told apart from another's.
    assert house.call("GET", "/v1/jobs", flow["authorization"]).status == 401


FLOW = "/api/paddleflow/v1"


def flow_routes(house):
    document = json.loads(house.flow("GET", "/openapi.json", None).body)
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path.removeprefix(FLOW), item[method]


def test_the_older_interface_obeys_scopes(house):
    """Every route of it with every scope, as an administrator: too little is AccessDenied, enough never is for that reason."""
    scopes, wrong, asked = reaches(), [], 0
    for method, path, operation in flow_routes(house):
        access = operation.get("x-access", {})
        kind, verb = access.get("kind"), access.get("verb")
        if kind is None or verb is None:
            wrong.append(f"{method} {path} says no kind and verb")
            continue
        if kind in ("system", "login"):
            continue
        real = re.sub(r"\{(\w+)\}", "nothing", path)
        for scope, token in house.scoped["admin"].items():
            reply = house.flow(method, real, token, {})
            refused = b"the token has scope" in reply.body
            enough = SCOPES.index(scope) >= SCOPES.index(scopes.get((kind, verb), "admin"))
            asked += 1
            if refused == enough or (refused and reply.json["code"] != "AccessDenied"):
                wrong.append(f"{method} {path} ({kind}, {verb}) with {scope}: {reply.status} {reply.body[:100]}")
    assert not wrong, "\n".join(wrong)
    assert asked > 3 * 35


def test_a_token_opens_no_more_than_its_user(house):
    """A route that is public takes any header; another never takes one that is no token."""
    for method, path, operation in routes(house.document):
        if operation["x-access"]["kind"] in ("system", "login", "metrics"):
            continue
        real = re.sub(r"\{(\w+)\}", "x", path)
        body = {} if "requestBody" in operation else None
        assert house.call(method, real, "x" * 52, body).status == 401, (method, path)


def test_submitting_goes_by_the_queue(house):
    rules = table()
    queue = house.a_queue(None)["name"]
    for role, holds in ROLES.items():
        reply = house.call("POST", "/v1/jobs", house.tokens[role], {"command": ["true"], "queue": queue})
        assert (reply.status == 201) == bool(holds & rules["queue", "submit"]), (role, reply.body)


def test_lists_that_are_asked_about_one_job(house):
    """Whoever may list may not look by that at a job that is another's."""
    job = house.a_job(None)["job"]
    for path in (f"/v1/events?since=0&job={job}", f"/v1/jobs?array={job}"):
        for role in ("stranger", "granted"):
            assert house.call("GET", path, house.tokens[role]).status == 404, (path, role)
        for role in ("owner", "admin"):
            assert house.call("GET", path, house.tokens[role]).status in (200, 400), (path, role)


def test_the_socket_vouches_for_its_callers(house):
    connection = UnixConnection(house.server.socket)
    connection.request("GET", "/v1/users")
    assert connection.getresponse().status == 200
    connection.close()
