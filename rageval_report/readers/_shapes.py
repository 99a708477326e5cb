"""Parts of a JSON document, taken for what they should be: an object, a list of objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ShapeError(ValueError):
    """A JSON document, or a part of it, is not of the shape that a reader expects."""


def kind_of(value: object) -> str:
    """What JSON calls a value.

    Examples
    --------
    >>> kind_of({}), kind_of(None), kind_of(True), kind_of(0.5)
    ('an object', 'null', 'true or false', 'a number')
    """
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return names.get(type(value), "true or false" if isinstance(value, bool) else "a number")


def mapping(value: object, what: str) -> Mapping[str, Any]:
    """The object; an empty one where there is none.

    Raises
    ------
    ShapeError
        If it is something else.

    Examples
    --------
    >>> mapping(None, "vars"), mapping({"k": 5}, "vars")
    ({}, {'k': 5})
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ShapeError(f"{what} must be an object; got {kind_of(value)}")
    return value


def is_records(value: object) -> bool:
    """Whether a value is a list of objects, and not an empty one.

    Examples
    --------
    >>> is_records([{}]), is_records([]), is_records([1])
    (True, False, False)
    """
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def records(value: object, what: str) -> list[Mapping[str, Any]]:
    """The list of objects; an empty one where there is none.

    Raises
    ------
    ShapeError
        If it is something else.

    Examples
    --------
    >>> records([{"a": 1}], "results")
    [{'a': 1}]
    """
    if value is None or value == []:
        return []
    if not isinstance(value, list) or not is_records(value):
        raise ShapeError(f"{what} must be a list of objects")
    return value
