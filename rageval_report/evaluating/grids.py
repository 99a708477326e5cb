"""A grid of settings: its combinations, and how each reaches the pipeline."""

from __future__ import annotations

import hashlib
import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial, wraps
from inspect import Parameter, signature
from itertools import product
from typing import Any, cast

from rageval_report.analysis.effects import SettingValue
from rageval_report.errors import DataError, named
from rageval_report.evaluating.config import EvalConfig
from rageval_report.runner.run_config import TargetSections
from rageval_report.runner.targets import import_function
from rageval_report.runner.templates import fill_known, fill_known_url, placeholders_in

CellSettings = dict[str, SettingValue]
Grid = dict[str, tuple[SettingValue, ...]]
TargetSection = dict[str, Any]

_NAME = re.compile(r"[A-Za-z_]\w*")
# What a query fills in; a setting of that name would hide it.
_OF_QUERIES = ("question", "query_id", "metadata")
_MOST_CELLS = 1000
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.,=+-]+")
_LONGEST_NAME = 120


def check_grid(grid: Mapping[str, Iterable[SettingValue]]) -> Grid:
    """The grid with its values as tuples.

    Raises
    ------
    DataError
        If it is empty, a name cannot be a placeholder, or a value is no number, text or switch, or
        repeated.

    Examples
    --------
    >>> check_grid({"top_k": [5, 10]})
    {'top_k': (5, 10)}
    """
    if not isinstance(grid, Mapping) or not grid:
        raise DataError(f'grid must be a mapping such as {{"top_k": [5, 10]}}; got {grid!r}')
    checked = {name: _values(name, values) for name, values in grid.items()}
    n_cells = math.prod(map(len, checked.values()))
    if n_cells > _MOST_CELLS:
        raise DataError(f"grid has {n_cells:,} combinations; at most {_MOST_CELLS:,} are evaluated")
    return checked


def _values(name: object, values: object) -> tuple[SettingValue, ...]:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _OF_QUERIES:
        raise DataError(
            f"grid: {name!r} cannot be the name of a setting; it must be a word such as top_k, "
            f"and not one of {', '.join(_OF_QUERIES)}"
        )
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise DataError(f"grid: the values of {name!r} must be a list; got {values!r}")
    listed = tuple(values)
    for value in listed:
        if not (value is None or isinstance(value, str | int | float)):
            raise DataError(
                f"grid: a value of {name!r} must be a text, a number, True, False or None; got "
                f"{value!r}"
            )
    if not listed:
        raise DataError(f"grid: {name!r} has no values")
    if any(isinstance(value, float) and not math.isfinite(value) for value in listed):
        raise DataError(f"grid: the numbers of {name!r} must be finite; got {named(listed)}")
    if len({repr(value) for value in listed}) < len(listed):
        raise DataError(f"grid: the values of {name!r} must differ; got {named(listed)}")
    return listed


def cells_of(grid: Mapping[str, tuple[SettingValue, ...]]) -> dict[str, CellSettings]:
    """The combinations by name, in the order of the grid; the last setting varies fastest.

    Examples
    --------
    >>> cells_of({"top_k": (5, 10), "model": ("a/b",)})
    {'top_k=5,model=a_b': {'top_k': 5, 'model': 'a/b'}, \
'top_k=10,model=a_b': {'top_k': 10, 'model': 'a/b'}}
    """
    cells: dict[str, CellSettings] = {}
    for values in product(*grid.values()):
        cell = dict(zip(grid, values, strict=True))
        name = _folder_name(cell)
        cells[name if name not in cells else f"{name[:_LONGEST_NAME]}-{_digest(cell)}"] = cell
    return cells


def _folder_name(cell: CellSettings) -> str:
    """The settings as the name of a folder, also on systems that allow few characters."""
    text = ",".join(f"{name}={value}" for name, value in cell.items())
    safe = _NOT_IN_FILE_NAMES.sub("_", text)
    return safe if len(safe) <= _LONGEST_NAME else f"{safe[:_LONGEST_NAME]}-{_digest(cell)}"


def _digest(cell: CellSettings) -> str:
    return hashlib.sha256(repr(cell).encode()).hexdigest()[:8]


# -- how a combination reaches the pipeline


def vary(config: EvalConfig, cell: CellSettings) -> EvalConfig:
    """The settings of one combination.

    Raises
    ------
    DataError
        If a setting does not reach the pipeline.
    """
    target = config.run.target_name
    section: TargetSection = dict(config.run.sections.get(target, {}))
    if target == "callable":
        function = config.function or import_function(section["function"])
        config = replace(config, function=_bound(function, cell))
        # A part of the identity of the pipeline, so that answers of two combinations never mix.
        words = ", ".join(f"{name}={value!r}" for name, value in cell.items())
        section["function"] = f"{section['function']}({words})"
    else:
        section = _FILLERS[target](section, cell)
    sections = {**config.run.sections, target: section}
    run = replace(
        config.run,
        name=_folder_name(cell),
        target=target,
        settings=cast("TargetSections", sections),
        about={**config.run.about, **cell},
    )
    return replace(config, run=run)


def _bound(function: Callable[..., Any], cell: CellSettings) -> Callable[..., Any]:
    """The function with the settings as keywords."""
    parameters = signature(function).parameters
    takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
    by_name = {
        name
        for name, parameter in parameters.items()
        if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    }
    missing = [name for name in cell if not takes_any and name not in by_name]
    if missing:
        shown = getattr(function, "__qualname__", type(function).__name__)
        raise DataError(
            f"grid: {shown} has no parameter {named(missing)}; its parameters are "
            f"{named(parameters, 12) or 'none'}"
        )
    bound = partial(function, **cell)
    return wraps(function)(lambda question: bound(question))


def _fill_server(section: TargetSection, cell: CellSettings) -> TargetSection:
    """The address, headers and body with the settings in their places."""
    if "body" not in section and _has_body(section):
        named_elsewhere = placeholders_in([section.get("url"), section.get("headers")])
        beside = {name: f"{{{name}}}" for name in cell if name not in named_elsewhere}
        section = {**section, "body": {"question": "{question}", **beside}}
    parts: TargetSection = {
        name: section[name] for name in ("url", "headers", "body") if name in section
    }
    _check_reached(cell, parts, "the body, a header or the address")
    filled = {
        name: (fill_known_url if name == "url" else fill_known)(part, cell)
        for name, part in parts.items()
    }
    return {**section, **filled}


def _has_body(section: TargetSection) -> bool:
    return str(section.get("method", "POST")).upper() not in ("GET", "HEAD")


def _fill_command(section: TargetSection, cell: CellSettings) -> TargetSection:
    """The words of the command with the settings in their places."""
    line = section.get("line", "")
    _check_reached(cell, line, "the words of the command")
    if isinstance(line, str):  # it is divided into words later
        quoted = {name: shlex.quote(str(value)) for name, value in cell.items()}
        return {**section, "line": fill_known(line, quoted)}
    words = {name: str(value) for name, value in cell.items()}
    return {**section, "line": [str(fill_known(word, words)) for word in line]}


def _check_reached(cell: CellSettings, template: object, where: str) -> None:
    missing = [name for name in cell if name not in placeholders_in(template)]
    if missing:
        raise DataError(
            f"grid: {named(missing)} does not reach the pipeline: write {{{missing[0]}}} into "
            f"{where}"
        )


_FILLERS: dict[str, Callable[[TargetSection, CellSettings], TargetSection]] = {
    "http": _fill_server,
    "command": _fill_command,
}
