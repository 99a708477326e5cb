"""The interval of a share of which only the counts are known."""

from __future__ import annotations

import numpy as np

from rageval_report.stats.base import Interval
from rageval_report.stats.means.intervals import DescribedColumn, described_intervals
from rageval_report.stats.means.moments import moments_of_steps
from rageval_report.stats.means.score_bins import CountedScores
from rageval_report.stats.states.counted_steps import NO_STEPS, CountedSteps


def interval_of_count(n_true: int, n: int, level: float) -> Interval:
    """Wilson's interval of a share that is known by a count.

    Examples
    --------
    >>> interval = interval_of_count(2, 8, 0.95)
    >>> interval.estimate, round(interval.low, 3), round(interval.high, 3)
    (0.25, 0.071, 0.591)
    """
    counts = np.array([n - n_true, n_true], dtype=np.int64)
    used = np.flatnonzero(counts)
    steps = CountedSteps(1, int(used[0]), counts[used[0] : used[-1] + 1]) if n else NO_STEPS
    known = moments_of_steps(steps)
    column = DescribedColumn(CountedScores(np.array([0.0, 1.0]), counts.astype(np.float64)), known)
    return described_intervals([column], method="wilson", confidence_level=level)[0]
