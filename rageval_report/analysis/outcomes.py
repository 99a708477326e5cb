"""Two runs query by query: both right, both wrong, only the one, only the other."""

from __future__ import annotations

import itertools

import pandas as pd

from rageval_report.errors import AlignmentError, DataError
from rageval_report.scores import Correct, Scored, correctness
from rageval_report.scores.align import align


def outcome_table(
    evaluation: Scored,
    other: Scored,
    correct: Correct | None = None,
    *,
    other_correct: Correct | None = None,
) -> pd.DataFrame:
    """The ids of the queries that both, neither, or only one of two runs answers correctly.

    Parameters
    ----------
    evaluation, other : Scored
        Two runs; rows are paired by query id.
    correct : see `correctness`, optional
        What a correct answer is.
    other_correct : see `correctness`, optional
        The same for the other run, where it differs.

    Returns
    -------
    DataFrame
        Columns of query ids, as long as the longest, padded with None: ``both_correct``,
        ``both_incorrect``, ``only_{name}_correct``, ``only_{other}_correct``. Where there are any,
        also ``unscored`` (common queries on which one run or both cannot be told) and
        ``only_in_{name}``, ``only_in_{other}`` (queries that one run alone has).

    Raises
    ------
    AlignmentError
        If the runs share no query.
    DataError
        If both have one name.
    """
    if evaluation.name == other.name:
        raise DataError(f"both runs are named {other.name!r}; give each its own name")
    pair = align(evaluation.scores.index, other.scores.index)
    if not len(pair.ids):
        raise AlignmentError(f"{evaluation.name!r} and {other.name!r} share no query id")
    ours = correctness(evaluation, correct).reindex(pair.ids)
    theirs = correctness(other, other_correct or correct).reindex(pair.ids)
    known = ours.notna() & theirs.notna()
    ours_right, theirs_right = ours.fillna(False), theirs.fillna(False)
    columns = {
        "both_correct": pair.ids[known & ours_right & theirs_right],
        "both_incorrect": pair.ids[known & ~ours_right & ~theirs_right],
        f"only_{evaluation.name}_correct": pair.ids[known & ours_right & ~theirs_right],
        f"only_{other.name}_correct": pair.ids[known & ~ours_right & theirs_right],
    }
    apart = {
        "unscored": pair.ids[~known],
        f"only_in_{evaluation.name}": pair.only_baseline,
        f"only_in_{other.name}": pair.only_candidate,
    }
    columns |= {name: ids for name, ids in apart.items() if len(ids)}
    rows = itertools.zip_longest(*(ids.tolist() for ids in columns.values()))
    return pd.DataFrame(list(rows), columns=list(columns), dtype=object)
