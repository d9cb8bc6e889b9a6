"""A second factor of log-ins by password: doc/guide/security.md, "Second factor"."""

import base64
import concurrent.futures
import json
import os
import pty
import re
import sqlite3
import subprocess

import pytest
from conftest import BIN, Server
from totp import Device

GOOD = "correct horse 1"
FLOW = "/api/paddleflow/v1"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("factor") / "state", "--listen", "127.0.0.1:0").start()
    yield server
    server.destroy()


def make_user(server, name, **more):
    assert server.post("/v1/users", {"name": name, "password": GOOD, **more}).status == 201


def log_in(server, user, password=GOOD, otp=None):
    return server.post("/v1/login", {"user": user, "password": password, **({"otp": otp} if otp else {})})


def bearer(token):
    return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


def call(server, method, path, token, body=None):
    return server.request(method, path, json.dumps(body) if body is not None else None, bearer(token))


def set_up(server, user, token=None):
    """The device, recovery codes and the token that goes on."""
    token = token or log_in(server, user).json["token"]
    made = call(server, "POST", "/v1/second-factor", token).json
    device = Device(made["secret"])
    reply = call(
        server, "PUT", "/v1/second-factor", token, {"secret": device.secret, "code": device.code(), "password": GOOD}
    )
    assert reply.status == 200, reply.body
    return device, reply.json["recovery_codes"], reply.json["token"]


def says(reply, status, code, *words):
    assert (reply.status, reply.json["code"]) == (status, code), reply.body
    for word in words:
        assert word in reply.json["message"] + (reply.json.get("hint") or ""), reply.body


def test_a_log_in_needs_the_code_and_each_is_good_once(house):
    make_user(house, "ada")
    before = log_in(house, "ada").json["token"]
    device, recovery, token = set_up(house, "ada")
    says(call(house, "GET", "/v1/whoami", before), 401, "unauthenticated")  # what the password alone gave has ended
    assert call(house, "GET", "/v1/whoami", token).json["user"] == "ada"
    assert call(house, "GET", "/v1/users/ada", token).json["has_second_factor"] is True
    says(log_in(house, "ada"), 401, "second_factor", "--otp")
    says(log_in(house, "ada", "wrong"), 401, "unauthenticated")
    code = device.code()
    assert log_in(house, "ada", otp=code).status == 200
    says(log_in(house, "ada", otp=code), 401, "unauthenticated")
    assert len(set(recovery)) == 10
    assert log_in(house, "ada", otp=recovery[3]).status == 200
    says(log_in(house, "ada", otp=recovery[3]), 401, "unauthenticated")


def test_a_used_code_stays_used_across_a_restart(house):
    make_user(house, "ben")
    device, recovery, _ = set_up(house, "ben")
    code = device.code()
    assert log_in(house, "ben", otp=code).status == 200 and log_in(house, "ben", otp=recovery[0]).status == 200
    house.kill()
    house.start()
    says(log_in(house, "ben", otp=code), 401, "unauthenticated")
    says(log_in(house, "ben", otp=recovery[0]), 401, "unauthenticated")
    assert log_in(house, "ben", otp=recovery[1]).status == 200


def test_two_at_one_time_with_one_code_are_one(house):
    make_user(house, "cleo")
    device, *_ = set_up(house, "cleo")
    code = device.code()
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(lambda _: log_in(house, "cleo", otp=code), range(4)))
    assert sorted(reply.status for reply in replies) == [200, 401, 401, 401]


def test_guessing_is_slowed_down_even_for_who_knows_the_password(house):
    make_user(house, "dora")
    device, recovery, token = set_up(house, "dora")
    for _ in range(5):
        says(log_in(house, "dora", otp=device.wrong()), 401, "unauthenticated")
        says(log_in(house, "dora"), 401, "second_factor")  # the right password alone gives no further tries
    reply = log_in(house, "dora", otp=recovery[0])
    says(reply, 429, "quota", "codes", "dora")
    assert 1 <= int(reply.headers["Retry-After"]) <= 60
    assert call(house, "GET", "/v1/whoami", token).status == 200
    house.post("/v1/users/dora/second-factor/disable", {})  # an administrator helps
    assert log_in(house, "dora").status == 200


def test_a_wrong_password_with_a_code_says_no_more(house):
    make_user(house, "emil")
    device, *_ = set_up(house, "emil")
    replies = [log_in(house, "emil", "wrong", device.wrong()), log_in(house, "emil", GOOD, device.wrong())]
    texts = {(reply.status, reply.json["code"], reply.json["message"]) for reply in replies}
    assert len(texts) == 1, texts
    stranger = log_in(house, "nobody-here", "wrong", "123456")
    assert (stranger.status, stranger.json["message"].replace("nobody-here", "emil")) == (
        replies[0].status,
        replies[0].json["message"],
    )


def test_older_clients_append_the_code_or_use_a_token(house):
    make_user(house, "flora")
    device, _, token = set_up(house, "flora")
    made = call(house, "POST", "/v1/tokens", token, {}).json["token"]
    attempts = {
        "alone": (GOOD, False),
        "wrong code": (GOOD + device.wrong(), False),
        "code": (GOOD + device.code(), True),
        "token": (made, True),
        "another's": (house.post("/v1/tokens", {"user": "root"}).json["token"], False),
    }
    for what, (password, good) in attempts.items():
        reply = house.post(f"{FLOW}/login", {"username": "flora", "password": password})
        assert (reply.status == 200) is good, (what, reply.body)
        if good:
            headers = {"x-pf-authorization": reply.json["authorization"]}
            assert house.request("GET", f"{FLOW}/queue", headers=headers).status == 200, what
        else:
            assert reply.json["code"] == "AuthFailed", what
    again = house.post(f"{FLOW}/login", {"username": "flora", "password": attempts["code"][0]})
    assert again.json["code"] == "AuthFailed"
    make_user(house, "gustav")  # none of theirs: the whole is the password
    assert house.post(f"{FLOW}/login", {"username": "gustav", "password": GOOD + "123456"}).json["code"] == "AuthFailed"


def test_tokens_and_the_socket_are_not_asked(house):
    make_user(house, "hanna")
    made = house.post("/v1/tokens", {"user": "hanna"}).json["token"]
    set_up(house, "hanna")
    assert call(house, "GET", "/v1/whoami", made).status == 200
    assert house.get("/v1/whoami").status == 200


def test_setting_up_and_taking_away_asks_for_the_password(house):
    make_user(house, "ida")
    token = log_in(house, "ida").json["token"]
    secret = call(house, "POST", "/v1/second-factor", token).json["secret"]
    device = Device(secret)
    good = {"secret": secret, "code": device.code()}
    bad = {
        "no password": (good, 400, "invalid"),
        "a wrong one": ({**good, "password": "wrong"}, 403, "denied"),
        "a wrong code": ({**good, "code": device.wrong(), "password": GOOD}, 400, "invalid"),
        "a short secret": ({**good, "secret": "AAAA", "password": GOOD}, 400, "invalid"),
    }
    for what, (body, status, code) in bad.items():
        reply = call(house, "PUT", "/v1/second-factor", token, body)
        assert (reply.status, reply.json["code"]) == (status, code), (what, reply.body)
    assert call(house, "GET", "/v1/users/ida", token).json["has_second_factor"] is False
    reply = call(house, "PUT", "/v1/second-factor", token, {**good, "password": GOOD})
    token, recovery = reply.json["token"], reply.json["recovery_codes"]
    says(call(house, "PUT", "/v1/second-factor", token, {**good, "password": GOOD}), 409, "conflict", "disable")
    disable = "/v1/users/ida/second-factor/disable"
    says(call(house, "POST", disable, token, {"password": GOOD}), 400, "invalid", "code")
    says(call(house, "POST", disable, token, {"code": recovery[0]}), 400, "invalid", "password")
    says(call(house, "POST", disable, token, {"password": "wrong", "code": recovery[0]}), 403, "denied")
    says(call(house, "POST", disable, token, {"password": GOOD, "code": device.wrong()}), 403, "denied")
    make_user(house, "jan")
    other = log_in(house, "jan").json["token"]
    says(call(house, "POST", disable, other, {"password": GOOD, "code": recovery[0]}), 403, "denied")
    assert call(house, "POST", disable, token, {"password": GOOD, "code": recovery[0]}).status == 204
    assert log_in(house, "ida").status == 200


def test_an_administrator_takes_it_away_and_that_is_recorded(house):
    make_user(house, "klara")
    device, recovery, _ = set_up(house, "klara")
    assert house.post("/v1/users/klara/second-factor/disable", {}).status == 204
    assert log_in(house, "klara").status == 200
    shown = house.get("/v1/audit?limit=1000")
    lines = [line for line in shown.json["items"] if line["action"] == "second factor delete"]
    wanted = {"user": "root", "owner": "klara", "outcome": "ok"}
    assert any(wanted.items() <= line.items() for line in lines), lines
    text = shown.body.decode()
    assert device.secret not in text and not any(code in text for code in recovery)


def test_the_secret_is_not_in_the_database(house):
    make_user(house, "leo")
    device, recovery, _ = set_up(house, "leo")
    raw = base64.b32decode(device.secret)
    for path in house.state.glob("paddle.db*"):
        data = path.read_bytes()
        for what in (device.secret.encode(), raw, base64.b64encode(raw)[:24], *map(str.encode, recovery)):
            assert what not in data, path
    key = house.state / "second-factor.key"
    assert key.stat().st_mode & 0o777 == 0o600 and key.stat().st_size == 32
    shown = house.get("/v1/users/leo").json
    assert "second_factor" not in shown and shown["has_second_factor"] is True
    assert (
        house.request(
            "PATCH", "/v1/users/leo", json.dumps({"second_factor": "x"}), {"Content-Type": "application/json"}
        ).status
        == 400
    )


def client_env(server, config):
    url = f"http://127.0.0.1:{server.port}"
    about = {**os.environ, "PADDLE_CONFIG": str(config), "PADDLE_SERVER": url, "HOME": str(server.state / "client")}
    return {name: value for name, value in about.items() if name not in ("NO_COLOR", "PADDLE_TOKEN", "PADDLE_OTP")}


def read_until(fd, pattern):
    said = ""
    while not re.search(pattern, said):
        said += os.read(fd, 4096).decode(errors="replace")
    return said


def on_a_terminal(server, config, *args):
    env = {**client_env(server, config), "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(BIN / "paddle", ["paddle", *args], env)
    return pid, fd


def finish(pid, fd):
    said = ""
    try:
        while more := os.read(fd, 4096):
            said += more.decode(errors="replace")
    except OSError:
        pass
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


def test_the_command_line_on_a_terminal(house, tmp_path):
    make_user(house, "mona")
    config = tmp_path / "config"
    pid, fd = on_a_terminal(house, config, "login", "--user", "mona")
    read_until(fd, "password of")
    os.write(fd, f"{GOOD}\n".encode())
    assert finish(pid, fd)[0] == 0
    pid, fd = on_a_terminal(house, config, "user", "totp", "enable")
    read_until(fd, "password: ")
    os.write(fd, f"{GOOD}\n".encode())
    said = read_until(fd, "shows now: ")
    assert "\033[30;107m" in said and "▄" in said  # the picture
    device = Device(re.search(r"secret\s+(\w+)", said)[1])
    assert f"secret={device.secret}" in said and "otpauth://totp/paddle:mona?" in said
    os.write(fd, f"{device.wrong()}\n".encode())
    assert "code" in read_until(fd, "shows now: ")  # once more, with the same secret
    os.write(fd, f"{device.code()}\n".encode())
    status, said = finish(pid, fd)
    assert status == 0 and len(re.findall(r"\b\w{4}-\w{4}-\w{4}-\w{4}\b", said)) == 10, said
    pid, fd = on_a_terminal(house, config, "whoami")
    status, said = finish(pid, fd)
    assert status == 0 and "mona" in said  # the new token was kept
    again = run(house, config, "user", "totp", "enable", "--password-stdin", stdin=f"{GOOD}\n")
    assert again.returncode != 0 and "second factor already" in again.stderr and not again.stdout, again
    pid, fd = on_a_terminal(house, config, "login", "--user", "mona")
    read_until(fd, "password of")
    os.write(fd, f"{GOOD}\n".encode())
    read_until(fd, "code of the second factor: ")
    os.write(fd, f"{device.code()}\n".encode())
    assert finish(pid, fd)[0] == 0


def run(server, config, *args, stdin="", **env):
    about = {"input": stdin, "env": {**client_env(server, config), **env}, "text": True, "capture_output": True}
    return subprocess.run([BIN / "paddle", *args], **about, timeout=120, start_new_session=True, check=False)


def test_the_command_line_in_scripts(house, tmp_path):
    make_user(house, "nils")
    device, recovery, _ = set_up(house, "nils")
    config = tmp_path / "config"
    login = ("login", "--user", "nils", "--password-stdin")
    missing = run(house, config, *login, stdin=f"{GOOD}\n")
    assert missing.returncode == 2 and "PADDLE_OTP" in missing.stderr, missing.stderr
    wrong = run(house, config, *login, "--otp", device.wrong(), stdin=f"{GOOD}\n")
    assert wrong.returncode == 3, wrong.stderr
    for args, text, env in (
        (("--otp", device.code()), f"{GOOD}\n", {}),
        ((), f"{GOOD}\n{recovery[0]}\n", {}),
        ((), f"{GOOD}\n", {"PADDLE_OTP": recovery[1]}),
    ):
        done = run(house, config, *login, *args, stdin=text, **env)
        assert done.returncode == 0, done.stderr
    done = run(house, config, "user", "totp", "disable", "--password-stdin", "--otp", recovery[2], stdin=f"{GOOD}\n")
    assert done.returncode == 0, done.stderr
    assert log_in(house, "nils").status == 200
    for args in (("enable", "nils"), ("on",), ()):
        assert run(house, config, "user", "totp", *args).returncode == 2


def test_the_command_line_with_a_token_on_the_socket(house, tmp_path):
    make_user(house, "olaf")
    _, recovery, token = set_up(house, "olaf", log_in(house, "olaf").json["token"])
    about = {"PADDLE_SERVER": f"unix:{house.socket}", "PADDLE_TOKEN": token}
    disable = ("user", "totp", "disable", "--password-stdin")
    done = run(house, tmp_path / "config", *disable, "--otp", recovery[0], stdin=f"{GOOD}\n", **about)
    assert done.returncode == 0, done.stderr
    assert log_in(house, "olaf").status == 200


def test_an_empty_code_is_none(house, tmp_path):
    make_user(house, "paul")
    set_up(house, "paul")
    login = ("login", "--user", "paul", "--password-stdin")
    done = run(house, tmp_path / "config", *login, stdin=f"{GOOD}\n", PADDLE_OTP="")
    assert done.returncode == 2 and "PADDLE_OTP" in done.stderr, done.stderr


def test_whom_the_server_asks_for_one(tmp_path):
    server = Server(tmp_path / "state", "--listen", "127.0.0.1:0").start()
    try:
        make_user(server, "boss", admin=True)
        make_user(server, "olaf")
        early, own = log_in(server, "boss").json["token"], server.post("/v1/tokens", {"user": "boss"}).json["token"]
        server.stop()
        server.options = (*server.options, "--require-second-factor", "administrators")
        server.start()
        assert log_in(server, "olaf").json.get("lacks_second_factor") is None
        reply = log_in(server, "boss")
        assert reply.status == 200 and reply.json["lacks_second_factor"] is True
        flow = server.post(f"{FLOW}/login", {"username": "boss", "password": GOOD}).json["authorization"]
        for token in (early, reply.json["token"]):
            says(call(server, "GET", "/v1/whoami", token), 403, "denied", "paddle user totp enable")
            says(call(server, "POST", "/v1/jobs", token, {"command": ["true"]}), 403, "denied")
            says(call(server, "POST", "/v1/tokens", token, {}), 403, "denied")
            says(call(server, "POST", "/v1/users/olaf/second-factor/disable", token, {}), 403, "denied")
            says(
                call(server, "PUT", "/v1/users/boss/password", token, {"password": "another one 1", "old": GOOD}),
                403,
                "denied",
            )
        old = server.request("GET", f"{FLOW}/queue", headers={"x-pf-authorization": flow})
        assert old.json["code"] == "AccessDenied", old.body
        assert call(server, "GET", "/v1/users", own).status == 200  # a token is not asked
        assert server.get("/v1/users").status == 200  # nor is the socket
        for address in (f"http://127.0.0.1:{server.port}", server.url):
            about = {"PADDLE_SERVER": address, "PADDLE_TOKEN": reply.json["token"]}
            enable = ("user", "totp", "enable", "--password-stdin")
            done = run(server, tmp_path / "config", *enable, stdin=f"{GOOD}\n", **about)
            assert done.returncode == 2 and "secret" in done.stdout, done  # and asks for the code
        device, _, token = set_up(server, "boss", reply.json["token"])
        assert call(server, "GET", "/v1/users", token).status == 200
        says(call(server, "GET", "/v1/whoami", early), 401, "unauthenticated")
        assert log_in(server, "boss", otp=device.code()).json.get("lacks_second_factor") is None
    finally:
        server.destroy()


def test_an_older_state_directory_starts_and_its_users_log_in(tmp_path):
    server = Server(tmp_path / "state", "--listen", "127.0.0.1:0").start()
    try:
        make_user(server, "paula")
        server.stop()
        with sqlite3.connect(server.state / "paddle.db") as db:
            (body,) = db.execute("SELECT body FROM object WHERE kind = 0 AND name = 'paula'").fetchone()
        assert "second_factor" not in body  # as an older server left it
        server.start()
        assert log_in(server, "paula").status == 200
        set_up(server, "paula")
        server.stop()
        (server.state / "second-factor.key").unlink()
        server.start()
        says(log_in(server, "paula", otp="123456"), 503, "unavailable", "administrator")
        assert server.post("/v1/users/paula/second-factor/disable", {}).status == 204
        assert log_in(server, "paula").status == 200
    finally:
        server.destroy()
