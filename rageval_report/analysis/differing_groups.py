"""Queries that belong to one group in the baseline and to another one in the candidate."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.types import BoolArray


def count_differing_groups(pairing: Pairing, by: str) -> int:
    """The number of common queries that both runs put into a group, but not into the same one.

    Parameters
    ----------
    pairing : Pairing
        The runs.
    by : str
        A column of the baseline's details; if the candidate has none of that name, nothing differs.
    """
    if by not in pairing.candidate.details:
        return 0
    before, after = pairing.baseline.details[by], pairing.candidate.details[by]
    alignment = pairing.alignment
    if alignment.candidate_rows is None and before.equals(after):  # the usual case, at no cost
        return 0
    ours = pd.Series(alignment.baseline(before))
    theirs = pd.Series(alignment.candidate(after))
    both = (ours.notna() & theirs.notna()).to_numpy(dtype=bool)
    return int(are_other_groups(ours[both].map(str), theirs[both].map(str)).sum())


def are_other_groups(ours: pd.Series, theirs: pd.Series) -> BoolArray:
    """Whether the texts of two groups differ, as texts and as numbers: 1 and 1.0 are one group.

    Examples
    --------
    >>> are_other_groups(pd.Series(["law", "1", "2"]), pd.Series(["tax", "1.0", "3"])).tolist()
    [True, False, True]
    """
    is_other: BoolArray = np.asarray(
        ours.to_numpy(dtype=object) != theirs.to_numpy(dtype=object), dtype=bool
    )
    numbers, others = (
        pd.to_numeric(side[is_other], errors="coerce").to_numpy() for side in (ours, theirs)
    )
    is_other[is_other] = numbers != others  # NaN, of a text that is not a number, equals nothing
    return is_other


def differing_groups_note(
    by: str, names: tuple[str, str], n_differing: int, n_common: int
) -> tuple[str, ...]:
    """That the runs disagree about groups, and whose groups count; nothing if they agree.

    Parameters
    ----------
    by : str
        The column of the groups.
    names : (str, str)
        The names of the baseline and the candidate.
    n_differing, n_common : int
        The number of queries whose group differs, and of all common queries.

    Examples
    --------
    >>> differing_groups_note("topic", ("a", "b"), 3, 40)
    ("topic of 3 of 40 common queries differs between 'a' and 'b'; groups are those of 'a'",)
    """
    if not n_differing:
        return ()
    baseline, candidate = names
    return (
        f"{by} of {n_differing} of {n_common} common queries differs between {baseline!r} and "
        f"{candidate!r}; groups are those of {baseline!r}",
    )
