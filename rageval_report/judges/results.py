"""What a judging gives beside its scores: notes, settings, and one result of several judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from rageval_report.errors import JudgeError
from rageval_report.judges.chats import family_of, judge_names
from rageval_report.judges.ledger import MICROS_PER_USD
from rageval_report.judges.sessions import INTERRUPTED, JudgeSession
from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, SCORED
from rageval_report.types import FloatArray

CombiningRule = Literal["majority", "mean"]
# If the judges' states differ, the first of these that occurs: a failure is what to look at first.
_FIRST_STATES = (SCORED, FAILED, MISSING, NOT_APPLICABLE)


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeResult:
    """What the results of a judging have in common, whatever was asked; see `Judged`."""

    usage: pd.DataFrame
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    is_interrupted: bool = False
    failure: str | None = None


ResultT = TypeVar("ResultT", bound=JudgeResult)


def result_of_all(
    sessions: Sequence[JudgeSession],
    results_of: Sequence[Callable[[], ResultT]],
    combine: Callable[[dict[str, ResultT]], ResultT],
) -> ResultT:
    """The result of the only judge, or that of several together."""
    if all(session.is_hopeless for session in sessions):
        reasons = [session.brake.reason for session in sessions]
        names = [f"{session.chat.model}: " if len(sessions) > 1 else "" for session in sessions]
        raise JudgeError("; ".join(f"{a}{b}" for a, b in zip(names, reasons, strict=True)))
    results = [result_of() for result_of in results_of]
    names = judge_names([session.chat for session in sessions])
    return results[0] if len(results) == 1 else combine(dict(zip(names, results, strict=True)))


def fields_of_session(
    session: JudgeSession,
    judges: Iterable[str],
    n_scored: int,
    notes: Sequence[str],
    later_notes: Sequence[str],
) -> dict[str, Any]:
    """The fields that results of every kind have: usage, notes, settings, how it ended."""
    usage, brake = session.meter.table(judges), session.brake
    refused = {"structured": False} if session.has_refused_schemas else {}
    stopped = []
    if brake.reason is not None:
        kept = "" if session.is_hopeless else ". What was judged so far is kept"
        stopped = [f"stopped before the end: {brake.reason}{kept}"]
    return {
        "usage": usage,
        "notes": (
            *(*stopped, *notes, *_schema_note(session), *later_notes),
            *(_usage_note(usage, session), *_spending_notes(session)),
        ),
        "settings": {"judge_model": session.chat.model, **session.chat.settings, **refused},
        "is_interrupted": brake.reason == INTERRUPTED,
        "failure": None if n_scored else _total_failure(session),
    }


def _total_failure(session: JudgeSession) -> str | None:
    """Why there is no verdict at all; an interruption by the user is not a failure."""
    stopped, failures = session.brake.reason, session.meter.failures
    if stopped == INTERRUPTED or not (stopped or failures):
        return None
    if stopped:
        return f"nothing was judged: {stopped}"
    [(reason, n)] = failures.most_common(1)
    return f"nothing was judged; of {failures.total()} failures {n} are this: {reason}"


# -- notes


def family_note(judge: str, records: pd.DataFrame, generator: str | None = None) -> list[str]:
    """A note that the judge belongs to the model family that wrote the answers, if it does."""
    family = family_of(judge)
    cells = records["model"].tolist() if "model" in records else [generator] * len(records)
    models = Counter(cell if isinstance(cell, str) else generator for cell in cells)
    relatives = {
        model: n for model, n in models.items() if model and family and family_of(model) == family
    }
    if not relatives:
        return []
    return [
        f"the judge {judge} is of the same family as {', '.join(relatives)} ({family}), which "
        f"wrote {sum(relatives.values())} of {len(records)} answers: judges tend to favour answers "
        "of their own family"
    ]


def _schema_note(session: JudgeSession) -> list[str]:
    chat = session.chat
    if session.has_refused_schemas:
        why = f"the server of {chat.model} refused a JSON schema"
    elif chat.settings.get("structured") is False:
        why = f"{chat.model} was sent no JSON schema"
    else:
        return []
    return [f"structured=False: {why}; the strict parser read its answers"]


def _spending_notes(session: JudgeSession) -> list[str]:
    """What was not paid twice, what may have been billed, and what of the budget is spent."""
    meter, ledger = session.meter, session.ledger
    notes = []
    if n := meter.n_unusable_cached:
        notes.append(
            f"{n} answer{'s' if n > 1 else ''} in the cache without a verdict cost nothing again; "
            "retry_unusable=True asks again"
        )
    n_unknown = sum(usage.n_unknown for usage in meter.by_judge.values())
    if n_unknown and meter.price is not None:
        most = sum(usage.max_unknown_usd or 0.0 for usage in meter.by_judge.values())
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
    return notes


def _usage_note(usage: pd.DataFrame, session: JudgeSession) -> str:
    n_calls, n_cached, n_failed = usage[["n_calls", "n_cached", "n_failed"]].sum()
    if session.meter.price is None:
        cost = "the cost is unknown without prices" if n_calls else "nothing was spent"
    elif usage["cost_usd"].isna().any():
        cost = "the cost is unknown: the server did not count all tokens"
    else:
        cost = f"{usage['cost_usd'].sum():.4g} USD"
    times = "once" if n_calls == 1 else f"{n_calls} times"
    return (
        f"{session.chat.model} was asked {times}, {n_cached} answers came from the cache, "
        f"{n_failed} gave no verdict; {cost}"
    )


# -- several judges


def majority(votes: FloatArray, tie: float) -> FloatArray:
    """1 if more judges voted above 0.5 than below, 0 if fewer, else `tie`; NaN without votes."""
    lead = (votes > 0.5).sum(axis=1) - (votes < 0.5).sum(axis=1)  # NaN is on neither side
    decided = np.where(lead == 0, tie, (lead > 0).astype(np.float64))
    return np.where(np.isnan(votes).all(axis=1), np.nan, decided)


def mean_vote(votes: FloatArray) -> FloatArray:
    """The mean of the judges that scored; NaN if none did."""
    n = (~np.isnan(votes)).sum(axis=1)
    return np.where(n > 0, np.nansum(votes, axis=1) / np.maximum(n, 1), np.nan)


def combine_reasons(
    votes: pd.DataFrame, states: Iterable[Iterable[Any]], reasons: Iterable[Iterable[Any]]
) -> tuple[list[str], list[str], list[dict[str, float]]]:
    """For each query one state, the reasons of all judges, and the score of each judge."""
    marks = [dict(zip(map(str, votes), row, strict=True)) for row in votes.to_numpy().tolist()]
    combined = [
        next(state for state in _FIRST_STATES if state in row) for row in zip(*states, strict=True)
    ]
    by_query = zip(*reasons, strict=True)
    return combined, list(map(_join_reasons, marks, by_query)), marks


def _join_reasons(marks: Mapping[str, float], reasons: Sequence[Any]) -> str:
    """The reasons of all judges, with their scores; once if all say the same."""
    texts = [reason if isinstance(reason, str) else "" for reason in reasons]
    if np.isnan(list(marks.values())).all() and len(set(texts)) == 1:
        return texts[0]
    parts = []
    for (judge, score), text in zip(marks.items(), texts, strict=True):
        shown = "unscored" if np.isnan(score) else f"{score:.3g}"
        parts.append(f"{judge} ({shown})" + (f": {text}" if text else ""))
    return " / ".join(parts)


def notes_on_votes(
    name: str, rule: CombiningRule, votes: pd.DataFrame, scores: FloatArray
) -> list[str]:
    """How the judges were combined, and on how many queries some of them decide alone."""
    is_vote = votes.notna().to_numpy()
    notes = [f"{name}: the {rule} of {votes.shape[1]} judges ({', '.join(map(str, votes))})"]
    n_split = int((np.isnan(scores) & is_vote.any(axis=1)).sum())
    if n_split:
        notes.append(
            f"{name}: the judges are evenly split on {n_split} of {len(votes)} queries, which are "
            "unscored; an odd number of judges avoids most of it"
        )
    n_partial = int((is_vote.any(axis=1) & ~is_vote.all(axis=1)).sum())
    if n_partial:
        missing = ", ".join(
            f"{judge} {n}" for judge, n in zip(votes, (~is_vote).sum(axis=0), strict=True) if n
        )
        notes.append(
            f"{name}: {n_partial} of {len(votes)} queries have scores of some judges only, which "
            f"decide alone; unscored by {missing}"
        )
    return notes


def fields_of_all(
    results: Mapping[str, JudgeResult], notes: Sequence[str], shared: Sequence[str], rule: object
) -> dict[str, Any]:
    """The fields that the result of several judges has, as `fields_of_session` for one."""
    first = next(iter(results.values()))
    failures = {judge: result.failure for judge, result in results.items() if result.failure}
    own_settings = {
        judge: {name: value for name, value in result.settings.items() if name not in shared}
        for judge, result in results.items()
    }
    return {
        "usage": name_judges({judge: result.usage for judge, result in results.items()}),
        "notes": (
            *(f"{judge} gave no score at all: {why}" for judge, why in failures.items()),
            *(*notes, *_notes_of_judges(results), *_total_cost_note(results)),
        ),
        "settings": {
            "judge_model": " + ".join(results),
            "judges": own_settings,
            "combined_by": rule,
            **{name: first.settings[name] for name in shared},
        },
        "is_interrupted": any(result.is_interrupted for result in results.values()),
        "failure": "; ".join(f"{judge}: {why}" for judge, why in failures.items())
        if len(failures) == len(results)
        else None,
        "by_judge": dict(results),
    }


def name_judges(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The rows of all judges, with a column that names each."""
    # As rows: pandas 2 warns where it joins a column of unknown costs with one of numbers.
    rows = [
        {**row, "judge_model": judge}
        for judge, table in tables.items()
        for row in table.to_dict("records")
    ]
    return pd.DataFrame(rows) if rows else next(iter(tables.values()))


def _notes_of_judges(results: Mapping[str, JudgeResult]) -> list[str]:
    """The notes of each judge: once if all have it, else with the name of the judge."""
    shared = set.intersection(*(set(result.notes) for result in results.values()))
    notes = [note for note in next(iter(results.values())).notes if note in shared]
    for judge, result in results.items():
        own = [note for note in result.notes if note not in shared]
        notes += [note if judge in note else f"{judge}: {note}" for note in own]
    return notes


def _total_cost_note(results: Mapping[str, JudgeResult]) -> list[str]:
    """What all judges cost, if each has a price."""
    costs = [result.usage["cost_usd"] for result in results.values()]
    if any(cost.isna().any() for cost in costs):
        return []
    return [f"all judges together: {sum(float(cost.sum()) for cost in costs):.4g} USD"]
