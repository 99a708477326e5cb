"""Several judges of the same records: their names, and one score from their votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.files.digests import canonical_json
from rageval_report.judges.chats.base import Chat, as_chat
from rageval_report.judges.judged import Judged
from rageval_report.scores import Metric
from rageval_report.scores.states import (
    FAILED,
    MISSING,
    NOT_APPLICABLE,
    REASON,
    SCORED,
    STATE,
    VOTES,
    state_columns,
    states_of,
)
from rageval_report.types import FloatArray

CombiningRule = Literal["majority", "mean"]


class JudgeResult(Protocol):
    """What the results of one judge have in common, whatever it was asked."""

    @property
    def usage(self) -> pd.DataFrame:
        """The calls, tokens and cost."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""

    @property
    def settings(self) -> dict[str, Any]:
        """The model and how it was asked."""


_SPLIT = "the judges are evenly split"
# If the judges' states differ, the first of these that occurs: a failure is what to look at first.
_WORST_FIRST = (FAILED, MISSING, NOT_APPLICABLE)


def chats_of(chat: object) -> list[Chat]:
    """The chat models that judge: one, or those of a list.

    Raises
    ------
    DataError
        If there is none, one is not a chat model, or two are the same.

    Examples
    --------
    >>> def strict(text):
    ...     return "2/5"
    >>> def kind(text):
    ...     return "5/5"
    >>> [chat.model for chat in chats_of([strict, kind])]
    ['strict', 'kind']
    """
    if not isinstance(chat, list | tuple):
        return [as_chat(chat)]
    chats = [as_chat(item) for item in chat]
    if not chats:
        raise DataError("chat must be a chat model, or a list of at least one; got an empty list")
    seen = set()
    for model in chats:
        # Their answers would be the same entries of the cache.
        identity = canonical_json({**model.settings, "model": model.model})
        if identity in seen:
            raise DataError(
                f"chat must be different judges; {model.model!r} appears twice with the same "
                "settings. To ask one judge several times, use n_repeats; callables get names "
                "with FunctionChat(function, model=...)"
            )
        seen.add(identity)
    return chats


def judge_names(chats: Sequence[Chat]) -> list[str]:
    """A name for each judge: its model, with the provider or a number if others have it too.

    Examples
    --------
    >>> from rageval_report.judges.chats.scripted import ScriptedChat
    >>> judge_names([ScriptedChat([], model="a"), ScriptedChat([], model="b")])
    ['a', 'b']
    >>> judge_names([ScriptedChat([], model="a"), ScriptedChat([], model="a")])
    ['a (scripted) 1', 'a (scripted) 2']
    """
    names = _distinguish(
        [chat.model for chat in chats],
        lambda place: f"{chats[place].model} ({chats[place].settings.get('provider', 'chat')})",
    )
    numbers = [names[: place + 1].count(name) for place, name in enumerate(names)]
    return _distinguish(names, lambda place: f"{names[place]} {numbers[place]}")


def _distinguish(names: Sequence[str], longer: Callable[[int], str]) -> list[str]:
    counts = Counter(names)
    return [longer(place) if counts[name] > 1 else name for place, name in enumerate(names)]


# -- one score from the votes of all judges


def rule_of(metric: Metric) -> CombiningRule:
    """How judges are combined: the majority of yes and no, the mean of everything else.

    Examples
    --------
    >>> rule_of(Metric("is_polite", kind="binary")), rule_of(Metric("tone", kind="proportion"))
    ('majority', 'mean')
    """
    return "majority" if metric.kind == "binary" else "mean"


def combine_votes(votes: FloatArray, rule: CombiningRule) -> FloatArray:
    """One score per query.

    Parameters
    ----------
    votes : ndarray of shape (n_queries, n_judges)
        NaN where a judge gave no score. Of the scores of repeats, the mean.
    rule : {"majority", "mean"}
        "majority": 1 if more judges scored above 0.5 than below, 0 if fewer did, and NaN if they
        are evenly split. "mean": the mean of those that scored.

    Returns
    -------
    ndarray of shape (n_queries,)
        NaN where no judge scored, or the judges are evenly split.

    Examples
    --------
    >>> nan = float("nan")
    >>> votes = np.array([[1, 1, 0], [1, 0, nan], [0, nan, nan], [nan, nan, nan]])
    >>> combine_votes(votes, "majority").tolist()
    [1.0, nan, 0.0, nan]
    >>> combine_votes(votes, "mean").round(2).tolist()
    [0.67, 0.5, 0.0, nan]
    """
    return _COMBINERS[rule](votes)


def _majority(votes: FloatArray) -> FloatArray:
    lead = (votes > 0.5).sum(axis=1) - (votes < 0.5).sum(axis=1)  # NaN is on neither side
    return np.where(lead == 0, np.nan, (lead > 0).astype(np.float64))


def _mean(votes: FloatArray) -> FloatArray:
    n = (~np.isnan(votes)).sum(axis=1)
    return np.where(n > 0, np.nansum(votes, axis=1) / np.maximum(n, 1), np.nan)


_COMBINERS: dict[CombiningRule, Callable[[FloatArray], FloatArray]] = {
    "majority": _majority,
    "mean": _mean,
}


def combine_judges(results: Mapping[str, Judged]) -> Judged:
    """The result of several judges: one score per query, and the results of each beside it.

    Parameters
    ----------
    results : mapping of str to Judged
        The results of two judges or more on the same records, by the judge's name.
    """
    first = next(iter(results.values()))
    rules = {name: rule_of(metric) for name, metric in first.metrics.items()}
    scores: dict[str, FloatArray] = {}
    states: dict[str, list[Any]] = {}
    notes: list[str] = []
    for name, rule in rules.items():
        votes = pd.DataFrame({judge: result.scores[name] for judge, result in results.items()})
        scores[name] = combine_votes(votes.to_numpy(dtype=np.float64), rule)
        states |= _combined_states(name, votes, scores[name], results)
        notes += notes_on_votes(name, rule, votes, scores[name])
    failures = {judge: result.failure for judge, result in results.items() if result.failure}
    scored = pd.DataFrame(scores, index=first.scores.index)
    return Judged(
        scored,
        first.records,
        pd.DataFrame(states, index=scored.index),
        first.metrics,
        tables_of_judges({judge: result.usage for judge, result in results.items()}),
        tables_of_judges({judge: result.noise for judge, result in results.items()}),
        (*failure_notes(failures), *notes, *notes_of_judges(results), *total_cost_note(results)),
        {
            "judge_model": " + ".join(results),
            "judges": {judge: own_settings(result) for judge, result in results.items()},
            "combined_by": rules,
            **{name: first.settings[name] for name in _SHARED_SETTINGS},
        },
        is_interrupted=any(result.is_interrupted for result in results.values()),
        failure=join_failures(failures) if len(failures) == len(results) else None,
        by_judge=dict(results),
    )


_SHARED_SETTINGS = ("rubrics", "n_repeats")
_SHARED_BY_PREFERENCES = ("rubric", "rubric_version")


def own_settings(result: JudgeResult) -> dict[str, Any]:
    """The settings of a result that may differ between judges."""
    shared = (*_SHARED_SETTINGS, *_SHARED_BY_PREFERENCES)
    return {name: value for name, value in result.settings.items() if name not in shared}


def join_failures(failures: Mapping[str, str | None]) -> str:
    """Why no judge gave a verdict."""
    return "; ".join(f"{judge}: {failure}" for judge, failure in failures.items())


def tables_of_judges(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The rows of all judges, with a column that names each."""
    # As rows: pandas 2 warns where it joins a column of unknown costs with one of numbers.
    rows = [
        {**row, "judge_model": judge}
        for judge, table in tables.items()
        for row in table.to_dict("records")
    ]
    return pd.DataFrame(rows) if rows else next(iter(tables.values()))


# -- states and reasons


def _combined_states(
    name: str, votes: pd.DataFrame, scores: FloatArray, results: Mapping[str, Judged]
) -> dict[str, list[Any]]:
    states = [_states_of(result, name) for result in results.values()]
    reasons = [_reasons_of(result, name) for result in results.values()]
    marks = [dict(zip(map(str, votes), row, strict=True)) for row in votes.to_numpy().tolist()]
    combined, texts = [], []
    for score, row, row_states, row_reasons in zip(
        scores, marks, zip(*states, strict=True), zip(*reasons, strict=True), strict=True
    ):
        text = join_reasons(row, row_reasons)
        if np.isnan(score) and SCORED in row_states:
            combined.append(MISSING)
            texts.append(f"{_SPLIT}: {text}")
        else:
            combined.append(combine_states(row_states))
            texts.append(text)
    return {**state_columns(name, combined, texts), name + VOTES: marks}


def _states_of(result: Judged, name: str) -> list[str]:
    column = f"{name}{STATE}"
    if column in result.states:
        return [str(state) for state in result.states[column]]
    return [str(state) for state in states_of(result.scores[name])]


def _reasons_of(result: Judged, name: str) -> list[Any]:
    column = f"{name}{REASON}"
    if column in result.states:
        return result.states[column].tolist()
    return [None] * len(result.scores)


def combine_states(states: Iterable[str]) -> str:
    """Scored if one judge scored; else the state to look at first.

    Examples
    --------
    >>> combine_states(["failed", "scored"]), combine_states(["missing", "failed"])
    ('scored', 'failed')
    """
    different = set(states)
    return next(state for state in (SCORED, *_WORST_FIRST) if state in different)


def join_reasons(marks: Mapping[str, float], reasons: Sequence[Any]) -> str:
    """The reasons of all judges, with their scores; once if all say the same."""
    texts = [reason if isinstance(reason, str) else "" for reason in reasons]
    if np.isnan(list(marks.values())).all() and len(set(texts)) == 1:
        return texts[0]
    parts = []
    for (judge, score), text in zip(marks.items(), texts, strict=True):
        shown = "unscored" if np.isnan(score) else f"{score:.3g}"
        parts.append(f"{judge} ({shown})" + (f": {text}" if text else ""))
    return " / ".join(parts)


# -- notes


def notes_on_votes(
    name: str, rule: CombiningRule, votes: pd.DataFrame, scores: FloatArray
) -> list[str]:
    """How the judges were combined, and on how many queries some of them decide alone."""
    is_vote = votes.notna().to_numpy()
    judges = ", ".join(map(str, votes))
    notes = [f"{name}: the {rule} of {votes.shape[1]} judges ({judges})"]
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


def failure_notes(failures: Mapping[str, str | None]) -> list[str]:
    """Which judges gave no score at all."""
    return [f"{judge} gave no score at all: {why}" for judge, why in failures.items()]


def notes_of_judges(results: Mapping[str, JudgeResult]) -> list[str]:
    """The notes of each judge: once if all have it, else with the name of the judge."""
    shared = set.intersection(*(set(result.notes) for result in results.values()))
    notes = [note for note in next(iter(results.values())).notes if note in shared]
    for judge, result in results.items():
        own = [note for note in result.notes if note not in shared]
        notes += [note if judge in note else f"{judge}: {note}" for note in own]
    return notes


def total_cost_note(results: Mapping[str, JudgeResult]) -> tuple[str, ...]:
    """What all judges cost, if each has a price."""
    costs = [result.usage["cost_usd"] for result in results.values()]
    if any(cost.isna().any() for cost in costs):
        return ()
    return (f"all judges together: {sum(float(cost.sum()) for cost in costs):.4g} USD",)
