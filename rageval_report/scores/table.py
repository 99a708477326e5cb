"""Checks a table of scores once: unique ids, and numbers that are finite or NaN."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, check_choice, named
from rageval_report.scores.ambiguous_names import decide_f1, with_distinct_titles
from rageval_report.scores.extremes import Extremes, extremes_of
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.metric import (
    Metric,
    Override,
    infer_metric,
    is_binary,
    normalise_name,
    override_metric,
    title_of,
)
from rageval_report.scores.metric_scales import SharedScale, fit_scale, stated_bounds
from rageval_report.scores.query_ids import (
    QUERY_ID,
    SURE_ID_NAMES,
    RepeatedIdsError,
    all_different,
    query_ids,
)
from rageval_report.scores.query_ids import id_column_of as id_column_of
from rageval_report.scores.query_ids import question_text as question_text
from rageval_report.scores.query_rows import PlaceOfRow, Totals, position_of_row, query_rows
from rageval_report.scores.roles.column_role import (
    ColumnRole,
    Confidence,
    Roles,
    check_roles,
    columns_with_role,
)
from rageval_report.scores.roles.columns import (
    ColumnRoles,
    Unreadable,
    assign_roles,
    attach_states,
    numbers_of,
    resolver,
)
from rageval_report.scores.roles.pipelines import split_pipelines

# A score outside its bounds is moved to the bound: silently if its distance is at most _ROUNDING of
# the width of the bounds, with a note if it is at most _NEAR, as 1.0005 is for an average of marks.
_ROUNDING = 1e-6
_LARGEST = float(np.finfo(np.float64).max)
_NEAR = 1e-3
# From 3 on pandas copies what two frames share before one of them changes.
_IS_COPY_ON_WRITE = int(pd.__version__.split(".")[0]) >= 3

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
    """The checked table that a `RAGPipelineEvaluation` holds.

    Parameters
    ----------
    data : DataFrame
        The rows as the caller passed them.
    scores : DataFrame
        Index ``query_id``, one float64 column per metric.
    details : DataFrame
        The same index, all other columns.
    metrics : dict of str to Metric
        In the order of the columns of `scores`.
    notes : tuple of str
        Guesses and corrections that were made.
    roles : tuple of ColumnRole
        What each column of the table is, and why.

    Examples
    --------
    >>> table = score_table({"query_id": ["a"], "recall": [0.5], "question": ["Who?"]})
    >>> table.with_notes("read by hand").notes
    ('read by hand',)
    >>> list(table.with_detail_names({"question": "query"}).details)
    ['query']
    """

    data: pd.DataFrame
    scores: pd.DataFrame
    details: pd.DataFrame
    metrics: dict[str, Metric]
    notes: tuple[str, ...] = ()
    roles: tuple[ColumnRole, ...] = ()

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
        What columns are, if the caller knows better than their names and cells: "id", "pipeline",
        "metric", "detail", "state", "reason" or "weight".
    pipeline_columns : collection of str
        The columns that named the pipelines of the file that the rows come from.
    pipeline_confidence : {"certain", "likely", "doubtful"}
        How sure it is that these columns name pipelines.
    scales : mapping of str to SharedScale, optional
        The scale of metrics in all pipelines of the file, by normalised name; stated bounds win.
    is_one_pipeline : bool
        Whether the rows are known to be those of one pipeline; otherwise it is checked.
    unreadable : {"raise", "failed"}
        What to do with a metric's cell that holds neither a score nor a word for "unscored": raise
        an error, or make it a failed score with the text of the cell as the reason.
    strict : bool
        Whether a score slightly outside the bounds of its metric is also an error; otherwise it is
        moved to the bound, with a note.
    totals : {"auto", "drop", "keep"}
        What to do with rows whose ids name a total, such as "mean" or "all": leave them out if
        their numbers are those of a total, leave them all out, or take them for queries.
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
    ids, id_column, id_notes = query_ids(frame, query_id)
    described = {name: change for name, change in (known or {}).items() if name in frame}
    listed = _listed_metrics(metrics, only)
    columns = assign_roles(
        *(frame, ids),
        id_column=id_column,
        only=listed,
        also=(*described, *_described_metrics(metrics)) if listed is None else (),
        bounds=stated_bounds(described, metrics),
        roles=stated,
        pipeline_columns=pipeline_columns,
        pipeline_confidence=pipeline_confidence,
        by_caller=not isinstance(metrics, Mapping | None),
        unreadable=unreadable,
    )
    attach_states(columns)
    block = _score_block(columns, frame)
    descriptions, kind_notes = _describe_metrics(
        *(columns, block, metrics, described, ids), by_name=only is None, scales=scales or {}
    )
    block, bound_notes = _check_scores(
        block, descriptions, ids, near=_ROUNDING if strict else _NEAR
    )
    index = pd.Index(ids, name=QUERY_ID)
    scores = _score_frame(block, columns, frame).set_axis(index, axis=0)
    scores.columns = pd.Index(list(descriptions))
    details = _make_details(frame, columns).set_axis(index, axis=0)
    notes = (*rows.notes, *id_notes, *columns.notes, *kind_notes, *bound_notes)
    decided = (*_id_role(id_column, id_notes, stated), *columns.decided)
    table = ScoreTable(data, scores, details, descriptions, notes, decided)
    if all_different(index):
        return table
    if duplicates == "error":
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
    why = "roles= says so" if column in roles else "the usual name of query ids"
    return [ColumnRole(column, "id", "certain" if is_certain else "likely", why)]


def join_details(scores: pd.DataFrame, details: pd.DataFrame) -> pd.DataFrame:
    """Scores and details in one frame; a detail named like a score gets the ending "_detail".

    Examples
    --------
    >>> scores = pd.DataFrame({"bleu": [0.5]})
    >>> list(join_details(scores, pd.DataFrame({"bleu": ["low"], "n": [1]})))
    ['bleu', 'bleu_detail', 'n']
    """
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


def _make_details(frame: pd.DataFrame, columns: ColumnRoles) -> pd.DataFrame:
    """The details, with the reasons why cells hold no score where the frame has none."""
    details = frame[columns.details].rename(columns=columns.renamed)
    states = {
        name: details[name].where(details[name].notna(), pd.Series(cells, index=frame.index))
        if name in details
        else pd.Series(cells, index=frame.index, dtype=object)
        for name, cells in columns.states.items()
    }
    return details.assign(**states) if states else details


def _listed_metrics(metrics: MetricsArgument, only: Iterable[str] | None) -> tuple[str, ...] | None:
    """The list of all metrics, if the caller or the file has one; the list of the caller wins."""
    if isinstance(metrics, str):
        return (metrics,)
    if metrics is None or isinstance(metrics, Mapping):
        return None if only is None else (*only, *_described_metrics(metrics))
    return tuple(metrics)


def _described_metrics(metrics: MetricsArgument) -> tuple[str, ...]:
    """The columns that the caller describes."""
    return tuple(metrics) if isinstance(metrics, Mapping) else ()


# -- repeated ids


def _average_repeats(table: ScoreTable) -> ScoreTable:
    # NaN is skipped: a repeat that failed is left out of the mean, not counted as 0.
    scores = table.scores.groupby(level=0, sort=False).mean()
    details = table.details[~table.details.index.duplicated()]
    known = {name: _match_kind(metric, scores[name]) for name, metric in table.metrics.items()}
    note = (
        f"{len(table.scores)} rows of {len(scores)} queries: the score of each query is the mean "
        "of its rows, and its details are those of its first row"
    )
    return replace(table, scores=scores, details=details, metrics=known, notes=(*table.notes, note))


# -- metrics and scores


def _score_block(columns: ColumnRoles, frame: pd.DataFrame) -> np.ndarray:
    """All scores in one column-major block: that of the frame, or the only copy that is made."""
    own = _own_columns(columns, frame)
    if own is not None:
        return own.to_numpy()
    # Column-major, because every summary and comparison reads whole columns.
    block = np.empty((len(frame), len(columns.sources)), dtype=np.float64, order="F")
    for position, cells in enumerate(columns.sources.values()):
        block[:, position] = numbers_of(cells)
    return block


def _score_frame(block: np.ndarray, columns: ColumnRoles, frame: pd.DataFrame) -> pd.DataFrame:
    """The scores as a frame that shares their block.

    If it is that of the caller's frame, the result must come from that frame: pandas then copies
    what is shared before either of them changes.
    """
    own = _own_columns(columns, frame)
    is_own = own is not None and np.shares_memory(own.to_numpy(), block)
    # Neither the attributes of the caller's frame nor its subclass.
    return pd.DataFrame(own if is_own else block, copy=False)


def _own_columns(columns: ColumnRoles, frame: pd.DataFrame) -> pd.DataFrame | None:
    """The metrics as columns of the frame, if these are one block that can be shared."""
    if not _IS_COPY_ON_WRITE:
        return None
    sources = list(columns.sources.values())
    if any(cells.dtype != np.float64 for cells in sources):
        return None
    own = frame[[cells.name for cells in sources]]
    # Of columns in several blocks pandas makes a copy in each call.
    block = own.to_numpy()
    is_shared = block.flags.f_contiguous and all(
        np.shares_memory(block[:, position], cells.to_numpy())
        for position, cells in enumerate(sources)
    )
    return own if is_shared else None


def _describe_metrics(
    columns: ColumnRoles,
    block: np.ndarray,
    metrics: MetricsArgument,
    described: Mapping[str, Override],
    ids: pd.Series,
    *,
    by_name: bool,
    scales: Mapping[str, SharedScale],
) -> tuple[dict[str, Metric], list[str]]:
    """The description of each metric: catalogue or values, changed by the file, then the caller."""
    known = _infer_metrics(columns, block)
    by_caller = metrics if isinstance(metrics, Mapping) else {}
    by_file = {name: change for name, change in described.items() if normalise_name(name) in known}
    overridden = set()
    for name, change in (*by_file.items(), *by_caller.items()):
        column = resolver(known)(name)
        known[column] = override_metric(known[column], change)
        overridden.add(column)
    for name in columns.listed_by_caller | {
        resolver(known)(name) for name, change in by_caller.items() if not _says_family(change)
    }:
        known[name] = replace(known[name], in_family=True)
    notes = [
        f"{name!r} is not a known metric; because of its name, lower is taken as better"
        for name, metric in columns.known.items()
        if metric is None and name not in overridden and not known[name].greater_is_better
    ]
    with_bounds = {*stated_bounds(by_file, by_caller), *columns.scales}
    for position, (name, metric) in enumerate(known.items()):
        if name in scales and name not in with_bounds:
            known[name] = replace(metric, kind=scales[name].kind, bounds=scales[name].bounds)
        elif name not in with_bounds:
            is_known = columns.known[name] is not None
            known[name], note = fit_scale(metric, block[:, position], ids, is_known=is_known)
            notes += [note] if note else []
    if by_name:
        known, f1_notes = decide_f1(known, overridden)
        notes += f1_notes
    for position, (name, metric) in enumerate(known.items()):
        known[name] = _match_kind(metric, block[:, position])
        if known[name].kind != metric.kind:
            notes.append(
                f"{name!r} should be 0 or 1, but some scores lie between them: it is read as a "
                "proportion"
            )
    return with_distinct_titles(known), notes


def _says_family(change: Override) -> bool:
    """Whether a description says itself if the metric counts in a correction."""
    return isinstance(change, Metric) or (isinstance(change, Mapping) and "in_family" in change)


def _infer_metrics(columns: ColumnRoles, block: np.ndarray) -> dict[str, Metric]:
    """The description of each metric in the catalogue, else inferred from its name and cells."""
    known = {
        name: replace(
            metric or infer_metric(name, block[:, position]),
            in_family=columns.is_in_family(name),
        )
        for position, (name, metric) in enumerate(columns.known.items())
    }
    for name in columns.shares:
        if columns.known[name] is None:  # 90 % becomes 0.9, so the title must not show a "%"
            known[name] = replace(known[name], title=title_of(name.replace("%", "")))
    for name, scale in columns.scales.items():
        known[name] = replace(known[name], kind="ordinal", bounds=scale)
    return known


def _match_kind(metric: Metric, values: pd.Series | np.ndarray) -> Metric:
    """The metric; a binary one becomes a proportion if some scores lie between 0 and 1."""
    if metric.kind != "binary" or is_binary(np.asarray(values)):
        return metric
    return replace(metric, kind="proportion")


def _check_scores(
    block: np.ndarray, metrics: dict[str, Metric], ids: pd.Series, near: float
) -> tuple[np.ndarray, list[str]]:
    """The scores, all finite and within the bounds of their metrics, and notes on moved ones."""
    notes = []
    for position, metric in enumerate(metrics.values()):
        column = block[:, position]
        extremes = extremes_of(column)  # they show what is wrong without a copy of the column
        if _is_outside(extremes, -_LARGEST, _LARGEST):
            raise _infinity_error(column, metric, ids)
        if metric.bounds is None or not _is_outside(extremes, *metric.bounds):
            continue
        notes += _notes_on_moved(column, metric.bounds, metric, ids, near)
        if not block.flags.writeable:  # it is that of the caller's frame
            block = block.copy(order="F")
        np.clip(column, *metric.bounds, out=block[:, position])
    return block, notes


def _list_scores(is_wrong: np.ndarray, column: np.ndarray, ids: pd.Series) -> str:
    rows = np.flatnonzero(is_wrong)
    listed = ", ".join(f"{column[row]:g} at {ids.iloc[row]!r}" for row in rows[:MOST_NAMED])
    more = len(rows) - MOST_NAMED
    return f"{listed} and {more} more" if more > 0 else listed


def _infinity_error(column: np.ndarray, metric: Metric, ids: pd.Series) -> DataError:
    return DataError(
        f"scores must be finite, or NaN where unscored; {metric.name!r} has "
        f"{_list_scores(np.isinf(column), column, ids)}"
    )


def _notes_on_moved(
    column: np.ndarray,
    bounds: tuple[float, float],
    metric: Metric,
    ids: pd.Series,
    near: float,
) -> list[str]:
    """The notes on scores that lie visibly outside the bounds, and are moved to the bounds."""
    low, high = bounds
    width = high - low if math.isfinite(high - low) else 1.0
    outside = np.fmax(low - column, column - high) / width
    wrong = outside > near
    if wrong.any():
        raise DataError(
            f"{metric.name!r} must lie between {low:g} and {high:g}; got "
            f"{_list_scores(wrong, column, ids)}. If it has another scale, pass "
            f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"
        )
    moved = outside > _ROUNDING
    note = (
        f"{int(moved.sum())} scores of {metric.name!r} lie slightly outside {low:g} to {high:g} "
        f"and are moved to the bounds: {_list_scores(moved, column, ids)}"
    )
    return [note] if moved.any() else []


def _is_outside(extremes: Extremes, low: float, high: float) -> bool:
    return extremes.low < low or extremes.high > high
