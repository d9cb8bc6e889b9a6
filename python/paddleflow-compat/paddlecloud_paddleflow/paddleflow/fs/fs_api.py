"""Requests about file systems, their caches and links."""

import os
import subprocess
import time
from typing import Any, Dict, List, Mapping, Optional

from ..common.exception import PaddleFlowSDKException
from ..common.session import Answer, Session, at, filled, listed
from ..common.values import taken
from .fs_info import CacheConfigInfo, FSInfo, LinkInfo

MOUNT_TRIES = 5  # one second apart


def _fs(item: Mapping[str, Any]) -> FSInfo:
    return taken(FSInfo, "name username type serverAddress subPath properties", item)


def _link(item: Mapping[str, Any]) -> LinkInfo:
    return taken(LinkInfo, "fsName username type fsPath serverAddress subPath properties", item)


def _cache(item: Mapping[str, Any]) -> CacheConfigInfo:
    return taken(CacheConfigInfo, "fsName username cacheDir metaDriver blockSize", item)


def _links(data: Optional[Mapping[str, Any]]) -> List[LinkInfo]:
    return listed(data or {}, "linkList", _link)


def _stored(url: str, username: Optional[str], properties: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    if properties and not isinstance(properties, dict):
        raise PaddleFlowSDKException("Wrong params type", "properties should be dict")
    return {"url": url, **filled({"username": username, "properties": properties})}


def _of(username: Optional[str], **more: Any) -> Dict[str, Any]:
    return {"username": username or None, **more}


class FSServiceApi(Session):
    """The part of a client that asks for file systems. Only root may give the `username` of another."""

    def add_fs(
        self, fsname: str, url: str, username: Optional[str] = None, properties: Optional[Mapping[str, Any]] = None
    ) -> Answer:
        """(True, None)."""
        self.need("InvalidFSName", fsname=fsname)
        self.need("InvalidURL", url=url)
        return self.ask("POST", "/fs", body={"name": fsname, **_stored(url, username, properties)})

    def show_fs(self, fsname: str, username: Optional[str] = None) -> Answer:
        """(True, [FSInfo]): a list of one."""
        self.need("InvalidFSName", fsname=fsname)
        return self.ask("GET", at("fs", fsname), lambda data: [_fs(data)], _of(username))

    def delete_fs(self, fsname: str, username: Optional[str] = None) -> Answer:
        """(True, None)."""
        self._check(fsname, username)
        return self.ask("DELETE", at("fs", fsname), query=_of(username))

    def list_fs(self, username: Optional[str] = None, maxsize: int = 100) -> Answer:
        """(True, [FSInfo])."""
        self.not_blank("InvalidUserName", username=username)
        self.positive(maxsize=maxsize)
        return self.ask("GET", "/fs", lambda data: listed(data, "fsList", _fs), _of(username, maxKeys=maxsize))

    def mount(
        self, fsname: str, path: str, mountOptions: Optional[Mapping[str, Any]], username: Optional[str] = None
    ) -> Answer:
        """(True, None) when `path` has become a mount point, else (False, why). The variable `fuse_env` names the program that mounts."""
        self._check(fsname, username, "InvalidFsName")
        self.need("InvalidPath", path=path)
        program = os.environ.get("fuse_env")  # noqa: SIM112 - its older name
        if not os.path.exists(path):
            return False, f"{path} No such directory"
        if os.path.ismount(path):
            return False, f"{path} is a mountpoint, can not be mounted twice"
        if not program:
            return (
                False,
                "the variable fuse_env names no program that mounts; set it to the path of PaddleFlow's fuse client",
            )
        answer = self.show_fs(fsname, username)
        return self._mount(program, answer[1][0], path, mountOptions or {}) if answer[0] else answer

    def _mount(self, program: str, fs: FSInfo, path: str, options: Mapping[str, Any]) -> Answer:
        words = [program, "mount", f"--fs-id=fs-{fs.owner}-{fs.name}", f"--mount-point={path}"]
        words += [f"--server={self.paddleflow_server.split('://')[1]}", f"--user-name={self.user_id}"]
        words += [f"--password={self.password}", *(f"--{name}={value}" for name, value in options.items())]
        log = f"mount-{fs.name}.err.log"
        with open(log, "wb") as output:
            try:
                subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
            except OSError as error:
                return False, f"the program '{program}' of the variable fuse_env cannot be started: {error.strerror}"
        for _ in range(MOUNT_TRIES):
            if os.path.ismount(path):
                os.remove(log)
                return True, None
            time.sleep(1)
        return False, f"{path} is no mount point after {MOUNT_TRIES} s; see {log}"

    def create_cache(self, fsname: str, options: Mapping[str, Any], username: Optional[str] = None) -> Answer:
        """(True, None)."""
        self._check(fsname, username, "InvalidFsName")
        body = {**options, "fsName": fsname, **filled({"username": username})}
        return self.ask("POST", "/fsCache", body=body)

    def update_fs_cache(self, fsname: str, params: Mapping[str, Any], username: Optional[str] = None) -> Answer:
        """No server has this route: the exception says what the server answers. Delete the cache and create it instead."""
        self._check(fsname, username, "InvalidFsName")
        return self.ask("PUT", at("fsCache", fsname), body={**params, **filled({"username": username})})

    def get_fs_cache(self, fsname: str, username: Optional[str] = None) -> Answer:
        """(True, CacheConfigInfo)."""
        self._check(fsname, username, "InvalidFsName")
        return self.ask("GET", at("fsCache", fsname), _cache, _of(username))

    def delete_fs_cache(self, fsname: str, username: Optional[str] = None) -> Answer:
        """(True, None)."""
        self._check(fsname, username)
        return self.ask("DELETE", at("fsCache", fsname), query=_of(username))

    def add_link(
        self,
        fsname: str,
        fspath: str,
        url: str,
        username: Optional[str] = None,
        properties: Optional[Mapping[str, Any]] = None,
    ) -> Answer:
        """(True, None)."""
        self.need("InvalidFSName", fsname=fsname)
        self.need("InvalidURL", url=url)
        self.need("InvalidFSPath", fspath=fspath)
        body = {"fsPath": fspath, "fsName": fsname, **_stored(url, username, properties)}
        return self.ask("POST", "/link", body=body)

    def delete_link(self, fsname: str, fspath: str, username: Optional[str] = None) -> Answer:
        """(True, None)."""
        self._check(fsname, username)
        self.need("InvalidFSPath", fspath=fspath)
        return self.ask("DELETE", at("link", fsname), query=_of(username, fsPath=fspath))

    def list_link(self, fsname: str, username: Optional[str] = None, maxsize: int = 100) -> Answer:
        """(True, [LinkInfo])."""
        self._check(fsname, username)
        self.positive(maxsize=maxsize)
        return self.ask("GET", at("link", fsname), _links, _of(username, maxKeys=maxsize))

    def show_link(self, fsname: str, fspath: str, username: Optional[str] = None) -> Answer:
        """(True, [LinkInfo]): a list of one. (False, message) if there is none."""
        self.need("InvalidFSName", fsname=fsname)
        self.need("InvalidFSPath", fspath=fspath)
        answer = self.ask("GET", at("link", fsname), _links, _of(username, fsPath=fspath))
        return answer if answer[1] else (False, "no link found")

    def _check(self, fsname: str, username: Optional[str], code: str = "InvalidFSName") -> None:
        self.not_blank("InvalidUserName", username=username)
        self.need(code, fsname=fsname)
