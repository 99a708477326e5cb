"""Checks of a golden set, before a pipeline is measured by it, and filters of drafted items."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from rageval_report._registry import Registry
from rageval_report.errors import DataError
from rageval_report.records.golden import ITEM_FIELDS, GoldenItem, check_items, check_keys
from rageval_report.scores.query_ids import plain_text

Severity = Literal["error", "warning"]
ERROR: Severity = "error"
WARNING: Severity = "warning"

_UNSAID = "(not said)"
_LONGEST_QUOTE = 200


class GoldenFault(NamedTuple):
    """One fault of a golden set; without a query id it is one of the whole set."""

    severity: Severity
    query_id: str
    message: str
    other: str = ""
    value: float = math.nan


# The lowest share of a reference's content words that its gold must contain, and the share from
# which on the question itself contains them.
_SUPPORT, _LEAK = 0.5, 0.8
# The smallest number of queries of a type, and the largest share of one type.
_SMALLEST, _LARGEST = 10, 0.8
_TYPES = ("query_type", "domain")


@dataclass(frozen=True)
class GoldenCheckInput:
    """What a check takes: the items, the documents if there are any, and what is adjustable."""

    items: Sequence[GoldenItem]
    documents: Mapping[str, str] | None
    near: float
    by: tuple[str, ...]


Check = Callable[[GoldenCheckInput], Iterator[GoldenFault]]


def check_golden(
    items: Iterable[GoldenItem],
    *,
    documents: Mapping[str, str] | None = None,
    checks: Iterable[str] | None = None,
    near: float = 0.8,
    by: Sequence[str] = _TYPES,
) -> pd.DataFrame:
    """Look for faults of a golden set.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    documents : mapping of str to str, optional
        Texts by filename or by id, as `Documents` reads a folder. Without them neither spans nor
        ids that are file names can be compared with the files.
    checks : iterable of str, optional
        Names of `CHECKS`; all of them if omitted.
    near : float
        The Jaccard similarity of two questions' runs of three characters from which on they are
        near-duplicates.
    by : sequence of str
        The metadata keys that are types; ``answerable`` is always one. Default keys that no item
        has are ignored; any other key must exist.

    Returns
    -------
    DataFrame
        One row per fault: ``check``, ``severity`` ("error" or "warning"), ``query_id``, ``other``,
        ``value``, ``told`` (the message); empty if there is no fault.

    Raises
    ------
    UnknownNameError
        If no check has a name, or no item has a key of `by`.
    DataError
        If there are no items, if two items have the same id, or if `near` is out of range.

    Examples
    --------
    >>> items = [GoldenItem("a", "Who?", ("Ann",)), GoldenItem("b", "who", ("Bob",))]
    >>> check_golden(items, checks=["duplicates"])[["query_id", "other"]].to_numpy().tolist()
    [['b', 'a']]
    """
    golden = GoldenCheckInput(check_items(items), documents, near, tuple(by))
    check_keys(golden.items, [key for key in by if key not in (*_TYPES, "answerable")])
    rows = [
        {"check": name, **fault._asdict()}
        for name in (CHECKS if checks is None else checks)
        for fault in CHECKS[name](golden)
    ]
    columns = ["check", "severity", "query_id", "other", "value", "message"]
    return pd.DataFrame(rows, columns=columns).rename(columns={"message": "told"})


def _quote(text: str) -> str:
    """A text in quotes; a long one is cut, with a mark."""
    return repr(text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…")


def _plain(text: str) -> str:
    return " ".join(words_of(text))


# -- the fields


def check_fields(golden: GoldenCheckInput) -> Iterator[GoldenFault]:
    """Items that contradict themselves or lack what a metric needs; keys that look misspelt."""
    for item in golden.items:
        for severity, message in _field_faults(item):
            yield GoldenFault(severity, item.query_id, message)
    keys = Counter(key for item in golden.items for key in item.metadata)
    for key, n in keys.items():
        # A misspelt field is read as metadata, so its gold would be lost without a word.
        for near in difflib.get_close_matches(key, ITEM_FIELDS, n=1, cutoff=0.8):
            of_items = f"(in {n} of {len(golden.items)} items)"
            message = f"the key {key!r} {of_items} is metadata; did you mean {near!r}?"
            yield GoldenFault(WARNING, "", message)


def _field_faults(item: GoldenItem) -> Iterator[tuple[Severity, str]]:
    if item.answerable is None:
        yield WARNING, "answerable is missing: nothing says whether the question has an answer"
    if item.answerable and not item.references:
        yield ERROR, "it has an answer, but no reference"
    if item.answerable is False and item.references:
        yield ERROR, "it has no answer, but references"
    if item.answerable and not (item.relevant or item.relevant_texts or item.relevant_spans):
        yield WARNING, "it has no gold, so retrieval cannot be scored"
    wrong = set(map(_plain, item.negative_references))
    for text in [text for text in item.references if _plain(text) in wrong][:1]:
        yield ERROR, f"{_quote(text)} is a reference and a negative reference"


# -- questions that are alike


def check_duplicates(golden: GoldenCheckInput) -> Iterator[GoldenFault]:
    """Questions that are the same except for case, blanks and punctuation."""
    first: dict[str, str] = {}
    for item in golden.items:
        plain = _plain(item.question) or item.question
        if plain in first:
            message = f"the question appears twice: {_quote(item.question)}"
            yield GoldenFault(ERROR, item.query_id, message, first[plain], 1.0)
        first.setdefault(plain, item.query_id)


def check_near_duplicates(golden: GoldenCheckInput) -> Iterator[GoldenFault]:
    """Questions that are nearly an earlier one, except those that `check_duplicates` finds."""
    first = {_plain(item.question): item for item in reversed(golden.items)}
    items = list(reversed(first.values()))
    nearest: dict[int, tuple[int, float]] = {}
    counts: Counter[int] = Counter()
    for earlier, later, value in near_pairs([item.question for item in items], golden.near):
        counts[later] += 1
        if value > nearest.get(later, (0, 0.0))[1]:
            nearest[later] = earlier, value
    for later, (earlier, value) in sorted(nearest.items()):
        item, other = items[later], items[earlier]
        more = f", and {counts[later] - 1} others" if counts[later] > 1 else ""
        message = f"{_quote(item.question)} is nearly {_quote(other.question)}{more}"
        yield GoldenFault(WARNING, item.query_id, message, other.query_id, value)


# -- gold and answers


def check_spans(golden: GoldenCheckInput) -> Iterator[GoldenFault]:
    """Spans of files that do not exist, beyond a file's end, or of another text."""
    if golden.documents is not None:
        for item in golden.items:
            for message in _span_faults(item, golden.documents):
                yield GoldenFault(ERROR, item.query_id, message)
    elif n := sum(bool(item.relevant_spans) for item in golden.items):
        message = f"the spans of {n} items were not compared with their files: no documents given"
        yield GoldenFault(WARNING, "", message)


def _span_faults(item: GoldenItem, documents: Mapping[str, str]) -> Iterator[str]:
    # Only as many texts as spans can be compared one by one.
    paired = len(item.relevant_texts) == len(item.relevant_spans)
    texts = item.relevant_texts if paired else (None,) * len(item.relevant_spans)
    for span, text in zip(item.relevant_spans, texts, strict=True):
        document = documents.get(span.filename)
        actual = "" if document is None else document[span.start : span.end]
        if document is None:
            yield f"there is no document {span.filename!r}"
        elif span.end > len(document):
            yield f"{span.name} ends beyond the file, which has {len(document)} characters"
        elif not actual.strip():
            yield f"{span.name} is blank"
        elif text is not None and text.split() != actual.split():
            yield f"{span.name} reads {_quote(actual)}, not {_quote(text)}"


def _gold_texts(item: GoldenItem, documents: Mapping[str, str]) -> list[str]:
    """The texts that contain the answer, as far as they are available."""
    spans = [span for span in item.relevant_spans if span.filename in documents]
    texts = [
        *item.relevant_texts,
        *(documents[span.filename][span.start : span.end] for span in spans),
        *(documents[name] for name, n in item.relevant.items() if n > 0 and name in documents),
    ]
    return [text for text in texts if text.strip()]


def _shares(item: GoldenItem, texts: Sequence[str]) -> dict[str, float]:
    """By reference the share of its words that texts contain; not of yes or no, which none does."""
    wordy = [text for text in item.references if content_words(text) - YES_NO]
    return {text: share_within(text, texts) for text in wordy}


def check_support(golden: GoldenCheckInput) -> Iterator[GoldenFault]:
    """Answers whose words are not in their gold."""
    for item in golden.items:
        texts = _gold_texts(item, golden.documents or {})
        shares = _shares(item, texts) if texts and item.answerable is not False else {}
        # The best of them: the other references may be worded otherwise.
        best = max(shares.values(), default=1.0)
        if best < _SUPPORT:
            message = f"the gold contains {best:.0%} of the words of {_quote(next(iter(shares)))}"
            yield GoldenFault(WARNING, item.query_id, message, value=best)


def check_leakage(golden: GoldenCheckInput) -> Iterator[GoldenFault]:
    """Questions that contain their answer; a comparison names what it compares, so it may."""
    for item in golden.items:
        is_comparison = item.metadata.get("query_type") == "comparison"
        shares = {} if is_comparison else _shares(item, [item.question])
        answer = max(shares, key=shares.__getitem__, default="")
        if shares and shares[answer] >= _LEAK:
            pair = f"{_quote(answer)} in {_quote(item.question)}"
            message = f"the question contains the answer: {pair}"
            yield GoldenFault(WARNING, item.query_id, message, value=shares[answer])


# -- the whole set


def check_balance(golden: GoldenCheckInput) -> Iterator[GoldenFault]:
    """Types with too few queries for a statement, and one type that outweighs the others."""
    n = len(golden.items)
    for key in dict.fromkeys((*golden.by, "answerable")):
        values = [item.value_of(key) for item in golden.items]
        counts = Counter(_UNSAID if value is None else str(value) for value in values)
        for value, count in counts.most_common() if set(counts) != {_UNSAID} else ():
            # A set of a single type is a choice, not an imbalance.
            if len(counts) > 1 and count / n > _LARGEST:
                message = f"{count} of {n} queries have {key} {value}; they decide every mean"
            elif count < _SMALLEST:
                message = f"only {count} of {n} queries have {key} {value}"
            else:
                continue
            yield GoldenFault(WARNING, "", message, value=count / n)


CHECKS: Registry[Check] = Registry(
    "check of golden sets",
    {
        "fields": check_fields,
        "duplicates": check_duplicates,
        "near_duplicates": check_near_duplicates,
        "spans": check_spans,
        "answers_in_contexts": check_support,
        "leakage": check_leakage,
        "balance": check_balance,
    },
)


# -- drafts

_FEWEST_WORDS, _MOST_WORDS = 3, 60

# Words by which a question refers to a text that its reader has not seen.
_LEANING = re.compile(
    r"\b(the|this|these|that|above|given|provided) (text|passage|document|paragraph|excerpt|author"
    r"|article|section|context|texts|passages|documents)\b|\baccording to\b",
    re.IGNORECASE,
)


def find_draft_fault(item: GoldenItem, contexts: Sequence[str]) -> str | None:
    """Why a drafted item is rejected: its length, what it refers to, its answer; or None."""
    n = len(words_of(item.question))
    if not _FEWEST_WORDS <= n <= _MOST_WORDS:
        return f"the question has {n} words; expected {_FEWEST_WORDS} to {_MOST_WORDS}"
    if match := _LEANING.search(item.question):
        return f"the question refers to {match[0]!r}"
    for answer, share in _shares(item, contexts).items():
        if share < _SUPPORT:
            return f"the text contains {share:.0%} of the words of {answer!r:.60}"
    for answer, share in _shares(item, [item.question]).items():
        if share >= _LEAK:
            return f"the question contains its answer {answer!r:.60}"
    return None


# -- words, runs of characters and their overlap

_WORD = re.compile(r"\w+")

# English words without a meaning of their own; in other languages all words count.
_EMPTY = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his how i if in "
    "into is it its of on or she so such that the their them there these they this to was were "
    "what when where which who whom why will with would you your not no yes than then".split()
)
_N_LETTERS = 3  # of a run

# Answers that no text contains: they count neither as supported nor as leaked.
YES_NO = frozenset(("yes", "no", "true", "false"))

# Rows whose overlap with all others is counted at once.
_BLOCK = 256


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    # casefold, not lower: "Straße" and "STRASSE" are one word.
    return _WORD.findall(plain_text(text).casefold())


def content_words(text: str) -> set[str]:
    """The words that have a meaning of their own."""
    return set(words_of(text)) - _EMPTY


def share_within(text: str, others: Iterable[str]) -> float:
    """The share of a text's content words that other texts contain; NaN if it has none."""
    words = content_words(text)
    available = {word for other in others for word in content_words(other)}
    return len(words & available) / len(words) if words else math.nan


def _runs(text: str) -> frozenset[str]:
    """The runs of three characters of a text's words; a shorter text is one run."""
    plain = _plain(text)
    starts = range(max(1, len(plain) - _N_LETTERS + 1))
    return frozenset(plain[i : i + _N_LETTERS] for i in starts) if plain else frozenset()


def _numbers_of(text: str) -> frozenset[str]:
    """The words of a text that contain a digit: "in 2019" and "in 2020" are two questions."""
    return frozenset(word for word in words_of(text) if any(map(str.isdecimal, word)))


def near_pairs(texts: Sequence[str], threshold: float) -> list[tuple[int, int, float]]:
    """The pairs of texts whose Jaccard similarity of runs is at least `threshold`; with it."""
    from scipy.sparse import csr_array  # loads when it is needed

    if not 0.0 < threshold <= 1.0:
        raise DataError(f"the threshold must be > 0 and <= 1; got {threshold!r}")
    runs, numbers = list(map(_runs, texts)), list(map(_numbers_of, texts))
    columns: dict[str, int] = {}
    places = [columns.setdefault(run, len(columns)) for of_text in runs for run in of_text]
    sizes = np.array(list(map(len, runs)), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ones = np.ones(len(places), dtype=np.int32)
    has_run = csr_array((ones, places, starts), shape=(len(texts), max(len(columns), 1)))
    pairs = []
    for low in range(0, len(texts), _BLOCK):
        common = (has_run[low : low + _BLOCK] @ has_run.T).tocoo()
        first, second = common.row.astype(np.int64) + low, common.col
        values = common.data / (sizes[first] + sizes[second] - common.data)
        for place in np.flatnonzero((first < second) & (values >= threshold)).tolist():
            a, b = int(first[place]), int(second[place])
            if numbers[a] == numbers[b]:
                pairs.append((a, b, float(values[place])))
    return sorted(pairs)
