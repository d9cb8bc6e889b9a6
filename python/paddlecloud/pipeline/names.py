"""Names of pipelines, components and variables: which ones the language takes."""

import re
from typing import Pattern

from .errors import fault

ROOT = "PF-ENTRY-POINT"  # the full name of the entry points, with which those of all components begin

_PIPELINE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}\Z")
_COMPONENT = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,29}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,49}\Z")


def _check(kind: str, name: object, pattern: Pattern[str], rule: str) -> str:
    if not isinstance(name, str) or not pattern.match(name):
        raise fault(f"{name!r} is not a name of {kind}: {rule}")
    return name


def check_pipeline(name: object) -> str:
    """The name of a pipeline, or a DSLError."""
    rule = "letters, digits, '_' and '-', at most 128, not beginning with a digit or '-'"
    return _check("a pipeline", name, _PIPELINE, rule)


def check_component(name: object) -> str:
    """The name of a step or DAG, or a DSLError."""
    return _check("a step or DAG", name, _COMPONENT, "letters, digits and '-', at most 30, beginning with a letter")


def check_variable(kind: str, name: object) -> str:
    """The name of a parameter, artifact or environment variable (`kind`), or a DSLError."""
    return _check(kind, name, _VARIABLE, "letters, digits and '_', at most 50, not beginning with a digit")
