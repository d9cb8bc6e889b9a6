"""Archives with one entry that should not be there, by kind."""

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile

SPECIAL = {"character": tarfile.CHRTYPE, "block": tarfile.BLKTYPE, "fifo": tarfile.FIFOTYPE}
PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
TEXT = b"pwned"


def tar(*entries, form=tarfile.GNU_FORMAT):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for entry in entries:
            archive.addfile(entry, io.BytesIO(TEXT) if entry.isreg() and entry.size else None)
    return made.getvalue()


def entry(name, kind=tarfile.REGTYPE, link="", mode=0o644):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    info.size = len(TEXT) if kind == tarfile.REGTYPE else 0
    return info


def of_zip(name, text=TEXT, mode=0):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        info = zipfile.ZipInfo()
        info.filename, info.external_attr, info.create_system = name, mode << 16, 3
        archive.writestr(info, text)
    return made.getvalue()


def bomb(packer):
    """80 MiB of zeros in less than a thousandth of it."""
    info = entry("x")
    info.size = 80 << 20
    return PACK[packer](info.tobuf() + bytes(info.size) + bytes(1024))


def pax(name):
    info = entry("harmless")
    info.pax_headers = {"path": name}
    return tar(info, form=tarfile.PAX_FORMAT)


MAKERS = {
    "file": lambda value: tar(entry(value)),
    "zip": of_zip,
    "directory": lambda value: tar(entry(value, tarfile.DIRTYPE, mode=0o755)),
    "link": lambda value: tar(entry("link", tarfile.SYMTYPE, value)),
    "hard": lambda value: tar(entry("link", tarfile.LNKTYPE, value)),
    "special": lambda value: tar(entry("x", SPECIAL[value])),
    "below": lambda value: tar(entry("link", tarfile.SYMTYPE, value), entry("link/x")),
    "pax": pax,
    "ziplink": lambda value: of_zip("link", value.encode(), stat.S_IFLNK | 0o777),
    "cut": lambda value: tar(entry("x"), entry("y"))[:value],
    "bomb": bomb,
    "twice": lambda value: tar(entry("x"), entry("x", tarfile.DIRTYPE if value == "directory" else tarfile.REGTYPE)),
    "mode": lambda value: tar(entry("x", mode=value)),
    "bytes": lambda value: value.encode("latin-1"),
}
