"""What repeated runs of a pipeline have in common: the queries, and the metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from rageval_report.analysis.arguments import choose_metrics
from rageval_report.analysis.pairing import on_one_scale, twin_of
from rageval_report.errors import AlignmentError, named
from rageval_report.scores import Metric, Scored


def common_queries(runs: Sequence[Scored]) -> pd.Index:
    """The ids of the queries that all runs have, in the order of the first.

    Parameters
    ----------
    runs : sequence of Scored
        At least one.

    Raises
    ------
    AlignmentError
        If there is none.
    """
    ids = runs[0].scores.index
    for run in runs[1:]:
        ids = ids[ids.isin(run.scores.index)]
    if not len(ids):
        raise AlignmentError(
            f"no query id is in all {len(runs)} runs; ids of the first: "
            f"{named(runs[0].scores.index, 3)}, of the last: {named(runs[-1].scores.index, 3)}"
        )
    return ids


def common_queries_note(runs: Sequence[Scored], ids: pd.Index) -> list[str]:
    """The note on queries that only some runs have, if there are any."""
    longest = max(len(run.scores) for run in runs)
    if longest == len(ids):
        return []
    return [f"{len(ids)} queries are in all runs, of up to {longest}; the others are left out"]


def shared_metrics(
    runs: Sequence[Scored], metrics: str | Iterable[str] | None
) -> list[tuple[Metric, ...]]:
    """Each metric that all runs have, as each of them defines it.

    Parameters
    ----------
    runs : sequence of Scored
        At least one.
    metrics : str or iterable of str, optional
        The metrics; all that every run has if omitted.

    Raises
    ------
    AlignmentError
        If a named metric is not in all runs, or none is.
    DataError
        If two runs disagree on the direction or the scale of a metric.
    """
    shared = []
    for known in choose_metrics(runs[0], metrics):
        own = tuple(twin for run in runs if (twin := twin_of(known, run)))
        if len(own) == len(runs):
            shared.append(own)
        elif metrics is not None:
            raise AlignmentError(f"{known.name!r} is in only {len(own)} of {len(runs)} runs")
    if not shared:
        raise AlignmentError(f"no metric is in all {len(runs)} runs")
    return on_one_scale(runs, shared)
