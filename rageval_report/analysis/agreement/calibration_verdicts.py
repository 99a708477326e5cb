"""The verdicts of a calibration: sentences that a person can repeat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rageval_report.analysis.agreement.means import BIAS, CORRECTED, JudgeMeans
from rageval_report.analysis.agreement.measures import JUDGE_AND_PEOPLE, AgreementFigure
from rageval_report.reports.sentences import number
from rageval_report.scores import Metric
from rageval_report.stats.base import Interval

# The measure that gets the sentence on agreement: the first of these that is computed.
_LEADING = ("Cohen's kappa, quadratic", "Cohen's kappa", "Spearman correlation")


def add_verdicts(
    figures: Sequence[AgreementFigure], metric: Metric, means: JudgeMeans
) -> list[AgreementFigure]:
    """The rows, the most important ones with a sentence.

    Parameters
    ----------
    figures : sequence of AgreementFigure
        The rows of a calibration.
    metric : Metric
        The judged metric.
    means : JudgeMeans
        The means of judge and people.
    """
    names = [figure.name for figure in figures if figure.part == JUDGE_AND_PEOPLE]
    leading = next((name for name in _LEADING if name in names), "")
    return [
        replace(figure, verdict=_verdict(figure, leading, figures, metric, means))
        for figure in figures
    ]


def _verdict(
    figure: AgreementFigure,
    leading: str,
    figures: Sequence[AgreementFigure],
    metric: Metric,
    means: JudgeMeans,
) -> str | None:
    if figure.part == JUDGE_AND_PEOPLE and figure.name == leading:
        return _agreement_sentence(figure, figures)
    if figure.part == BIAS:
        return _bias_sentence(figure, metric)
    return _corrected_sentence(metric, means) if figure.name == CORRECTED else figure.verdict


def _agreement_sentence(figure: AgreementFigure, figures: Sequence[AgreementFigure]) -> str:
    agreement = [
        row for row in figures if row.part == JUDGE_AND_PEOPLE and row.name == "percent agreement"
    ]
    start = "judge and people"
    if agreement:
        n = agreement[0].n
        start += f" agree on {round(agreement[0].interval.estimate * n)} of {n} queries"
    if math.isnan(figure.interval.estimate):
        return f"{start}; {figure.name} cannot be computed"
    joint = "; " if agreement else ": "
    word = f", {figure.reading} ({figure.source})" if figure.reading else ""
    return f"{start}{joint}{figure.name} {_estimate_text(figure.interval)}{word}"


def _bias_sentence(figure: AgreementFigure, metric: Metric) -> str:
    bias = figure.interval
    if bias.low > 0 or bias.high < 0:
        way = "higher" if bias.estimate > 0 else "lower"
        size = _estimate_text(_absolute(bias))
        return f"the judge gives {way} {metric.name} than people by {size}"
    return (
        f"no bias of the judge shown on {metric.name}: judge minus people "
        f"{_estimate_text(bias)}, {figure.n} queries"
    )


def _absolute(interval: Interval) -> Interval:
    """The interval of the size of a difference, whatever its sign."""
    if interval.estimate >= 0:
        return interval
    return replace(interval, estimate=-interval.estimate, low=-interval.high, high=-interval.low)


def _corrected_sentence(metric: Metric, means: JudgeMeans) -> str:
    corrected = means.corrected
    if corrected is None:
        return ""
    worth = means.labels_worth
    more = "" if math.isnan(worth) else f"; worth {worth:.0f} labels without a judge"
    return (
        f"the mean of {metric.name}, corrected using {corrected.n} labels, is "
        f"{_estimate_text(corrected)}; the judge alone says {number(means.naive.estimate)}{more}"
    )


def _estimate_text(interval: Interval) -> str:
    if math.isnan(interval.low):
        return number(interval.estimate)
    level = f"{100 * interval.confidence_level:g} % CI"
    return (
        f"{number(interval.estimate)} ({level} {number(interval.low)} to {number(interval.high)})"
    )
