"""`EvaluationScan`: the evaluation of a pipeline whose scores do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

import pandas as pd

from rageval_report.analysis.cluster_labels import Clusters
from rageval_report.analysis.comparing.keywords import ComparisonKeywords
from rageval_report.analysis.gates.columns import RunGateKeywords
from rageval_report.analysis.gates.gate import gate_run, gate_settings
from rageval_report.analysis.gates.grammar import Rule
from rageval_report.analysis.gates.result import GateResult
from rageval_report.analysis.ranking.keywords import RankingKeywords
from rageval_report.analysis.scanned import scans_among
from rageval_report.analysis.summary import EvaluationReport
from rageval_report.errors import check_options, explain_keywords_of
from rageval_report.evaluation import delegates
from rageval_report.evaluation.scanning.answered_queries import MOST_ANSWERED, answered_queries
from rageval_report.evaluation.scanning.causes import (
    breakdown_of_scan,
    retrieval_by_generation_of_scan,
    with_notion,
)
from rageval_report.evaluation.scanning.clustered import OwnClusters
from rageval_report.evaluation.scanning.compared import compare_scans
from rageval_report.evaluation.scanning.dated_scan import DatedScan
from rageval_report.evaluation.scanning.description import (
    Construct,
    DescribedScan,
    ScanOptions,
    describe_scan,
)
from rageval_report.evaluation.scanning.detailed_rows import (
    MOST_DETAILED,
    comparative_report_of_scans,
    detailed_report_of_scan,
)
from rageval_report.evaluation.scanning.drawn_scan import DRAWN_FROM_COUNTS, DrawnScan, drawn_scan
from rageval_report.evaluation.scanning.gates import ScannedRun
from rageval_report.evaluation.scanning.group_labels import clusters_of
from rageval_report.evaluation.scanning.needs_memory import (
    ClusteredMeanKeywords,
    ScanReportKeywords,
    needs_memory,
)
from rageval_report.evaluation.scanning.profile import ScanProfile, profile_of
from rageval_report.evaluation.scanning.ranked import rank_scans
from rageval_report.evaluation.scanning.scanned_comparison import ScannedComparison
from rageval_report.evaluation.scanning.scanned_ranking import ScannedRanking
from rageval_report.evaluation.scanning.single import report_of_scan, thresholds_of_scan
from rageval_report.evaluation.scanning.slices import slices_of_scan
from rageval_report.evaluation.scanning.worst import MOST_WORST, failures_of_scan
from rageval_report.plots import plot_named
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import MetricNames, PlotOptions
from rageval_report.results import Result
from rageval_report.scale.engines.automatic import AUTO, engine_of
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.opening import OpenedTable, ScanSource, open_table
from rageval_report.scores import Correct, Metric, resolver
from rageval_report.scores.correct_notion import find_notion
from rageval_report.scores.roles.column_role import ColumnRole, count_roles
from rageval_report.stats.means.column_description import PercentileMethod

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.analysis.haystack_reports import HaystackReport, OutputFormat
    from rageval_report.reports.report import Report as ReportPage

R = TypeVar("R", bound=Result)


@explain_keywords_of
class EvaluationScan:
    """The scores of one RAG pipeline in files of any size, read part by part.

    `RAGPipelineEvaluation.scan` makes one. It has the methods of `RAGPipelineEvaluation` whose
    Results do not grow with the number of queries, with the same tables, notes and settings, and
    the engine among the settings. Nothing is read before a method needs it; what one pass finds is
    kept.

    Parameters
    ----------
    described : DescribedScan
        The files and what their columns are.
    engine : Engine
        What reads them.
    """

    def __init__(self, described: DescribedScan, engine: Engine):
        self._described = described
        self._engine = engine

    # -- content

    @property
    def name(self) -> str:
        """The name of the pipeline."""
        return self._described.head.name

    @property
    def metrics(self) -> dict[str, Metric]:
        """The description of each metric, by all rows."""
        return self._profile.described.metrics

    @property
    def n_queries(self) -> int:
        """The number of rows."""
        return self._profile.n_queries

    @property
    def notes(self) -> tuple[str, ...]:
        """Guesses and corrections that were made."""
        return self._profile.described.head.notes

    @property
    def roles(self) -> pd.DataFrame:
        """What each column was taken for: ``column``, ``role``, ``confidence`` and ``why``."""
        return self._profile.described.head.roles

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the pipeline."""
        return self._described.head.config

    def __repr__(self) -> str:
        n_files = len(self._described.opened.files.files)
        files = "1 file" if n_files == 1 else f"{n_files} files"
        return f"{type(self).__name__}({self.name!r}, {files}, engine {self._engine.name})"

    def collect(self) -> Any:
        """The evaluation in memory, as `RAGPipelineEvaluation`."""
        return self._described.collect()

    @cached_property
    def _profile(self) -> ScanProfile:
        return profile_of(self._described, self._engine)

    def _with_engine(self, result: R, *notes: str) -> R:
        """A result whose signature says which engine made it."""
        settings = {**result.settings, "engine": self._engine.name}
        return replace(result, settings=settings).with_notes(*notes)

    # -- one pipeline

    def evaluation_report(
        self,
        *,
        metrics: str | Iterable[str] | None = None,
        percentiles: Sequence[float] = (25, 50, 75),
        interval: str = "auto",
        confidence_level: float = 0.95,
        n_resamples: int = 9999,
        seed: int = 0,
        clusters: Clusters | None = None,
    ) -> EvaluationReport:
        """The report, as `RAGPipelineEvaluation.evaluation_report`.

        Parameters
        ----------
        metrics, percentiles, interval, confidence_level, n_resamples, seed, clusters
            As there. An interval that draws random numbers needs the scores in memory; clusters
            take another pass over the files.
        """
        report = report_of_scan(
            self._profile,
            self._engine,
            metrics,
            percentiles=percentiles,
            interval=interval,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            seed=seed,
            clusters=clusters,
        )
        counted = count_roles(ColumnRole(*row) for row in self.roles.itertuples(index=False))
        return self._with_engine(report, *self.notes, *([counted] if counted else []))

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
        if metric is not None:
            return self._profile.states[resolver(self.metrics)(metric)].moments.mean
        means = {name: self._profile.states[name].moments.mean for name in self.metrics}
        return pd.Series(list(means.values()), index=pd.Index(means, name="metric"), name="mean")

    def aggregated_report(
        self, output_format: OutputFormat = "json", csv_file: str | Path | None = None
    ) -> HaystackReport:
        """The means in Haystack's form, as `RAGPipelineEvaluation.aggregated_report`.

        Parameters
        ----------
        output_format, csv_file
            As there.
        """
        return delegates.report_of_means(self.get_aggregated_scores(), output_format, csv_file)

    def detailed_report(
        self,
        output_format: OutputFormat = "json",
        csv_file: str | Path | None = None,
        *,
        k: int = MOST_DETAILED,
        path: str | Path | None = None,
    ) -> HaystackReport:
        """One row per query in Haystack's form: the first k, and all in a file.

        Parameters
        ----------
        output_format, csv_file
            As in `RAGPipelineEvaluation.detailed_report`; `csv_file` holds all rows.
        k : int
            How many rows are returned, in the order of the table.
        path : str or Path, optional
            A file for all of them, .parquet or .csv, written part by part in the order of the
            table.

        Returns
        -------
        dict, str or DataFrame
            The columns of memory. ``attrs["n"]`` of a frame is the number of all rows.
        """
        return detailed_report_of_scan(
            self._profile.described, self._engine, output_format, csv_file, k=k, path=path
        )

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
        return self._with_engine(
            thresholds_of_scan(self._profile, self._engine, metrics, percentiles, method)
        )

    def failures(
        self,
        metric: str,
        threshold: float | str,
        *,
        k: int = MOST_WORST,
        method: PercentileMethod | None = None,
        query_ids: Iterable[str] | None = None,
        path: str | Path | None = None,
        cause: str | None = None,
        n_results: int = 5,
    ) -> Result:
        """The queries on the wrong side of a threshold: how many they are, and the k worst.

        Parameters
        ----------
        metric : str
            A metric, by any of its names.
        threshold : float, or a text such as "p25", "median" or "mean"
            A number, or a statistic of the scores.
        k : int
            How many queries the table has.
        method : {"linear", "exclusive", "upper"}, optional
            The rule of percentiles, as in `find_thresholds`.
        query_ids : iterable of str, optional
            Only these queries; the threshold is computed from all.
        path : str or Path, optional
            A file for all of them, .parquet or .csv, written part by part in the order of the
            table.
        cause : str, optional
            Only the queries that fail for this cause; see `breakdown`.
        n_results : int
            The number of results that the answer was made from, if `cause` is set; in memory this
            is ``k``.

        Returns
        -------
        Result
            With question, answer and reasons if the details have them.
        """
        return self._with_engine(
            failures_of_scan(
                *(self._profile, self._engine, metric, threshold),
                k=k,
                method=method,
                query_ids=query_ids,
                path=path,
                cause=cause,
                n_results=n_results,
            )
        )

    def breakdown(self, *, k: int = 5, confidence_level: float = 0.95) -> Result:
        """How many queries fail for each cause, as `RAGPipelineEvaluation.breakdown`.

        The files are read once more.

        Parameters
        ----------
        k, confidence_level
            As there.
        """
        return self._with_engine(
            breakdown_of_scan(self._profile, self._engine, k=k, confidence_level=confidence_level)
        )

    def retrieval_by_generation(self, *, k: int = 5) -> Result:
        """Retrieval and answers, as `RAGPipelineEvaluation.retrieval_by_generation`.

        The files are read once more.

        Parameters
        ----------
        k : int
            As there.
        """
        return self._with_engine(retrieval_by_generation_of_scan(self._profile, self._engine, k=k))

    def slices(
        self,
        by: str,
        metrics: str | Iterable[str] | None = None,
        **settings: Unpack[ClusteredMeanKeywords],
    ) -> Result:
        """The report for each group of queries, as `RAGPipelineEvaluation.slices`.

        Parameters
        ----------
        by : str
            The column of the details that holds the groups, of which there are at most 10,000.
        metrics : str or iterable of str, optional
            The metrics, by any of their names; if omitted, all.
        **settings
            As in `evaluation_report`.
        """
        check_options("slices()", settings, ClusteredMeanKeywords.__annotations__)
        return self._with_engine(
            slices_of_scan(self._profile, self._engine, by, metrics, **settings)
        )

    def gate(self, *rules: str | Rule, **options: Unpack[RunGateKeywords]) -> GateResult:
        """Test the pipeline against rules, as `RAGPipelineEvaluation.gate`.

        Parameters
        ----------
        *rules : str
            As there. A rule on a percentile or on a share of scores that are no lattice reads the
            files once more.
        **options
            ``missing``, ``confidence_level``, ``n_resamples``, ``seed``, ``correct`` and
            ``clusters``, as there. Clusters take another pass, and one for each rule on a share.
        """
        check_options("gate()", options, RunGateKeywords.__annotations__)
        profile, engine, clusters = self._profile, self._engine, options.get("clusters")
        column = clusters_of(profile.described, clusters)
        reader = None if column is None else OwnClusters(engine, column)
        run = ScannedRun(profile, engine, gate_settings(**options), reader)
        return self._with_engine(gate_run(run, rules, profile.unnamed_clusters(clusters)))

    def report(self, **options: Unpack[ScanReportKeywords]) -> ReportPage:
        """The report page: tables and pictures of all queries, and the worst 1,000 of each metric.

        Parameters
        ----------
        **options
            As in `RAGPipelineEvaluation.report`. The files are read once more for the causes of
            failures, and for a rule for a correct answer that is not that of the scan. Long texts
            are cut so that the page stays below five megabytes.

        Returns
        -------
        rageval_report.reports.Report
            Its ``save("report.html")`` writes the page; .md, .tex and .txt hold the tables.
        """
        check_options("report()", options, ScanReportKeywords.__annotations__)
        chosen = dict[str, Any](options)
        title, by = chosen.pop("title", None), chosen.pop("by", None)
        pictures, longest = chosen.pop("pictures", True), chosen.pop("longest_text", None)
        metrics, k = chosen.pop("metrics", None), chosen.pop("k", None)
        notion = find_notion(self._profile.described.head, chosen.pop("correct", None))
        profile = with_notion(self._profile, self._engine, notion)
        return delegates.page_of_scan(
            profile,
            self._engine,
            self._with_engine(report_of_scan(profile, self._engine, metrics, **chosen)),
            lambda column: self.slices(column, metrics, **chosen),
            self._drawn() if pictures else None,
            title=title,
            by=by,
            k=k,
            longest_text=longest,
        )

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
            "slices" needs ``by=``, "forest" another scan as ``other=``. The plots that show scores
            of two metrics of the same query need the scores in memory, and so do others.
        *args : str or iterable of str
            The metrics, by any of their names.
        ax : Axes, optional
            The Axes to draw on; if omitted, those of a new figure.
        **options
            The options of the plot.
        """
        entry, chosen = plot_named(kind), dict[str, Any](options)
        if entry.name in DRAWN_FROM_COUNTS:
            others = chosen.get("other")
            if others is not None:
                scans = scans_among((self, *_as_tuple(others)), f"plot({entry.name!r})")[1:]
                chosen["other"] = [scan._drawn() for scan in scans]
            return entry(self._drawn(), *args, ax=ax, **chosen)
        if entry.name == "forest" and chosen.get("other") is not None:
            other, metrics = chosen.pop("other"), next(iter(args), None)
            return self.comparative_summary(other, metrics=metrics).plot(entry, ax=ax, **chosen)
        if entry.name in ("forest", "slices"):
            return entry(self, *args, ax=ax, **chosen)
        raise needs_memory(f"plot {entry.name!r}")

    def _drawn(self) -> DrawnScan:
        return drawn_scan(self._profile, self.evaluation_report, self.find_thresholds)

    # -- two pipelines

    def comparative_summary(
        self, *others: EvaluationScan, **options: Unpack[ComparisonKeywords]
    ) -> ScannedComparison:
        """Compare this scan, the baseline, with others, query by query; see `compare`.

        Parameters
        ----------
        *others : EvaluationScan
            The candidates.
        **options
            As in `rageval_report.compare`. Those that need every score in memory say so, and so do
            methods of the comparison.
        """
        scans = (self, *scans_among((self, *others), "comparative_summary()")[1:])
        return compare_scans(
            self._described, [other._described for other in scans[1:]], self._engine, **options
        )

    def comparative_detailed_summary(
        self,
        other: EvaluationScan,
        correct: Correct | None = None,
        *,
        k: int = MOST_ANSWERED,
        path: str | Path | None = None,
        on: str | None = None,
    ) -> pd.DataFrame:
        """The queries that both, neither, or only one of two scans answers correctly.

        Parameters
        ----------
        other : EvaluationScan
            The other pipeline.
        correct : see `rageval_report.scores.correctness`, optional
            If omitted, the rule of each scan, else the same column of both.
        k : int
            The most ids of each column.
        path : str or Path, optional
            A Parquet file with the outcome of every query, in columns ``query_id`` and
            ``outcome``, written part by part.
        on : str, optional
            A column of texts, such as "question", that matches the queries if the ids differ; the
            texts are read first.

        Returns
        -------
        DataFrame
            The columns of `RAGPipelineEvaluation.comparative_detailed_summary`, each in the order
            of the ids. ``attrs["n"]`` is the number of all queries of each column.
        """
        _, scan = scans_among((self, other), "comparative_detailed_summary()")
        return answered_queries(
            self._profile, scan._profile, self._engine, correct, k=k, path=path, on=on
        )

    def comparative_detailed_report(
        self,
        other: EvaluationScan,
        keep_columns: Iterable[str] | None = None,
        output_format: OutputFormat = "json",
        csv_file: str | Path | None = None,
        *,
        k: int = MOST_DETAILED,
        path: str | Path | None = None,
    ) -> HaystackReport:
        """Two scans side by side in Haystack's form: the first k queries, and all in a file.

        Parameters
        ----------
        other : EvaluationScan
            The other pipeline.
        keep_columns, output_format, csv_file
            As in `RAGPipelineEvaluation.comparative_detailed_report`; `csv_file` holds all rows.
        k : int
            How many rows are returned, those of the first ids in their order.
        path : str or Path, optional
            A file for all of them, .parquet or .csv, written part by part in the order in which the
            engine puts the rows side by side.

        Returns
        -------
        dict, str or DataFrame
            The columns of memory. ``attrs["n"]`` of a frame is the number of all rows.
        """
        _, scan = scans_among((self, other), "comparative_detailed_report()")
        return comparative_report_of_scans(
            *(self._profile.described, scan._profile.described, self._engine),
            *(keep_columns, output_format, csv_file),
            k=k,
            path=path,
        )

    # -- several pipelines

    def rank_with(
        self, *others: EvaluationScan, **options: Unpack[RankingKeywords]
    ) -> ScannedRanking:
        """Rank this scan and others, metric by metric; see `rank`.

        Parameters
        ----------
        *others : EvaluationScan
            At least one.
        **options
            As in `rageval_report.rank`. Those that need every score in memory say so, and so do
            methods of the ranking.
        """
        scans = (self, *scans_among((self, *others), "rank()")[1:])
        return rank_scans(
            [scan.name for scan in scans],
            lambda: [scan._profile for scan in scans],
            self._engine,
            **options,
        )

    # -- runs in the order of time

    def dated_run(self, name: str, engine_of: EvaluationScan) -> DatedScan:
        """The scan as a run of a history; see `rageval_report.history`.

        Parameters
        ----------
        name : str
            The name of the run.
        engine_of : EvaluationScan
            The scan whose engine reads two runs side by side.
        """
        return DatedScan.of_profile(self._profile, engine_of._engine, name)


def _as_tuple(others: object) -> tuple[object, ...]:
    return tuple(others) if isinstance(others, Sequence) else (others,)


def scan_table(
    source: ScanSource,
    options: ScanOptions,
    construct: Construct,
    *,
    engine: str = AUTO,
    memory_limit: str | None = None,
    scheduler: str | None = None,
    delimiter: str | None = None,
) -> EvaluationScan:
    """Open a table beyond memory; see `RAGPipelineEvaluation.scan`."""
    opened = open_table(source, delimiter=delimiter)
    if options.name is None:
        options = replace(options, name=_name_of(opened))
    reader = engine_of(engine, memory_limit=memory_limit, scheduler=scheduler)
    return EvaluationScan(describe_scan(opened, options, construct), reader)


def _name_of(opened: OpenedTable) -> str:
    """The name of a file, or of the folder of several; a computed frame has none."""
    files = opened.files.files
    folder = files[0].parent
    if opened.stored is not None and folder == opened.stored.path:
        return "pipeline"
    if len(files) == 1:
        return files[0].name.partition(".")[0]
    while "=" in folder.name:
        folder = folder.parent
    return folder.name or "pipeline"
