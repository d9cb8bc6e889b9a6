"""Server-sent events as a client reads them: one connection, from the first event until it ends or breaks."""

import http.client
import json
import urllib.parse

from conftest import PATIENCE, UnixConnection


class Event:
    def __init__(self, id, kind, text):
        self.id, self.kind, self.text = id, kind, text

    @property
    def data(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"<{self.kind} {self.id} {self.text[:200]}>"


class Stream:
    """An open stream; iterating gives its events. `broken` says whether the connection ended in the middle."""

    def __init__(self, server, path, headers=None, timeout=PATIENCE, **query):
        query = {name: value for name, value in query.items() if value is not None}
        if query:
            path += "?" + urllib.parse.urlencode(query)
        self.connection = UnixConnection(server.socket, timeout)
        self.connection.request("GET", path, headers=headers or {})
        self.reply = self.connection.getresponse()
        self.status, self.broken = self.reply.status, False

    def lines(self):
        try:
            while line := self.reply.readline():
                assert line.endswith(b"\n")
                yield line.decode().rstrip("\n")
        except (http.client.HTTPException, ConnectionError, AssertionError):
            self.broken = True

    def __iter__(self):
        id, kind, data = None, "message", []
        for line in self.lines():
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if not line:
                if data:
                    yield Event(id, kind, "\n".join(data))
                id, kind, data = None, "message", []
            elif name == "id":
                id = value
            elif name == "event":
                kind = value
            elif name == "data":
                data.append(value)

    def close(self):
        self.connection.close()
        self.reply.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def follow_logs(server, job, **query):
    return Stream(server, f"/v1/jobs/{job['id']}/logs", **query)


def follow_run(server, run, **query):
    return Stream(server, f"/v1/runs/{run}/logs", **query)
