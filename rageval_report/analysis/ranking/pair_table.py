"""The tables behind a ranking: every pair, and Friedman's test by metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis.ranking.lineup import ScoreBlock
from rageval_report.analysis.ranking.standing import alpha_of
from rageval_report.analysis.sentence_parts import number, pvalue_text
from rageval_report.results import Result
from rageval_report.stats import minimum_detectable_difference, paired_interval
from rageval_report.stats.all_pairs import AllPairs
from rageval_report.stats.pairs.paired import interval_of_test
from rageval_report.stats.ranks import friedman_test
from rageval_report.types import FloatArray

_HEADLINE = (
    *("baseline", "candidate", "n", "baseline_mean", "candidate_mean", "difference"),
    *("ci_low", "ci_high", "pvalue_adjusted", "wins", "ties", "losses"),
)


def pair_table(
    blocks: Mapping[str, ScoreBlock], tests: Mapping[str, AllPairs], settings: Mapping[str, Any]
) -> Result:
    """A row a metric and a pair, with the interval of the test; see `Ranking.pairs`."""
    rows = [row for name, pairs in tests.items() for row in _rows(blocks[name], pairs, settings)]
    family = len(rows)
    corrected = settings["correction"] != "none" and family > 1
    note = f"p-values are adjusted ({settings['correction']}) over these {family} pairs"
    return Result(
        "All pairs of pipelines",
        pd.DataFrame(rows),
        settings,
        (f"{note}; the intervals are not",) if corrected else (),
        headline=_HEADLINE,
        grouped_by="metric" if len(tests) > 1 else "",
    )


def _rows(
    block: ScoreBlock, pairs: AllPairs, settings: Mapping[str, Any]
) -> Iterator[dict[str, object]]:
    scores, alpha = block.complete, alpha_of(settings)
    for place, (i, j) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
        before, after = scores[:, i], scores[:, j]
        low, high = _limits(before, after, block, settings)
        wins, losses = int(pairs.wins[place]), int(pairs.losses[place])
        if not block.metric.greater_is_better:
            wins, losses = losses, wins
        yield {
            "metric": block.metric.name,
            "baseline": block.names[i],
            "candidate": block.names[j],
            "n": pairs.n,
            "baseline_mean": float(before.mean()),
            "candidate_mean": float(after.mean()),
            "difference": float(pairs.difference[place]),
            "ci_low": low,
            "ci_high": high,
            "test": pairs.tests[place],
            "pvalue": float(pairs.pvalue[place]),
            "pvalue_adjusted": float(pairs.pvalue_adjusted[place]),
            "wins": wins,
            "ties": int(pairs.ties[place]),
            "losses": losses,
            "min_detectable_difference": _detectable(pairs, place, alpha),
            "is_shown": bool(pairs.pvalue_adjusted[place] <= alpha),
        }


def _limits(
    before: FloatArray, after: FloatArray, block: ScoreBlock, settings: Mapping[str, Any]
) -> tuple[float, float]:
    """The interval of the difference, no wider than the metric's range."""
    drawn = {"n_resamples": settings["n_resamples"], "seed": settings["seed"]}
    method = interval_of_test(str(settings["test"]))
    level = settings["confidence_level"]
    one = paired_interval(before, after, method=method, confidence_level=level, **drawn)
    if block.metric.bounds is None:
        return one.low, one.high
    widest = block.metric.bounds[1] - block.metric.bounds[0]
    return float(np.maximum(one.low, -widest)), float(np.minimum(one.high, widest))


def _detectable(pairs: AllPairs, place: int, alpha: float) -> float:
    deviation = float(pairs.standard_deviation[place])
    if pairs.n < 2 or not deviation > 0:
        return float("nan")
    return minimum_detectable_difference(deviation, pairs.n, alpha=alpha)


def friedman_table(blocks: Mapping[str, ScoreBlock], alpha: float) -> Result:
    """Friedman's test on each metric: whether any pipeline tends to stand before another."""
    rows = [_friedman_row(block, alpha) for block in blocks.values() if block.is_level]
    return Result(
        "Friedman's test",
        pd.DataFrame(rows),
        {"test": "friedman", "alpha": alpha},
        (
            "the test asks about ranks within queries, not about means; on metrics with many ties "
            "it sees little",
        ),
    )


def _friedman_row(block: ScoreBlock, alpha: float) -> dict[str, object]:
    found = friedman_test(block.complete, greater_is_better=block.metric.greater_is_better)
    told = "differ" if found.pvalue <= alpha else "are not shown to differ"
    return {
        "metric": block.metric.name,
        "n": found.n,
        "k": len(block.names),
        "statistic": found.statistic,
        "degrees_of_freedom": found.degrees_of_freedom,
        "pvalue": found.pvalue,
        "concordance": found.concordance,
        "verdict": f"the ranks of the {len(block.names)} pipelines {told} on {block.metric.name} "
        f"(p {pvalue_text(found.pvalue)}, concordance {number(found.concordance)}, "
        f"{found.n} queries)",
    }
