"""Settings: a mapping, e.g. from a YAML file, becomes a dataclass; every value is checked."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from rageval_report._registry import import_yaml
from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.files.source import Source

T = TypeVar("T")

_TYPE_NAMES: dict[Any, str] = {
    str: "a text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    dict: "a mapping",
    tuple: "a list",
    type(None): "null",
}
_TOP = "the settings"


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read the mapping in a YAML file; tags that would run code are refused."""
    yaml = import_yaml()
    try:
        document = yaml.safe_load(Source(path).text)  # yaml.load would run code that a tag names
    except (yaml.YAMLError, RecursionError, ValueError) as exc:  # also a date that is none
        mark = getattr(exc, "problem_mark", None)
        problem = getattr(exc, "problem", None) or str(exc) or "nested too deeply"
        line = None if mark is None else mark.line + 1
        raise ReaderError(f"this is not YAML: {problem}", path, line) from exc
    if not isinstance(document, dict):
        raise ReaderError("expected settings as lines 'name: value'", path)
    return document


def parse_settings(kind: type[T], values: Mapping[str, object], where: str = _TOP) -> T:
    """Create a dataclass of settings from a mapping.

    Raises
    ------
    UnknownNameError
        If a key is not a field of the dataclass.
    DataError
        If a value is of the wrong kind, or a required one is missing.
    """
    hints = get_type_hints(kind)
    known = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise UnknownNameError(f"key of {where}", str(key), known)
    missing = [name for name, field in known.items() if name not in values and _is_required(field)]
    if missing:
        raise DataError(f"{where} must contain {' and '.join(missing)}")
    prefix = "" if where == _TOP else f"{where}."
    return kind(
        **{key: check_value(hints[key], value, prefix + key) for key, value in values.items()}
    )


def _is_required(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def check_value(hint: Any, value: object, place: str) -> object:
    """A value as its type hint wants it: numbers as floats, lists as tuples, sections parsed."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for option in options:
        plain = get_origin(option) or option
        if plain in (Any, object) or (plain is Literal and value in get_args(option)):
            return value
        if dataclasses.is_dataclass(plain):
            section: Any = plain
            if isinstance(value, section):
                return value
            if isinstance(value, Mapping):
                return parse_settings(section, value, place)
        if _fits(plain, value):
            return _convert(option, plain, value, place)
    expected = " or ".join(map(_type_name, options))
    raise DataError(f"{place}: expected {expected}; got {value!r}")


def _type_name(option: Any) -> str:
    if get_origin(option) is Literal:
        return " or ".join(f'"{value}"' for value in get_args(option))
    return _TYPE_NAMES.get(get_origin(option) or option, "a mapping")


def _fits(plain: Any, value: object) -> bool:
    if plain in (float, int):
        # YAML reads "yes" and "on" as true, which is 1 in Python; a typo would become a number.
        is_number = isinstance(value, (int, float) if plain is float else int)
        is_number = is_number and not isinstance(value, bool)
        return is_number and math.isfinite(cast("float", value))
    if plain is tuple:
        return isinstance(value, list | tuple)
    if isinstance(plain, type) and plain in _TYPE_NAMES:
        return isinstance(value, Mapping if plain is dict else plain)
    return False


def _convert(option: Any, plain: Any, value: Any, place: str) -> object:
    if plain is float:
        return float(value)
    if plain is tuple:
        inner = get_args(option)[0]
        return tuple(check_value(inner, item, f"{place}[{n}]") for n, item in enumerate(value))
    if plain is dict and get_args(option):
        names, values = get_args(option)
        keys = [check_value(names, key, f"a key of {place}") for key in value]
        return {key: check_value(values, value[key], f"{place}.{key}") for key in keys}
    return value
