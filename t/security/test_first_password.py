"""Who can be `root` on a new server: who reads the file, and where older clients are let in, those; never a job.

doc/guide/people.md, decision 6."""

import http.client
import json
import os
import pathlib
import socket
import stat
import subprocess

import pytest
from conftest import BIN, PATIENCE, Server, open_way, wait_for
from people import Person

LOGINS = [("/v1/login", "user"), ("/api/paddleflow/v1/login", "username")]
GOOD = "correct horse battery"

# What a job, or anybody on the machine, does to be root: prints the status of the answer.
TRY = """import http.client, json, socket, sys
if sys.argv[1] == "unix":
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(sys.argv[2])
else:
    connection = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]), timeout=60)
connection.request("POST", "/v1/login", json.dumps({"user": "root", "password": "paddleflow"}))
print(connection.getresponse().status)
"""


# The same by a socket that is made to look like another's: with the local end of a connection that somebody else has
# (`shared PORT ITS-PORT`: IP_LOCAL_PORT_RANGE), or in a thread with descriptors of its own, whose socket a process that
# is no job's holds, too (`hidden PORT HOLDER`).
DISGUISED = """import array, ctypes, json, socket, struct, sys, threading
body = json.dumps({"user": "root", "password": "paddleflow"})
head = "POST /v1/login HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n"
request = f"{head}Content-Length: {len(body)}\\r\\n\\r\\n{body}".encode()

def ask(connection):
    connection.sendall(request)
    print(connection.recv(1 << 16).split()[1].decode())

def shared(port, other):
    connection = socket.socket(socket.AF_INET6)
    connection.setsockopt(socket.SOL_IP, 51, struct.pack("I", other | other << 16))
    connection.connect(("::ffff:127.0.0.1", port))
    assert connection.getsockname()[1] == other
    ask(connection)

def hidden(port, holder):
    assert ctypes.CDLL(None).unshare(0x400) == 0  # CLONE_FILES
    connection, there = socket.create_connection(("127.0.0.1", port)), socket.socket(socket.AF_UNIX)
    there.connect("\\0" + holder)
    there.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [connection.fileno()]))])
    there.recv(1)
    ask(connection)

how, port, rest = sys.argv[1], int(sys.argv[2]), sys.argv[3]
thread = threading.Thread(target={"shared": shared, "hidden": hidden}[how], args=(port, int(rest) if rest.isdigit() else rest))
thread.start()
thread.join()
"""


def log_in(server, password, route=LOGINS[0], source="127.0.0.1", **headers):
    """The status of a log-in as root by TCP."""
    path, name = route
    body = json.dumps({name: "root", "password": password})
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE, source_address=(source, 0))
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
        reply = connection.getresponse()
        return reply.status if b"AuthFailed" not in reply.read() else 401
    finally:
        connection.close()


def first_password(server):
    return (server.state / "root-password").read_text().strip()


@pytest.fixture
def make(tmp_path_factory):
    servers = []

    def make(*options):
        servers.append(Server(tmp_path_factory.mktemp("state"), "--cpus", "8", *options))
        return servers[-1].start()

    yield make
    for server in servers:
        server.destroy()


def test_a_new_server_has_a_password_of_its_own(make):
    server = make("--listen", "127.0.0.1:0")
    file = server.state / "root-password"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_uid == os.geteuid()
    assert f"file={file}" in server.log()
    password = first_password(server)
    assert password not in server.log()
    for route in LOGINS:
        assert log_in(server, password, route) == 200
        assert log_in(server, "paddleflow", route) == 401
    assert server.post("/v1/login", {"user": "root", "password": "paddleflow"}).status == 401  # by the socket
    assert first_password(make("--listen", "127.0.0.1:0")) != password


def test_it_stays_until_it_is_changed(make):
    server = make("--listen", "127.0.0.1:0")
    password = first_password(server)
    server.stop()
    server.start()
    assert log_in(server, password) == 200
    assert first_password(server) == password
    assert server.request("PUT", "/v1/users/root/password", json.dumps({"password": GOOD})).status == 204
    assert not (server.state / "root-password").exists()
    assert log_in(server, password) == 401
    assert log_in(server, GOOD) == 200
    server.stop()
    server.start()
    assert log_in(server, GOOD) == 200
    assert not (server.state / "root-password").exists()


def test_a_server_that_died_while_it_made_one_uses_it(make):
    server = make()  # without TCP nobody needs one
    assert not (server.state / "root-password").exists()
    server.stop()
    written = "0123456789abcdef" * 2
    (server.state / "root-password").write_text(written + "\n")
    server.options = ("--listen", "127.0.0.1:0")
    server.start()
    assert log_in(server, written) == 200


def test_it_listens_beyond_the_loopback_from_the_first_start(make):
    server = make("--listen", "0.0.0.0:0", "--plain-http")
    assert log_in(server, first_password(server)) == 200
    assert log_in(server, "paddleflow") == 401


FORWARDED = {
    "Forwarded": "for=10.1.2.3",
    "Via": "1.1 proxy",
    "X-Forwarded-For": "10.1.2.3",
    "X-Forwarded-Host": "127.0.0.1",
    "X-Forwarded-Proto": "http",
    "X-Real-IP": "10.1.2.3",
}


def test_older_clients_are_let_in_where_the_administrator_says(make):
    given = ["127.0.0.1", *(f"127.0.0.{i}" for i in range(10, 10 + len(FORWARDED)))]
    server = make("--listen", "127.0.0.1:0", "--published-password", ",".join(given))
    assert not (server.state / "root-password").exists()
    assert "published-password=" + ",".join(given) in server.log()
    assert server.post("/v1/login", {"user": "root", "password": "paddleflow"}).status == 200
    for route in LOGINS:
        assert log_in(server, "paddleflow", route) == 200
        assert log_in(server, "paddleflow", route, source="127.0.0.2") == 401
        assert log_in(server, "paddleflow", route, Host="example.org") == 401
    for source, (name, value) in zip(given[1:], FORWARDED.items(), strict=True):
        assert log_in(server, "paddleflow", source=source, **{name: value}) == 401, name
        assert log_in(server, "paddleflow", source=source) == 200  # and the account is not slowed down


def test_a_server_that_has_a_random_password_says_that_the_option_does_nothing(make):
    server = make("--listen", "127.0.0.1:0")
    written = first_password(server)
    for changed in (False, True):
        if changed:
            assert server.request("PUT", "/v1/users/root/password", {"password": "correct horse"}).status == 204
        server.stop()
        server.options = ("--listen", "127.0.0.1:0", "--published-password", "127.0.0.1")
        server.start()
        said = server.log()[server.log_start :]
        assert "--published-password has no effect" in said and "can log in as 'root'" not in said, said
        assert (str(server.state / "root-password") in said) != changed, said
        assert log_in(server, "paddleflow") == 401
        assert log_in(server, "correct horse" if changed else written) == 200


def test_only_on_the_socket(make):
    server = make("--listen", "127.0.0.1:0", "--published-password", "unix")
    assert server.post("/v1/login", {"user": "root", "password": "paddleflow"}).status == 200
    assert log_in(server, "paddleflow") == 401


def test_addresses_that_are_none_are_refused(tmp_path):
    for wrong in ("example.org", "127.0.0.1,,", "10.0.0.0/8"):
        line = [BIN / "paddled", "--state", tmp_path / "state", "--published-password", wrong]
        done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 2 and "--published-password" in done.stderr, done


@pytest.mark.skipif(os.geteuid() != 0, reason="members have rights of their own only where the server is root")
def test_no_job_is_root_by_it(make, tmp_path):
    server = make("--listen", "127.0.0.1:0", "--published-password", "127.0.0.1")
    os.chmod(server.socket, 0o666)
    script = tmp_path / "be_root.py"
    script.write_text(TRY)
    open_way(tmp_path)
    script.chmod(0o644)
    tcp, unix = f"python3 {script} 127.0.0.1 {server.port}", f"python3 {script} unix {server.socket}"
    ann = Person(server, "ann")
    # The same user without a job is let in, to show that it is the job that is not.
    uid = ann.uid()
    line = ["/usr/bin/python3", script, "127.0.0.1", str(server.port)]
    done = subprocess.run(
        line, user=uid, group=uid, extra_groups=[], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["200"], done.stderr
    assert ann.run(f"{tcp}; {unix}").split() == ["401", "401"]
    # Root's own job, too.
    job = server.wait(server.submit(["sh", "-c", tcp])["id"])
    assert server.member_log(job["id"]).split() == ["401"]
    # A command beside a member, and what it leaves behind.
    job = ann.submit("exec sleep 600")
    server.wait(job["id"], "running")
    assert ann.paddle("exec", job["id"], "--", "sh", "-c", tcp).stdout.split() == ["401"]
    left = f"cd $PADDLE_WORK_DIR 2>/dev/null; (setsid sh -c 'sleep 1; {tcp} >said' &) ; pwd"
    work = pathlib.Path(ann.paddle("exec", job["id"], "--", "sh", "-c", left).stdout.strip())
    assert wait_for(lambda: (work / "said").exists() and (work / "said").read_text(), 60, "the answer").split() == [
        "401"
    ]
    ann.paddle("cancel", job["id"])


@pytest.fixture
def disguised(make, tmp_path):
    """A user's job that tries by DISGUISED, in a server where the published password is good."""
    server = make("--listen", "127.0.0.1:0", "--published-password", "127.0.0.1")
    script = tmp_path / "disguised.py"
    script.write_text(DISGUISED)
    open_way(tmp_path)
    script.chmod(0o644)
    assert log_in(server, "paddleflow") == 200
    ann = Person(server, "ann")
    return lambda how, rest: ann.submit(f"python3 {script} {how} {server.port} {rest}")["id"], server


def test_no_job_is_root_by_the_end_of_anothers_connection(disguised):
    submit, server = disguised
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(
        listening.getsockname()
    ) as other:
        job = server.wait(submit("shared", other.getsockname()[1]))
        assert server.member_log(job["id"]).split() == ["401"], job["reason"]


def test_no_job_is_root_by_a_socket_that_another_holds_too(disguised):
    submit, server = disguised
    name = f"paddle-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("\0" + name)
        listening.listen()
        listening.settimeout(PATIENCE)
        job = submit("hidden", name)
        peer, _ = listening.accept()
        _, held, _, _ = socket.recv_fds(peer, 1, 1)
        peer.sendall(b"k")
        job = server.wait(job)
        assert server.member_log(job["id"]).split() == ["401"], job["reason"]
        # whoever holds it alone is no member, but did not make it
        body = json.dumps({"user": "root", "password": "paddleflow"})
        head = f"POST /v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        with socket.socket(fileno=held[0]) as connection:
            connection.sendall(f"{head}\r\n\r\n{body}".encode())
            assert connection.recv(1 << 16).split()[1] == b"401"
        peer.close()
