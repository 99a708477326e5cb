"""Checks of the parts of a JSON document: an object, a list of objects."""

from __future__ import annotations

from typing import TypeGuard

from rageval_report.types import JsonObject


class ShapeError(ValueError):
    """A JSON document, or a part of it, does not have the shape that a reader expects."""


def json_kind(value: object) -> str:
    """The JSON type of a value, with its article."""
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return names.get(type(value), "true or false" if isinstance(value, bool) else "a number")


def check_object(value: object, what: str) -> JsonObject:
    """The value, which must be an object; an empty object for None."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ShapeError(f"{what} must be an object; got {json_kind(value)}")
    return value


def is_records(value: object) -> TypeGuard[list[JsonObject]]:
    """Whether a value is a list of objects, and not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def check_records(value: object, what: str) -> list[JsonObject]:
    """The value, which must be a list of objects; an empty list for None."""
    if value is None or value == []:
        return []
    if not is_records(value):
        raise ShapeError(f"{what} must be a list of objects")
    return value
