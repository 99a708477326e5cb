"""Two pipelines by one judge: their difference as the judge, as people, as both together see it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.analysis.agreement.means import CORRECTED, LABELLED, NAIVE, rare_corrections
from rageval_report.analysis.agreement.measures import IntervalSettings
from rageval_report.analysis.agreement.ratings import BoolArray, Ratings
from rageval_report.analysis.sentence_parts import number
from rageval_report.errors import AlignmentError
from rageval_report.results import Result
from rageval_report.scores import Metric
from rageval_report.scores.align import align
from rageval_report.stats.agreement.prediction_powered import PredictionPowered, ppi_difference
from rageval_report.stats.base import Interval
from rageval_report.stats.pairs.paired import paired_interval
from rageval_report.types import FloatArray

_HEADLINE = ("figure", "n", "baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high")


@dataclass(frozen=True, eq=False)
class Side:
    """One pipeline: its name, and its ratings."""

    name: str
    ratings: Ratings


@dataclass(frozen=True, eq=False)
class _Sides:
    """Scores and labels of both on their common queries, a row a pipeline."""

    judge: FloatArray
    labels: FloatArray

    @property
    def judged(self) -> BoolArray:
        """Where the judge scored both."""
        return np.asarray(~np.isnan(self.judge).any(axis=0))

    @property
    def labelled(self) -> BoolArray:
        """Where the judge scored both, and people labelled both."""
        return self.judged & ~np.isnan(self.labels).any(axis=0)


def difference_of(
    baseline: Side, candidate: Side, metric: Metric, lam: float | str, settings: IntervalSettings
) -> Result:
    """The difference of two pipelines, candidate minus baseline, put right by people's labels.

    Parameters
    ----------
    baseline, candidate : Side
        People labelled answers of both pipelines to the same queries.
    metric : Metric
        What was judged.
    lam : float or "auto"
        The weight of the judge.
    settings : IntervalSettings
        Of the intervals.

    Returns
    -------
    Result
        A row each for the judge alone, people alone, and both together: ``figure``, ``n``,
        ``baseline_mean``, ``candidate_mean``, ``difference``, ``ci_low``, ``ci_high``, ``method``,
        ``verdict``.

    Raises
    ------
    AlignmentError
        If the judge scored no query of both, or people labelled fewer than two of both.
    """
    sides = _sides(baseline, candidate)
    rows = [_by_judge(sides, settings), _by_people(sides, settings)]
    corrected = _corrected(sides, lam, settings)
    if corrected is not None:
        rows.append(_row(CORRECTED, int(sides.judged.sum()), (math.nan, math.nan), corrected))
    frame = pd.DataFrame(rows)
    verdicts = [
        _verdict(str(name), one, candidate.name, metric, settings)
        for name, one in zip(frame["figure"], frame.itertuples(), strict=True)
    ]
    return Result(
        f"{candidate.name} against {baseline.name} on {metric.name}: judge and people",
        frame.assign(verdict=verdicts),
        {**settings.told(), "metric": metric.name, "lam": getattr(corrected, "lam", lam)},
        (*_notes(frame, sides, metric), *_rare(sides, corrected)),
        headline=_HEADLINE,
    )


def _sides(baseline: Side, candidate: Side) -> _Sides:
    one, other = baseline.ratings, candidate.ratings
    pairs = align(one.ids, other.ids)

    def both(ours: FloatArray, theirs: FloatArray) -> FloatArray:
        parts = (pairs.baseline(pd.Series(ours)), pairs.candidate(pd.Series(theirs)))
        return np.vstack(parts)

    sides = _Sides(both(one.judge, other.judge), both(one.labels, other.labels))
    n_labelled = int(sides.labelled.sum())
    if n_labelled < 2:
        raise AlignmentError(
            f"people must have labelled answers of {baseline.name!r} and of {candidate.name!r} to "
            f"the same queries, two at least; there are {n_labelled}"
        )
    return sides


def _by_judge(sides: _Sides, settings: IntervalSettings) -> dict[str, object]:
    old, new = sides.judge[:, sides.judged]
    return _paired(NAIVE, old, new, settings)


def _by_people(sides: _Sides, settings: IntervalSettings) -> dict[str, object]:
    old, new = sides.labels[:, sides.labelled]
    return _paired(LABELLED, old, new, settings)


def _paired(
    name: str, old: FloatArray, new: FloatArray, settings: IntervalSettings
) -> dict[str, object]:
    found = paired_interval(
        old,
        new,
        confidence_level=settings.confidence_level,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )
    return _row(name, old.size, (float(old.mean()), float(new.mean())), found)


def _row(name: str, n: int, means: tuple[float, float], found: Interval) -> dict[str, object]:
    return {
        "figure": name,
        "n": n,
        "baseline_mean": means[0],
        "candidate_mean": means[1],
        "difference": found.estimate,
        "ci_low": found.low,
        "ci_high": found.high,
        "method": found.method,
    }


def _corrected(
    sides: _Sides, lam: float | str, settings: IntervalSettings
) -> PredictionPowered | None:
    labelled, others = sides.labelled, sides.judged & ~sides.labelled
    if others.sum() < 2:
        return None
    old, new = (
        (sides.labels[one, labelled], sides.judge[one, labelled], sides.judge[one, others])
        for one in (0, 1)
    )
    return ppi_difference(old, new, lam=lam, confidence_level=settings.confidence_level)


def _rare(sides: _Sides, corrected: PredictionPowered | None) -> list[str]:
    if corrected is None:
        return []
    labels, judge = ((one[1] - one[0])[sides.labelled] for one in (sides.labels, sides.judge))
    told = rare_corrections(labels, judge, corrected.lam)
    return [f"the corrected difference: {told}"] if told else []


# -- in words


def _shown(low: float, high: float) -> bool:
    return low > 0 or high < 0


def _verdict(
    name: str, row: object, candidate: str, metric: Metric, settings: IntervalSettings
) -> str:
    difference, low, high = (
        float(getattr(row, field)) for field in ("difference", "ci_low", "ci_high")
    )
    level = f"{100 * settings.confidence_level:g} % CI {number(low)} to {number(high)}"
    if not _shown(low, high):
        return f"{name}: no difference shown on {metric.name} ({number(difference)}, {level})"
    better = (difference > 0) == metric.greater_is_better
    way = "better" if better else "worse"
    return f"{name}: {candidate} is {way} on {metric.name} by {number(abs(difference))} ({level})"


def _notes(frame: pd.DataFrame, sides: _Sides, metric: Metric) -> list[str]:
    n, every = int(sides.labelled.sum()), int(sides.judged.sum())
    told = [f"{n} queries with labels of both pipelines, of {every} that the judge scored for both"]
    last, first = frame.iloc[-1], frame.iloc[0]
    if len(frame) < 3:
        told.append("the judge scored no others: people's own difference needs no correction")
    elif _shown(first["ci_low"], first["ci_high"]) and not _shown(last["ci_low"], last["ci_high"]):
        told.append(
            f"the judge alone shows a difference on {metric.name}; people's labels do not bear it "
            "out: decide on the corrected one"
        )
    if n < 10:
        told.append(f"{n} labelled queries tell little; 10 are few, 100 let the judge help")
    return told
