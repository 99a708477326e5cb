"""Which queries both runs answer correctly, neither, or only one of them."""

from __future__ import annotations

import itertools

import pandas as pd

from rageval_report.errors import AlignmentError, DataError
from rageval_report.scores import Correct, Scored
from rageval_report.scores.align import align
from rageval_report.scores.correct import HOW_TO_SAY
from rageval_report.scores.correct_notion import (
    CorrectNotion,
    answers_by,
    find_notion,
    shared_notions,
)


def outcome_table(
    evaluation: Scored,
    other: Scored,
    correct: Correct | CorrectNotion | None = None,
    *,
    other_correct: Correct | CorrectNotion | None = None,
) -> pd.DataFrame:
    """The ids of the queries that both, neither, or only one of two runs answers correctly.

    Parameters
    ----------
    evaluation, other : Scored
        Two runs; rows are paired by query id.
    correct : see `correctness`, optional
        What a correct answer is; if omitted, the rule of each run, else the same column of both.
    other_correct : see `correctness`, optional
        The rule for the other run, if it differs.

    Returns
    -------
    DataFrame
        Columns of query ids, padded with None to the length of the longest: ``both_correct``,
        ``both_incorrect``, ``only_{name}_correct``, ``only_{other}_correct``. If there are any,
        also ``unscored`` (common queries whose correctness is unknown in one run or both) and
        ``only_in_{name}``, ``only_in_{other}`` (queries that only one run has).

    Raises
    ------
    AlignmentError
        If the runs share no query.
    DataError
        If both have the same name, or nothing says what is correct in both.
    """
    # The names are part of the columns' names.
    if evaluation.name == other.name:
        raise DataError(f"both runs are named {other.name!r}; give each its own name")
    pair = align(evaluation.scores.index, other.scores.index)
    if not len(pair.ids):
        raise AlignmentError(f"{evaluation.name!r} and {other.name!r} share no query id")
    own_notion, other_notion = _notions((evaluation, other), correct, other_correct)
    ours = answers_by(evaluation, own_notion).reindex(pair.ids)
    theirs = answers_by(other, other_notion).reindex(pair.ids)
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
    # Padded here, because pandas would pad with NaN instead of None.
    rows = itertools.zip_longest(*(ids.tolist() for ids in columns.values()))
    return pd.DataFrame(list(rows), columns=list(columns), dtype=object)


def _notions(
    runs: tuple[Scored, Scored],
    correct: Correct | CorrectNotion | None,
    other_correct: Correct | CorrectNotion | None,
) -> tuple[CorrectNotion, CorrectNotion]:
    """What a correct answer of each run is."""
    if other_correct is not None:
        by_run = tuple(map(find_notion, runs, (correct, other_correct)))
    else:
        by_run = shared_notions(runs, correct) or ()
    first, second = (*by_run, None, None)[:2]
    if first is None or second is None:
        names = " and ".join(repr(run.name) for run in runs)
        raise DataError(f"no column says what is correct in {names} alike. {HOW_TO_SAY}")
    return first, second
