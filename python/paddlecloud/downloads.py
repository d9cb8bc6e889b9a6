"""The record of downloaded files, which the command `paddle` reads and writes, too (doc/guide/packages.md).

Lines "SIZE TIME PATH" in PADDLE_HOME/downloads: bytes, nanoseconds since 1970, absolute path. A package does not contain a file
of the record that is unchanged."""

import os
import stat
from typing import Dict, Tuple

from . import config

RECORD_MAX = 16 << 20  # bytes; a longer record is not read

State = Tuple[int, int]  # size in bytes, time of the last change in nanoseconds


def _record() -> str:
    return os.path.join(os.path.abspath(config.home()), "downloads")


def _state(status: os.stat_result) -> State:
    return status.st_size, status.st_mtime_ns


def note(path: str) -> None:
    """Notes a file that was just written. One that cannot be noted would be sent, which does no harm, so there are no errors."""
    real = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.basename(path))
    try:
        size, time = _state(os.lstat(real))
        if "\n" not in real:
            os.makedirs(os.path.dirname(_record()), 0o700, exist_ok=True)
            file = os.open(_record(), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                os.write(file, b"%d %d %s\n" % (size, time, os.fsencode(real)))
            finally:
                os.close(file)
    except OSError:
        pass


def below(directory: str) -> Dict[bytes, State]:
    """Those in a directory, by their path in it."""
    root = os.fsencode(os.path.realpath(directory)).rstrip(b"/") + b"/"
    try:
        with open(_record(), "rb") as file:
            text = file.read(RECORD_MAX + 1)
    except OSError:
        return {}
    found: Dict[bytes, State] = {}
    for line in text.split(b"\n") if len(text) <= RECORD_MAX else []:
        size, _, rest = line.partition(b" ")
        time, _, path = rest.partition(b" ")
        if size.isdigit() and time.isdigit() and path.startswith(root):
            found[path[len(root) :]] = (int(size), int(time))
    return found


def is_as_noted(noted: State, status: os.stat_result) -> bool:
    """Whether the file is the one that came, and not changed since."""
    return stat.S_ISREG(status.st_mode) and _state(status) == noted
