"""A golden set made from documents by a chat model: drafted, filtered, resumable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.datasets.golden_items import GoldenItem
from rageval_report.errors import DataError, RagevalWarning
from rageval_report.golden.drafts import Draft, Drafter, Plan, checked_kinds
from rageval_report.golden.filters import FILTERS
from rageval_report.golden.near_duplicates import Seen
from rageval_report.golden.prompts import Prompt, load_prompts
from rageval_report.golden.reply_journal import Journal
from rageval_report.golden.source_documents import Documents, Passage, passages_of
from rageval_report.golden.word_overlap import content_words, jaccard
from rageval_report.judges.chats import Chat, as_chat

Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

_ROUNDS = 3  # how often a passage is asked about before the generator gives up
_CANDIDATES = 50  # passages that are looked at for a second hop


@dataclass(frozen=True)
class Generated:
    """What generating gave.

    Parameters
    ----------
    items : tuple of GoldenItem
        What was taken.
    rejected : DataFrame
        A row a draft that was not: ``kind``, ``passage``, ``question``, ``reason``.
    n_asked, n_replayed : int
        How many messages went to the model, and how many were answered from the journal.
    """

    items: tuple[GoldenItem, ...]
    rejected: pd.DataFrame
    n_asked: int
    n_replayed: int


def generate_golden(
    documents: str | Path | Mapping[str, str],
    chat: Chat | Callable[[str], Any],
    kinds: Mapping[str, int],
    *,
    journal: str | Path | None = None,
    examples: Sequence[GoldenItem] = (),
    existing: Sequence[GoldenItem] = (),
    filters: Iterable[str] | None = None,
    near: float = 0.8,
    n_negatives: int = 2,
    prompts: str | Path | Mapping[str, Prompt] | None = None,
    longest: int = 1500,
    shortest: int = 200,
    map: Map | None = None,  # noqa: A002
    seed: int = 0,
) -> Generated:
    """Make golden items from documents.

    Parameters
    ----------
    documents : path or mapping of str to str
        A folder of texts, or texts by name; see `Documents`.
    chat : Chat or callable
        A client of `rageval_report.judges.chats`, or any callable that takes a text and gives one.
    kinds : mapping of str to int
        How many of each: "factoid", "multi_hop" (two passages, neither of them enough),
        "unanswerable".
    journal : path, optional
        Where replies are kept; with it a run that was stopped goes on where it was.
    examples : sequence of GoldenItem
        Questions that show the model what is wanted.
    existing : sequence of GoldenItem
        A set that is there already; no question near one of it is taken.
    filters : iterable of str, optional
        Names of `FILTERS`; all of them where not given.
    near : float
        From which similarity on a question is a near-duplicate; see `nearness.near_pairs`.
    n_negatives : int
        How many wrong answers to each question; 0 asks for none.
    prompts : path or mapping, optional
        Prompts in place of the library's; see `load_prompts`.
    longest, shortest : int
        The length of passages in characters; see `passages_of`.
    map : callable, optional
        As the built-in ``map``, or that of a pool of threads.
    seed : int
        For which passages are asked about, and in which order.

    Returns
    -------
    Generated
        With gold as spans of the documents, and the provenance of each item: model, prompts with
        versions, passages with digests, seed. Fewer than asked for, with a warning, if the
        documents do not give more.

    Raises
    ------
    DataError
        If there are no documents, or an argument makes no sense.
    UnknownNameError
        If no kind or filter has that name.
    Exception
        What the chat raised, when it failed five times in a row; the journal keeps the rest.

    Notes
    -----
    The answer is asked for apart from the question, from the text and the question alone. A
    question without an answer counts only if the model finds none, one of two hops only if it
    finds none in either passage.

    Examples
    --------
    >>> def model(text):
    ...     if "Write one question" in text:
    ...         return '{"question": "Which river runs through Paris?"}'
    ...     return '{"answerable": true, "answer": "The Seine", "evidence": "the Seine"}'
    >>> texts = {"paris.md": "Through Paris runs the Seine."}
    >>> made = generate_golden(texts, model, {"factoid": 1}, n_negatives=0)
    >>> made.items[0].references, list(made.items[0].relevant_spans[0])
    (('The Seine',), ['paris.md', 19, 28])
    """
    wanted, known = checked_kinds(kinds), as_chat(chat)
    held = documents if isinstance(documents, Documents) else Documents(documents)
    passages = passages_of(held, longest=longest, shortest=shortest)
    if not passages:
        raise DataError("expected documents with text in them; there are none")
    texts = prompts if isinstance(prompts, Mapping) else load_prompts(prompts)
    checks = [FILTERS[name] for name in filters or FILTERS]
    taken = _Taken(existing, near)
    origin = {"source": "generated", "model": known.model, "seed": seed}
    kept = Journal(journal)
    with kept.asking(known) as ask:
        drafter = Drafter(ask, {**load_prompts(), **texts}, examples, n_negatives, checks, origin)
        for kind, n in wanted.items():
            _fill(taken, drafter, _Passages(passages, kind, seed), n, map or _in_turn)
    return Generated(tuple(taken.items), taken.rejected_frame(), kept.n_asked, kept.n_replayed)


def _in_turn(function: Callable[[Any], Any], plans: Iterable[Any]) -> Iterator[Any]:
    return (function(plan) for plan in plans)


def _fill(taken: _Taken, drafter: Drafter, passages: _Passages, n: int, map_: Map) -> None:
    """Draft in batches of what is still lacking, until there are enough or nothing is left."""
    goal = len(taken.items) + n
    waiting = passages.plans(taken)
    while len(taken.items) < goal:
        lacking = goal - len(taken.items)
        batch = list(islice(waiting, lacking))
        if not batch:
            told = f"{lacking} of {n} {passages.kind} questions could not be made"
            told = f"{told}; see what was rejected, or give more documents"
            warnings.warn(told, RagevalWarning, stacklevel=3)
            return
        for draft in map_(drafter.draft, batch):
            taken.judge(draft)


class _Passages:
    """The passages in an order drawn by seed, round by round."""

    def __init__(self, passages: Sequence[Passage], kind: str, seed: int):
        self.kind = kind
        self._passages = passages
        self._rng = np.random.default_rng([seed, *kind.encode()])
        self._words = {one.span: frozenset(content_words(one.text)) for one in passages}

    def plans(self, taken: _Taken) -> Iterator[Plan]:
        """Plans without end, or rather with as many rounds as are worth while."""
        for _ in range(_ROUNDS):
            for place in self._rng.permutation(len(self._passages)).tolist():
                chosen = self._chosen(self._passages[place])
                if chosen:
                    yield Plan(self.kind, chosen, taken.asked_of(chosen))

    def _chosen(self, first: Passage) -> tuple[Passage, ...]:
        if self.kind != "multi_hop":
            return (first,)
        others = [one for one in self._passages if one is not first]
        if not others:
            return ()
        n = min(_CANDIDATES, len(others))
        drawn = [others[place] for place in self._rng.choice(len(others), n, replace=False)]
        words = self._words[first.span]
        return first, max(drawn, key=lambda one: jaccard(words, self._words[one.span]))


class _Taken:
    """The items that were taken so far, and what was rejected."""

    def __init__(self, existing: Sequence[GoldenItem], near: float):
        self.items: list[GoldenItem] = []
        self._seen = Seen(near)
        for one in existing:
            self._seen.add(one.question)
        self._asked: dict[tuple[str, int], list[str]] = {}
        self._rejected: list[tuple[str, str, str, str]] = []

    def asked_of(self, passages: Sequence[Passage]) -> tuple[str, ...]:
        """The questions on these passages that were made, taken or not."""
        keys = [(one.span.filename, one.span.start) for one in passages]
        return tuple(dict.fromkeys(one for key in keys for one in self._asked.get(key, ())))

    def judge(self, draft: Draft) -> None:
        """Take a draft, or note why not."""
        item = draft.item
        reason = draft.reason if item is None else self._near_one(item)
        question = draft.question if item is None else item.question
        for one in draft.plan.passages if question else ():
            key = (one.span.filename, one.span.start)
            self._asked.setdefault(key, []).append(question)
        if item is None or reason is not None:
            passages = ", ".join(one.span.name for one in draft.plan.passages)
            self._rejected.append((draft.plan.kind, passages, question, reason or ""))
            return
        self._seen.add(item.question)
        self.items.append(item)

    def _near_one(self, item: GoldenItem) -> str | None:
        found = self._seen.nearest(item.question)
        return None if found is None else f"the question is nearly {found!r:.80}"

    def rejected_frame(self) -> pd.DataFrame:
        """What was rejected, a row a draft."""
        return pd.DataFrame(self._rejected, columns=["kind", "passage", "question", "reason"])
