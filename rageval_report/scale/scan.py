"""`EvaluationScan`: the evaluation of a pipeline whose scores do not fit into memory.

Beside it what compare, rank and history ask of several scans.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pandas as pd

from rageval_report.analysis import arguments, lineup, pairing, slices
from rageval_report.analysis import report as reporting
from rageval_report.analysis.arguments import Clusters, EvaluationSubset, unnamed_clusters
from rageval_report.analysis.compare import compare
from rageval_report.analysis.gate import gate
from rageval_report.analysis.history import SameQueries
from rageval_report.analysis.paired_metric import ComparisonPlan, MetricComparison
from rageval_report.analysis.tables import NO_GROUP, order_of_groups
from rageval_report.errors import AlignmentError, check_choice, doubts_of, named
from rageval_report.plots import plot_named
from rageval_report.reports.build import report_evaluation
from rageval_report.results import Result
from rageval_report.scale import tables
from rageval_report.scale.counted import CountedTable, SideBySide, difference, grid_notes
from rageval_report.scale.tables import MOST_WORST, LazyTable, ScannedTable, collect, count_rows
from rageval_report.scores import Metric, join_details, normalise_name, resolver
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.correct import CorrectCounts, CorrectNotion, answers_by
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.roles import ColumnRole, count_roles
from rageval_report.scores.run_file import reference_column
from rageval_report.scores.states import ERROR, REASON, STATE
from rageval_report.stats.columns import Column
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import ClusteredStandardError, Units
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.plots.kinds import Plot

# The metrics that say of a query whether it was refused rightly.
_OF_REFUSALS = ("hallucinated_answer", "abstention_recall", "false_refusal")


class EvaluationScan:
    """The scores of one RAG pipeline in files of any size, or in a lazy frame.

    `RAGPipelineEvaluation.scan` makes one. It has the methods of `RAGPipelineEvaluation` whose
    results do not grow with the number of queries, with the same tables, notes and settings, and
    the engine among the settings. An engine counts the scores; nothing is read before a method
    needs it, and what was counted is kept. Other methods end with an error that names the size.

    Parameters
    ----------
    reader : RowReader
        Reads the rows of the opened frame.
    """

    def __init__(self, reader: tables.RowReader):
        self.name, self.place = reader.opened.name, reader.opened.place
        self.engine, self._reader = reader.opened.engine, reader

    @cached_property
    def table(self) -> tables.ScannedTable:
        """The lazy frame with what its columns are."""
        return tables.describe_table(self._reader)

    def __getattr__(self, name: str) -> Any:
        if name in tables.OF_HEAD:
            return getattr(self.table.head, name)
        if name in ("head", "n_queries", "needs_memory"):
            return getattr(self.table, name)
        in_memory = getattr(self._reader.load, "__self__", object)
        if name.startswith("_") or not hasattr(in_memory, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise self.needs_memory(f"what reads {name}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.place}, engine {self.engine})"

    def collect(self) -> Any:
        """The evaluation in memory, as `RAGPipelineEvaluation`."""
        return self._reader.collect()

    # -- one pipeline: the verbs of an evaluation in memory

    find_thresholds: ClassVar[Callable[..., Any]] = reporting.find_thresholds
    slices: ClassVar[Callable[..., Any]] = slices.slice_summary
    gate: ClassVar[Callable[..., Any]] = gate
    report: ClassVar[Callable[..., Any]] = report_evaluation
    comparative_summary: ClassVar[Callable[..., Any]] = compare

    def evaluation_report(self: Any, **settings: object) -> reporting.EvaluationReport:
        """The report, as `RAGPipelineEvaluation.evaluation_report` with the same settings.

        An interval that draws random numbers from more scores than a grid has steps needs them in
        memory.
        """
        known: Any = settings
        report = reporting.evaluation_report(self, **known)
        counted = count_roles(ColumnRole(*row) for row in self.roles.itertuples(index=False))
        return report.with_notes(*self.notes, *([counted] if counted else []))

    classification_report = evaluation_report

    def get_aggregated_scores(self, metric: str | None = None) -> Any:
        """The mean of one metric, or of all, as `RAGPipelineEvaluation.get_aggregated_scores`."""
        table = self.counted_table()
        means = {name: table.column(each).mean for name, each in self.table.head.metrics.items()}
        if metric is not None:
            return means[resolver(self.table.head.metrics)(metric)]
        return pd.Series(means, name="mean").rename_axis("metric")

    def failures(
        self, metric: str, threshold: float | str, *, k: int = MOST_WORST, method: Any = None
    ) -> Result:
        """The queries on the wrong side of a threshold: how many they are, and the k worst.

        Parameters
        ----------
        metric, threshold, method
            As in `RAGPipelineEvaluation.failures`.
        k : int
            How many queries the table has, the worst first, equal ones in the order of their ids.

        Returns
        -------
        Result
            With question, answer and reasons if the details have them.
        """
        table, head = self.table, self.head
        known = arguments.choose_metrics(head, metric)[0]
        column, rule = self.counted_table().column(known), method or percentile_method(head)
        cut = arguments.threshold_value(known, column, threshold, rule)
        is_wrong = operator.lt if known.greater_is_better else operator.gt
        condition = is_wrong(nw.col(known.name), cut)
        worst = table.first_rows(condition, known.name, k, descending=not known.greater_is_better)
        n_wrong = count_rows(table.frame.filter(condition))
        names = [known.name, *(name for name in table.head.metrics if name != known.name)]
        rows = join_details(worst[names], worst.drop(columns=names))
        counts = n_wrong, column.n, table.n_queries - column.n
        result = reporting.failures_of_rows(head, known, rows, counts, cut, threshold, rule)
        cut_off = [f"the table has the {len(rows)} worst"] if n_wrong > len(rows) else []
        settings = {**result.settings, "engine": self.engine}
        return replace(result, settings=settings).with_notes(*cut_off)

    def plot(self, kind: str | Plot = "distribution", *args: str, **options: object) -> Axes:
        """Draw the scan; see `rageval_report.plots`.

        Parameters
        ----------
        kind : {"distribution", "slices"}
            "slices" needs ``by=``. Other plots show single queries or two pipelines: see
            `rageval_report.compare`.
        *args : str or iterable of str
            The metrics, by any of their names.
        **options
            The Axes to draw on, ``ax=``, and the options of the plot.
        """
        entry = plot_named(kind)
        if entry.name not in ("distribution", "slices") or "other" in options:
            raise self.needs_memory(f"the plot {entry.name!r}")
        known: Any = options
        return entry(self, *args, **known)

    def counted(self, metric: str) -> tuple[FloatArray, FloatArray]:
        """The distinct scores of a metric in ascending order, and how often each occurs."""
        column = self.counted_table().column(self.table.head.metrics[metric])
        return column.values, column.counts

    # -- rows

    def beside(self, evaluation: Any) -> Self:
        """An evaluation in memory as a scan of the same engine."""
        path = tables.temporary_folder() / f"memory-{id(evaluation)}.parquet"
        evaluation.save(path, force=True)
        opened = tables.open_beside(self._reader.opened, path, evaluation.name)
        plain = dict.fromkeys(self._reader.options) | {"strict": False, "allow": ()}
        return type(self)(replace(self._reader, opened=opened, options=plain))

    def queries(self) -> EvaluationSubset:
        """The ids and references of all queries, without scores."""
        reference = reference_column(self.table.details)
        wanted = [QUERY_ID, *([reference] if reference else [])]
        rows = collect(self.table.frame.select(*wanted)).set_index(QUERY_ID)
        return EvaluationSubset(self.name, pd.DataFrame(index=rows.index), rows, {})

    def worst_ids(self, metrics: Iterable[str], k: int) -> list[str]:
        """The ids of the k worst queries of each metric."""
        first, known = self.table.first_rows, self.table.head.metrics
        rows = [first(None, n, k, descending=not known[n].greater_is_better) for n in metrics]
        return list(dict.fromkeys(query_id for part in rows for query_id in part.index))

    def rows_of(self, ids: Sequence[str]) -> tables.Head:
        """Some queries as an evaluation."""
        rows = self.table.first_rows(nw.col(QUERY_ID).is_in(ids), None, len(ids))
        return self.table.with_rows(rows)

    # -- counts

    @cached_property
    def _counted(self) -> CountedTable:
        return CountedTable.of(self.table)

    def counted_table(self, clusters: Clusters | None = None) -> CountedTable:
        """The columns with counts, and with clusters."""
        return self._counted if clusters is None else CountedTable.of(self.table, clusters)

    def count_unscored(self, metrics: Iterable[str]) -> reporting.UnscoredQueries:
        """The queries without a score, by metric, state and reason."""
        table, states, reasons = self.table, dict[str, Any](), dict[str, Any]()
        for name in filter(table.has_gaps, metrics):
            own = (f"{name}{STATE}", f"{name}{REASON}")
            key = [d for d in table.details if d == ERROR or normalise_name(d) in own]
            blank = table.frame.filter(nw.col(name).is_null()).with_columns(nw.lit(0).alias("_"))
            part = collect(blank.group_by("_", *key).agg(nw.len().alias("_n")))
            part = part.sort_values(["_n", *key], ascending=False, ignore_index=True)
            times, scores = part.pop("_n"), pd.DataFrame({name: np.full(len(part), np.nan)})
            group = EvaluationSubset(self.name, scores, part, {name: table.head.metrics[name]})
            unscored = reporting.UnscoredQueries.of(group, [name], times=times)
            states |= unscored.states
            reasons |= unscored.reasons
        return reporting.UnscoredQueries(table.n_queries, states, reasons)

    def count_correct(self, notion: CorrectNotion) -> CorrectCounts:
        """How many queries are answered correctly, by the combinations of what decides it.

        Raises
        ------
        DataError
            If the rule is a function, which needs every row.
        """
        table, cuts, keys = self.table, self._cuts_of(notion), dict[str, nw.Expr]()
        for name, metric in table.head.metrics.items():
            if name in cuts or metric.known_as in _OF_REFUSALS:
                # Scores that reach the same cuts decide alike: any of them stands for all.
                x, ends = nw.col(name), {*cuts.get(name, ()), 0.5, *(metric.bounds or ())}
                reached = (
                    nw.when(x > e).then(2).when(x == e).then(1).when(x < e).then(0) for e in ends
                )
                keys[f"_{name}"] = reduce(operator.add, reached)
        details = [d for d in table.details if d in (notion.rule, notion.column)]
        known = [key[1:] for key in keys]
        counted = table.frame.select(*known, *details, **keys).group_by(*keys, *details)
        rows = collect(counted.agg(nw.len().alias("_n"), *(nw.col(name).min() for name in known)))
        # The other metrics are there as well, for messages.
        scores = rows.reindex(columns=list(table.head.metrics)).astype(np.float64)
        subset = EvaluationSubset(
            self.name, scores, rows[details], table.head.metrics, self.head.config
        )
        right, n = answers_by(subset, notion), rows["_n"].to_numpy()
        n_right = int(n[right.fillna(value=False).to_numpy(bool)].sum())
        n_unknown = int(n[right.isna().to_numpy()].sum())
        return CorrectCounts(n_right, self.n_queries - n_right - n_unknown, n_unknown)

    def _cuts_of(self, notion: CorrectNotion) -> dict[str, set[float]]:
        """The metrics of a rule, each with its thresholds."""
        rule, resolve = notion.rule, resolver(self.table.head.metrics)
        if callable(rule):
            raise self.needs_memory("correct: a function")
        if isinstance(rule, str):
            return {} if rule in self.table.details else {resolve(rule): set()}
        known = dict(rule) if isinstance(rule, Mapping) else dict([rule])
        return {resolve(name): {float(threshold)} for name, threshold in known.items()}

    # -- the scan beside others, and in a history

    def pair_with(self, others: Sequence[Any], settings: tuple[Any, ...]) -> tuple[Any, Units]:
        """The scan beside each of others, as `CountedPairing`, and what is independent."""
        known = self._without_on(settings)
        pairings = tuple(CountedPairing.of((self, each), *known) for each in others)
        return pairings, pairings[0].sides.unit_of_rows

    def line_up(self, scans: Sequence[Any], settings: tuple[Any, ...]) -> CountedLineup:
        """Scans, of which this is the first, as the lineup of a ranking."""
        check_choice("missing", settings[1], pairing.MISSING_TREATMENTS)
        return CountedLineup.of(scans, *self._without_on(settings))

    def _without_on(self, settings: tuple[Any, ...]) -> list[Any]:
        *known, on = settings
        if on is not None:
            raise self.needs_memory("on=, which matches queries by their texts,")
        return known

    def run_beside(self, before: Any, after: Any) -> SameScannedQueries:
        """Two runs of a history, the first of which is this scan."""
        [_, other] = arguments.scans_among((self, after.evaluation), "history()")
        return SameScannedQueries(before, after, (self.table, other.table))


# -- scans side by side


def lone_ids(own: LazyTable, other: LazyTable, k: int = 5) -> list[str]:
    """The first ids, in their order, that another table does not have."""
    alone = own.select(QUERY_ID).join(other.select(QUERY_ID), on=QUERY_ID, how="anti")
    return [str(query_id) for query_id in collect(alone.sort(QUERY_ID).head(k))[QUERY_ID]]


# -- comparisons


@dataclass(frozen=True, eq=False)
class CountedPairing(pairing.PairedRuns):
    """Two scans side by side; `sides` are their tables, with the settings of the comparison."""

    sides: SideBySide

    @classmethod
    def of(
        cls,
        scans: tuple[EvaluationScan, EvaluationScan],
        metrics: str | Iterable[str] | None,
        missing: str,
        clusters: Clusters | None,
    ) -> Self:
        """Two scans with the metrics that they share, as `pair_runs`, whose errors it raises."""
        heads = scans[0].head, scans[1].head
        agreed: list[Any] = pairing.on_one_scale(heads, pairing.shared_metrics(*heads, metrics))
        sides = SideBySide.of([scan.table for scan in scans], agreed, missing, clusters)
        if not sides.n_common:
            first, second = (named(head.scores.index, 3) for head in heads)
            raise AlignmentError(
                f"{heads[0].name!r} and {heads[1].name!r} share no query id; ids of the first: "
                f"{first}, of the second: {second}"
            )
        return cls(*scans, agreed, sides)

    @property
    def n_common(self) -> int:
        """The number of queries that both have."""
        return self.sides.n_common

    @property
    def n_alone(self) -> int:
        """The number of queries that one of them has alone."""
        return sum(table.n_queries for table in self.sides.tables) - 2 * self.n_common

    def measured(self, ours: Metric, *_: object) -> pairing.MetricPairs:
        """The pairs of a metric; the settings are those of the sides."""
        return self.sides.measured([own.name for own, _ in self.metrics].index(ours.name))

    def units_of_candidate(self, units: Units) -> Units:
        """The same units; figures of clusters need the rows of the candidate."""
        return units

    def __getattr__(self, name: str) -> Any:
        if name in ("both", "alignment"):
            raise self.baseline.needs_memory("what shows every query of a comparison")
        raise AttributeError(name)

    def sliced(
        self, by: str, metrics: Sequence[tuple[Metric, Metric]], plan: ComparisonPlan
    ) -> slices.SlicedPairs:
        """The pairs of each group of a column of the baseline."""
        self.sides.tables[0].check_groups(by)
        sides = replace(self.sides, metrics=metrics, by=by)
        labels = order_of_groups(sides.groups)
        tables = [
            {
                label: MetricComparison(self.names, ours, sides.measured(i, label), plan)
                for label in labels
            }
            for i, (ours, _) in enumerate(metrics)
        ]
        return tables, sides.groups.get(NO_GROUP, 0)

    def notes(self) -> list[str]:
        """What only one has, and grids."""
        tables, lone = self.sides.tables, []
        for own, other in (tables, tables[::-1]):
            n = own.n_queries - self.n_common
            lone.append((lone_ids(own.frame, other.frame) if n else [], n))
        columns = {ours.name: self.measured(ours).pairs.units for ours, _ in self.metrics}
        heads = [table.head for table in tables]
        return [*pairing.notes_on_sides(heads, lone), *grid_notes(columns)]

    def changed(self, pair: tuple[Metric, Metric], k: int | None, *, better: bool) -> pd.DataFrame:
        """The queries that changed in one direction; see `Comparison.regressions`."""
        tables = self.sides.tables
        known = [t.ranges.get(m.name) for t, m in zip(tables, pair, strict=True)]
        moved = difference(nw.col("r0_0"), nw.col("r0_1"), [each for each in known if each])
        change, rises = nw.col("difference"), pair[0].greater_is_better == better
        scores = [
            nw.col(f"r0_{p}").alias(f"{name}_{pair[0].name}") for p, name in enumerate(self.names)
        ]
        rows = SideBySide(tables, [pair]).rows.with_columns(moved.alias("difference"))
        rows = rows.filter(change > 0 if rises else change < 0).select(QUERY_ID, *scores, change)
        most = MOST_WORST if k is None else k
        ordered = rows.sort("difference", QUERY_ID, descending=[rises, False])
        listed = collect(ordered.head(most)).set_index(QUERY_ID).astype("float64")
        n = len(listed) if len(listed) < most else count_rows(rows)
        details = [table.details_of(listed.index) for table in tables]
        return self.beside_details(listed, details, n)


# -- histories


@dataclass(frozen=True, eq=False)
class SameScannedQueries(SameQueries):
    """Two scanned runs of a history, and their tables, on the queries that are the same in both."""

    tables: tuple[ScannedTable, ScannedTable]

    @cached_property
    def n_same(self) -> int:
        """The number of the queries that are the same."""
        return SideBySide.of([self.tables[0], self._same], []).n_common

    def _changes(self) -> tuple[int, int, int]:
        n_common, (ours, theirs) = SideBySide(self.tables, []).n_common, self.tables
        return theirs.n_queries - n_common, ours.n_queries - n_common, n_common - self.n_same

    def _paired(
        self,
        metrics: Sequence[tuple[Metric, Metric]],
        plan: ComparisonPlan,
        clusters: Clusters | None,
    ) -> tuple[pairing.PairedRuns, ComparisonPlan]:
        tables = [self.tables[0], self._same]
        sides = SideBySide.of(tables, metrics, plan.missing, clusters)
        paired = CountedPairing(self.before, self.after, list(metrics), sides)
        return paired, replace(plan, units=sides.unit_of_rows)

    @cached_property
    def _same(self) -> ScannedTable:
        """The later table without queries whose reference differs."""
        ours, theirs = self.tables
        if self.before.query_set == self.after.query_set:
            return theirs
        keys, sides = [QUERY_ID, "_reference"], []
        for table in (ours, theirs):
            column = reference_column(table.details)
            own = nw.lit("") if column is None else nw.col(column).cast(nw.String).fill_null("")
            sides.append(table.frame.with_columns(own.alias("_reference")))
        rows = sides[1].join(sides[0].select(*keys), on=keys, how="inner")
        return replace(theirs, frame=rows.drop("_reference"))


# -- rankings


@dataclass(frozen=True, eq=False)
class CountedLineup(lineup.Lineup):
    """Scans side by side: `sides` are their tables, with the metrics that are `chosen`."""

    chosen: list[str] = field(kw_only=True)
    sides: SideBySide = field(kw_only=True)

    @classmethod
    def of(
        cls,
        runs: Sequence[EvaluationScan],
        metrics: str | Iterable[str] | None,
        missing: Any,
        clusters: Clusters | None,
    ) -> Self:
        """The pipelines; one without any score of a common query is not ranked on a metric.

        Raises
        ------
        AlignmentError
            If no query, or no metric, is in all of them.
        """
        heads, tables = [run.head for run in runs], [run.table for run in runs]
        lineup.check_several([run.name for run in runs])
        common = lineup.common_metrics(heads)
        chosen = lineup.choose_shared_metrics(heads[0].metrics, common, metrics)
        own = [common[name] for name in chosen]
        ranked = [list(range(len(tables))) for _ in own]
        sides = SideBySide.of(tables, own, missing, clusters, ranked)
        n = sides.n_common
        if not n:
            raise AlignmentError(
                f"no query is in all {len(runs)} pipelines; compare them two by two"
            )
        kept = [
            [p for p in places if sides.n_unscored(i, p) < n - sides.n(f"n{i}")]
            for i, places in enumerate(ranked)
        ]
        sides = sides if kept == ranked else replace(sides, ranked=kept)
        differences = {
            name: sides.column(f"d{i}_{kept[i][0]}_{kept[i][1]}")
            for i, name in enumerate(chosen)
            if len(kept[i]) > 1
        }
        lone = []
        if any(table.n_queries != n for table in tables):
            every = nw.concat([table.frame.select(QUERY_ID) for table in tables]).unique()
            alone = {query for own in tables for query in lone_ids(own.frame, sides.rows, 6)}
            lone.append(lineup.note_on_lone_queries(sorted(alone), count_rows(every) - n))
        notes = (
            *doubts_of(heads),
            *unnamed_clusters(runs[0], clusters),
            *lone,
            *lineup.note_on_lone_metrics(heads, common),
            *grid_notes(differences),
        )
        scans, nowhere = tuple(runs), heads[0].scores.index[:0]
        settings: Any = scans, nowhere, (), common, notes, missing, sides.unit_of_rows
        return cls(*settings, chosen=chosen, sides=sides)

    @property
    def n_queries(self) -> int:
        """The number of queries that all have."""
        return self.sides.n_common

    def block(self, name: str) -> Any:
        """The scores of one metric on the queries that every pipeline scored."""
        first: Any = self.runs[0]
        if name not in self.chosen:
            raise first.needs_memory(f"{name}, which was not ranked,")
        i, sides = self.chosen.index(name), self.sides
        metric, ranked = self.metrics[name][0], sides.scored(i)
        unscored = np.array([sides.n_unscored(i, p) for p in ranked], dtype=np.int64)
        if self.missing == "worst" and unscored.any():
            pairing.require_bounds(metric)
        return CountedBlock(
            sides=sides,
            i=i,
            first=first,
            metric=metric,
            names=tuple(self.names[p] for p in ranked),
            unscored=unscored,
            empty=tuple(own for p, own in enumerate(self.names) if p not in ranked),
            n_not_applicable=sides.n(f"n{i}"),
            units=sides.unit_of_rows,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedBlock(lineup.RankedBlock):
    """One metric on the queries that every pipeline scored, counted; it has no rows."""

    sides: SideBySide
    i: int
    first: EvaluationScan

    @cached_property
    def columns(self) -> list[Column]:
        """The scores of each pipeline."""
        return [self.sides.column(f"s{self.i}_{p}") for p in self.sides.scored(self.i)]

    @cached_property
    def pairs(self) -> list[Pairs]:
        """All pairs, in the order of `AllPairs`."""
        places = combinations(self.sides.scored(self.i), 2)
        return [self.sides.pairs(self.i, p, q) for p, q in places]

    def error(self, place: int) -> ClusteredStandardError | None:
        """The standard error of the mean of a column by clusters."""
        return self.sides.error(f"s{self.i}_{self.sides.scored(self.i)[place]}")

    def __getattr__(self, name: str) -> Any:
        if name in ("values", "complete", "is_complete"):
            raise self.first.needs_memory("what resamples a ranking")
        raise AttributeError(name)
