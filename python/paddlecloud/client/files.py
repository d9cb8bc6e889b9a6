"""Packages, and files in the storage."""

import os
from typing import Any, Dict, List, Mapping, Optional, Union

from .. import downloads, files, package
from .calls import Calls, fields_of
from .records import FileInfo


class FileCalls(Calls):
    """The calls of Client about packages and files."""

    def send_package(self, directory: str, extra: Optional[Mapping[str, str]] = None) -> str:
        """Sends a directory as a package, only what the server lacks; returns its hash (64 hex digits) for a specification's `package`.

        Its .gitignore and .paddleignore say what stays behind. `extra` maps further relative paths to files elsewhere. Raises ValueError for
        what a package cannot hold.
        """
        return package.send(self._transport, package.of_directory(directory, extra))

    def _begin_in(self, directory: Union[str, "os.PathLike[str]", None], package: Optional[str]) -> Dict[str, Any]:
        """The part of a body that says where steps begin: in a directory, which is sent, or in a package that was sent before."""
        if directory is None:
            return {} if package is None else {"package": package}
        if package is not None:
            raise ValueError("directory and package both say where steps begin: give one of them")
        sent = self.send_package(os.fspath(directory))
        return {"package": sent, "package_name": os.path.basename(os.path.abspath(directory))}

    def files(self, remote: str = "", recursive: bool = True) -> List[FileInfo]:
        """What is at and below `remote`, /pfs/... or a path in the user's home; without `recursive` what is right in it. Raises
        errors.NotFound."""
        items = files.listing(self._transport, self.path_of(remote), recursive)
        return [fields_of(FileInfo, item) for item in items]

    def upload(self, local: str, remote: str) -> None:
        """Sends a file or directory to /pfs/... or a path in the user's home; only chunks (4 MiB) that the server lacks travel."""
        target = self.path_of(remote)
        if not os.path.isdir(local):
            files.upload_file(self._transport, local, target)
            return
        files.make_directory(self._transport, target)
        for base, directories, names in os.walk(local):
            inside = os.path.relpath(base, local)
            there = target if inside == "." else f"{target}/{inside}"
            for name in directories:
                if os.path.islink(os.path.join(base, name)):
                    raise ValueError(f"'{os.path.join(base, name)}' is a link to a directory, which is not followed")
                files.make_directory(self._transport, f"{there}/{name}")
            for name in names:
                files.upload_file(self._transport, os.path.join(base, name), f"{there}/{name}")

    def download(self, remote: str, local: str) -> None:
        """Fetches a file to the file `local`, or a directory's contents into the directory `local`.

        Each file takes its place whole and checked; after a break a repeat goes on where it was. Raises errors.NotFound.
        """
        target = self.path_of(remote)
        for item in self.files(target):
            inside = item.path[len(target) :].lstrip("/")
            if not (item.path + "/").startswith(target + "/") or ".." in inside.split("/"):
                raise ValueError(f"the server lists '{item.path}', which is not in '{target}'")
            place = os.path.join(local, inside) if inside else local
            os.makedirs(place if item.dir else os.path.dirname(os.path.abspath(place)), exist_ok=True)
            if not item.dir:
                files.download_file(self._transport, item.path, place)
                downloads.note(place)

    def path_of(self, remote: str) -> str:
        """The whole /pfs path of a path in the user's home; one that begins with /pfs/ stays."""
        if remote.startswith("/pfs/"):
            return remote.rstrip("/")
        info, me = self._transport.json("GET", "/v1/info"), self._transport.json("GET", "/v1/whoami")
        return f"/pfs/{info['datacenter']}/home/{me['user']}/{remote.strip('/')}".rstrip("/")
