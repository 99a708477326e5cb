"""The verdicts of paired differences, and the families of tests that are corrected together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from rageval_report.reports.sentences import (
    counted,
    join_names,
    needed_in,
    pair_answer,
    queries_text,
    several_answer,
    size_text,
    with_commas,
)
from rageval_report.results import Answer, Result
from rageval_report.scores import Metric
from rageval_report.scores.names import ShortNames, shorten_names
from rageval_report.scores.shown import (
    BETTER,
    DIRECTION_UNKNOWN,
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
from rageval_report.stats.corrections import adjust_pvalues, level_left
from rageval_report.stats.units import FEWEST_UNITS
from rageval_report.types import FloatArray, IndexArray

SHOWN_IN_ORDER: tuple[Shown, ...] = (
    *(WORSE, BETTER, DIRECTION_UNKNOWN, EQUIVALENT, IDENTICAL, UNDECIDED, NOT_TESTED),
)
"""The order in which a reader wants to see them."""


@dataclass(frozen=True)
class MetricVerdict:
    """One metric of two pipelines, as a page shows it."""

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
        if self.shown == DIRECTION_UNKNOWN:
            return "is higher better?"
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


_COPIED = (
    *("metric", "baseline", "candidate", "greater_is_better", "n", "difference", "ci_low"),
    *("ci_high", "pvalue", "pvalue_adjusted", "wins", "ties", "losses"),
)


def verdicts_of(
    frame: pd.DataFrame,
    *,
    alpha: float,
    margins: Mapping[str, float] | float | None = None,
    labels: Mapping[str, str] | None = None,
) -> list[MetricVerdict]:
    """The verdict of each row of a table of paired comparisons, in its order."""
    rows: list[Any] = frame.to_dict("records")
    verdicts = []
    for row in rows:
        name = str(row["metric"])
        margin = margins.get(name) if isinstance(margins, Mapping) else margins
        verdicts.append(
            MetricVerdict(
                **{column: row[column] for column in _COPIED},
                label=(labels or {}).get(name, name),
                shown=shown_by(row, alpha),
                n_dropped=int(row.get("n_dropped", 0)),
                means=(row["baseline_mean"], row["candidate_mean"]),
                detectable=float(row.get("min_detectable_difference", math.nan)),
                needed=needed_in(row),
                margin=math.nan if margin is None else float(margin),
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
    """The answer for two pipelines in one sentence."""
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
    baseline = names.of(verdicts[0].baseline)
    unknown = dict.fromkeys(own.label for own in of_shown(verdicts, DIRECTION_UNKNOWN))
    if unknown and not any(own.shown in (BETTER, WORSE) for own in verdicts):
        on = join_names([*unknown], 3)
        return f"Candidates differ from {baseline} on {on}; is higher better?"
    shown = {
        name: (len(of_shown(own, BETTER)), len(of_shown(own, WORSE)))
        for name, own in groups.items()
    }
    return several_answer(shown, baseline, names)


def answer_table(
    result: Result,
    answer: str,
    columns: Sequence[str],
    order: Mapping[str, Any],
    notes: Sequence[str],
    *,
    most_rows: int | None = None,
) -> Answer:
    """What is printed of a table of paired differences."""
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


@dataclass(frozen=True, eq=False)
class CorrectionFamily:
    """The metrics of a table whose tests are corrected together, and the tests of the table."""

    members: tuple[str, ...]
    outside: tuple[str, ...] = ()
    names: Sequence[str] = ()
    pvalues: Any = ()
    within: Sequence[object] = ()

    @classmethod
    def of(cls, metrics: Iterable[Metric]) -> CorrectionFamily:
        """The families of these metrics: quality, and latency and cost apart."""
        is_quality = {metric.name: metric.group != "performance" for metric in metrics}
        members = tuple(name for name, is_member in is_quality.items() if is_member)
        outside = tuple(name for name, is_member in is_quality.items() if not is_member)
        return cls(members, outside) if members else cls(outside)

    def tested(
        self, names: Sequence[str], pvalues: FloatArray, within: Sequence[object] = ()
    ) -> CorrectionFamily:
        """The families with the metric and the p-value of each test, apart for each of `within`."""
        return replace(self, names=names, pvalues=pvalues, within=within)

    def correct(self, correct: Callable[[IndexArray], FloatArray]) -> FloatArray:
        """What a function gives for the places of the tests of each family."""
        is_member = [name in self.members for name in self.names]
        keys = list(zip(is_member, self.within or is_member, strict=True))
        corrected = np.full(len(keys), np.nan)
        for key in dict.fromkeys(keys):
            places = np.array([i for i, own in enumerate(keys) if own == key], dtype=np.intp)
            corrected[places] = correct(places)
        return corrected

    def adjusted(self, method: str, pvalues: FloatArray | None = None) -> FloatArray:
        """The p-values, or others of the same tests, corrected by a method of ``CORRECTIONS``."""
        raw = self.pvalues if pvalues is None else pvalues
        return self.correct(lambda own: adjust_pvalues(raw[own], method=method))

    @property
    def sizes(self) -> list[int]:
        """The number of tests in the family of each; NaN p-values are not tests."""
        counts = self.correct(lambda own: np.full(own.size, np.isfinite(self.pvalues[own]).sum()))
        return [int(count) for count in counts]

    @property
    def size(self) -> int:
        """The number of tests of quality metrics."""
        tests = zip(self.names, np.isfinite(self.pvalues).tolist(), strict=True)
        return sum(tested and name in self.members for name, tested in tests)

    def levels_left(self, correction: str, alpha: float, hidden: float = 0.0) -> FloatArray:
        """The level that a correction leaves to each test that is not shown."""
        # Westfall and Young's factor depends on more than the number of tests; Holm's is never
        # smaller.
        method = "holm" if correction == "westfall-young" else correction

        def level_of(own: IndexArray) -> FloatArray:
            adjusted = adjust_with_hidden(self.pvalues[own], method, hidden)
            n_tests, n_shown = int(np.isfinite(adjusted).sum()), int((adjusted <= alpha).sum())
            n_counted = n_tests + round(hidden * n_tests)
            return np.full(own.size, level_left(n_counted, n_shown, method, alpha=alpha))

        return self.correct(level_of)

    def notes(self) -> list[str]:
        """Which metrics are corrected apart."""
        apart = f"{', '.join(self.outside)}: corrected apart from the quality metrics"
        return [apart] if self.outside else []


def adjust_with_hidden(pvalues: FloatArray, correction: str, hidden: float = 0.0) -> FloatArray:
    """The corrected p-values of tests that were selected from more tests."""
    n_hidden = round(hidden * int(np.isfinite(pvalues).sum()))
    counted = np.concatenate([pvalues, np.ones(n_hidden)])
    return adjust_pvalues(counted, correction)[: len(pvalues)]
