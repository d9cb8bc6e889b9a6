"""A machine of one's own: a kernel of Debian's in qemu, for what the kernel that runs the tests may lack. No disk image and no
boot loader: everything it needs is in an initramfs (the built programs, busybox, libraries), and its disks are files that
the host formats. Its root is not the host's root; nothing reaches the network but the ports that are forwarded from 127.0.0.1.
"""

import contextlib
import fcntl
import os
import pathlib
import re
import socket
import subprocess
import tempfile

from conftest import BIN, PATIENCE, wait_for

CACHE = pathlib.Path(os.environ.get("PADDLE_TEST_CACHE") or pathlib.Path.home() / ".cache/paddle-test").absolute()
KERNEL = "linux-image-cloud-amd64"
MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "quota_v2", "xfs")
BOOTS = PATIENCE * 4  # seconds: the processor is emulated where the host has no KVM

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin HOME=/root
mkdir -p /proc /sys /dev /tmp /run /root /var/tmp
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts; mount -t tmpfs shm /dev/shm; mount -t devpts pts /dev/pts
mount -t cgroup2 cgroup /sys/fs/cgroup
chmod 1777 /tmp /var/tmp /dev/shm
for module in $(cat /modules/order); do insmod /modules/$module || echo "no module $module"; done
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0
echo 'root:x:0:0::/root:/bin/sh' >/etc/passwd; echo 'root:x:0:' >/etc/group
. /main
echo MACHINE FAILED
"""


def _needed(module):
    """What a kernel module depends on: the entry of its section .modinfo."""
    found = re.search(rb"\0depends=([^\0]*)\0", module.read_bytes())
    return [name for name in found[1].decode().split(",") if name]


def kernel():
    """The kernel's file and the modules that MODULES come to, in the order to load them in. Fetched once by apt, unpacked into
    the cache, never installed: that would change how the host boots."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "kernel.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        about = subprocess.run(["apt-cache", "depends", KERNEL], capture_output=True, text=True, check=True).stdout
        package = re.search(r"Depends: (linux-image-\S+)", about)[1]
        place = CACHE / package
        if not place.exists():
            with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
                subprocess.run(["apt-get", "download", "-q", package], cwd=scratch, check=True, capture_output=True)
                archive = next(pathlib.Path(scratch).glob("*.deb"))
                subprocess.run(["dpkg-deb", "-x", archive, f"{scratch}/all"], check=True)
                os.rename(f"{scratch}/all", place)
    modules = {path.stem.replace("-", "_"): path for path in place.rglob("*.ko")}
    order = []

    def add(name):
        for needed in _needed(modules[name]):
            add(needed.replace("-", "_"))
        if modules[name] not in order:
            order.append(modules[name])

    for name in MODULES:
        add(name)
    return next(place.glob("boot/vmlinuz-*")), order


def libraries(program):
    said = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return re.findall(r"(?:=> )?(/\S+) \(0x", said)


class Archive:
    """An initramfs in the making: cpio, format newc."""

    def __init__(self, file):
        self.file, self.count, self.known = file, 0, set()

    def entry(self, name, mode, data=b""):
        for above in reversed(pathlib.PurePosixPath(name).parents):
            if str(above) != "." and str(above) not in self.known:
                self.put(str(above), 0o040755, b"")
        self.put(name, mode, data)

    def put(self, name, mode, data):
        self.known.add(name)
        self.count += 1
        fields = (self.count, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        self.file.write(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))

    def add(self, path, name=None):
        name = (name or str(path)).lstrip("/")
        if name not in self.known:
            self.entry(name, 0o100755, pathlib.Path(path).read_bytes())

    def program(self, path, name=None):
        self.add(path, name)
        for library in libraries(path):
            self.add(library)

    def end(self):
        self.put("TRAILER!!!", 0, b"")


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Machine:
    """Boots in `folder`. `main`: shell commands that its first process runs; `programs`: of the host, beside the project's own;
    `disks`: files, /dev/vda and so on; `ports`: of the machine, each forwarded from `machine.port[PORT]` of 127.0.0.1."""

    def __init__(self, folder, main, programs=(), disks=(), ports=(), memory="1536"):
        self.folder, self.console = folder, folder / "console"
        self.port = dict(zip(ports, free_ports(len(ports)), strict=True))
        linux, modules = kernel()
        with open(folder / "initramfs", "wb") as file:
            archive = Archive(file)
            archive.entry("init", 0o100755, INIT.encode())
            archive.entry("main", 0o100644, main.encode())
            for name in ("etc/x", "root/x", "tmp/x"):
                archive.entry(name, 0o100644)
            archive.program("/bin/busybox", "bin/busybox")
            for name in ("paddled", "paddle-agent", "paddle-spawner", "paddle"):
                archive.program(BIN / name, "paddle/" + name)
            for program in programs:
                archive.program(program)
            for module in modules:
                archive.add(module, "modules/" + module.name)
            archive.entry("modules/order", 0o100644, "\n".join(module.name for module in modules).encode())
            archive.end()
        forwards = "".join(f",hostfwd=tcp:127.0.0.1:{host}-:{guest}" for guest, host in self.port.items())
        command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2"]
        command += ["-m", memory, "-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{self.console}"]
        command += ["-kernel", linux, "-initrd", folder / "initramfs"]
        # On a busy host the interrupts of the timer come too late for the kernel's check, which would end in a panic.
        command += ["-append", "console=ttyS0 panic=-1 quiet mitigations=off no_timer_check"]
        command += ["-netdev", f"user,id=net,restrict=on{forwards}", "-device", "virtio-net-pci,netdev=net,romfile="]
        for disk in disks:
            command += ["-drive", f"file={disk},format=raw,if=virtio,cache=unsafe"]
        with open(folder / "qemu.log", "wb") as log:
            # In a session of its own it has a share of the processors of its own (sched(7), autogroup).
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def said(self, pattern):
        """Waits for a line of the console."""

        def look():
            text = self.console.read_text(errors="replace") if self.console.exists() else ""
            found = re.search(pattern, text, re.M)
            log = (self.folder / "qemu.log").read_text()
            assert found or (self.process.poll() is None and "MACHINE FAILED" not in text), text + log
            return found

        return wait_for(look, BOOTS, f"'{pattern}' on the machine's console")

    def end(self):
        self.process.kill()
        self.process.wait()
