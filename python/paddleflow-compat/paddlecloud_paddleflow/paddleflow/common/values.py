"""How values are made of JSON objects."""

from typing import Any, Mapping, Type, TypeVar

Value = TypeVar("Value")


def taken(kind: Type[Value], keys: str, item: Mapping[str, Any]) -> Value:
    """A value of `kind`, whose arguments are these members of the object, in order; None for one that is missing."""
    return kind(*[item.get(key) for key in keys.split()])
