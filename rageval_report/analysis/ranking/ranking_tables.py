"""The tables of a ranking: the pipelines in order, every pair, Friedman's test; and the notes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from rageval_report.analysis.ranking.letters import letters_of
from rageval_report.analysis.ranking.ranked_columns import RankedBlock, RankedLineup, is_rankable
from rageval_report.analysis.ranking.standing import (
    RankingSettings,
    Standing,
    alpha_of,
    drawing_of,
    margin_in,
)
from rageval_report.errors import MOST_NAMED
from rageval_report.reports.sentences import (
    correction_note,
    filled_notes,
    group_notes,
    number,
    pvalue_text,
)
from rageval_report.results import Result
from rageval_report.stats.many_pairs import AllPairs
from rageval_report.stats.pairs import Pairs, interval_of_test, paired_interval
from rageval_report.stats.planning import PlannedTest
from rageval_report.stats.pooling import gain_of_noise
from rageval_report.stats.units import fewest_units
from rageval_report.types import IntArray

# The number of metrics of which a note names the gain that noise gives to the best.
_MOST_LIFTS = 3


def ranking_rows(
    block: RankedBlock, tests: AllPairs | None, lineup: RankedLineup, settings: RankingSettings
) -> list[dict[str, object]]:
    """The rows of one metric: the pipelines in order, then those that are not ranked."""
    unranked = block.empty if tests is not None else lineup.names
    unranked_rows = [_unranked_row(block, name, lineup) for name in unranked]
    if tests is None:
        return unranked_rows
    columns = block.columns
    intervals = columns.mean_intervals(
        block.metric, settings["confidence_level"], drawing_of(settings)
    )
    standing = Standing.of(block, tests, alpha_of(settings))
    letters = letters_of(standing.differs)
    sentence = standing.sentence(intervals[standing.order[0]], settings)
    lift = _gain_of_noise(block, tests, settings)
    rows = [
        {
            "metric": block.metric.name,
            "pipeline": block.names[place],
            "rank": int(standing.ranks[place]),
            "n": columns.n,
            "n_unscored": int(block.unscored[place]),
            "mean": intervals[place].estimate,
            "ci_low": intervals[place].low,
            "ci_high": intervals[place].high,
            "letters": letter,
            "is_best": bool(standing.ranks[place] == 1),
            "standing": standing.word(place),
            "average_rank": float(standing.average_ranks[place]),
            "wins": int(standing.alone_best[place]),
            "beats": int(standing.beats[place].sum()),
            "beaten_by": int(standing.beats[:, place].sum()),
            "ci_method": intervals[place].method,
            "title": block.metric.title,
            "greater_is_better": block.metric.greater_is_better,
            "verdict": sentence if position == 0 else None,
            "gain_of_noise": lift,
            **_extreme_means(block, block.names[place], lineup),
        }
        for position, (place, letter) in enumerate(zip(standing.order, letters, strict=True))
    ]
    return rows + unranked_rows


def _unranked_row(block: RankedBlock, name: str, lineup: RankedLineup) -> dict[str, object]:
    unscored = dict(zip(block.names, block.unscored.tolist(), strict=True))
    nan = float("nan")
    return {
        "metric": block.metric.name,
        "pipeline": name,
        "rank": nan,
        "n": 0,
        "n_unscored": unscored.get(name, lineup.n_queries),
        "mean": nan,
        "ci_low": nan,
        "ci_high": nan,
        "letters": "",
        "is_best": False,
        "standing": "not ranked",
        "average_rank": nan,
        "wins": 0,
        "beats": 0,
        "beaten_by": 0,
        "ci_method": "none",
        "title": block.metric.title,
        "greater_is_better": block.metric.greater_is_better,
        "verdict": None,
        "gain_of_noise": nan,
        **_extreme_means(block, name, lineup),
    }


def _extreme_means(block: RankedBlock, name: str, lineup: RankedLineup) -> dict[str, object]:
    """The mean of all common queries if missing scores were as low, or high, as they can be."""
    if lineup.missing != "bounds":
        return {}
    low, high = lineup.extreme_means(block.metric, name)
    return {"mean_lowest": low, "mean_highest": high}


def ranking_notes(
    blocks: Mapping[str, RankedBlock],
    tests: Mapping[str, AllPairs],
    lineup: RankedLineup,
    settings: RankingSettings,
) -> list[str]:
    """What a reader must know: what was left out, and the number of tests."""
    metric_notes = (
        (name, note)
        for name, block in blocks.items()
        for note in _block_notes(block, lineup, alpha_of(settings))
    )
    notes = group_notes(metric_notes, len(blocks))
    correction, family, alpha = settings["correction"], settings["family_size"], alpha_of(settings)
    if family > 1:
        note = correction_note(correction, family, alpha, "pairs")
        if "tried" in settings:
            note = note.replace("of this table", f"of the {settings['tried']} pipelines tried")
        letters = f"pipelines that share a letter are not distinguishable at {alpha:g}; "
        notes.append(note if correction == "none" else letters + note)
    notes += _margin_notes(tests, settings)
    notes += _selection_notes(blocks, tests, settings)
    return notes


def _selection_notes(
    blocks: Mapping[str, RankedBlock], tests: Mapping[str, AllPairs], settings: RankingSettings
) -> Iterator[str]:
    """That the best was chosen on these queries, and what noise alone gives to it."""
    lifts = {name: _gain_of_noise(blocks[name], pairs, settings) for name, pairs in tests.items()}
    known = [f"{number(lift)} on {name}" for name, lift in lifts.items() if lift > 0.0]
    if not tests:
        return
    n_tried = max(_tried(blocks[name], settings) for name in tests)
    note = "the best was chosen on these queries, so its mean is too favourable"
    if known:
        more = ", ..." if len(known) > _MOST_LIFTS else ""
        note += (
            f": noise alone lifts the best of {n_tried} equal pipelines by about "
            f"{', '.join(known[:_MOST_LIFTS])}{more}"
        )
    yield note
    if n_tried > 2:
        yield (
            f"a comparison of the best with a baseline on the same queries needs tried={n_tried}, "
            "or new queries"
        )


def _tried(block: RankedBlock, settings: RankingSettings) -> int:
    return settings.get("tried", len(block.names))


def _gain_of_noise(block: RankedBlock, tests: AllPairs, settings: RankingSettings) -> float:
    """By how much noise alone lifts the mean of the best of as many equal pipelines.

    What the pipelines share cannot be chosen, and half the variance of a difference is each
    pipeline's own. In simulated sets of 2, 4, 8 and 16 equal pipelines the best was lifted by 0.4,
    0.75, 1.0 and 1.3 standard errors of a difference; this says 0.40, 0.73, 1.01 and 1.25.
    """
    largest = float(tests.standard_deviation.max(initial=0.0))
    if not largest > 0.0:
        return float("nan")
    own_variance = float(np.mean((tests.standard_deviation / largest) ** 2)) / 2.0
    error = largest * math.sqrt(own_variance / tests.n_units)
    return gain_of_noise(error, _tried(block, settings))


def _margin_notes(tests: Mapping[str, AllPairs], settings: RankingSettings) -> list[str]:
    margins = {name: margin_in(settings, name) for name in tests}
    shown = ", ".join(f"{name} {number(margin)}" for name, margin in margins.items() if margin)
    return [f"margins, beyond which a difference matters: {shown}"] if shown else []


def _block_notes(block: RankedBlock, lineup: RankedLineup, alpha: float) -> list[str]:
    n_common = lineup.n_queries
    n = n_common - block.n_not_applicable
    notes = []
    if block.n_not_applicable:
        notes.append(f"does not apply to {block.n_not_applicable} of {n_common} common queries")
    if block.empty:
        are = "is" if len(block.empty) == 1 else "are"
        notes.append(f"not scored at all by {', '.join(block.empty)}, which {are} not ranked")
    left_out = n - block.columns.n
    if len(block.names) > 1 and left_out == n:
        notes.append(f"no query is scored by all of {', '.join(block.names)}; not ranked")
    elif left_out and block.names:
        notes.append(
            f"{left_out} of {n} common queries are left out, as some pipeline did not "
            f"score them ({_unscored_by(block.names, block.unscored)})"
        )
    fewest = fewest_units(alpha)
    n_units = block.columns.n_units
    if 0 < n_units < fewest and len(block.names) > 1:
        notes.append(
            f"too few {block.units.word} to distinguish pipelines: {n_units} that all "
            f"scored; at least {fewest} are needed"
        )
    if not left_out and lineup.missing == "worst" and block.unscored.any():
        notes += filled_notes(int(block.unscored.sum()))
    return notes


def _unscored_by(names: Sequence[str], unscored: IntArray) -> str:
    """How many queries each pipeline did not score: of up to five, the most first.

    Examples
    --------
    >>> _unscored_by(["bm25", "hybrid", "dense"], np.array([2, 0, 7]))
    'dense: 7, bm25: 2'
    """
    order = np.argsort(-unscored, kind="stable")
    counted = [f"{names[place]}: {unscored[place]}" for place in order if unscored[place]]
    shown = ", ".join(counted[:MOST_NAMED])
    n_more = len(counted) - MOST_NAMED
    return shown if n_more <= 0 else f"{shown} and {n_more} more pipelines"


# -- the tables behind a ranking

_PAIR_HEADLINE = (
    *("baseline", "candidate", "n", "baseline_mean", "candidate_mean", "difference"),
    *("ci_low", "ci_high", "pvalue_adjusted", "wins", "ties", "losses"),
)


def pair_table(
    blocks: Mapping[str, RankedBlock],
    tests: Mapping[str, AllPairs],
    settings: RankingSettings,
    levels: Mapping[str, float],
) -> Result:
    """One row per metric and pair, with the interval of the test; see `Ranking.pairs`.

    ``levels`` has the level that the correction leaves to the pairs of a metric.
    """
    rows = [
        row
        for name, pairs in tests.items()
        for row in _pair_rows(blocks[name], pairs, settings, levels[name])
    ]
    family = settings["family_size"] if "tried" in settings else len(rows)
    corrected = settings["correction"] != "none" and family > 1
    which = (
        f"{family} pairs of all that were tried" if "tried" in settings else f"these {family} pairs"
    )
    note = f"p-values are adjusted ({settings['correction']}) over {which}"
    return Result(
        "All pairs of pipelines",
        pd.DataFrame(rows),
        settings,
        (f"{note}; the intervals are not",) if corrected else (),
        headline=_PAIR_HEADLINE,
        grouped_by="metric" if len(tests) > 1 else "",
    )


def _pair_rows(
    block: RankedBlock, pairs: AllPairs, settings: RankingSettings, level: float
) -> Iterator[dict[str, object]]:
    columns, alpha = block.columns, alpha_of(settings)
    margin = margin_in(settings, block.metric.name)
    for place, (i, j) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
        both = columns.pair(i, j)
        before_mean, after_mean = both.side_means
        low, high = _difference_limits(both, block, settings)
        wins, losses = int(pairs.wins[place]), int(pairs.losses[place])
        if not block.metric.greater_is_better:
            # The tests count larger scores, a table of wins the better ones.
            wins, losses = losses, wins
        yield {
            "metric": block.metric.name,
            "baseline": block.names[i],
            "candidate": block.names[j],
            "n": pairs.n,
            "baseline_mean": before_mean,
            "candidate_mean": after_mean,
            "difference": float(pairs.difference[place]),
            "ci_low": low,
            "ci_high": high,
            "test": pairs.tests[place],
            "margin": margin,
            "pvalue": float(pairs.pvalue[place]),
            "pvalue_adjusted": float(pairs.pvalue_adjusted[place]),
            "wins": wins,
            "ties": int(pairs.ties[place]),
            "losses": losses,
            "min_detectable_difference": margin
            + _detectable(both, pairs.tests[place], level, alpha),
            "is_shown": bool(pairs.pvalue_adjusted[place] <= alpha),
        }


def _difference_limits(
    pairs: Pairs, block: RankedBlock, settings: RankingSettings
) -> tuple[float, float]:
    """The interval of the difference, within the metric's range."""
    if block.columns.n_units < fewest_units(alpha_of(settings)):
        return float("nan"), float("nan")
    interval = paired_interval(
        pairs,
        method=interval_of_test(settings["test"]),
        confidence_level=settings["confidence_level"],
        **drawing_of(settings),
    )
    if block.metric.bounds is None:
        return interval.low, interval.high
    widest = block.metric.bounds[1] - block.metric.bounds[0]
    return max(interval.low, -widest), min(interval.high, widest)


def _detectable(pairs: Pairs, test: str, level: float, alpha: float) -> float:
    """The difference that these units show at the level that the correction leaves."""
    if pairs.n < fewest_units(alpha):
        return float("nan")
    return PlannedTest.of(pairs.units, test).detectable(pairs.n, alpha=level)


def friedman_table(blocks: Mapping[str, RankedBlock], alpha: float) -> Result:
    """Friedman's test on each metric: whether any pipeline tends to rank above another."""
    rows = [_friedman_row(block, alpha) for block in blocks.values() if is_rankable(block)]
    return Result(
        "Friedman's test",
        pd.DataFrame(rows),
        {"test": "friedman", "alpha": alpha},
        (
            "the test is about ranks within queries, not about means; on metrics with many ties "
            "it has little power",
        ),
    )


def _friedman_row(block: RankedBlock, alpha: float) -> dict[str, object]:
    test = block.columns.friedman(greater_is_better=block.metric.greater_is_better)
    differ = "differ" if test.pvalue <= alpha else "are not shown to differ"
    return {
        "metric": block.metric.name,
        "n": test.n,
        "k": len(block.names),
        "statistic": test.statistic,
        "degrees_of_freedom": test.degrees_of_freedom,
        "pvalue": test.pvalue,
        "concordance": test.concordance,
        "verdict": f"the ranks of the {len(block.names)} pipelines {differ} on {block.metric.name} "
        f"(p {pvalue_text(test.pvalue)}, concordance {number(test.concordance)}, "
        f"{test.n} {block.units.word})",
    }
