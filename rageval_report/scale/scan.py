"""`EvaluationScan`: the evaluation of a pipeline whose scores do not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

import pandas as pd

from rageval_report.analysis.arguments import MeanKeywords, choose_metrics, threshold_value
from rageval_report.analysis.breakdown import breakdown_of_counts
from rageval_report.analysis.cluster_labels import Clusters
from rageval_report.analysis.comparing.keywords import ComparisonKeywords
from rageval_report.analysis.gates.columns import GateSettings, RunGateKeywords
from rageval_report.analysis.gates.gate import gate_run, gate_settings
from rageval_report.analysis.gates.grammar import Rule
from rageval_report.analysis.gates.result import GateResult
from rageval_report.analysis.haystack_reports import HaystackReport, OutputFormat, report_of_means
from rageval_report.analysis.ranking.keywords import RankingKeywords
from rageval_report.analysis.scanned import scans_among
from rageval_report.analysis.summary import EvaluationReport, report_of_summary
from rageval_report.analysis.thresholds import (
    FailureCounts,
    failures_of_rows,
    thresholds_of_columns,
)
from rageval_report.errors import check_options, explain_keywords_of
from rageval_report.results import Result
from rageval_report.scale.answers import (
    count_causes,
    count_correct,
    count_unscored,
)
from rageval_report.scale.changed import outcomes_of_scans, write_rows
from rageval_report.scale.compared import (
    cluster_hints,
    compare_scans,
    grid_note,
    refuse_options,
)
from rageval_report.scale.dated import dated_scan
from rageval_report.scale.drawn import page_of_scan, plot_of_scan
from rageval_report.scale.engines import AUTO
from rageval_report.scale.gated import MOST_WORST, ScannedRun
from rageval_report.scale.grouped import slices_of_table, summary_of_table
from rageval_report.scale.opening import ScanSource, open_frame
from rageval_report.scale.ranked import rank_scans
from rageval_report.scale.tables import (
    Construct,
    ScannedTable,
    ScanOptions,
    describe_table,
    needs_memory,
    same_engine,
)
from rageval_report.scores import Correct, Metric, Scored, join_details, resolver
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.correct_notion import CorrectNotion, find_notion
from rageval_report.scores.roles.column_role import ColumnRole, count_roles
from rageval_report.stats.means import PercentileMethod

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.plots.kinds import Plot
    from rageval_report.plots.options import MetricNames, PlotOptions
    from rageval_report.reports.report import Report

R = TypeVar("R", bound=Result)


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
        self._name, self._place, self._engine, self._describe = name, place, engine, describe

    # -- content

    @cached_property
    def table(self) -> ScannedTable:
        """The lazy frame with what its columns are."""
        return self._describe()

    @property
    def name(self) -> str:
        """The name of the pipeline."""
        return self._name

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
        return self.table.head.notes

    @property
    def roles(self) -> pd.DataFrame:
        """What each column was taken for: ``column``, ``role``, ``confidence`` and ``why``."""
        return self.table.head.roles

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the pipeline."""
        return dict(self.table.head.config)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self._place}, engine {self._engine})"

    def collect(self) -> Any:
        """The evaluation in memory, as `RAGPipelineEvaluation`."""
        return self.table.collect()

    def beside(self, evaluation: Scored) -> EvaluationScan:
        """An evaluation in memory as a scan of the same engine."""
        return EvaluationScan(
            *(evaluation.name, "in memory", self._engine),
            lambda: same_engine(self.table, evaluation),
        )

    def _with_engine(self, result: R, *notes: str) -> R:
        """A result whose signature says which engine counted."""
        settings = {**result.settings, "engine": self._engine}
        return replace(result, settings=settings).with_notes(*notes)

    def _grid_notes(self, names: Iterable[str]) -> tuple[str, ...]:
        columns = self.table.columns()
        return grid_note({name: columns[name] for name in dict.fromkeys(names)})

    def _refuse_clusters(self, clusters: object | None, what: str) -> None:
        if clusters is not None:
            raise needs_memory(f"{what} with clusters", self.table)

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
            As there. Clusters, and an interval that draws random numbers from more scores than a
            grid has steps, need the scores in memory.
        correct : optional
            What a correct answer is; that of the scan if omitted.
        """
        check_options("evaluation_report()", settings, MeanKeywords.__annotations__)
        self._refuse_clusters(clusters, "the report")
        table, head, columns = self.table, self.table.head, self.table.columns()
        summary = summary_of_table(table, columns, table.n_rows, metrics, settings)
        names = summary.frame["metric"]
        spent = {name: columns[name] for name in names[summary.frame["group"] == "performance"]}
        notion = find_notion(head, correct)
        is_counted = notion is not None and not callable(notion.rule)
        right = count_correct(table, notion) if notion is not None and is_counted else None
        report = report_of_summary(
            *(head, summary, count_unscored(table, names), spent, notion, right),
            hints=cluster_hints(table, clusters),
        )
        counted = count_roles(ColumnRole(*row) for row in self.roles.itertuples(index=False))
        own = (*self._grid_notes(names), *self.notes, *([counted] if counted else []))
        return self._with_engine(report, *own)

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
        columns = self.table.columns()
        if metric is not None:
            return columns[resolver(self.metrics)(metric)].mean
        means = [columns[name].mean for name in self.metrics]
        return pd.Series(means, index=pd.Index(self.metrics, name="metric"), name="mean")

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
        table = self.table
        columns = {
            metric: (table.columns()[metric.name], table.n_rows)
            for metric in choose_metrics(table.head, metrics)
        }
        return self._with_engine(thresholds_of_columns(table.head, columns, percentiles, method))

    def failures(
        self,
        metric: str,
        threshold: float | str,
        *,
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

        table, head = self.table, self.table.head
        known = choose_metrics(head, metric)[0]
        column, rule = table.columns()[known.name], method or percentile_method(head)
        cut = threshold_value(known, column, threshold, rule)
        score = nw.col(known.name)
        condition = score < cut if known.greater_is_better else score > cut
        if query_ids is not None:
            ids = [query_ids] if isinstance(query_ids, str) else [str(each) for each in query_ids]
            condition &= nw.col("query_id").is_in(ids)
        found = table.first_rows(condition, known.name, k, descending=not known.greater_is_better)
        if path is not None:
            write_rows(table.frame.filter(condition), path)
        names = [known.name, *(name for name in table.metrics if name != known.name)]
        rows = join_details(found[names], found.drop(columns=names))
        n_wrong = table.count(condition)
        counts = FailureCounts(n_wrong, column.n, table.n_rows - column.n)
        return self._with_engine(failures_of_rows(head, known, rows, counts, cut, threshold, rule))

    def _notion(self, correct: Correct | CorrectNotion | None = None) -> CorrectNotion:
        return ScannedRun.of(self.table, GateSettings(correct=correct)).notion()

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
        notion, head = self._notion(correct), self.table.head
        counts = count_causes(self.table, notion, k)
        found = breakdown_of_counts(
            head, counts, k=k, correct=notion, confidence_level=confidence_level
        )
        return self._with_engine(found)

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
        check_options("slices()", settings, MeanKeywords.__annotations__)
        self._refuse_clusters(clusters, "slices")
        result = slices_of_table(self.table, by, metrics, settings)
        return self._with_engine(result, *self._grid_notes(result.frame["metric"]))

    def gate(self, *rules: str | Rule, **options: Unpack[RunGateKeywords]) -> GateResult:
        """Test the pipeline against rules, as `RAGPipelineEvaluation.gate`.

        Parameters
        ----------
        *rules : str
            As there.
        **options
            ``missing``, ``confidence_level``, ``n_resamples``, ``seed`` and ``correct``, as there.
        """
        check_options("gate()", options, RunGateKeywords.__annotations__)
        clusters = options.get("clusters")
        self._refuse_clusters(clusters, "a gate")
        run = ScannedRun.of(self.table, gate_settings(**options))
        result = gate_run(run, rules, cluster_hints(self.table, clusters))
        return self._with_engine(result)

    # -- pictures and pages

    def report(self, **options: Any) -> Report:
        """The report page: tables and pictures of all queries, and the worst 1,000 of each metric.

        Parameters
        ----------
        **options
            As in `RAGPipelineEvaluation.report`, without clusters.

        Returns
        -------
        rageval_report.reports.Report
            Its ``save("report.html")`` writes the page; .md, .tex and .txt hold the tables.
        """
        return page_of_scan(self, **options)

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
        kind : {"distribution", "ecdf", "slices", "forest"}
            "slices" needs ``by=``, "forest" another pipeline as ``other=``. Other plots show
            single queries and need the scores in memory.
        *args : str or iterable of str
            The metrics, by any of their names.
        ax : Axes, optional
            The Axes to draw on; if omitted, those of a new figure.
        **options
            The options of the plot.
        """
        return plot_of_scan(self, kind, *args, ax=ax, **options)

    # -- several pipelines

    def _tables(self, others: Sequence[object], call: str) -> list[ScannedTable]:
        """The tables of this scan and of others, which may be evaluations in memory."""
        scans = scans_among((self, *others), call)
        return [self.table, *(same_engine(self.table, scan.table) for scan in scans[1:])]

    def comparative_summary(self, *others: Any, **options: Unpack[ComparisonKeywords]) -> Any:
        """Compare this scan, the baseline, with others, query by query; see `compare`.

        Parameters
        ----------
        *others : EvaluationScan or RAGPipelineEvaluation
            The candidates.
        **options
            As in `rageval_report.compare`. Those that need every score in memory say so, and so do
            methods of the comparison.
        """
        first, *tables = self._tables(others, "comparative_summary()")
        return compare_scans(first, tables, **options)

    def comparative_detailed_summary(
        self,
        other: Any,
        correct: Correct | None = None,
        *,
        k: int = 1000,
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
        first, second = self._tables([other], "comparative_detailed_summary()")
        refuse_options(first, on)
        return outcomes_of_scans(first, second, correct, k=k, path=path)

    def rank_with(self, *others: Any, **options: Unpack[RankingKeywords]) -> Any:
        """Rank this scan and others, metric by metric; see `rank`.

        Parameters
        ----------
        *others : EvaluationScan or RAGPipelineEvaluation
            At least one.
        **options
            As in `rageval_report.rank`. Those that need every score in memory say so, and so do
            methods of the ranking.
        """
        return rank_scans(self._tables(others, "rank()"), **options)

    def dated_run(self, name: str, engine_of: EvaluationScan) -> Any:
        """The scan as a run of a history; see `rageval_report.history`.

        Parameters
        ----------
        name : str
            The name of the run.
        engine_of : EvaluationScan
            The scan whose engine reads two runs side by side.
        """
        return dated_scan(same_engine(engine_of.table, self.table), name)


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
