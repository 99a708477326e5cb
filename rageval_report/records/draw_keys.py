"""Numbers by which rows are ordered before a random draw, so that their order does not matter.

A draw that counts positions gives other rows when somebody sorts the file. Here each row gets a
number from its own content, and positions are drawn among the rows in the order of these numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report.files.digests import canonical_json
from rageval_report.types import IndexArray

DrawKeys: TypeAlias = npt.NDArray[np.uint64]


def number_of(text: str) -> int:
    """A 64-bit hash of a text, such as a query id.

    Examples
    --------
    >>> number_of("a") == number_of("a"), number_of("a") == number_of("b")
    (True, False)
    """
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def number_of_content(row: Any) -> int:
    """A 64-bit hash of all that a row holds; the order of its keys does not matter.

    Examples
    --------
    >>> number_of_content({"id": 1, "text": "So."}) == number_of_content({"text": "So.", "id": 1})
    True
    """
    return int.from_bytes(blake2b(canonical_json(row), digest_size=8).digest())


def draw_keys(texts: Iterable[str]) -> DrawKeys:
    """The hashes of texts that differ from each other, such as query ids.

    Examples
    --------
    >>> keys, turned = draw_keys(["a", "b"]), draw_keys(["b", "a"])
    >>> keys.dtype, bool((keys[::-1] == turned).all())
    (dtype('uint64'), True)
    """
    return np.fromiter(map(number_of, texts), dtype=np.uint64)


def draw_rows(keys: DrawKeys, n: int, rng: np.random.Generator) -> IndexArray:
    """The positions of `n` random rows, in the order in which they are drawn.

    Parameters
    ----------
    keys : ndarray of uint64
        A number per row that depends on the content of the row alone. Rows of equal numbers should
        be equal: which of them is drawn depends on their order.
    n : int
        How many rows, at most all.
    rng : Generator
        The source of randomness.

    Examples
    --------
    >>> ids = np.array(["a", "b", "c", "d"])
    >>> turned = ids[::-1]
    >>> first = ids[draw_rows(draw_keys(ids), 2, np.random.default_rng(0))]
    >>> bool((first == turned[draw_rows(draw_keys(turned), 2, np.random.default_rng(0))]).all())
    True
    """
    by_key = np.argsort(keys, kind="stable")
    return np.asarray(by_key[rng.choice(len(keys), n, replace=False)], dtype=np.intp)
