"""The answers of a pipeline beside the references: the view that metrics of text take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rageval_report.errors import DataError
from rageval_report.types import FloatArray

Tokenizer = Callable[[str], list[str]]
"""Cuts a text into tokens; use `characters_or_words` for scripts without blanks."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers and the right answers, query by query.

    Parameters
    ----------
    answer : list of str or None
        One answer per query; None if the pipeline gave none. An empty text is an answer.
    references : list of lists of str
        The right answers of each query, any number of them.
    right_refusals : list of float, optional
        For a question that has no answer, 1 if it was refused and 0 if it was answered; NaN for any
        other. If omitted, every question is taken to have an answer.

    Raises
    ------
    DataError
        If the lengths differ, or the references of a query are one text instead of a list.

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
    right_refusals: list[float] | None = None

    def __post_init__(self) -> None:
        if len(self.answer) != len(self.references):
            raise DataError(
                "answer and references must have one entry per query; got "
                f"{len(self.answer)} answers and {len(self.references)} lists of references"
            )
        for place, references in enumerate(self.references):
            # A text is a sequence of its letters: each would be taken for a reference.
            if isinstance(references, str):
                raise DataError(
                    f"the references of row {place} must be a list; got the text {references!r}: "
                    "put it in a list"
                )

    def __len__(self) -> int:
        return len(self.answer)

    @cached_property
    def n_pairs(self) -> NDArray[np.int64]:
        """How many references each query is compared with; 0 if it has no answer."""
        both = zip(self.answer, self.references, strict=True)
        return np.array([0 if a is None else len(refs) for a, refs in both], dtype=np.int64)

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Each answer with each of its references, queries in order."""
        both = zip(self.answer, self.references, strict=True)
        return [(a, reference) for a, refs in both if a is not None for reference in refs]

    def best(self, scores: ArrayLike) -> FloatArray:
        """The highest score of each query, from one score per pair; NaN if it has no pair.

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

    def with_refusals(self, scores: FloatArray) -> FloatArray:
        """The scores of a measure of right answers, in which a right refusal is a right answer.

        A question without a reference stays unscored, whether it was refused or answered: what is
        right to say is then a matter of the metrics of refusals.

        Examples
        --------
        >>> answers = Answers(["I don't know.", "Oslo", ""], [["None."], ["None."], []], [1, 0, 1])
        >>> answers.with_refusals(answers.best([0.0, 0.0]))
        array([ 1.,  0., nan])
        """
        if self.right_refusals is None:
            return scores
        is_right = np.array(self.right_refusals, dtype=np.float64) == 1.0
        return np.where(is_right & ~np.isnan(scores), 1.0, scores)

    def score_each(self, score: Callable[[str, list[str]], float]) -> FloatArray:
        """The scores of a function of an answer and its references; NaN if either is missing.

        Examples
        --------
        >>> Answers(["a", None], [["a", "b"], ["a"]]).score_each(lambda answer, refs: len(refs))
        array([ 2., nan])
        """
        both = zip(self.answer, self.references, strict=True)
        scores = [np.nan if a is None or not refs else score(a, refs) for a, refs in both]
        return np.array(scores, dtype=np.float64)
