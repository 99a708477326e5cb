"""What analyses ask of a scan: counts of queries and of answers, some rows, and its pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add, and_, or_
from typing import Any, Self

import narwhals as nw
import numpy as np
import pandas as pd

from rageval_report.analysis import arguments, breakdown
from rageval_report.analysis.arguments import Clusters, EvaluationSubset
from rageval_report.analysis.gate_figures import GatedRun, GateSettings
from rageval_report.analysis.pairing import MISSING_TREATMENTS
from rageval_report.analysis.report import UnscoredQueries
from rageval_report.errors import check_choice
from rageval_report.scale import pairs, tables
from rageval_report.scale.counted import SUMMED, CountedTable
from rageval_report.scale.frames import LazyTable, collect, open_beside
from rageval_report.scores import Correct, Scored, align, normalise_name, resolver
from rageval_report.scores.correct import CorrectCounts, CorrectNotion, answers_by
from rageval_report.scores.query_ids import QUERY_ID, QUESTION
from rageval_report.scores.run_file import reference_column
from rageval_report.scores.states import ERROR, REASON, STATE
from rageval_report.stats.columns import MOST_LISTED
from rageval_report.stats.units import QUERIES, Units
from rageval_report.types import BoolArray, FloatArray

# Tables of no more rows are fetched by what needs every row and no statistics of its own.
MOST_FETCHED = 2**20
# The metrics that say of a query whether it was refused rightly, and why it failed.
_OF_ANSWERS = ("hallucinated_answer", "abstention_recall", "false_refusal")
_OF_RETRIEVAL = ("hit", "recall", "reachable_recall")
# What decides about answers and causes, beside the thresholds of rules and the ends of scales.
_CUTS = (0.0, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of some columns that occur, of scores those that decide alike.

    `rows` has one query for each and `n` how many there are; `keys` is what was counted, for each
    metric how many cuts its score reaches, and `columns` the same of every row.
    """

    rows: EvaluationSubset
    n: FloatArray
    keys: pd.DataFrame
    columns: Mapping[str, nw.Expr]

    @classmethod
    def of(
        cls, table: tables.ScannedTable, notion: CorrectNotion, known_as: Iterable[str] = ()
    ) -> Self:
        """Those that decide whether an answer is correct, and those of other metrics.

        Raises
        ------
        DataError
            If the rule is a function, which needs every row.
        """
        if callable(notion.rule):
            raise table.needs_memory("correct: a function")
        cuts, wanted = _cuts_of_rule(table, notion), {*_OF_ANSWERS, *known_as}
        columns: dict[str, nw.Expr] = {}
        for name, metric in table.metrics.items():
            if name in cuts or metric.known_as in wanted:
                x, ends = nw.col(name), {*cuts.get(name, ()), *_CUTS, *(metric.bounds or ())}
                # Without a cast of a truth value, which PostgreSQL refuses; null where unscored.
                reached = (
                    nw.when(x > e).then(2).when(x == e).then(1).when(x < e).then(0) for e in ends
                )
                columns[name] = reduce(add, reached)
        scored = {f"x{place}": name for place, name in enumerate(columns)}
        details = [d for d in table.details if d in (notion.rule, notion.column)]
        columns |= {name: nw.col(name) for name in details}
        keys = {f"_{place}": name for place, name in enumerate(columns)}
        reduced = table.frame.select(
            *(columns[name].alias(key) for key, name in keys.items()),
            *(nw.col(name).alias(key) for key, name in scored.items()),
        )
        # Scores that reach the same cuts decide alike: any of them stands for all.
        count = [nw.len().alias("n"), *(nw.col(key).min() for key in scored)]
        counted = collect(reduced.group_by(*keys).agg(*count))
        own = counted[[*keys]].rename(columns=keys)
        # The other metrics are there as well, for messages.
        scores = counted[[*scored]].rename(columns=scored).reindex(columns=list(table.metrics))
        rows = table.head.name, scores.astype(np.float64), own[details], table.metrics
        subset = EvaluationSubset(*rows, table.head.config)
        return cls(subset, counted["n"].to_numpy(np.float64), own, columns)

    def condition(self, is_chosen: Any) -> nw.Expr:
        """Whether a query has one of the chosen combinations; null is no."""
        chosen: list[Any] = self.keys[np.asarray(is_chosen, dtype=bool)].to_dict("records")
        alike = [
            reduce(
                and_,
                (c.is_null() if pd.isna(key[n]) else c == key[n] for n, c in self.columns.items()),
            )
            for key in chosen
        ]
        return reduce(or_, alike) if alike else nw.lit(value=False)

    def count(self, is_chosen: BoolArray) -> int:
        """How many queries have one of the chosen combinations."""
        return int(self.n[is_chosen].sum())


def _cuts_of_rule(table: tables.ScannedTable, notion: CorrectNotion) -> dict[str, set[float]]:
    """The metrics of a rule, each with its thresholds."""
    rule, resolve = notion.rule, resolver(table.metrics)
    if isinstance(rule, str):
        return {} if rule in table.details else {resolve(rule): set()}
    pairs = dict(rule) if isinstance(rule, Mapping) else dict([rule])  # type: ignore[list-item]
    return {resolve(name): {float(threshold)} for name, threshold in pairs.items()}


class CountedQueries:
    """What analyses ask of a scan; `EvaluationScan` is one, with the verbs of a user."""

    def __init__(
        self,
        name: str,
        place: str,
        engine: str,
        describe: Callable[[], tables.ScannedTable],
        in_memory: type = object,
    ):
        self.name, self.place, self.engine = name, place, engine
        self._describe, self._in_memory = describe, in_memory

    @cached_property
    def table(self) -> tables.ScannedTable:
        """The lazy frame with what its columns are."""
        return self._describe()

    @property
    def head(self) -> tables.Head:
        """The first rows as an evaluation, whose metrics and notes are those of all rows."""
        return self.table.head

    @property
    def n_queries(self) -> int:
        """The number of rows."""
        return self.table.n_rows

    def needs_memory(self, what: str) -> Exception:
        """The error for an analysis that needs every row in memory."""
        return self.table.needs_memory(what)

    def like(self, name: str, describe: Callable[[], tables.ScannedTable]) -> Self:
        """Another table of the same engine."""
        return type(self)(name, "in memory", self.engine, describe, self._in_memory)

    # -- tables in memory, and rows

    def beside(self, evaluation: Scored) -> Self:
        """An evaluation in memory as a scan of the same engine."""
        return self.like(evaluation.name, lambda: tables.same_engine(self.table, evaluation))

    def fetched(self, what: str) -> tables.Head:
        """All rows, by id, as an evaluation; an error if they are too many."""
        self._check_size(what, MOST_FETCHED)
        return self.table.with_rows(self.table.first_rows(None, None, None))

    def _check_size(self, what: str, most: int) -> None:
        if self.n_queries > most:
            raise self.needs_memory(what)

    def _ids_with(self, columns: Sequence[str]) -> EvaluationSubset:
        rows = collect(self.table.frame.select(QUERY_ID, *columns)).set_index(QUERY_ID)
        return EvaluationSubset(self.name, pd.DataFrame(index=rows.index), rows, {})

    def queries(self) -> EvaluationSubset:
        """The ids and references of all queries, without scores."""
        self._check_size("a history, which compares the ids of all queries,", MOST_LISTED)
        reference = reference_column(self.table.details)
        return self._ids_with([reference] if reference else [])

    def worst_ids(self, metrics: Iterable[str], k: int) -> list[str]:
        """The ids of the k worst queries of each metric; all ids of a table of no more queries."""
        if self.n_queries <= k:
            return self._ids_with([]).scores.index.sort_values().tolist()
        better, first = self.table.metrics, partial(self.table.first_rows, None)
        rows = [first(n, k, descending=not better[n].greater_is_better).index for n in metrics]
        return list(dict.fromkeys(query_id for part in rows for query_id in part))

    def rows_of(self, ids: Sequence[str]) -> tables.Head:
        """Some queries as an evaluation."""
        rows = self.table.first_rows(nw.col(QUERY_ID).is_in(ids), None, None)
        return self.table.with_rows(rows)

    # -- counts

    @cached_property
    def _counted(self) -> CountedTable:
        """The columns with counts."""
        return CountedTable.of(self.table)

    def counted_table(self, clusters: Clusters | None = None) -> CountedTable:
        """The columns with counts, and with clusters."""
        return self._counted if clusters is None else CountedTable.of(self.table, clusters)

    def cluster_labels(self, clusters: Clusters) -> list[Any]:
        """The distinct labels of clusters."""
        rows = self.counted_table(clusters).sides.rows.select("cluster").unique()
        return collect(rows)["cluster"].tolist()  # type: ignore[no-any-return]

    def cluster_hint(self) -> str | None:
        """A note on the first column that looks like clusters in all rows."""
        if self.n_queries <= len(self.head.scores):
            return align.cluster_hint(self.head)
        n, shared = nw.col("n"), nw.when(nw.col("n") > 1).then(nw.col("n")).otherwise(0)
        sums = n.sum().alias("all"), nw.len().alias("k"), shared.sum().alias("s")
        for column in filter(align.cluster_noun, self.table.details):
            labelled = self.table.frame.filter(~nw.col(column).is_null())
            sizes = labelled.group_by(column).agg(nw.len().alias("n")).select(*sums)
            known = align.counted_clusters(column, *collect(sizes).fillna(0).astype(int).iloc[0])
            if known is not None:
                return align.hint_of(column, known)
        return None

    def count_unscored(self, metrics: Iterable[str]) -> UnscoredQueries:
        """The queries without a score, by metric, state and reason."""
        table, states, reasons = self.table, dict[str, Any](), dict[str, Any]()
        for name in filter(table.has_gaps, metrics):
            own = (f"{name}{STATE}", f"{name}{REASON}")
            key = [d for d in table.details if d == ERROR or normalise_name(d) in own]
            part = pd.DataFrame({"_n": [table.n_rows - table.n_scored[name]]})
            if key:
                blank = table.frame.filter(nw.col(name).is_null())
                part = collect(blank.group_by(*key).agg(nw.len().alias("_n")))
                part = part.sort_values(["_n", *key], ascending=False, ignore_index=True)
            times, scores = part.pop("_n"), pd.DataFrame({name: np.full(len(part), np.nan)})
            group = EvaluationSubset(self.name, scores, part, {name: table.metrics[name]})
            unscored = UnscoredQueries.of(group, [name], times=times)
            states |= unscored.states
            reasons |= unscored.reasons
        return UnscoredQueries(table.n_rows, states, reasons)

    def count_correct(self, notion: CorrectNotion) -> CorrectCounts:
        """How many queries are answered correctly."""
        combined = Combinations.of(self.table, notion)
        right = answers_by(combined.rows, notion)
        n_correct = combined.count(right.fillna(value=False).to_numpy(bool))
        n_unknown = combined.count(right.isna().to_numpy())
        return CorrectCounts(n_correct, self.n_queries - n_correct - n_unknown, n_unknown)

    def answers(self, notion: CorrectNotion) -> LazyTable:
        """Whether each query is answered correctly, as 1 or 0; 2 if that is not known."""
        combined = Combinations.of(self.table, notion)
        right = answers_by(combined.rows, notion)
        is_right = combined.condition(right.fillna(value=False))
        answer = nw.when(combined.condition(right.isna())).then(2).when(is_right).then(1)
        return self.table.frame.select(QUERY_ID, answer.otherwise(0).alias("is_right"))

    def causes(
        self, k: int, correct: Correct | CorrectNotion | None = None
    ) -> tuple[Combinations, pd.Series]:
        """The combinations of what decides why a query fails, and the cause of each."""
        notion = self.gated(GateSettings(correct=correct)).notion()
        stems = [f"{stem}{cutoff}" for stem in _OF_RETRIEVAL for cutoff in (f"@{k}", "")]
        combined = Combinations.of(self.table, notion, ("citation_hit", *stems))
        return combined, breakdown.failure_causes(combined.rows, k=k, correct=notion)

    def count_causes(
        self, k: int, correct: Correct | CorrectNotion | None
    ) -> breakdown.CauseCounts:
        """How many queries fail for each cause."""
        combined, causes = self.causes(k, correct)
        sums = pd.Series(combined.n).groupby(causes.to_numpy()).sum().astype(int)
        counts = Counter({str(cause): int(n) for cause, n in sums.items()})
        unmeasured = breakdown.CauseCounts.of(combined.rows, causes).unmeasured
        return breakdown.CauseCounts(self.n_queries, counts, unmeasured)

    # -- the scan in gates, beside others, and in a history

    def gated(self: Any, settings: GateSettings, *, with_clusters: bool = False) -> GatedRun:
        """The pipeline as gates take it."""
        if settings.clusters is not None:
            rows = self.fetched("gate() with clusters")
            return GatedRun(rows, settings, arguments.resolve_units(rows, settings.clusters))
        return GatedRun(self, settings, SUMMED if with_clusters else QUERIES)

    def matched(self, scans: Sequence[Self], on: str | None) -> list[Self]:
        """Scans of one engine, the others with the ids that the same texts have in the first."""
        for scan in scans:
            tables.same_engine(self.table, scan.table)
        if on is None:
            return list(scans)
        first, *others = [scan._texts(on) for scan in scans]
        renamed = [scans[0]]
        for scan, own, new in zip(
            scans[1:], others, align.match_all(first, others, on), strict=True
        ):
            ids = pd.DataFrame({QUERY_ID: own.scores.index, "new_id": new.scores.index})
            beside = open_beside(scan.table.opened, ids).frame
            frame = scan.table.frame.join(beside, on=QUERY_ID, how="inner").drop(QUERY_ID)
            table = replace(scan.table, frame=frame.rename({"new_id": QUERY_ID}))
            renamed.append(scan.like(scan.name, partial(lambda table: table, table)))
        return renamed

    def _texts(self, on: str) -> EvaluationSubset:
        """The ids and the texts by which queries are matched."""
        self._check_size("on=, which matches queries by their texts,", MOST_FETCHED)
        own = self.table.details
        names = [c for c in own if c == on or (on == "question" and normalise_name(c) in QUESTION)]
        return self._ids_with(names)

    def pair_with(
        self,
        others: Sequence[Self],
        metrics: str | Iterable[str] | None,
        missing: Any,
        clusters: Clusters | None,
        on: str | None,
    ) -> tuple[tuple[Any, ...], Units]:
        """The scan beside each of others, and what is independent."""
        named = metrics if metrics is None or isinstance(metrics, str) else list(metrics)
        matched: list[Any] = [self.matched([self, other], on) for other in others]
        pairings = tuple(
            pairs.CountedPairing.of(tuple(two), named, missing, clusters) for two in matched
        )
        return pairings, pairings[0].sides.unit_of_rows

    def line_up(
        self,
        scans: Sequence[Self],
        metrics: str | Iterable[str] | None,
        missing: Any,
        clusters: Clusters | None,
        on: str | None,
    ) -> pairs.CountedLineup:
        """Scans, of which this is the first, as the lineup of a ranking."""
        check_choice("missing", missing, MISSING_TREATMENTS)
        runs: Any = self.matched(scans, on)
        return pairs.CountedLineup.of(runs, metrics, missing, clusters)

    def run_beside(self, before: Any, after: Any) -> pairs.SameScannedQueries:
        """Two runs of a history, the first of which is this scan."""
        [other] = arguments.scans_among((self, after.evaluation), "history()")[1:]
        own = self.table, tables.same_engine(self.table, other.table)
        return pairs.SameScannedQueries(before, after, own)
