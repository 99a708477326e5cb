"""Settings: a mapping, as a YAML file holds it, becomes a dataclass, each key and value checked."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from rageval_report._registry import load
from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.files.source import Source

T = TypeVar("T")

_WORDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "a mapping",
    tuple: "a list",
    type(None): "null",
}


def read_yaml(path: str | Path) -> dict[str, Any]:
    r"""The mapping in a YAML file; nothing in it is ever code.

    Parameters
    ----------
    path : str or Path
        The file. Needs the extra ``yaml``.

    Raises
    ------
    ReaderError
        If the file cannot be read, is not YAML, or holds no mapping.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.yaml"
    ...     _ = path.write_text("samples: 10\nhttp: {url: http://localhost:8001/answer}\n")
    ...     read_yaml(path)
    {'samples': 10, 'http': {'url': 'http://localhost:8001/answer'}}
    """
    yaml = load("yaml")
    source = Source(path)
    try:
        found = yaml.safe_load(source.text)
    except (yaml.YAMLError, RecursionError) as exc:
        mark = getattr(exc, "problem_mark", None)
        told = getattr(exc, "problem", None) or str(exc) or "nested too deeply"
        line = None if mark is None else mark.line + 1
        raise ReaderError(f"this is not YAML: {told}", path, line) from exc
    if not isinstance(found, dict):
        raise ReaderError("expected settings as 'name: value' lines", path)
    return found


def parse_settings(kind: type[T], given: Mapping[str, Any], where: str = "the settings") -> T:
    """A dataclass of settings from a mapping.

    Parameters
    ----------
    kind : type
        A dataclass; its fields say which keys there are and what they hold.
    given : mapping
        A value a key; a list may stand for a tuple, a mapping for another dataclass.
    where : str
        What the mapping is called in an error.

    Raises
    ------
    UnknownNameError
        If a key is not known; it names the nearest.
    DataError
        If a value is of the wrong kind, or a key is missing.

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
    for key in given:
        if key not in known:
            raise UnknownNameError(f"key of {where}", str(key), known)
    missing = [name for name, field in known.items() if name not in given and _is_needed(field)]
    if missing:
        raise DataError(f"{where} must hold {' and '.join(missing)}")
    return kind(
        **{key: _value(hints[key], value, _place(where, key)) for key, value in given.items()}
    )


def _place(where: str, key: str) -> str:
    return key if where == "the settings" else f"{where}.{key}"


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _value(hint: Any, value: Any, place: str) -> Any:
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for option in options:
        plain = get_origin(option) or option
        if plain is Any:
            return value
        if dataclasses.is_dataclass(plain) and isinstance(value, Mapping):
            return parse_settings(plain, value, place)  # type: ignore[arg-type]
        if _fits(plain, value):
            return _converted(option, plain, value, place)
    expected = " or ".join(_WORDS.get(get_origin(one) or one, "a mapping") for one in options)
    raise DataError(f"{place}: expected {expected}; got {value!r}")


def _fits(plain: Any, value: Any) -> bool:
    if plain is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and math.isfinite(value)
    if plain is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if plain is tuple:
        return isinstance(value, list | tuple)
    return plain in _WORDS and isinstance(value, plain)


def _converted(option: Any, plain: Any, value: Any, place: str) -> Any:
    if plain is float:
        return float(value)
    if plain is tuple:
        inner = get_args(option)[0]
        return tuple(_value(inner, one, f"{place}[{n}]") for n, one in enumerate(value))
    if plain is dict and get_args(option):
        names, values = get_args(option)
        keys = [_value(names, key, f"a key of {place}") for key in value]
        return {key: _value(values, value[key], f"{place}.{key}") for key in keys}
    return value
