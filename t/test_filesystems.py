"""File systems by name in /v1 and on the command line (doc/internals/filesystems.md)."""

import contextlib
import http.client
import json

import pytest
from conftest import Reply, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("state"), "--listen", "127.0.0.1:0").start()
    for user in ("ann", "ben"):
        assert made.post("/v1/users", {"name": user}).status == 201
    yield made
    made.destroy()


@pytest.fixture
def names(server):
    """Fresh file systems, deleted afterwards."""
    made = []

    def make(name, url="local://usr/lib", user="root", **members):
        reply = server.post(f"/v1/filesystems?user={user}", {"name": name, "url": url, **members})
        assert reply.status == 201, reply.body
        made.append((user, name))
        return reply.json

    yield make
    for user, name in made:
        server.request("DELETE", f"/v1/filesystems/{name}?user={user}")


def error(reply, status, says):
    assert reply.status == status and says in reply.json["message"], reply.body


# -- what is shown


def test_a_file_system_and_its_parts(server, names):
    shown = names("data", "local://usr/lib/", "ann", properties={"fileMode": "644"}, read_only=True)
    expected = {
        "name": "data",
        "user": "ann",
        "url": "local://usr/lib/",
        "properties": {"fileMode": "644"},
        "read_only": True,
        "type": "local",
        "server": "",
        "path": "/usr/lib",
        "built_in": False,
        "id": "fs-ann-data",
    }
    assert expected.items() <= shown.items()
    assert server.get("/v1/filesystems/data?user=ann").json == shown
    error(server.get("/v1/filesystems/data"), 404, "'data'")  # root has none of the name


def test_an_absolute_path_is_a_local_url(names):
    assert names("data", "/usr/lib")["url"] == "local://usr/lib"


def test_home_is_built_in(server):
    shown = server.get("/v1/filesystems/home?user=ann").json
    expected = {"name": "home", "type": "home", "path": "/pfs/local/home/ann", "built_in": True, "url": None}
    assert expected.items() <= shown.items()
    home = "/v1/filesystems/home?user=ann"
    error(server.request("PATCH", home, json.dumps({"read_only": True})), 409, "built in")
    error(server.request("DELETE", home), 409, "built in")
    error(server.post("/v1/filesystems", {"name": "home", "url": "/srv"}), 409, "built in")


def test_lists_are_of_one_user_and_begin_with_home(server, names):
    for i in range(3):
        names(f"ann{i}", user="ann")
    names("other", user="ben")
    every = ["home", "ann0", "ann1", "ann2"]
    reply = server.get("/v1/filesystems?user=ann").json
    assert [item["name"] for item in reply["items"]] == every and reply["next"] is None
    found, after = [], ""
    for _ in every:
        page = server.get(f"/v1/filesystems?user=ann&limit=1{after}").json
        found += [item["name"] for item in page["items"]]
        after = f"&after={page['next']}"
    assert found == every and page["next"] is None
    assert [item["name"] for item in server.get("/v1/filesystems").json["items"]] == ["home"]


def test_secrets_are_hidden(server, names):
    """Never shown, and kept by a change that brings back what was shown."""
    secrets = {"password": "geheim-1", "secretKey": "geheim-2", "kerberos.keytab.data": "geheim-3"}
    hidden = {**dict.fromkeys(secrets, "***"), "user": "u"}
    shown = names("data", properties={**secrets, "user": "u"})
    assert shown["properties"] == hidden
    change = json.dumps({"properties": {**hidden, "user": "v", "password": "geheim-4"}})
    assert server.request("PATCH", "/v1/filesystems/data", change).json["properties"] == {**hidden, "user": "v"}
    for path in ("/v1/filesystems", "/v1/filesystems/data", "/v1/audit?limit=1000"):
        assert "geheim" not in server.get(path).body.decode(), path
    for said in (("fs", "show", "data"), ("fs", "show", "data", "-o", "json"), ("fs", "list", "-o", "json")):
        assert "geheim" not in server.paddle(*said, check=0).stdout, said
    assert "geheim" not in server.log()
    kept = b"".join(path.read_bytes() for path in server.state.glob("*.db*"))
    assert all(secret in kept for secret in (b"geheim-2", b"geheim-3", b"geheim-4"))


# -- changes


def test_changes_are_merged(server, names):
    names("data", properties={"a": "1", "b": "2"})
    change = {"name": "data", "url": "/usr/share", "properties": {"a": None, "c": "3"}}
    shown = server.request("PATCH", "/v1/filesystems/data", json.dumps(change)).json
    assert (shown["path"], shown["properties"]) == ("/usr/share", {"b": "2", "c": "3"})
    shown = server.request("PATCH", "/v1/filesystems/data", json.dumps({"properties": None})).json
    assert shown["properties"] == {}
    error(server.request("PATCH", "/v1/filesystems/data", json.dumps({"name": "x"})), 400, "cannot be changed")
    error(server.request("PATCH", "/v1/filesystems/data", json.dumps({"user": "ann"})), 400, "'user'")


@pytest.mark.parametrize(
    "body, status, says",
    [
        ({"name": "x"}, 400, "url is missing"),
        ({"url": "/srv"}, 400, "name is missing"),
        ({"name": "a.b", "url": "/srv"}, 400, "'a.b'"),
        ({"name": "x", "url": "local:///srv"}, 400, "local://DIR/..."),
        ({"name": "x", "url": "/root/x"}, 400, "not below /root"),
        ({"name": "x", "url": "ftp://h/x"}, 400, "local://, mock://"),
        ({"name": "x", "url": "mock://srv"}, 400, "'pvc' is missing"),
        ({"name": "x", "url": "s3://bucket"}, 400, "properties"),
        ({"name": "x", "url": "cfs://host/path"}, 409, "kind cfs"),
        ({"name": "x", "url": "/srv", "colour": "red"}, 400, "'colour'"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_file_systems_that_cannot_be_made(server, body, status, says):
    error(server.post("/v1/filesystems", body), status, says)
    assert server.get("/v1/filesystems/x").status == 404


MISSING = "there is no directory '{}' on the server's machine"


def test_a_directory_that_is_not_there(server, names, tmp_path):
    """It has to be there on a machine that runs all jobs itself. The reachable part of a path is what the user sees."""
    there, none = tmp_path / "there", tmp_path / "none"
    there.mkdir()
    (tmp_path / "file").touch()
    for path in (none, none / "x", tmp_path / "file"):
        error(server.post("/v1/filesystems", {"name": "x", "url": str(path)}), 409, MISSING.format(path))
    assert server.get("/v1/filesystems/x").status == 404
    refused = server.paddle("fs", "create", "x", str(none), check=1)
    assert refused.stderr == (f"paddle: url: {MISSING.format(none)}\nCreate it there, or name one that exists.\n"), (
        refused.stderr
    )
    names("data", str(there))
    change = json.dumps({"url": str(none)})
    error(server.request("PATCH", "/v1/filesystems/data", change), 409, MISSING.format(none))
    there.rmdir()
    assert server.request("PATCH", "/v1/filesystems/data", json.dumps({"read_only": True})).status == 200
    names("pods", f"mock:/{none}", properties={"pvc": "a", "namespace": "b"})  # pods have a claim


def test_a_directory_that_only_nodes_have(server, names, tmp_path):
    """With a Kubernetes cluster this machine does not know all directories."""
    assert server.post("/v1/clusters", {"name": "far", "type": "Kubernetes"}).status == 201
    names("data", str(tmp_path / "none"))
    assert server.request("DELETE", "/v1/clusters/far").status in (200, 204)


def test_names_are_unique_for_each_user(server, names):
    names("data", user="ann")
    names("data", user="ben")
    error(server.post("/v1/filesystems?user=ann", {"name": "data", "url": "/srv"}), 409, "exists already")


def test_ids_are_unique_and_tell_nothing_of_others(server, names):
    """fs-a-b-c is the id of a's b-c, and would be that of c of a-b."""
    for user in ("a", "a-b"):
        assert server.post("/v1/users", {"name": user}).status == 201
    names("b-c", user="a")
    reply = server.post("/v1/filesystems?user=a-b", {"name": "c", "url": "/srv"})
    error(reply, 409, "its id would be 'fs-a-b-c', which is in use")
    assert "a/b-c" not in reply.json["message"]


def test_file_systems_go_with_their_user(server):
    assert server.post("/v1/users", {"name": "carl"}).status == 201
    assert server.post("/v1/filesystems?user=carl", {"name": "data", "url": "/srv"}).status == 201
    assert server.request("DELETE", "/v1/users/carl").status == 204
    assert server.post("/v1/users", {"name": "carl"}).status == 201
    assert server.get("/v1/filesystems/data?user=carl").status == 404
    error(server.get("/v1/filesystems?user=nobody"), 404, "'nobody'")


def test_they_outlive_the_server(tmp_path):
    server = Server(tmp_path / "state").start()
    try:
        made = server.post("/v1/filesystems", {"name": "data", "url": "/srv", "properties": {"k": "v"}}).json
        server.kill()
        server.start()
        assert server.get("/v1/filesystems/data").json == made
    finally:
        server.destroy()


# -- the command line


def test_verbs(server):
    made = server.paddle("fs", "create", "clidata", "/usr/share", "--read-only", check=0)
    assert made.stderr == "file system 'clidata' is created\n"
    assert json.loads(server.paddle("fs", "show", "clidata", "-o", "json", check=0).stdout)["path"] == "/usr/share"
    table = server.paddle("fs", "list", check=0).stdout
    assert "/pfs/local/home/root" in table and "clidata" in table and "/usr/share" in table
    server.paddle("fs", "set", "clidata", "--no-read-only", "--property", "fileMode=600", check=0)
    shown = json.loads(server.paddle("fs", "show", "clidata", "-o", "json", check=0).stdout)
    assert shown["read_only"] is False and shown["properties"] == {"fileMode": "600"}
    assert server.paddle("fs", "list", "-o", "name", "--user", "ann", check=0).stdout.split() == ["home"]
    refused = server.paddle("fs", "create", "far", "cfs://h/x", check=1)
    assert "cannot connect to file systems of kind cfs yet" in refused.stderr
    server.paddle("fs", "create", "anns", "/usr/lib", "--user", "ann", check=0)
    server.paddle("fs", "delete", "anns", "--user", "ann", check=0)
    assert server.paddle("fs", "delete", "clidata", check=0).stderr == "file system 'clidata' is deleted\n"
    assert "`paddle fs list`" in server.paddle("fs", "show", "clidata", check=1).stderr


# -- who


def test_others_are_for_administrators(server, names):
    names("data", user="ann")
    names("own", user="ben")
    token = server.post("/v1/tokens", {"user": "ben"}).json["token"]

    def ask(method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request(method, path, json.dumps(body) if body else None, {"Authorization": f"Bearer {token}"})
        with contextlib.closing(connection):
            return Reply(connection.getresponse())

    assert [item["name"] for item in ask("GET", "/v1/filesystems").json["items"]] == ["home", "own"]
    assert ask("GET", "/v1/filesystems/own").status == ask("GET", "/v1/filesystems/own?user=ben").status == 200
    for name in ("data", "home", "none"):
        whose = f"/v1/filesystems/{name}?user=ann"
        for method, body in (("GET", None), ("PATCH", {"read_only": True}), ("DELETE", None)):
            error(ask(method, whose, body), 403, "administrators")
    error(ask("GET", "/v1/filesystems?user=ann"), 403, "administrators")
    error(ask("POST", "/v1/filesystems?user=ann", {"name": "x", "url": "/srv"}), 403, "administrators")
    assert ask("GET", "/v1/filesystems/data").status == 404
