"""A scanned table: a lazy frame with what its columns are, by all of its rows.

The first rows are read as a file of scores is, and described as a table in memory. One pass of the
engine gives the extremes and a score of each kind of every metric; rows that have them are added as
witnesses. Every rule that looks at the scores of a column then decides as if it had seen all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from io import BytesIO
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
from rageval_report.scores.cells import Cell, read_cell
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

    def including(self, number: float) -> Range:
        """The range that holds another number, too."""
        return Range(min(self.low, number), max(self.high, number))


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
    n_rows : int
        The number of all rows.
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
    scored = {str(name): scores for name, scores in other.scores.items() if scores.notna().any()}
    ranges = {name: Range(float(own.min()), float(own.max())) for name, own in scored.items()}
    frame = opened.frame.with_columns(*(_double(n, opened.kind).alias(n) for n in other.metrics))
    return ScannedTable(frame, Head.of(other), len(rows), ranges, opened, lambda: other)


# -- what the columns are


def describe_table(opened: OpenedFrame, options: ScanOptions, construct: Construct) -> ScannedTable:
    """Decide what the columns of a lazy frame are; `construct` makes an evaluation of a file.

    Raises
    ------
    ReaderError
        If the rows are no table with one row per query, or a cell holds no number.
    DataError
        If there are no rows.
    """
    reader = _RowReader(opened, replace(options, name=options.name or opened.name), construct)
    n_rows = count_rows(opened.frame)
    if not n_rows:
        raise DataError(f"{opened.place}: data must have one row per query; the table is empty")
    first = collect(opened.frame.head(MOST_HEAD), "pyarrow")
    file = reader.read(first)
    head = reader.evaluate(file)
    columns = reader.columns(head)
    columns.look(opened, head, n_rows)
    if n_rows > MOST_HEAD and (witnesses := columns.witnesses(opened.frame, head)):
        file = reader.read(columns.joined([first, *witnesses]))
        head = reader.evaluate(file)
    reader.check_ids(columns)
    head = reader.with_notes(head, file, columns)
    ranges, moved = {}, []
    for name, metric in head.metrics.items():
        low, high = columns.facts[name]["low"], columns.facts[name]["high"]
        if not math.isnan(low):
            least, most = metric.bounds or (low, high)
            ranges[name] = Range(max(low, least), min(high, most))
            moved += [nw.col(name).clip(least, most)] if low < least or high > most else []
    frame = opened.frame.select(*columns.expressions())
    frame = frame.with_columns(*moved) if moved else frame
    return ScannedTable(frame, head, n_rows, ranges, opened, reader.collect)


def _double(column: str, kind: str) -> nw.Expr:
    number = nw.col(column).cast(nw.Float64)
    # SQLite stores NaN as NULL, and has no function that tests for NaN.
    return number if kind == "sqlite" else nw.when(~number.is_nan()).then(number)


def _matches(column: str, pattern: str = _NUMERAL) -> nw.Expr:
    return nw.col(column).str.contains(pattern)


def count_where(condition: nw.Expr) -> nw.Expr:
    """In how many rows a condition holds."""
    return nw.when(condition).then(1).otherwise(0).sum()


@dataclass
class _TableColumns:
    """The columns of an opened frame: of the ids, of each metric, and the names of the details."""

    place: str
    kind: str
    id_column: str
    metrics: Mapping[str, str]
    details: Mapping[str, str]
    types: Mapping[str, Any]
    facts: dict[str, dict[str, float]] = field(default_factory=dict)
    words: dict[str, dict[str, Cell]] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)

    def number(self, column: str, kind: Any = nw.Float64) -> nw.Expr:
        """A column as numbers, null where a cell is empty or another text."""
        if self.types[column] != nw.String:
            return _double(column, self.kind)
        return nw.when(_matches(column)).then(nw.col(column).str.strip_chars()).cast(kind)

    def query_id(self) -> nw.Expr:
        """The ids as text; null where a cell is empty or no id."""
        ids, kind = nw.col(self.id_column), self.types[self.id_column]
        if kind.is_float():  # whole numbers, among which a cell was empty
            ids = nw.when(~ids.is_nan() & (ids == ids.round())).then(ids).cast(nw.Int64)
        if kind != nw.String:
            return ids.cast(nw.String).alias(QUERY_ID)
        return nw.when(ids.str.strip_chars() != "").then(ids).alias(QUERY_ID)

    def expressions(self) -> list[nw.Expr]:
        """The ids, the metrics, the details and the states of the metrics."""
        metrics = [self.number(column).alias(name) for name, column in self.metrics.items()]
        details = [
            self.number(column, kind) if (kind := self.numbers.get(column)) else nw.col(column)
            for column in self.details
        ]
        labelled = [d.alias(name) for d, name in zip(details, self.details.values(), strict=True)]
        return [self.query_id(), *metrics, *labelled, *self._states()]

    def _states(self) -> list[nw.Expr]:
        """Why scores are missing, where words say it; as `rageval_report.scores.states` does."""
        columns = []
        for column, words in self.words.items():
            is_number = _matches(column)
            state: Any = nw.when(is_number).then(nw.lit(SCORED))
            reason: Any = nw.when(is_number).then(nw.lit(None, nw.String))
            for word, cell in words.items():
                is_said = nw.col(column) == word
                state = state.when(is_said).then(nw.lit(cell.state))
                reason = reason.when(is_said).then(nw.lit(cell.reason, nw.String))
            if {cell.state for cell in words.values()} - {MISSING}:
                columns.append(state.otherwise(nw.lit(MISSING)).alias(f"{column}{STATE}"))
            if any(cell.reason for cell in words.values()):
                columns.append(reason.alias(f"{column}{REASON}"))
        return columns

    def look(self, opened: OpenedFrame, head: Head, n_rows: int) -> None:
        """Find by one pass what all rows say; the kinds are those that `infer_metric` looks at."""
        wanted: dict[str, dict[str, nw.Expr]] = {}
        for name, column in self.metrics.items():
            x = self.number(column)
            kinds = {"other": (x != 0.0) & (x != 1.0), "part": x != x.round()}
            kinds |= {"inside": (x > 0.0) & (x < 1.0), "one": x == 1.0}
            own: dict[str, nw.Expr] = {
                kind: nw.when(holds).then(x).min() for kind, holds in kinds.items()
            }
            wanted[name] = {"n": x.count(), "low": x.min(), "high": x.max(), **own}
            if self.types[column] == nw.String:
                wanted[name]["texts"] = count_where(~_matches(column))
        like = {c for c, label in self.details.items() if _is_number(head.details, label)}
        for column in like if opened.kind == "csv" else ():
            texts, integers = (
                count_where(~_matches(column)),
                count_where(_matches(column, _INTEGER)),
            )
            wanted[f" {column}"] = {"texts": texts, "integers": integers}
        named_exprs = [
            expr.alias(f"{place} {kind}")
            for place, own in enumerate(wanted.values())
            for kind, expr in own.items()
        ]
        row = collect(opened.frame.select(*named_exprs)).iloc[0]
        for place, (name, own) in enumerate(wanted.items()):
            self.facts[name] = {kind: float(row[f"{place} {kind}"]) for kind in own}
        for column in like & {name[1:] for name in self.facts}:
            known = self.facts[f" {column}"]
            if not known["texts"]:
                is_whole = known["integers"] == n_rows
                self.numbers[column] = nw.Int64 if is_whole else nw.Float64
        for name, column in self.metrics.items():
            if self.facts[name].pop("texts", 0):
                self._find_words(opened.frame, name, column)

    def _find_words(self, frame: LazyTable, name: str, column: str) -> None:
        texts = frame.filter(~_matches(column)).group_by(column).agg(nw.len().alias("n"))
        counts = collect(texts.sort(column).head(_MOST_ODD)).set_index(column)["n"]
        self.words[column] = {text: read_cell(text) for text in counts.index}
        self.facts[name]["unscored"] = float(counts.sum())
        for text, cell in self.words[column].items():
            if cell.state == SCORED or not cell.is_read:
                row = collect(frame.filter(nw.col(column) == text).head(1)).iloc[0]
                raise ReaderError(
                    f"{name!r} must be numbers, and empty where a query is unscored; got {text!r} "
                    f"at {row[self.id_column]!r}. Read the table whole with read_scores, which "
                    "knows such cells",
                    self.place,
                )

    def witnesses(self, frame: LazyTable, head: Head) -> list[Any]:
        """Rows of Arrow with the scores of each kind, and those that lie outside the bounds."""
        parts = []
        for name, metric in head.metrics.items():
            x, facts = self.number(self.metrics[name]), self.facts[name]
            known = {*head.scores[name].tolist()}
            values = {facts[kind] for kind in ("low", "high", "other", "part", "inside", "one")}
            parts += [frame.filter(x == v).head(1) for v in sorted(values - known) if v == v]
            low, high = metric.bounds or (-math.inf, math.inf)
            if facts["low"] < low or facts["high"] > high:
                parts.append(frame.filter((x < low) | (x > high)).head(_MOST_ODD))
        return [collect(nw.concat(parts), "pyarrow")] if parts else []

    def joined(self, tables: list[Any]) -> Any:
        """Rows of Arrow together, each id once."""
        arrow = import_pyarrow()
        rows = arrow.concat_tables(tables, promote_options="permissive")
        return rows.filter(arrow.array(~rows.column(self.id_column).to_pandas().duplicated()))


def _is_number(details: pd.DataFrame, label: str) -> bool:
    return label in details and details[label].dtype.kind in "if"


@dataclass(frozen=True)
class _RowReader:
    """Reads rows of an opened frame as the readers of files do, and checks all of them."""

    opened: OpenedFrame
    options: ScanOptions
    construct: Construct

    def collect(self) -> Any:
        """The evaluation of all rows."""
        rows, options = self.read(collect(self.opened.frame, "pyarrow")), self.options
        return self._evaluation(rows, strict=options.strict, allow=options.allow)

    @property
    def _roles(self) -> dict[str, Any]:
        return {**dict.fromkeys(self.opened.partitions, "detail"), **dict(self.options.roles or {})}

    def read(self, rows: Any) -> ScoreFile:
        """Some rows of Arrow, as the reader of such a file gives them."""
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

    def evaluate(self, file: ScoreFile) -> Head:
        """What analyses need of some rows, without doubts and the notes of the file."""
        quiet = replace(file, notes=())
        return Head.of(self._evaluation(quiet, strict=False, allow=tuple(CHECK_NAMES)))

    def _evaluation(self, file: ScoreFile, **strictness: Any) -> Any:
        stated = {name: getattr(self.options, name) for name in ("query_id", "metrics", "correct")}
        stated |= {"totals": "keep", "roles": self._roles, **strictness}
        try:
            return self.construct(self.options.name, file, self.opened.place, **stated)
        except ReaderError as exc:
            if isinstance(exc.__cause__, RepeatedIdsError):
                raise self._repeated(exc.__cause__.ids) from exc
            raise

    def columns(self, head: Head) -> _TableColumns:
        """Which column is what, by what the first rows were taken for."""
        types = dict(self.opened.frame.collect_schema())
        by_role = dict(zip(head.roles["column"], head.roles["role"], strict=True))
        sources = {normalise_name(c): c for c, role in by_role.items() if role == "metric"}
        lost = [name for name in head.metrics if sources.get(name) not in types]
        ids = [column for column, role in by_role.items() if role == "id"]
        # An index of pandas is a column of the file, and has no role.
        ids = [c for c in (*ids, self.options.query_id or QUERY_ID) if c in types]
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
        details = {c: label for c, label in labels.items() if label not in head.metrics}
        metrics = {name: sources[name] for name in head.metrics}
        opened = self.opened
        return _TableColumns(opened.place, opened.kind, ids[0], metrics, details, types)

    def with_notes(self, head: Head, file: ScoreFile, columns: _TableColumns) -> Head:
        """The head with the notes and the doubts of all rows, which count queries."""
        said = [f" cells of {column!r} say " for column in columns.words]
        others = [
            note
            for note in head.notes
            if not note.startswith("allowed by ") and not any(text in note for text in said)
        ]
        notes = [
            f"{columns.facts[name]['unscored']:.0f} cells of {column!r} say "
            f"{named(sorted({word.strip() for word in columns.words[column]}))}: unscored"
            for name, column in columns.metrics.items()
            if column in columns.words
        ]
        counts = {name: int(columns.facts[name]["n"]) for name in head.metrics}
        doubts = doubts_about_scores(head.scores, head.metrics, n_scored=counts)
        strict, allow, where = self.options.strict, self.options.allow, f"{self.opened.place}: "
        every = (*file.notes, *notes, *others)
        checked = notes_with_doubts(every, doubts, strict=strict, allow=allow, where=where)
        return replace(head, notes=checked)

    def check_ids(self, columns: _TableColumns) -> None:
        """Refuse rows without an id, and ids that occur twice."""
        query_id, frame, no_id = columns.query_id(), self.opened.frame, nw.col(QUERY_ID).is_null()
        counts = frame.select(query_id).group_by(QUERY_ID).agg(nw.len().alias("n"))
        wrong = collect(
            counts.filter((nw.col("n") > 1) | no_id).sort(QUERY_ID).head(MOST_NAMED + 1)
        )
        if wrong[QUERY_ID].isna().any():
            row = collect(frame.filter(query_id.is_null()).head(1)).iloc[0].to_dict()
            what = "every row needs a query id, a text or an integer; this one has none"
            raise ReaderError(f"{what}: {row!r:.200}", self.opened.place)
        if len(wrong):
            raise self._repeated(wrong[QUERY_ID].tolist())

    def _repeated(self, ids: list[str]) -> ReaderError:
        return ReaderError(RepeatedIdsError(ids, _REMEDY).args[0], self.opened.place)
