"""HTTP/1.1 to a server over TCP, TLS or a Unix socket, with retries of what may be repeated. Standard library only."""

import http.client
import json
import os
import random
import socket
import ssl
import time
import urllib.parse
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional

from . import errors

RETRIED_STATUSES = {502, 503, 504}
REPEATABLE = {"GET", "HEAD", "PUT", "DELETE"}
STREAM_SILENCE = 40.0  # seconds; the server sends a comment every 15


class ServerEvent(NamedTuple):
    """One server-sent event; `id` is the stream's latest so far, None before the first."""

    id: Optional[str]
    kind: str
    data: str


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Transport:
    """One server, by one connection that is kept. Not thread-safe.

    `timeout` in seconds counts silence, `retries` are further tries after the first. Raises ValueError for a `url` that is
    neither http://HOST:PORT, https://HOST:PORT nor unix:/PATH.
    """

    def __init__(self, url: str, token: Optional[str] = None, timeout: float = 60.0, retries: int = 5) -> None:
        self.url, self.token, self.timeout, self.retries = url, token, timeout, retries
        self._connection: Optional[http.client.HTTPConnection] = None
        self._context: Optional[ssl.SSLContext] = None
        self._connect(timeout)  # connects nothing yet, but checks the address

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if self.url.startswith("unix:/"):
            return _UnixConnection(self.url[len("unix:") :], timeout)
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"server '{self.url}' is not http://HOST:PORT, https://HOST:PORT or unix:/PATH")
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout, context=self._tls())
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def _tls(self) -> ssl.SSLContext:
        """PADDLE_CACERT names the authorities of servers (else the system's), PADDLE_CERT and PADDLE_KEY what we show: PEM files."""
        if self._context is None:
            authorities, cert = os.environ.get("PADDLE_CACERT") or None, os.environ.get("PADDLE_CERT")
            try:
                self._context = ssl.create_default_context(cafile=authorities)
                if cert:
                    self._context.load_cert_chain(cert, os.environ.get("PADDLE_KEY") or None)
            except OSError as error:
                raise ValueError(
                    f"PADDLE_CACERT, PADDLE_CERT or PADDLE_KEY names no PEM file that can be used: {error}"
                ) from error
        return self._context

    def _headers(self, extra: Optional[Mapping[str, str]]) -> Dict[str, str]:
        headers = dict(extra or {})
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        if self._connection:
            self._connection.close()
        self._connection = None

    def request(
        self,
        method: str,
        path: str,
        body: Optional[bytes] = None,
        headers: Optional[Mapping[str, str]] = None,
        repeatable: Optional[bool] = None,
    ) -> bytes:
        """The reply's bytes. Raises errors.ApiError for other statuses than 2xx, errors.ServerNotReached when nobody answers.

        Connection failures, the statuses 502, 503, 504, and 429 with Retry-After are tried again with growing pauses when the request may
        be repeated, which its method says unless `repeatable` does. A 429 without that header is a quota, which waiting does not change.
        """
        sent = self._headers(headers)
        if repeatable is None:
            repeatable = method in REPEATABLE
        tries = 1 + (self.retries if repeatable else 0)
        for number in range(1, tries + 1):
            pause = min(5.0, 0.1 * 2.0 ** (number - 1)) * (0.5 + random.random())
            connection = self._connection = self._connection or self._connect(self.timeout)
            try:
                connection.request(method, path, body, sent)
                reply = connection.getresponse()
                data = reply.read()
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if number == tries:
                    raise errors.ServerNotReached(f"the server at {self.url} cannot be reached: {error}") from error
                time.sleep(pause)
                continue
            if 200 <= reply.status < 300:
                return data
            wait = reply.getheader("Retry-After")
            passing = reply.status in RETRIED_STATUSES or (reply.status == 429 and wait is not None)
            if not passing or number == tries:
                raise errors.from_reply(reply.status, _decode(data))
            time.sleep(max(pause, _seconds(wait)))
        raise AssertionError("unreachable")

    def json(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Optional[Mapping[str, str]] = None,
        repeatable: Optional[bool] = None,
    ) -> Any:
        """As request, with JSON both ways; None for an empty reply."""
        data = None if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        reply = self.request(method, path, data, {**kind, **(headers or {})}, repeatable)
        value = _decode(reply)
        if reply and value is None:
            raise errors.ServerNotReached(f"what answers at {self.url} sends no JSON: it is not a job server")
        return value

    def events(self, path: str, headers: Optional[Mapping[str, str]] = None) -> Iterator[ServerEvent]:
        """A stream of server-sent events, until it ends. A connection of its own, which 40 s of silence break.

        Raises OSError or http.client.HTTPException when it breaks, errors.ApiError when the server refuses.
        """
        connection = self._connect(STREAM_SILENCE)
        try:
            connection.request("GET", path, headers=self._headers(headers))
            reply = connection.getresponse()
            if reply.status != 200:
                raise errors.from_reply(reply.status, _decode(reply.read()))
            yield from parse_events(reply)
        finally:
            connection.close()


def _decode(data: bytes) -> Any:
    """The JSON value of `data`; None when it is none."""
    try:
        return json.loads(data) if data else None
    except ValueError:
        return None


def _seconds(text: Optional[str]) -> float:
    return float(text) if text and text.isdigit() else 0.0


def parse_events(lines: Iterable[bytes]) -> Iterator[ServerEvent]:
    """The server-sent events in byte lines (HTML standard, section 9.2.6)."""
    last_id: Optional[str] = None
    event = "message"
    data: List[str] = []
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
            yield ServerEvent(last_id, event, "\n".join(data))
        event, data = "message", []
