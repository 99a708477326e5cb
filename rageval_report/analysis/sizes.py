"""Differences that people ask about: shares of a metric's range, in its own unit."""

from __future__ import annotations

import math

from rageval_report.scores import Metric

# As shares of the range. The larger one comes first, because it needs fewer queries.
USUAL_SHARES = (0.05, 0.02)


def scale_of(metric: Metric, mean: float, sd: float) -> float:
    """The range of a metric; without bounds, as for latency, the size of its mean.

    Parameters
    ----------
    metric : Metric
        The metric.
    mean : float
        The mean of its scores.
    sd : float
        Their standard deviation, which is the scale of a metric without bounds whose mean is 0.

    Examples
    --------
    >>> rating = Metric("rating", bounds=(1.0, 5.0))
    >>> scale_of(rating, 3.2, 1.1), scale_of(Metric("latency_ms"), 250.0, 80.0)
    (4.0, 250.0)
    """
    bounds = metric.bounds
    if bounds is not None and all(math.isfinite(bound) for bound in bounds):
        return bounds[1] - bounds[0]
    size = abs(mean)
    return size if size > 0.0 else sd


def usual_sizes(metric: Metric, mean: float, sd: float) -> tuple[float, ...]:
    """Differences of 5 and 2 % of the range of a metric.

    Examples
    --------
    >>> usual_sizes(Metric("rating", bounds=(1.0, 5.0)), 3.2, 1.1)
    (0.2, 0.08)
    """
    scale = scale_of(metric, mean, sd)
    return tuple(share * scale for share in USUAL_SHARES)
