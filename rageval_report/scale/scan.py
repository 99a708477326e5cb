"""`EvaluationScan`: the evaluation of a pipeline whose scores do not fit into memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import narwhals as nw
import numpy as np
import pandas as pd

from rageval_report._registry import import_parquet
from rageval_report.analysis import arguments, slices
from rageval_report.analysis import report as reporting
from rageval_report.analysis.arguments import Clusters, EvaluationSubset, MeanKeywords
from rageval_report.analysis.compare import compare
from rageval_report.analysis.gate import gate
from rageval_report.analysis.pairing import MISSING_TREATMENTS
from rageval_report.analysis.report import UnscoredQueries
from rageval_report.errors import check_choice
from rageval_report.plots import plot_named
from rageval_report.reports.build import report_evaluation
from rageval_report.results import Result
from rageval_report.scale import frames, pairs, tables
from rageval_report.scale.counted import CountedTable
from rageval_report.scores import Correct, align, join_details, normalise_name, resolver
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.correct import CorrectCounts, CorrectNotion, answers_by
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.roles import ColumnRole, count_roles
from rageval_report.scores.run_file import reference_column
from rageval_report.scores.states import ERROR, REASON, STATE
from rageval_report.stats.columns import MOST_LISTED, Column
from rageval_report.stats.units import Units
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.plots.kinds import Plot

# Plots of the counts of one metric at a time, and of tables.
_DRAWN_FROM_COUNTS = ("distribution", "box", "slices")
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
        in_memory = getattr(self._reader.construct, "__self__", object)
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
        table = self.counted_table()
        means = {name: table.column(each).mean for name, each in self.table.metrics.items()}
        if metric is not None:
            return means[resolver(self.table.metrics)(metric)]
        return pd.Series(means, name="mean").rename_axis("metric")

    def failures(
        self,
        metric: str,
        threshold: float | str,
        *,
        k: int = tables.MOST_WORST,
        method: Any = None,
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
        score = nw.col(known.name)
        condition = score < cut if known.greater_is_better else score > cut
        worst = table.first_rows(condition, known.name, k, descending=not known.greater_is_better)
        n_wrong = frames.count_rows(table.frame.filter(condition))
        names = [known.name, *(name for name in table.metrics if name != known.name)]
        rows = join_details(worst[names], worst.drop(columns=names))
        counts = reporting.FailureCounts(n_wrong, column.n, table.n_queries - column.n)
        result = reporting.failures_of_rows(head, known, rows, counts, cut, threshold, rule)
        cut_off = [f"the table has the {len(rows)} worst"] if n_wrong > len(rows) else []
        settings = {**result.settings, "engine": self.engine}
        return replace(result, settings=settings).with_notes(*cut_off)

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
        kind : {"distribution", "box", "slices"}
            "slices" needs ``by=``. Other plots show single queries or two pipelines: see
            `rageval_report.compare`.
        *args : str or iterable of str
            The metrics, by any of their names.
        ax : Axes, optional
            The Axes to draw on; if omitted, those of a new figure.
        **options
            The options of the plot.
        """
        entry = plot_named(kind)
        if entry.name not in _DRAWN_FROM_COUNTS or "other" in options:
            raise self.needs_memory(f"the plot {entry.name!r}")
        drawn: Axes = entry(self.drawn(), *args, ax=ax, **options)
        return drawn

    def drawn(self) -> DrawnScan:
        """What plots of single metrics draw."""
        return DrawnScan(self)

    # -- rows

    def beside(self, evaluation: Any) -> Self:
        """An evaluation in memory as a scan of the same engine."""
        path = frames.temporary_folder() / f"memory-{id(evaluation)}.parquet"
        evaluation.save(path, force=True)
        saved = import_parquet().read_table(path)
        opened = frames.open_beside(self._reader.opened, saved.to_pandas(ignore_metadata=True))
        opened = replace(opened, name=evaluation.name, metadata=saved.schema.metadata)
        plain = dict.fromkeys(self._reader.options) | {"strict": False, "allow": ()}
        return type(self)(replace(self._reader, opened=opened, options=plain))

    def queries(self) -> EvaluationSubset:
        """The ids and references of all queries, without scores."""
        if self.n_queries > MOST_LISTED:
            raise self.needs_memory("a history, which compares the ids of all queries,")
        reference = reference_column(self.table.details)
        wanted = [QUERY_ID, *([reference] if reference else [])]
        rows = frames.collect(self.table.frame.select(*wanted)).set_index(QUERY_ID)
        return EvaluationSubset(self.name, pd.DataFrame(index=rows.index), rows, {})

    def worst_ids(self, metrics: Iterable[str], k: int) -> list[str]:
        """The ids of the k worst queries of each metric."""
        rows = [
            self.table.first_rows(
                None, name, k, descending=not self.table.metrics[name].greater_is_better
            )
            for name in metrics
        ]
        return list(dict.fromkeys(query_id for part in rows for query_id in part.index))

    def rows_of(self, ids: Sequence[str]) -> tables.Head:
        """Some queries as an evaluation."""
        return self.table.with_rows(
            self.table.first_rows(nw.col(QUERY_ID).is_in(ids), None, len(ids))
        )

    # -- counts

    @cached_property
    def _counted(self) -> CountedTable:
        return CountedTable.of(self.table)

    def counted_table(self, clusters: Clusters | None = None) -> CountedTable:
        """The columns with counts, and with clusters."""
        return self._counted if clusters is None else CountedTable.of(self.table, clusters)

    def cluster_hint(self) -> str | None:
        """A note on the first column that looks like clusters, if the first rows are all rows."""
        is_whole = self.n_queries <= len(self.head.scores)
        return align.cluster_hint(self.head) if is_whole else None

    def count_unscored(self, metrics: Iterable[str]) -> UnscoredQueries:
        """The queries without a score, by metric, state and reason."""
        table, states, reasons = self.table, dict[str, Any](), dict[str, Any]()
        for name in filter(table.has_gaps, metrics):
            own = (f"{name}{STATE}", f"{name}{REASON}")
            key = [d for d in table.details if d == ERROR or normalise_name(d) in own]
            part = pd.DataFrame({"_n": [table.n_queries - table.n_scored[name]]})
            if key:
                blank = table.frame.filter(nw.col(name).is_null())
                part = frames.collect(blank.group_by(*key).agg(nw.len().alias("_n")))
                part = part.sort_values(["_n", *key], ascending=False, ignore_index=True)
            times, scores = part.pop("_n"), pd.DataFrame({name: np.full(len(part), np.nan)})
            group = EvaluationSubset(self.name, scores, part, {name: table.metrics[name]})
            unscored = UnscoredQueries.of(group, [name], times=times)
            states |= unscored.states
            reasons |= unscored.reasons
        return UnscoredQueries(table.n_queries, states, reasons)

    def count_correct(self, notion: CorrectNotion) -> CorrectCounts:
        """How many queries are answered correctly, by the combinations of what decides it.

        Raises
        ------
        DataError
            If the rule is a function, which needs every row.
        """
        table, cuts = self.table, self._cuts_of(notion)
        keys, scored = {}, {}
        for place, (name, metric) in enumerate(table.metrics.items()):
            if name in cuts or metric.known_as in _OF_REFUSALS:
                # Scores that reach the same cuts decide alike: any of them stands for all.
                x, ends = nw.col(name), {*cuts.get(name, ()), 0.5, *(metric.bounds or ())}
                reached = (
                    nw.when(x > e).then(2).when(x == e).then(1).when(x < e).then(0) for e in ends
                )
                keys[f"_{place}"] = reduce(operator.add, reached)
                scored[f"x{place}"] = name
        details = [d for d in table.details if d in (notion.rule, notion.column)]
        reduced = table.frame.select(
            *(key.alias(label) for label, key in keys.items()),
            *(nw.col(name).alias(label) for label, name in scored.items()),
            *details,
        )
        least = (nw.col(label).min() for label in scored)
        counted = reduced.group_by(*keys, *details).agg(nw.len().alias("n"), *least)
        rows = frames.collect(counted).rename(columns=scored)
        # The other metrics are there as well, for messages.
        scores = rows.reindex(columns=list(table.metrics)).astype(np.float64)
        subset = EvaluationSubset(self.name, scores, rows[details], table.metrics, self.head.config)
        right, n = answers_by(subset, notion), rows["n"].to_numpy()
        n_right = int(n[right.fillna(value=False).to_numpy(bool)].sum())
        n_unknown = int(n[right.isna().to_numpy()].sum())
        return CorrectCounts(n_right, self.n_queries - n_right - n_unknown, n_unknown)

    def _cuts_of(self, notion: CorrectNotion) -> dict[str, set[float]]:
        """The metrics of a rule, each with its thresholds."""
        rule, resolve = notion.rule, resolver(self.table.metrics)
        if callable(rule):
            raise self.needs_memory("correct: a function")
        if isinstance(rule, str):
            return {} if rule in self.table.details else {resolve(rule): set()}
        known = dict(rule) if isinstance(rule, Mapping) else dict([rule])
        return {resolve(name): {float(threshold)} for name, threshold in known.items()}

    # -- the scan in gates, beside others, and in a history

    def _beside(self, others: Sequence[Self], on: str | None) -> list[Any]:
        if on is not None:
            raise self.needs_memory("on=, which matches queries by their texts,")
        return [self, *others]

    def pair_with(
        self,
        others: Sequence[Self],
        metrics: str | Iterable[str] | None,
        missing: Any,
        clusters: Clusters | None,
        on: str | None,
    ) -> tuple[tuple[Any, ...], Units]:
        """The scan beside each of others, and what is independent."""
        chosen = metrics if metrics is None or isinstance(metrics, str) else list(metrics)
        first, *rest = self._beside(others, on)
        pairings = tuple(
            pairs.CountedPairing.of((first, each), chosen, missing, clusters) for each in rest
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
        return pairs.CountedLineup.of(self._beside(scans[1:], on), metrics, missing, clusters)

    def run_beside(self, before: Any, after: Any) -> pairs.SameScannedQueries:
        """Two runs of a history, the first of which is this scan."""
        [_, other] = arguments.scans_among((self, after.evaluation), "history()")
        return pairs.SameScannedQueries(before, after, (self.table, other.table))


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
        return self.scan.counted_table().column(self.scan.table.metrics[metric])

    def counted(self, metric: str) -> tuple[FloatArray, FloatArray]:
        """The distinct scores of a metric in ascending order, and how often each occurs."""
        column = self._column(metric)
        return column.values, column.counts


def open_scan(
    source: frames.ScanSource,
    construct: tables.Construct,
    *,
    name: str | None,
    engine: str,
    memory_limit: str | None,
    **options: object,
) -> EvaluationScan:
    """Open a table beyond memory; see `RAGPipelineEvaluation.scan`."""
    opened = frames.open_frame(source, engine, memory_limit)
    opened = replace(opened, name=name or opened.name)
    return EvaluationScan(tables.RowReader(opened, construct, options))
