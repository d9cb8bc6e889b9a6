"""2.8 file systems, and what 2.9 and 2.10 answer as long as there is no cache and no link."""

import datetime

import pytest

from paddleflow.client import case, check, fresh, good, has_keys, refused, table

KEYS = "id name serverAddress type subPath username properties independentMountProcess"
S3 = {"accessKey": "a", "secretKey": "s", "endpoint": "s3.lab"}
KERBEROS = {
    "kerberos.keytab.data": "a2V5",
    "kerberos.principal": "p",
    "kerberos.realm": "r",
    "kerberos.kdc": "k",
    "kerberos.namenode.principal": "n",
}


def new(url="local://srv/data", **about):
    return {"name": "never", "url": url, **about}


def bad(label, code, url="local://srv/data", **about):
    return case("2.8 POST " + label, "POST", "/fs", new(url, **about), code)


def far(label, url, **properties):
    """A kind that needs a connection, with all that it needs."""
    return bad("connect " + label, "ConnectivityFailed", url, properties=properties)


NAME, URL, PROPERTIES = (
    "FileSystemNameFormatError",
    "InvalidFileSystemParamsURL",
    "InvalidFileSystemParamsProperties",
)

REFUSED = [
    case("2.8 POST not JSON", "POST", "/fs", "{", "MalformedJSON"),
    bad("properties of wrong type", "MalformedJSON", properties=["x"]),
    bad("flag of wrong type", "MalformedJSON", independentMountProcess="yes"),
    case("2.8 POST for another", "POST", "/fs", new(username="<bobby>"), "AuthIllegalUser", who="<alice>"),
    bad("for nobody", "UserNotExist", username="nobody1"),
    bad("name empty", NAME, name=""),
    bad("name with a point", NAME, name="a.b"),
    bad("name too long", NAME, name="x" * 64),
    bad("name and user too long", NAME, name="x" * 56),  # and root: 60
    bad("name before url", NAME, "nothing", name="a b"),
    bad("url missing", URL, url=""),
    bad("url without scheme", URL, "/srv/data"),
    bad("url of no kind", URL, "ftp://h/x"),
    bad("local without directory", URL, "local://"),
    bad("local with an empty part", URL, "local:///srv"),
    bad("local root", URL, "local://root"),
    bad("local below root", URL, "local://root/x"),
    bad("local upwards", URL, "local://srv/../root"),
    bad("mock below root", URL, "mock://root/x", properties={"pvc": "p", "namespace": "n"}),
    bad("hdfs without port", URL, "hdfs://h/x"),
    bad("hdfs without path", URL, "hdfs://h:9000"),
    bad("sftp without port", URL, "sftp://h/x"),
    bad("glusterfs without volume", URL, "glusterfs://h"),
    bad("cfs without path", URL, "cfs://h"),
    bad("12 s3 without properties", URL, "s3://bucket"),
    bad("url before properties", URL, "sftp://h/x", properties={}),
    bad("mock without claim", PROPERTIES, "mock://srv", properties={"namespace": "n"}),
    bad("mock without namespace", PROPERTIES, "mock://srv", properties={"pvc": "p"}),
    bad("hdfs without user", PROPERTIES, "hdfs://h:9000/x", properties={"group": "g"}),
    bad("hdfs kerberos incomplete", PROPERTIES, "hdfs://h:9000/x", properties={"kerberos.realm": "r"}),
    bad("hdfs keytab", PROPERTIES, "hdfs://h:9000/x", properties={**KERBEROS, "kerberos.keytab.data": "?"}),
    bad("sftp without password", PROPERTIES, "sftp://h:22/x", properties={"user": "u"}),
    bad("s3 without key", PROPERTIES, "s3://bucket", properties={"endpoint": "e"}),
    bad("s3 without endpoint", PROPERTIES, "s3://bucket", properties={"accessKey": "a", "secretKey": "s"}),
    bad("bos duration", PROPERTIES, "bos://bucket", properties={**S3, "sts": "true", "duration": "59"}),
    bad("afs without user", PROPERTIES, "afs://h/x", properties={"password": "p"}),
    bad("fileMode", PROPERTIES, properties={"fileMode": "rw"}),
    bad("dirMode", PROPERTIES, properties={"dirMode": "0x1"}),
    far("hdfs", "hdfs://h:9000,i:9000/x", user="u", group="g"),
    far("hdfs with kerberos", "hdfs://h:9000/x", **KERBEROS),
    far("sftp", "sftp://h:22/x", user="u", password="p"),
    far("s3", "s3://bucket/x", **S3),
    far("bos", "bos://bucket", **S3, sts="true", duration="60"),
    far("cfs", "cfs://h/x"),
    far("glusterfs", "glusterfs://h:volume"),
    far("afs", "afs://h/x", username="u", password="p"),
    bad("taken", "DuplicatedName", name="<fs>"),
    bad("taken before connection", "DuplicatedName", "cfs://h/x", name="<fs>"),
    bad("url before taken", URL, "local://root", name="<fs>"),
    bad("home is of /v1", "DuplicatedName", name="home"),
    case("12 2.8 PUT unknown", "PUT", "/fs", new(name="none"), "RecordNotFound"),
    case("2.8 PUT url", "PUT", "/fs", new("local://root", name="<fs>"), URL),
    case("2.8 PUT properties", "PUT", "/fs", new("mock://srv", name="<fs>"), PROPERTIES),
    case("2.8 PUT connection", "PUT", "/fs", new("cfs://h/x", name="<fs>"), "ConnectivityFailed"),
    case("2.8 PUT of another", "PUT", "/fs", new(name="<fs>", username="root"), "AuthIllegalUser", who="<alice>"),
    case("2.8 GET maxKeys", "GET", "/fs?maxKeys=0", None, "InvalidURI"),
    case("2.8 GET of another", "GET", "/fs?username=root", None, "AuthIllegalUser", who="<alice>"),
    case("2.8 GET one unknown", "GET", "/fs/none", None, "RecordNotFound"),
    case("2.8 GET one of another", "GET", "/fs/<fs>", None, "RecordNotFound", who="<alice>"),
    case("2.8 GET home", "GET", "/fs/home", None, "RecordNotFound"),
    case("2.8 DELETE unknown", "DELETE", "/fs/none", None, "RecordNotFound"),
    case("2.8 DELETE of another", "DELETE", "/fs/<fs>", None, "RecordNotFound", who="<alice>"),
    case("2.8 fsSts unknown", "GET", "/fsSts/none", None, "RecordNotFound"),
    case("2.8 fsSts of no bos", "GET", "/fsSts/<fs>", None, "InternalError"),
    case("2.9 POST not JSON", "POST", "/fsCache", "{", "MalformedJSON"),
    case("2.9 POST unknown", "POST", "/fsCache", {"fsName": "none"}, "RecordNotFound"),
    case("2.9 POST", "POST", "/fsCache", {"fsName": "<fs>", "cacheDir": "/x"}, "ActionNotAllowed"),
    case("2.9 GET", "GET", "/fsCache/<fs>", None, "RecordNotFound"),
    case("2.9 DELETE", "DELETE", "/fsCache/<fs>", None, "RecordNotFound"),
    case("2.10 POST", "POST", "/link", {"fsName": "<fs>", "fsPath": "/a", "url": "s3://b"}, "InvalidFileSystemFsName"),
    case("2.10 GET one", "GET", "/link/<fs>?fsPath=/a", None, "LinkNotExist"),
    case("2.10 GET unknown", "GET", "/link/none", None, "RecordNotFound"),
    case("2.10 DELETE", "DELETE", "/link/<fs>?fsPath=/a", None, "LinkModelError"),
]


@pytest.fixture(scope="module")
def names(flow, alice, bobby):
    name = fresh("fs")
    good(flow.post("/fs", new(name=name)), 201)
    return {"alice": alice, "bobby": bobby, "fs": name}


@table(REFUSED)
def test_refused(flow, names, row):
    check(flow, row, names)
    refused(flow.get("/fs/never"), "RecordNotFound")


def test_create(flow, alice):
    name = fresh("made")
    body = {"name": name, "url": "local://srv/data/", "properties": {"fileMode": "644", "x": "y"}}
    made = good(flow.post("/fs", {**body, "independentMountProcess": True}, who=alice), 201).json
    assert made == {"fsName": name, "fsID": f"fs-{alice}-{name}"}
    fs = good(flow.get("/fs/" + name, who=alice)).json
    has_keys(fs, KEYS)
    assert (fs["id"], fs["name"], fs["username"]) == (made["fsID"], name, alice)
    assert (fs["type"], fs["serverAddress"], fs["subPath"]) == ("local", "", "/srv/data")
    assert fs["properties"] == body["properties"] and fs["independentMountProcess"] is True
    assert good(flow.get(f"/fs/{name}?username={alice}")).json == fs  # root


def test_secrets_are_hidden(flow):
    name = fresh("secret")
    body = {"name": name, "url": "local://srv/data", "properties": {"password": "geheim", "user": "u"}}
    good(flow.post("/fs", body), 201)
    shown = {"password": "***", "user": "u"}
    assert good(flow.get("/fs/" + name)).json["properties"] == shown
    listed = good(flow.get("/fs?maxKeys=1000")).json["fsList"]
    assert [fs["properties"] for fs in listed if fs["name"] == name] == [shown]
    good(flow.put("/fs", {**body, "properties": {**shown, "user": "v"}}), 201)
    assert good(flow.get("/fs/" + name)).json["properties"] == {**shown, "user": "v"}


def test_mock(flow):
    name = fresh("claim")
    good(flow.post("/fs", new("mock://srv/x", name=name, properties={"pvc": "p", "namespace": "n"})), 201)
    fs = good(flow.get("/fs/" + name)).json
    assert (fs["type"], fs["serverAddress"], fs["subPath"]) == ("mock", "", "/srv/x")


@pytest.mark.parametrize("member", ["username", "userName", "USERNAME"])
def test_root_makes_them_for_others(flow, alice, member):
    name = fresh("others")
    made = good(flow.post("/fs", {**new(name=name), member: alice}), 201).json
    assert made["fsID"] == f"fs-{alice}-{name}"
    assert good(flow.get("/fs/" + name, who=alice)).json["username"] == alice
    refused(flow.get("/fs/" + name), "RecordNotFound")  # root's own


def test_names_are_unique_for_each_user(flow, alice, bobby):
    name = fresh("same")
    for who in (alice, bobby):
        good(flow.post("/fs", new(name=name), who=who), 201)
        refused(flow.post("/fs", new(name=name), who=who), "DuplicatedName")
    good(flow.delete("/fs/" + name, who=alice), empty=True)
    good(flow.get("/fs/" + name, who=bobby))


def test_replace(flow):
    """12, 2.8: properties are replaced, a flag that is not said stays."""
    name = fresh("replaced")
    good(flow.post("/fs", new(name=name, properties={"a": "1", "b": "2"}, independentMountProcess=True)), 201)
    reply = good(flow.put("/fs", {"name": name, "url": "local://srv/new", "properties": {"c": "3"}}), 201)
    assert reply.json == {"fsName": name, "fsID": f"fs-root-{name}"}
    fs = good(flow.get("/fs/" + name)).json
    assert (fs["subPath"], fs["properties"]) == ("/srv/new", {"c": "3"})
    assert fs["independentMountProcess"] is True
    good(flow.put("/fs", {"name": name, "url": "local://srv/new", "independentMountProcess": False}), 201)
    fs = good(flow.get("/fs/" + name)).json
    assert fs["properties"] == {} and fs["independentMountProcess"] is False


def test_delete(flow):
    name = fresh("dropped")
    good(flow.post("/fs", new(name=name)), 201)
    good(flow.delete("/fs/" + name), empty=True)
    refused(flow.get("/fs/" + name), "RecordNotFound")
    good(flow.post("/fs", new(name=name)), 201)


def names_of(page):
    return [item["name"] for item in page["fsList"]]


def test_list(make_flow):
    flow = make_flow()
    ann, bert = flow.make_user(), flow.make_user()
    page = good(flow.get("/fs")).json
    assert page == {"marker": "", "truncated": False, "nextMarker": "", "fsList": []}
    for who, name in ((ann, "one"), (bert, "two"), (ann, "three"), ("root", "four"), (ann, "five")):
        good(flow.post("/fs", new(name=name), who=who), 201)
    page = good(flow.get("/fs", who=ann)).json  # newest first; also those of this second (12, 2.8)
    assert names_of(page) == ["five", "three", "one"]
    for item in page["fsList"]:
        has_keys(item, KEYS)
    every = ["five", "four", "three", "two", "one"]
    assert names_of(good(flow.get("/fs")).json) == names_of(good(flow.get("/fs?username=root")).json) == every
    assert names_of(good(flow.get(f"/fs?username={bert}")).json) == ["two"]
    assert names_of(good(flow.get("/fs?fsName=three")).json) == ["three"]
    assert names_of(good(flow.get("/fs?fsName=thre")).json) == []
    found, marker = [], ""
    for _ in every:
        page = good(flow.get("/fs", query={"maxKeys": 1, "marker": marker})).json
        assert page["marker"] == marker and page["truncated"] == (len(found) < 4) == bool(page["nextMarker"])
        found += names_of(page)
        marker = page["nextMarker"]
    assert found == every


def test_markers(flow, names):
    """12, 2.8: any marker is taken and echoed. A time means those created until then."""
    for marker in ("zz", "5", "2999-01-01 00:00:00", datetime.datetime.now().strftime("%Y-%m-%d 23:59:59")):
        page = good(flow.get("/fs", query={"marker": marker, "maxKeys": 1000})).json
        assert page["marker"] == marker and names["fs"] in names_of(page)
    assert names_of(good(flow.get("/fs", query={"marker": "2000-01-01 00:00:00"})).json) == []


def test_no_links(flow, names):
    page = good(flow.get("/link/" + names["fs"])).json
    assert page == {"marker": "", "truncated": False, "nextMarker": "", "linkList": []}


def test_they_go_with_their_user(flow):
    user, name = flow.make_user(), fresh("gone")
    good(flow.post("/fs", new(name=name), who=user), 201)
    good(flow.delete("/user/" + user), empty=True)
    assert name not in names_of(good(flow.get("/fs?maxKeys=1000")).json)
    refused(flow.get(f"/fs/{name}?username={user}"), "RecordNotFound")


def test_grants(flow, alice):
    """2.3: a grant on a file system goes with it."""
    name, about = fresh("granted"), {"resourceType": "fs"}
    fs = good(flow.post("/fs", new(name=name)), 201).json["fsID"]
    good(flow.post("/grant", {**about, "username": alice, "resourceID": fs}))
    good(flow.delete("/fs/" + name), empty=True)
    assert fs not in [item["resourceID"] for item in good(flow.get("/grant?maxKeys=1000")).json["grantList"]]


def test_v1_shows_the_same(flow):
    name = fresh("both")
    good(flow.post("/fs", new(name=name, properties={"k": "v"})), 201)
    shown = flow.server.get("/v1/filesystems/" + name).json
    assert (shown["url"], shown["properties"]) == ("local://srv/data", {"k": "v"})
    assert flow.server.post("/v1/filesystems", {"name": name + "-v1", "url": "/usr/lib"}).status == 201
    assert good(flow.get(f"/fs/{name}-v1")).json["subPath"] == "/usr/lib"
