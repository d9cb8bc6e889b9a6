"""The storage: round trips through interface and command line, breaks, and who may see and write what."""

import contextlib
import hashlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading

import pytest
from conftest import BIN, wait_for
from seeds import noise

CHUNK = 4 << 20
HOME = "/v1/files/pfs/local/home/root"
PUBLIC = "/v1/files/pfs/local/public"


def digest(data):
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def chunks_of(data):
    return [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]


def refused(reply, status, code, *parts):
    assert reply.status == status, (reply.status, reply.body)
    assert reply.json["code"] == code
    said = reply.json["message"] + "\n" + reply.json["hint"]
    for part in parts:
        assert part in said, f"{part!r} is not in {said!r}"


def finish(server, path, data, **kwargs):
    hashes = [digest(chunk) for chunk in chunks_of(data)]
    return server.post(path, {"op": "finish", "size": len(data), "chunks": hashes}, **kwargs)


def put(server, path, index, chunk, **kwargs):
    return server.request("PUT", f"{path}?chunk={index}&hash={digest(chunk)}", chunk, **kwargs)


def upload(server, path, data, **kwargs):
    for index, chunk in enumerate(chunks_of(data)):
        reply = put(server, path, index, chunk, **kwargs)
        assert reply.status == 204, reply.body
    reply = finish(server, path, data, **kwargs)
    assert reply.status == 200, reply.body


def sent(done):
    """How much the command says it has sent."""
    return re.findall(r"of which (.*) sent", done.stderr)


# -- the interface


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 9 << 20])
def test_a_file_comes_back_as_it_went(shared_server, size):
    data = noise(size, "round")
    path = f"{HOME}/round/{size}.bin"
    upload(shared_server, path, data)
    reply = shared_server.get(path)
    assert reply.status == 200 and reply.body == data
    assert shared_server.get(path + "?chunks=true").json == {
        "size": size,
        "chunk_size": CHUNK,
        "chunks": [digest(chunk) for chunk in chunks_of(data)],
    }
    assert shared_server.get(path + "?upload=true").json["chunks"] == []  # nothing unfinished is left
    if size > 10:
        part = shared_server.get(path, headers={"Range": "bytes=3-9"})
        assert part.status == 206 and part.body == data[3:10]
        assert part.headers["Content-Range"] == f"bytes 3-9/{size}"
        assert shared_server.get(path, headers={"Range": "bytes=-4"}).body == data[-4:]
    beyond = shared_server.get(path, headers={"Range": f"bytes={size}-"})
    assert beyond.status == 416, beyond.status
    assert shared_server.request("DELETE", path).status == 204
    assert shared_server.get(path).status == 404


def test_chunks_come_in_any_order_and_are_checked(shared_server):
    data = noise(9 << 20, "order.bin")
    path = f"{HOME}/order.bin"
    first, second, third = chunks_of(data)
    assert put(shared_server, path, 2, third).status == 204
    assert shared_server.get(path).status == 404  # nothing half is visible
    assert shared_server.get(path + "?upload=true").json["chunks"] == [None, None, digest(third)]
    refused(finish(shared_server, path, data), 409, "conflict", "chunk 0 of 3")
    wrong = shared_server.request("PUT", f"{path}?chunk=0&hash={digest(first)}", second)
    refused(wrong, 400, "invalid", digest(first), digest(second))
    refused(shared_server.request("PUT", f"{path}?chunk=0", first), 400, "invalid", "hash")
    refused(shared_server.request("PUT", f"{path}?chunk=-1&hash={digest(first)}", first), 400, "invalid", "'-1'")
    refused(shared_server.request("PUT", f"{path}?chunk=2000000000&hash={digest(first)}", first), 413, "too_large")
    refused(shared_server.request("PUT", f"{path}?chunk=0&hash={digest(b'')}", b""), 400, "invalid", "1 to")
    assert put(shared_server, path, 0, first).status == 204
    assert put(shared_server, path, 1, second).status == 204
    for size, hashes, code, parts in [
        (len(data) + CHUNK, [first, second, third], 400, ["3"]),
        (1, [], 400, ["1 bytes"]),
        (len(data) + 1, [first, second, third], 409, ["chunk 2"]),
        (len(data), [second, first, third], 409, ["chunk 0", digest(first), digest(second)]),
    ]:
        reply = shared_server.post(path, {"op": "finish", "size": size, "chunks": [digest(c) for c in hashes]})
        refused(reply, code, "invalid" if code == 400 else "conflict", *parts)
        assert shared_server.get(path).status == 404
    reply = shared_server.post(path, {"op": "finish", "size": len(data), "chunks": ["zz", 5, None]})
    refused(reply, 400, "invalid", "chunks[0]")
    assert finish(shared_server, path, data).status == 200
    assert shared_server.get(path).body == data


def test_what_is_there_stays_until_the_new_one_is_whole(shared_server):
    path = f"{HOME}/stays.bin"
    upload(shared_server, path, b"old")
    assert put(shared_server, path, 0, b"newer").status == 204
    assert shared_server.get(path).body == b"old"
    assert finish(shared_server, path, b"newer").status == 200
    assert shared_server.get(path).body == b"newer"


def test_directories(shared_server):
    base = f"{HOME}/tree"
    assert shared_server.post(f"{base}/empty", {"op": "mkdir"}).status == 200
    upload(shared_server, f"{base}/b.txt", b"b")
    upload(shared_server, f"{base}/sub/a.txt", b"aa")
    items = shared_server.get(base).json["items"]
    shown = [(item["path"].rpartition("/")[2], item["dir"]) for item in items]
    assert shown == [("b.txt", False), ("empty", True), ("sub", True)]
    paths = [item["path"] for item in shared_server.get(base + "?recursive=true").json["items"]]
    root = "/pfs/local/home/root/tree/"
    assert paths == [root + name for name in ("b.txt", "empty", "sub", "sub/a.txt")]
    sizes = {item["path"]: item["size"] for item in shared_server.get(base + "?recursive=true").json["items"]}
    assert sizes[root + "sub/a.txt"] == 2
    refused(finish(shared_server, f"{base}/sub", b""), 409, "conflict", "directory")
    assert put(shared_server, f"{base}/b.txt/x", 0, b"x").status in (204, 409)
    assert finish(shared_server, f"{base}/b.txt/x", b"x").status == 409
    refused(shared_server.post(f"{base}/b.txt", {"op": "mkdir"}), 409, "conflict")
    refused(shared_server.request("DELETE", f"{base}/sub"), 409, "conflict", "recursive")
    assert shared_server.request("DELETE", base + "?recursive=true").status == 204
    assert shared_server.get(base).status == 404
    refused(shared_server.request("DELETE", base), 404, "not_found", "tree")


# -- places


@pytest.mark.parametrize(
    "path, status, code, parts",
    [
        ("/v1/files/pfs/local/home/root/../other/x", 400, "invalid", [".."]),
        ("/v1/files/pfs/local/home/root/%2e%2e/other/x", 400, "invalid", [".."]),
        ("/v1/files/pfs/local/home/root/a%2f..%2f..%2fx", 400, "invalid", [".."]),
        ("/v1/files/etc/passwd", 400, "invalid", ["/pfs"]),
        ("/v1/files/pfs/local/elsewhere/x", 400, "invalid", ["home", "public"]),
        ("/v1/files/pfs/local", 400, "invalid", ["home"]),
        ("/v1/files/pfs", 400, "invalid", ["home"]),
        ("/v1/files", 400, "invalid", ["/pfs"]),
        ("/v1/files/pfs/moon/home/root/x", 404, "not_found", ["'moon'", "'local'"]),
        ("/v1/files/pfs/local/home/root/a%01b", 400, "invalid", ["a"]),
        ("/v1/files/pfs/local/home/root/a%0ab", 400, "invalid", []),
        ("/v1/files/pfs/local/home/root/a%00b", 400, "invalid", []),
        ("/v1/files/pfs/local/home/root/%ff", 400, "invalid", []),
        ("/v1/files/pfs/local/home/root/" + "a" * 300, 400, "invalid", ["255"]),
        ("/v1/files/pfs/local/home/root/" + ("a" * 200 + "/") * 25, 400, "invalid", ["4096"]),
        ("/v1/files/pfs/local/home/.hidden/x", 400, "invalid", ["'.hidden'"]),
    ],
)
def test_a_path_is_refused(shared_server, path, status, code, parts):
    replies = [shared_server.get(path), put(shared_server, path, 0, b"x"), finish(shared_server, path, b"")]
    replies += [shared_server.post(path, {"op": "mkdir"}), shared_server.request("DELETE", path + "?recursive=true")]
    for reply in replies:
        refused(reply, status, code, *parts)
    assert sorted(p.name for p in (shared_server.state / "storage" / "local").iterdir()) == [
        ".upload",
        "home",
        "public",
    ]


def test_links_do_not_lead_out(shared_server):
    """Jobs make links in their home; neither reading nor writing follows one out of it."""
    upload(shared_server, f"{HOME}/links/here.txt", b"here")
    home = shared_server.state / "storage" / "local" / "home" / "root" / "links"
    secret = shared_server.state / "storage" / "local" / "home" / "neighbour"
    secret.mkdir(exist_ok=True)
    (secret / "secret.txt").write_text("secret")
    for name, target in [
        ("etc", "/etc"),
        ("passwd", "/etc/passwd"),
        ("up", "../../../.."),
        ("near", "../../neighbour"),
    ]:
        (home / name).symlink_to(target)
    (home / "inside").symlink_to("here.txt")
    os.mkfifo(home / "pipe")
    assert shared_server.get(f"{HOME}/links/inside").body == b"here"
    for name in ("passwd", "etc/passwd", "etc", "up/paddle.db", "near/secret.txt"):
        refused(shared_server.get(f"{HOME}/links/{name}"), 403, "denied", "link")
        refused(shared_server.get(f"{HOME}/links/{name}?chunks=true"), 403, "denied", "link")
    for name in ("etc/made", "up/made", "near/made"):
        assert put(shared_server, f"{HOME}/links/{name}", 0, b"x").status in (204, 403)
        refused(finish(shared_server, f"{HOME}/links/{name}", b"x"), 403, "denied", "link")
        refused(shared_server.post(f"{HOME}/links/{name}", {"op": "mkdir"}), 403, "denied", "link")
        refused(shared_server.request("DELETE", f"{HOME}/links/{name}"), 403, "denied", "link")
    refused(shared_server.get(f"{HOME}/links/pipe"), 400, "invalid", "pipe")
    items = shared_server.get(f"{HOME}/links?recursive=true").json["items"]
    assert [item["path"].rpartition("/")[2] for item in items] == ["here.txt", "inside"]
    upload(shared_server, f"{HOME}/links/passwd", b"replaced")  # the link itself is replaced
    assert not (home / "passwd").is_symlink() and b"root:" in pathlib.Path("/etc/passwd").read_bytes()
    assert shared_server.request("DELETE", f"{HOME}/links?recursive=true").status == 204
    assert (secret / "secret.txt").read_text() == "secret" and os.path.exists("/etc/passwd")


def test_homes_are_private_and_public_is_for_all(shared_server):
    token = shared_server.post("/v1/tokens", {"user": "ann"}).json["token"]
    ann = {"Authorization": f"Bearer {token}"}
    upload(shared_server, f"{HOME}/mine.txt", b"mine")
    upload(shared_server, f"{PUBLIC}/all.txt", b"for all")
    hers = "/v1/files/pfs/local/home/ann/x.txt"
    upload(shared_server, hers, b"hers", headers=ann)
    assert shared_server.get(hers, headers=ann).body == b"hers"
    assert shared_server.get(hers).body == b"hers"  # administrators see all
    for reply in (
        shared_server.get(f"{HOME}/mine.txt", headers=ann),
        shared_server.get(f"{HOME}/not-there.txt", headers=ann),
        shared_server.get(HOME, headers=ann),
        shared_server.get(f"{HOME}/mine.txt?chunks=true", headers=ann),
        put(shared_server, f"{HOME}/new.txt", 0, b"x", headers=ann),
        finish(shared_server, f"{HOME}/mine.txt", b"", headers=ann),
        shared_server.post(f"{HOME}/new", {"op": "mkdir"}, headers=ann),
        shared_server.request("DELETE", f"{HOME}/mine.txt", headers=ann),
    ):
        refused(reply, 403, "denied", "'root'")
    assert shared_server.get(f"{PUBLIC}/all.txt", headers=ann).body == b"for all"
    assert [i["path"] for i in shared_server.get(PUBLIC, headers=ann).json["items"]] == ["/pfs/local/public/all.txt"]
    for reply in (
        put(shared_server, f"{PUBLIC}/new.txt", 0, b"x", headers=ann),
        finish(shared_server, f"{PUBLIC}/all.txt", b"", headers=ann),
        shared_server.post(f"{PUBLIC}/new", {"op": "mkdir"}, headers=ann),
        shared_server.request("DELETE", f"{PUBLIC}/all.txt", headers=ann),
        shared_server.post("/v1/jobs", {"command": ["true"], "output": "/pfs/local/public/x"}, headers=ann),
    ):
        refused(reply, 403, "denied", "administrators", "home")
    reply = shared_server.post("/v1/jobs", {"command": ["true"], "input": "/pfs/local/home/root"}, headers=ann)
    refused(reply, 403, "denied", "input", "'root'")
    assert shared_server.get(f"{HOME}/mine.txt").body == b"mine"


# -- the command line


def tree_of(root):
    return {str(p.relative_to(root)): p.read_bytes() if p.is_file() else None for p in root.rglob("*")}


def test_files_and_trees_through_the_command_line(shared_server, tmp_path):
    source = tmp_path / "data"
    (source / "sub" / "deep").mkdir(parents=True)
    (source / "empty-dir").mkdir()
    (source / "empty").touch()
    (source / "large.bin").write_bytes(noise(9 << 20, "large.bin"))
    (source / "sub" / "deep" / "x y ü.txt").write_text("text")
    done = shared_server.paddle("upload", source, "cli/tree", check=0)
    assert done.stdout.strip() == "/pfs/local/home/root/cli/tree"
    shared_server.paddle("download", "cli/tree", tmp_path / "back", check=0)
    assert tree_of(tmp_path / "back") == tree_of(source)
    shared_server.paddle("upload", source / "empty", "cli/one", check=0)
    shared_server.paddle("download", "cli/one", tmp_path / "one", check=0)
    assert (tmp_path / "one").read_bytes() == b""
    shared_server.paddle("upload", source / "empty", source / "large.bin", "cli/many", check=0)
    shared_server.paddle("download", "cli/many", tmp_path / "many", check=0)
    assert tree_of(tmp_path / "many") == {"empty": b"", "large.bin": (source / "large.bin").read_bytes()}
    shared_server.paddle("upload", source, "cli/into/", check=0)
    shared_server.paddle("download", "cli/into/data/empty", str(tmp_path / "into") + "/", check=0)
    assert (tmp_path / "into" / "empty").exists()
    again = shared_server.paddle("upload", source, "cli/tree", check=0)
    assert sent(again) == ["0 B"]


def test_a_changed_byte_sends_one_chunk(shared_server, tmp_path):
    path = tmp_path / "model.bin"
    data = bytearray(noise(9 << 20, "model.bin"))
    path.write_bytes(data)
    assert sent(shared_server.paddle("upload", path, "cli/model.bin", check=0)) == ["9.0 MiB"]
    data[5 << 20] ^= 1
    path.write_bytes(data)
    assert sent(shared_server.paddle("upload", path, "cli/model.bin", check=0)) == ["4.0 MiB"]
    assert shared_server.get(f"{HOME}/cli/model.bin").body == bytes(data)


@contextlib.contextmanager
def dammed(server, path, limit):
    """A socket before the server's, by which so many bytes come to the server and no more. At the end all is cut."""
    left, ends = [limit], []

    def pass_on(source, sink, counts):
        with contextlib.suppress(OSError):
            while (not counts or left[0] > 0) and (data := source.recv(65536)):
                sink.sendall(data)
                left[0] -= counts * len(data)

    def serve(listener):
        with contextlib.suppress(OSError):
            while True:
                caller, there = listener.accept()[0], socket.socket(socket.AF_UNIX)
                ends.extend((caller, there))
                there.connect(server.socket)
                for way in ((caller, there, True), (there, caller, False)):
                    threading.Thread(target=pass_on, args=way, daemon=True).start()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        ends.append(listener)
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        try:
            yield f"unix:{path}"
        finally:
            for end in ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()


def test_an_upload_goes_on_after_its_client_was_killed(shared_server, tmp_path):
    path, remote = tmp_path / "big.bin", f"{HOME}/cli/big.bin"
    data = noise(60 << 20, "big.bin")
    path.write_bytes(data)
    with dammed(shared_server, tmp_path / "dam.sock", 20 << 20) as url:
        client = subprocess.Popen(
            [BIN / "paddle", "upload", path, "cli/big.bin"],
            env={**os.environ, "PADDLE_SERVER": url, "HOME": str(tmp_path)},
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: shared_server.get(remote + "?upload=true").json["size"] >= CHUNK, 30, "the first chunk")
        client.send_signal(signal.SIGKILL)
        client.wait()
    arrived = shared_server.get(remote + "?upload=true").json["size"]
    assert CHUNK <= arrived < len(data)
    assert shared_server.get(remote).status == 404
    done = shared_server.paddle("upload", path, "cli/big.bin", check=0)
    now = float(sent(done)[0].removesuffix(" MiB")) * (1 << 20)
    assert now <= len(data) - arrived + CHUNK
    assert shared_server.get(remote).body == data


def test_a_download_goes_on_after_a_break(shared_server, tmp_path):
    data = noise(9 << 20, "down.bin")
    upload(shared_server, f"{HOME}/cli/down.bin", data)
    part = tmp_path / "down.bin.part"
    part.write_bytes(data[:CHUNK])
    shared_server.paddle("download", "cli/down.bin", tmp_path / "down.bin", check=0)
    assert (tmp_path / "down.bin").read_bytes() == data and not part.exists()
    part.write_bytes(noise(CHUNK, "other"))  # of something else
    (tmp_path / "down.bin").unlink()
    shared_server.paddle("download", "cli/down.bin", tmp_path / "down.bin", check=0)
    assert (tmp_path / "down.bin").read_bytes() == data


def test_the_command_line_says_why_not(shared_server, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("x")
    token = shared_server.post("/v1/tokens", {"user": "bob"}).json["token"]
    for line, status, parts in [
        (["upload", tmp_path / "pipe", "x"], 2, ["pipe"]),
        (["upload", tmp_path / "file", "/pfs/moon/home/root/x"], 1, ["'moon'", "'local'"]),
        (["upload", tmp_path / "file", "a/../../x"], 2, ["'..'"]),
        (["download", "not/there", tmp_path / "y"], 1, ["/pfs/local/home/root/not/there", "does not exist"]),
        (["upload", tmp_path / "file", "/pfs/local/home/root/x", "--token", token], 3, ["'root'"]),
        (["download", "/pfs/local/home/root", tmp_path / "y", "--token", token], 3, ["'root'"]),
        (["upload", tmp_path / "file", "/pfs/local/public/x", "--token", token], 3, ["administrators"]),
    ]:
        done = shared_server.paddle(*line)
        assert done.returncode == status, (line, done.returncode, done.stderr)
        for part in parts:
            assert part in done.stderr, (line, done.stderr)
    assert not (tmp_path / "y").exists()
