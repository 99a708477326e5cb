"""The verdict of each row of a comparison in one sentence, and the rare losses behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rageval_report.analysis.arguments import has_formal_bounds
from rageval_report.analysis.comparing.margins import interval_name, is_usual
from rageval_report.analysis.sentence_parts import (
    correction_text,
    number,
    pvalue_text,
    rounded_count,
)
from rageval_report.errors import DataError
from rageval_report.scores import Metric
from rageval_report.stats.base import Interval, PairedResult
from rageval_report.stats.effects import RareLossBound, rare_loss_bound
from rageval_report.stats.equivalence import EquivalenceResult
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import FEWEST_UNITS

CLUSTERS = "clusters"
_MOST_QUERIES_NAMED = 1_000_000
# One size of a loss, or one per metric.
LossSize = float | Mapping[str, float]
RARE_LOSS_COLUMNS = ("rare_loss_size", "rare_loss_share", "rare_loss_difference")


@dataclass(frozen=True)
class AdjustedPvalues:
    """The p-values of one row, corrected for all rows of its table.

    Parameters
    ----------
    pvalue : float
        That of the difference.
    equivalence_pvalue : float
        That of equivalence within the margin; NaN without a margin.
    correction : str
        The correction's name.
    family_size : int
        The number of tests of a difference in the table.
    level : float
        The level that the correction leaves to a test that is not shown; NaN if it is not known.
    """

    pvalue: float
    equivalence_pvalue: float
    correction: str
    family_size: int
    level: float = math.nan

    def for_the_best_of(self, tried: int) -> AdjustedPvalues:
        """The same for the best of as many variants: Bonferroni's correction.

        Examples
        --------
        >>> AdjustedPvalues(0.01, math.nan, "holm", 3).for_the_best_of(20).pvalue
        0.2
        """
        return replace(
            self,
            # NumPy's minimum keeps NaN, which means: not tested.
            pvalue=float(np.minimum(1.0, tried * self.pvalue)),
            equivalence_pvalue=float(np.minimum(1.0, tried * self.equivalence_pvalue)),
        )

    def level_left(self, alpha: float) -> float:
        """The level that the correction leaves; if it is not known, that of the first of all tests.

        Examples
        --------
        >>> AdjustedPvalues(0.3, math.nan, "holm", 10).level_left(0.05)
        0.005
        """
        if not math.isnan(self.level):
            return self.level
        return alpha if self.correction == "none" else alpha / max(1, self.family_size)


@dataclass(frozen=True)
class NeededUnits:
    """The number of units that a difference needs.

    Parameters
    ----------
    difference : float
        The difference, in the metric's own unit.
    n : float
        The number of queries, or clusters, that show it in 80 of 100 cases; NaN if that is more
        than ten million.
    """

    difference: float
    n: float


@dataclass(frozen=True, eq=False)
class MetricFinding:
    """The facts about one metric of two runs from which a verdict is written.

    Parameters
    ----------
    metric, baseline, candidate : str
        Their names.
    greater_is_better : bool
        The metric's direction.
    test : PairedResult
        The test of the mean difference.
    interval : Interval
        The interval of the mean difference.
    adjusted : AdjustedPvalues
        The p-values after correction.
    min_detectable_difference : float
        The difference that would be shown with 80 % power at the level that the correction leaves;
        infinite if none can be shown, NaN if the differences do not vary.
    needed : tuple of NeededUnits
        The units that differences of a useful size need at that level.
    equivalence : EquivalenceResult, optional
        The test against the user's margin.
    alpha : float
        The error rate.
    unit : str
        The unit that is counted: queries, or clusters of them.
    is_identical : bool
        Whether no query differs.
    fewest_units : int
        The fewest units that are tested.
    largest_difference : float
        The width of the metric's range; infinite without bounds.
    tried : int
        The number of variants of which the candidate is the best; 1 if nothing was chosen.
    gain_of_noise : float
        The gain that noise alone gives to the best of them; NaN if it is not known.
    """

    metric: str
    baseline: str
    candidate: str
    greater_is_better: bool
    test: PairedResult
    interval: Interval
    adjusted: AdjustedPvalues
    min_detectable_difference: float
    needed: tuple[NeededUnits, ...]
    equivalence: EquivalenceResult | None
    alpha: float
    unit: str = "paired queries"
    is_identical: bool = False
    fewest_units: int = FEWEST_UNITS
    largest_difference: float = math.inf
    tried: int = 1
    gain_of_noise: float = math.nan

    @property
    def is_tested(self) -> bool:
        """Whether there are enough units for a test."""
        return self.test.n >= self.fewest_units

    @property
    def is_shown(self) -> bool:
        """Whether a difference is shown, after correction."""
        return self.adjusted.pvalue <= self.alpha

    @property
    def is_equivalent(self) -> bool:
        """Whether the difference is shown to be smaller than the margin, after correction."""
        return self.adjusted.equivalence_pvalue <= self.alpha


def verdict(finding: MetricFinding) -> str:
    """One sentence: better, worse, equivalent, no difference shown, identical, or too few."""
    test = finding.test
    if test.n == 0:
        return f"not compared on {finding.metric}: no query is scored in both runs"
    if finding.is_identical:
        return (
            f"{finding.candidate} and {finding.baseline} are identical on {finding.metric}: "
            f"equal scores on all {test.n} {finding.unit}"
        )
    if not finding.is_tested:
        return _too_few_sentence(finding)
    if finding.is_shown:
        return _shown_sentence(finding)
    if finding.equivalence is not None and finding.is_equivalent:
        return _equivalent_sentence(finding, finding.equivalence)
    return _not_shown_sentence(finding)


def _shown_sentence(finding: MetricFinding) -> str:
    difference = finding.test.difference
    better = (difference > 0) == finding.greater_is_better
    # Turned so that the interval surrounds the size of the difference that is claimed.
    low, high = finding.interval.low, finding.interval.high
    if difference < 0:
        low, high = -high, -low
    interval = f"{100 * (1 - finding.alpha):g} % CI {number(low)} to {number(high)}"
    sentence = (
        f"{finding.candidate} is {'better' if better else 'worse'} on {finding.metric} by "
        f"{number(abs(difference))} ({interval}), {_pvalue(finding)}, "
        f"{finding.test.n} {finding.unit}"
    )
    return sentence + _margin_part(finding) + _tried_part(finding)


def _margin_part(finding: MetricFinding) -> str:
    """That a difference is smaller, or larger, than the margin; empty if neither is shown."""
    equivalence = finding.equivalence
    if equivalence is None:
        return ""
    margin = number(equivalence.margin)
    if finding.is_equivalent:
        interval = f" ({_equivalence_interval(finding, equivalence)})"
        method = "" if is_usual(equivalence) else interval
        return f", but by less than the margin of {margin}{method}{_notes_part(equivalence)}"
    if equivalence.untestable:
        return _equivalence_part(finding)
    # By the interval that the sentence shows, not by the narrower one of the test of equivalence.
    nearest = max(finding.interval.low, -finding.interval.high)
    return f", by more than the margin of {margin}" if nearest > equivalence.margin else ""


def _tried_part(finding: MetricFinding) -> str:
    """That the numbers are corrected for a choice, and what noise alone gives to the best."""
    if finding.tried == 1:
        return ""
    part = f"; corrected for the choice of the best of {finding.tried} variants"
    is_gain = (finding.test.difference > 0) == finding.greater_is_better
    if math.isnan(finding.gain_of_noise) or not is_gain:
        return part
    return f"{part}, which noise alone lifts by up to about {number(finding.gain_of_noise)}"


def _notes_part(equivalence: EquivalenceResult) -> str:
    return "".join(f"; {note}" for note in equivalence.notes)


def _equivalent_sentence(finding: MetricFinding, equivalence: EquivalenceResult) -> str:
    pvalue = pvalue_text(finding.adjusted.equivalence_pvalue)
    interval = _equivalence_interval(finding, equivalence)
    return (
        f"{finding.candidate} and {finding.baseline} are equivalent on {finding.metric} within "
        f"±{number(equivalence.margin)} ({interval}, equivalence p {pvalue})"
        f"{_notes_part(equivalence)}{_tried_part(finding)}"
    )


def _equivalence_interval(finding: MetricFinding, equivalence: EquivalenceResult) -> str:
    """The interval that lies within the margin if equivalence is shown."""
    name = interval_name(equivalence, 1 - 2 * finding.alpha)
    return f"{name} {number(equivalence.low)} to {number(equivalence.high)}"


def _not_shown_sentence(finding: MetricFinding) -> str:
    sentence = f"no difference shown on {finding.metric}"
    if finding.test.pvalue <= finding.alpha:
        sentence += f" after correction (p {pvalue_text(finding.test.pvalue)}, {_pvalue(finding)})"
    parts = (_would_show_part, _needed_part, _equivalence_part, _tried_part)
    return sentence + "".join(part(finding) for part in parts)


def _would_show_part(finding: MetricFinding) -> str:
    """The differences that as many units would show; empty if the differences do not vary."""
    detectable, unit = finding.min_detectable_difference, finding.unit.removeprefix("paired ")
    start = f"; with {finding.test.n} {unit}"
    if math.isinf(detectable):
        return f"{start} no difference can be shown after correction"
    if detectable >= finding.largest_difference:
        return f"{start} hardly any difference would show"
    # A difference that was seen and is not shown contradicts a smaller number.
    if not detectable > abs(finding.test.difference):
        return ""
    return f"{start} only differences beyond about {number(detectable)} would show"


def _equivalence_part(finding: MetricFinding) -> str:
    """That the difference may be larger than the margin; empty without one."""
    equivalence = finding.equivalence
    if equivalence is None:
        return ""
    margin = f"; not shown to lie within ±{number(equivalence.margin)}"
    if equivalence.untestable:
        return f"{margin}: {equivalence.untestable}"
    pvalue, correction = "", ""
    if equivalence.pvalue <= finding.alpha:  # shown before the correction, not after it
        pvalue = f", equivalence p {pvalue_text(finding.adjusted.equivalence_pvalue)}"
        correction = " after correction"
    return f"{margin}{correction} ({_equivalence_interval(finding, equivalence)}{pvalue})"


def _needed_part(finding: MetricFinding) -> str:
    """The units that useful differences need, if they are more than there are."""
    parts = [
        _count_needed(finding, needed, is_first=place == 0)
        for place, needed in enumerate(
            needed for needed in finding.needed if not needed.n <= finding.test.n
        )
    ]
    return f"; {', '.join(parts)}" if parts else ""


def _count_needed(finding: MetricFinding, needed: NeededUnits, *, is_first: bool) -> str:
    difference = number(needed.difference)
    unit = f" {finding.unit.removeprefix('paired ')}" if is_first else ""
    if not needed.n <= _MOST_QUERIES_NAMED:
        return f"over a million{unit}{' are needed' if is_first else ''} to see {difference}"
    count = f"about {rounded_count(int(needed.n))}{unit}"
    if not is_first:
        return f"{count} to see {difference}"
    # Clusters are named, because the set would need more documents, not more questions on them.
    more = rounded_count(int(needed.n) - finding.test.n)
    more_part = f", {more} more," if finding.unit == CLUSTERS else ""
    return f"{count}{more_part} are needed to see {difference}"


def _too_few_sentence(finding: MetricFinding) -> str:
    unit = finding.unit.removeprefix("paired ")
    return (
        f"too few {unit} for a test on {finding.metric}: {finding.test.n} in "
        f"common, at least {finding.fewest_units} are needed"
    )


def _pvalue(finding: MetricFinding) -> str:
    pvalue = pvalue_text(finding.adjusted.pvalue)
    correction = finding.adjusted.correction
    is_of_many = correction != "none" and finding.adjusted.family_size > 1
    if finding.tried > 1 and not is_of_many:
        return f"corrected p {pvalue}"
    if correction != "none" and not is_of_many:
        return f"p {pvalue}"
    return f"{correction_text(correction)} p {pvalue}"


# -- rare losses


def find_rare_losses(
    pairs: Pairs, metric: Metric, size: LossSize | None, confidence_level: float
) -> RareLossBound | None:
    """The bound for one metric; None without a pair, or if it is not known how much can be lost.

    Parameters
    ----------
    pairs : Pairs
        Independent pairs.
    metric : Metric
        What is compared; its direction says which changes are losses.
    size : float or mapping of str to float, optional
        The size of the loss, for all metrics or by metric; if omitted, the range of the scores,
        unless it is a formality.
    confidence_level : float
        The level of the limit of the share.

    Raises
    ------
    DataError
        If no query can lose so much.

    Examples
    --------
    >>> recall = Metric("recall", kind="proportion")
    >>> bound = find_rare_losses(Pairs.of([0.5] * 50, [0.6] * 50), recall, None, 0.95)
    >>> bound.size, round(bound.share, 4), round(bound.difference, 4)
    (1.0, 0.0582, 0.036)
    """
    loss = size_of_loss(metric, size)
    if loss is None or not pairs.n:
        return None
    # If lower is better, a loss is a rise.
    sides = pairs if metric.greater_is_better else pairs.swapped()
    return rare_loss_bound(sides, loss, confidence_level=confidence_level)


def size_of_loss(metric: Metric, size: LossSize | None) -> float | None:
    """The size of a rare loss of a metric, by default the range of its scores; None if unknown."""
    width = math.inf if metric.bounds is None else metric.bounds[1] - metric.bounds[0]
    chosen = size.get(metric.name) if isinstance(size, Mapping) else size
    if chosen is None:
        return None if math.isinf(width) or has_formal_bounds(metric) else width
    if chosen > width:
        raise DataError(
            f"rare_loss must be at most {width:g} for {metric.name}, whose scores differ by no "
            f"more; got {chosen:g}. Sizes by metric: rare_loss={{{metric.name!r}: {width:g}}}"
        )
    return chosen


def rare_loss_numbers(bound: RareLossBound | None, metric: Metric) -> dict[str, object]:
    """The columns of a row; the difference is candidate minus baseline, as everywhere."""
    if bound is None:
        return dict.fromkeys(RARE_LOSS_COLUMNS, math.nan)
    difference = bound.difference if metric.greater_is_better else -bound.difference
    return dict(zip(RARE_LOSS_COLUMNS, (bound.size, bound.share, difference), strict=True))
