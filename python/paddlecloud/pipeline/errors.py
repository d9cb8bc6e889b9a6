"""The one error of a description that cannot become a pipeline."""

from typing import Type

from ..errors import PaddleError


class DSLError(PaddleError, ValueError):
    """The description of a pipeline is wrong: the message says where, why, and what to write instead. `code` is "PipelineDSLError"."""

    code = "PipelineDSLError"


_class: Type[DSLError] = DSLError


def use(error: Type[DSLError]) -> None:
    """Makes `error`, a subclass of DSLError that takes a message, the class of all further errors of this package. It is for a layer that
    offers the same classes under other module names, whose users catch its own exception."""
    global _class
    _class = error


def fault(message: str) -> DSLError:
    """The error to raise."""
    return _class(message)
