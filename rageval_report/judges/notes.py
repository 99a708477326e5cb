"""What a reader of judged scores must know beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pandas as pd

from rageval_report.judges.chats.base import Chat
from rageval_report.judges.chats.families import family_of
from rageval_report.judges.spending import Usage

_MODEL = "model"


def family_note(judge: str, records: pd.DataFrame, generator: str | None = None) -> tuple[str, ...]:
    """That judge and generator are of one family, where their names say so.

    Examples
    --------
    >>> family_note("gpt-5", pd.DataFrame({"model": ["gpt-4o", "claude-opus-5"]}))[0]
    "the judge gpt-5 is of the family of gpt-4o (OpenAI), which gave 1 of 2 answers: judges tend \
to favour their own family's answers"
    """
    family = family_of(judge)
    told = records[_MODEL].tolist() if _MODEL in records else [generator] * len(records)
    models = Counter(one if isinstance(one, str) else generator for one in told)
    own = {one: n for one, n in models.items() if one and family and family_of(one) == family}
    if not own:
        return ()
    return (
        f"the judge {judge} is of the family of {', '.join(own)} ({family}), which gave "
        f"{sum(own.values())} of {len(records)} answers: judges tend to favour their own family's "
        "answers",
    )


def words_note(chat: Chat, *, was_refused: bool) -> tuple[str, ...]:
    """That the judge kept to no JSON schema, where it is so.

    Examples
    --------
    >>> from rageval_report.judges.chats.base import FunctionChat
    >>> words_note(FunctionChat(str.upper, "mine"), was_refused=False)
    ('structured=False: mine was sent no JSON schema; its answers were read by the strict parser',)
    """
    if was_refused:
        why = f"the server of {chat.model} refused a JSON schema"
    elif chat.settings.get("structured") is False:
        why = f"{chat.model} was sent no JSON schema"
    else:
        return ()
    return (f"structured=False: {why}; its answers were read by the strict parser",)


def settings_as_asked(chat: Chat, *, was_refused: bool) -> dict[str, object]:
    """Who was asked and how, as it turned out."""
    refused = {"structured": False} if was_refused else {}
    return {"judge_model": chat.model, **chat.settings, **refused}


def tally_notes(usage: Mapping[str, Usage], *, has_price: bool, model: str) -> tuple[str, ...]:
    """How often was asked, what came from the cache, what failed, and what it cost.

    Examples
    --------
    >>> tally_notes({"tone": Usage(3, 2, 1, 300, 30, 0.006)}, has_price=True, model="m")
    ('m was asked 3 times, 2 answers came from the cache, 1 gave no verdict; 0.006 USD',)
    """
    every = list(usage.values())
    calls, cached, failed = (
        sum(getattr(one, name) for one in every) for name in ("n_calls", "n_cached", "n_failed")
    )
    costs = [one.cost_usd for one in every]
    if not has_price:
        cost = "the cost is not known, for want of prices" if calls else "nothing was spent"
    elif None in costs:
        cost = "the cost is not known: the server did not count all tokens"
    else:
        cost = f"{sum(one for one in costs if one is not None):.4g} USD"
    times = "once" if calls == 1 else f"{calls} times"
    parts = [
        f"{model} was asked {times}",
        f"{cached} answers came from the cache",
        f"{failed} gave no verdict",
    ]
    return (f"{', '.join(parts)}; {cost}",)
