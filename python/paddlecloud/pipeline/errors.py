"""The one error of a description that cannot become a pipeline.

A layer that offers the same classes under other module names has its own exception, a subclass of DSLError. Its classes are subclasses of
those here, with this exception as `_error`. An error is of the class of the outermost object that the program has called: so a program may
use both layers, and each raises its own."""

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


class Raising:
    """The base of what a program calls."""

    _error: Optional[Type[DSLError]] = None  # a subclass that takes a message

    def _error_class(self) -> Optional[Type[DSLError]]:
        """The class of the errors of its methods; None: DSLError."""
        return self._error


def _is_ours(module: object) -> bool:
    return str(module).startswith("paddlecloud.") or module == "paddlecloud"


def _class_of_call() -> Type[DSLError]:
    """By the outermost object between here and the program: in functions of this package, and in methods that a subclass or the standard
    library (MutableMapping.update) has of our objects."""
    found: Optional[Type[DSLError]] = None
    frame = sys._getframe(2)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Raising):
            found = owner._error_class()
        elif not _is_ours(frame.f_globals.get("__name__")):
            break
        frame = frame.f_back  # type: ignore[assignment]
    return found or DSLError


def fault(message: str, place: Optional[str] = None) -> DSLError:
    """The error to raise; `place` (FILE:LINE) comes before the message."""
    error = _class_of_call()(message if place is None else f"{place}: {message}")
    error.place = place
    return error


def message_of(error: Exception) -> str:
    """What an error says, without the words that its class adds."""
    return str(getattr(error, "message", None) or error)
