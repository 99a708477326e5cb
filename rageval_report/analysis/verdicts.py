"""What is shown of each metric of two pipelines, as data: better, worse, equivalent, undecided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pandas as pd

from rageval_report.reports.sentences import (
    counted,
    needed_in,
    pair_answer,
    queries_text,
    several_answer,
    size_text,
    with_commas,
)
from rageval_report.results import Answer, Result
from rageval_report.scores.names import ShortNames, shorten_names
from rageval_report.scores.shown import (
    BETTER,
    EQUIVALENT,
    IDENTICAL,
    NOT_TESTED,
    NOT_WORSE,
    UNDECIDED,
    WORSE,
    Shown,
    changed_text,
    shown_by,
)
from rageval_report.stats.units import FEWEST_UNITS

SHOWN_IN_ORDER: tuple[Shown, ...] = (WORSE, BETTER, EQUIVALENT, IDENTICAL, UNDECIDED, NOT_TESTED)
"""The order in which a reader wants to see them."""


@dataclass(frozen=True)
class MetricVerdict:
    """One metric of two pipelines, as a page shows it.

    Parameters
    ----------
    metric, label, baseline, candidate : str
        The metric, what it is called in sentences, and the pipelines.
    shown : str
        "better" and "worse" are those of the candidate; "not tested" if there are too few queries.
    greater_is_better : bool
        The metric's direction.
    n, n_dropped : int
        The queries compared, and those that one of the two did not score.
    means : (float, float)
        That of the baseline and that of the candidate.
    difference, ci_low, ci_high, pvalue, pvalue_adjusted, wins, ties, losses
        As in the table.
    detectable : float
        The smallest difference that as many queries detect in 80 of 100 cases; NaN if unknown.
    needed : tuple of (float, float)
        Differences of a useful size, and the number of queries that each needs.
    margin : float
        The difference that is too small to matter; NaN without one.
    is_share : bool
        Whether its scores lie between 0 and 1 by definition.
    """

    metric: str
    label: str
    baseline: str
    candidate: str
    shown: Shown
    greater_is_better: bool
    n: int
    n_dropped: int
    means: tuple[float, float]
    difference: float
    ci_low: float
    ci_high: float
    pvalue: float
    pvalue_adjusted: float
    wins: int
    ties: int
    losses: int
    detectable: float = math.nan
    needed: tuple[tuple[float, float], ...] = ()
    margin: float = math.nan
    is_share: bool = False

    @property
    def improvement(self) -> float:
        """The difference, turned so that more is better."""
        return self.difference if self.greater_is_better else -self.difference

    @property
    def missing_queries(self) -> tuple[float, float] | None:
        """The first useful difference that more queries would detect, and their number."""
        return next((pair for pair in self.needed if not pair[1] <= self.n), None)

    @property
    def reason(self) -> str:
        """What stands under the verdict: the queries behind it, the margin, or what is needed."""
        n, missing = with_commas(self.n), self.missing_queries
        if self.shown == EQUIVALENT:
            return f"within ±{size_text(self.margin)}, your margin"
        if self.shown == IDENTICAL:
            return f"equal on all {n} queries"
        if self.shown == NOT_TESTED:
            return f"{counted(self.n, 'query', 'queries')} in common"
        if self.shown == UNDECIDED and missing is not None:
            size, needed = missing
            count = queries_text(needed, self.n).replace("about ", "~")
            return f"{count} to see {size_text(size)}, {n} now"
        noun = "query" if self.losses == 1 else "queries"
        return changed_text(self.wins, self.losses, noun=noun)

    def turned(self) -> MetricVerdict:
        """The same metric with the two pipelines the other way round."""
        opposite: dict[Shown, Shown] = {BETTER: WORSE, WORSE: BETTER}
        return replace(
            self,
            baseline=self.candidate,
            candidate=self.baseline,
            shown=opposite.get(self.shown, self.shown),
            means=self.means[::-1],
            difference=0.0 - self.difference,
            ci_low=0.0 - self.ci_high,
            ci_high=0.0 - self.ci_low,
            wins=self.losses,
            losses=self.wins,
        )


def verdicts_of(
    frame: pd.DataFrame,
    *,
    alpha: float,
    margins: Mapping[str, float] | float | None = None,
    labels: Mapping[str, str] | None = None,
) -> list[MetricVerdict]:
    """The verdict of each row of a table of paired comparisons, in its order.

    Parameters
    ----------
    frame : DataFrame
        That of a `Comparison`, or of `Ranking.pairs`.
    alpha : float
        The error rate.
    margins : float or mapping of str to float, optional
        The margins of equivalence.
    labels : mapping of str to str, optional
        What metrics are called, by their names; the names themselves if omitted.
    """
    by_metric = margins if isinstance(margins, Mapping) else None
    every = math.nan if margins is None or by_metric is not None else float(cast("float", margins))
    named, verdicts = labels or {}, []
    for row in frame.to_dict("records"):
        name = str(row["metric"])
        verdicts.append(
            MetricVerdict(
                metric=name,
                label=named.get(name, name),
                baseline=str(row["baseline"]),
                candidate=str(row["candidate"]),
                shown=shown_by(cast("dict[str, Any]", row), alpha),
                greater_is_better=bool(row["greater_is_better"]),
                n=int(row["n"]),
                n_dropped=int(row.get("n_dropped", 0)),
                means=(float(row["baseline_mean"]), float(row["candidate_mean"])),
                difference=float(row["difference"]),
                ci_low=float(row["ci_low"]),
                ci_high=float(row["ci_high"]),
                pvalue=float(row["pvalue"]),
                pvalue_adjusted=float(row["pvalue_adjusted"]),
                wins=int(row["wins"]),
                ties=int(row["ties"]),
                losses=int(row["losses"]),
                detectable=float(row.get("min_detectable_difference", math.nan)),
                needed=needed_in(cast("dict[str, Any]", row)),
                margin=every if by_metric is None else float(by_metric.get(name, math.nan)),
                is_share=row.get("kind") in ("binary", "proportion"),
            )
        )
    return verdicts


def comparison_verdicts(
    comparison: Result, labels: Mapping[str, str] | None = None
) -> list[MetricVerdict]:
    """The verdict of each row of a comparison; `labels` as in `verdicts_of`."""
    margin = cast("Mapping[str, float] | float | None", comparison.settings.get("margin"))
    alpha = alpha_of_result(comparison)
    return verdicts_of(comparison.frame, alpha=alpha, margins=margin, labels=labels)


def alpha_of_result(result: Result) -> float:
    """The error rate that belongs to the confidence level of a result."""
    return 1.0 - float(str(result.settings["confidence_level"]))


def of_shown(verdicts: Iterable[MetricVerdict], shown: Shown) -> list[MetricVerdict]:
    """The verdicts of one kind, the surest first."""
    chosen = [verdict for verdict in verdicts if verdict.shown == shown]
    return sorted(chosen, key=lambda verdict: verdict.pvalue)


def pair_text(
    verdicts: Sequence[MetricVerdict], names: ShortNames, fewest: int = FEWEST_UNITS
) -> str:
    """The answer for two pipelines in one sentence.

    Parameters
    ----------
    verdicts : sequence of MetricVerdict
        At least one; all of the same two pipelines.
    names : ShortNames
        The short names of the two.
    fewest : int
        The fewest queries that are tested.
    """
    labels = {shown: [own.label for own in of_shown(verdicts, shown)] for shown in SHOWN_IN_ORDER}
    pair = names.of(verdicts[0].baseline), names.of(verdicts[0].candidate)
    return pair_answer(labels, pair, max(verdict.n for verdict in verdicts), fewest)


def by_candidate(verdicts: Iterable[MetricVerdict]) -> dict[str, list[MetricVerdict]]:
    """The verdicts of each candidate."""
    groups: dict[str, list[MetricVerdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.candidate, []).append(verdict)
    return groups


def answer_of(verdicts: Sequence[MetricVerdict], fewest: int) -> str:
    """The answer for all candidates in one sentence; empty if the baselines differ."""
    if len({verdict.baseline for verdict in verdicts}) != 1:
        return ""
    groups = by_candidate(verdicts)
    names = shorten_names([verdicts[0].baseline, *groups])
    if len(groups) == 1:
        return pair_text(verdicts, names, fewest)
    shown = {
        name: (len(of_shown(own, BETTER)), len(of_shown(own, WORSE)))
        for name, own in groups.items()
    }
    return several_answer(shown, names.of(verdicts[0].baseline), names)


def answer_table(
    result: Result,
    answer: str,
    columns: Sequence[str],
    order: Mapping[str, Any],
    notes: Sequence[str],
    *,
    most_rows: int | None = None,
) -> Answer:
    """What is printed of a table of paired differences.

    Parameters
    ----------
    result : Result
        The whole.
    answer : str
        The answer in a sentence.
    columns : sequence of str
        The columns that are shown if the table has them; "candidate" heads the rows of each.
    order : mapping of str to Series
        What orders the rows, the first key first.
    notes : sequence of str
        What stands below.
    most_rows : int, optional
        How many rows are shown.
    """
    frame = result.frame
    names = shorten_names([*frame["baseline"].unique(), *frame["candidate"].unique()])
    candidates = list(dict.fromkeys(frame["candidate"]))
    keys = pd.DataFrame({"candidate": frame["candidate"].map(candidates.index), **order})
    shown = frame.loc[keys.sort_values([*keys], kind="stable").index[:most_rows]]
    shown = shown.assign(verdict=shown["verdict"].replace(NOT_WORSE, "not worse"))
    are_several = len(candidates) > 1
    known = tuple(
        name for name in columns if name in frame and (are_several or name != "candidate")
    )
    headings = {
        "baseline_mean": names.of(str(frame["baseline"].iloc[0])),
        "candidate_mean": "candidate" if are_several else names.of(str(candidates[0])),
        "pvalue_adjusted": "p",
    }
    return Answer(
        "",
        # With the pipelines, whose short names are explained below the table.
        shown[[*dict.fromkeys(("baseline", "candidate", *known))]],
        {**result.settings, "headings": headings},
        tuple(notes),
        headline=known,
        grouped_by="candidate" if are_several else "",
        answer=answer,
        rows_left_out=len(frame) - len(shown),
    )
