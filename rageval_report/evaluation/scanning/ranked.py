"""Scanned pipelines ranked: one pass over each table, and one over all tables side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Unpack

import pandas as pd

from rageval_report.analysis.arguments import check_count, check_jobs
from rageval_report.analysis.cluster_labels import Clusters, clusters_setting
from rageval_report.analysis.comparing.pairing import (
    MISSING_TREATMENTS,
    MissingTreatment,
    notes_on_bounds,
    require_bounds,
    shared_metrics,
)
from rageval_report.analysis.evaluation_subset import EvaluationSubset
from rageval_report.analysis.main_effects import MainEffects
from rageval_report.analysis.ranking.keywords import RankingKeywords
from rageval_report.analysis.ranking.leaderboard import RANKING_HEADLINE, check_aims, ranking_title
from rageval_report.analysis.ranking.lineup import (
    Lineup,
    check_several,
    choose_shared_metrics,
    common_metrics,
    line_up,
    note_on_lone_metrics,
    note_on_lone_queries,
)
from rageval_report.analysis.ranking.ranked_blocks import LeaderboardPlan, rank_blocks
from rageval_report.errors import AlignmentError, DataError, check_choice, check_options, named
from rageval_report.evaluation.scanning.clustered import centres_of
from rageval_report.evaluation.scanning.collected_scores import (
    CollectedParts,
    RowsOfEach,
    columns_of_scores,
    evaluations_of,
)
from rageval_report.evaluation.scanning.compared import check_distinct_names
from rageval_report.evaluation.scanning.description import HeadEvaluation
from rageval_report.evaluation.scanning.group_labels import ScanClusters, clusters_of
from rageval_report.evaluation.scanning.kept_rows import WidestOfEach, kept_evaluations
from rageval_report.evaluation.scanning.matched_tables import (
    ids_of_table_among,
    matched_by,
    matching_engine,
)
from rageval_report.evaluation.scanning.pair_states import MetricPairState
from rageval_report.evaluation.scanning.part_states import PartEvaluation, columns_of_states
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.evaluation.scanning.rank_states import (
    AlignedScores,
    MetricRankState,
    RankClusters,
    RankFlipStates,
    RankStates,
    RankSumStates,
)
from rageval_report.evaluation.scanning.scanned_ranking import (
    ScannedBlock,
    ScannedLineup,
    ScannedRanking,
)
from rageval_report.evaluation.scanning.setting_effects import EffectPlan, EffectStates
from rageval_report.names.short_names import ShortNames
from rageval_report.scale.aligned_rows import QueryCounts, TableColumns
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.engines.matching import split_lone
from rageval_report.scale.mergeable import StateByName, StateOfEach, States
from rageval_report.scores import Metric
from rageval_report.scores.catalogue.dialects import dialect_settings, note_on_dialects
from rageval_report.scores.guard import doubts_of
from rageval_report.scores.text_matching import lone_id, no_common_text
from rageval_report.stats.all_pairs import check_correction
from rageval_report.stats.base import check_level, check_resamples, check_seed
from rageval_report.stats.ranks import RankSums
from rageval_report.stats.states.flipped_blocks import FlippedBlocks
from rageval_report.types import FloatArray

# The differences of so many pairs are summed up in one pass: at half a megabyte for scores that are
# on no lattice this is 128 MB, and of scores on a lattice little.
_MOST_PAIRS = 256


def rank_scans(
    names: Sequence[str],
    read_profiles: Callable[[], Sequence[ScanProfile]],
    engine: Engine,
    **options: Unpack[RankingKeywords],
) -> ScannedRanking:
    """The ranking of scanned pipelines, as that of evaluations in memory.

    Parameters
    ----------
    names : sequence of str
        The names of the pipelines.
    read_profiles : callable
        Reads each table once; called if the options make sense.
    engine : Engine
        What reads the tables side by side.
    **options
        As in `rageval_report.rank`.

    Raises
    ------
    DataError
        If an option needs every score in memory.
    AlignmentError
        If no query, or no metric, is in all of them.
    """
    plan = _plan(names, options)
    metrics = options.get("metrics")
    lined = _LinedTables.of(
        read_profiles(), engine, plan, metrics, named_clusters=options.get("clusters")
    )
    aims = options.get("weights"), options.get("objectives"), options.get("margins")
    plan = replace(plan, margins=check_aims(lined.heads, lined.shared, *aims))
    counts, states, ranked = lined.read()
    _check_common(names, counts, plan.on)
    lineup = ScannedLineup(lined.heads, counts.n_common, lined.shared, states, plan.missing)
    ranks = _RanksOfAll(lined, ranked)
    notes = tuple(lined.notes(counts))
    blocks = {
        name: ScannedBlock.of(own[0], names, ranked[name], states[name], partial(ranks.of, name))
        for name, own in lined.metrics.items()
    }
    tables = rank_blocks(
        blocks,
        lineup,
        lined.metrics,
        plan,
        _FlipsOfAll(lined, ranked, states, plan),
        are_requested=metrics is not None,
    )
    return ScannedRanking(
        ranking_title(names),
        pd.DataFrame(tables.rows),
        {**tables.settings, **dialect_settings(lined.heads), "engine": engine.name},
        (*note_on_dialects(lined.heads), *notes, *tables.notes),
        headline=RANKING_HEADLINE,
        grouped_by="metric" if len(blocks) > 1 else "",
        blocks=blocks,
        tests=tables.tests,
        weights=aims[0],
        objectives=aims[1],
        margins=aims[2],
        levels=tables.levels,
        scanned=lineup,
        profiles=lined.profiles,
        engine=lined.engine,
        read_widest=partial(lined.widest, ranked),
        read_lineup=partial(lined.lineup, notes),
        read_effects=partial(lined.effects, counts.n_common),
    )


def _plan(names: Sequence[str], options: RankingKeywords) -> LeaderboardPlan:
    """The settings, after a check that they need no score in memory."""
    check_options("rank()", options, RankingKeywords.__annotations__)
    check_several(names)
    check_distinct_names(names)
    correction = check_correction(options.get("correction", "holm"))
    clusters = options.get("clusters")
    missing = options.get("missing", "drop")
    check_choice("missing", missing, MISSING_TREATMENTS)
    check_jobs(options.get("n_jobs"))
    return LeaderboardPlan(
        options.get("test", "auto"),
        correction,
        check_level(options.get("confidence_level", 0.95)),
        missing,
        check_resamples(options.get("n_resamples", 9999)),
        check_seed(options.get("seed", 0)),
        tried=check_count("tried", options.get("tried", 1)),
        on=options.get("on"),
        clusters=None if clusters is None else str(clusters_setting(clusters)["clusters"]),
        n_jobs=1,  # what is known of files takes no time, and some of it is read when it is needed
    )


def _check_common(names: Sequence[str], counts: QueryCounts, on: str | None) -> None:
    if not counts.n_common and on is not None and len(names) == 2:
        raise no_common_text(on, *names)
    if not counts.n_common:
        firsts = "; ".join(
            f"{name!r} has {named([split_lone(query_id)[0] for query_id in ids[:3]])}"
            for name, ids in zip(names, counts.first_others, strict=True)
        )
        raise AlignmentError(
            f"no query is in all {len(names)} pipelines; of the ids, {firsts}. Rank fewer of them, "
            "or compare them two by two"
        )


def _in_groups(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Names, so many at a time."""
    return (names[first : first + size] for first in range(0, len(names), size))


@dataclass(frozen=True, eq=False)
class _LinedTables:
    """Scanned tables that are read side by side.

    Parameters
    ----------
    profiles : tuple of ScanProfile
        What one pass over each table found.
    engine : Engine
        What reads them.
    shared : dict of str to tuple of Metric
        The metrics that all have, as each knows them.
    metrics : dict of str to tuple of Metric
        Those that are ranked.
    missing : {"drop", "worst", "bounds"}
        The treatment of an unscored query.
    clusters : ClusterColumn or ClusterLabels, optional
        What says which queries of the first table belong together.
    named_clusters : str, Series or mapping, optional
        The same as the caller named it.
    """

    profiles: tuple[ScanProfile, ...]
    engine: Engine
    shared: Mapping[str, tuple[Metric, ...]]
    metrics: Mapping[str, tuple[Metric, ...]]
    missing: MissingTreatment
    clusters: ScanClusters | None = None
    named_clusters: Clusters | None = None

    @classmethod
    def of(
        cls,
        profiles: Sequence[ScanProfile],
        engine: Engine,
        plan: LeaderboardPlan,
        metrics: str | Iterable[str] | None,
        *,
        named_clusters: Clusters | None,
    ) -> _LinedTables:
        """The tables with their common metrics."""
        heads = [profile.described.head for profile in profiles]
        first, *others = heads
        for other in others:
            shared_metrics(first, other, None)  # or an error that names the two
        shared = common_metrics(heads)
        chosen = choose_shared_metrics(first.metrics, shared, metrics)
        ranked = {name: shared[name] for name in chosen}
        described = [profile.described for profile in profiles]
        return cls(
            *(
                tuple(profiles),
                matching_engine(plan.on, described, engine),
                shared,
                ranked,
                plan.missing,
            ),
            clusters_of(profiles[0].described, named_clusters),
            named_clusters,
        )

    @property
    def heads(self) -> tuple[HeadEvaluation, ...]:
        """The first rows of each table, described by all rows."""
        return tuple(profile.described.head for profile in self.profiles)

    def notes(self, counts: QueryCounts) -> Iterator[str]:
        """What not every table has."""
        yield from doubts_of(self.heads)
        yield from self.profiles[0].unnamed_clusters(self.named_clusters)
        if counts.n_others:
            firsts = self._shown_ids(counts.first_others)
            yield note_on_lone_queries(firsts, counts.n_others)
        yield from note_on_lone_metrics(self.heads, self.shared)
        yield from notes_on_bounds(self.heads, self.shared.values())

    def _shown_ids(self, ids_by_table: Sequence[Sequence[str]]) -> list[str]:
        """The first ids of each table that another one lacks, as a note shows them."""
        if matched_by(self.engine) is None:
            return [*dict.fromkeys(query_id for ids in ids_by_table for query_id in ids)]
        owned = [[*map(split_lone, ids)] for ids in ids_by_table]
        lone = {own for ids in owned for own, place in ids if place}
        first = self.profiles[0].described
        taken = ids_of_table_among(first, lone)
        names = [head.name for head in self.heads]
        shown = [
            sorted(
                lone_id(names[place], own, taken=place > 0 and own in taken) for own, place in ids
            )
            for ids in owned
        ]
        return [*dict.fromkeys(query_id for ids in shown for query_id in ids)]

    def read(
        self,
    ) -> tuple[QueryCounts, dict[str, MetricRankState], dict[str, tuple[int, ...]]]:
        """The counts of queries, the state of each metric, and the tables that are ranked on it.

        A table without any score is not ranked: else no query would be scored by all. Which ones
        are such is known after a pass; then the metric is read again without them.

        Raises
        ------
        DataError
            If a missing score is to be the worst one, and its metric has no bounds.
        """
        places = tuple(range(len(self.profiles)))
        ranked = dict.fromkeys(self.metrics, places)
        counts, states = self._fold_states(ranked)
        scored = {
            name: tuple(place for place in places if state.n_scored[place])
            for name, state in states.items()
        }
        if self.missing == "worst":
            for name, some in scored.items():
                if states[name].n_unscored[list(some)].any():
                    require_bounds(self.metrics[name][0])
        again = {name: some for name, some in scored.items() if some and some != places}
        if again:
            states |= self._fold_states(again)[1]
        return counts, states, scored

    def _fold_states(
        self, ranked: Mapping[str, tuple[int, ...]]
    ) -> tuple[QueryCounts, dict[str, MetricRankState]]:
        n_pairs = len(self.profiles) * (len(self.profiles) - 1) // 2
        states: dict[str, MetricRankState] = {}
        for names in _in_groups([*ranked], max(1, _MOST_PAIRS // n_pairs)):
            some = {name: ranked[name] for name in names}
            partial_states = RankStates(self.scores_of_states(some), self._summed_clusters(some))
            total = self.fold((QueryCounts.of, partial_states), self.columns(some))
            counts: QueryCounts = total.parts[0]
            by_metric: StateByName = total.parts[1]
            states |= by_metric.states
        return counts, states

    def scores(self, ranked: Mapping[str, tuple[int, ...]]) -> AlignedScores:
        """What takes the scores of some metrics out of rows."""
        sides = tuple(
            PartEvaluation(each.head.name, each.metrics, each.table.shape.detail_names)
            for each in (profile.described for profile in self.profiles)
        )
        metrics = {name: self.metrics[name] for name in ranked}
        return AlignedScores(metrics, dict(ranked), sides, self.missing)

    def scores_of_states(self, ranked: Mapping[str, tuple[int, ...]]) -> AlignedScores:
        """The same, with details that only say why scores are missing."""
        scores = self.scores(ranked)
        sides = (
            replace(side, columns=columns_of_states(side.detail_names)) for side in scores.sides
        )
        return replace(scores, sides=tuple(sides))

    def _summed_clusters(self, names: Iterable[str]) -> RankClusters | None:
        if self.clusters is None:
            return None
        metrics = [self.metrics[name][0] for name in names]
        return RankClusters(self.clusters, centres_of(self.profiles[0], metrics))

    def widest(
        self, ranked: Mapping[str, tuple[int, ...]], most: int
    ) -> tuple[EvaluationSubset, ...]:
        """The queries of each metric on which the tables differ most, with their details."""
        partials = (WidestOfEach(self.scores(ranked), most),)
        described = [profile.described for profile in self.profiles]
        columns = [
            TableColumns(tuple(each.metrics), tuple(each.table.shape.detail_names))
            for each in described
        ]
        state: StateByName = self.fold(partials, columns).parts[0]
        return kept_evaluations(state, described)

    def effects(
        self, n_common: int, order: Sequence[int], names: ShortNames, settings: Mapping[str, object]
    ) -> MainEffects | None:
        """Which setting matters, by another pass; None if not every combination is there.

        Parameters
        ----------
        n_common : int
            The number of queries that all tables have.
        order, names, settings
            As in `EffectPlan.of`.
        """
        plan = EffectPlan.of(self.heads, order, names, self.metrics, settings)
        if plan is None:
            return None
        sides = self.scores_of_states(dict.fromkeys(self.metrics, ())).sides
        states: dict[tuple[str, str], MetricPairState] = {}
        for some in _in_groups([*self.metrics], max(1, _MOST_PAIRS // len(plan.effects))):
            chosen = {name: self.metrics[name] for name in some}
            partial_states = EffectStates(chosen, plan.places, sides)
            by_effect: StateByName = self.fold((partial_states,), self.columns(some)).parts[0]
            states |= by_effect.states
        first = next(each for each in self.profiles if each.described.head.name == plan.first)
        sizes = [profile.n_queries for profile in self.profiles]
        return plan.result(states, n_common, sizes, first.unnamed_clusters(None), self.engine.name)

    def lineup(self, notes: tuple[str, ...]) -> Lineup:
        """The scores of all tables in memory, with the notes on what not every table has."""
        states = self.scores(dict.fromkeys(self.metrics, ()))
        columns = self._with_clusters([columns_of_scores(profile) for profile in self.profiles])
        parts: CollectedParts = self.fold((RowsOfEach(states.sides),), columns).parts[0]
        lineup = line_up(
            evaluations_of(parts, self.profiles),
            missing=self.missing,
            clusters=self.named_clusters,
        )
        return replace(lineup, notes=notes)

    def columns(self, names: Iterable[str]) -> list[TableColumns]:
        """Some metrics of each table, and the columns that say why scores are missing."""
        shapes = [profile.described.table.shape for profile in self.profiles]
        chosen = [self.metrics[name] for name in names]
        return self._with_clusters(
            TableColumns(
                tuple(known[place].name for known in chosen), columns_of_states(shape.detail_names)
            )
            for place, shape in enumerate(shapes)
        )

    def _with_clusters(self, columns: Iterable[TableColumns]) -> list[TableColumns]:
        """The same columns, and of the first table those of the clusters."""
        first, *others = columns
        if self.clusters is not None:
            details = dict.fromkeys((*first.details, *self.clusters.columns))
            first = replace(first, details=tuple(details))
        return [first, *others]

    def fold(self, partials: tuple[Any, ...], columns: Sequence[TableColumns]) -> States:
        """The sum of what functions return for all rows of all tables.

        Parameters
        ----------
        partials : tuple of callable
            Each takes `AlignedRows` and returns a state.
        columns : sequence of TableColumns
            What is read of each table.
        """
        tables = [profile.described.table for profile in self.profiles]
        total = self.engine.fold_aligned(tables, StateOfEach(partials), columns)
        if total is None:
            raise DataError(f"{', '.join(table.name for table in tables)}: no rows")
        return total


@dataclass(frozen=True, eq=False)
class _RanksOfAll:
    """The ranks of all metrics, read when the first of them is asked for."""

    lined: _LinedTables
    ranked: Mapping[str, tuple[int, ...]]

    @cached_property
    def _sums(self) -> Mapping[str, RankSums]:
        partial_sums = RankSumStates(self.lined.scores_of_states(self.ranked))
        by_metric: StateByName = self.lined.fold(
            (partial_sums,), self.lined.columns(self.ranked)
        ).parts[0]
        return by_metric.states

    def of(self, name: str) -> RankSums:
        """The ranks of one metric."""
        return self._sums[name]


@dataclass(frozen=True, eq=False)
class _FlipsOfAll:
    """The correction by flips of signs that all pairs share; all tables are read once more."""

    lined: _LinedTables
    ranked: Mapping[str, tuple[int, ...]]
    states: Mapping[str, MetricRankState]
    plan: LeaderboardPlan

    @cached_property
    def _blocks(self) -> FlippedBlocks:
        scores = self.lined.scores_of_states(self.ranked)
        partial_sums = RankFlipStates(
            scores, self.plan.n_resamples, self.plan.seed, self.lined.clusters
        )
        blocks: FlippedBlocks = self.lined.fold(
            (partial_sums,), self.lined.columns(self.ranked)
        ).parts[0]
        by_cluster = [self.states[name].clusters for name in self.ranked]
        if self.lined.clusters is None:
            return blocks
        # The scale is that of whole clusters, which parts of the rows do not know.
        return replace(blocks, products=tuple(each.products() for each in by_cluster if each))

    def __call__(self, names: Sequence[str], half_ties: Sequence[bool]) -> list[FloatArray]:
        every = list(self.ranked)
        return self._blocks.adjust([every.index(name) for name in names], half_ties)
