"""What nothing needs goes from the disk, by age and bytes, the least recently used first; what is in use stays. doc/guide/storage.md."""

import contextlib
import hashlib
import io
import os
import shutil
import sqlite3
import tarfile
import time

import pytest
from conftest import PATIENCE, Server, wait_for
from people import Person
from seeds import noise
from test_run_files import create, post

DAY = 24 * 3600
RULES = ("--gc", "uploads=7d,1Gi", "--gc", "packages=30d,100Gi", "--gc", "logs=90d", "--gc", "environments=30d,100Gi")


def digest(data):
    return hashlib.blake2b(data, digest_size=32).hexdigest()


class Kept:
    """A server that removes nothing by itself."""

    def __init__(self, state, *options):
        self.server = Server(state, "--cpus", "8", "--gc-every", "0", *RULES, *options).start()
        self.state = self.server.state
        self.ann, self.bob = Person(self.server, "ann"), Person(self.server, "bob")

    def call(self, person, method, path, body=None):
        reply = self.server.request(method, path, body, {**person.headers, "Content-Type": "application/octet-stream"})
        assert reply.status in (200, 204), (path, reply.body)
        return reply

    def package(self, person, **contents):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as archive:
            for name, content in contents.items():
                about = tarfile.TarInfo(name)
                about.size = len(content)
                archive.addfile(about, io.BytesIO(content))
        return self.call(person, "POST", "/v1/packages", data.getvalue()).json["package"]

    def upload(self, person, name, data):
        self.call(person, "PUT", f"{person.home}/{name}?chunk=0&hash={digest(data)}", data)
        path = digest(f"/pfs/local/home/{person.name}/{name}".encode())
        return self.state / "storage/local/.upload" / path

    def mark(self, person, package):
        return self.state / "packages/owners" / person.name / "packages" / package

    def gc(self, dry):
        reply = self.server.post(f"/v1/storage/gc?dry_run={'true' if dry else 'false'}")
        assert reply.status == 200, reply.body
        return reply.json

    def would_go(self):
        listed = self.gc(dry=True)
        assert not any(item["gone"] for item in listed["items"])
        return {item["name"]: item for item in listed["items"]}

    def removes(self, *names):
        """Garbage is these things and no other; a dry run says so and removes nothing, and then they go."""
        names = {str(name.relative_to(self.state)) for name in names}
        assert set(self.would_go()) == names
        assert all((self.state / name).exists() for name in names)
        done = self.gc(dry=False)
        assert {item["name"] for item in done["items"] if item["gone"]} == names
        assert not self.would_go()


def age(days, *paths):
    """As if all of it had been left alone since so many days ago."""
    when = time.time() - days * DAY
    for path in paths:
        below = [os.path.join(top, name) for top, folders, files in os.walk(path) for name in (*folders, *files)]
        for each in (*below, path):
            with contextlib.suppress(FileNotFoundError):  # the server may remove what a job that has ended leaves
                os.utime(each, (when, when), follow_symlinks=False)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    made = Kept(tmp_path_factory.mktemp("state"))
    yield made
    made.server.destroy()


def test_abandoned_uploads(kept):
    old, young = kept.upload(kept.ann, "old", b"o"), kept.upload(kept.ann, "young", b"y")
    age(8, old)
    age(6, young)
    why = kept.would_go()[str(old.relative_to(kept.state))]
    assert why["kind"] == "uploads" and why["user"] == "ann" and why["why"] == "unused for 8 days, longer than 7 days"
    kept.removes(old)
    assert young.exists() and not old.exists()
    young = kept.upload(kept.ann, "young", b"y")
    shutil.rmtree(young)


def test_pieces_contents_and_offers_that_became_no_package(kept):
    data, sent = noise(1000, 1), noise(1000, 2)
    kept.call(kept.ann, "PUT", f"/v1/packages/blobs/{digest(data)}?offset=0", data)
    kept.call(kept.ann, "POST", "/v1/packages/blobs", f"{digest(sent)} {len(sent)}\n".encode() + sent)
    manifest = f"paddle-package 1\nf 644 3 {digest(b'abc')} x\n".encode()
    kept.call(kept.ann, "POST", "/v1/packages/offer", manifest)
    piece = kept.state / "packages/upload/ann" / digest(data)
    blob = kept.state / "packages/blobs" / digest(sent)[:2] / digest(sent)
    offer = kept.state / "packages/manifests" / digest(manifest)
    age(2, piece, blob, offer)
    kept.removes(piece)  # the others are noted as sent and as offered, which holds them for a day
    age(
        2,
        kept.state / "packages/owners/ann/sent" / digest(sent),
        kept.state / "packages/owners/ann/offered" / digest(manifest),
    )
    kept.gc(dry=False)
    kept.gc(dry=False)
    assert not blob.exists() and not offer.exists()


def test_packages_of_nobody_and_of_everybody(kept):
    shared, own = noise(5000, 3), noise(5000, 4)
    old = kept.package(kept.ann, shared=shared, own=own)
    young = kept.package(kept.ann, shared=shared)
    both = kept.package(kept.ann, both=b"1")
    assert kept.package(kept.bob, both=b"1") == both
    age(31, kept.mark(kept.ann, old), kept.mark(kept.ann, both))
    blobs = [kept.state / "packages/blobs" / digest(data)[:2] / digest(data) for data in (shared, own)]
    age(40, *blobs)
    kept.removes(kept.state / "packages" / old)
    assert not blobs[1].exists() and blobs[0].exists()  # the content that another package has stays
    assert not kept.mark(kept.ann, old).exists() and not (kept.state / "packages/manifests" / old).exists()
    assert (kept.state / "packages" / young / "shared").read_bytes() == shared
    assert kept.ann.ask({"command": ["true"], "package": old}).status == 404
    assert kept.package(kept.ann, shared=shared, own=own) == old  # it can be sent again
    age(31, kept.mark(kept.bob, both), kept.mark(kept.ann, both))
    assert kept.ann.ask({"command": ["true"], "package": both}).status == 201  # which is a use
    assert not kept.would_go()


def test_a_package_that_an_open_job_has_stays(kept):
    package = kept.package(kept.ann, f=b"open")
    job = kept.ann.submit("sleep 600", package=package)
    held = kept.ann.submit("cat f", package=package, after=[f"any:{job['id']}"])
    age(99, kept.mark(kept.ann, package), kept.state / "packages" / package)
    assert not kept.would_go()
    kept.ann.paddle("cancel", job["id"], check=0)
    assert kept.server.wait(held["id"])["state"] == "succeeded"
    assert kept.server.member_log(held["id"]) == "open"
    kept.removes(kept.state / "packages" / package)


def test_packages_of_a_paused_run_stay(kept):
    """That of the run, and those that its steps name, also after a restart of the server."""
    own, named = kept.package(kept.ann, f=b"own"), kept.package(kept.ann, f=b"named")
    text = f"""name: kept
entry_points:
  a: {{command: cat f}}
  b: {{deps: a, command: cat f, package: {named}}}
  c: {{deps: a, command: cat f, package: {named}}}
"""
    run = create(kept.ann, text, package=own, break_before=["a"])
    wait_for(lambda: kept.ann.get(f"/v1/runs/{run}").json["paused"] == 1, PATIENCE, "the pause")
    age(99, *[path for each in (own, named) for path in (kept.mark(kept.ann, each), kept.state / "packages" / each)])
    assert not kept.would_go()
    kept.server.stop()
    kept.server.start()
    assert not kept.would_go()
    assert post(kept.ann, f"/v1/runs/{run}/continue", {}).status == 200
    wait_for(lambda: kept.ann.get(f"/v1/runs/{run}").json["state"] == "succeeded", PATIENCE, "the end of the run")
    age(99, *[path for each in (own, named) for path in (kept.mark(kept.ann, each), kept.state / "packages" / each)])
    kept.removes(*[kept.state / "packages" / each for each in (own, named)])


def test_logs_of_jobs_that_have_ended(kept):
    job = kept.ann.submit("echo said")
    kept.server.wait(job["id"])
    directory = next(kept.state.glob(f"jobs/*/{job['id']}"))
    age(400, directory)  # files say what they like: the job's end counts
    assert not kept.would_go()
    assert kept.server.member_log(job["id"]) == "said\n"


def test_logs_go_when_all_hold_too_much_or_are_too_old(tmp_path):
    """A job's end cannot be aged, so the age is short here; nothing that ended within the hour goes."""
    kept = Kept(tmp_path / "state", "--gc", "logs=1s")
    try:
        job = kept.ann.submit("echo said")["id"]
        kept.server.wait(job)
        assert not kept.would_go()
        kept.server.stop()
        with contextlib.closing(sqlite3.connect(kept.state / "paddle.db")) as store:
            earlier = "json_set(body, '$.finished', json_extract(body, '$.finished') - 7200000)"
            assert store.execute(f"UPDATE job SET body = {earlier} WHERE id = ?", (job,)).rowcount == 1
            store.commit()
        kept.server.start()
        directory = next(kept.state.glob(f"jobs/*/{job}"))
        kept.removes(directory)
        assert not list(directory.glob("*/log"))
        for path in ("/logs/worker-0", "/logs"):
            reply = kept.ann.get(f"/v1/jobs/{job}{path}")
            assert reply.status == 410 and "were removed" in reply.json["message"]
        assert kept.ann.paddle("logs", job).returncode != 0 and kept.server.job(job)["state"] == "succeeded"
    finally:
        kept.server.destroy()


def test_jobs_that_are_forgotten(kept):
    job = kept.ann.submit("echo said")
    kept.server.wait(job["id"])
    directory = next(kept.state.glob(f"jobs/*/{job['id']}"))
    assert kept.server.request("DELETE", f"/v1/jobs/{job['id']}?forget=true").status == 204
    assert not kept.would_go()  # not at once
    age(2, directory)
    kept.removes(directory)


def test_environments(kept):
    """One that a job waiting for its turn was prepared with stays; when it is over, the environment goes in its time."""
    first = kept.ann.submit("sleep 600", name="first")
    job = kept.ann.submit("python -c 'import six'", requirements="six==1.16.0\n", after=[f"any:{first['id']}"])
    wait_for(lambda: kept.server.job(job["id"])["environment"] == "ready", what="the environment")
    key = next(kept.state.glob(f"jobs/*/{job['id']}/environment")).readlink().name
    environment = kept.state / "envs" / key
    cache = [path for path in (kept.state / "envs").iterdir() if "-" not in path.name and path.name.startswith("u")]
    age(40, environment, *cache)
    assert not kept.would_go()
    kept.ann.paddle("cancel", first["id"], check=0)
    assert kept.server.wait(job["id"])["state"] == "succeeded"
    age(40, environment, *cache)
    kept.removes(environment, *cache)
    again = kept.ann.submit("python -c 'import six'", requirements="six==1.16.0\n")
    assert kept.server.wait(again["id"])["state"] == "succeeded"
    age(40, environment)
    os.utime(environment / "used")
    assert str(environment.relative_to(kept.state)) not in kept.would_go()
    if os.geteuid() == 0:
        assert kept.ann.get("/v1/storage/usage?count=true").json["items"][0]["kinds"]["environments"]["bytes"] > 10000


def test_bytes_bound_a_kind_and_the_least_recently_used_goes_first(tmp_path):
    kept = Kept(tmp_path / "state", "--gc", "uploads=0,10Mi")
    try:
        uploads = [kept.upload(kept.ann, f"u{i}", noise(4 << 20, i)) for i in range(4)]
        assert not kept.would_go()  # they are fresh
        for i, upload in enumerate(uploads):
            age(5 - i, upload)
        table = kept.server.paddle("gc", "--dry-run", check=0)
        assert "uploads hold 16." in table.stdout and "2 items would be deleted, 8." in table.stderr
        assert [item["name"] for item in kept.gc(dry=True)["items"]] == [
            str(u.relative_to(kept.state)) for u in uploads[:2]
        ]
        done = kept.server.paddle("gc", "-o", "name", check=0)
        assert done.stdout.split() == [str(upload.relative_to(kept.state)) for upload in uploads[:2]]
        assert "2 items deleted, 8." in done.stderr
        assert [upload.exists() for upload in uploads] == [False, False, True, True]
    finally:
        kept.server.destroy()


def test_it_happens_by_itself_and_a_crash_leaves_nothing_half(tmp_path):
    """What a removal that was cut off has left is out of sight, and goes with the next start."""
    server = Server(tmp_path / "state", "--gc-every", "1s").start()
    try:
        ann = Person(server, "ann")
        data = b"left alone"
        reply = server.request("PUT", f"{ann.home}/x?chunk=0&hash={digest(data)}", data, ann.headers)
        assert reply.status == 204
        upload = server.state / "storage/local/.upload" / digest(b"/pfs/local/home/ann/x")
        server.kill()
        age(30, upload)
        left = [
            server.state / area / name
            for area, name in (("jobs/.gone", "0"), ("envs/.gone", "0"), ("packages", ".gone.0"))
        ]
        left.append(server.state / "storage/local/.upload/gone.0")
        for path in left:
            (path / "half").mkdir(parents=True)
        server.start()
        wait_for(lambda: not any(path.exists() for path in left), what="the end of what a crash has left")
        wait_for(
            lambda: not upload.exists() or ann.get("/v1/storage/usage?count=true").status != 200,
            what="the upload's end",
        )
        assert not upload.exists()
        wait_for(lambda: "removed unused files" in server.log(), what="a word of it in the log")
    finally:
        server.destroy()


def test_rules_are_read_at_the_start(tmp_path):
    server = Server(tmp_path / "state", "--gc", "homes=1d")
    server.state.mkdir()
    server.start(wait=False)
    assert server.process.wait(60) != 0
    assert "--gc: 'homes=1d' is not KIND=AGE[,SIZE]; kinds are uploads, " in server.log()
