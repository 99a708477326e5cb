"""The notes of a calibration: which queries are not rated, and what weakens the figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from rageval_report.analysis.agreement.means import JudgeMeans, rare_corrections
from rageval_report.analysis.agreement.measures import JUDGE_AND_PEOPLE, AgreementFigure
from rageval_report.analysis.agreement.rating_scale import RatingScale
from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.errors import named
from rageval_report.reports.sentences import number, pvalue_text
from rageval_report.scores import Metric, Scored
from rageval_report.scores.states import states_frame
from rageval_report.stats.prediction_powered import ENOUGH_TO_TUNE
from rageval_report.types import FloatArray

_FEW = 30
# If labelled and other queries differ at this p-value, the former are hardly a random sample.
_NOT_RANDOM = 0.01
# The paradox of kappa: agreement and the largest category are this frequent, and kappa is this far
# below AC1 (Feinstein & Cicchetti 1990 describe it; the limits are ours).
_AGREE, _PREVALENT, _BELOW = 0.8, 0.8, 0.2


def coverage_notes(evaluation: Scored, metric: Metric, ratings: Ratings) -> Iterator[str]:
    """Which queries were rated by whom."""
    is_judged, is_labelled = ratings.is_judged, ratings.is_labelled
    only_judge = int((is_judged & ~is_labelled).sum())
    note = f"{ratings.n} queries rated by both, {only_judge} by the judge alone"
    only_people, nobody = is_labelled & ~is_judged, ~is_labelled & ~is_judged
    if only_people.any():
        note += f", {int(only_people.sum())} by people alone"
    if nobody.any():
        note += f", {int(nobody.sum())} by nobody"
    yield note
    if only_people.any():
        states = states_frame(evaluation.scores[[metric.name]], evaluation.details)[metric.name]
        counts = Counter(states.to_numpy()[only_people].tolist())
        why = ", ".join(f"{n} {state}" for state, n in sorted(counts.items()))
        yield f"labelled but not scored ({why}): {named(ratings.ids[only_people])}"
    if len(ratings.strangers):
        n = len(ratings.strangers)
        verb = "labelled query is" if n == 1 else "labelled queries are"
        yield f"{n} {verb} not in {evaluation.name!r}: {named(ratings.strangers)}"


def scale_notes(ratings: Ratings, scale: RatingScale, labels: FloatArray) -> Iterator[str]:
    """How ratings were converted to categories."""
    if scale.threshold is not None:
        whose = "scores and labels" if scale.bins_labels else "the judge's scores"
        yield f"{whose} of at least {scale.threshold:g} count as 1, all others as 0"
    elif scale.categories.size:
        moved = np.abs(scale.judge_categories(ratings.judge) - ratings.judge) > 1e-9
        if moved.any():
            yield f"{int(moved.sum())} scores are moved to the nearest category"
    if len(ratings.raters) > 1:
        how = {"ordinal": "median", "continuous": "mean"}.get(scale.kind, "most frequent label")
        yield (
            f"{len(ratings.raters)} raters; people's label of a query is their {how}, "
            "in means and bias it is their mean"
        )
    split = ratings.both & np.isnan(labels)
    if split.any():
        n = int(split.sum())
        what = "query" if n == 1 else "queries"
        yield f"on {n} {what} the raters are evenly split, so there is no label to agree with"


def reliability_notes(
    ratings: Ratings,
    scale: RatingScale,
    labels: FloatArray,
    figures: Sequence[AgreementFigure],
    means: JudgeMeans,
    *,
    has_bounds: bool,
    is_stratified: bool,
) -> Iterator[str]:
    """What weakens the figures."""
    yield from _number_notes(ratings, means, has_bounds=has_bounds)
    yield from _constant_notes(ratings, scale, labels)
    yield from _paradox_notes(scale, labels[ratings.both], figures)
    if is_stratified:
        yield (
            "the corrected mean assumes that the labelled queries of each group are a random "
            "sample of it; people's own mean and the agreement are those of the labelled queries "
            "alone"
        )
    elif means.corrected is not None:
        yield from _sample_notes(ratings)
    elif scale.kind != "nominal":
        yield "fewer than two queries are without a label: people's mean needs no correction"


def _number_notes(ratings: Ratings, means: JudgeMeans, *, has_bounds: bool) -> Iterator[str]:
    n = ratings.n
    if n < _FEW:
        yield f"only {n} queries are rated by both, so every figure here is rough"
    if means.corrected is None:
        return
    if n < ENOUGH_TO_TUNE and means.corrected.lam == 1.0:
        yield (
            f"the judge's weight in the corrected mean is 1; it is tuned only "
            f"with at least {ENOUGH_TO_TUNE} labels"
        )
    both = ratings.both
    n_others = int((ratings.is_judged & ~both).sum())
    if n_others < n < ENOUGH_TO_TUNE and means.corrected.lam == 0.0:
        yield (
            f"only {n_others} judged queries are without a label, fewer than the {n} with one, so "
            "the judge's scores are not used for the mean"
        )
    warning = rare_corrections(ratings.labels[both], ratings.judge[both], means.corrected.lam)
    # With bounds the interval counts errors that the labels may have missed.
    if warning and not has_bounds:
        yield f"the corrected mean: {warning}"
    if means.labels_worth < n:
        yield (
            f"the corrected mean is worth {means.labels_worth:.0f} labels, fewer than the {n} that "
            "were used: this judge adds more noise than information; use the people's mean"
        )


def _constant_notes(ratings: Ratings, scale: RatingScale, labels: FloatArray) -> Iterator[str]:
    sides = (("the judge", scale.judge_categories(ratings.judge)), ("people", labels))
    for who, values in sides:
        rated = values[ratings.both]
        rated = rated[~np.isnan(rated)]
        if rated.size > 1 and not np.ptp(rated):
            yield (
                f"{who} gave {rated[0]:g} to all {rated.size} queries rated by both: agreement "
                "beyond chance is undefined"
            )


def _paradox_notes(
    scale: RatingScale, labels: FloatArray, figures: Sequence[AgreementFigure]
) -> Iterator[str]:
    by_name = {
        figure.name: figure.interval.estimate
        for figure in figures
        if figure.part == JUDGE_AND_PEOPLE
    }
    agreement, kappa = by_name.get("percent agreement", 0.0), by_name.get("Cohen's kappa", math.nan)
    ac1 = by_name.get("Gwet's AC1", math.nan)
    known = labels[~np.isnan(labels)]
    if not known.size or not scale.categories.size:
        return
    shares = np.array([(known == category).mean() for category in scale.categories])
    most = int(shares.argmax())
    if agreement >= _AGREE and shares[most] >= _PREVALENT and ac1 - kappa >= _BELOW:
        yield (
            f"{shares[most]:.0%} of people's labels are {scale.categories[most]:g}, which makes "
            f"kappa low ({number(kappa)}) although {agreement:.0%} agree; use Gwet's AC1 "
            f"({number(ac1)}), and label more queries of the rare category"
        )


def _sample_notes(ratings: Ratings) -> Iterator[str]:
    """Whether the judge scores the labelled queries differently from the rest: Welch's test."""
    both = ratings.both
    labelled, others = ratings.judge[both], ratings.judge[ratings.is_judged & ~both]
    squares = [float(scores.var(ddof=1)) / scores.size for scores in (labelled, others)]
    yield "the corrected mean assumes that the labelled queries are a random sample of all"
    if not sum(squares):
        return
    error = math.sqrt(sum(squares))
    gap = float(labelled.mean() - others.mean())
    parts = [
        square**2 / (scores.size - 1)
        for square, scores in zip(squares, (labelled, others), strict=True)
    ]
    # Welch's degrees of freedom, as the two groups differ in size and in spread.
    freedom = sum(squares) ** 2 / sum(parts)
    pvalue = 2.0 * float(scipy.special.stdtr(freedom, -abs(gap) / error))
    if pvalue < _NOT_RANDOM:
        yield (
            f"they do not look like one: the judge's mean is {number(float(labelled.mean()))} on "
            f"them and {number(float(others.mean()))} on the rest (Welch p {pvalue_text(pvalue)}); "
            "do not use the corrected mean, and draw the queries to label at random"
        )
