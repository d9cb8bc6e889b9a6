"""A typed client of the `/v1` interface (doc/guide/rest.md). Its calls are in one file for each kind of object."""

from typing import Optional

from .. import config
from ..transport import Transport
from .caches import CacheCalls
from .pipelines import PipelineCalls
from .records import DryRun, Event, Explanation, FileInfo, Job, LogLine, Member, Reason
from .runs import RunCalls
from .schedules import ScheduleCalls
from .secrets import SecretCalls

__all__ = ["Client", "DryRun", "Event", "Explanation", "FileInfo", "Job", "LogLine", "Member", "Reason"]


class Client(RunCalls, CacheCalls, PipelineCalls, ScheduleCalls, SecretCalls):
    """A server. Without `server` it is found as `paddle` finds it, and an embedded one is started when none is named.

    `timeout` in seconds counts a server's silence, `retries` further tries after the first. Every call raises errors.ApiError (Invalid,
    Denied, NotFound, Conflict, Gone, Unavailable) or errors.ServerNotReached, all of them errors.PaddleError. What may be repeated
    safely is repeated after a failure; a submit carries an idempotency key, so that a repeat never makes a second job. What waits
    (wait, logs, events) outlives restarts of the server of up to a minute. Not thread-safe: use one for each thread.
    """

    def __init__(
        self, server: Optional[str] = None, token: Optional[str] = None, timeout: float = 60.0, retries: int = 5
    ) -> None:
        url = config.find_server(server)
        self._transport = Transport(url, config.find_token(token, url), timeout, retries)

    def close(self) -> None:
        """Closes the connection; a further call opens another."""
        self._transport.close()

    def _twin(self) -> "Client":
        """Another client of the same server, for another thread."""
        mine = self._transport
        return Client(mine.url, mine.token, mine.timeout, mine.retries)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def version(self) -> str:
        """The server's version."""
        return str(self._transport.json("GET", "/v1/version")["version"])

    def login(self, user: str, password: str, otp: Optional[str] = None) -> Optional[str]:
        """Logs in on a server on TCP: this client has a token from then on. Returns when it expires, in RFC 3339; raises errors.Denied for
        a wrong name or password, and where a code of the second factor (`otp`) is needed."""
        body = {"user": user, "password": password, **({"otp": otp} if otp else {})}
        reply = self._transport.json("POST", "/v1/login", body, repeatable=False)
        self._transport.token = reply["token"]
        expires: Optional[str] = reply.get("expires_at")
        return expires
