"""Checks a table of scores once: unique ids, and numbers that are finite or NaN."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, check_choice, named
from rageval_report.scores.descriptions import (
    SharedScale,
    describe_metrics,
    match_kind,
    stated_bounds,
)
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.guard import unscore_missing
from rageval_report.scores.metric import Metric, Override, extremes_of, normalise_name
from rageval_report.scores.pipelines import split_pipelines
from rageval_report.scores.query_ids import (
    QUERY_ID,
    SURE_ID_NAMES,
    RepeatedIdsError,
    all_different,
    unit_ids,
)
from rageval_report.scores.query_ids import id_column_of as id_column_of
from rageval_report.scores.query_ids import question_text as question_text
from rageval_report.scores.query_rows import PlaceOfRow, Totals, position_of_row, query_rows
from rageval_report.scores.roles import (
    DESCRIBED,
    IN_FORMAT,
    NAMED,
    STATED,
    ColumnFacts,
    ColumnRole,
    Confidence,
    DividedColumns,
    Roles,
    Unreadable,
    assign_roles,
    check_roles,
    columns_with_role,
    numbers_of,
)
from rageval_report.types import BoolArray, FloatArray

# A score outside its bounds is moved to the bound: silently if its distance is at most _ROUNDING of
# the width of the bounds, with a note if it is at most _NEAR, as 1.0005 is for an average of marks.
_ROUNDING = 1e-6
_NEAR = 1e-3

Duplicates = Literal["error", "mean"]
DUPLICATES: tuple[Duplicates, ...] = ("error", "mean")
MetricsArgument = Iterable[str] | Mapping[str, Override] | None


class Scored(Protocol):
    """The attributes of an evaluation that the reading half uses.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run: Scored = RAGPipelineEvaluation("rag", {"query_id": ["a"], "recall": [0.5]})
    >>> run.name, run.scores.shape, run.details.shape, list(run.metrics)
    ('rag', (1, 1), (1, 0), ['recall'])
    """

    @property
    def name(self) -> str:
        """The name of the pipeline."""

    @property
    def scores(self) -> pd.DataFrame:
        """One row per query, one float64 column per metric, NaN where unscored."""

    @property
    def details(self) -> pd.DataFrame:
        """All other columns of the queries, on the same index."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The description of each metric, in the order of the columns."""


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """The checked table that a `RAGPipelineEvaluation` holds."""

    data: pd.DataFrame  # the rows as the caller passed them
    scores: pd.DataFrame  # index query_id, one float64 column per metric
    details: pd.DataFrame  # the same index, all other columns
    metrics: dict[str, Metric]  # in the order of the columns of `scores`
    notes: tuple[str, ...] = ()  # guesses and corrections that were made
    roles: tuple[ColumnRole, ...] = ()  # what each column of the table is, and why

    def with_notes(self, *notes: str) -> ScoreTable:
        """The same table with more notes, the new ones first."""
        return replace(self, notes=(*notes, *self.notes))

    def with_detail_names(self, names: Mapping[str, str]) -> ScoreTable:
        """The same table with other names for some details."""
        return replace(self, details=self.details.rename(columns=dict(names))) if names else self


def score_table(
    data: object,
    *,
    query_id: str = QUERY_ID,
    metrics: MetricsArgument = None,
    duplicates: Duplicates = "error",
    known: Mapping[str, Override] | None = None,
    only: Iterable[str] | None = None,
    roles: Roles | None = None,
    pipeline_columns: Collection[str] = (),
    pipeline_confidence: Confidence = "certain",
    scales: Mapping[str, SharedScale] | None = None,
    is_one_pipeline: bool = False,
    unreadable: Unreadable = "raise",
    strict: bool = False,
    totals: Totals = "auto",
    place: PlaceOfRow = position_of_row,
) -> ScoreTable:
    """Check the rows and divide them into scores and details.

    Parameters
    ----------
    data : frame, dict of lists, or list of dicts
        One row per query.
    query_id : str
        The column of ids; if it is missing, other usual names are tried, then an index, then the
        text of the question.
    metrics : iterable of str, or mapping of str to Metric, dict, "higher" or "lower", optional
        An iterable names the columns that are metrics; a mapping describes some metrics.
    duplicates : {"error", "mean"}
        What to do if a query has several rows: raise an error, or take the mean of its scores.
    known : mapping of str to Metric, dict, "higher" or "lower", optional
        The descriptions of metrics in the file; those of the caller in `metrics` win.
    only : iterable of str, optional
        The columns that the file says are metrics; an iterable of the caller in `metrics` wins.
    roles : mapping of str to str, optional
        What columns are, if the caller knows better than their names and cells.
    pipeline_columns, pipeline_confidence
        The columns that named the pipelines of the file, and how sure it is that they do.
    scales : mapping of str to SharedScale, optional
        The scale of metrics in all pipelines of the file, by normalised name; stated bounds win.
    is_one_pipeline : bool
        Whether the rows are known to be those of one pipeline; otherwise it is checked.
    unreadable : {"raise", "failed"}
        What to do with a metric's cell that holds neither a score nor a word for "unscored".
    strict : bool
        Whether a score slightly outside the bounds of its metric is an error, and not moved.
    totals : {"auto", "drop", "keep"}
        What to do with rows whose ids name a total, such as "mean" or "all": leave them out if no
        query is likely to have such an id, leave them all out, or take them for queries.
    place : callable
        Takes the position of a row and returns its name in notes, such as "line 7".

    Raises
    ------
    DataError
        If ids are missing or repeated, the rows belong to several pipelines, a row may be
        a query or a total, no column is a metric, a metric holds text, or a score is infinite or
        outside the bounds of its metric.

    Examples
    --------
    >>> table = score_table({"query_id": ["a", "b"], "recall": [1, 0.5], "question": ["?", "??"]})
    >>> list(table.scores), list(table.details)
    (['recall'], ['question'])
    """
    check_choice("duplicates", duplicates, DUPLICATES)
    data = to_pandas(data)
    if not len(data):
        raise DataError("data must have one row per query; the table is empty")
    frame = _with_text_labels(data)
    stated = check_roles(roles, frame.columns)
    query_id = next(iter(columns_with_role(stated, "id")), query_id)
    rows = query_rows(frame, query_id, totals=totals, place=place)
    data, frame = rows.select(data), rows.select(frame)
    if not len(data):
        raise DataError("data must have one row per query; no row of the table is one")
    if not is_one_pipeline:
        _check_one_pipeline(frame, query_id, stated)
    ids, id_column, id_notes, are_repeats = unit_ids(frame, query_id)
    of_file = {name: change for name, change in (known or {}).items() if name in frame}
    of_caller = metrics if isinstance(metrics, Mapping) else {}
    if not isinstance(metrics, Mapping | None):
        listed = dict.fromkeys((metrics,) if isinstance(metrics, str) else metrics, NAMED)
    elif only is None:
        listed = dict.fromkeys((*of_file, *of_caller), DESCRIBED)
    else:
        listed = dict.fromkeys((*only, *of_caller), IN_FORMAT)
    facts = ColumnFacts(
        listed,
        is_closed=only is not None or not isinstance(metrics, Mapping | None),
        bounds=stated_bounds(of_file, metrics),
        roles=stated,
        pipeline_columns=pipeline_columns,
        pipeline_confidence=pipeline_confidence,
        unreadable=unreadable,
    )
    columns = assign_roles(frame.drop(columns=id_column or []), ids, facts)
    metric_columns = columns.metrics.items()
    with_bounds = {name for name, own in metric_columns if own.known and own.known.bounds}
    # Column-major, as every summary and comparison reads columns.
    block = np.empty((len(frame), len(columns.metrics)), dtype=np.float64, order="F")
    for position, column in enumerate(columns.metrics.values()):
        block[:, position] = numbers_of(column.cells)
    doubts = unscore_missing(block, list(columns.metrics), {*facts.bounds, *with_bounds})
    descriptions, kind_notes = describe_metrics(
        *(columns.metrics, block, ids),
        by_caller=of_caller,
        by_file=of_file,
        scales=scales or {},
        by_name=only is None,
    )
    bound_notes = _check_scores(block, descriptions, ids, near=_ROUNDING if strict else _NEAR)
    index = pd.Index(ids, name=QUERY_ID)
    scores = pd.DataFrame(block, index, list(descriptions), copy=False)
    details = _make_details(frame, columns).set_axis(index, axis=0)
    notes = (
        *(doubt.note for doubt in doubts),
        *rows.notes,
        *id_notes,
        *columns.notes,
        *kind_notes,
        *bound_notes,
    )
    decided = (*_id_role(id_column, id_notes, stated), *columns.decided)
    table = ScoreTable(data, scores, details, descriptions, notes, decided)
    if all_different(index):
        return table
    if duplicates == "error" and not are_repeats:
        raise RepeatedIdsError(
            index[index.duplicated()].unique().tolist(),
            'To average repeated runs of one pipeline, pass duplicates="mean"',
        )
    return _average_repeats(table)


def _check_one_pipeline(frame: pd.DataFrame, query_id: str, roles: Roles) -> None:
    """Refuse rows of several pipelines: one mean over all of them would describe none."""
    parts, pipelines = split_pipelines(frame, "", query_id=query_id, roles=roles)
    if pipelines is None or len(parts) == 1:
        return
    columns = list(pipelines.columns)
    raise DataError(
        f"data holds {len(parts)} pipelines, {named(parts)}, in column {named(columns)} "
        f"({pipelines.why}); one evaluation holds one pipeline. Make one of each with "
        "read_scores(data), or keep all rows together with "
        f"roles={dict.fromkeys(columns, 'detail')}"
    )


def _id_role(column: str | None, notes: Iterable[str], roles: Roles) -> list[ColumnRole]:
    if column is None:
        return []
    is_certain = column in roles or normalise_name(column) in SURE_ID_NAMES or not tuple(notes)
    why = STATED if column in roles else "the usual name of query ids"
    return [ColumnRole(column, "id", "certain" if is_certain else "likely", why)]


def join_details(scores: pd.DataFrame, details: pd.DataFrame) -> pd.DataFrame:
    """Scores and details in one frame; a detail named like a score gets the ending "_detail"."""
    clash = {column: f"{column}_detail" for column in details if column in scores}
    return pd.concat([scores, details.rename(columns=clash)], axis=1)


def _with_text_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with unique texts as column names."""
    if not all(isinstance(label, str) for label in frame.columns):
        frame = frame.set_axis([str(label) for label in frame.columns], axis=1)
    if not frame.columns.is_unique:
        repeated = frame.columns[frame.columns.duplicated()].unique().tolist()
        raise DataError(
            f"column names must be unique; these appear more than once: {named(repeated)}"
        )
    return frame


def _make_details(frame: pd.DataFrame, columns: DividedColumns) -> pd.DataFrame:
    """The details, with the reasons why cells hold no score where the frame has none."""
    details = frame[columns.details]
    for name, cells in columns.states.items():
        states = pd.Series(cells, index=frame.index, dtype=None if name in details else object)
        own = details[name].where(details[name].notna(), states) if name in details else states
        details = details.assign(**{name: own})
    return details


def _average_repeats(table: ScoreTable) -> ScoreTable:
    # NaN is skipped: a repeat that failed is left out of the mean, not counted as 0.
    scores = table.scores.groupby(level=0, sort=False).mean()
    details = table.details[~table.details.index.duplicated()]
    known = {
        name: match_kind(metric, scores[name].to_numpy()) for name, metric in table.metrics.items()
    }
    note = (
        f"{len(table.scores)} rows of {len(scores)} queries: the score of each query is the mean "
        "of its rows, and its details are those of its first row"
    )
    return replace(table, scores=scores, details=details, metrics=known, notes=(*table.notes, note))


def _check_scores(
    block: FloatArray, metrics: dict[str, Metric], ids: pd.Series, near: float
) -> list[str]:
    """Check that scores are finite and within bounds; move those slightly outside, with a note."""
    notes = []
    for position, metric in enumerate(metrics.values()):
        name, column = metric.name, block[:, position]
        extremes = extremes_of(column)  # they show what is wrong without a copy of the column
        if math.isinf(extremes.low) or math.isinf(extremes.high):
            raise DataError(
                f"scores must be finite, or NaN where unscored; {name!r} has "
                f"{_list_scores(np.isinf(column), column, ids)}"
            )
        low, high = metric.bounds or (-math.inf, math.inf)
        if not (extremes.low < low or extremes.high > high):
            continue
        width = high - low if math.isfinite(high - low) else 1.0
        outside = np.fmax(low - column, column - high) / width
        if (outside > near).any():
            raise DataError(
                f"{name!r} must lie between {low:g} and {high:g}; got "
                f"{_list_scores(outside > near, column, ids)}. If it has another scale, pass "
                f"metrics={{{name!r}: {{'bounds': (low, high)}}}}"
            )
        moved = outside > _ROUNDING
        if moved.any():
            notes.append(
                f"{int(moved.sum())} scores of {name!r} lie slightly outside {low:g} to {high:g} "
                f"and are moved to the bounds: {_list_scores(moved, column, ids)}"
            )
        np.clip(column, low, high, out=column)
    return notes


def _list_scores(is_wrong: BoolArray, column: FloatArray, ids: pd.Series) -> str:
    rows = np.flatnonzero(is_wrong)
    listed = ", ".join(f"{column[row]:g} at {ids.iloc[row]!r}" for row in rows[:MOST_NAMED])
    more = len(rows) - MOST_NAMED
    return f"{listed} and {more} more" if more > 0 else listed
