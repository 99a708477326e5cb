"""The pairs behind a comparison: two runs and the queries and metrics that both have."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, Self, cast, get_args

import numpy as np
import pandas as pd

from rageval_report._argument_kinds import describe_kind
from rageval_report.analysis.arguments import choose_metrics
from rageval_report.errors import (
    AlignmentError,
    ArgumentKindError,
    DataError,
    UnknownNameError,
    named,
)
from rageval_report.scores import Metric, Scored
from rageval_report.scores.align import Alignment, agree_on_scale, align, check_scales, is_within
from rageval_report.scores.states import not_applicable
from rageval_report.stats.columns import Column
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import Units
from rageval_report.types import BoolArray, FloatArray, IntArray

MissingTreatment = Literal["drop", "worst", "bounds"]
_CONSTRUCTOR = "RAGPipelineEvaluation(name, data)"
MISSING_TREATMENTS: tuple[MissingTreatment, ...] = get_args(MissingTreatment)


class NamedRun(Protocol):
    """A run, of which a table shows the name."""

    @property
    def name(self) -> str:
        """Its name."""


@dataclass(frozen=True, eq=False)
class Pairing:
    """Two runs side by side, by query id.

    Parameters
    ----------
    baseline, candidate : Scored
        The runs.
    alignment : Alignment
        The rows of the common queries.
    metrics : list of (Metric, Metric)
        The metrics that both have, as the baseline and as the candidate know them.
    """

    baseline: Scored
    candidate: Scored
    alignment: Alignment
    metrics: list[tuple[Metric, Metric]]

    @property
    def n_common(self) -> int:
        """The number of queries that both runs have."""
        return len(self.alignment.ids)

    @property
    def n_alone(self) -> int:
        """The number of queries that one run has alone."""
        return len(self.alignment.only_baseline) + len(self.alignment.only_candidate)

    def both(self, ours: Metric, theirs: Metric) -> tuple[FloatArray, FloatArray]:
        """Both sides' scores of the common queries, NaN if unscored."""
        return (
            self.alignment.baseline(self.baseline.scores[ours.name]),
            self.alignment.candidate(self.candidate.scores[theirs.name]),
        )

    def applies(self, ours: Metric, theirs: Metric) -> BoolArray:
        """Whether the metric applies to each common query, by the states of either run.

        A query to which it applies on one side only, such as one that a single pipeline refused,
        counts as unscored.
        """
        before, after = (
            pd.Series(not_applicable(run.scores[metric.name], run.details, metric.name))
            for run, metric in ((self.baseline, ours), (self.candidate, theirs))
        )
        neither = self.alignment.baseline(before) & self.alignment.candidate(after)
        return np.asarray(~neither, dtype=bool)

    def treated(
        self, ours: Metric, theirs: Metric, missing: MissingTreatment
    ) -> tuple[FloatArray, FloatArray]:
        """Both sides' scores; with missing="worst" a missing score is the worst possible one.

        A score is NaN where the metric does not apply.
        """
        before, after = self.both(ours, theirs)
        if missing != "worst":
            return before, after
        worst = require_bounds(ours)[0 if ours.greater_is_better else 1]
        applies = self.applies(ours, theirs)
        return (
            np.where(applies, np.where(np.isnan(before), worst, before), np.nan),
            np.where(applies, np.where(np.isnan(after), worst, after), np.nan),
        )

    def baseline_rows(self, compared: BoolArray) -> IntArray:
        """The rows of some common queries in the baseline."""
        rows = self.alignment.baseline_rows
        return np.flatnonzero(compared) if rows is None else rows[compared]

    def independent_pairs(
        self, ours: Metric, theirs: Metric, missing: MissingTreatment, units: Units
    ) -> Pairs:
        """One metric, by independent unit of the queries that both scored."""
        before, after = self.treated(ours, theirs, missing)
        complete = ~(np.isnan(before) | np.isnan(after))
        return pairs_of(
            before[complete], after[complete], units.select(self.baseline_rows(complete))
        )

    def without(self, places: IntArray) -> Self:
        """The runs without some of the common queries; ids are not kept."""
        whole = self.alignment
        rest = np.delete(np.arange(len(whole.ids)), places)
        return replace(
            self,
            alignment=replace(
                whole,
                ids=whole.ids[:0],
                baseline_rows=rest if whole.baseline_rows is None else whole.baseline_rows[rest],
                candidate_rows=rest if whole.candidate_rows is None else whole.candidate_rows[rest],
            ),
        )

    def units_of_candidate(self, units: Units) -> Units:
        """The units of the candidate's rows, from those of the baseline's rows."""
        alignment, n = self.alignment, len(self.candidate.scores)
        return units.of_other_rows(alignment.baseline_rows, alignment.candidate_rows, n)

    def notes(self) -> tuple[str, ...]:
        """The ids and the metrics that only one run has, and bounds that do not hold for both."""
        alignment = self.alignment
        return (
            *note_on_lone_ids(self.baseline.name, alignment.only_baseline),
            *note_on_lone_ids(self.candidate.name, alignment.only_candidate),
            *notes_on_lone_metrics(self.baseline, self.candidate),
            *notes_on_bounds((self.baseline, self.candidate), self.metrics),
        )


@dataclass(frozen=True, eq=False)
class LoneScores:
    """The scores of common queries that only one side scored, and the queries that neither scored.

    Parameters
    ----------
    baseline, candidate : Column
        The scores of the queries that only the baseline, only the candidate scored.
    n_neither : int
        The number of queries without a score.

    Examples
    --------
    >>> nan = float("nan")
    >>> lone = LoneScores.of(np.array([0.5, nan, nan]), np.array([nan, 1.0, nan]))
    >>> lone.n, lone.n_no_baseline, lone.n_no_candidate
    (3, 2, 2)
    """

    baseline: Column
    candidate: Column
    n_neither: int = 0

    @classmethod
    def of(cls, baseline: FloatArray, candidate: FloatArray) -> LoneScores:
        """Those of two columns of the same queries; NaN is unscored."""
        no_before, no_after = np.isnan(baseline), np.isnan(candidate)
        return cls(
            Column.of(baseline[no_after]),
            Column.of(candidate[no_before]),
            int(np.count_nonzero(no_before & no_after)),
        )

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


def pairs_of(before: FloatArray, after: FloatArray, units: Units) -> Pairs:
    """Complete pairs of scores, by independent unit; there may be none."""
    if not before.size:
        return Pairs(*3 * (Column.of(before),))
    return Pairs.of(before, after, units if units.are_clusters else None)


def note_on_lone_ids(name: str, ids: Collection[str], n: int | None = None) -> tuple[str, ...]:
    """A note on the queries that only one run has; none if there are none.

    Parameters
    ----------
    name : str
        The run.
    ids : collection of str
        The ids, or the first of them.
    n : int, optional
        Their number, if `ids` are not all.
    """
    count = len(ids) if n is None else n
    if not count:
        return ()
    verb = "query is" if count == 1 else "queries are"
    rest = "" if count <= len(ids) else f" and {count - len(ids)} more"
    return (f"{count} {verb} in {name!r} only: {named(ids)}{rest}",)


def notes_on_lone_metrics(baseline: Scored, candidate: Scored) -> Iterator[str]:
    """Notes on the metrics that only one run has."""
    for run, other in ((baseline, candidate), (candidate, baseline)):
        alone = [metric.name for metric in run.metrics.values() if not twin_of(metric, other)]
        if alone:
            yield f"metrics in {run.name!r} only, not compared: {', '.join(alone[:10])}"


def pair_runs(
    baseline: Scored, candidate: Scored, metrics: str | Iterable[str] | None = None
) -> Pairing:
    """Put two runs side by side.

    Raises
    ------
    AlignmentError
        If they share no query id, or no metric.
    DataError
        If they disagree on the direction or the scale of a metric.
    """
    pairing = pair_rows(baseline, candidate, metrics)
    agreed = on_one_scale((baseline, candidate), pairing.metrics)
    return replace(pairing, metrics=[(ours, theirs) for ours, theirs in agreed])


def pair_rows(
    baseline: Scored, candidate: Scored, metrics: str | Iterable[str] | None = None
) -> Pairing:
    """Put the queries of two runs side by side, whatever the scales of their metrics.

    Raises
    ------
    AlignmentError
        If they share no query id, or no metric.
    """
    alignment = align(baseline.scores.index, candidate.scores.index)
    if not len(alignment.ids):
        raise AlignmentError(
            f"{baseline.name!r} and {candidate.name!r} share no query id; ids of the first: "
            f"{named(baseline.scores.index, 3)}, of the second: {named(candidate.scores.index, 3)}"
        )
    shared = shared_metrics(baseline, candidate, metrics)
    return Pairing(baseline, candidate, alignment, shared)


def shared_metrics(
    baseline: Scored, candidate: Scored, metrics: str | Iterable[str] | None
) -> list[tuple[Metric, Metric]]:
    """The metrics that both runs have, as either knows them.

    Raises
    ------
    AlignmentError
        If they share none.
    UnknownNameError
        If a metric that the caller names is not in both.
    """
    shared, alone = [], []
    for ours in choose_metrics(baseline, metrics):
        theirs = twin_of(ours, candidate)
        if theirs is None:
            alone.append(ours.name)
        else:
            shared.append((ours, theirs))
    # A metric that the caller named must not vanish; of all metrics, those in common are compared.
    if metrics is not None and alone:
        raise UnknownNameError(f"metric of {candidate.name!r}", alone[0], candidate.metrics)
    if not shared:
        raise AlignmentError(
            f"{baseline.name!r} and {candidate.name!r} share no metric; metrics of the first: "
            f"{named(baseline.metrics)}, of the second: {named(candidate.metrics)}"
        )
    # A metric that the caller names counts in the family of a correction, whatever shows it to be
    # one.
    return (
        shared
        if metrics is None
        else [(_count_in(ours), _count_in(theirs)) for ours, theirs in shared]
    )


def on_one_scale(
    runs: Sequence[Scored], shared: Iterable[tuple[Metric, ...]]
) -> list[tuple[Metric, ...]]:
    """The metrics that runs share, each with the kind and the bounds that hold for all of them.

    Parameters
    ----------
    runs : sequence of Scored
        The runs.
    shared : iterable of tuple of Metric
        The metrics, as each run knows them.

    Raises
    ------
    DataError
        If two runs disagree on the direction or the scale of a metric.
    """
    known, scores = list(shared), [run.scores for run in runs]
    for first, *others in known:
        if any(metric.greater_is_better != first.greater_is_better for metric in others):
            raise DataError(
                f"{first.name!r}: the runs disagree on whether higher is better; say so when "
                f"loading, for example metrics={{{first.name!r}: 'lower'}}"
            )
    check_scales([run.name for run in runs], scores, known)
    return [agree_on_scale(metrics, scores) for metrics in known]


def notes_on_bounds(runs: Sequence[Scored], shared: Iterable[tuple[Metric, ...]]) -> Iterator[str]:
    """Notes on metrics whose bounds were guessed for one run and do not hold for another.

    Parameters
    ----------
    runs : sequence of Scored
        The runs.
    shared : iterable of tuple of Metric
        The metrics that all have, as `on_one_scale` gives them.
    """
    for metrics in shared:
        own = [run.metrics[metric.name] for run, metric in zip(runs, metrics, strict=True)]
        bounds = next((metric.bounds for metric in own if metric.bounds is not None), None)
        if bounds is None or metrics[0].bounds is not None:
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


def _count_in(metric: Metric) -> Metric:
    return replace(metric, in_family=True)


def twin_of(metric: Metric, run: Scored) -> Metric | None:
    """The same metric as a run knows it, by its name or else its meaning; None without it."""
    by_meaning = {theirs.known_as: theirs for theirs in run.metrics.values()}
    return run.metrics.get(metric.name) or by_meaning.get(metric.known_as)


def count_missing(
    baseline: FloatArray, candidate: FloatArray, applies: Callable[[], BoolArray | None]
) -> int:
    """The number of missing scores of both sides, where the metric applies.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the same queries, NaN if unscored.
    applies : callable
        Gives whether the metric applies to each query, or None if it applies to all; called only if
        a score is missing.

    Examples
    --------
    >>> nan = float("nan")
    >>> count_missing(np.array([0.5, nan, nan]), np.array([nan, nan, nan]), lambda: None)
    5
    """
    n_missing = np.isnan(baseline).astype(np.int64) + np.isnan(candidate)
    if not n_missing.any():
        return 0
    where = applies()
    return int(n_missing.sum() if where is None else n_missing[where].sum())


def require_bounds(metric: Metric) -> tuple[float, float]:
    """The bounds of a metric.

    Raises
    ------
    DataError
        If it has none, so that a missing score has no worst value.
    """
    if metric.bounds is None:
        raise DataError(
            f"{metric.name!r} has no bounds, so a missing score has no worst value; give them: "
            f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}, or missing='drop'"
        )
    return metric.bounds


def extreme_differences(pairs: Pairs, lone: LoneScores, metric: Metric) -> tuple[float, float]:
    """The mean difference if every missing score were as low, or as high, as it can be.

    Parameters
    ----------
    pairs : Pairs
        The scores of the queries that both sides scored.
    lone : LoneScores
        The scores of those that one side scored; there are some.
    metric : Metric
        What is compared, with bounds.

    References
    ----------
    .. [1] Manski (1990). Nonparametric bounds on treatment effects.

    Examples
    --------
    >>> nan, known = float("nan"), Metric("recall", bounds=(0.0, 1.0))
    >>> lone = LoneScores.of(np.array([0.5]), np.array([nan]))
    >>> extreme_differences(Pairs.of([0.5], [0.5]), lone, known)
    (-0.25, 0.25)
    """
    low, high = require_bounds(metric)
    n = pairs.differences.n + lone.n
    if not n:
        return math.nan, math.nan
    gained = _total(pairs.differences) + _total(lone.candidate) - _total(lone.baseline)
    lowest = gained + lone.n_no_candidate * low - lone.n_no_baseline * high
    highest = gained + lone.n_no_candidate * high - lone.n_no_baseline * low
    return lowest / n, highest / n


def _total(column: Column) -> float:
    return column.mean * column.n if column.n else 0.0


def compared_rows(pairings: Sequence[Pairing]) -> BoolArray:
    """Whether each row of the baseline is compared with any candidate."""
    compared = np.zeros(len(pairings[0].baseline.scores), dtype=bool)
    for pairing in pairings:
        rows = pairing.alignment.baseline_rows
        compared[slice(None) if rows is None else rows] = True
    return compared


def check_evaluations(runs: Sequence[object], call: str) -> tuple[Scored, ...]:
    """The same runs, after a check that all are evaluations, each with its own name.

    Parameters
    ----------
    runs : sequence of Scored
        What the caller passed.
    call : str
        How to pass several, such as "rank(*runs)".

    Raises
    ------
    DataError
        If one is something else, such as a list of evaluations, or a name appears twice.
    """
    others = [run for run in runs if not (hasattr(run, "scores") and hasattr(run, "metrics"))]
    if others:
        is_list = isinstance(others[0], Iterable) and not isinstance(others[0], str | Mapping)
        hint = f"Unpack the list: {call}" if is_list else f"Make one with {_CONSTRUCTOR}"
        if hasattr(others[0], "collect"):
            hint = f"{call} needs every score in memory; bring a scan there with .collect()"
        raise ArgumentKindError(
            "expected one or more evaluations, each a RAGPipelineEvaluation; got "
            f"{describe_kind(others[0])}. {hint}"
        )
    evaluations = cast("tuple[Scored, ...]", tuple(runs))
    check_unique_names(evaluations)
    return evaluations


def check_unique_names(runs: Sequence[NamedRun]) -> None:
    """Refuse two pipelines of the same name."""
    names = [run.name for run in runs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"two runs are named {twice[0]!r}; give each its own name")
