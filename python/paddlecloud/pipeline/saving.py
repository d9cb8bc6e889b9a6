"""The files that compile() writes, and which files it may replace: those that it has written before."""

import json
import os
from typing import Any, Dict, Mapping

from .emit import to_yaml
from .errors import fault

MARK = "# Written by paddlecloud: compile() replaces this file. Remove this line to keep it."


class Saved(Dict[str, Any]):
    """A definition that was saved: as the last value of a cell a notebook shows where it is, instead of pages."""

    def __init__(self, definition: Mapping[str, Any], path: str) -> None:
        super().__init__(definition)
        self._path = path

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"the definition of pipeline '{self['name']}' is in {self._path}")


def text_of(definition: Mapping[str, Any], path: str) -> str:
    """A definition as it is saved. JSON has no comments: what is in the form of json.dumps is taken as written by compile()."""
    return _json_of(definition) if path.endswith(".json") else marked(to_yaml(definition))


def _json_of(definition: Any) -> str:
    return json.dumps(definition, indent=2) + "\n"


def marked(text: str) -> str:
    """A text with the line by which compile() knows its files."""
    return f"{MARK}\n{text}"


def save(files: Mapping[str, str]) -> None:
    """Writes texts to paths; directories that are missing are made. Raises DSLError before anything is written if one of the files has
    another text and was not written by compile()."""
    for path, text in files.items():
        if os.path.lexists(path) and not _is_own(path, text):
            raise fault(
                f"'{path}' is there already and was not written by compile(): it is not replaced. Move it away, or save the pipeline elsewhere"
            )
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _is_own(path: str, text: str) -> bool:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            found = file.read()
    except (OSError, ValueError):
        return False
    if not found or found == text or found.splitlines()[0] == MARK:
        return True
    return path.endswith(".json") and _is_own_json(found)


def _is_own_json(text: str) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and "entry_points" in value and _json_of(value) == text
