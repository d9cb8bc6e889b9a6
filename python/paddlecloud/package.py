"""Packages: a program's directory named by its content, and sent so that only what the server lacks travels.

The manifest's canonical text (src/fs/package.h): a first line "paddle-package 1", then in byte order of the paths one line an entry:
`f <644|755> <size> <BLAKE2b-256> <path>`, `l <target length> <target> <path>`, `d <path>` for an empty directory.
"""

import hashlib
import json
import os
import stat
import urllib.parse

SMALL = 256 * 1024
BATCH = 8 * 1024 * 1024
PIECE = 8 * 1024 * 1024
ALWAYS_IGNORED = {".git", "__pycache__"}


def _hash_file(path):
    digest = hashlib.blake2b(digest_size=32)
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _escape(name):
    return name.replace("\\", "\\\\").replace("\n", "\\n")


class Manifest:
    """`lines` in order, `files` {hash: path} of all contents, `hash` of the package."""

    def __init__(self, entries, files):
        self.text = ("paddle-package 1\n" + "".join(line + "\n" for _, line in sorted(entries))).encode()
        self.files = files
        self.hash = hashlib.blake2b(self.text, digest_size=32).hexdigest()


def _ignore_spec(directory):
    """The rules of .gitignore and .paddleignore of one directory, or None. The second file's rules win, as they come later."""
    import pathspec  # only who submits needs it: a member of a job does without

    lines = []
    for name in (".gitignore", ".paddleignore"):
        try:
            with open(os.path.join(directory, name), encoding="utf-8", errors="replace") as file:
                lines += file.read().splitlines()
        except FileNotFoundError:
            continue
    return pathspec.GitIgnoreSpec.from_lines(lines) if lines else None


def _is_ignored(specs, relative, is_dir):
    """The last directory whose rules say something of the path decides, as in gitignore(5)."""
    for base, spec in reversed(specs):
        inside = os.path.relpath(relative, base) if base else relative
        verdict = spec.check_file(inside + "/" if is_dir else inside).include
        if verdict is not None:
            return verdict
    return False


def of_directory(directory, extra=None):
    """The manifest of `directory` by its ignore rules; `extra` maps further relative paths to files elsewhere."""
    entries, files = [], {}

    def add_file(relative, path, mode):
        content = _hash_file(path)
        files[content] = path
        kind = "755" if mode & 0o111 else "644"
        entries.append((os.fsencode(relative), f"f {kind} {os.path.getsize(path)} {content} {_escape(relative)}"))

    def walk(relative, specs):
        spec = _ignore_spec(os.path.join(directory, relative))
        specs = [*specs, (relative, spec)] if spec else specs
        kept = 0
        for name in sorted(os.listdir(os.path.join(directory, relative))):
            path = os.path.join(relative, name)
            is_dir = stat.S_ISDIR(os.lstat(os.path.join(directory, path)).st_mode)
            if name in ALWAYS_IGNORED or _is_ignored(specs, path, is_dir):
                continue
            add(path, specs)
            kept += 1
        if relative and not kept:
            entries.append((os.fsencode(relative), f"d {_escape(relative)}"))

    def add(relative, specs):
        path = os.path.join(directory, relative)
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            walk(relative, specs)
        elif stat.S_ISREG(mode):
            add_file(relative, path, mode)
        elif stat.S_ISLNK(mode):
            target = os.readlink(path)
            inside = os.path.normpath(os.path.join(os.path.dirname(relative), target))
            if os.path.isabs(target) or inside == ".." or inside.startswith("../"):
                raise ValueError(f"'{relative}' is a link that leaves the package ('{target}')")
            entries.append(
                (os.fsencode(relative), f"l {len(os.fsencode(target))} {_escape(target)} {_escape(relative)}")
            )
        else:
            raise ValueError(f"'{relative}' is neither a file, a directory nor a link; list it in .paddleignore")

    walk("", [])
    for relative, path in (extra or {}).items():
        if not os.path.exists(os.path.join(directory, relative)):
            add_file(relative, path, 0o644)
    return Manifest(entries, files)


def send(transport, manifest):
    """Sends what the server lacks and commits; returns the package's hash."""
    headers = {"Content-Type": "text/plain", "Idempotency-Key": manifest.hash}  # an offer may be repeated
    offer = json.loads(transport.request("POST", "/v1/packages/offer", manifest.text, headers))
    if not offer["ready"]:
        _send_missing(transport, manifest, offer["missing"])
        transport.json("POST", f"/v1/packages/{manifest.hash}/commit")
    return manifest.hash


def _send_missing(transport, manifest, missing):
    headers = {"Content-Type": "application/octet-stream"}
    batch, size = [], 0
    for item in missing:
        path = manifest.files[item["hash"]]
        length = os.path.getsize(path)
        if length > SMALL:
            _send_large(transport, item["hash"], path, length, item["have"])
            continue
        with open(path, "rb") as file:
            data = file.read()
        batch.append(f"{item['hash']} {len(data)}\n".encode() + data)
        size += len(batch[-1])
        if size > BATCH:
            transport.request(
                "POST", "/v1/packages/blobs", b"".join(batch), {**headers, "Idempotency-Key": item["hash"]}
            )
            batch, size = [], 0
    if batch:
        transport.request("POST", "/v1/packages/blobs", b"".join(batch), {**headers, "Idempotency-Key": manifest.hash})


def _send_large(transport, content, path, length, offset):
    with open(path, "rb") as file:
        file.seek(offset)
        while True:
            data = file.read(PIECE)
            last = offset + len(data) >= length
            query = urllib.parse.urlencode({"offset": offset, "last": "true" if last else "false"})
            transport.request(
                "PUT", f"/v1/packages/blobs/{content}?{query}", data, {"Content-Type": "application/octet-stream"}
            )
            offset += len(data)
            if last:
                return
