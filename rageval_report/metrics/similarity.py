"""Metrics by similarity: a result near a truth is right.

The cosines of each query's results with its truths are computed once, by one matrix product per
block of queries; every metric, cutoff and threshold uses them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rageval_report.errors import DataError
from rageval_report.metrics.checks import check_between, check_cutoff
from rageval_report.metrics.retrieval import hybrid_of_ranks
from rageval_report.metrics.text import Answers
from rageval_report.types import BoolArray, FloatArray

Vectors = NDArray[np.floating[Any]]

Embed = Callable[[list[str]], ArrayLike]
"""Turns texts into vectors, one row each, as ``encode`` of a sentence-transformers model does."""

_BLOCK_BYTES = 4 << 20  # the vectors of a block and their cosines stay in the processor's cache
# Units in the last place by which rounding may leave the cosine of equal vectors below 1.
_ROUNDING = 16


@dataclass(frozen=True, eq=False)
class Cosines:
    """The cosines of queries with equally many results and equally many truths."""

    queries: NDArray[np.int64]
    values: Vectors

    def near(self, threshold: float) -> BoolArray:
        """Which cosines reach the threshold."""
        # Equal vectors can have a cosine of 0.9999999999999999 and must reach a threshold of 1.
        slack = _ROUNDING * np.finfo(self.values.dtype).eps
        return np.asarray(self.values >= threshold - slack)


@dataclass(frozen=True, eq=False)
class Similarities:
    """The cosines of each query's results with its truths."""

    n_queries: int
    blocks: tuple[Cosines, ...]


def as_rows(vectors: ArrayLike, name: str) -> Vectors:
    """Vectors as the rows of an array, in single precision if they are so, else in double."""
    try:
        rows = np.asarray(vectors)
        # Half precision is widened: products of 16 bits lose too much for a threshold.
        wide = np.float32 if rows.dtype in (np.float16, np.float32) else np.float64
        rows = rows.astype(wide, copy=False)
    except (TypeError, ValueError) as exc:
        raise DataError(f"{name} must be vectors of numbers with one length: {exc}") from exc
    if rows.ndim == 1:
        rows = rows.reshape(1, -1) if rows.size else rows.reshape(0, 0)
    if rows.ndim != 2 or (len(rows) and not rows.shape[1]):
        raise DataError(f"{name} must be a two-dimensional array; got the shape {rows.shape}")
    return rows


def cosines(retrieved: Vectors, truths: Vectors) -> Vectors:
    """The cosines of two stacks of rows; 0 where a vector is all zeros."""
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
    """The cosines of all queries, by matrix products over blocks of queries of one shape."""
    groups: dict[tuple[Any, ...], list[tuple[int, Vectors, Vectors]]] = defaultdict(list)
    for query, (ours, theirs) in enumerate(zip(retrieved, truths, strict=True)):
        if ours is not None and theirs is not None:
            left = as_rows(ours, f"the vectors retrieved by query {query}")
            right = as_rows(theirs, f"the true vectors of query {query}")
            if left.size and right.size and left.shape[1] != right.shape[1]:
                raise DataError(
                    f"query {query} has results of {left.shape[1]} and truths of {right.shape[1]} "
                    "dimensions: embed both with one model"
                )
            shape = (left.shape, right.shape, left.dtype.char, right.dtype.char)
            groups[shape].append((query, left, right))
    blocks = []
    for group in groups.values():
        size = max(1, _BLOCK_BYTES // max(1, group[0][1].nbytes + group[0][2].nbytes))
        for start in range(0, len(group), size):
            queries, lefts, rights = zip(*group[start : start + size], strict=True)
            values = _tables(np.stack(lefts), np.stack(rights))
            blocks.append(Cosines(np.array(queries, dtype=np.int64), values))
    return Similarities(len(retrieved), tuple(blocks))


def _tables(left: Vectors, right: Vectors) -> Vectors:
    """The cosines of stacks of rows; a side without rows may have any width."""
    if left.size and right.size:
        return cosines(left, right)
    return np.empty((len(left), left.shape[1], right.shape[1]))


# -- vectors of texts


def embed_lists(
    texts: Sequence[Sequence[str] | None], embed: Embed, *, batch_size: int = 1024
) -> list[Vectors | None]:
    """The vectors of lists of texts; each distinct text is embedded once."""
    # Chunks are retrieved by many queries, and each embedding costs time or money.
    distinct = list(dict.fromkeys(text for listed in texts for text in listed or ()))
    parts = []
    for start in range(0, len(distinct), batch_size):
        batch = distinct[start : start + batch_size]
        parts.append(as_rows(embed(batch), "embeddings"))
        if len(parts[-1]) != len(batch):
            raise DataError(
                f"embed must return one row per text; got {len(parts[-1])} for {len(batch)} texts"
            )
    rows = np.concatenate(parts) if parts else np.empty((0, 0))
    row_of = {text: row for row, text in enumerate(distinct)}
    return [None if listed is None else rows[[row_of[text] for text in listed]] for listed in texts]


def similarities_of_texts(
    retrieved: Sequence[Sequence[str] | None], truths: Sequence[Sequence[str] | None], embed: Embed
) -> Similarities:
    """The cosines of all queries from texts; each distinct text is embedded once."""
    n = len(retrieved)
    vectors = embed_lists([*retrieved, *truths], embed)
    return similarities(vectors[:n], vectors[n:])


def answer_similarities(answers: Answers, embed: Embed) -> Similarities:
    """The cosines of each answer with its references: the view of semantic answer similarity."""
    answer_lists = [None if answer is None else [answer] for answer in answers.answer]
    return similarities_of_texts(answer_lists, answers.references, embed)


def precision_similarity(
    view: Similarities, k: int | None = None, *, threshold: float = 0.8
) -> FloatArray:
    """The share of the first k results that are near any truth."""
    # Results are counted one by one, without removing repeats, as in datapizza-ai.
    return _of_near(view, k, threshold, lambda near: near.any(axis=2).sum(axis=1) / max(
        near.shape[1] if k is None else k, 1))  # fmt: skip


def recall_similarity(
    view: Similarities, k: int | None = None, *, threshold: float = 0.8
) -> FloatArray:
    """The share of the truths that are near any of the first k results."""
    return _of_near(view, k, threshold, lambda near: near.any(axis=1).sum(axis=1) / near.shape[2])


def f1_similarity(
    view: Similarities, k: int | None = None, *, threshold: float = 0.8
) -> FloatArray:
    """The harmonic mean of `precision_similarity` and `recall_similarity`."""
    precision = precision_similarity(view, k, threshold=threshold)
    recall = recall_similarity(view, k, threshold=threshold)
    both = precision + recall  # NaN if there is no truth
    return np.divide(2 * (precision * recall), both, out=both.copy(), where=both > 0)


def _of_near(
    view: Similarities, k: int | None, threshold: float, score: Callable[[BoolArray], FloatArray]
) -> FloatArray:
    """A score computed from what is near among the first k results; NaN if there is no truth."""
    limit = check_between("similarity_threshold", threshold, -1.0, 1.0)
    cutoff = None if k is None else check_cutoff(k)
    scores = np.full(view.n_queries, np.nan)
    for block in view.blocks:
        if block.values.shape[2]:
            scores[block.queries] = score(block.near(limit)[:, :cutoff])
    return scores


def hybrid_log_rank_similarity(
    view: Similarities,
    k: int | None = None,
    *,
    threshold: float = 0.8,
    gamma: float = 1.0,
    alpha: float = 0.5,
    normalized: bool = False,
) -> FloatArray:
    """The recall of near truths, combined with the first rank that is near each of them."""

    def score(near: BoolArray) -> FloatArray:
        n, n_retrieved, n_truths = near.shape
        query, truth = np.nonzero(near.any(axis=1))
        rank = near[query, :, truth].argmax(axis=1) + 1 if query.size else query
        how: dict[str, Any] = {"gamma": gamma, "alpha": alpha, "normalized": normalized}
        return hybrid_of_ranks(query, rank, np.full(n, n_retrieved), np.full(n, n_truths), **how)

    return _of_near(view, k, threshold, score)


def semantic_answer_similarity(view: Similarities) -> FloatArray:
    """The cosine of the answer and its nearest reference, as vectors."""
    scores = np.full(view.n_queries, np.nan)
    for block in view.blocks:
        if block.values.size:
            scores[block.queries] = block.values.max(axis=(1, 2))
    return scores
