"""Requests whose end is in doubt are refused and their connections closed: nothing behind them is a second request. RFC 9112, 6.3 and 11.2."""

import re
import socket

import pytest
from conftest import PATIENCE, server_of_module

HIDDEN = b"GET /v1/version HTTP/1.1\r\nHost: hidden\r\nConnection: close\r\n\r\n"
CHUNKED_END = b"0\r\n\r\n"

served = server_of_module("--listen", "127.0.0.1:0")


def answers(server, data):
    """All that comes back, until the server closes or is silent after a whole answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        text = b""
        while piece := connection.recv(65536):
            text += piece
    return text


def request(*lines, method=b"POST", body=b""):
    return b"\r\n".join([method + b" /v1/login HTTP/1.1", *lines, b"", b""]) + body


@pytest.mark.parametrize(
    "data",
    [
        request(b"Host: a", b"Content-Length: 44", b"Transfer-Encoding: chunked", body=CHUNKED_END),
        request(b"Host: a", b"Transfer-Encoding: chunked", b"Content-Length: 44", body=CHUNKED_END),
        request(b"Host: a", b"Content-Length: 0", b"Content-Length: 44"),
        request(b"Host: a", b"Content-Length: 44", b"Content-Length: 0"),
        request(b"Host: a", b"Content-Length: 0", b"Content-Length: 0"),
        request(b"Host: a", b"Transfer-Encoding : chunked", body=CHUNKED_END),
        request(b"Host: a", b"Transfer-Encoding: xchunked", body=CHUNKED_END),
        request(b"Host: a", b"Transfer-Encoding: gzip, chunked", body=CHUNKED_END),
        request(b"Host: a", b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", body=CHUNKED_END),
        request(method=b"GET"),
        request(b"Host: a", b"Host: b", method=b"GET"),
    ],
)
def test_it_is_refused_and_the_connection_ends(served, data):
    text = answers(served, data + HIDDEN)
    assert len(re.findall(rb"HTTP/1.1 \d", text)) <= 1 and b'"version"' not in text, text
    assert not text or text.startswith(b"HTTP/1.1 400 "), text
    assert served.get("/v1/version").status == 200


def test_what_is_beyond_doubt_is_served(served):
    plain = b"GET /v1/version HTTP/1.1\r\nHost: a\r\n\r\n"
    assert answers(served, plain + HIDDEN).count(b'"version"') == 2
    chunked = request(b"Host: a", b"Transfer-Encoding: chunked", body=b"2\r\n{}\r\n" + CHUNKED_END)
    text = answers(served, chunked + HIDDEN)
    assert b'"version"' in text and b"user is missing" in text
