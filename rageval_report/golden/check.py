"""What is wrong with a golden set, before anybody is measured by it."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import PurePosixPath

import pandas as pd

from rageval_report._registry import Registry
from rageval_report.datasets.golden_items import (
    FIELDS,
    GoldenItem,
    checked_ids,
    checked_keys,
    unknown_fields,
)
from rageval_report.errors import DataError
from rageval_report.golden.near_duplicates import near_pairs
from rageval_report.golden.word_overlap import content_words, share_within, words_of

ERROR, WARNING = "error", "warning"

_YES_NO = frozenset(("yes", "no", "true", "false"))
_UNSAID = "(not said)"
_ANSWERABLE = "answerable"
_LONGEST_QUOTE = 200


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Parameters
    ----------
    check : str
        Which check found it, a name of `CHECKS`.
    severity : {"error", "warning"}
        Whether figures would be wrong, or a person should look.
    query_id : str
        The item; empty where it is about the whole set.
    told : str
        What is wrong.
    other : str
        The other item, where there are two.
    value : float
        The measure behind it; NaN where there is none.
    """

    check: str
    severity: str
    query_id: str
    told: str
    other: str = ""
    value: float = math.nan


@dataclass(frozen=True)
class Limits:
    """From where on something is a finding.

    Parameters
    ----------
    near : float
        The Jaccard similarity of two questions' runs of three characters.
    support : float
        The least share of a reference's content words that its gold must hold.
    leak : float
        The share of a reference's content words that the question itself holds.
    smallest : int
        The fewest queries of a type.
    largest : float
        The greatest share of one type.
    by : tuple of str
        The metadata that are types; ``answerable`` is one as well. Of the default ones those that
        no item has are passed over; another must be there.
    """

    near: float = 0.8
    support: float = 0.5
    leak: float = 0.8
    smallest: int = 10
    largest: float = 0.8
    by: tuple[str, ...] = ("query_type", "domain")


@dataclass(frozen=True)
class Checked:
    """What a check is handed: the items, the documents if there are any, and the limits."""

    items: Sequence[GoldenItem]
    documents: Mapping[str, str] | None
    limits: Limits

    def gold_texts(self, item: GoldenItem) -> list[str]:
        """The texts that hold the answer, as far as they are known."""
        held = self.documents or {}
        ids = [held[one] for one, grade in item.relevant.items() if grade > 0 and one in held]
        spans = [
            held[span.filename][span.start : span.end]
            for span in item.relevant_spans
            if span.filename in held
        ]
        return [one for one in (*item.relevant_texts, *spans, *ids) if one.strip()]


Check = Callable[[Checked], Iterator[Finding]]

_HERE = __name__
CHECKS: Registry[Check] = Registry(
    "check of golden sets",
    {
        "fields": f"{_HERE}:fields_check",
        "duplicates": f"{_HERE}:duplicates_check",
        "near_duplicates": f"{_HERE}:near_duplicates_check",
        "spans": f"{_HERE}:spans_check",
        "answers_in_contexts": f"{_HERE}:support_check",
        "leakage": f"{_HERE}:leakage_check",
        "balance": f"{_HERE}:balance_check",
    },
)


def check_golden(
    items: Iterable[GoldenItem],
    *,
    documents: Mapping[str, str] | None = None,
    checks: Iterable[str] | None = None,
    limits: Limits | None = None,
) -> pd.DataFrame:
    """Look for what is wrong with a golden set.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    documents : mapping of str to str, optional
        Texts by filename or by id, as `Documents` reads a folder; without them spans cannot be
        compared with their files, nor can ids that are names of files be looked for.
    checks : iterable of str, optional
        Names of `CHECKS`; all of them where not given.
    limits : Limits, optional
        From where on something is a finding.

    Returns
    -------
    DataFrame
        A row a finding: ``check``, ``severity`` ("error" or "warning"), ``query_id``, ``other``,
        ``value``, ``told``; empty where all is well.

    Raises
    ------
    UnknownNameError
        If no check has that name, or no item a key of `Limits.by`.
    DataError
        If there is no item, two have one id, or a limit makes no sense.

    Examples
    --------
    >>> items = [GoldenItem("a", "Who?", ("Ann",)), GoldenItem("b", "who", ("Bob",))]
    >>> check_golden(items, checks=["duplicates"])[["query_id", "other"]].to_numpy().tolist()
    [['b', 'a']]
    """
    checked = Checked(checked_ids(items), documents, limits or Limits())
    _refuse_limits(checked)
    run = [CHECKS[name] for name in (CHECKS if checks is None else checks)]
    found = [finding for check in run for finding in check(checked)]
    columns = [field.name for field in fields(Finding)]
    frame = pd.DataFrame([astuple(one) for one in found], columns=columns)
    return frame[["check", "severity", "query_id", "other", "value", "told"]]


def _refuse_limits(checked: Checked) -> None:
    limits = checked.limits
    for name in ("near", "support", "leak", "largest"):
        if not 0.0 < getattr(limits, name) <= 1.0:
            raise DataError(f"{name} must be above 0 and at most 1; got {getattr(limits, name)!r}")
    checked_keys(checked.items, [one for one in limits.by if one not in (*Limits.by, _ANSWERABLE)])


def _quoted(text: str) -> str:
    """A text in quotes; of a long one its beginning, and a mark that there is more."""
    return repr(text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…")


# -- the fields


def fields_check(checked: Checked) -> Iterator[Finding]:
    """Items that contradict themselves, or lack what a metric needs; keys that look misspelt."""
    for item in checked.items:
        for severity, told in _faults(item):
            yield Finding("fields", severity, item.query_id, told)
    for key, n in unknown_fields(checked.items).items():
        near = difflib.get_close_matches(key, FIELDS, n=1, cutoff=0.8)
        if near:
            of_all = f"in {n} of {len(checked.items)} items"
            told = f"the key {key!r} ({of_all}) is metadata; was {near[0]!r} meant?"
            yield Finding("fields", WARNING, "", told)


def _faults(item: GoldenItem) -> Iterator[tuple[str, str]]:
    has_gold = bool(item.relevant or item.relevant_texts or item.relevant_spans)
    if item.answerable is None:
        yield WARNING, "nothing says whether it has an answer: answerable is missing"
    if item.answerable and not item.references:
        yield ERROR, "it has an answer, but no reference"
    if item.answerable is False and item.references:
        yield ERROR, "it has no answer, but references"
    if item.answerable and not has_gold:
        yield WARNING, "it has no gold, so retrieval cannot be scored"
    wrong = {" ".join(words_of(one)) for one in item.negative_references}
    both = [one for one in item.references if " ".join(words_of(one)) in wrong]
    if both:
        yield ERROR, f"{_quoted(both[0])} is a reference and a negative reference"


# -- questions that are alike


def duplicates_check(checked: Checked) -> Iterator[Finding]:
    """Questions that are the same but for case, blanks and punctuation."""
    first: dict[str, str] = {}
    for item in checked.items:
        plain = " ".join(words_of(item.question)) or item.question
        if plain in first:
            told = f"the question stands there twice: {_quoted(item.question)}"
            yield Finding("duplicates", ERROR, item.query_id, told, first[plain], 1.0)
        first.setdefault(plain, item.query_id)


def near_duplicates_check(checked: Checked) -> Iterator[Finding]:
    """Questions that are nearly an earlier one; what `duplicates_check` finds is left to it.

    A finding a question, which names the nearest: of a hundred questions of one pattern every pair
    is near, and nobody reads 4,950 lines.
    """
    plain = {" ".join(words_of(item.question)): item for item in reversed(checked.items)}
    items = list(reversed(plain.values()))
    nearest: dict[int, tuple[int, float]] = {}
    counted: Counter[int] = Counter()
    for one, two, value in near_pairs([item.question for item in items], checked.limits.near):
        counted[two] += 1
        if value > nearest.get(two, (0, 0.0))[1]:
            nearest[two] = one, value
    for two, (one, value) in sorted(nearest.items()):
        more = f", and {counted[two] - 1} others" if counted[two] > 1 else ""
        both = f"{_quoted(items[two].question)} is nearly {_quoted(items[one].question)}"
        yield Finding(
            "near_duplicates", WARNING, items[two].query_id, both + more, items[one].query_id, value
        )


# -- gold and answers


def spans_check(checked: Checked) -> Iterator[Finding]:
    """Spans and ids of files that are not there; spans of shorter ones, or of another text."""
    if checked.documents is None:
        n = sum(bool(item.relevant_spans) for item in checked.items)
        if n:
            told = f"the spans of {n} items were not compared with their files: no documents given"
            yield Finding("spans", WARNING, "", told)
        return
    for item in checked.items:
        for told in _span_faults(item, checked.documents):
            yield Finding("spans", ERROR, item.query_id, told)
    yield from _id_faults(checked.items, checked.documents)


def _span_faults(item: GoldenItem, documents: Mapping[str, str]) -> Iterator[str]:
    paired = len(item.relevant_texts) == len(item.relevant_spans)
    texts = item.relevant_texts if paired else (None,) * len(item.relevant_spans)
    for span, text in zip(item.relevant_spans, texts, strict=True):
        if span.filename not in documents:
            yield f"there is no document {span.filename!r}"
            continue
        whole = documents[span.filename]
        found = whole[span.start : span.end]
        if span.end > len(whole):
            yield f"{span.name} ends beyond the file, which has {len(whole)} characters"
        elif not found.strip():
            yield f"{span.name} is blank"
        elif text is not None and " ".join(text.split()) != " ".join(found.split()):
            yield f"{span.name} reads {_quoted(found)}, not {_quoted(text)}"


def _id_faults(items: Sequence[GoldenItem], documents: Mapping[str, str]) -> Iterator[Finding]:
    """Gold ids that name documents which are not there; ids of another kind are let be."""
    gold = {item.query_id: [one for one, n in item.relevant.items() if n > 0] for item in items}
    ids = dict.fromkeys(one for held in gold.values() for one in held)
    there = {one for one in ids if one in documents}
    kinds = {_suffix(name) for name in documents} - {""}
    missing = {one for one in ids if one not in there and (there or _suffix(one) in kinds)}
    for query_id, held in gold.items():
        for one in held:
            if one in missing:
                yield Finding("spans", ERROR, query_id, f"there is no document {one!r}")
    if len(missing) > 1:
        told = f"{len(missing)} of the {len(ids)} documents that ids name are not there"
        yield Finding("spans", WARNING, "", told, value=len(missing) / len(ids))


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def support_check(checked: Checked) -> Iterator[Finding]:
    """Answers whose words are not in their gold; yes and no stand in none."""
    limit = checked.limits.support
    for item in checked.items:
        texts = checked.gold_texts(item)
        told = [one for one in item.references if content_words(one) - _YES_NO]
        if item.answerable is False or not texts or not told:
            continue
        best = max(share_within(one, texts) for one in told)
        if best < limit:
            said = f"the gold holds {best:.0%} of the words of {_quoted(told[0])}"
            yield Finding("answers_in_contexts", WARNING, item.query_id, said, value=best)


def leakage_check(checked: Checked) -> Iterator[Finding]:
    """Questions that hold their answer; a comparison names what it compares, so it may."""
    for item in checked.items:
        told = [one for one in item.references if content_words(one) - _YES_NO]
        if item.metadata.get("query_type") == "comparison" or not told:
            continue
        worst = max(told, key=lambda one: share_within(one, [item.question]))
        value = share_within(worst, [item.question])
        if value >= checked.limits.leak:
            said = f"the question holds the answer: {_quoted(worst)} in {_quoted(item.question)}"
            yield Finding("leakage", WARNING, item.query_id, said, value=value)


# -- the whole set


def balance_check(checked: Checked) -> Iterator[Finding]:
    """Types with few queries, of which nothing can be said, and one that drowns the others."""
    n = len(checked.items)
    limits = checked.limits
    for by in dict.fromkeys((*limits.by, _ANSWERABLE)):
        counted = Counter(_type_of(item, by) for item in checked.items)
        if set(counted) == {_UNSAID}:
            continue
        for value, count in counted.most_common():
            if len(counted) > 1 and count / n > limits.largest:
                told = f"{count} of {n} queries are of {by} {value}; they decide every mean"
                yield Finding("balance", WARNING, "", told, value=count / n)
            elif count < limits.smallest:
                told = f"only {count} of {n} queries are of {by} {value}"
                yield Finding("balance", WARNING, "", told, value=count / n)


def _type_of(item: GoldenItem, by: str) -> str:
    value = item.answerable if by == _ANSWERABLE else item.metadata.get(by)
    return _UNSAID if value is None else str(value)
