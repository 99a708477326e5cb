"""What is shown of each metric of two pipelines: better, worse, equivalent, or undecided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from rageval_report.analysis.sentence_parts import number, rounded_count
from rageval_report.scores.shown import (
    BETTER,
    EQUIVALENT,
    IDENTICAL,
    NOT_TESTED,
    UNDECIDED,
    WORSE,
    Shown,
    changed_text,
    shown_by,
)

SHOWN_IN_ORDER: tuple[Shown, ...] = (WORSE, BETTER, EQUIVALENT, IDENTICAL, UNDECIDED, NOT_TESTED)
"""The order in which a reader wants to see them."""

# Of more queries than ten times those there are, only the order of magnitude is said.
_MOST_TIMES = 10


@dataclass(frozen=True)
class MetricVerdict:
    """One metric of two pipelines, as a person is told about it.

    Parameters
    ----------
    metric : str
        Its name.
    label : str
        What it is called in sentences.
    baseline, candidate : str
        The two pipelines.
    shown : str
        "better" and "worse" are those of the candidate; "not tested" if there are too few queries.
    greater_is_better : bool
        The metric's direction.
    n, n_dropped : int
        The queries compared, and those that one of the two did not score.
    means : (float, float)
        That of the baseline and that of the candidate.
    difference, ci_low, ci_high : float
        Candidate minus baseline, with its interval.
    pvalue, pvalue_adjusted : float
        Before and after the correction.
    wins, ties, losses : int
        Queries on which the candidate is better, equal and worse.
    detectable : float
        The smallest difference that as many queries show in 80 of 100 cases; NaN if not known.
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
        """The first useful difference that more queries would show, and their number."""
        return next((pair for pair in self.needed if not pair[1] <= self.n), None)

    @property
    def reason(self) -> str:
        """What stands under the verdict: the queries behind it, the margin, or what is needed."""
        return _REASONS[self.shown](self)

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
    rows: list[dict[str, Any]] = [
        {str(key): value for key, value in row.items()} for row in frame.to_dict("records")
    ]
    return [_verdict_of(row, alpha, margins, labels or {}) for row in rows]


def _verdict_of(
    row: Mapping[str, Any],
    alpha: float,
    margins: Mapping[str, float] | float | None,
    labels: Mapping[str, str],
) -> MetricVerdict:
    name = str(row["metric"])
    return MetricVerdict(
        metric=name,
        label=labels.get(name, name),
        baseline=str(row["baseline"]),
        candidate=str(row["candidate"]),
        shown=shown_by(row, alpha),
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
        needed=_needed_in(row),
        margin=_margin_of(name, margins),
        is_share=row.get("kind") in ("binary", "proportion"),
    )


def _needed_in(row: Mapping[str, Any]) -> tuple[tuple[float, float], ...]:
    pairs = (
        ("planned_difference", "n_needed"),
        ("smaller_planned_difference", "n_needed_smaller"),
    )
    known = ((float(row.get(size, math.nan)), float(row.get(n, math.nan))) for size, n in pairs)
    return tuple(pair for pair in known if not math.isnan(pair[0]))


def _margin_of(name: str, margins: Mapping[str, float] | float | None) -> float:
    if isinstance(margins, Mapping):
        return float(margins.get(name, math.nan))
    return math.nan if margins is None else float(margins)


# -- words


def queries_text(n: float, present: int) -> str:
    """A number of queries that are needed, beside those there are.

    Examples
    --------
    >>> queries_text(590.2, 187), queries_text(2500.0, 187), queries_text(float("nan"), 187)
    ('about 600 queries', 'over 1,000 queries', 'over 1,000 queries')
    """
    if n <= _MOST_TIMES * present:
        return f"about {with_commas(int(rounded_count(math.ceil(n))))} queries"
    return f"over {most_said(present)} queries"


def most_said(present: int) -> str:
    """The largest number of queries that is said: ten times those there are, in round numbers."""
    most = _MOST_TIMES * present
    digit = 10 ** max(len(str(most)) - 1, 0)
    return with_commas(most // digit * digit)


def with_commas(n: int) -> str:
    """A count with commas between thousands."""
    return f"{n:,}"


def size_text(size: float) -> str:
    """A size that somebody chose, without needless digits.

    Examples
    --------
    >>> size_text(0.05), size_text(0.125), size_text(50.0), size_text(33.934)
    ('0.05', '0.125', '50', '33.9')
    """
    text = number(size)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def signed(value: float) -> str:
    """A difference with its sign.

    Examples
    --------
    >>> signed(0.1264), signed(-0.051), signed(320.2)
    ('+0.126', '-0.051', '+320')
    """
    return f"+{number(value)}" if value > 0 else number(value)


def names_with_rest(names: Sequence[str], most: int = 3) -> str:
    """Names as a sentence lists them, the first few if they are many.

    Examples
    --------
    >>> names_with_rest(["a", "b"]), names_with_rest(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 more')
    """
    shown = list(names[:most])
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def counted(n: int, singular: str, plural: str = "") -> str:
    """A count with its noun.

    Examples
    --------
    >>> counted(1, "metric"), counted(1200, "query", "queries")
    ('1 metric', '1,200 queries')
    """
    return f"{with_commas(n)} {singular if n == 1 else plural or f'{singular}s'}"


def _shown_reason(verdict: MetricVerdict) -> str:
    noun = "query" if verdict.losses == 1 else "queries"
    return changed_text(verdict.wins, verdict.losses, noun=noun)


def _undecided_reason(verdict: MetricVerdict) -> str:
    missing = verdict.missing_queries
    if missing is None:
        return _shown_reason(verdict)
    size, n = missing
    needed = queries_text(n, verdict.n).replace("about ", "~")
    return f"{needed} to see {size_text(size)}, {with_commas(verdict.n)} now"


def _not_tested_reason(verdict: MetricVerdict) -> str:
    return f"{counted(verdict.n, 'query', 'queries')} in common"


_REASONS = {
    BETTER: _shown_reason,
    WORSE: _shown_reason,
    EQUIVALENT: lambda verdict: f"within ±{size_text(verdict.margin)}, your margin",
    IDENTICAL: lambda verdict: f"equal on all {with_commas(verdict.n)} queries",
    UNDECIDED: _undecided_reason,
    NOT_TESTED: _not_tested_reason,
}


def of_shown(verdicts: Iterable[MetricVerdict], shown: Shown) -> list[MetricVerdict]:
    """The verdicts of one kind, the surest first."""
    chosen = [verdict for verdict in verdicts if verdict.shown == shown]
    return sorted(chosen, key=lambda verdict: verdict.pvalue)
