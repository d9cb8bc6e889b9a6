"""Packages: archives and manifests from outside, the life of an upload, what a job sees of its package."""

import hashlib
import io
import json
import os
import stat
import tarfile
import zipfile

import paddlecloud
import pytest
from conftest import PATIENCE, wait_for
from paddlecloud.package import of_directory
from people import Person
from seeds import noise

HOST = "/v1/packages"


def digest(data):
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def tree(server, package):
    return server.state / "packages" / package


def traces(server):
    """All that the store of packages holds, but for what is empty by design."""
    root = server.state / "packages"
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir() or p.parent == root)


@pytest.fixture
def untouched(shared_server):
    before = traces(shared_server)
    yield shared_server
    assert traces(shared_server) == before
    wait_for(lambda: not os.listdir(shared_server.state / "tmp"), 10, "an empty tmp")


def refused(reply, status, code, *parts):
    assert reply.status == status, (reply.status, reply.body)
    assert reply.json["code"] == code
    said = reply.json["message"] + "\n" + reply.json["hint"]
    for part in parts:
        assert part in said, f"{part!r} is not in {said!r}"


# -- archives


def tar_of(*entries, mode="w"):
    """A tar of (name, content) and (TarInfo, content)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=tarfile.PAX_FORMAT) as archive:
        for name, content in entries:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if info.isreg():
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return out.getvalue()


def special(name, kind, target="", device=(0, 0)):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    info.devmajor, info.devminor = device
    return info, b""


def zip_of(*entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return out.getvalue()


def form_of(data, field="package", boundary="xYzZY"):
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="job_name"\r\n\r\ndemo\r\n--{boundary}\r\n'
    head += f'Content-Disposition: form-data; name="{field}"; filename="p.tar.gz"\r\n'
    head += "Content-Type: application/octet-stream\r\n\r\n"
    body = head.encode() + data + f"\r\n--{boundary}--\r\n".encode()
    return body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}


GOOD = [("train.py", b"print('trained')\n"), ("data/one.txt", b"1\n"), ("requirements.txt", b"")]


@pytest.mark.parametrize("route", ["/v1/packages", "/v1/package"])
@pytest.mark.parametrize("form", [False, True], ids=["plain", "form"])
@pytest.mark.parametrize("kind", ["w", "w:gz", "w:xz", "zip"])
def test_an_archive_becomes_a_package(shared_server, route, form, kind):
    data = zip_of(*GOOD) if kind == "zip" else tar_of(*GOOD, mode=kind)
    body, headers = form_of(data) if form else (data, {"Content-Type": "application/x-tar"})
    reply = shared_server.post(route, body, headers=headers)
    assert reply.status == 200, reply.body
    assert reply.json["code"] == 200 and reply.json["msg"] == ""
    package = reply.json["package"]
    assert reply.json["job_id"] == package and len(package) == 64
    root = tree(shared_server, package)
    assert str(root) == reply.json["path"]
    assert {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()} == dict(GOOD)
    manifest = "paddle-package 1\n" + "".join(
        f"f 644 {len(content)} {digest(content)} {name}\n" for name, content in sorted(GOOD)
    )
    assert package == digest(manifest.encode())  # the form of src/package/package.h


def test_a_part_that_looks_like_a_boundary_does_not_end_it(shared_server):
    content = b"--xYzZY is no boundary in the middle of a line\n"
    body, headers = form_of(tar_of(("note.txt", content)))
    reply = shared_server.post(HOST, body, headers=headers)
    assert reply.status == 200, reply.body
    assert (tree(shared_server, reply.json["package"]) / "note.txt").read_bytes() == content


HOSTILE = {
    "absolute": ([("/etc/cron.d/x", b"x")], ["/etc/cron.d/x"]),
    "up": ([("../x", b"x")], ["../x"]),
    "up inside": ([("a/../../x", b"x")], ["a/../../x"]),
    "up at the end": ([("a/..", b"x")], [".."]),
    "link out": ([special("l", tarfile.SYMTYPE, "../../etc")], ["'l'", "../../etc"]),
    "link absolute": ([special("l", tarfile.SYMTYPE, "/etc/passwd")], ["'l'", "/etc/passwd"]),
    "link then below it": ([special("l", tarfile.SYMTYPE, "d"), ("l/x", b"x"), ("d/y", b"y")], ["l"]),
    "hard link out": ([special("l", tarfile.LNKTYPE, "/etc/passwd")], ["l"]),
    "hard link up": ([special("l", tarfile.LNKTYPE, "../../x")], ["l"]),
    "hard link to nothing": ([special("l", tarfile.LNKTYPE, "nothing")], ["l"]),
    "character device": ([special("d", tarfile.CHRTYPE, device=(1, 3))], ["'d'"]),
    "block device": ([special("d", tarfile.BLKTYPE, device=(8, 0))], ["'d'"]),
    "pipe": ([special("d", tarfile.FIFOTYPE)], ["'d'"]),
    "control bytes": ([("a\x01b", b"x")], ["a"]),
    "newline": ([("a\nb", b"x")], ["a"]),
    "a name of 300 letters": ([("a" * 300, b"x")], ["255"]),
    "a path of 5000 letters": ([("ab/" * 1700 + "x", b"x")], ["4096"]),
    "twice": ([("a", b"1"), ("a", b"2")], ["'a'"]),
    "file and directory": ([("a", b"1"), ("a/b", b"2")], ["a"]),
    "good first": ([("good", b"1"), ("../x", b"x")], ["../x"]),
}


@pytest.mark.parametrize("form", [False, True], ids=["plain", "form"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused(untouched, name, form):
    entries, parts = HOSTILE[name]
    data = tar_of(*entries, mode="w:gz")
    body, headers = form_of(data) if form else (data, {})
    refused(untouched.post(HOST, body, headers=headers), 400, "invalid", *parts)
    assert not (untouched.state / "x").exists() and not (untouched.state.parent / "x").exists()


def test_a_hostile_zip_is_refused(untouched):
    for name in ("../x", "/x", "a/../../x"):
        refused(untouched.post(HOST, zip_of((name, b"x"))), 400, "invalid", name)


BROKEN = {
    "empty": (b"", []),
    "text": (b"this is no archive at all\n" * 50, ["archive"]),
    "json": (b'{"package": "x"}', ["archive"]),
    "cut gzip": (tar_of(("a", noise(100000, "a")), mode="w:gz")[:50000], []),
    "cut tar": (tar_of(("a", b"x" * 100000))[:50000], []),
    "random": (noise(20000, "no archive"), ["archive"]),
    "no entries": (tar_of(), []),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_archive_is_refused(untouched, name):
    data, parts = BROKEN[name]
    refused(untouched.post(HOST, data), 400, "invalid", *parts)


def test_a_broken_form_is_refused(untouched):
    data = tar_of(("a", b"x"))
    body, headers = form_of(data, field="file")
    refused(untouched.post(HOST, body, headers=headers), 400, "invalid", "'package'")
    body, headers = form_of(data)
    refused(untouched.post(HOST, body[:-20], headers=headers), 400, "invalid", "'package'")
    refused(untouched.post(HOST, b"", headers=headers), 400, "invalid")
    for kind in ("multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=" + "x" * 71):
        refused(untouched.post(HOST, body, headers={"Content-Type": kind}), 400, "invalid", "boundary")
    wrong = {"Content-Type": "multipart/form-data; boundary=other"}
    refused(untouched.post(HOST, body, headers=wrong), 400, "invalid", "'package'")


def test_a_bomb_is_refused(untouched):
    """Zeros that shrink to a thousandth: refused for their ratio, before they are unpacked whole."""
    zeros = tar_of(("zeros", bytes(256 << 20)), mode="w:gz")
    refused(untouched.post(HOST, zeros), 413, "too_large", "archive")


def test_a_bomb_of_files_is_refused(untouched):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        info = tarfile.TarInfo("x")
        for i in range(100001):
            info.name = f"f{i}"
            archive.addfile(info)
    reply = untouched.post(HOST, out.getvalue(), timeout=600)  # a slow disk makes 100,000 files in minutes
    refused(reply, 413, "too_large", "100000")


# -- manifests


def manifest_of(files):
    rows = [f"f 644 {len(content)} {digest(content)} {name}\n" for name, content in sorted(files.items())]
    return ("paddle-package 1\n" + "".join(rows)).encode()


def offer(server, manifest):
    return server.post(HOST + "/offer", manifest, headers={"Content-Type": "text/plain"})


H = digest(b"x")
MANIFESTS = [
    (b"", []),
    (b"\n", []),
    (b"paddle-package 2\n", ["paddle-package"]),
    (b"PK\x03\x04", []),
    (b"\x00" * 100, []),
    (b"\xff\xfe\n", []),
    (b"paddle-package 1\nf 644 1 %s a", []),
    ("paddle-package 1\nf 644 1 zz a\n", []),
    (f"paddle-package 1\nf 644 1 {H[:-1]} a\n", []),
    (f"paddle-package 1\nf 644 1 {H.upper()} a\n", []),
    (f"paddle-package 1\nf 777 1 {H} a\n", []),
    (f"paddle-package 1\nf 644 -1 {H} a\n", []),
    (f"paddle-package 1\nf 644 99999999999999999999 {H} a\n", []),
    (f"paddle-package 1\nf 644 1 {H} /a\n", ["/a"]),
    (f"paddle-package 1\nf 644 1 {H} ../a\n", [".."]),
    (f"paddle-package 1\nf 644 1 {H} a/../b\n", [".."]),
    (f"paddle-package 1\nf 644 1 {H} ./a\n", []),
    (f"paddle-package 1\nf 644 1 {H} a/\n", []),
    (f"paddle-package 1\nf 644 1 {H} a//b\n", []),
    (f"paddle-package 1\nf 644 1 {H} {'a' * 300}\n", ["255"]),
    (f"paddle-package 1\nf 644 1 {H} a\x01\n", []),
    (f"paddle-package 1\nf 644 1 {H} b\nf 644 1 {H} a\n", []),
    (f"paddle-package 1\nf 644 1 {H} a\nf 644 1 {H} a\n", ["a"]),
    (f"paddle-package 1\nf 644 1 {H} a\nf 644 1 {H} a/b\n", ["a"]),
    ("paddle-package 1\nl 7 ../../x a\n", []),
    ("paddle-package 1\nl 4 /etc a\n", ["/etc"]),
    ("paddle-package 1\nl 99 b a\n", []),
    ("paddle-package 1\nc 1 3 null\n", []),
    ("paddle-package 1\nd ..\n", [".."]),
    ("paddle-package 1\nx\n", []),
]


@pytest.mark.parametrize("text, parts", MANIFESTS, ids=lambda value: str(value)[:60])
def test_a_manifest_is_refused(untouched, text, parts):
    refused(offer(untouched, text.encode() if isinstance(text, str) else text), 400, "invalid", *parts)


def test_a_manifest_over_the_limits_is_413(untouched):
    text = "paddle-package 1\n" + "".join(f"f 644 0 {digest(b'')} f{i:06}\n" for i in range(100001))
    refused(offer(untouched, text.encode()), 413, "too_large", "100000")
    refused(offer(untouched, f"paddle-package 1\nf 644 {17 << 30} {H} a\n".encode()), 413, "too_large")


def test_contents_are_refused(shared_server):
    server = shared_server
    content = b"content of the test of refusals"
    name = digest(content)
    manifest = manifest_of({"a": content})
    reply = offer(server, manifest)
    assert reply.json == {"package": digest(manifest), "missing": [{"hash": name, "have": 0}], "ready": False}
    package = digest(manifest)
    refused(server.post(f"{HOST}/{package}/commit"), 409, "conflict")
    refused(server.post(f"{HOST}/{'0' * 64}/commit"), 404, "not_found", "0" * 64)
    refused(server.post(f"{HOST}/nonsense/commit"), 400, "invalid", "'nonsense'", "64")
    refused(server.request("PUT", f"{HOST}/blobs/zz?offset=0", b"x"), 400, "invalid", "'zz'", "64")
    for query, parts in [
        ("offset=-1", ["offset", "'-1'"]),
        ("offset=x", ["offset", "'x'"]),
        ("offset=0&last=2", ["last"]),
    ]:
        refused(server.request("PUT", f"{HOST}/blobs/{name}?{query}", b"x"), 400, "invalid", *parts)
    reply = server.request("PUT", f"{HOST}/blobs/{name}?offset=5", content)
    refused(reply, 409, "conflict")
    assert reply.json["have"] == 0
    # a wrong content is dropped whole
    refused(server.request("PUT", f"{HOST}/blobs/{name}?offset=0&last=true", content + b"!"), 400, "invalid", name)
    assert offer(server, manifest).json["missing"] == [{"hash": name, "have": 0}]
    for body in (
        b"nonsense\n",
        b"%s\n" % name.encode(),
        b"%s 5\n1234" % name.encode(),
        b"%s -1\n" % name.encode(),
        b"%s 99999999999999999999\nx" % name.encode(),
        b"%s 31\n%s" % (b"0" * 64, content),
        b"%s 30\n%s" % (name.encode(), content[:-1]),
    ):
        refused(server.post(f"{HOST}/blobs", body), 400, "invalid")
    assert offer(server, manifest).json["missing"] == [{"hash": name, "have": 0}]
    assert not tree(server, package).exists()


def test_a_size_that_is_not_the_contents_is_refused(shared_server):
    content = b"the manifest says another size"
    manifest = f"paddle-package 1\nf 644 7 {digest(content)} a\n".encode()
    assert offer(shared_server, manifest).status == 200
    reply = shared_server.request("PUT", f"{HOST}/blobs/{digest(content)}?offset=0&last=true", content)
    if reply.status == 204:
        refused(shared_server.post(f"{HOST}/{digest(manifest)}/commit"), 400, "invalid", "a")
    assert not tree(shared_server, digest(manifest)).exists()


def test_offer_send_commit(shared_server):
    server = shared_server
    files = {"a.py": b"print('a')\n", "sub/b.txt": b"b" * 1000, "same.txt": b"b" * 1000}
    manifest = manifest_of(files)
    package = digest(manifest)
    missing = offer(server, manifest).json["missing"]
    assert sorted(item["hash"] for item in missing) == sorted({digest(c) for c in files.values()})
    body = b"".join(b"%s %d\n%s" % (digest(c).encode(), len(c), c) for c in dict.fromkeys(files.values()))
    assert server.post(f"{HOST}/blobs", body).status == 204
    assert not tree(server, package).exists()  # only the commit makes it
    assert server.post(f"{HOST}/{package}/commit").json == {"package": package, "requirements": False}
    again = offer(server, manifest).json
    assert again == {"package": package, "missing": [], "ready": True}
    assert server.post(f"{HOST}/{package}/commit").status == 200  # once more does no harm
    root = tree(server, package)
    for name, content in files.items():
        assert (root / name).read_bytes() == content
        assert stat.S_IMODE((root / name).stat().st_mode) & 0o222 == 0
    assert stat.S_IMODE(root.stat().st_mode) & 0o222 == 0
    # another package with one new file lacks that file only
    other = manifest_of({**files, "new": b"new one"})
    assert [item["hash"] for item in offer(server, other).json["missing"]] == [digest(b"new one")]


def test_a_large_content_goes_on_after_a_break(make_server):
    server = make_server("--cpus", "1")
    content = noise(9 << 20, "large.bin")
    name, manifest = digest(content), manifest_of({"large.bin": content})
    assert offer(server, manifest).json["missing"] == [{"hash": name, "have": 0}]
    assert server.request("PUT", f"{HOST}/blobs/{name}?offset=0", content[: 4 << 20]).status == 204
    server.kill()
    server.start()
    assert offer(server, manifest).json["missing"] == [{"hash": name, "have": 4 << 20}]
    reply = server.request("PUT", f"{HOST}/blobs/{name}?offset=0", content[: 4 << 20])
    assert reply.status == 409 and reply.json["have"] == 4 << 20
    assert server.request("PUT", f"{HOST}/blobs/{name}?offset={4 << 20}", content[4 << 20 : 8 << 20]).status == 204
    assert server.request("PUT", f"{HOST}/blobs/{name}?offset={8 << 20}&last=true", content[8 << 20 :]).status == 204
    assert offer(server, manifest).json["missing"] == []
    assert server.post(f"{HOST}/{digest(manifest)}/commit").status == 200
    assert (tree(server, digest(manifest)) / "large.bin").read_bytes() == content


# -- through the command line


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "demo"
    path.mkdir()
    (path / "train.py").write_text("print('trained')\n")
    return path


def newest(server):
    return server.job(server.get("/v1/jobs?limit=1").json["items"][0]["id"])


def test_a_second_submit_sends_nothing(shared_server, program):
    (program / "data.bin").write_bytes(noise(3 << 20, "data.bin"))
    (program / "train.py").write_text("print('the second submit')\n")
    first = shared_server.paddle("submit", "--", "true", cwd=program, check=0)
    assert "packed 2 files" in first.stderr and "2 new" in first.stderr
    second = shared_server.paddle("submit", "--", "true", cwd=program, check=0)
    assert "packed 2 files" in second.stderr and " new" not in second.stderr and "server has them" in second.stderr
    (program / "train.py").write_text("print('changed')\n")
    third = shared_server.paddle("submit", "--", "true", cwd=program, check=0)
    assert "1 new, 17 B sent" in third.stderr


def test_ignore_files_are_respected(shared_server, program):
    keep = ["train.py", "keep.log", "src/a.py", ".gitignore", ".paddleignore"]
    drop = ["x.log", "build/out.o", "src/b.tmp", "data/huge.bin", ".git/config", "__pycache__/x.pyc"]
    for name in [*keep, *drop]:
        (program / name).parent.mkdir(parents=True, exist_ok=True)
        (program / name).write_text(f"{name}\n")
    (program / ".gitignore").write_text("*.log\n!keep.log\n/build/\n__pycache__/\n")
    (program / ".paddleignore").write_text("*.tmp\ndata/\n")
    shared_server.paddle("submit", "--", "true", cwd=program, check=0)
    root = tree(shared_server, newest(shared_server)["spec"]["package"])
    found = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}
    assert set(keep) - {".gitignore", ".paddleignore"} <= found
    assert not found & set(drop), found & set(drop)


def test_each_attempt_has_a_copy_of_its_own(shared_server, program):
    (program / "state.txt").write_text("clean\n")
    (program / "train.py").write_text(
        "print(open('state.txt').read().strip())\n"
        "open('state.txt', 'w').write('dirty\\n')\n"
        "open('new.txt', 'x').close()\n"
        "raise SystemExit(1)\n"
    )
    done = shared_server.paddle("submit", "--retries", "1", "--follow", "--", "python3", "train.py", cwd=program)
    assert done.returncode == 1
    job = newest(shared_server)
    assert job["attempt"] == 2
    for attempt in (1, 2):
        assert shared_server.member_log(job["id"], query=f"?attempt={attempt}") == "clean\n"
    root = tree(shared_server, job["spec"]["package"])
    assert (root / "state.txt").read_text() == "clean\n" and not (root / "new.txt").exists()
    assert (program / "state.txt").read_text() == "clean\n"


def test_the_package_is_importable_by_its_name(shared_server, program):
    (program / "__init__.py").touch()
    (program / "helper.py").write_text("WORD = 'helped'\n")
    (program / "train.py").write_text("from demo.helper import WORD\nprint(WORD)\n")
    for command in (["python3", "-m", "demo.train"], ["python3", "train.py"]):
        done = shared_server.paddle("submit", "--follow", "--", *command, cwd=program, check=0)
        assert "helped" in done.stdout + done.stderr
        job = newest(shared_server)
        assert job["spec"]["package_name"] == "demo"
        assert shared_server.member_log(job["id"]) == "helped\n"


def test_requirements_win_over_the_seeds_spelling(shared_server, program):
    (program / "requirments.txt").write_text("# the seed's spelling\n")
    shared_server.paddle("submit", "--", "true", cwd=program, check=0)
    assert newest(shared_server)["spec"]["requirements"] == "# the seed's spelling\n"
    (program / "requirements.txt").write_text("# the right one\n")
    shared_server.paddle("submit", "--", "true", cwd=program, check=0)
    assert newest(shared_server)["spec"]["requirements"] == "# the right one\n"


def test_links_and_modes_travel(shared_server, program):
    (program / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (program / "run.sh").chmod(0o755)
    (program / "sub").mkdir()
    (program / "sub" / "link").symlink_to("../run.sh")
    (program / "empty").mkdir()
    script = "sub/link && test -d empty && test -L sub/link && test ! -x train.py && echo good"
    shared_server.paddle("submit", "--follow", "--", script, cwd=program, check=0)
    assert shared_server.member_log(newest(shared_server)["id"]) == "ran\ngood\n"


# -- packages that steps name


def test_steps_use_the_packages_of_their_user(server):
    """To know the hash of another user's package is not enough, in a run, a stored pipeline and its next version."""
    owner, other = Person(server, "owner"), Person(server, "other")
    data = b"only for the owner\n"
    content = hashlib.blake2b(data, digest_size=32).hexdigest()
    manifest = f"paddle-package 1\nf 644 {len(data)} {content} secret\n"
    package = hashlib.blake2b(manifest.encode(), digest_size=32).hexdigest()
    binary = {**owner.headers, "Content-Type": "application/octet-stream"}

    def post(person, path, body):
        headers = {**person.headers, "Content-Type": "application/json"}
        return server.request("POST", path, json.dumps(body), headers=headers)

    def text(hash_, name="p"):
        return (
            f"name: {name}\nentry_points:\n  d: {{entry_points: {{a: {{command: cat secret, package: '{hash_}'}}}}}}\n"
        )

    offer = server.request(
        "POST", "/v1/packages/offer", manifest, headers={**owner.headers, "Content-Type": "text/plain"}
    )
    assert offer.status == 200, offer.body
    blob = f"{content} {len(data)}\n".encode() + data
    assert server.request("POST", "/v1/packages/blobs", blob, headers=binary).status == 204
    assert server.request("POST", f"/v1/packages/{package}/commit", headers=owner.headers).status == 200
    plain = "name: q\nentry_points: {a: {command: 'true'}}\n"
    assert post(other, "/v1/pipelines", {"definition": plain}).status == 201
    for hash_ in (package, "f" * 64, "../../..", "x"):
        for path, name in (("/v1/runs", "p"), ("/v1/pipelines", "p"), ("/v1/pipelines/q/versions", "q")):
            reply = post(other, path, {"definition": text(hash_, name)})
            assert reply.status == 404, (path, hash_, reply.body)
            assert "d.a.package: '" in reply.json["message"] and "not on this server" in reply.json["message"]
    assert post(owner, "/v1/pipelines", {"definition": text(package)}).status == 201
    for body in ({"definition": text(package)}, {"pipeline": "p"}):
        run = post(owner, "/v1/runs", body).json["id"]
        wait_for(lambda run=run: owner.get(f"/v1/runs/{run}").json["finished_at"], PATIENCE, "the end of the run")
        assert owner.get(f"/v1/runs/{run}").json["state"] == "succeeded", owner.get(f"/v1/runs/{run}").body


# -- what holds tokens


def test_tokens_and_databases_are_never_sent(server, tmp_path, monkeypatch):
    """PADDLE_HOME, the configurations of clients and the state of a server, whatever the rules say."""
    person, program = tmp_path / "person", tmp_path / "person" / "program"
    home, state = program / "tools" / "home", program / "state"
    for directory in (program / "data", home, state, person / ".paddle", person / ".paddleflow"):
        directory.mkdir(parents=True)
    (program / "train.py").write_text("print('trained')\n")
    (program / "data" / "config").write_text("learning rate\n")
    for secret in (
        home / "config",
        state / "paddle.db",
        person / ".paddle" / "config",
        person / ".paddleflow" / "paddleflow.ini",
    ):
        secret.write_text("token: abc\n")
    (program / ".paddleignore").write_text("!home/\n!state/\n!tools/home/config\n!client.yaml\n")
    (program / "client.yaml").write_text("{}\n")
    monkeypatch.setenv("HOME", str(person))
    monkeypatch.setenv("PADDLE_HOME", str(home))
    monkeypatch.setenv("PADDLE_CONFIG", str(program / "client.yaml"))

    def submit(cwd, command):
        return server.paddle("submit", "--", "python3", command, cwd=cwd, env={"HOME": os.environ["HOME"]})

    def packed(cwd, command):
        done = submit(cwd, command)
        assert done.returncode == 0, done
        package = newest(server)["spec"]["package"]
        with pytest.warns(UserWarning, match="never sent"):
            assert of_directory(str(cwd)).hash == package
        line = next(line for line in done.stderr.splitlines() if line.startswith("packed "))
        return line, sorted(str(path.relative_to(tree(server, package))) for path in tree(server, package).rglob("*"))

    line, files = packed(program, "train.py")
    assert "which is never sent: it holds tokens of paddle" in line, line
    assert files == [".paddleignore", "data", "data/config", "tools", "train.py"]
    (program / "tools").rename(person / "tools")
    monkeypatch.setenv("PADDLE_HOME", str(person / "link"))
    (person / "link").symlink_to("tools/home")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".paddle").symlink_to("person/.paddle")
    (tmp_path / ".paddleflow").symlink_to("person/.paddleflow")
    line, files = packed(person, "program/train.py")
    assert [file for file in files if "config" in file or "paddle.db" in file or "ini" in file] == [
        "program/data/config"
    ]
    for own in (person / "tools" / "home", person / ".paddleflow"):
        (own / "train.py").write_text("pass\n")
        done = submit(own, "train.py")
        assert done.returncode == 2 and "tokens and databases" in done.stderr, done
        with pytest.raises(ValueError, match="tokens and databases"):
            of_directory(str(own))


# -- what `paddle download` brought


def test_what_was_downloaded_is_not_sent(server, tmp_path, monkeypatch):
    """The Python package and the command share one record and leave out the same."""
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path / "home"))
    program = tmp_path / "program"
    program.mkdir()
    (program / "train.py").write_text("print('trained')\n")
    home = server.state / "storage/local/home/root/model"
    home.mkdir(parents=True)
    (home / "model.npz").write_bytes(noise(10_000, "model"))
    (home / "notes.txt").write_text("as it came\n")

    def packed(*more):
        line = server.paddle("submit", "--", "python3", "train.py", *more, cwd=program, check=0).stderr.splitlines()[0]
        package = newest(server)["spec"]["package"]
        assert of_directory(str(program)).hash == package
        return line, sorted(str(path.relative_to(tree(server, package))) for path in tree(server, package).rglob("*.*"))

    server.paddle("download", "model", ".", cwd=program, check=0)
    line, files = packed()
    assert line.startswith("packed 1 file, ") and line.endswith("; left out 2 downloaded files, 9.8 KiB"), line
    assert files == ["train.py"]
    (program / "model" / "notes.txt").write_text("my own words\n")  # it is the person's from now on
    (program / "model" / "net.py").write_text("pass\n")
    line, files = packed()
    assert line.endswith("left out 1 downloaded file, 9.8 KiB"), line
    assert files == ["model/net.py", "model/notes.txt", "train.py"]
    done = server.paddle("submit", "--", "python3", "model/model.npz", cwd=program)
    assert done.returncode == 2 and "`paddle download` brought it" in done.stderr
    (program / ".paddleignore").write_text("!model/\n")
    line, files = packed()
    assert "left out" not in line and "model/model.npz" in files
    (program / ".paddleignore").unlink()
    with paddlecloud.Client(server=server.url) as client:
        client.download("model", str(program / "again"))
    line, files = packed()
    assert line.endswith("left out 3 downloaded files, 19.5 KiB"), line
    assert files == ["model/net.py", "model/notes.txt", "train.py"]
