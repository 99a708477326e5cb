"""Margins of a ranking: differences that are too small to matter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import Metric, resolver

SCORE, QUALITY = "score", "quality"


def check_margins(
    margins: Mapping[str, float] | None,
    metrics: Mapping[str, Metric],
    objectives: Iterable[str] = (),
) -> dict[str, float]:
    """The margins by the names that the pipelines have for metrics.

    Parameters
    ----------
    margins : mapping of str to float, optional
        By metric, objective, or figure: "score" for the weighted score, "quality" for the quality
        of a Pareto front.
    metrics : mapping of str to Metric
        The metrics of the pipelines.
    objectives : iterable of str
        The names of objectives.

    Raises
    ------
    DataError
        If a margin is not a number above 0.
    UnknownNameError
        If a name is not known.

    Examples
    --------
    >>> from rageval_report.scores import METRICS
    >>> check_margins({"MRR": 0.05, "score": 0.01}, {"reciprocal_rank": METRICS["reciprocal_rank"]})
    {'reciprocal_rank': 0.05, 'score': 0.01}
    """
    figures = {SCORE, QUALITY, *objectives}
    return {
        _name(name, metrics, figures): _above_zero(name, margin)
        for name, margin in (margins or {}).items()
    }


def _name(name: str, metrics: Mapping[str, Metric], figures: set[str]) -> str:
    if name in figures:
        return name
    try:
        return resolver(metrics)(name)
    except UnknownNameError:
        raise UnknownNameError("metric or objective", name, {*metrics, *figures}) from None


def _above_zero(name: str, margin: object) -> float:
    is_number = isinstance(margin, Real) and not isinstance(margin, bool)
    value = float(margin) if is_number else math.nan  # type: ignore[arg-type]
    if not (math.isfinite(value) and value > 0):
        raise DataError(f"margins: that of {name!r} must be a number above 0; got {margin!r}")
    return value
