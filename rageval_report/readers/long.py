"""Long tables: one row per pipeline, query and metric, in any kind of file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, get_args

import pandas as pd

from rageval_report.errors import check_choice, named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, RepeatedValues, ScoreFile
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.record_columns import score_columns
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import first_named, id_column_of
from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, SCORED
from rageval_report.scores.texts import QUESTION
from rageval_report.types import BoolArray

# More than the mark of a plain table (0.9), less than that of a framework's own reader (0.95).
_MARK = 0.92

_METRIC = (
    "metric",
    "metric_name",
    "metrics",
    "measure",
    "score_name",
    "evaluator",
    "evaluator_name",
)
_VALUE = ("value", "score", "metric_value", "score_value", "result")
_PIPELINE = (
    *("pipeline", "pipeline_name", "system", "system_name", "run", "run_name", "run_id"),
    *("variant", "experiment", "experiment_name", "app_version", "config", "model", "model_name"),
)
_REPEAT = ("repeat", "repetition", "repetition_number", "trial", "trial_id", "epoch", "attempt")
_REASON = ("reason", "explanation", "rationale", "justification", "feedback", "comment")
_STATE = ("state", "status")
_ERROR = ("error", "error_message", "exception")

_STATES = {
    **dict.fromkeys((SCORED, "ok", "success", "succeeded", "completed", "done"), SCORED),
    **dict.fromkeys((FAILED, "fail", "failure", "error", "errored", "timeout"), FAILED),
    **dict.fromkeys((NOT_APPLICABLE, "not_applicable", "n/a", "na", "skipped"), NOT_APPLICABLE),
    **dict.fromkeys((MISSING, "absent", "pending"), MISSING),
}


@dataclass(frozen=True)
class _LongColumns:
    """The column of each role; None if there is none."""

    query: str
    metric: str
    value: str
    pipeline: str | None
    repeat: str | None
    reason: str | None
    state: str | None
    error: str | None

    def others(self, columns: Iterable[str]) -> list[str]:
        """The columns without a role."""
        with_role = set(vars(self).values())
        return [name for name in columns if name not in with_role]


def _roles(columns: Sequence[str], query_id: str | None = None) -> _LongColumns | None:
    """The roles of the columns; None if they are not those of a long table."""
    metric, value = first_named(columns, _METRIC), first_named(columns, _VALUE)
    query = query_id if query_id in columns else id_column_of(columns)
    query = query or first_named(columns, QUESTION)
    if metric is None or value is None or query is None:
        return None
    optional = (_PIPELINE, _REPEAT, _REASON, _STATE, _ERROR)
    return _LongColumns(query, metric, value, *(first_named(columns, names) for names in optional))


def _recognise(source: Source) -> float:
    return _MARK if _roles(header_of(source)) else 0.0


def read_long(
    source: Source, *, query_id: str | None = None, repeats: RepeatedValues = "error"
) -> list[ScoreFile]:
    r"""Read a long table: a `ScoreFile` for each pipeline, a column for each metric.

    Parameters
    ----------
    source : Source
        A table in any kind of file, with columns of query ids (or questions), of names of metrics
        and of values; for several pipelines also of names of pipelines. More columns may hold the
        reason, the state or the error of each score.
    query_id : str, optional
        The column of ids.
    repeats : {"error", "mean"}
        What to do if a query has several values of a metric: raise, or take their mean. Values
        that are numbered by a column of repetitions or epochs are always averaged.

    Raises
    ------
    ReaderError
        If a column is missing, a cell of ids or metrics is blank, or a value appears twice.
    UnknownValueError
        If `repeats` has another value.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.csv"
    ...     _ = path.write_text("qid,system,metric,value\nq1,a,mrr,1\nq1,b,mrr,0.5\n")
    ...     files = read_long(Source(path))
    >>> [(file.pipeline, file.frame["mrr"].tolist()) for file in files]
    [('a', [1.0]), ('b', [0.5])]
    """
    check_choice("repeats", repeats, get_args(RepeatedValues))
    roles = _roles(header_of(source), query_id)
    if roles is None:
        raise source.error(
            "expected a long table: a column of query ids or questions, a column 'metric' and a "
            f"column 'value'; columns: {named(header_of(source), 12) or 'none'}"
        )
    table = read_table(source, query_id=roles.query)
    frame = table.frame
    for column in (roles.query, roles.metric, *([roles.pipeline] if roles.pipeline else [])):
        _check_filled(source, frame, column)
    groups = _by_pipeline(source, frame, roles)
    notes = (*table.notes, *_notes_of(roles))
    # A column that numbers the repeats shows that they are meant; otherwise a repeated value may be
    # a mistake.
    averages = repeats == "mean" or roles.repeat is not None
    if not averages:
        _check_single(source, groups, roles)
    return [_score_file(name, rows, roles, notes) for name, rows in groups.items()]


def _check_filled(source: Source, frame: pd.DataFrame, column: str) -> None:
    """Refuse rows with a blank in a column that must name the query, the metric or the pipeline."""
    cells = frame[column]
    blank = cells.isna() | (cells.astype(str).str.strip() == "")
    wrong = blank | ~cells.map(lambda cell: isinstance(cell, str | Real))
    if wrong.any():
        numbers = [row + 1 for row in wrong.to_numpy().nonzero()[0][:5].tolist()]
        raise source.error(
            f"every row needs a text or a number in {column!r}; the data rows {named(numbers)}, "
            "counted from 1, have none"
        )


def _notes_of(roles: _LongColumns) -> Iterator[str]:
    yield f"a long table: metrics are in column {roles.metric!r}, scores in {roles.value!r}"
    if roles.pipeline is not None and normalise_name(roles.pipeline) != "pipeline":
        yield f"the pipelines are in column {roles.pipeline!r}"


# -- pipelines


def _by_pipeline(
    source: Source, frame: pd.DataFrame, roles: _LongColumns
) -> dict[str, pd.DataFrame]:
    if roles.pipeline is None:
        return {source.stem: frame}
    names = frame[roles.pipeline].astype(str)
    return {str(name): rows for name, rows in frame.groupby(names, sort=False)}


def _check_single(source: Source, groups: Mapping[str, pd.DataFrame], roles: _LongColumns) -> None:
    """Refuse two values of a metric for one query of a pipeline."""
    repeated_values = []
    for name, rows in groups.items():
        duplicates = rows[rows.duplicated([roles.query, roles.metric])]
        cells = duplicates[[roles.query, roles.metric]].drop_duplicates().itertuples(index=False)
        repeated_values += [f"{metric} of {query!r} in {name!r}" for query, metric in cells]
    if repeated_values:
        n_more = len(repeated_values) - 5
        more = f" and {n_more} more" if n_more > 0 else ""
        raise source.error(
            "a query must have one value of a metric; these appear more than once: "
            f'{", ".join(repeated_values[:5])}{more}. Average them with repeats="mean"'
        )


# -- one pipeline


def _score_file(
    name: str, rows: pd.DataFrame, roles: _LongColumns, notes: Sequence[str]
) -> ScoreFile:
    queries = pd.Index(rows[roles.query].drop_duplicates(), dtype=object)
    of_metrics = rows.groupby(rows[roles.metric].astype(str), sort=False)
    scored = {
        str(metric): _MetricRows(str(metric), part, roles, queries) for metric, part in of_metrics
    }
    by_query, by_metric = _split_details(rows, roles)
    columns: CellsByColumn = {roles.query: queries.tolist()}
    for label, first in by_query.items():
        _add_columns(columns, {label: first.reindex(queries).tolist()})
    for metric in scored.values():
        _add_columns(columns, metric.columns())
        _add_columns(
            columns, {f"{metric.metric}_{label}": metric.first(label) for label in by_metric}
        )
    all_notes = [*notes, *(note for metric in scored.values() for note in metric.notes())]
    n_repeats = _n_repeats(scored.values())
    if max(n_repeats.values()) > 1:
        _add_columns(columns, {"n_repeats": [n_repeats[query] for query in columns[roles.query]]})
        all_notes.append("the score of a query is the mean over its repeats that have one")
    series = {label: _series(cells, label == roles.query) for label, cells in columns.items()}
    return ScoreFile(
        pd.DataFrame(series), name, metric_columns=tuple(scored), notes=tuple(all_notes)
    )


def _add_columns(columns: CellsByColumn, more: CellsByColumn) -> None:
    """Add columns; of two with the same name one would be lost."""
    clash = [label for label in more if label in columns]
    if clash:
        raise ShapeError(
            f"two columns would be named {named(clash)}, one of them a metric's; rename the other"
        )
    columns |= more


def _n_repeats(scored: Iterable[_MetricRows]) -> Counter[Any]:
    """The number of values of each query, for the metric that has most."""
    most = Counter[Any]()
    for metric in scored:
        most |= metric.n_values()
    return most


def _series(cells: list[Any], is_id: bool) -> pd.Series:
    # Ids 1 and "1" stay different.
    return pd.Series(cells, dtype=object if is_id else None)


def _split_details(
    rows: pd.DataFrame, roles: _LongColumns
) -> tuple[dict[str, pd.Series], list[str]]:
    """The other columns: those with one value per query, and those that differ by metric."""
    by_query, by_metric = {}, []
    for label in roles.others(rows.columns):
        # As texts, because cells may be lists, which cannot be compared as keys.
        cells = rows[[roles.query]].assign(cell=rows[label].astype(str)).drop_duplicates()
        if not cells[roles.query].duplicated().any():
            by_query[label] = rows.drop_duplicates(roles.query).set_index(roles.query)[label]
        else:
            by_metric.append(label)
    return by_query, by_metric


@dataclass(frozen=True)
class _MetricRows:
    """The rows of one metric of one pipeline."""

    metric: str
    rows: pd.DataFrame
    roles: _LongColumns
    queries: pd.Index

    def columns(self) -> CellsByColumn:
        """The metric's column, in the order of the queries, with states and reasons."""
        if self._are_plain_numbers:
            return {self.metric: self._means(self.rows[self.roles.value]).tolist()}
        cells, reasons = self._cells_and_reasons()
        read = score_columns(self.metric, cells, reasons)
        frame = pd.DataFrame(read, index=pd.Index(self.rows[self.roles.query], dtype=object))
        first = frame[~frame.index.duplicated()].reindex(self.queries)
        columns: CellsByColumn = {label: first[label].tolist() for label in read}
        means = self._means(pd.Series(read[self.metric], index=self.rows.index))
        columns[self.metric] = means.tolist()
        state = f"{self.metric}_state"
        if state in columns:
            columns[state] = [
                _query_state(first_state, mean)
                for first_state, mean in zip(columns[state], means, strict=True)
            ]
        return columns

    @property
    def _are_plain_numbers(self) -> bool:
        """Whether the cells are numbers, without reasons, states or errors."""
        companions = (self.roles.reason, self.roles.state, self.roles.error)
        values = self.rows[self.roles.value]
        return companions == (None, None, None) and pd.api.types.is_numeric_dtype(values.dtype)

    def _means(self, values: pd.Series) -> pd.Series:
        """The mean over the repeats of each query."""
        by_query = values.groupby(self.rows[self.roles.query], sort=False)
        # groupby.mean skips NaN: a repeat that failed is left out, not counted as 0.
        return by_query.mean().reindex(self.queries)

    def notes(self) -> Iterator[str]:
        """A note if numbers were not read as scores."""
        values = self.rows[self.roles.value]
        dropped = int((self._is_unscored() & values.notna().to_numpy()).sum())
        if dropped:
            yield (
                f"{dropped} values of {self.metric!r} are left out, because their row has an error "
                "or a state that says there is no score"
            )

    def n_values(self) -> Counter[Any]:
        """The number of rows of each query."""
        return Counter(self.rows[self.roles.query].tolist())

    def first(self, label: str) -> list[Any]:
        """The cells of another column in the first row of each query."""
        rows = self.rows.drop_duplicates(self.roles.query).set_index(self.roles.query)
        return rows[label].reindex(self.queries).tolist()

    def _cells_and_reasons(self) -> tuple[list[Any], list[str | None]]:
        """The cells to read, "n/a" for a metric that does not apply, and the reasons."""
        states, errors = self._states(), self._texts(self.roles.error)
        reasons = self._texts(self.roles.reason)
        values = self.rows[self.roles.value].tolist()
        cells: list[Any] = []
        final_reasons: list[str | None] = []
        for value, state, error, reason in zip(values, states, errors, reasons, strict=True):
            is_failed = error is not None or state == FAILED
            if is_failed or state in (NOT_APPLICABLE, MISSING):
                cells.append("n/a" if state == NOT_APPLICABLE else None)
                own_reason = None if state == MISSING else reason  # a reason would make it failed
                final_reasons.append(error or own_reason or ("it failed" if is_failed else None))
            else:
                cells.append(value)
                final_reasons.append(reason)
        return cells, final_reasons

    def _is_unscored(self) -> BoolArray:
        states = pd.Series(self._states(), dtype=object)
        errors = pd.Series(self._texts(self.roles.error), dtype=object)
        is_unscored = states.isin((FAILED, NOT_APPLICABLE, MISSING)) | errors.notna()
        return is_unscored.to_numpy(dtype=bool)

    def _states(self) -> list[str | None]:
        texts = self._texts(self.roles.state)
        return [None if text is None else _STATES.get(text.strip().lower()) for text in texts]

    def _texts(self, column: str | None) -> list[str | None]:
        if column is None:
            return [None] * len(self.rows)
        return [
            cell if isinstance(cell, str) and cell.strip() else None
            for cell in self.rows[column].tolist()
        ]


def _query_state(first_state: object, mean: float) -> str:
    """The state of a query: scored if any of its repeats is; missing if it has no row."""
    if not math.isnan(mean):
        return SCORED
    has_state = isinstance(first_state, str) and first_state != SCORED
    return str(first_state) if has_state else MISSING


LONG = Reader(
    "long",
    "a long table: one row per query, pipeline and metric, with the value",
    _recognise,
    read_long,
    ("encoding", "query_id", "repeats"),
    example="scores_long.csv",
)
