"""A paddled that sees four GPUs, as far as device files go, on a machine that has none."""

from conftest import BIN

# in a mount namespace of its own; the minor numbers have a gap
PADDLED = f"""#!/bin/sh
exec unshare --mount sh -ec '
    mkdir -p "$0"
    mount --rbind /dev "$0"
    mount -t tmpfs -o mode=755 none /dev
    cp -a "$0/null" "$0/zero" "$0/full" "$0/random" "$0/urandom" "$0/tty" /dev/
    mkdir /dev/pts /dev/shm
    mount --rbind "$0/pts" /dev/pts
    mount --rbind "$0/shm" /dev/shm
    ln -s pts/ptmx /dev/ptmx
    ln -s /proc/self/fd /dev/fd
    for n in 0 1 4 5; do mknod -m 666 /dev/nvidia$n c 195 $n; done
    mknod -m 666 /dev/nvidiactl c 195 255
    umount -l "$0"
    exec "$@"' "$0.dev" {BIN}/paddled "$@"
"""


def with_gpus(folder):
    program = folder / "paddled"
    program.write_text(PADDLED)
    program.chmod(0o755)
    return program
