"""Each pipeline's value on each objective, observed and on bootstrap resamples of the queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report.analysis.ranking.objectives import Aim, ObjectivePart
from rageval_report.stats.resampled import resampled_statistics
from rageval_report.types import FloatArray


@dataclass(frozen=True, eq=False)
class Tally:
    """The statistics of every metric of every objective.

    Parameters
    ----------
    aims : tuple of Aim
        Objectives with data.
    observed : ndarray of shape (n_parts, n_pipelines)
        The statistic of each metric, objective by objective.
    drawn : ndarray of shape (n_resamples, n_parts, n_pipelines)
        The same on each resample.
    n_undefined : int
        Resamples that were dropped, as a metric had no scored query in them.
    """

    aims: tuple[Aim, ...]
    observed: FloatArray
    drawn: FloatArray
    n_undefined: int

    def raw(self, aim: Aim) -> tuple[FloatArray, FloatArray]:
        """The statistic of the only metric of an objective, observed and drawn."""
        place = self._places(aim)[0]
        return self.observed[place], self.drawn[:, place]

    def shares(self, aim: Aim) -> tuple[FloatArray, FloatArray]:
        """An objective between 0 at its worst and 1 at its best, observed and drawn."""
        places = self._places(aim)
        pairs = list(zip(aim.parts, places, strict=True))
        seen = np.mean([part.shares(self.observed[one]) for part, one in pairs], axis=0)
        drawn = np.mean([part.shares(self.drawn[:, one]) for part, one in pairs], axis=0)
        return seen, drawn

    def all_shares(self) -> tuple[FloatArray, FloatArray]:
        """Every objective as a column: (n_pipelines, n_aims) and (n_resamples, ..., n_aims)."""
        both = [self.shares(aim) for aim in self.aims]
        seen, drawn = zip(*both, strict=True)
        return np.stack(seen, axis=-1), np.stack(drawn, axis=-1)

    def _places(self, aim: Aim) -> list[int]:
        start = 0
        for one in self.aims:
            if one is aim:
                break
            start += len(one.parts)
        return list(range(start, start + len(aim.parts)))


def tally(aims: Sequence[Aim], *, n_resamples: int, seed: int) -> Tally:
    """Take the statistic of every metric, on the queries and on resamples of them.

    The queries are drawn once for all metrics and pipelines, so that what depends on several of
    them keeps their dependence.
    """
    parts = [part for aim in aims for part in aim.parts]
    drawn = resampled_statistics(
        [part.block.values for part in parts],
        [part.statistic for part in parts],
        n_resamples=n_resamples,
        seed=seed,
    )
    undefined = np.isnan(drawn).any(axis=(1, 2))
    kept = drawn[~undefined] if undefined.any() else drawn
    observed = np.stack([_observed(part) for part in parts])
    return Tally(tuple(aims), observed, kept, int(undefined.sum()))


def _observed(part: ObjectivePart) -> FloatArray:
    take = np.median if part.statistic == "median" else np.mean
    values: FloatArray = take(part.block.complete, axis=0)
    return values


def limits(drawn: FloatArray, confidence_level: float) -> tuple[FloatArray, FloatArray]:
    """The percentile interval of what was drawn, along the first axis.

    Examples
    --------
    >>> low, high = limits(np.arange(101.0), 0.9)
    >>> round(float(low), 9), round(float(high), 9)
    (5.0, 95.0)
    """
    alpha = (1.0 - confidence_level) / 2
    if not len(drawn):
        nothing = np.full(drawn.shape[1:], np.nan)
        return nothing, nothing
    low, high = np.quantile(drawn, [alpha, 1.0 - alpha], axis=0)
    return low, high


def percent(share: float) -> str:
    """A share as a sentence says it; none and all only where it is none or all.

    Examples
    --------
    >>> percent(0.523), percent(0.9999), percent(1.0)
    ('52 %', 'more than 99 %', '100 %')
    """
    if 0.0 < share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if 0.99 < share < 1.0 else f"{100 * share:.0f} %"
