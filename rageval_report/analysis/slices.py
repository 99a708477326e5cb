"""Summaries and comparisons in each group of queries, by any column of the details."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis import arguments, paired_metric
from rageval_report.analysis.pairing import MetricPair, MetricPairs, Pairing
from rageval_report.analysis.report import summarise
from rageval_report.analysis.tables import (
    NO_GROUP,
    GroupedRows,
    count_shared,
    group_labels,
    table_of,
)
from rageval_report.analysis.verdicts import CorrectionFamily, answer_table
from rageval_report.errors import check_options
from rageval_report.reports.sentences import (
    correction_name,
    correction_note,
    counted,
    false_discovery_notes,
    number,
    pvalue_text,
    verdict_sentence,
)
from rageval_report.results import Answer, Result
from rageval_report.scores import Scored
from rageval_report.scores.names import shorten_names
from rageval_report.scores.shown import BETTER, WORSE, verdict_word
from rageval_report.stats import base, pooling
from rageval_report.stats.units import mean_error

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
        # Pooled means are in the frame alone.
        notes = tuple(note for note in self.notes if "pooled_mean" not in note)[:1]
        return Answer("", table, self.settings, notes, (by, "n", *columns), answer=answer)


def slice_summary(
    evaluation: Scored,
    by: str,
    metrics: str | Iterable[str] | None = None,
    *,
    clusters: arguments.Clusters | None = None,
    **settings: Unpack[arguments.MeanKeywords],
) -> Result:
    """Describe each metric in each group of queries."""
    check_options("slice_summary()", settings, arguments.MeanKeywords.__annotations__)
    table = table_of(evaluation, clusters)
    groups = table.groups(by)
    parts = [summarise(g, metrics=metrics, clusters=clusters, **settings) for g in groups.values()]
    own, known = parts[0].settings, [*parts[0].frame["metric"]]
    column = _column_for(by, parts[0].frame)
    for label, part in zip(groups, parts, strict=True):
        part.frame.insert(1, column, label)
    frame = pd.concat([part.frame for part in parts])
    # The parts are group by group, the table is metric by metric.
    order = np.arange(len(frame)).reshape(len(parts), -1).T.ravel()
    frame = frame.iloc[order].reset_index(drop=True)
    pools = []
    for name, rows in frame.groupby("metric", sort=False):
        metric = table.sample.metrics[str(name)]
        means = rows.rename(columns={"n": "n_units"})
        means = means.assign(error=rows["std"] / np.sqrt(rows["n"]), degrees=rows["n"] - 1.0)
        for place, group in zip(means.index, groups.values(), strict=True):
            if (spread := group.error(metric)) is not None:
                units = spread.standard_error, spread.n_clusters, spread.df
                means.loc[place, ["error", "n_units", "degrees"]] = units
        limits = arguments.mean_limits(metric, float(rows["min"].min()))
        level = float(str(own["confidence_level"]))
        pools.append(pool_means(means, str(name), level=level, limits=limits))
    _insert_pooled(frame, pools, "mean", after="ci_method")
    are_pooled = any(pool.are_pooled for pool in pools)
    notes = [*_notes_without_group(groups[NO_GROUP].n_queries if NO_GROUP in groups else 0, by)]
    columns = ["std", "min", "p50", "max"]
    if are_pooled:
        # With clusters a printed table has room for one of the two.
        spread_columns = ["std"] if table.are_clusters else ["std", "p50"]
        columns = ["pooled_mean", "pooled_ci_low", "pooled_ci_high", *spread_columns]
        if table.are_clusters:
            notes += _shared_notes(table.shared_clusters(by), by, "the pooling assumes")
    notes += _pooling_notes(pools, "mean")
    units_column = ["n_clusters"] if table.are_clusters else []
    return SliceSummary(
        f"{table.sample.name} by {by}",
        frame,
        {**own, "by": column},
        (*notes, *table.notes([table.sample.metrics[name] for name in known])),
        (column, "n", *units_column, "n_unscored", "mean", "ci_low", "ci_high", *columns),
        grouped_by="title",
    )


def _column_for(by: str, frame: pd.DataFrame) -> str:
    """The name of the column of groups: that of the details, unless the table has one like it."""
    return f"{by}_slice" if by in frame else by


def _notes_without_group(n: int, by: str) -> list[str]:
    return [f"{counted(n, 'query has', 'queries have')} no {by}"] if n else []


def _shared_notes(shared: tuple[int, int], by: str, assumption: str) -> list[str]:
    """That groups depend on each other, if some clusters have queries in several of them."""
    if not shared[0]:
        return []
    return [
        f"{shared[0]} of {shared[1]} clusters have queries in several groups of {by}, so the "
        f"groups are not independent, as {assumption}"
    ]


# -- partial pooling
#
# Of twenty slices the best and the worst are mostly small ones, by chance. The pooled columns move
# each mean towards the common one as far as chance explains the spread of the slices.


@dataclass(frozen=True, eq=False)
class _Pool:
    """The pooled means of the slices of a metric: estimate, low, high and shrinkage by slice."""

    metric: str
    columns: tuple[Any, ...]
    are_pooled: bool


def pool_means(
    means: pd.DataFrame,
    metric: str,
    *,
    level: float,
    limits: tuple[float, float] | None = None,
    fewest_units: int = 0,
) -> _Pool:
    """Pool the slices of a metric: columns mean, ci_low, ci_high, error, n_units, degrees."""
    estimates, errors, n_units = (
        means[name].to_numpy(dtype=np.float64) for name in ("mean", "error", "n_units")
    )
    own_degrees = np.where(np.isfinite(errors), means["degrees"], 0.0)
    common, degrees = pooling.errors_of_common_spread(errors, n_units, own_degrees)
    is_scored = ~np.isnan(estimates)
    largest = float(np.abs(estimates[is_scored]).max(initial=1.0))
    # Equal scores that were computed from floats have a spread of rounding errors.
    has_spread = degrees > 0.0 and float(common.max()) > base.TIE_TOLERANCE * largest
    if not has_spread or is_scored.sum() < pooling.FEWEST_GROUPS or n_units.sum() < fewest_units:
        shrinkage = np.where(is_scored, 0.0, math.nan)
        repeated = estimates, means["ci_low"], means["ci_high"], shrinkage
        return _Pool(metric, repeated, are_pooled=False)
    pooled = pooling.partial_pooling(estimates, common, confidence_level=level, degrees=degrees)
    low, high = (-math.inf, math.inf) if limits is None else limits
    ends = np.maximum(pooled.low, low), np.minimum(pooled.high, high)
    return _Pool(metric, (pooled.estimates, *ends, pooled.shrinkage), are_pooled=True)


def _insert_pooled(frame: pd.DataFrame, pools: Sequence[_Pool], what: str, *, after: str) -> None:
    """Insert the pooled columns; the slices are in the order of the rows."""
    names = (f"pooled_{what}", "pooled_ci_low", "pooled_ci_high", "shrinkage")
    columns = zip(*(pool.columns for pool in pools), strict=True)
    place = list(frame).index(after) + 1
    for offset, (name, parts) in enumerate(zip(names, columns, strict=True)):
        frame.insert(place + offset, name, np.concatenate(parts))


def _pooling_notes(pools: Sequence[_Pool], what: str) -> list[str]:
    """What the pooled columns are; nothing if no metric is pooled."""
    text = f"pooled_{what} is the {what} of a group pulled towards that of all groups, because "
    return [f"{text}small groups are noisy"] if any(pool.are_pooled for pool in pools) else []


# -- a pair of pipelines


@dataclass(frozen=True, eq=False, repr=False)
class SliceComparison(Result):
    """Two or more pipelines in each group of queries; see `slice_comparison`."""

    plan: paired_metric.ComparisonPlan = paired_metric.DEFAULT_PLAN
    apart: tuple[str, ...] = ()

    @property
    def reversals(self) -> pd.DataFrame:
        """The rows that are shown to differ in the other direction than all queries together."""
        is_shown = self.frame["pvalue_adjusted"] <= self.plan.alpha
        return self.frame[
            is_shown & (self.frame["difference"] * self.frame["overall_difference"] < 0)
        ]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Where a group is shown to differ in the other direction than all queries together."""
        by = str(self.settings["by"])
        n_tests = int(str(self.settings["family_size"]))
        words = self.plan.words(str(self.settings["correction"]), n_tests)
        rows: list[Any] = self.reversals.to_dict("records")
        return tuple(
            f"where {by} is {row[by]}, {verdict_sentence(row, words)}; over all queries it is "
            f"{row['overall_difference']:+.3f}, and "
            f"{_others_part(row, words.alpha)}"
            for row in rows
        )

    @property
    def summary(self) -> str:
        """In how many groups each candidate is better and worse, in one plain sentence."""
        if not len(self.frame):
            return ""
        frame, by = self.frame[~self.frame["metric"].isin(self.apart)], str(self.settings["by"])
        names = shorten_names([*frame["baseline"].unique(), *frame["candidate"].unique()])
        parts = []
        for candidate, own in frame.groupby("candidate", sort=False):
            name, n = names.of(str(candidate)), counted(own[by].nunique(), "group")
            in_groups = own.groupby("verdict")[by].nunique()
            shown = [
                f"{word} in {in_groups[word]}" for word in (BETTER, WORSE) if word in in_groups
            ]
            parts.append(
                f"{name} is {' and '.join(shown)} of {n}"
                if shown
                else f"no difference is shown for {name} in {n}"
            )
        text = f"by {by}, {'; '.join(parts)}."
        return text[0].upper() + text[1:]

    def printed(self) -> Result:
        """The answer, the rows that matter first, and at most three notes."""
        frame, alpha = self.frame, self.plan.alpha
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
        n_shown = int((frame["pvalue_adjusted"] <= alpha).sum())
        notes = [*self.sentences[:1], *false_discovery_notes(correction, n_shown, alpha)]
        if n_tests > 1:
            basis = f"p adjusted for {n_tests} tests ({correction_name(correction)})"
            if correction == "none":
                basis = correction_note(correction, n_tests, alpha)
            notes.append(f"{basis}; many groups were checked: confirm findings on new queries")
        columns = (str(self.settings["by"]), "candidate", *_PRINTED)
        return answer_table(self, self.summary, columns, order, notes, most_rows=_MOST_ROWS)


def _others_part(row: Mapping[str, Any], alpha: float) -> str:
    """Whether the other queries are shown to differ in the opposite direction."""
    if math.isnan(row["others_difference"]):
        return "the other queries are too few for a test"
    is_shown = row["reversal_pvalue_adjusted"] <= alpha
    verb = "show" if is_shown else "do not show"
    pvalue = row["reversal_pvalue_adjusted" if is_shown else "others_pvalue"]
    difference = f"{row['others_difference']:+.3f} (p {pvalue_text(pvalue)})"
    return f"the other queries {verb} the opposite: {difference}"


def slice_comparison(
    comparison: paired_metric.ComparisonLike,
    by: str,
    metrics: str | Iterable[str] | None = None,
    correction: str = "holm",
) -> SliceComparison:
    """Compare two runs in each group of queries, and test whether the groups agree."""
    plan, column = comparison.plan, _column_for(by, comparison.frame)
    tables: list[list[_Slice]] = []
    notes: dict[str, None] = {}
    for pairing in comparison.pairings:
        chosen = arguments.pick({pair[0].name: pair for pair in pairing.metrics}, metrics)
        source: Any = pairing  # a scan counts its groups by itself
        sliced: SlicedPairs = (
            _sliced(pairing, by, chosen, plan)
            if isinstance(pairing, Pairing)
            else source.sliced(by, chosen)
        )
        notes |= dict.fromkeys(_notes_on_groups(sliced, pairing, by))
        tables += _tested(sliced, chosen, plan)
    slices = [part for table in tables for part in table]
    frame = pd.DataFrame([record for table in tables for record in _records(table, column)])
    raw, reversed_ = (
        np.array([part.row.bounded_pvalue for part in slices]),
        np.array([part.reversal_pvalue for part in slices]),
    )
    family = CorrectionFamily.of(part.row.metric for part in slices)
    family = family.tested(frame["metric"].tolist(), raw)
    # The best of several variants was chosen on the queries of all groups.
    adjusted, reversal = (
        np.minimum(1.0, plan.tried * family.adjusted(correction, pvalues))
        for pvalues in (raw, reversed_)
    )
    frame.insert(list(frame).index("pvalue") + 1, "pvalue_adjusted", adjusted)
    frame["reversal_pvalue_adjusted"] = reversal
    is_shown = frame["pvalue_adjusted"] <= plan.alpha
    others = [part.others if shown else None for shown, part in zip(is_shown, slices, strict=True)]
    frame["overall_difference"] = [part.overall for part in slices]
    frame["others_difference"] = [math.nan if each is None else each.difference for each in others]
    frame["others_pvalue"] = [math.nan if each is None else each.pvalue for each in others]
    rows: list[Any] = frame.to_dict("records")
    frame["verdict"] = [verdict_word(row, plan.alpha) for row in rows]
    pools = [_pool_differences(table, plan) for table in tables]
    _insert_pooled(frame, pools, "difference", after="ci_high")
    n_tests = family.size
    # A printed table has room for either the means of both runs or the pooled columns.
    middle = ["baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high"]
    if any(pool.are_pooled for pool in pools):
        middle = [*middle[2:], "pooled_difference", "pooled_ci_low", "pooled_ci_high"]
    several = ("candidate",) if len(set(frame["candidate"])) > 1 else ()
    return SliceComparison(
        f"{comparison.title}, by {by}",
        frame,
        {**comparison.settings, "by": column, "correction": correction, "family_size": n_tests},
        (
            *notes,
            f"p-values are adjusted ({correction}) over {n_tests} tests",
            *false_discovery_notes(correction, int(is_shown.sum()), plan.alpha),
            *_pooling_notes(pools, "difference"),
            *family.notes(),
        ),
        (
            *(column, *several, "n", *middle),
            *("pvalue_adjusted", "wins", "ties", "losses", "verdict"),
        ),
        grouped_by="metric",
        plan=plan,
        apart=family.outside,
    )


# -- the pairs of each group


@dataclass(frozen=True, eq=False)
class SlicedPairs:
    """Two runs in groups of queries, not yet tested."""

    pairing: Any
    places: list[tuple[str, Any]]
    paired: list[paired_metric.MetricComparison]
    n_without: int
    n_differing: int
    shared_clusters: tuple[int, int]


def _sliced(
    pairing: Pairing, by: str, metrics: Sequence[MetricPair], plan: paired_metric.ComparisonPlan
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
            paired.append(paired_metric.MetricComparison(names, ours, known))
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
    ours, theirs = pd.Series(alignment.baseline(before)), pd.Series(alignment.candidate(after))
    differs = (ours.map(str) != theirs.map(str)) & ours.notna() & theirs.notna()
    # 1 and 1.0 are one group. NaN, of a text that is not a number, equals nothing.
    numbers = [pd.to_numeric(side[differs], errors="coerce") for side in (ours, theirs)]
    return int((numbers[0] != numbers[1]).sum())


def _notes_on_groups(sliced: SlicedPairs, pairing: Any, by: str) -> Iterator[str]:
    yield from _notes_without_group(sliced.n_without, by)
    baseline, candidate = pairing.baseline.name, pairing.candidate.name
    if sliced.n_differing:
        yield (
            f"{by} of {sliced.n_differing} of {pairing.n_common} common queries differs between "
            f"{baseline!r} and {candidate!r}; groups are those of {baseline!r}"
        )
    what = "the test of heterogeneity and the pooling assume"
    yield from _shared_notes(sliced.shared_clusters, by, what)


# -- the tests of each group, and of all other queries


@dataclass(frozen=True, eq=False)
class _Slice:
    """One metric of two runs in a group, and in all other queries."""

    label: str
    row: paired_metric.MetricComparison
    overall: float
    rest: Callable[[], paired_metric.MetricComparison]

    @property
    def is_opposed(self) -> bool:
        """Whether it is tested, and differs in the other direction than all queries."""
        test = self.row.test
        return test.difference * self.overall < 0 and math.isfinite(test.pvalue)

    @cached_property
    def others(self) -> base.PairedResult | None:
        """The test of all other queries where the group is opposed; None if they are too few."""
        rest = self.rest() if self.is_opposed else None
        return rest.test if rest is not None and rest.is_tested else None

    @property
    def reversal_pvalue(self) -> float:
        """The p-value of a reversal: 1 if the directions agree, NaN if a test is missing."""
        own = self.row.test.pvalue
        if not self.is_opposed:
            return math.nan if math.isnan(own) else 1.0
        return math.nan if self.others is None else max(own, self.others.pvalue)


def _tested(
    sliced: SlicedPairs, metrics: Sequence[MetricPair], plan: paired_metric.ComparisonPlan
) -> Iterator[list[_Slice]]:
    """The groups of each metric."""
    rows = iter([replace(paired, plan=plan) for paired in sliced.paired])

    def rest(place: Any, metric: MetricPair) -> paired_metric.MetricComparison:
        whole = sliced.pairing.without(place)
        return paired_metric.MetricComparison.of(whole, *metric, plan)

    for metric in metrics:
        own = [next(rows) for _ in sliced.places]
        columns = [row.pairs.differences for row in own]
        n = sum(column.n for column in columns)
        total = math.fsum(column.mean * column.n for column in columns if column.n)
        overall = total / n if n else math.nan
        yield [
            _Slice(label, row, overall, partial(rest, place, metric))
            for (label, place), row in zip(sliced.places, own, strict=True)
        ]


def _records(table: Sequence[_Slice], column: str) -> Iterator[dict[str, object]]:
    """The rows of one metric, with what holds for all of its groups."""
    units = [part.row.pairs.units for part in table if part.row.pairs.n]
    spread = pooling.heterogeneity_test(units) if len(units) > 1 else None
    for part in table:
        numbers = part.row.numbers()
        first = {name: numbers.pop(name) for name in ("metric", "candidate")}
        yield {
            **first,
            column: part.label,
            **numbers,
            "heterogeneity_pvalue": math.nan if spread is None else spread.pvalue,
            "crossing_pvalue": math.nan if spread is None else spread.crossing_pvalue,
        }


def _pool_differences(table: Sequence[_Slice], plan: paired_metric.ComparisonPlan) -> _Pool:
    """The pooled differences of one metric, by independent units."""
    first, rows = table[0].row, []
    for part in table:
        pairs, interval = part.row.pairs, part.row.interval
        error, degrees = mean_error(pairs.units) if pairs.n > 1 else (math.nan, 0.0)
        rows.append((pairs.mean, interval.low, interval.high, error, pairs.n, degrees))
    names = ["mean", "ci_low", "ci_high", "error", "n_units", "degrees"]
    return pool_means(
        pd.DataFrame(rows, columns=names, dtype=np.float64),
        first.metric.name,
        level=plan.confidence_level,
        limits=(-first.widest, first.widest),
        fewest_units=plan.fewest_units,
    )
