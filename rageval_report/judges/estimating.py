"""An estimate of the calls and the cost of judging, without a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pandas as pd

from rageval_report.judges.cache import Cache
from rageval_report.judges.chats import (
    Chat,
    chats_of,
    judge_names,
    max_reply_tokens,
    max_request_tokens,
)
from rageval_report.judges.judging import check_records
from rageval_report.judges.preferences import pair_records
from rageval_report.judges.procedures import as_rows, judge_record, verdict_without_judging
from rageval_report.judges.rubric import Rubric
from rageval_report.judges.sessions import (
    AskStep,
    CachedReplies,
    JudgeStep,
    NoVerdictError,
    cost_of,
    price_of,
)
from rageval_report.metrics.performance import Prices

T = TypeVar("T")

# English prose has about four bytes per token; other scripts take more bytes and more tokens alike.
_BYTES_PER_TOKEN = 4.0
_OVERHEAD_TOKENS = 20  # roles and separators around a message
_TOKENS_PER_VERDICT = 40.0  # a verdict with a sentence of reasoning, as models usually give it
_COLUMNS = (
    *("judge", "n_queries", "n_not_judged", "n_calls", "n_cached", "prompt_tokens"),
    *("completion_tokens", "cost_usd", "max_cost_usd"),
)


class _Rehearsal:
    """Counts the steps of a rubric, and answers them from the cache or with their stand-ins."""

    def __init__(self, chat: Chat, cache: Cache | None, rubric: Rubric, retry_unusable: bool):
        self.chat, self.cache, self.rubric = chat, cache, rubric
        self.retry_unusable = retry_unusable
        self.n_calls = self.n_cached = 0
        self.sent = self.max_sent = self.received = 0.0

    def asker(self, repeat: int = 0) -> AskStep:
        """The callable that asks the steps of one repeat."""

        def ask(step: JudgeStep[T]) -> T:
            if self.cache is not None:
                replies = CachedReplies(self.cache, self.chat, self.rubric, repeat)
                cached = replies.answer(step)
                if cached is not None and (cached.is_usable or not self.retry_unusable):
                    self.n_cached += 1
                    return cached.result()
            self.n_calls += 1
            self.sent += step.message.size / _BYTES_PER_TOKEN + _OVERHEAD_TOKENS
            self.max_sent += max_request_tokens(self.chat, step.message)
            # A list of verdicts is as long as the list of claims or contexts.
            n_verdicts = len(step.stand_in) if isinstance(step.stand_in, list) else 1
            self.received += min(_TOKENS_PER_VERDICT * n_verdicts, self.chat.max_tokens)
            # The stand-in lets the procedure go on to its next request, which costs as well.
            return step.stand_in

        return ask

    def row(self, n_queries: int, n_not_judged: int, prices: Prices | None) -> dict[str, object]:
        """What was counted, as a row of the table."""
        price, per_reply = price_of(self.chat, prices), max_reply_tokens(self.chat)
        max_received = None if per_reply is None else float(per_reply * self.n_calls)
        numbers = (
            *(self.rubric.name, n_queries, n_not_judged, self.n_calls, self.n_cached),
            *(round(self.sent), round(self.received)),
            cost_of(price, self.sent, self.received),
            cost_of(price, self.max_sent, max_received),
        )
        return dict(zip(_COLUMNS, numbers, strict=True))


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
    rubrics, table = check_records(records, judges)
    rows = as_rows(table)

    def rehearse(model: Chat, opened: Cache | None, rubric: Rubric) -> dict[str, object]:
        rehearsal = _Rehearsal(model, opened, rubric, retry_unusable)
        judged = [row for row in rows if verdict_without_judging(rubric, row) is None]
        for row in judged:
            for repeat in range(n_repeats):
                # An unusable answer in the cache ends the judging of this record.
                with suppress(NoVerdictError):
                    judge_record(rubric, row, rehearsal.asker(repeat))
        return rehearsal.row(len(rows), len(rows) - len(judged), prices)

    return _estimate_all(chats_of(chat), rubrics, cache, rehearse)


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
    paired = pair_records(baseline, candidate, rubric)
    n = len(paired.rows)

    def rehearse(model: Chat, opened: Cache | None, comparing: Rubric) -> dict[str, object]:
        rehearsal = _Rehearsal(model, opened, comparing, retry_unusable)
        judged = [row for row in range(n) if paired.unjudged(row) is None]
        for row in judged:
            for step in paired.steps(row).values():
                with suppress(NoVerdictError):
                    rehearsal.asker()(step)
        return rehearsal.row(n, n - len(judged), prices)

    return _estimate_all(models, [paired.rubric], cache, rehearse)


def _estimate_all(
    models: list[Chat],
    rubrics: list[Rubric],
    cache: Cache | str | Path | None,
    rehearse: Callable[[Chat, Cache | None, Rubric], dict[str, object]],
) -> pd.DataFrame:
    """One row per model and rubric, with a column that names the model if there are several."""
    names = judge_names(models)
    with _existing_cache(cache) as opened:
        rows = [
            {"judge_model": name, **rehearse(model, opened, rubric)}
            for name, model in zip(names, models, strict=True)
            for rubric in rubrics
        ]
    several = ("judge_model",) if len(models) > 1 else ()
    return pd.DataFrame(rows, columns=[*several, *_COLUMNS])


@contextmanager
def _existing_cache(cache: Cache | str | Path | None) -> Iterator[Cache | None]:
    """The cache, if its file exists: opening one creates it, and an estimate leaves no trace."""
    if not isinstance(cache, str | Path):
        yield cache
    elif Path(cache).exists():
        with Cache(cache) as own:
            yield own
    else:
        yield None
