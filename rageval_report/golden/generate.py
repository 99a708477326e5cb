"""A golden set from documents, by a chat model: drafted, filtered, and resumable."""

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
from rageval_report.errors import DataError, RagevalWarning, explain_keywords
from rageval_report.golden.drafts import Draft, Drafter, DraftPlan, check_kinds
from rageval_report.golden.filters import FILTERS
from rageval_report.golden.near_duplicates import SeenQuestions
from rageval_report.golden.prompts import Prompt, load_prompts
from rageval_report.golden.reply_journal import ReplyJournal
from rageval_report.golden.source_documents import Documents, Passage, passages_of
from rageval_report.golden.word_overlap import content_words, jaccard
from rageval_report.judges.chats import Chat, as_chat

MapDrafts = Callable[[Callable[[DraftPlan], Draft], Iterable[DraftPlan]], Iterable[Draft]]

_ROUNDS = 3  # the number of questions to try per passage
_CANDIDATES = 50  # passages to compare for a second hop, so that the work stays linear


@dataclass(frozen=True)
class Generated:
    """A generated golden set.

    Parameters
    ----------
    items : tuple of GoldenItem
        The accepted items.
    rejected : DataFrame
        One row per rejected draft: ``kind``, ``passage``, ``question``, ``reason``.
    n_asked, n_replayed : int
        The number of messages to the model, and of those that the journal answered.

    Examples
    --------
    >>> import pandas as pd
    >>> result = Generated((), pd.DataFrame(columns=["kind", "reason"]), n_asked=4, n_replayed=1)
    >>> len(result.items), len(result.rejected), result.n_asked
    (0, 0, 4)
    """

    items: tuple[GoldenItem, ...]
    rejected: pd.DataFrame
    n_asked: int
    n_replayed: int


@explain_keywords
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
    map: MapDrafts | None = None,  # noqa: A002
    seed: int = 0,
) -> Generated:
    """Generate golden items from documents.

    Parameters
    ----------
    documents : path or mapping of str to str
        A folder of texts, or texts by name; see `Documents`.
    chat : Chat or callable
        The chat model that writes the questions, e.g. ``openai_chat(...)``, or any callable that
        takes a text and returns one.
    kinds : mapping of str to int
        The number of questions of each kind: "factoid", "multi_hop" (two passages, neither of them
        enough), "unanswerable".
    journal : path, optional
        Where replies are kept, so that a run that was stopped can continue.
    examples : sequence of GoldenItem
        Examples for the model of the questions that are wanted.
    existing : sequence of GoldenItem
        An existing set; questions near one of it are rejected.
    filters : iterable of str, optional
        Names of `FILTERS`; all of them if omitted.
    near : float
        The lowest similarity of near-duplicates; see `near_duplicates.near_pairs`.
    n_negatives : int
        The number of wrong answers per question; 0 for none.
    prompts : path or mapping, optional
        Prompts that replace the library's; see `load_prompts`.
    longest, shortest : int
        The length of passages in characters; see `passages_of`.
    map : callable, optional
        A function like the built-in ``map``, e.g. that of a pool of threads.
    seed : int
        The seed for the choice and the order of passages.

    Returns
    -------
    Generated
        With gold as spans of the documents, and the provenance of each item: model, prompts with
        versions, passages with digests, seed. If the documents do not yield enough items, there are
        fewer, with a warning.

    Raises
    ------
    DataError
        If there are no documents, or an argument has no valid value.
    UnknownNameError
        If no kind or filter has a name.
    Exception
        The chat's own exception, if it fails five times in a row; the journal keeps the replies.

    Notes
    -----
    The answer is written in a separate request, with the text and the question only. An
    unanswerable question is accepted only if the model finds no answer, and a multi-hop question
    only if it finds none in either passage.

    Examples
    --------
    >>> def model(text):
    ...     if "Write one question" in text:
    ...         return '{"question": "Which river runs through Paris?"}'
    ...     return '{"answerable": true, "answer": "The Seine", "evidence": "the Seine"}'
    >>> texts = {"paris.md": "Through Paris runs the Seine."}
    >>> generated = generate_golden(texts, model, {"factoid": 1}, n_negatives=0)
    >>> generated.items[0].references, list(generated.items[0].relevant_spans[0])
    (('The Seine',), ['paris.md', 19, 28])
    """
    numbers, model = check_kinds(kinds), as_chat(chat)
    sources = documents if isinstance(documents, Documents) else Documents(documents)
    passages = passages_of(sources, longest=longest, shortest=shortest)
    if not passages:
        raise DataError("documents must contain text; there is none")
    own_prompts = prompts if isinstance(prompts, Mapping) else load_prompts(prompts)
    checks = [FILTERS[name] for name in filters or FILTERS]
    collection = _Collection(existing, near)
    origin = {"source": "generated", "model": model.model, "seed": seed}
    replies = ReplyJournal(journal)
    with replies.open(model) as ask:
        all_prompts = {**load_prompts(), **own_prompts}
        drafter = Drafter(ask, all_prompts, examples, n_negatives, checks, origin)
        for kind, n in numbers.items():
            planner = _Planner(passages, kind, seed)
            _collect(collection, drafter, planner, n, map or _map_in_order)
    return Generated(
        tuple(collection.items), collection.rejected_frame(), replies.n_asked, replies.n_replayed
    )


def _map_in_order(
    draft: Callable[[DraftPlan], Draft], plans: Iterable[DraftPlan]
) -> Iterator[Draft]:
    return (draft(plan) for plan in plans)


def _collect(
    collection: _Collection, drafter: Drafter, planner: _Planner, n: int, map_drafts: MapDrafts
) -> None:
    """Draft in batches of the missing number, until there are `n` more items or no plans left."""
    goal = len(collection.items) + n
    plans = planner.plans(collection)
    while len(collection.items) < goal:
        n_missing = goal - len(collection.items)
        # Only as many as are missing, because each draft is paid for.
        batch = list(islice(plans, n_missing))
        if not batch:
            warnings.warn(
                f"{n_missing} of {n} {planner.kind} questions could not be made; see what was "
                "rejected, or give more documents",
                RagevalWarning,
                stacklevel=3,
            )
            return
        for draft in map_drafts(drafter.draft, batch):
            collection.add(draft)


class _Planner:
    """Plans questions on the passages, in an order drawn by seed, round by round."""

    def __init__(self, passages: Sequence[Passage], kind: str, seed: int):
        self.kind = kind
        # By place: the order in which the documents are given does not decide what is drawn.
        self._passages = sorted(passages, key=lambda passage: (passage.span, passage.text))
        # The kind is a part of the seed: each kind has an order of its own.
        self._rng = np.random.default_rng([seed, *kind.encode()])
        self._words = {passage.span: frozenset(content_words(passage.text)) for passage in passages}

    def plans(self, collection: _Collection) -> Iterator[DraftPlan]:
        """The plans of all rounds; each avoids the questions that exist when it is taken."""
        for _ in range(_ROUNDS):
            for position in self._rng.permutation(len(self._passages)).tolist():
                chosen = self._choose_passages(self._passages[position])
                if chosen:
                    yield DraftPlan(self.kind, chosen, collection.questions_on(chosen))

    def _choose_passages(self, first: Passage) -> tuple[Passage, ...]:
        if self.kind != "multi_hop":
            return (first,)
        others = [passage for passage in self._passages if passage is not first]
        if not others:
            return ()
        n = min(_CANDIDATES, len(others))
        drawn = [others[i] for i in self._rng.choice(len(others), n, replace=False)]
        words = self._words[first.span]
        # The passage with most words in common, so that one question can need both.
        return first, max(drawn, key=lambda passage: jaccard(words, self._words[passage.span]))


class _Collection:
    """The accepted items, and the rejected drafts with their reasons."""

    def __init__(self, existing: Sequence[GoldenItem], near: float):
        self.items: list[GoldenItem] = []
        self._seen = SeenQuestions(near)
        for item in existing:
            self._seen.add(item.question)
        self._questions: dict[tuple[str, int], list[str]] = {}
        self._rejected: list[tuple[str, str, str, str]] = []

    def questions_on(self, passages: Sequence[Passage]) -> tuple[str, ...]:
        """The questions on these passages so far, accepted or not."""
        questions = (q for passage in passages for q in self._questions.get(_place(passage), ()))
        return tuple(dict.fromkeys(questions))

    def add(self, draft: Draft) -> None:
        """Accept a draft, or note why not."""
        item = draft.item
        reason = draft.reason if item is None else self._find_near_duplicate(item)
        question = draft.question if item is None else item.question
        for passage in draft.plan.passages if question else ():
            self._questions.setdefault(_place(passage), []).append(question)
        if item is None or reason is not None:
            passages = ", ".join(passage.span.name for passage in draft.plan.passages)
            self._rejected.append((draft.plan.kind, passages, question, reason or ""))
            return
        self._seen.add(item.question)
        self.items.append(item)

    def _find_near_duplicate(self, item: GoldenItem) -> str | None:
        nearest = self._seen.nearest(item.question)
        return None if nearest is None else f"the question is nearly {nearest!r:.80}"

    def rejected_frame(self) -> pd.DataFrame:
        """The rejected drafts, one row each."""
        return pd.DataFrame(self._rejected, columns=["kind", "passage", "question", "reason"])


def _place(passage: Passage) -> tuple[str, int]:
    return passage.span.filename, passage.span.start
