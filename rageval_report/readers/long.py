"""Long tables: one row per pipeline, query and metric, in any kind of file."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple, get_args
from weakref import WeakKeyDictionary

import pandas as pd
from pandas.api.types import is_numeric_dtype

from rageval_report.errors import DataError, RagevalError, ReaderError, check_choice, named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, RepeatedValues, ScoreFile
from rageval_report.readers.cell_values import parse_objects
from rageval_report.readers.decimal_commas import use_decimal_sign
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.long_columns import (
    LongColumns,
    find_roles,
    holds_metrics,
    is_long_header,
    may_be_long,
    may_be_pipelines,
    sure_id_column,
)
from rageval_report.readers.nested_scores import NESTS, find_nest, unnest
from rageval_report.readers.record_columns import columns_of, frame_of, rows_of, score_columns
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.cells import check_parsed, read_cells
from rageval_report.scores.column_scale import CellColumn
from rageval_report.scores.metric import Catalogue, normalise_name
from rageval_report.scores.query_ids import QUERY_ID, QUESTION, first_named, id_column_of
from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, SCORED
from rageval_report.types import BoolArray

# More than the mark of a plain table (0.9), less than that of a framework's own reader (0.95).
_MARK = 0.92

_STATES = {
    **dict.fromkeys((SCORED, "ok", "success", "succeeded", "completed", "done"), SCORED),
    **dict.fromkeys((FAILED, "fail", "failure", "error", "errored", "timeout"), FAILED),
    **dict.fromkeys((NOT_APPLICABLE, "not_applicable", "n/a", "na", "skipped"), NOT_APPLICABLE),
    **dict.fromkeys((MISSING, "absent", "pending"), MISSING),
}


# The beginning of a list of objects, within JSON or within a cell of CSV.
_LIST = re.compile(rb"\[\s*\{")


class _Table(NamedTuple):
    """A table with one row per score, and whether its rows were lists within records."""

    table: ScoreFile
    was_nested: bool = False


# The tables of files whose cells were needed to recognise them.
_TABLES: WeakKeyDictionary[Source, _Table] = WeakKeyDictionary()


def _recognise(source: Source) -> float:
    header = header_of(source)
    if is_long_header(header):
        return _MARK
    if not (may_be_long(header) or _may_hold_nests(source, header)):
        return 0.0
    try:
        table, was_nested = _table(source)
    except (RagevalError, ShapeError):  # the error comes when it is read
        return 0.0
    is_long = find_roles(table.frame) is not None if was_nested else holds_metrics(table.frame)
    return _MARK if is_long else 0.0


def _may_hold_nests(source: Source, header: Iterable[str]) -> bool:
    """Whether a column may hold lists of scores, judged without reading the table."""
    # In text such a list begins like this; the file is not read whole without that sign.
    has_lists = not source.is_text or _LIST.search(source.head) is not None
    return has_lists and any(normalise_name(name) in NESTS for name in header)


def _table(source: Source, query_id: str | None = None) -> _Table:
    """The table with one row per score; lists of scores within records become rows."""
    if query_id is None and source in _TABLES:
        return _TABLES[source]
    table = _unnested(read_table(source, query_id=query_id))
    if query_id is None:
        _TABLES[source] = table
    return table


def _unnested(table: ScoreFile) -> _Table:
    names = [name for name in map(str, table.frame) if normalise_name(name) in NESTS]
    parsed = {name: parse_objects(table.frame[name].tolist()) for name in names}
    nest = find_nest(rows_of(parsed)) if parsed else None
    if nest is None:
        return _Table(table)
    others = {str(name): table.frame[name].tolist() for name in table.frame}
    rows = unnest(rows_of({**others, nest: parsed[nest]}), nest)
    notes = (*table.notes, f"each object in the lists of {nest!r} is read as one score")
    # A record becomes several rows, so that rows no longer have lines of their own.
    frame = frame_of(columns_of(rows))
    return _Table(replace(table, frame=frame, notes=notes, line_of_row=None), was_nested=True)


def read_long(
    source: Source,
    *,
    query_id: str | None = None,
    repeats: RepeatedValues = "error",
    decimal: str | None = None,
) -> list[ScoreFile]:
    r"""Read a long table: a `ScoreFile` for each pipeline, a column for each metric.

    Parameters
    ----------
    source : Source
        A table in any kind of file, with columns of query ids (or questions), of names of metrics
        and of values; for several pipelines also of names of pipelines. More columns may hold the
        reason, the state or the error of each score. Or records, each with a list of such scores.
    query_id : str, optional
        The column of ids.
    repeats : {"error", "mean"}
        What to do if a query has several values of a metric: raise, or take their mean. Values
        that are numbered by a column of repetitions or epochs are always averaged.
    decimal : {".", ","}, optional
        The decimal sign of values that are written as text.

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
    table, roles = _table_and_roles(source, query_id)
    frame = table.frame
    if roles is None:
        raise source.error(
            "expected a long table: a column of query ids or questions, a column 'metric' and a "
            f"column 'value'; columns: {named(map(str, frame), 12) or 'none'}"
        )
    for column in (roles.query, roles.metric, *([roles.pipeline] if roles.pipeline else [])):
        _check_filled(source, frame, column)
    notes = (*table.notes, *_notes_of(frame, roles))
    values, _ = use_decimal_sign(source, frame[[roles.value]], decimal)
    frame, scale_notes = _on_one_scale(source, frame.assign(**values), roles)
    groups = _by_pipeline(source, frame, roles)
    # A column that numbers the repeats shows that they are meant; otherwise a repeated value may be
    # a mistake.
    averages = repeats == "mean" or roles.repeat is not None
    if not averages:
        _check_single(source, groups, roles)
    notes = (*notes, *scale_notes)
    try:
        files = [_score_file(name, rows, roles, notes) for name, rows in groups.items()]
    except ReaderError:
        raise
    except DataError as exc:
        raise source.error(str(exc)) from exc
    files = [
        replace(file, line_of_row=_line_finder(table, rows, roles))
        for file, rows in zip(files, groups.values(), strict=True)
    ]
    return files if query_id is not None else [_with_known_ids(file, roles) for file in files]


def _with_known_ids(file: ScoreFile, roles: LongColumns) -> ScoreFile:
    """The pipeline with its ids in a column that has a usual name for ids or questions."""
    column = roles.query
    if column in (id_column_of([column]), first_named([column], QUESTION)):
        return file
    note = f"query ids are taken from column {column!r}"
    frame = file.frame.rename(columns={column: QUERY_ID})
    return replace(file, frame=frame, notes=(*file.notes, note))


def _table_and_roles(source: Source, query_id: str | None) -> tuple[ScoreFile, LongColumns | None]:
    """The table and the roles of its columns; ids are read as texts."""
    table = _table(source, query_id or sure_id_column(header_of(source))).table
    roles = find_roles(table.frame, query_id)
    are_numbers = roles is not None and is_numeric_dtype(table.frame[roles.query].dtype)
    if query_id is None and roles is not None and are_numbers:
        table = _table(source, roles.query).table  # 007 is not 7
    return table, roles


def _line_finder(
    table: ScoreFile, rows: pd.DataFrame, roles: LongColumns
) -> Callable[[int], int] | None:
    """Finds the first line of a query, by its position in the wide table; None without lines."""
    line_of_row = table.line_of_row
    if line_of_row is None:
        return None
    is_first = ~rows[roles.query].duplicated().to_numpy(dtype=bool)
    first_rows = rows.index.to_numpy()[is_first]
    return lambda row: line_of_row(int(first_rows[row]))


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


def _notes_of(frame: pd.DataFrame, roles: LongColumns) -> Iterator[str]:
    yield f"a long table: metrics are in column {roles.metric!r}, scores in {roles.value!r}"
    if roles.pipeline is not None and normalise_name(roles.pipeline) != "pipeline":
        yield f"the pipelines are in column {roles.pipeline!r}"
    names = frame[roles.metric].astype(str).unique()
    catalogue = Catalogue()
    if may_be_pipelines(roles) and not any(map(catalogue.find, names)):
        yield (
            f"{named(names)} in column {roles.metric!r} are read as metrics; if they are "
            "pipelines, rename the column to 'pipeline'"
        )


def _on_one_scale(
    source: Source, frame: pd.DataFrame, roles: LongColumns
) -> tuple[pd.DataFrame, list[str]]:
    """The table with numbers in place of texts: one scale per metric, over all pipelines.

    Cells that may be on two scales stay as they are: the bounds that the caller states decide when
    the scores are checked.
    """
    values = frame[roles.value]
    if is_numeric_dtype(values.dtype):
        return frame, []
    cells = values.tolist()
    notes: list[str] = []
    rows_by_metric = frame.groupby(frame[roles.metric].astype(str), sort=False).indices
    ids = frame[roles.query].tolist()
    catalogue = Catalogue()
    for metric, rows in rows_by_metric.items():
        known = catalogue.find(str(metric))
        bounds = None if known is None else known.bounds
        column = CellColumn(str(metric), [ids[row] for row in rows], known_bounds=bounds)
        try:
            read = read_cells([cells[row] for row in rows], column)
        except DataError:
            continue
        if SCORED in read.states:  # else the values are labels, of any kind
            try:
                check_parsed(read, [cells[row] for row in rows], column)
            except DataError as exc:
                raise source.error(str(exc)) from exc
        notes += read.notes
        for row, number, state, reason in zip(
            rows, read.numbers.tolist(), read.states, read.reasons, strict=True
        ):
            if state == SCORED and reason is None:
                cells[row] = number
    return frame.assign(**{roles.value: pd.Series(cells, index=frame.index, dtype=object)}), notes


# -- pipelines


def _by_pipeline(
    source: Source, frame: pd.DataFrame, roles: LongColumns
) -> dict[str, pd.DataFrame]:
    if roles.pipeline is None:
        return {source.stem: frame}
    names = frame[roles.pipeline].astype(str)
    return {str(name): rows for name, rows in frame.groupby(names, sort=False)}


def _check_single(source: Source, groups: Mapping[str, pd.DataFrame], roles: LongColumns) -> None:
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
    name: str, rows: pd.DataFrame, roles: LongColumns, notes: Sequence[str]
) -> ScoreFile:
    queries = pd.Index(rows[roles.query].drop_duplicates(), dtype=object)
    of_metrics = rows.groupby(rows[roles.metric].astype(str), sort=False)
    every = [_MetricRows(str(metric), part, roles, queries) for metric, part in of_metrics]
    labels = [metric for metric in every if metric.are_labels()]
    scored = {metric.metric: metric for metric in every if metric not in labels}
    by_query, by_metric = _split_details(rows, roles)
    columns: CellsByColumn = {roles.query: queries.tolist()}
    for label, first in by_query.items():
        _add_columns(columns, {label: first.reindex(queries).tolist()})
    for metric in scored.values():
        _add_columns(columns, metric.columns())
        _add_columns(
            columns, {f"{metric.metric}_{label}": metric.first(label) for label in by_metric}
        )
    for metric in labels:
        _add_columns(columns, {f"{metric.metric}_label": metric.first(roles.value)})
    all_notes = [*notes, *(note for metric in scored.values() for note in metric.notes())]
    if labels:
        words = named(metric.metric for metric in labels)
        all_notes.append(f"kept as labels, because they are words and not scores: {words}")
    n_repeats = _n_repeats(scored.values())
    if max(n_repeats.values(), default=1) > 1:
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
    rows: pd.DataFrame, roles: LongColumns
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
    roles: LongColumns
    queries: pd.Index

    def columns(self) -> CellsByColumn:
        """The metric's column, in the order of the queries, with states and reasons."""
        if self._are_plain_numbers:
            return {self.metric: self._means(self.rows[self.roles.value]).tolist()}
        cells, reasons = self._cells_and_reasons()
        ids = self.rows[self.roles.query].tolist()
        try:
            read = score_columns(self.metric, cells, reasons, ids)
        except DataError:
            if not self._is_plain:
                raise
            return {self.metric: self.first(self.roles.value)}
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
        return self._has_no_companions and is_numeric_dtype(self.rows[self.roles.value].dtype)

    @property
    def _has_no_companions(self) -> bool:
        return (self.roles.reason, self.roles.state, self.roles.error) == (None, None, None)

    @property
    def _is_plain(self) -> bool:
        """Whether each query has one cell, and nothing beside it."""
        return self._has_no_companions and bool(self.rows[self.roles.query].is_unique)

    def are_labels(self) -> bool:
        """Whether the cells are words, such as "positive", and not one of them is a score."""
        values = self.rows[self.roles.value]
        if is_numeric_dtype(values.dtype):
            return False
        try:
            read = read_cells(values.tolist())
        except DataError:  # numbers on two scales
            return False
        return bool(read.unread) and SCORED not in read.states

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
    ("decimal", "encoding", "query_id", "repeats"),
    example="scores_long.csv",
)
