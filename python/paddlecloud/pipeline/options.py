"""Options of pipelines and steps: the cache, what a failure leads to, file systems."""

from typing import Any, Dict, List, Optional, Sequence, Union

from .errors import Raising, fault

FAIL_FAST = "fail_fast"
FAIL_CONTINUE = "continue"


def _is_bool(what: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise fault(f"{what} is {value!r}; it is True or False")
    return value


def _text(what: str, value: object, needed: bool = False) -> Optional[str]:
    if value is None and not needed:
        return None
    if not isinstance(value, str) or (needed and not value):
        raise fault(f"{what} is {value!r}; it is a text{' of at least one character' if needed else ''}")
    return value


def _set(values: Dict[str, Any]) -> Dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


class FSScope(Raising):
    """A file system that a cache looks at: `path` (several separated by commas; None: all of it) below the root of the file system `name`."""

    def __init__(self, name: str, path: Optional[str] = None) -> None:
        self.name = _text("the name of a file system in fs_scope", name, needed=True)
        self.path = _text("the path of fs_scope", path)

    def compile(self) -> Dict[str, Any]:
        """Its map in a definition."""
        return _set({"name": self.name, "path": self.path})


class CacheOptions(Raising):
    """Whether a step may take the result of an earlier run, and for how many seconds (-1: without end). `fs_scope` names what the step reads
    besides its inputs. `fingerprint` says how files are compared: "time" by their times (the default), "content" by what is in them."""

    def __init__(
        self,
        enable: bool = False,
        fs_scope: Union[FSScope, Sequence[FSScope], None] = None,
        max_expired_time: Union[int, str] = -1,
        fingerprint: Optional[str] = None,
    ) -> None:
        self.enable = bool(enable)
        scopes = [fs_scope] if isinstance(fs_scope, FSScope) else None if fs_scope is None else list(fs_scope)
        if scopes is not None and not all(isinstance(scope, FSScope) for scope in scopes):
            raise fault(f"fs_scope is {fs_scope!r}; it is an FSScope or a list of them")
        self.fs_scope: Optional[List[FSScope]] = scopes
        try:
            self.max_expired_time = int(max_expired_time)
        except (TypeError, ValueError):
            raise fault(f"max_expired_time is {max_expired_time!r}; it is a number of seconds, or -1") from None
        if fingerprint not in (None, "time", "content"):
            raise fault(f'fingerprint is {fingerprint!r}; it is "time" or "content"')
        self.fingerprint = fingerprint

    def compile(self) -> Dict[str, Any]:
        """Its map in a definition."""
        scopes = None if self.fs_scope is None else [scope.compile() for scope in self.fs_scope]
        return _set(
            {
                "enable": self.enable,
                "max_expired_time": self.max_expired_time,
                "fs_scope": scopes,
                "fingerprint": self.fingerprint,
            }
        )


class FailureOptions(Raising):
    """What a failed step leads to: FAIL_FAST stops all others, FAIL_CONTINUE leaves out what depends on it."""

    def __init__(self, strategy: str = FAIL_FAST) -> None:
        if strategy not in (FAIL_FAST, FAIL_CONTINUE):
            raise fault(f"the failure strategy is {strategy!r}; it is {FAIL_FAST!r} or {FAIL_CONTINUE!r}")
        self.strategy = strategy

    def compile(self) -> Dict[str, Any]:
        """Its map in a definition."""
        return {"strategy": self.strategy}


class MainFS(Raising):
    """The file system of artifacts: `sub_path` of the file system `name`, at `mount_path` in the steps."""

    def __init__(self, name: str, sub_path: Optional[str] = None, mount_path: Optional[str] = None) -> None:
        self.name = _text("the name of a file system", name, needed=True)
        self.sub_path = _text("sub_path", sub_path)
        self.mount_path = _text("mount_path", mount_path)

    def compile(self) -> Dict[str, Any]:
        """Its map in a definition."""
        return _set({"name": self.name, "sub_path": self.sub_path, "mount_path": self.mount_path})


class ExtraFS(MainFS):
    """A further file system that steps see."""

    def __init__(
        self, name: str, sub_path: Optional[str] = None, mount_path: Optional[str] = None, read_only: bool = False
    ) -> None:
        super().__init__(name, sub_path, mount_path)
        self.read_only = _is_bool("read_only", read_only)

    def compile(self) -> Dict[str, Any]:
        """Its map in a definition."""
        return {**super().compile(), "read_only": self.read_only}


def mounts_of(extra_fs: Union[ExtraFS, Sequence[ExtraFS], None]) -> List[ExtraFS]:
    """One mount or several, as a list. Raises DSLError for anything else."""
    mounts = [] if extra_fs is None else [extra_fs] if isinstance(extra_fs, ExtraFS) else list(extra_fs)
    if not all(isinstance(mount, ExtraFS) for mount in mounts):
        raise fault(f"extra_fs is {extra_fs!r}; it is an ExtraFS or a list of them")
    return mounts


class FSOptions(Raising):
    """The file systems of a pipeline: that of its artifacts, and those that all steps see besides."""

    def __init__(
        self, main_fs: Optional[MainFS] = None, extra_fs: Union[ExtraFS, Sequence[ExtraFS], None] = None
    ) -> None:
        if main_fs is not None and (not isinstance(main_fs, MainFS) or isinstance(main_fs, ExtraFS)):
            raise fault(f"main_fs is {main_fs!r}; it is a MainFS")
        self.main_fs = main_fs
        self.extra_fs = mounts_of(extra_fs)

    def compile(self) -> Dict[str, Any]:
        """Its map in a definition."""
        main = None if self.main_fs is None else self.main_fs.compile()
        return _set({"main_fs": main, "extra_fs": [mount.compile() for mount in self.extra_fs] or None})
