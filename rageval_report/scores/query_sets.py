"""The identity of a set of queries: a number per query, and their sum in any order and any parts.

Two runs were asked the same questions if they have the same ids with the same references. Each
query becomes two 64-bit numbers, made of its id and its reference, and the set has the sums of
these. A sum does not depend on the order of the rows, and the sums of two parts are added.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from rageval_report.scores.exact_values import plain_value
from rageval_report.scores.fingerprints import fingerprints_of_texts
from rageval_report.scores.query_ids import first_named
from rageval_report.scores.table import Scored
from rageval_report.scores.texts import REFERENCE
from rageval_report.types import WordArray

TwoWords = tuple[WordArray, WordArray]

# SplitMix64 (Steele, Lea and Flood 2014): consecutive ids get numbers without any pattern, whose
# sums then are equal for different sets by chance alone.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)

# No text starts with this character; what is not a text is told apart from it.
_NOT_A_TEXT = "\x00"
_WORD_OF_NO_REFERENCE = np.uint64(0x5851F42D4C957F2D)
_MODULUS = 1 << 64


@dataclass(frozen=True)
class QuerySet:
    """The identity of a set of queries.

    Parameters
    ----------
    first, second : int
        The sums, modulo 2**64, of two numbers per query.
    """

    first: int
    second: int

    @classmethod
    def of(cls, ids: TwoWords, references: TwoWords | None) -> Self:
        """The set of queries with these fingerprints of ids and of references."""
        sums = [
            int(_query_words(own, None if references is None else references[place]).sum())
            for place, own in enumerate(ids)
        ]
        return cls(*sums)

    @classmethod
    def of_evaluation(cls, evaluation: Scored) -> Self:
        """The queries of an evaluation in memory."""
        column = reference_column(map(str, evaluation.details))
        references = (
            None if column is None else reference_words(evaluation.details[column].tolist())
        )
        return cls.of(fingerprints_of_texts([*map(str, evaluation.scores.index)]), references)

    def __add__(self, other: QuerySet) -> QuerySet:
        """The set of both parts."""
        return QuerySet(
            (self.first + other.first) % _MODULUS, (self.second + other.second) % _MODULUS
        )

    @property
    def digits(self) -> str:
        """Both sums as hexadecimal digits."""
        return f"{self.first:016x}{self.second:016x}"


def reference_column(details: Iterable[str]) -> str | None:
    """The column of the details that holds the references; None without one.

    Examples
    --------
    >>> reference_column(["question", "reference"]), reference_column(["question"])
    ('reference', None)
    """
    return first_named(details, REFERENCE)


def reference_words(values: Iterable[object]) -> TwoWords:
    """Two numbers per reference, which are equal for equal references.

    Parameters
    ----------
    values : iterable of object
        Texts, lists or numbers; a missing one has a number of its own.

    Examples
    --------
    >>> first, _ = reference_words(["Paris", None, "Paris"])
    >>> bool(first[0] == first[2]), bool(first[0] == first[1])
    (True, False)
    """
    plain = [value if isinstance(value, str) else plain_value(value) for value in values]
    texts = [value if isinstance(value, str) else _text_of(value) for value in plain]
    is_missing = np.fromiter((value is None for value in plain), dtype=bool, count=len(plain))
    return _without_missing(fingerprints_of_texts(texts), is_missing)


def _text_of(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # whole numbers beside a missing one are floats in pandas
    return _NOT_A_TEXT + json.dumps(value, ensure_ascii=False, sort_keys=True)


def _without_missing(words: TwoWords, is_missing: np.ndarray) -> TwoWords:
    for own in words:
        own[is_missing] = _WORD_OF_NO_REFERENCE
    return words


def _query_words(ids: WordArray, references: WordArray | None) -> WordArray:
    """One number per query, of its id and its reference."""
    word = _WORD_OF_NO_REFERENCE if references is None else references
    return _split_mix(_split_mix(ids) + word)


def _split_mix(words: WordArray) -> WordArray:
    words = words + _STEP
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))
