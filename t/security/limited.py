"""Users with a limit of the disk, and refusals of what is above it."""

import hashlib
import json

from people import Person

MI = 1 << 20
CHUNK = 4 * MI


class Limited(Person):
    """A user with a limit, whose numbers are 0 at first."""

    def __init__(self, server, name, disk=None, files=None):
        super().__init__(server, name)
        self.limit(disk, files)

    def limit(self, disk=None, files=None):
        reply = self.server.request("PATCH", f"/v1/users/{self.name}", {"disk": disk, "files": files})
        assert reply.status == 200, reply.body

    def call(self, method, path, body=None, kind="application/octet-stream"):
        return self.server.request(method, path, body, {**self.headers, "Content-Type": kind})

    def put(self, name, data, chunk=0):
        return self.call("PUT", f"{self.home}/{name}?chunk={chunk}&hash={digest(data)}", data)

    def finish(self, name, *chunks):
        body = {"op": "finish", "size": sum(map(len, chunks)), "chunks": [digest(chunk) for chunk in chunks]}
        return self.call("POST", f"{self.home}/{name}", json.dumps(body), "application/json")

    def usage(self, count=True):
        reply = self.get(f"/v1/storage/usage?count={'true' if count else 'false'}")
        assert reply.status == 200, reply.body
        return reply.json["items"][0]

    def send_blob(self, data):
        return self.call("POST", "/v1/packages/blobs", f"{digest(data)} {len(data)}\n".encode() + data)


def digest(data):
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def refused(reply, *says):
    assert reply.status == 429 and reply.json["code"] == "quota", reply.body
    assert "Retry-After" not in reply.headers  # waiting does not change it, so a client does not repeat it
    for part in says:
        assert part in reply.json["message"], reply.json
    return reply.json
