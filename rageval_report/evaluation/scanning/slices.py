"""Scanned pipelines in each group of queries: one pass, with a state for each group and metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate
from operator import add
from typing import Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import MeanKeywords, choose_metrics
from rageval_report.analysis.cluster_labels import Clusters
from rageval_report.analysis.cluster_means import ClusteredMean
from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonPlan,
    PairedMetric,
    compare_together,
)
from rageval_report.analysis.differing_groups import differing_groups_note
from rageval_report.analysis.family import family_of_pairings
from rageval_report.analysis.slice_pooling import SliceMean
from rageval_report.analysis.slice_reversals import ComparedSlice
from rageval_report.analysis.slices import (
    NO_GROUP,
    Groups,
    SlicedComparison,
    choose_pairs,
    comparison_of_slices,
    group_notes_of,
    shared_clusters_note,
    slice_mean_of,
    summary_of_slices,
)
from rageval_report.analysis.summary import (
    ScoresByRank,
    summary_of_columns,
    with_cluster_counts,
)
from rageval_report.evaluation.scanning.clustered import SCORED, centres_of, scored_sums
from rageval_report.evaluation.scanning.group_labels import (
    GroupColumn,
    ScanClusters,
    check_number,
    clusters_of,
    count_differing_texts,
    ordered_groups,
)
from rageval_report.evaluation.scanning.pair_states import MetricPairState, PairStates
from rageval_report.evaluation.scanning.part_states import ScoreList
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.evaluation.scanning.scanned_pair import ScannedPair
from rageval_report.evaluation.scanning.single import (
    describe_state,
    intervals_of_clusters,
    intervals_of_states,
    plan_of,
)
from rageval_report.results import Result
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.mergeable import StateByName
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores import Metric
from rageval_report.scores.metric import GROUPS
from rageval_report.stats.base import PairedResult
from rageval_report.stats.means.column_description import percentile_ranks
from rageval_report.stats.pairs.paired import run_test
from rageval_report.stats.states.keyed_sums import merge_keyed
from rageval_report.stats.states.metric_state import MetricState
from rageval_report.stats.states.order_brackets import OrderBracket, bracket_ranks, in_brackets
from rageval_report.stats.states.pair_state import PairState
from rageval_report.types import IntArray, WordArray


@dataclass(frozen=True)
class GroupStates:
    """Makes the state of each metric in each group of some rows.

    Parameters
    ----------
    by : GroupColumn
        The groups.
    centres : dict of str to float
        What is subtracted from the scores of each metric before they are added up by cluster.
    clusters : ClusterColumn or ClusterLabels, optional
        The clusters.
    """

    by: GroupColumn
    centres: Mapping[str, float]
    clusters: ScanClusters | None = None

    def __call__(self, rows: ScoreRows) -> StateOfGroups:
        """The states of some rows, by group; the number of its rows beside them."""
        keys = None if self.clusters is None else self.clusters.keys(rows)
        groups = {}
        for label, places in self.by.rows_by_group(rows):
            scores = {name: rows.scores[name][places] for name in self.centres}
            states: dict[object, object] = {
                name: MetricState.of(values) for name, values in scores.items()
            }
            if keys is not None:
                own = keys[places]
                states |= {
                    (name, SCORED): scored_sums(values, own, self.centres[name])
                    for name, values in scores.items()
                }
                states[_CLUSTERS] = KeySet.of(own)
            groups[label] = StateByName({**states, _SIZE: places.size})
        return StateOfGroups(self.by.name, groups)


# The names of the number of rows, and of their clusters, among the states of a group; no metric has
# an empty name, or one of two parts.
_SIZE = ""
_CLUSTERS = ("", "clusters")


@dataclass(frozen=True, slots=True, eq=False)
class KeySet:
    """Different keys of clusters.

    Parameters
    ----------
    keys : ndarray of uint64
        In ascending order.
    """

    keys: WordArray

    @classmethod
    def of(cls, keys: WordArray) -> KeySet:
        """Those of some rows."""
        return cls(np.unique(keys))

    def __add__(self, other: KeySet) -> KeySet:
        """Those of both parts."""
        return KeySet(merge_keyed(self.keys, (), other.keys, ())[0])


@dataclass(frozen=True, eq=False)
class StateOfGroups:
    """The states of groups, which may be many but not too many.

    Parameters
    ----------
    by : str
        The column of the groups.
    states : dict of str to StateByName
        By group.
    n_differing : int
        Of two tables, the number of queries that belong to another group in the second one.
    """

    by: str
    states: dict[str, StateByName]
    n_differing: int = 0

    def __add__(self, other: StateOfGroups) -> StateOfGroups:
        """The states of both parts."""
        merged = (StateByName({**self.states}) + StateByName({**other.states})).states
        check_number(self.by, len(merged))
        return StateOfGroups(self.by, merged, self.n_differing + other.n_differing)

    def sizes(self) -> dict[str, int]:
        """The number of rows of each group."""
        return {label: int(group.states[_SIZE]) for label, group in self.states.items()}

    def shared_clusters(self, assumption: str) -> tuple[str, ...]:
        """A note if clusters have rows in several groups; nothing without clusters.

        Parameters
        ----------
        assumption : str
            What assumes that groups are independent, such as "the pooling assumes".
        """
        keys = [
            group.states[_CLUSTERS].keys
            for group in self.states.values()
            if _CLUSTERS in group.states
        ]
        if not keys:
            return ()
        n_groups = np.unique(np.concatenate(keys), return_counts=True)[1]
        return shared_clusters_note(int((n_groups > 1).sum()), n_groups.size, self.by, assumption)


# -- one pipeline


def slices_of_scan(
    profile: ScanProfile,
    engine: Engine,
    by: str,
    metrics: str | Iterable[str] | None = None,
    *,
    clusters: Clusters | None = None,
    **settings: Unpack[MeanKeywords],
) -> Result:
    """The report for each group of queries, as `rageval_report.analysis.slices.slice_summary`.

    Parameters
    ----------
    profile : ScanProfile
        What one pass over the table found.
    engine : Engine
        The engine of the pass over the groups, and of another one for percentiles of scores that
        are known by sums.
    by : str
        A column of the details.
    metrics, clusters, **settings
        As there.
    """
    described = profile.described
    head, column = described.head, GroupColumn.of(described, by)
    known = sorted(choose_metrics(head, metrics), key=lambda m: GROUPS.index(m.group))
    names = [metric.name for metric in known]
    plan, labels = plan_of(head, settings), clusters_of(described, clusters)
    centres = centres_of(profile, known)
    state = engine.fold(
        described.table,
        GroupStates(column, centres, labels),
        names,
        list(dict.fromkeys((column.column, *(() if labels is None else labels.columns)))),
        # Errors on clusters name queries.
        with_ids=labels is not None,
    )
    groups = StateOfGroups(by, {}) if state is None else state
    sizes = groups.sizes()
    ranked = _ranked_by_group(profile, engine, column, groups, known, settings)
    means = {} if labels is None else _clustered_means(groups, known, centres)
    parts = {}
    for label in ordered_groups(by, sizes):
        states: Mapping[str, MetricState] = groups.states[label].states
        described_columns = [
            describe_state(states[n], ranked[label, n], plan.percentiles, plan.method)
            for n in names
        ]
        if clusters is None:
            intervals = intervals_of_states(known, [states[name] for name in names], plan)
            parts[label] = summary_of_columns(head, known, described_columns, intervals, plan)
        else:
            own = [means[label, name] for name in names]
            table = summary_of_columns(
                head, known, described_columns, intervals_of_clusters(own, plan), plan
            )
            parts[label] = with_cluster_counts(table, [mean.n_clusters for mean in own], clusters)
    return summary_of_slices(
        *(head, by, parts, sizes.get(NO_GROUP, 0)),
        slice_mean=_mean_of_clusters(means) if means else None,
        shared=groups.shared_clusters("the pooling assumes"),
        are_clusters=labels is not None,
    )


def _clustered_means(
    groups: StateOfGroups, metrics: Sequence[Metric], centres: Mapping[str, float]
) -> dict[tuple[str, str], ClusteredMean]:
    """The mean of each metric in each group, by clusters."""
    return {
        (label, metric.name): ClusteredMean(
            metric,
            group.states[metric.name].moments,
            group.states[metric.name, SCORED],
            centres[metric.name],
        )
        for label, group in groups.states.items()
        for metric in metrics
    }


def _mean_of_clusters(
    means: Mapping[tuple[str, str], ClusteredMean],
) -> Callable[[str, Metric, pd.Series], SliceMean]:
    """What pooling needs of a group and a metric."""

    def slice_mean(label: str, metric: Metric, row: pd.Series) -> SliceMean:
        mean = means[label, metric.name]
        return slice_mean_of(row, mean.error() if mean.moments.n else None)

    return slice_mean


@dataclass(frozen=True)
class ScoresInGroupBrackets:
    """The scores of some metrics that lie in some ranges, group by group."""

    by: GroupColumn
    brackets: Mapping[tuple[str, str], Sequence[OrderBracket]]

    def __call__(self, rows: ScoreRows) -> StateByName:
        """The scores of some rows, by group, metric and place of the range."""
        places = dict(self.by.rows_by_group(rows))
        nothing = np.empty(0, dtype=np.intp)
        return StateByName(
            {
                (label, name, place): ScoreList(
                    (bracket.select(rows.scores[name][places.get(label, nothing)]),)
                )
                for (label, name), ranges in self.brackets.items()
                for place, bracket in enumerate(ranges)
            }
        )


def _ranked_by_group(
    profile: ScanProfile,
    engine: Engine,
    column: GroupColumn,
    groups: StateOfGroups,
    metrics: Sequence[Metric],
    settings: MeanKeywords,
) -> dict[tuple[str, str], ScoresByRank]:
    """The scores by rank of each group and metric; another pass for those known by sums."""
    plan = plan_of(profile.described.head, settings)
    states: dict[tuple[str, str], MetricState] = {
        (label, metric.name): group.states[metric.name]
        for label, group in groups.states.items()
        for metric in metrics
    }
    brackets = {
        key: bracket_ranks(
            state.scores.sums, percentile_ranks(state.n, plan.percentiles, plan.method)
        )
        for key, state in states.items()
        if state.scores.sums is not None
    }
    inside: dict[object, ScoreList] = {}
    if brackets:
        total = engine.fold(
            profile.described.table,
            ScoresInGroupBrackets(column, brackets),
            list(dict.fromkeys(name for _, name in brackets)),
            [column.column],
            with_ids=False,
        )
        inside = {} if total is None else total.states
    ranked = {}
    for key, state in states.items():
        if key in brackets:
            listed = [inside[*key, place].joined() for place in range(len(brackets[key]))]
            ranked[key] = ScoresByRank(state.n, in_brackets(brackets[key], listed))
        elif state.scores.steps is not None:
            ranked[key] = ScoresByRank(state.n, state.scores.steps.at_ranks)
        else:
            ranked[key] = ScoresByRank.of(state.scores.listed())
    return ranked


# -- comparisons


@dataclass(frozen=True)
class GroupPairStates:
    """Makes the states of two tables in each group of the first table.

    Parameters
    ----------
    by : GroupColumn
        The groups.
    theirs : GroupColumn or None
        The same column of the second table, if it has one.
    states : PairStates
        Makes the states of a group.
    """

    by: GroupColumn
    theirs: GroupColumn | None
    states: PairStates

    def __call__(self, rows: PairedRows) -> StateOfGroups:
        """The states of some rows."""
        keys, groups = self.states.keys(rows), {}
        for label, places in self.by.rows_by_group(rows.before):
            part = PairedRows.complete(rows.before.take(places), rows.after.take(places))
            own = None if keys is None else keys[places]
            states: dict[object, object] = {**self.states.of(part, own).states, _SIZE: places.size}
            if own is not None:
                states[_CLUSTERS] = KeySet.of(own)
            groups[label] = StateByName(states)
        return StateOfGroups(self.by.name, groups, self._count_differing(rows))

    def _count_differing(self, rows: PairedRows) -> int:
        if self.theirs is None or not len(rows.before):
            return 0
        return count_differing_texts(self.by.texts(rows.before), self.theirs.texts(rows.after))


def compare_slices(
    comparison: SlicedComparison,
    pairs: Sequence[ScannedPair],
    by: str,
    metrics: str | Iterable[str] | None,
    correction: str,
) -> Result:
    """Compare scans in each group, as `rageval_report.analysis.slices.slice_comparison`.

    Parameters
    ----------
    comparison : SlicedComparison
        The comparison of all queries.
    pairs : sequence of ScannedPair
        The baseline beside each candidate; each pair is read once more.
    by : str
        A column of the baseline's details.
    metrics, correction
        As there.
    """
    names = metrics if metrics is None or isinstance(metrics, str) else list(metrics)
    notes: list[str] = []
    all_groups: list[Groups] = []
    chosen = []
    for pair in pairs:
        shared = choose_pairs(pair.metrics, names)
        states = _states_of_groups(pair, shared, by, comparison.plan)
        order = ordered_groups(by, states.sizes())
        notes += group_notes_of(states.sizes().get(NO_GROUP, 0), by)
        notes += differing_groups_note(
            by, pair.tables.names, states.n_differing, sum(states.sizes().values())
        )
        notes += states.shared_clusters("the test of heterogeneity and the pooling assume")
        all_groups += [
            _compare_groups(
                pair,
                ours,
                {label: states.states[label].states[ours.name] for label in order},
                comparison.plan,
            )
            for ours, _ in shared
        ]
        chosen.append(_Compared(shared))
    family = family_of_pairings(chosen, are_requested=metrics is not None)
    return comparison_of_slices(comparison, by, correction, all_groups, family, notes)


@dataclass(frozen=True)
class _Compared:
    """The metrics that are compared in groups."""

    metrics: list[tuple[Metric, Metric]]


def _states_of_groups(
    pair: ScannedPair, metrics: Sequence[tuple[Metric, Metric]], by: str, plan: ComparisonPlan
) -> StateOfGroups:
    tables, clusters = pair.tables, pair.partial.clusters
    column, theirs = GroupColumn.of(tables.before, by), GroupColumn.find(tables.after, by)
    before, after = tables.columns_of(clusters)
    states = PairStates(tuple(metrics), tables.parts_of_states, plan.missing, clusters)
    return tables.fold(
        GroupPairStates(column, theirs, states),
        metrics,
        ((*before, column.column), (*after, *([] if theirs is None else [theirs.column]))),
    )


def _compare_groups(
    pair: ScannedPair,
    metric: Metric,
    states: Mapping[str, MetricPairState],
    plan: ComparisonPlan,
) -> Groups:
    """One metric in each group, beside all queries."""
    rows = compare_together(
        [PairedMetric(pair.tables.names, metric, state.known()) for state in states.values()], plan
    )
    whole = ScannedQueries(tuple(states.values()), plan)
    return [
        ComparedSlice(label, row, np.array([place]), whole)
        for place, (label, row) in enumerate(zip(states, rows, strict=True))
    ]


@dataclass(frozen=True, eq=False)
class ScannedQueries:
    """All queries of a table of slices, by the states of the groups.

    Parameters
    ----------
    states : tuple of MetricPairState
        One per group.
    plan : ComparisonPlan
        The settings.
    """

    states: tuple[MetricPairState, ...]
    plan: ComparisonPlan
    # Bounds on p-values save tests of many rows; that of states costs the same for any number.
    are_bounded: bool = False
    total: float = math.nan
    squares: float = math.nan

    @cached_property
    def _all(self) -> PairState:
        return reduce(add, self.states).pairs

    @property
    def n(self) -> int:
        """The number of differences."""
        return self._all.n

    @cached_property
    def difference(self) -> float:
        """The mean difference of all queries."""
        return self._all.pairs().mean if self.n else math.nan

    @cached_property
    def _before(self) -> list[MetricPairState]:
        """The sum of the states up to each group."""
        return [*accumulate(self.states)]

    @cached_property
    def _after(self) -> list[MetricPairState]:
        """The sum of the states from each group on."""
        return [*accumulate(self.states[::-1])][::-1]

    def test_others(self, rows: IntArray) -> PairedResult | None:
        """The test of the queries of all groups but one; None if they are too few.

        Parameters
        ----------
        rows : ndarray of int
            The place of the group.
        """
        place = int(rows[0])
        outside = [*self._before[max(place - 1, 0) : place], *self._after[place + 1 : place + 2]]
        if not outside:
            return None
        pairs = reduce(add, outside).known().by_unit
        if pairs.n < self.plan.fewest_units:
            return None
        plan = self.plan
        return run_test(pairs, test=plan.test, n_resamples=plan.n_resamples, seed=plan.seed)
