"""Whose answer is better? A judge compares two pipelines query by query, in both orders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

import numpy as np
import pandas as pd

from rageval_report.errors import AlignmentError, DataError, named
from rageval_report.judges.cache import Cache
from rageval_report.judges.judging import estimate_calls, growing_judging, shown_verdict
from rageval_report.judges.options import CallOptions, check_options
from rageval_report.judges.procedures import (
    SAME_ANSWERS,
    Verdict,
    as_rows,
    check_fields,
    verdict_without_judging,
)
from rageval_report.judges.results import (
    JudgeResult,
    combine_reasons,
    family_note,
    fields_of_all,
    fields_of_session,
    majority,
    notes_on_votes,
)
from rageval_report.judges.rubric import JUDGES, JudgedRecord, Rubric
from rageval_report.judges.sessions import JudgeSession
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
    notes = (*paired.notes, *paired.gap_notes())
    with growing_judging(chat, **options) as growing:
        growing.announce(notes)
        growing.add(paired.rows, [paired.rubric])
        return growing.combined(
            lambda session, verdicts: _preferences_of(paired, session, verdicts, notes),
            _combine_preferences,
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
    rubrics = [paired.rubric]
    table = estimate_calls(
        paired.rows, rubrics, chat, cache=cache, prices=prices, retry_unusable=retry_unusable
    )
    counts = ["n_queries", "n_not_judged"]
    return table.assign(**(table[counts] // len(ORDERS)))


@dataclass(frozen=True, eq=False)
class PairedRecords:
    """The queries that two pipelines have, and the rubric that compares their answers."""

    rubric: Rubric
    old: pd.DataFrame
    new: pd.DataFrame
    rows: list[JudgedRecord]
    notes: tuple[str, ...]  # which queries of one pipeline were left out

    def gap_notes(self) -> tuple[str, ...]:
        """A note on how many pairs are not judged."""
        gaps = [row for row in self.rows if verdict_without_judging(self.rubric, row) is not None]
        if not gaps:
            return ()
        return (
            f"{self.rubric.name} is not judged on {len(gaps) // 2} of {len(self.old)} queries: one "
            "side has no answer, or lacks a field that the rubric shows",
        )


def pair_records(baseline: object, candidate: object, rubric: str | Rubric) -> PairedRecords:
    """The matched records of two pipelines, checked for the rubric that compares them."""
    comparing = rubric if isinstance(rubric, Rubric) else JUDGES[rubric]
    if comparing.kind != "preference":
        raise DataError(
            f"rubric must be of the kind 'preference'; {comparing.name!r} judges one answer"
        )
    old = record_table(baseline, unretrieved_citations="keep")
    new = record_table(candidate, unretrieved_citations="keep")
    shared = old.index[old.index.isin(new.index)]
    if not len(shared):
        raise AlignmentError("the two pipelines have no query id in common")
    notes = tuple(
        f"{len(unmatched)} queries that only the {side} has were left out: {named(unmatched)}"
        for side, mine, other in (("baseline", old, new), ("candidate", new, old))
        if len(unmatched := mine.index[~mine.index.isin(other.index)])
    )
    old, new = old.loc[shared], new.loc[shared]
    for table in (old, new):
        check_fields(comparing, table)
    rows: list[JudgedRecord] = []
    for mine, other in zip(as_rows(old), as_rows(new), strict=True):
        # The record of the side that cannot be judged, if there is one: it says why.
        shown = mine if verdict_without_judging(comparing, other) is None else other
        rows += [
            {**shown, "first": first["answer"], "second": second["answer"]}
            for first, second in ((mine, other), (other, mine))
        ]
    return PairedRecords(comparing, old, new, rows, notes)


# -- the result


def _preferences_of(
    paired: PairedRecords,
    session: JudgeSession,
    verdicts: Mapping[str, Sequence[Sequence[Verdict]]],
    notes: tuple[str, ...],
) -> Preferences:
    rubric = paired.rubric
    shown = [shown_verdict(session, repeats) for repeats in verdicts[rubric.name]]
    pairs = list(zip(shown[::2], shown[1::2], strict=True))
    combined = [_combine_orders(first, second) for first, second in pairs]
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
    families = [
        f"{side}: {note}"
        for side, table in (("baseline", paired.old), ("candidate", paired.new))
        for note in family_note(session.chat.model, table)
    ]
    # Ties without a call do not show that the judge works.
    n_scored = int((scored["reason"] != SAME_ANSWERS).sum())
    fields = fields_of_session(
        session, [rubric.name], n_scored, notes, [*families, *_position_note(position, len(scored))]
    )
    fields["settings"] |= {"rubric": rubric.name, "rubric_version": rubric.version}
    counts = _count_preferences(frame[_NAME].to_numpy())
    return Preferences(frame=frame, position=position, **counts, **fields)


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


def _position_note(position: Mapping[str, float], n: int) -> tuple[str, ...]:
    """A note on the preference of a judge for a place, if it chose at all."""
    if not position["n_decided"]:
        return ()
    return (
        f"position: of {position['n_decided']:.0f} choices {100 * position['first']:.0f} % fell on "
        f"the answer that came first; the order alone decided {position['n_flipped']:.0f} of {n} "
        f"queries ({position['first_flips']:.0f} for the first place), which count as undecided",
    )


# -- several judges


def _combine_preferences(results: dict[str, Preferences]) -> Preferences:
    """The preference of the majority of several judges, and the results of each beside it."""
    votes = pd.DataFrame({judge: result.frame[_NAME] for judge, result in results.items()})
    # Unlike yes and no, an even split is a verdict: undecided.
    scores = majority(votes.to_numpy(dtype=np.float64), 0.5)
    states, reasons, marks = combine_reasons(
        votes,
        [result.frame["state"] for result in results.values()],
        [result.frame["reason"] for result in results.values()],
    )
    columns = {_NAME: scores, "state": states, "reason": reasons, f"{_NAME}{VOTES}": marks}
    positions = [result.position for result in results.values()]
    totals = {name: sum(position[name] for position in positions) for name in positions[0]}
    firsts = (p["n_decided"] * p["first"] for p in positions if p["n_decided"])
    n_decided = totals["n_decided"]
    totals["first"] = sum(firsts) / n_decided if n_decided else math.nan
    return Preferences(
        frame=pd.DataFrame(columns, index=votes.index),
        position=totals,
        **_count_preferences(scores),
        **fields_of_all(
            results,
            notes_on_votes(_NAME, "majority", votes, scores),
            ("rubric", "rubric_version"),
            "majority",
        ),
    )
