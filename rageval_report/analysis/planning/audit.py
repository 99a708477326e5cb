"""What a published claim can show: two means and a number of queries, without the scores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from rageval_report.analysis.planning.assumptions import USUAL_CORRELATION
from rageval_report.errors import DataError, explain_keywords
from rageval_report.reports.sentences import number, pvalue_text, rounded_count
from rageval_report.results import Result
from rageval_report.stats.base import check_integer, check_level, check_positive, check_probability
from rageval_report.stats.pairs import paired_interval, paired_test
from rageval_report.stats.planning import PlannedTest, binary_queries_needed
from rageval_report.stats.units import FEWEST_UNITS

# Two pipelines on the same queries: independent, as alike as usual, nearly the same.
_CORRELATIONS = (0.0, USUAL_CORRELATION, 0.9)
_HEADLINE = ("case", "difference", "ci_low", "ci_high", "pvalue", "is_shown", "n_needed")


@dataclass(frozen=True)
class _Claim:
    """A baseline's and a candidate's mean over the same queries."""

    n: int
    baseline: float
    candidate: float
    level: float
    power: float

    @property
    def difference(self) -> float:
        return self.candidate - self.baseline

    @property
    def counts(self) -> tuple[int, int] | None:
        """The right answers of both sides, if the means can be shares of n."""
        counts = [round(self.n * mean) for mean in (self.baseline, self.candidate)]
        # Means are published with two decimals or more.
        near = max(0.005, 0.5e-2 / self.n) + 1e-9
        for mean, count in zip((self.baseline, self.candidate), counts, strict=True):
            if not 0.0 <= mean <= 1.0 or abs(count / self.n - mean) > near:
                return None
        # Equal counts with unequal means: the means are not shares of n.
        return None if counts[0] == counts[1] else (counts[0], counts[1])


@explain_keywords
def audit(
    baseline_mean: float,
    candidate_mean: float,
    *,
    n: int,
    sd: float | None = None,
    power: float = 0.8,
    confidence_level: float = 0.95,
) -> Result:
    """What two published means can show, whatever the scores behind them are.

    Parameters
    ----------
    baseline_mean, candidate_mean : float
        The means, of one metric on the same queries.
    n : int
        The number of queries, at least 2.
    sd : float, optional
        The standard deviation of a query's scores. If omitted, the means are read as shares of
        right answers; if they cannot be shares of `n`, as scores from 0 to 1 that vary as much as
        possible.
    power : float
        For the number of queries that the difference needs.
    confidence_level : float
        One minus the level of significance.

    Returns
    -------
    Result
        One row per case, the best for the claim first: ``case``, ``difference``, ``ci_low``,
        ``ci_high``, ``pvalue``, ``is_shown``, ``n_needed`` (queries with which a difference of this
        size is shown with the power), ``verdict``.

    Raises
    ------
    DataError
        If a number makes no sense.

    Notes
    -----
    Shares of right answers: the scores are not published, so the number of queries that only one
    side gets right is unknown. The first case has as few of them as the means allow, which is the
    best for the claim, the last as many as possible. McNemar's mid-p test and its
    interval. Other scores: the paired t test for correlations of 0.9, 0.5 and 0 of both sides'
    scores. Fewer than 6 queries show nothing.

    Examples
    --------
    >>> result = audit(0.70, 1.00, n=10)
    >>> result.frame["case"][0], bool(result.frame["is_shown"][0])
    ('3 queries won, 0 lost (best case)', False)
    >>> round(float(result.frame["pvalue"][0]), 3)
    0.125
    """
    claim = _Claim(
        check_integer("n", n, 2),
        _check_mean("baseline_mean", baseline_mean),
        _check_mean("candidate_mean", candidate_mean),
        check_level(confidence_level),
        check_probability("power", power),
    )
    counts = claim.counts if sd is None else None
    if claim.difference == 0.0:
        raise DataError("the means are equal: there is no difference to audit")
    rows = list(_count_rows(claim, *counts) if counts else _score_rows(claim, sd))
    return Result(
        f"Audit: {number(claim.baseline)} to {number(claim.candidate)} on {claim.n} queries",
        pd.DataFrame([rows[0] | {"verdict": _verdict(claim, rows)}, *rows[1:]]),
        {"confidence_level": claim.level, "n": claim.n, "power": claim.power},
        tuple(_notes(claim, sd, is_share=counts is not None)),
        headline=_HEADLINE,
    )


def _check_mean(parameter: str, mean: float) -> float:
    if not math.isfinite(mean):
        raise DataError(f"{parameter} must be a finite number; got {mean}")
    return float(mean)


# -- the cases


def _count_rows(claim: _Claim, before: int, after: int) -> Iterator[dict[str, object]]:
    """Right and wrong answers: from the fewest changed queries to the most."""
    fewest = max(0, before - after)
    most = min(before, claim.n - after)
    for lost in sorted({fewest, (fewest + most) // 2, most}):
        won = lost + after - before
        ends = {fewest: " (best case)", most: " (worst case)"} if fewest < most else {}
        case = f"{won} queries won, {lost} lost{ends.get(lost, '')}"
        if fewest == most:
            case += " (best case)" if lost == 0 or won == 0 else ""
        yield _count_row(claim, case, won, lost, before - lost)


def _count_row(claim: _Claim, case: str, won: int, lost: int, both: int) -> dict[str, object]:
    baseline = np.zeros(claim.n)
    candidate = np.zeros(claim.n)
    candidate[:won] = 1.0
    baseline[won : won + lost] = 1.0
    baseline[won + lost : won + lost + both] = candidate[won + lost : won + lost + both] = 1.0
    pvalue = paired_test(baseline, candidate, test="mcnemar-midp").pvalue
    interval = paired_interval(baseline, candidate, confidence_level=claim.level)
    shares = (lost / claim.n, won / claim.n)
    needed = binary_queries_needed(*shares, claim.power, alpha=1.0 - claim.level)
    return _row(claim, case, (interval.low, interval.high), pvalue, needed)


def _score_rows(claim: _Claim, sd: float | None) -> Iterator[dict[str, object]]:
    """Scores: for correlations of both sides from high to low."""
    spread = _largest_sd(claim) if sd is None else check_positive("sd", sd)
    for correlation in reversed(_CORRELATIONS):
        deviation = spread * math.sqrt(2.0 * (1.0 - correlation))
        error = deviation / math.sqrt(claim.n)
        needed = PlannedTest(deviation).needed(
            claim.difference, claim.power, alpha=1.0 - claim.level
        )
        yield _row(
            claim,
            f"correlation {correlation:g}",
            _t_limits(claim, error),
            2.0 * float(scipy.special.stdtr(claim.n - 1, -abs(claim.difference) / error)),
            needed,
        )


def _largest_sd(claim: _Claim) -> float:
    """The largest standard deviation that scores from 0 to 1 with these means can have."""
    means = (claim.baseline, claim.candidate)
    if not all(0.0 <= mean <= 1.0 for mean in means):
        raise DataError(
            f"sd is needed for means that are not between 0 and 1; got {means[0]} and {means[1]}"
        )
    return math.sqrt(sum(mean * (1.0 - mean) for mean in means) / 2.0)


def _row(
    claim: _Claim, case: str, limits: tuple[float, float], pvalue: float, needed: float
) -> dict[str, object]:
    is_test = claim.n >= FEWEST_UNITS
    nan = math.nan
    return {
        "case": case,
        "difference": claim.difference,
        "ci_low": limits[0] if is_test else nan,
        "ci_high": limits[1] if is_test else nan,
        "pvalue": pvalue if is_test else nan,
        "is_shown": is_test and pvalue <= 1.0 - claim.level,
        "n_needed": needed,
    }


def _t_limits(claim: _Claim, error: float) -> tuple[float, float]:
    reach = error * float(scipy.special.stdtrit(claim.n - 1, 0.5 + claim.level / 2.0))
    return claim.difference - reach, claim.difference + reach


# -- the sentences


def _verdict(claim: _Claim, rows: list[dict[str, Any]]) -> str:
    what = f"{number(claim.baseline)} to {number(claim.candidate)} on {claim.n} queries"
    if claim.n < FEWEST_UNITS:
        return f"{what}: too few queries for any test; at least {FEWEST_UNITS} are needed"
    shown = [row["is_shown"] for row in rows]
    best, worst = rows[0], rows[-1]
    values = f"p {pvalue_text(best['pvalue'])} at best"
    if len(rows) > 1:
        values += f", {pvalue_text(worst['pvalue']).removeprefix('= ')} at worst"
    if all(shown):
        return f"{what}: a difference is shown in every case ({values})"
    if any(shown):
        return f"{what}: whether a difference is shown depends on the unpublished scores ({values})"
    n = best["n_needed"]
    needed = "more than ten million" if math.isnan(n) else rounded_count(int(n))
    return (
        f"{what}: no difference is shown, whatever the scores are ({values}); a difference of this "
        f"size needs {needed} queries{'' if math.isnan(n) else ' or more'}"
    )


def _notes(claim: _Claim, sd: float | None, *, is_share: bool) -> Iterator[str]:
    if is_share:
        yield "the means are read as shares of right answers; for other scores give sd="
    elif sd is None:
        yield (
            f"the means are not shares of {claim.n} queries, so the scores are taken to vary as "
            "much as scores from 0 to 1 can; give sd= if they vary less"
        )
    yield "the claim is of one metric; if it is the best of several, it shows less"
