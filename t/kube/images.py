"""Container images of the test cluster, made without a registry: archives that `ctr images import` reads.

usage: python -m kube.images NAME...    builds what is missing of them into the cache, and links it into build/kube/images
"""

import fcntl
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LINKS = ROOT / "build/kube/images"
CACHE = pathlib.Path(os.environ.get("PADDLE_TEST_CACHE") or pathlib.Path.home() / ".cache/paddle-test").absolute()
BUSYBOX = pathlib.Path("/bin/busybox")
PAUSE = "test.local/pause:1"
BASE = "test.local/base:1"
PADDLE = "test.local/paddle:2.6.2"
BUILDER = "test.local/builder:1"
PYTHON = "test.local/python:1"
DEBIAN = ["python3", "ca-certificates", "libgomp1", "libstdc++6", "procps"]
MPI = "test.local/mpi:1"
OPEN_MPI = ["openmpi-bin", "python3", "python3-mpi4py"]
SPARK = "test.local/spark:1"
JAVA = ["openjdk-17-jre-headless", "procps", "python3"]
PYSPARK = "pyspark==4.3.0"
TOOLS = [
    "buildah",
    "ca-certificates",
    "containernetworking-plugins",
    "python3-pip-whl",
]  # of the image that builds images
REQUIREMENTS = ROOT / "examples/recognize_digits/requirements.txt"
LEFT_OUT = [  # of a Debian: what the kernel shows there, and what no program reads, which is half of it
    "dev/*",
    "proc/*",
    "sys/*",
    "usr/share/doc/*",
    "usr/share/info/*",
    "usr/share/locale/*",
    "usr/share/man/*",
    "usr/share/zoneinfo/*",
    "usr/lib/x86_64-linux-gnu/gconv/*",
    "usr/lib/x86_64-linux-gnu/perl*",
    "usr/share/perl*",
    "var/cache/*",
    "var/lib/dpkg/info/*",
]
SITE = "usr/local/lib/python3.11/dist-packages"
FORMAT = "1"  # part of every key: raise it when this file writes other archives from the same sources


class Layer:
    """A tar of files, the same bytes for the same content."""

    def __init__(self):
        self.buffer = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode="w", format=tarfile.GNU_FORMAT)  # noqa: SIM115

    def add(self, name, kind=tarfile.REGTYPE, mode=0o755, content=b"", target=""):
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.size, entry.linkname = kind, mode, len(content), target
        self.tar.addfile(entry, io.BytesIO(content))

    def bytes(self):
        self.tar.close()
        return self.buffer.getvalue()


def write_archive(path, tag, layers, config):
    """An archive in the form of `docker save`.  `layers` are paths of tars."""
    digests = []
    for layer in layers:
        with open(layer, "rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    image = {
        "architecture": "amd64",
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], **config},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest for digest in digests]},
        "history": [{"created": "1970-01-01T00:00:00Z"} for _ in digests],
    }
    text = json.dumps(image).encode()
    name = hashlib.sha256(text).hexdigest() + ".json"
    manifest = [{"Config": name, "RepoTags": [tag], "Layers": [digest + ".tar" for digest in digests]}]
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for digest, layer in zip(digests, layers, strict=True):
            tar.add(layer, digest + ".tar")
        for file, content in ((name, text), ("manifest.json", json.dumps(manifest).encode())):
            entry = tarfile.TarInfo(file)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


def make_pause(work, archive):
    subprocess.run(["gcc", "-static", "-Os", "-s", "-o", work / "pause", HERE / "image/pause.c"], check=True)
    layer = Layer()
    layer.add("pause", content=(work / "pause").read_bytes())
    (work / "layer").write_bytes(layer.bytes())
    write_archive(archive, PAUSE, [work / "layer"], {"Entrypoint": ["/pause"]})


def base_files():
    """busybox and the libraries it names, of which a static one (busybox-static) has none: {path in the image: content}"""
    files = {"bin/busybox": BUSYBOX.read_bytes()}
    needs = subprocess.run(["ldd", BUSYBOX], capture_output=True, text=True, check=False)
    for path in re.findall(r"(/\S+) \(0x", needs.stdout):
        files[path.lstrip("/")] = pathlib.Path(path).read_bytes()
    return files


def make_base(work, archive):
    """A shell and the usual small tools."""
    layer = Layer()
    for folder in ("bin", "etc", "lib", "lib/x86_64-linux-gnu", "lib64", "root", "proc", "sys", "dev", "var"):
        layer.add(folder, tarfile.DIRTYPE)
    layer.add("tmp", tarfile.DIRTYPE, 0o1777)
    for name, content in base_files().items():
        layer.add(name, content=content)
    for applet in run(BUSYBOX, "--list").stdout.split():
        if applet != "busybox":
            layer.add("bin/" + applet, tarfile.SYMTYPE, target="busybox")
    layer.add(
        "etc/passwd", mode=0o644, content=b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"
    )
    layer.add("etc/group", mode=0o644, content=b"root:x:0:\nnogroup:x:65534:\n")
    (work / "layer").write_bytes(layer.bytes())
    write_archive(archive, BASE, [work / "layer"], {"Cmd": ["/bin/sh"]})


def make_debian(work, packages):
    """The folder of a minimal Debian with these packages."""
    debian = work / "debian"
    run("debootstrap", "--variant=minbase", "--include=" + ",".join(packages), "bookworm", debian, mirror())
    for leftover in [*debian.glob("var/cache/apt/archives/*.deb"), *debian.glob("var/lib/apt/lists/*_*")]:
        leftover.unlink()
    return debian


def make_tar(folder, tar, *options):
    run("tar", "-C", folder, "--sort=name", "--numeric-owner", *options, "-cf", tar, ".")
    return tar


def debian_layer(work):
    return make_tar(work / "debian", work / "debian.tar", *(f"--exclude=./{path}" for path in LEFT_OUT))


def make_builder(work, archive):
    """What images are built in: buildah, and pip for images that have none."""
    make_debian(work, TOOLS)
    write_archive(archive, BUILDER, [debian_layer(work)], {"Cmd": ["/bin/sh"]})


def make_python(work, archive):
    """A small base of images: Python, and no pip."""
    make_debian(work, ["python3"])
    write_archive(archive, PYTHON, [debian_layer(work)], {"Cmd": ["/bin/sh"]})


def make_mpi(work, archive):
    """Open MPI, with Python for its programs; no ssh."""
    make_debian(work, OPEN_MPI)
    write_archive(archive, MPI, [debian_layer(work)], {"Cmd": ["/bin/sh"]})


def make_spark(work, archive):
    """Spark as the package pyspark brings it, with the Java that it needs."""
    debian, packages = make_debian(work, JAVA), work / "packages"
    install("--target", packages / SITE, PYSPARK)
    for program in (packages / SITE / "bin").iterdir():  # which pip would put into the path
        (debian / "usr/local/bin" / program.name).symlink_to(f"/{SITE}/bin/{program.name}")
    layers = [
        debian_layer(work),
        make_tar(packages, work / "packages.tar", "--owner=0", "--group=0"),
    ]
    write_archive(archive, SPARK, layers, {"Cmd": ["/bin/sh"]})


def install(*words):
    uv = ["pip", "install", "--python", "/usr/bin/python3", "--link-mode=copy", "--no-compile-bytecode"]
    run(ROOT / ".venv/bin/uv", *uv, *words)


def make_paddle(work, archive):
    """What jobs run in: Debian with Python, and what the examples require."""
    debian, packages = make_debian(work, DEBIAN), work / "packages"
    (debian / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    install("--target", packages / SITE, "-r", REQUIREMENTS)
    layers = [
        debian_layer(work),
        make_tar(packages, work / "packages.tar", "--owner=0", "--group=0"),
    ]
    write_archive(archive, PADDLE, layers, {"Cmd": ["/bin/sh"]})


def mirror():
    """Where this machine's own packages come from."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Release: bookworm", "Component: main"]
    places = run(*command).stdout.split()
    assert places, "apt knows no source of 'bookworm main': the image cannot be made"
    return places[0]


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words[0]}: {(done.stderr or done.stdout)[-3000:]}"
    return done


def debian_of(packages):
    """What decides what a Debian holds, but for the day."""
    return " ".join([*packages, *LEFT_OUT]).encode()


IMAGES = {
    "pause": (make_pause, lambda: (HERE / "image/pause.c").read_bytes()),
    "base": (make_base, lambda: b"".join(base_files().values())),
    "builder": (make_builder, lambda: debian_of(TOOLS)),
    "python": (make_python, lambda: debian_of(["python3"])),
    "mpi": (make_mpi, lambda: debian_of(OPEN_MPI)),
    "spark": (make_spark, lambda: debian_of([*JAVA, PYSPARK])),
    "paddle": (make_paddle, lambda: debian_of(DEBIAN) + REQUIREMENTS.read_bytes()),
}
ALWAYS = ("pause", "base")  # what every node has


def build(name):
    """The link to the image's archive, which is made if the cache has none for what it is made from."""
    make, sources = IMAGES[name]
    CACHE.mkdir(parents=True, exist_ok=True)
    archive = CACHE / f"image-{name}-{hashlib.sha256(FORMAT.encode() + sources()).hexdigest()[:16]}.tar"
    with open(CACHE / f"image-{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            make_into(make, archive, name)
        LINKS.mkdir(parents=True, exist_ok=True)
        link = LINKS / f"{name}.tar"
        link.unlink(missing_ok=True)
        link.symlink_to(archive)
    return link


def make_into(make, archive, name):
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="image.", dir=CACHE) as work:
        make(pathlib.Path(work), pathlib.Path(work) / "archive")
        os.rename(pathlib.Path(work) / "archive", archive)
    print(f"kube: made the image {name} in {time.monotonic() - start:.0f} s", flush=True)


def archives():
    return [LINKS / f"{name}.tar" for name in ALWAYS]


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ALWAYS:
        build(wanted)
