"""Whose answer is better? A judge compares two pipelines query by query, in both orders."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
import pandas as pd

from rageval_report.errors import AlignmentError, DataError, check_options, named
from rageval_report.judges.judging import GrowingJudging, growing_judging
from rageval_report.judges.procedures import (
    SAME_ANSWERS,
    Verdict,
    as_rows,
    check_fields,
    verdict_without_judging,
)
from rageval_report.judges.results import (
    JudgeResult,
    combine_votes,
    family_note,
    fields_of_all,
    fields_of_session,
)
from rageval_report.judges.rubric import JUDGES, JudgedRecord, Rubric
from rageval_report.judges.sessions import CallOptions
from rageval_report.records import record_table
from rageval_report.scores.states import SCORED, VOTES
from rageval_report.types import FloatArray

ORDERS = ("baseline_first", "candidate_first")
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
    comparing = rubric if isinstance(rubric, Rubric) else JUDGES[rubric]
    if comparing.kind != "preference":
        raise DataError(
            f"rubric must be of the kind 'preference'; {comparing.name!r} judges one answer"
        )
    tables, rows, notes = _pair_records(baseline, candidate, comparing)
    with growing_judging(chat, **options) as growing:
        growing.add(rows, [comparing], notes)
        return growing.combined(
            lambda seat: _preferences_of(comparing, tables, notes, growing, seat),
            _combine_preferences,
        )


def _pair_records(
    baseline: object, candidate: object, rubric: Rubric
) -> tuple[tuple[pd.DataFrame, pd.DataFrame], list[JudgedRecord], list[str]]:
    """The matched records of two pipelines, the rows to be judged, and what is left out."""
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
        check_fields(rubric, table)
    rows: list[JudgedRecord] = []
    n_gaps = 0
    for mine, other in zip(as_rows(old), as_rows(new), strict=True):
        # The record of the side that cannot be judged, if there is one: it says why.
        shown = mine if verdict_without_judging(rubric, other) is None else other
        n_gaps += verdict_without_judging(rubric, shown) is not None
        rows += [
            {**shown, "first": first["answer"], "second": second["answer"]}
            for first, second in ((mine, other), (other, mine))
        ]
    if n_gaps:
        notes.append(
            f"{rubric.name} is not judged on {n_gaps} of {len(old)} queries: one side has no "
            "answer, or lacks a field that the rubric shows"
        )
    return (old, new), rows, notes


# -- the result


def _preferences_of(
    rubric: Rubric,
    tables: tuple[pd.DataFrame, pd.DataFrame],
    notes: list[str],
    growing: GrowingJudging,
    seat: int,
) -> Preferences:
    shown, session = growing.shown(seat, rubric), growing.sessions[seat]
    combined = list(map(_combine_orders, shown[::2], shown[1::2]))
    columns: dict[str, list[Any]] = {
        order: [_CHOICES.get(verdict.score) for verdict in shown[place::2]]
        for place, order in enumerate(ORDERS)
    }
    columns[_NAME] = [verdict.score for verdict in combined]
    columns["state"] = [verdict.state for verdict in combined]
    columns["reason"] = [verdict.reason for verdict in combined]
    frame = pd.DataFrame(columns, index=tables[0].index)
    scored = frame[frame[_NAME].notna()]
    position = _position_counts(scored)
    # Per side, because the judge may belong to the family of one side only.
    later_notes = [
        f"{side}: {note}"
        for side, table in zip(("baseline", "candidate"), tables, strict=True)
        for note in family_note(session.chat.model, table)
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
        **fields_of_session(
            *(session, [rubric.name], n_scored, notes, later_notes),
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
    combined, notes = combine_votes(
        *(_NAME, "majority"),
        pd.DataFrame({judge: frame[_NAME] for judge, frame in frames.items()}),
        [frame["state"] for frame in frames.values()],
        [frame["reason"] for frame in frames.values()],
        tie=0.5,
    )
    positions = [result.position for result in results.values()]
    totals = {name: sum(position[name] for position in positions) for name in positions[0]}
    firsts = sum(p["n_decided"] * p["first"] for p in positions if p["n_decided"])
    totals["first"] = firsts / totals["n_decided"] if totals["n_decided"] else math.nan
    return Preferences(
        frame=combined.rename(columns={"score": _NAME, "marks": f"{_NAME}{VOTES}"}),
        position=totals,
        **_count_preferences(combined["score"].to_numpy()),
        **fields_of_all(results, notes, ("rubric", "rubric_version"), "majority"),
    )
