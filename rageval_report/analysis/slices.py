"""Summaries and comparisons in each group of queries, by any column of the details."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis import arguments, paired_metric
from rageval_report.analysis.pairing import MetricPair, MetricPairs, Pairing
from rageval_report.analysis.report import summarise
from rageval_report.analysis.tables import NO_GROUP, group_labels, rows_of_groups, table_of
from rageval_report.analysis.verdicts import CorrectionFamily, answer_table
from rageval_report.errors import check_options
from rageval_report.reports.sentences import (
    correction_name,
    correction_note,
    counted,
    false_discovery_notes,
    number,
    verdict_sentence,
)
from rageval_report.results import Answer, Result
from rageval_report.scores import Scored
from rageval_report.scores.names import shorten_names
from rageval_report.scores.shown import BETTER, WORSE, verdict_word
from rageval_report.stats import pooling

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
        table, headline = means.rename_axis(columns=None).reset_index(), (by, "n", *columns)
        return Answer("", table, self.settings, self.notes[:1], headline, answer=answer)


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
    known, column = [*parts[0].frame["metric"]], _column_for(by, parts[0].frame)
    for label, part in zip(groups, parts, strict=True):
        part.frame.insert(1, column, label)
    frame = pd.concat([part.frame for part in parts])
    # The parts are group by group, the table is metric by metric.
    order = np.arange(len(frame)).reshape(len(parts), -1).T.ravel()
    n_without = groups[NO_GROUP].n_queries if NO_GROUP in groups else 0
    return SliceSummary(
        f"{table.sample.name} by {by}",
        frame.iloc[order].reset_index(drop=True),
        {**parts[0].settings, "by": column},
        (
            *_notes_without_group(n_without, by),
            *table.notes([table.sample.metrics[name] for name in known]),
        ),
        (
            *(column, "n", "n_clusters", "n_unscored", "mean", "ci_low", "ci_high"),
            *("std", "min", "p50", "max"),
        ),
        grouped_by="title",
    )


def _column_for(by: str, frame: pd.DataFrame) -> str:
    """The name of the column of groups: that of the details, unless the table has one like it."""
    return f"{by}_slice" if by in frame else by


def _notes_without_group(n: int, by: str) -> list[str]:
    return [f"{counted(n, 'query has', 'queries have')} no {by}"] if n else []


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
        by, n_tests = str(self.settings["by"]), int(str(self.settings["family_size"]))
        words = self.plan.words(str(self.settings["correction"]), n_tests)
        rows: list[Any] = self.reversals.to_dict("records")
        return tuple(
            f"where {by} is {row[by]}, {verdict_sentence(row, words)}; over all queries it is "
            f"{row['overall_difference']:+.3f}"
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
            none = f"no difference is shown for {name} in {n}"
            parts.append(f"{name} is {' and '.join(shown)} of {n}" if shown else none)
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


def slice_comparison(
    comparison: paired_metric.ComparisonLike,
    by: str,
    metrics: str | Iterable[str] | None = None,
    correction: str = "holm",
) -> SliceComparison:
    """Compare two runs in each group of queries, and test whether the groups agree."""
    plan, column, sliced = comparison.plan, _column_for(by, comparison.frame), []
    for pairing in comparison.pairings:
        source: Any = pairing  # a scan counts its groups by itself
        chosen = arguments.pick({pair[0].name: pair for pair in pairing.metrics}, metrics)
        is_scan = not isinstance(pairing, Pairing)
        sliced.append(
            source.sliced(by, chosen, plan) if is_scan else _sliced(pairing, by, chosen, plan)
        )
    tables = [table for own, _ in sliced for table in own]
    rows = [row for table in tables for row in table.values()]
    frame = pd.DataFrame([record for table in tables for record in _records(table, column)])
    raw = np.array([row.bounded_pvalue for row in rows])
    family = CorrectionFamily.of(row.metric for row in rows).tested(frame["metric"].tolist(), raw)
    # The best of several variants was chosen on the queries of all groups.
    adjusted = np.minimum(1.0, plan.tried * family.adjusted(correction))
    frame.insert(list(frame).index("pvalue") + 1, "pvalue_adjusted", adjusted)
    records: list[Any] = frame.to_dict("records")
    frame["verdict"] = [verdict_word(row, plan.alpha) for row in records]
    several = ("candidate",) if len(set(frame["candidate"])) > 1 else ()
    n_shown = int((frame["pvalue_adjusted"] <= plan.alpha).sum())
    return SliceComparison(
        f"{comparison.title}, by {by}",
        frame,
        {
            **comparison.settings,
            "by": column,
            "correction": correction,
            "family_size": family.size,
        },
        (
            *dict.fromkeys(note for _, n in sliced for note in _notes_without_group(n, by)),
            f"p-values are adjusted ({correction}) over {family.size} tests",
            *false_discovery_notes(correction, n_shown, plan.alpha),
            *family.notes(),
        ),
        (
            *(column, *several, "n", "baseline_mean", "candidate_mean", "difference", "ci_low"),
            *("ci_high", "pvalue_adjusted", "wins", "ties", "losses", "verdict"),
        ),
        grouped_by="metric",
        plan=plan,
        apart=family.outside,
    )


# Two runs in groups of queries: of each metric the groups, the largest first; and how many queries
# have no group.
SlicedPairs = tuple[list[dict[str, paired_metric.MetricComparison]], int]


def _sliced(
    pairing: Pairing, by: str, metrics: Sequence[MetricPair], plan: paired_metric.ComparisonPlan
) -> SlicedPairs:
    labels = group_labels(pairing.baseline, by).reindex(pairing.alignment.ids)
    groups, rows, tables = rows_of_groups(labels), pairing.rows, []
    for ours, theirs in metrics:
        before, after, applies = pairing.sides(ours, theirs, plan.missing)
        own = {}
        for label, places in groups.items():
            sides = before[places], after[places], applies[places]
            known = MetricPairs.of_scores(ours, sides, plan.units, rows[places], plan.missing)
            own[label] = paired_metric.MetricComparison(pairing.names, ours, known, plan)
        tables.append(own)
    return tables, int((labels == NO_GROUP).sum())


def _records(
    table: dict[str, paired_metric.MetricComparison], column: str
) -> Iterator[dict[str, object]]:
    """The rows of one metric, with what holds for all of its groups."""
    units = [row.pairs.units for row in table.values() if row.pairs.n]
    spread = pooling.heterogeneity_test(units) if len(units) > 1 else None
    columns = [row.pairs.differences for row in table.values()]
    n = sum(own.n for own in columns)
    total = math.fsum(own.mean * own.n for own in columns if own.n)
    for label, row in table.items():
        numbers = row.numbers()
        first = {name: numbers.pop(name) for name in ("metric", "candidate")}
        yield {
            **first,
            column: label,
            **numbers,
            "heterogeneity_pvalue": math.nan if spread is None else spread.pvalue,
            "crossing_pvalue": math.nan if spread is None else spread.crossing_pvalue,
            "overall_difference": total / n if n else math.nan,
        }
