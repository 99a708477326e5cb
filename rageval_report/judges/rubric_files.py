"""A rubric of your own from a file: YAML, JSON or TOML."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from rageval_report._registry import import_yaml
from rageval_report.errors import DataError, ReaderError, UnknownNameError, explain_keywords
from rageval_report.files.source import Source
from rageval_report.files.strict_json import load_json
from rageval_report.judges.rubric import Rubric

_FIELDS = tuple(attribute.name for attribute in fields(Rubric))


@explain_keywords
def read_rubric(path: str | Path) -> Rubric:
    r"""Read a rubric from a file.

    Parameters
    ----------
    path : str or Path
        .yaml or .yml (needs the extra ``yaml``), .json or .toml; an object with the fields of
        `Rubric`.

    Raises
    ------
    ReaderError
        If the file cannot be read or does not contain a rubric. An unknown field is reported with
        the nearest known one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tone.yaml"
    ...     _ = path.write_text(
    ...         "name: tone\nquestion: Is the answer polite?\nscale: [1, 5]\n"
    ...         "prompt: |\n  How polite is this answer? 1 is rude, 5 is courteous.\n  {answer}\n"
    ...     )
    ...     read_rubric(path).scale
    GradeScale(low=1.0, high=5.0, whole=True)
    """
    source = Source(path)
    suffix = Path(path).suffix.lower()
    if suffix not in _PARSERS:
        raise source.error(f"the file of a rubric must end in {', '.join(_PARSERS)}")
    try:
        document = _PARSERS[suffix](source.text)
    except _ParseError as exc:
        raise source.error(f"it cannot be parsed: {exc}", line=exc.line) from exc
    if not isinstance(document, dict):
        raise source.error(f"expected an object with the fields {', '.join(_FIELDS)}")
    try:
        return _make_rubric(document)
    except (DataError, UnknownNameError) as exc:
        raise exc if isinstance(exc, ReaderError) else source.error(str(exc)) from exc


def _make_rubric(document: dict[Any, Any]) -> Rubric:
    for name in document:
        if name not in _FIELDS:
            raise UnknownNameError("field of a rubric", str(name), _FIELDS)
    missing = [name for name in ("name", "question", "prompt") if name not in document]
    if missing:
        raise DataError(f"the rubric has no {' and no '.join(missing)}")
    if "version" in document:  # YAML and TOML read version: 2 as a number
        document = {**document, "version": str(document["version"])}
    return Rubric(**document)


class _ParseError(ValueError):
    def __init__(self, message: str, line: int | None = None):
        self.line = line
        super().__init__(message)


def _parse_yaml(text: str) -> object:
    yaml = import_yaml()  # the package of an extra
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as exc:
        mark = getattr(exc, "problem_mark", None)
        message = getattr(exc, "problem", None) or type(exc).__name__
        raise _ParseError(message, None if mark is None else mark.line + 1) from exc
    except ValueError as exc:  # not a valid date, or an integer that is too long
        raise _ParseError(str(exc)) from exc


def _parse_json(text: str) -> object:
    try:
        return load_json(text)
    except json.JSONDecodeError as exc:
        raise _ParseError(exc.msg, exc.lineno) from exc
    except RecursionError as exc:
        raise _ParseError("it is nested too deeply") from exc
    except ValueError as exc:  # an integer that is too long
        raise _ParseError(str(exc)) from exc


def _parse_toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as exc:  # also an integer that is too long
        raise _ParseError(str(exc)) from exc


_PARSERS: dict[str, Callable[[str], object]] = {
    ".yaml": _parse_yaml,
    ".yml": _parse_yaml,
    ".json": _parse_json,
    ".toml": _parse_toml,
}
