"""`EvaluationScan`: the evaluation of a pipeline whose scores do not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack, cast, overload

import pandas as pd

from rageval_report.analysis.arguments import (
    Clusters,
    EvaluationSubset,
    MeanKeywords,
    check_count,
    choose_metrics,
    scans_among,
    threshold_value,
)
from rageval_report.analysis.breakdown import CauseCounts, breakdown, check_cause
from rageval_report.analysis.compare import Comparison, ComparisonKeywords, compare
from rageval_report.analysis.gate import GateResult, gate
from rageval_report.analysis.gate_figures import GateSettings, RunGateKeywords
from rageval_report.analysis.pairing import MISSING_TREATMENTS, MissingTreatment
from rageval_report.analysis.report import (
    EvaluationReport,
    HaystackReport,
    OutputFormat,
    UnscoredQueries,
    evaluation_report,
    report_of_means,
)
from rageval_report.analysis.rules import Rule
from rageval_report.analysis.slices import slice_summary
from rageval_report.analysis.thresholds import FailureCounts, failures_of_rows, find_thresholds
from rageval_report.errors import check_choice, explain_keywords_of
from rageval_report.reports.build import EvaluationReportKeywords, report_evaluation
from rageval_report.reports.parts import cutoff_of
from rageval_report.results import Result
from rageval_report.scale.answers import (
    ScannedRun,
    count_causes,
    count_correct,
    count_unscored,
    find_causes,
)
from rageval_report.scale.compared import (
    CountedLineup,
    CountedPairing,
    ScannedRuns,
    outcomes_of_scans,
)
from rageval_report.scale.drawn import DrawnScan, plot_of_scan
from rageval_report.scale.engines import AUTO
from rageval_report.scale.opening import ScanSource, open_frame, write_rows
from rageval_report.scale.sides import SUMMED, CountedTable
from rageval_report.scale.tables import (
    MOST_WORST,
    Construct,
    Head,
    ScannedTable,
    ScanOptions,
    count_rows,
    describe_table,
    needs_memory,
    same_engine,
    to_pandas,
)
from rageval_report.scores import Correct, Metric, Scored, join_details, resolver
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.cluster_hint import cluster_hint, cluster_noun, counted_clusters, hint_of
from rageval_report.scores.correct_notion import CorrectCounts, CorrectNotion
from rageval_report.scores.query_sets import reference_column
from rageval_report.scores.roles.column_role import ColumnRole, count_roles
from rageval_report.stats.columns import MOST_LISTED
from rageval_report.stats.means import PercentileMethod
from rageval_report.stats.units import QUERIES, Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.analysis.runs import DatedRun
    from rageval_report.plots.kinds import Plot
    from rageval_report.plots.options import MetricNames, PlotOptions
    from rageval_report.reports.report import Report


@explain_keywords_of
class EvaluationScan:
    """The scores of one RAG pipeline in files of any size, or in a lazy frame.

    `RAGPipelineEvaluation.scan` makes one. It has the methods of `RAGPipelineEvaluation` whose
    results do not grow with the number of queries, with the same tables, notes and settings, and
    the engine among the settings. An engine counts the scores; nothing is read before a method
    needs it, and what was counted is kept.

    Parameters
    ----------
    name : str
        The name of the pipeline.
    place : str
        Where its scores are.
    engine : str
        What counts them.
    describe : callable
        Gives the table, when it is needed.
    """

    def __init__(self, name: str, place: str, engine: str, describe: Callable[[], ScannedTable]):
        self.name, self.engine = name, engine
        self.place, self._describe = place, describe

    # -- content

    @cached_property
    def table(self) -> ScannedTable:
        """The lazy frame with what its columns are."""
        return self._describe()

    @property
    def head(self) -> Head:
        """The first rows as an evaluation, whose metrics and notes are those of all rows."""
        return self.table.head

    @property
    def metrics(self) -> dict[str, Metric]:
        """The description of each metric, by all rows."""
        return self.table.metrics

    @property
    def n_queries(self) -> int:
        """The number of rows."""
        return self.table.n_rows

    @property
    def notes(self) -> tuple[str, ...]:
        """Guesses and corrections that were made."""
        return self.head.notes

    @property
    def roles(self) -> pd.DataFrame:
        """What each column was taken for: ``column``, ``role``, ``confidence`` and ``why``."""
        return self.head.roles

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the pipeline."""
        return dict(self.head.config)

    @property
    def created(self) -> datetime | None:
        """The time of the run, if it is known."""
        return self.head.created

    @property
    def scores(self) -> NoReturn:
        """Raises `DataError`: the scores are not in memory."""
        raise self.needs_memory("reading the scores of single queries")

    @property
    def details(self) -> NoReturn:
        """Raises `DataError`: the details are not in memory."""
        raise self.needs_memory("what reads the details of single queries")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.place}, engine {self.engine})"

    def collect(self) -> Any:
        """The evaluation in memory, as `RAGPipelineEvaluation`."""
        return self.table.gather()

    def needs_memory(self, what: str) -> Exception:
        """The error for an analysis that needs every row in memory."""
        return needs_memory(what, self.table)

    # -- what analyses ask

    def beside(self, evaluation: Scored) -> EvaluationScan:
        """An evaluation in memory as a scan of the same engine."""
        return EvaluationScan(
            *(evaluation.name, "in memory", self.engine),
            lambda: same_engine(self.table, evaluation),
        )

    def _with_others(self, others: Iterable[EvaluationScan]) -> list[EvaluationScan]:
        """The scan and others, after a check that one engine holds all tables."""
        scans = [self, *others]
        for scan in scans:
            same_engine(self.table, scan.table)
        return scans

    @cached_property
    def _counted(self) -> CountedTable:
        return CountedTable.of(self.table)

    def counted_table(self, clusters: Clusters | None = None) -> CountedTable:
        """The columns with counts."""
        return self._counted if clusters is None else CountedTable.of(self.table, clusters)

    def count_unscored(self, metrics: Iterable[str]) -> UnscoredQueries:
        """The queries without a score, by metric, state and reason."""
        return count_unscored(self.table, metrics)

    def count_correct(self, notion: CorrectNotion | None) -> CorrectCounts | None:
        """How many queries are answered correctly; None if that is not known."""
        return None if notion is None else count_correct(self.table, notion)

    def count_causes(self, k: int, correct: Correct | CorrectNotion | None) -> CauseCounts:
        """How many queries fail for each cause."""
        notion = self.gated(GateSettings(correct=correct)).notion()
        return count_causes(self.table, notion, k)

    def cluster_hint(self) -> str | None:
        """A note on the first column that looks like clusters in all rows."""
        import narwhals as nw

        if self.n_queries <= len(self.head.scores):
            return cluster_hint(self.head)
        for column in filter(cluster_noun, self.table.details):
            labelled = self.table.frame.filter(~nw.col(column).is_null())
            sizes = labelled.group_by(column).agg(nw.len().alias("n"))
            n, shared = nw.col("n"), nw.when(nw.col("n") > 1).then(nw.col("n")).otherwise(0)
            sums = sizes.select(n.sum().alias("all"), nw.len().alias("k"), shared.sum().alias("s"))
            counted = counted_clusters(column, *to_pandas(sums).fillna(0).astype(int).iloc[0])
            if counted is not None:
                return hint_of(column, counted)
        return None

    def queries(self) -> EvaluationSubset:
        """The ids and references of all queries, without scores."""
        if self.n_queries > MOST_LISTED:
            raise self.needs_memory("a history, which compares the ids of all queries,")
        reference = reference_column(self.table.details)
        rows = to_pandas(
            self.table.frame.select("query_id", *([reference] if reference else []))
        ).set_index("query_id")
        return EvaluationSubset(self.name, pd.DataFrame(index=rows.index), rows, {})

    def worst_ids(self, metrics: Iterable[str], k: int) -> list[str]:
        """The ids of the k worst queries of each metric; all ids of a table of no more queries."""
        if self.n_queries <= k:
            return self.table.first_rows(None, None, None).index.tolist()
        rows = [
            self.table.first_rows(None, n, k, descending=not self.metrics[n].greater_is_better)
            for n in metrics
        ]
        return list(dict.fromkeys(query_id for part in rows for query_id in part.index))

    def rows_of(self, ids: Sequence[str]) -> Head:
        """Some queries as an evaluation."""
        import narwhals as nw

        rows = self.table.first_rows(nw.col("query_id").is_in(ids), None, None)
        return self.table.with_rows(rows)

    def drawn(self) -> DrawnScan:
        """What plots of single metrics draw."""
        return DrawnScan(self)

    def gated(self, settings: GateSettings, *, with_clusters: bool = False) -> ScannedRun:
        """The pipeline as gates take it."""
        are_clusters = with_clusters or settings.clusters is not None
        return ScannedRun(cast("Any", self), settings, SUMMED if are_clusters else QUERIES)

    def pair_with(
        self,
        others: Sequence[EvaluationScan],
        metrics: str | Iterable[str] | None,
        missing: MissingTreatment,
        clusters: Clusters | None,
        on: str | None,
    ) -> tuple[tuple[Any, ...], Units]:
        """The scan beside each of others, and what is independent."""
        self._refuse_texts(on)
        named = metrics if metrics is None or isinstance(metrics, str) else list(metrics)
        pairings = tuple(
            CountedPairing.of(self, other, named, missing, clusters)
            for other in self._with_others(others)[1:]
        )
        return pairings, pairings[0].sides.units

    def line_up(
        self,
        scans: Sequence[EvaluationScan],
        metrics: str | Iterable[str] | None,
        missing: MissingTreatment,
        clusters: Clusters | None,
        on: str | None,
    ) -> CountedLineup:
        """Scans, of which this is the first, as the lineup of a ranking."""
        self._refuse_texts(on)
        check_choice("missing", missing, MISSING_TREATMENTS)
        return CountedLineup.of(self._with_others(scans[1:]), metrics, missing, clusters)

    def _refuse_texts(self, on: str | None) -> None:
        if on is not None:
            raise self.needs_memory("on=, which matches queries by their texts,")

    def run_beside(self, before: DatedRun, after: DatedRun) -> ScannedRuns:
        """Two runs of a history, the first of which is this scan."""
        [other] = scans_among((self, after.evaluation), "history()")[1:]
        return ScannedRuns(before, after, (self.table, same_engine(self.table, other.table)))

    # -- one pipeline

    def evaluation_report(
        self,
        *,
        metrics: str | Iterable[str] | None = None,
        clusters: Clusters | None = None,
        correct: Correct | CorrectNotion | None = None,
        **settings: Unpack[MeanKeywords],
    ) -> EvaluationReport:
        """The report, as `RAGPipelineEvaluation.evaluation_report`.

        Parameters
        ----------
        metrics, clusters, **settings
            As there. An interval that draws random numbers from more scores than a grid has steps
            needs them in memory.
        correct : optional
            What a correct answer is; that of the scan if omitted.
        """
        scan: Any = self
        report = evaluation_report(scan, correct, metrics=metrics, clusters=clusters, **settings)
        counted = count_roles(ColumnRole(*row) for row in self.roles.itertuples(index=False))
        return report.with_notes(*self.notes, *([counted] if counted else []))

    classification_report = evaluation_report

    @overload
    def get_aggregated_scores(self, metric: None = None) -> pd.Series: ...

    @overload
    def get_aggregated_scores(self, metric: str) -> float: ...

    def get_aggregated_scores(self, metric: str | None = None) -> float | pd.Series:
        """The mean of one metric, or of all, as `RAGPipelineEvaluation.get_aggregated_scores`.

        Parameters
        ----------
        metric : str, optional
            A metric, by any of its names; if omitted, all.
        """
        means = {name: self._counted.column(each).mean for name, each in self.metrics.items()}
        if metric is not None:
            return means[resolver(self.metrics)(metric)]
        return pd.Series(means, name="mean").rename_axis("metric")

    def aggregated_report(
        self, output_format: OutputFormat = "json", csv_file: str | Path | None = None
    ) -> HaystackReport:
        """The means in Haystack's form, as `RAGPipelineEvaluation.aggregated_report`.

        Parameters
        ----------
        output_format, csv_file
            As there.
        """
        return report_of_means(self.get_aggregated_scores(), output_format, csv_file)

    def find_thresholds(
        self,
        metrics: str | Iterable[str] | None = None,
        percentiles: Sequence[float] = (25, 50, 75),
        method: PercentileMethod | None = None,
    ) -> Result:
        """The percentiles and the mean of each metric, as `RAGPipelineEvaluation.find_thresholds`.

        Parameters
        ----------
        metrics, percentiles, method
            As there.
        """
        scan: Any = self
        return find_thresholds(scan, metrics, percentiles, method)

    def failures(
        self,
        metric: str,
        threshold: float | str,
        *,
        cause: str | None = None,
        k: int = MOST_WORST,
        method: PercentileMethod | None = None,
        query_ids: Iterable[str] | None = None,
        path: str | Path | None = None,
    ) -> Result:
        """The queries on the wrong side of a threshold: how many they are, and the k worst.

        Parameters
        ----------
        metric : str
            A metric, by any of its names.
        threshold : float, or a text such as "p25", "median" or "mean"
            A number, or a statistic of the scores.
        cause : str, optional
            Only the queries that fail for this cause; see `breakdown`.
        k : int
            How many queries the table has, the worst first, equal ones in the order of their ids.
        method : {"linear", "exclusive", "upper"}, optional
            The rule of percentiles, as in `find_thresholds`.
        query_ids : iterable of str, optional
            Only these queries; the threshold is computed from all.
        path : str or Path, optional
            A .parquet file for all of them.

        Returns
        -------
        Result
            With question, answer and reasons if the details have them.
        """
        import narwhals as nw

        table, head = self.table, self.head
        known = choose_metrics(head, metric)[0]
        column, rule = self._counted.column(known), method or percentile_method(head)
        cut = threshold_value(known, column, threshold, rule)
        score = nw.col(known.name)
        condition, notes = score < cut if known.greater_is_better else score > cut, []
        if cause is not None:
            notion = self.gated(GateSettings()).notion()
            combined, causes = find_causes(table, notion, cutoff_of(head, None))
            condition &= combined.condition((causes == check_cause(cause)).to_numpy(bool))
            notes.append(f"only failures of {cause}")
        if query_ids is not None:
            ids = [query_ids] if isinstance(query_ids, str) else [str(each) for each in query_ids]
            condition &= nw.col("query_id").is_in(ids)
            notes.append(f"only {len(ids)} named {'query' if len(ids) == 1 else 'queries'}")
        worst = table.first_rows(condition, known.name, k, descending=not known.greater_is_better)
        every = table.frame.filter(condition)
        if path is not None:
            write_rows(every, path)
        names = [known.name, *(name for name in table.metrics if name != known.name)]
        rows = join_details(worst[names], worst.drop(columns=names))
        counts = FailureCounts(count_rows(every), column.n, table.n_rows - column.n)
        result = failures_of_rows(head, known, rows, counts, cut, threshold, rule)
        if counts.n_wrong > len(rows):
            notes.append(f'the table has the {len(rows)} worst; path="failures.parquet" writes all')
        settings = {**result.settings, "engine": self.engine}
        return replace(result, settings=settings).with_notes(*notes)

    def breakdown(
        self,
        *,
        k: int = 5,
        confidence_level: float = 0.95,
        correct: Correct | CorrectNotion | None = None,
    ) -> Result:
        """How many queries fail for each cause, as `RAGPipelineEvaluation.breakdown`.

        Parameters
        ----------
        k, confidence_level
            As there.
        correct : optional
            What a correct answer is; that of the scan if omitted.
        """
        notion, anything = self.gated(GateSettings(correct=correct)).notion(), cast("Any", self)
        causes = breakdown(anything, k=k, correct=notion, confidence_level=confidence_level)
        return replace(causes, settings={**causes.settings, "engine": self.engine})

    def slices(
        self,
        by: str,
        metrics: str | Iterable[str] | None = None,
        *,
        clusters: Clusters | None = None,
        **settings: Unpack[MeanKeywords],
    ) -> Result:
        """The report for each group of queries, as `RAGPipelineEvaluation.slices`.

        Parameters
        ----------
        by : str
            The column of the details that holds the groups, of which there are at most 10,000.
        metrics : str or iterable of str, optional
            The metrics, by any of their names; if omitted, all.
        clusters, **settings
            As in `evaluation_report`.
        """
        scan: Any = self
        return slice_summary(scan, by, metrics, clusters=clusters, **settings)

    def gate(self, *rules: str | Rule, **options: Unpack[RunGateKeywords]) -> GateResult:
        """Test the pipeline against rules, as `RAGPipelineEvaluation.gate`.

        Parameters
        ----------
        *rules : str
            As there.
        **options
            ``missing``, ``confidence_level``, ``n_resamples``, ``seed`` and ``correct``, as there.
        """
        return gate(self, *rules, **options)

    # -- pictures and pages

    def report(self, **options: Unpack[EvaluationReportKeywords]) -> Report:
        """The report page: tables and pictures of all queries, and the worst 1,000 of each metric.

        Parameters
        ----------
        **options
            As in `RAGPipelineEvaluation.report`.

        Returns
        -------
        rageval_report.reports.Report
            Its ``save("report.html")`` writes the page; .md, .tex and .txt hold the tables.
        """
        return report_evaluation(cast("Any", self), **options)

    def plot(
        self,
        kind: str | Plot = "distribution",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the scan; see `rageval_report.plots`.

        Parameters
        ----------
        kind : {"distribution", "ecdf", "box", "slices", "forest"}
            "slices" needs ``by=``, "forest" another pipeline as ``other=``. Other plots show
            single queries and need the scores in memory.
        *args : str or iterable of str
            The metrics, by any of their names.
        ax : Axes, optional
            The Axes to draw on; if omitted, those of a new figure.
        **options
            The options of the plot.
        """
        return plot_of_scan(self, kind, args, ax, dict(options))

    # -- several pipelines

    def comparative_summary(
        self, *others: EvaluationScan | Scored, **options: Unpack[ComparisonKeywords]
    ) -> Comparison:
        """Compare this scan, the baseline, with others, query by query; see `compare`.

        Parameters
        ----------
        *others : EvaluationScan or RAGPipelineEvaluation
            The candidates.
        **options
            As in `rageval_report.compare`. Those that need every score in memory say so, and so do
            methods of the comparison.
        """
        return compare(self, *others, **options)

    def comparative_detailed_summary(
        self,
        other: Any,
        correct: Correct | None = None,
        *,
        k: int = MOST_WORST,
        path: str | Path | None = None,
        on: str | None = None,
    ) -> pd.DataFrame:
        """The queries that both, neither, or only one of two scans answers correctly.

        Parameters
        ----------
        other : EvaluationScan or RAGPipelineEvaluation
            The other pipeline.
        correct, on
            As `RAGPipelineEvaluation.comparative_detailed_summary`, but no function, and no texts.
        k : int
            The most ids of each column, in their order.
        path : str or Path, optional
            A .parquet file with the ``query_id`` and the ``outcome`` of every common query.
        """
        self._refuse_texts(on)
        check_count("k", k)
        [candidate] = scans_among((self, other), "comparative_detailed_summary()")[1:]
        self._with_others([candidate])
        return outcomes_of_scans((self, candidate), correct, k, path)


def open_scan(
    source: ScanSource,
    options: ScanOptions,
    construct: Construct,
    *,
    engine: str = AUTO,
    memory_limit: str | None = None,
    delimiter: str | None = None,
) -> EvaluationScan:
    """Open a table beyond memory; see `RAGPipelineEvaluation.scan`."""
    opened = open_frame(source, engine=engine, memory_limit=memory_limit, delimiter=delimiter)
    return EvaluationScan(
        *(options.name or opened.name, opened.place, opened.engine),
        lambda: describe_table(opened, options, construct),
    )
