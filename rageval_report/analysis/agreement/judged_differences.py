"""The difference of two pipelines according to the judge, to people, and to both together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.analysis.agreement.means import CORRECTED, LABELLED, NAIVE, rare_corrections
from rageval_report.analysis.agreement.measures import IntervalSettings
from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.errors import AlignmentError
from rageval_report.reports.sentences import number
from rageval_report.results import Result
from rageval_report.scores import Metric
from rageval_report.scores.align import align
from rageval_report.stats.base import Interval
from rageval_report.stats.pairs import paired_interval
from rageval_report.stats.prediction_powered import PredictionPowered, ppi_difference
from rageval_report.types import BoolArray, FloatArray

_HEADLINE = ("figure", "n", "baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high")


@dataclass(frozen=True, eq=False)
class Side:
    """One pipeline: its name, and its ratings."""

    name: str
    ratings: Ratings


@dataclass(frozen=True, eq=False)
class _Sides:
    """Scores and labels of both on their common queries, one row per pipeline."""

    judge: FloatArray
    labels: FloatArray

    @property
    def is_judged(self) -> BoolArray:
        """Whether the judge scored both pipelines on each query."""
        return np.asarray(~np.isnan(self.judge).any(axis=0))

    @property
    def is_labelled(self) -> BoolArray:
        """Whether the judge scored and people labelled both pipelines on each query."""
        return self.is_judged & ~np.isnan(self.labels).any(axis=0)


def difference_of(
    baseline: Side, candidate: Side, metric: Metric, lam: float | str, settings: IntervalSettings
) -> Result:
    """The difference of two pipelines, candidate minus baseline, corrected using people's labels.

    Parameters
    ----------
    baseline, candidate : Side
        People labelled answers of both pipelines to the same queries.
    metric : Metric
        What was judged.
    lam : float or "auto"
        The weight of the judge.
    settings : IntervalSettings
        The settings of the intervals.

    Returns
    -------
    Result
        One row each for the judge alone, people alone, and both together: ``figure``, ``n``,
        ``baseline_mean``, ``candidate_mean``, ``difference``, ``ci_low``, ``ci_high``, ``method``,
        ``verdict``.

    Raises
    ------
    AlignmentError
        If the judge scored no query of both, or people labelled fewer than two of both.
    """
    sides = _sides(baseline, candidate)
    rows = [_judge_row(sides, settings), _people_row(sides, settings)]
    corrected = _corrected_difference(sides, lam, settings)
    if corrected is not None:
        # The difference itself is corrected, so there are no corrected means of the two sides.
        rows.append(_row(CORRECTED, int(sides.is_judged.sum()), (math.nan, math.nan), corrected))
    frame = pd.DataFrame(rows)
    verdicts = [
        _verdict(str(name), row, candidate.name, metric, settings)
        for name, row in zip(frame["figure"], frame.itertuples(), strict=True)
    ]
    return Result(
        f"{candidate.name} against {baseline.name} on {metric.name}: judge and people",
        frame.assign(verdict=verdicts),
        {**settings.as_dict(), "metric": metric.name, "lam": getattr(corrected, "lam", lam)},
        (*_notes(frame, sides, metric), *_rarity_notes(sides, corrected)),
        headline=_HEADLINE,
    )


def _sides(baseline: Side, candidate: Side) -> _Sides:
    first, second = baseline.ratings, candidate.ratings
    pairs = align(first.ids, second.ids)

    def both(ours: FloatArray, theirs: FloatArray) -> FloatArray:
        parts = (pairs.baseline(pd.Series(ours)), pairs.candidate(pd.Series(theirs)))
        return np.vstack(parts)

    sides = _Sides(both(first.judge, second.judge), both(first.labels, second.labels))
    n_labelled = int(sides.is_labelled.sum())
    if n_labelled < 2:
        raise AlignmentError(
            f"expected at least 2 queries with labels of both {baseline.name!r} and "
            f"{candidate.name!r}; got {n_labelled}"
        )
    return sides


def _judge_row(sides: _Sides, settings: IntervalSettings) -> dict[str, object]:
    old, new = sides.judge[:, sides.is_judged]
    return _paired_row(NAIVE, old, new, settings)


def _people_row(sides: _Sides, settings: IntervalSettings) -> dict[str, object]:
    old, new = sides.labels[:, sides.is_labelled]
    return _paired_row(LABELLED, old, new, settings)


def _paired_row(
    name: str, old: FloatArray, new: FloatArray, settings: IntervalSettings
) -> dict[str, object]:
    interval = paired_interval(
        old,
        new,
        confidence_level=settings.confidence_level,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )
    return _row(name, old.size, (float(old.mean()), float(new.mean())), interval)


def _row(name: str, n: int, means: tuple[float, float], interval: Interval) -> dict[str, object]:
    return {
        "figure": name,
        "n": n,
        "baseline_mean": means[0],
        "candidate_mean": means[1],
        "difference": interval.estimate,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "method": interval.method,
    }


def _corrected_difference(
    sides: _Sides, lam: float | str, settings: IntervalSettings
) -> PredictionPowered | None:
    labelled, others = sides.is_labelled, sides.is_judged & ~sides.is_labelled
    if others.sum() < 2:
        return None
    old, new = (
        (sides.labels[side, labelled], sides.judge[side, labelled], sides.judge[side, others])
        for side in (0, 1)
    )
    return ppi_difference(old, new, lam=lam, confidence_level=settings.confidence_level)


def _rarity_notes(sides: _Sides, corrected: PredictionPowered | None) -> list[str]:
    if corrected is None:
        return []
    labels, judge = (
        (scores[1] - scores[0])[sides.is_labelled] for scores in (sides.labels, sides.judge)
    )
    warning = rare_corrections(labels, judge, corrected.lam)
    return [f"the corrected difference: {warning}"] if warning else []


# -- verdicts and notes


def _excludes_zero(low: float, high: float) -> bool:
    return low > 0 or high < 0


def _verdict(
    name: str, row: object, candidate: str, metric: Metric, settings: IntervalSettings
) -> str:
    difference, low, high = (
        float(getattr(row, field)) for field in ("difference", "ci_low", "ci_high")
    )
    level = f"{100 * settings.confidence_level:g} % CI {number(low)} to {number(high)}"
    if not _excludes_zero(low, high):
        return f"{name}: no difference shown on {metric.name} ({number(difference)}, {level})"
    better = (difference > 0) == metric.greater_is_better
    way = "better" if better else "worse"
    return f"{name}: {candidate} is {way} on {metric.name} by {number(abs(difference))} ({level})"


def _notes(frame: pd.DataFrame, sides: _Sides, metric: Metric) -> list[str]:
    n, n_judged = int(sides.is_labelled.sum()), int(sides.is_judged.sum())
    notes = [
        f"{n} queries with labels of both pipelines, of {n_judged} that the judge scored for both"
    ]
    last, first = frame.iloc[-1], frame.iloc[0]
    if len(frame) < 3:
        notes.append("the judge scored no others: people's own difference needs no correction")
    elif _row_shows_difference(first) and not _row_shows_difference(last):
        notes.append(
            f"the judge alone shows a difference on {metric.name}, which people's labels do not "
            "confirm: use the corrected difference"
        )
    if n < 10:
        notes.append(f"only {n} labelled queries; with 100 the judge's scores help more")
    return notes


def _row_shows_difference(row: pd.Series) -> bool:
    return _excludes_zero(row["ci_low"], row["ci_high"])
