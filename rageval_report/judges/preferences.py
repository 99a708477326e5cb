"""Whose answer is better? A judge compares two pipelines query by query, in both orders."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

import numpy as np
import pandas as pd

from rageval_report.errors import AlignmentError, DataError, named
from rageval_report.judges.cache import Cache
from rageval_report.judges.judging import GrowingJudging, estimate_calls, growing_judging
from rageval_report.judges.options import CallOptions, check_options
from rageval_report.judges.procedures import (
    SAME_ANSWERS,
    Verdict,
    as_rows,
    check_fields,
    verdict_without_judging,
)
from rageval_report.judges.results import JudgeResult, combine_votes, fields_of_all
from rageval_report.judges.rubric import JUDGES, JudgedRecord, Rubric
from rageval_report.metrics.performance import Prices
from rageval_report.records import record_table
from rageval_report.scores.states import SCORED, VOTES
from rageval_report.types import FloatArray

AnswerOrder = Literal["baseline_first", "candidate_first"]
ORDERS: tuple[AnswerOrder, ...] = get_args(AnswerOrder)
_NAME = "preference"
_CHOICES = {0.0: "first", 0.5: "tie", 1.0: "second"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Preferences(JudgeResult):
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
    by_judge: dict[str, Preferences] = field(default_factory=dict)


def prefer(
    baseline: object,
    candidate: object,
    chat: object,
    *,
    rubric: str | Rubric = "preference",
    **options: Unpack[CallOptions],
) -> Preferences:
    """Ask which pipeline's answer is better, query by query, with each in the first place once.

    A judge that favours a position would otherwise favour a pipeline. Asked in both orders it
    contradicts itself, which counts as undecided and is reported. Identical answers are a tie
    without a call.

    Parameters
    ----------
    baseline, candidate : frame, dict of lists, or list of dicts
        The records of the two pipelines; queries are matched by id.
    chat : Chat or callable
        The chat model that judges, as for `rageval_report.judges.judge`. Several in a list compare
        every pair each; the majority decides, and as many on one side as on the other are a tie.
    rubric : str or Rubric
        A rubric of the kind "preference".
    **options
        How the model is called, as described in `rageval_report.judges.CallOptions`.

    Returns
    -------
    Preferences

    Raises
    ------
    AlignmentError
        If the two pipelines have no query in common.
    DataError
        If the rubric does not compare, or records lack a field.
    JudgeError
        If the model cannot be asked at all.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat
    >>> old = [{"query_id": "q", "question": "Where is Oslo?", "answer": "Somewhere."}]
    >>> new = [{"query_id": "q", "question": "Where is Oslo?", "answer": "In Norway."}]
    >>> always_first = ScriptedChat(lambda message: '{"better": "1"}')
    >>> preferences = prefer(old, new, always_first)
    >>> preferences.ties, preferences.position["first"]
    (1, 1.0)
    """
    check_options("prefer", options, CallOptions.__annotations__)
    paired = pair_records(baseline, candidate, rubric)
    with growing_judging(chat, **options) as growing:
        growing.announce(paired.notes)
        growing.add(paired.rows, [paired.rubric])
        return growing.combined(
            lambda seat: _preferences_of(paired, growing, seat), _combine_preferences
        )


def estimate_preference(
    baseline: object,
    candidate: object,
    chat: object,
    *,
    rubric: str | Rubric = "preference",
    cache: Cache | str | Path | None = None,
    prices: Prices | None = None,
    retry_unusable: bool = False,
) -> pd.DataFrame:
    """The calls that `prefer` would make in both orders, and their cost; nothing is asked.

    Parameters
    ----------
    baseline, candidate, chat, rubric, cache, prices, retry_unusable
        As for `rageval_report.judges.prefer`.

    Returns
    -------
    DataFrame
        One row per model, as `estimate` returns it. Queries with identical answers are a tie
        without a call: they count in ``n_queries`` only.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat
    >>> old = [{"query_id": "q", "question": "Where is Oslo?", "answer": "Somewhere."}]
    >>> new = [{"query_id": "q", "question": "Where is Oslo?", "answer": "In Norway."}]
    >>> estimate_preference(old, new, ScriptedChat([]))["n_calls"].item()
    2
    """
    paired = pair_records(baseline, candidate, rubric)
    table = estimate_calls(paired.rows, [paired.rubric], chat, cache, prices, retry_unusable)
    counts = ["n_queries", "n_not_judged"]
    return table.assign(**(table[counts] // len(ORDERS)))


@dataclass(frozen=True, eq=False)
class PairedRecords:
    """The queries that two pipelines have, and the rubric that compares their answers."""

    rubric: Rubric
    old: pd.DataFrame
    new: pd.DataFrame
    rows: list[JudgedRecord]
    notes: tuple[str, ...]  # which queries of one pipeline were left out, how many are not judged


def pair_records(baseline: object, candidate: object, rubric: str | Rubric) -> PairedRecords:
    """The matched records of two pipelines, checked for the rubric that compares them."""
    comparing = rubric if isinstance(rubric, Rubric) else JUDGES[rubric]
    if comparing.kind != "preference":
        raise DataError(
            f"rubric must be of the kind 'preference'; {comparing.name!r} judges one answer"
        )
    old, new = (record_table(data, unretrieved_citations="keep") for data in (baseline, candidate))
    shared = old.index[old.index.isin(new.index)]
    if not len(shared):
        raise AlignmentError("the two pipelines have no query id in common")
    notes = [
        f"{len(unmatched)} queries that only the {side} has were left out: {named(unmatched)}"
        for side, mine in (("baseline", old), ("candidate", new))
        if len(unmatched := mine.index[~mine.index.isin(shared)])
    ]
    old, new = old.loc[shared], new.loc[shared]
    for table in (old, new):
        check_fields(comparing, table)
    rows: list[JudgedRecord] = []
    n_gaps = 0
    for mine, other in zip(as_rows(old), as_rows(new), strict=True):
        # The record of the side that cannot be judged, if there is one: it says why.
        shown = mine if verdict_without_judging(comparing, other) is None else other
        n_gaps += verdict_without_judging(comparing, shown) is not None
        rows += [
            {**shown, "first": first["answer"], "second": second["answer"]}
            for first, second in ((mine, other), (other, mine))
        ]
    if n_gaps:
        notes.append(
            f"{comparing.name} is not judged on {n_gaps} of {len(old)} queries: one side has no "
            "answer, or lacks a field that the rubric shows"
        )
    return PairedRecords(comparing, old, new, rows, tuple(notes))


# -- the result


def _preferences_of(paired: PairedRecords, growing: GrowingJudging, seat: int) -> Preferences:
    rubric = paired.rubric
    shown = growing.shown(seat, rubric)
    combined = list(map(_combine_orders, shown[::2], shown[1::2]))
    columns: dict[str, list[Any]] = {
        order: [_CHOICES.get(verdict.score) for verdict in shown[place::2]]
        for place, order in enumerate(ORDERS)
    }
    columns[_NAME] = [verdict.score for verdict in combined]
    columns["state"] = [verdict.state for verdict in combined]
    columns["reason"] = [verdict.reason for verdict in combined]
    frame = pd.DataFrame(columns, index=paired.old.index)
    scored = frame[frame[_NAME].notna()]
    position = _position_counts(scored)
    # Per side, because the judge may belong to the family of one side only.
    later_notes = [
        f"{side}: {note}"
        for side, table in (("baseline", paired.old), ("candidate", paired.new))
        for note in growing.family_note(seat, table)
    ]
    if position["n_decided"]:
        later_notes.append(
            f"position: of {position['n_decided']:.0f} choices {100 * position['first']:.0f} % "
            "fell on the answer that came first; the order alone decided "
            f"{position['n_flipped']:.0f} of {len(scored)} queries "
            f"({position['first_flips']:.0f} for the first place), which count as undecided"
        )
    # Ties without a call do not show that the judge works.
    n_scored = int((scored["reason"] != SAME_ANSWERS).sum())
    return Preferences(
        frame=frame,
        position=position,
        **_count_preferences(frame[_NAME].to_numpy()),
        **growing.fields(
            *(seat, [rubric], n_scored, paired.notes, later_notes),
            {"rubric": rubric.name, "rubric_version": rubric.version},
        ),
    )


def _combine_orders(first: Verdict, second: Verdict) -> Verdict:
    """The verdict of both orders, 1 for the candidate; if they disagree, it is undecided."""
    for verdict in (first, second):
        # One order alone would bring the preference for a place back in.
        if verdict.state != SCORED:
            return verdict
    # The candidate is the second answer in the first order.
    if first.score == 1.0 - second.score:
        return first
    # A tie in one order is not enough to prefer the other order's choice.
    has_tie = 0.5 in (first.score, second.score)
    conflict = "a tie in one order" if has_tie else "the orders disagree"
    return Verdict(0.5, f"{conflict}: {first.reason or '-'} / {second.reason or '-'}")


def _count_preferences(scores: FloatArray) -> dict[str, Any]:
    n_unscored = int(np.isnan(scores).sum())
    return {
        "wins": int((scores == 1.0).sum()),
        "ties": int(((scores > 0.0) & (scores < 1.0)).sum()),
        "losses": int((scores == 0.0).sum()),
        "n": len(scores) - n_unscored,
        "n_unscored": n_unscored,
    }


def _position_counts(scored: pd.DataFrame) -> dict[str, float]:
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


def _combine_preferences(results: Mapping[str, Preferences]) -> Preferences:
    """The preference of the majority of several judges, and the results of each beside it."""
    frames = {judge: result.frame for judge, result in results.items()}
    # Unlike yes and no, an even split is a verdict: undecided.
    combined = combine_votes(
        *(_NAME, "majority"),
        pd.DataFrame({judge: frame[_NAME] for judge, frame in frames.items()}),
        [frame["state"] for frame in frames.values()],
        [frame["reason"] for frame in frames.values()],
        tie=0.5,
    )
    columns = {_NAME: combined.scores, "state": combined.states, "reason": combined.reasons}
    positions = [result.position for result in results.values()]
    totals = {name: sum(position[name] for position in positions) for name in positions[0]}
    firsts = sum(p["n_decided"] * p["first"] for p in positions if p["n_decided"])
    totals["first"] = firsts / totals["n_decided"] if totals["n_decided"] else math.nan
    index = next(iter(frames.values())).index
    return Preferences(
        frame=pd.DataFrame({**columns, f"{_NAME}{VOTES}": combined.marks}, index=index),
        position=totals,
        **_count_preferences(combined.scores),
        **fields_of_all(results, combined.notes, ("rubric", "rubric_version"), "majority"),
    )
