"""The cosines of each query's results with its truths, by one matrix product per block of queries.

They are computed once; every metric, cutoff and threshold uses them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rageval_report.errors import DataError
from rageval_report.metrics.answers import Answers
from rageval_report.types import BoolArray

Vectors = NDArray[np.floating[Any]]

Embed = Callable[[list[str]], ArrayLike]
"""Turns texts into vectors, one row each, as ``encode`` of a sentence-transformers model does."""

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))  # these are not copied
_BLOCK_BYTES = 4 << 20  # the vectors of a block and their cosines stay in the processor's cache
# Units in the last place by which rounding may leave the cosine of equal vectors below 1.
_ROUNDING = 16


@dataclass(frozen=True, eq=False)
class Cosines:
    """The cosines of queries with equally many results and equally many truths.

    Parameters
    ----------
    queries : ndarray of int of shape (n,)
        Their positions among all queries.
    values : ndarray of shape (n, n_retrieved, n_truths)
        Between -1 and 1; 0 for a vector of zeros.
    """

    queries: NDArray[np.int64]
    values: Vectors

    def near(self, threshold: float) -> BoolArray:
        """Which cosines reach the threshold.

        Rounding may leave the cosine of equal vectors a little below 1, so a cosine may miss the
        threshold by 16 units in the last place of the vectors' precision.
        """
        # Equal vectors can have a cosine of 0.9999999999999999 and must reach a threshold of 1.
        slack = _ROUNDING * np.finfo(self.values.dtype).eps
        return np.asarray(self.values >= threshold - slack)


@dataclass(frozen=True, eq=False)
class Similarities:
    """The cosines of each query's results with its truths.

    `similarities` builds it from vectors, `similarities_of_texts` from texts. Queries without
    vectors are in no block and stay unscored.

    Parameters
    ----------
    n_queries : int
        The number of queries, including those without vectors.
    blocks : tuple of Cosines
        The queries by the shape of their tables.
    """

    n_queries: int
    blocks: tuple[Cosines, ...]


def as_rows(vectors: ArrayLike, name: str) -> Vectors:
    """Vectors as the rows of an array, in single precision if they are so already, else in double.

    Parameters
    ----------
    vectors : array-like of shape (n, d) or (d,)
        Rows; one flat vector is one row; an empty vector is none.
    name : str
        Their name in messages.

    Raises
    ------
    DataError
        If they are not numbers, not of one length, or have more than two dimensions.

    Examples
    --------
    >>> as_rows([3, 4], "truths")
    array([[3., 4.]])
    """
    if isinstance(vectors, np.ndarray) and vectors.ndim == 2 and vectors.dtype in _FLOATS:
        return _check_table(vectors, name)
    try:
        rows = np.asarray(vectors)
        # Half precision is widened: products of 16 bits lose too much for a threshold.
        wide = np.float32 if rows.dtype in (np.float16, np.float32) else np.float64
        rows = rows.astype(wide, copy=False)
    except (TypeError, ValueError) as exc:
        raise DataError(f"{name} must be vectors of numbers with one length: {exc}") from exc
    if rows.ndim == 1:
        return rows.reshape(1, -1) if rows.size else rows.reshape(0, 0)
    return _check_table(rows, name)


def _check_table(rows: Vectors, name: str) -> Vectors:
    if rows.ndim != 2 or (len(rows) and not rows.shape[1]):
        raise DataError(f"{name} must be a two-dimensional array; got the shape {rows.shape}")
    return rows


def cosines(retrieved: Vectors, truths: Vectors) -> Vectors:
    """The cosines of two stacks of rows; 0 where a vector is all zeros.

    Parameters
    ----------
    retrieved : ndarray of shape (..., n_retrieved, d)
    truths : ndarray of shape (..., n_truths, d)

    Returns
    -------
    ndarray of shape (..., n_retrieved, n_truths)

    Raises
    ------
    DataError
        If a vector is not finite.

    Examples
    --------
    >>> cosines(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[0.6],
           [0. ]])
    """
    with np.errstate(invalid="ignore", over="ignore"):  # checked below
        products = retrieved @ np.swapaxes(truths, -1, -2)
        scale = _norms(retrieved)[..., :, None] * _norms(truths)[..., None, :]
    if not np.isfinite(scale).all():
        raise DataError(
            "the vectors must be finite and small enough to multiply; pass None as the vectors of "
            "a query that has none"
        )
    scale[scale == 0.0] = 1.0  # the product with zeros is 0 already
    products /= scale
    # Rounding gives cosines such as 1.0000001, which are outside the bounds of the metric.
    return np.clip(products, -1.0, 1.0, out=products)


def _norms(rows: Vectors) -> Vectors:
    return np.asarray(np.sqrt(np.einsum("...d,...d->...", rows, rows)))


def similarities(
    retrieved: Sequence[ArrayLike | None], truths: Sequence[ArrayLike | None]
) -> Similarities:
    """The cosines of all queries, by matrix products over blocks of queries of one shape.

    Parameters
    ----------
    retrieved, truths : sequence of array-like of shape (n, d), or array of shape (n_queries, n, d)
        For each query the vectors of its results, best first, and of its truths. None if there are
        no vectors: the query stays unscored.

    Returns
    -------
    Similarities

    Raises
    ------
    DataError
        If the lengths differ, or the vectors of a query have different dimensions.

    Examples
    --------
    >>> table = similarities([[[1.0, 0.0], [0.0, 1.0]], None], [[[0.0, 2.0]], [[1.0, 1.0]]])
    >>> table.blocks[0].values.tolist()
    [[[0.0], [1.0]]]
    """
    if len(retrieved) != len(truths):
        raise DataError(
            f"retrieved and truths must have one length; got {len(retrieved)} and {len(truths)}"
        )
    if _is_stack(retrieved) and _is_stack(truths):
        blocks = _blocks_of_stacks(np.asarray(retrieved), np.asarray(truths))
    else:
        blocks = _blocks_of_lists(retrieved, truths)
    return Similarities(len(retrieved), tuple(blocks))


def _is_stack(vectors: object) -> bool:
    """Whether the vectors of all queries are one array of floats already."""
    return isinstance(vectors, np.ndarray) and vectors.ndim == 3 and vectors.dtype in _FLOATS


def _blocks_of_stacks(left: Vectors, right: Vectors) -> Iterator[Cosines]:
    """The cosines of queries of one shape, block by block; nothing is copied."""
    _check_dimensions(left, right, "the first query")
    size = _queries_per_block(left[:1], right[:1])
    for start in range(0, len(left), size):
        part = slice(start, start + size)
        queries = np.arange(len(left))[part]
        yield Cosines(queries, _tables(left[part], right[part]))


def _blocks_of_lists(
    retrieved: Sequence[ArrayLike | None], truths: Sequence[ArrayLike | None]
) -> Iterator[Cosines]:
    """The cosines of queries of any shapes; queries of one shape share blocks."""
    groups: dict[tuple[Any, ...], QueryVectors] = defaultdict(list)
    for query, (ours, theirs) in enumerate(zip(retrieved, truths, strict=True)):
        if ours is not None and theirs is not None:
            left, right = _row_pair(ours, theirs, query)
            shape = (left.shape, right.shape, left.dtype.char, right.dtype.char)
            groups[shape].append((query, left, right))
    for group in groups.values():
        size = _queries_per_block(*group[0][1:])
        for start in range(0, len(group), size):
            yield _block(group[start : start + size])


# A query and the rows of its results and of its truths.
QueryVectors = list[tuple[int, Vectors, Vectors]]


def _queries_per_block(left: Vectors, right: Vectors) -> int:
    """How many queries of the size of this one fit into a block."""
    return max(1, _BLOCK_BYTES // max(1, left.nbytes + right.nbytes))


def _row_pair(ours: ArrayLike, theirs: ArrayLike, query: int) -> tuple[Vectors, Vectors]:
    """The rows of the results and of the truths of a query, with one dimension."""
    left = as_rows(ours, f"the vectors retrieved by query {query}")
    right = as_rows(theirs, f"the true vectors of query {query}")
    _check_dimensions(left, right, f"query {query}")
    return left, right


def _check_dimensions(left: Vectors, right: Vectors, whose: str) -> None:
    if left.size and right.size and left.shape[-1] != right.shape[-1]:
        raise DataError(
            f"{whose} has results of {left.shape[-1]} and truths of {right.shape[-1]} "
            "dimensions: embed both with one model"
        )


def _block(part: QueryVectors) -> Cosines:
    """The cosines of a few queries of one shape; joining their rows is a copy within the cache."""
    queries, lefts, rights = zip(*part, strict=True)
    left = np.concatenate(lefts).reshape(len(part), *lefts[0].shape)
    right = np.concatenate(rights).reshape(len(part), *rights[0].shape)
    return Cosines(np.array(queries, dtype=np.int64), _tables(left, right))


def _tables(left: Vectors, right: Vectors) -> Vectors:
    """The cosines of stacks of rows; a side without rows may have any width."""
    if left.size and right.size:
        return cosines(left, right)
    return np.empty((len(left), left.shape[1], right.shape[1]))


# -- vectors of texts


def embed_lists(
    texts: Sequence[Sequence[str] | None], embed: Embed, *, batch_size: int = 1024
) -> list[Vectors | None]:
    """The vectors of lists of texts; each distinct text is embedded once.

    Parameters
    ----------
    texts : sequence of lists of str
        One list per query; None stays None.
    embed : callable
        A function that takes a list of texts and returns one row for each.
    batch_size : int, default 1024
        How many texts are passed at a time.

    Raises
    ------
    DataError
        If `embed` does not return one row per text.

    Examples
    --------
    >>> embed_lists([["a", "bb"], None], lambda texts: [[len(text), 1.0] for text in texts])
    [array([[1., 1.],
           [2., 1.]]), None]
    """
    # Chunks are retrieved by many queries, and each embedding costs time or money.
    distinct = list(dict.fromkeys(text for listed in texts for text in listed or ()))
    batches = [distinct[at : at + batch_size] for at in range(0, len(distinct), batch_size)]
    parts = [_rows_of(batch, embed) for batch in batches]
    rows = np.concatenate(parts) if parts else np.empty((0, 0))
    row_of = {text: row for row, text in enumerate(distinct)}
    return [None if listed is None else rows[[row_of[text] for text in listed]] for listed in texts]


def _rows_of(batch: list[str], embed: Embed) -> Vectors:
    rows = as_rows(embed(batch), "embeddings")
    if len(rows) != len(batch):
        raise DataError(
            f"embed must return one row per text; got {len(rows)} for {len(batch)} texts"
        )
    return rows


def similarities_of_texts(
    retrieved: Sequence[Sequence[str] | None], truths: Sequence[Sequence[str] | None], embed: Embed
) -> Similarities:
    """The cosines of all queries from texts; each distinct text is embedded once.

    Parameters
    ----------
    retrieved, truths : sequence of lists of str
        For each query the texts of its results, best first, and of its truths.
    embed : callable
        A function that takes a list of texts and returns one row for each.

    Examples
    --------
    >>> lengths = lambda texts: [[len(text), 1.0] for text in texts]
    >>> view = similarities_of_texts([["ab", "abc"]], [["xyz"]], lengths)
    >>> view.blocks[0].values.round(2).tolist()
    [[[0.99], [1.0]]]
    """
    n = len(retrieved)
    vectors = embed_lists([*retrieved, *truths], embed)
    return similarities(vectors[:n], vectors[n:])


def answer_similarities(answers: Answers, embed: Embed) -> Similarities:
    """The cosines of each answer with its references: the view of semantic answer similarity.

    Parameters
    ----------
    answers : Answers
        Answers and references.
    embed : callable
        A function that takes a list of texts and returns one row for each.

    Examples
    --------
    >>> view = answer_similarities(Answers(["a", None], [["b"], ["c"]]), lambda t: [[1.0]] * len(t))
    >>> view.n_queries, view.blocks[0].queries.tolist()
    (2, [0])
    """
    answer_lists = [None if answer is None else [answer] for answer in answers.answer]
    return similarities_of_texts(answer_lists, answers.references, embed)
