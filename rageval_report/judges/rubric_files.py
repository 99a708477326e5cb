"""Your own rubric, out of a file: YAML, JSON or TOML."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from rageval_report._registry import load
from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.files.source import Source
from rageval_report.judges.rubric import Rubric

_FIELDS = tuple(one.name for one in fields(Rubric))


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
        If it cannot be read, or is no rubric; a field that is not known is told with the nearest.

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
    Scale(low=1.0, high=5.0, whole=True)
    """
    source = Source(path)
    suffix = Path(path).suffix.lower()
    if suffix not in _PARSERS:
        raise source.error(f"a rubric stands in a file that ends in {' '.join(_PARSERS)}")
    document = _document(source, _PARSERS[suffix])
    if not isinstance(document, dict):
        raise source.error(f"expected an object with the fields {', '.join(_FIELDS)}")
    try:
        return _rubric(document)
    except (DataError, UnknownNameError) as exc:
        raise exc if isinstance(exc, ReaderError) else source.error(str(exc)) from exc


def _rubric(document: dict[Any, Any]) -> Rubric:
    for name in document:
        if name not in _FIELDS:
            raise UnknownNameError("field of a rubric", str(name), _FIELDS)
    missing = [name for name in ("name", "question", "prompt") if name not in document]
    if missing:
        raise DataError(f"the rubric has no {' and no '.join(missing)}")
    told = {**document, **({"version": str(document["version"])} if "version" in document else {})}
    return Rubric(**told)


def _document(source: Source, parse: Callable[[str], Any]) -> Any:
    text = source.text
    try:
        return parse(text)
    except _NotParsedError as exc:
        raise source.error(f"it cannot be read: {exc}", line=exc.line) from exc


class _NotParsedError(ValueError):
    def __init__(self, message: str, line: int | None = None):
        self.line = line
        super().__init__(message)


def _yaml(text: str) -> Any:
    yaml = load("yaml")
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as exc:
        mark = getattr(exc, "problem_mark", None)
        told = getattr(exc, "problem", None) or type(exc).__name__
        raise _NotParsedError(told, None if mark is None else mark.line + 1) from exc


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as exc:
        raise _NotParsedError(exc.msg, exc.lineno) from exc
    except RecursionError as exc:
        raise _NotParsedError("it is nested too deeply") from exc


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise _NotParsedError(str(exc)) from exc


_PARSERS: dict[str, Callable[[str], Any]] = {
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": _json,
    ".toml": _toml,
}
