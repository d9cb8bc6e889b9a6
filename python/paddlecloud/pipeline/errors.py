"""The one error of a description that cannot become a pipeline."""

from typing import Optional, Type

from ..errors import PaddleError


class DSLError(PaddleError, ValueError):
    """The description of a pipeline is wrong: the message says where, why, and what to write instead. `code` is "PipelineDSLError"."""

    code = "PipelineDSLError"
    place: Optional[str] = None  # FILE:LINE, if the message begins with that


_class: Type[DSLError] = DSLError


def use(error: Type[DSLError]) -> None:
    """Makes `error`, a subclass of DSLError that takes a message, the class of all further errors of this package. It is for a layer that
    offers the same classes under other module names, whose users catch its own exception."""
    global _class
    _class = error


def fault(message: str, place: Optional[str] = None) -> DSLError:
    """The error to raise; `place` (FILE:LINE) comes before the message."""
    error = _class(message if place is None else f"{place}: {message}")
    error.place = place
    return error
