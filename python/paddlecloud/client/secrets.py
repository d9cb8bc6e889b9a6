"""Secrets of the user."""

import base64
from typing import List, Union

from .calls import Calls, quote


class SecretCalls(Calls):
    """The calls of Client about secrets."""

    def secret_set(self, name: str, value: Union[str, bytes]) -> None:
        """Makes a secret of the user, or gives it another value: 1 to 65536 bytes, which are never shown again. Jobs that name it in `secrets`
        or `secret_files` take it at the start of each attempt. Raises errors.ApiError (code "quota") above 100 secrets or 1 MiB of a user.
        """
        body = {"value": value} if isinstance(value, str) else {"base64": base64.b64encode(value).decode()}
        self._transport.json("PUT", f"/v1/secrets/{quote(name)}", body, repeatable=True)

    def secrets(self) -> List[str]:
        """The names of the user's secrets, sorted."""
        return [item["name"] for item in self._transport.json("GET", "/v1/secrets")["items"]]

    def secret_delete(self, name: str) -> None:
        """Deletes a secret; jobs that name it fail at their next start. Raises errors.NotFound."""
        self._transport.json("DELETE", f"/v1/secrets/{quote(name)}", repeatable=False)
