"""Whose answer is better? A judge compares two pipelines query by query, in both orders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from rageval_report.errors import AlignmentError, DataError, explain_keywords, named
from rageval_report.judges.applying import check_fields, verdict_without_judging
from rageval_report.judges.judge_jobs import INTERRUPTED, Progress, run_jobs
from rageval_report.judges.judge_notes import (
    family_note,
    judge_settings,
    raise_if_hopeless,
    schema_note,
    spending_notes,
    stopped_note,
    total_failure,
    usage_notes,
)
from rageval_report.judges.judge_options import CallOptions, check_options
from rageval_report.judges.judging import as_rows, not_asked, usage_by_judge
from rageval_report.judges.panels import chats_of, judge_names
from rageval_report.judges.parsing import read_preference
from rageval_report.judges.parsing.choices import Choice
from rageval_report.judges.preference_results import (
    ORDERS,
    AnswerOrder,
    Preferences,
    combine_preferences,
    count_preferences,
    position_counts,
    position_note,
)
from rageval_report.judges.procedures import Verdict
from rageval_report.judges.rubric import JudgedRecord, Rubric
from rageval_report.judges.rubrics import JUDGES
from rageval_report.judges.sessions import Brakes, JudgeSession, open_sessions
from rageval_report.judges.spending import usage_rows
from rageval_report.judges.steps import JudgeStep, NotAskedError, NoVerdictError
from rageval_report.records import record_table
from rageval_report.scores.states import FAILED, MISSING, SCORED

# The score of the candidate for each choice, by whose answer came first.
_SCORES: dict[AnswerOrder, dict[Choice, float]] = {
    "baseline_first": {"first": 0.0, "second": 1.0, "tie": 0.5},
    "candidate_first": {"first": 1.0, "second": 0.0, "tie": 0.5},
}
_SAME = "the answers are the same"  # a tie without a call


class _ComparisonJob(NamedTuple):
    row: int
    order: AnswerOrder
    seat: int  # of the judge


class _OrderVerdict(NamedTuple):
    """The verdict on one query in one order; without a choice if there was no call."""

    choice: Choice | None
    verdict: Verdict


_Outcomes = dict[AnswerOrder, list[_OrderVerdict | None]]  # None where it was not asked


@explain_keywords
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
        How the model is called, as described in
        `rageval_report.judges.judge_options.CallOptions`.

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
    comparing, paired = pair_records(baseline, candidate, rubric)
    with open_sessions(chats_of(chat), **options) as sessions:
        notes = sessions[0].announce((*paired.notes, *_gap_notes(paired, comparing)))
        outcomes = _ask_all(paired.rows, comparing, sessions)
    raise_if_hopeless(sessions)
    results = [
        _build_preferences(paired, comparing, by_order, session, notes)
        for by_order, session in zip(outcomes, sessions, strict=True)
    ]
    if len(results) == 1:
        return results[0]
    names = judge_names([session.chat for session in sessions])
    return combine_preferences(dict(zip(names, results, strict=True)))


@dataclass(frozen=True, eq=False)
class PairedRecords:
    """The records of two pipelines, for the queries that both have.

    Parameters
    ----------
    old, new : DataFrame
        The records of the baseline and of the candidate, on one index.
    rows : list of (dict, dict)
        The same, query by query.
    notes : tuple of str
        Which queries of one pipeline were left out.
    """

    old: pd.DataFrame
    new: pd.DataFrame
    rows: list[tuple[dict[str, Any], dict[str, Any]]]
    notes: tuple[str, ...]


def pair_records(
    baseline: object, candidate: object, rubric: str | Rubric
) -> tuple[Rubric, PairedRecords]:
    """The rubric that compares, and the matched records, both checked.

    Raises
    ------
    AlignmentError
        If the two pipelines have no query in common.
    DataError
        If the rubric does not compare, or records lack a field.
    """
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
    rows = list(zip(as_rows(old), as_rows(new), strict=True))
    return comparing, PairedRecords(old, new, rows, notes)


def verdict_without_comparing(
    rubric: Rubric, old: JudgedRecord, new: JudgedRecord
) -> Verdict | None:
    """The verdict on a pair of records that is not to be judged; None if it is."""
    return verdict_without_judging(rubric, old) or verdict_without_judging(rubric, new)


def _gap_notes(paired: PairedRecords, rubric: Rubric) -> tuple[str, ...]:
    n = sum(verdict_without_comparing(rubric, old, new) is not None for old, new in paired.rows)
    if not n:
        return ()
    return (
        f"{rubric.name} is not judged on {n} of {len(paired.rows)} queries: one side has no "
        "answer, or lacks a field that the rubric shows",
    )


def comparison_steps(
    rubric: Rubric, old: JudgedRecord, new: JudgedRecord
) -> dict[AnswerOrder, JudgeStep[tuple[Choice, str | None]]]:
    """The requests that compare two answers, by order; none if the answers are the same."""
    if _are_same(old, new):
        return {}
    # In both orders, because judges favour a place: on which side an answer stands must not decide.
    return {order: _comparison_step(order, old, new, rubric) for order in ORDERS}


def _are_same(old: JudgedRecord, new: JudgedRecord) -> bool:
    return str(old["answer"]).strip() == str(new["answer"]).strip()


def _comparison_step(
    order: AnswerOrder, old: JudgedRecord, new: JudgedRecord, rubric: Rubric
) -> JudgeStep[tuple[Choice, str | None]]:
    first, second = (old, new) if order == "baseline_first" else (new, old)
    record = {**old, "first": first["answer"], "second": second["answer"]}
    return JudgeStep(rubric.message(record), read_preference, ("tie", None))


def _ask_all(
    pairs: list[tuple[dict[str, Any], dict[str, Any]]],
    rubric: Rubric,
    sessions: Sequence[JudgeSession],
) -> list[_Outcomes]:
    """The verdicts of each session."""
    outcomes: list[_Outcomes] = [{order: [None] * len(pairs) for order in ORDERS} for _ in sessions]
    meters = [session.meter for session in sessions]
    n_jobs = len(pairs) * len(ORDERS) * len(sessions)
    bar = Progress(n_jobs, *meters, is_shown=sessions[0].progress)

    def work(job: _ComparisonJob) -> tuple[_ComparisonJob, _OrderVerdict]:
        return job, _compare_pair(job.order, *pairs[job.row], rubric, sessions[job.seat])

    def keep(result: tuple[_ComparisonJob, _OrderVerdict]) -> None:
        job, outcome = result
        outcomes[job.seat][job.order][job.row] = outcome
        bar.advance()

    # Each pair for one judge after the other, so that an interrupted run has whole queries.
    jobs = (
        _ComparisonJob(row, order, seat)
        for row in range(len(pairs))
        for seat in range(len(sessions))
        for order in ORDERS
    )
    brakes = Brakes(tuple(session.brake for session in sessions))
    try:
        run_jobs(work, jobs, concurrency=sessions[0].concurrency, brake=brakes, keep=keep)
    finally:
        bar.close()
    return outcomes


def _compare_pair(
    order: AnswerOrder,
    old: JudgedRecord,
    new: JudgedRecord,
    rubric: Rubric,
    session: JudgeSession,
) -> _OrderVerdict:
    unjudged = verdict_without_comparing(rubric, old, new)
    if unjudged is not None:
        return _OrderVerdict(None, unjudged)
    if _are_same(old, new):
        return _OrderVerdict("tie", Verdict(0.5, _SAME))
    try:
        choice, reason = session.asker(rubric)(_comparison_step(order, old, new, rubric))
    except NoVerdictError as exc:
        return _OrderVerdict(None, Verdict(math.nan, str(exc), FAILED))
    except NotAskedError as exc:
        return _OrderVerdict(None, Verdict(math.nan, str(exc), MISSING))
    return _OrderVerdict(choice, Verdict(_SCORES[order][choice], reason))


# -- the result


def _build_preferences(
    paired: PairedRecords,
    rubric: Rubric,
    outcomes: _Outcomes,
    session: JudgeSession,
    notes: tuple[str, ...],
) -> Preferences:
    stopped = stopped_note(session)
    frame = _preference_frame(paired.old.index, outcomes, session.brake.reason)
    scores = frame["preference"].to_numpy()
    scored = frame[~np.isnan(scores)]
    position = position_counts(scored)
    usage = usage_by_judge(session, [rubric])
    chat, was_refused = session.chat, session.schemas.were_refused
    return Preferences(
        frame,
        **count_preferences(scores),
        position=position,
        usage=pd.DataFrame(usage_rows(usage)),
        notes=(
            *stopped,
            *notes,
            *schema_note(chat, was_refused=was_refused),
            *_family_notes(chat.model, paired),
            *position_note(position, len(scored)),
            *usage_notes(usage, has_price=session.meter.price is not None, model=chat.model),
            *spending_notes(session),
        ),
        settings={
            **judge_settings(chat, was_refused=was_refused),
            "rubric": rubric.name,
            "rubric_version": rubric.version,
        },
        is_interrupted=session.brake.reason == INTERRUPTED,
        # Ties without a call do not show that the judge works.
        failure=total_failure(session, int((scored["reason"] != _SAME).sum())),
    )


def _family_notes(judge: str, paired: PairedRecords) -> tuple[str, ...]:
    """A note per side, because the judge may belong to the family of one side only."""
    sides = (("baseline", paired.old), ("candidate", paired.new))
    return tuple(f"{side}: {note}" for side, table in sides for note in family_note(judge, table))


def _preference_frame(
    index: pd.Index, outcomes: _Outcomes, stop_reason: str | None
) -> pd.DataFrame:
    columns: dict[str, list[Any]] = {
        order: [None if outcome is None else outcome.choice for outcome in rows]
        for order, rows in outcomes.items()
    }
    unasked = not_asked(stop_reason)
    combined = [
        _combine_orders(*(unasked if outcome is None else outcome.verdict for outcome in both))
        for both in zip(*outcomes.values(), strict=True)
    ]
    columns["preference"] = [verdict.score for verdict in combined]
    columns["state"] = [verdict.state for verdict in combined]
    columns["reason"] = [verdict.reason for verdict in combined]
    return pd.DataFrame(columns, index=index)


def _combine_orders(first: Verdict, second: Verdict) -> Verdict:
    """The verdict of both orders; if they disagree, it is undecided."""
    for verdict in (first, second):
        # One order alone would bring the preference for a place back in.
        if verdict.state != SCORED:
            return verdict
    if first.score == second.score:
        return first
    # A tie in one order is not enough to prefer the other order's choice.
    has_tie = 0.5 in (first.score, second.score)
    conflict = "a tie in one order" if has_tie else "the orders disagree"
    return Verdict(0.5, f"{conflict}: {first.reason or '-'} / {second.reason or '-'}")
