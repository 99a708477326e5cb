"""Scans compared query by query: one pass over both tables for each candidate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Unpack, cast

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import ReportKeywords
from rageval_report.analysis.cluster_labels import Clusters, clusters_setting, unnamed_clusters
from rageval_report.analysis.comparing.comparison import (
    Comparison,
    comparison_of_rows,
    plan_comparison,
)
from rageval_report.analysis.comparing.keywords import ComparisonKeywords, PlanKeywords
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.analysis.differing_groups import differing_groups_note
from rageval_report.analysis.family import family_of_pairings
from rageval_report.analysis.gates.gate import gate_candidates, settings_of_comparison
from rageval_report.analysis.gates.grammar import Rule
from rageval_report.analysis.gates.result import GateResult
from rageval_report.analysis.gates.rule_resolution import Subject
from rageval_report.analysis.slice_pairs import order_of_groups
from rageval_report.analysis.slice_reversals import AllQueries, ComparedSlice
from rageval_report.analysis.slices import (
    NO_GROUP,
    choose_pairs,
    comparison_of_slices,
    group_notes_of,
    shared_clusters_note,
)
from rageval_report.errors import DataError, check_options, explain_keywords_of, named
from rageval_report.plots import plot_named
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import ComparisonPlot, MetricNames, PlotOptions
from rageval_report.results import Result
from rageval_report.scale.changed import MOST_CHANGED, changed_queries
from rageval_report.scale.gated import ScannedRun
from rageval_report.scale.opening import open_beside
from rageval_report.scale.paired import CLUSTER, GROUP, OTHER_GROUP, SUMMED, ScannedPairing
from rageval_report.scale.tables import ScannedTable, needs_memory, to_pandas
from rageval_report.scores import Correct, Metric
from rageval_report.scores.catalogue.dialects import dialect_settings, note_on_dialects
from rageval_report.scores.cluster_hint import counted_clusters, hint_of
from rageval_report.scores.guard import doubts_of
from rageval_report.scores.roles.usual_names import cluster_noun
from rageval_report.stats.base import PairedResult
from rageval_report.stats.columns import Column
from rageval_report.stats.corrections import WESTFALL_YOUNG
from rageval_report.stats.pairs import paired_test as run_test
from rageval_report.types import IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.reports.report import Report
    from rageval_report.scale.counted import LazyTable

# The column of labels that a caller gives by query id.
_LABELS = "_labels"


def compare_scans(
    baseline: ScannedTable,
    candidates: Sequence[ScannedTable],
    **options: Unpack[ComparisonKeywords],
) -> ScannedComparison:
    """The comparison of a baseline with its candidates, as that of evaluations in memory.

    Parameters
    ----------
    baseline : ScannedTable
        The pipeline in use.
    candidates : sequence of ScannedTable
        Those that might replace it, of the same engine.
    **options
        As in `rageval_report.compare`.

    Raises
    ------
    DataError
        If an option needs every score in memory.
    """
    check_options("compare()", options, ComparisonKeywords.__annotations__)
    tables = [baseline, *candidates]
    check_names([table.name for table in tables])
    correction = options.get("correction", "holm")
    refuse_options(baseline, options.get("on"), correction)
    metrics, named_clusters = options.get("metrics"), options.get("clusters")
    chosen = [metrics] if isinstance(metrics, str) else None if metrics is None else list(metrics)
    plan = plan_comparison(baseline.head, len(candidates), **_plan_keywords(options))
    first, clusters = with_clusters(baseline, named_clusters)
    if clusters is not None:
        plan = replace(plan, units=SUMMED)
    pairs = tuple(
        ScannedPairing.of(first, candidate, plan, metrics=chosen, clusters=clusters)
        for candidate in candidates
    )
    for pairing in pairs:
        check_labels(pairing.rows, pairing.clusters)
    heads = [table.head for table in tables]
    rows = [
        pairing.paired(place).tested(plan)
        for pairing in pairs
        for place in range(len(pairing.metrics))
    ]
    comparison = comparison_of_rows(
        f"{', '.join(table.name for table in candidates)} against {baseline.name}",
        *(pairs, rows, plan),
        correction=correction,
        n_queries=baseline.n_rows,
        settings={
            **dialect_settings(heads),
            **clusters_setting(named_clusters),
            "engine": baseline.engine,
        },
        notes=(
            *doubts_of(heads),
            *cluster_hints(baseline, named_clusters),
            *note_on_dialects(heads),
            *grid_note({row.metric.name: row.pairs.units for row in rows}),
        ),
    )
    return ScannedComparison.of(comparison, pairs)


def check_names(names: Sequence[str]) -> None:
    """Refuse two pipelines of the same name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"two runs are named {twice[0]!r}; give each its own name: "
            "RAGPipelineEvaluation.scan(source, name=...)"
        )


def refuse_options(table: ScannedTable, on: str | None, correction: str = "holm") -> None:
    """Refuse options that need every score in memory."""
    if on is not None:
        raise needs_memory("on=, which matches queries by their texts,", table)
    if correction == WESTFALL_YOUNG:
        raise needs_memory(f"the correction {WESTFALL_YOUNG!r}", table)


def cluster_hints(table: ScannedTable, clusters: Clusters | None) -> tuple[str, ...]:
    """A note on the first column that looks like clusters in all rows, if none were named."""
    import narwhals as nw

    if clusters is not None or table.n_rows <= len(table.head.scores):
        return unnamed_clusters(table.head, clusters)
    for column in filter(cluster_noun, table.details):
        named_rows = table.frame.filter(~nw.col(column).is_null())
        sizes = named_rows.group_by(column).agg(nw.len().alias("n"))
        n, shared = nw.col("n"), nw.when(nw.col("n") > 1).then(nw.col("n")).otherwise(0)
        counts = sizes.select(n.sum().alias("all"), nw.len().alias("k"), shared.sum().alias("s"))
        counted = counted_clusters(column, *to_pandas(counts).fillna(0).astype(int).iloc[0])
        if counted is not None:
            return (hint_of(column, counted),)
    return ()


def grid_note(columns: Mapping[str, Column]) -> tuple[str, ...]:
    """A note on the metrics of which only a grid of their scores is known."""
    names = [name for name, column in columns.items() if not column.is_exact]
    if not names:
        return ()
    return (
        f"the scores of {named(names)} are counted in 65,536 cells between the least and the "
        "largest; means are exact, and limits change by less than a 10,000th of the interval",
    )


def with_clusters(
    table: ScannedTable, clusters: Clusters | None
) -> tuple[ScannedTable, str | None]:
    """The baseline, and its column of clusters; labels by query id become a column."""
    if clusters is None:
        return table, None
    if isinstance(clusters, str):
        table.labels(clusters)  # or an error that names the columns
        return table, clusters
    labels = pd.Series(clusters)
    rows = pd.DataFrame({"query_id": labels.index.map(str), _LABELS: labels.array})
    rows = rows[rows[_LABELS].notna()].astype(str)
    beside = open_beside(table.opened, rows.reset_index(drop=True)).frame
    frame = table.frame.join(beside, on="query_id", how="left")
    return replace(table, frame=frame), _LABELS


def check_labels(rows: LazyTable, clusters: str | None) -> None:
    """Refuse common queries without a cluster.

    Raises
    ------
    DataError
        If there are some; it names the first of them.
    """
    import narwhals as nw

    if clusters is None:
        return
    label = nw.col(CLUSTER).cast(nw.String)
    without = rows.filter(label.is_null() | (label.str.strip_chars() == ""))
    ids = to_pandas(without.select("query_id").sort("query_id").head(6))["query_id"]
    if len(ids):
        raise DataError(f"clusters must have a label for every query; {named(ids)} have none")


def _plan_keywords(options: ComparisonKeywords) -> PlanKeywords:
    kept = {name: value for name, value in options.items() if name in PlanKeywords.__annotations__}
    return cast("PlanKeywords", kept)


@explain_keywords_of
@dataclass(frozen=True, eq=False, repr=False)
class ScannedComparison(Comparison):
    """Scanned candidates against a scanned baseline; see `Comparison`.

    Its rows are known as counts. What shows queries reads the tables again.
    """

    @classmethod
    def of(cls, comparison: Comparison, pairs: tuple[ScannedPairing, ...]) -> ScannedComparison:
        """The same comparison, which knows the tables."""
        known = {field.name: getattr(comparison, field.name) for field in fields(comparison)}
        return cls(**{**known, "pairings": pairs})

    @property
    def _pairs(self) -> tuple[ScannedPairing, ...]:
        return cast("tuple[ScannedPairing, ...]", self.pairings)

    def _needs_memory(self, what: str) -> DataError:
        return needs_memory(what, self._pairs[0].before)

    def differences(self, metric: str, candidate: str | None = None) -> NoReturn:
        """Raises `DataError`: the differences of a scan are not in memory one by one."""
        self._pair(metric, candidate)
        raise self._needs_memory("differences() (regressions() and improvements() do not)")

    def regressions(
        self,
        metric: str,
        candidate: str | None = None,
        *,
        k: int = MOST_CHANGED,
        path: str | Path | None = None,
    ) -> pd.DataFrame:
        """The queries on which the candidate is worse, the largest change first, then by id.

        Parameters
        ----------
        metric : str
            The metric, by any of its names.
        candidate : str, optional
            The candidate; required if there are several.
        k : int
            The most queries that the table has.
        path : str or Path, optional
            A .parquet file for all of them, without details.

        Returns
        -------
        DataFrame, index query_id
            As `Comparison.regressions`. ``attrs["n"]`` is the number of all such queries.
        """
        pairing, *pair = self._pair(metric, candidate)
        scanned = cast("ScannedPairing", pairing)
        return changed_queries(scanned, (pair[0], pair[1]), better=False, k=k, path=path)

    def improvements(
        self,
        metric: str,
        candidate: str | None = None,
        *,
        k: int = MOST_CHANGED,
        path: str | Path | None = None,
    ) -> pd.DataFrame:
        """The queries on which the candidate is better, the largest change first, then by id.

        Parameters and columns as in `regressions`.
        """
        pairing, *pair = self._pair(metric, candidate)
        scanned = cast("ScannedPairing", pairing)
        return changed_queries(scanned, (pair[0], pair[1]), better=True, k=k, path=path)

    def slices(
        self, by: str, metrics: str | Iterable[str] | None = None, correction: str = "holm"
    ) -> Result:
        """Compare in each group of queries, as `Comparison.slices`, by another pass.

        Parameters
        ----------
        by : str
            A column of the baseline's details, with at most 10,000 values.
        metrics, correction
            As in `Comparison.slices`.
        """
        return _compare_slices(self, self._pairs, by, metrics, correction)

    def gate(self, *rules: str | Rule, correct: Correct | None = None) -> GateResult:
        """Check the candidates against rules, as `Comparison.gate`.

        Parameters
        ----------
        *rules, correct
            As there.
        """
        settings = settings_of_comparison(self.plan, correct)
        run = _ClusteredRun if self.plan.units.are_clusters else ScannedRun
        subjects = [
            Subject(run.of(pairing.after, settings), self, pairing) for pairing in self._pairs
        ]
        heads = [self._pairs[0].before.head, *(pairing.after.head for pairing in self._pairs)]
        named_clusters = cast("Clusters | None", self.settings.get("clusters"))
        hints = cluster_hints(self._pairs[0].before, named_clusters)
        result = gate_candidates(self, subjects, rules, (*dict.fromkeys(doubts_of(heads)), *hints))
        return replace(result, settings={**result.settings, "engine": self.settings["engine"]})

    def report(self, **options: Unpack[ReportKeywords]) -> Report:
        """Raises `DataError`: the page shows the scores of every query."""
        check_options("report()", options, ReportKeywords.__annotations__)
        raise self._needs_memory("the page of a comparison (save() writes its tables)")

    def plot(
        self,
        kind: ComparisonPlot | Plot = "forest",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the comparison; see `rageval_report.plots`.

        Parameters
        ----------
        kind : {"forest", "slices"}
            "slices" needs ``by=``. Other plots need the scores in memory.
        *args, ax, **options
            As in `Comparison.plot`.
        """
        entry = plot_named(kind)
        if entry.name not in ("forest", "slices"):
            raise self._needs_memory(f"plot {entry.name!r}")
        return entry(self, *args, ax=ax, **options)


class _ClusteredRun(ScannedRun):
    """A candidate whose queries belong together by the baseline's column."""

    def column(self, metric: Metric) -> NoReturn:
        """Raises `DataError`."""
        raise needs_memory(f"a rule on {metric.name} of {self.evaluation.name!r} alone", self.table)

    def correct_share(self) -> NoReturn:
        """Raises `DataError`."""
        raise needs_memory(f"correct() of {self.evaluation.name!r} with clusters", self.table)


# -- slices


def _compare_slices(
    comparison: Comparison,
    pairs: Sequence[ScannedPairing],
    by: str,
    metrics: str | Iterable[str] | None,
    correction: str,
) -> Result:
    """The table of `slice_comparison`, by one pass over both tables for each candidate."""
    check_groups(pairs[0].before, by)
    chosen = [
        replace(pairing, metrics=choose_pairs(pairing.metrics, metrics), by=by) for pairing in pairs
    ]
    all_groups = [
        _slices_of(pairing, place) for pairing in chosen for place in range(len(pairing.metrics))
    ]
    notes = [note for pairing in chosen for note in _group_notes(pairing, by)]
    family = family_of_pairings(chosen, are_requested=metrics is not None)
    return comparison_of_slices(comparison, by, correction, all_groups, family, notes)


def check_groups(table: ScannedTable, by: str) -> None:
    """Refuse a column that no table of groups can show."""
    table.columns_by(by)


def _slices_of(pairing: ScannedPairing, place: int) -> list[ComparedSlice]:
    labels = order_of_groups(pairing.counts.groups)
    rows = [pairing.paired(place, label).tested(pairing.plan) for label in labels]
    metric = pairing.metrics[place]
    whole = _ScannedQueries.of(cast("Pairing", pairing), metric, rows, pairing.plan)
    return [
        ComparedSlice(label, row, np.array([number]), whole)
        for number, (label, row) in enumerate(zip(labels, rows, strict=True))
    ]


class _ScannedQueries(AllQueries):
    """All queries of a table of slices; those outside a slice are counted by another pass."""

    def test_others(self, rows: IntArray) -> PairedResult | None:
        """The test of all queries but those of a slice, by its place in the order of the table."""
        pairing, plan = cast("ScannedPairing", self.pairing), self.plan
        label = order_of_groups(pairing.counts.groups)[int(rows[0])]
        others = replace(pairing, metrics=[self.metric], left_out=label)
        pairs = others.by_unit(self.metric[0])
        if pairs.n < plan.fewest_units:
            return None
        return run_test(pairs, test=plan.test, n_resamples=plan.n_resamples, seed=plan.seed)


def _group_notes(pairing: ScannedPairing, by: str) -> list[str]:
    names = pairing.before.name, pairing.after.name
    groups = pairing.counts.groups
    n_other = sum(pairing.counts.n(OTHER_GROUP, label) for label in groups)
    notes = [
        *group_notes_of(groups.get(NO_GROUP, 0), by),
        *differing_groups_note(by, names, n_other, pairing.n_common),
    ]
    if pairing.clusters is not None:
        notes += shared_clusters_note(
            *_shared_clusters(pairing), by, "the test of heterogeneity and the pooling assume"
        )
    return notes


def _shared_clusters(pairing: ScannedPairing) -> tuple[int, int]:
    """The number of clusters with queries in several groups, and of all clusters."""
    import narwhals as nw

    ends = pairing.rows.group_by(CLUSTER).agg(
        nw.col(GROUP).min().alias("first"), nw.col(GROUP).max().alias("last")
    )
    is_shared = nw.when(nw.col("first") != nw.col("last")).then(1).otherwise(0)
    counts = ends.select(is_shared.sum().alias("shared"), nw.len().alias("n"))
    shared, n = to_pandas(counts).iloc[0].tolist()
    return int(shared), int(n)
