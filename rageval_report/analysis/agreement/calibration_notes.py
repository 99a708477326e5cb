"""What a reader of a calibration must be told: who was not rated, and what weakens the figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import special

from rageval_report.analysis.agreement.means import JudgeMeans, rare_corrections
from rageval_report.analysis.agreement.measures import JUDGE_AND_PEOPLE, AgreementFigure
from rageval_report.analysis.agreement.rating_scale import RatingScale
from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.analysis.sentence_parts import number, pvalue_text
from rageval_report.errors import named
from rageval_report.scores import Metric, Scored
from rageval_report.scores.states import states_frame
from rageval_report.stats.agreement.prediction_powered import ENOUGH_TO_TUNE
from rageval_report.types import FloatArray

_FEW = 30
# Labels that the judge scores so differently from the rest are hardly drawn at random.
_NOT_RANDOM = 0.01
# The paradox: so many agree, one category is so frequent, and kappa is so far below AC1.
_AGREE, _PREVALENT, _BELOW = 0.8, 0.8, 0.2


def coverage_notes(evaluation: Scored, metric: Metric, ratings: Ratings) -> Iterator[str]:
    """Who rated which queries: nothing is dropped without a word."""
    judged, labelled = ratings.judged, ratings.labelled
    only_judge = int((judged & ~labelled).sum())
    told = f"{ratings.n} queries rated by both, {only_judge} by the judge alone"
    only_people, nobody = labelled & ~judged, ~labelled & ~judged
    if only_people.any():
        told += f", {int(only_people.sum())} by people alone"
    if nobody.any():
        told += f", {int(nobody.sum())} by nobody"
    yield told
    if only_people.any():
        states = states_frame(evaluation.scores[[metric.name]], evaluation.details)[metric.name]
        counts = Counter(states.to_numpy()[only_people].tolist())
        why = ", ".join(f"{n} {state}" for state, n in sorted(counts.items()))
        yield f"labelled but not scored ({why}): {named(ratings.ids[only_people])}"
    if len(ratings.strangers):
        n = len(ratings.strangers)
        verb = "labelled query is" if n == 1 else "labelled queries are"
        yield f"{n} {verb} not in {evaluation.name!r}: {named(ratings.strangers)}"


def scale_notes(ratings: Ratings, scale: RatingScale, agreed: FloatArray) -> Iterator[str]:
    """How ratings became categories."""
    if scale.threshold is not None:
        whose = "scores and labels" if scale.bins_labels else "the judge's scores"
        yield f"{whose} of at least {scale.threshold:g} count as 1, all others as 0"
    elif scale.categories.size:
        moved = np.abs(scale.judged(ratings.judge) - ratings.judge) > 1e-9
        if moved.any():
            yield f"{int(moved.sum())} scores are moved to the nearest category"
    if len(ratings.raters) > 1:
        how = {"ordinal": "median", "continuous": "mean"}.get(scale.kind, "most frequent label")
        yield (
            f"{len(ratings.raters)} raters; people's label of a query is their {how}, "
            "in means and bias their mean"
        )
    split = ratings.both & np.isnan(agreed)
    if split.any():
        n = int(split.sum())
        what = "query" if n == 1 else "queries"
        yield f"on {n} {what} the raters are evenly split: no label to agree with"


def cautions(
    ratings: Ratings,
    scale: RatingScale,
    agreed: FloatArray,
    figures: Sequence[AgreementFigure],
    means: JudgeMeans,
) -> Iterator[str]:
    """What weakens the figures."""
    yield from _few(ratings, means)
    yield from _constant(ratings, scale, agreed)
    yield from _paradox(scale, agreed[ratings.both], figures)
    if means.corrected is not None:
        yield from _not_random(ratings)
    elif scale.kind != "nominal":
        yield "fewer than two queries are without a label: people's mean needs no correction"


def _few(ratings: Ratings, means: JudgeMeans) -> Iterator[str]:
    n = ratings.n
    if n < _FEW:
        yield f"{n} queries rated by both are few: every figure here is rough"
    if means.corrected is None:
        return
    if n < ENOUGH_TO_TUNE and means.corrected.lam == 1.0:
        yield (
            f"the judge's weight in the corrected mean is 1; from {ENOUGH_TO_TUNE} labels on it is "
            "tuned"
        )
    both = ratings.both
    told = rare_corrections(ratings.labels[both], ratings.judge[both], means.corrected.lam)
    if told:
        yield f"the corrected mean: {told}"
    if means.labels_worth < n:
        yield (
            f"the corrected mean is worth {means.labels_worth:.0f} labels, fewer than the {n} that "
            "it took: this judge adds more noise than it helps; people alone are surer"
        )


def _constant(ratings: Ratings, scale: RatingScale, agreed: FloatArray) -> Iterator[str]:
    sides = (("the judge", scale.judged(ratings.judge)), ("people", agreed))
    for who, values in sides:
        given = values[ratings.both]
        given = given[~np.isnan(given)]
        if given.size > 1 and not np.ptp(given):
            yield (
                f"{who} gave {given[0]:g} to all {given.size} queries rated by both: agreement "
                "beyond chance cannot be told"
            )


def _paradox(
    scale: RatingScale, agreed: FloatArray, figures: Sequence[AgreementFigure]
) -> Iterator[str]:
    by_name = {one.name: one.interval.estimate for one in figures if one.part == JUDGE_AND_PEOPLE}
    agree, kappa = by_name.get("percent agreement", 0.0), by_name.get("Cohen's kappa", math.nan)
    ac1 = by_name.get("Gwet's AC1", math.nan)
    there = agreed[~np.isnan(agreed)]
    if not there.size or not scale.categories.size:
        return
    shares = np.array([(there == one).mean() for one in scale.categories])
    most = int(shares.argmax())
    if agree >= _AGREE and shares[most] >= _PREVALENT and ac1 - kappa >= _BELOW:
        yield (
            f"{shares[most]:.0%} of people's labels are {scale.categories[most]:g}: so lopsided a "
            f"set makes kappa low ({number(kappa)}) though {agree:.0%} agree; read Gwet's AC1 "
            f"({number(ac1)}), and label more queries of the rare kind"
        )


def _not_random(ratings: Ratings) -> Iterator[str]:
    """Whether the judge scores the labelled queries otherwise than the rest: Welch's test."""
    both = ratings.both
    labelled, others = ratings.judge[both], ratings.judge[ratings.judged & ~both]
    squares = [float(one.var(ddof=1)) / one.size for one in (labelled, others)]
    yield "the corrected mean takes the labelled queries for a random sample of all"
    if not sum(squares):
        return
    error = math.sqrt(sum(squares))
    gap = float(labelled.mean() - others.mean())
    parts = [s**2 / (one.size - 1) for s, one in zip(squares, (labelled, others), strict=True)]
    freedom = sum(squares) ** 2 / sum(parts)
    pvalue = 2.0 * float(special.stdtr(freedom, -abs(gap) / error))
    if pvalue < _NOT_RANDOM:
        yield (
            f"they do not look it: the judge's mean is {number(float(labelled.mean()))} on them "
            f"and {number(float(others.mean()))} on the rest (Welch p {pvalue_text(pvalue)}); do "
            "not trust the corrected mean, draw the queries to label at random"
        )
