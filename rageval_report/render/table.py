"""Which rows and columns of a result are shown, under which headings, in which groups.

This is the half of rendering that all formats share: a `Table` holds finished texts and knows
nothing of how they are laid out or escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.render import cells
from rageval_report.render.display import shortened
from rageval_report.results import Result

# The fields of our results in the words of a report; any other name stands as it is, so that a
# reader can ask the frame for it.
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
    "probability_on_front": "P(on front)",
    "pvalue": "p",
    "query_id": "query",
    "required_n": "required n",
    "share_of_resamples": "wins resamples",
    "share_of_weights": "wins weights",
    "title": "metric",
}
VERDICT = "verdict"
NO_ROWS = "no rows"

_LONGEST_HEADING = 40
_LEVEL = "confidence_level"
_TALLY = ("wins", "ties", "losses")

_Named: TypeAlias = list[tuple[str, list[object]]]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of finished texts.

    Parameters
    ----------
    heading : str
        On one line.
    cells : tuple of str
        A text a row, on one line each.
    is_numeric : bool
        Whether the texts are numbers, which are aligned on the right.
    """

    heading: str
    cells: tuple[str, ...]
    is_numeric: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring rows under one heading: those from `start` on, before `stop`."""

    heading: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Table:
    """What is shown of a result.

    Parameters
    ----------
    columns : tuple of Column
        The first one names the rows.
    groups : tuple of Group
        All rows, in order; one group with an empty heading where rows are not grouped.
    rows_left_out, columns_left_out : int
        How much of the result did not fit.
    """

    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    rows_left_out: int = 0
    columns_left_out: int = 0

    @property
    def n_rows(self) -> int:
        """The number of rows shown."""
        return self.groups[-1].stop if self.groups else 0

    @property
    def is_grouped(self) -> bool:
        """Whether rows stand under headings."""
        return any(group.heading for group in self.groups)

    @property
    def left_out(self) -> str:
        """What is not shown, as a phrase; empty where everything is."""
        more = [(self.rows_left_out, "row"), (self.columns_left_out, "column")]
        told = [f"{n} more {what}{'s' * (n > 1)}" for n, what in more if n]
        return " and ".join(told)

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
) -> Table:
    """What is shown of a result.

    Parameters
    ----------
    result : Result
        The headline columns are shown, or all but the verdicts where it has no headline; a named
        index comes first.
    columns : sequence of str, optional
        Other columns to show, in order.
    max_rows, max_columns : int, optional
        How many rows and columns are shown at most; all where None.
    longest : int
        The width to which texts are cut.

    Raises
    ------
    DataError
        If a limit is negative.
    UnknownNameError
        If `columns` names one that the result does not have.

    Examples
    --------
    >>> frame = pd.DataFrame({"metric": ["recall"], "ci_low": [0.4], "ci_high": [0.5]})
    >>> [column.heading for column in table_of(Result("Means", frame)).columns]
    ['metric', 'CI']
    """
    for most in (max_rows, max_columns):
        if most is not None and most < 0:
            raise DataError(f"a limit of rows or columns must not be negative; got {most}")
    known = _columns_of(result.frame)
    names = [name for name, _ in known]
    places = _chosen(result, names, columns)
    shown = places[:max_columns]
    order, groups = _grouped(result, known, max_rows)
    named: _Named = [(names[place], known[place][1].take(order).tolist()) for place in shown]
    settings = {**result.settings, **_levels(dict(known), order)}
    return Table(
        columns=tuple(_finished(named, settings, longest)),
        groups=groups,
        rows_left_out=len(result.frame) - len(order),
        columns_left_out=len(places) - len(shown),
    )


def _levels(known: Mapping[str, pd.Series | pd.Index], order: np.ndarray) -> dict[str, object]:
    """The confidence levels of the rows, where the table says them; one if all are the same."""
    told = known[_LEVEL].take(order).tolist() if _LEVEL in known else []
    levels = [_float(level) for level in told] if _is_numeric(told) else []
    different = {level for level in levels if not np.isnan(level)}
    if not different:
        return {}
    return {_LEVEL: different.pop() if len(different) == 1 else levels}


def _columns_of(frame: pd.DataFrame) -> list[tuple[str, pd.Series | pd.Index]]:
    """The levels of the index that have names, then the columns; names may come twice."""
    index = [
        (str(name), frame.index.get_level_values(level))
        for level, name in enumerate(frame.index.names)
        if name is not None
    ]
    return [*index, *((str(name), frame.iloc[:, i]) for i, name in enumerate(frame.columns))]


def _chosen(result: Result, names: list[str], columns: Sequence[str] | None) -> list[int]:
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
    said_elsewhere = {VERDICT, result.grouped_by or VERDICT}
    return [place for place in places if names[place] not in said_elsewhere]


def _grouped(
    result: Result, known: list[tuple[str, pd.Series | pd.Index]], max_rows: int | None
) -> tuple[np.ndarray, tuple[Group, ...]]:
    """The order of the rows that are shown, and their groups in the order of first appearance."""
    n_rows = len(result.frame)
    by = dict(known).get(result.grouped_by) if result.grouped_by else None
    if by is None:
        order = np.arange(n_rows)[:max_rows]
        return order, (Group("", 0, len(order)),) if len(order) else ()
    told = [cells.cell(value, longest=cells.LONGEST_TOLD) for value in by.tolist()]
    codes, headings = pd.factorize(np.array(told, dtype=object))
    order = np.argsort(codes, kind="stable")[:max_rows]
    sizes = np.bincount(codes[order], minlength=len(headings))
    stops = np.cumsum(sizes)
    bounds = zip(headings, (stops - sizes).tolist(), stops.tolist(), strict=True)
    return order, tuple(Group(*bound) for bound in bounds if bound[1] < bound[2])


def _finished(named: _Named, settings: Mapping[str, object], longest: int) -> list[Column]:
    """The columns as texts; the ends of an interval, and wins, ties and losses, become one."""
    finished = []
    place = 0
    while place < len(named):
        names = tuple(name for name, _ in named[place : place + 3])
        if names == _TALLY:
            finished.append(_tally([values for _, values in named[place : place + 3]]))
            place += 3
        elif _are_ends(names[:2]) and all(_is_numeric(v) for _, v in named[place : place + 2]):
            finished.append(_interval(*named[place], named[place + 1][1], settings))
            place += 2
        else:
            finished.append(_single(*named[place], settings, longest))
            place += 1
    return finished


def _are_ends(names: tuple[str, ...]) -> bool:
    return (
        len(names) == 2
        and names[0].endswith("ci_low")
        and names[1] == f"{names[0].removesuffix('low')}high"
    )


def _interval(
    name: str,
    low: list[object],
    high: list[object],
    settings: Mapping[str, object],
) -> Column:
    of = name.removesuffix("ci_low").rstrip("_")
    level = settings.get(_LEVEL)
    title = cells.confidence(level)
    of_row = level if isinstance(level, list) else [None] * len(low)
    told = (
        cells.interval(_float(a), _float(b), level=one)
        for a, b, one in zip(low, high, of_row, strict=True)
    )
    return Column(f"{heading(of, settings)} {title}".strip(), tuple(told), is_numeric=True)


def _tally(parts: list[list[object]]) -> Column:
    told = ("/".join(cells.cell(part, "n_") for part in row) for row in zip(*parts, strict=True))
    return Column("W/T/L", tuple(told), is_numeric=True)


def _single(
    name: str, values: list[object], settings: Mapping[str, object], longest: int
) -> Column:
    told = (cells.cell(value, name, longest=longest) for value in values)
    return Column(heading(name, settings), tuple(told), is_numeric=_is_numeric(values))


def heading(name: str, settings: Mapping[str, object]) -> str:
    """The heading of a column in the words of a report.

    Parameters
    ----------
    name : str
        The column.
    settings : mapping of str to object
        The settings of the result; ``correction`` names the corrected p-values, ``weights`` the
        objectives whose columns are parts of a weighted score.

    Examples
    --------
    >>> heading("n_unscored", {}), heading("pvalue_adjusted", {"correction": "holm"})
    ('unscored', 'p (holm)')
    >>> heading("retrieval", {"weights": {"retrieval": 2}})
    'from retrieval'
    """
    if name == "pvalue_adjusted":
        correction = str(settings.get("correction") or "adjusted")
        told = "uncorrected" if correction == "none" else correction
        return f"p ({shortened(told, _LONGEST_HEADING)})"
    if name in _weights(settings):
        return f"from {shortened(name, _LONGEST_HEADING)}"
    return HEADINGS.get(name, shortened(name, _LONGEST_HEADING))


def _weights(settings: Mapping[str, object]) -> Mapping[object, object]:
    weights = settings.get("weights")
    return weights if isinstance(weights, Mapping) else {}


def _is_numeric(values: list[object]) -> bool:
    return all(_is_number(cells.plain(value)) for value in values)


def _is_number(value: object) -> bool:
    is_real = isinstance(value, int | float) and not isinstance(value, bool)
    return is_real or cells.is_missing(value)


def _float(value: object) -> float:
    """A number or nothing, as a float."""
    value = cells.plain(value)
    return float("nan") if cells.is_missing(value) else float(value)  # type: ignore[arg-type]
