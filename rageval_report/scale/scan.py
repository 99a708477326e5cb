"""`EvaluationScan`: the evaluation of a pipeline whose scores do not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import narwhals as nw
import pandas as pd

from rageval_report.analysis import breakdown as causes_of_failures
from rageval_report.analysis import report as reporting
from rageval_report.analysis import slices
from rageval_report.analysis.arguments import (
    Clusters,
    EvaluationSubset,
    MeanKeywords,
    check_count,
    choose_metrics,
    resolve_units,
    scans_among,
    threshold_value,
)
from rageval_report.analysis.compare import compare
from rageval_report.analysis.gate import gate
from rageval_report.analysis.gate_figures import GatedRun, GateSettings
from rageval_report.analysis.pairing import MISSING_TREATMENTS
from rageval_report.errors import check_choice
from rageval_report.plots import plot_named
from rageval_report.reports.build import report_evaluation
from rageval_report.reports.report import cutoff_of
from rageval_report.results import Result
from rageval_report.scale import answers, counted, frames, pairs, tables
from rageval_report.scores import Correct, Scored, join_details, normalise_name, resolver
from rageval_report.scores.align import (
    cluster_hint,
    cluster_noun,
    counted_clusters,
    hint_of,
    match_all,
)
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.correct import CorrectCounts, CorrectNotion
from rageval_report.scores.query_ids import QUERY_ID, QUESTION
from rageval_report.scores.roles import ColumnRole, count_roles
from rageval_report.scores.run_file import reference_column
from rageval_report.stats.columns import MOST_LISTED, Column
from rageval_report.stats.units import QUERIES, Units
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.analysis.history import DatedRun
    from rageval_report.plots.kinds import Plot

# What a scan has of the evaluation of its first rows, whose metrics and notes are those of all.
_OF_HEAD = ("metrics", "notes", "roles", "config", "created")
# Plots of the counts of one metric at a time, and of tables.
_DRAWN_FROM_COUNTS = ("distribution", "box", "forest", "slices")
# Tables of no more rows are fetched by what needs every row and no statistics of its own.
MOST_FETCHED = 2**20


class EvaluationScan:
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

    def needs_memory(self, what: str) -> Exception:
        """The error for an analysis that needs every row in memory."""
        return self.table.needs_memory(what)

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
        known = choose_metrics(head, metric)[0]
        column, rule = self._counted.column(known), method or percentile_method(head)
        cut = threshold_value(known, column, threshold, rule)
        score = nw.col(known.name)
        condition, notes = score < cut if known.greater_is_better else score > cut, []
        if cause is not None:
            notion = self.gated(GateSettings()).notion()
            combined, causes = answers.find_causes(table, notion, cutoff_of(head, None))
            is_meant = causes == causes_of_failures.check_cause(cause)
            condition &= combined.condition(is_meant.to_numpy(bool))
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
        counts = reporting.FailureCounts(
            frames.count_rows(every), column.n, table.n_rows - column.n
        )
        result = reporting.failures_of_rows(head, known, rows, counts, cut, threshold, rule)
        if counts.n_wrong > len(rows):
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
        check_count("k", k)
        scans = scans_among((self, other), "comparative_detailed_summary()")
        first, candidate = self._matched(scans, on)
        return pairs.outcomes_of_scans((first, candidate), correct, k, path)

    # -- what analyses ask

    def beside(self, evaluation: Scored) -> EvaluationScan:
        """An evaluation in memory as a scan of the same engine."""
        return self._like(evaluation.name, lambda: tables.same_engine(self.table, evaluation))

    def _like(self, name: str, describe: Callable[[], tables.ScannedTable]) -> EvaluationScan:
        return EvaluationScan(name, "in memory", self.engine, describe, self._in_memory)

    def fetched(self, what: str) -> tables.Head:
        """All rows, by id, as an evaluation; an error if they are too many."""
        if self.n_queries > MOST_FETCHED:
            raise self.needs_memory(what)
        return self.table.with_rows(self.table.first_rows(None, None, None))

    def _matched(self, scans: Sequence[EvaluationScan], on: str | None) -> list[EvaluationScan]:
        """Scans of one engine, the others with the ids that the same texts have in the first."""
        for scan in scans:
            tables.same_engine(self.table, scan.table)
        if on is None:
            return list(scans)
        first, *others = [scan._texts(on) for scan in scans]
        renamed = []
        for scan, own, new in zip(scans[1:], others, match_all(first, others, on), strict=True):
            ids = pd.DataFrame({QUERY_ID: own.scores.index, "new_id": new.scores.index})
            beside = frames.open_beside(scan.table.opened, ids).frame
            frame = scan.table.frame.join(beside, on=QUERY_ID, how="inner").drop(QUERY_ID)
            table = replace(scan.table, frame=frame.rename({"new_id": QUERY_ID}))
            renamed.append(scan._like(scan.name, lambda table=table: table))  # type: ignore[misc]
        return [scans[0], *renamed]

    def _texts(self, on: str) -> EvaluationSubset:
        """The ids and the texts by which queries are matched."""
        if self.n_queries > MOST_FETCHED:
            raise self.needs_memory("on=, which matches queries by their texts,")
        own = self.table.details
        names = [c for c in own if c == on or (on == "question" and normalise_name(c) in QUESTION)]
        return self._ids_with(names)

    def _ids_with(self, columns: Sequence[str]) -> EvaluationSubset:
        rows = frames.collect(self.table.frame.select(QUERY_ID, *columns)).set_index(QUERY_ID)
        return EvaluationSubset(self.name, pd.DataFrame(index=rows.index), rows, {})

    def queries(self) -> EvaluationSubset:
        """The ids and references of all queries, without scores."""
        if self.n_queries > MOST_LISTED:
            raise self.needs_memory("a history, which compares the ids of all queries,")
        reference = reference_column(self.table.details)
        return self._ids_with([reference] if reference else [])

    @cached_property
    def _counted(self) -> counted.CountedTable:
        return counted.CountedTable.of(self.table)

    def counted_table(self, clusters: Clusters | None = None) -> counted.CountedTable:
        """The columns with counts."""
        return self._counted if clusters is None else counted.CountedTable.of(self.table, clusters)

    def cluster_labels(self, clusters: Clusters) -> list[Any]:
        """The distinct labels of clusters."""
        rows = counted.CountedTable.of(self.table, clusters).sides.rows.select("cluster").unique()
        return frames.collect(rows)["cluster"].tolist()  # type: ignore[no-any-return]

    def count_unscored(self, metrics: Iterable[str]) -> reporting.UnscoredQueries:
        """The queries without a score, by metric, state and reason."""
        return answers.count_unscored(self.table, metrics)

    def count_correct(self, notion: CorrectNotion | None) -> CorrectCounts | None:
        """How many queries are answered correctly; None if that is not known."""
        return None if notion is None else answers.count_correct(self.table, notion)

    def count_causes(
        self, k: int, correct: Correct | CorrectNotion | None
    ) -> causes_of_failures.CauseCounts:
        """How many queries fail for each cause."""
        notion = self.gated(GateSettings(correct=correct)).notion()
        return answers.count_causes(self.table, notion, k)

    def cluster_hint(self) -> str | None:
        """A note on the first column that looks like clusters in all rows."""
        if self.n_queries <= len(self.head.scores):
            return cluster_hint(self.head)
        for column in filter(cluster_noun, self.table.details):
            labelled = self.table.frame.filter(~nw.col(column).is_null())
            sizes = labelled.group_by(column).agg(nw.len().alias("n"))
            n, shared = nw.col("n"), nw.when(nw.col("n") > 1).then(nw.col("n")).otherwise(0)
            sums = sizes.select(n.sum().alias("all"), nw.len().alias("k"), shared.sum().alias("s"))
            counted = counted_clusters(column, *frames.collect(sums).fillna(0).astype(int).iloc[0])
            if counted is not None:
                return hint_of(column, counted)
        return None

    def worst_ids(self, metrics: Iterable[str], k: int) -> list[str]:
        """The ids of the k worst queries of each metric; all ids of a table of no more queries."""
        if self.n_queries <= k:
            return self._ids_with([]).scores.index.sort_values().tolist()
        rows = [
            self.table.first_rows(None, n, k, descending=not self.metrics[n].greater_is_better)
            for n in metrics
        ]
        return list(dict.fromkeys(query_id for part in rows for query_id in part.index))

    def rows_of(self, ids: Sequence[str]) -> tables.Head:
        """Some queries as an evaluation."""
        rows = self.table.first_rows(nw.col(QUERY_ID).is_in(ids), None, None)
        return self.table.with_rows(rows)

    def drawn(self) -> DrawnScan:
        """What plots of single metrics draw."""
        return DrawnScan(self)

    def gated(self: Any, settings: GateSettings, *, with_clusters: bool = False) -> GatedRun:
        """The pipeline as gates take it."""
        if settings.clusters is not None:
            rows = self.fetched("gate() with clusters")
            return GatedRun(rows, settings, resolve_units(rows, settings.clusters))
        return answers.ScannedRun(self, settings, counted.SUMMED if with_clusters else QUERIES)

    def pair_with(
        self,
        others: Sequence[EvaluationScan],
        metrics: str | Iterable[str] | None,
        missing: Any,
        clusters: Clusters | None,
        on: str | None,
    ) -> tuple[tuple[Any, ...], Units]:
        """The scan beside each of others, and what is independent."""
        named = metrics if metrics is None or isinstance(metrics, str) else list(metrics)
        matched = [self._matched([self, other], on)[1] for other in others]
        pairings = tuple(
            pairs.CountedPairing.of((self, other), named, missing, clusters) for other in matched
        )
        return pairings, pairings[0].sides.units

    def line_up(
        self,
        scans: Sequence[EvaluationScan],
        metrics: str | Iterable[str] | None,
        missing: Any,
        clusters: Clusters | None,
        on: str | None,
    ) -> pairs.CountedLineup:
        """Scans, of which this is the first, as the lineup of a ranking."""
        check_choice("missing", missing, MISSING_TREATMENTS)
        return pairs.CountedLineup.of(self._matched(scans, on), metrics, missing, clusters)

    def run_beside(self, before: DatedRun, after: DatedRun) -> pairs.SameScannedQueries:
        """Two runs of a history, the first of which is this scan."""
        [other] = scans_among((self, after.evaluation), "history()")[1:]
        return pairs.SameScannedQueries(
            before, after, (self.table, tables.same_engine(self.table, other.table))
        )


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
