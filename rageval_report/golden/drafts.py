"""One draft of a golden item: what the model is asked, and what is made of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from rageval_report._version import __version__
from rageval_report.datasets.golden_items import GoldenItem
from rageval_report.errors import UnknownNameError
from rageval_report.golden.filters import Filter
from rageval_report.golden.prompts import Prompt
from rageval_report.golden.reply_journal import ChatFailedError
from rageval_report.golden.source_documents import Passage
from rageval_report.golden.word_overlap import words_of
from rageval_report.judges.chats import Message
from rageval_report.judges.parsing.objects import find_objects, quote_beginning, remove_thoughts
from rageval_report.records.spans import Span

# The kinds of questions, and the prompt that asks for each.
KINDS = {"factoid": "question", "multi_hop": "multi_hop", "unanswerable": "unanswerable"}

_MOST_EXAMPLES = 5


class RejectedError(Exception):
    """A draft cannot be taken; why stands in the text.

    Parameters
    ----------
    told : str
        Why.
    question : str
        The question, where there is one.
    """

    def __init__(self, told: str, question: str = ""):
        super().__init__(told)
        self.question = question


@dataclass(frozen=True)
class Plan:
    """What is to be drafted.

    Parameters
    ----------
    kind : str
        A name of `KINDS`.
    passages : tuple of Passage
        What it is about: two for a question of several hops.
    avoid : tuple of str
        Questions on it that are there already.
    """

    kind: str
    passages: tuple[Passage, ...]
    avoid: tuple[str, ...] = ()

    @property
    def context(self) -> str:
        """The text that the model sees."""
        return "\n\n---\n\n".join(one.text for one in self.passages)


@dataclass(frozen=True)
class Draft:
    """What became of a plan.

    Parameters
    ----------
    plan : Plan
        What was to be drafted.
    item : GoldenItem, optional
        The item; None where there is none.
    reason : str
        Why it was rejected; empty where it was not.
    question : str
        The question of a rejected draft, if it came so far.
    """

    plan: Plan
    item: GoldenItem | None
    reason: str = ""
    question: str = ""


@dataclass(frozen=True)
class Drafter:
    """What turns a plan into a draft.

    Parameters
    ----------
    ask : callable
        Gives the model's answer to a message.
    prompts : mapping of str to Prompt
        By name.
    examples : sequence of GoldenItem
        Shown to the model as questions of the kind that is wanted.
    n_negatives : int
        How many wrong answers to ask for.
    filters : sequence of Filter
        What an item must pass.
    origin : mapping
        What stands in every item's provenance.
    """

    ask: Callable[[Message], str]
    prompts: Mapping[str, Prompt]
    examples: Sequence[GoldenItem]
    n_negatives: int
    filters: Sequence[Filter]
    origin: Mapping[str, Any]

    def draft(self, plan: Plan) -> Draft:
        """The draft of a plan; what goes wrong with it is its reason."""
        try:
            return Draft(plan, self._item(plan))
        except RejectedError as exc:
            return Draft(plan, None, str(exc), exc.question)
        except ChatFailedError as exc:
            return Draft(plan, None, str(exc))

    def _item(self, plan: Plan) -> GoldenItem:
        question = self._question(plan)
        try:
            return self._answered(plan, question)
        except (RejectedError, ChatFailedError) as exc:
            raise RejectedError(str(exc), question) from exc

    def _answered(self, plan: Plan, question: str) -> GoldenItem:
        answer = self._answer(question, plan.context)
        if plan.kind == "unanswerable":
            if answer is not None:
                raise RejectedError(f"it has an answer: {answer.text!r:.60}")
            return self._checked(plan, self._built(plan, question, None))
        if answer is None:
            raise RejectedError("it has no answer in its text")
        item = self._checked(plan, self._built(plan, question, answer))
        self._refuse_one_hop(plan, question)
        return self._with_negatives(plan, item) if self.n_negatives else item

    def _built(self, plan: Plan, question: str, answer: _Answer | None) -> GoldenItem:
        spans = () if answer is None else evidence_spans(plan.passages, answer.evidence)
        return GoldenItem(
            query_id=_id_of(question),
            question=question,
            references=() if answer is None else (answer.text,),
            relevant_spans=spans,
            relevant_texts=tuple(_text_at(span, plan.passages) for span in spans),
            answerable=answer is not None,
            metadata={"query_type": plan.kind},
            provenance=self._provenance(plan),
        )

    def _checked(self, plan: Plan, item: GoldenItem) -> GoldenItem:
        """The item, if every filter lets it pass; before more is asked about it."""
        contexts = [one.text for one in plan.passages]
        told = (check(item, contexts) for check in self.filters)
        reason = next((one for one in told if one is not None), None)
        if reason is not None:
            raise RejectedError(reason)
        return item

    def _question(self, plan: Plan) -> str:
        avoid = "".join(f"- Do not ask again: {one}\n" for one in plan.avoid)
        message = self.prompts[KINDS[plan.kind]].message(
            context=plan.context, examples=self._examples(plan.kind), avoid=avoid.rstrip("\n")
        )
        return _filled(self._object(message), "question")

    def _answer(self, question: str, context: str) -> _Answer | None:
        """What the text says; None where it says nothing."""
        message = self.prompts["answer"].message(context=context, question=question)
        found = self._object(message)
        if not isinstance(found.get("answerable"), bool):
            raise RejectedError(f"expected answerable to be true or false; got {found!r:.80}")
        if not found["answerable"]:
            return None
        return _Answer(_filled(found, "answer"), str(found.get("evidence") or ""))

    def _refuse_one_hop(self, plan: Plan, question: str) -> None:
        """A question of several hops is none if one of its passages is enough."""
        for one in plan.passages if len(plan.passages) > 1 else ():
            if self._answer(question, one.text) is not None:
                raise RejectedError(f"{one.span.name} alone is enough for it")

    def _with_negatives(self, plan: Plan, item: GoldenItem) -> GoldenItem:
        [answer] = item.references
        message = self.prompts["negatives"].message(
            question=item.question, answer=answer, context=plan.context, n=self.n_negatives
        )
        given = self._object(message).get("answers")
        texts = [one.strip() for one in given or () if isinstance(one, str) and one.strip()]
        wrong = [one for one in dict.fromkeys(texts) if words_of(one) != words_of(answer)]
        if not wrong:
            raise RejectedError("the model gave no wrong answers to it")
        used = [*item.provenance["prompts"], self.prompts["negatives"].told]
        return replace(
            item,
            negative_references=tuple(wrong[: self.n_negatives]),
            provenance={**item.provenance, "prompts": used},
        )

    def _object(self, message: Message) -> dict[str, Any]:
        """The one JSON object of an answer, whatever prose stands around it."""
        text = remove_thoughts(self.ask(message))
        found = find_objects(text)
        if len(found) != 1:
            raise RejectedError(f"expected one JSON object; the model said {quote_beginning(text)}")
        return found[0]

    def _examples(self, kind: str) -> str:
        alike = [one for one in self.examples if one.metadata.get("query_type", kind) == kind]
        lines = [f"- {one.question}" for one in alike[:_MOST_EXAMPLES]]
        return "Questions of the kind that is wanted:\n" + "\n".join(lines) if lines else ""

    def _provenance(self, plan: Plan) -> dict[str, Any]:
        return {
            **self.origin,
            "prompts": [self.prompts[one].told for one in (KINDS[plan.kind], "answer")],
            "passages": [list(one.span) for one in plan.passages],
            "texts": [_digest(one.text) for one in plan.passages],
            "rageval_report": __version__,
        }


@dataclass(frozen=True)
class _Answer:
    text: str
    evidence: str


def checked_kinds(kinds: Mapping[str, int]) -> dict[str, int]:
    """The kinds that are wanted, each a name of `KINDS`.

    Raises
    ------
    UnknownNameError
        If one is not.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise UnknownNameError("kind of question", kind, KINDS)
    return {kind: int(n) for kind, n in kinds.items() if n > 0}


def evidence_spans(passages: Sequence[Passage], evidence: str) -> tuple[Span, ...]:
    r"""Where the quoted evidence stands, letter by letter but for blanks; else the whole passages.

    Examples
    --------
    >>> passage = Passage(Span("a.md", 10, 30), "The Seine\nis a river.")
    >>> evidence_spans([passage], "Seine is")
    (Span(filename='a.md', start=14, end=22),)
    """
    found = [span for one in passages for span in _quoted(one, evidence)]
    return tuple(found if len(passages) == 1 and found else (one.span for one in passages))


def _quoted(passage: Passage, evidence: str) -> Iterator[Span]:
    words = evidence.split()
    if not words:
        return
    places = [place for place in range(len(passage.text)) if not passage.text[place].isspace()]
    solid = "".join(passage.text[place] for place in places)
    wanted = "".join(words)
    at = solid.find(wanted)
    if at >= 0:
        start, end = places[at], places[at + len(wanted) - 1] + 1
        yield Span(passage.span.filename, passage.span.start + start, passage.span.start + end)


def _text_at(span: Span, passages: Sequence[Passage]) -> str:
    for one in passages:
        if one.span.filename == span.filename and one.span.start <= span.start < one.span.end:
            return one.text[span.start - one.span.start : span.end - one.span.start]
    return ""


def _filled(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    if isinstance(value, str) and value.strip():
        return " ".join(value.split())
    raise RejectedError(f"expected a text {name!r}; the model gave {found!r:.80}")


def _id_of(question: str) -> str:
    return f"gen-{_digest(' '.join(words_of(question)))}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
