"""Keeps what a setup command has made or changed in its work directory: keep.py PACKAGE WORK MADE FILES BYTES DEPTH.

Runs as the user whose setup it was. PACKAGE ("": none) is what WORK was before. MADE gets hard links to the files of WORK that are
not in PACKAGE or are not the same there, and is laid over the work directory of each member (package/overlay.h has the same rules).
A last line on standard output says what is wrong.
"""

import filecmp
import os
import shutil
import stat
import sys


def refuse(why):
    print(f"== setup not kept: {why}")
    sys.exit(1)


def same(old, new, about):
    """A file or link that is in the package as it is here."""
    try:
        was = os.lstat(old)
    except OSError:
        return False
    if stat.S_IFMT(was.st_mode) != stat.S_IFMT(about.st_mode):
        return False
    if stat.S_ISLNK(about.st_mode):
        return os.readlink(old) == os.readlink(new)
    return (was.st_mode ^ about.st_mode) & 0o111 == 0 and filecmp.cmp(old, new, shallow=False)


def target_of(work, path):
    """Where a link may point to for members: a place inside, relative, with ".." in front alone."""
    target = os.readlink(os.path.join(work, path))
    if target == work or target.startswith(work + "/"):
        target = os.path.relpath(target, os.path.join(work, os.path.dirname(path)))
    parts = target.split("/")
    up = next((i for i, part in enumerate(parts) if part != ".."), len(parts))
    if target.startswith("/") or up > path.count("/") or ".." in parts[up:]:
        refuse(f"{path!r} is a link to {target!r}, which is not in the work directory")
    return target


def walk(work, is_new, max_depth):
    """Each directory (as a path below `work`), its directories and its other names; of new ones none below `max_depth`."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(os.path.join(work, below)) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        inside = {entry.name for entry in entries if entry.is_dir(follow_symlinks=False)}
        dirs = [os.path.join(below, name) for name in sorted(inside - {"__pycache__"})]
        for path in dirs:
            if path.count("/") >= max_depth and is_new(path):
                refuse(f"it made more than {max_depth} levels of directories")
        yield below, dirs, [entry.name for entry in entries if entry.name not in inside]
        waiting += reversed(dirs)


class Made:
    """The tree of what is kept, and how much it may be."""

    def __init__(self, top, max_files, max_bytes):
        self.top, self.max_files, self.max_bytes = top, max_files, max_bytes
        self.files = self.dirs = self.size = 0
        os.mkdir(top)

    def check(self):
        if self.files + self.dirs > self.max_files or self.size > self.max_bytes:
            limit = f"{self.max_files:,} files and directories, or more than {self.max_bytes / (1 << 30):.1f} GiB"
            refuse(f"it made more than {limit}")

    def add_dirs(self, path):
        there = os.path.join(self.top, path)
        if not os.path.isdir(there):
            self.add_dirs(os.path.dirname(path))
            self.dirs += 1
            self.check()
            os.mkdir(there)

    def add_file(self, work, path, about):
        here, there = os.path.join(work, path), os.path.join(self.top, path)
        self.files, self.size = self.files + 1, self.size + about.st_size
        self.check()
        self.add_dirs(os.path.dirname(path))
        if stat.S_ISLNK(about.st_mode):
            os.symlink(target_of(work, path), there)
            return
        try:
            os.link(here, there)
        except OSError:  # a file system without hard links
            shutil.copy2(here, there)


def keep(package, work, made, max_depth):
    def is_new(path):
        return not (package and os.path.isdir(os.path.join(package, path)))

    for below, dirs, names in walk(work, is_new, max_depth):
        if not dirs and not names and is_new(below):
            made.add_dirs(below)
        for name in names:
            path = os.path.join(below, name)
            about = os.lstat(os.path.join(work, path))
            if package and same(os.path.join(package, path), os.path.join(work, path), about):
                continue
            if not (stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode)):
                refuse(f"{path!r} is neither a file, a link nor a directory")
            made.add_file(work, path, about)


def main(package, work, made, max_files, max_bytes, max_depth):
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        kept = Made(made, int(max_files), int(max_bytes))
        keep(package, os.path.realpath(work), kept, int(max_depth))
    except OSError as error:
        refuse(error)
    print(f"The setup is done. Files that it made or changed for the job: {kept.files} ({kept.size / 1024:.1f} KiB).")


main(*sys.argv[1:])
