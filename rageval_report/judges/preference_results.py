"""Whose answers a judge prefers, or several judges together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, get_args

import numpy as np
import pandas as pd

from rageval_report.judges.panels import (
    combine_states,
    failure_notes,
    join_failures,
    join_reasons,
    notes_of_judges,
    notes_on_votes,
    own_settings,
    tables_of_judges,
    total_cost_note,
)
from rageval_report.scores.states import VOTES
from rageval_report.types import FloatArray

AnswerOrder = Literal["baseline_first", "candidate_first"]
ORDERS: tuple[AnswerOrder, ...] = get_args(AnswerOrder)

_NAME = "preference"


@dataclass(frozen=True, eq=False)
class Preferences:
    """Whose answers a judge prefers; of several judges, the majority.

    Parameters
    ----------
    frame : DataFrame
        Index ``query_id``: ``baseline_first`` and ``candidate_first``, the choice in each order
        ("first", "second", "tie", None); ``preference``, 1 for the candidate, 0 for the baseline,
        0.5 for a tie or if the orders disagree, NaN if one order has no verdict; ``state``,
        ``reason``. Of several judges: ``preference`` is that of the majority, 0.5 if as many prefer
        one side as the other; ``preference_judges`` holds that of each judge by its name, and the
        choices are in `by_judge`.
    wins, ties, losses : int
        Of the candidate: both orders for it; undecided; both against it.
    n, n_unscored : int
        Queries with a verdict in both orders, and without.
    position : dict
        ``n_decided``, the choices for one of the two answers in scored queries; ``first``, the
        share of them for the answer that came first (0.5 without bias); ``n_flipped``, the queries
        in which the same position won in both orders; ``first_flips``, those in which it was the
        first.
    usage : DataFrame
        As in `Judged`.
    notes : tuple of str
    settings : dict
    is_interrupted : bool
    failure : str, optional
        Why there is no verdict at all, if calls failed or none could start.
    by_judge : dict of str to Preferences
        The result of each of several judges, by its name; empty for one judge.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat, prefer
    >>> old = [{"query_id": "q", "question": "Where is Oslo?", "answer": "Somewhere."}]
    >>> new = [{"query_id": "q", "question": "Where is Oslo?", "answer": "In Norway."}]
    >>> chat = ScriptedChat(["SECOND", "FIRST"])
    >>> result = prefer(old, new, chat, concurrency=1)
    >>> result.wins, result.ties, result.losses, result.frame["preference"].tolist()
    (1, 0, 0, [1.0])
    """

    frame: pd.DataFrame
    wins: int
    ties: int
    losses: int
    n: int
    n_unscored: int
    position: dict[str, float]
    usage: pd.DataFrame
    notes: tuple[str, ...]
    settings: dict[str, Any]
    is_interrupted: bool = False
    failure: str | None = None
    by_judge: dict[str, Preferences] = field(default_factory=dict)


def position_counts(scored: pd.DataFrame) -> dict[str, float]:
    """How often the place of an answer decided, in the queries with a verdict in both orders."""
    choices = scored[list(ORDERS)].to_numpy().ravel()
    first, second = int((choices == "first").sum()), int((choices == "second").sum())
    same = scored[ORDERS[0]] == scored[ORDERS[1]]
    flipped = scored[same & (scored[ORDERS[0]] != "tie")]
    return {
        "n_decided": first + second,
        "first": first / (first + second) if first + second else math.nan,
        "n_flipped": len(flipped),
        "first_flips": int((flipped[ORDERS[0]] == "first").sum()),
    }


def position_note(position: Mapping[str, float], n: int) -> tuple[str, ...]:
    """A note on the preference of a judge for a place, if it chose at all."""
    if not position["n_decided"]:
        return ()
    return (
        f"position: of {position['n_decided']:.0f} choices {100 * position['first']:.0f} % fell on "
        f"the answer that came first; the order alone decided {position['n_flipped']:.0f} of {n} "
        f"queries ({position['first_flips']:.0f} for the first place), which count as undecided",
    )


# -- several judges


def combine_preferences(results: Mapping[str, Preferences]) -> Preferences:
    """The preference of the majority of several judges, and the results of each beside it.

    Parameters
    ----------
    results : mapping of str to Preferences
        The results of two judges or more on the same pairs, by the judge's name.
    """
    first = next(iter(results.values()))
    votes = pd.DataFrame({judge: result.frame[_NAME] for judge, result in results.items()})
    scores = majority_preference(votes.to_numpy(dtype=np.float64))
    counts = count_preferences(scores)
    failures = {judge: result.failure for judge, result in results.items() if result.failure}
    return Preferences(
        _combined_frame(votes, scores, results),
        **counts,
        position=_pooled_position(results),
        usage=tables_of_judges({judge: result.usage for judge, result in results.items()}),
        notes=(
            *failure_notes(failures),
            *notes_on_votes(_NAME, "majority", votes, scores),
            *notes_of_judges(results),
            *total_cost_note(results),
        ),
        settings={
            "judge_model": " + ".join(results),
            "judges": {judge: own_settings(result) for judge, result in results.items()},
            "combined_by": "majority",
            **{name: first.settings[name] for name in ("rubric", "rubric_version")},
        },
        is_interrupted=any(result.is_interrupted for result in results.values()),
        failure=join_failures(failures) if len(failures) == len(results) else None,
        by_judge=dict(results),
    )


def majority_preference(votes: FloatArray) -> FloatArray:
    """The preference of each query; unlike yes and no, an even split is a verdict: undecided.

    Parameters
    ----------
    votes : ndarray of shape (n_queries, n_judges)
        1 for the candidate, 0 for the baseline, 0.5 for a tie, NaN for no verdict.

    Examples
    --------
    >>> nan = float("nan")
    >>> majority_preference(np.array([[1, 1, 0], [1, 0.5, 0], [0, 0.5, nan], [nan] * 3])).tolist()
    [1.0, 0.5, 0.0, nan]
    """
    lead = (votes > 0.5).sum(axis=1) - (votes < 0.5).sum(axis=1)  # NaN is on neither side
    return np.where(np.isnan(votes).all(axis=1), np.nan, (np.sign(lead) + 1.0) / 2.0)


class PreferenceCounts(TypedDict):
    """How often the candidate was preferred, and not."""

    wins: int
    ties: int
    losses: int
    n: int
    n_unscored: int


def count_preferences(scores: FloatArray) -> PreferenceCounts:
    """The wins, ties and losses of the candidate, and the queries with and without a verdict.

    Examples
    --------
    >>> count_preferences(np.array([1.0, 0.5, float("nan")]))
    {'wins': 1, 'ties': 1, 'losses': 0, 'n': 2, 'n_unscored': 1}
    """
    n_unscored = int(np.isnan(scores).sum())
    return {
        "wins": int((scores == 1.0).sum()),
        "ties": int(((scores > 0.0) & (scores < 1.0)).sum()),
        "losses": int((scores == 0.0).sum()),
        "n": len(scores) - n_unscored,
        "n_unscored": n_unscored,
    }


def _combined_frame(
    votes: pd.DataFrame, scores: FloatArray, results: Mapping[str, Preferences]
) -> pd.DataFrame:
    judges = list(map(str, votes))
    marks = [dict(zip(judges, row, strict=True)) for row in votes.to_numpy().tolist()]
    states, reasons = (
        zip(*(result.frame[column] for result in results.values()), strict=True)
        for column in ("state", "reason")
    )
    columns: dict[str, Any] = {
        _NAME: scores,
        "state": list(map(combine_states, states)),
        "reason": list(map(join_reasons, marks, reasons)),
        f"{_NAME}{VOTES}": marks,
    }
    return pd.DataFrame(columns, index=votes.index)


def _pooled_position(results: Mapping[str, Preferences]) -> dict[str, float]:
    """The counts of all judges together."""
    positions = [result.position for result in results.values()]
    n_decided = sum(position["n_decided"] for position in positions)
    first = sum(
        position["n_decided"] * position["first"] for position in positions if position["n_decided"]
    )
    return {
        "n_decided": n_decided,
        "first": first / n_decided if n_decided else math.nan,
        "n_flipped": sum(position["n_flipped"] for position in positions),
        "first_flips": sum(position["first_flips"] for position in positions),
    }
