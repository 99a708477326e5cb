"""Scores of production in batches, watched for a mean that gets worse than a reference run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import (
    Clusters,
    clusters_setting,
)
from rageval_report.analysis.history.changes import DatedRun
from rageval_report.analysis.history.watched_scores import (
    ALL,
    BatchEvidence,
    ReferenceScores,
    WatchedBatch,
    WatchedBets,
    WatchedName,
)
from rageval_report.analysis.pairing import require_bounds
from rageval_report.errors import DataError, explain_keywords_of, named
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import MetricNames, MonitorPlot, PlotOptions
from rageval_report.results import Result
from rageval_report.scores import Metric, resolver
from rageval_report.stats.sequential import (
    ChangeBets,
    ChangeEvidence,
    adjust_evalues,
    combine_growth,
)
from rageval_report.stats.units import QUERIES
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEADLINE = (
    "slice",
    "alarm",
    "since",
    "n",
    "mean",
    "reference_mean",
    "limit",
    "evidence",
    "needed",
)
_NOTE_ON_MEANS = "n counts clusters, and a mean is that of the clusters' means: each counts once"
# A single score has no variance, which decides the stakes.
_FEWEST_IN_REFERENCE = 2


@explain_keywords_of
@dataclass(frozen=True, eq=False, repr=False)
class Monitoring(Result):
    """Which metrics have got worse than in the reference run, and since when.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    batches : DataFrame
        One row per metric, slice and batch: ``metric``, ``slice``, ``batch``, ``place`` (in the
        order of time, from 0), ``created``, ``n``, ``mean``, ``evidence``, ``alarm``.
    """

    batches: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def has_alarm(self) -> bool:
        """Whether any metric raises an alarm."""
        return bool(self.frame["alarm"].any())

    def plot(
        self,
        kind: MonitorPlot | Plot = "monitor",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the means of the batches beside the reference; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str or Plot
            "monitor", or an entry of ``rageval_report.plots.PLOTS``.
        *args : str
            The metric; the first one with an alarm if omitted.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if omitted.
        **options
            The options of the plot.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return plot(self, kind, *args, ax=ax, **options)


@dataclass(frozen=True, eq=False)
class _Watched:
    """One metric of one slice: its reference, the worst mean that is as good, and the batches."""

    metric: Metric
    slice_name: str
    reference: ReferenceScores
    reference_mean: float
    limit: float
    batches: tuple[BatchEvidence, ...] = ()


def monitor_batches(
    reference: DatedRun,
    batches: Sequence[DatedRun],
    *,
    metrics: Sequence[str] | None = None,
    by: str | None = None,
    tolerance: float | Mapping[str, float] = 0.0,
    alpha: float = 0.05,
    clusters: Clusters | None = None,
) -> Monitoring:
    """Watch batches of scores for means that are worse than that of a reference run.

    Parameters
    ----------
    reference : DatedRun
        The run that was good.
    batches : sequence of DatedRun
        The batches, the oldest first.
    metrics : sequence of str, optional
        The metrics, by any of their names; if omitted, all of the reference that have bounds.
    by : str, optional
        A column of the details; each of its groups is watched too.
    tolerance : float or mapping of str to float
        How much worse than the reference does not matter, for all metrics or by metric.
    alpha : float
        The probability of a false alarm in the whole life, of all metrics and slices together.
    clusters : str, Series or mapping, optional
        A column of the details of every run, or labels by query id: queries that belong together.
        What is watched is then the mean of the clusters' means.

    Returns
    -------
    Monitoring

    Raises
    ------
    UnknownNameError
        If the reference does not have a metric or the column.
    DataError
        If there is no batch, no metric with bounds, or a cluster that goes on from one batch to
        another.
    """
    if not batches:
        raise DataError("runs must hold a reference and at least one batch after it")
    known, notes = _choose_metrics(reference, metrics)
    _check_whole_clusters(batches, clusters)
    scores = reference.reference_scores(known, by, clusters)
    limits = _limits(reference, known, scores, alpha / 2.0, tolerance)
    bets = [_bets_of(each, alpha / 2.0) for each in limits]
    read = [batch.watched_batch(bets, by, clusters) for batch in batches]
    watched = [
        replace(each, batches=tuple(batch.evidence[place] for batch in read))
        for place, each in enumerate(limits)
    ]
    evidence = [combine_growth([batch.growth for batch in each.batches]) for each in watched]
    adjusted = adjust_evalues(np.array([each.evalues for each in evidence]))
    needed = 2.0 / alpha
    names = [batch.name for batch in batches]
    counted = QUERIES.word if clusters is None else "clusters"
    rows = [
        _row(*parts, names, needed, counted)
        for parts in zip(watched, adjusted, evidence, strict=True)
    ]
    frame = pd.DataFrame(rows)
    path = pd.concat(
        [
            _path(each, values, batches, needed)
            for each, values in zip(watched, adjusted, strict=True)
        ],
        ignore_index=True,
    )
    settings: dict[str, object] = {
        "reference": reference.name,
        "alpha": alpha,
        "family_size": len(watched),
        **({} if by is None else {"by": by}),
        "tolerance": tolerance if isinstance(tolerance, float | int) else dict(tolerance),
        **clusters_setting(clusters),
        **reference.engine_setting(),
    }
    return Monitoring(
        f"Monitoring against {reference.name}",
        frame,
        settings,
        (
            *notes,
            *_notes_on_slices(scores, batches, read, by),
            *([] if clusters is None else [_NOTE_ON_MEANS]),
            *reference.cluster_notes(clusters),
        ),
        headline=_HEADLINE,
        grouped_by="title",
        batches=path,
    )


def _choose_metrics(
    reference: DatedRun, names: Sequence[str] | None
) -> tuple[list[Metric], list[str]]:
    if names is not None:
        find = resolver(reference.metrics)
        chosen = [reference.metrics[find(name)] for name in names]
        for metric in chosen:
            if metric.bounds is None:
                raise DataError(
                    f"{metric.name!r} has no bounds, so no rate of false alarms can be promised; "
                    f"give them: metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"
                )
        return chosen, []
    bounded = [metric for metric in reference.metrics.values() if metric.bounds is not None]
    others = [metric.name for metric in reference.metrics.values() if metric.bounds is None]
    if not bounded:
        raise DataError(f"no metric of {reference.name} has bounds: {', '.join(others)}")
    note = f"not watched, because they have no bounds: {', '.join(others)}"
    return bounded, [note] if others else []


def _check_whole_clusters(batches: Sequence[DatedRun], clusters: Clusters | None) -> None:
    """Refuse clusters of which a part comes later: their means depend on each other."""
    if clusters is None:
        return
    of_batches = [batch.batch_clusters(clusters) for batch in batches]
    keys, counts = np.unique(np.concatenate([each.keys for each in of_batches]), return_counts=True)
    split = keys[counts > 1]
    if split.size:
        labels = sorted({label for each in of_batches for label in each.labels(split)})
        raise DataError(
            f"clusters must each be in one batch; {named(labels)} are in several. Then batches "
            "depend on each other, and no rate of false alarms can be promised. Name a column "
            "whose values end with a batch, such as a conversation"
        )


def _limits(
    reference: DatedRun,
    metrics: Sequence[Metric],
    scores: Mapping[WatchedName, ReferenceScores],
    alpha: float,
    tolerance: float | Mapping[str, float],
) -> list[_Watched]:
    """What is watched, metric by metric, with the worst mean that is still as good.

    The reference is a sample too: its own limit at this level, less the tolerance.
    """
    groups = dict.fromkeys(group for _, group in scores)
    watched = [
        (metric, group, scores[metric.name, group])
        for metric in metrics
        for group in groups
        if scores[metric.name, group].column.n >= _FEWEST_IN_REFERENCE
    ]
    if not watched:
        raise DataError(
            f"{reference.name}: no metric has {_FEWEST_IN_REFERENCE} scores or more to compare with"
        )
    limits = []
    for metric, group, own in watched:
        interval = own.interval(require_bounds(metric), 1.0 - 2.0 * alpha / len(watched))
        allowed = tolerance.get(metric.name, 0.0) if isinstance(tolerance, Mapping) else tolerance
        if not allowed >= 0.0:
            raise DataError(f"tolerance must be a number >= 0; got {allowed}")
        limit = interval.low - allowed if metric.greater_is_better else interval.high + allowed
        limits.append(_Watched(metric, group, own, interval.estimate, float(limit)))
    return limits


def _bets_of(watched: _Watched, alpha: float) -> WatchedBets:
    metric = watched.metric
    bets = ChangeBets(
        watched.limit,
        require_bounds(metric),
        "less" if metric.greater_is_better else "greater",
        watched.reference.variance,
        alpha,
    )
    return WatchedBets(metric, watched.slice_name, bets)


def _row(
    watched: _Watched,
    adjusted: FloatArray,
    evidence: ChangeEvidence,
    names: Sequence[str],
    needed: float,
    counted: str,
) -> dict[str, object]:
    places = np.flatnonzero(adjusted >= needed)
    at = int(places[0]) if places.size else None
    since = None if at is None else int(evidence.starts[at])
    # What is shown is the time since the change, or the whole time if there was none.
    shown = watched.batches[since or 0 :]
    n = sum(batch.n for batch in shown)
    total = math.fsum(batch.n * batch.mean for batch in shown if batch.n)
    row: dict[str, object] = {
        "metric": watched.metric.name,
        "title": watched.metric.title,
        "slice": watched.slice_name,
        "alarm": at is not None,
        "since": None if since is None else names[since],
        "alarm_at": None if at is None else names[at],
        "n": n,
        "mean": total / n if n else math.nan,
        "reference_n": watched.reference.column.n,
        "reference_mean": watched.reference_mean,
        "limit": watched.limit,
        "evidence": float(adjusted.max()),
        "needed": needed,
    }
    return {**row, "verdict": _sentence(row, watched.metric, counted)}


def _sentence(row: Mapping[str, object], metric: Metric, counted: str) -> str | None:
    if not row["alarm"]:
        return None
    where = "" if row["slice"] == ALL else f" on {row['slice']}"
    side = "below" if metric.greater_is_better else "above"
    return (
        f"{row['metric']} is worse{where} since {row['since']}: mean {row['mean']:.3g} of "
        f"{row['n']} {counted}, {side} {row['limit']:.3g}; the reference has "
        f"{row['reference_mean']:.3g} (alarm at {row['alarm_at']})"
    )


def _path(
    watched: _Watched, adjusted: FloatArray, batches: Sequence[DatedRun], needed: float
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "metric": watched.metric.name,
            "slice": watched.slice_name,
            "batch": [batch.name for batch in batches],
            "place": range(len(batches)),
            "created": [batch.created for batch in batches],
            "n": [batch.n for batch in watched.batches],
            "mean": [batch.mean for batch in watched.batches],
            "evidence": adjusted,
            "alarm": np.maximum.accumulate(adjusted) >= needed,
        }
    )


def _notes_on_slices(
    reference: Mapping[WatchedName, ReferenceScores],
    batches: Sequence[DatedRun],
    read: Sequence[WatchedBatch],
    by: str | None,
) -> Iterator[str]:
    if by is None:
        return
    known = {group for _, group in reference}
    lacking = [batch.name for batch in batches if by not in batch.table.sample.details]
    if lacking:
        yield f"without the column {by}: {', '.join(lacking)}"
    new = dict.fromkeys(group for batch in read for group in batch.groups if group not in known)
    if new:
        yield f"not in the reference, and so not watched: {', '.join(new)}"
