"""An estimate of the calls and the cost of judging, without a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pandas as pd

from rageval_report.errors import explain_keywords
from rageval_report.judges.applying import check_fields, verdict_without_judging
from rageval_report.judges.attempts import max_reply_tokens, max_request_tokens
from rageval_report.judges.chats.base import Chat
from rageval_report.judges.judging import as_rows, jobs_of
from rageval_report.judges.panels import chats_of, judge_names
from rageval_report.judges.preferences import (
    comparison_steps,
    pair_records,
    verdict_without_comparing,
)
from rageval_report.judges.procedures import PROCEDURES
from rageval_report.judges.reply_cache import Cache
from rageval_report.judges.rubric import JudgedRecord, Rubric
from rageval_report.judges.rubrics import rubrics_of
from rageval_report.judges.spending import cost_of, estimate_message_tokens, price_of
from rageval_report.judges.steps import CachedReplies, JudgeStep, NoVerdictError
from rageval_report.metrics.performance import Prices
from rageval_report.records import record_table

T = TypeVar("T")

_TOKENS_PER_VERDICT = 40.0  # a verdict with a sentence of reasoning, as models usually give it
_COLUMNS = (
    *("judge", "n_queries", "n_not_judged", "n_calls", "n_cached", "prompt_tokens"),
    *("completion_tokens", "cost_usd", "max_cost_usd"),
)


@dataclass
class _Rehearsal:
    """Counts the steps of a rubric, and answers them from the cache or with their stand-ins."""

    chat: Chat
    cache: Cache | None
    rubric: Rubric
    retry_unusable: bool = False
    repeat: int = 0
    n_calls: int = 0
    n_cached: int = 0
    n_judged: int = 0
    sent: float = 0.0
    max_sent: float = 0.0
    received: float = 0.0

    def __call__(self, step: JudgeStep[T]) -> T:
        if self.cache is not None:
            replies = CachedReplies(self.cache, self.chat, self.rubric, self.repeat)
            cached = replies.answer(step)
            if cached is not None and (cached.is_usable or not self.retry_unusable):
                self.n_cached += 1
                return cached.result()
        self.n_calls += 1
        self.sent += estimate_message_tokens(step.message)
        self.max_sent += max_request_tokens(self.chat, step.message)
        # A list of verdicts is as long as the list of claims or contexts.
        n_verdicts = len(step.stand_in) if isinstance(step.stand_in, list) else 1
        self.received += min(_TOKENS_PER_VERDICT * n_verdicts, self.chat.max_tokens)
        # The stand-in lets the procedure go on to its next request, which costs as well.
        return step.stand_in


@explain_keywords
def estimate(
    records: object,
    judges: str | Rubric | Iterable[str | Rubric],
    chat: object,
    *,
    n_repeats: int = 1,
    cache: Cache | str | Path | None = None,
    prices: Prices | None = None,
    retry_unusable: bool = False,
) -> pd.DataFrame:
    """The calls that `judge` would make, and their approximate cost; nothing is asked.

    Parameters
    ----------
    records, judges, chat, n_repeats, cache, prices, retry_unusable
        As for `rageval_report.judges.judge`.

    Returns
    -------
    DataFrame
        One row per rubric: ``judge``, ``n_queries``, ``n_not_judged``, to which it does not apply,
        ``n_calls``, ``n_cached``, the replies that are in the cache, ``prompt_tokens`` and
        ``completion_tokens``, guessed from lengths, ``cost_usd``, and ``max_cost_usd`` if every
        answer has the maximum length; NaN if the model has no price. The number of claims in a text
        is guessed from its sentences. With several chat models, one row per rubric and model, which
        the column ``judge_model`` names.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat
    >>> rows = [{"query_id": "q", "question": "Where?", "answer": "Here. Now.", "contexts": ["x"]}]
    >>> table = estimate(rows, ["faithfulness", "coherence"], ScriptedChat([]))
    >>> table[["judge", "n_calls"]].to_dict("list")
    {'judge': ['faithfulness', 'coherence'], 'n_calls': [2, 1]}
    """
    rubrics = rubrics_of(judges)
    models = chats_of(chat)
    table = record_table(records, unretrieved_citations="keep")
    for rubric in rubrics:
        check_fields(rubric, table)
    rows = as_rows(table)
    frames = []
    with _existing_cache(cache) as opened:
        for model in models:
            rehearsals = [_Rehearsal(model, opened, rubric, retry_unusable) for rubric in rubrics]
            _rehearse(rows, rehearsals, n_repeats)
            estimates = [
                _estimate_row(rehearsal, len(table), n_repeats, prices) for rehearsal in rehearsals
            ]
            frames.append(pd.DataFrame(estimates, columns=list(_COLUMNS)))
    return _name_judges(frames, models)


@explain_keywords
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
    models = chats_of(chat)
    comparing, paired = pair_records(baseline, candidate, rubric)
    with _existing_cache(cache) as opened:
        rehearsals = [_Rehearsal(model, opened, comparing, retry_unusable) for model in models]
        for rehearsal in rehearsals:
            _rehearse_pairs(paired.rows, rehearsal)
    rows = [_estimate_row(rehearsal, len(paired.rows), 1, prices) for rehearsal in rehearsals]
    return _name_judges([pd.DataFrame([row], columns=list(_COLUMNS)) for row in rows], models)


def _rehearse_pairs(
    pairs: Sequence[tuple[JudgedRecord, JudgedRecord]], rehearsal: _Rehearsal
) -> None:
    for old, new in pairs:
        if verdict_without_comparing(rehearsal.rubric, old, new) is not None:
            continue
        rehearsal.n_judged += 1
        for step in comparison_steps(rehearsal.rubric, old, new).values():
            with suppress(NoVerdictError):
                rehearsal(step)


def _name_judges(frames: Sequence[pd.DataFrame], models: Sequence[Chat]) -> pd.DataFrame:
    """The rows of all models, with a column that names each if there are several."""
    if len(frames) == 1:
        return frames[0]
    names = judge_names(models)
    named = [frame.assign(judge_model=name) for name, frame in zip(names, frames, strict=True)]
    return pd.concat(named, ignore_index=True)[["judge_model", *_COLUMNS]]


@contextmanager
def _existing_cache(cache: Cache | str | Path | None) -> Iterator[Cache | None]:
    """The cache, if its file exists; an estimate creates none."""
    if not isinstance(cache, str | Path):
        yield cache
    # Opening a cache creates its file, and an estimate must leave no trace.
    elif Path(cache).exists():
        with Cache(cache) as own:
            yield own
    else:
        yield None


def _rehearse(
    rows: Sequence[JudgedRecord], rehearsals: Sequence[_Rehearsal], n_repeats: int
) -> None:
    by_name = {rehearsal.rubric.name: rehearsal for rehearsal in rehearsals}
    rubrics = [rehearsal.rubric for rehearsal in rehearsals]
    for row, judge, repeat in jobs_of(len(rows), rubrics, n_repeats):
        rehearsal = by_name[judge]
        rubric = rehearsal.rubric
        if verdict_without_judging(rubric, rows[row]) is None:
            rehearsal.repeat = repeat
            rehearsal.n_judged += 1
            # An unusable answer in the cache ends the judging of this record.
            with suppress(NoVerdictError):
                PROCEDURES[rubric.kind](rubric, rows[row], rehearsal)


def _estimate_row(
    rehearsal: _Rehearsal, n_queries: int, n_repeats: int, prices: Prices | None
) -> tuple[object, ...]:
    price = price_of(rehearsal.chat, prices)
    per_reply = max_reply_tokens(rehearsal.chat)
    max_received = None if per_reply is None else float(per_reply * rehearsal.n_calls)
    return (
        *(rehearsal.rubric.name, n_queries, n_queries - rehearsal.n_judged // n_repeats),
        *(rehearsal.n_calls, rehearsal.n_cached),
        *(round(rehearsal.sent), round(rehearsal.received)),
        cost_of(price, rehearsal.sent, rehearsal.received),
        cost_of(price, rehearsal.max_sent, max_received),
    )
