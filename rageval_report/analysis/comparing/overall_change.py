"""How much better or worse each query is over all metrics, to show the worst ones first."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.scores import Metric
from rageval_report.types import FloatArray


def overall_changes(pairing: Pairing) -> pd.Series:
    """The mean improvement of each query over all metrics, as shares of their ranges.

    Parameters
    ----------
    pairing : Pairing
        Two runs side by side.

    Returns
    -------
    Series of float, index query_id
        Between -1 and 1: above 0 where the candidate is better. Metrics without a range, such as
        latency, count only if no metric has one; then the largest change stands for the range. NaN
        where no such metric has a score in both runs.

    Notes
    -----
    It only orders queries for a reader; no test is made with it.
    """
    ranged = [pair for pair in pairing.metrics if _width(pair[0]) < math.inf]
    pairs = ranged or pairing.metrics
    shares = np.column_stack([_share(pairing, *pair) for pair in pairs])
    n_scored = np.isfinite(shares).sum(axis=1)
    total = np.nansum(shares, axis=1)
    means = np.where(n_scored > 0, total / np.maximum(n_scored, 1), np.nan)
    return pd.Series(means, index=pairing.alignment.ids, name="overall_change")


def _share(pairing: Pairing, ours: Metric, theirs: Metric) -> FloatArray:
    before, after = pairing.both(ours, theirs)
    change = after - before if ours.greater_is_better else before - after
    width = _width(ours)
    if not math.isfinite(width):
        known = np.abs(change[np.isfinite(change)])
        width = float(known.max(initial=0.0)) or 1.0
    share: FloatArray = change / width
    return share


def _width(metric: Metric) -> float:
    return math.inf if metric.bounds is None else metric.bounds[1] - metric.bounds[0]
