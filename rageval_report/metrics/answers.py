"""The answers of a pipeline beside the references: what metrics of text are computed from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rageval_report.errors import DataError

Floats = NDArray[np.float64]

Tokenizer = Callable[[str], list[str]]
"""Cuts a text into tokens; for scripts without blanks, as `characters_or_words`."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What was answered and what should have been, query by query.

    Parameters
    ----------
    answer : list of str or None
        One answer a query; None where the pipeline gave none. An empty text is an answer.
    references : list of lists of str
        The right answers of each query, any number of them; none where nothing is known.

    Raises
    ------
    DataError
        If the two differ in length, or a query's references are one text instead of a list.

    Examples
    --------
    >>> answers = Answers(["Rome", None, "4"], [["Rome", "Roma"], ["Oslo"], []])
    >>> answers.pairs
    [('Rome', 'Rome'), ('Rome', 'Roma')]
    >>> answers.best([1.0, 0.5])
    array([ 1., nan, nan])
    """

    answer: list[str | None]
    references: list[list[str]]

    def __post_init__(self) -> None:
        if len(self.answer) != len(self.references):
            raise DataError(
                f"every query needs an answer and a list of references; got {len(self.answer)} "
                f"answers and {len(self.references)} lists"
            )
        for place, references in enumerate(self.references):
            if isinstance(references, str):
                raise DataError(
                    f"the references of row {place} are one text, {references!r}: put it in a list"
                )

    def __len__(self) -> int:
        return len(self.answer)

    @cached_property
    def n_pairs(self) -> NDArray[np.int64]:
        """How many references each query is compared with; 0 where it is not answered."""
        both = zip(self.answer, self.references, strict=True)
        return np.array([0 if a is None else len(refs) for a, refs in both], dtype=np.int64)

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Each answer with each of its references, queries in order."""
        both = zip(self.answer, self.references, strict=True)
        return [(a, reference) for a, refs in both if a is not None for reference in refs]

    def best(self, scores: ArrayLike) -> Floats:
        """The highest score of each query, of one score a pair; NaN where there is no pair.

        Parameters
        ----------
        scores : array-like of shape (n_pairs,)
            The score of each of `pairs`, in their order.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        best = np.full(len(self), np.nan)
        paired = self.n_pairs > 0
        if paired.any():
            starts = np.cumsum(self.n_pairs[paired]) - self.n_pairs[paired]
            best[paired] = np.maximum.reduceat(np.asarray(scores, dtype=np.float64), starts)
        return best

    def scored(self, score: Callable[[str, list[str]], float]) -> Floats:
        """The scores of a function of an answer and all its references; NaN where one is missing.

        Examples
        --------
        >>> Answers(["a", None], [["a", "b"], ["a"]]).scored(lambda answer, refs: len(refs))
        array([ 2., nan])
        """
        both = zip(self.answer, self.references, strict=True)
        scores = [np.nan if a is None or not refs else score(a, refs) for a, refs in both]
        return np.array(scores, dtype=np.float64)
