"""What the calls of a client share: the transport, pages of lists, and patience with a server that restarts."""

import dataclasses
import time
import urllib.parse
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Mapping, TypeVar, cast

from .. import errors
from ..transport import Transport

if TYPE_CHECKING:
    from . import Client

AWAY_MAX = 60.0  # seconds that a server may be away while something waits for it
PAGE = 200
Record = TypeVar("Record")


def fields_of(kind: Callable[..., Record], body: Dict[str, Any]) -> Record:
    """The dataclass `kind` from the members of `body` that it knows, and `raw` with all."""
    known = {field.name for field in dataclasses.fields(kind) if field.init} - {"raw"}  # type: ignore[arg-type]
    return kind(**{name: body[name] for name in known if name in body}, raw=body)


def quote(text: str) -> str:
    """A text as a part of a path."""
    return urllib.parse.quote(text, safe="")


def query_of(values: Mapping[str, Any]) -> str:
    """The query of a path without values that are None; lists are repeated names."""
    return urllib.parse.urlencode({name: value for name, value in values.items() if value is not None}, doseq=True)


class Calls:
    """The base of the parts of Client."""

    _transport: Transport

    def _client(self) -> "Client":
        return cast("Client", self)

    def _patiently(self, call: Callable[[], Record]) -> Record:
        """What `call` returns, once the server is back; gives up when it stays away for a minute."""
        end = time.monotonic() + AWAY_MAX
        while True:
            try:
                return call()
            except (errors.ServerNotReached, errors.Unavailable):
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def _pages(self, path: str, query: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
        """The items of a list, page by page; a page may be empty before the last one."""
        asked = {"limit": PAGE, **query}
        while True:
            page = self._transport.json("GET", f"{path}?{query_of(asked)}")
            yield from page["items"]
            if not page["next"]:
                return
            asked["after"] = page["next"]
