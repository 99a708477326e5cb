"""Two pipelines beside each other: a judge says whose answer is better, asked in both orders."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rageval_report.errors import AlignmentError, DataError, named
from rageval_report.judges.applying import check_fields, unjudged
from rageval_report.judges.asking import Asking, NotAskedError, NoVerdictError, Step
from rageval_report.judges.how import How, failure_of, stopped_note
from rageval_report.judges.judging import as_rows
from rageval_report.judges.notes import (
    family_note,
    settings_as_asked,
    tally_notes,
    words_note,
)
from rageval_report.judges.parsing import read_preference
from rageval_report.judges.parsing.truths import Choice
from rageval_report.judges.procedures import Verdict
from rageval_report.judges.rubric import Rubric
from rageval_report.judges.rubrics import JUDGES
from rageval_report.judges.running import INTERRUPTED, Progress, run_jobs
from rageval_report.judges.spending import Usage, usage_rows
from rageval_report.records import record_table
from rageval_report.scores.states import FAILED, MISSING, SCORED

# What an order's choice is worth to the candidate, by whose answer stood first.
_WORTH: dict[str, dict[Choice, float]] = {
    "baseline_first": {"first": 0.0, "second": 1.0, "tie": 0.5},
    "candidate_first": {"first": 1.0, "second": 0.0, "tie": 0.5},
}
ORDERS = tuple(_WORTH)
_SAME = "the answers are the same"  # a tie that nobody was asked about


@dataclass(frozen=True, eq=False)
class Preferences:
    """Whose answers a judge prefers.

    Parameters
    ----------
    frame : DataFrame
        Index ``query_id``: ``baseline_first`` and ``candidate_first``, what was chosen in each
        order ("first", "second", "tie", None); ``preference``, 1 for the candidate, 0 for the
        baseline, 0.5 for a tie or where the orders disagree, NaN where one has no verdict;
        ``state``, ``reason``.
    wins, ties, losses : int
        Of the candidate: both orders for it; undecided; both against it.
    n, n_unscored : int
        Queries with a verdict in both orders, and without.
    position : dict
        ``n_decided`` choices for one of two in queries scored, ``first`` the share of them for
        what stood first (0.5 without bias), ``n_flipped`` queries where the same place won in both
        orders, ``first_flips`` those where it was the first.
    usage : DataFrame
        As in `Judged`.
    notes : tuple of str
    settings : dict
    is_interrupted : bool
    failure : str, optional
        Why nothing at all was judged, where calls failed or none could begin.
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


class _Job(NamedTuple):
    row: int
    order: str


class _Done(NamedTuple):
    job: _Job
    choice: Choice | None
    verdict: Verdict


def prefer(
    baseline: object,
    candidate: object,
    chat: object,
    *,
    rubric: str | Rubric = "preference",
    **how: Any,
) -> Preferences:
    """Ask whose answer is better, query by query, with each in the first place once.

    A judge that favours a place would else favour a pipeline; asked in both orders it contradicts
    itself, which counts as undecided and is reported. Answers that are the same are a tie, and
    nobody is asked.

    Parameters
    ----------
    baseline, candidate : frame, dict of lists, or list of dicts
        The records of the two pipelines; queries are matched by id.
    chat : Chat or callable
        As for `rageval_report.judges.judge`.
    rubric : str or Rubric
        One of the kind "preference".
    **how
        As `rageval_report.judges.how.How` has it.

    Returns
    -------
    Preferences

    Raises
    ------
    AlignmentError
        If the two have no query in common.
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
    >>> found = prefer(old, new, always_first)
    >>> found.ties, found.position["first"]
    (1, 1.0)
    """
    manner = How(**how)
    asked, paired = pairs_of(baseline, candidate, rubric)
    told = manner.say((*paired.unmatched, *_gap_notes(paired, asked)))
    found: dict[str, list[_Done | None]] = {order: [None] * len(paired.rows) for order in ORDERS}
    with manner.opened(chat) as asking:
        _run(paired.rows, asked, manner, asking, found)
    return _preferences(paired, asked, found, asking, told)


@dataclass(frozen=True, eq=False)
class Paired:
    """Two pipelines' records of the queries that both have.

    Parameters
    ----------
    old, new : DataFrame
        On one index.
    rows : list of (dict, dict)
        The same, query by query.
    unmatched : tuple of str
        What is said of the queries of one alone.
    """

    old: pd.DataFrame
    new: pd.DataFrame
    rows: list[tuple[dict[str, Any], dict[str, Any]]]
    unmatched: tuple[str, ...]


def pairs_of(baseline: object, candidate: object, rubric: str | Rubric) -> tuple[Rubric, Paired]:
    """The rubric that compares, and what it lays beside each other, checked.

    Raises
    ------
    AlignmentError
        If the two have no query in common.
    DataError
        If the rubric does not compare, or records lack a field.
    """
    asked = rubric if isinstance(rubric, Rubric) else JUDGES[rubric]
    if asked.kind != "preference":
        raise DataError(f"{asked.name!r} judges one answer; a preference needs two in its prompt")
    old, new, unmatched = _matched(baseline, candidate)
    for table in (old, new):
        check_fields(asked, table)
    rows = list(zip(as_rows(old), as_rows(new), strict=True))
    return asked, Paired(old, new, rows, unmatched)


def _gap_notes(paired: Paired, rubric: Rubric) -> tuple[str, ...]:
    n = sum(bool(unjudged(rubric, old) or unjudged(rubric, new)) for old, new in paired.rows)
    if not n:
        return ()
    told = f"{rubric.name} is not judged on {n} of {len(paired.rows)} queries"
    return (f"{told}: one side has no answer, or lacks what the rubric shows",)


def _matched(
    baseline: object, candidate: object
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    old = record_table(baseline, unretrieved_citations="keep")
    new = record_table(candidate, unretrieved_citations="keep")
    shared = old.index[old.index.isin(new.index)]
    if not len(shared):
        raise AlignmentError("the two pipelines have no query id in common")
    notes = tuple(
        f"{len(only)} queries of the {whose} alone were left out: {named(only)}"
        for whose, mine, other in (("baseline", old, new), ("candidate", new, old))
        if len(only := mine.index[~mine.index.isin(other.index)])
    )
    return old.loc[shared], new.loc[shared], notes


def _run(
    pairs: list[tuple[dict[str, Any], dict[str, Any]]],
    rubric: Rubric,
    manner: How,
    asking: Asking,
    found: dict[str, list[_Done | None]],
) -> None:
    bar = Progress(len(pairs) * len(ORDERS), asking.meter, is_shown=manner.progress)

    def work(job: _Job) -> _Done:
        return _choice(job, *pairs[job.row], rubric, asking)

    def keep(done: _Done) -> None:
        found[done.job.order][done.job.row] = done
        bar.advance()

    jobs = (_Job(row, order) for row in range(len(pairs)) for order in ORDERS)
    try:
        run_jobs(work, jobs, concurrency=manner.concurrency, brake=asking.brake, keep=keep)
    finally:
        bar.close()


def _choice(
    job: _Job,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    rubric: Rubric,
    asking: Asking,
) -> _Done:
    told = unjudged(rubric, old) or unjudged(rubric, new)
    if told is not None:
        return _Done(job, None, told)
    if are_same(old, new):
        return _Done(job, "tie", Verdict(0.5, _SAME))
    try:
        choice, reason = asking.about(rubric)(step_of(job.order, old, new, rubric))
    except NoVerdictError as exc:
        return _Done(job, None, Verdict(math.nan, str(exc), FAILED))
    except NotAskedError as exc:
        return _Done(job, None, Verdict(math.nan, str(exc), MISSING))
    return _Done(job, choice, Verdict(_WORTH[job.order][choice], reason))


def are_same(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether both gave one answer: then nobody is asked which is better."""
    return str(old["answer"]).strip() == str(new["answer"]).strip()


def step_of(
    order: str, old: Mapping[str, Any], new: Mapping[str, Any], rubric: Rubric
) -> Step[tuple[Choice, str | None]]:
    """What is asked of two answers in one of the `ORDERS`."""
    first, second = (old, new) if order == ORDERS[0] else (new, old)
    shown = {**old, "first": first["answer"], "second": second["answer"]}
    return Step(rubric.message(shown), read_preference, ("tie", None))


# -- what comes out


def _preferences(
    paired: Paired,
    rubric: Rubric,
    found: dict[str, list[_Done | None]],
    asking: Asking,
    told: tuple[str, ...],
) -> Preferences:
    stopped = stopped_note(asking)
    frame = _frame(paired.old.index, found, asking.brake.reason)
    scores = frame["preference"].to_numpy()
    scored = frame[~np.isnan(scores)]
    position = _position(scored)
    usage = {rubric.name: asking.meter.by_judge.get(rubric.name, Usage())}
    chat, was_refused = asking.chat, asking.schemas.were_refused
    return Preferences(
        frame,
        wins=int((scores == 1.0).sum()),
        ties=int(((scores > 0.0) & (scores < 1.0)).sum()),
        losses=int((scores == 0.0).sum()),
        n=len(scored),
        n_unscored=len(frame) - len(scored),
        position=position,
        usage=pd.DataFrame(usage_rows(usage)),
        notes=(
            *stopped,
            *told,
            *words_note(chat, was_refused=was_refused),
            *_family_notes(chat.model, paired),
            *_position_note(position, len(scored)),
            *tally_notes(usage, has_price=asking.meter.price is not None, model=chat.model),
        ),
        settings={
            **settings_as_asked(chat, was_refused=was_refused),
            "rubric": rubric.name,
            "rubric_version": rubric.version,
        },
        is_interrupted=asking.brake.reason == INTERRUPTED,
        failure=failure_of(asking, int((scored["reason"] != _SAME).sum())),
    )


def _family_notes(judge: str, paired: Paired) -> tuple[str, ...]:
    """A judge favours its family: told of each side, for it may be on one alone."""
    sides = (("baseline", paired.old), ("candidate", paired.new))
    return tuple(f"{whose}: {note}" for whose, table in sides for note in family_note(judge, table))


def _frame(
    index: pd.Index, found: dict[str, list[_Done | None]], stopped: str | None
) -> pd.DataFrame:
    columns: dict[str, list[Any]] = {
        order: [None if one is None else one.choice for one in rows]
        for order, rows in found.items()
    }
    unasked = Verdict(math.nan, f"not asked: {stopped or 'stopped'}", MISSING)
    joined = [
        _joined(*(unasked if one is None else one.verdict for one in both))
        for both in zip(*found.values(), strict=True)
    ]
    columns["preference"] = [one.score for one in joined]
    columns["state"] = [one.state for one in joined]
    columns["reason"] = [one.reason for one in joined]
    return pd.DataFrame(columns, index=index)


def _joined(one: Verdict, other: Verdict) -> Verdict:
    """The verdict of both orders; orders that disagree are undecided."""
    for verdict in (one, other):
        if verdict.state != SCORED:
            return verdict
    if one.score != other.score and 0.5 not in (one.score, other.score):
        said = f"the orders disagree: {one.reason or '-'} / {other.reason or '-'}"
        return Verdict(0.5, said)
    if one.score != other.score:  # a tie in one order: not enough to prefer one
        return Verdict(0.5, f"a tie in one order: {one.reason or '-'} / {other.reason or '-'}")
    return one


def _position(scored: pd.DataFrame) -> dict[str, float]:
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


def _position_note(position: dict[str, float], n: int) -> tuple[str, ...]:
    if not position["n_decided"]:
        return ()
    return (
        f"position: of {position['n_decided']:.0f} choices {100 * position['first']:.0f} % fell on "
        f"the answer that stood first; the order alone decided {position['n_flipped']:.0f} of {n} "
        f"queries ({position['first_flips']:.0f} for the first place), which count as undecided",
    )
