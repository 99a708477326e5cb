"""Summaries and comparisons in each group of queries, by any column of the details."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import Clusters, MeanKeywords, mean_limits
from rageval_report.analysis.family import CorrectionFamily, correct_in_family
from rageval_report.analysis.paired_metric import (
    DEFAULT_PLAN,
    ComparisonLike,
    ComparisonPlan,
    MetricComparison,
    PairedMetric,
)
from rageval_report.analysis.pairing import MetricPair, MetricPairs, Pairing
from rageval_report.analysis.report import summarise
from rageval_report.analysis.tables import (
    NO_GROUP,
    GroupedRows,
    PipelineTable,
    count_shared,
    group_labels,
    table_of,
)
from rageval_report.analysis.verdicts import answer_table
from rageval_report.errors import check_options
from rageval_report.names.short_names import shorten_names
from rageval_report.reports.sentences import (
    correction_name,
    correction_note,
    correction_text,
    counted,
    false_discovery_notes,
    number,
    pvalue_text,
    verdict_sentence,
)
from rageval_report.results import Answer, Result
from rageval_report.scores import Scored, resolver
from rageval_report.scores.shown import BETTER, WORSE, verdict_word
from rageval_report.stats.base import TIE_TOLERANCE, PairedResult
from rageval_report.stats.columns import Column
from rageval_report.stats.pairs import paired_test
from rageval_report.stats.pooling import (
    FEWEST_GROUPS,
    errors_of_common_spread,
    heterogeneity_test,
    partial_pooling,
)
from rageval_report.stats.units import mean_error
from rageval_report.types import BoolArray, FloatArray

# Of these tests Hoeffding's inequality bounds the p-value: half ties only lower it.
_BOUNDED_TESTS = frozenset({"auto", "sign-flip", "sign-flip-midp"})
# No p-value that these corrections return falls if one that they take rises.
_MONOTONE = frozenset({"none", "bonferroni", "holm", "hochberg", "bh", "by"})
# Sums of differences in another order differ by less than this, relatively.
_ROUNDING = 1e-9
_MOST_ROWS = 12
_PRINTED = (
    *("metric", "n", "baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high"),
    *("pvalue_adjusted", "verdict"),
)


# -- one pipeline


@dataclass(frozen=True, eq=False, repr=False)
class SliceSummary(Result):
    """One pipeline in each group of queries; see `slice_summary`."""

    def printed(self) -> Result:
        """The metric that differs most between groups, and the mean of each metric in each."""
        by, frame = str(self.settings["by"]), self.frame
        columns = list(dict.fromkeys(frame["metric"]))
        wide = frame.pivot_table("mean", by, "metric", dropna=False, sort=False)
        means = wide.loc[list(dict.fromkeys(frame[by])), columns]
        spread = (means.max() - means.min()) / frame.groupby("metric")["std"].mean()
        answer = ""
        if spread.notna().any():
            own = means[spread.idxmax()]
            answer = (
                f"{spread.idxmax()} differs most: {number(own.min())} where {by} is "
                f"{own.idxmin()}, {number(own.max())} where it is {own.idxmax()}."
            )
        means.insert(0, "n", frame.groupby(by)["n"].max())
        table = means.rename_axis(columns=None).reset_index()
        headline = (by, "n", *columns)
        # Pooled means are in the frame alone.
        notes = tuple(note for note in self.notes if "pooled_mean" not in note)[:1]
        return Answer("", table, self.settings, notes, headline=headline, answer=answer)


def slice_summary(
    evaluation: Scored,
    by: str,
    metrics: str | Iterable[str] | None = None,
    *,
    clusters: Clusters | None = None,
    **settings: Unpack[MeanKeywords],
) -> Result:
    """Describe each metric in each group of queries.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores and details.
    by : str
        A column of the details.
    metrics : str or iterable of str, optional
        The metrics; all of them if omitted.
    clusters, **settings
        As in `summarise`.

    Returns
    -------
    SliceSummary
        One row per metric and group: ``metric``, the column of the groups, then the columns of
        `summarise`; after ``ci_method`` follow ``pooled_mean``, ``pooled_ci_low``,
        ``pooled_ci_high`` and ``shrinkage``: the mean pulled towards the common mean of the groups
        by that share of the way, because small groups are noisy (empirical Bayes, see
        `rageval_report.stats.partial_pooling`). With fewer than four groups, or no spread within
        them, these repeat the mean and its interval.

    Raises
    ------
    UnknownNameError
        If `by` is not a column of the details.
    DataError
        If every query is a group of its own.
    """
    check_options("slice_summary()", settings, MeanKeywords.__annotations__)
    table = table_of(evaluation, clusters)
    groups = table.groups(by)
    parts = {
        label: summarise(part, metrics=metrics, clusters=clusters, **settings)
        for label, part in groups.items()
    }
    first = next(iter(parts.values()))
    column = _column_for(by, first.frame)
    for label, part in parts.items():
        part.frame.insert(1, column, label)
    frame = pd.concat([part.frame for part in parts.values()], ignore_index=True)
    # The parts are group by group, the table is metric by metric.
    order = frame["metric"].map({name: i for i, name in enumerate(first.frame["metric"])})
    frame = frame.iloc[np.argsort(order.to_numpy(), kind="stable")].reset_index(drop=True)
    level = float(str(first.settings["confidence_level"]))
    pooled = {}
    for name, rows in frame.groupby("metric", sort=False):
        metric = table.sample.metrics[str(name)]
        means = [_mean_of(row, groups[str(row[column])], metric) for _, row in rows.iterrows()]
        limits = mean_limits(metric, float(rows["min"].min()))
        pooled[str(name)] = pool_slices(means, confidence_level=level, limits=limits)
    _insert_pooled(frame, [*pooled.values()], "mean", after="ci_method")
    are_pooled = any(slices.are_pooled for slices in pooled.values())
    n_without = groups[NO_GROUP].n_queries if NO_GROUP in groups else 0
    shared: Iterable[str] = ()
    if are_pooled and table.are_clusters:
        shared = _shared_notes(table.shared_clusters(by), by, "the pooling assumes")
    columns = ["pooled_mean", "pooled_ci_low", "pooled_ci_high", "std", "p50"]
    if not are_pooled:
        columns = ["std", "min", "p50", "max"]
    elif table.are_clusters:  # a printed table has room for one of the two
        columns.remove("p50")
    units = ["n_clusters"] if table.are_clusters else []
    return SliceSummary(
        f"{table.sample.name} by {by}",
        frame,
        {**first.settings, "by": column},
        (
            *_group_notes(n_without, by),
            *shared,
            *_pooling_notes(pooled, "mean"),
            *table.notes([table.sample.metrics[name] for name in dict.fromkeys(frame["metric"])]),
        ),
        headline=(column, "n", *units, "n_unscored", "mean", "ci_low", "ci_high", *columns),
        grouped_by="title",
    )


def _mean_of(row: pd.Series, part: PipelineTable, metric: Any) -> SliceMean:
    """The mean of a slice by its row in the table, and its standard error by units."""
    mean, low, high = (float(row[name]) for name in ("mean", "ci_low", "ci_high"))
    if (spread := part.error(metric)) is not None:
        return SliceMean(mean, spread.standard_error, spread.n_clusters, spread.df, low, high)
    n = int(row["n"])
    error = float(row["std"]) / math.sqrt(n) if n > 1 else math.nan
    return SliceMean(mean, error, n, n - 1.0, low, high)


def _column_for(by: str, frame: pd.DataFrame) -> str:
    """The name of the column of groups: that of the details, unless the table has one like it."""
    return f"{by}_slice" if by in frame else by


def _group_notes(n_without: int, by: str) -> Iterator[str]:
    if n_without:
        yield f"{counted(n_without, 'query has', 'queries have')} no {by}"


def _shared_notes(shared: tuple[int, int], by: str, assumption: str) -> Iterator[str]:
    """That groups depend on each other, if some clusters have queries in several of them."""
    n_shared, n = shared
    if n_shared:
        yield (
            f"{n_shared} of {n} clusters have queries in several groups of {by}, so the groups are "
            f"not independent, as {assumption}"
        )


# -- partial pooling
#
# Of twenty slices the best and the worst are mostly small ones, by chance. The pooled columns move
# each mean towards the common one as far as chance explains the spread of the slices.


@dataclass(frozen=True)
class SliceMean:
    """The mean of one slice, its standard error by independent units, and its own interval."""

    mean: float
    standard_error: float
    n_units: int
    degrees: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class PooledSlices:
    """The pooled means of the slices of one metric.

    Parameters
    ----------
    estimates, low, high, shrinkage : ndarray of shape (n_slices,)
        The pooled means, their intervals, and the share of the way to the common mean.
    are_pooled : bool
        Whether anything was pooled; if not, the numbers are those of the slices themselves.
    """

    estimates: FloatArray
    low: FloatArray
    high: FloatArray
    shrinkage: FloatArray
    are_pooled: bool


def pool_slices(
    slices: Sequence[SliceMean],
    *,
    confidence_level: float,
    limits: tuple[float, float] | None = None,
    fewest_units: int = 0,
) -> PooledSlices:
    """Pool the slices of one metric partially, if there are enough of them.

    Parameters
    ----------
    slices : sequence of SliceMean
        The slices.
    confidence_level : float
        Between 0 and 1.
    limits : (float, float), optional
        The smallest and the largest possible mean, to which the intervals are cut.
    fewest_units : int
        With fewer units in all slices together nothing is pooled.

    Examples
    --------
    >>> means = [(0.9, 40), (0.85, 30), (0.88, 50), (0.4, 3)]
    >>> slices = [SliceMean(m, 0.3 / n**0.5, n, n - 1, m - 0.1, m + 0.1) for m, n in means]
    >>> pool_slices(slices, confidence_level=0.95, limits=(0, 1)).estimates.round(2).tolist()
    [0.9, 0.85, 0.88, 0.46]
    """
    known = pd.DataFrame([vars(part) for part in slices], dtype=np.float64)
    means, n_units = known["mean"].to_numpy(), known["n_units"].to_numpy()
    errors, degrees = errors_of_common_spread(
        known["standard_error"].to_numpy(),
        n_units,
        known["degrees"].where(np.isfinite(known["standard_error"]), 0.0).to_numpy(),
    )
    largest = float(np.abs(means[~np.isnan(means)]).max(initial=1.0))
    # Equal scores that were computed from floats have a spread of rounding errors.
    has_spread = degrees > 0.0 and float(errors.max()) > TIE_TOLERANCE * largest
    n_groups = int((~np.isnan(means)).sum())
    if not has_spread or n_groups < FEWEST_GROUPS or n_units.sum() < fewest_units:
        shrinkage = np.where(np.isnan(means), math.nan, 0.0)
        ends = known["low"].to_numpy(), known["high"].to_numpy()
        return PooledSlices(means, *ends, shrinkage, are_pooled=False)
    pooled = partial_pooling(means, errors, confidence_level=confidence_level, degrees=degrees)
    low, high = (-math.inf, math.inf) if limits is None else limits
    ends = np.maximum(pooled.low, low), np.minimum(pooled.high, high)
    return PooledSlices(pooled.estimates, *ends, pooled.shrinkage, are_pooled=True)


def _pooling_notes(pooled: dict[str, PooledSlices], estimate: str) -> Iterator[str]:
    """What the pooled columns are, and which metrics are not pooled; nothing if none is."""
    others = [name for name, slices in pooled.items() if not slices.are_pooled]
    if len(others) == len(pooled):
        return
    yield (
        f"pooled_{estimate} is the {estimate} of a group pulled towards that of all groups, "
        "because small groups are noisy"
    )
    if others:
        yield (
            f"{', '.join(others)}: not pooled, because fewer than {FEWEST_GROUPS} groups have "
            f"scores or no scores of a group differ; pooled_{estimate} repeats the {estimate}"
        )


def _insert_pooled(
    frame: pd.DataFrame, pooled: Sequence[PooledSlices], estimate: str, *, after: str
) -> None:
    """Insert the pooled columns; the slices are in the order of the rows."""
    place = list(frame).index(after) + 1
    for offset, (name, field) in enumerate(
        {
            f"pooled_{estimate}": "estimates",
            "pooled_ci_low": "low",
            "pooled_ci_high": "high",
            "shrinkage": "shrinkage",
        }.items()
    ):
        values = np.concatenate([getattr(slices, field) for slices in pooled])
        frame.insert(place + offset, name, values)


# -- a pair of pipelines


@dataclass(frozen=True, eq=False, repr=False)
class SliceComparison(Result):
    """Two or more pipelines in each group of queries; see `slice_comparison`.

    ``plan`` has the settings of the tests, ``apart`` the metrics that are corrected apart.
    """

    plan: ComparisonPlan = DEFAULT_PLAN
    apart: tuple[str, ...] = ()

    @property
    def _by(self) -> str:
        return str(self.settings["by"])

    @property
    def reversals(self) -> pd.DataFrame:
        """The rows that are shown to differ in the other direction than all queries together."""
        is_shown = self.frame["pvalue_adjusted"] <= self.plan.alpha
        opposed = self.frame["difference"] * self.frame["overall_difference"] < 0
        return self.frame[is_shown & opposed]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Where a group is shown to differ in the other direction than all queries together."""
        correction, n_tests = str(self.settings["correction"]), self.settings["family_size"]
        words, sentences = self.plan.words(correction, int(str(n_tests))), []
        for cells in self.reversals.to_dict("records"):
            row = {str(name): value for name, value in cells.items()}
            sentences.append(
                f"where {self._by} is {row[self._by]}, {verdict_sentence(row, words)}; over all "
                f"queries it is {row['overall_difference']:+.3f}, and "
                f"{_others_part(row, correction, words.family_size, words.alpha)}"
            )
        return tuple(sentences)

    @property
    def summary(self) -> str:
        """In how many groups each candidate is better and worse, in one plain sentence."""
        if not len(self.frame):
            return ""
        frame, by = self.frame[~self.frame["metric"].isin(self.apart)], self._by
        parts = []
        for candidate, own in frame.groupby("candidate", sort=False):
            name = shorten_names([*frame["baseline"].unique(), *frame["candidate"].unique()])
            said = [
                f"{word} in {own.loc[own['verdict'] == word, by].nunique()}"
                for word in (BETTER, WORSE)
                if (own["verdict"] == word).any()
            ]
            n = counted(own[by].nunique(), "group")
            parts.append(f"{name.of(str(candidate))} is {' and '.join(said)} of {n}")
            if not said:
                parts[-1] = f"no difference is shown for {name.of(str(candidate))} in {n}"
        text = f"by {by}, {'; '.join(parts)}."
        return text[0].upper() + text[1:]

    def printed(self) -> Result:
        """The answer, the rows that matter first, and at most three notes."""
        frame, by = self.frame, self._by
        if not len(frame):
            return self
        order = {
            "is_apart": frame["metric"].isin(self.apart),
            "agrees": ~frame.index.isin(self.reversals.index),
            "adjusted": frame["pvalue_adjusted"],
            "raw": frame["pvalue"],
        }
        n_tests = int(str(self.settings["family_size"]))
        correction = str(self.settings["correction"])
        n_shown = int((frame["pvalue_adjusted"] <= self.plan.alpha).sum())
        notes = [
            *self.sentences[:1],
            *false_discovery_notes(correction, n_shown, self.plan.alpha),
        ]
        if n_tests > 1:
            basis = f"p adjusted for {n_tests} tests ({correction_name(correction)})"
            if correction == "none":
                basis = correction_note(correction, n_tests, self.plan.alpha)
            notes.append(f"{basis}; many groups were checked: confirm findings on new queries")
        columns = (by, "candidate", *_PRINTED)
        return answer_table(self, self.summary, columns, order, notes, most_rows=_MOST_ROWS)


def _others_part(row: dict[str, Any], correction: str, n_tests: int, alpha: float) -> str:
    """Whether the other queries are shown to differ in the opposite direction."""
    if math.isnan(row["others_difference"]):
        return "the other queries are too few for a test"
    difference = f"{row['others_difference']:+.3f}"
    pvalue = row["reversal_pvalue_adjusted"]
    if pvalue <= alpha:
        name = "" if n_tests == 1 else f"{correction_text(correction)} "
        return f"the other queries show the opposite: {difference} ({name}p {pvalue_text(pvalue)})"
    return (
        f"the other queries do not show the opposite: {difference} "
        f"(p {pvalue_text(row['others_pvalue'])} before correction)"
    )


def _compared_groups(
    comparison: ComparisonLike, by: str, metrics: str | Iterable[str] | None
) -> tuple[list[list[ComparedSlice]], list[str]]:
    """The groups of each metric and candidate, compared, and notes on them."""
    plan = comparison.plan
    notes: list[str] = []
    tables: list[list[ComparedSlice]] = []
    for pairing in comparison.pairings:
        chosen = _choose_pairs(pairing.metrics, metrics)
        anything: Any = pairing  # a scan counts its groups by itself
        in_memory = isinstance(pairing, Pairing)
        sliced: SlicedPairs = (
            _sliced(pairing, by, chosen, plan) if in_memory else anything.sliced(by, chosen)
        )
        notes += _notes_on_groups(sliced, pairing, by)
        compared = [paired.tested(plan) for paired in sliced.paired]
        n = len(sliced.places)
        for i, pair in enumerate(chosen):
            own = compared[i * n : (i + 1) * n]
            whole = AllQueries.of(sliced.pairing, pair, own, plan)
            tables.append(
                [
                    ComparedSlice(label, row, place, whole)
                    for (label, place), row in zip(sliced.places, own, strict=True)
                ]
            )
    return tables, notes


def _add_others(
    frame: pd.DataFrame, slices: Sequence[ComparedSlice], is_shown: Sequence[bool]
) -> None:
    """Add how all queries differ, and the other queries where a group goes against them."""
    others = [
        part.others if shown and part.is_opposed else None
        for shown, part in zip(is_shown, slices, strict=True)
    ]
    frame["overall_difference"] = [part.whole.difference for part in slices]
    frame["others_difference"] = [math.nan if each is None else each.difference for each in others]
    frame["others_pvalue"] = [math.nan if each is None else each.pvalue for each in others]


def slice_comparison(
    comparison: ComparisonLike,
    by: str,
    metrics: str | Iterable[str] | None = None,
    correction: str = "holm",
) -> SliceComparison:
    """Compare two runs in each group of queries, and test whether the groups agree.

    Parameters
    ----------
    comparison : Comparison
        Its settings apply to the groups too.
    by : str
        A column of the baseline's details.
    metrics : str or iterable of str, optional
        The metrics; all that were compared if omitted.
    correction : str
        The correction of the p-values of all rows of this table.

    Returns
    -------
    SliceComparison
        One row per metric, candidate and group: ``metric``, ``candidate``, the column of the
        groups, ``n``, ``n_dropped``, both means, ``difference``, ``ci_low``, ``ci_high``, ``test``,
        ``pvalue``, ``pvalue_adjusted``, ``wins``, ``ties``, ``losses``, and, for the whole metric,
        ``heterogeneity_pvalue`` (Welch's form of Cochran's Q: do the groups differ?) and
        ``crossing_pvalue`` (Gail & Simon: do they differ in opposite directions?).
        ``pooled_difference``, ``pooled_ci_low``, ``pooled_ci_high`` and ``shrinkage`` are as in
        `slice_summary`. ``verdict`` is a word. ``overall_difference`` is that of all queries;
        ``reversal_pvalue_adjusted`` tests whether the group and all other queries differ in
        opposite directions; ``others_difference`` and ``others_pvalue`` are those of the other
        queries, where the group is shown to differ from all queries together.

    Raises
    ------
    UnknownNameError
        If `by` is not a column of the details, a metric was not compared, or there is no such
        correction.

    Notes
    -----
    Of a few slices one nearly always differs in the other direction, by chance. A reversal needs
    both tests to reject: that of the group, and that of the other queries in the opposite
    direction. Its p-value is the larger of the two, and needs no correction for being made of two
    (Berger 1982); it is corrected over all rows.
    """
    plan = comparison.plan
    tables, notes = _compared_groups(comparison, by, metrics)
    column = _column_for(by, comparison.frame)
    slices = [part for table in tables for part in table]
    frame = pd.DataFrame([record for table in tables for record in _records(table, column, plan)])
    family = CorrectionFamily.of(part.row.metric for part in slices)
    names, raw = frame["metric"].tolist(), np.array([part.row.bounded_pvalue for part in slices])

    def correct(pvalues: FloatArray) -> FloatArray:
        # The best of several variants was chosen on the queries of all groups.
        corrected = correct_in_family(family, names, pvalues, correction)
        return np.minimum(1.0, plan.tried * corrected)

    frame.insert(list(frame).index("pvalue") + 1, "pvalue_adjusted", correct(raw))
    frame["reversal_pvalue_adjusted"] = _adjusted_reversals(slices, correct, correction)
    is_shown = (frame["pvalue_adjusted"] <= plan.alpha).tolist()
    _add_others(frame, slices, is_shown)
    rows = frame.to_dict("records")
    frame["verdict"] = [
        verdict_word({str(name): cell for name, cell in row.items()}, plan.alpha) for row in rows
    ]
    pooled = [_pool_differences(table, plan) for table in tables]
    _insert_pooled(frame, pooled, "difference", after="ci_high")
    n_tests, n_shown = family.size(names, raw), sum(is_shown)
    by_metric = {table[0].row.metric.name: own for table, own in zip(tables, pooled, strict=True)}
    are_pooled = any(own.are_pooled for own in pooled)
    # A printed table has room for either the means of both runs or the pooled columns.
    middle: tuple[str, ...] = ("difference", "ci_low", "ci_high")
    middle = (
        (*middle, "pooled_difference", "pooled_ci_low", "pooled_ci_high")
        if are_pooled
        else ("baseline_mean", "candidate_mean", *middle)
    )
    several = ("candidate",) if len(set(frame["candidate"])) > 1 else ()
    return SliceComparison(
        f"{comparison.title}, by {by}",
        frame,
        {
            **comparison.settings,
            "by": column,
            "correction": correction,
            "family_size": n_tests,
        },
        (
            *dict.fromkeys(notes),
            f"p-values are adjusted ({correction}) over {n_tests} tests",
            *false_discovery_notes(correction, n_shown, plan.alpha),
            *_pooling_notes(by_metric, "difference"),
            *family.notes(),
        ),
        headline=(
            *(column, *several, "n", *middle, "pvalue_adjusted", "wins", "ties", "losses"),
            "verdict",
        ),
        grouped_by="metric",
        plan=plan,
        apart=family.outside,
    )


def _choose_pairs(
    pairs: Sequence[MetricPair], metrics: str | Iterable[str] | None
) -> list[MetricPair]:
    """The pairs of metrics that a caller names; all if `metrics` is None."""
    by_name = {ours.name: (ours, theirs) for ours, theirs in pairs}
    names = [metrics] if isinstance(metrics, str) else by_name if metrics is None else metrics
    resolve = resolver(by_name)
    return [by_name[resolve(name)] for name in names]


@dataclass(frozen=True, eq=False)
class SlicedPairs:
    """Two runs in groups of queries, not yet tested.

    Parameters
    ----------
    pairing : Pairing
        The runs; `Pairing.without` takes the place of a group.
    places : list
        The label of each group, and its place: the rows of its queries among the common ones.
    paired : list of PairedMetric
        Each metric in each group, metric by metric.
    n_without, n_differing : int
        The number of queries without a group, and of those that the runs put into different ones.
    shared_clusters : (int, int)
        The number of clusters with queries in several groups, and of all clusters.
    """

    pairing: Any
    places: list[tuple[str, Any]]
    paired: list[PairedMetric]
    n_without: int
    n_differing: int
    shared_clusters: tuple[int, int]


def _sliced(
    pairing: Pairing, by: str, metrics: Sequence[MetricPair], plan: ComparisonPlan
) -> SlicedPairs:
    labels = group_labels(pairing.baseline, by).reindex(pairing.alignment.ids)
    grouped, rows = GroupedRows.of(labels), pairing.rows
    names, paired = (pairing.baseline.name, pairing.candidate.name), []
    for ours, theirs in metrics:
        # One sort of the rows by group serves all groups.
        before, after = map(grouped.sort, pairing.treated(ours, theirs, plan.missing))
        applies = np.ones(before.size, dtype=bool)
        if np.isnan(before).any() or np.isnan(after).any():
            applies = grouped.sort(pairing.applies(ours, theirs))
        for part in grouped.parts:
            known = MetricPairs.of_scores(
                *(ours, (before[part], after[part]), plan.units, rows[grouped.rows[part]]),
                missing=plan.missing,
                applies=applies[part],
            )
            paired.append(PairedMetric(names, ours, known))
    return SlicedPairs(
        pairing,
        list(grouped),
        paired,
        int((labels == NO_GROUP).sum()),
        _count_differing(pairing, by),
        count_shared(plan.units.select(rows), labels),
    )


def _count_differing(pairing: Pairing, by: str) -> int:
    """The number of common queries that both runs put into a group, but not into the same one."""
    if by not in pairing.candidate.details:
        return 0
    before, after = pairing.baseline.details[by], pairing.candidate.details[by]
    alignment = pairing.alignment
    if alignment.candidate_rows is None and before.equals(after):  # the usual case, at no cost
        return 0
    ours = pd.Series(alignment.baseline(before))
    theirs = pd.Series(alignment.candidate(after))
    both = (ours.notna() & theirs.notna()).to_numpy(dtype=bool)
    return int(_are_other_groups(ours[both].map(str), theirs[both].map(str)).sum())


def _are_other_groups(ours: pd.Series, theirs: pd.Series) -> BoolArray:
    """Whether the texts of two groups differ, as texts and as numbers: 1 and 1.0 are one group."""
    is_other: BoolArray = np.asarray(
        ours.to_numpy(dtype=object) != theirs.to_numpy(dtype=object), dtype=bool
    )
    numbers, others = (
        pd.to_numeric(side[is_other], errors="coerce").to_numpy() for side in (ours, theirs)
    )
    is_other[is_other] = numbers != others  # NaN, of a text that is not a number, equals nothing
    return is_other


def _notes_on_groups(sliced: SlicedPairs, pairing: Pairing, by: str) -> Iterator[str]:
    yield from _group_notes(sliced.n_without, by)
    baseline, candidate = pairing.baseline.name, pairing.candidate.name
    if sliced.n_differing:
        yield (
            f"{by} of {sliced.n_differing} of {pairing.n_common} common queries differs between "
            f"{baseline!r} and {candidate!r}; groups are those of {baseline!r}"
        )
    what = "the test of heterogeneity and the pooling assume"
    yield from _shared_notes(sliced.shared_clusters, by, what)


def _records(
    table: Sequence[ComparedSlice], column: str, plan: ComparisonPlan
) -> Iterator[dict[str, object]]:
    """The rows of one metric, with what holds for all of its groups."""
    units = [part.row.pairs.units for part in table if part.row.pairs.n]
    spread = heterogeneity_test(units) if len(units) > 1 else None
    for part in table:
        numbers = part.row.numbers(plan)
        first = {name: numbers.pop(name) for name in ("metric", "candidate")}
        yield {
            **first,
            column: part.label,
            **numbers,
            "heterogeneity_pvalue": math.nan if spread is None else spread.pvalue,
            "crossing_pvalue": math.nan if spread is None else spread.crossing_pvalue,
        }


def _pool_differences(table: Sequence[ComparedSlice], plan: ComparisonPlan) -> PooledSlices:
    """The pooled differences of one metric, by independent units."""
    means = []
    for part in table:
        pairs, interval = part.row.pairs, part.row.interval
        error, degrees = mean_error(pairs.units) if pairs.n > 1 else (math.nan, 0.0)
        ends = interval.low, interval.high
        means.append(SliceMean(pairs.mean, error, pairs.n, degrees, *ends))
    widest = table[0].row.widest
    return pool_slices(
        means,
        confidence_level=plan.confidence_level,
        limits=(-widest, widest),
        fewest_units=plan.fewest_units,
    )


# -- reversals


@dataclass(frozen=True, eq=False)
class AllQueries:
    """All queries of a table of slices, on one metric of two runs.

    ``n``, ``total`` and ``squares`` are the number of the differences, their sum, and the sum of
    their squares, which is infinite if nothing is bounded.
    """

    pairing: Any
    metric: MetricPair
    plan: ComparisonPlan
    difference: float
    n: int
    total: float
    squares: float

    @classmethod
    def of(
        cls,
        pairing: Any,
        metric: MetricPair,
        rows: Sequence[MetricComparison],
        plan: ComparisonPlan,
    ) -> AllQueries:
        """What all slices of a metric are together."""
        columns = [row.pairs.differences for row in rows]
        totals, squares = zip(*map(_total_and_squares, columns), strict=True)
        n, total = sum(column.n for column in columns), math.fsum(totals)
        return cls(pairing, metric, plan, total / n if n else math.nan, n, total, sum(squares))


def _total_and_squares(differences: Column) -> tuple[float, float]:
    if not differences.n:
        return 0.0, 0.0
    with np.errstate(over="ignore"):
        squares = float((np.square(differences.values) * differences.counts).sum())
    return differences.mean * differences.n, squares


@dataclass(frozen=True, eq=False)
class ComparedSlice:
    """One metric of two runs on the queries of a slice, beside all other queries.

    ``rows`` says where the queries are among the common ones; of a scan it is the group.
    """

    label: str
    row: MetricComparison
    rows: Any
    whole: AllQueries

    @property
    def is_opposed(self) -> bool:
        """Whether the slice is tested, and differs in the other direction than all queries."""
        test = self.row.test
        return test.difference * self.whole.difference < 0 and math.isfinite(test.pvalue)

    @cached_property
    def others(self) -> PairedResult | None:
        """The test of the queries outside the slice; None if they are too few for one."""
        plan, outside = self.whole.plan, self.whole.pairing.without(self.rows)
        pairs = outside.independent_pairs(*self.whole.metric, plan.missing, plan.units)
        if pairs.n < plan.fewest_units:
            return None
        return paired_test(pairs, test=plan.test, n_resamples=plan.n_resamples, seed=plan.seed)

    @property
    def reversal_pvalue(self) -> float:
        """The p-value of a reversal: 1 if the directions agree, NaN if a test is missing."""
        own = self.row.test.pvalue
        if not self.is_opposed:
            return math.nan if math.isnan(own) else 1.0
        return math.nan if self.others is None else max(own, self.others.pvalue)

    @property
    def reversal_range(self) -> tuple[float, float]:
        """Two numbers between which the p-value of a reversal lies, without a further test.

        The smaller one is the p-value of the slice. The larger one is that p-value too, or a bound
        on the p-value of the other queries if this is larger (Hoeffding 1963: a sum of random signs
        reaches s with a probability of at most ``exp(-s**2 / (2 q))``, where q is the sum of
        squares).
        """
        whole, plan = self.whole, self.whole.plan
        n_others = whole.n - self.row.pairs.differences.n
        is_known = not self.is_opposed or n_others < plan.fewest_units
        has_bound = plan.test in _BOUNDED_TESTS and not plan.units.are_clusters
        if is_known or not (has_bound and math.isfinite(whole.squares)):
            exact = self.reversal_pvalue
            return exact, exact
        own_total, own_squares = _total_and_squares(self.row.pairs.differences)
        total = abs(whole.total - own_total) * (1.0 - _ROUNDING)
        squares = whole.squares - own_squares
        bound = 2.0 * math.exp(-((total / math.sqrt(squares)) ** 2) / 2.0) if squares > 0 else 1.0
        low = self.row.test.pvalue
        return low, max(low, min(bound, 1.0))


def _adjusted_reversals(
    slices: Sequence[ComparedSlice],
    correct: Callable[[FloatArray], FloatArray],
    correction: str,
) -> FloatArray:
    """The corrected p-values of the reversals of all slices.

    The test of all queries but those of a slice costs far more than that of the slice. It is made
    only where it can matter: as long as the correction gives the same for the smallest and for the
    largest possible p-values, no more of them are needed.
    """
    if correction not in _MONOTONE:
        return correct(np.array([part.reversal_pvalue for part in slices], dtype=np.float64))
    low, high = np.array([part.reversal_range for part in slices], dtype=np.float64).T.copy()
    while True:
        adjusted, highest = correct(low), correct(high)
        is_open = low < high
        differs = is_open & (adjusted != highest)
        if not differs.any():
            # What is known may still depend on what is open.
            if np.array_equal(adjusted, highest, equal_nan=True) or not is_open.any():
                return adjusted
            differs = is_open
        for place in np.flatnonzero(differs).tolist():
            low[place] = high[place] = slices[place].reversal_pvalue
