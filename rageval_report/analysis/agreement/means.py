"""The bias of the judge, the means of judge and people, and the mean corrected using labels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rageval_report.analysis.agreement.measures import AgreementFigure, IntervalSettings
from rageval_report.analysis.agreement.rating_scale import RatingScale
from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.analysis.arguments import kind_of_mean
from rageval_report.errors import DataError
from rageval_report.scores import Metric
from rageval_report.stats.base import Interval
from rageval_report.stats.means import interval_of_count, mean_interval
from rageval_report.stats.pairs import paired_interval
from rageval_report.stats.prediction_powered import (
    ENOUGH_TO_TUNE,
    JudgeErrors,
    PredictionPowered,
    ppi_mean,
    rogan_gladen,
    stratified_ppi_mean,
    variance_of_rest,
)
from rageval_report.types import FloatArray

BIAS, MEAN, ERRORS = "bias", "mean of all queries", "errors of the judge"
NAIVE, LABELLED, CORRECTED = "judge alone", "people alone", "corrected (PPI++)"
ROGAN_GLADEN, EXTERNAL = "Rogan-Gladen", "Rogan-Gladen, external"
# Labels that were converted from another scale carry rounding.
_SAME = 1e-9
# With fewer labels that differ from the judge, their spread cannot be estimated.
_FEWEST_MOVED = 5
# `ppi_mean` uses the judge with few labels if its interval is so much of that of the labels alone.
_SHORTER = 0.9
_PPI = "Angelopoulos et al. 2023"
_ROGAN_GLADEN = "Rogan & Gladen 1978"


@dataclass(frozen=True, eq=False)
class JudgeMeans:
    """The means of judge and people, and the difference between them.

    Parameters
    ----------
    bias : Interval
        Judge minus people, on the queries that both rated.
    naive : Interval
        The judge's mean over all queries that it scored.
    people : Interval
        The mean of the labels.
    corrected : PredictionPowered, optional
        The judge's mean corrected using the labels; None if fewer than two queries are unlabelled.
    errors : JudgeErrors, optional
        How often the judge is right, if ratings are yes and no.
    """

    bias: Interval
    naive: Interval
    people: Interval
    corrected: PredictionPowered | None = None
    errors: JudgeErrors | None = None

    @property
    def labels_worth(self) -> float:
        """The number of labels that would give an equally certain mean without a judge."""
        if self.corrected is None or not self.corrected.standard_error:
            return math.nan
        ratio = self.people.standard_error / self.corrected.standard_error
        return self.corrected.n * ratio**2


def means_of(
    ratings: Ratings,
    scale: RatingScale,
    metric: Metric,
    settings: IntervalSettings,
    lam: float | str = "auto",
    groups: npt.NDArray[np.object_] | None = None,
) -> JudgeMeans:
    """The means of judge and people.

    Parameters
    ----------
    ratings : Ratings
        Scores and labels.
    scale : RatingScale
        Their scale; the means are those of the scores themselves, whatever the scale.
    metric : Metric
        What is known of the scores.
    settings : IntervalSettings
        The settings of the intervals.
    lam : float or "auto"
        The weight of the judge, as in `rageval_report.stats.ppi_mean`.
    groups : ndarray of shape (n_queries,), optional
        The group of each query, if labels were drawn group by group.
    """
    both, labels = ratings.both, ratings.labels
    people, judge = labels[both], ratings.judge[both]
    level = settings.confidence_level
    return JudgeMeans(
        # Differences are second minus first, so this is judge minus people.
        bias=paired_interval(
            people,
            judge,
            confidence_level=level,
            n_resamples=settings.n_resamples,
            seed=settings.seed,
        ),
        naive=_mean(ratings.judge, metric, settings),
        people=_people_mean(people, metric, settings),
        corrected=corrected_mean(ratings, metric.bounds, lam, level, groups),
        errors=_judge_errors(ratings, scale),
    )


def _mean(values: FloatArray, metric: Metric, settings: IntervalSettings) -> Interval:
    return mean_interval(
        values,
        bounds=metric.bounds,
        kind=kind_of_mean(metric),
        confidence_level=settings.confidence_level,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )


def _people_mean(labels: FloatArray, metric: Metric, settings: IntervalSettings) -> Interval:
    """The mean of the labels, with a plain standard error to compare with the corrected mean's."""
    interval = _mean(labels, metric, settings)
    error = float(labels.std(ddof=1)) / math.sqrt(labels.size) if labels.size > 1 else math.nan
    return replace(interval, standard_error=error)


def corrected_mean(
    ratings: Ratings,
    bounds: tuple[float, float] | None,
    lam: float | str,
    level: float,
    groups: npt.NDArray[np.object_] | None = None,
) -> PredictionPowered | None:
    """The judge's mean corrected using the labels, its interval within the bounds."""
    both = ratings.both
    others = ratings.judge[ratings.is_judged & ~both]
    if both.sum() < 2 or others.size < 2:
        return None
    people, judge = ratings.labels[both], ratings.judge[both]
    if groups is not None:
        return stratified_ppi_mean(
            ratings.labels, ratings.judge, groups, bounds=bounds, confidence_level=level
        )
    return ppi_mean(people, judge, others, lam=lam, bounds=bounds, confidence_level=level)


def _judge_errors(ratings: Ratings, scale: RatingScale) -> JudgeErrors | None:
    if scale.kind != "binary":
        return None
    return JudgeErrors.of(scale.agreed_labels(ratings.table), scale.judge_categories(ratings.judge))


def rest_of(labels: FloatArray, judge: FloatArray, lam: float) -> FloatArray:
    """What the labels add to the judge's scores, weighted."""
    return labels - lam * judge


def rare_corrections(labels: FloatArray, judge: FloatArray, lam: float) -> str:
    """A warning if too few labels differ from the judge for a valid interval; else empty.

    Examples
    --------
    >>> rare_corrections(np.array([1.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0]), 1.0)
    'only 1 of 3 labels differ from the judge, which makes the interval too narrow'
    """
    n_different = int((np.abs(labels - judge) > _SAME).sum())
    # With a weight below 1, labels that equal the judge's score still show a spread, unless all of
    # these are the same.
    if n_different >= _FEWEST_MOVED or (lam != 1.0 and np.ptp(judge) > _SAME):
        return ""
    return (
        f"only {n_different} of {labels.size} labels differ from the judge, which makes the "
        "interval too narrow"
    )


# -- as rows


def bias_figure(means: JudgeMeans, n: int) -> AgreementFigure:
    """The bias as a row."""
    return AgreementFigure(BIAS, "judge minus people", means.bias, n)


def mean_figures(means: JudgeMeans, ratings: Ratings) -> Iterator[AgreementFigure]:
    """The judge's mean, people's, and the corrected one, as rows."""
    yield AgreementFigure(MEAN, NAIVE, means.naive, int(ratings.is_judged.sum()))
    yield AgreementFigure(MEAN, LABELLED, means.people, ratings.n)
    if means.corrected is not None:
        worth = means.labels_worth
        reading = "" if math.isnan(worth) else f"worth {worth:.0f} labels"
        yield AgreementFigure(
            MEAN, CORRECTED, means.corrected, int(ratings.is_judged.sum()), reading, _PPI
        )


def error_figures(errors: JudgeErrors, settings: IntervalSettings) -> Iterator[AgreementFigure]:
    """Sensitivity and specificity as rows; the one without a query is left out."""
    for name, right, n in (
        ("sensitivity", errors.true_positives, errors.positives),
        ("specificity", errors.true_negatives, errors.negatives),
    ):
        if n:
            interval = interval_of_count(right, n, settings.confidence_level)
            yield AgreementFigure(ERRORS, name, interval, n)


def share_figures(
    ratings: Ratings,
    scale: RatingScale,
    own: JudgeErrors | None,
    external: JudgeErrors | None,
    settings: IntervalSettings,
) -> tuple[list[AgreementFigure], list[str]]:
    """The share of ones corrected by the judge's error rates, and the reason if that is impossible.

    Parameters
    ----------
    ratings, scale, settings
        As in `means_of`.
    own : JudgeErrors, optional
        Counted on these queries: the share is that of the unlabelled queries.
    external : JudgeErrors, optional
        Counted on others: the share is that of all queries.
    """
    verdicts = scale.judge_categories(ratings.judge)
    figures, notes = [], []
    for name, errors, rows, reading in (
        (ROGAN_GLADEN, own, ratings.is_judged & ~ratings.both, "share of 1, unlabelled"),
        (EXTERNAL, external, ratings.is_judged, "share of 1"),
    ):
        if errors is None or not rows.any():
            continue
        try:
            share = rogan_gladen(verdicts[rows], errors, confidence_level=settings.confidence_level)
        except DataError as exc:
            notes.append(f"no {name}: {exc}")
            continue
        n = int(rows.sum())
        figures.append(AgreementFigure(MEAN, name, share, n, reading, _ROGAN_GLADEN))
    return figures, notes


# -- planning the number of labels


def expected_errors(
    ratings: Ratings, n_labels: int, bounds: tuple[float, float] | None
) -> tuple[float, float, float]:
    """The expected standard error of the mean for a number of labels.

    Parameters
    ----------
    ratings : Ratings
        The ratings from whose spread it is estimated.
    n_labels : int
        The number of labels, at most that of the queries that the judge scored.
    bounds : (float, float), optional
        The smallest and largest possible score.

    Returns
    -------
    tuple of float
        That of people's mean, that of the corrected mean, and the one from which the interval of
        the corrected mean is made.

    Notes
    -----
    The formulas of `rageval_report.stats.ppi_mean`, with the variances of the present labels and
    scores; the judge's weight is tuned from 100 labels on, and with fewer labels and bounds the
    judge is used where the interval gets shorter by a tenth.
    """
    both = ratings.both
    people, judge = ratings.labels[both], ratings.judge[both]
    all_scores = ratings.judge[ratings.is_judged]
    n_others = all_scores.size - n_labels
    alone = math.sqrt(float(people.var(ddof=1)) / n_labels)
    spread = float(all_scores.var(ddof=1))
    lam = _weight(people, judge, spread, n_labels, n_others) if n_others >= 2 else 0.0
    if lam == 0.0:
        return alone, alone, alone
    rest = rest_of(people, judge, lam)
    mean, variance = float(rest.mean()), float(rest.var(ddof=1))
    of_judge = lam**2 * spread / n_others
    corrected = math.sqrt(of_judge + variance / n_labels)
    of_interval = math.sqrt(of_judge + variance_of_rest(mean, variance, n_labels, lam, bounds))
    is_tuned = bounds is None or n_labels >= ENOUGH_TO_TUNE
    if not is_tuned and of_interval > _SHORTER * alone:
        return alone, alone, alone
    return alone, corrected, of_interval


def _weight(
    people: FloatArray, judge: FloatArray, spread: float, n_labels: int, n_others: int
) -> float:
    """The judge's weight: tuned if there are enough labels, else 1, or 0 with fewer others."""
    if not spread:
        return 0.0
    if n_labels < ENOUGH_TO_TUNE:
        return 1.0 if n_others >= n_labels else 0.0
    covariance = float(np.cov(people, judge, ddof=1)[0, 1])
    return float(np.clip(covariance / ((1.0 + n_labels / n_others) * spread), 0.0, 1.0))
