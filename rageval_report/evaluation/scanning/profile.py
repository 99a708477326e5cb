"""One pass over a table: the states of all metrics, and what a report says beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from rageval_report.analysis.summary import ScoresByRank, UnscoredQueries
from rageval_report.errors import DataError
from rageval_report.evaluation.scanning.cluster_labels import LabelsInPart, unnamed_clusters_of
from rageval_report.evaluation.scanning.description import DescribedScan
from rageval_report.evaluation.scanning.part_states import (
    CorrectInPart,
    PartEvaluation,
    ScoresInBrackets,
    UnscoredInPart,
    columns_of_notion,
    columns_of_states,
    id_order,
    metric_states,
)
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.facts import TableFacts
from rageval_report.scale.mergeable import StateByName, StateOfEach, States
from rageval_report.scores.correct_notion import CorrectCounts, CorrectNotion, find_notion
from rageval_report.stats.states.label_counts import LabelCounts
from rageval_report.stats.states.metric_state import MetricState
from rageval_report.stats.states.order_brackets import bracket_ranks, in_brackets
from rageval_report.types import IndexArray


@dataclass(frozen=True, eq=False)
class ScanProfile:
    """What one pass over a table found.

    Parameters
    ----------
    described : DescribedScan
        The table, with metrics described by all of its rows.
    states : dict of str to MetricState
        The state of each metric.
    n_queries : int
        The number of rows.
    unscored : UnscoredQueries
        The queries without a score.
    notion : CorrectNotion, optional
        What a correct answer is.
    right : CorrectCounts, optional
        How many queries are correct.
    labels : dict of str to LabelCounts
        The labels of each column of details whose name is usual for clusters.
    """

    described: DescribedScan
    states: Mapping[str, MetricState]
    n_queries: int
    unscored: UnscoredQueries
    notion: CorrectNotion | None
    right: CorrectCounts | None
    labels: Mapping[str, LabelCounts] = field(default_factory=dict)

    def unnamed_clusters(self, clusters: object | None) -> tuple[str, ...]:
        """A note on a column that looks like clusters, if none were named."""
        return unnamed_clusters_of(self.labels, clusters)


def profile_of(described: DescribedScan, engine: Engine) -> ScanProfile:
    """Read a table once; a second time if scores lie slightly outside the bounds of their metric.

    Raises
    ------
    DataError
        If there are no rows, or a query id occurs twice.
    ReaderError
        If a file cannot be read, or a score lies outside its bounds.
    """
    states = _read(described, engine)
    facts = cast("TableFacts", states.parts[0])
    described.table.check_ids(states.parts[1])
    settled = described.with_facts(facts)
    # Which rule applies may depend on all rows, and clipped scores are other scores.
    if settled.table.shape.bounds or _notion(settled) != _notion(described):
        states = _read(settled, engine)
    _, _, by_metric, unscored, labels, *right = states.parts
    return ScanProfile(
        settled,
        cast("StateByName", by_metric).states,
        facts.n_rows,
        cast("UnscoredQueries", unscored),
        _notion(settled),
        cast("CorrectCounts", right[0]) if right else None,
        cast("StateByName", labels).states,
    )


def _notion(described: DescribedScan) -> CorrectNotion | None:
    return find_notion(described.head)


def _read(described: DescribedScan, engine: Engine) -> States:
    names, notion = described.table.shape.detail_names, _notion(described)
    details = list(columns_of_states(names))
    if notion is not None:
        details += columns_of_notion(notion, names)
    details = list(dict.fromkeys(details))
    # The labels of clusters are counted as Arrow has them, and not made texts of Python.
    parts = PartEvaluation(described.head.name, described.metrics, names, tuple(details))
    labels = LabelsInPart.of(described)
    partials: list[Any] = [TableFacts.of, id_order, metric_states, UnscoredInPart(parts), labels]
    if notion is not None:
        partials.append(CorrectInPart(parts, notion))
    states = engine.fold(
        described.table,
        StateOfEach(tuple(partials)),
        list(described.metrics),
        list(dict.fromkeys((*details, *labels.columns))),
    )
    if states is None:
        raise DataError(f"{described.head.name}: the table has no rows")
    return states


# -- order statistics


def ranked_scores(
    profile: ScanProfile, engine: Engine, ranks: Mapping[str, IndexArray]
) -> dict[str, ScoresByRank]:
    """The scores of metrics at some ranks; a second pass only for those that are no lattice.

    Parameters
    ----------
    profile : ScanProfile
        The first pass.
    engine : Engine
        The engine of the second.
    ranks : dict of str to ndarray of int
        The places of the sorted scores that will be looked up, by metric, counted from 0.
    """
    columns = {name: profile.states[name].scores for name in ranks}
    brackets = {
        name: bracket_ranks(column.sums, ranks[name])
        for name, column in columns.items()
        if column.sums is not None and ranks[name].size
    }
    inside: Mapping[Any, Any] = {}
    if brackets:
        total = engine.fold(
            profile.described.table, ScoresInBrackets(brackets), list(brackets), with_ids=False
        )
        inside = {} if total is None else total.states
    ranked: dict[str, ScoresByRank] = {}
    for name, column in columns.items():
        if name in brackets:
            listed = [inside[name, place].joined() for place in range(len(brackets[name]))]
            ranked[name] = ScoresByRank(column.n, in_brackets(brackets[name], listed))
        else:
            ranked[name] = _known_ranks(profile.states[name])
    return ranked


def _known_ranks(state: MetricState) -> ScoresByRank:
    """The scores by rank of a metric that has all of them, or their counts."""
    if state.scores.steps is not None:
        return ScoresByRank(state.n, state.scores.steps.at_ranks)
    if state.scores.sums is not None:  # no rank is asked for
        return ScoresByRank(state.n, lambda places: np.full(np.shape(places), np.nan))
    return ScoresByRank.of(state.scores.listed())


def merge_ranks(*parts: Sequence[int] | IndexArray) -> IndexArray:
    """Ranks without repeats, in ascending order."""
    return np.unique(np.concatenate([np.asarray(part, dtype=np.intp) for part in parts]))
