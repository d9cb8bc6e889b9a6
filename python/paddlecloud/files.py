"""Files of the storage (doc/guide/storage.md), chunk by chunk: only what the other side lacks travels, and each chunk is checked by its hash.

A chunk has 4 MiB, the last one what is left. An upload that broke off goes on from the chunks the server has; a download grows as
NAME.part beside its place, takes it when it is whole, and goes on from the chunks that are right there.
"""

import os
import urllib.parse
from typing import Any, BinaryIO, Dict, Iterator, List, Optional

from . import errors
from .package import hash_bytes
from .transport import Transport

CHUNK = 4 * 1024 * 1024


def route(remote: str, **query: str) -> str:
    """The route of a /pfs path."""
    return "/v1/files" + urllib.parse.quote(remote) + ("?" + urllib.parse.urlencode(query) if query else "")


def listing(transport: Transport, remote: str, recursive: bool = True) -> List[Dict[str, Any]]:
    """What is at and below `remote`: {"path", "dir", "size", "mtime"} each. Raises errors.NotFound."""
    query = {"list": "true", **({"recursive": "true"} if recursive else {})}
    items: List[Dict[str, Any]] = transport.json("GET", route(remote, **query))["items"]
    return items


def make_directory(transport: Transport, remote: str) -> None:
    """Makes a directory with those above it; one that exists stays."""
    transport.json("POST", route(remote), {"op": "mkdir"}, repeatable=True)


def _chunks_of(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(CHUNK), b"")


def _known_chunks(transport: Transport, remote: str, of: str) -> Optional[Dict[str, Any]]:
    """What the server has of a file (`of` "chunks") or of an upload ("upload"); None when there is none."""
    try:
        found: Dict[str, Any] = transport.json("GET", route(remote, **{of: "true"}))
        return found
    except (errors.NotFound, errors.Conflict):  # the latter: a directory
        return None


def upload_file(transport: Transport, local: str, remote: str) -> None:
    """Sends of one file what neither an earlier try nor the file it replaces has. Raises errors.PaddleError, OSError, and ValueError when
    the file changes meanwhile."""
    there = _known_chunks(transport, remote, "chunks")
    known = [reply["chunks"] for reply in (there, _known_chunks(transport, remote, "upload")) if reply]
    size = os.path.getsize(local)
    chunks: List[str] = []
    with open(local, "rb") as file:
        for index, data in enumerate(_chunks_of(file)):
            chunks.append(hash_bytes(data))
            if not any(chunks[-1] in have[index : index + 1] for have in known):
                headers = {"Content-Type": "application/octet-stream"}
                transport.request("PUT", route(remote, chunk=str(index), hash=chunks[-1]), data, headers)
        if file.tell() != size:
            raise ValueError(f"'{local}' has changed while it was sent; send it again when nothing writes to it")
    if not there or (there["size"], there["chunks"]) != (size, chunks):
        _finish(transport, remote, {"op": "finish", "size": size, "chunks": chunks})


def _hashes(local: str) -> List[str]:
    with open(local, "rb") as file:
        return [hash_bytes(data) for data in _chunks_of(file)]


def _finish(transport: Transport, remote: str, body: Dict[str, Any]) -> None:
    """A finish whose reply is lost is done, and a repeat finds no upload: then the file itself tells."""
    try:
        transport.json("POST", route(remote), body, repeatable=True)
    except errors.Conflict:
        there = _known_chunks(transport, remote, "chunks")
        if not there or there["size"] != body["size"] or there["chunks"] != body["chunks"]:
            raise


def download_file(transport: Transport, remote: str, local: str) -> None:
    """Fetches one file. Raises errors.PaddleError, OSError, and ValueError when a chunk is not what was promised."""
    wanted = transport.json("GET", route(remote, chunks="true"))
    size, chunks = wanted["size"], wanted["chunks"]
    if os.path.isfile(local) and os.path.getsize(local) == size and _hashes(local) == chunks:
        return
    part = local + ".part"
    with open(os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666), "r+b") as file:
        for index, content in enumerate(chunks):
            _fetch_chunk(transport, remote, file, index, min(CHUNK, size - index * CHUNK), content)
        file.truncate(size)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, local)


def _fetch_chunk(transport: Transport, remote: str, file: BinaryIO, index: int, length: int, content: str) -> None:
    start = index * CHUNK
    file.seek(start)
    if hash_bytes(file.read(length)) == content:
        return
    data = transport.request("GET", route(remote), headers={"Range": f"bytes={start}-{start + length - 1}"})
    if hash_bytes(data) != content:
        raise ValueError(
            f"'{remote}' changed while it was read, or was damaged on the way; try again: what is right is kept"
        )
    file.seek(start)
    file.write(data)
