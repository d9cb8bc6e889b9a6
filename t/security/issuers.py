"""Issuers of OpenID Connect: a real one (npm's oidc-provider), whose pages are used as a browser does, and one whose every word
a test decides, with keys of its own."""

import base64
import contextlib
import fcntl
import hashlib
import http.cookiejar
import http.server
import json
import re
import select
import shutil
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from conftest import PATIENCE, ROOT

CLIENT = "paddle"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


# ---- a real one


def installed():
    """The folder of the provider with its packages, by the lock file; installed once."""
    source = ROOT / "t/security/sso"
    names = ["package.json", "package-lock.json", "provider.mjs"]
    mark = hashlib.sha256(b"".join((source / name).read_bytes() for name in names)).hexdigest()[:16]
    folder = ROOT / "build/sso" / mark
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            for name in names:
                shutil.copy(source / name, folder)
            command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
            made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert made.returncode == 0, made.stderr
            (folder / "done").touch()
    return folder


class Provider:
    def __init__(self, log):
        self.log = open(log, "ab")  # noqa: SIM115 - closed with it
        self.process = subprocess.Popen(
            ["node", "provider.mjs"],
            cwd=installed(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        assert select.select([self.process.stdout], [], [], PATIENCE)[0], "the provider does not say its address"
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.log.close()


class Browser:
    """Fills in forms, and keeps cookies."""

    def __init__(self):
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(jar)
        self.page = ""

    def go(self, url, form=None):
        data = urllib.parse.urlencode(form).encode() if form else None
        try:
            with self.opener.open(url, data, timeout=PATIENCE) as reply:
                self.page = reply.read().decode()
        except urllib.error.HTTPError as error:
            self.page = error.read().decode()

    def submit(self, **fields):
        """Sends the only form of the page, with its hidden fields and these."""
        action = re.search(r'action="([^"]*)"', self.page)
        assert action, self.page
        hidden = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', self.page))
        self.go(action[1], {**hidden, **fields})

    def approve(self, url, name):
        """What a person does who is `name`."""
        self.go(url)
        self.submit()
        self.submit()
        self.submit(login=name, password="any")
        self.submit()
        assert "Sign-in Success" in self.page, self.page

    def deny(self, url):
        self.go(url)
        self.submit()
        self.submit(abort="yes")


# ---- one that a test controls


def encode(data):
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, stdin=None):
    return subprocess.run(["openssl", *arguments], input=stdin, capture_output=True, check=True).stdout


class Key:
    """A key pair in a file, and its public part as a JWK."""

    def __init__(self, folder, name, kind="RSA", bits=2048):
        self.name, self.kind, self.path = name, kind, folder / f"{name}.pem"
        how = ["RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}"]
        if kind == "EC":
            how = ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        openssl("genpkey", "-quiet", "-algorithm", *how, "-out", self.path)

    def jwk(self, **more):
        if self.kind == "EC":
            point = openssl("pkey", "-in", self.path, "-pubout", "-outform", "DER")[-64:]
            own = {"kty": "EC", "crv": "P-256", "x": encode(point[:32]), "y": encode(point[32:])}
        else:
            text = openssl("rsa", "-in", self.path, "-noout", "-modulus").decode().strip()
            own = {"kty": "RSA", "n": encode(bytes.fromhex(text.split("=")[1])), "e": "AQAB"}
        return {**own, "kid": self.name, "use": "sig", **more}

    def public_pem(self):
        return openssl("pkey", "-in", self.path, "-pubout")

    def sign(self, data, algorithm):
        options = []
        if algorithm == "PS256":
            options = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32"]
        hashed = "-sha512" if algorithm.endswith("512") else "-sha256"
        signature = openssl("dgst", hashed, *options, "-sign", self.path, stdin=data)
        return raw(signature) if self.kind == "EC" else signature


def raw(der):
    """The two numbers of an ECDSA signature, one behind the other."""
    length = der[3]
    first, second = der[4 : 4 + length], der[6 + length :]
    return first.lstrip(b"\0").rjust(32, b"\0") + second.lstrip(b"\0").rjust(32, b"\0")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        issuer = self.server.issuer
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        issuer.asked.append((self.path, dict(self.headers), dict(urllib.parse.parse_qsl(body)), time.monotonic()))
        issuer.gate.wait(PATIENCE)
        found = issuer.reply(self.path)
        if callable(found):
            found(self)
            return
        status, reply, headers = found
        data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        with contextlib.suppress(OSError):
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": len(data), **headers}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(data)

    do_GET = do_POST = answer  # noqa: N815 - the library's names

    def log_message(self, *arguments):
        pass


class Http(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64


class Issuer:
    """`replies` overrides what is answered at a path: (status, body), (status, body, headers), or a function of the handler.
    While `gate` is not set, it keeps everybody waiting."""

    def __init__(self, folder, tls=False):
        self.ca = self.certify(folder) if tls else None
        self.good, self.elliptic = Key(folder, "good"), Key(folder, "elliptic", "EC")
        self.keys = [self.good.jwk(), self.elliptic.jwk()]
        self.replies, self.asked, self.gate = {}, [], threading.Event()
        self.gate.set()
        self.server = None
        self.open(0)
        self.port = self.server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    @staticmethod
    def certify(folder):
        path = folder / "tls.pem"
        names = ["-subj", "/CN=issuer", "-addext", "subjectAltName=IP:127.0.0.1"]
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", *names, "-keyout", path, "-out", folder / "cert.pem")
        with open(path, "a") as both:
            both.write((folder / "cert.pem").read_text())
        return path

    def open(self, port):
        self.server = Http(("127.0.0.1", port), Handler)
        self.server.issuer = self
        if self.ca:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.ca)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        """Away: nobody listens any more."""
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()

    def document(self, **more):
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint": f"{self.url}/token",
            "device_authorization_endpoint": f"{self.url}/device",
            **more,
        }

    def device(self, **more):
        return {
            "device_code": "device code 1",
            "user_code": "WDJB-MJHT",
            "verification_uri": f"{self.url}/enter",
            "expires_in": 600,
            "interval": 1,
            **more,
        }

    def reply(self, path):
        usual = {
            "/.well-known/openid-configuration": (200, self.document()),
            "/keys": (200, {"keys": self.keys}),
            "/device": (200, self.device()),
            "/token": (400, {"error": "authorization_pending"}),
        }
        found = self.replies.get(path) or usual.get(path) or (404, {})
        return found if callable(found) else (*found, {})[:3]

    def times(self, path):
        return [asked[3] for asked in self.asked if asked[0] == path]

    def count(self, path):
        return len(self.times(path))

    def claims(self, **more):
        now = int(time.time())
        return {"iss": self.url, "aud": CLIENT, "sub": "subject 1", "exp": now + 600, "iat": now, **more}

    def token(self, key=None, header=None, payload=None, **claims):
        """A signed token. A claim or a part of the header that is None is left out."""
        key = key or self.good
        usual = {"alg": "ES256" if key.kind == "EC" else "RS256", "typ": "JWT", "kid": key.name}
        head = {name: value for name, value in {**usual, **(header or {})}.items() if value is not None}
        body = {name: value for name, value in self.claims(**claims).items() if value is not None}
        text = f"{encode(head)}.{encode(payload if payload is not None else body)}"
        return f"{text}.{encode(key.sign(text.encode(), head.get('alg', '')))}"
