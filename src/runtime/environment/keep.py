"""Keeps what a setup command has made or changed in its work directory: keep.py PACKAGE WORK MADE FILES BYTES.

Runs as the user whose setup it was. PACKAGE ("": none) is what WORK was before. MADE gets hard links to the files of WORK that are
not in PACKAGE or are not the same there, and is laid over the work directory of each member (fs/overlay.h has the same rules).
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


def keep(package, work, made, max_files, max_bytes):
    files = size = 0
    os.mkdir(made)
    for dir_path, dirs, names in os.walk(work, onerror=refuse):
        dirs[:] = sorted(name for name in dirs if name != "__pycache__")
        below = os.path.relpath(dir_path, work)
        links = [name for name in dirs if os.path.islink(os.path.join(dir_path, name))]
        if not dirs and not names and not (package and os.path.isdir(os.path.join(package, below))):
            os.makedirs(os.path.join(made, below), exist_ok=True)
        for name in sorted(names) + links:
            path = os.path.normpath(os.path.join(below, name))
            here, there = os.path.join(work, path), os.path.join(made, path)
            about = os.lstat(here)
            if package and same(os.path.join(package, path), here, about):
                continue
            if not (stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode)):
                refuse(f"{path!r} is neither a file, a link nor a directory")
            files, size = files + 1, size + about.st_size
            if files > max_files or size > max_bytes:
                refuse(f"it made more than {max_files:,} files, or more than {max_bytes / (1 << 30):.1f} GiB")
            os.makedirs(os.path.dirname(there), exist_ok=True)
            if stat.S_ISLNK(about.st_mode):
                os.symlink(target_of(work, path), there)
                continue
            try:
                os.link(here, there)
            except OSError:  # a file system without hard links
                shutil.copy2(here, there)
    return files, size


def main(package, work, made, max_files, max_bytes):
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        files, size = keep(package, os.path.realpath(work), made, int(max_files), int(max_bytes))
    except OSError as error:
        refuse(error)
    print(f"The setup is done. Files that it made or changed for the job: {files} ({size / 1024:.1f} KiB).")


main(*sys.argv[1:])
