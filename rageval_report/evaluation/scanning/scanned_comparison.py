"""The comparison of scans: the table of one pass, and methods that read the files again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd

from rageval_report.analysis.arguments import RankingReportKeywords, ReportKeywords
from rageval_report.analysis.comparing.comparison import Comparison
from rageval_report.analysis.gates.gate import gate_candidates, settings_of_comparison
from rageval_report.analysis.gates.grammar import Rule
from rageval_report.analysis.gates.result import GateResult
from rageval_report.analysis.gates.rule_resolution import Subject
from rageval_report.errors import (
    DataError,
    UnknownNameError,
    check_options,
    explain_keywords_of,
)
from rageval_report.evaluation import delegates
from rageval_report.evaluation.scanning.causes import with_shared_notions
from rageval_report.evaluation.scanning.changed_queries import MOST_CHANGED, changed_queries
from rageval_report.evaluation.scanning.cluster_labels import unnamed_clusters_of
from rageval_report.evaluation.scanning.gates import LaterScannedRun
from rageval_report.evaluation.scanning.needs_memory import needs_memory
from rageval_report.evaluation.scanning.profile import profile_of
from rageval_report.evaluation.scanning.scanned_pair import ScannedPair
from rageval_report.evaluation.scanning.single import report_of_scan
from rageval_report.evaluation.scanning.slices import compare_slices
from rageval_report.plots import plot_named
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import ComparisonPlot, MetricNames, PlotOptions
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, resolver
from rageval_report.scores.guard import doubts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.reports.report import Report

# The options of a page that are not those of the means on it.
PAGE_KEYWORDS = tuple(RankingReportKeywords.__annotations__)


@explain_keywords_of
@dataclass(frozen=True, eq=False, repr=False)
class ScannedComparison(Comparison):
    """Scanned candidates against a scanned baseline: one row per metric and candidate.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by, pairings, plan
        As in `Comparison`; there are no pairings, which hold every score.
    pairs : tuple of ScannedPair
        The baseline beside each candidate.
    """

    pairs: tuple[ScannedPair, ...] = ()

    @classmethod
    def of(cls, comparison: Comparison, pairs: tuple[ScannedPair, ...]) -> ScannedComparison:
        """The same comparison, which knows the files."""
        known = {field.name: getattr(comparison, field.name) for field in fields(comparison)}
        return cls(**known, pairs=pairs)

    def differences(self, metric: str, candidate: str | None = None) -> pd.Series:
        """Raises `DataError`: the differences of a scan are not in memory one by one."""
        pair, ours, _ = self.pair_of(metric, candidate)
        raise DataError(
            f"the differences on {ours.name!r} of all {pair.common.n_common} common queries are "
            "not in memory. For the largest of them call regressions() or improvements(), for all "
            "compare the evaluations that .collect() brings into memory"
        )

    def regressions(
        self,
        metric: str,
        candidate: str | None = None,
        *,
        k: int = MOST_CHANGED,
        path: str | Path | None = None,
    ) -> pd.DataFrame:
        """The queries on which the candidate is worse, the largest change first.

        The files are read once more.

        Parameters
        ----------
        metric : str
            The metric, by any of its names.
        candidate : str, optional
            The candidate; required if there are several.
        k : int
            The most queries that the table has.
        path : str or Path, optional
            A file, .parquet or .csv, for all of them, written part by part.

        Returns
        -------
        DataFrame, index query_id
            As `Comparison.regressions`; queries with equal changes are in the order of their ids.
            ``attrs["n"]`` is the number of all such queries.
        """
        pair, ours, theirs = self.pair_of(metric, candidate)
        return changed_queries(pair.tables, ours, theirs, better=False, k=k, path=path)

    def improvements(
        self,
        metric: str,
        candidate: str | None = None,
        *,
        k: int = MOST_CHANGED,
        path: str | Path | None = None,
    ) -> pd.DataFrame:
        """The queries on which the candidate is better, the largest change first.

        Parameters and columns as in `regressions`.
        """
        pair, ours, theirs = self.pair_of(metric, candidate)
        return changed_queries(pair.tables, ours, theirs, better=True, k=k, path=path)

    def slices(
        self, by: str, metrics: str | Iterable[str] | None = None, correction: str = "holm"
    ) -> Result:
        """Compare in each group of queries, and test whether the groups agree.

        The files are read once more.

        Parameters
        ----------
        by : str
            A column of the baseline's details, with at most 10,000 values.
        metrics, correction
            As in `Comparison.slices`.
        """
        return compare_slices(self, self.pairs, by, metrics, correction)

    def gate(self, *rules: str | Rule, correct: Correct | None = None) -> GateResult:
        """Check the candidates against rules, as `Comparison.gate`.

        Parameters
        ----------
        *rules : str
            As there. A rule on a figure of the candidate alone, such as its mean, reads its files
            once more.
        correct : see `rageval_report.scores.correctness`, optional
            What a correct answer is; each candidate's own rule if omitted.
        """
        settings = settings_of_comparison(self.plan, correct)
        subjects = [
            Subject(
                LaterScannedRun(
                    *(pair.tables.after, pair.tables.engine, settings, pair.cluster_reader),
                    matched_to=None if pair.tables.on is None else pair.tables.before,
                ),
                self,
                pair,
            )
            for pair in self.pairs
        ]
        heads = [head for pair in self.pairs for head in (pair.baseline, pair.candidate)]
        hints = unnamed_clusters_of(self.pairs[0].labels, self.settings.get("clusters"))
        notes = (*dict.fromkeys(doubts_of(heads)), *hints)
        result = gate_candidates(self, subjects, rules, notes)
        settings_with_engine = {**result.settings, "engine": self.settings["engine"]}
        return replace(result, settings=settings_with_engine)

    def report(self, **options: Unpack[ReportKeywords]) -> Report:
        """The report page: all tables, and the queries on which the first candidate lost most.

        Parameters
        ----------
        **options
            As in `Comparison.report`. Each pipeline is read once more for the causes of failures,
            and also for a rule for a correct answer that is not its own.
        """
        check_options("report()", options, ReportKeywords.__annotations__)
        chosen = dict[str, Any](options)
        of_page = {name: chosen.pop(name) for name in PAGE_KEYWORDS if name in chosen}
        chosen.setdefault("confidence_level", self.plan.confidence_level)
        compared = self.with_pairings()
        chosen["clusters"], cluster_notes = delegates.named_clusters(compared)
        tables = [self.pairs[0].tables.before, *(pair.tables.after for pair in self.pairs)]
        engine = self.pairs[0].tables.engine
        read = [profile_of(table, engine) for table in tables]
        profiles = with_shared_notions(read, engine, of_page.get("correct"))
        metrics = [self.pairs[0].metrics, *(pair.metrics for pair in self.pairs)]
        summaries = [
            report_of_scan(profile, engine, [pair[place > 0].name for pair in own], **chosen)
            for place, (profile, own) in enumerate(zip(profiles, metrics, strict=True))
        ]
        correction = delegates.correction_of_slices(self)
        return delegates.page_of_compared(
            compared,
            self.pairs,
            profiles,
            summaries,
            lambda column: self.slices(column, correction=correction),
            **of_page,
            cluster_notes=cluster_notes,
        )

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
        if entry.name == "slices":
            return entry(self, *args, ax=ax, **options)
        if entry.name == "forest":
            return entry(self.with_pairings(), *args, ax=ax, **options)
        raise needs_memory(f"plot {entry.name!r}")

    def with_pairings(self) -> Comparison:
        """The comparison for tables and pictures that only name the runs and their metrics."""
        known = {field.name: getattr(self, field.name) for field in fields(Comparison)}
        return Comparison(**{**known, "pairings": self.pairs})

    def pair_of(
        self, metric: str, candidate: str | None = None
    ) -> tuple[ScannedPair, Metric, Metric]:
        """The pair of a candidate, and a metric as both sides know it.

        Parameters
        ----------
        metric : str
            The metric, by any of its names.
        candidate : str, optional
            The candidate; required if there are several.
        """
        by_candidate = {pair.candidate.name: pair for pair in self.pairs}
        if candidate is None and len(by_candidate) > 1:
            raise DataError(
                "candidate is required, because there are several candidates: "
                f"{', '.join(by_candidate)}"
            )
        if candidate is not None and candidate not in by_candidate:
            raise UnknownNameError("candidate", candidate, by_candidate)
        pair = self.pairs[0] if candidate is None else by_candidate[candidate]
        by_name = {ours.name: (ours, theirs) for ours, theirs in pair.metrics}
        ours, theirs = by_name[resolver(by_name)(metric)]
        return pair, ours, theirs
