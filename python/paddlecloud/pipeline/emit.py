"""A definition as a text in YAML 1.2 (core schema). Texts that a reader could take for a number, a date or a flag are quoted."""

import json
import math
import re
from typing import Any, Iterator, List, Mapping

from .errors import fault

# Texts that are the same quoted or not, for YAML 1.1, too.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*\Z")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_HIDDEN = re.compile(
    "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
)  # json.dumps leaves them, a YAML reader may not take them
_SHORT = 100  # characters of a list on one line


def to_yaml(value: Mapping[str, Any]) -> str:
    """The text of a map of texts, numbers, truth values, lists and maps, in the order of its keys."""
    return "\n".join(_map(value, "")) + "\n"


def _text(text: str) -> str:
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        raise fault(f"{text!r} is not a text: it has half of a surrogate pair") from None
    return _HIDDEN.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(text, ensure_ascii=False))


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(str.__str__(value))  # a system variable as its template
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float) and math.isfinite(value):
        return repr(float(value))
    raise fault(f"{value!r} cannot be part of a definition")


def _flow(items: List[Any]) -> str:
    return "[" + ", ".join(_flow(item) if isinstance(item, list) else _quoted(item) for item in items) + "]"


def _quoted(item: object) -> str:
    """In a list on one line."""
    text = _scalar(item)
    return json.dumps(item) if isinstance(item, str) and not text.startswith('"') else text


def _map(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, item in value.items():
        head = f"{indent}{_text(key)}:"
        if isinstance(item, Mapping) and item:
            yield head
            yield from _map(item, indent + "  ")
        elif isinstance(item, list) and item:
            yield from _list(head, item, indent + "  ")
        else:
            yield f"{head} {_empty(item) or _scalar(item)}"


def _empty(item: object) -> str:
    return "{}" if isinstance(item, Mapping) else "[]" if isinstance(item, list) else ""


def _list(head: str, items: List[Any], indent: str) -> Iterator[str]:
    if not any(isinstance(item, Mapping) for item in items):
        flow = _flow(items)
        if len(flow) <= _SHORT:
            yield f"{head} {flow}"
            return
    yield head
    for item in items:
        if isinstance(item, Mapping) and item:
            lines = list(_map(item, indent + "  "))
            lines[0] = f"{indent}- {lines[0].lstrip(' ')}"
            yield from lines
        elif isinstance(item, list):
            yield f"{indent}- {_flow(item)}"
        else:
            yield f"{indent}- {_empty(item) or _scalar(item)}"
