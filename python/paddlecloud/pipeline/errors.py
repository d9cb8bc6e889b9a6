"""The one error of a description that cannot become a pipeline."""

import os
import sys
from typing import Optional, Type

from ..errors import PaddleError


class DSLError(PaddleError, ValueError):
    """The description of a pipeline is wrong: the message says where, why, and what to write instead. `code` is "PipelineDSLError"."""

    code = "PipelineDSLError"
    place: Optional[str] = None  # FILE:LINE, if the message begins with that


def seen_from_here(file: str) -> str:
    """The path of a file below the current directory as seen from there; any other as it is."""
    inside = os.path.relpath(file) if os.path.isabs(file) else file
    return file if inside.startswith(os.pardir) else inside


def place_of_caller() -> Optional[str]:
    """FILE:LINE of the innermost line that runs and is not of this package, nor of a layer with other names."""
    frame = sys._getframe(1)
    while frame is not None:
        if not str(frame.f_globals.get("__name__")).startswith(("paddlecloud", "paddleflow")):
            return f"{seen_from_here(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None


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
