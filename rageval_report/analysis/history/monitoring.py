"""Scores of production in batches, watched for a mean that gets worse than a reference run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.cluster_labels import (
    Clusters,
    cluster_labels,
    clusters_setting,
    resolve_units,
    unnamed_clusters,
)
from rageval_report.analysis.comparing.pairing import require_bounds
from rageval_report.analysis.history.changes import DatedRun
from rageval_report.analysis.slices import group_labels
from rageval_report.errors import DataError, explain_keywords_of, named
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import MetricNames, MonitorPlot, PlotOptions
from rageval_report.results import Result
from rageval_report.scores import Metric, resolver
from rageval_report.stats import mean_interval
from rageval_report.stats.sequential.change_detection import ChangeEvidence, change_evalues
from rageval_report.stats.sequential.evalues import adjust_evalues
from rageval_report.stats.units import Units
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALL = "all"  # the slice that has every query
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
    """One metric of one slice: its reference, and its scores by batch, one per unit."""

    metric: Metric
    slice_name: str
    reference: FloatArray
    batches: tuple[FloatArray, ...]
    counted: str


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
    units = [resolve_units(run, clusters) for run in (reference, *batches)]
    watched = list(_watched(reference, batches, known, by, units))
    if not watched:
        raise DataError(
            f"{reference.name}: no metric has {_FEWEST_IN_REFERENCE} scores or more to compare with"
        )
    limits = [_limit(each, alpha / 2.0 / len(watched), tolerance) for each in watched]
    evidence = [
        _evidence(each, limit, alpha / 2.0) for each, limit in zip(watched, limits, strict=True)
    ]
    adjusted = adjust_evalues(np.array([each.evalues for each in evidence]))
    needed = 2.0 / alpha
    names = [batch.name for batch in batches]
    rows = [
        _row(*parts, names, needed)
        for parts in zip(watched, limits, adjusted, evidence, strict=True)
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
    }
    return Monitoring(
        f"Monitoring against {reference.name}",
        frame,
        settings,
        (
            *notes,
            *_notes_on_slices(reference, batches, by),
            *([] if clusters is None else [_NOTE_ON_MEANS]),
            *unnamed_clusters(reference, clusters),
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


def _watched(
    reference: DatedRun,
    batches: Sequence[DatedRun],
    metrics: Sequence[Metric],
    by: str | None,
    units: Sequence[Units],
) -> Iterator[_Watched]:
    groups = [ALL, *_groups_of(reference, by)]
    for metric in metrics:
        for group in groups:
            before = _scores(reference, metric, by, group, units[0])
            if (~np.isnan(before)).sum() >= _FEWEST_IN_REFERENCE:
                scores = tuple(
                    _scores(batch, metric, by, group, mine)
                    for batch, mine in zip(batches, units[1:], strict=True)
                )
                yield _Watched(metric, group, before, scores, units[0].word)


def _groups_of(run: DatedRun, by: str | None) -> list[str]:
    if by is None:
        return []
    labels = group_labels(run.evaluation, by)
    return [str(label) for label in dict.fromkeys(labels.dropna().tolist())]


def _check_whole_clusters(batches: Sequence[DatedRun], clusters: Clusters | None) -> None:
    """Refuse clusters of which a part comes later: their means depend on each other."""
    if clusters is None:
        return
    labels = [pd.Series(cluster_labels(batch, clusters).unique()) for batch in batches]
    counts = pd.concat(labels).value_counts()
    split = sorted(counts.index[counts > 1])
    if split:
        raise DataError(
            f"clusters must each be in one batch; {named(split)} are in several. Then batches "
            "depend on each other, and no rate of false alarms can be promised. Name a column "
            "whose values end with a batch, such as a conversation"
        )


def _scores(run: DatedRun, metric: Metric, by: str | None, group: str, units: Units) -> FloatArray:
    """The scores of a run by unit; none if it does not have the metric or the group."""
    twin = run.metric(metric)
    if twin is None:
        return np.zeros(0)
    column = run.scores[twin.name]
    if group != ALL:
        if by not in run.details:
            return np.zeros(0)
        is_inside = np.asarray(group_labels(run.evaluation, str(by)).astype(str) == group)
        column, units = column[is_inside], units.select(is_inside)
    return units.means(np.asarray(column, dtype=np.float64))


def _limit(
    watched: _Watched, alpha: float, tolerance: float | Mapping[str, float]
) -> tuple[float, float]:
    """The mean of the reference, and the worst mean that is still as good.

    The reference is a sample too: its own limit at this level, less the tolerance.
    """
    metric = watched.metric
    interval = mean_interval(
        watched.reference, bounds=metric.bounds, confidence_level=1.0 - 2.0 * alpha
    )
    allowed = tolerance.get(metric.name, 0.0) if isinstance(tolerance, Mapping) else tolerance
    if not allowed >= 0.0:
        raise DataError(f"tolerance must be a number >= 0; got {allowed}")
    limit = interval.low - allowed if metric.greater_is_better else interval.high + allowed
    return interval.estimate, float(limit)


def _evidence(watched: _Watched, limit: tuple[float, float], alpha: float) -> ChangeEvidence:
    metric = watched.metric
    return change_evalues(
        watched.batches,
        limit[1],
        bounds=require_bounds(metric),
        alternative="less" if metric.greater_is_better else "greater",
        variance=float(np.nanvar(watched.reference)),
        alpha=alpha,
    )


def _row(
    watched: _Watched,
    limit: tuple[float, float],
    adjusted: FloatArray,
    evidence: ChangeEvidence,
    names: Sequence[str],
    needed: float,
) -> dict[str, object]:
    places = np.flatnonzero(adjusted >= needed)
    at = int(places[0]) if places.size else None
    since = None if at is None else int(evidence.starts[at])
    # What is shown is the time since the change, or the whole time if there was none.
    shown = np.concatenate(watched.batches[since or 0 :])
    shown = shown[~np.isnan(shown)]
    mean = float(shown.mean()) if shown.size else math.nan
    row: dict[str, object] = {
        "metric": watched.metric.name,
        "title": watched.metric.title,
        "slice": watched.slice_name,
        "alarm": at is not None,
        "since": None if since is None else names[since],
        "alarm_at": None if at is None else names[at],
        "n": int(shown.size),
        "mean": mean,
        "reference_n": int((~np.isnan(watched.reference)).sum()),
        "reference_mean": limit[0],
        "limit": limit[1],
        "evidence": float(adjusted.max()),
        "needed": needed,
    }
    return {**row, "verdict": _sentence(row, watched)}


def _sentence(row: Mapping[str, object], watched: _Watched) -> str | None:
    if not row["alarm"]:
        return None
    where = "" if row["slice"] == ALL else f" on {row['slice']}"
    side = "below" if watched.metric.greater_is_better else "above"
    return (
        f"{row['metric']} is worse{where} since {row['since']}: mean {row['mean']:.3g} of "
        f"{row['n']} {watched.counted}, {side} {row['limit']:.3g}; the reference has "
        f"{row['reference_mean']:.3g} (alarm at {row['alarm_at']})"
    )


def _path(
    watched: _Watched, adjusted: FloatArray, batches: Sequence[DatedRun], needed: float
) -> pd.DataFrame:
    counts = [int((~np.isnan(scores)).sum()) for scores in watched.batches]
    means = [
        float(np.nanmean(scores)) if n else math.nan
        for scores, n in zip(watched.batches, counts, strict=True)
    ]
    return pd.DataFrame(
        {
            "metric": watched.metric.name,
            "slice": watched.slice_name,
            "batch": [batch.name for batch in batches],
            "place": range(len(batches)),
            "created": [batch.created for batch in batches],
            "n": counts,
            "mean": means,
            "evidence": adjusted,
            "alarm": np.maximum.accumulate(adjusted) >= needed,
        }
    )


def _notes_on_slices(
    reference: DatedRun, batches: Sequence[DatedRun], by: str | None
) -> Iterator[str]:
    if by is None:
        return
    known = set(_groups_of(reference, by))
    lacking = [batch.name for batch in batches if by not in batch.details]
    if lacking:
        yield f"without the column {by}: {', '.join(lacking)}"
    new = dict.fromkeys(
        group
        for batch in batches
        if by in batch.details
        for group in _groups_of(batch, by)
        if group not in known
    )
    if new:
        yield f"not in the reference, and so not watched: {', '.join(new)}"
