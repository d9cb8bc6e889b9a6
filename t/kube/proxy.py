"""Ways to break what lies between a client and the API server.

`Proxy` ends TLS with the cluster's own CA and speaks HTTP/1.1 on both sides, so that it can answer in the server's place, or let a
request arrive and keep the answer.  `Wire` passes bytes on, so that whatever protocol the two have agreed on can be cut or frozen.

    with Proxy(cluster) as proxy:
        proxy.fault(too_many(1), method="POST", path="/pods$", times=3)
        Operator(proxy.kubeconfig(cluster.account(...)))
"""

import contextlib
import http.client
import http.server
import json
import pathlib
import re
import select
import socket
import ssl
import tempfile
import threading
import time
import urllib.parse

HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "upgrade"}
LOOK_S = 0.1  # a held connection looks so often whether it is to end
HELD_S = 300  # what a test keeps back goes on by then at the latest


def redirect(kubeconfig, url, path):
    """A copy of a kubeconfig that leads to `url`."""
    config = json.loads(pathlib.Path(kubeconfig).read_text())
    config["clusters"][0]["cluster"]["server"] = url
    path = pathlib.Path(path)
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    return path


# ---- what may happen to a request: functions of the exchange ----


def refuse(status, reason, headers=None, words=None):
    """Answered in the server's place."""

    def fault(exchange):
        body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        body |= {"reason": reason, "code": status, "message": words or f"broken by the test: {reason}"}
        exchange.answer(status, json.dumps(body).encode(), headers or {})

    return fault


def too_many(seconds):
    return refuse(429, "TooManyRequests", {"Retry-After": str(seconds)})


def unavailable(status=503):
    return refuse(status, "ServiceUnavailable")


gone = refuse(410, "Expired")


def expired(exchange):
    """A watch that begins well, and then says that its place is lost."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
    exchange.answer(200, json.dumps({"type": "ERROR", "object": status}).encode() + b"\n")


def half_closed(exchange):
    """A watch that is accepted, and then says nothing, for as long as the client bears it."""
    exchange.head(200, {"Transfer-Encoding": "chunked", "Content-Type": "application/json"})
    exchange.hold()


def held(exchange):
    """Neither passed on nor answered, for as long as the client bears it."""
    exchange.hold()


def dropped(exchange):
    """Not answered: the connection goes."""
    exchange.cut()


def lost(exchange):
    """The server does what it is asked to, and the answer is lost."""
    exchange.ask().read()
    exchange.cut()


def late(event):
    """The server does what it is asked to; its answer comes when `event` is set."""

    def fault(exchange):
        reply = exchange.ask()
        body = reply.read()
        assert event.wait(HELD_S)
        exchange.answer(reply.status, body)

    return fault


def slow(event):
    """The server does what it is asked to; each piece of its answer, such as an event of a watch, comes when `event` is set."""

    def fault(exchange):
        exchange.pass_on(lambda: event.wait(HELD_S))

    return fault


def cut_reply(exchange):
    """The same, with half of the answer."""
    reply = exchange.ask()
    body = reply.read()
    exchange.head(reply.status, {**exchange.kept(reply), "Content-Length": str(len(body))})
    exchange.wfile.write(body[: len(body) // 2])
    exchange.cut()


class Exchange(http.server.BaseHTTPRequestHandler):
    """One connection of a client; `proxy` is the server's."""

    protocol_version = "HTTP/1.1"
    timeout = 120

    @property
    def proxy(self):
        return self.server.proxy

    def handle(self):
        self.upstream = None
        with self.proxy.counted(self), contextlib.suppress(OSError, http.client.HTTPException):
            super().handle()

    def log_message(self, *args):
        pass

    def serve(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.choose(self.command, self.path)
        if fault:
            fault(self)
        else:
            self.pass_on()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve  # noqa: N815 - names of the base class

    def head(self, status, headers):
        self.proxy.note(self.command, self.path, status)
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def answer(self, status, body, headers=None):
        length = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        self.head(status, {**length, **(headers or {})})
        self.wfile.write(body)

    def kept(self, reply):
        return {name: value for name, value in reply.getheaders() if name.lower() not in HOP}

    def ask(self):
        """The server's answer, its body not read yet."""
        self.upstream = self.proxy.connect()
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
        self.upstream.request(self.command, self.path, self.body or None, headers)
        return self.upstream.getresponse()

    def pass_on(self, before=lambda: None):
        """`before` is called before each piece of the answer."""
        try:
            reply = self.ask()
        except OSError:
            self.cut()
            return
        self.head(reply.status, {**self.kept(reply), "Transfer-Encoding": "chunked"})
        with contextlib.closing(self.upstream):
            while piece := reply.read1(65536):
                before()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def hold(self):
        """Until the client goes, or the proxy does."""
        while not self.proxy.closed.is_set():
            readable = select.select([self.connection], [], [], LOOK_S)[0]
            if readable and not self.connection.recv(1):
                break
        self.close_connection = True

    def cut(self):
        """No word of good-bye: not the end of the chunks, and not of TLS."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, proxy, tls):
        super().__init__(("127.0.0.1", 0), Exchange)
        self.proxy, self.tls = proxy, tls

    def finish_request(self, request, client_address):
        # The handshake in the connection's own thread: a client that is slow holds up nobody.
        with contextlib.suppress(OSError), self.tls.wrap_socket(request, server_side=True) as secure:
            super().finish_request(secure, client_address)

    def handle_error(self, request, client_address):
        pass  # the client went away


class Proxy:
    """In front of a cluster's API server.  Who a caller is, its token says: certificates end here."""

    def __init__(self, cluster):
        self.cluster, self.lock, self.closed = cluster, threading.Lock(), threading.Event()
        self.faults, self.seen, self.exchanges = [], [], set()
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            tls.load_cert_chain(*cluster.authority.issue("proxy", "proxy", names=["IP:127.0.0.1"], folder=folder))
        self.trust = ssl.create_default_context(cafile=cluster.authority.ca)
        self.listener = Listener(self, tls)
        self.url = f"https://127.0.0.1:{self.listener.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.listener.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error):
        self.closed.set()
        self.listener.shutdown()
        self.listener.server_close()

    def kubeconfig(self, kubeconfig):
        return redirect(kubeconfig, self.url, f"{kubeconfig}.proxy")

    def connect(self):
        server = urllib.parse.urlsplit(self.cluster.url)
        return http.client.HTTPSConnection(server.hostname, server.port, context=self.trust, timeout=600)

    def fault(self, fault, method=None, path="", times=1):
        """Breaks the next `times` requests of a method whose path with query has the pattern `path` in it."""
        entry = {"fault": fault, "method": method, "path": re.compile(path), "left": times}
        with self.lock:
            self.faults.append(entry)
        return entry

    def heal(self):
        with self.lock:
            self.faults.clear()

    def choose(self, method, path):
        with self.lock:
            for entry in self.faults:
                if entry["left"] > 0 and entry["method"] in (None, method) and entry["path"].search(path):
                    entry["left"] -= 1
                    return entry["fault"]
        return None

    @contextlib.contextmanager
    def counted(self, exchange):
        with self.lock:
            self.exchanges.add(exchange)
        yield
        with self.lock:
            self.exchanges.discard(exchange)

    def cut(self, path=""):
        """Every connection that there is, in the middle of whatever it carries; or those whose request has `path` in it."""
        with self.lock:
            for exchange in self.exchanges:
                if path in getattr(exchange, "path", ""):
                    exchange.cut()

    def note(self, method, path, status):
        with self.lock:
            self.seen.append((time.monotonic(), method, path, status))

    def asked(self, method=None, path=""):
        """The requests that were answered so far: (time, method, path, status)."""
        with self.lock:
            return [one for one in self.seen if one[1] == (method or one[1]) and re.search(path, one[2])]


class Wire:
    """Bytes to and from the API server, over as many connections as the client opens."""

    def __init__(self, cluster):
        self.cluster, self.pairs, self.lock = cluster, set(), threading.Lock()
        self.flowing, self.closed = threading.Event(), False
        self.flowing.set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        self.opened = 0

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.closed = True
        self.listener.close()
        self.flowing.set()
        self.cut()

    def kubeconfig(self, kubeconfig):
        return redirect(kubeconfig, self.url, f"{kubeconfig}.wire")

    def accept(self):
        server = urllib.parse.urlsplit(self.cluster.url)
        while not self.closed:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection((server.hostname, server.port))
            except OSError:
                near.close()
                continue
            with self.lock:
                self.pairs.add((near, far))
                self.opened += 1
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(source, sink, (near, far)), daemon=True).start()

    def carry(self, source, sink, pair):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.flowing.wait()
                sink.sendall(data)
        self.end(pair)

    def end(self, pair):
        with self.lock:
            self.pairs.discard(pair)
        for one in pair:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def cut(self):
        """Every connection that there is, at once."""
        for pair in list(self.pairs):
            self.end(pair)

    def freeze(self):
        """Nothing arrives any more, and nobody is told."""
        self.flowing.clear()

    def thaw(self):
        self.flowing.set()
