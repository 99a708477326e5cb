"""One draft of a golden item: what the model is asked, and how its answers become an item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from rageval_report.datasets.golden_items import GoldenItem
from rageval_report.golden.filters import DraftFilter
from rageval_report.golden.prompts import Prompt
from rageval_report.golden.source_documents import Passage
from rageval_report.golden.word_overlap import words_of
from rageval_report.records.spans import Span

from rageval_report._version import __version__
from rageval_report.errors import UnknownNameError
from rageval_report.golden.reply_journal import AskText, ChatFailedError
from rageval_report.judges.chats import Message
from rageval_report.judges.parsing import find_objects, quote_beginning, remove_thoughts

# The kinds of questions, and the prompt for each.
KINDS = {"factoid": "question", "multi_hop": "multi_hop", "unanswerable": "unanswerable"}

_MOST_EXAMPLES = 5


class RejectedError(Exception):
    """A draft is rejected.

    Parameters
    ----------
    reason : str
        Why.
    question : str
        The question, if there is one.
    """

    def __init__(self, reason: str, question: str = ""):
        super().__init__(reason)
        self.question = question


@dataclass(frozen=True)
class DraftPlan:
    """A question to draft.

    Parameters
    ----------
    kind : str
        A name of `KINDS`.
    passages : tuple of Passage
        The passages that it is about: two for a multi-hop question.
    avoid : tuple of str
        Questions on these passages that exist already.
    """

    kind: str
    passages: tuple[Passage, ...]
    avoid: tuple[str, ...] = ()

    @property
    def context(self) -> str:
        """The text that the model sees."""
        return "\n\n---\n\n".join(passage.text for passage in self.passages)


@dataclass(frozen=True)
class Draft:
    """The outcome of a plan.

    Parameters
    ----------
    plan : DraftPlan
        The plan.
    item : GoldenItem, optional
        The item; None if the draft was rejected.
    reason : str
        Why it was rejected.
    question : str
        The question of a rejected draft, if there is one.
    """

    plan: DraftPlan
    item: GoldenItem | None
    reason: str = ""
    question: str = ""


@dataclass(frozen=True)
class Drafter:
    """Turns plans into drafts.

    Parameters
    ----------
    ask : callable
        Returns the model's answer to a message.
    prompts : mapping of str to Prompt
        By name.
    examples : sequence of GoldenItem
        Examples for the model of the questions that are wanted.
    n_negatives : int
        The number of wrong answers to ask for.
    filters : sequence of DraftFilter
        The filters that an item must pass.
    origin : mapping
        Entries of every item's provenance.
    """

    ask: AskText
    prompts: Mapping[str, Prompt]
    examples: Sequence[GoldenItem]
    n_negatives: int
    filters: Sequence[DraftFilter]
    origin: Mapping[str, Any]

    def draft(self, plan: DraftPlan) -> Draft:
        """The draft of a plan; a failure becomes the reason of its rejection."""
        try:
            return Draft(plan, self._draft_item(plan))
        except RejectedError as exc:
            return Draft(plan, None, str(exc), exc.question)
        except ChatFailedError as exc:
            return Draft(plan, None, str(exc))

    def _draft_item(self, plan: DraftPlan) -> GoldenItem:
        question = self._ask_question(plan)
        try:
            return self._complete_item(plan, question)
        except (RejectedError, ChatFailedError) as exc:
            # With the question, so that later drafts avoid it too.
            raise RejectedError(str(exc), question) from exc

    def _complete_item(self, plan: DraftPlan, question: str) -> GoldenItem:
        answer = self._ask_answer(question, plan.context)
        # The model that wrote the question is asked for an answer: only if it finds none is it
        # unanswerable.
        if plan.kind == "unanswerable":
            if answer is not None:
                raise RejectedError(f"it has an answer: {answer.text!r:.60}")
            item = self._make_item(plan, question, None)
            self._check_filters(plan, item)
            return item
        if answer is None:
            raise RejectedError("it has no answer in its text")
        item = self._make_item(plan, question, answer)
        self._check_filters(plan, item)  # before further requests to the model
        self._check_hops(plan, question)
        return self._add_negatives(plan, item) if self.n_negatives else item

    def _make_item(
        self, plan: DraftPlan, question: str, answer: _DraftedAnswer | None
    ) -> GoldenItem:
        spans = () if answer is None else evidence_spans(plan.passages, answer.evidence)
        return GoldenItem(
            # From the question's words, so that the same question has the same id in every run.
            query_id=f"gen-{_digest(' '.join(words_of(question)))}",
            question=question,
            references=() if answer is None else (answer.text,),
            relevant_spans=spans,
            relevant_texts=tuple(_text_at(span, plan.passages) for span in spans),
            answerable=answer is not None,
            metadata={"query_type": plan.kind},
            provenance=self._provenance(plan),
        )

    def _check_filters(self, plan: DraftPlan, item: GoldenItem) -> None:
        contexts = [passage.text for passage in plan.passages]
        for find_fault in self.filters:
            reason = find_fault(item, contexts)
            if reason is not None:
                raise RejectedError(reason)

    def _ask_question(self, plan: DraftPlan) -> str:
        avoid = "".join(f"- Do not ask again: {question}\n" for question in plan.avoid)
        message = self.prompts[KINDS[plan.kind]].message(
            context=plan.context, examples=self._examples(plan.kind), avoid=avoid.rstrip("\n")
        )
        return _read_text(self._ask_object(message), "question")

    def _ask_answer(self, question: str, context: str) -> _DraftedAnswer | None:
        """The answer in the text; None if it contains none."""
        message = self.prompts["answer"].message(context=context, question=question)
        document = self._ask_object(message)
        if not isinstance(document.get("answerable"), bool):
            raise RejectedError(
                f"answerable must be true or false; the model gave {document!r:.80}"
            )
        if not document["answerable"]:
            return None
        text = _read_text(document, "answer")
        return _DraftedAnswer(text, str(document.get("evidence") or ""))

    def _check_hops(self, plan: DraftPlan, question: str) -> None:
        """A multi-hop question must not be answered by one of its passages alone."""
        for passage in plan.passages if len(plan.passages) > 1 else ():
            if self._ask_answer(question, passage.text) is not None:
                raise RejectedError(f"{passage.span.name} alone is enough for it")

    def _add_negatives(self, plan: DraftPlan, item: GoldenItem) -> GoldenItem:
        [answer] = item.references
        prompt = self.prompts["negatives"]
        message = prompt.message(
            question=item.question, answer=answer, context=plan.context, n=self.n_negatives
        )
        answers = self._ask_object(message).get("answers")
        texts = [text.strip() for text in answers or () if isinstance(text, str) and text.strip()]
        wrong = [text for text in dict.fromkeys(texts) if words_of(text) != words_of(answer)]
        if not wrong:
            raise RejectedError("the model gave no wrong answers to it")
        labels = [*item.provenance["prompts"], prompt.label]
        return replace(
            item,
            negative_references=tuple(wrong[: self.n_negatives]),
            provenance={**item.provenance, "prompts": labels},
        )

    def _ask_object(self, message: Message) -> dict[str, Any]:
        """The one JSON object in the model's answer, with or without prose around it."""
        text = remove_thoughts(self.ask(message))
        documents = find_objects(text)
        # Of several objects it is not known which one is meant.
        if len(documents) != 1:
            raise RejectedError(f"expected one JSON object; the model said {quote_beginning(text)}")
        return documents[0]

    def _examples(self, kind: str) -> str:
        alike = [item for item in self.examples if item.metadata.get("query_type", kind) == kind]
        lines = [f"- {item.question}" for item in alike[:_MOST_EXAMPLES]]
        return "Questions of the kind that is wanted:\n" + "\n".join(lines) if lines else ""

    def _provenance(self, plan: DraftPlan) -> dict[str, Any]:
        return {
            **self.origin,
            "prompts": [self.prompts[name].label for name in (KINDS[plan.kind], "answer")],
            "passages": [list(passage.span) for passage in plan.passages],
            "texts": [_digest(passage.text) for passage in plan.passages],
            "rageval_report": __version__,
        }


@dataclass(frozen=True)
class _DraftedAnswer:
    text: str
    evidence: str


def check_kinds(kinds: Mapping[str, int]) -> dict[str, int]:
    """The kinds with a positive number of questions, after a check of their names.

    Raises
    ------
    UnknownNameError
        If a name is not in `KINDS`.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise UnknownNameError("kind of question", kind, KINDS)
    return {kind: int(n) for kind, n in kinds.items() if n > 0}


def evidence_spans(passages: Sequence[Passage], evidence: str) -> tuple[Span, ...]:
    r"""The spans of the quoted evidence, letter by letter except blanks; else the whole passages.

    Examples
    --------
    >>> passage = Passage(Span("a.md", 10, 30), "The Seine\nis a river.")
    >>> evidence_spans([passage], "Seine is")
    (Span(filename='a.md', start=14, end=22),)
    """
    spans = [span for passage in passages for span in _find_quote(passage, evidence)]
    # Of several passages a quote shows only one of the hops; the gold is all of them.
    if len(passages) == 1 and spans:
        return tuple(spans)
    return tuple(passage.span for passage in passages)


def _find_quote(passage: Passage, evidence: str) -> Iterator[Span]:
    quote = "".join(evidence.split())
    if not quote:
        return
    # Models change line breaks and spaces when they quote: compare without them.
    positions = [i for i, letter in enumerate(passage.text) if not letter.isspace()]
    at = "".join(passage.text[i] for i in positions).find(quote)
    if at >= 0:
        start, end = positions[at], positions[at + len(quote) - 1] + 1
        yield Span(passage.span.filename, passage.span.start + start, passage.span.start + end)


def _text_at(span: Span, passages: Sequence[Passage]) -> str:
    for passage in passages:
        place = passage.span
        if place.filename == span.filename and place.start <= span.start < place.end:
            return passage.text[span.start - place.start : span.end - place.start]
    return ""


def _read_text(document: Mapping[str, object], name: str) -> str:
    value = document.get(name)
    if isinstance(value, str) and value.strip():
        return " ".join(value.split())
    raise RejectedError(f"expected a text {name!r}; the model gave {document!r:.80}")


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
