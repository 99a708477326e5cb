"""Which rows and columns of a result are shown, under which headings, in which groups; as texts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.reports import cells
from rageval_report.reports.cells import shorten
from rageval_report.results import Answer, Result
from rageval_report.scores.names import ShortNames, shorten_names

VERDICT = "verdict"
NAMES_OF_PIPELINES = ("pipeline", "baseline", "candidate")
NO_ROWS = "no rows"

_LONGEST_HEADING = 40
_LEVEL = "confidence_level"
_TALLY = ["wins", "ties", "losses"]


@cache
def words(table: str) -> dict[str, str]:
    """A table of the package's words: "headings" of columns, or "latex" for characters."""
    text = resources.files("rageval_report.reports").joinpath("words.toml").read_text("utf-8")
    phrases: dict[str, str] = tomllib.loads(text)[table]
    return phrases


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of finished texts."""

    heading: str
    cells: tuple[str, ...]
    is_numeric: bool


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Consecutive rows under one heading, from `start` up to but not including `stop`."""

    heading: str
    start: int
    stop: int

    @property
    def places(self) -> range:
        """The places of its rows."""
        return range(self.start, self.stop)


@dataclass(frozen=True, slots=True)
class TextTable:
    """What is shown of a result: its title, its sentences, and a part of its table, as texts."""

    columns: tuple[TextColumn, ...]
    groups: tuple[RowGroup, ...]
    left_out: str = ""
    title: str = ""
    summary: str = ""
    sentences: tuple[str, ...] = ()
    names: ShortNames = field(default_factory=lambda: shorten_names(()))
    has_rows: bool = True

    @property
    def n_rows(self) -> int:
        """The number of rows shown."""
        return self.groups[-1].stop if self.groups else 0

    def row(self, place: int) -> list[str]:
        """The texts of one row."""
        return [column.cells[place] for column in self.columns]


def table_of(
    result: Result,
    *,
    columns: Sequence[str] | None = None,
    max_rows: int | None = None,
    max_columns: int | None = None,
    longest: int = cells.LONGEST,
) -> TextTable:
    """A result as texts; with short names of pipelines everywhere."""
    for parameter, most in (("max_rows", max_rows), ("max_columns", max_columns)):
        if most is not None and most < 0:
            raise DataError(f"{parameter} must be an integer >= 0; got {most}")
    known = _columns_of(result.frame)
    pipelines = pipelines_of(known)
    places = _select_columns(result, [name for name, _ in known], columns)
    order, groups = _group_rows(result, known, max_rows, pipelines)
    named = [
        (name, _short_cells(name, values.take(order).tolist(), pipelines))
        for name, values in (known[place] for place in places[:max_columns])
    ]
    settings = {**result.settings, **_levels(known, order)}
    rows_left_out = len(result.frame) - len(order) + getattr(result, "rows_left_out", 0)
    more = (rows_left_out, "row"), (len(places) - len(named), "column")
    return TextTable(
        columns=tuple(_text_columns(named, settings, longest)),
        groups=groups,
        left_out=" and ".join(f"{n} more {what}{'s' * (n > 1)}" for n, what in more if n),
        title=pipelines.in_text(result.title),
        summary=pipelines.in_text(result.summary),
        sentences=tuple(map(pipelines.in_text, result.sentences)),
        names=pipelines,
        has_rows=len(result.frame) > 0,
    )


_Known = list[tuple[str, Any]]


def _columns_of(frame: pd.DataFrame) -> _Known:
    """The named levels of the index, then the columns; names may repeat."""
    index = [
        (str(name), frame.index.get_level_values(level))
        for level, name in enumerate(frame.index.names)
        if name is not None
    ]
    return [*index, *((str(name), frame.iloc[:, i]) for i, name in enumerate(frame.columns))]


def pipelines_of(known: Iterable[tuple[str, Any]]) -> ShortNames:
    """The short names of all pipelines that the columns of a result name."""
    values = (values.tolist() for name, values in known if name in NAMES_OF_PIPELINES)
    return shorten_names(name for column in values for name in column if isinstance(name, str))


def _short_cells(column: str, values: list[Any], pipelines: ShortNames) -> list[Any]:
    if column not in NAMES_OF_PIPELINES or not pipelines.differ:
        return values
    return [pipelines.of(value) if isinstance(value, str) else value for value in values]


def _levels(known: _Known, order: np.ndarray) -> dict[str, object]:
    """The confidence levels of the rows, if a column has them; a single one if they are equal."""
    own = dict(known).get(_LEVEL)
    values = [] if own is None else own.take(order).tolist()
    levels = [_float(level) for level in values] if _is_numeric(values) else []
    distinct = {level for level in levels if not np.isnan(level)}
    if not distinct:
        return {}
    return {_LEVEL: distinct.pop() if len(distinct) == 1 else levels}


def _select_columns(result: Result, names: list[str], columns: Sequence[str] | None) -> list[int]:
    if columns is not None:
        unknown = [name for name in columns if name not in names]
        if unknown:
            raise UnknownNameError("column of this result", unknown[0], names)
        return [names.index(name) for name in columns]
    n_levels = len(names) - result.frame.shape[1]
    places = list(range(len(names)))
    headline = [names.index(name) for name in result.headline if name in names[n_levels:]]
    if headline:
        places = [*range(n_levels), *(place for place in headline if place >= n_levels)]
    # Verdicts are sentences above a table, or the words of an answer; groups are its headings.
    elsewhere = {result.grouped_by} if isinstance(result, Answer) else {result.grouped_by, VERDICT}
    return [place for place in places if not names[place] or names[place] not in elsewhere]


def _group_rows(
    result: Result, known: _Known, max_rows: int | None, pipelines: ShortNames
) -> tuple[np.ndarray, tuple[RowGroup, ...]]:
    """The order of the rows that are shown, and their groups in the order of first appearance."""
    by = dict(known).get(result.grouped_by) if result.grouped_by else None
    if by is None:
        order = np.arange(len(result.frame))[:max_rows]
        return order, (RowGroup("", 0, len(order)),) if len(order) else ()
    values = _short_cells(result.grouped_by, by.tolist(), pipelines)
    texts = [cells.cell(value, longest=cells.LONGEST_SENTENCE) for value in values]
    codes, headings = pd.factorize(np.array(texts, dtype=object))
    # Cut after sorting, so that every group on the page but the last is complete.
    order = np.argsort(codes, kind="stable")[:max_rows]
    sizes = np.bincount(codes[order], minlength=len(headings))
    stops = np.cumsum(sizes)
    bounds = zip(headings, (stops - sizes).tolist(), stops.tolist(), strict=True)
    return order, tuple(RowGroup(*bound) for bound in bounds if bound[1] < bound[2])


def _text_columns(
    named: list[tuple[str, list[Any]]], settings: Mapping[str, Any], longest: int
) -> Iterable[TextColumn]:
    """The columns as texts; two ends of an interval, or wins, ties and losses, become one."""
    while named:
        (name, values), (next_name, highs) = named[0], (named[1:2] or [("", [])])[0]
        estimate = name.removesuffix("ci_low")
        if [other for other, _ in named[:3]] == _TALLY:
            rows = zip(*(own for _, own in named[:3]), strict=True)
            texts = ["/".join(cells.cell(part, "n_") for part in row) for row in rows]
            yield TextColumn("W/T/L", tuple(texts), is_numeric=True)
            named = named[3:]
        elif (
            name.endswith("ci_low")
            and next_name == f"{estimate}ci_high"
            and _is_numeric([*values, *highs])
        ):
            level = settings.get(_LEVEL)
            levels = level if isinstance(level, list) else [None] * len(values)
            ends = zip(map(_float, values), map(_float, highs), levels, strict=True)
            texts = [cells.interval(low, high, level=own) for low, high, own in ends]
            heading = f"{column_heading(estimate.rstrip('_'), settings)} {cells.confidence(level)}"
            yield TextColumn(heading.strip(), tuple(texts), is_numeric=True)
            named = named[2:]
        else:
            texts = [cells.cell(value, name, longest=longest) for value in values]
            heading = column_heading(name, settings)
            yield TextColumn(heading, tuple(texts), is_numeric=_is_numeric(values))
            named = named[1:]


def column_heading(name: str, settings: Mapping[str, Any]) -> str:
    """The heading of a column in plain words."""
    headings, weights = settings.get("headings"), settings.get("weights")
    if isinstance(headings, Mapping) and name in headings:
        return shorten(str(headings[name]), _LONGEST_HEADING)
    if name == "pvalue_adjusted":
        correction = str(settings.get("correction") or "adjusted")
        label = "uncorrected" if correction == "none" else correction
        return f"p ({shorten(label, _LONGEST_HEADING)})"
    if isinstance(weights, Mapping) and name in weights:
        return f"from {shorten(name, _LONGEST_HEADING)}"
    return words("headings").get(name, shorten(name, _LONGEST_HEADING))


def _is_numeric(values: Iterable[object]) -> bool:
    return all(
        cells.is_missing(value) or (isinstance(value, int | float) and not isinstance(value, bool))
        for value in map(cells.plain, values)
    )


def _float(value: object) -> float:
    """A number or a missing value as a float."""
    value = cells.plain(value)
    return float("nan") if cells.is_missing(value) else float(value)  # type: ignore[arg-type]
