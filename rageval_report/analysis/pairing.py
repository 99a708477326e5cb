"""Two runs side by side: the queries and the metrics that both have, and their pairs of scores."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    is_within,
    same_texts,
)
from rageval_report.scores.states import not_applicable
from rageval_report.stats.columns import Column
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import QUERIES, Units
from rageval_report.types import BoolArray, FloatArray, IndexArray, IntArray

MissingTreatment = Literal["drop", "worst", "bounds"]
MISSING_TREATMENTS: tuple[MissingTreatment, ...] = get_args(MissingTreatment)
MetricPair = tuple[Metric, Metric]


# -- the scores of one metric


@dataclass(frozen=True, eq=False)
class LoneScores:
    """The scores of queries that only one side scored, and the number that neither scored."""

    baseline: Column
    candidate: Column
    n_neither: int = 0

    @classmethod
    def of(cls, baseline: FloatArray, candidate: FloatArray) -> LoneScores:
        """Those of two columns of the same queries; NaN is unscored."""
        no_before, no_after = np.isnan(baseline), np.isnan(candidate)
        n_neither = int(np.count_nonzero(no_before & no_after))
        return cls(Column.of(baseline[no_after]), Column.of(candidate[no_before]), n_neither)

    @property
    def n(self) -> int:
        """The number of queries that are left out of a comparison."""
        return self.baseline.n + self.candidate.n + self.n_neither

    @property
    def n_no_baseline(self) -> int:
        """The number of queries that the baseline did not score."""
        return self.candidate.n + self.n_neither

    @property
    def n_no_candidate(self) -> int:
        """The number of queries that the candidate did not score."""
        return self.baseline.n + self.n_neither


@dataclass(frozen=True, eq=False)
class MetricPairs:
    """The pairs of one metric of two runs."""

    pairs: Pairs
    lone: LoneScores
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
        scores: tuple[FloatArray, FloatArray],
        units: Units,
        rows: IntArray,
        *,
        missing: MissingTreatment = "drop",
        applies: BoolArray | None = None,
        n_filled: int = 0,
    ) -> Self:
        """The pairs of some queries in memory."""
        before, after = scores
        complete = ~(np.isnan(before) | np.isnan(after))
        # A query to which the metric does not apply is not missing: it has no unknown score.
        concerned = np.ones_like(complete) if applies is None else applies
        ours, theirs = before[complete], after[complete]
        own = units.select(rows[complete])
        logarithms = extremes = None
        if metric.group == "performance" and (np.minimum(ours, theirs) > 0.0).all():
            logarithms = pairs_of(np.log(ours), np.log(theirs), own)
        if missing == "bounds" and (concerned & ~complete).any():
            all_units = units.select(rows[concerned])
            low, high = require_bounds(metric)
            extremes = (
                pairs_of(*_filled(before[concerned], after[concerned], high, low), all_units),
                pairs_of(*_filled(before[concerned], after[concerned], low, high), all_units),
            )
        return cls(
            pairs_of(ours, theirs, own),
            LoneScores.of(before[concerned], after[concerned]),
            own,
            rows[complete],
            theirs - ours,
            n_not_applicable=int((~concerned).sum()),
            n_filled=n_filled,
            logarithms=logarithms,
            extremes=extremes,
        )


def _filled(
    before: FloatArray, after: FloatArray, no_before: float, no_after: float
) -> tuple[FloatArray, FloatArray]:
    return (
        np.where(np.isnan(before), no_before, before),
        np.where(np.isnan(after), no_after, after),
    )


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


def extreme_differences(pairs: Pairs, lone: LoneScores, metric: Metric) -> tuple[float, float]:
    """The mean difference if every missing score were as low, or as high, as it can be (Manski)."""
    low, high = require_bounds(metric)
    n = pairs.differences.n + lone.n
    if not n:
        return math.nan, math.nan
    columns = (pairs.differences, lone.candidate, lone.baseline)
    both, candidate, baseline = (column.mean * column.n if column.n else 0.0 for column in columns)
    gained = both + candidate - baseline
    lowest = gained + lone.n_no_candidate * low - lone.n_no_baseline * high
    highest = gained + lone.n_no_candidate * high - lone.n_no_baseline * low
    return lowest / n, highest / n


# -- two runs


@dataclass(frozen=True, eq=False)
class PairedRuns:
    """Two runs side by side by query id: a `Pairing` in memory, or scans that an engine counts.

    Both have ``n_common``, ``n_alone``, ``measured``, ``notes`` and ``_changed``.
    """

    baseline: Any
    candidate: Any
    metrics: list[MetricPair]

    @property
    def names(self) -> tuple[str, str]:
        """The names of the runs."""
        return self.baseline.name, self.candidate.name

    def changed(self: Any, pair: MetricPair, k: int | None, *, better: bool) -> pd.DataFrame:
        """The queries that changed in one direction; see `Comparison.regressions`."""
        frame, (before, after), n = self._changed(pair, k, better=better)
        both = merge_details(self.names, before, after, frame.index)
        changed = QueryFrame(join_details(frame, both))
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

    def applies(self, ours: Metric, theirs: Metric) -> BoolArray:
        """Whether the metric applies to each common query, by the states of either run."""
        before, after = (
            pd.Series(not_applicable(run.scores[metric.name], run.details, metric.name))
            for run, metric in ((self.baseline, ours), (self.candidate, theirs))
        )
        neither = self.alignment.baseline(before) & self.alignment.candidate(after)
        return np.asarray(~neither, dtype=bool)

    def treated(
        self, ours: Metric, theirs: Metric, missing: MissingTreatment
    ) -> tuple[FloatArray, FloatArray]:
        """Both sides' scores; with missing="worst" a missing score is the worst possible one."""
        before, after = self.both(ours, theirs)
        if missing != "worst":
            return before, after
        worst = require_bounds(ours)[0 if ours.greater_is_better else 1]
        applies = self.applies(ours, theirs)
        first, second = _filled(before, after, worst, worst)
        return np.where(applies, first, np.nan), np.where(applies, second, np.nan)

    def measured(
        self, ours: Metric, theirs: Metric, missing: MissingTreatment, units: Units
    ) -> MetricPairs:
        """The pairs of a metric."""
        both, scores = self.both(ours, theirs), self.treated(ours, theirs, missing)
        n_gaps = np.isnan(both).sum(axis=0)
        applies = self.applies(ours, theirs) if n_gaps.any() else None
        return MetricPairs.of_scores(
            *(ours, scores, units, self.rows),
            missing=missing,
            applies=applies,
            n_filled=int(n_gaps[applies].sum()) if missing == "worst" else 0,
        )

    def without(self, places: IntArray) -> Self:
        """The runs without some of the common queries; ids are not kept."""
        whole = self.alignment
        rest = np.delete(np.arange(len(whole.ids)), places)
        ours, theirs = (
            rest if rows is None else rows[rest]
            for rows in (whole.baseline_rows, whole.candidate_rows)
        )
        cut = replace(whole, ids=whole.ids[:0], baseline_rows=ours, candidate_rows=theirs)
        return replace(self, alignment=cut)

    def units_of_candidate(self, units: Units) -> Units:
        """The units of the candidate's rows, from those of the baseline's rows."""
        alignment, n = self.alignment, len(self.candidate.scores)
        return units.of_other_rows(alignment.baseline_rows, alignment.candidate_rows, n)

    def notes(self) -> tuple[str, ...]:
        """The ids and the metrics that only one run has, and bounds that do not hold for both."""
        lone = self.alignment.only_baseline, self.alignment.only_candidate
        return notes_on_sides(
            (self.baseline, self.candidate), self.metrics, [(ids, len(ids)) for ids in lone]
        )

    def _changed(
        self, pair: MetricPair, k: int | None, *, better: bool
    ) -> tuple[pd.DataFrame, tuple[pd.DataFrame, pd.DataFrame], int]:
        before, after = self.both(*pair)
        difference = after - before
        change = difference if pair[0].greater_is_better == better else -difference
        # The tolerance of paired differences: these are the queries that count as wins and losses.
        tolerance = 1e-12 * np.nanmax(np.abs(np.concatenate([before, after, [1.0]])))
        rows = np.flatnonzero(change > tolerance)
        every = rows[np.argsort(-np.abs(difference[rows]), kind="stable")]
        places = every[:k]
        columns = [f"{name}_{pair[0].name}" for name in self.names]
        frame = pd.DataFrame(
            dict(zip([*columns, "difference"], (before, after, difference), strict=True))
        )
        frame = frame.iloc[places].set_axis(self.alignment.ids[places].rename("query_id"))
        ours, theirs = (
            _details_at(run, known, places, frame.index)
            for run, known in (
                (self.baseline, self.alignment.baseline_rows),
                (self.candidate, self.alignment.candidate_rows),
            )
        )
        return frame, (ours, theirs), len(every)


def _details_at(
    run: Scored, rows: IndexArray | None, places: IndexArray, ids: pd.Index
) -> pd.DataFrame:
    """The details of a run at these places among the common queries, with these ids."""
    if not run.details.index.equals(run.scores.index):
        return run.details.reindex(ids)
    # The alignment has found the rows already: no id is looked up again.
    return run.details.iloc[places if rows is None else rows[places]].set_axis(ids)


def merge_details(
    names: tuple[str, str], before: pd.DataFrame, after: pd.DataFrame, ids: pd.Index
) -> pd.DataFrame:
    """The details of two runs on the same queries: a column once if they agree, else twice."""
    parts: dict[str, pd.Series] = {}
    for column in dict.fromkeys((*before.columns, *after.columns)):
        if column in before and column in after and not same_texts(before[column], after[column]):
            parts[f"{names[0]}_{column}"] = before[column]
            parts[f"{names[1]}_{column}"] = after[column]
        else:
            parts[str(column)] = before[column] if column in before else after[column]
    return pd.DataFrame(parts, index=ids)


def overall_changes(pairing: Pairing) -> pd.Series:
    """The mean improvement of each query over all metrics, as shares of their ranges."""
    changes, ranges = [], []
    for ours, theirs in pairing.metrics:
        before, after = pairing.both(ours, theirs)
        changes.append(after - before if ours.greater_is_better else before - after)
        ranges.append(math.nan if ours.bounds is None else ours.bounds[1] - ours.bounds[0])
    if not np.isfinite(ranges).any():
        sizes = (np.abs(change[np.isfinite(change)]).max(initial=0.0) for change in changes)
        ranges = [float(size) or 1.0 for size in sizes]
    counted = [
        change / width
        for change, width in zip(changes, ranges, strict=True)
        if math.isfinite(width)
    ]
    shares = np.column_stack(counted)
    n_scored = np.isfinite(shares).sum(axis=1)
    means = np.where(n_scored > 0, np.nansum(shares, axis=1) / np.maximum(n_scored, 1), np.nan)
    return pd.Series(means, index=pairing.alignment.ids, name="overall_change")


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
    runs: Sequence[Scored],
    metrics: Iterable[tuple[Metric, ...]],
    lone: Iterable[tuple[Collection[str], int]],
) -> tuple[str, ...]:
    """Notes on what only one of two runs has, and on bounds that do not hold for both."""
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
    return (*notes, *notes_on_bounds(runs, metrics))


def notes_on_bounds(runs: Sequence[Scored], shared: Iterable[tuple[Metric, ...]]) -> Iterator[str]:
    """Notes on metrics whose bounds were guessed for one run and do not hold for another."""
    for metrics in shared:
        if metrics[0].bounds is not None:
            continue
        own = [run.metrics[metric.name] for run, metric in zip(runs, metrics, strict=True)]
        bounds = next((metric.bounds for metric in own if metric.bounds is not None), None)
        if bounds is None:
            continue
        names = named(
            run.name
            for run, metric in zip(runs, own, strict=True)
            if not is_within(bounds, run.scores[metric.name])
        )
        low, high = bounds
        yield (
            f"{metrics[0].name}: the bounds {low:g} and {high:g} do not hold for {names}, so the "
            "metric has no bounds here; to give it some: "
            f"metrics={{{metrics[0].name!r}: {{'bounds': (low, high)}}}}"
        )


def check_evaluations(runs: Sequence[object], call: str) -> tuple[Scored, ...]:
    """The same runs, after a check that all are evaluations, each with its own name."""
    others = [run for run in runs if not (hasattr(run, "scores") and hasattr(run, "metrics"))]
    if others:
        is_list = isinstance(others[0], Iterable) and not isinstance(others[0], str | Mapping)
        hint = "Make one with RAGPipelineEvaluation(name, data)"
        if is_list:
            hint = f"Unpack the list: {call}"
        if hasattr(others[0], "collect"):
            hint = f"{call} needs every score in memory; bring a scan there with .collect()"
        raise ArgumentKindError(
            "expected one or more evaluations, each a RAGPipelineEvaluation; got "
            f"{describe_kind(others[0])}. {hint}"
        )
    evaluations = cast("tuple[Scored, ...]", tuple(runs))
    check_unique_names(evaluations)
    return evaluations


def check_unique_names(runs: Iterable[Any]) -> None:
    """Refuse two pipelines of the same name."""
    names = [run.name for run in runs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"two runs are named {twice[0]!r}; give each its own name")
