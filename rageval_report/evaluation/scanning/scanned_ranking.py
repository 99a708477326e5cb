"""The ranking of scans: the columns that states know, and methods that read the files again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar, Unpack

import numpy as np

from rageval_report.analysis.arguments import RankingReportKeywords, kind_of_mean, mean_limits
from rageval_report.analysis.comparing.pairing import MissingTreatment
from rageval_report.analysis.evaluation_subset import EvaluationSubset
from rageval_report.analysis.main_effects import MainEffects
from rageval_report.analysis.ranking.keywords import ObjectiveKeywords
from rageval_report.analysis.ranking.leaderboard import Ranking
from rageval_report.analysis.ranking.lineup import Lineup
from rageval_report.analysis.ranking.objective_definitions import ObjectivesArgument
from rageval_report.analysis.ranking.pareto import ParetoFront
from rageval_report.analysis.ranking.ranked_columns import (
    Drawing,
    MatrixColumns,
    RankedColumns,
    RankedPair,
)
from rageval_report.analysis.ranking.weighted import WeightedScores
from rageval_report.errors import DataError, check_options, explain_keywords
from rageval_report.evaluation import delegates
from rageval_report.evaluation.scanning.clustered_ranking import ClusteredColumns
from rageval_report.evaluation.scanning.collected_scores import check_size
from rageval_report.evaluation.scanning.description import HeadEvaluation
from rageval_report.evaluation.scanning.needs_memory import needs_memory
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.evaluation.scanning.rank_states import MetricRankState
from rageval_report.names.short_names import ShortNames
from rageval_report.plots import plot_named
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import MetricNames, PlotOptions, RankingPlot
from rageval_report.results import Result
from rageval_report.scale.engines.base import Engine
from rageval_report.scores import Metric
from rageval_report.stats.all_pairs import AllPairs, beyond_margin, run_all_tests
from rageval_report.stats.base import Interval
from rageval_report.stats.means.intervals import described_intervals
from rageval_report.stats.means.moments import Moments
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.ranks import FriedmanResult, RankSums, rounding_tie
from rageval_report.stats.states.block_state import BlockState
from rageval_report.stats.units import QUERIES, Units
from rageval_report.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.reports.report import Report

R = TypeVar("R", bound=Result)

# Reads the files once more, for so many queries of each metric.
ReadWidest = Callable[[int], tuple[EvaluationSubset, ...]]
# Reads the files once more, for the effects of settings; None if there is no grid of them.
ReadEffects = Callable[[Sequence[int], ShortNames, Mapping[str, object]], MainEffects | None]
# Reads the files once more, for the ranks of all metrics.
ReadRanks = Callable[[], Mapping[str, RankSums]]


@dataclass(frozen=True, eq=False)
class StateColumns:
    """Columns of which counts or sums are known; a `RankedColumns`.

    Parameters
    ----------
    state : BlockState
        What is known.
    read_ranks : callable
        The ranks of this metric, by another pass over the files.
    """

    state: BlockState
    read_ranks: Callable[[], RankSums]

    @property
    def n(self) -> int:
        """The number of queries."""
        return self.state.n

    @property
    def n_units(self) -> int:
        """The number of independent units."""
        return self.state.n

    @property
    def n_in_memory(self) -> int:
        """None of the scores is."""
        return 0

    @cached_property
    def moments_of_each(self) -> list[Moments]:
        """The moments of each column."""
        return [column.moments for column in self.state.summarised().columns]

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], PairedScores]:
        places = combinations(range(len(self.moments_of_each)), 2)
        return dict(zip(places, self.state.pairs(), strict=True))

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each column."""
        return np.array([known.mean for known in self.moments_of_each])

    @cached_property
    def tie(self) -> float:
        """The largest difference between two scores that is only rounding."""
        ends = (end for known in self.moments_of_each for end in (known.minimum, known.maximum))
        return rounding_tie(max(map(abs, ends)))

    def alone_best(self, *, greater_is_better: bool) -> IntArray:
        """On how many queries each column is better than all others."""
        del greater_is_better  # the state was made for the metric's direction
        return self.state.summarised().alone_best

    def mean_intervals(
        self, metric: Metric, confidence_level: float, drawing: Drawing
    ) -> Sequence[Interval]:
        """The interval of the mean of each column."""
        kind = kind_of_mean(metric)
        columns = self.state.summarised().columns
        return described_intervals(
            [
                column.column(mean_limits(metric, known.minimum), kind)
                for column, known in zip(columns, self.moments_of_each, strict=True)
            ],
            confidence_level=confidence_level,
            **drawing,
        )

    def pair(self, first: int, second: int) -> RankedPair:
        """Two columns."""
        before, after = self.means[[first, second]].tolist()
        return RankedPair(before, after, self._pairs[first, second])

    def test_pairs(self, test: str, margin: float, drawing: Drawing) -> AllPairs:
        """The tests of all pairs."""
        scores = list(self._pairs.values())
        pairs = run_all_tests(scores, test=test, **drawing)
        return beyond_margin(scores, pairs, margin, test=test, **drawing) if margin else pairs

    def friedman(self, *, greater_is_better: bool) -> FriedmanResult:
        """Friedman's test; the files are read once more."""
        del greater_is_better
        return self.read_ranks().test()


@dataclass(frozen=True, eq=False)
class ScannedBlock:
    """One metric of scanned pipelines; a `RankedBlock`."""

    metric: Metric
    names: tuple[str, ...]
    unscored: IntArray
    empty: tuple[str, ...]
    n_not_applicable: int
    columns: RankedColumns
    units: Units = QUERIES

    @classmethod
    def of(
        cls,
        metric: Metric,
        pipelines: Sequence[str],
        ranked: Sequence[int],
        state: MetricRankState,
        read_ranks: Callable[[], RankSums],
    ) -> ScannedBlock:
        """The block of a state.

        Parameters
        ----------
        metric : Metric
            As the first pipeline knows it.
        pipelines : sequence of str
            Their names.
        ranked : sequence of int
            The places of those that have any score.
        state : MetricRankState
            What one pass found.
        read_ranks : callable
            The ranks of this metric, by another pass.
        """
        rows, clusters = state.block.rows, state.clusters
        columns = StateColumns(state.block, read_ranks) if rows is None else MatrixColumns(rows)
        return cls(
            metric,
            tuple(pipelines[place] for place in ranked),
            state.n_unscored[list(ranked)],
            tuple(name for place, name in enumerate(pipelines) if place not in ranked),
            state.n_not_applicable,
            columns if clusters is None else ClusteredColumns(columns, clusters),
            # Clusters are summed up already, and have no rows here.
            QUERIES if clusters is None else Units(np.arange(0)),
        )


@dataclass(frozen=True, eq=False)
class ScannedLineup:
    """Scanned pipelines side by side; a `RankedLineup`.

    Parameters
    ----------
    runs : tuple of HeadEvaluation
        The first rows of each, described by all rows.
    n_queries : int
        The number of queries that all have.
    metrics : dict of str to tuple of Metric
        The metrics that all have, as each knows them.
    states : dict of str to MetricRankState
        What one pass found of each metric that is ranked.
    missing : {"drop", "worst", "bounds"}
        The treatment of an unscored query.
    """

    runs: tuple[HeadEvaluation, ...]
    n_queries: int
    metrics: Mapping[str, tuple[Metric, ...]]
    states: Mapping[str, MetricRankState]
    missing: MissingTreatment

    @property
    def names(self) -> tuple[str, ...]:
        """The pipelines."""
        return tuple(run.name for run in self.runs)

    def extreme_means(self, metric: Metric, pipeline: str) -> tuple[float, float]:
        """The mean of all common queries if missing scores were as low, or high, as they can be."""
        low, high = self.states[metric.name].extremes[self.names.index(pipeline)]
        return low.moments.mean, high.moments.mean


@dataclass(frozen=True, eq=False, repr=False)
class ScannedRanking(Ranking):
    """Scanned pipelines in order; see `Ranking`.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by, blocks, tests, levels, margins
        As in `Ranking`; there is no lineup, which holds every score.
    scanned : ScannedLineup
        The pipelines side by side.
    profiles : tuple of ScanProfile
        What one pass over each table found.
    engine : Engine
        What reads the tables.
    read_widest : callable
        Reads, for each metric, as many queries as it is told on which the pipelines differ most.
    read_lineup : callable
        Reads all scores, without texts, for `weighted` and `pareto`.
    read_effects : callable
        Reads the files once more, for the effects of the settings in the names of the pipelines, or
        in their configurations; takes the order of the pipelines, their short names and settings.
    """

    scanned: ScannedLineup | None = None
    profiles: tuple[ScanProfile, ...] = ()
    engine: Engine | None = None
    read_widest: ReadWidest | None = None
    read_lineup: Callable[[], Lineup] | None = None
    read_effects: ReadEffects | None = None

    @property
    def _lineup(self) -> Lineup:
        """The scores of all tables, read when they are first resampled."""
        return self._collected

    @cached_property
    def _collected(self) -> Lineup:
        if self.scanned is None or self.read_lineup is None:
            raise DataError("this Ranking has no scores; create it with rank()")
        what = "weighted() or pareto() of a ranking"
        check_size(what, self.scanned.n_queries, self.profiles)
        return self.read_lineup()

    @explain_keywords
    def weighted(
        self,
        weights: Mapping[str, float] | None = None,
        objectives: ObjectivesArgument = None,
        **settings: Unpack[ObjectiveKeywords],
    ) -> WeightedScores:
        """One score per pipeline from weighted objectives, as `Ranking.weighted`.

        Parameters
        ----------
        weights, objectives, **settings
            As there.
        """
        return self._with_engine(super().weighted(weights, objectives, **settings))

    @explain_keywords
    def pareto(
        self,
        objectives: ObjectivesArgument = None,
        weights: Mapping[str, float] | None = None,
        **settings: Unpack[ObjectiveKeywords],
    ) -> ParetoFront:
        """The pipelines that no other one dominates, as `Ranking.pareto`.

        Parameters
        ----------
        objectives, weights, **settings
            As there.
        """
        return self._with_engine(super().pareto(objectives, weights, **settings))

    def _with_engine(self, result: R) -> R:
        """A result whose signature says which engine read the scores."""
        return replace(result, settings={**result.settings, "engine": self.settings["engine"]})

    def report(self, **options: Unpack[RankingReportKeywords]) -> Report:
        """The report page: as in memory, with the queries on which the pipelines differ most.

        Parameters
        ----------
        **options
            As in `Ranking.report`. Each pipeline is read once more for the causes of failures, and
            all are for the effects of settings and for the front, which is left out if it needs
            more scores than fit.
        """
        check_options("Ranking.report()", options, RankingReportKeywords.__annotations__)
        return delegates.page_of_ranked(self, **options)

    def plot(
        self,
        kind: RankingPlot | Plot = "leaderboard",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the ranking; see `rageval_report.plots`.

        Parameters
        ----------
        kind : {"leaderboard", "heat", "groups", "pareto"}
            "pareto" reads the files once more. Other plots need the scores in memory.
        *args, ax, **options
            As in `Ranking.plot`.
        """
        if plot_named(kind).name not in ("leaderboard", "heat", "groups", "pareto"):
            raise needs_memory(f"plot {plot_named(kind).name!r}")
        return super().plot(kind, *args, ax=ax, **options)
