"""Groups of pipelines that are not distinguishable, as letters."""

from __future__ import annotations

from string import ascii_letters

import numpy as np
import numpy.typing as npt

from rageval_report.types import BoolArray


def groups_of(differs: npt.ArrayLike) -> list[tuple[int, ...]]:
    """The groups within which no difference is shown, by inserting and absorbing.

    Two members share a group if and only if no difference between them is shown. All start in one
    group; each difference splits every group that contains both, and a group that another one
    contains is absorbed.

    Parameters
    ----------
    differs : array-like of bool of shape (k, k)
        Whether a difference is shown between any two; symmetric.

    Returns
    -------
    list of tuple of int
        The members of each group in order; the groups in the order of their first members.

    References
    ----------
    .. [1] Piepho (2004). An algorithm for a letter-based representation of all-pairwise
       comparisons. Journal of Computational and Graphical Statistics 13(2).
    .. [2] Gramm et al. (2007). Algorithms for compact letter displays: comparison and evaluation.
       Computational Statistics & Data Analysis 52(2).

    Examples
    --------
    >>> groups_of([[False, False, True], [False, False, False], [True, False, False]])
    [(0, 1), (1, 2)]
    """
    matrix: BoolArray = np.asarray(differs, dtype=bool)
    groups = [frozenset(range(len(matrix)))]
    for first, second in zip(*np.nonzero(np.triu(matrix, 1)), strict=True):
        inserted: list[frozenset[int]] = []
        for group in groups:
            has_both = first in group and second in group
            inserted += [group - {second}, group - {first}] if has_both else [group]
        groups = _absorb_subsets(inserted)
    return sorted(tuple(sorted(int(member) for member in group)) for group in groups)


def _absorb_subsets(groups: list[frozenset[int]]) -> list[frozenset[int]]:
    """The groups that are not part of a larger one."""
    maximal: list[frozenset[int]] = []
    # Largest first, so that a group can only be part of one that comes before it.
    for group in sorted(set(groups), key=len, reverse=True):
        if not any(group <= larger for larger in maximal):
            maximal.append(group)
    return maximal


def letters_of(differs: npt.ArrayLike) -> list[str]:
    """The letters of each member: two that share a letter are not distinguishable.

    Parameters
    ----------
    differs : array-like of bool of shape (k, k)
        As in `groups_of`; the best member first, so that it has the letter a.

    Returns
    -------
    list of str
        Such as "ab"; beyond 52 groups, numbers in brackets.

    Examples
    --------
    >>> letters_of([[False, False, True], [False, False, False], [True, False, False]])
    ['a', 'ab', 'b']
    """
    letters = [""] * len(np.asarray(differs))
    for place, group in enumerate(groups_of(differs)):
        letter = ascii_letters[place] if place < len(ascii_letters) else f"({place + 1})"
        for member in group:
            letters[member] += letter
    return letters
