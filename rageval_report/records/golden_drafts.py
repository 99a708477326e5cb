"""A golden set from documents, and references for judged documents, written by a chat model.

Questions are drafted from passages, answered in a separate request, filtered, and kept with their
provenance. Each reply is in a `Cache` before the next question is asked, so that a run that was
stopped can continue.
"""

from __future__ import annotations

import re
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rageval_report._version import __version__
from rageval_report.errors import (
    DataError,
    JudgeError,
    MissingDependencyError,
    RagevalWarning,
    UnknownNameError,
    named,
)
from rageval_report.judges.cache import Cache, reply_key
from rageval_report.judges.chats import Ask, Chat, Message, as_chat
from rageval_report.judges.parsing import find_objects, quote_beginning, remove_thoughts
from rageval_report.records.cells import Span
from rageval_report.records.golden import Documents, GoldenItem, highly_relevant
from rageval_report.records.golden_checks import (
    content_words,
    find_draft_fault,
    near_pairs,
    words_of,
)

# The kinds of questions, and the prompt for each.
KINDS = {"factoid": "question", "multi_hop": "multi_hop", "unanswerable": "unanswerable"}

_ROUNDS = 3  # the number of questions to try per passage
_CANDIDATES = 50  # passages to compare for a second hop, so that the work stays linear
_MOST_FAILURES = 5  # in a row: then the chat is most likely down

# By name a template with a version.
_PROMPTS = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))


def _message(prompt: str, **values: object) -> Message:
    """A prompt with these values in its places; a value is never taken for a template."""
    template = Template(_PROMPTS[prompt]["user"])
    text = template.substitute({name: str(value) for name, value in values.items()})
    return Message(text.strip(), _PROMPTS[prompt]["system"])


def _label(prompt: str) -> str:
    """Name and version of a prompt, for a provenance."""
    return f"{prompt}@{_PROMPTS[prompt]['version']}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


# -- replies, which a file keeps


class RejectedError(Exception):
    """A draft is rejected: the text says why, and whether the chat may answer later."""

    def __init__(self, message: str, *, is_down: bool = False):
        super().__init__(message)
        self.is_down = is_down


@dataclass
class KeptChat:
    """Asks a chat, or answers from the replies that a cache keeps."""

    chat: Chat
    ask: Ask
    cache: Cache | None = None
    n_asked: int = 0
    n_replayed: int = 0
    n_failures: int = 0  # in a row

    def __call__(self, message: Message) -> str:
        """The text of a reply; `RejectedError` if there is none."""
        chat = self.chat
        key = reply_key(
            model=chat.model, settings=chat.settings, message=message, judge="golden", version=""
        )
        reply = None if self.cache is None else self.cache.get(key)
        if reply is not None:
            self.n_replayed += 1
            return reply.text
        self.n_asked += 1
        try:
            reply = self.ask(message)
        # Mistakes of the set-up: every further question would fail in the same way.
        except (DataError, MissingDependencyError):
            raise
        except Exception as exc:
            self.n_failures += 1
            if self.n_failures >= _MOST_FAILURES:
                raise
            is_down = isinstance(exc, OSError) or bool(getattr(exc, "is_temporary", False))
            raise RejectedError(f"the chat failed: {exc}", is_down=is_down) from exc
        self.n_failures = 0
        if reply.ending != "end":
            raise RejectedError(f"the chat's answer is incomplete: {reply.ending}")
        if self.cache is not None:
            self.cache.put(key, reply, judge="golden", model=chat.model)
        return reply.text

    def ask_object(self, prompt: str, **values: object) -> dict[str, Any]:
        """The one JSON object in the model's answer, with or without prose around it."""
        text = remove_thoughts(self(_message(prompt, **values)))
        documents = find_objects(text)
        # Of several objects it is not known which one is meant.
        if len(documents) != 1:
            shown = quote_beginning(text)
            raise RejectedError(f"expected one JSON object; the model said {shown}")
        return documents[0]


@contextmanager
def kept_chat(
    chat: Chat | Callable[[str], Any], journal: str | Path | None = None
) -> Iterator[KeptChat]:
    """A chat whose replies are kept in the file `journal`, if there is one."""
    model = as_chat(chat)
    with model.open() as ask, nullcontext() if journal is None else Cache(journal) as cache:
        yield KeptChat(model, ask, cache)


# -- passages

_BREAK = re.compile(r"\n[ \t]*\n\s*")


class Passage(NamedTuple):
    """A piece of a document: its place and its text."""

    span: Span
    text: str


def passages_of(documents: Mapping[str, str], *, longest: int, shortest: int) -> list[Passage]:
    """Documents, cut at blank lines into pieces of similar length."""
    if not 1 <= shortest <= longest:
        raise DataError(
            f"shortest and longest must be 1 <= shortest <= longest; got {shortest} and {longest}"
        )
    passages = []
    for name, text in documents.items():
        pieces: list[list[int]] = []
        for low, high in _paragraphs(text, longest):
            if pieces and high - pieces[-1][0] <= longest:
                pieces[-1][1] = high
            else:
                pieces.append([low, high])
        cut = [Passage(Span(name, start, end), text[start:end]) for start, end in pieces]
        passages += [piece for piece in cut if len(piece.text) >= shortest] or cut[:1]
    return passages


def _paragraphs(text: str, longest: int) -> Iterator[tuple[int, int]]:
    """Start and end of each paragraph, without the blanks around it; long ones in pieces."""
    breaks = [match.span() for match in _BREAK.finditer(text)]
    starts = [0, *(end for _, end in breaks)]
    ends = [*(start for start, _ in breaks), len(text)]
    for low, high in zip(starts, ends, strict=True):
        paragraph = text[low:high]
        first = low + len(paragraph) - len(paragraph.lstrip())
        last = low + len(paragraph.rstrip())
        while last - first > longest:
            blank = text.rfind(" ", first + 1, first + longest)
            cut = blank if blank > first else first + longest
            yield first, cut
            first = cut + (text[cut] == " ")
        if last > first:
            yield first, last


# -- drafts: what the model is asked, and how its answers become an item


class DraftPlan(NamedTuple):
    """A question to draft: its kind, the passages, and the questions on them that exist already."""

    kind: str
    passages: tuple[Passage, ...]
    avoid: tuple[str, ...] = ()

    @property
    def context(self) -> str:
        """The text that the model sees."""
        return "\n\n---\n\n".join(passage.text for passage in self.passages)


class Draft(NamedTuple):
    """The outcome of a plan: the item, or why it was rejected, with the question if any."""

    plan: DraftPlan
    item: GoldenItem | None
    reason: str = ""
    question: str = ""


MapDrafts = Callable[[Callable[[DraftPlan], Draft], Iterable[DraftPlan]], Iterable[Draft]]
_MAP_IN_ORDER: MapDrafts = map


@dataclass(frozen=True)
class _Drafter:
    """Turns plans into drafts."""

    ask: KeptChat
    n_negatives: int
    origin: Mapping[str, Any]

    def draft(self, plan: DraftPlan) -> Draft:
        """The draft of a plan; a failure becomes the reason of its rejection."""
        question = ""
        avoid = "\n".join(f"- Do not ask again: {question}" for question in plan.avoid)
        try:
            reply = self.ask.ask_object(KINDS[plan.kind], context=plan.context, avoid=avoid)
            question = _read_text(reply, "question")
            return Draft(plan, self._complete(plan, question))
        except RejectedError as exc:
            # With the question, so that later drafts avoid it too.
            return Draft(plan, None, str(exc), question)

    def _complete(self, plan: DraftPlan, question: str) -> GoldenItem:
        answer = self._ask_answer(question, plan.context)
        # The model that wrote the question is asked for an answer: only if it finds none is it
        # unanswerable.
        if plan.kind == "unanswerable" and answer is not None:
            raise RejectedError(f"it has an answer: {answer[0]!r:.60}")
        if plan.kind != "unanswerable" and answer is None:
            raise RejectedError("it has no answer in its text")
        item = self._make_item(plan, question, answer)
        # Before further requests to the model.
        fault = find_draft_fault(item, [passage.text for passage in plan.passages])
        if fault is not None:
            raise RejectedError(fault)
        if answer is None:
            return item
        # A multi-hop question must not be answered by one of its passages alone.
        for passage in plan.passages if len(plan.passages) > 1 else ():
            if self._ask_answer(question, passage.text) is not None:
                raise RejectedError(f"{passage.span.name} alone is enough for it")
        return self._with_negatives(plan, item, answer[0]) if self.n_negatives else item

    def _ask_answer(self, question: str, context: str) -> tuple[str, str] | None:
        """The answer in the text and its evidence; None if the text contains none."""
        document = self.ask.ask_object("answer", context=context, question=question)
        if not isinstance(document.get("answerable"), bool):
            raise RejectedError(
                f"answerable must be true or false; the model gave {document!r:.80}"
            )
        if not document["answerable"]:
            return None
        return _read_text(document, "answer"), str(document.get("evidence") or "")

    def _make_item(
        self, plan: DraftPlan, question: str, answer: tuple[str, str] | None
    ) -> GoldenItem:
        gold = [] if answer is None else _evidence(plan.passages, answer[1])
        return GoldenItem(
            # From the question's words, so that the same question has the same id in every run.
            query_id=f"gen-{_digest(' '.join(words_of(question)))}",
            question=question,
            references=() if answer is None else (answer[0],),
            relevant_spans=tuple(passage.span for passage in gold),
            relevant_texts=tuple(passage.text for passage in gold),
            answerable=answer is not None,
            metadata={"query_type": plan.kind},
            provenance={
                **self.origin,
                "prompts": [_label(name) for name in (KINDS[plan.kind], "answer")],
                "passages": [list(passage.span) for passage in plan.passages],
                "texts": [_digest(passage.text) for passage in plan.passages],
                "rageval_report": __version__,
            },
        )

    def _with_negatives(self, plan: DraftPlan, item: GoldenItem, answer: str) -> GoldenItem:
        n, about = self.n_negatives, {"question": item.question, "answer": answer}
        reply = self.ask.ask_object("negatives", **about, context=plan.context, n=n)
        texts = [text.strip() for text in reply.get("answers") or () if isinstance(text, str)]
        wrong = [text for text in dict.fromkeys(texts)
                 if text and words_of(text) != words_of(answer)]  # fmt: skip
        if not wrong:
            raise RejectedError("the model gave no wrong answers to it")
        labels = [*item.provenance["prompts"], _label("negatives")]
        provenance = {**item.provenance, "prompts": labels}
        return replace(item, negative_references=tuple(wrong[:n]), provenance=provenance)


def _read_text(document: Mapping[str, object], name: str) -> str:
    value = document.get(name)
    if isinstance(value, str) and value.strip():
        return " ".join(value.split())
    raise RejectedError(f"expected a text {name!r}; the model gave {document!r:.80}")


def _evidence(passages: Sequence[Passage], evidence: str) -> list[Passage]:
    """The quoted evidence where it stands, letter by letter except blanks; else whole passages."""
    quote = "".join(evidence.split())
    # Of several passages a quote shows only one of the hops; the gold is all of them.
    if len(passages) > 1 or not quote:
        return list(passages)
    [(span, text)] = passages
    # Models change line breaks and spaces when they quote: compare without them.
    positions = [place for place, letter in enumerate(text) if not letter.isspace()]
    at = "".join(text[place] for place in positions).find(quote)
    if at < 0:
        return list(passages)
    start, end = positions[at], positions[at + len(quote) - 1] + 1
    return [Passage(Span(span.filename, span.start + start, span.start + end), text[start:end])]


# -- a whole set


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


def generate_golden(
    documents: str | Path | Mapping[str, str],
    chat: Chat | Callable[[str], Any],
    kinds: Mapping[str, int],
    *,
    journal: str | Path | None = None,
    near: float = 0.8,
    n_negatives: int = 2,
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
    near : float
        The lowest Jaccard similarity of near-duplicates, by runs of three characters.
    n_negatives : int
        The number of wrong answers per question; 0 for none.
    longest, shortest : int
        The length of passages in characters. Paragraphs are joined up to the longest, and a
        shorter piece is left out, unless its document has no other.
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
        If no kind has a name.
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
    for kind in kinds:
        if kind not in KINDS:
            raise UnknownNameError("kind of question", kind, KINDS)
    passages = passages_of(Documents(documents), longest=longest, shortest=shortest)
    if not passages:
        raise DataError("documents must contain text; there is none")
    collection = _Collection(near)
    with kept_chat(chat, journal) as ask:
        origin = {"source": "generated", "model": ask.chat.model, "seed": seed}
        drafter = _Drafter(ask, n_negatives, origin)
        for kind, n in kinds.items():
            plans = _plans(passages, kind, seed, collection)
            goal = len(collection.items) + int(n)
            # Only as many as are missing, because each draft is paid for.
            while batch := list(islice(plans, goal - len(collection.items))):
                for draft in (map or _MAP_IN_ORDER)(drafter.draft, batch):
                    collection.add(draft)
            if n_missing := goal - len(collection.items):
                warnings.warn(
                    f"{n_missing} of {n} {kind} questions could not be made; see what was "
                    "rejected, or give more documents",
                    RagevalWarning,
                    stacklevel=2,
                )
    rejected = pd.DataFrame(collection.rejected, columns=["kind", "passage", "question", "reason"])
    return Generated(tuple(collection.items), rejected, ask.n_asked, ask.n_replayed)


def _plans(
    passages: Sequence[Passage], kind: str, seed: int, collection: _Collection
) -> Iterator[DraftPlan]:
    """Plans on the passages in an order drawn by seed, round by round."""
    # By place: the order in which the documents are given does not decide what is drawn.
    ordered = sorted(passages)
    # The kind is a part of the seed: each kind has an order of its own.
    rng = np.random.default_rng([seed, *kind.encode()])
    words = {passage.span: frozenset(content_words(passage.text)) for passage in passages}
    for _ in range(_ROUNDS):
        for first in (ordered[place] for place in rng.permutation(len(ordered)).tolist()):
            chosen: tuple[Passage, ...] = (first,)
            if kind == "multi_hop":
                others = [passage for passage in ordered if passage is not first]
                if not others:
                    continue
                n = min(_CANDIDATES, len(others))
                drawn = [others[i] for i in rng.choice(len(others), n, replace=False)]
                # The passage with most words in common, so that one question can need both.
                own = words[first.span]
                common = [len(own & words[other.span]) / max(len(own | words[other.span]), 1)
                          for other in drawn]  # fmt: skip
                chosen = (first, drawn[common.index(max(common))])
            yield DraftPlan(kind, chosen, collection.questions_on(chosen))


class _Collection:
    """The accepted items, and the rejected drafts with their reasons."""

    def __init__(self, near: float):
        self.items: list[GoldenItem] = []
        self.rejected: list[tuple[str, str, str, str]] = []
        self._near = near
        self._questions: dict[tuple[str, int], list[str]] = {}

    def questions_on(self, passages: Sequence[Passage]) -> tuple[str, ...]:
        """The questions on these passages so far, accepted or not."""
        lists = (self._questions.get(passage.span[:2], []) for passage in passages)
        return tuple(dict.fromkeys(question for questions in lists for question in questions))

    def add(self, draft: Draft) -> None:
        """Accept a draft, or note why not."""
        plan, item, reason, question = draft
        if item is not None:
            question = item.question
            seen = [earlier.question for earlier in self.items]
            pairs = near_pairs([*seen, question], self._near)
            near = [(value, -first) for first, second, value in pairs if second == len(seen)]
            reason = f"the question is nearly {seen[-max(near)[1]]!r:.80}" if near else ""
        for passage in plan.passages if question else ():
            self._questions.setdefault(passage.span[:2], []).append(question)
        if item is None or reason:
            passages = ", ".join(passage.span.name for passage in plan.passages)
            self.rejected.append((plan.kind, passages, question, reason))
            return
        self.items.append(item)


# -- references for sets that have judgments but no answers


def ground_truth(
    records: pd.DataFrame,
    corpus: Mapping[str, str] | pd.DataFrame,
    chat: Chat | Callable[[str], Any],
    *,
    grade: float | None = None,
    first: int = 5,
    journal: str | Path | None = None,
) -> list[GoldenItem]:
    r"""Write a reference for each query from its first highly relevant documents.

    Parameters
    ----------
    records : DataFrame
        Queries with graded documents, best first, as `load_dataset` returns them for BEIR sets.
    corpus : mapping of str to str, or DataFrame
        The texts by id, or the frame of `load_corpus`.
    chat : Chat or callable
        The chat model that writes the references, as in `generate_golden`.
    grade : float, optional
        The lowest grade that counts as highly relevant. If omitted, 2, or the highest grade of the
        judgments if that is lower.
    first : int
        The number of documents that the reference is written from; 5 as in ADR-013.
    journal : path, optional
        Where replies are kept, so that a run that was stopped can continue.

    Returns
    -------
    list of GoldenItem
        The gold contains all highly relevant documents, also those that were not used. Queries
        without such a document or without a text, or whose reply failed, are left out with a
        warning.

    Raises
    ------
    DataError
        If no query is left.
    JudgeError
        If there is a journal, and the chat could not be reached or was busy for some queries: call
        it again to go on. Without a journal, these queries are left out.

    Examples
    --------
    >>> records = pd.DataFrame(
    ...     {"question": ["Is milk healthy?"], "relevant": [{"d1": 2.0}]}, index=["q1"]
    ... )
    >>> items = ground_truth(records, {"d1": "Milk is."}, lambda text: " It is.\n")
    >>> items[0].references, items[0].metadata["context_documents"]
    (('It is.',), ['d1'])
    """
    if first < 1:
        raise DataError(f"first must be an integer >= 1; got {first}")
    queries, texts = highly_relevant(records, grade=grade), _document_texts(corpus)
    skipped: dict[str, RejectedError] = {}
    items = []
    labels = [_label("ground_truth")]
    with kept_chat(chat, journal) as ask:
        origin = {"source": "ground truth", "model": ask.chat.model, "prompts": labels}
        for query_id, row in zip(map(str, queries.index), queries.to_dict("records"), strict=True):
            question, grades = row.get("question"), row["relevant"]
            documents = [name for name in grades if name in texts][:first]
            try:
                answer = _ask_reference(ask, question, [texts[name] for name in documents])
            except RejectedError as exc:
                skipped[query_id] = exc
                continue
            about = {"highly_relevant_count": len(grades), "context_documents": documents}
            item = GoldenItem(query_id, str(question), (answer,), relevant=dict(grades))
            items.append(replace(item, answerable=True, metadata=about, provenance=origin))
    down = [query_id for query_id, reason in skipped.items() if reason.is_down]
    if journal is not None and down:
        # A set that is smaller only because the chat was down for a while is refused.
        raise JudgeError(
            f"{journal}: {len(down)} of {len(queries)} queries have no reference yet, because "
            f"{skipped[down[0]]}. The other replies are kept in this file: run it again to go on. "
            f"Without a reference: {named(down)}"
        )
    if n_without := len(records) - len(queries):
        _warn(f"{n_without} queries have no highly relevant document, and are left out")
    if skipped:
        listed = named(f"{query_id} ({reason})" for query_id, reason in skipped.items())
        _warn(f"no answer was written for {listed}")
    if not items:
        raise DataError("no query could be given an answer; the warnings say why")
    return items


def _warn(message: str) -> None:
    warnings.warn(message, RagevalWarning, stacklevel=3)


def _document_texts(corpus: Mapping[str, str] | pd.DataFrame) -> Mapping[str, str]:
    if not isinstance(corpus, pd.DataFrame):
        return corpus
    titles = corpus["title"] if "title" in corpus else [""] * len(corpus)
    rows = zip(corpus.index, titles, corpus["text"], strict=True)
    return {str(name): f"{title}\n{text}".strip() for name, title, text in rows}


def _ask_reference(ask: KeptChat, question: object, documents: list[str]) -> str:
    if not isinstance(question, str):
        raise RejectedError("no question")
    if not documents:
        raise RejectedError("no document")
    context = "\n\n".join(f"<document>\n{text}\n</document>" for text in documents)
    answer = remove_thoughts(ask(_message("ground_truth", context=context, question=question)))
    if not answer:
        raise RejectedError("the reply was blank")
    return answer
