"""A server, who is logged in, and the way of a request: JSON over HTTP, a connection for each (doc/reference/paddleflow-api.md)."""

import http.client
import json
import time
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .exception import PaddleFlowSDKException

# (True, value), of some methods (True, values, marker); (False, message) of a server that puts a message into a reply of success.
Answer = Tuple[Any, ...]

BASE = "/api/paddleflow/v1"
TIMEOUT = 60  # seconds to connect, and between two pieces of a reply
PAUSE = 3  # seconds before "Connection Error": programs repeat their call at once


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """Replies of every status come back; redirects are not followed."""

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        return response

    https_response = http_response


def _refusal(status: int, text: bytes) -> PaddleFlowSDKException:
    """The exception of an error's body; also of one that a proxy wrote."""
    try:
        body = json.loads(text)
        return PaddleFlowSDKException(body["code"], body["message"], body["requestID"])
    except (ValueError, KeyError, TypeError):
        return PaddleFlowSDKException(f"HTTP {status}", text[:1000].decode(errors="replace"))


def at(*parts: object) -> str:
    """The path of an object: at("queue", "q") is "/queue/q"."""
    return "".join("/" + urllib.parse.quote(str(part), safe="") for part in parts)


def nothing(data: Any) -> None:
    """The value of a request that has none."""


def filled(values: Mapping[str, Any]) -> Dict[str, Any]:
    """The values that are set: neither None nor empty nor false."""
    return {name: value for name, value in values.items() if value}


def listed(data: Any, member: str, of: Callable[[Any], Any]) -> List[Any]:
    """The items of a list in a reply, which may be null."""
    return [of(item) for item in data.get(member) or []]


def need(code: str, **values: Any) -> None:
    """Raises `code` if a value is None, empty or blank."""
    for name, value in values.items():
        if value is None or (isinstance(value, str) and not value.strip()):
            raise PaddleFlowSDKException(code, f"{name} should not be none or empty")


class Session:
    """A server by host and port. Nothing is sent before login(). A host may begin with "https://"."""

    def __init__(
        self, paddleflow_server_host: str, username: str, password: str, paddleflow_server_port: object = 8999
    ) -> None:
        need("InvalidServer", paddleflow_server_host=paddleflow_server_host)
        scheme = "" if "://" in paddleflow_server_host else "http://"
        self.paddleflow_server = f"{scheme}{paddleflow_server_host}:{paddleflow_server_port}"
        self.user_id = username
        self.password = password
        self.header: Optional[Dict[str, str]] = None

    def login(self, user_name: str, password: str) -> Answer:
        """(True, None). Later requests are this user's."""
        need("InvalidUser", user_name=user_name)
        need("InvalidPassWord", password=password)
        data = self._request("POST", "/login", body={"username": user_name, "password": password})
        if not isinstance(data, dict) or "authorization" not in data:
            return False, data and data.get("message")
        self.user_id, self.password = user_name, password
        self.header = {"x-pf-authorization": data["authorization"]}
        return True, None

    def pre_check(self) -> None:
        """Raises "InvalidOperator" before a login."""
        if not self.user_id or not self.header:
            raise PaddleFlowSDKException("InvalidOperator", "should login first")

    def ask(
        self,
        method: str,
        path: str,
        take: Callable[[Any], Any] = nothing,
        query: Optional[Mapping[str, Any]] = None,
        body: object = None,
        has_message: bool = False,
    ) -> Answer:
        """(True, what `take` makes of the reply), which is None if it was empty. `has_message`: a message is part of the value."""
        self.pre_check()
        data = self._request(method, path, query, body)
        if isinstance(data, dict) and "message" in data and not has_message:
            return False, data["message"]
        return True, take(data)

    def ask_page(self, path: str, member: str, of: Callable[[Any], Any], query: Mapping[str, Any]) -> Answer:
        """(True, values, marker of the next page or None)."""
        answer = self.ask("GET", path, lambda data: (listed(data, member, of), data.get("nextMarker") or None), query)
        return (True, *answer[1]) if answer[0] else answer

    def need(self, code: str, **values: Any) -> None:
        """As need(), after pre_check()."""
        self.pre_check()
        need(code, **values)

    def not_blank(self, code: str, **values: Optional[str]) -> None:
        """Raises `code` if a value that may be left out is blank."""
        self.need(code, **{name: value for name, value in values.items() if value})

    def positive(self, **values: Any) -> None:
        """Raises "InvalidRequest" unless the values are integers above 0."""
        self.pre_check()
        for name, value in values.items():
            if not isinstance(value, int) or value <= 0:
                raise PaddleFlowSDKException("InvalidRequest", f"{name} should be int and greater than 0")

    def _request(self, method: str, path: str, query: Optional[Mapping[str, Any]] = None, body: object = None) -> Any:
        pairs = urllib.parse.urlencode({name: value for name, value in (query or {}).items() if value is not None})
        url = f"{self.paddleflow_server}{BASE}{path}{'?' if pairs else ''}{pairs}"
        data = None if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(url, data, {**(self.header or {}), **kind}, method=method)
        try:
            with urllib.request.build_opener(_AsItIs).open(request, timeout=TIMEOUT) as reply:
                status, text = reply.status, reply.read()
        except (OSError, http.client.HTTPException) as error:
            time.sleep(PAUSE)
            reason = getattr(error, "reason", error)
            raise PaddleFlowSDKException(
                "Connection Error",
                f"no server answers at {self.paddleflow_server}: {reason}. Is it running? "
                "`paddled --listen HOST:PORT --published-password HOST` starts one",
            ) from None
        if status >= 300:
            raise _refusal(status, text)
        try:
            return json.loads(text) if text else None
        except ValueError as error:
            raise PaddleFlowSDKException("InvalidResponse", f"{self.paddleflow_server}{path}: {error}") from error
