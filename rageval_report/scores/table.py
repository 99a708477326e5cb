"""The table of scores, checked once: ids that are unique, numbers that are finite or NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError, named
from rageval_report.scores.columns import Columns, Unreadable, classified, numbers_of, resolver
from rageval_report.scores.company import in_company, with_own_titles
from rageval_report.scores.fingerprints import all_different
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.metric import (
    Metric,
    Override,
    inferred,
    is_binary,
    normalised,
    overridden,
    title_of,
)
from rageval_report.scores.query_ids import QUERY_ID, query_ids
from rageval_report.scores.query_ids import id_column_of as id_column_of
from rageval_report.scores.query_ids import question_text as question_text

# A score outside its bounds by this share of their distance is rounding, and is moved to the bound;
# by this share it is as well, with a note.
_ROUNDING = 1e-6
_NEAR = 1e-3

Duplicates = Literal["error", "mean"]
_DUPLICATES: tuple[Duplicates, ...] = ("error", "mean")
MetricsArgument = Iterable[str] | Mapping[str, Override] | None


class Scored(Protocol):
    """What the reading half asks of a pipeline's evaluation."""

    @property
    def name(self) -> str:
        """The pipeline's name."""

    @property
    def scores(self) -> pd.DataFrame:
        """A row a query, a float64 column a metric, NaN where unscored."""

    @property
    def details(self) -> pd.DataFrame:
        """Everything else that is known of the queries, on the same index."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What is known of each metric, in the order of the columns."""


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """The checked table: what `RAGPipelineEvaluation` holds.

    Parameters
    ----------
    data : DataFrame
        The rows as they were given.
    scores : DataFrame
        Index ``query_id``, one float64 column a metric.
    details : DataFrame
        The same index, all other columns.
    metrics : dict of str to Metric
        In the order of the columns of `scores`.
    notes : tuple of str
        What was guessed or mended.
    """

    data: pd.DataFrame
    scores: pd.DataFrame
    details: pd.DataFrame
    metrics: dict[str, Metric]
    notes: tuple[str, ...] = ()

    def noting(self, *notes: str) -> ScoreTable:
        """The same table with more notes."""
        return replace(self, notes=(*notes, *self.notes))


def score_table(
    data: object,
    *,
    query_id: str = QUERY_ID,
    metrics: MetricsArgument = None,
    duplicates: Duplicates = "error",
    known: Mapping[str, Override] | None = None,
    only: Iterable[str] | None = None,
    unreadable: Unreadable = "raise",
    strict: bool = False,
) -> ScoreTable:
    """Check the rows and part them into scores and details.

    Parameters
    ----------
    data : frame, dict of lists, or list of dicts
        One row a query.
    query_id : str
        The column of ids; other usual names are looked for, then an index, then a question's text.
    metrics : iterable of str, or mapping of str to Metric, dict, "higher" or "lower", optional
        An iterable names the columns that are metrics; a mapping says what is known of some.
    duplicates : {"error", "mean"}
        What to do where a query has several rows: raise, or take the mean of its scores.
    known : mapping of str to Metric, dict, "higher" or "lower", optional
        What the file says of its metrics; what the caller says in `metrics` goes before it.
    only : iterable of str, optional
        The columns that the file says are metrics; a caller's iterable goes before it.
    unreadable : {"raise", "failed"}
        What a metric's cell is that holds neither a score nor a word for none: an error, or a
        failed score with the cell's text as the reason.
    strict : bool
        Whether a score a little outside its metric's bounds is an error, too; otherwise it is moved
        to the bound, with a note.

    Raises
    ------
    DataError
        If ids are missing or twice there, no column is a metric, a metric holds text, a score is
        infinite or outside its metric's bounds.

    Examples
    --------
    >>> table = score_table({"query_id": ["a", "b"], "recall": [1, 0.5], "question": ["?", "??"]})
    >>> list(table.scores), list(table.details)
    (['recall'], ['question'])
    """
    if duplicates not in _DUPLICATES:
        raise UnknownNameError("way with duplicate ids", str(duplicates), _DUPLICATES)
    data = to_pandas(data)
    if not len(data):
        raise DataError("expected one row a query; the table is empty")
    frame = _with_names_of_text(data)
    ids, id_column, notes = query_ids(frame, query_id)
    told = {name: one for name, one in (known or {}).items() if name in frame}
    chosen, also = _chosen(metrics, only), (*told, *_named(metrics))
    columns = classified(
        *(frame, ids),
        id_column=id_column,
        only=chosen,
        also=also if chosen is None else (),
        unreadable=unreadable,
    )
    block = _score_block(columns, len(frame))
    of_metrics, kind_notes = _known_metrics(columns, block, metrics, told, by_name=only is None)
    bound_notes = _check_scores(block, of_metrics, ids, near=_ROUNDING if strict else _NEAR)
    index = pd.Index(ids, name=QUERY_ID)
    scores = pd.DataFrame(block, index=index, columns=list(of_metrics), copy=False)
    details = _details(frame, columns).set_axis(index, axis=0)
    told_notes = (*notes, *columns.notes, *kind_notes, *bound_notes)
    table = ScoreTable(data, scores, details, of_metrics, told_notes)
    if all_different(index):
        return table
    if duplicates == "error":
        raise DataError(_seen_twice(index))
    return _with_means_of_repeats(table)


def beside(scores: pd.DataFrame, details: pd.DataFrame) -> pd.DataFrame:
    """Scores and details in one frame; a detail named like a score gets the ending "_detail".

    Examples
    --------
    >>> list(beside(pd.DataFrame({"bleu": [0.5]}), pd.DataFrame({"bleu": ["low"], "n": [1]})))
    ['bleu', 'bleu_detail', 'n']
    """
    clash = {column: f"{column}_detail" for column in details if column in scores}
    return pd.concat([scores, details.rename(columns=clash)], axis=1)


def _with_names_of_text(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame, its columns named by different texts."""
    if not all(isinstance(label, str) for label in frame.columns):
        frame = frame.set_axis([str(label) for label in frame.columns], axis=1)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()].unique().tolist()
        raise DataError(f"column names must be unique; seen more than once: {named(twice)}")
    return frame


def _details(frame: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """The details, and why cells hold no score, as far as the frame does not say it itself."""
    details = frame[columns.details]
    told = {
        name: details[name].where(details[name].notna(), pd.Series(cells, index=frame.index))
        if name in details
        else pd.Series(cells, index=frame.index, dtype=object)
        for name, cells in columns.states.items()
    }
    return details.assign(**told) if told else details


def _chosen(metrics: MetricsArgument, only: Iterable[str] | None) -> tuple[str, ...] | None:
    """The columns that are metrics where somebody lists them: the caller, else the file."""
    if isinstance(metrics, str):
        return (metrics,)
    if metrics is None or isinstance(metrics, Mapping):
        return None if only is None else (*only, *_named(metrics))
    return tuple(metrics)


def _named(metrics: MetricsArgument) -> tuple[str, ...]:
    """The columns of which the caller says what they are."""
    return tuple(metrics) if isinstance(metrics, Mapping) else ()


# -- repeated ids


def _seen_twice(index: pd.Index) -> str:
    twice = index[index.duplicated()].unique().tolist()
    return (
        f"query ids must be unique; seen more than once: {named(twice)}. Repeated runs of "
        'one pipeline are averaged with duplicates="mean"'
    )


def _with_means_of_repeats(table: ScoreTable) -> ScoreTable:
    scores = table.scores.groupby(level=0, sort=False).mean()
    details = table.details[~table.details.index.duplicated()]
    known = {name: _as_scored(metric, scores[name]) for name, metric in table.metrics.items()}
    note = (
        f"{len(table.scores)} rows of {len(scores)} queries: each query's score is the mean of its "
        "rows, its details are those of its first row"
    )
    return replace(table, scores=scores, details=details, metrics=known, notes=(*table.notes, note))


# -- metrics and scores


def _score_block(columns: Columns, n_queries: int) -> np.ndarray:
    """All scores in one column-major block: the only copy of the numbers that is made."""
    block = np.empty((n_queries, len(columns.sources)), dtype=np.float64, order="F")
    for position, cells in enumerate(columns.sources.values()):
        block[:, position] = numbers_of(cells)
    return block


def _known_metrics(
    columns: Columns,
    block: np.ndarray,
    metrics: MetricsArgument,
    told: Mapping[str, Override],
    *,
    by_name: bool,
) -> tuple[dict[str, Metric], list[str]]:
    """What is known of each metric: by catalogue or values, then by the file, then the caller."""
    known = _by_themselves(columns, block)
    by_caller = metrics if isinstance(metrics, Mapping) else {}
    by_file = {name: one for name, one in told.items() if normalised(name) in known}
    of_others = set()
    for name, change in (*by_file.items(), *by_caller.items()):
        column = resolver(known)(name)
        known[column] = overridden(known[column], change)
        of_others.add(column)
    notes = [
        f"{name!r} is not a known metric; by its name, lower is taken as better"
        for name, metric in columns.known.items()
        if metric is None and name not in of_others and not known[name].greater_is_better
    ]
    if by_name:
        known, decided = in_company(known, of_others)
        notes += decided
    for position, (name, metric) in enumerate(known.items()):
        known[name] = _as_scored(metric, block[:, position])
        if known[name].kind != metric.kind:
            notes.append(f"{name!r} should be 0 or 1, but there are scores between: read as shares")
    return with_own_titles(known), notes


def _by_themselves(columns: Columns, block: np.ndarray) -> dict[str, Metric]:
    """What the catalogue, the name and the cells say of each metric."""
    known = {
        name: metric or inferred(name, block[:, position])
        for position, (name, metric) in enumerate(columns.known.items())
    }
    for name in columns.shares:
        if columns.known[name] is None:  # 90 % is 0.9 here, which no title may call a percentage
            known[name] = replace(known[name], title=title_of(name.replace("%", "")))
    for name, scale in columns.scales.items():
        known[name] = replace(known[name], kind="ordinal", bounds=scale)
    return known


def _as_scored(metric: Metric, values: pd.Series | np.ndarray) -> Metric:
    """The metric, a binary one as a proportion where there are scores between 0 and 1."""
    if metric.kind != "binary" or is_binary(np.asarray(values)):
        return metric
    return replace(metric, kind="proportion")


def _check_scores(
    block: np.ndarray, metrics: dict[str, Metric], ids: pd.Series, near: float
) -> list[str]:
    notes = []
    for position, metric in enumerate(metrics.values()):
        column = block[:, position]
        _check_finite(column, metric, ids)
        notes += _into_bounds(column, metric, ids, near)
    return notes


def _places(wrong: np.ndarray, column: np.ndarray, ids: pd.Series) -> str:
    rows = np.flatnonzero(wrong)
    shown = ", ".join(f"{column[row]:g} at {ids.iloc[row]!r}" for row in rows[:5])
    return shown if len(rows) <= 5 else f"{shown} and {len(rows) - 5} more"


def _check_finite(column: np.ndarray, metric: Metric, ids: pd.Series) -> None:
    wrong = np.isinf(column)
    if wrong.any():
        raise DataError(
            f"scores must be finite, or NaN where unscored; {metric.name!r} has "
            f"{_places(wrong, column, ids)}"
        )


def _into_bounds(column: np.ndarray, metric: Metric, ids: pd.Series, near: float) -> list[str]:
    """Move scores that lie a little outside the bounds to them; what was moved visibly."""
    if metric.bounds is None or not _is_outside(column, *metric.bounds):
        return []
    low, high = metric.bounds
    width = high - low if math.isfinite(high - low) else 1.0
    outside = np.fmax(low - column, column - high) / width
    wrong = outside > near
    if wrong.any():
        raise DataError(
            f"{metric.name!r} must lie between {low:g} and {high:g}; got "
            f"{_places(wrong, column, ids)}. If its scale is another, say so: "
            f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"
        )
    moved = outside > _ROUNDING
    told = (
        f"{int(moved.sum())} scores of {metric.name!r} lie a little outside {low:g} to {high:g} "
        f"and are moved there: {_places(moved, column, ids)}"
    )
    notes = [told] if moved.any() else []
    np.clip(column, low, high, out=column)
    return notes


def _is_outside(column: np.ndarray, low: float, high: float) -> bool:
    return bool(np.fmin.reduce(column) < low or np.fmax.reduce(column) > high)
