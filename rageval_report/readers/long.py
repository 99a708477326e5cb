"""Long tables: one row per pipeline, query and metric, in any kind of file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple, get_args

import pandas as pd
from pandas.api.types import is_numeric_dtype

from rageval_report.errors import DataError, RagevalError, ReaderError, check_choice, named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, RepeatedValues, ScoreFile
from rageval_report.readers.cell_values import parse_objects
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.long_columns import (
    NESTS,
    LongColumns,
    find_nest,
    find_roles,
    holds_metrics,
    is_long_header,
    may_be_long,
    may_be_pipelines,
    sure_id_column,
    unnest,
)
from rageval_report.readers.record_columns import columns_of, frame_of, rows_of, score_columns
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.readers.written_cells import use_decimal_sign
from rageval_report.scores.cells import CellColumn, check_parsed, read_cells
from rageval_report.scores.metric import Catalogue, normalise_name
from rageval_report.scores.query_ids import QUERY_ID, QUESTION, first_named, id_column_of
from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, SCORED

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


def _recognise(source: Source) -> float:
    header = header_of(source)
    if is_long_header(header):
        return _MARK
    if not (may_be_long(header) or _may_hold_nests(source, header)):
        return 0.0
    try:
        table, was_nested = source.once(_table)
    except (RagevalError, ShapeError):  # the error comes when it is read
        return 0.0
    is_long = find_roles(table.frame) is not None if was_nested else holds_metrics(table.frame)
    return _MARK if is_long else 0.0


def _may_hold_nests(source: Source, header: Iterable[str]) -> bool:
    """Whether a column may hold lists of scores, judged without reading the table."""
    # In text such a list begins like this; the file is not read whole without that sign.
    has_lists = not source.is_text or _LIST.search(source.head) is not None
    return has_lists and any(normalise_name(name) in NESTS for name in header)


def _table(source: Source) -> _Table:
    """The table with one row per score; lists of scores within records become rows."""
    return _unnested(read_table(source))


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
    """Read a long table: a `ScoreFile` for each pipeline, a column for each metric."""
    check_choice("repeats", repeats, get_args(RepeatedValues))
    table, roles = _table_and_roles(source, query_id)
    frame = table.frame.reset_index(drop=True)
    if roles is None:
        raise source.error(
            "expected a long table: a column of query ids or questions, a column 'metric' and a "
            f"column 'value'; columns: {named(map(str, frame), 12) or 'none'}"
        )
    for column in (roles.query, roles.metric, *([roles.pipeline] if roles.pipeline else [])):
        _check_filled(source, frame, column)
    values, _ = use_decimal_sign(source, frame[[roles.value]], decimal)
    frame, scale_notes = _on_one_scale(source, frame.assign(**values), roles)
    groups = {source.stem: frame}
    if roles.pipeline is not None:
        names = frame[roles.pipeline].astype(str)
        groups = {str(name): rows for name, rows in frame.groupby(names, sort=False)}
    # A column that numbers the repeats shows that they are meant; otherwise a repeated value may be
    # a mistake.
    if repeats != "mean" and roles.repeat is None:
        _check_single(source, groups, roles)
    notes = (*table.notes, *_notes_of(frame, roles), *scale_notes)
    scores = _scores_of(frame, roles)
    files = []
    for name, rows in groups.items():
        try:
            file = _score_file(name, rows, roles, scores.loc[rows.index])
        except ReaderError:
            raise
        except DataError as exc:
            raise source.error(str(exc)) from exc
        line_of_row = table.line_of_row
        if line_of_row is not None:
            first = rows.index[~rows[roles.query].duplicated().to_numpy(dtype=bool)].tolist()
            file = replace(file, line_of_row=_line_finder(line_of_row, first))
        file = replace(file, notes=(*notes, *file.notes))
        files.append(file if query_id is not None else _with_known_ids(file, roles))
    return files


def _line_finder(line_of_row: Callable[[int], int], first_rows: list[int]) -> Callable[[int], int]:
    """Finds the first line of a query, by its position in the wide table."""
    return lambda row: line_of_row(first_rows[row])


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
    query_id = query_id or sure_id_column(header_of(source))
    if query_id is None:
        table = source.once(_table).table
        roles = find_roles(table.frame)
        if roles is None or not is_numeric_dtype(table.frame[roles.query].dtype):
            return table, roles
        query_id = roles.query  # 007 is not 7
    table = _unnested(read_table(source, query_id=query_id)).table
    return table, find_roles(table.frame, query_id)


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
    """The table with numbers in place of texts: one scale per metric, over all pipelines."""
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


def _scores_of(frame: pd.DataFrame, roles: LongColumns) -> pd.DataFrame:
    """The cell of each row, "n/a" or None where its state or error says so, and its reason."""

    def texts(column: str | None) -> list[str | None]:
        cells = [None] * len(frame) if column is None else frame[column].tolist()
        return [cell if isinstance(cell, str) and cell.strip() else None for cell in cells]

    states = [None if t is None else _STATES.get(t.strip().lower()) for t in texts(roles.state)]
    cells: list[Any] = frame[roles.value].tolist()
    reasons = texts(roles.reason)
    is_left_out = [False] * len(frame)
    for row, (state, error) in enumerate(zip(states, texts(roles.error), strict=True)):
        is_failed = error is not None or state == FAILED
        if not is_failed and state not in (NOT_APPLICABLE, MISSING):
            continue
        is_left_out[row] = not pd.isna(frame[roles.value].iloc[row])
        cells[row] = "n/a" if state == NOT_APPLICABLE else None
        own_reason = None if state == MISSING else reasons[row]  # a reason would make it failed
        reasons[row] = error or own_reason or ("it failed" if is_failed else None)
    columns = {"cell": cells, "reason": reasons, "is_left_out": is_left_out}
    return pd.DataFrame({name: pd.Series(part, dtype=object) for name, part in columns.items()})


def _score_file(
    name: str, rows: pd.DataFrame, roles: LongColumns, scores: pd.DataFrame
) -> ScoreFile:
    queries = pd.Index(rows[roles.query].drop_duplicates(), dtype=object)
    by_query, by_metric = _split_details(rows, roles)
    columns: CellsByColumn = {roles.query: queries.tolist()}
    for label in by_query:
        _add_columns(columns, {label: _first(rows, label, roles, queries)})
    scored, labels, notes = [], {}, []
    most = pd.Series(0, queries)
    for metric, part in rows.groupby(rows[roles.metric].astype(str), sort=False):
        if _are_labels(part[roles.value]):
            labels[f"{metric}_label"] = _first(part, roles.value, roles, queries)
            continue
        scored.append(str(metric))
        own = scores.loc[part.index]
        _add_columns(columns, _metric_columns(str(metric), part, roles, own, queries))
        for label in by_metric:
            _add_columns(columns, {f"{metric}_{label}": _first(part, label, roles, queries)})
        n = int(own["is_left_out"].sum())
        if n:
            notes.append(
                f"{n} values of {metric!r} are left out, because their row has an error or a state "
                "that says there is no score"
            )
        most = most.combine(part[roles.query].value_counts(), max, fill_value=0)
    _add_columns(columns, labels)
    if labels:
        words = named(label.removesuffix("_label") for label in labels)
        notes.append(f"kept as labels, because they are words and not scores: {words}")
    if most.max() > 1:
        _add_columns(columns, {"n_repeats": most.reindex(queries).astype(int).tolist()})
        notes.append("the score of a query is the mean over its repeats that have one")
    # Ids 1 and "1" stay different.
    frame = pd.DataFrame(
        {
            label: pd.Series(cells, dtype=object if label == roles.query else None)
            for label, cells in columns.items()
        }
    )
    return ScoreFile(frame, name, metric_columns=tuple(scored), notes=tuple(notes))


def _add_columns(columns: CellsByColumn, more: CellsByColumn) -> None:
    """Add columns; of two with the same name one would be lost."""
    clash = [label for label in more if label in columns]
    if clash:
        raise ShapeError(
            f"two columns would be named {named(clash)}, one of them a metric's; rename the other"
        )
    columns |= more


def _first(rows: pd.DataFrame, label: str, roles: LongColumns, queries: pd.Index) -> list[Any]:
    """The cells of a column in the first row of each query."""
    first = rows.drop_duplicates(roles.query).set_index(roles.query)
    return list(first[label].reindex(queries).tolist())


def _split_details(rows: pd.DataFrame, roles: LongColumns) -> tuple[list[str], list[str]]:
    """The other columns: those with one value per query, and those that differ by metric."""
    by_query: list[str] = []
    by_metric: list[str] = []
    for label in roles.others(rows.columns):
        # As texts, because cells may be lists, which cannot be compared as keys.
        cells = rows[[roles.query]].assign(cell=rows[label].astype(str)).drop_duplicates()
        differs = bool(cells[roles.query].duplicated().any())
        (by_metric if differs else by_query).append(label)
    return by_query, by_metric


def _are_labels(values: pd.Series) -> bool:
    """Whether the cells are words, such as "positive", and not one of them is a score."""
    if is_numeric_dtype(values.dtype):
        return False
    try:
        read = read_cells(values.tolist())
    except DataError:  # numbers on two scales
        return False
    return bool(read.unread) and SCORED not in read.states


def _metric_columns(
    metric: str, rows: pd.DataFrame, roles: LongColumns, scores: pd.DataFrame, queries: pd.Index
) -> CellsByColumn:
    """A metric's column, in the order of the queries, with states and reasons."""
    ids = rows[roles.query]

    def means(values: pd.Series) -> list[float]:
        # groupby.mean skips NaN: a repeat that failed is left out, not counted as 0.
        return list(values.groupby(ids, sort=False).mean().reindex(queries).tolist())

    has_companions = (roles.reason, roles.state, roles.error) != (None, None, None)
    if not has_companions and is_numeric_dtype(rows[roles.value].dtype):
        return {metric: means(rows[roles.value])}
    try:
        read = score_columns(metric, scores["cell"], scores["reason"], ids.tolist())
    except DataError:
        if has_companions or not ids.is_unique:
            raise
        return {metric: _first(rows, roles.value, roles, queries)}
    numbers = pd.Series(read[metric], index=rows.index)
    parts = pd.DataFrame(read, index=rows.index).assign(**{roles.query: ids})
    columns = {label: _first(parts, label, roles, queries) for label in read}
    columns[metric] = means(numbers)
    state = f"{metric}_state"
    if state in columns:
        # Scored if any of the repeats is; missing if there is no row.
        columns[state] = [
            SCORED if mean == mean else first if isinstance(first, str) and first != SCORED
            else MISSING
            for first, mean in zip(columns[state], columns[metric], strict=True)
        ]  # fmt: skip
    return columns


LONG = Reader(
    "long",
    "a long table: one row per query, pipeline and metric, with the value",
    _recognise,
    read_long,
    ("decimal", "encoding", "query_id", "repeats"),
    example="scores_long.csv",
)
