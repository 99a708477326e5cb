"""Two runs side by side: the queries and the metrics that both have, and their pairs of scores."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal, Self, cast, get_args

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import choose_metrics
from rageval_report.errors import (
    AlignmentError,
    ArgumentKindError,
    DataError,
    UnknownNameError,
    describe_kind,
    named,
)
from rageval_report.results import QueryFrame
from rageval_report.scores import Metric, Scored, join_details
from rageval_report.scores.align import (
    Alignment,
    agree_on_scale,
    align,
    check_scales,
    same_texts,
)
from rageval_report.scores.states import not_applicable
from rageval_report.stats.columns import Column
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import QUERIES, Units
from rageval_report.types import BoolArray, FloatArray, IntArray

MissingTreatment = Literal["drop", "worst", "bounds"]
MISSING_TREATMENTS: tuple[MissingTreatment, ...] = get_args(MissingTreatment)
MetricPair = tuple[Metric, Metric]


# -- the scores of one metric


@dataclass(frozen=True, eq=False)
class MetricPairs:
    """The pairs of one metric of two runs, and the scores of queries that only one side scored."""

    pairs: Pairs
    alone: tuple[Column, Column]
    n_neither: int = 0
    units: Units = QUERIES
    rows: IntArray | None = None
    differences: FloatArray | None = None
    n_not_applicable: int = 0
    n_filled: int = 0
    logarithms: Pairs | None = None
    extremes: tuple[Pairs, Pairs] | None = None

    @classmethod
    def of_scores(
        cls,
        metric: Metric,
        sides: tuple[FloatArray, FloatArray, BoolArray],
        units: Units,
        rows: IntArray,
        missing: MissingTreatment = "drop",
    ) -> Self:
        """The pairs of some queries in memory: both scores, and whether the metric applies."""
        before, after, applies = sides
        lacks_before, lacks_after = np.isnan(before), np.isnan(after)
        complete = ~(lacks_before | lacks_after)
        ours, theirs, own = before[complete], after[complete], units.select(rows[complete])
        logarithms = extremes = None
        if metric.group == "performance" and (np.minimum(ours, theirs) > 0.0).all():
            logarithms = pairs_of(np.log(ours), np.log(theirs), own)
        # A query to which the metric does not apply is not missing: it has no unknown score.
        if missing == "bounds" and (applies & ~complete).any():
            all_units, (low, high) = units.select(rows[applies]), require_bounds(metric)
            concerned = np.array([before[applies], after[applies]])
            filled = [
                np.where(np.isnan(concerned), ends, concerned)
                for ends in ([[high], [low]], [[low], [high]])
            ]
            first, second = (pairs_of(side[0], side[1], all_units) for side in filled)
            extremes = first, second
        return cls(
            pairs_of(ours, theirs, own),
            (Column.of(before[applies & lacks_after]), Column.of(after[applies & lacks_before])),
            int((applies & lacks_before & lacks_after).sum()),
            own,
            rows[complete],
            theirs - ours,
            n_not_applicable=int((~applies).sum()),
            logarithms=logarithms,
            extremes=extremes,
        )

    @property
    def n_dropped(self) -> int:
        """The number of queries that are left out of a comparison."""
        return self.alone[0].n + self.alone[1].n + self.n_neither

    def extreme_differences(self, metric: Metric) -> tuple[float, float]:
        """The mean difference if missing scores were as low, or as high, as can be (Manski)."""
        low, high = require_bounds(metric)
        both, (before, after) = self.pairs.differences, self.alone
        n = both.n + self.n_dropped
        if not n:
            return math.nan, math.nan
        sums = [own.mean * own.n if own.n else 0.0 for own in (both, after, before)]
        gained, n_neither = sums[0] + sums[1] - sums[2], self.n_neither
        lowest = gained + (before.n + n_neither) * low - (after.n + n_neither) * high
        highest = gained + (before.n + n_neither) * high - (after.n + n_neither) * low
        return lowest / n, highest / n


def pairs_of(before: FloatArray, after: FloatArray, units: Units) -> Pairs:
    """Complete pairs of scores, by independent unit; there may be none."""
    if not before.size:
        return Pairs(*3 * (Column.of(before),))
    return Pairs.of(before, after, units if units.are_clusters else None)


def require_bounds(metric: Metric) -> tuple[float, float]:
    """The bounds of a metric; `DataError` if it has none, so that no score is the worst one."""
    if metric.bounds is None:
        raise DataError(
            f"{metric.name!r} has no bounds, so a missing score has no worst value; give them: "
            f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}, or missing='drop'"
        )
    return metric.bounds


# -- two runs


@dataclass(frozen=True, eq=False)
class PairedRuns:
    """Two runs side by side by query id: a `Pairing` in memory, or scans that an engine counts.

    Both have ``n_common``, ``n_alone``, ``measured``, ``notes`` and ``changed``, the queries that
    changed in one direction.
    """

    baseline: Any
    candidate: Any
    metrics: list[MetricPair]

    @property
    def names(self) -> tuple[str, str]:
        """The names of the runs."""
        return self.baseline.name, self.candidate.name

    def beside_details(
        self, frame: pd.DataFrame, details: Sequence[pd.DataFrame], n: int
    ) -> pd.DataFrame:
        """Some of n changed queries with the details of both runs: once if they agree."""
        (before, after), (first, second) = details, self.names
        parts: dict[str, pd.Series] = {}
        for column in dict.fromkeys((*before.columns, *after.columns)):
            sides = [side[column] for side in details if column in side]
            if len(sides) == 2 and not same_texts(*sides):
                parts |= {f"{first}_{column}": sides[0], f"{second}_{column}": sides[1]}
            else:
                parts[str(column)] = sides[0]
        changed = QueryFrame(join_details(frame, pd.DataFrame(parts, index=frame.index)))
        changed.attrs["n"] = n
        return changed


@dataclass(frozen=True, eq=False)
class Pairing(PairedRuns):
    """Two runs in memory side by side; `alignment` has the rows of the common queries."""

    baseline: Scored
    candidate: Scored
    alignment: Alignment

    @property
    def n_common(self) -> int:
        """The number of queries that both runs have."""
        return len(self.alignment.ids)

    @property
    def n_alone(self) -> int:
        """The number of queries that one run has alone."""
        return len(self.alignment.only_baseline) + len(self.alignment.only_candidate)

    @property
    def rows(self) -> IntArray:
        """The rows of the common queries in the baseline."""
        rows = self.alignment.baseline_rows
        return np.arange(len(self.baseline.scores)) if rows is None else rows

    def both(self, ours: Metric, theirs: Metric) -> tuple[FloatArray, FloatArray]:
        """Both sides' scores of the common queries, NaN if unscored."""
        return (
            self.alignment.baseline(self.baseline.scores[ours.name]),
            self.alignment.candidate(self.candidate.scores[theirs.name]),
        )

    def sides(
        self, ours: Metric, theirs: Metric, missing: MissingTreatment
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Both sides' scores and where the metric applies; a missing score may be the worst one."""
        before, after = self.both(ours, theirs)
        worst = math.nan
        if missing == "worst":
            worst = require_bounds(ours)[0 if ours.greater_is_better else 1]
        if not (np.isnan(before).any() or np.isnan(after).any()):
            return before, after, np.ones(before.size, dtype=bool)
        # By the states of either run.
        of_ours, of_theirs = (
            pd.Series(not_applicable(run.scores[metric.name], run.details, metric.name))
            for run, metric in ((self.baseline, ours), (self.candidate, theirs))
        )
        applies = ~(self.alignment.baseline(of_ours) & self.alignment.candidate(of_theirs))
        before, after = (
            np.where(applies & np.isnan(side), worst, side) for side in (before, after)
        )
        return before, after, applies

    def measured(
        self, ours: Metric, theirs: Metric, missing: MissingTreatment, units: Units
    ) -> MetricPairs:
        """The pairs of a metric."""
        sides = self.sides(ours, theirs, missing)
        known = MetricPairs.of_scores(ours, sides, units, self.rows, missing)
        if missing != "worst":
            return known
        n_gaps = np.isnan(self.both(ours, theirs)).sum(axis=0)
        return replace(known, n_filled=int(n_gaps[sides[2]].sum()))

    def units_of_candidate(self, units: Units) -> Units:
        """The units of the candidate's rows, from those of the baseline's rows."""
        alignment, n = self.alignment, len(self.candidate.scores)
        return units.of_other_rows(alignment.baseline_rows, alignment.candidate_rows, n)

    def notes(self) -> list[str]:
        """The ids and the metrics that only one run has."""
        lone = self.alignment.only_baseline, self.alignment.only_candidate
        return notes_on_sides((self.baseline, self.candidate), [(ids, len(ids)) for ids in lone])

    def changed(self, pair: MetricPair, k: int | None, *, better: bool) -> pd.DataFrame:
        """The queries that changed in one direction; see `Comparison.regressions`."""
        before, after = self.both(*pair)
        difference = after - before
        change = difference if pair[0].greater_is_better == better else -difference
        # The tolerance of paired differences: these are the queries that count as wins and losses.
        tolerance = 1e-12 * np.nanmax(np.abs(np.concatenate([before, after, [1.0]])))
        rows = np.flatnonzero(change > tolerance)
        places = rows[np.argsort(-np.abs(difference[rows]), kind="stable")][:k]
        columns = [*(f"{name}_{pair[0].name}" for name in self.names), "difference"]
        scores = np.column_stack([before, after, difference])[places]
        ids = self.alignment.ids[places].rename("query_id")
        details = [run.details.reindex(ids) for run in (self.baseline, self.candidate)]
        return self.beside_details(pd.DataFrame(scores, ids, columns), details, len(rows))


def overall_changes(pairing: Pairing) -> pd.Series:
    """The mean improvement of each query over all metrics, as shares of their ranges."""
    ranges = {
        ours.name: width
        for ours, _ in pairing.metrics
        if ours.bounds and math.isfinite(width := ours.bounds[1] - ours.bounds[0])
    }
    shares = []
    for ours, theirs in pairing.metrics:
        before, after = pairing.both(ours, theirs)
        change = after - before if ours.greater_is_better else before - after
        if not ranges:  # then by the largest change
            shares.append(change / (np.abs(change[np.isfinite(change)]).max(initial=0.0) or 1.0))
        elif ours.name in ranges:
            shares.append(change / ranges[ours.name])
    means = pd.DataFrame(np.column_stack(shares), index=pairing.alignment.ids).mean(axis=1)
    return means.rename("overall_change")


# -- what two runs share


def pair_runs(
    baseline: Scored, candidate: Scored, metrics: str | Iterable[str] | None = None
) -> Pairing:
    """Put two runs side by side."""
    pairing = pair_rows(baseline, candidate, metrics)
    agreed = on_one_scale((baseline, candidate), pairing.metrics)
    return replace(pairing, metrics=[(ours, theirs) for ours, theirs in agreed])


def pair_rows(
    baseline: Scored, candidate: Scored, metrics: str | Iterable[str] | None = None
) -> Pairing:
    """Put the queries of two runs side by side, whatever the scales of their metrics."""
    alignment = align(baseline.scores.index, candidate.scores.index)
    if not len(alignment.ids):
        raise AlignmentError(
            f"{baseline.name!r} and {candidate.name!r} share no query id; ids of the first: "
            f"{named(baseline.scores.index, 3)}, of the second: {named(candidate.scores.index, 3)}"
        )
    shared = shared_metrics(baseline, candidate, metrics)
    return Pairing(baseline, candidate, shared, alignment)


def shared_metrics(
    baseline: Scored, candidate: Scored, metrics: str | Iterable[str] | None
) -> list[MetricPair]:
    """The metrics that both runs have, as either knows them."""
    pairs = [(ours, twin_of(ours, candidate)) for ours in choose_metrics(baseline, metrics)]
    shared = [(ours, theirs) for ours, theirs in pairs if theirs is not None]
    # A metric that the caller named must not vanish; of all metrics, those in common are compared.
    if metrics is not None and len(shared) < len(pairs):
        alone = next(ours.name for ours, theirs in pairs if theirs is None)
        raise UnknownNameError(f"metric of {candidate.name!r}", alone, candidate.metrics)
    if not shared:
        raise AlignmentError(
            f"{baseline.name!r} and {candidate.name!r} share no metric; metrics of the first: "
            f"{named(baseline.metrics)}, of the second: {named(candidate.metrics)}"
        )
    return shared


def twin_of(metric: Metric, run: Scored) -> Metric | None:
    """The same metric as a run knows it, by its name or else its meaning; None without it."""
    by_meaning = {theirs.known_as: theirs for theirs in run.metrics.values()}
    return run.metrics.get(metric.name) or by_meaning.get(metric.known_as)


def on_one_scale(
    runs: Sequence[Scored], shared: Iterable[tuple[Metric, ...]]
) -> list[tuple[Metric, ...]]:
    """The metrics that runs share, each with the kind and the bounds that hold for all of them."""
    known, scores = list(shared), [run.scores for run in runs]
    for place, metrics in enumerate(known):
        first = metrics[0]
        ups = {metric.greater_is_better for metric in metrics if metric.direction_is_known}
        if len(ups) == 1:  # what one run knows holds for those that guess
            direction: dict[str, Any] = {"greater_is_better": ups.pop(), "direction_is_known": True}
            known[place] = tuple(replace(metric, **direction) for metric in metrics)
        elif ups or len({metric.greater_is_better for metric in metrics}) > 1:
            raise DataError(
                f"{first.name!r}: the runs disagree on whether higher is better; say so when "
                f"loading, for example metrics={{{first.name!r}: 'lower'}}"
            )
    check_scales([run.name for run in runs], scores, known)
    return [agree_on_scale(metrics, scores) for metrics in known]


def compared_rows(pairings: Sequence[Pairing]) -> BoolArray:
    """Whether each row of the baseline is compared with any candidate."""
    compared = np.zeros(len(pairings[0].baseline.scores), dtype=bool)
    for pairing in pairings:
        compared[pairing.rows] = True
    return compared


# -- notes and checks


def notes_on_sides(
    runs: Sequence[Scored], lone: Iterable[tuple[Collection[str], int]]
) -> list[str]:
    """Notes on what only one of two runs has."""
    notes = []
    for run, (ids, n) in zip(runs, lone, strict=True):
        if n:
            verb = "query is" if n == 1 else "queries are"
            rest = "" if n <= len(ids) else f" and {n - len(ids)} more"
            notes.append(f"{n} {verb} in {run.name!r} only: {named(ids)}{rest}")
    for run, other in (runs, runs[::-1]):
        alone = [metric.name for metric in run.metrics.values() if not twin_of(metric, other)]
        if alone:
            notes.append(f"metrics in {run.name!r} only, not compared: {', '.join(alone[:10])}")
    return notes


def check_evaluations(runs: Sequence[object], call: str, *parameters: str) -> tuple[Scored, ...]:
    """The same runs, after a check that all are evaluations, each with its own name.

    The runs come from these parameters, one each; the last one has the rest.
    """
    for index, run in enumerate(runs):
        if not (hasattr(run, "scores") and hasattr(run, "metrics")):
            is_list = isinstance(run, Iterable) and not isinstance(run, str | Mapping)
            make = "Make one with RAGPipelineEvaluation(name, data); of a scan, with .collect()"
            if isinstance(run, str | PathLike):
                make = f"Read it first: RAGPipelineEvaluation.load({str(run)!r})"
            raise ArgumentKindError(
                f"{parameters[: index + 1][-1]} must be a RAGPipelineEvaluation; got "
                f"{describe_kind(run)}. {f'Unpack the list: {call}' if is_list else make}"
            )
    evaluations = cast("tuple[Scored, ...]", tuple(runs))
    check_unique_names(evaluations)
    return evaluations


def check_unique_names(runs: Iterable[Any]) -> None:
    """Refuse two pipelines of the same name."""
    names = [run.name for run in runs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"two runs are named {twice[0]!r}; give one another name: run.with_name('...')"
        )
