"""Random draws that do not depend on the order of the rows, and shares of a draw.

A draw that counts positions gives other rows when somebody sorts the file. Here each row gets a
number from its own content, and positions are drawn among the rows in the order of these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.files.digests import canonical_json
from rageval_report.types import IndexArray

DrawKeys: TypeAlias = npt.NDArray[np.uint64]


def number_of(text: str) -> int:
    """A 64-bit hash of a text, such as a query id."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def number_of_content(row: Any) -> int:
    """A 64-bit hash of all that a row holds; the order of its keys does not matter."""
    return int.from_bytes(blake2b(canonical_json(row), digest_size=8).digest())


def draw_keys(texts: Iterable[str]) -> DrawKeys:
    """The hashes of texts that differ from each other, such as query ids."""
    return np.fromiter(map(number_of, texts), dtype=np.uint64)


def draw_rows(keys: DrawKeys, n: int, rng: np.random.Generator) -> IndexArray:
    """The positions of `n` random rows, at most all, in the order in which they are drawn."""
    by_key = np.argsort(keys, kind="stable")
    return np.asarray(by_key[rng.choice(len(keys), n, replace=False)], dtype=np.intp)


def count_unanswerable(n: int, ratio: float) -> int:
    """The number of unanswerable questions among `n` at a ratio; halves are rounded up."""
    if isinstance(ratio, bool) or not 0.0 <= ratio <= 1.0:
        raise DataError(f"unanswerable_ratio must be a number from 0 to 1, or None; got {ratio!r}")
    # round() rounds halves to the even number: 0.5 of 5 would be 2, of 7 would be 4.
    return math.floor(n * ratio + 0.5)


def equal_shares(sizes: Sequence[int], n: int) -> list[int]:
    """How many of `n` come from each group: the same number, as far as a group has them."""
    shares = [0] * len(sizes)
    while (left := min(n, sum(sizes)) - sum(shares)) > 0:
        unfilled = [place for place, size in enumerate(sizes) if shares[place] < size]
        step = max(1, left // len(unfilled))
        for place in unfilled[:left]:
            shares[place] += min(step, sizes[place] - shares[place])
    return shares


def proportional_shares(sizes: Sequence[int], n: int) -> list[int]:
    """How many of `n` come from each group in proportion to its size, by largest remainders."""
    total = sum(sizes)
    # Integers, because rounded shares need not add up to n.
    shares = [size * n // total for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda place: -(sizes[place] * n % total))
    for place in by_remainder[: n - sum(shares)]:
        shares[place] += 1
    return shares
