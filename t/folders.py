"""Folders of processes that may be killed: each holds the lock of its folder as long as it lives, and whoever comes later
removes what nobody holds. Names in /tmp may be anybody's: what is not ours, or no folder, is left alone."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import stat
import tempfile


@contextlib.contextmanager
def locked(folder):
    """The folder's lock, held as long as any process has this file open."""
    with open(folder / "lock.new", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.rename(folder / "lock.new", folder / "lock")
        yield lock


def abandoned(prefix):
    """The folders in the temporary one whose names begin with `prefix` and whose lock nobody holds."""
    for folder in pathlib.Path(tempfile.gettempdir()).glob(prefix + "*"):
        with contextlib.suppress(OSError):  # it went meanwhile, or is held
            about = folder.lstat()
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid():
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                with open(os.open(folder / "lock", flags)) as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    yield folder


def own_folder(config, prefix):
    """A new folder, which goes with this run of pytest. What killed runs left goes now."""
    for left in abandoned(prefix):
        shutil.rmtree(left, ignore_errors=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    lock = contextlib.ExitStack()
    lock.enter_context(locked(folder))
    config.add_cleanup(lock.close)
    return folder
