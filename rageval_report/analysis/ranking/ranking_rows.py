"""The rows and the notes of a ranking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rageval_report.analysis.arguments import mean_limits
from rageval_report.analysis.comparing.pairing import require_bounds
from rageval_report.analysis.comparing.verdicts import FEWEST_FOR_A_TEST
from rageval_report.analysis.ranking.letters import letters_of
from rageval_report.analysis.ranking.lineup import Lineup, ScoreBlock
from rageval_report.analysis.ranking.standing import Standing, alpha_of
from rageval_report.analysis.sentence_parts import group_notes
from rageval_report.stats.all_pairs import AllPairs
from rageval_report.stats.base import Interval
from rageval_report.stats.means.intervals import described_interval
from rageval_report.stats.means.moments import moments
from rageval_report.types import FloatArray


def ranking_rows(
    block: ScoreBlock, tests: AllPairs | None, lineup: Lineup, settings: Mapping[str, Any]
) -> list[dict[str, object]]:
    """The rows of one metric: the pipelines in order, and after them those that are not ranked."""
    unranked = block.empty if tests is not None else lineup.names
    nothing = [_unranked_row(block, name, lineup) for name in unranked]
    if tests is None:
        return nothing
    scores = block.complete
    intervals = [_interval(column, block, settings) for column in scores.T]
    standing = Standing.of(block, tests, alpha_of(settings))
    letters = letters_of(standing.apart)
    told = standing.sentence(intervals[standing.order[0]], settings)
    rows = [
        {
            "metric": block.metric.name,
            "pipeline": block.names[place],
            "rank": int(standing.ranks[place]),
            "n": len(scores),
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
            "verdict": told if position == 0 else None,
            **_extremes(block, block.names[place], lineup),
        }
        for position, (place, letter) in enumerate(zip(standing.order, letters, strict=True))
    ]
    return rows + nothing


def _unranked_row(block: ScoreBlock, name: str, lineup: Lineup) -> dict[str, object]:
    unscored = dict(zip(block.names, block.unscored.tolist(), strict=True))
    nan = float("nan")
    return {
        "metric": block.metric.name,
        "pipeline": name,
        "rank": nan,
        "n": 0,
        "n_unscored": unscored.get(name, len(lineup.ids)),
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
        **_extremes(block, name, lineup),
    }


def _interval(column: FloatArray, block: ScoreBlock, settings: Mapping[str, Any]) -> Interval:
    known = moments(column)
    return described_interval(
        column,
        known,
        confidence_level=settings["confidence_level"],
        bounds=mean_limits(block.metric, known.minimum),
        n_resamples=settings["n_resamples"],
        seed=settings["seed"],
    )


def _extremes(block: ScoreBlock, name: str, lineup: Lineup) -> dict[str, object]:
    """The mean of all common queries if missing scores are as low, or high, as they can be."""
    if lineup.missing != "bounds":
        return {}
    low, high = require_bounds(block.metric)
    scores = lineup.scores(block.metric.name)[:, lineup.names.index(name)]
    return {
        "mean_lowest": float(np.where(np.isnan(scores), low, scores).mean()),
        "mean_highest": float(np.where(np.isnan(scores), high, scores).mean()),
    }


def ranking_notes(
    blocks: Mapping[str, ScoreBlock],
    tests: Mapping[str, AllPairs],
    lineup: Lineup,
    settings: Mapping[str, Any],
) -> list[str]:
    """What a reader must know: what was left out, and how many tests there were."""
    told = ((name, one) for name, block in blocks.items() for one in _block_notes(block, lineup))
    notes = group_notes(told, len(blocks))
    correction, family = str(settings["correction"]), int(settings["family_size"])
    if family > 1 and correction != "none":
        notes.append(
            f"pipelines that share a letter are not told apart at {alpha_of(settings):g}; p-values "
            f"are adjusted ({correction}) over the {family} pairs of this table"
        )
    if family > 1 and correction == "none":
        alarms = family * alpha_of(settings)
        notes.append(
            f"{family} tests without correction: about {alarms:.1g} false alarms are expected "
            "where nothing differs"
        )
    if tests:
        notes.append(
            "the best was chosen on these queries: its own mean flatters it a little, and fresh "
            "queries would tell"
        )
    return notes


def _block_notes(block: ScoreBlock, lineup: Lineup) -> list[str]:
    n = len(lineup.ids)
    notes = []
    if block.empty:
        notes.append(f"not scored at all by {', '.join(block.empty)}, not ranked there")
    left_out = n - len(block.complete)
    if len(block.names) > 1 and left_out == n:
        notes.append(f"no query is scored by all of {', '.join(block.names)}; not ranked")
    elif left_out:
        worst = int(block.unscored.argmax())
        notes.append(
            f"{left_out} of {n} common queries are left out, as some pipeline did not "
            f"score them ({block.names[worst]}: {int(block.unscored[worst])})"
        )
    if 0 < len(block.complete) < FEWEST_FOR_A_TEST and len(block.names) > 1:
        notes.append(
            f"too few queries to tell pipelines apart: {len(block.complete)} that all "
            f"scored; at least {FEWEST_FOR_A_TEST} are needed"
        )
    if not left_out and lineup.missing == "worst" and block.unscored.any():
        filled = int(block.unscored.sum())
        notes.append(f"{filled} unscored queries count as the worst possible score")
    return notes
