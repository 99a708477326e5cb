"""Groups of pipelines that cannot be told apart, as letters."""

from __future__ import annotations

from string import ascii_letters

import numpy as np
import numpy.typing as npt

_Pairs = npt.NDArray[np.bool_]


def groups_of(differs: npt.ArrayLike) -> list[tuple[int, ...]]:
    """The groups within which no difference is shown, by inserting and absorbing.

    Two members share a group if and only if no difference between them is shown. All start in one
    group; each difference parts every group that holds both, and what another group holds anyway is
    absorbed.

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
    apart: _Pairs = np.asarray(differs, dtype=bool)
    groups = [frozenset(range(len(apart)))]
    for one, other in zip(*np.nonzero(np.triu(apart, 1)), strict=True):
        inserted: list[frozenset[int]] = []
        for group in groups:
            both = one in group and other in group
            inserted += [group - {other}, group - {one}] if both else [group]
        groups = _absorbed(inserted)
    return sorted(tuple(sorted(int(member) for member in group)) for group in groups)


def _absorbed(groups: list[frozenset[int]]) -> list[frozenset[int]]:
    """The groups that no other one holds."""
    kept: list[frozenset[int]] = []
    for group in sorted(set(groups), key=len, reverse=True):
        if not any(group <= larger for larger in kept):
            kept.append(group)
    return kept


def letters_of(differs: npt.ArrayLike) -> list[str]:
    """The letters of each member: two that share a letter cannot be told apart.

    Parameters
    ----------
    differs : array-like of bool of shape (k, k)
        As in `groups_of`; the best member first, so that it has the letter a.

    Returns
    -------
    list of str
        As "ab"; beyond 52 groups numbers in brackets.

    Examples
    --------
    >>> letters_of([[False, False, True], [False, False, False], [True, False, False]])
    ['a', 'ab', 'b']
    """
    told = [""] * len(np.asarray(differs))
    for place, group in enumerate(groups_of(differs)):
        letter = ascii_letters[place] if place < len(ascii_letters) else f"({place + 1})"
        for member in group:
            told[member] += letter
    return told
