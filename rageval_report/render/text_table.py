"""Which rows and columns of a result are shown, under which headings, in which groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.render import cell_text as cells
from rageval_report.render.display import shorten
from rageval_report.results import Answer, Result
from rageval_report.scores.names import ShortNames, shorten_names

# Headings of fields whose names are not plain words; any other keeps its name, so that a reader
# finds it in the frame.
HEADINGS: dict[str, str] = {
    "average_rank": "average rank",
    "baseline_mean": "baseline mean",
    "candidate_mean": "candidate mean",
    "ci_method": "interval",
    "crossing_pvalue": "p (crossing)",
    "difference_highest": "highest difference",
    "difference_lowest": "lowest difference",
    "effect_name": "effect",
    "effect_size": "effect size",
    "heterogeneity_pvalue": "p (heterogeneity)",
    "min_detectable_difference": "min. detectable",
    "n_dropped": "dropped",
    "n_unscored": "unscored",
    "odds_ratio": "odds ratio",
    "p50": "median",
    "pooled_difference": "pooled difference",
    "pooled_mean": "pooled mean",
    "probability_on_front": "P(on front)",
    "pvalue": "p",
    "query_id": "query",
    "required_n": "required n",
    "reversal_pvalue_adjusted": "p (reversal)",
    "share_of_resamples": "wins resamples",
    "share_of_weights": "wins weights",
    "share_of_weights_shown": "shown weights",
    "title": "metric",
}
VERDICT = "verdict"
NAMES_OF_PIPELINES = ("pipeline", "baseline", "candidate")
NO_ROWS = "no rows"

_LONGEST_HEADING = 40
_LEVEL = "confidence_level"
_TALLY = ("wins", "ties", "losses")

_NamedColumns: TypeAlias = list[tuple[str, list[object]]]


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


@dataclass(frozen=True, slots=True)
class TextTable:
    """The part of a result that is shown, as texts."""

    columns: tuple[TextColumn, ...]
    groups: tuple[RowGroup, ...]
    rows_left_out: int = 0
    columns_left_out: int = 0
    names: ShortNames = field(default_factory=lambda: shorten_names(()))

    @property
    def n_rows(self) -> int:
        """The number of rows shown."""
        return self.groups[-1].stop if self.groups else 0

    @property
    def is_grouped(self) -> bool:
        """Whether the rows have headings."""
        return any(group.heading for group in self.groups)

    @property
    def left_out(self) -> str:
        """The parts that are not shown, as a phrase; empty if everything is shown."""
        more = [(self.rows_left_out, "row"), (self.columns_left_out, "column")]
        return " and ".join(f"{n} more {what}{'s' * (n > 1)}" for n, what in more if n)

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
    """The table of a result: its rows and columns as texts."""
    for parameter, most in (("max_rows", max_rows), ("max_columns", max_columns)):
        if most is not None and most < 0:
            raise DataError(f"{parameter} must be an integer >= 0; got {most}")
    known = _columns_of(result.frame)
    pipelines = pipelines_of(known)
    names = [name for name, _ in known]
    places = _select_columns(result, names, columns)
    shown = places[:max_columns]
    order, groups = _group_rows(result, known, max_rows, pipelines)
    named: _NamedColumns = [
        (names[place], _short_cells(names[place], known[place][1].take(order).tolist(), pipelines))
        for place in shown
    ]
    settings = {**result.settings, **_levels(dict(known), order)}
    return TextTable(
        columns=tuple(_text_columns(named, settings, longest)),
        groups=groups,
        rows_left_out=len(result.frame) - len(order) + getattr(result, "rows_left_out", 0),
        columns_left_out=len(places) - len(shown),
        names=pipelines,
    )


def pipelines_of(known: Iterable[tuple[str, pd.Series | pd.Index]]) -> ShortNames:
    """The short names of all pipelines that the columns of a result name."""
    columns = [column for name, column in known if name in NAMES_OF_PIPELINES]
    return shorten_names(
        value for column in columns for value in column.tolist() if isinstance(value, str)
    )


def _short_cells(column: str, values: list[object], pipelines: ShortNames) -> list[object]:
    if column not in NAMES_OF_PIPELINES or not pipelines.differ:
        return values
    return [pipelines.of(value) if isinstance(value, str) else value for value in values]


def _levels(known: Mapping[str, pd.Series | pd.Index], order: np.ndarray) -> dict[str, object]:
    """The confidence levels of the rows, if a column has them; a single one if they are equal."""
    values = known[_LEVEL].take(order).tolist() if _LEVEL in known else []
    levels = [_float(level) for level in values] if _is_numeric(values) else []
    distinct = {level for level in levels if not np.isnan(level)}
    if not distinct:
        return {}
    return {_LEVEL: distinct.pop() if len(distinct) == 1 else levels}


def _columns_of(frame: pd.DataFrame) -> list[tuple[str, pd.Series | pd.Index]]:
    """The named levels of the index, then the columns; names may repeat."""
    index = [
        (str(name), frame.index.get_level_values(level))
        for level, name in enumerate(frame.index.names)
        if name is not None
    ]
    return [*index, *((str(name), frame.iloc[:, i]) for i, name in enumerate(frame.columns))]


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
    shown_elsewhere = {name for name in (result.grouped_by,) if name}
    if not isinstance(result, Answer):
        shown_elsewhere.add(VERDICT)
    return [place for place in places if names[place] not in shown_elsewhere]


def _group_rows(
    result: Result,
    known: list[tuple[str, pd.Series | pd.Index]],
    max_rows: int | None,
    pipelines: ShortNames,
) -> tuple[np.ndarray, tuple[RowGroup, ...]]:
    """The order of the rows that are shown, and their groups in the order of first appearance."""
    n_rows = len(result.frame)
    by = dict(known).get(result.grouped_by) if result.grouped_by else None
    if by is None:
        order = np.arange(n_rows)[:max_rows]
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
    named: _NamedColumns, settings: Mapping[str, object], longest: int
) -> list[TextColumn]:
    """The columns as texts; two ends of an interval, or wins, ties and losses, become one."""
    columns = []
    place = 0
    while place < len(named):
        names = tuple(name for name, _ in named[place : place + 3])
        if names == _TALLY:
            columns.append(_tally_column([values for _, values in named[place : place + 3]]))
            place += 3
        elif _are_ends(names[:2]) and all(_is_numeric(v) for _, v in named[place : place + 2]):
            columns.append(_interval_column(*named[place], named[place + 1][1], settings))
            place += 2
        else:
            columns.append(_text_column(*named[place], settings, longest))
            place += 1
    return columns


def _are_ends(names: tuple[str, ...]) -> bool:
    return (
        len(names) == 2
        and names[0].endswith("ci_low")
        and names[1] == f"{names[0].removesuffix('low')}high"
    )


def _interval_column(
    name: str, low: list[object], high: list[object], settings: Mapping[str, object]
) -> TextColumn:
    estimate = name.removesuffix("ci_low").rstrip("_")
    level = settings.get(_LEVEL)
    levels = level if isinstance(level, list) else [None] * len(low)
    texts = (
        cells.interval(_float(row_low), _float(row_high), level=row_level)
        for row_low, row_high, row_level in zip(low, high, levels, strict=True)
    )
    title = f"{column_heading(estimate, settings)} {cells.confidence(level)}".strip()
    return TextColumn(title, tuple(texts), is_numeric=True)


def _tally_column(parts: list[list[object]]) -> TextColumn:
    texts = ("/".join(cells.cell(part, "n_") for part in row) for row in zip(*parts, strict=True))
    return TextColumn("W/T/L", tuple(texts), is_numeric=True)


def _text_column(
    name: str, values: list[object], settings: Mapping[str, object], longest: int
) -> TextColumn:
    texts = (cells.cell(value, name, longest=longest) for value in values)
    return TextColumn(column_heading(name, settings), tuple(texts), _is_numeric(values))


def column_heading(name: str, settings: Mapping[str, object]) -> str:
    """The heading of a column in plain words."""
    headings = settings.get("headings")
    if isinstance(headings, Mapping) and name in headings:
        return shorten(str(headings[name]), _LONGEST_HEADING)
    if name == "pvalue_adjusted":
        correction = str(settings.get("correction") or "adjusted")
        label = "uncorrected" if correction == "none" else correction
        return f"p ({shorten(label, _LONGEST_HEADING)})"
    if name in _weights(settings):
        return f"from {shorten(name, _LONGEST_HEADING)}"
    return HEADINGS.get(name, shorten(name, _LONGEST_HEADING))


def _weights(settings: Mapping[str, object]) -> Mapping[object, object]:
    weights = settings.get("weights")
    return weights if isinstance(weights, Mapping) else {}


def _is_numeric(values: list[object]) -> bool:
    return all(_is_number(cells.plain(value)) for value in values)


def _is_number(value: object) -> bool:
    is_real = isinstance(value, int | float) and not isinstance(value, bool)
    return is_real or cells.is_missing(value)


def _float(value: object) -> float:
    """A number or a missing value as a float."""
    value = cells.plain(value)
    return float("nan") if cells.is_missing(value) else float(value)  # type: ignore[arg-type]
