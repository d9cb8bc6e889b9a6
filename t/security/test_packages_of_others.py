"""A user has what that user has sent: nobody reads, finds or spoils what is another's by naming its hash. doc/guide/packages.md."""

import hashlib
import json

import pytest
from conftest import server_of_module
from people import Person
from seeds import noise

served = server_of_module("--cpus", "8")


@pytest.fixture(scope="module")
def ann(served):
    return Person(served, "ann")


@pytest.fixture(scope="module")
def bob(served):
    return Person(served, "bob")


def digest(data):
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def manifest_of(contents):
    """Of {path: bytes, or (size, hash) that somebody knows}."""
    lines = ["paddle-package 1"]
    for path, about in sorted(contents.items()):
        size, found = about if isinstance(about, tuple) else (len(about), digest(about))
        lines.append(f"f 644 {size} {found} {path}")
    return "\n".join(lines) + "\n"


def call(person, method, path, body=None, kind="application/octet-stream"):
    return person.server.request(method, path, body, {**person.headers, "Content-Type": kind})


def offer(person, contents):
    reply = call(person, "POST", "/v1/packages/offer", manifest_of(contents))
    assert reply.status == 200, reply.body
    return reply.json


def send(person, contents):
    """The hash of the package."""
    package = offer(person, contents)["package"]
    for data in contents.values():
        body = f"{digest(data)} {len(data)}\n".encode() + data
        assert call(person, "POST", "/v1/packages/blobs", body).status == 204
    reply = call(person, "POST", f"/v1/packages/{package}/commit")
    assert reply.status == 200, reply.body
    return package


def run(person, package):
    return person.ask({"command": ["sh", "-c", "cat secret"], "package": package})


def test_a_hash_opens_no_content(ann, bob):
    secret = b"password of bob\n"
    package = send(bob, {"secret": secret})
    asked = offer(ann, {"secret": (len(secret), digest(secret))})
    assert asked["package"] == package and not asked["ready"]
    assert asked["missing"] == [{"hash": digest(secret), "have": 0}]
    for size in (len(secret), 1):
        package = offer(ann, {"secret": (size, digest(secret))})["package"]
        reply = call(ann, "POST", f"/v1/packages/{package}/commit")
        assert (
            reply.status == 409
            and "missing" in reply.json["message"]
            and f"{len(secret)} bytes" not in reply.json["message"]
        )
        assert run(ann, package).status == 404


def test_a_package_of_anothers_is_not_on_this_server(ann, bob):
    package = send(bob, {"secret": b"of bob's\n"})
    nowhere = run(ann, "0" * 64)
    reply = run(ann, package)
    assert (reply.status, nowhere.status) == (404, 404)
    assert reply.json["message"].replace(package, "") == nowhere.json["message"].replace("0" * 64, "")
    committed = call(ann, "POST", f"/v1/packages/{package}/commit")
    unknown = call(ann, "POST", f"/v1/packages/{'0' * 64}/commit")
    assert committed.status == unknown.status == 404
    job = bob.ask({"command": ["sh", "-c", "cat secret"], "package": package}).json
    assert bob.server.wait(job["id"])["state"] == "succeeded"


def test_an_offer_finds_no_secret(ann, bob):
    send(bob, {"secret": b"DB_PASSWORD=4711\n"})
    guesses = {f"guess-{i}": f"DB_PASSWORD={i:04}\n".encode() for i in range(10000)}
    assert len(offer(ann, guesses)["missing"]) == 10000


def test_unfinished_uploads_are_each_users_own(ann, bob):
    data = noise(3 << 20, "unfinished")
    name = f"/v1/packages/blobs/{digest(data)}"
    half = len(data) // 2
    assert call(bob, "PUT", f"{name}?offset=0", data[:half]).status == 204
    assert offer(ann, {"data": (len(data), digest(data))})["missing"][0]["have"] == 0
    assert call(ann, "PUT", f"{name}?offset={half}", b"spoilt").json["have"] == 0
    assert call(ann, "PUT", f"{name}?offset=0", b"spoilt").status == 204
    assert offer(bob, {"data": (len(data), digest(data))})["missing"][0]["have"] == half
    assert call(bob, "PUT", f"{name}?offset={half}&last=true", data[half:]).status == 204
    assert offer(bob, {"data": (len(data), digest(data))})["missing"] == []


def test_what_was_sent_need_not_be_sent_again(bob):
    first = {"same": b"the same\n", "other": b"one\n"}
    send(bob, first)
    second = offer(bob, {"same": b"the same\n", "other": b"two\n"})
    assert [item["hash"] for item in second["missing"]] == [digest(b"two\n")]
    assert offer(bob, first)["ready"]


def test_an_archive_is_its_senders(ann, bob, tmp_path):
    import io
    import tarfile

    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        about = tarfile.TarInfo("secret")
        about.size = 9
        archive.addfile(about, io.BytesIO(b"in a tar\n"))
    package = call(bob, "POST", "/v1/packages", data.getvalue()).json["package"]
    assert run(ann, package).status == 404
    job = json.loads(run(bob, package).body)
    assert bob.server.wait(job["id"])["state"] == "succeeded"
