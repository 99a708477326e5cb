"""Each run of a history against the one before it and against the baseline, tested together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonPlan,
    MetricComparison,
    compare_metric,
)
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.analysis.comparing.verdicts import (
    FEWEST_FOR_A_TEST,
    AdjustedPvalues,
    MetricFinding,
    verdict,
)
from rageval_report.analysis.history.changes import (
    DatedRun,
    FieldChange,
    common_queries,
    measurement_changes,
    query_set_change,
)
from rageval_report.scores import Metric
from rageval_report.scores.align import align
from rageval_report.stats import adjust_pvalues

BETTER, WORSE, NONE_SHOWN = "better", "worse", "none shown"
IDENTICAL, TOO_FEW, NOT_COMPARED = "identical", "too few", "not compared"


@dataclass(frozen=True, eq=False)
class HistoryStep:
    """One metric of two runs.

    Parameters
    ----------
    before, after : DatedRun
        The runs.
    gold_set : str
        How the gold set changed; empty where it did not.
    changes : list of FieldChange
        What keeps the two from being compared, and what may, being unknown.
    row : MetricComparison or None
        The test over the queries that are the same in both; None where it would compare two
        different things, or no query is common.
    finding : MetricFinding, optional
        What the test shows once the p-values of the table are adjusted.
    """

    before: DatedRun
    after: DatedRun
    gold_set: str
    changes: list[FieldChange]
    row: MetricComparison | None
    finding: MetricFinding | None = None

    @property
    def differs(self) -> str:
        """What is known to make the scores of the two mean different things."""
        return "; ".join(filter(None, (self.gold_set, *_told(self.changes, is_known=True))))

    @property
    def differing(self) -> list[str]:
        """The same in a word each."""
        known = [change.field for change in self.changes if change.is_known]
        return [*(["query set"] if self.gold_set else []), *known]

    @property
    def unknown(self) -> str:
        """What may do so, and is not told by both runs."""
        return "; ".join(_told(self.changes, is_known=False))

    @property
    def outcome(self) -> str:
        """What the test shows, in a word or two."""
        one = self.finding
        if one is None or one.test.n == 0:
            return NOT_COMPARED
        if one.test.wins == 0 and one.test.losses == 0:
            return IDENTICAL
        if one.is_shown:
            return BETTER if (one.test.difference > 0) == one.greater_is_better else WORSE
        return TOO_FEW if one.test.n < FEWEST_FOR_A_TEST else NONE_SHOWN

    @property
    def numbers(self) -> dict[str, float]:
        """Pairs, mean difference with its interval, p-values; NaN where nothing was tested."""
        if self.row is None or self.finding is None:
            names = ("difference", "ci_low", "ci_high", "pvalue", "pvalue_adjusted")
            return {"n": 0, **dict.fromkeys(names, float("nan"))}
        return {
            "n": self.finding.test.n,
            "difference": self.finding.test.difference,
            "ci_low": self.finding.interval.low,
            "ci_high": self.finding.interval.high,
            "pvalue": self.finding.test.pvalue,
            "pvalue_adjusted": self.finding.adjusted.pvalue,
        }

    def sentence(self, metric: Metric) -> str:
        """What is shown, as a sentence that names the later run."""
        if self.finding is None:
            return f"{metric.name} of {self.after.name}: {self._why_not()}"
        told = verdict(self.finding)
        return told if self.after.name in told else f"{self.after.name}: {told}"

    def _why_not(self) -> str:
        if any(change.is_known for change in self.changes):
            differing = "; ".join(_told(self.changes, is_known=True))
            return f"not comparable with {self.before.name}, {differing}"
        return f"not compared with {self.before.name}, no query is the same in both"


HistorySteps = dict[tuple[str, str, str], HistoryStep]

# Beyond so many tests the inversion of each would keep its reader waiting for minutes.
MOST_INVERTED = 100


@dataclass(frozen=True, eq=False)
class HistoryTests:
    """All steps of a history.

    Parameters
    ----------
    steps : dict of (str, str, str) to HistoryStep
        By metric, earlier run, later run; a pair that is both is there, and counts, once.
    family_size : int
        How many tests there are.
    plan : ComparisonPlan
        As they were made.
    """

    steps: HistorySteps
    family_size: int
    plan: ComparisonPlan


def _told(changes: Sequence[FieldChange], *, is_known: bool) -> list[str]:
    return [str(change) for change in changes if change.is_known == is_known]


@dataclass(frozen=True, eq=False)
class _Part:
    """Some of the queries of a run."""

    name: str
    scores: pd.DataFrame
    details: pd.DataFrame
    metrics: Mapping[str, Metric]


def test_steps(
    runs: Sequence[DatedRun],
    baseline: DatedRun,
    metrics: Sequence[Metric],
    fixed: Sequence[str],
    plan: ComparisonPlan,
    correction: str,
) -> HistoryTests:
    """Test all steps of a history.

    Parameters
    ----------
    runs : sequence of DatedRun
        In the order of time.
    baseline : DatedRun
        One of them.
    metrics : sequence of Metric
        Which metrics.
    fixed : sequence of str
        The fields of the set-up that must be equal for scores to mean the same.
    plan : ComparisonPlan
        Test, intervals, confidence level, seed; the interval "auto" is the inversion of the test up
        to `MOST_INVERTED` tests, and the t interval beyond.
    correction : str
        Of the p-values, over all tests.
    """
    pairs = [(metric, *pair) for metric in metrics for pair in _pairs_of(metric, runs, baseline)]
    if plan.interval == "auto" and len(pairs) > MOST_INVERTED:
        plan = replace(plan, interval="t")
    paired: dict[tuple[str, str], tuple[Pairing, str]] = {}
    steps: HistorySteps = {}
    for metric, before, after in pairs:
        key = before.name, after.name
        if key not in paired:
            paired[key] = _paired(before, after), query_set_change(before, after)
        steps[(metric.name, *key)] = _step(before, after, paired[key], metric, fixed, plan)
    return _adjusted(steps, plan, correction)


def _pairs_of(
    metric: Metric, runs: Sequence[DatedRun], baseline: DatedRun
) -> dict[tuple[DatedRun, DatedRun], None]:
    """Neighbours, and the baseline with each later run; among the runs that have the metric."""
    having = [run for run in runs if run.metric(metric)]
    pairs = dict.fromkeys(pairwise(having))
    if baseline in having:
        pairs |= {(baseline, run): None for run in having[having.index(baseline) + 1 :]}
    return pairs


def _paired(before: DatedRun, after: DatedRun) -> Pairing:
    """Two runs on the queries that are the same in both, whatever their scores."""
    alignment = align(before.scores.index, after.scores.index)
    same = common_queries(before, after)
    if len(same) == len(alignment.ids):
        return Pairing(before, after, alignment, [])
    part = _Part(after.name, after.scores.loc[same], after.details.loc[same], after.metrics)
    return Pairing(before, part, align(before.scores.index, same), [])


def _step(
    before: DatedRun,
    after: DatedRun,
    paired: tuple[Pairing, str],
    metric: Metric,
    fixed: Sequence[str],
    plan: ComparisonPlan,
) -> HistoryStep:
    pairing, gold_set = paired
    changes = measurement_changes(before, after, metric, fixed)
    ours, theirs = before.metric(metric), after.metric(metric)
    is_fair = not any(change.is_known for change in changes) and len(pairing.alignment.ids)
    row = compare_metric(pairing, ours, theirs, None, plan) if is_fair and ours and theirs else None
    return HistoryStep(before, after, gold_set, changes, row)


def _adjusted(steps: HistorySteps, plan: ComparisonPlan, correction: str) -> HistoryTests:
    pvalues = np.array(
        [float("nan") if one.row is None else one.row.test.pvalue for one in steps.values()]
    )
    family = int(np.isfinite(pvalues).sum())
    corrected = adjust_pvalues(pvalues, method=correction)
    found = {}
    for (key, step), pvalue in zip(steps.items(), corrected.tolist(), strict=True):
        adjusted = AdjustedPvalues(pvalue, float("nan"), correction, family)
        finding = None if step.row is None else step.row.finding(adjusted, plan)
        found[key] = replace(step, finding=finding)
    return HistoryTests(found, family, plan)
