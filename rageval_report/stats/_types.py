"""The shapes of the members of the tables: what a new one must accept and give."""

from __future__ import annotations

from typing import Protocol

from rageval_report.stats.base import Interval
from rageval_report.types import FloatArray


class MeanInterval(Protocol):
    """An interval of the mean of finite values; at least one value is promised."""

    def __call__(
        self,
        values: FloatArray,
        *,
        confidence_level: float,
        bounds: tuple[float, float] | None,
        n_resamples: int,
        seed: int,
    ) -> Interval: ...


class PairedInterval(Protocol):
    """An interval of the mean difference of complete pairs; at least one pair is promised."""

    def __call__(
        self,
        baseline: FloatArray,
        candidate: FloatArray,
        *,
        confidence_level: float,
        n_resamples: int,
        seed: int,
    ) -> Interval: ...


class PairedTest(Protocol):
    """A test on complete pairs: the statistic and the p-value; at least one pair is promised."""

    def __call__(
        self,
        baseline: FloatArray,
        candidate: FloatArray,
        *,
        alternative: str,
        n_resamples: int,
        seed: int,
    ) -> tuple[float, float]: ...


class Correction(Protocol):
    """Adjusted p-values of a family without NaN, in the order given."""

    def __call__(self, pvalues: FloatArray) -> FloatArray: ...


class Effect(Protocol):
    """An effect size of complete pairs; at least one pair is promised."""

    def __call__(self, baseline: FloatArray, candidate: FloatArray) -> float: ...
