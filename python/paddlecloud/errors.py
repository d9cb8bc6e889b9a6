"""What can go wrong when talking to a server: one class for each kind that a program may want to tell apart."""


class ApiError(Exception):
    """A reply that is an error: `status` (HTTP), `code` (a word), `message`, `hint` (what to do next, may be empty)."""

    def __init__(self, status, code, message, hint="", request_id=""):
        super().__init__(f"{message}\n{hint}" if hint else message)
        self.status, self.code, self.message, self.hint, self.request_id = status, code, message, hint, request_id


class NotFound(ApiError):
    """404: no such job, file, token or route."""


class Denied(ApiError):
    """401 or 403: no or wrong credentials, or not allowed."""


class Unavailable(ApiError):
    """429, 502, 503, 504: worth another try later; the client has already tried several times."""


class ServerNotReached(Exception):
    """Nobody listens at the server's address."""


_CLASSES = {
    401: Denied,
    403: Denied,
    404: NotFound,
    429: Unavailable,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def from_reply(status, body):
    """The exception for a reply of `status` whose JSON body is `body` (a dict, or None when it was no JSON)."""
    body = body if isinstance(body, dict) else {}
    return _CLASSES.get(status, ApiError)(
        status,
        body.get("code", "failed"),
        body.get("message", f"HTTP status {status}"),
        body.get("hint", ""),
        body.get("request_id", ""),
    )
