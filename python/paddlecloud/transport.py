"""HTTP/1.1 to a server over TCP, TLS or a Unix socket, with retries of what may be repeated. Standard library only."""

import http.client
import json
import random
import socket
import time
import urllib.parse

from . import errors

RETRIED_STATUSES = {429, 502, 503, 504}
REPEATABLE = {"GET", "HEAD", "PUT", "DELETE"}


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Transport:
    """One server. Not thread-safe; `timeout` in seconds counts silence, `retries` are further tries after the first."""

    def __init__(self, url, token=None, timeout=60.0, retries=5):
        self.url, self.token, self.timeout, self.retries = url, token, timeout, retries
        self._connection = None

    def _connect(self, timeout):
        if self.url.startswith("unix:"):
            return _UnixConnection(self.url[len("unix:") :], timeout)
        parts = urllib.parse.urlsplit(self.url)
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        if parts.scheme not in kinds or not parts.hostname:
            raise ValueError(f"server '{self.url}' is not http://HOST:PORT, https://HOST:PORT or unix:/PATH")
        return kinds[parts.scheme](parts.hostname, parts.port, timeout=timeout)

    def _headers(self, extra):
        headers = dict(extra or {})
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def close(self):
        if self._connection:
            self._connection.close()
        self._connection = None

    def _try(self, method, path, body, headers):
        """One try; (status, headers, bytes)."""
        if self._connection is None:
            self._connection = self._connect(self.timeout)
        try:
            self._connection.request(method, path, body, headers)
            reply = self._connection.getresponse()
            return reply.status, reply.headers, reply.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def request(self, method, path, body=None, headers=None):
        """The reply's bytes. Raises errors.ApiError for other statuses than 2xx, errors.ServerNotReached when nobody answers.

        Connection failures and the statuses 429, 502, 503, 504 are tried again with growing pauses when the request may be repeated: by
        its method, or because it carries an Idempotency-Key.
        """
        headers = self._headers(headers)
        tries = 1 + (self.retries if method in REPEATABLE or "Idempotency-Key" in headers else 0)
        for left in range(tries - 1, -1, -1):
            pause = min(5.0, 0.1 * 2 ** (tries - 1 - left)) * (0.5 + random.random())
            try:
                status, reply_headers, data = self._try(method, path, body, headers)
            except (OSError, http.client.HTTPException) as error:
                if left == 0:
                    raise errors.ServerNotReached(f"the server at {self.url} cannot be reached: {error}") from error
                time.sleep(pause)
                continue
            if 200 <= status < 300:
                return data
            if status not in RETRIED_STATUSES or left == 0:
                raise errors.from_reply(status, _decode(data))
            time.sleep(max(pause, float(reply_headers.get("Retry-After") or 0)))
        raise AssertionError("unreachable")

    def json(self, method, path, body=None, headers=None):
        """As request, with JSON both ways; None for an empty reply."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **(headers or {})}
        return _decode(self.request(method, path, data, headers))

    def events(self, path, headers=None):
        """Yields (id, event, data) of a stream of server-sent events until it ends. A connection of its own; 40 s of silence break it."""
        connection = self._connect(40.0)
        try:
            connection.request("GET", path, headers=self._headers(headers))
            reply = connection.getresponse()
            if reply.status != 200:
                raise errors.from_reply(reply.status, _decode(reply.read()))
            yield from _parse_events(reply)
        finally:
            connection.close()


def _decode(data):
    try:
        return json.loads(data) if data else None
    except ValueError:
        return None


def _parse_events(lines):
    """Server-sent events of an iterable of byte lines (HTML standard, section 9.2.6)."""
    last_id, event, data = None, "message", []
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if line:
            field, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if field == "id":
                last_id = value
            elif field == "event":
                event = value
            elif field == "data":
                data.append(value)
            continue
        if data:
            yield last_id, event, "\n".join(data)
        event, data = "message", []
