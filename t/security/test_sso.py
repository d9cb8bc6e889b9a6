"""Single sign-on: doc/guide/security.md, "Single sign-on"."""

import contextlib
import hashlib
import hmac
import http.client
import json
import os
import re
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import pytest
from conftest import BIN, PATIENCE, Reply, Server, wait_for
from issuers import CLIENT, Browser, Issuer, Key, Provider, encode

GOOD = "correct horse 1"
FLOW = "/api/paddleflow/v1"
OPTIONS = ("--listen", "127.0.0.1:0", "--oidc-client-id", CLIENT)


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    provider = Provider(tmp_path_factory.mktemp("provider") / "log")
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    issuer = Issuer(tmp_path_factory.mktemp("issuer"))
    yield issuer
    issuer.close()


@pytest.fixture
def make_sso(make_server):
    def make(issuer, *options):
        return make_server(*OPTIONS, "--oidc-issuer", issuer.url, *options)

    return make


@pytest.fixture(scope="module")
def served(issuer, tmp_path_factory):
    """A server that believes the issuer of tests, with a user who is bound to 'subject 1'."""
    server = Server(tmp_path_factory.mktemp("state"), *OPTIONS, "--oidc-issuer", issuer.url).start()
    assert server.post("/v1/users", {"name": "ann", "oidc_subject": "subject 1"}).status == 201
    yield server
    server.destroy()


def log_in(server, **ask):
    return server.post("/v1/login/sso", ask)


def by_tcp(server, method, path, body, headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json", **headers})
        return Reply(connection.getresponse())


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class Login:
    """`paddle login --sso` in a process of its own."""

    def __init__(self, server, folder):
        self.config = folder / "config"
        self.env = {**os.environ, "PADDLE_CONFIG": str(self.config), "HOME": str(folder)}
        address = f"http://127.0.0.1:{server.port}"
        self.process = subprocess.Popen(
            [BIN / "paddle", "login", "--sso", "--server", address],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = ""

    def wait_for_words(self, words):
        while not (found := re.search(words, self.said)):
            line = self.process.stdout.readline()
            assert line, self.said
            self.said += line
        return found

    def end(self):
        rest, _ = self.process.communicate(timeout=PATIENCE)
        self.said += rest
        return self.process.returncode


# ---- the device flow against a real issuer


@pytest.mark.parametrize("client", ["public", "with a secret"])
def test_a_person_logs_in_with_a_browser_on_another_machine(make_sso, provider, client, tmp_path):
    options = ["--oidc-create-users"]
    if client == "with a secret":
        (tmp_path / "secret").write_text("s/e:c r%t\n")
        options += ["--oidc-client-id", "paddle-secret", "--oidc-client-secret-file", tmp_path / "secret"]
    server = make_sso(provider, *options)
    login = Login(server, tmp_path)
    url = login.wait_for_words(r"Or open (\S+) and compare")[1]
    assert re.search(r"\n +([B-Z]{4}-[B-Z]{4})\n", login.said), login.said
    Browser().approve(url, "carol")
    assert login.end() == 0, login.said
    assert "logged in as 'carol'" in login.said
    assert (tmp_path / "config").stat().st_mode & 0o77 == 0
    assert "s/e:c" not in (tmp_path / "config").read_text() + login.said
    who = subprocess.run([BIN / "paddle", "whoami"], env=login.env, capture_output=True, text=True, check=True)
    assert who.stdout == "carol\n"
    user = server.get("/v1/users/carol").json
    assert (user["oidc_subject"], user["oidc_issuer"], user["admin"]) == ("subject of carol", provider.url, False)
    lines = server.get("/v1/audit?user=carol").json["items"]
    subject = f"carol: subject 'subject of carol' of {provider.url}"
    wanted = {"action": "login", "user": "carol", "subject": subject, "outcome": "ok"}
    assert any(wanted.items() <= line.items() for line in lines), lines


def test_a_person_refuses(make_sso, provider, tmp_path):
    server = make_sso(provider)
    login = Login(server, tmp_path)
    Browser().deny(login.wait_for_words(r"Or open (\S+) and compare")[1])
    assert login.end() == 3, login.said
    assert "the log-in was denied at the issuer" in login.said and not login.config.exists()


# ---- the command line against the issuer of tests


def test_a_code_that_expires_ends_the_wait(served, issuer, tmp_path):
    login = Login(served, tmp_path)
    login.wait_for_words("Waiting for you")
    issuer.replies["/token"] = (400, {"error": "expired_token"})
    try:
        assert login.end() == 1, login.said
    finally:
        del issuer.replies["/token"]
    assert "has expired" in login.said and "paddle login --sso" in login.said


def test_a_server_that_the_issuer_refuses_ends_the_wait(served, issuer, tmp_path):
    login = Login(served, tmp_path)
    login.wait_for_words("Waiting for you")
    issuer.replies["/token"] = (401, {"error": "invalid_client"})
    try:
        assert login.end() == 1, login.said
    finally:
        del issuer.replies["/token"]
    assert "invalid_client" in login.said and "Tell an administrator" in login.said, login.said


def test_a_code_that_expires_while_the_issuer_is_away_says_so(served, issuer, tmp_path):
    issuer.replies["/device"] = (200, issuer.device(expires_in=1))
    issuer.replies["/token"] = (500, {"error": "server_error"})
    try:
        login = Login(served, tmp_path)
        assert login.end() == 1, login.said
    finally:
        del issuer.replies["/token"], issuer.replies["/device"]
    assert "server_error" in login.said and "was not entered" not in login.said, login.said


def test_the_issuer_is_asked_as_often_as_it_says(served, issuer, tmp_path):
    issuer.replies["/token"] = (400, {"error": "slow_down"})
    before = issuer.count("/token")
    login = Login(served, tmp_path)
    try:
        wait_for(lambda: issuer.count("/token") > before, what="the first question")
        issuer.replies["/token"] = (200, {"id_token": issuer.token()})
        assert login.end() == 0, login.said
    finally:
        del issuer.replies["/token"]
    first, second = issuer.times("/token")[before:]
    assert second - first >= 6  # 1 s and 5 s more


def test_whoever_logs_in_with_a_password_is_told(served, make_server, tmp_path):
    env = {"PADDLE_SERVER": "", "PADDLE_CONFIG": str(tmp_path / "config")}
    told = served.paddle("login", "--server", f"http://127.0.0.1:{served.port}", env=env)
    assert "paddle login --sso" in told.stderr
    other = make_server("--listen", "127.0.0.1:0")
    address = f"http://127.0.0.1:{other.port}"
    assert "--sso" not in other.paddle("login", "--server", address, env=env).stderr
    refused = other.paddle("login", "--sso", "--server", address, env=env)
    assert refused.returncode == 1 and "has no single sign-on" in refused.stderr
    assert other.post("/v1/login/sso", {"id_token": "a.b.c"}).status == 404
    assert other.post("/v1/users", {"name": "ann", "oidc_subject": "s"}).status == 409


def test_replies_are_as_described(served, issuer):
    document = served.get("/v1/openapi.json").json

    def check(path, reply, status):
        assert reply.status == status, reply.body
        described = document["paths"][path]["post"]["responses"][str(status)]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator({**described, "components": document["components"]}).validate(reply.json)
        return reply.json

    code = check("/v1/login/sso/device", served.post("/v1/login/sso/device"), 202)["device_code"]
    assert check("/v1/login/sso", log_in(served, device_code=code), 202) == {"state": "pending"}
    check("/v1/login/sso", log_in(served, id_token=issuer.token()), 200)
    assert served.get("/v1/version").json["sso"] is True
    user = served.get("/v1/users/ann").json
    described = {**document["components"]["schemas"]["User"], "components": document["components"]}
    jsonschema.Draft202012Validator(described).validate(user)


DEVICES = {
    "no code": {"user_code": None},
    "an address without TLS": {"verification_uri": "http://192.0.2.1/enter"},
    "an address that runs a program": {"verification_uri": "javascript:alert(1)"},
    "a code with orders for the terminal": {"user_code": "\x1b[2JABCD"},
    "an address with them": {"verification_uri": "https://x/\x1b]0;t\x07"},
    "a code of a page": {"user_code": "A" * 100},
    "a second address that runs a program": {"verification_uri_complete": "file:///etc/passwd"},
    "an end that is a text": {"expires_in": "soon"},
}


@pytest.mark.parametrize("name", DEVICES)
def test_people_are_not_sent_anywhere(served, issuer, name):
    issuer.replies["/device"] = (200, issuer.device(**DEVICES[name]))
    try:
        assert served.post("/v1/login/sso/device").status == 503
    finally:
        del issuer.replies["/device"]


# ---- tokens that hold


ACCEPTED = {
    "RS256": lambda i: i.token(),
    "ES256": lambda i: i.token(i.elliptic),
    "PS256": lambda i: i.token(header={"alg": "PS256"}),
    "a key that is not named": lambda i: i.token(header={"kid": None}),
    "no type": lambda i: i.token(header={"typ": None}),
    "several clients, made for us": lambda i: i.token(aud=["other", CLIENT], azp=CLIENT),
    "one client in a list": lambda i: i.token(aud=[CLIENT]),
    "a clock that is behind": lambda i: i.token(exp=int(time.time()) - 30),
    "a clock that is ahead": lambda i: i.token(iat=int(time.time()) + 30, nbf=int(time.time()) + 30),
    "a time with a fraction": lambda i: i.token(exp=time.time() + 600.5),
    "a claim that nobody knows": lambda i: i.token(extra={"a": [1]}),
    "a key of its own in the header, which is not looked at": lambda i: i.token(header={"jwk": i.good.jwk()}),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_token_that_holds_opens_the_account(served, issuer, name):
    reply = log_in(served, id_token=ACCEPTED[name](issuer))
    assert reply.status == 200, reply.body
    who = served.get("/v1/whoami", headers=bearer(reply.json["token"])).json
    assert (who["user"], who["admin"]) == ("ann", False)
    flow = served.get(f"{FLOW}/queue", headers={"x-pf-authorization": reply.json["token"]})
    assert flow.status == 200


def test_a_nonce_is_that_of_the_log_in(served, issuer):
    token = issuer.token(nonce="n1")
    assert log_in(served, id_token=token, nonce="n1").status == 200
    for ask in [{"id_token": token}, {"id_token": token, "nonce": "n2"}, {"id_token": issuer.token(), "nonce": "n1"}]:
        reply = log_in(served, **ask)
        assert reply.status == 401 and "'nonce' is not of this log-in" in reply.json["message"]


# ---- tokens that do not


@pytest.fixture(scope="module")
def thief(tmp_path_factory):
    """Keys that are not the issuer's, though one has a name of its."""
    folder = tmp_path_factory.mktemp("thief")
    return Key(folder, "good"), Key(folder, "elliptic", "EC")


def unsigned(issuer, **header):
    return f"{encode({'typ': 'JWT', 'kid': 'good', **header})}.{encode(issuer.claims())}."


def with_mac(issuer, secret):
    text = f"{encode({'alg': 'HS256', 'typ': 'JWT', 'kid': 'good'})}.{encode(issuer.claims())}"
    return f"{text}.{encode(hmac.new(secret, text.encode(), hashlib.sha256).digest())}"


def part(token, at, change):
    parts = token.split(".")
    parts[at] = change(parts[at])
    return ".".join(parts)


def flip(text):
    return ("B" if text[10] == "A" else "A").join([text[:10], text[11:]])


def now(seconds=0):
    return int(time.time()) + seconds


SIGNATURE, ALGORITHM, KEY = "its signature is not the issuer's", "is not RS256, PS256 or ES256", "no key of the issuer"
CLAIMS, HEADER, TIME = "its claims is not an object", "its header is not an object", "is no number of seconds"
SUBJECT = "its subject ('sub')"
FORGED = {
    # the algorithm
    "none": (lambda i, t: unsigned(i, alg="none"), ALGORITHM),
    "None": (lambda i, t: unsigned(i, alg="None"), ALGORITHM),
    "no algorithm": (lambda i, t: unsigned(i), ALGORITHM),
    "an algorithm that is a number": (lambda i, t: unsigned(i, alg=1), ALGORITHM),
    "HS256 with the public key": (lambda i, t: with_mac(i, i.good.public_pem()), ALGORITHM),
    "HS256 with the modulus": (lambda i, t: with_mac(i, i.good.jwk()["n"].encode()), ALGORITHM),
    "HS256 with nothing": (lambda i, t: with_mac(i, b""), ALGORITHM),
    "RS512": (lambda i, t: i.token(header={"alg": "RS512"}), ALGORITHM),
    "rs256": (lambda i, t: i.token(header={"alg": "rs256"}), ALGORITHM),
    "ES256 by a key of RSA": (lambda i, t: i.token(header={"alg": "ES256"}), KEY),
    "RS256 by an elliptic key": (lambda i, t: i.token(i.elliptic, header={"alg": "RS256"}), KEY),
    "PS256 that is RS256": (
        lambda i, t: part(i.token(), 0, lambda _: encode({"alg": "PS256", "typ": "JWT", "kid": "good"})),
        SIGNATURE,
    ),
    # the header
    "critical headers": (lambda i, t: i.token(header={"crit": ["exp"], "exp": 1}), "critical headers"),
    "no critical headers in the list": (lambda i, t: i.token(header={"crit": []}), "critical headers"),
    "an unencoded payload": (lambda i, t: i.token(header={"crit": ["b64"], "b64": False}), "critical headers"),
    "an access token": (lambda i, t: i.token(header={"typ": "at+jwt"}), "its type ('typ')"),
    "a log-out token": (lambda i, t: i.token(header={"typ": "logout+jwt"}), "its type ('typ')"),
    "a header that is a list": (lambda i, t: part(i.token(), 0, lambda _: encode([])), HEADER),
    "a header with two algorithms": (
        lambda i, t: part(i.token(), 0, lambda _: encode(b'{"alg":"none","alg":"RS256"}')),
        HEADER,
    ),
    "a header with padding": (lambda i, t: part(i.token(), 0, lambda text: text + "="), HEADER),
    "a header in plain base64": (lambda i, t: part(i.token(), 0, lambda text: text + "+/"), HEADER),
    # the key
    "a key of another with the same name": (lambda i, t: i.token(t[0]), SIGNATURE),
    "an elliptic key of another": (lambda i, t: i.token(t[1]), SIGNATURE),
    "a key that the token brings": (lambda i, t: i.token(t[0], header={"jwk": t[0].jwk()}), SIGNATURE),
    "a key at an address": (lambda i, t: i.token(t[0], header={"jku": f"{i.url}/other"}), SIGNATURE),
    "a key whose name is a path": (lambda i, t: i.token(t[0], header={"kid": "../../dev/null"}), KEY),
    "a key whose name is no text": (lambda i, t: i.token(header={"kid": ["good"]}), "the name of its key"),
    "a key whose name is long": (lambda i, t: i.token(header={"kid": "k" * 2000}), "the name of its key"),
    "no name, another's key": (lambda i, t: i.token(t[0], header={"kid": None}), SIGNATURE),
    # the signature
    "no signature": (lambda i, t: part(i.token(), 2, lambda _: ""), "its signature is not base64url"),
    "a signature that was cut": (lambda i, t: part(i.token(), 2, lambda text: text[:-4]), "its signature"),
    "a signature with a bit changed": (lambda i, t: part(i.token(), 2, flip), SIGNATURE),
    "the signature of another token": (
        lambda i, t: part(i.token(), 2, lambda _: i.token(sub="other").split(".")[2]),
        SIGNATURE,
    ),
    "an elliptic signature of zeros": (
        lambda i, t: part(i.token(i.elliptic), 2, lambda _: encode(bytes(64))),
        SIGNATURE,
    ),
    "an elliptic signature in ASN.1": (
        lambda i, t: part(i.token(i.elliptic), 2, lambda _: encode(b"\x30\x06\x02\x01\x01\x02\x01\x01")),
        SIGNATURE,
    ),
    "claims that were changed": (
        lambda i, t: part(i.token(), 1, lambda _: encode(i.claims(sub="root"))),
        SIGNATURE,
    ),
    # the form
    "two parts": (lambda i, t: ".".join(i.token().split(".")[:2]), "three parts"),
    "five parts": (lambda i, t: i.token() + ".a.b", "three parts"),
    "words": (lambda i, t: "let me in", "three parts"),
    "dots": (lambda i, t: "..", HEADER),
    "claims that are a list": (lambda i, t: i.token(payload=[1]), CLAIMS),
    "claims that are no JSON": (lambda i, t: i.token(payload=b"{"), CLAIMS),
    "claims with two subjects": (lambda i, t: i.token(payload=b'{"sub":"a","sub":"subject 1"}'), CLAIMS),
    "a subject with a NUL": (lambda i, t: i.token(sub="subject 1\0"), CLAIMS),
    "claims of great depth": (lambda i, t: i.token(payload=b"[" * 5000), CLAIMS),
    # the claims
    "another issuer": (lambda i, t: i.token(iss="https://accounts.example.com"), "another issuer"),
    "an issuer with a slash more": (lambda i, t: i.token(iss=i.url + "/"), "another issuer"),
    "no issuer": (lambda i, t: i.token(iss=None), "another issuer"),
    "another client": (lambda i, t: i.token(aud="other"), "for another client ('aud')"),
    "a client of a longer name": (lambda i, t: i.token(aud=CLIENT + "2"), "for another client ('aud')"),
    "other clients": (lambda i, t: i.token(aud=["other", 1, None]), "for another client ('aud')"),
    "no client": (lambda i, t: i.token(aud=None), "for another client ('aud')"),
    "a client in an object": (lambda i, t: i.token(aud={CLIENT: 1}), "for another client ('aud')"),
    "several clients, nobody's": (lambda i, t: i.token(aud=[CLIENT, "other"]), "('azp')"),
    "made for another client": (lambda i, t: i.token(azp="other"), "made for another client ('azp')"),
    "made for no text": (lambda i, t: i.token(azp=[CLIENT]), "made for another client ('azp')"),
    "expired": (lambda i, t: i.token(exp=now(-90)), "it has expired"),
    "no end": (lambda i, t: i.token(exp=None), "('iat') and ends ('exp')"),
    "an end that is a text": (lambda i, t: i.token(exp=str(now(600))), TIME),
    "an end before time": (lambda i, t: i.token(exp=-1), TIME),
    "not valid yet": (lambda i, t: i.token(nbf=now(120)), "not valid yet"),
    "a start that is a text": (lambda i, t: i.token(nbf="now"), TIME),
    "made in the future": (lambda i, t: i.token(iat=now(120)), "made in the future"),
    "made long ago": (lambda i, t: i.token(iat=now(-90000)), "more than a day ago"),
    "made at no time": (lambda i, t: i.token(iat=None), "('iat') and ends ('exp')"),
    "no subject": (lambda i, t: i.token(sub=None), SUBJECT),
    "an empty subject": (lambda i, t: i.token(sub=""), SUBJECT),
    "a subject that is a number": (lambda i, t: i.token(sub=1), SUBJECT),
    "a subject that is long": (lambda i, t: i.token(sub="s" * 256), SUBJECT),
    "a subject with a line end": (lambda i, t: i.token(sub="subject 1\n"), SUBJECT),
    "a nonce that nobody asked for": (lambda i, t: i.token(nonce="n"), "'nonce'"),
}
assert len(FORGED) >= 40


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_token_opens_nothing(served, issuer, thief, name):
    make, reason = FORGED[name]
    token = make(issuer, thief)
    reply = log_in(served, id_token=token)
    assert reply.status == 401, (reply.status, reply.body)
    assert reason in reply.json["message"], reply.json
    assert "token" not in reply.json
    if "\n" in token or " " in token:
        return
    assert served.get("/v1/whoami", headers=bearer(token)).status == 401
    assert served.get(f"{FLOW}/queue", headers={"x-pf-authorization": token}).status >= 400


def test_not_even_a_good_one_is_a_token_of_the_platform(served, issuer):
    token = issuer.token()
    assert served.get("/v1/whoami", headers=bearer(token)).status == 401
    assert served.get(f"{FLOW}/queue", headers={"x-pf-authorization": token}).status >= 400
    assert served.post("/v1/login", {"user": "ann", "password": token}).status == 401
    assert served.post(f"{FLOW}/login", {"username": "ann", "password": token}).status >= 400


def test_what_is_too_large_is_not_looked_at(served, issuer):
    assert log_in(served, id_token=issuer.token(extra="x" * 13000)).status == 400
    assert log_in(served, id_token=issuer.token(extra="x" * 30000)).status == 413
    assert log_in(served).status == 400
    assert log_in(served, id_token=issuer.token(), device_code="c").status == 400


# ---- whom it stands for


def test_a_subject_without_a_user_opens_nothing(make_sso, issuer):
    server = make_sso(issuer)
    assert server.post("/v1/users", {"name": "ann"}).status == 201
    reply = log_in(server, id_token=issuer.token(sub="stranger", preferred_username="ann"))
    assert reply.status == 403 and "--oidc-subject 'stranger'" in reply.json["hint"], reply.json
    said = server.get("/v1/audit").body.decode()
    assert f"subject 'stranger' of {issuer.url}" in said, said


def test_one_subject_opens_one_account(served):
    reply = served.post("/v1/users", {"name": "ann2", "oidc_subject": "subject 1"})
    assert reply.status == 409 and "user 'ann'" in reply.json["message"], reply.body


def test_names_that_are_taken_stay_so(make_sso, issuer):
    server = make_sso(issuer, "--oidc-create-users")
    assert server.post("/v1/users", {"name": "dora"}).status == 201
    for n, name in enumerate(["root", "dora", "nobody", "daemon", "uid-1000"]):
        reply = log_in(server, id_token=issuer.token(sub=f"s{n}", preferred_username=name))
        assert reply.status == 403 and "is taken" in reply.json["message"], (name, reply.body)
    for name in ["", "../x", "a b", "-x", "n" * 61, None, 7]:
        reply = log_in(server, id_token=issuer.token(sub="s9", preferred_username=name))
        assert reply.status == 403 and "cannot be the name" in reply.json["message"], (name, reply.body)
    assert (
        "oidc_subject" not in server.get("/v1/users/root").json or not server.get("/v1/users/root").json["oidc_subject"]
    )
    first = log_in(server, id_token=issuer.token(sub="s1", preferred_username="emil"))
    again = log_in(server, id_token=issuer.token(sub="s1", preferred_username="other"))  # the name is of the first time
    assert [first.json["user"], again.json["user"]] == ["emil", "emil"]
    assert server.get("/v1/users/emil").json["admin"] is False


def test_an_address_names_a_user_once_it_is_verified(make_sso, issuer):
    server = make_sso(issuer, "--oidc-create-users", "--oidc-username-claim", "email")
    claims = {"sub": "s1", "email": "fred@example.com"}
    for verified in [None, False, "true", 1]:
        reply = log_in(server, id_token=issuer.token(**claims, email_verified=verified))
        assert reply.status == 403 and "has not verified" in reply.json["message"]
    assert log_in(server, id_token=issuer.token(**claims, email_verified=True)).json["user"] == "fred"
    other = {"sub": "s2", "email": "fred@example.org", "email_verified": True}
    assert log_in(server, id_token=issuer.token(**other)).status == 403


def test_an_administrator_binds_and_unbinds(served, issuer):
    served.paddle("user", "create", "gina", "--oidc-subject", "s gina", check=0)
    token = log_in(served, id_token=issuer.token(sub="s gina")).json["token"]
    made = served.post("/v1/tokens", {}, headers=bearer(token)).json["token"]
    assert served.get("/v1/whoami", headers=bearer(made)).json["user"] == "gina"
    served.paddle("user", "set", "gina", "--oidc-subject", "s other", check=0)
    assert served.get("/v1/whoami", headers=bearer(token)).status == 401
    assert served.get("/v1/whoami", headers=bearer(made)).status == 401
    assert log_in(served, id_token=issuer.token(sub="s gina")).status == 403
    assert log_in(served, id_token=issuer.token(sub="s other")).json["user"] == "gina"
    served.paddle("user", "set", "gina", "--oidc-subject", "", check=0)
    assert log_in(served, id_token=issuer.token(sub="s other")).status == 403


def test_nobody_binds_themselves(served, issuer):
    token = log_in(served, id_token=issuer.token()).json["token"]
    headers = {**bearer(token), "Content-Type": "application/json"}
    for body in [{"oidc_subject": "s"}, {"oidc_issuer": "https://other"}]:
        assert served.request("PATCH", "/v1/users/ann", json.dumps(body), headers).status == 403
    assert served.request("PATCH", "/v1/users/ann", {"oidc_issuer": "https://other"}).status == 400


def test_a_disabled_account_stays_shut(served, issuer):
    assert served.post("/v1/users", {"name": "hans", "oidc_subject": "s hans"}).status == 201
    token = log_in(served, id_token=issuer.token(sub="s hans")).json["token"]
    assert served.request("PATCH", "/v1/users/hans", {"disabled": True}).status == 200
    assert served.get("/v1/whoami", headers=bearer(token)).status == 401
    reply = log_in(served, id_token=issuer.token(sub="s hans"))
    assert reply.status == 403 and "disabled" in reply.json["message"]


def test_another_issuer_binds_nobody_of_the_former(make_sso, issuer, tmp_path):
    (tmp_path / "other").mkdir()
    other = Issuer(tmp_path / "other")
    try:
        server = make_sso(issuer)
        assert server.post("/v1/users", {"name": "ida", "oidc_subject": "s"}).status == 201
        server.stop()
        server.options = (*OPTIONS, "--oidc-issuer", other.url)
        server.start()
        assert log_in(server, id_token=other.token(sub="s")).status == 403
        assert log_in(server, id_token=issuer.token(sub="s")).status == 401
        assert server.request("PATCH", "/v1/users/ida", {"disabled": False}).status == 200
        assert log_in(server, id_token=other.token(sub="s")).status == 403
        assert server.request("PATCH", "/v1/users/ida", {"oidc_subject": "s"}).status == 200
        assert log_in(server, id_token=other.token(sub="s")).status == 200
    finally:
        other.close()


def test_a_log_in_has_an_end(make_sso, issuer):
    server = make_sso(issuer, "--oidc-create-users", "--oidc-expire", "2s")
    reply = log_in(server, id_token=issuer.token(preferred_username="kim")).json
    assert server.get("/v1/tokens?user=kim").json["items"][0]["note"] == "single sign-on"
    wait_for(lambda: server.get("/v1/whoami", headers=bearer(reply["token"])).status == 401, what="the token's end")


def test_it_sets_no_password(served, issuer):
    """What an issuer opens goes when the issuer says so: it does not become a password."""
    token = log_in(served, id_token=issuer.token()).json["token"]
    assert by_tcp(served, "PUT", "/v1/users/ann/password", {"password": GOOD}, bearer(token)).status == 403
    flow = by_tcp(served, "PUT", f"{FLOW}/user/ann", {"password": GOOD}, {"x-pf-authorization": token})
    assert flow.json["code"] == "AccessDenied", flow.body
    assert served.get("/v1/users/ann").json["has_password"] is False


# ---- an issuer that is away, slow, or not to be trusted


def test_keys_are_read_again_when_one_is_new_but_not_for_each_stranger(served, issuer, tmp_path):
    assert log_in(served, id_token=issuer.token()).status == 200
    newer = Key(tmp_path, "newer")
    forged, before, start = issuer.token(newer), issuer.count("/keys"), time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        assert {reply.status for reply in pool.map(lambda _: log_in(served, id_token=forged), range(100))} == {401}
    assert issuer.count("/keys") - before <= 1 + (time.monotonic() - start) / 5
    issuer.keys.append(newer.jwk())
    wait_for(lambda: log_in(served, id_token=issuer.token(newer)).status == 200, what="the new key")
    assert log_in(served, id_token=issuer.token()).status == 200


def test_a_new_key_opens_for_all_who_come_at_one_time(make_sso, tmp_path):
    issuer, newer = Issuer(tmp_path), Key(tmp_path, "newer")
    try:
        server = make_sso(issuer)
        assert server.post("/v1/users", {"name": "ann", "oidc_subject": "subject 1"}).status == 201
        assert log_in(server, id_token=issuer.token()).status == 200
        issuer.keys[:] = [newer.jwk()]
        before = len(issuer.asked)
        issuer.gate.clear()
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(log_in, server, id_token=issuer.token(newer))
            while len(issuer.asked) == before:  # the issuer is asked at most every 5 s
                if first.done():
                    first = pool.submit(log_in, server, id_token=issuer.token(newer))
                time.sleep(0.1)
            second = pool.submit(log_in, server, id_token=issuer.token(newer))
            for _ in range(20):
                assert server.get("/v1/whoami").status == 200
            issuer.gate.set()
            assert (first.result(PATIENCE).status, second.result(PATIENCE).status) == (200, 200)
    finally:
        issuer.gate.set()
        issuer.close()


def test_first_log_ins_of_a_subject_at_one_time_make_one_user(make_sso, issuer):
    server = make_sso(issuer, "--oidc-create-users")
    for n in range(5):
        token = issuer.token(sub=f"twin {n}", preferred_username=f"twin{n}")
        with ThreadPoolExecutor(2) as pool:
            replies = list(pool.map(lambda token: log_in(server, id_token=token), [token] * 2))
        assert {reply.status for reply in replies} == {200}, [reply.body for reply in replies]


def test_an_issuer_that_is_away_keeps_nobody_else_out(make_sso, tmp_path):
    issuer = Issuer(tmp_path)
    server = make_sso(issuer, "--oidc-create-users")
    assert server.post("/v1/users", {"name": "lea", "password": GOOD}).status == 201
    token = log_in(server, id_token=issuer.token(sub="m", preferred_username="mia")).json["token"]
    good, late = issuer.token(sub="m"), issuer.token(Key(tmp_path, "unknown"), sub="m")
    issuer.close()
    assert server.get("/v1/whoami", headers=bearer(token)).status == 200
    assert log_in(server, id_token=good).status == 200  # by the keys that are known
    assert log_in(server, id_token=late).status == 401
    reply = server.post("/v1/login/sso/device")
    assert reply.status == 503 and issuer.url in reply.json["message"], reply.body
    assert server.post("/v1/login", {"user": "lea", "password": GOOD}).status == 200
    server.stop()
    server.start()  # without having heard of it
    assert log_in(server, id_token=good).status == 503
    assert server.post("/v1/login", {"user": "lea", "password": GOOD}).status == 200
    issuer.open(issuer.port)
    try:
        wait_for(lambda: log_in(server, id_token=good).status == 200, what="the issuer's return")
    finally:
        issuer.close()


def test_a_slow_issuer_stalls_no_worker(make_sso, tmp_path):
    issuer = Issuer(tmp_path)
    server = make_sso(issuer, "--workers", "2")
    assert server.post("/v1/users", {"name": "lea", "password": GOOD}).status == 201
    issuer.gate.clear()
    token = issuer.token()
    try:
        with ThreadPoolExecutor(16) as pool:
            waiting = [pool.submit(log_in, server, id_token=token) for _ in range(12)]
            wait_for(lambda: issuer.asked, what="a question to the issuer")
            assert server.get("/healthz").status == 200
            assert not any(one.done() for one in waiting)
            assert server.post("/v1/login", {"user": "lea", "password": GOOD}).status == 200
            assert {one.result().status for one in waiting} == {503}
    finally:
        issuer.close()


@pytest.mark.parametrize("tls", [False, True])
def test_an_issuer_that_never_ends_is_given_up(make_sso, tmp_path, tls):
    """Each byte comes in time, and the whole never does."""
    issuer, over = Issuer(tmp_path, tls), threading.Event()
    server = make_sso(issuer, *(["--oidc-ca", tmp_path / "cert.pem"] if tls else []))

    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        with contextlib.suppress(OSError):
            while not over.wait(0.2):
                handler.wfile.write(b" ")

    issuer.replies["/keys"] = drip
    try:
        reply = log_in(server, id_token=issuer.token())
        assert reply.status == 503, reply.body
        assert issuer.count("/keys") == 1
    finally:
        over.set()
        issuer.close()


def test_an_issuer_with_tls_is_who_it_says(make_sso, tmp_path):
    issuer = Issuer(tmp_path, tls=True)
    try:
        server = make_sso(issuer, "--oidc-create-users", "--oidc-ca", tmp_path / "cert.pem")
        assert log_in(server, id_token=issuer.token(preferred_username="nora")).json["user"] == "nora"
        stranger = make_sso(issuer)  # does not know its authority
        assert log_in(stranger, id_token=issuer.token()).status == 503
        issuer.replies["/device"] = (200, issuer.device(verification_uri=f"http://127.0.0.1:{issuer.port}/enter"))
        assert server.post("/v1/login/sso/device").status == 503  # not without TLS, even here
    finally:
        issuer.close()


def test_an_issuer_sends_the_server_nowhere_else(make_sso, issuer, tmp_path):
    """More of what its documents may not say: src/api/test/oidc.c."""
    liar, path = Issuer(tmp_path), "/.well-known/openid-configuration"
    before = len(issuer.asked)
    liar.replies[path] = (302, {}, {"Location": f"{issuer.url}{path}"})
    try:
        server = make_sso(liar)
        reply = log_in(server, id_token=issuer.token())
        assert reply.status == 503 and "redirection" in reply.json["message"], reply.body
        assert server.post("/v1/login/sso/device").status == 503
    finally:
        liar.close()
    assert len(issuer.asked) == before and liar.count(path) == 1


@pytest.mark.parametrize(
    "options, words",
    [
        (["--oidc-issuer", "http://issuer.example.com"], "is not https://"),
        (["--oidc-issuer", "ftp://issuer.example.com"], "is no address"),
        (["--oidc-issuer", "https://issuer.example.com/?a=b"], "has a query"),
        (["--oidc-ca", "/none"], "go together"),
        (["--oidc-issuer", "https://issuer.example.com", "--oidc-client-secret-file", "/none"], "secret-file"),
    ],
)
def test_options_that_cannot_be(tmp_path, options, words):
    line = [BIN / "paddled", "--state", tmp_path / "s", "--listen", "none", "--oidc-client-id", CLIENT, *options]
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode != 0 and words in done.stderr, done.stderr
