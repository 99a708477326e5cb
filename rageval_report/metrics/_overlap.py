"""What pairs of texts have in common: n-grams and longest subsequences, a block of pairs at once.

Needs the extra ``text``: the stems of nltk, the tokens of rouge-score, the subsequences of
rapidfuzz.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from nltk.stem.porter import PorterStemmer  # type: ignore[import-untyped]
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from rouge_score.tokenize import tokenize  # type: ignore[import-untyped]

from rageval_report.metrics.answers import Floats, Tokenizer

Ints = NDArray[np.int64]

_PAIRS_A_BLOCK = 4096
_N_CHARACTERS = 0x110000  # so many different tokens can be spelt with one character each

_KEPT = b"abcdefghijklmnopqrstuvwxyz0123456789"
_OTHERS_TO_BLANKS = bytes(code if code in _KEPT else ord(" ") for code in range(256))


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of several texts as numbers, one text after the other.

    Parameters
    ----------
    ids : ndarray of shape (n_tokens,)
        Equal tokens have equal numbers, from 0.
    lengths : ndarray of shape (n_texts,)
        How many tokens each text has.
    """

    ids: Ints
    lengths: Ints

    @cached_property
    def text_of(self) -> Ints:
        """The text in which each token stands."""
        return np.repeat(np.arange(self.lengths.size), self.lengths)

    def ngrams(self, n: int, n_ids: int) -> Ints:
        """A number for each n-gram (n is 1 or 2), made of its text and its tokens."""
        first = self.text_of * n_ids + self.ids
        if n == 1:
            return first
        follows = self.text_of[1:] == self.text_of[:-1]
        return np.asarray(first[:-1][follows] * n_ids + self.ids[1:][follows])

    def spelt(self) -> list[str]:
        """Each text as a text of one character a token."""
        whole = self.ids.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        ends = np.cumsum(self.lengths).tolist()
        return [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def listed(self) -> list[list[int]]:
        """Each text as a list of numbers."""
        return [part.tolist() for part in np.split(self.ids, np.cumsum(self.lengths)[:-1])]


@dataclass(frozen=True, eq=False)
class Block:
    """Pairs of texts whose tokens have been numbered together.

    Parameters
    ----------
    texts, references : Tokens
        The two sides of the pairs.
    n_ids : int
        How many different tokens there are on both sides.
    """

    texts: Tokens
    references: Tokens
    n_ids: int

    def ngrams(self, n: int) -> Floats:
        """How many n-grams (n is 1 or 2) are common, are said, are meant: a column a pair.

        An n-gram is common as often as it stands in both.
        """
        said, times_said = _counted(self.texts.ngrams(n, self.n_ids))
        meant, times_meant = _counted(self.references.ngrams(n, self.n_ids))
        _, here, there = np.intersect1d(said, meant, assume_unique=True, return_indices=True)
        common = np.bincount(
            said[here] // self.n_ids**n,
            weights=np.minimum(times_said[here], times_meant[there]),
            minlength=self.texts.lengths.size,
        )
        totals = (np.maximum(side.lengths - n + 1, 0) for side in (self.texts, self.references))
        return np.vstack([common, *totals])

    def subsequences(self) -> Floats:
        """How many tokens are in the longest common subsequence, are said, are meant."""
        sides = (self.texts, self.references)
        if self.n_ids <= _N_CHARACTERS:
            common = [
                LCSseq.similarity(*pair) for pair in zip(*map(Tokens.spelt, sides), strict=True)
            ]
        else:
            common = [
                LCSseq.similarity(*pair) for pair in zip(*map(Tokens.listed, sides), strict=True)
            ]
        return np.vstack([common, self.texts.lengths, self.references.lengths]).astype(np.float64)


def _counted(keys: Ints) -> tuple[Ints, Ints]:
    unique, counts = np.unique(keys, return_counts=True)
    return unique, counts.astype(np.int64)


def blocks_of(
    texts: Sequence[str],
    references: Sequence[str],
    *,
    stem: bool,
    tokenizer: Tokenizer | None = None,
) -> Iterator[Block]:
    """The pairs of texts, block by block.

    Parameters
    ----------
    texts, references : list of str of equal length
        The two sides.
    stem : bool
        Stem the words; not asked where there is a tokenizer.
    tokenizer : callable, optional
        Cuts a text into tokens; rouge-score's tokens without one.

    Examples
    --------
    >>> [block] = blocks_of(["a b a"], ["a a c"], stem=False)
    >>> block.ngrams(1).ravel().tolist(), block.subsequences().ravel().tolist()
    ([2.0, 3.0, 3.0], [2.0, 3.0, 3.0])
    """
    for start in range(0, len(texts), _PAIRS_A_BLOCK):
        part = slice(start, start + _PAIRS_A_BLOCK)
        numbers: dict[bytes | str, int] = _Stems() if stem and not tokenizer else _Numbers()
        said = _numbered(texts[part], numbers, tokenizer)
        meant = _numbered(references[part], numbers, tokenizer)
        yield Block(said, meant, max(len(numbers), 1))


class _Numbers(dict[bytes | str, int]):
    """A number for each token, given when it is first met."""

    def __missing__(self, token: bytes | str) -> int:
        number = self[token] = len(self)
        return number


class _Stems(dict[bytes | str, int]):
    """A number for each word, the same for words of one stem."""

    def __init__(self) -> None:
        self._number_of = _Numbers()

    def __missing__(self, word: bytes | str) -> int:
        number = self[word] = self._number_of[_stem(word)]
        return number


_PORTER = PorterStemmer()


@lru_cache(maxsize=1 << 17)
def _stem(word: bytes | str) -> str:
    """The stem as rouge-score finds it; a word of letters and digits always leaves one."""
    text = word if isinstance(word, str) else word.decode("ascii")
    (stem,) = tokenize(text, _PORTER)
    return str(stem)


def _numbered(
    texts: Iterable[str], numbers: dict[bytes | str, int], tokenizer: Tokenizer | None
) -> Tokens:
    number_of = numbers.__getitem__  # a word that is not there is given a number
    ids: list[int] = []
    lengths: list[int] = []
    for text in texts:
        words = tokenizer(text) if tokenizer else _latin_words(text)
        ids.extend(map(number_of, words))
        lengths.append(len(words))
    return Tokens(np.array(ids, dtype=np.int64), np.array(lengths, dtype=np.int64))


def _latin_words(text: str) -> list[bytes]:
    """Runs of a-z and 0-9 in lower case: what rouge-score's pattern finds, many times faster."""
    return text.lower().encode("ascii", "replace").translate(_OTHERS_TO_BLANKS).split()
