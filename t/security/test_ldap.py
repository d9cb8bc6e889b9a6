"""Log-in by a directory (LDAP): doc/guide/security.md, "Log-in by a directory"."""

import concurrent.futures
import contextlib
import json
import socket
import subprocess
import threading

import pytest
from conftest import BIN, PATIENCE, Server
from kube.pki import Authority
from slapd import BASE, PEOPLE, READER, READER_PASSWORD, Slapd
from totp import Device

GOOD, THERE = "correct horse 1", "the directory's own 1"
FLOW = "/api/paddleflow/v1"
NAMES = ("ada", "bea", "carl", "dora", "emil", "flora", "greta", "hugo", "ivan", "root", "uid-1000", "Ida", "twice")


class Trap:
    """What listens, takes connections and says nothing."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]

    def is_untouched(self):
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            self.socket.accept()[0].close()
            return False
        return True


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("pki") / "ca")


@pytest.fixture(scope="module")
def elsewhere():
    """Where a referral points: it would be handed passwords."""
    trap = Trap()
    yield trap
    trap.socket.close()


@pytest.fixture(scope="module")
def slapd(tmp_path_factory, authority, elsewhere):
    people = dict.fromkeys(NAMES, THERE)
    referral = f"ldap://127.0.0.1:{elsewhere.port}"
    server = Slapd(tmp_path_factory.mktemp("slapd"), authority, people, {"twice": THERE}, referral).start()
    yield server
    server.stop()


def template(slapd):
    return ("--ldap-url", slapd.plain, "--ldap-user-dn", f"uid=%s,{PEOPLE}")


@contextlib.contextmanager
def serving(state, *options):
    server = Server(state, "--listen", "127.0.0.1:0", *options).start()
    try:
        yield server
    finally:
        server.destroy()


@pytest.fixture(scope="module")
def house(tmp_path_factory, slapd):
    with serving(tmp_path_factory.mktemp("house") / "state", *template(slapd), "--ldap-create-users") as server:
        yield server


def log_in(server, user, password=THERE, **more):
    return server.post("/v1/login", {"user": user, "password": password, **more})


def call(server, method, path, token, body=None):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return server.request(method, path, json.dumps(body) if body is not None else None, headers)


def says(reply, status, code, *words):
    assert (reply.status, reply.json["code"]) == (status, code), reply.body
    for word in words:
        assert word in reply.json["message"] + (reply.json.get("hint") or ""), reply.body


def users(server):
    return {user["name"] for user in server.get("/v1/users").json["items"]}


def test_who_is_known_there_becomes_a_user_with_ordinary_rights(house):
    reply = log_in(house, "ada")
    assert reply.status == 200 and reply.json["user"] == "ada"
    token = reply.json["token"]
    shown = call(house, "GET", "/v1/users/ada", token).json
    assert (shown["ldap"], shown["admin"], shown["has_password"]) == (True, False, False)
    assert call(house, "GET", "/v1/users", token).status == 403
    assert call(house, "GET", "/v1/tokens", token).json["items"][0]["note"] == "log-in by ldap"
    wanted = {"action": "login", "outcome": "ok", "subject": "ada by ldap", "user": "ada"}
    assert any(wanted.items() <= line.items() for line in house.get("/v1/audit?user=ada").json["items"])


def test_first_log_ins_at_one_time_make_one_user(house):
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(lambda _: log_in(house, "ivan"), range(4)))
    assert [reply.status for reply in replies] == [200] * 4, [reply.body for reply in replies]
    assert "ivan" in users(house)


def test_what_is_wrong_is_not_told_apart_and_makes_nobody(house):
    before = users(house)
    replies = [log_in(house, "bea", "wrong"), log_in(house, "nobody-here", THERE), log_in(house, "root", THERE)]
    texts = {reply.json["message"].replace(name, "X") for reply, name in zip(replies, ("bea", "nobody-here", "root"))}
    assert {reply.status for reply in replies} == {401} and len(texts) == 1, texts
    assert users(house) == before


# Each of them would be somebody, or everybody, for a directory that was asked carelessly; `Ida` is there under this name.
HOSTILE = ["*", "a*", "ada)(uid=*", "*)(objectClass=*", f"ada,{PEOPLE}", "ada+cn=ada", "ADA", "Ada", " ada", "ada ", "ada\\", "Ida", "root",
           "uid-1000", "", "a\0b", "(", "ad\\61"]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_are_none(house, name):
    before = users(house)
    reply = log_in(house, name)
    assert reply.status in (400, 401), reply.body
    assert users(house) == before


def test_an_empty_password_is_none(house, slapd):
    before = users(house)
    for name in ("bea", "carl"):
        says(log_in(house, name, ""), 401, "unauthenticated")
        assert house.post(f"{FLOW}/login", {"username": name, "password": ""}).json["code"] != "success"
    assert users(house) == before
    # the directory itself would have taken it
    assert "anonymous" in (slapd.folder / "slapd.conf").read_text()


def test_an_account_that_is_here_is_not_taken_over(house):
    assert house.post("/v1/users", {"name": "greta", "password": GOOD}).status == 201
    assert house.post("/v1/users", {"name": "hugo"}).status == 201  # has tokens only
    says(log_in(house, "greta"), 401, "unauthenticated")
    says(log_in(house, "hugo"), 401, "unauthenticated")
    local = log_in(house, "greta", GOOD).json["token"]
    house.paddle("user", "set", "greta", "--ldap", check=0)
    says(call(house, "GET", "/v1/whoami", local), 401, "unauthenticated")
    says(log_in(house, "greta", GOOD), 401, "unauthenticated")
    assert log_in(house, "greta").status == 200
    house.paddle("user", "set", "greta", "--no-ldap", check=0)
    says(log_in(house, "greta"), 401, "unauthenticated")
    assert log_in(house, "greta", GOOD).status == 200
    refused = house.paddle("user", "set", "root", "--ldap")
    assert refused.returncode == 2 and "root" in refused.stderr


def test_a_disabled_user_stays_out(house):
    assert log_in(house, "carl").status == 200
    house.paddle("user", "set", "carl", "--disabled", check=0)
    says(log_in(house, "carl"), 401, "unauthenticated")


def test_the_password_is_changed_where_it_is(house, slapd):
    token = log_in(house, "dora").json["token"]
    body = {"password": GOOD, "old": THERE}
    says(call(house, "PUT", "/v1/users/dora/password", token, body), 409, "conflict", "directory", slapd.plain)
    says(call(house, "PUT", "/v1/users/dora/password", token, {"password": GOOD}), 409, "conflict", "directory")
    told = house.paddle("user", "set", "dora", "--password-stdin", input=f"{GOOD}\n")
    assert told.returncode == 1 and slapd.plain in told.stderr, told.stderr
    flow = house.post(f"{FLOW}/login", {"username": "dora", "password": THERE}).json["authorization"]
    headers = {"x-pf-authorization": flow, "Content-Type": "application/json"}
    reply = house.request("PUT", f"{FLOW}/user/dora", json.dumps({"password": "abc12345"}), headers)
    assert reply.status != 200 and "directory" in reply.json["message"], reply.body
    says(house.post("/v1/users", {"name": "zoe", "ldap": True, "password": GOOD}), 409, "conflict", "directory")


def test_a_second_factor_beside_it(house):
    token = log_in(house, "emil").json["token"]
    device = Device(call(house, "POST", "/v1/second-factor", token).json["secret"])
    wanted = {"secret": device.secret, "code": device.code()}
    says(call(house, "PUT", "/v1/second-factor", token, {**wanted, "password": "wrong"}), 403, "denied")
    assert call(house, "PUT", "/v1/second-factor", token, {**wanted, "password": THERE}).status == 200
    says(log_in(house, "emil"), 401, "second_factor")
    assert log_in(house, "emil", otp=device.code()).status == 200


def test_a_referral_is_not_followed(house, elsewhere):
    reply = log_in(house, "away")
    assert reply.status in (401, 503), reply.body
    assert elsewhere.is_untouched() and "away" not in users(house)


def test_without_leave_to_make_users_only_marked_ones_come(tmp_path, slapd):
    with serving(tmp_path / "state", *template(slapd)) as server:
        says(log_in(server, "ada"), 401, "unauthenticated")
        server.paddle("user", "create", "ada", "--ldap", check=0)
        assert log_in(server, "ada").status == 200
        server.stop()
        server.options = server.options[:2]  # no directory any more
        server.start()
        says(log_in(server, "ada"), 401, "unauthenticated")


def searching(slapd, url, folder, *more):
    secret = folder / "reader"
    secret.write_text(READER_PASSWORD + "\n")
    reader = ("--ldap-bind-dn", READER, "--ldap-bind-password-file", secret)
    return ("--ldap-url", url, "--ldap-base", BASE, *reader, "--ldap-create-users", *more)


@pytest.mark.parametrize("way", ["ldaps", "starttls"])
def test_users_are_looked_for_over_tls(tmp_path, slapd, authority, way):
    url = slapd.tls if way == "ldaps" else slapd.plain
    more = ("--ldap-ca", authority.ca, "--ldap-tls", "auto" if way == "ldaps" else "starttls")
    with serving(tmp_path / "state", *searching(slapd, url, tmp_path, *more)) as server:
        assert log_in(server, "flora").status == 200
        says(log_in(server, "flora", "wrong"), 401, "unauthenticated")
        says(log_in(server, "twice"), 401, "unauthenticated")  # two have this name
        says(log_in(server, "nobody-here"), 401, "unauthenticated")
        (tmp_path / "reader").rename(tmp_path / "moved")
        says(log_in(server, "flora"), 503, "unavailable")
        assert f"{tmp_path}/reader" in server.log()
        (tmp_path / "moved").rename(tmp_path / "reader")
        assert log_in(server, "flora").status == 200  # the directory was not left alone for it
        (tmp_path / "reader").write_text("not it")  # read each time
        says(log_in(server, "flora"), 503, "unavailable")
    log = slapd.log()
    assert "TLS established" in log


@pytest.mark.parametrize("way", ["ldaps", "starttls"])
def test_a_certificate_of_another_authority_gets_no_password(tmp_path, slapd, way):
    other = Authority(tmp_path / "other")
    url = slapd.tls if way == "ldaps" else slapd.plain
    more = ("--ldap-ca", other.ca, "--ldap-tls", "auto" if way == "ldaps" else "starttls")
    seen = slapd.log().count("BIND")
    with serving(
        tmp_path / "state", "--ldap-url", url, "--ldap-user-dn", f"uid=%s,{PEOPLE}", "--ldap-create-users", *more
    ) as server:
        says(log_in(server, "flora"), 503, "unavailable", "directory")
        assert "does not answer" in server.log()
    assert slapd.log().count("BIND") == seen


@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
def test_a_directory_that_hangs_hinders_nobody_else(tmp_path, scheme):
    trap = Trap()
    options = (
        "--ldap-url",
        f"{scheme}://127.0.0.1:{trap.port}",
        "--ldap-user-dn",
        f"uid=%s,{PEOPLE}",
        "--ldap-create-users",
    )
    with serving(tmp_path / "state", *options, "--ldap-timeout", "8s") as server:
        assert server.post("/v1/users", {"name": "lisa", "password": GOOD}).status == 201
        assert log_in(server, "lisa", GOOD).status == 200
        answered = threading.Event()

        def ask(number):
            reply = log_in(server, "ada")
            answered.set()
            return reply

        with concurrent.futures.ThreadPoolExecutor(20) as threads:
            asked = [threads.submit(ask, number) for number in range(20)]
            # as many as one address may have under way wait; the directory is not asked for the rest
            first = next(concurrent.futures.as_completed(asked)).result()
            says(first, 429, "quota")
            assert log_in(server, "lisa", GOOD).status == 200
            assert not all(one.done() for one in asked)  # the local log-in did not wait for them
            replies = [one.result(PATIENCE) for one in asked]
        assert {reply.status for reply in replies} == {429, 503}
        assert log_in(server, "lisa", GOOD).status == 200
        assert "ada" not in users(server)
    trap.socket.close()


WRONG = {
    "no url": (("--ldap-user-dn", "uid=%s"), "--ldap-url is missing"),
    "a certificate and no url": (("--ldap-ca", "/etc/ca.crt"), "--ldap-url is missing"),
    "a password for nobody": (
        ("--ldap-url", "ldaps://a", "--ldap-user-dn", "uid=%s", "--ldap-bind-password-file", "/etc/hostname"),
        "--ldap-bind-password-file needs --ldap-bind-dn",
    ),
    "no place": (("--ldap-url", "ldaps://a"), "--ldap-user-dn"),
    "no name": (("--ldap-url", "ldaps://a", "--ldap-user-dn", "uid=x"), "%s"),
    "no filter": (
        ("--ldap-url", "ldaps://a", "--ldap-base", "dc=a", "--ldap-filter", "(uid=%s"),
        "'(uid=%s' is not a search filter",
    ),
    "another scheme": (("--ldap-url", "http://a", "--ldap-user-dn", "uid=%s"), "--ldap-url"),
    "a word": (("--ldap-url", "ldaps://a", "--ldap-user-dn", "uid=%s", "--ldap-tls", "no"), "--ldap-tls"),
}


def test_without_a_directory_no_password_is_left_to_it(make_server):
    server = make_server()
    reply = server.post("/v1/users", {"name": "lena", "ldap": True})
    says(reply, 409, "conflict", "no directory", "--ldap-url")
    assert server.post("/v1/users", {"name": "lena"}).status == 201
    says(server.request("PATCH", "/v1/users/lena", {"ldap": True}), 409, "conflict", "no directory")


@pytest.mark.parametrize("what", WRONG)
def test_options_that_are_wrong_end_the_start(tmp_path, what):
    options, says_what = WRONG[what]
    command = [BIN / "paddled", "--state", tmp_path / "state", "--listen", "none", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and says_what in done.stderr, done.stderr
