"""What changed between two scans, for their page: answers that became right or wrong."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rageval_report.analysis.comparing.overall_change import mean_changes, ranges_of_change
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.analysis.evaluation_subset import EvaluationSubset
from rageval_report.evaluation.scanning.answered_queries import (
    details_of_answers,
    outcomes_of_rows,
)
from rageval_report.evaluation.scanning.kept_rows import KeptRows, WorseOfEach, kept_evaluations
from rageval_report.evaluation.scanning.part_states import PartEvaluation
from rageval_report.evaluation.scanning.scanned_pair import ScannedPair
from rageval_report.reports.parts import outcome_names
from rageval_report.reports.views.changed import (
    BECAME_RIGHT,
    BECAME_WRONG,
    Changed,
    improvements_of,
    plain_outcome_names,
)
from rageval_report.reports.wording import Wording
from rageval_report.scale.mergeable import StateByName, States
from rageval_report.scale.pairs import PairedRows
from rageval_report.scores import Metric
from rageval_report.scores.align import align
from rageval_report.scores.correct_notion import CorrectNotion
from rageval_report.types import BoolArray, IntArray

# The places of these outcomes among those of `outcome_masks`.
_MASKS = {BECAME_WRONG: 2, BECAME_RIGHT: 3}


@dataclass(frozen=True)
class OutcomeCounts:
    """Counts the queries of two tables by outcome, in the order of `outcome_columns`.

    Parameters
    ----------
    sides : (PartEvaluation, PartEvaluation)
        What makes evaluations of rows, with the details that the rules need.
    notions : (CorrectNotion, CorrectNotion)
        What is correct in either table.
    """

    sides: tuple[PartEvaluation, PartEvaluation]
    notions: tuple[CorrectNotion, CorrectNotion]

    @classmethod
    def of(
        cls,
        sides: tuple[PartEvaluation, PartEvaluation],
        notions: tuple[CorrectNotion, CorrectNotion],
    ) -> OutcomeCounts:
        """What counts, with no more details than the rules need."""
        first, second = (
            replace(side, columns=details_of_answers(side, notion))
            for side, notion in zip(sides, notions, strict=True)
        )
        return cls((first, second), notions)

    def __call__(self, rows: PairedRows) -> IntArray:
        """The counts of some rows."""
        return self.of_masks(rows, self.masks(rows))

    def masks(self, rows: PairedRows) -> tuple[BoolArray, ...]:
        """Which of some common queries have each outcome."""
        return outcomes_of_rows(self.sides, self.notions, rows)

    def of_masks(self, rows: PairedRows, masks: Sequence[BoolArray]) -> IntArray:
        """The counts of some rows, of which it is known which have each outcome."""
        common = [int(np.count_nonzero(mask)) for mask in masks]
        return np.array([*common, len(rows.only_before), len(rows.only_after)], dtype=np.int64)


@dataclass(frozen=True)
class RowsOfPage:
    """Selects the queries that the page of two tables shows, and counts the outcomes of all.

    Parameters
    ----------
    worse : WorseOfEach
        What selects those on which the candidate is worse, by metric.
    metrics : tuple of (Metric, Metric)
        The metrics that are compared, as either table knows them.
    ranges : tuple of float
        Their ranges, as `ranges_of_change` gives them.
    outcomes : OutcomeCounts, optional
        What counts the outcomes; None if nothing says what is correct.
    """

    worse: WorseOfEach
    metrics: tuple[tuple[Metric, Metric], ...]
    ranges: tuple[float, ...]
    outcomes: OutcomeCounts | None

    def __call__(self, rows: PairedRows) -> States:
        """The queries of some rows, and the counts of these rows."""
        sides = [(rows.before.scores[a.name], rows.after.scores[b.name]) for a, b in self.metrics]
        changes = mean_changes([ours for ours, _ in self.metrics], sides, self.ranges)
        badness = self.worse.badness(rows)
        if self.outcomes is None:
            badness |= {_key(kind): improvements_of(kind, changes) for kind in _MASKS}
            return States((self.worse.select(rows, badness), np.zeros(0, dtype=np.int64)))
        masks = self.outcomes.masks(rows)
        known = np.nan_to_num(changes, nan=0.0)
        for kind, place in _MASKS.items():
            sizes = -known if kind == BECAME_WRONG else known
            badness[_key(kind)] = np.where(masks[place], sizes, np.nan)
        return States((self.worse.select(rows, badness), self.outcomes.of_masks(rows, masks)))


def _key(kind: str) -> Hashable:
    """The key of the rows of a kind, which no metric can have."""
    return ("all metrics", kind)


@dataclass(frozen=True, eq=False)
class PageChanges:
    """What changed between a scanned baseline and its candidates.

    Parameters
    ----------
    pair : ScannedPair
        The baseline and the first candidate.
    kept : (EvaluationSubset, EvaluationSubset)
        The queries that the page shows, in either run.
    changed : dict of str to list of str
        The ids of those that changed most over all metrics, by kind.
    counts : tuple of dict of str to int
        How many queries of the baseline and each candidate have each outcome; empty dicts if
        nothing says what is correct.
    """

    pair: ScannedPair
    kept: tuple[EvaluationSubset, EvaluationSubset]
    changed: dict[str, list[str]]
    counts: tuple[dict[str, int], ...]

    @classmethod
    def of(
        cls,
        pairs: Sequence[ScannedPair],
        notions: tuple[CorrectNotion, ...] | None,
        most: int,
    ) -> PageChanges:
        """Read the baseline and each candidate once more.

        Parameters
        ----------
        pairs : sequence of ScannedPair
            The baseline beside each candidate.
        notions : tuple of CorrectNotion, or None
            What is correct in each run, the baseline's first; None if nothing says so.
        most : int
            How many queries are shown of each metric, and of each kind.
        """
        first, *others = pairs
        tables, shared = first.tables, tuple(first.metrics)
        rules = [] if notions is None else [(notions[0], own) for own in notions[1:]]
        partial = RowsOfPage(
            WorseOfEach(tables.parts, shared, most),
            shared,
            _ranges(first),
            OutcomeCounts.of(tables.parts, rules[0]) if rules else None,
        )
        # All metrics: one that is not compared may say which answers are right.
        state = tables.fold_whole(partial)
        rows: StateByName = state.parts[0]
        counts = [state.parts[1], *_counts_of(others, rules[1:])]
        baseline, candidate = kept_evaluations(rows, tables.sides)
        return cls(
            first,
            (baseline, candidate),
            {kind: _ids_of(rows, kind) for kind in _MASKS},
            tuple(_by_outcome(pair, own) for pair, own in zip(pairs, counts, strict=False)),
        )

    def view(self, words: str, wording: Wording) -> Changed | None:
        """What the page draws; None if nothing changed.

        Parameters
        ----------
        words : str
            The rule for a right answer.
        wording : Wording
            What the page calls pipelines and metrics.
        """
        before, after = self.kept
        pairing = Pairing(
            before, after, align(before.scores.index, after.scores.index), self.pair.metrics
        )
        plain = plain_outcome_names(outcome_names(before, after))
        counts = {plain[name]: n for name, n in self.counts[0].items()}
        return Changed.of_counts(
            pairing, counts, self.changed, wording.with_titles(words), wording.names
        )


def _ranges(pair: ScannedPair) -> tuple[float, ...]:
    metrics = [ours for ours, _ in pair.metrics]

    def largest(place: int) -> float:
        pairs = pair.states[metrics[place].name].known().pairs
        return max(map(abs, pairs.ends)) if pairs.n else 0.0

    return ranges_of_change(metrics, largest)


def _ids_of(rows: StateByName, kind: str) -> list[str]:
    kept: KeptRows | None = rows.states.get(_key(kind))
    return [] if kept is None else [str(query_id) for query_id in kept.rows().index]


def _counts_of(
    pairs: Sequence[ScannedPair], rules: Sequence[tuple[CorrectNotion, CorrectNotion]]
) -> Iterable[IntArray]:
    """The counts of further candidates, each by a pass over its table and the baseline's."""
    for pair, notions in zip(pairs, rules, strict=False):
        counts = OutcomeCounts.of(pair.tables.parts, notions)
        details = [details_of_answers(*each) for each in zip(counts.sides, notions, strict=True)]
        yield pair.tables.fold_scores(counts, (details[0], details[1]))


def _by_outcome(pair: ScannedPair, counts: IntArray) -> dict[str, int]:
    """The counts by the names of outcomes; empty without a rule."""
    if not counts.size:
        return {}
    names = outcome_names(pair.baseline, pair.candidate)
    # `outcome_columns` has both wrong before the answers that one run has right.
    order = [names[0], names[3], names[1], names[2], *names[4:]]
    return {name: n for name, n in zip(order, counts.tolist(), strict=True) if n}
