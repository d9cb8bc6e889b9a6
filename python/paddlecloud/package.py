"""Packages: a program's directory named by its content, and sent so that only what the server lacks travels.

The manifest's canonical text (doc/guide/packages.md): a first line "paddle-package 1", then in byte order of the paths one line an entry:
`f <644|755> <size> <BLAKE2b-256> <path>`, `l <target length> <target> <path>`, `d <path>` for an empty directory.
"""

import hashlib
import json
import os
import stat
import urllib.parse
import warnings
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple

from . import config, downloads, errors, ignore
from .transport import Transport

ENTRIES_MAX = 100_000
BYTES_MAX = 2 << 30  # the platform's own limit is 16 GiB; more than this is a mistake far more often than not
RULES_MAX = 1 << 20
SMALL = 256 * 1024  # contents below this size share a request
BODY = 8 * 1024 * 1024
ROUNDS = 3  # of offer and commit: another may remove the package in between
_BYTES = {"Content-Type": "application/octet-stream"}
_STATE_MARK = b"paddle.db"  # a directory that holds it is the state of a server
_LEAVE_OUT = "remove it, or leave it out by a line in .paddleignore"


class File(NamedTuple):
    """A content: where it is read from, how many bytes it has."""

    path: str
    size: int


class Manifest:
    """What a package holds: `text` (canonical), `files` ({content hash: File}), `hash` (64 hex digits, the package's name)."""

    def __init__(self, entries: Mapping[bytes, bytes], files: Dict[str, File]) -> None:
        self.text = b"paddle-package 1\n" + b"".join(entries[path] for path in sorted(entries))
        self.files = files
        self.hash = hash_bytes(self.text)


def hash_bytes(data: bytes) -> str:
    """BLAKE2b-256 in hexadecimal."""
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def _hash_file(path: str) -> Tuple[str, int]:
    """Hash and size of what was read."""
    digest, size = hashlib.blake2b(digest_size=32), 0
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size


def _text_fault(text: bytes) -> Optional[str]:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return "names are UTF-8"
    if any(byte < 0x20 or byte == 0x7F for byte in text):
        return "names hold no control bytes"
    return "a path has fewer than 4096 bytes" if len(text) >= 4096 else None


def _check_path(path: bytes) -> None:
    fault = _text_fault(path)
    if fault:
        raise ValueError(f"'{_shown(path)}': {fault}; {_LEAVE_OUT}")


def _check_link(path: bytes, target: bytes) -> None:
    """A link's target is relative, with `..` only at its front and no more often than the link is deep."""
    parts = [part for part in target.split(b"/") if part not in (b"", b".")]
    ups = parts.count(b"..")
    fault = _text_fault(target) if target else "its target is empty"
    if target.startswith(b"/"):
        fault = "it points to an absolute path"
    elif not fault and parts[:ups].count(b"..") != ups:
        fault = "'..' stands only at the front of a link's target"
    elif not fault and ups > path.count(b"/"):
        fault = "it points out of the package"
    if fault:
        raise ValueError(f"link '{_shown(path)}' to '{_shown(target)}': {fault}; {_LEAVE_OUT}")


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _escape(name: bytes) -> bytes:
    return name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")


def _own_files(directory: str) -> Set[bytes]:
    """Those of paddle itself in a directory, by their path in it. They hold tokens, so no package contains them."""
    root = os.path.realpath(directory)
    found: Set[bytes] = set()
    for path in map(os.path.realpath, config.own_files()):
        if path == root and os.path.exists(path):
            raise ValueError(f"'{path}' holds the tokens and databases of paddle, and is never sent")
        if path.startswith(os.path.join(root, "")):
            found.add(os.fsencode(os.path.relpath(path, root)))
    return found


class _Walk:
    """One directory on its way to a manifest. Paths inside it are bytes, as the file system has them."""

    def __init__(self, root: str) -> None:
        self.root = os.fsencode(root)
        self.entries: Dict[bytes, bytes] = {}
        self.files: Dict[str, File] = {}
        self.size = 0
        self.downloads = downloads.below(root)
        self.own_files = _own_files(root)

    def add_file(self, path: bytes, source: bytes, executable: bool) -> None:
        content, size = _hash_file(os.fsdecode(source))
        self.files[content] = File(os.fsdecode(source), size)
        self.entries[path] = b"f %s %d %s %s\n" % (
            b"755" if executable else b"644",
            size,
            content.encode(),
            _escape(path),
        )
        self.size += size

    def _add_link(self, path: bytes) -> None:
        target = os.readlink(os.path.join(self.root, path))
        _check_link(path, target)
        escaped = _escape(target)
        self.entries[path] = b"l %d %s %s\n" % (len(escaped), escaped, _escape(path))

    def _add_dir(self, path: bytes, rules: List[ignore.Rule]) -> None:
        before = len(self.entries)
        self.walk(path, rules)
        if len(self.entries) == before:
            self.entries[path] = b"d %s\n" % _escape(path)

    def _rules_of(self, base: bytes) -> List[ignore.Rule]:
        """Those of .gitignore, then those of .paddleignore, which win as they come later."""
        rules: List[ignore.Rule] = []
        for name in (b".gitignore", b".paddleignore"):
            path = os.path.join(self.root, base, name)
            if not os.path.isfile(path) or os.path.islink(path):
                continue
            with open(path, "rb") as file:
                text = file.read(RULES_MAX + 1)
            if len(text) > RULES_MAX:
                raise ValueError(f"'{_shown(path)}' is larger than 1 MiB, too much for ignore rules")
            rules += ignore.parse(base, text)
        return rules

    def _is_left_out(self, path: bytes, status: os.stat_result, rules: List[ignore.Rule]) -> bool:
        is_dir = stat.S_ISDIR(status.st_mode)
        if path in self.own_files or (is_dir and os.path.lexists(os.path.join(self.root, path, _STATE_MARK))):
            warnings.warn(f"'{_shown(path)}' is never sent: it holds tokens of paddle", stacklevel=2)
            return True
        if ignore.is_ignored(rules, path, is_dir):
            return True
        noted = self.downloads.get(path)
        if noted is not None and downloads.is_as_noted(noted, status):
            return not ignore.takes_back_any(rules, path)
        mark = os.path.join(self.root, path, ignore.VENV_MARK)
        return is_dir and os.path.lexists(mark) and not ignore.takes_back(rules, path)

    def walk(self, base: bytes, rules: List[ignore.Rule]) -> None:
        rules = rules + self._rules_of(base)
        for name in os.listdir(os.path.join(self.root, base)):
            path = os.path.join(base, name)
            status = os.lstat(os.path.join(self.root, path))
            if self._is_left_out(path, status, rules):
                continue
            _check_path(path)
            if stat.S_ISDIR(status.st_mode):
                self._add_dir(path, rules)
            elif stat.S_ISREG(status.st_mode):
                self.add_file(path, os.path.join(self.root, path), bool(status.st_mode & stat.S_IXUSR))
            elif stat.S_ISLNK(status.st_mode):
                self._add_link(path)
            else:
                raise ValueError(
                    f"'{_shown(path)}' is a socket, pipe or device; a package holds files, links and directories; {_LEAVE_OUT}"
                )
            self._check_limits()

    def _check_limits(self) -> None:
        if len(self.entries) > ENTRIES_MAX or self.size > BYTES_MAX:
            raise ValueError(
                f"the package '{os.fsdecode(self.root)}' is too large: over the limit of 2 GiB or 100,000 files; what does not belong to "
                "it goes into .paddleignore, data goes to the server by upload()"
            )


def is_too_wide(directory: str) -> Optional[str]:
    """What a directory is that is never sent, in words: a home directory, or the root; None for any other."""
    for place, words in ((os.path.expanduser("~"), "your home directory"), ("/", "the root of the file system")):
        if os.path.exists(place) and os.path.samefile(directory, place):
            return words
    return None


def _check_root(directory: str) -> None:
    words = is_too_wide(directory)
    if words:
        raise ValueError(
            f"'{directory}' is {words}, which is not sent as a package; move the program to a directory of its own"
        )


def of_directory(directory: str, extra: Optional[Mapping[str, str]] = None) -> Manifest:
    """The manifest of `directory` by its ignore rules, equal to what the command `paddle` makes of it.

    `extra` maps further relative paths to files elsewhere; they are left out when `directory` has something of their first name.
    Raises ValueError for what a package cannot hold, OSError for what cannot be read.
    """
    _check_root(directory)
    walk = _Walk(directory)
    walk.walk(b"", ignore.DEFAULTS)
    own = {path.split(b"/")[0] for path in walk.entries}
    for name, source in (extra or {}).items():
        if os.fsencode(name).split(b"/")[0] not in own:
            walk.add_file(os.fsencode(name), os.fsencode(source), executable=False)
    return Manifest(walk.entries, walk.files)


def send(transport: Transport, manifest: Manifest) -> str:
    """Sends what the server lacks and commits; returns the package's hash. A send that broke off goes on where it was.

    Raises errors.PaddleError, and ValueError for a file that has changed since the manifest was made.
    """
    for left in range(ROUNDS - 1, -1, -1):
        reply = transport.request(
            "POST", "/v1/packages/offer", manifest.text, {"Content-Type": "text/plain"}, repeatable=True
        )
        offer = json.loads(reply)
        if offer["ready"]:
            break
        _send_missing(transport, manifest, offer["missing"])
        try:
            transport.json("POST", f"/v1/packages/{manifest.hash}/commit", repeatable=True)
            break
        except errors.Conflict:
            if left == 0:
                raise
    return manifest.hash


def _read(file: File, content: str) -> bytes:
    with open(file.path, "rb") as source:
        data = source.read()
    if hash_bytes(data) != content:
        raise ValueError(f"'{file.path}' has changed since it was packed; submit again when nothing writes to it")
    return data


def _send_missing(transport: Transport, manifest: Manifest, missing: Iterable[Mapping[str, Any]]) -> None:
    batch: List[bytes] = []
    size = 0

    def flush() -> None:
        if batch:
            transport.request("POST", "/v1/packages/blobs", b"".join(batch), _BYTES, repeatable=True)

    for item in missing:
        content, file = item["hash"], manifest.files[item["hash"]]
        if file.size >= SMALL:
            _send_large(transport, content, file, item["have"])
            continue
        data = b"%s %d\n" % (content.encode(), file.size) + _read(file, content)
        if size + len(data) > BODY:
            flush()
            batch, size = [], 0
        batch.append(data)
        size += len(data)
    flush()


def _send_large(transport: Transport, content: str, file: File, have: int) -> None:
    """From where the server stands. What it has may be wrong (anybody sends under any hash): then it drops that, and it starts anew."""
    try:
        _send_pieces(transport, content, file, have)
    except errors.Invalid:
        if have == 0:
            raise
        _send_pieces(transport, content, file, 0)


def _send_pieces(transport: Transport, content: str, file: File, offset: int) -> None:
    with open(file.path, "rb") as source:
        while True:
            source.seek(offset)
            data = source.read(min(BODY, max(0, file.size - offset)))
            last = offset + len(data) >= file.size
            query = urllib.parse.urlencode({"offset": offset, "last": "true" if last else "false"})
            try:
                transport.request("PUT", f"/v1/packages/blobs/{content}?{query}", data, _BYTES)
                offset += len(data)
            except errors.Conflict as error:  # a repeat of what had arrived, or another sends the same
                have = error.body.get("have")
                if not isinstance(have, int) or have == offset or have > file.size:
                    raise
                offset, last = have, False
            if last:
                return
            if not data and offset < file.size:
                raise ValueError(
                    f"'{file.path}' has changed since it was packed; submit again when nothing writes to it"
                )
