"""Notes on a judging: who judged, what it took, and why some or all records were not judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from rageval_report.errors import JudgeError
from rageval_report.judges.chats.base import Chat
from rageval_report.judges.chats.families import family_of
from rageval_report.judges.judge_jobs import INTERRUPTED
from rageval_report.judges.ledger import MICROS_PER_USD
from rageval_report.judges.sessions import JudgeSession
from rageval_report.judges.spending import Usage

_MODEL = "model"


def raise_if_hopeless(sessions: Sequence[JudgeSession]) -> None:
    """Raise an error if no session's model could be asked at all.

    Raises
    ------
    JudgeError
        If every session stopped because of a failure before its first answer.
    """
    # If no call ever succeeded there is nothing to keep, and the cause is an error, not a note.
    if all(session.is_hopeless for session in sessions):
        several = len(sessions) > 1
        raise JudgeError(
            "; ".join(
                f"{session.chat.model}: {session.brake.reason}"
                if several
                else str(session.brake.reason)
                for session in sessions
            )
        )


def stopped_note(session: JudgeSession) -> tuple[str, ...]:
    """A note that the judging stopped early, if it did."""
    if session.brake.reason is None:
        return ()
    kept = "" if session.is_hopeless else ". What was judged so far is kept"
    return (f"stopped before the end: {session.brake.reason}{kept}",)


def total_failure(session: JudgeSession, n_scored: int) -> str | None:
    """Why there is no verdict at all; None if there is one, or if nothing failed.

    Parameters
    ----------
    session : JudgeSession
        The session; an interruption by the user is not a failure.
    n_scored : int
        The number of verdicts.
    """
    stopped, failures = session.brake.reason, session.meter.failures
    if n_scored or stopped == INTERRUPTED or not (stopped or failures):
        return None
    if stopped:
        return f"nothing was judged: {stopped}"
    [(reason, n)] = failures.most_common(1)
    return f"nothing was judged; of {failures.total()} failures {n} are this: {reason}"


def family_note(judge: str, records: pd.DataFrame, generator: str | None = None) -> tuple[str, ...]:
    """A note that the judge belongs to the model family that wrote the answers, if it does.

    Examples
    --------
    >>> family_note("gpt-5", pd.DataFrame({"model": ["gpt-4o", "claude-opus-5"]}))[0]
    'the judge gpt-5 is of the same family as gpt-4o (OpenAI), which wrote 1 of 2 answers: judges \
tend to favour answers of their own family'
    """
    family = family_of(judge)
    cells = records[_MODEL].tolist() if _MODEL in records else [generator] * len(records)
    models = Counter(cell if isinstance(cell, str) else generator for cell in cells)
    # Judges favour their own family, so the reader of the scores has to know.
    relatives = {
        model: n for model, n in models.items() if model and family and family_of(model) == family
    }
    if not relatives:
        return ()
    return (
        f"the judge {judge} is of the same family as {', '.join(relatives)} ({family}), which "
        f"wrote {sum(relatives.values())} of {len(records)} answers: judges tend to favour answers "
        "of their own family",
    )


def schema_note(chat: Chat, *, was_refused: bool) -> tuple[str, ...]:
    """A note that the judge answered without a JSON schema, if it did.

    Examples
    --------
    >>> from rageval_report.judges.chats.base import FunctionChat
    >>> schema_note(FunctionChat(str.upper, "mine"), was_refused=False)
    ('structured=False: mine was sent no JSON schema; the strict parser read its answers',)
    """
    if was_refused:
        why = f"the server of {chat.model} refused a JSON schema"
    elif chat.settings.get("structured") is False:
        why = f"{chat.model} was sent no JSON schema"
    else:
        return ()
    return (f"structured=False: {why}; the strict parser read its answers",)


def judge_settings(chat: Chat, *, was_refused: bool) -> dict[str, object]:
    """The model that judged and its settings, as they were in the end."""
    refused = {"structured": False} if was_refused else {}
    return {"judge_model": chat.model, **chat.settings, **refused}


def spending_notes(session: JudgeSession) -> tuple[str, ...]:
    """Notes on what was not paid twice, what may have been billed, and what of the budget is spent.

    Examples
    --------
    >>> from rageval_report.judges.sessions import open_session
    >>> with open_session(len, prices={"len": (1, 1)}, max_cost=0.05) as session:
    ...     spending_notes(session)
    ('at most 0 of the budget of 0.05 USD is spent',)
    """
    meter, ledger = session.meter, session.ledger
    notes = []
    if n := meter.n_unusable_cached:
        notes.append(
            f"{n} answer{'s' if n > 1 else ''} in the cache without a verdict cost nothing again; "
            "retry_unusable=True asks again"
        )
    usages = list(meter.by_judge.values())
    n_unknown = sum(usage.n_unknown for usage in usages)
    if n_unknown and meter.price is not None:
        most = sum(usage.max_unknown_usd or 0.0 for usage in usages)
        notes.append(
            f"{n_unknown} attempts were not answered, e.g. because of a time-out, and may have "
            f"been billed: {most:.4g} USD at most"
        )
    if ledger.max_cost is not None:
        earlier = ""
        if ledger.earlier:
            earlier = f", {ledger.earlier / MICROS_PER_USD:.4g} of it by other runs with the cache"
        notes.append(
            f"at most {(ledger.earlier + ledger.spent) / MICROS_PER_USD:.4g} of the budget of "
            f"{ledger.max_cost:g} USD is spent{earlier}"
        )
    return tuple(notes)


def usage_notes(usage: Mapping[str, Usage], *, has_price: bool, model: str) -> tuple[str, ...]:
    """A note on the number of calls, cached replies and failures, and on the cost.

    Examples
    --------
    >>> usage_notes({"tone": Usage(3, 2, 1, 300, 30, 0.006)}, has_price=True, model="m")
    ('m was asked 3 times, 2 answers came from the cache, 1 gave no verdict; 0.006 USD',)
    """
    totals = list(usage.values())
    n_calls = sum(total.n_calls for total in totals)
    n_cached = sum(total.n_cached for total in totals)
    n_failed = sum(total.n_failed for total in totals)
    costs = [total.cost_usd for total in totals]
    if not has_price:
        cost = "the cost is unknown without prices" if n_calls else "nothing was spent"
    elif None in costs:
        cost = "the cost is unknown: the server did not count all tokens"
    else:
        cost = f"{sum(value for value in costs if value is not None):.4g} USD"
    times = "once" if n_calls == 1 else f"{n_calls} times"
    return (
        f"{model} was asked {times}, {n_cached} answers came from the cache, {n_failed} gave no "
        f"verdict; {cost}",
    )
