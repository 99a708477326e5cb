"""What a person can repeat of a calibration, a sentence each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rageval_report.analysis.agreement.means import BIAS, CORRECTED, JudgeMeans
from rageval_report.analysis.agreement.measures import JUDGE_AND_PEOPLE, AgreementFigure
from rageval_report.analysis.sentence_parts import number
from rageval_report.scores import Metric
from rageval_report.stats.base import Interval

# The measure whose sentence stands for all, the first that is there.
_LEADING = ("Cohen's kappa, quadratic", "Cohen's kappa", "Spearman correlation")


def with_verdicts(
    figures: Sequence[AgreementFigure], metric: Metric, means: JudgeMeans
) -> list[AgreementFigure]:
    """The rows, those that say most with a sentence.

    Parameters
    ----------
    figures : sequence of AgreementFigure
        The rows of a calibration.
    metric : Metric
        What was judged.
    means : JudgeMeans
        What the corrected mean is compared with.
    """
    names = [one.name for one in figures if one.part == JUDGE_AND_PEOPLE]
    leading = next((name for name in _LEADING if name in names), "")
    told = []
    for one in figures:
        if one.part == JUDGE_AND_PEOPLE and one.name == leading:
            one = replace(one, verdict=_agreement(one, figures))
        elif one.part == BIAS:
            one = replace(one, verdict=_bias(one, metric))
        elif one.name == CORRECTED:
            one = replace(one, verdict=_corrected(metric, means))
        told.append(one)
    return told


def _agreement(one: AgreementFigure, figures: Sequence[AgreementFigure]) -> str:
    same = [f for f in figures if f.part == JUDGE_AND_PEOPLE and f.name == "percent agreement"]
    start = "judge and people"
    if same:
        n = same[0].n
        start += f" say the same on {round(same[0].interval.estimate * n)} of {n} queries"
    if math.isnan(one.interval.estimate):
        return f"{start}; {one.name} cannot be told"
    joint = "; " if same else ": "
    word = f", {one.reading} ({one.source})" if one.reading else ""
    return f"{start}{joint}{one.name} {_with_interval(one.interval)}{word}"


def _bias(one: AgreementFigure, metric: Metric) -> str:
    told = one.interval
    if told.low > 0 or told.high < 0:
        way = "higher" if told.estimate > 0 else "lower"
        size = _size(told)
        return f"the judge gives {way} {metric.name} than people by {_with_interval(size)}"
    return (
        f"no bias of the judge shown on {metric.name}: judge minus people "
        f"{_with_interval(told)}, {one.n} queries"
    )


def _size(told: Interval) -> Interval:
    """An interval of the size of a difference that has a sign."""
    if told.estimate >= 0:
        return told
    return replace(told, estimate=-told.estimate, low=-told.high, high=-told.low)


def _corrected(metric: Metric, means: JudgeMeans) -> str:
    found = means.corrected
    if found is None:
        return ""
    told = f"put right by {found.n} labels, the mean of {metric.name} is {_with_interval(found)}"
    worth = means.labels_worth
    more = "" if math.isnan(worth) else f"; worth {worth:.0f} labels without a judge"
    return f"{told}; the judge alone says {number(means.naive.estimate)}{more}"


def _with_interval(told: Interval) -> str:
    if math.isnan(told.low):
        return number(told.estimate)
    level = f"{100 * told.confidence_level:g} % CI"
    return f"{number(told.estimate)} ({level} {number(told.low)} to {number(told.high)})"
