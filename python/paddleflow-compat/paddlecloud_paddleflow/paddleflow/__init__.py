"""The module `paddleflow` of programs that were written for PaddleFlow's Python client (doc/guide/paddleflow.md, "The Python module").

It speaks /api/paddleflow/v1 to any server. Names, arguments, return values and exceptions are those of the older client
(doc/reference/paddleflow-api.md). Standard library only; `paddleflow.pipeline` needs the distribution `paddlecloud`."""

from .client import Client

__all__ = ["Client"]
