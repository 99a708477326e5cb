"""Each pipeline's value on each objective, on the queries and on bootstrap resamples of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from rageval_report.analysis.ranking.objective_definitions import quantile_of
from rageval_report.analysis.ranking.objectives import Aim, ObjectivePart
from rageval_report.stats.bootstrap import resampled_statistics
from rageval_report.types import FloatArray


class ResamplingSettings(TypedDict):
    """What a computation on resamples needs."""

    n_resamples: int
    seed: int
    confidence_level: float


@dataclass(frozen=True, eq=False)
class ResampledObjectives:
    """The statistic of every metric of every objective, observed and on resamples.

    Parameters
    ----------
    aims : tuple of Aim
        Objectives with data.
    observed : ndarray of shape (n_parts, n_pipelines)
        The statistic of each metric, objective by objective.
    drawn : ndarray of shape (n_resamples, n_parts, n_pipelines)
        The same on each resample.
    n_undefined : int
        The number of resamples that were dropped, as a metric had no scored query in them.
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
        observed = np.mean([part.shares(self.observed[row]) for part, row in pairs], axis=0)
        drawn = np.mean([part.shares(self.drawn[:, row]) for part, row in pairs], axis=0)
        return observed, drawn

    def all_shares(self) -> tuple[FloatArray, FloatArray]:
        """Every objective as a column: (n_pipelines, n_aims) and (n_resamples, ..., n_aims)."""
        both = [self.shares(aim) for aim in self.aims]
        observed, drawn = zip(*both, strict=True)
        return np.stack(observed, axis=-1), np.stack(drawn, axis=-1)

    def undefined_note(self) -> str:
        """The note on the resamples that were dropped."""
        return (
            f"{self.n_undefined} resamples are dropped, as they contain no scored query of some "
            "metric"
        )

    def _places(self, aim: Aim) -> list[int]:
        start = 0
        for earlier in self.aims:
            if earlier is aim:
                break
            start += len(earlier.parts)
        return list(range(start, start + len(aim.parts)))


def resample_objectives(aims: Sequence[Aim], *, n_resamples: int, seed: int) -> ResampledObjectives:
    """The statistic of every metric, on the queries and on resamples of them.

    The queries, or the clusters of them, are drawn once for all metrics and pipelines, so that
    figures of several metrics keep the dependence between them.
    """
    parts = [part for aim in aims for part in aim.parts]
    drawn = resampled_statistics(
        [part.block.values for part in parts],
        [quantile_of(part.statistic) for part in parts],
        clusters=parts[0].block.units.codes if parts else None,
        n_resamples=n_resamples,
        seed=seed,
    )
    undefined = np.isnan(drawn).any(axis=(1, 2))
    defined = drawn[~undefined] if undefined.any() else drawn
    observed = np.stack([_statistic(part) for part in parts])
    return ResampledObjectives(tuple(aims), observed, defined, int(undefined.sum()))


def _statistic(part: ObjectivePart) -> FloatArray:
    scores, quantile = part.block.complete, quantile_of(part.statistic)
    if quantile is None:
        # In ascending order, so that the order of the queries does not move the last digit.
        means: FloatArray = np.sort(scores, axis=0).mean(axis=0)
        return means
    # As the resamples have it: np.quantile rounds the median of two scores differently.
    values: FloatArray = (
        np.median(scores, axis=0) if quantile == 0.5 else np.quantile(scores, quantile, axis=0)
    )
    return values


def percent(share: float) -> str:
    """A share in a sentence; 0 % and 100 % only if it is exactly that.

    Examples
    --------
    >>> percent(0.523), percent(0.9999), percent(1.0)
    ('52 %', 'more than 99 %', '100 %')
    """
    if 0.0 < share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if 0.99 < share < 1.0 else f"{100 * share:.0f} %"
