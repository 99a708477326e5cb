"""Scores of production in batches, watched for a mean that gets worse than a reference run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.analysis.arguments import (
    Clusters,
    cluster_labels,
    clusters_setting,
    engine_setting,
    is_scan,
    unnamed_clusters,
)
from rageval_report.analysis.pairing import require_bounds, twin_of
from rageval_report.analysis.runs import DatedRun
from rageval_report.analysis.tables import PipelineTable, table_of, text_labels
from rageval_report.errors import DataError, named
from rageval_report.plots.drawn import Drawn
from rageval_report.results import Answer, answer_of
from rageval_report.scores import Metric, resolver
from rageval_report.stats.columns import Column
from rageval_report.stats.means import mean_interval
from rageval_report.stats.sequential import ChangeBets, adjust_evalues, combine_growth
from rageval_report.types import FloatArray, IntArray

_ALL = "all"  # the slice that has every query
# A single score has no variance, which decides the stakes.
_FEWEST_IN_REFERENCE = 2


@dataclass(frozen=True, eq=False, repr=False)
class Monitoring(Drawn):
    """Which metrics have got worse than in the reference run, and since when.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    batches : DataFrame
        One row per metric, slice and batch: ``metric``, ``slice``, ``batch``, ``place`` (in the
        order of time, from 0), ``created``, ``n``, ``mean``, ``evidence``, ``alarm``.
    """

    own_plot = "monitor"

    batches: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def has_alarm(self) -> bool:
        """Whether any metric raises an alarm."""
        return bool(self.frame["alarm"].any())

    def printed(self) -> Answer:
        """What has got worse since when, the table with alarms first, and at most three notes."""
        frame = self.frame.sort_values("alarm", ascending=False, kind="stable")
        frame = frame.assign(verdict=frame["alarm"].map({True: "worse", False: "no alarm"}))
        columns = ["metric", "slice", "n", "mean", "reference_mean", "limit", "since", "verdict"]
        if set(frame["slice"]) == {_ALL}:
            columns.remove("slice")
        n, n_batches = len(frame), self.batches["batch"].nunique()
        none = f"No alarm: none of {n} means is worse than in {self.settings['reference']}"
        sentence = "; ".join(self.sentences) or f"{none}, after {n_batches} batches"
        return answer_of(self, f"{sentence}.", frame, columns=tuple(columns), grouped_by="")


@dataclass(frozen=True, eq=False)
class _Watched:
    """One metric of one slice: its reference, and the bets that its mean is worse."""

    metric: Metric
    slice_name: str
    reference: Column
    bets: ChangeBets

    def growth(self, scores: Column) -> FloatArray:
        """How much the capital grows on the scores of a batch."""
        try:
            return self.bets.growth(scores)
        except DataError as exc:
            name = self.metric.name
            raise DataError(
                f"metric {name!r}: {exc}. Give bounds that hold for the reference and for all "
                f"batches when the reference is loaded: metrics={{{name!r}: {{'bounds': "
                "(low, high)}}"
            ) from exc


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

    The parameters are those of `rageval_report.monitor`; the batches are in the order of time.
    """
    if not batches:
        raise DataError("runs must hold a reference and at least one batch after it")
    known, notes = _choose_metrics(reference, metrics)
    if clusters is not None:
        _check_whole_clusters(batches, clusters)
    groups = _groups_of(reference, by, clusters)
    watched = _watch(reference, known, groups, alpha / 2.0, tolerance)
    of_batches = [_groups_of(batch, by, clusters, is_optional=True) for batch in batches]
    columns = [[_scores(each, tables) for tables in of_batches] for each in watched]
    evidence = [
        combine_growth([each.growth(scores) for scores in own])
        for each, own in zip(watched, columns, strict=True)
    ]
    adjusted = adjust_evalues(np.array([each.evalues for each in evidence]))
    needed, unit = 2.0 / alpha, "queries" if clusters is None else "clusters"
    followed = list(zip(watched, columns, adjusted, strict=True))
    rows = [
        _finding(each, own, evalues, change.starts, batches, needed, unit)
        for (each, own, evalues), change in zip(followed, evidence, strict=True)
    ]
    paths = [_path(each, own, evalues, batches, needed) for each, own, evalues in followed]
    if clusters is not None:
        notes.append(
            "n counts clusters, and a mean is that of the clusters' means: each counts once"
        )
    return Monitoring(
        f"Monitoring against {reference.name}",
        pd.DataFrame(rows),
        {
            "reference": reference.name,
            "alpha": alpha,
            "family_size": len(watched),
            **({} if by is None else {"by": by}),
            "tolerance": tolerance if isinstance(tolerance, float | int) else dict(tolerance),
            **clusters_setting(clusters),
            **engine_setting(reference.evaluation),
        },
        (
            *_notes_on_slices(groups, batches, of_batches, by),
            *notes,
            *unnamed_clusters(reference.evaluation, clusters),
        ),
        headline=(
            *("slice", "alarm", "since", "n", "mean", "reference_mean", "limit"),
            *("evidence", "needed"),
        ),
        grouped_by="title",
        batches=pd.concat(paths, ignore_index=True),
    )


def _choose_metrics(
    reference: DatedRun, names: Sequence[str] | None
) -> tuple[list[Metric], list[str]]:
    known = reference.metrics
    if names is not None:
        chosen = [known[resolver(known)(name)] for name in names]
        for metric in chosen:
            if metric.bounds is None:
                raise DataError(
                    f"{metric.name!r} has no bounds, so no rate of false alarms can be promised; "
                    f"give them: metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"
                )
        return chosen, []
    bounded = [metric for metric in known.values() if metric.bounds is not None]
    others = ", ".join(metric.name for metric in known.values() if metric.bounds is None)
    if not bounded:
        raise DataError(f"no metric of {reference.name} has bounds: {others}")
    return bounded, [f"not watched, because they have no bounds: {others}"] if others else []


def _finding(
    each: _Watched,
    own: Sequence[Column],
    evalues: FloatArray,
    starts: IntArray,
    batches: Sequence[DatedRun],
    needed: float,
    unit: str,
) -> dict[str, Any]:
    """The row of a metric in a slice: whether and since when it is worse than in the reference."""
    alarms = np.flatnonzero(evalues >= needed)
    at = int(alarms[0]) if alarms.size else None
    since = None if at is None else int(starts[at])
    # What is shown is the time since the change, or the whole time if there was none.
    shown = [scores for scores in own[since or 0 :] if scores.n]
    n = sum(scores.n for scores in shown)
    total = math.fsum(scores.n * scores.mean for scores in shown)
    row: dict[str, Any] = {
        "metric": each.metric.name,
        "title": each.metric.title,
        "slice": each.slice_name,
        "alarm": at is not None,
        "since": None if since is None else batches[since].name,
        "alarm_at": None if at is None else batches[at].name,
        "n": n,
        "mean": total / n if n else math.nan,
        "reference_n": each.reference.n,
        "reference_mean": each.reference.mean,
        "limit": each.bets.limit,
        "evidence": float(evalues.max()),
        "needed": needed,
        "verdict": None,
    }
    if at is not None:
        side = "below" if each.metric.greater_is_better else "above"
        where = "" if each.slice_name == _ALL else f" on {each.slice_name}"
        row["verdict"] = (
            f"{row['metric']} is worse{where} since {row['since']}: mean {row['mean']:.3g} of "
            f"{n} {unit}, {side} {row['limit']:.3g}; "
            f"the reference has {row['reference_mean']:.3g} (alarm at {row['alarm_at']})"
        )
    return row


def _path(
    each: _Watched,
    own: Sequence[Column],
    evalues: FloatArray,
    batches: Sequence[DatedRun],
    needed: float,
) -> pd.DataFrame:
    """The evidence against a metric in a slice after each batch."""
    path = {
        "metric": each.metric.name,
        "slice": each.slice_name,
        "batch": [batch.name for batch in batches],
        "place": range(len(batches)),
        "created": [batch.created for batch in batches],
        "n": [scores.n for scores in own],
        "mean": [scores.mean for scores in own],
        "evidence": evalues,
        "alarm": np.maximum.accumulate(evalues) >= needed,
    }
    return pd.DataFrame(path)


def _check_whole_clusters(batches: Sequence[DatedRun], clusters: Clusters) -> None:
    """Refuse clusters of which a part comes later: their means depend on each other."""
    labels = [_labels_of(batch.evaluation, clusters) for batch in batches]
    names, counts = np.unique(np.concatenate(labels), return_counts=True)
    split = names[counts > 1].tolist()
    if split:
        raise DataError(
            f"clusters must each be in one batch; {named(sorted(split))} are in several. Then "
            "batches depend on each other, and no rate of false alarms can be promised. Name a "
            "column whose values end with a batch, such as a conversation"
        )


def _labels_of(run: Any, clusters: Clusters) -> npt.NDArray[Any]:
    """The distinct clusters of a batch."""
    listed = run.cluster_labels(clusters) if is_scan(run) else cluster_labels(run, clusters)
    return np.unique(np.asarray(listed, dtype=object))


def _groups_of(
    run: DatedRun, by: str | None, clusters: Clusters | None, *, is_optional: bool = False
) -> dict[str, PipelineTable]:
    """The table of all queries, and that of each group in the order of the rows."""
    table = table_of(run.evaluation, clusters)
    if by is None or (is_optional and by not in table.sample.details):
        return {_ALL: table}
    groups, firsts = table.groups(by), text_labels(table.sample, by)
    ordered = dict.fromkeys(label for label in (*firsts, *groups) if label in groups)
    return {_ALL: table} | {label: groups[label] for label in ordered if label != _ALL}


def _scores(watched: _Watched, groups: Mapping[str, PipelineTable]) -> Column:
    """The scores of a batch by independent unit; none if it lacks the slice or the metric."""
    table = groups.get(watched.slice_name)
    twin = None if table is None else twin_of(watched.metric, table.sample)
    return Column.of(np.zeros(0)) if table is None or twin is None else table.unit_means(twin)


def _watch(
    reference: DatedRun,
    metrics: Sequence[Metric],
    groups: Mapping[str, PipelineTable],
    alpha: float,
    tolerance: float | Mapping[str, float],
) -> list[_Watched]:
    """What is watched, metric by metric, with the worst mean that is still as good.

    The reference is a sample too: its own limit at this level, less the tolerance.
    """
    columns = [
        (metric, group, column)
        for metric in metrics
        for group, table in groups.items()
        if (column := table.unit_means(metric)).n >= _FEWEST_IN_REFERENCE
    ]
    if not columns:
        raise DataError(
            f"{reference.name}: no metric has {_FEWEST_IN_REFERENCE} scores or more to compare with"
        )
    watched = []
    for metric, group, column in columns:
        bounds, level = require_bounds(metric), 1.0 - 2.0 * alpha / len(columns)
        interval = mean_interval(column, bounds=bounds, confidence_level=level)
        allowed = tolerance.get(metric.name, 0.0) if isinstance(tolerance, Mapping) else tolerance
        if not allowed >= 0.0:
            raise DataError(f"tolerance must be a number >= 0; got {allowed}")
        up = metric.greater_is_better
        limit = interval.low - allowed if up else interval.high + allowed
        spread = column.variance * (column.n - 1) / column.n
        bets = ChangeBets(float(limit), bounds, "less" if up else "greater", spread, alpha)
        watched.append(_Watched(metric, group, column, bets))
    return watched


def _notes_on_slices(
    known: Mapping[str, PipelineTable],
    batches: Sequence[DatedRun],
    of_batches: Sequence[Mapping[str, PipelineTable]],
    by: str | None,
) -> Iterator[str]:
    if by is None:
        return
    lacking = [batch.name for batch in batches if by not in batch.table.sample.details]
    if lacking:
        yield f"without the column {by}: {', '.join(lacking)}"
    new = dict.fromkeys(group for tables in of_batches for group in tables if group not in known)
    if new:
        yield f"not in the reference, and so not watched: {', '.join(new)}"
