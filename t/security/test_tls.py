"""TLS: what listens beyond this machine speaks it, or was asked not to; certificates change without a lost connection and stand for users."""

import base64
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import time

import pytest
from conftest import BIN, PATIENCE, ROOT, Reply, Server, wait_for
from kube.pki import Authority
from people import Person
from seeds import noise


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    made = Authority(tmp_path_factory.mktemp("pki") / "ca")
    made.issue("server", "server", names=["DNS:localhost", "IP:127.0.0.1"])
    return made


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    """The authority of clients is another one."""
    return Authority(tmp_path_factory.mktemp("pki") / "clients")


@pytest.fixture(scope="module")
def served(tmp_path_factory, authority, clients):
    options = ("--tls-cert", authority.folder / "server.crt", "--tls-key", authority.folder / "server.key")
    listen = ("--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--cpus", "8")
    server = Server(tmp_path_factory.mktemp("state"), *listen, *options, "--tls-client-ca", clients.ca).start()
    server.tcp = server.port
    yield server
    server.destroy()


@pytest.fixture(scope="module")
def ann(served):
    return Person(served, "ann")


def context(authority, pair=None):
    made = ssl.create_default_context(cafile=authority.ca)
    if pair:
        made.load_cert_chain(*pair)
    return made


def connect(server, authority, pair=None):
    return http.client.HTTPSConnection("127.0.0.1", server.tcp, timeout=PATIENCE, context=context(authority, pair))


def handshake(server, made):
    raw = socket.create_connection(("127.0.0.1", server.tcp), timeout=PATIENCE)
    return made.wrap_socket(raw, server_hostname="localhost")  # which closes it when it fails


def ask(server, authority, method, path, body=None, headers=None, pair=None):
    with contextlib.closing(connect(server, authority, pair)) as connection:
        connection.request(method, path, body, headers or {})
        return Reply(connection.getresponse())


def bearer(person):
    return {"Authorization": f"Bearer {person.token}"}


# ---- where it is needed


@pytest.mark.parametrize("option", ["--listen", "--metrics-listen"])
@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_a_listener_beyond_this_machine_needs_a_word(make_server, tmp_path, option, address):
    line = [BIN / "paddled", "--state", tmp_path / "state", "--listen", "127.0.0.1:0", option, address]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 2
    for word in (option, address, "--tls-cert", "--tls-key", "--plain-http"):
        assert word in done.stderr
    assert not (tmp_path / "state").exists()


def test_plain_http_is_that_word(make_server):
    server = make_server("--listen", "0.0.0.0:0", "--plain-http")
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


def test_bad_files_are_named(authority, clients, tmp_path):
    crt, key = authority.folder / "server.crt", authority.folder / "server.key"
    (tmp_path / "text").write_text("no certificate")
    cases = [
        ((crt,), 2, ["--tls-key"]),
        ((tmp_path / "none", key), 1, [tmp_path / "none"]),
        ((crt, tmp_path / "text"), 2, [tmp_path / "text"]),
        ((crt, authority.folder / "ca.key"), 2, [crt, authority.folder / "ca.key"]),
        ((crt, key, tmp_path / "text"), 2, [tmp_path / "text"]),
    ]
    for files, status, words in cases:
        options = [str(part) for pair in zip(("--tls-cert", "--tls-key", "--tls-client-ca"), files) for part in pair]
        line = [BIN / "paddled", "--state", tmp_path / "state", "--listen", "127.0.0.1:0", *options]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == status, (options, done.stderr)
        for word in words:
            assert str(word) in done.stderr


# ---- what is spoken


def test_old_versions_are_refused(served, authority):
    made = context(authority)
    made.set_alpn_protocols(["h2", "http/1.1"])
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        made.maximum_version = version
        with handshake(served, made) as secure:
            assert secure.selected_alpn_protocol() == "http/1.1"
            assert "GCM" in secure.cipher()[0] or "POLY1305" in secure.cipher()[0]
    done = subprocess.run(
        ["openssl", "s_client", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0", "-connect", f"127.0.0.1:{served.tcp}"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode != 0


def test_plain_requests_are_not_answered(served):
    for port in (served.tcp, served.metrics_port):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                assert b"HTTP" not in connection.recv(1000)


def test_metrics_speak_it_too(served, authority):
    connection = http.client.HTTPSConnection(
        "127.0.0.1", served.metrics_port, timeout=PATIENCE, context=context(authority)
    )
    with contextlib.closing(connection):
        connection.request("GET", "/metrics")
        assert Reply(connection.getresponse()).status == 200


def test_a_connection_is_kept_for_bodies_of_all_sizes(served, authority, ann):
    """Chunks of uploads, files whole and by ranges; then a refusal in mid-body."""
    data = noise(3_000_000, "body")
    with contextlib.closing(connect(served, authority)) as connection:
        for size in (1, 16383, 16384, 16385, len(data)):
            path, hashed = f"{ann.home}/file-{size}", hashlib.blake2b(data[:size], digest_size=32).hexdigest()
            connection.request("PUT", f"{path}?chunk=0&hash={hashed}", data[:size], bearer(ann))
            reply = Reply(connection.getresponse())
            assert reply.status == 204, reply.body
            whole = json.dumps({"op": "finish", "size": size, "chunks": [hashed]})
            connection.request("POST", path, whole, bearer(ann))
            reply = Reply(connection.getresponse())
            assert reply.status == 200, reply.body
            connection.request("GET", path, headers=bearer(ann))
            assert Reply(connection.getresponse()).body == data[:size]
        connection.request("GET", path, headers={**bearer(ann), "Range": "bytes=100-200099"})
        reply = Reply(connection.getresponse())
        assert reply.status == 206 and reply.body == data[100:200100]
    with contextlib.closing(connect(served, authority)) as connection:
        connection.putrequest("POST", "/v1/jobs")
        connection.putheader("Content-Length", "100000000")
        connection.endheaders(data[:100000])
        reply = Reply(connection.getresponse())
        assert reply.status == 401 and reply.json["code"] == "unauthenticated"


def test_streams_run_over_it(served, authority, ann):
    with contextlib.closing(connect(served, authority)) as connection:
        connection.request("GET", "/v1/events", headers=bearer(ann))
        reply = connection.getresponse()
        assert reply.status == 200
        job = ann.submit("echo hello")
        while job["id"].encode() not in (line := reply.readline()):
            assert line
    served.wait(job["id"])


def environment(server, authority, **more):
    kept = {"PATH": os.environ["PATH"], "HOME": str(server.state / "client")}
    return {**kept, "PADDLE_SERVER": f"https://localhost:{server.tcp}", "PADDLE_CACERT": str(authority.ca), **more}


def paddle(env, *words, **about):
    return subprocess.run(
        [BIN / "paddle", *words], env=env, capture_output=True, text=True, check=False, timeout=PATIENCE, **about
    )


def test_exec_runs_over_it(served, authority, ann):
    """A WebSocket both ways: a line is echoed, then as much as fills every buffer between, then the goodbye."""
    job = ann.submit("exec sleep 600")
    served.wait(job["id"], "running")
    env = environment(served, authority, PADDLE_TOKEN=ann.token)
    done = paddle(env, "exec", "-i", job["id"], "--", "cat", input="still here\n")
    assert (done.returncode, done.stdout) == (0, "still here\n"), done.stderr
    done = paddle(env, "exec", job["id"], "--", "sh", "-c", "head -c 2000000 /dev/zero | tr '\\0' x; exit 7")
    assert (done.returncode, len(done.stdout)) == (7, 2000000), done.stderr
    ann.server.paddle("cancel", job["id"])


def command_lines():
    """Of all processes."""
    lines = set()
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.add(path.read_bytes())
    return lines


def test_a_command_ends_with_its_client(served, authority, ann):
    """Who leaves without a word is noticed over TLS as well, long before pings stay without answers."""
    job = ann.submit("exec sleep 600")
    served.wait(job["id"], "running")
    line = [BIN / "paddle", "exec", "-i", job["id"], "--", "sh", "-c", "echo $$; exec sleep 777"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(
        line, env=environment(served, authority, PADDLE_TOKEN=ann.token), text=True, **pipes
    ) as client:
        assert client.stdout.readline().strip().isdigit()
        start = time.monotonic()
        client.kill()
    wait_for(lambda: b"sleep\x00777\x00" not in command_lines(), what="the end of the command")
    assert time.monotonic() - start < 14  # the first ping comes after 15 s of silence
    ann.server.paddle("cancel", job["id"])


def test_clients_say_what_is_wrong(served, authority, clients, ann, tmp_path):
    env = environment(served, authority, PADDLE_TOKEN=ann.token)
    assert paddle(env, "list").returncode == 0
    cases = [
        ({"PADDLE_CACERT": ""}, "PADDLE_CACERT"),
        ({"PADDLE_CACERT": str(clients.ca)}, "PADDLE_CACERT"),
        ({"PADDLE_CACERT": str(tmp_path / "none")}, "PADDLE_CACERT"),
        ({"PADDLE_SERVER": f"https://0.0.0.0:{served.tcp}"}, "a name that is in the"),
        ({"PADDLE_CERT": str(tmp_path / "none")}, "PADDLE_CERT"),
    ]
    for change, word in cases:
        done = paddle({**env, **change}, "list")
        assert done.returncode == 4 and word in done.stderr, (change, done.stderr)


def test_the_configuration_names_the_authority(served, authority, ann, tmp_path):
    (tmp_path / "config").write_text(
        f"paddleServer: https://localhost:{served.tcp}\ntoken: {ann.token}\ncaCert: {authority.ca}\n"
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PADDLE_CONFIG": str(tmp_path / "config")}
    done = paddle(env, "list")
    assert done.returncode == 0, done.stderr


SDK = """
import sys
from paddlecloud.transport import Transport
print(Transport(sys.argv[1], sys.argv[2] or None, retries=0).json("GET", "/v1/whoami")["user"])
"""


def test_the_sdk_speaks_it(served, authority, ann):
    env = {**environment(served, authority), "PYTHONPATH": str(ROOT / "python")}
    line = [sys.executable, "-c", SDK, f"https://localhost:{served.tcp}", ann.token]
    done = subprocess.run(line, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.stdout == "ann\n", done.stderr
    del env["PADDLE_CACERT"]
    done = subprocess.run(line, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode != 0 and "certificate" in done.stderr


# ---- certificates that change


def serial(server, authority):
    with handshake(server, context(authority)) as secure:
        return secure.getpeercert()["serialNumber"]


@pytest.mark.parametrize("way", ["hangup", "file"])
def test_a_new_certificate_costs_no_connection(make_server, authority, tmp_path, way):
    names = ["DNS:localhost", "IP:127.0.0.1"]
    crt, key = authority.issue("own", "server", names=names, folder=tmp_path)
    server = make_server("--listen", "127.0.0.1:0", "--tls-cert", crt, "--tls-key", key)
    server.tcp = server.port
    before = serial(server, authority)
    with contextlib.closing(connect(server, authority)) as kept:
        kept.request("GET", "/healthz")
        assert Reply(kept.getresponse()).status == 200
        sock = kept.sock
        # A certificate whose key has not come yet changes nothing.
        (tmp_path / "new").mkdir()
        new = authority.issue("own", "server", names=names, folder=tmp_path / "new")
        new[0].replace(crt)
        if way == "hangup":
            server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "cannot be used" in server.log(), what="the refusal of half of a pair")
        assert serial(server, authority) == before
        new[1].replace(key)
        if way == "hangup":
            server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: serial(server, authority) != before, what="the new certificate")
        kept.request("GET", "/healthz")
        assert Reply(kept.getresponse()).status == 200
        assert kept.sock is sock


# ---- certificates that stand for users


def test_a_certificate_stands_for_its_user(served, authority, clients, ann, tmp_path):
    served.post("/v1/users", {"name": "robot"})
    by_name = clients.issue("ann", "ann")
    by_uri = clients.issue("robot", "some program", names=["URI:https://a.example/", "URI:paddle:user:robot"])
    for pair, user in ((by_name, "ann"), (by_uri, "robot")):
        reply = ask(served, authority, "GET", "/v1/whoami", pair=pair)
        assert (reply.status, reply.json["user"], reply.json["admin"]) == (200, user, False)
        reply = ask(served, authority, "GET", "/api/paddleflow/v1/queue", pair=pair)
        assert reply.status == 200, reply.body
    # A token goes before it.
    assert ask(served, authority, "GET", "/v1/whoami", headers=bearer(ann), pair=by_uri).json["user"] == "ann"
    assert (
        ask(served, authority, "GET", "/v1/whoami", headers={"Authorization": "Bearer no"}, pair=by_uri).status == 401
    )
    # The command line shows it as well.
    env = environment(served, authority, PADDLE_CERT=str(by_uri[0]), PADDLE_KEY=str(by_uri[1]))
    done = paddle(env, "submit", "--name", "by-robot", "--", "true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    job = re.search(r"by-robot \((\w+)\)", done.stdout + done.stderr)[1]
    assert served.wait(job)["user"] == "robot"


def test_other_certificates_stand_for_nobody(served, authority, clients, tmp_path_factory):
    stranger = Authority(tmp_path_factory.mktemp("pki") / "stranger").issue("ann", "ann")
    cases = [
        (stranger, "issuer"),
        (authority.issue("ann", "ann"), "issuer"),  # the server's own authority is none for clients
        (clients.issue("nobody", "nobody-here"), "no user here"),
        (clients.issue("odd", "no user"), "no user here"),
        (clients.issue("two-uris", "ann", names=["URI:paddle:user:ann", "URI:paddle:user:robot"]), "names no user"),
        (clients.issue("two-names", "robot/CN=ann"), "names no user"),
    ]
    for pair, word in cases:
        reply = ask(served, authority, "GET", "/v1/whoami", pair=pair)
        assert reply.status == 401 and word in reply.json["message"], reply.body
        reply = ask(served, authority, "GET", "/api/paddleflow/v1/queue", pair=pair)
        assert reply.status >= 400
    assert ask(served, authority, "GET", "/v1/whoami").status == 401
    assert ask(served, authority, "GET", "/v1/version", pair=stranger).status == 200  # which is for anybody


def test_an_account_that_is_shut_ends_what_its_certificate_opened(served, authority, clients):
    served.post("/v1/users", {"name": "temp"})
    pair = clients.issue("temp", "temp")
    with contextlib.closing(connect(served, authority, pair)) as connection:
        connection.request("GET", "/v1/events")
        reply = connection.getresponse()
        assert reply.status == 200
        start = time.monotonic()
        served.paddle("user", "set", "temp", "--disabled", check=0)
        while reply.readline():
            pass
        assert time.monotonic() - start < 600
    assert ask(served, authority, "GET", "/v1/whoami", pair=pair).status == 401


def test_a_certificate_changes_no_password(served, authority, clients):
    """Who has it does not know the old one."""
    served.post("/v1/users", {"name": "carl", "password": "correct horse 1"})
    pair = clients.issue("carl", "carl")
    body = json.dumps({"password": "another horse 2"})
    assert ask(served, authority, "PUT", "/v1/users/carl/password", body, pair=pair).status in (400, 403)
    flow = "/api/paddleflow/v1/user/carl"
    assert ask(served, authority, "PUT", flow, body, pair=pair).status in (400, 403)
    login = json.dumps({"user": "carl", "password": "correct horse 1"})
    assert ask(served, authority, "POST", "/v1/login", login).status == 200


def test_what_a_certificate_makes_ends_with_it(served, authority, clients):
    """Else who has it for an hour has the account for good."""
    served.post("/v1/users", {"name": "dora"})
    pair = clients.issue("dora", "dora")
    made = ask(served, authority, "POST", "/v1/tokens", "{}", pair=pair)
    assert made.status == 201 and made.json["expires_at"], made.body
    longer = json.dumps({"expires_in": 3659 * 86400})
    assert ask(served, authority, "POST", "/v1/tokens", longer, pair=pair).status == 403
    shorter = json.dumps({"expires_in": 60})
    assert ask(served, authority, "POST", "/v1/tokens", shorter, pair=pair).status == 201


def renew(authority, path):
    """Another certificate of the authority, by the same key."""
    subject = subprocess.run(
        ["openssl", "x509", "-in", authority.ca, "-noout", "-subject", "-nameopt", "compat"],
        check=True, capture_output=True, text=True,
    ).stdout.removeprefix("subject=").strip()  # fmt: skip
    subprocess.run(
        ["openssl", "req", "-x509", "-key", authority.folder / "ca.key", "-subj", subject, "-days", "9", "-out", path,
         "-addext", "keyUsage=critical,keyCertSign,cRLSign"],
        check=True, capture_output=True,
    )  # fmt: skip
    return path.read_text()


def test_a_replaced_authority_ends_what_its_certificates_made_and_opened(
    make_server, authority, clients, tmp_path, tmp_path_factory
):
    trusted = tmp_path / "clients.crt"
    trusted.write_text(clients.ca.read_text())
    later = Authority(tmp_path_factory.mktemp("pki") / "later")
    files = ("--tls-cert", authority.folder / "server.crt", "--tls-key", authority.folder / "server.key")
    server = make_server("--listen", "127.0.0.1:0", *files, "--tls-client-ca", trusted)
    server.tcp = server.port
    server.post("/v1/users", {"name": "eve", "password": "correct horse 3"})
    pair, new_pair = clients.issue("eve", "eve"), later.issue("eve", "eve")
    reads = iter(range(1, 10))

    def trust(text):
        trusted.write_text(text)
        n = next(reads)
        wait_for(lambda: server.log().count("read the certificate again") >= n, what="the new file")

    def who(token=None, pair=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        reply = ask(server, authority, "GET", "/v1/whoami", headers=headers, pair=pair)
        return reply.json.get("user") if reply.status == 200 else reply.json["message"]

    made = ask(server, authority, "POST", "/v1/tokens", "{}", pair=pair).json
    by_token = {"Authorization": f"Bearer {made['token']}"}
    child = ask(server, authority, "POST", "/v1/tokens", "{}", headers=by_token).json
    login = json.dumps({"user": "eve", "password": "correct horse 3"})
    free = ask(server, authority, "POST", "/v1/login", login).json["token"]
    assert [who(token) for token in (made["token"], child["token"], free)] == ["eve"] * 3

    # The log of what was done says which certificate it was.
    (line,) = [line for line in server.get("/v1/audit").json["items"] if line.get("subject", "").startswith(made["id"])]
    der = ssl.PEM_cert_to_DER_cert(pathlib.Path(pair[0]).read_text())
    assert line["user"] == "eve" and "token" not in line
    assert "CN=eve" in line["certificate"] and hashlib.sha256(der).hexdigest() in line["certificate"], line
    (line,) = [
        line for line in server.get("/v1/audit").json["items"] if line.get("subject", "").startswith(child["id"])
    ]
    assert line["token"] == made["id"] and "certificate" not in line

    # The same authority with a renewed certificate is the same one.
    trust(renew(clients, tmp_path / "renewed.crt"))
    assert who(made["token"]) == who(child["token"]) == who(pair=pair) == "eve"

    with contextlib.ExitStack() as opened:
        streams = []
        for headers, shown in (({}, pair), (by_token, None)):
            connection = opened.enter_context(contextlib.closing(connect(server, authority, shown)))
            connection.request("GET", "/v1/events", headers=headers)
            streams.append(connection.getresponse())
        assert [stream.status for stream in streams] == [200, 200]
        kept = opened.enter_context(contextlib.closing(connect(server, authority, pair)))
        kept.request("GET", "/v1/whoami")
        assert Reply(kept.getresponse()).json["user"] == "eve"

        trust(later.ca.read_text())
        for token in (made["token"], child["token"]):
            assert "--tls-client-ca" in who(token)
        flow = ask(server, authority, "GET", "/api/paddleflow/v1/queue", headers={"x-pf-authorization": made["token"]})
        assert flow.status >= 400, flow.body
        for stream in streams:
            while stream.readline():
                pass
        kept.request("GET", "/v1/whoami")
        assert Reply(kept.getresponse()).status == 401
    assert who(free) == who(pair=new_pair) == "eve"
    assert "--tls-client-ca" in who(pair=pair) or "issuer" in who(pair=pair)

    server.kill()
    server.start()
    server.tcp = server.port
    assert "--tls-client-ca" in who(made["token"]) and who(free) == "eve"


# ---- bounds hold over it


def test_half_a_handshake_ends(served):
    with socket.create_connection(("127.0.0.1", served.tcp), timeout=PATIENCE) as connection:
        connection.sendall(base64.b64decode("FgMBAgABAAH8AwM="))  # the first bytes of a ClientHello
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
