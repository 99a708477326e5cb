"""The tests of a history: each run against the one before it and against the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rageval_report.analysis.arguments import Clusters
from rageval_report.analysis.family import CorrectionFamily, correct_in_family
from rageval_report.analysis.history.changes import (
    DatedRun,
    FieldChange,
    measurement_changes,
)
from rageval_report.analysis.paired_metric import AdjustedPvalues, ComparisonPlan, MetricComparison
from rageval_report.reports.sentences import TestWords, verdict_sentence
from rageval_report.scores import Metric

BETTER, WORSE, NONE_SHOWN = "better", "worse", "none shown"
IDENTICAL, TOO_FEW, NOT_COMPARED = "identical", "too few", "not compared"


@dataclass(frozen=True, eq=False)
class HistoryStep:
    """One metric of two runs of a history.

    Parameters
    ----------
    before, after : DatedRun
        The runs.
    gold_set : str
        How the gold set changed; empty if it did not.
    changes : list of FieldChange
        The changes that prevent a comparison, and those that may, because they are unknown.
    row : MetricComparison or None
        The test over the queries that are the same in both; None if it would compare two different
        things, or if there is no such query.
    cells : dict of str to object, optional
        The row of a table of comparisons, with the adjusted p-values of the history.
    words : TestWords, optional
        What its sentence says of the tests.
    """

    before: DatedRun
    after: DatedRun
    gold_set: str
    changes: list[FieldChange]
    row: MetricComparison | None
    cells: dict[str, Any] | None = None
    words: TestWords | None = None

    @property
    def differs(self) -> str:
        """The known changes that give the scores of the two different meanings."""
        return "; ".join(filter(None, (self.gold_set, *_change_texts(self.changes, is_known=True))))

    @property
    def changed_fields(self) -> list[str]:
        """The names of what changed."""
        known = [change.field for change in self.changes if change.is_known]
        return [*(["query set"] if self.gold_set else []), *known]

    @property
    def unknown(self) -> str:
        """The possible changes: fields that are unknown in one of the runs."""
        return "; ".join(_change_texts(self.changes, is_known=False))

    @property
    def outcome(self) -> str:
        """The result of the test, in a word or two."""
        if self.cells is None or not self.cells["n"]:
            return NOT_COMPARED
        word = self.cells["verdict"]
        return word if word in (IDENTICAL, BETTER, WORSE, TOO_FEW) else NONE_SHOWN

    @property
    def numbers(self) -> dict[str, float]:
        """Pairs, mean difference with its interval, p-values; NaN if nothing was tested."""
        names = ("difference", "ci_low", "ci_high", "pvalue", "pvalue_adjusted")
        if self.cells is None:
            return {"n": 0, **dict.fromkeys(names, float("nan"))}
        n = self.cells.get("n_clusters", self.cells["n"])
        return {"n": n, **{name: self.cells[name] for name in names}}

    def sentence(self, metric: Metric) -> str:
        """The verdict, as a sentence that names the later run."""
        if self.cells is None or self.words is None:
            return f"{metric.name} of {self.after.name}: {self._why_not_compared()}"
        sentence = verdict_sentence(self.cells, self.words)
        return sentence if self.after.name in sentence else f"{self.after.name}: {sentence}"

    def _why_not_compared(self) -> str:
        if any(change.is_known for change in self.changes):
            changes = "; ".join(_change_texts(self.changes, is_known=True))
            return f"not comparable with {self.before.name}, {changes}"
        return f"not compared with {self.before.name}, no query is the same in both"


HistorySteps = dict[tuple[str, str, str], HistoryStep]

# With more tests than this, inverting each of them for its interval would take minutes.
MOST_INVERTED = 100


@dataclass(frozen=True, eq=False)
class HistoryTests:
    """All tests of a history.

    Parameters
    ----------
    steps : dict of (str, str, str) to HistoryStep
        By metric, earlier run, later run. A pair that is both a neighbour and with the baseline
        counts once.
    family_size : int
        The number of tests.
    plan : ComparisonPlan
        The settings of the tests.
    """

    steps: HistorySteps
    family_size: int
    plan: ComparisonPlan


def _change_texts(changes: Sequence[FieldChange], *, is_known: bool) -> list[str]:
    return [str(change) for change in changes if change.is_known == is_known]


def run_tests(
    runs: Sequence[DatedRun],
    baseline: DatedRun,
    metrics: Sequence[Metric],
    fixed: Sequence[str],
    plan: ComparisonPlan,
    correction: str,
    clusters: Clusters | None = None,
) -> HistoryTests:
    """Test each run against the one before it and against the baseline.

    Parameters
    ----------
    runs : sequence of DatedRun
        In order of time.
    baseline : DatedRun
        One of them.
    metrics : sequence of Metric
        The metrics.
    fixed : sequence of str
        The fields of the configuration that must be equal for scores to mean the same.
    plan : ComparisonPlan
        Test, intervals, confidence level, seed; the interval "auto" is the inversion of the test up
        to `MOST_INVERTED` tests, and the t interval beyond.
    correction : str
        The correction of the p-values of all tests.
    clusters : str, Series or mapping, optional
        A column of the details of every run, or labels by query id: queries that belong together.
    """
    pairs = [(metric, *pair) for metric in metrics for pair in _pairs_of(metric, runs, baseline)]
    if plan.interval == "auto" and len(pairs) > MOST_INVERTED:
        plan = replace(plan, interval="t")
    # Two runs are paired once, not once per metric.
    metrics_by_pair: dict[tuple[DatedRun, DatedRun], list[Metric]] = {}
    for metric, before, after in pairs:
        metrics_by_pair.setdefault((before, after), []).append(metric)
    by_key = {
        (metric.name, step.before.name, step.after.name): step
        for (before, after), shared in metrics_by_pair.items()
        for metric, step in zip(
            shared, _test_steps(before, after, shared, fixed, plan, clusters), strict=True
        )
    }
    # In the order of the table, which is that of the metrics.
    keys = [(metric.name, before.name, after.name) for metric, before, after in pairs]
    steps = {key: by_key[key] for key in keys}
    return _adjust_steps(steps, CorrectionFamily.of(metrics), plan, correction)


def _pairs_of(
    metric: Metric, runs: Sequence[DatedRun], baseline: DatedRun
) -> dict[tuple[DatedRun, DatedRun], None]:
    """Neighbours, and the baseline with each later run, among the runs that have the metric."""
    with_metric = [run for run in runs if run.metric(metric)]
    pairs = dict.fromkeys(pairwise(with_metric))
    if baseline in with_metric:
        pairs |= {(baseline, run): None for run in with_metric[with_metric.index(baseline) + 1 :]}
    return pairs


def _test_steps(
    before: DatedRun,
    after: DatedRun,
    metrics: Sequence[Metric],
    fixed: Sequence[str],
    plan: ComparisonPlan,
    clusters: Clusters | None,
) -> Iterator[HistoryStep]:
    """The tests of two runs, one per metric that both have."""
    pair = before.beside(after)
    changes = [measurement_changes(before, after, metric, fixed) for metric in metrics]
    rows = {}
    if pair.n_same:
        comparable = {
            metric.name: (ours, theirs)
            for metric, own in zip(metrics, changes, strict=True)
            if not any(change.is_known for change in own)
            and (ours := before.metric(metric))
            and (theirs := after.metric(metric))
        }
        tested = pair.compare([*comparable.values()], plan, clusters) if comparable else []
        rows = dict(zip(comparable, tested, strict=True))
    for metric, own in zip(metrics, changes, strict=True):
        yield HistoryStep(before, after, pair.gold_set, own, rows.get(metric.name))


def _adjust_steps(
    steps: HistorySteps, family: CorrectionFamily, plan: ComparisonPlan, correction: str
) -> HistoryTests:
    pvalues = np.array(
        [float("nan") if step.row is None else step.row.test.pvalue for step in steps.values()]
    )
    names = [metric for metric, _, _ in steps]
    corrected = correct_in_family(family, names, pvalues, correction)
    sizes = family.sizes(names, pvalues)
    adjusted_steps = {}
    for (key, step), pvalue, size in zip(steps.items(), corrected.tolist(), sizes, strict=True):
        if step.row is not None:  # a history has no margin
            level = plan.alpha if correction == "none" else plan.alpha / max(1, size)
            cells = step.row.row(AdjustedPvalues(pvalue, size, level), plan)
            step = replace(step, cells=cells, words=plan.words(correction, size))
        adjusted_steps[key] = step
    return HistoryTests(adjusted_steps, family.size(names, pvalues), plan)
