"""A scanned pipeline as plots take it: its metrics one by one, with their scores counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.scores import Metric
from rageval_report.stats.states.metric_state import MetricState
from rageval_report.types import FloatArray

# Plots of the counts of one metric at a time.
DRAWN_FROM_COUNTS = ("distribution", "ecdf", "box")
# The most scores of a metric in a plot with a mark for each: nobody can look at more.
MOST_MARKS = 100_000


class ScoresOnDemand:
    """The columns of scores of a scan, each made of the state of its metric when it is drawn.

    Parameters
    ----------
    states : mapping of str to MetricState
        The state of each metric.
    n : int
        The number of queries.
    """

    def __init__(self, states: Mapping[str, MetricState], n: int):
        self._states, self._n = states, n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, metric: str) -> pd.Series:
        state = self._states[metric].scores
        if state.n > MOST_MARKS:
            raise DataError(
                f"{metric!r} has {state.n:,} scores, and this plot draws at most {MOST_MARKS:,}; "
                "draw the distribution, or a part of the rows"
            )
        # In the order of the rows where it is known, so that each mark is where memory has it.
        counted = state.counted()
        return pd.Series(np.repeat(counted.scores, np.rint(counted.counts).astype(np.int64)))


@dataclass(frozen=True, eq=False)
class DrawnScan:
    """What plots of one metric at a time use of a scan.

    Parameters
    ----------
    name : str
        The pipeline.
    metrics : mapping of str to Metric
        Its metrics.
    states : mapping of str to MetricState
        The state of each metric.
    n_queries : int
        The number of queries.
    evaluation_report, find_thresholds : callable
        The methods of the scan.
    """

    name: str
    metrics: Mapping[str, Metric]
    states: Mapping[str, MetricState]
    n_queries: int
    evaluation_report: Callable[..., Any]
    find_thresholds: Callable[..., Any]
    details: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def scores(self) -> ScoresOnDemand:
        """The scores, metric by metric."""
        return ScoresOnDemand(self.states, self.n_queries)

    def counted(self, metric: str) -> tuple[FloatArray, FloatArray]:
        """The distinct scores of a metric in ascending order, and how often each occurs.

        Scores on a lattice are those of the files. Of continuous ones beyond 131,072 each is the
        mean of its bin, one of 65,536 over the range, which no picture shows.
        """
        state = self.states[metric].scores
        if not state.n:
            return np.empty(0), np.empty(0)
        counted = state.counted()
        levels, places = np.unique(counted.scores, return_inverse=True)
        counts = np.bincount(places, weights=np.rint(counted.counts))
        return levels, counts.astype(np.float64)


def drawn_scan(
    profile: ScanProfile,
    evaluation_report: Callable[..., Any],
    find_thresholds: Callable[..., Any],
) -> DrawnScan:
    """A scan for plots of its counts."""
    head = profile.described.head
    return DrawnScan(
        *(head.name, head.metrics, profile.states, profile.n_queries),
        evaluation_report,
        find_thresholds,
    )
