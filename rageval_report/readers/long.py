"""Long tables: one row per pipeline, query and metric, in any kind of file.

Some names of columns decide by themselves ("metric"), others only together with the cells: "name"
may hold metrics, pipelines or the titles of queries, and "id" may number the scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, get_args

import pandas as pd
from pandas.api.types import is_numeric_dtype

from rageval_report.errors import DataError, RagevalError, check_choice, named
from rageval_report.files.source import Source
from rageval_report.readers.base import (
    KNOWN_NAMES,
    CellsByColumn,
    Reader,
    RepeatedValues,
    ScoreFile,
)
from rageval_report.readers.cell_values import parse_objects, text_or_none, use_decimal_sign
from rageval_report.readers.json_shapes import ShapeError, is_records
from rageval_report.readers.record_columns import columns_of, frame_of, parsed_columns, rows_of
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.cells import CellColumn, read_cells
from rageval_report.scores.metric import Catalogue, normalise_name
from rageval_report.scores.query_ids import QUERY_ID, QUESTION, first_named, id_column_of
from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, SCORED

# More than the mark of a plain table (0.9), less than that of a framework's own reader (0.95).
_MARK = 0.92
# The beginning of a list of objects, within JSON or within a cell of CSV.
_LIST = re.compile(rb"\[\s*\{")
_NAMES, _NESTED = KNOWN_NAMES["long"], KNOWN_NAMES["nested"]
_STATES = {
    word: state.replace("_", " ")
    for state, words in KNOWN_NAMES["states"].items()
    for word in words
}
_COMPANIONS = frozenset((*_NAMES["reason"], *_NAMES["state"], *_NAMES["error"]))
_SURE_IDS = (*_NAMES["query_ids"], *_NAMES["item_ids"])
_RUN_ID = "run_id"


# -- the columns


@dataclass(frozen=True)
class _Roles:
    """The column of each role; None if there is none."""

    query: str
    metric: str
    value: str
    pipeline: str | None
    repeat: str | None
    reason: str | None
    state: str | None
    error: str | None


def _is_long(columns: Sequence[str], metrics: Sequence[str]) -> bool:
    """Whether names alone show a table with one row per score, with one of these for metrics."""
    value = first_named(columns, _NAMES["value"])
    has_both = value is not None and first_named(columns, metrics) is not None
    return has_both and bool(_query_columns(columns, value or ""))


def _query_columns(columns: Sequence[str], value: str) -> list[str]:
    """The columns that may identify the query, the surest first."""
    traces, ids, rest = _NAMES["trace_ids"], _NAMES["ids"], (*QUESTION, *_NAMES["cases"])
    # Beside the id of a trace, a plain "id" is that of the score.
    is_traced = first_named(columns, traces) is not None
    others = (*QUESTION, *traces, *_NAMES["cases"], *ids) if is_traced else (*ids, *rest)
    # LangSmith's feedback belongs to a run, which is one call. A run_id beside a "value" is that
    # of an experiment (MLflow), whose values are means.
    runs = (_RUN_ID,) if normalise_name(value) == "score" else ()
    return list(_named_in_order(columns, (*_SURE_IDS, *others, *runs)))


def _named_in_order(columns: Sequence[str], names: Iterable[str]) -> Iterator[str]:
    matches = (first_named(columns, (name,)) for name in names)
    return (column for column in matches if column is not None)


def _find_roles(frame: pd.DataFrame, query_id: str | None = None) -> _Roles | None:
    """The roles of the columns; None if they are not those of a long table."""
    columns = list(map(str, frame))
    value = first_named(columns, _NAMES["value"])
    metric = first_named(columns, (*_NAMES["metric"], *_NAMES["perhaps_metric"]))
    if metric is None or value is None:
        return None
    candidates = [name for name in _query_columns(columns, value) if name not in (metric, value)]
    query = query_id if query_id in columns else _find_query(frame, candidates, metric)
    if query is None:
        return None
    rest = [name for name in columns if name not in (query, metric, value)]
    pipelines = (
        name
        for name in _named_in_order(rest, _NAMES["pipeline"])
        if normalise_name(name) != _RUN_ID or _are_pipelines(frame, name, query, metric)
    )
    return _Roles(
        *(query, metric, value, next(pipelines, None)),
        first_named(columns, _NAMES["repeat"]),
        *(first_named(rest, _NAMES[role]) for role in ("reason", "state", "error")),
    )


def _find_query(frame: pd.DataFrame, candidates: Sequence[str], metric: str) -> str | None:
    """The first column that can be the id: filled, and the same for all scores of a query."""
    filled = [name for name in candidates if not _is_blank(frame[name]).any()]
    if not filled:
        return candidates[0] if candidates else None  # the error comes when it is read
    if first_named(filled[:1], _SURE_IDS) is not None:
        return filled[0]
    others = [name for name in map(str, frame) if name not in filled]
    splitting = [first_named(others, _NAMES[role]) for role in ("pipeline", "repeat")]
    keys = [metric, *(name for name in splitting if name is not None)]
    has_several = len(frame[metric].astype(str).unique()) > 1
    for name in filled:
        numbers_scores = has_several and frame[name].astype(str).is_unique
        if not numbers_scores and not _texts(frame, name, *keys).duplicated().any():
            return name
    return next((name for name in filled if not frame[name].astype(str).is_unique), filled[0])


def _is_blank(cells: pd.Series) -> pd.Series:
    return cells.isna() | (cells.astype(str).str.strip() == "")


def _texts(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    # As texts, because cells may be lists, which cannot be compared.
    return frame[list(names)].astype(str)


def _are_pipelines(frame: pd.DataFrame, column: str, query: str, metric: str) -> bool:
    """Whether the ids of runs cover several queries each, or tell repeated queries apart."""
    pairs = _texts(frame, column, query).drop_duplicates()
    covers_several = bool(pairs[column].duplicated().any()) or len(pairs) == 1
    return covers_several or bool(_texts(frame, query, metric).duplicated().any())


def _holds_metrics(frame: pd.DataFrame) -> bool:
    """Whether the column "name" or "key" names the metrics of scores."""
    roles = _find_roles(frame)
    if roles is None:
        return False
    pairs = _texts(frame, roles.query, roles.metric).drop_duplicates()
    names = pairs[roles.metric].unique()
    if len(names) == 1 or not pairs[roles.metric].duplicated().any():
        return any(map(Catalogue().find, names))
    # Each query has several of the names, and each name several of the queries.
    return bool(pairs[roles.query].duplicated().any())


# -- lists of scores within records become rows


def _unnested(table: ScoreFile) -> tuple[ScoreFile, bool]:
    """The table with one row per score, and whether its rows were lists within records."""
    names = [name for name in map(str, table.frame) if normalise_name(name) in _NESTED["nests"]]
    for name in names:
        cells = parse_objects(table.frame[name].tolist())
        nests = [cell for cell in cells if cell]
        if nests and all(map(_are_scores, nests)):
            others = {str(column): table.frame[column].tolist() for column in table.frame}
            records = rows_of({**others, name: cells})
            notes = (*table.notes, f"each object in the lists of {name!r} is read as one score")
            # A record becomes several rows, so that rows no longer have lines of their own.
            frame = frame_of(columns_of(_rows_of_scores(records, name)))
            return replace(table, frame=frame, notes=notes, line_of_row=None), True
    return table, False


def _are_scores(nest: object) -> bool:
    return is_records(nest) and all(
        isinstance(score.get(_key_of(score, "names") or ""), str)
        and _key_of(score, "values") is not None
        for score in nest
    )


def _key_of(score: Mapping[str, Any], role: str) -> str | None:
    by_name = {normalise_name(str(key)): key for key in reversed(list(score))}
    return next((by_name[name] for name in _NESTED[role] if name in by_name), None)


def _rows_of_scores(records: Iterable[Mapping[str, Any]], nest: str) -> list[dict[str, Any]]:
    r"""One row per score, with the fields of its record; no record is lost."""
    named_fields = (*_NESTED["names"], *_NESTED["values"])
    shared = [
        {
            # The name of a record's field must not be taken for that of a metric or a value.
            f"case_{key}" if normalise_name(str(key)) in named_fields else str(key): part
            for key, part in record.items()
            if key != nest
        }
        for record in records
    ]
    nests = [record.get(nest) or [] for record in records]
    taken = {key for fields in shared for key in fields}
    names = dict.fromkeys(score[_key_of(score, "names") or ""] for own in nests for score in own)
    blanks = [{"metric": name, "value": None} for name in names]
    return [
        {**fields, **score}
        for fields, own in zip(shared, nests, strict=True)
        for score in [_score_fields(score, taken) for score in own] or blanks
    ]


def _score_fields(score: Mapping[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """The fields of a score; its error, state and reason go before those of its record."""
    name, value = _key_of(score, "names"), _key_of(score, "values")
    fields: dict[str, Any] = {}
    for key, part in score.items():
        if normalise_name(str(key)) in _COMPANIONS:
            if part is not None:
                fields[str(key)] = part
        elif key not in (name, value):
            fields[f"score_{key}" if key in taken else str(key)] = part
    return {**fields, "metric": score.get(name or ""), "value": score.get(value or "")}


# -- recognising


def _recognise(source: Source) -> float:
    header = header_of(source)
    if _is_long(header, _NAMES["metric"]):
        return _MARK
    # In text a list of scores begins like this; the file is not read whole without that sign.
    may_hold_lists = not source.is_text or _LIST.search(source.head) is not None
    has_nests = may_hold_lists and any(normalise_name(n) in _NESTED["nests"] for n in header)
    if not (has_nests or _is_long(header, _NAMES["perhaps_metric"])):
        return 0.0
    try:
        table, was_nested = source.once(_table)
    except (RagevalError, ShapeError):  # the error comes when it is read
        return 0.0
    is_long = _find_roles(table.frame) if was_nested else _holds_metrics(table.frame)
    return _MARK if is_long else 0.0


def _table(source: Source) -> tuple[ScoreFile, bool]:
    return _unnested(read_table(source))


# -- reading


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
    frame = frame.assign(**values)
    names = pd.Series(source.stem, frame.index)
    if roles.pipeline is not None:
        names = frame[roles.pipeline].astype(str)
    # A column that numbers the repeats shows that they are meant; otherwise a repeated value may be
    # a mistake.
    if repeats != "mean" and roles.repeat is None:
        _check_single(source, frame, names, roles)
    try:
        scores, notes = _read_scores(frame, names, roles)
        files = [
            _score_file(str(name), rows, roles, scores, table.line_of_row)
            for name, rows in frame.groupby(names, sort=False)
        ]
    except DataError as exc:
        raise source.error(str(exc)) from exc
    every_note = (*table.notes, *_notes_of(roles), *notes)
    files = [replace(file, notes=(*every_note, *file.notes)) for file in files]
    return files if query_id is not None else [_with_known_ids(file, roles) for file in files]


def _table_and_roles(source: Source, query_id: str | None) -> tuple[ScoreFile, _Roles | None]:
    """The table and the roles of its columns; ids are read as texts."""
    query_id = query_id or first_named(header_of(source), _SURE_IDS)
    if query_id is None:
        table, _ = source.once(_table)
        roles = _find_roles(table.frame)
        if roles is None or not is_numeric_dtype(table.frame[roles.query].dtype):
            return table, roles
        query_id = roles.query  # 007 is not 7
    table, _ = _unnested(read_table(source, query_id=query_id))
    return table, _find_roles(table.frame, query_id)


def _check_filled(source: Source, frame: pd.DataFrame, column: str) -> None:
    """Refuse rows with a blank in a column that must name the query, the metric or the pipeline."""
    cells = frame[column]
    wrong = _is_blank(cells) | ~cells.map(lambda cell: isinstance(cell, str | Real))
    if wrong.any():
        raise source.error(
            f"every row needs a text or a number in {column!r}; the data row "
            f"{int(wrong.to_numpy().argmax()) + 1}, counted from 1, has none"
        )


def _check_single(source: Source, frame: pd.DataFrame, names: pd.Series, roles: _Roles) -> None:
    """Refuse two values of a metric for one query of a pipeline."""
    keys = pd.DataFrame(
        {"pipeline": names, "metric": frame[roles.metric], "query": frame[roles.query]}
    )
    repeated = keys[keys.duplicated()].drop_duplicates()
    if len(repeated):
        first = repeated.iloc[0]
        raise source.error(
            f"a query must have one value of a metric; {len(repeated)} appear more than once, such "
            f"as {first['metric']} of {first['query']!r} in {first['pipeline']!r}. Average them "
            'with repeats="mean"'
        )


def _notes_of(roles: _Roles) -> Iterator[str]:
    yield f"a long table: metrics are in column {roles.metric!r}, scores in {roles.value!r}"
    if roles.pipeline is not None and normalise_name(roles.pipeline) != "pipeline":
        yield f"the pipelines are in column {roles.pipeline!r}"


def _with_known_ids(file: ScoreFile, roles: _Roles) -> ScoreFile:
    """The pipeline with its ids in a column that has a usual name for ids or questions."""
    column = roles.query
    if column in (id_column_of([column]), first_named([column], QUESTION)):
        return file
    note = f"query ids are taken from column {column!r}"
    frame = file.frame.rename(columns={column: QUERY_ID})
    return replace(file, frame=frame, notes=(*file.notes, note))


# -- the scores of all pipelines, metric by metric


def _read_scores(
    frame: pd.DataFrame, names: pd.Series, roles: _Roles
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """The columns of each metric for its rows, all pipelines on one scale, and notes."""
    cells, reasons = _cells_with_states(frame, roles)
    has_companions = (roles.reason, roles.state, roles.error) != (None, None, None)
    is_repeated = pd.DataFrame({"name": names, "query": frame[roles.query]})
    catalogue, scores = Catalogue(), {}
    notes: list[str] = []
    for name, rows in frame.groupby(frame[roles.metric].astype(str), sort=False):
        metric, values = str(name), rows[roles.value]
        scores[metric] = values.to_frame(metric)
        if is_numeric_dtype(values.dtype) and not has_companions:
            continue
        known = catalogue.find(metric)
        bounds = None if known is None else known.bounds
        column = CellColumn(metric, rows[roles.query].tolist(), known_bounds=bounds)
        own = [cells[row] for row in rows.index]
        try:
            read = read_cells(own, column)
            if SCORED not in read.states and read.unread:
                # Words, such as those of categories, are no scores.
                scores[metric] = values.to_frame(f"{metric}_label")
                continue
        except DataError:
            # Bounds may be stated that decide it, if no mean over repeats is needed.
            if has_companions or is_repeated.loc[rows.index].duplicated().any():
                raise
            continue
        parsed = parsed_columns(metric, read, [reasons[row] for row in rows.index])
        scores[metric] = pd.DataFrame(parsed, index=rows.index)
        notes += read.notes
    return scores, notes


def _cells_with_states(frame: pd.DataFrame, roles: _Roles) -> tuple[list[Any], list[str | None]]:
    """The cell of each row, "n/a" or None where its state or error says so, and reasons."""

    def texts(column: str | None) -> list[str | None]:
        return [None] * len(frame) if column is None else list(map(text_or_none, frame[column]))

    cells: list[Any] = frame[roles.value].tolist()
    reasons = texts(roles.reason)
    for row, (word, error) in enumerate(zip(texts(roles.state), texts(roles.error), strict=True)):
        state = _STATES.get((word or "").strip().lower().replace(" ", "_"))
        is_failed = error is not None or state == FAILED
        if is_failed or state in (NOT_APPLICABLE, MISSING):
            cells[row] = "n/a" if state == NOT_APPLICABLE else None
            own_reason = None if state == MISSING else reasons[row]  # it would make it failed
            reasons[row] = error or own_reason or ("it failed" if is_failed else None)
    return cells, reasons


# -- one pipeline


def _score_file(
    name: str,
    rows: pd.DataFrame,
    roles: _Roles,
    scores: Mapping[str, pd.DataFrame],
    line_of_row: Callable[[int], int] | None,
) -> ScoreFile:
    ids = rows[roles.query]
    queries = pd.Index(ids.drop_duplicates(), dtype=object)
    first_rows = rows[~ids.duplicated()]
    # As texts, because cells may be lists, which cannot be compared as keys.
    others = rows.columns.difference([*vars(roles).values()], sort=False)
    n_values = rows[others].astype(str).groupby(ids, sort=False).nunique().max()
    columns: CellsByColumn = {roles.query: queries.tolist()}
    columns |= {label: first_rows[label].tolist() for label in others if n_values[label] < 2}
    metrics: list[str] = []
    labels: CellsByColumn = {}
    most = pd.Series(0, queries)
    for metric, part in rows.groupby(rows[roles.metric].astype(str), sort=False):
        own_ids = ids.loc[part.index]
        read = scores[str(metric)].loc[part.index]
        of_first = read[~own_ids.duplicated()].set_axis(own_ids[~own_ids.duplicated()])
        own = {str(label): list(cells) for label, cells in of_first.reindex(queries).items()}
        if metric not in read:
            labels |= own
            continue
        metrics.append(str(metric))
        if is_numeric_dtype(read[metric].dtype):
            # A repeat that failed is left out of the mean, not counted as 0.
            means = read[metric].groupby(own_ids, sort=False).mean()
            own[str(metric)] = means.reindex(queries).tolist()
        state = f"{metric}_state"
        if state in own:
            # Scored if any of the repeats is; missing if there is no row.
            own[state] = [
                SCORED if mean == mean else first if isinstance(first, str) and first != SCORED
                else MISSING
                for first, mean in zip(own[state], own[str(metric)], strict=True)
            ]  # fmt: skip
        _add_columns(columns, own)
        most = most.combine(own_ids.value_counts(), max, fill_value=0)
    _add_columns(columns, labels)
    notes: tuple[str, ...] = ()
    left_out = [label for label in others if n_values[label] > 1]
    if left_out:
        notes = (f"left out, because they differ within a query: {named(left_out)}",)
    if most.max() > 1:
        _add_columns(columns, {"n_repeats": most.reindex(queries).astype(int).tolist()})
        notes = (*notes, "the score of a query is the mean over its repeats that have one")
    # Ids 1 and "1" stay different.
    frame = pd.DataFrame(
        {
            label: pd.Series(cells, dtype=object if label == roles.query else None)
            for label, cells in columns.items()
        }
    )
    return ScoreFile(
        *(frame, name),
        metric_columns=tuple(metrics),
        notes=notes,
        line_of_row=line_of_row and (lambda row: line_of_row(int(first_rows.index[row]))),
    )


def _add_columns(columns: CellsByColumn, more: CellsByColumn) -> None:
    """Add columns; of two with the same name one would be lost."""
    clash = [label for label in more if label in columns]
    if clash:
        raise ShapeError(
            f"two columns would be named {named(clash)}, one of them a metric's; rename the other"
        )
    columns |= more


LONG = Reader(
    "long",
    "a long table: one row per query, pipeline and metric, with the value",
    _recognise,
    read_long,
    ("decimal", "encoding", "query_id", "repeats"),
    example="scores_long.csv",
)
