"""`EvaluationScan`: the evaluation of a pipeline whose scores do not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import narwhals as nw
import pandas as pd

from rageval_report.analysis import arguments, slices
from rageval_report.analysis import breakdown as causes_of_failures
from rageval_report.analysis import report as reporting
from rageval_report.analysis.arguments import Clusters, MeanKeywords, scans_among
from rageval_report.analysis.compare import compare
from rageval_report.analysis.gate import gate
from rageval_report.plots import plot_named
from rageval_report.reports.build import report_evaluation
from rageval_report.reports.report import cutoff_of
from rageval_report.results import Result
from rageval_report.scale import frames, pairs, tables
from rageval_report.scale.answers import CountedQueries
from rageval_report.scores import Correct, join_details, resolver
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.correct import CorrectNotion
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.roles import ColumnRole, count_roles
from rageval_report.stats.base import check_integer
from rageval_report.stats.columns import Column
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.plots.kinds import Plot

# What a scan has of the evaluation of its first rows, whose metrics and notes are those of all.
_OF_HEAD = ("metrics", "notes", "roles", "config", "created")
# Plots of the counts of one metric at a time, and of tables.
_DRAWN_FROM_COUNTS = ("distribution", "box", "forest", "slices")


class EvaluationScan(CountedQueries):
    """The scores of one RAG pipeline in files of any size, or in a lazy frame.

    `RAGPipelineEvaluation.scan` makes one. It has the methods of `RAGPipelineEvaluation` whose
    results do not grow with the number of queries, with the same tables, notes and settings, and
    the engine among the settings. An engine counts the scores; nothing is read before a method
    needs it, and what was counted is kept. Other methods end with an error that names the size.

    Parameters
    ----------
    name : str
        The name of the pipeline.
    place, engine : str
        Where its scores are, and what counts them.
    describe : callable
        Gives the table, when it is needed.
    in_memory : type
        The class of the evaluation in memory.
    """

    def __getattr__(self, name: str) -> Any:
        if name in _OF_HEAD:
            return getattr(self.head, name)
        if name.startswith("_") or not hasattr(self._in_memory, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise self.needs_memory(f"what reads {name}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.place}, engine {self.engine})"

    def collect(self) -> Any:
        """The evaluation in memory, as `RAGPipelineEvaluation`."""
        return self.table.gather()

    # -- one pipeline: the verbs of an evaluation in memory

    find_thresholds: ClassVar[Callable[..., Any]] = reporting.find_thresholds
    slices: ClassVar[Callable[..., Any]] = slices.slice_summary
    gate: ClassVar[Callable[..., Any]] = gate
    breakdown: ClassVar[Callable[..., Any]] = causes_of_failures.breakdown
    report: ClassVar[Callable[..., Any]] = report_evaluation
    comparative_summary: ClassVar[Callable[..., Any]] = compare

    def evaluation_report(
        self: Any,
        *,
        correct: Correct | CorrectNotion | None = None,
        metrics: str | Iterable[str] | None = None,
        clusters: Clusters | None = None,
        **settings: Unpack[MeanKeywords],
    ) -> reporting.EvaluationReport:
        """The report, as `RAGPipelineEvaluation.evaluation_report` with the same settings.

        Parameters
        ----------
        correct : optional
            What a correct answer is; that of the scan if omitted.
        metrics, clusters, **settings
            As there. An interval that draws random numbers from more scores than a grid has steps
            needs them in memory.
        """
        report = reporting.evaluation_report(
            self, correct, metrics=metrics, clusters=clusters, **settings
        )
        counted = count_roles(ColumnRole(*row) for row in self.roles.itertuples(index=False))
        return report.with_notes(*self.notes, *([counted] if counted else []))

    classification_report = evaluation_report

    def get_aggregated_scores(self, metric: str | None = None) -> Any:
        """The mean of one metric, or of all, as `RAGPipelineEvaluation.get_aggregated_scores`."""
        means = {name: self._counted.column(each).mean for name, each in self.metrics.items()}
        if metric is not None:
            return means[resolver(self.metrics)(metric)]
        return pd.Series(means, name="mean").rename_axis("metric")

    def aggregated_report(
        self, output_format: reporting.OutputFormat = "json", csv_file: str | Path | None = None
    ) -> reporting.HaystackReport:
        """The means in Haystack's form, as `RAGPipelineEvaluation.aggregated_report`."""
        return reporting.report_of_means(self.get_aggregated_scores(), output_format, csv_file)

    def detailed_report(
        self, output_format: reporting.OutputFormat = "json", csv_file: str | Path | None = None
    ) -> reporting.HaystackReport:
        """All rows in Haystack's form, as `RAGPipelineEvaluation.detailed_report`, by id."""
        return reporting.detailed_report(self.fetched("detailed_report()"), output_format, csv_file)

    def failures(
        self,
        metric: str,
        threshold: float | str,
        *,
        cause: str | None = None,
        k: int = tables.MOST_WORST,
        method: Any = None,
        query_ids: Iterable[str] | None = None,
        path: str | Path | None = None,
    ) -> Result:
        """The queries on the wrong side of a threshold: how many they are, and the k worst.

        Parameters
        ----------
        metric, threshold, cause, method, query_ids
            As in `RAGPipelineEvaluation.failures`.
        k : int
            How many queries the table has, the worst first, equal ones in the order of their ids.
        path : str or Path, optional
            A .parquet, .csv or .jsonl file for all of them.

        Returns
        -------
        Result
            With question, answer and reasons if the details have them.
        """
        table, head = self.table, self.head
        known = arguments.choose_metrics(head, metric)[0]
        column, rule = self._counted.column(known), method or percentile_method(head)
        cut = arguments.threshold_value(known, column, threshold, rule)
        score = nw.col(known.name)
        condition, notes = score < cut if known.greater_is_better else score > cut, []
        if cause is not None:
            combined, causes = self.causes(cutoff_of(head, None))
            condition &= combined.condition(causes == causes_of_failures.check_cause(cause))
            notes.append(f"only failures of {cause}")
        if query_ids is not None:
            ids = [query_ids] if isinstance(query_ids, str) else [str(each) for each in query_ids]
            condition &= nw.col(QUERY_ID).is_in(ids)
            notes.append(f"only {len(ids)} named {'query' if len(ids) == 1 else 'queries'}")
        worst = table.first_rows(condition, known.name, k, descending=not known.greater_is_better)
        every = table.frame.filter(condition)
        if path is not None:
            frames.write_rows(every, path)
        names = [known.name, *(name for name in table.metrics if name != known.name)]
        rows = join_details(worst[names], worst.drop(columns=names))
        counts = frames.count_rows(every), column.n, table.n_rows - column.n
        result = reporting.failures_of_rows(head, known, rows, counts, cut, threshold, rule)
        if counts[0] > len(rows):
            notes.append(f'the table has the {len(rows)} worst; path="failures.parquet" writes all')
        settings = {**result.settings, "engine": self.engine}
        return replace(result, settings=settings).with_notes(*notes)

    def plot(
        self,
        kind: str | Plot = "distribution",
        *args: str | Iterable[str],
        ax: Axes | None = None,
        **options: object,
    ) -> Axes:
        """Draw the scan; see `rageval_report.plots`.

        Parameters
        ----------
        kind : {"distribution", "box", "slices", "forest"}
            "slices" needs ``by=``, "forest" another pipeline as ``other=``. Other plots show
            single queries and need the scores in memory.
        *args : str or iterable of str
            The metrics, by any of their names.
        ax : Axes, optional
            The Axes to draw on; if omitted, those of a new figure.
        **options
            The options of the plot.
        """
        entry = plot_named(kind)
        others: Any = options.get("other")
        if entry.name == "forest" and others is not None:
            compared = compare(self, others, metrics=next(iter(args), None))
            drawing: Any = {name: value for name, value in options.items() if name != "other"}
            return compared.plot(entry, ax=ax, **drawing)
        if entry.name not in _DRAWN_FROM_COUNTS:
            raise self.needs_memory(f"the plot {entry.name!r}")
        if others is not None:
            listed = others if isinstance(others, list | tuple) else [others]
            scans = scans_among((self, *listed), f"plot({entry.name!r})")[1:]
            options["other"] = [DrawnScan(other) for other in scans]
        drawn: Axes = entry(DrawnScan(self), *args, ax=ax, **options)
        return drawn

    def comparative_detailed_summary(
        self,
        other: Any,
        correct: Correct | None = None,
        *,
        k: int = tables.MOST_WORST,
        path: str | Path | None = None,
        on: str | None = None,
    ) -> pd.DataFrame:
        """The queries that both, neither, or only one of two scans answers correctly.

        Parameters
        ----------
        other : EvaluationScan or RAGPipelineEvaluation
            The other pipeline.
        correct, on
            As `RAGPipelineEvaluation.comparative_detailed_summary`, but no function.
        k : int
            The most ids of each column, in their order.
        path : str or Path, optional
            A .parquet, .csv or .jsonl file with ``query_id`` and ``outcome`` of every common query.
        """
        check_integer("k", k, 1)
        scans = scans_among((self, other), "comparative_detailed_summary()")
        first, candidate = self.matched(scans, on)
        return pairs.outcomes_of_scans((first, candidate), correct, k, path)

    def drawn(self) -> DrawnScan:
        """What plots of single metrics draw."""
        return DrawnScan(self)


@dataclass(frozen=True, eq=False)
class DrawnScan:
    """What plots of one metric at a time use of a scan, which has the other attributes."""

    scan: EvaluationScan

    def __getattr__(self, name: str) -> Any:
        return getattr(self.scan, name)

    @property
    def scores(self) -> DrawnScan:
        """The scores, metric by metric: this object itself."""
        return self

    def __len__(self) -> int:
        return self.scan.n_queries

    def __getitem__(self, metric: str) -> pd.Series:
        return pd.Series(self._column(metric).listed("this plot"))

    def _column(self, metric: str) -> Column:
        return self.scan.counted_table().column(self.scan.metrics[metric])

    def counted(self, metric: str) -> tuple[FloatArray, FloatArray]:
        """The distinct scores of a metric in ascending order, and how often each occurs."""
        column = self._column(metric)
        return column.values, column.counts


def open_scan(
    source: frames.ScanSource,
    options: tables.ScanOptions,
    construct: tables.Construct,
    **opening: object,
) -> EvaluationScan:
    """Open a table beyond memory; see `RAGPipelineEvaluation.scan`."""
    settings: dict[str, Any] = opening
    opened = frames.open_frame(source, **settings)
    return EvaluationScan(
        *(options.name or opened.name, opened.place, opened.engine),
        lambda: tables.describe_table(opened, options, construct),
        getattr(construct, "__self__", object),
    )
