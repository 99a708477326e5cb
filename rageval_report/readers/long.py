"""Long tables: a row a query and metric, of one or several pipelines, in whatever kind of file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.record_columns import score_columns
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import first_named, id_column_of
from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, SCORED
from rageval_report.scores.texts import QUESTION

# More than a plain table, less than a framework's own.
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
class _Roles:
    """Which column says what; None where none does."""

    query: str
    metric: str
    value: str
    pipeline: str | None
    repeat: str | None
    reason: str | None
    state: str | None
    error: str | None

    def others(self, columns: Iterable[str]) -> list[str]:
        """The columns that are none of these."""
        mine = set(vars(self).values())
        return [name for name in columns if name not in mine]


def _roles(columns: Sequence[str], query_id: str | None = None) -> _Roles | None:
    """The roles of the columns; None where they are those of no long table."""
    metric, value = first_named(columns, _METRIC), first_named(columns, _VALUE)
    query = query_id if query_id in columns else id_column_of(columns)
    query = query or first_named(columns, QUESTION)
    if metric is None or value is None or query is None:
        return None
    optional = (_PIPELINE, _REPEAT, _REASON, _STATE, _ERROR)
    return _Roles(query, metric, value, *(first_named(columns, names) for names in optional))


def _recognise(source: Source) -> float:
    return _MARK if _roles(header_of(source)) else 0.0


def read_long(
    source: Source, *, query_id: str | None = None, repeats: str = "error"
) -> list[ScoreFile]:
    r"""Read a long table: a `ScoreFile` for each pipeline, a column for each metric.

    Parameters
    ----------
    source : Source
        A table in any kind of file, with columns of query ids (or questions), of the metrics' names
        and of their values, and where there are several pipelines of their names. A reason, a
        state or an error of each score may stand beside it.
    query_id : str, optional
        The column of ids.
    repeats : {"error", "mean"}
        What to do where a query has several values of a metric: raise, or take their mean. Values
        that a column of repetitions or epochs tells apart are averaged anyway.

    Raises
    ------
    ReaderError
        If a column is not there, a cell says no query or metric, or a value stands there twice.
    DataError
        If `repeats` is something else.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.csv"
    ...     _ = path.write_text("qid,system,metric,value\nq1,a,mrr,1\nq1,b,mrr,0.5\n")
    ...     found = read_long(Source(path))
    >>> [(one.pipeline, one.frame["mrr"].tolist()) for one in found]
    [('a', [1.0]), ('b', [0.5])]
    """
    if repeats not in ("error", "mean"):
        raise DataError(f'repeats must be "error" or "mean"; got {repeats!r}')
    roles = _roles(header_of(source), query_id)
    if roles is None:
        raise source.error(
            "expected a long table: a column of query ids or questions, a column 'metric' and a "
            f"column 'value'; columns: {named(header_of(source), 12) or 'none'}"
        )
    table = read_table(source, query_id=roles.query)
    frame = table.frame
    for column in (roles.query, roles.metric, *([roles.pipeline] if roles.pipeline else [])):
        _check_named(source, frame, column)
    groups = _by_pipeline(source, frame, roles)
    notes = (*table.notes, *_notes_of(roles))
    averages = repeats == "mean" or roles.repeat is not None
    if not averages:
        _check_single(source, groups, roles)
    return [_score_file(name, rows, roles, notes) for name, rows in groups.items()]


def _check_named(source: Source, frame: pd.DataFrame, column: str) -> None:
    """Refuse rows of which a column does not say whose they are."""
    cells = frame[column]
    blank = cells.isna() | (cells.astype(str).str.strip() == "")
    wrong = blank | ~cells.map(lambda cell: isinstance(cell, str | Real))
    if wrong.any():
        places = [place + 1 for place in wrong.to_numpy().nonzero()[0][:5].tolist()]
        raise source.error(
            f"every row needs a {column!r} that is a text or a number; data rows {named(places)}, "
            "counted from 1, have none"
        )


def _notes_of(roles: _Roles) -> Iterator[str]:
    yield f"a long table: metrics are named in column {roles.metric!r}, scored in {roles.value!r}"
    if roles.pipeline is not None and normalise_name(roles.pipeline) != "pipeline":
        yield f"the pipelines are those of column {roles.pipeline!r}"


# -- pipelines


def _by_pipeline(source: Source, frame: pd.DataFrame, roles: _Roles) -> dict[str, pd.DataFrame]:
    if roles.pipeline is None:
        return {source.stem: frame}
    names = frame[roles.pipeline].astype(str)
    return {str(name): rows for name, rows in frame.groupby(names, sort=False)}


def _check_single(source: Source, groups: Mapping[str, pd.DataFrame], roles: _Roles) -> None:
    """Refuse two values of a metric for one query of a pipeline."""
    told = []
    for name, rows in groups.items():
        twice = rows[rows.duplicated([roles.query, roles.metric])]
        cells = twice[[roles.query, roles.metric]].drop_duplicates().itertuples(index=False)
        told += [f"{metric} of {query!r} in {name!r}" for query, metric in cells]
    if told:
        more = f" and {len(told) - 5} more" if len(told) > 5 else ""
        raise source.error(
            f"a query has one value of a metric; seen more than once: {', '.join(told[:5])}{more}. "
            'Average them with repeats="mean"'
        )


# -- one pipeline


def _score_file(name: str, rows: pd.DataFrame, roles: _Roles, notes: Sequence[str]) -> ScoreFile:
    queries = pd.Index(rows[roles.query].drop_duplicates(), dtype=object)
    of_metrics = rows.groupby(rows[roles.metric].astype(str), sort=False)
    scored = {
        str(metric): _Scored(str(metric), part, roles, queries) for metric, part in of_metrics
    }
    by_query, by_cell = _parted_details(rows, roles)
    columns: CellsByColumn = {roles.query: queries.tolist()}
    for label, first in by_query.items():
        _add(columns, {label: first.reindex(queries).tolist()})
    for one in scored.values():
        _add(columns, one.columns())
        _add(columns, {f"{one.metric}_{label}": one.first(label) for label in by_cell})
    told = [*notes, *(note for one in scored.values() for note in one.notes())]
    n_repeats = _n_repeats(scored.values())
    if max(n_repeats.values()) > 1:
        _add(columns, {"n_repeats": [n_repeats[query] for query in columns[roles.query]]})
        told.append("the score of a query is the mean over its repeats that have one")
    series = {label: _series(cells, label == roles.query) for label, cells in columns.items()}
    return ScoreFile(pd.DataFrame(series), name, metric_columns=tuple(scored), notes=tuple(told))


def _add(columns: CellsByColumn, more: CellsByColumn) -> None:
    """Take columns in; two of one name would be one of them lost."""
    clash = [label for label in more if label in columns]
    if clash:
        raise ShapeError(
            f"{named(clash)} would name two columns, one of them a metric's; rename the other"
        )
    columns |= more


def _n_repeats(scored: Iterable[_Scored]) -> Counter[Any]:
    """How many values each query has, of the metric that has most."""
    most = Counter[Any]()
    for one in scored:
        most |= one.n_values()
    return most


def _series(cells: list[Any], is_id: bool) -> pd.Series:
    return pd.Series(cells, dtype=object if is_id else None)


def _parted_details(rows: pd.DataFrame, roles: _Roles) -> tuple[dict[str, pd.Series], list[str]]:
    """The other columns: those with one value a query, and those that differ by metric."""
    by_query, by_cell = {}, []
    for label in roles.others(rows.columns):
        cells = rows[[roles.query]].assign(cell=rows[label].astype(str)).drop_duplicates()
        if not cells[roles.query].duplicated().any():
            by_query[label] = rows.drop_duplicates(roles.query).set_index(roles.query)[label]
        else:
            by_cell.append(label)
    return by_query, by_cell


@dataclass(frozen=True)
class _Scored:
    """The rows of one metric of one pipeline."""

    metric: str
    rows: pd.DataFrame
    roles: _Roles
    queries: pd.Index

    def columns(self) -> CellsByColumn:
        """The metric's column, in the order of the queries, with states and reasons."""
        if self._are_plain_numbers:
            return {self.metric: self._means(self.rows[self.roles.value]).tolist()}
        cells, reasons = self._told_cells()
        read = score_columns(self.metric, cells, reasons)
        frame = pd.DataFrame(read, index=pd.Index(self.rows[self.roles.query], dtype=object))
        first = frame[~frame.index.duplicated()].reindex(self.queries)
        found: CellsByColumn = {label: first[label].tolist() for label in read}
        means = self._means(pd.Series(read[self.metric], index=self.rows.index))
        found[self.metric] = means.tolist()
        state = f"{self.metric}_state"
        if state in found:
            found[state] = [
                _state_of(one, number) for one, number in zip(found[state], means, strict=True)
            ]
        return found

    @property
    def _are_plain_numbers(self) -> bool:
        """Whether the cells need no reading, and nothing stands beside them."""
        beside = (self.roles.reason, self.roles.state, self.roles.error)
        values = self.rows[self.roles.value]
        return beside == (None, None, None) and pd.api.types.is_numeric_dtype(values.dtype)

    def _means(self, values: pd.Series) -> pd.Series:
        """The mean over the repeats of each query."""
        by_query = values.groupby(self.rows[self.roles.query], sort=False)
        return by_query.mean().reindex(self.queries)

    def notes(self) -> Iterator[str]:
        """What was not taken as a score though a number stood there."""
        values = self.rows[self.roles.value]
        dropped = int(sum(flag for flag in self._is_no_score() & values.notna().to_numpy()))
        if dropped:
            yield (
                f"{dropped} values of {self.metric!r} stand beside an error or a state that says "
                "there is no score, and are left out"
            )

    def n_values(self) -> Counter[Any]:
        """How many rows each query has."""
        return Counter(self.rows[self.roles.query].tolist())

    def first(self, label: str) -> list[Any]:
        """What another column says in the first row of each query."""
        rows = self.rows.drop_duplicates(self.roles.query).set_index(self.roles.query)
        return rows[label].reindex(self.queries).tolist()

    def _told_cells(self) -> tuple[list[Any], list[str | None]]:
        """The cells as they are to be read, "n/a" for what does not apply, and the reasons."""
        states, errors = self._states(), self._texts(self.roles.error)
        reasons = self._texts(self.roles.reason)
        values = self.rows[self.roles.value].tolist()
        cells: list[Any] = []
        why: list[str | None] = []
        for value, state, error, reason in zip(values, states, errors, reasons, strict=True):
            is_failed = error is not None or state == FAILED
            if is_failed or state in (NOT_APPLICABLE, MISSING):
                cells.append("n/a" if state == NOT_APPLICABLE else None)
                told = None if state == MISSING else reason  # a reason would make it a failure
                why.append(error or told or ("it failed" if is_failed else None))
            else:
                cells.append(value)
                why.append(reason)
        return cells, why

    def _is_no_score(self) -> Any:
        states = pd.Series(self._states(), dtype=object)
        errors = pd.Series(self._texts(self.roles.error), dtype=object)
        return (states.isin((FAILED, NOT_APPLICABLE, MISSING)) | errors.notna()).to_numpy()

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


def _state_of(state: Any, number: float) -> Any:
    """The state of a query: scored where any of its repeats is; missing where it has no row."""
    if number == number:
        return SCORED
    return state if isinstance(state, str) and state != SCORED else MISSING


LONG = Reader(
    "long",
    "a long table: a row a query, pipeline and metric, with the value",
    _recognise,
    read_long,
    ("encoding", "query_id", "repeats"),
    example="scores_long.csv",
)
