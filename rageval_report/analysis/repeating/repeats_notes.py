"""The noise of repeated runs: its limits, how many repeats are worthwhile, and the sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd
import scipy

from rageval_report.analysis.history.changes import (
    DatedRun,
    config_changes,
    fields_of,
)
from rageval_report.analysis.history.run_pairs import query_set_change
from rageval_report.analysis.repeating.shared_runs import common_queries_note
from rageval_report.reports.sentences import number, pvalue_text, rounded_count
from rageval_report.scores import Metric, Scored
from rageval_report.stats.components import VarianceComponents

# If more runs than this would be worthwhile, queries hardly differ beyond the noise.
_MOST_WORTH = 100


def repeats_worth(between: float, within: float, tolerance: float) -> float:
    """The fewest runs that bring the standard error near to its value without noise.

    Parameters
    ----------
    between, within : float
        The variance between queries, and within a query.
    tolerance : float
        The share by which the standard error may exceed it.

    Returns
    -------
    float
        An integer; infinite if queries do not differ, so that every repeat helps; NaN if that is
        unknown.

    Examples
    --------
    >>> repeats_worth(0.04, 0.01, 0.05), repeats_worth(0.0, 0.01, 0.05)
    (3.0, inf)
    """
    if math.isnan(between):
        return math.nan
    if within == 0:
        return 1.0
    if between == 0:
        return math.inf
    needed = within / between / ((1.0 + tolerance) ** 2 - 1.0)
    # A quotient that is whole but for rounding must not be rounded up.
    return float(max(1, math.ceil(needed - 1e-9)))


def noise_limit(within: float, n: int, n_runs: int = 1, level: float = 0.95) -> float:
    """The difference between the means of two measurements that is due to noise alone.

    Parameters
    ----------
    within : float
        The variance of a query's score from run to run.
    n, n_runs : int
        The number of queries, and of runs of each query, in either measurement.
    level : float
        The share of pairs of measurements that differ by less.

    Examples
    --------
    >>> round(noise_limit(0.01, 100), 4)  # 1.96 times the root of 2 * 0.01 / 100
    0.0277
    """
    # Twice, because both measurements have noise of their own.
    return float(scipy.special.ndtri(0.5 + level / 2.0)) * math.sqrt(2.0 * within / (n * n_runs))


def repeats_verdict(
    metric: Metric, components: VarianceComponents | None, level: float, tolerance: float
) -> str:
    """The verdict on the noise of a metric.

    Parameters
    ----------
    metric : Metric
        The metric.
    components : VarianceComponents or None
        Its variance components; None if no query is scored in every run.
    level : float
        The confidence level.
    tolerance : float
        As in `repeats_worth`.
    """
    if components is None:
        return f"{metric.name}: no query is scored in every run"
    if components.n < 2:
        return f"{metric.name}: only one query is scored in every run, which is too few"
    if components.within == 0:
        k, n = components.k, components.n
        return f"{metric.name}: all {k} runs give equal scores on all {n} queries"
    limit = number(noise_limit(components.within, components.n, 1, level))
    low, high = components.sd_within.low, components.sd_within.high
    return (
        f"{metric.name}: a query's score moves by {number(components.sd_within.estimate)} from run "
        f"to run (SD, {100 * level:g} % CI {number(low)} to {number(high)}); means of two runs of "
        f"{components.n} queries differ by up to {limit} by noise alone; "
        f"{_worth_part(components, tolerance)}"
    )


def _worth_part(components: VarianceComponents, tolerance: float) -> str:
    worth = repeats_worth(components.between, components.within, tolerance)
    error, floor = (
        number(components.standard_error()),
        number(math.sqrt(components.between / components.n)),
    )
    if worth == 1:
        return (
            f"one run is enough for the mean: its standard error is {error}, and would be {floor} "
            "without noise"
        )
    if worth > _MOST_WORTH:
        return (
            f"queries hardly differ beyond the noise, so every repeat helps the mean; its standard "
            f"error is {error}"
        )
    then = number(components.standard_error(int(worth)))
    return (
        f"{rounded_count(int(worth))} runs bring the standard error of the mean from {error} to "
        f"{then}, and no number of runs brings it below {floor}; as many times the queries, run "
        f"once, bring it to {number(components.standard_error(1, components.n * int(worth)))}"
    )


def repeats_notes(
    runs: Sequence[Scored],
    shared: Sequence[Sequence[Metric]],
    frame: pd.DataFrame,
    ids: pd.Index,
    level: float,
) -> Iterator[str]:
    """The notes on the table.

    Parameters
    ----------
    runs : sequence of Scored
        The runs.
    shared : sequence of sequence of Metric
        Each metric, as each run knows it.
    frame : DataFrame
        The table.
    ids : Index
        The queries that all runs have.
    level : float
        The confidence level.
    """
    yield from common_queries_note(runs, ids)
    dropped = frame.loc[frame["n_dropped"] > 0, ["metric", "n_dropped"]]
    if len(dropped):
        counts = ", ".join(f"{name} {n}" for name, n in dropped.itertuples(index=False))
        yield f"queries left out because some run did not score them: {counts}"
    noisy = set(frame.loc[frame["sd_within"] > 0, "metric"])
    yield from _difference_notes(runs)
    binary = [own[0].name for own in shared if own[0].kind == "binary" and own[0].name in noisy]
    if binary:
        names = ", ".join(binary)
        yield f"{names}: the interval of icc assumes normal scores, so for 0/1 scores it is rough"
    shifted = frame[frame["run_effect_pvalue_adjusted"] <= 1.0 - level]
    for name, pvalue in zip(shifted["metric"], shifted["run_effect_pvalue_adjusted"], strict=True):
        yield (
            f"{name}: whole runs are shifted against each other (Holm-adjusted p "
            f"{pvalue_text(pvalue)}); more than noise of single queries changed between the runs"
        )


def _difference_notes(runs: Sequence[Scored]) -> Iterator[str]:
    """The known differences between runs that should be repetitions of one."""
    dated = [DatedRun.of(run, config=getattr(run, "config", None)) for run in runs]
    fields = fields_of(dated)
    changes = {
        str(change)
        for run in dated[1:]
        for change in config_changes(dated[0].config, run.config, fields)
    }
    if changes:
        yield (
            "the configurations of the runs differ or are unknown, so their scores may differ by "
            f"more than noise: {'; '.join(sorted(changes))}"
        )
    edited = [change for run in dated[1:] if (change := query_set_change(dated[0], run))]
    if any("another reference" in change for change in edited):
        yield f"the gold set is not the same in all runs: {'; '.join(dict.fromkeys(edited))}"
