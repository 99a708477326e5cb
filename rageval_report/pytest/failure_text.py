"""What a failed rule says in a report of pytest: the reason, the interval, the queries to read."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rageval_report.analysis.gate import Outcome, failing_queries
from rageval_report.errors import named
from rageval_report.render.display import clean
from rageval_report.reports.sentences import number


def failure_text(outcome: Outcome) -> str:
    """The text of a rule that does not hold."""
    return "\n".join(map(clean, _lines(outcome)))


def _lines(outcome: Outcome) -> Iterator[str]:
    yield outcome.why
    interval = outcome.measurement
    # The sentence of a rule on a limit has that limit as its value, and no interval.
    if outcome.request.limit and not math.isnan(interval.low) and not math.isnan(interval.high):
        level = f"{100 * outcome.level:g} % CI"
        yield f"{level} {number(interval.low)} to {number(interval.high)}"
    queries = failing_queries(outcome)
    if queries is not None:
        yield f"{queries.title}: {named(map(str, queries.frame.index))}"


def outcome_properties(outcome: Outcome) -> list[tuple[str, object]]:
    """The value, its interval and its counts, as properties of a test in JUnit XML."""
    measurement = outcome.measurement
    figures = {
        "pipeline": outcome.run.name,
        "state": outcome.state,
        "value": measurement.value,
        "ci_low": measurement.low,
        "ci_high": measurement.high,
        "threshold": outcome.request.threshold,
        "n": measurement.n,
        "n_unscored": measurement.n_unscored,
    }
    is_missing = {name: isinstance(x, float) and math.isnan(x) for name, x in figures.items()}
    return [(name, value) for name, value in figures.items() if not is_missing[name]]
