"""Settings: a mapping, e.g. from a YAML file, becomes a dataclass; every value is checked."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from pathlib import Path
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from rageval_report._registry import import_yaml
from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.files.source import Source
from rageval_report.http.literal_keys import hide_literal_keys

T = TypeVar("T")

_TYPE_NAMES = {
    str: "a text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    dict: "a mapping",
    tuple: "a list",
    type(None): "null",
}


def read_yaml(path: str | Path) -> dict[str, Any]:
    r"""Read the mapping in a YAML file; tags that would run code are refused.

    Parameters
    ----------
    path : str or Path
        The file. Needs the extra ``yaml``.

    Raises
    ------
    ReaderError
        If the file cannot be read, is not YAML, or does not contain a mapping.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.yaml"
    ...     _ = path.write_text("samples: 10\nhttp: {url: http://localhost:8001/answer}\n")
    ...     read_yaml(path)
    {'samples': 10, 'http': {'url': 'http://localhost:8001/answer'}}
    """
    yaml = import_yaml()
    source = Source(path)
    try:
        # yaml.load would run code that a tag names.
        document = yaml.safe_load(source.text)
    except (yaml.YAMLError, RecursionError, ValueError) as exc:  # also a date that is none
        mark = getattr(exc, "problem_mark", None)
        problem = getattr(exc, "problem", None) or str(exc) or "nested too deeply"
        line = None if mark is None else mark.line + 1
        raise ReaderError(f"this is not YAML: {problem}", path, line) from exc
    if not isinstance(document, dict):
        raise ReaderError("expected settings as lines 'name: value'", path)
    return document


def parse_settings(kind: type[T], values: Mapping[str, object], where: str = "the settings") -> T:
    """Create a dataclass of settings from a mapping.

    Parameters
    ----------
    kind : type
        The dataclass; its fields define the keys and their types.
    values : mapping
        The values by key; a list may stand for a tuple, a mapping for another dataclass.
    where : str
        What an error calls the mapping.

    Raises
    ------
    UnknownNameError
        If a key is not known; the message names the nearest.
    DataError
        If a value has the wrong type, or a key is missing.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Pace:
    ...     rate: float | None = None
    ...     seed: int = 0
    >>> parse_settings(Pace, {"rate": 5})
    Pace(rate=5.0, seed=0)
    >>> parse_settings(Pace, {"sed": 5})
    Traceback (most recent call last):
    ...
    rageval_report.errors.UnknownNameError: no key of the settings is named 'sed'. Did you mean \
'seed'? Known: rate, seed.
    """
    hints = get_type_hints(kind)
    known = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise UnknownNameError(f"key of {where}", str(key), known)
    missing = [name for name, field in known.items() if name not in values and _is_required(field)]
    if missing:
        raise DataError(f"{where} must contain {' and '.join(missing)}")
    return kind(
        **{
            key: _check_value(hints[key], value, _place(where, key))
            for key, value in values.items()
        }
    )


def _place(where: str, key: str) -> str:
    return key if where == "the settings" else f"{where}.{key}"


def _is_required(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _check_value(hint: Any, value: object, place: str) -> object:
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for option in options:
        plain = dict if is_typeddict(option) else get_origin(option) or option
        if plain in (Any, object) or (plain is Literal and value in get_args(option)):
            return value
        if dataclasses.is_dataclass(plain) and isinstance(value, Mapping):
            return parse_settings(plain, value, place)
        if _fits(plain, value):
            return _convert(option, plain, value, place)
    expected = " or ".join(map(_type_name, options))
    # A key may be in the wrong place of a file, which is when this error is read.
    raise DataError(f"{place}: expected {expected}; got {hide_literal_keys(repr(value))}")


def _type_name(option: Any) -> str:
    if get_origin(option) is Literal:
        return " or ".join(f'"{value}"' for value in get_args(option))
    return _TYPE_NAMES.get(get_origin(option) or option, "a mapping")


def _fits(plain: Any, value: object) -> bool:
    if plain is float:
        # YAML reads "yes" and "on" as true, which is 1 in Python; a typo would become a number.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and math.isfinite(cast("float", value))
    if plain is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if plain is tuple:
        return isinstance(value, list | tuple)
    return plain in _TYPE_NAMES and isinstance(value, plain)


def _convert(option: Any, plain: Any, value: Any, place: str) -> object:
    if plain is float:
        return float(value)
    if plain is tuple:
        inner = get_args(option)[0]
        return tuple(_check_value(inner, item, f"{place}[{n}]") for n, item in enumerate(value))
    if plain is dict and get_args(option):
        names, values = get_args(option)
        keys = [_check_value(names, key, f"a key of {place}") for key in value]
        return {key: _check_value(values, value[key], f"{place}.{key}") for key in keys}
    return value
