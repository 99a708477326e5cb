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
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from rageval_report._registry import import_arrow_module, import_parquet, import_pyarrow
from rageval_report.analysis.tables import NO_GROUP, no_groups
from rageval_report.errors import MOST_NAMED, DataError, ReaderError, UnknownNameError, named
from rageval_report.readers import ScoreFile, read
from rageval_report.scale.counted import Range, collect, numbers_of
from rageval_report.scale.opening import OpenedFrame, open_beside
from rageval_report.scores import Correct, Metric, Scored, normalise_name
from rageval_report.scores.guard import CHECK_NAMES, doubts_about_scores, notes_with_doubts
from rageval_report.scores.query_ids import QUERY_ID, RepeatedIdsError
from rageval_report.scores.roles.column_role import Roles
from rageval_report.scores.states import STATE
from rageval_report.scores.table import MetricsArgument

if TYPE_CHECKING:
    import narwhals as nw

    from rageval_report.scale.counted import LazyTable

# Rows that decide what the columns are; a table with no more of them is described as in memory.
MOST_HEAD = 10_000
# Columns of no more rows are listed: no grid is finer than their scores.
MOST_LISTED_ROWS = 2**16
MOST_GROUPS = 10_000
# Rows that a person may read of a metric.
MOST_WORST = 1000
# Rows outside the bounds of their metric that are looked at.
_MOST_OUTSIDE = 1000
# A cell of text that is a number.
_NUMERAL = r"^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$"
_REMEDY = (
    "A scan cannot average repeated rows; remove them, or load the table with read_scores and "
    'duplicates="mean"'
)
_ALLOWED = "allowed by "

# `RAGPipelineEvaluation.from_score_file`; this room is below that of evaluations.
Construct = Callable[..., Any]
# The number, the extremes, and a score of each kind of every metric; NaN if there is none.
Facts: TypeAlias = Mapping[str, Mapping[str, float]]


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
    def name(self) -> str:
        """The name of the pipeline."""
        return self.head.name

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
        import narwhals as nw

        if by not in self.details:
            raise UnknownNameError("detail column", by, self.details)
        return nw.col(by).cast(nw.String).fill_null(NO_GROUP)

    def check_groups(self, by: str) -> None:
        """Refuse a column of too many groups, or of one for every query."""
        first = self.frame.select(self.labels(by).alias("label")).unique().head(MOST_GROUPS + 1)
        labels = to_pandas(first)["label"]
        if len(labels) > MOST_GROUPS:
            raise DataError(f"{by!r} has more than {MOST_GROUPS} groups, too many for a table")
        if len(labels) == self.n_rows > 1:
            raise no_groups(by, str(labels.iloc[0]))

    def state_column(self, name: str) -> str | None:
        """The detail column that says why scores of a metric are missing."""
        labels = [label for label in self.details if label.endswith(STATE)]
        return next((o for o in labels if normalise_name(o.removesuffix(STATE)) == name), None)

    # -- rows

    def first_rows(
        self,
        condition: nw.Expr | None,
        by: str | None,
        k: int | None,
        *,
        descending: bool = False,
    ) -> pd.DataFrame:
        """Some rows, index ``query_id``, the metrics first.

        Parameters
        ----------
        condition : Expr, optional
            Which rows; all of them if omitted.
        by : str, optional
            The column by which they are in order, then by id; only by id if omitted.
        k : int, optional
            How many; all of them if omitted.
        descending : bool
            Whether the largest comes first.
        """
        rows = self.frame.select(QUERY_ID, *self.metrics, *self.details)
        rows = rows if condition is None else rows.filter(condition)
        order = [QUERY_ID] if by is None else [by, QUERY_ID]
        rows = rows.sort(*order, descending=[descending, False][-len(order) :], nulls_last=True)
        fetched = to_pandas(rows if k is None else rows.head(k)).set_index(QUERY_ID)
        for name in self.details if self.opened.has_texts else ():
            # As pandas reads a file of texts: numbers, where the first rows are.
            numbers = pd.to_numeric(fetched[name], errors="coerce")
            is_number = name in self.head.details and self.head.details[name].dtype.kind in "if"
            if is_number and numbers.notna().equals(fetched[name].notna()):
                fetched[name] = numbers
        return fetched.astype(dict.fromkeys(self.metrics, np.float64))

    def details_of(self, ids: pd.Index) -> pd.DataFrame:
        """The details of some queries, in this order."""
        import narwhals as nw

        rows = self.first_rows(nw.col(QUERY_ID).is_in(ids.tolist()), None, max(1, len(ids)))
        return rows.drop(columns=list(self.metrics)).reindex(ids)

    def with_rows(self, rows: pd.DataFrame) -> Head:
        """Some rows, as `first_rows` gives them, as an evaluation."""
        names = list(self.metrics)
        return replace(self.head, scores=rows[names], details=rows.drop(columns=names))


def to_pandas(table: LazyTable) -> pd.DataFrame:
    """A lazy frame as one of pandas, in memory."""
    frame: pd.DataFrame = collect(table, "pandas")
    return frame.reset_index(drop=True)


def count_rows(rows: LazyTable) -> int:
    """The number of rows of a lazy frame."""
    import narwhals as nw

    return int(to_pandas(rows.select(nw.len().alias("n")))["n"].iloc[0])


def needs_memory(what: str, table: ScannedTable) -> DataError:
    """The error for an analysis that needs every row in memory."""
    n_metrics = len(table.metrics)
    size = max(1, 8 * table.n_rows * (n_metrics + 1) // 10**6)
    return DataError(
        f"{what} needs every score in memory: {table.n_rows} rows with {n_metrics} "
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
                f"{first.name!r} is a table of {first.opened.engine} and {other.name!r} one of "
                f"{other.opened.engine}; open both with one engine, or bring one into memory: "
                "scan.collect()"
            )
        return other
    details = other.details[[name for name in other.details if name not in other.scores]]
    # Columns of Python objects, such as lists, have no type that all engines know.
    names = [name for name, kind in details.dtypes.items() if kind.kind == "O"]
    objects = details[names]
    plain = details.assign(**objects.astype("str").where(objects.notna(), None))
    rows = pd.concat([other.scores, plain], axis=1)
    rows.insert(0, QUERY_ID, pd.Series(rows.index, index=rows.index, dtype="str"))
    opened = open_beside(first.opened, rows.reset_index(drop=True))
    ranges = {
        str(name): Range(float(scores.min()), float(scores.max()))
        for name, scores in other.scores.items()
        if scores.notna().any()
    }
    frame = opened.frame.with_columns(*map(numbers_of, other.metrics))
    return ScannedTable(frame, Head.of(other), len(rows), ranges, opened, lambda: other)


# -- what the columns are


def describe_table(opened: OpenedFrame, options: ScanOptions, construct: Construct) -> ScannedTable:
    """Decide what the columns of a lazy frame are.

    Parameters
    ----------
    opened : OpenedFrame
        The rows.
    options : ScanOptions
        What the caller states.
    construct : callable
        ``RAGPipelineEvaluation.from_score_file``.

    Raises
    ------
    ReaderError
        If the rows are no table with one row per query, or a cell holds no number.
    DataError
        If there are no rows.
    """
    import narwhals as nw

    reader = _RowReader(opened, replace(options, name=options.name or opened.name), construct)
    n_rows = count_rows(opened.frame)
    if not n_rows:
        raise DataError(f"{opened.place}: data must have one row per query; the table is empty")
    first = collect(opened.frame.head(MOST_HEAD), "pyarrow")
    is_whole = n_rows <= MOST_HEAD
    head = Head.of(reader.evaluate(reader.read(first), is_draft=not is_whole))
    shape = reader.shape(head)
    facts = reader.facts(shape)
    if not is_whole:
        head = reader.head_of_all(first, head, shape, facts)
        shape = reader.shape(head)
    reader.check_ids(shape)
    ranges, moved = {}, []
    for name, metric in head.metrics.items():
        low, high = facts[name]["low"], facts[name]["high"]
        if not math.isnan(low):
            least, most = metric.bounds or (low, high)
            ranges[name] = Range(max(low, least), min(high, most))
            moved += [nw.col(name).clip(least, most)] if low < least or high > most else []
    frame = opened.frame.select(*shape.expressions())
    return ScannedTable(
        frame.with_columns(*moved) if moved else frame,
        *(head, n_rows, ranges, opened, reader.collect),
    )


@dataclass(frozen=True)
class _Shape:
    """The columns of an opened frame: of the ids, of each metric, and the names of the details."""

    id_column: str
    metrics: Mapping[str, str]
    details: Mapping[str, str]
    types: Mapping[str, Any]

    def number(self, name: str) -> nw.Expr:
        """A metric as a double, null where it is unscored."""
        import narwhals as nw

        column = self.metrics[name]
        if self.types[column] != nw.String:
            return numbers_of(column).alias(name)
        numeral = nw.when(self.is_numeral(column)).then(nw.col(column).str.strip_chars())
        return numeral.cast(nw.Float64).alias(name)

    @staticmethod
    def is_numeral(column: str) -> nw.Expr:
        """Whether a cell of text is a number."""
        import narwhals as nw

        return nw.col(column).str.contains(_NUMERAL)

    def query_id(self) -> nw.Expr:
        """The ids as text."""
        import narwhals as nw

        ids, kind = nw.col(self.id_column), self.types[self.id_column]
        if kind.is_float():  # whole numbers, among which a cell was empty
            ids = ids.cast(nw.Int64)
        return (ids if kind == nw.String else ids.cast(nw.String)).alias(QUERY_ID)

    def expressions(self) -> list[nw.Expr]:
        """The ids, the metrics and the details."""
        import narwhals as nw

        others = [nw.col(column).alias(name) for column, name in self.details.items()]
        return [self.query_id(), *map(self.number, self.metrics), *others]


@dataclass(frozen=True)
class _RowReader:
    """Reads rows of an opened frame as the readers of files do, and checks all of them."""

    opened: OpenedFrame
    options: ScanOptions
    construct: Construct

    def collect(self) -> Any:
        """The evaluation of all rows."""
        return self.evaluate(self.read(collect(self.opened.frame, "pyarrow")))

    @property
    def _roles(self) -> dict[str, Any]:
        return {**dict.fromkeys(self.opened.partitions, "detail"), **dict(self.options.roles or {})}

    def read(self, rows: Any) -> ScoreFile:
        """Some rows of Arrow, as the reader of such a file gives them."""
        options, opened, buffer = self.options, self.opened, BytesIO()
        if opened.has_texts:
            import_arrow_module("csv").write_csv(rows, buffer)
        else:
            stated = rows.replace_schema_metadata(opened.metadata or {})
            import_parquet().write_table(stated, buffer)
        keywords: dict[str, Any] = {
            "query_id": options.query_id,
            "metrics": options.metrics,
            "roles": self._roles,
        }
        try:
            files = read(buffer.getvalue(), totals="keep", **keywords)
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

    def evaluate(self, file: ScoreFile, *, is_draft: bool = False) -> Any:
        """The evaluation of some rows; doubts about a draft are raised later, with all rows."""
        stated = ("query_id", "metrics", "correct", "strict", "allow")
        arguments = {name: getattr(self.options, name) for name in stated}
        if is_draft:
            arguments |= {"strict": False, "allow": tuple(CHECK_NAMES)}
        arguments |= {"totals": "keep", "roles": self._roles}
        try:
            return self.construct(self.options.name, file, self.opened.place, **arguments)
        except ReaderError as exc:
            if isinstance(exc.__cause__, RepeatedIdsError):
                raise self._repeated(exc.__cause__.ids) from exc
            raise

    def shape(self, head: Head) -> _Shape:
        """Which column is what, by what the first rows were taken for."""
        types = dict(self.opened.frame.collect_schema())
        by_role = dict(zip(head.roles["column"], head.roles["role"], strict=True))
        columns = {normalise_name(c): c for c, role in by_role.items() if role == "metric"}
        lost = [name for name in head.metrics if columns.get(name) not in types]
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
        details = dict(zip(others, map(str, head.details.columns), strict=False))
        metrics = {name: columns[name] for name in head.metrics}
        return _Shape(
            ids[0], metrics, {c: n for c, n in details.items() if n not in metrics}, types
        )

    def facts(self, shape: _Shape) -> Facts:
        """The number and the extremes of every metric, and a score of each kind, by one pass.

        The kinds are those by which `fit_scale` and `infer_metric` decide what a metric is.

        Raises
        ------
        ReaderError
            If a cell of text is not a number.
        """
        import narwhals as nw

        wanted, frame = [], self.opened.frame
        for place, (name, column) in enumerate(shape.metrics.items()):
            x = shape.number(name)
            own = {"n": x.count(), "low": x.min(), "high": x.max()}
            kinds = {"other": (x != 0.0) & (x != 1.0), "part": x != x.round()}
            kinds |= {"inside": (x > 0.0) & (x < 1.0), "one": x == 1.0}
            own |= {kind: nw.when(holds).then(x).min() for kind, holds in kinds.items()}
            if shape.types[column] == nw.String:
                own["n_texts"] = nw.when(~shape.is_numeral(column)).then(1).sum()
            wanted += [expr.alias(f"{place} {kind}") for kind, expr in own.items()]
        facts: dict[str, dict[str, float]] = {name: {} for name in shape.metrics}
        for key, value in to_pandas(frame.select(*wanted)).iloc[0].items():
            place_of, _, kind = str(key).partition(" ")
            facts[[*facts][int(place_of)]][kind] = float(value)
        for name, column in shape.metrics.items():
            if facts[name].get("n_texts", 0) > 0:
                row = to_pandas(frame.filter(~shape.is_numeral(column)).head(1)).iloc[0]
                raise ReaderError(
                    f"{name!r} must be numbers, and empty where a query is unscored; got "
                    f"{row[column]!r} at {row[shape.id_column]!r}. Read the table whole with "
                    "read_scores, which knows such cells",
                    self.opened.place,
                )
        return facts

    def head_of_all(self, first: Any, draft: Head, shape: _Shape, facts: Facts) -> Head:
        """The head of a large table, as if it were that of all rows."""
        arrow, frame = import_pyarrow(), self.opened.frame
        parts = []
        for name, metric in draft.metrics.items():
            x, known = shape.number(name), {*draft.scores[name].tolist()}
            values = {facts[name][kind] for kind in facts[name] if kind not in ("n", "n_texts")}
            parts += [frame.filter(x == v).head(1) for v in sorted(values - known) if v == v]
            low, high = metric.bounds or (-math.inf, math.inf)
            if facts[name]["low"] < low or facts[name]["high"] > high:
                parts.append(frame.filter((x < low) | (x > high)).head(_MOST_OUTSIDE))
        tables = [first, *(collect(part, "pyarrow") for part in parts)]
        rows = arrow.concat_tables(tables, promote_options="permissive")
        is_new = ~rows.column(shape.id_column).to_pandas().duplicated()
        file = self.read(rows.filter(arrow.array(is_new)))
        # Doubts count queries, so they are raised anew with the numbers of all of them.
        head = Head.of(self.evaluate(replace(file, notes=()), is_draft=True))
        others = [note for note in head.notes if not note.startswith(_ALLOWED)]
        counts = {name: int(facts[name]["n"]) for name in head.metrics if name in facts}
        doubts = doubts_about_scores(head.scores, head.metrics, n_scored=counts)
        strict, allow, where = self.options.strict, self.options.allow, f"{self.opened.place}: "
        notes = (*file.notes, *others)
        return replace(
            head, notes=notes_with_doubts(notes, doubts, strict=strict, allow=allow, where=where)
        )

    def check_ids(self, shape: _Shape) -> None:
        """Refuse rows without an id, and ids that occur twice."""
        import narwhals as nw

        frame, column, kind = self.opened.frame, nw.col(shape.id_column), shape.types
        is_wrong = column.is_null()
        if kind[shape.id_column] == nw.String:
            is_wrong |= column.str.strip_chars() == ""
        elif kind[shape.id_column].is_float():
            is_wrong |= column.is_nan() | (column != column.round())
        wrong = to_pandas(frame.filter(is_wrong).head(1))
        if len(wrong):
            raise ReaderError(
                "every row needs a query id, a text or an integer; this one has none: "
                f"{wrong.iloc[0].to_dict()!r:.200}",
                self.opened.place,
            )
        counts = frame.select(shape.query_id()).group_by(QUERY_ID).agg(nw.len().alias("n"))
        repeated = to_pandas(counts.filter(nw.col("n") > 1).sort(QUERY_ID).head(MOST_NAMED + 1))
        if len(repeated):
            raise self._repeated(repeated[QUERY_ID].tolist())

    def _repeated(self, ids: list[str]) -> ReaderError:
        return ReaderError(RepeatedIdsError(ids, _REMEDY).args[0], self.opened.place)
