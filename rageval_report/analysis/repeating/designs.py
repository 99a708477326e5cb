"""How many queries, runs and judges reach a standard error, and at what cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rageval_report.errors import DataError
from rageval_report.stats.components import FACTORS, CrossedComponents

# More runs or judges than this are not a plan.
_MOST = {"run": 100, "judge": 20}
_MOST_QUERIES = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """What one answer and one judgement cost, in any one unit.

    Parameters
    ----------
    answer, judgement : float
        At least 0, and one of them above 0.

    Raises
    ------
    DataError
        If a price is negative or not finite, or both are 0.
    """

    answer: float = 1.0
    judgement: float = 1.0

    def __post_init__(self) -> None:
        for parameter, price in (("answer_cost", self.answer), ("judgement_cost", self.judgement)):
            if not (math.isfinite(price) and price >= 0.0):
                raise DataError(f"{parameter} must be a number of at least 0; got {price}")
        if self.answer == self.judgement == 0.0:
            raise DataError("answer_cost or judgement_cost must be above 0; got 0 for both")

    def of(self, n: Mapping[str, int]) -> float:
        """What a design costs: each query answered in each run, each answer judged by each judge.

        Examples
        --------
        >>> Prices(1.0, 0.5).of({"query": 10, "run": 2, "judge": 3})
        50.0
        """
        return n["query"] * n["run"] * (self.answer + n["judge"] * self.judgement)


@dataclass(frozen=True, slots=True)
class Design:
    """A number of queries, runs and judges that reaches a standard error.

    Parameters
    ----------
    change : str
        What differs from the present design: ``queries``, ``runs``, ``judges`` or ``cheapest``.
    n : mapping of str to int
        The numbers; those of the present design if the aim cannot be reached.
    standard_error : float
        What they give; NaN if the aim cannot be reached.
    cost, cost_ratio : float
        The cost, and its ratio to that of the present design; infinite if the aim cannot be
        reached.
    """

    change: str
    n: Mapping[str, int]
    standard_error: float
    cost: float
    cost_ratio: float

    def row(self) -> dict[str, object]:
        """The design as a row of a table; numbers are NaN if the aim cannot be reached."""
        is_possible = math.isfinite(self.cost)
        counts = {
            column: self.n[factor] if is_possible else math.nan
            for column, factor in (("n_queries", "query"), ("n_runs", "run"), ("n_judges", "judge"))
        }
        return {
            "change": self.change,
            **counts,
            "standard_error": self.standard_error,
            "cost": self.cost if is_possible else math.nan,
            "cost_ratio": self.cost_ratio if is_possible else math.nan,
        }


def one_factor_designs(
    components: CrossedComponents, aim: float, fixed: Sequence[str], prices: Prices
) -> list[Design]:
    """The fewest queries, runs or judges that reach the aim while the others stay.

    Parameters
    ----------
    components : CrossedComponents
        The variance by source.
    aim : float
        The standard error to reach.
    fixed : sequence of str
        As in `CrossedComponents.counted`; a fixed factor gets no more levels.
    prices : Prices
        What answers and judgements cost.
    """
    ways = {"query": "queries", "run": "runs", "judge": "judges"}
    return [
        _design(components, change, _fewest(components, factor, aim, fixed), fixed, prices)
        for factor, change in ways.items()
        # Of a factor with one level the noise is unknown, so more of it promises nothing.
        if factor not in fixed and components.n[factor] > 1
    ]


def cheapest_design(
    components: CrossedComponents, aim: float, fixed: Sequence[str], prices: Prices
) -> Design:
    """The cheapest numbers of queries, runs and judges that reach the aim.

    Parameters
    ----------
    components, aim, fixed, prices
        As in `one_factor_designs`.
    """
    possible = []
    for run in _tried(components, "run", fixed):
        for judge in _tried(components, "judge", fixed):
            n = {**components.n, "run": run, "judge": judge}
            queries = _fewest_queries(components, n, aim, fixed)
            if queries is not None:
                possible.append({**n, "query": queries})
    best = min(possible, key=prices.of) if possible else None
    return _design(components, "cheapest", best, fixed, prices)


def _tried(components: CrossedComponents, factor: str, fixed: Sequence[str]) -> Sequence[int]:
    """The numbers of levels to try, fewer than now among them.

    At least two, because with one the next evaluation could not show this noise.
    """
    if factor in fixed or components.n[factor] == 1:
        return (components.n[factor],)
    return range(2, _MOST[factor] + 1)


def _fewest(
    components: CrossedComponents, factor: str, aim: float, fixed: Sequence[str]
) -> dict[str, int] | None:
    if factor == "query":
        queries = _fewest_queries(components, components.n, aim, fixed)
        return None if queries is None else {**components.n, "query": queries}
    for count in range(components.n[factor], _MOST[factor] + 1):
        n = {**components.n, factor: count}
        if components.standard_error_of(n, fixed) <= aim:
            return n
    return None


def _fewest_queries(
    components: CrossedComponents, n: Mapping[str, int], aim: float, fixed: Sequence[str]
) -> int | None:
    """The fewest queries that reach the aim; None if no number of them does.

    The variance of the mean is a part that queries divide and a part that they do not.
    """
    of_single_query = components.standard_error_of({**n, "query": 1}, fixed) ** 2
    rest = sum(
        source.variance / math.prod(n[factor] for factor in source.factors)
        for source in components.counted(fixed)
        if "query" not in source.factors
    )
    if aim**2 <= rest:
        return None
    # A quotient that is whole but for rounding must not be rounded up.
    queries = max(2, math.ceil((of_single_query - rest) / (aim**2 - rest) - 1e-9))
    return queries if queries <= _MOST_QUERIES else None


def _design(
    components: CrossedComponents,
    change: str,
    n: Mapping[str, int] | None,
    fixed: Sequence[str],
    prices: Prices,
) -> Design:
    now = prices.of(components.n)
    if n is None:
        return Design(change, dict(components.n), math.nan, math.inf, math.inf)
    counts = {factor: n[factor] for factor in FACTORS}
    cost = prices.of(counts)
    error = components.standard_error_of(counts, fixed)
    return Design(change, counts, error, cost, cost / now)
