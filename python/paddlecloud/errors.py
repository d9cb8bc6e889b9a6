"""What can go wrong when talking to a server: one class for each kind that a program may want to tell apart.

PaddleError
├── ServerNotReached           nobody answers at the server's address
└── ApiError                   a reply that is an error
    ├── Invalid                400, 413: the request is wrong; a repeat is wrong, too
    ├── Denied                 401, 403
    ├── NotFound               404
    ├── Conflict               409: it exists already, or its state does not allow that
    ├── Gone                   410: what was asked for is no longer kept
    └── Unavailable            429, 502, 503, 504: worth another try later
"""

from typing import Any, Dict, Type


class PaddleError(Exception):
    """The base of all errors of this package."""


class ServerNotReached(PaddleError):
    """Nobody answers at the server's address, after all tries."""


class ApiError(PaddleError):
    """A reply that is an error: `status` (HTTP), `code` (a word, doc/guide/rest.md), `message`, `hint` (what to do next, may be empty),
    `request_id` (as in the server's log), `body` (the whole reply)."""

    def __init__(self, status: int, body: Dict[str, Any]) -> None:
        self.status = status
        self.code = str(body.get("code", "failed"))
        self.message = str(body.get("message", f"HTTP status {status}"))
        self.hint = str(body.get("hint", ""))
        self.request_id = str(body.get("request_id", ""))
        self.body = body
        super().__init__(f"{self.message}\n{self.hint}" if self.hint else self.message)


class Invalid(ApiError):
    """400 or 413: the request breaks a rule, which the message names."""


class Denied(ApiError):
    """401 or 403: no or wrong credentials, or not allowed."""


class NotFound(ApiError):
    """404: no such job, file, token or route."""


class Conflict(ApiError):
    """409: a name that is taken, or a state that does not allow what was asked."""


class Gone(ApiError):
    """410: events older than the server keeps; `body["revision"]` is where to go on."""


class Unavailable(ApiError):
    """429, 502, 503, 504: worth another try later. The client has already tried several times, but for a full quota (429)."""


_CLASSES: Dict[int, Type[ApiError]] = {
    400: Invalid,
    401: Denied,
    403: Denied,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: Invalid,
    429: Unavailable,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def from_reply(status: int, body: object) -> ApiError:
    """The exception for a reply of `status` whose decoded JSON is `body` (None when it was no JSON)."""
    return _CLASSES.get(status, ApiError)(status, body if isinstance(body, dict) else {})
