"""What judging would take, worked out without asking anybody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from rageval_report.judges.applying import check_fields, unjudged
from rageval_report.judges.asking import Step, kept_answer
from rageval_report.judges.cache import Cache
from rageval_report.judges.chats.base import Chat, as_chat
from rageval_report.judges.judging import as_rows, jobs_of, rubrics_of
from rageval_report.judges.pairs import ORDERS, are_same, pairs_of, step_of
from rageval_report.judges.procedures import CARRIED_OUT
from rageval_report.judges.rubric import Rubric
from rageval_report.judges.spending import about_tokens, at_most_tokens, cost_of, price_of
from rageval_report.metrics.performance import Prices
from rageval_report.records import record_table

T = TypeVar("T")

_A_SENTENCE = 40.0  # tokens of a verdict with its reason, as models give them
_COLUMNS = (
    *("judge", "n_queries", "n_not_judged", "n_calls", "n_cached", "prompt_tokens"),
    *("completion_tokens", "cost_usd", "max_cost_usd"),
)


@dataclass
class _Rehearsal:
    """Takes the steps of a rubric, and answers them out of the cache or with stand-ins."""

    chat: Chat
    cache: Cache | None
    rubric: Rubric
    repeat: int = 0
    n_calls: int = 0
    n_cached: int = 0
    sent: float = 0.0
    sent_at_most: float = 0.0
    received: float = 0.0
    n_judged: int = field(default=0)

    def __call__(self, step: Step[T]) -> T:
        if self.cache is not None:
            kept = kept_answer(self.cache, self.chat, self.rubric, step, self.repeat)
            if kept is not None:
                self.n_cached += 1
                return kept.found
        self.n_calls += 1
        self.sent += about_tokens(step.message)
        self.sent_at_most += at_most_tokens(step.message)
        items = len(step.stand_in) if isinstance(step.stand_in, list) else 1
        self.received += min(_A_SENTENCE * items, self.chat.max_tokens)
        return step.stand_in


def estimate(
    records: object,
    judges: str | Rubric | Iterable[str | Rubric],
    chat: object,
    *,
    n_repeats: int = 1,
    cache: Cache | str | Path | None = None,
    prices: Prices | None = None,
) -> pd.DataFrame:
    """What `judge` would ask and about what it would cost; nothing is asked.

    Parameters
    ----------
    records, judges, chat, n_repeats, cache, prices
        As for `rageval_report.judges.judge`.

    Returns
    -------
    DataFrame
        A row a rubric: ``judge``, ``n_queries``, ``n_not_judged`` to which it does not apply,
        ``n_calls``, ``n_cached`` answers that are there already, ``prompt_tokens`` and
        ``completion_tokens``, guessed from lengths, ``cost_usd``, and ``max_cost_usd`` if all
        answers were as long as may be; NaN where the model has no price. What claims a text will
        be taken apart into is guessed by its sentences.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat
    >>> rows = [{"query_id": "q", "question": "Where?", "answer": "Here. Now.", "contexts": ["x"]}]
    >>> table = estimate(rows, ["faithfulness", "coherence"], ScriptedChat([]))
    >>> table[["judge", "n_calls"]].to_dict("list")
    {'judge': ['faithfulness', 'coherence'], 'n_calls': [2, 1]}
    """
    rubrics = rubrics_of(judges)
    model = as_chat(chat)
    table = record_table(records, unretrieved_citations="keep")
    for rubric in rubrics:
        check_fields(rubric, table)
    with _looked_into(cache) as kept:
        rehearsals = _rehearsed(as_rows(table), rubrics, model, kept, n_repeats)
    rows = [_row(one, len(table), n_repeats, prices) for one in rehearsals]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def estimate_preference(
    baseline: object,
    candidate: object,
    chat: object,
    *,
    rubric: str | Rubric = "preference",
    cache: Cache | str | Path | None = None,
    prices: Prices | None = None,
) -> pd.DataFrame:
    """What `prefer` would ask, both orders, and about what it would cost; nothing is asked.

    Parameters
    ----------
    baseline, candidate, chat, rubric, cache, prices
        As for `rageval_report.judges.prefer`.

    Returns
    -------
    DataFrame
        One row, as `estimate` gives it. Queries of which both pipelines gave the same answer are a
        tie that costs nothing: they count in ``n_queries`` alone.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat
    >>> old = [{"query_id": "q", "question": "Where is Oslo?", "answer": "Somewhere."}]
    >>> new = [{"query_id": "q", "question": "Where is Oslo?", "answer": "In Norway."}]
    >>> estimate_preference(old, new, ScriptedChat([]))["n_calls"].item()
    2
    """
    model = as_chat(chat)
    asked, paired = pairs_of(baseline, candidate, rubric)
    with _looked_into(cache) as kept:
        rehearsal = _Rehearsal(model, kept, asked)
        for old, new in paired.rows:
            if unjudged(asked, old) or unjudged(asked, new):
                continue
            rehearsal.n_judged += 1
            for order in () if are_same(old, new) else ORDERS:
                rehearsal(step_of(order, old, new, asked))
    return pd.DataFrame([_row(rehearsal, len(paired.rows), 1, prices)], columns=list(_COLUMNS))


@contextmanager
def _looked_into(cache: Cache | str | Path | None) -> Iterator[Cache | None]:
    """A cache that is there already; none is made."""
    if not isinstance(cache, str | Path):
        yield cache
    elif Path(cache).exists():
        with Cache(cache) as own:
            yield own
    else:
        yield None


def _rehearsed(
    rows: list[dict[str, Any]],
    rubrics: list[Rubric],
    chat: Chat,
    cache: Cache | None,
    n_repeats: int,
) -> list[_Rehearsal]:
    found = {rubric.name: _Rehearsal(chat, cache, rubric) for rubric in rubrics}
    for row, judge, repeat in jobs_of(len(rows), rubrics, n_repeats):
        rehearsal = found[judge]
        rubric = rehearsal.rubric
        if unjudged(rubric, rows[row]) is None:
            rehearsal.repeat = repeat
            rehearsal.n_judged += 1
            CARRIED_OUT[rubric.kind](rubric, rows[row], rehearsal)
    return list(found.values())


def _row(
    one: _Rehearsal, n_queries: int, n_repeats: int, prices: Prices | None
) -> tuple[object, ...]:
    price = price_of(one.chat, prices)
    longest = float(one.chat.max_tokens * one.n_calls)
    return (
        *(one.rubric.name, n_queries, n_queries - one.n_judged // n_repeats),
        *(one.n_calls, one.n_cached, round(one.sent), round(one.received)),
        cost_of(price, one.sent, one.received),
        cost_of(price, one.sent_at_most, longest),
    )
