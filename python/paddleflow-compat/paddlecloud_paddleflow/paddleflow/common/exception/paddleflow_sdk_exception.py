"""The one exception of this package."""

from typing import Optional


class PaddleFlowSDKException(Exception):
    """A refusal. `code` is the server's word (doc/reference/paddleflow-api.md, "Errors and their codes") or one of this package:
    "InvalidOperator" (no login yet), "Connection Error" (no reply), "PipelineDSLError", "Invalid..." (an argument). `message` says why.
    `requestId` is as in the server's log, None if the request was not sent."""

    def __init__(
        self, code: Optional[str] = None, message: Optional[str] = None, requestId: Optional[str] = None
    ) -> None:
        super().__init__(code, message, requestId)
        self.code = code
        self.message = message
        self.requestId = requestId

    def __str__(self) -> str:
        return f"[PaddleFlowSDKException] code:{self.code} message:{self.message} requestId:{self.requestId}"

    def get_code(self) -> Optional[str]:
        return self.code

    def get_message(self) -> Optional[str]:
        return self.message

    def get_request_id(self) -> Optional[str]:
        return self.requestId
