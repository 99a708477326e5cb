"""A scanned table: a lazy frame with what its columns are, by all of its rows.

The first rows are read as a file of scores is, and described as a table in memory. One pass of the
engine gives the extremes and a score of each kind of every metric; rows that have them are added as
witnesses. Every rule that looks at the scores of a column then decides as if it had seen all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from types import SimpleNamespace
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd

from rageval_report._registry import import_arrow_module, import_parquet, import_pyarrow
from rageval_report.analysis.tables import NO_GROUP, no_groups
from rageval_report.errors import MOST_NAMED, DataError, ReaderError, UnknownNameError, named
from rageval_report.readers import ScoreFile, read
from rageval_report.scale.frames import LazyTable, OpenedFrame, collect
from rageval_report.scores import Metric, normalise_name
from rageval_report.scores.cells import read_cell
from rageval_report.scores.guard import CHECK_NAMES, doubts_about_scores, notes_with_doubts
from rageval_report.scores.query_ids import QUERY_ID, RepeatedIdsError
from rageval_report.scores.states import MISSING, STATE

# Rows that decide what the columns are; a table with no more of them is described as in memory.
MOST_HEAD = 10_000
# Columns of no more rows are listed: no grid is finer than their scores.
MOST_LISTED_ROWS = 2**16
MOST_GROUPS = 10_000
# Rows that a person may read of a metric.
MOST_WORST = 1000
# Rows outside the bounds of their metric, and cells that are no numbers, that are looked at.
_MOST_ODD = 1000
_NUMERAL = r"^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$"
# The kinds of scores that `infer_metric` looks at.
_KINDS: tuple[Callable[[Any], Any], ...] = (
    lambda x: (x != 0.0) & (x != 1.0),
    lambda x: x != x.round(),
    lambda x: (x > 0.0) & (x < 1.0),
    lambda x: x == 1.0,
)

# `RAGPipelineEvaluation.from_score_file`; this room is below that of evaluations.
Construct: TypeAlias = Callable[..., Any]
# Some rows as an evaluation: what analyses need of it.
Head: TypeAlias = SimpleNamespace
OF_HEAD = ("metrics", "notes", "roles", "config", "created", "correct_rule")
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
    n_queries, n_scored : int, mapping of str to int
        The number of all rows, and of the scores of each metric.
    ranges : mapping of str to Range
        Within what the scores of each metric lie; of metrics that have scores.
    opened : OpenedFrame
        The frame as it was opened.
    """

    frame: LazyTable
    head: Head
    n_queries: int
    n_scored: Mapping[str, int]
    ranges: Mapping[str, Range]
    opened: OpenedFrame

    @property
    def metrics(self) -> dict[str, Metric]:
        """The description of each metric."""
        metrics: dict[str, Metric] = self.head.metrics
        return metrics

    @property
    def details(self) -> list[str]:
        """The columns of the frame that are neither metrics nor ids."""
        own = self.frame.collect_schema().names()
        return [name for name in own if name not in self.metrics and name != QUERY_ID]

    def has_gaps(self, name: str) -> bool:
        """Whether a query has no score of a metric."""
        return self.n_scored[name] < self.n_queries

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
        if len(labels) == self.n_queries > 1:
            raise no_groups(by, str(labels.iloc[0]))

    def state_column(self, name: str) -> str | None:
        """The detail column that says why scores of a metric are missing."""
        labels = [label for label in self.details if label.endswith(STATE)]
        return next((o for o in labels if normalise_name(o.removesuffix(STATE)) == name), None)

    def first_rows(
        self, condition: nw.Expr | None, by: str | None, k: int, *, descending: bool = False
    ) -> pd.DataFrame:
        """Some rows by a column and then by id, index ``query_id``, the metrics first."""
        rows = self.frame.select(QUERY_ID, *self.metrics, *self.details)
        rows = rows if condition is None else rows.filter(condition)
        order = [QUERY_ID] if by is None else [by, QUERY_ID]
        rows = rows.sort(*order, descending=[descending, False][-len(order) :], nulls_last=True)
        fetched = collect(rows.head(k)).set_index(QUERY_ID)
        return fetched.astype(dict.fromkeys(self.metrics, np.float64))  # type: ignore[no-any-return]

    def details_of(self, ids: pd.Index) -> pd.DataFrame:
        """The details of some queries, in this order."""
        rows = self.first_rows(nw.col(QUERY_ID).is_in(ids.tolist()), None, max(1, len(ids)))
        return rows.drop(columns=list(self.metrics)).reindex(ids)

    def with_rows(self, rows: pd.DataFrame) -> Head:
        """Some rows, as `first_rows` gives them, as an evaluation."""
        names = list(self.metrics)
        own = {"scores": rows[names], "details": rows.drop(columns=names)}
        return Head(**{**vars(self.head), **own})

    def needs_memory(self, what: str) -> DataError:
        """The error for an analysis that needs every row in memory."""
        n_metrics = len(self.metrics)
        size = max(1, 8 * self.n_queries * (n_metrics + 1) // 10**6)
        return DataError(
            f"{what} needs every score in memory: {self.n_queries} rows with {n_metrics} "
            f"metric{'' if n_metrics == 1 else 's'}, about {size} MB. If they fit, bring them into "
            "memory: scan.collect()"
        )


def check_engines(tables: list[ScannedTable]) -> None:
    """Refuse tables that two engines hold, which cannot be joined."""
    first, *others = tables
    for other in others:
        if other.opened.engine != first.opened.engine:
            raise DataError(
                f"{first.head.name!r} is a table of {first.opened.engine} and {other.head.name!r} "
                f"one of {other.opened.engine}; open both with one engine, or bring one into "
                "memory: scan.collect()"
            )


# -- what the columns are


def describe_table(reader: RowReader) -> ScannedTable:
    """Decide what the columns of a lazy frame are.

    Raises
    ------
    ReaderError
        If the rows are no table with one row per query, or a cell holds no number.
    """
    opened, options = reader.opened, reader.options
    first = collect(opened.frame.head(MOST_HEAD), "pyarrow")
    if not first.num_rows:
        raise DataError(f"{opened.place}: data must have one row per query; the table is empty")
    file, head = reader.read(first)
    columns = _TableColumns.of(reader, head)
    columns.check_texts()
    n_queries, facts = columns.look(head)
    if n_queries > MOST_HEAD and (rows := columns.witnesses(head, facts)):
        arrow = import_pyarrow()
        every = arrow.concat_tables([first, *rows], promote_options="permissive")
        ids = every.column(columns.id_column).to_pandas()
        file, head = reader.read(every.filter(arrow.array(~ids.duplicated())))
    n_scored, ranges, moved = {}, {}, []
    for name, metric in head.metrics.items():
        n_scored[name], low, high = int(facts[name][0]), *facts[name][1:3]
        if n_scored[name]:
            least, most = metric.bounds or (low, high)
            ranges[name] = Range(max(low, least), min(high, most))
            moved += [nw.col(name).clip(least, most)] if low < least or high > most else []
    frame = opened.frame.select(*columns.expressions())
    frame = frame.with_columns(*moved) if moved else frame
    # The notes and the doubts of all rows: those of the first rows count queries.
    head.notes = notes_with_doubts(
        (*file.notes, *(n for n in head.notes if "allowed by " not in n and " cells of " not in n)),
        doubts_about_scores(head.scores, head.metrics, n_scored=n_scored),
        strict=options["strict"],
        allow=options["allow"],
        where=f"{opened.place}: ",
    )
    return ScannedTable(frame, head, n_queries, n_scored, ranges, opened)


@dataclass(frozen=True)
class RowReader:
    """Reads rows of an opened frame as the readers of files do; `construct` makes an evaluation."""

    opened: OpenedFrame
    construct: Construct
    options: Mapping[str, Any]

    def collect(self) -> Any:
        """The evaluation of all rows."""
        return self._evaluation(self._file(collect(self.opened.frame, "pyarrow")), self.options)

    def read(self, rows: Any) -> tuple[ScoreFile, Head]:
        """Some rows of Arrow as a file, and as an evaluation without doubts and its notes."""
        file = self._file(rows)
        quiet = {**self.options, "strict": False, "allow": tuple(CHECK_NAMES)}
        evaluation = self._evaluation(replace(file, notes=()), quiet)
        known = ("name", "scores", "details", *OF_HEAD)
        return file, Head(**{name: getattr(evaluation, name) for name in known})

    def _file(self, rows: Any) -> ScoreFile:
        options, opened, buffer = self.options, self.opened, BytesIO()
        if opened.kind == "csv":
            import_arrow_module("csv").write_csv(rows, buffer)
        else:
            described = rows.replace_schema_metadata(opened.metadata or {})
            import_parquet().write_table(described, buffer)
        stated: Any = {name: options[name] for name in ("query_id", "metrics", "roles")}
        try:
            files = read(buffer.getvalue(), totals="keep", **stated)
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

    def _evaluation(self, file: ScoreFile, options: Mapping[str, Any]) -> Any:
        opened = self.opened
        return self.construct(opened.name, file, opened.place, totals="keep", **options)


def _is_blank(texts: nw.Expr) -> nw.Expr:
    return texts.is_null() | (texts.str.strip_chars() == "")


@dataclass(frozen=True)
class _TableColumns:
    """What the columns of an opened frame are, by what the first rows were taken for.

    `texts` are the columns of metrics that are text, `metrics` and `details` expressions by name.
    """

    opened: OpenedFrame
    id_column: str
    texts: list[str]
    metrics: dict[str, nw.Expr]
    details: dict[str, nw.Expr]

    @classmethod
    def of(cls, reader: RowReader, head: Head) -> _TableColumns:
        """The columns; an error if there is none for a metric or for the ids."""
        opened, types = reader.opened, dict(reader.opened.frame.collect_schema())
        by_role = dict(zip(head.roles["column"], head.roles["role"], strict=True))
        sources = {normalise_name(c): c for c, role in by_role.items() if role == "metric"}
        lost = [name for name in head.metrics if sources.get(name) not in types]
        ids = [column for column, role in by_role.items() if role == "id"]
        # An index of pandas is a column of the file, and has no role.
        ids = [c for c in (*ids, reader.options["query_id"] or QUERY_ID) if c in types]
        ids = ids or [column for column in types if column not in by_role]
        if lost or not ids:
            what = f"a column for each metric; {named(lost)} were made of other columns"
            raise ReaderError(
                f"a scan needs {what if lost else 'a column of query ids: query_id=...'}. Load the "
                f"table, or write the scores with save. Columns: {named(types, 12)}",
                path=opened.place,
            )
        others = [c for c, role in by_role.items() if role not in ("metric", "id") and c in types]
        labels = zip(map(str, head.details.columns), others, strict=False)
        details = {name: nw.col(c) for name, c in labels if name not in head.metrics}
        texts, metrics = [], {}
        for name in head.metrics:
            column = number = nw.col(sources[name])
            if types[sources[name]] == nw.String:
                texts.append(sources[name])
                is_numeral = column.str.contains(_NUMERAL)
                number = nw.when(is_numeral).then(column.str.strip_chars())
            number = number.cast(nw.Float64)
            # SQLite stores NaN as NULL, and has no function that tests for NaN.
            is_exact = opened.kind == "sqlite"
            metrics[name] = number if is_exact else nw.when(~number.is_nan()).then(number)
        return cls(opened, ids[0], texts, metrics, details)

    @property
    def query_id(self) -> nw.Expr:
        """The ids as text; null where a number is no id."""
        ids, kind = nw.col(self.id_column), self.opened.frame.collect_schema()[self.id_column]
        if kind.is_float():  # whole numbers, among which a cell was empty
            ids = nw.when(~ids.is_nan() & (ids == ids.round())).then(ids).cast(nw.Int64)
        return (ids if kind == nw.String else ids.cast(nw.String)).alias(QUERY_ID)

    def expressions(self) -> list[nw.Expr]:
        """The ids, the metrics and the details, by their names."""
        named_columns = {**self.metrics, **self.details}
        return [self.query_id, *(own.alias(name) for name, own in named_columns.items())]

    def check_texts(self) -> None:
        """Refuse texts that are no numbers, and do not say that a score is missing."""
        for column in self.texts:
            text = nw.col(column)
            odd = self.opened.frame.filter(~_is_blank(text) & ~text.str.contains(_NUMERAL))
            for cell in collect(odd.select(text).unique().sort(column).head(_MOST_ODD))[column]:
                known = read_cell(cell)
                if not known.is_read or known.state != MISSING:
                    row = collect(odd.filter(text == cell).head(1)).iloc[0]
                    raise ReaderError(
                        f"{normalise_name(column)!r} must be numbers, and empty where a query is "
                        f"unscored; got {cell!r} at {row[self.id_column]!r}. Read the table whole "
                        "with read_scores, which knows such cells",
                        self.opened.place,
                    )

    def look(self, head: Head) -> tuple[int, dict[str, list[float]]]:
        """The number of rows, and of each metric that of its scores, the extremes, and new kinds.

        The kinds are those that `infer_metric` looks at, as far as the first rows do not show them.
        Ids are counted by the way, and bad ones are refused.
        """
        facts, ids = {}, self.query_id
        for name, x in self.metrics.items():
            known = head.scores[name].dropna()
            new = [holds for holds in _KINDS if not holds(known).any()]
            facts[name] = [x.count(), x.min(), x.max(), *(nw.when(h(x)).then(x).min() for h in new)]
        looks = {f"{p} {n}": each for n, own in facts.items() for p, each in enumerate(own)}
        looks |= {"n": nw.len(), "ids": ids.count(), "k": ids.n_unique(), "first": ids.min()}
        wanted = [each.alias(label) for label, each in looks.items()]
        row = collect(self.opened.frame.select(*wanted)).iloc[0]
        if not row["n"] == row["ids"] == row["k"] or not str(row["first"]).strip():
            self._refuse_ids()
        return int(row["n"]), {
            name: [float(row[f"{place} {name}"]) for place in range(len(own))]
            for name, own in facts.items()
        }

    def _refuse_ids(self) -> None:
        """Name rows without an id, or ids that occur twice."""
        frame, ids = self.opened.frame, self.query_id
        blank = collect(frame.filter(_is_blank(ids)).head(1))
        if len(blank):
            what = "every row needs a query id, a text or an integer; this one has none"
            row = blank.iloc[0].to_dict()
            raise ReaderError(f"{what}: {row!r:.200}", self.opened.place)
        counts = frame.select(ids).group_by(QUERY_ID).agg(nw.len().alias("n"))
        twice = collect(counts.filter(nw.col("n") > 1).sort(QUERY_ID).head(MOST_NAMED + 1))
        repeated = RepeatedIdsError(twice[QUERY_ID].tolist(), "Remove them, or load the table")
        raise ReaderError(repeated.args[0], self.opened.place)

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
