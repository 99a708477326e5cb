"""A scanned pipeline as plots take it: its metrics one by one, with scores made of their counts."""

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

# The most scores that a plot draws of one metric: 160 MB of numbers; of a plot with a mark for
# each score fewer, because nobody can look at so many.
MOST_DRAWN: Mapping[str, int] = {"distribution": 20_000_000, "ecdf": 20_000_000, "box": 100_000}


class ScoresOnDemand:
    """The columns of scores of a scan, each made of the state of its metric when it is drawn.

    Scores on a lattice are those of the files. Of continuous ones beyond 131,072 each is the mean
    of its bin, one of 65,536 over the range, which no picture shows.

    Parameters
    ----------
    states : mapping of str to MetricState
        The state of each metric.
    n : int
        The number of queries.
    most : int
        The most scores of a metric.
    """

    def __init__(self, states: Mapping[str, MetricState], n: int, most: int):
        self._states, self._n, self._most = states, n, most

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, metric: str) -> pd.Series:
        state = self._states[metric].scores
        if state.n > self._most:
            raise DataError(
                f"{metric!r} has {state.n:,} scores, and this plot draws at most {self._most:,}; "
                "draw the distribution, or a part of the rows"
            )
        if state.values is not None:
            return pd.Series(state.listed())
        counted = state.counted()
        counts = np.rint(counted.counts).astype(np.int64)
        return pd.Series(np.repeat(counted.scores, counts))


@dataclass(frozen=True, eq=False)
class DrawnScan:
    """What plots of one metric at a time use of a scan.

    Parameters
    ----------
    name : str
        The pipeline.
    metrics : mapping of str to Metric
        Its metrics.
    scores : ScoresOnDemand
        Their scores, in no order.
    evaluation_report, find_thresholds : callable
        The methods of the scan.
    """

    name: str
    metrics: Mapping[str, Metric]
    scores: ScoresOnDemand
    evaluation_report: Callable[..., Any]
    find_thresholds: Callable[..., Any]
    details: pd.DataFrame = field(default_factory=pd.DataFrame)


def drawn_scan(
    profile: ScanProfile,
    kind: str,
    evaluation_report: Callable[..., Any],
    find_thresholds: Callable[..., Any],
) -> DrawnScan:
    """A scan for a plot of this kind."""
    scores = ScoresOnDemand(profile.states, profile.n_queries, MOST_DRAWN[kind])
    head = profile.described.head
    return DrawnScan(head.name, head.metrics, scores, evaluation_report, find_thresholds)
