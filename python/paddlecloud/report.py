"""What a program reports of itself while it runs: numbers by name, which the platform keeps with its job (`paddle results`)."""

import math
import os
import re
import threading
from typing import Dict, List

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9._/-]{0,62}\Z")
_KEPT = 4096  # bytes that a Kubernetes cluster keeps of a container's message
_lock = threading.Lock()
_seen: Dict[str, List[float]] = {}  # least, greatest and last of each name


def report(**values: float) -> None:
    """Reports numbers: `report(loss=0.25, accuracy=0.9)`, as often as the program likes.

    The platform keeps the last, the least and the greatest of each name, of at most 32 names. Outside of a job nothing happens.
    Raises ValueError for a name that is none (a letter or "_", then letters, digits and "._-/", at most 63), TypeError for what is no
    number.
    """
    numbers = {name: _number(name, value) for name, value in values.items()}
    for name in numbers:
        if not _NAME.match(name):
            raise ValueError(
                f"'{name}' is not a name to report: a letter or '_', then letters, digits and '._-/', at most 63"
            )
    path = os.environ.get("PADDLE_PROGRESS_FILE")
    if not path or not numbers:
        return
    with _lock:
        text = "".join(f"{name}={value!r}\n" for name, value in numbers.items())
        if path == "/dev/termination-log":
            text, mode = _folded(numbers), "w"
        else:
            mode = "a"
        try:
            with open(path, mode) as file:
                file.write(text)
        except OSError:
            pass  # a full disk or a file that is gone does not end the training


def _number(name: str, value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"report({name}={value!r}): '{name}' must be a number, not {type(value).__name__}") from None


def _folded(numbers: Dict[str, float]) -> str:
    """All that was reported so far, in as few lines as say it."""
    for name, value in numbers.items():
        least, greatest, _ = _seen.get(name, [value, value, value])
        if not math.isfinite(least):  # an infinite number, or none (NaN), is neither the least nor the greatest
            least = greatest = value
        finite = value if math.isfinite(value) else least
        _seen[name] = [min(least, finite), max(greatest, finite), value]
    lines = [f"{name}={number!r}\n" for name, three in _seen.items() for number in three]
    while len("".join(lines)) > _KEPT:
        lines.pop(0)
    return "".join(lines)
