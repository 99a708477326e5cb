"""The ranking of scores: tests of all pairs, their correction, rows and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Protocol

import numpy as np

from rageval_report.analysis.family import CorrectionFamily, adjust_with_hidden, levels_left
from rageval_report.analysis.pairing import MissingTreatment
from rageval_report.analysis.ranking.figures import stepwise
from rageval_report.analysis.ranking.ranked_columns import (
    Drawing,
    RankedBlock,
    RankedColumns,
    RankedLineup,
    is_rankable,
)
from rageval_report.analysis.ranking.ranking_tables import ranking_notes, ranking_rows
from rageval_report.analysis.ranking.standing import RankingSettings
from rageval_report.scores import Metric
from rageval_report.stats.corrections import WESTFALL_YOUNG, uses_midp
from rageval_report.stats.many_pairs import AllPairs
from rageval_report.stats.units import fewest_units
from rageval_report.types import FloatArray, IndexArray


class SharedFlips(Protocol):
    """Adjusted p-values by flips of signs that all pairs of some metrics share."""

    def __call__(self, names: Sequence[str], half_ties: Sequence[bool]) -> list[FloatArray]:
        """One array per metric, in the order of `AllPairs`.

        Parameters
        ----------
        names : sequence of str
            The metrics.
        half_ties : sequence of bool
            For each pair of each of them whether ties count half.
        """


@dataclass(frozen=True)
class LeaderboardPlan:
    """How a ranking tests and corrects, by checked settings; see `rageval_report.rank`.

    Parameters
    ----------
    test, correction, confidence_level, missing, n_resamples, seed, tried
        As there.
    margins : mapping of str to float
        By metric.
    on, clusters : str, optional
        How queries were matched, and what is independent, as the settings of the result name it.
    """

    test: str
    correction: str
    confidence_level: float
    missing: MissingTreatment
    n_resamples: int
    seed: int
    tried: int = 1
    margins: Mapping[str, float] = field(default_factory=dict)
    on: str | None = None
    clusters: str | None = None

    @property
    def alpha(self) -> float:
        """The error rate."""
        return round(1.0 - self.confidence_level, 12)

    @property
    def drawing(self) -> Drawing:
        """What a method that draws at random needs."""
        return Drawing(n_resamples=self.n_resamples, seed=self.seed)


@dataclass(frozen=True, eq=False)
class RankedBlocks:
    """What a ranking shows.

    Parameters
    ----------
    rows : list of dict
        One per metric and pipeline.
    settings : RankingSettings
        How the numbers were made.
    notes : tuple of str
        What a reader must know.
    tests : dict of str to AllPairs
        The corrected tests of each metric that can be ranked.
    levels : dict of str to float
        The level that the correction leaves to the pairs of each of them.
    """

    rows: list[dict[str, object]]
    settings: RankingSettings
    notes: tuple[str, ...]
    tests: dict[str, AllPairs]
    levels: dict[str, float]


def rank_blocks(
    blocks: Mapping[str, RankedBlock],
    lineup: RankedLineup,
    metrics: Mapping[str, Sequence[Metric]],
    plan: LeaderboardPlan,
    flips: SharedFlips,
) -> RankedBlocks:
    """Rank pipelines by the scores of some metrics.

    Parameters
    ----------
    blocks : mapping of str to RankedBlock
        The scores of each metric.
    lineup : RankedLineup
        The pipelines.
    metrics : mapping of str to sequence of Metric
        Each metric as each pipeline knows it.
    plan : LeaderboardPlan
        The settings.
    flips : callable
        The correction "westfall-young".
    """
    rankable = {name: block.columns for name, block in blocks.items() if is_rankable(block)}
    with_margin = {name: plan.margins[name] for name in rankable if name in plan.margins}
    tests = {
        name: _test_pairs(columns, with_margin.get(name, 0.0), plan)
        for name, columns in rankable.items()
    }
    # The flips of signs that all pairs share belong to differences of 0, not of a margin, and
    # there are none of pipelines that are not ranked.
    n_pipelines = len(lineup.names)
    n_tried = max(plan.tried, n_pipelines)
    is_selection = n_tried > n_pipelines
    method = stepwise(plan.correction) if with_margin or is_selection else plan.correction
    hidden = _hidden_pairs(n_pipelines, n_tried)
    family = CorrectionFamily.of(
        replace(metric, name=name) for name, known in metrics.items() for metric in known
    )
    tests = _correct_tests(tests, family, method, flips, hidden=hidden)
    settings = _settings_of(plan, method, _with_hidden(_count_tests(tests, family), hidden))
    if is_selection:
        settings["tried"] = n_tried
    if with_margin:
        settings["margins"] = with_margin
    if plan.clusters is not None:
        settings["clusters"] = plan.clusters
    tables = (
        ranking_rows(block, tests.get(name), lineup, settings) for name, block in blocks.items()
    )
    return RankedBlocks(
        list(chain.from_iterable(tables)),
        settings,
        (*ranking_notes(blocks, tests, lineup, settings), *family.notes()),
        tests,
        _levels_of_metrics(tests, family, method, hidden, plan.alpha),
    )


def _settings_of(plan: LeaderboardPlan, correction: str, family_size: int) -> RankingSettings:
    settings: RankingSettings = {
        "test": plan.test,
        "correction": correction,
        "family_size": family_size,
        "confidence_level": plan.confidence_level,
        "missing": plan.missing,
        "n_resamples": plan.n_resamples,
        "seed": plan.seed,
    }
    if plan.on is not None:
        settings["on"] = plan.on
    return settings


def _test_pairs(columns: RankedColumns, margin: float, plan: LeaderboardPlan) -> AllPairs:
    """The tests of all pairs on one metric; p is NaN if there are too few units for a test."""
    is_too_few = columns.n_units < fewest_units(plan.alpha)
    pairs = columns.test_pairs(plan.test, 0.0 if is_too_few else margin, plan.drawing)
    if not is_too_few:
        return pairs
    is_identical = (pairs.wins == 0) & (pairs.losses == 0)
    pvalue = np.where(is_identical, 1.0, np.nan)
    return replace(pairs, pvalue=pvalue, pvalue_adjusted=pvalue, tests=("none",) * pvalue.size)


def _count_tests(tests: Mapping[str, AllPairs], family: CorrectionFamily) -> int:
    """The number of pairs with a p-value, of the metrics that are corrected together."""
    counted = (pairs for name, pairs in tests.items() if name in family.members)
    return sum(int(np.isfinite(pairs.pvalue).sum()) for pairs in counted)


def _hidden_pairs(n_ranked: int, n_tried: int) -> float:
    """The pairs with pipelines that are not ranked, for each pair that is.

    Examples
    --------
    >>> _hidden_pairs(3, 3), _hidden_pairs(2, 20)  # 1 of 190 pairs
    (0.0, 189.0)
    """
    return n_tried * (n_tried - 1) / (n_ranked * (n_ranked - 1)) - 1.0


def _with_hidden(n_pairs: int, hidden: float) -> int:
    return round(n_pairs * (1.0 + hidden))


def _levels_of_metrics(
    tests: Mapping[str, AllPairs],
    family: CorrectionFamily,
    correction: str,
    hidden: float,
    alpha: float,
) -> dict[str, float]:
    """The level that the correction leaves to the pairs of each metric."""
    if not tests:
        return {}
    names = [name for name, pairs in tests.items() for _ in range(pairs.pvalue.size)]
    raw = np.concatenate([pairs.pvalue for pairs in tests.values()])
    levels = levels_left(family, names, raw, correction, alpha, hidden=hidden)
    return dict(zip(names, levels.tolist(), strict=True))


def _correct_tests(
    tests: dict[str, AllPairs],
    family: CorrectionFamily,
    correction: str,
    flips: SharedFlips,
    *,
    hidden: float,
) -> dict[str, AllPairs]:
    """The tests of all metrics, corrected as one family, and of those outside over all tests."""
    if not tests:
        return tests
    names = [name for name, pairs in tests.items() for _ in range(pairs.pvalue.size)]
    raw = np.concatenate([pairs.pvalue for pairs in tests.values()])

    def correct_pairs(positions: IndexArray) -> FloatArray:
        if correction != WESTFALL_YOUNG:
            return adjust_with_hidden(raw[positions], correction, hidden)
        chosen = list(dict.fromkeys(names[i] for i in positions))
        half = [uses_midp(test) for name in chosen for test in tests[name].tests]
        # The flips are drawn, but no adjusted p-value is below the raw one; NaN is no test.
        drawn = np.concatenate(flips(chosen, half))
        return np.asarray(np.maximum(drawn, raw[positions]))

    ends = np.cumsum([pairs.pvalue.size for pairs in tests.values()])[:-1]
    adjusted = np.split(family.correct(names, raw, correct_pairs), ends)
    return {
        name: replace(pairs, pvalue_adjusted=pvalues)
        for (name, pairs), pvalues in zip(tests.items(), adjusted, strict=True)
    }
