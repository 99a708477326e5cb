"""A scanned table: a lazy frame with what its columns are, by all of its rows.

The first rows are read as a file of scores is, and described as a table in memory. One pass of the
engine gives the extremes and a score of each kind of every metric; rows that have them are added as
witnesses. Every rule that looks at the scores of a column then decides as if it had seen all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from io import BytesIO
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from rageval_report._registry import import_arrow_module, import_parquet, import_pyarrow
from rageval_report.analysis.tables import NO_GROUP, no_groups
from rageval_report.errors import MOST_NAMED, DataError, ReaderError, UnknownNameError, named
from rageval_report.readers import ScoreFile, read
from rageval_report.scale.frames import LazyTable, OpenedFrame, collect, count_rows, open_beside
from rageval_report.scores import Correct, Metric, Scored, normalise_name
from rageval_report.scores.cells import read_cell
from rageval_report.scores.guard import CHECK_NAMES, doubts_about_scores, notes_with_doubts
from rageval_report.scores.query_ids import QUERY_ID, RepeatedIdsError
from rageval_report.scores.roles import Roles
from rageval_report.scores.states import MISSING, REASON, SCORED, STATE
from rageval_report.scores.table import MetricsArgument

# Rows that decide what the columns are; a table with no more of them is described as in memory.
MOST_HEAD = 10_000
# Columns of no more rows are listed: no grid is finer than their scores.
MOST_LISTED_ROWS = 2**16
MOST_GROUPS = 10_000
# Rows that a person may read of a metric.
MOST_WORST = 1000
# Rows outside the bounds of their metric, and words for a missing score, that are looked at.
_MOST_ODD = 1000
_NUMERAL = r"^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$"
_INTEGER = r"^\s*[+-]?\d+\s*$"
# The kinds of scores that `infer_metric` looks at.
_KINDS: tuple[Callable[[Any], Any], ...] = (
    lambda x: (x != 0.0) & (x != 1.0),
    lambda x: x != x.round(),
    lambda x: (x > 0.0) & (x < 1.0),
    lambda x: x == 1.0,
)
_REMEDY = (
    "A scan cannot average repeated rows; remove them, or load the table with read_scores and "
    'duplicates="mean"'
)

# `RAGPipelineEvaluation.from_score_file`; this room is below that of evaluations.
Construct = Callable[..., Any]
# Cells between the least and the largest number of a column.
MOST_CELLS = 2**16


@dataclass(frozen=True)
class Range:
    """The least and the largest number of a column."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of its cells: a power of two, by which numbers are divided without rounding."""
        spread = max(self.high - self.low, abs(self.low) * 2.0**-52, abs(self.high) * 2.0**-52)
        return 2.0 ** math.ceil(math.log2(spread / MOST_CELLS)) if spread > 0 else 1.0

    def difference(self, baseline: Range) -> Range:
        """Within what the differences lie, this less the baseline."""
        return Range(self.low - baseline.high, self.high - baseline.low)


@dataclass(frozen=True)
class ScanOptions:
    """How a scanned table is read; see `RAGPipelineEvaluation.scan`."""

    name: str | None = None
    query_id: str | None = None
    metrics: MetricsArgument = None
    correct: Correct | None = None
    roles: Roles | None = None
    strict: bool = False
    allow: str | Iterable[str] = ()


@dataclass(frozen=True, eq=False)
class Head:
    """What analyses need of the evaluation of the first rows; see `RAGPipelineEvaluation`."""

    name: str
    scores: pd.DataFrame
    details: pd.DataFrame
    metrics: dict[str, Metric]
    notes: tuple[str, ...]
    roles: pd.DataFrame
    config: Mapping[str, Any]
    created: datetime | None
    correct_rule: Correct | None

    @classmethod
    def of(cls, evaluation: Any) -> Head:
        """That of an evaluation."""
        return cls(*(getattr(evaluation, each.name) for each in fields(cls)))


@dataclass(frozen=True, eq=False)
class ScannedTable:
    """A lazy table with what its columns are.

    Parameters
    ----------
    frame : LazyFrame
        ``query_id`` as text, the metrics as doubles (null where unscored) and the details, by the
        names that `head` has.
    head : Head
        The evaluation of the first rows; its metrics, bounds and notes are those of all rows.
    n_rows, n_scored : int, mapping of str to int
        The number of all rows, and of the scores of each metric.
    ranges : mapping of str to Range
        Within what the scores of each metric lie; of metrics that have scores.
    opened : OpenedFrame
        The frame as it was opened.
    gather : callable
        Gives the evaluation of all rows.
    """

    frame: LazyTable
    head: Head
    n_rows: int
    n_scored: Mapping[str, int]
    ranges: Mapping[str, Range]
    opened: OpenedFrame
    gather: Callable[[], Any]

    @property
    def metrics(self) -> dict[str, Metric]:
        """The description of each metric."""
        return self.head.metrics

    @property
    def details(self) -> list[str]:
        """The columns of the frame that are neither metrics nor ids."""
        own = self.frame.collect_schema().names()
        return [name for name in own if name not in self.metrics and name != QUERY_ID]

    def has_gaps(self, name: str) -> bool:
        """Whether a query has no score of a metric."""
        return self.n_scored[name] < self.n_rows

    def labels(self, by: str) -> nw.Expr:
        """The group of each query as text, "(none)" for an empty cell."""
        if by not in self.details:
            raise UnknownNameError("detail column", by, self.details)
        return nw.col(by).cast(nw.String).fill_null(NO_GROUP)

    def check_groups(self, by: str) -> None:
        """Refuse a column of too many groups, or of one for every query."""
        first = self.frame.select(self.labels(by).alias("label")).unique().head(MOST_GROUPS + 1)
        labels = collect(first)["label"]
        if len(labels) > MOST_GROUPS:
            raise DataError(f"{by!r} has more than {MOST_GROUPS} groups, too many for a table")
        if len(labels) == self.n_rows > 1:
            raise no_groups(by, str(labels.iloc[0]))

    def state_column(self, name: str) -> str | None:
        """The detail column that says why scores of a metric are missing."""
        labels = [label for label in self.details if label.endswith(STATE)]
        return next((o for o in labels if normalise_name(o.removesuffix(STATE)) == name), None)

    def first_rows(
        self, condition: nw.Expr | None, by: str | None, k: int | None, *, descending: bool = False
    ) -> pd.DataFrame:
        """Some rows by a column and then by id, index ``query_id``, the metrics first."""
        rows = self.frame.select(QUERY_ID, *self.metrics, *self.details)
        rows = rows if condition is None else rows.filter(condition)
        order = [QUERY_ID] if by is None else [by, QUERY_ID]
        rows = rows.sort(*order, descending=[descending, False][-len(order) :], nulls_last=True)
        fetched = collect(rows if k is None else rows.head(k)).set_index(QUERY_ID)
        return fetched.astype(dict.fromkeys(self.metrics, np.float64))  # type: ignore[no-any-return]

    def details_of(self, ids: pd.Index) -> pd.DataFrame:
        """The details of some queries, in this order."""
        rows = self.first_rows(nw.col(QUERY_ID).is_in(ids.tolist()), None, max(1, len(ids)))
        return rows.drop(columns=list(self.metrics)).reindex(ids)

    def with_rows(self, rows: pd.DataFrame) -> Head:
        """Some rows, as `first_rows` gives them, as an evaluation."""
        names = list(self.metrics)
        return replace(self.head, scores=rows[names], details=rows.drop(columns=names))

    def needs_memory(self, what: str) -> DataError:
        """The error for an analysis that needs every row in memory."""
        n_metrics = len(self.metrics)
        size = max(1, 8 * self.n_rows * (n_metrics + 1) // 10**6)
        return DataError(
            f"{what} needs every score in memory: {self.n_rows} rows with {n_metrics} "
            f"metric{'' if n_metrics == 1 else 's'}, about {size} MB. If they fit, bring them into "
            "memory: scan.collect()"
        )


def same_engine(first: ScannedTable, other: ScannedTable | Scored) -> ScannedTable:
    """Another table, or an evaluation in memory, whose frame can be joined with the first.

    Raises
    ------
    DataError
        If two engines hold the tables.
    """
    if isinstance(other, ScannedTable):
        if other.opened.engine != first.opened.engine:
            raise DataError(
                f"{first.head.name!r} is a table of {first.opened.engine} and {other.head.name!r} "
                f"one of {other.opened.engine}; open both with one engine, or bring one into "
                "memory: scan.collect()"
            )
        return other
    details = other.details[[name for name in other.details if name not in other.scores]]
    # Columns of Python objects, such as lists, have no type that all engines know.
    objects = details[[name for name, kind in details.dtypes.items() if kind.kind == "O"]]
    plain = details.assign(**objects.astype("str").where(objects.notna(), None))
    rows = pd.concat([other.scores, plain], axis=1)
    rows.insert(0, QUERY_ID, pd.Series(rows.index, index=rows.index, dtype="str"))
    opened = open_beside(first.opened, rows.reset_index(drop=True))
    n_scored = {str(name): int(n) for name, n in other.scores.count().items()}
    known = {name: other.scores[name] for name, n in n_scored.items() if n}
    ranges = {name: Range(float(own.min()), float(own.max())) for name, own in known.items()}
    frame = opened.frame.with_columns(*(_double(n, opened.kind).alias(n) for n in other.metrics))
    head = Head.of(other)
    return ScannedTable(frame, head, len(rows), n_scored, ranges, opened, lambda: other)


# -- what the columns are


def describe_table(opened: OpenedFrame, options: ScanOptions, construct: Construct) -> ScannedTable:
    """Decide what the columns of a lazy frame are; `construct` makes an evaluation of a file.

    Raises
    ------
    ReaderError
        If the rows are no table with one row per query, or a cell holds no number.
    """
    n_rows = count_rows(opened.frame)
    if not n_rows:
        raise DataError(f"{opened.place}: data must have one row per query; the table is empty")
    reader = _RowReader(replace(opened, name=options.name or opened.name), options, construct)
    first = collect(opened.frame.head(MOST_HEAD), "pyarrow")
    file, head = reader.read(first)
    columns = _TableColumns(reader, head)
    words = columns.read_texts(head, n_rows)
    facts = columns.look(head)
    if n_rows > MOST_HEAD and (rows := columns.witnesses(head, facts)):
        arrow = import_pyarrow()
        every = arrow.concat_tables([first, *rows], promote_options="permissive")
        ids = every.column(columns.id_column).to_pandas()
        file, head = reader.read(every.filter(arrow.array(~ids.duplicated())))
    columns.check_ids()
    n_scored, ranges, moved = {}, {}, []
    for name, metric in head.metrics.items():
        n_scored[name], low, high = int(facts[name][0]), *facts[name][1:3]
        if n_scored[name]:
            least, most = metric.bounds or (low, high)
            ranges[name] = Range(max(low, least), min(high, most))
            moved += [nw.col(name).clip(least, most)] if low < least or high > most else []
    frame = opened.frame.select(*columns.expressions())
    frame = frame.with_columns(*moved) if moved else frame
    # The notes and the doubts of all rows, which count queries.
    said = ["allowed by ", *(f" cells of {column!r} say " for column in words)]
    notes = notes_with_doubts(
        (*file.notes, *words.values(), *(n for n in head.notes if not any(s in n for s in said))),
        doubts_about_scores(head.scores, head.metrics, n_scored=n_scored),
        strict=options.strict,
        allow=options.allow,
        where=f"{opened.place}: ",
    )
    head = replace(head, notes=notes)
    return ScannedTable(frame, head, n_rows, n_scored, ranges, opened, reader.collect)


def count_where(condition: nw.Expr) -> nw.Expr:
    """In how many rows a condition holds."""
    return nw.when(condition).then(1).otherwise(0).sum()


def _double(column: str, kind: str) -> nw.Expr:
    number = nw.col(column).cast(nw.Float64)
    # SQLite stores NaN as NULL, and has no function that tests for NaN.
    return number if kind == "sqlite" else nw.when(~number.is_nan()).then(number)


def _matches(column: str, pattern: str = _NUMERAL) -> nw.Expr:
    return nw.col(column).str.contains(pattern)


def _parsed(column: str, kind: Any = nw.Float64) -> nw.Expr:
    return nw.when(_matches(column)).then(nw.col(column).str.strip_chars()).cast(kind)


@dataclass(frozen=True)
class _RowReader:
    """Reads rows of an opened frame as the readers of files do."""

    opened: OpenedFrame
    options: ScanOptions
    construct: Construct

    def collect(self) -> Any:
        """The evaluation of all rows."""
        options = self.options
        file = self._file(collect(self.opened.frame, "pyarrow"))
        return self._evaluation(file, strict=options.strict, allow=options.allow)

    def read(self, rows: Any) -> tuple[ScoreFile, Head]:
        """Some rows of Arrow as a file, and as an evaluation without doubts and its notes."""
        file = self._file(rows)
        quiet = replace(file, notes=())
        evaluation = self._evaluation(quiet, strict=False, allow=tuple(CHECK_NAMES))
        return file, Head.of(evaluation)

    @property
    def _roles(self) -> dict[str, Any]:
        return {**dict.fromkeys(self.opened.partitions, "detail"), **dict(self.options.roles or {})}

    def _file(self, rows: Any) -> ScoreFile:
        options, opened, buffer = self.options, self.opened, BytesIO()
        if opened.kind == "csv":
            import_arrow_module("csv").write_csv(rows, buffer)
        else:
            described = rows.replace_schema_metadata(opened.metadata or {})
            import_parquet().write_table(described, buffer)
        stated: Any = {"query_id": options.query_id, "metrics": options.metrics}
        try:
            files = read(buffer.getvalue(), totals="keep", roles=self._roles, **stated)
        except ReaderError as exc:
            raise ReaderError(exc.message, path=opened.place) from exc
        if len(files) != 1:
            raise ReaderError(
                "a scan reads the scores of one pipeline, one row per query; this table holds "
                f"{len(files)} ({named(file.pipeline for file in files)}). Write one table of "
                "each, or load it with read_scores",
                path=opened.place,
            )
        return replace(files[0], totals="keep")

    def _evaluation(self, file: ScoreFile, **strictness: Any) -> Any:
        options, opened = self.options, self.opened
        stated = {name: getattr(options, name) for name in ("query_id", "metrics", "correct")}
        stated |= {"totals": "keep", "roles": self._roles, **strictness}
        try:
            return self.construct(opened.name, file, opened.place, **stated)
        except ReaderError as exc:
            if isinstance(exc.__cause__, RepeatedIdsError):
                raise _repeated(exc.__cause__.ids, opened.place) from exc
            raise


def _repeated(ids: list[str], place: str) -> ReaderError:
    return ReaderError(RepeatedIdsError(ids, _REMEDY).args[0], place)


class _TableColumns:
    """What the columns of an opened frame are, by what the first rows were taken for."""

    def __init__(self, reader: _RowReader, head: Head) -> None:
        self.opened, query_id = reader.opened, reader.options.query_id
        self.types = types = dict(self.opened.frame.collect_schema())
        by_role = dict(zip(head.roles["column"], head.roles["role"], strict=True))
        sources = {normalise_name(c): c for c, role in by_role.items() if role == "metric"}
        lost = [name for name in head.metrics if sources.get(name) not in types]
        ids = [column for column, role in by_role.items() if role == "id"]
        # An index of pandas is a column of the file, and has no role.
        ids = [c for c in (*ids, query_id or QUERY_ID) if c in types]
        ids = ids or [column for column in types if column not in by_role]
        if lost or not ids:
            what = f"a column for each metric; {named(lost)} were made of other columns"
            raise ReaderError(
                f"a scan needs {what if lost else 'a column of query ids: query_id=...'}. Load the "
                f"table, or write the scores with save. Columns: {named(types, 12)}",
                path=self.opened.place,
            )
        others = [c for c, role in by_role.items() if role not in ("metric", "id") and c in types]
        labels = dict(zip(others, map(str, head.details.columns), strict=False))
        self.id_column, self.states = ids[0], list[nw.Expr]()
        self.sources = {name: sources[name] for name in head.metrics}
        self.labels = {c: label for c, label in labels.items() if label not in head.metrics}
        self.details = {c: nw.col(c) for c in self.labels}
        self.metrics = {
            name: _parsed(c) if types[c] == nw.String else _double(c, self.opened.kind)
            for name, c in self.sources.items()
        }

    def query_id(self) -> nw.Expr:
        """The ids as text; null where a number is no id."""
        ids, kind = nw.col(self.id_column), self.types[self.id_column]
        if kind.is_float():  # whole numbers, among which a cell was empty
            ids = nw.when(~ids.is_nan() & (ids == ids.round())).then(ids).cast(nw.Int64)
        return (ids if kind == nw.String else ids.cast(nw.String)).alias(QUERY_ID)

    def expressions(self) -> list[nw.Expr]:
        """The ids, the metrics, the details and the states of the metrics."""
        metrics = [score.alias(name) for name, score in self.metrics.items()]
        details = [own.alias(self.labels[column]) for column, own in self.details.items()]
        return [self.query_id(), *metrics, *details, *self.states]

    def read_texts(self, head: Head, n_rows: int) -> dict[str, str]:
        """Take texts for numbers and states, as memory does; and a note on each column of words."""
        names = {c: name for name, c in self.sources.items() if self.types[c] == nw.String}
        like, frame = head.details.select_dtypes("number"), self.opened.frame
        is_text = self.opened.kind == "csv"
        columns = [*names, *(c for c, own in self.labels.items() if is_text and own in like)]
        if not columns:
            return {}
        counts = [
            (
                count_where(~_matches(c)).alias(f"odd {c}"),
                count_where(_matches(c, _INTEGER)).alias(f"whole {c}"),
            )
            for c in columns
        ]
        counted, notes = collect(frame.select(*chain.from_iterable(counts))).iloc[0], {}
        for column in columns:
            if column not in names and not counted[f"odd {column}"]:
                is_whole = counted[f"whole {column}"] == n_rows
                self.details[column] = _parsed(column, nw.Int64 if is_whole else nw.Float64)
            elif column in names and counted[f"odd {column}"]:
                n = int(counted[f"odd {column}"])
                words = self._read_words(names[column], column)
                notes[column] = f"{n} cells of {column!r} say {named(words)}: unscored"
        return notes

    def _read_words(self, name: str, column: str) -> list[str]:
        """Take words for states; a `ReaderError` for another text."""
        frame = self.opened.frame
        odd = frame.filter(~_matches(column)).select(column).unique().sort(column).head(_MOST_ODD)
        words = {text: read_cell(text) for text in collect(odd)[column]}
        for text, cell in words.items():
            if cell.state == SCORED or not cell.is_read:
                row = collect(frame.filter(nw.col(column) == text).head(1)).iloc[0]
                raise ReaderError(
                    f"{name!r} must be numbers, and empty where a query is unscored; got {text!r} "
                    f"at {row[self.id_column]!r}. Read the table whole with read_scores, which "
                    "knows such cells",
                    self.opened.place,
                )
        state: Any = nw.when(_matches(column)).then(nw.lit(SCORED))
        reason: Any = nw.when(_matches(column)).then(nw.lit(None, nw.String))
        for text, cell in words.items():
            state = state.when(nw.col(column) == text).then(nw.lit(cell.state))
            reason = reason.when(nw.col(column) == text).then(nw.lit(cell.reason, nw.String))
        if {cell.state for cell in words.values()} - {MISSING}:
            self.states.append(state.otherwise(nw.lit(MISSING)).alias(f"{column}{STATE}"))
        if any(cell.reason for cell in words.values()):
            self.states.append(reason.alias(f"{column}{REASON}"))
        return sorted({text.strip() for text in words})

    def look(self, head: Head) -> dict[str, list[float]]:
        """Of each metric the number, the extremes, and a score of each kind that is new.

        The kinds are those that `infer_metric` looks at, as far as the first rows do not show them.
        """
        wanted = {}
        for name, x in self.metrics.items():
            known = head.scores[name].dropna()
            new = [holds for holds in _KINDS if not holds(known).any()]
            kinds = [nw.when(holds(x)).then(x).min() for holds in new]
            for place, each in enumerate((x.count(), x.min(), x.max(), *kinds)):
                wanted[f"{name} {place}"] = each.alias(f"{name} {place}")
        row = collect(self.opened.frame.select(*wanted.values())).iloc[0].astype(float)
        facts: dict[str, list[float]] = {name: [] for name in self.metrics}
        for label, number in row.items():
            facts[str(label).rpartition(" ")[0]].append(number)
        return facts

    def witnesses(self, head: Head, facts: Mapping[str, list[float]]) -> list[Any]:
        """Rows of Arrow with the scores of each kind, and those that lie outside the bounds."""
        parts, frame = [], self.opened.frame
        for name, metric in head.metrics.items():
            x, known, (_, low, high, *kinds) = self.metrics[name], head.scores[name], facts[name]
            least, most = metric.bounds or (-math.inf, math.inf)
            is_outside = low < least or high > most
            if is_outside:
                parts.append(frame.filter((x < least) | (x > most)).head(_MOST_ODD))
            # Within bounds the extremes decide nothing, unless the first scores are all equal.
            is_settled = metric.bounds and not is_outside and known.min() < known.max()
            decide = kinds if is_settled else [low, high, *kinds]
            new = sorted({each for each in decide if not math.isnan(each)} - {*known.tolist()})
            parts += [frame.filter(x == value).head(1) for value in new]
        return [collect(nw.concat(parts), "pyarrow")] if parts else []

    def check_ids(self) -> None:
        """Refuse rows without an id, and ids that occur twice."""
        frame, query_id = self.opened.frame, self.query_id()
        counts = frame.select(query_id).group_by(QUERY_ID).agg(nw.len().alias("n"))
        wrong = counts.filter((nw.col("n") > 1) | _is_blank(nw.col(QUERY_ID)))
        ids = collect(wrong.sort(QUERY_ID).head(MOST_NAMED + 1))[QUERY_ID]
        if (ids.isna() | (ids.str.strip() == "")).any():
            row = collect(frame.filter(_is_blank(query_id)).head(1)).iloc[0].to_dict()
            what = "every row needs a query id, a text or an integer; this one has none"
            raise ReaderError(f"{what}: {row!r:.200}", self.opened.place)
        if len(ids):
            raise _repeated(ids.tolist(), self.opened.place)


def _is_blank(ids: nw.Expr) -> nw.Expr:
    return ids.is_null() | (ids.str.strip_chars() == "")
