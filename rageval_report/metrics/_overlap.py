"""Overlap of pairs of texts: common n-grams and longest common subsequences, many pairs at once.

Needs the extra ``text``: the stems of nltk, the tokens of rouge-score, the subsequences of
rapidfuzz.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from nltk.stem.porter import PorterStemmer  # type: ignore[import-untyped]
from rapidfuzz.distance import LCSseq
from rouge_score.tokenize import tokenize  # type: ignore[import-untyped]

from rageval_report.metrics.answers import Tokenizer
from rageval_report.types import FloatArray, IntArray

_PAIRS_PER_BLOCK = 4096  # the numbers of a block stay in the processor's cache
_N_CHARACTERS = 0x110000  # the number of code points: so many tokens can be one character each

_LETTERS_AND_DIGITS = b"abcdefghijklmnopqrstuvwxyz0123456789"
_OTHERS_TO_BLANKS = bytes(c if c in _LETTERS_AND_DIGITS else ord(" ") for c in range(256))


@dataclass(frozen=True, eq=False)
class TokenIds:
    """The tokens of several texts as numbers, one text after the other.

    Parameters
    ----------
    ids : ndarray of shape (n_tokens,)
        Equal tokens have equal numbers, from 0.
    lengths : ndarray of shape (n_texts,)
        How many tokens each text has.
    """

    ids: IntArray
    lengths: IntArray

    @cached_property
    def text_of(self) -> IntArray:
        """The text of each token."""
        return np.repeat(np.arange(self.lengths.size), self.lengths)

    def ngrams(self, n: int, n_ids: int) -> IntArray:
        """A number for each n-gram (n is 1 or 2), made of its text and its tokens."""
        first = self.text_of * n_ids + self.ids
        if n == 1:
            return first
        # No pair of words may cross from one text to the next.
        follows = self.text_of[1:] == self.text_of[:-1]
        return np.asarray(first[:-1][follows] * n_ids + self.ids[1:][follows])

    def as_characters(self) -> list[str]:
        """Each text as a text with one character per token, which rapidfuzz compares fastest."""
        # Numbers from 0xD800 to 0xDFFF are halves of characters, which a plain decode refuses.
        whole = self.ids.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        ends = np.cumsum(self.lengths).tolist()
        return [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def as_lists(self) -> list[list[int]]:
        """Each text as a list of numbers."""
        return [part.tolist() for part in np.split(self.ids, np.cumsum(self.lengths)[:-1])]


@dataclass(frozen=True, eq=False)
class PairBlock:
    """Pairs of texts whose tokens have been numbered together.

    Parameters
    ----------
    texts, references : TokenIds
        The two sides of the pairs.
    n_ids : int
        How many different tokens there are on both sides.
    """

    texts: TokenIds
    references: TokenIds
    n_ids: int

    def ngrams(self, n: int) -> FloatArray:
        """The numbers of common n-grams, of the text's and of the reference's; one column per pair.

        n is 1 or 2. An n-gram counts as often as it appears in both.
        """
        # Counts are clipped by those of the other text, as ROUGE defines overlap.
        keys, counts = _count_keys(self.texts.ngrams(n, self.n_ids))
        ref_keys, ref_counts = _count_keys(self.references.ngrams(n, self.n_ids))
        _, place, ref_place = np.intersect1d(
            keys, ref_keys, assume_unique=True, return_indices=True
        )
        common = np.bincount(
            keys[place] // self.n_ids**n,
            weights=np.minimum(counts[place], ref_counts[ref_place]),
            minlength=self.texts.lengths.size,
        )
        totals = (np.maximum(side.lengths - n + 1, 0) for side in (self.texts, self.references))
        return np.vstack([common, *totals])

    def subsequences(self) -> FloatArray:
        """The tokens of the longest common subsequence, of the text and of the reference."""
        # Beyond the code points of Unicode there is no character left for a further token.
        as_sequences = TokenIds.as_characters if self.n_ids <= _N_CHARACTERS else TokenIds.as_lists
        pairs = zip(as_sequences(self.texts), as_sequences(self.references), strict=True)
        common = [LCSseq.similarity(text, reference) for text, reference in pairs]
        return np.vstack([common, self.texts.lengths, self.references.lengths]).astype(np.float64)


def _count_keys(keys: IntArray) -> tuple[IntArray, IntArray]:
    unique, counts = np.unique(keys, return_counts=True)
    return unique, counts.astype(np.int64)


def blocks_of(
    texts: Sequence[str],
    references: Sequence[str],
    *,
    stem: bool,
    tokenizer: Tokenizer | None = None,
) -> Iterator[PairBlock]:
    """The pairs of texts, block by block.

    Parameters
    ----------
    texts, references : list of str of equal length
        The two sides.
    stem : bool
        Whether to stem the words; ignored if there is a tokenizer.
    tokenizer : callable, optional
        A function that cuts a text into tokens; the tokens of rouge-score if omitted.

    Examples
    --------
    >>> [block] = blocks_of(["a b a"], ["a a c"], stem=False)
    >>> block.ngrams(1).ravel().tolist(), block.subsequences().ravel().tolist()
    ([2.0, 3.0, 3.0], [2.0, 3.0, 3.0])
    """
    for start in range(0, len(texts), _PAIRS_PER_BLOCK):
        part = slice(start, start + _PAIRS_PER_BLOCK)
        numbers: dict[bytes | str, int] = _Stems() if stem and not tokenizer else _Numbers()
        text_ids = _number_tokens(texts[part], numbers, tokenizer)
        reference_ids = _number_tokens(references[part], numbers, tokenizer)
        yield PairBlock(text_ids, reference_ids, max(len(numbers), 1))


class _Numbers(dict[bytes | str, int]):
    """A number for each token, assigned when it first appears."""

    def __missing__(self, token: bytes | str) -> int:
        number = self[token] = len(self)
        return number


class _Stems(dict[bytes | str, int]):
    """A number for each word, the same for words with one stem."""

    def __init__(self) -> None:
        self._number_of = _Numbers()

    def __missing__(self, word: bytes | str) -> int:
        number = self[word] = self._number_of[_stem(word)]
        return number


_PORTER = PorterStemmer()


@lru_cache(maxsize=1 << 17)
def _stem(word: bytes | str) -> str:
    """The stem as rouge-score computes it; a word of letters and digits always has one."""
    text = word if isinstance(word, str) else word.decode("ascii")
    (stem,) = tokenize(text, _PORTER)
    return str(stem)


def _number_tokens(
    texts: Iterable[str], numbers: dict[bytes | str, int], tokenizer: Tokenizer | None
) -> TokenIds:
    number_of = numbers.__getitem__  # a missing word gets a number
    ids: list[int] = []
    lengths: list[int] = []
    for text in texts:
        words = tokenizer(text) if tokenizer else _latin_words(text)
        ids.extend(map(number_of, words))
        lengths.append(len(words))
    return TokenIds(np.array(ids, dtype=np.int64), np.array(lengths, dtype=np.int64))


def _latin_words(text: str) -> list[bytes]:
    """Runs of a-z and 0-9 in lower case: the tokens of rouge-score, many times faster."""
    return text.lower().encode("ascii", "replace").translate(_OTHERS_TO_BLANKS).split()
