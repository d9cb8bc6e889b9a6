"""What is known of file systems, links and caches."""

import dataclasses
from typing import Any, Dict, Optional


@dataclasses.dataclass(eq=False)
class FSInfo:
    """A file system; `server_adddress` has three d."""

    name: str
    owner: str
    fstype: str
    server_adddress: str
    subpath: str
    properties: Optional[Dict[str, Any]]


@dataclasses.dataclass(eq=False)
class LinkInfo:
    """A link from `fspath` of the file system `name` to another storage."""

    name: str
    owner: str
    fstype: str
    fspath: str
    server_adddress: str
    subpath: str
    properties: Optional[Dict[str, Any]]


@dataclasses.dataclass(eq=False)
class CacheConfigInfo:
    """The cache of a file system."""

    fsname: str
    username: str
    cachedir: str
    metadriver: str
    blocksize: int
