"""What a judging gives beside its scores: notes, settings, and one result of several judges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report.judges.chats import family_of
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


def fields_of_session(
    session: JudgeSession,
    judges: Iterable[str],
    n_scored: int,
    notes: Sequence[str],
    later_notes: Sequence[str],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """The fields that results of every kind have: usage, notes, settings, how it ended."""
    chat, reason, failures = session.chat, session.brake.reason, session.meter.failures
    usage = session.meter.table(judges)
    stopped, schema, failure = [], [], None
    if reason is not None:
        kept = "" if session.is_hopeless else ". What was judged so far is kept"
        stopped = [f"stopped before the end: {reason}{kept}"]
    if session.has_refused_schemas:
        schema = [
            f"structured=False: the server of {chat.model} refused a JSON schema; the strict "
            "parser read its answers"
        ]
    # Why there is no verdict at all; an interruption by the user is not a failure.
    if not n_scored and reason != INTERRUPTED:
        if reason is not None:
            failure = f"nothing was judged: {reason}"
        elif failures:
            [(first, n)] = failures.most_common(1)
            total = failures.total()
            failure = f"nothing was judged; of {total} failures {n} are this: {first}"
    refused = {"structured": False} if session.has_refused_schemas else {}
    return {
        "usage": usage,
        "notes": (*stopped, *notes, *schema, *later_notes, *_usage_notes(usage, session)),
        "settings": {"judge_model": chat.model, **chat.settings, **refused, **settings},
        "is_interrupted": reason == INTERRUPTED,
        "failure": failure,
    }


# -- notes


def family_note(judge: str, records: pd.DataFrame, generator: str | None = None) -> list[str]:
    """A note that the judge belongs to the model family that wrote the answers, if it does."""
    family = family_of(judge)
    cells = records["model"].tolist() if "model" in records else [generator] * len(records)
    models = [cell if isinstance(cell, str) else generator for cell in cells]
    relatives = [model for model in models if model and family and family_of(model) == family]
    if not relatives:
        return []
    kin = ", ".join(dict.fromkeys(relatives))
    return [
        f"the judge {judge} is of the same family as {kin} ({family}), "
        f"which wrote {len(relatives)} of {len(records)} answers: judges tend to favour answers of "
        "their own family"
    ]


def _usage_notes(usage: pd.DataFrame, session: JudgeSession) -> Iterator[str]:
    """What was asked, what it cost, and what of the budget is spent."""
    n_calls, n_cached, n_failed = usage[["n_calls", "n_cached", "n_failed"]].sum()
    if session.meter.price is None:
        cost = "the cost is unknown without prices" if n_calls else "nothing was spent"
    elif usage["cost_usd"].isna().any():
        cost = "the cost is unknown: the server did not count all tokens"
    else:
        cost = f"{usage['cost_usd'].sum():.4g} USD"
    times = "once" if n_calls == 1 else f"{n_calls} times"
    yield (
        f"{session.chat.model} was asked {times}, {n_cached} answers came from the cache, "
        f"{n_failed} gave no verdict; {cost}"
    )
    ledger = session.ledger
    if ledger.max_cost is not None:
        spent = ledger.spent / MICROS_PER_USD
        yield f"at most {spent:.4g} of the budget of {ledger.max_cost:g} USD is spent"


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


def combine_votes(
    name: str,
    rule: CombiningRule,
    votes: pd.DataFrame,
    states: Iterable[Iterable[Any]],
    reasons: Iterable[Iterable[Any]],
    tie: float = math.nan,
) -> tuple[pd.DataFrame, list[str]]:
    """The scores of several judges together, with one state and all reasons, and notes on them."""
    values = votes.to_numpy(dtype=np.float64)
    scores = majority(values, tie) if rule == "majority" else mean_vote(values)
    marks = [dict(zip(map(str, votes), row, strict=True)) for row in values.tolist()]
    rows = zip(*states, strict=True)
    combined = [next(state for state in _FIRST_STATES if state in row) for row in rows]
    texts = list(map(_join_reasons, marks, zip(*reasons, strict=True)))
    notes = [f"{name}: the {rule} of {votes.shape[1]} judges ({', '.join(map(str, votes))})"]
    is_vote = ~np.isnan(values)
    split = np.flatnonzero(np.isnan(scores) & is_vote.any(axis=1))
    for row in split:
        combined[row], texts[row] = MISSING, f"the judges are evenly split: {texts[row]}"
    if len(split):
        notes.append(
            f"{name}: the judges are evenly split on {len(split)} of {len(votes)} queries, which "
            "are unscored; an odd number of judges avoids most of it"
        )
    columns = {"score": scores, "state": combined, "reason": texts, "marks": marks}
    return pd.DataFrame(columns, index=votes.index), notes


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


def fields_of_all(
    results: Mapping[str, JudgeResult], notes: Sequence[str], shared: Sequence[str], rule: object
) -> dict[str, Any]:
    """The fields that the result of several judges has, as `fields_of_session` for one."""
    first = next(iter(results.values()))
    failures = {judge: result.failure for judge, result in results.items() if result.failure}
    usage = name_judges({judge: result.usage for judge, result in results.items()})
    costs = usage["cost_usd"]
    total = [f"all judges together: {costs.astype(float).sum():.4g} USD"]
    return {
        "usage": usage,
        "notes": (
            *(f"{judge} gave no score at all: {why}" for judge, why in failures.items()),
            *(*notes, *_notes_of_judges(results), *([] if costs.isna().any() else total)),
        ),
        "settings": {
            "judge_model": " + ".join(results),
            "judges": {
                judge: {
                    name: value for name, value in result.settings.items() if name not in shared
                }
                for judge, result in results.items()
            },
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
