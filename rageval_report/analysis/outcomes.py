"""Which queries both runs answer correctly, neither, or only one of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pandas as pd

from rageval_report.analysis.pairing import check_unique_names
from rageval_report.errors import AlignmentError, ArgumentKindError, DataError, describe_kind
from rageval_report.scores import Correct, Scored
from rageval_report.scores.align import align, match_queries
from rageval_report.scores.correct import (
    HOW_TO_SAY,
    CorrectNotion,
    answers_by,
    describe_notions,
    find_notion,
    shared_notions,
)
from rageval_report.types import BoolArray

# The first columns of the table, which it always has; the others only if they have a query.
_N_KNOWN = 4


def outcome_table(
    evaluation: Scored,
    other: Scored,
    correct: Correct | CorrectNotion | None = None,
    *,
    other_correct: Correct | CorrectNotion | None = None,
    on: str | None = None,
) -> pd.DataFrame:
    """The ids of the queries that both, neither, or only one of two runs answers correctly."""
    names = check_two_names(evaluation, other)
    if on is not None:
        other = match_queries(other, evaluation, on)
    pair = align(evaluation.scores.index, other.scores.index)
    if not len(pair.ids):
        raise AlignmentError(f"{evaluation.name!r} and {other.name!r} share no query id")
    notions = notions_of((evaluation, other), correct, other_correct)
    answers = (
        answers_by(run, notion).reindex(pair.ids)
        for run, notion in zip((evaluation, other), notions, strict=True)
    )
    common = [pair.ids[mask] for mask in _outcome_masks(*answers)]
    ids = [own.tolist() for own in (*common, pair.only_baseline, pair.only_candidate)]
    by_outcome = dict(zip(outcome_columns(*names), ids, strict=True))
    return outcome_frame(by_outcome, notes=notes_on_notions((evaluation, other), notions))


def check_two_names(evaluation: Scored, other: Scored) -> tuple[str, str]:
    """The names of two runs, which are parts of the names of columns; `DataError` if equal."""
    if not (hasattr(other, "scores") and hasattr(other, "metrics")):
        raise ArgumentKindError(
            f"other must be a RAGPipelineEvaluation; got {describe_kind(other)}. Make one with "
            "RAGPipelineEvaluation(name, data)"
        )
    check_unique_names((evaluation, other))
    return evaluation.name, other.name


def outcome_columns(first: str, second: str) -> tuple[str, ...]:
    """The columns of `outcome_table`: of queries of both runs, then of those that one run has."""
    return (
        *("both_correct", "both_incorrect", f"only_{first}_correct", f"only_{second}_correct"),
        *("unscored", f"only_in_{first}", f"only_in_{second}"),
    )


def _outcome_masks(ours: pd.Series, theirs: pd.Series) -> list[BoolArray]:
    """Where both answers are correct, neither, the first, the second, and where it is not known."""
    known = (ours.notna() & theirs.notna()).to_numpy()
    first, second = (side.fillna(False).to_numpy(dtype=bool) for side in (ours, theirs))
    outcomes = ((True, True), (False, False), (True, False), (False, True))
    return [
        *(known & (first == ours_is) & (second == theirs_is) for ours_is, theirs_is in outcomes),
        ~known,
    ]


def outcome_frame(
    ids: Mapping[str, Sequence[str]],
    counts: Mapping[str, int] | None = None,
    *,
    notes: Sequence[str] = (),
) -> pd.DataFrame:
    """The ids of the `outcome_columns` as a table; `counts` if there are more queries than ids."""
    numbers = counts or {name: len(own) for name, own in ids.items()}
    shown = [name for i, name in enumerate(ids) if i < _N_KNOWN or numbers[name]]
    # Padded here, because pandas would pad with NaN instead of None.
    rows = itertools.zip_longest(*(ids[name] for name in shown))
    table = pd.DataFrame(list(rows), columns=shown, dtype=object)
    table.attrs |= {"n": {name: numbers[name] for name in shown}, "notes": list(notes)}
    return table


def notes_on_notions(runs: Sequence[Scored], notions: Sequence[CorrectNotion]) -> list[str]:
    """What is correct in two runs, and whether that is a guess."""
    guesses = dict.fromkeys(notion.note for notion in notions if notion.note)
    return [describe_notions(runs, notions), *guesses]


def notions_of(
    runs: tuple[Scored, Scored],
    correct: Correct | CorrectNotion | None,
    other_correct: Correct | CorrectNotion | None = None,
) -> tuple[CorrectNotion, CorrectNotion]:
    """What a correct answer of each run is; `DataError` if nothing says it in both."""
    if other_correct is not None:
        notions = [find_notion(*own) for own in zip(runs, (correct, other_correct), strict=True)]
    else:
        notions = [*(shared_notions(runs, correct) or (None, None))]
    first, second = notions
    if first is None or second is None:
        names = " and ".join(repr(run.name) for run in runs)
        raise DataError(f"no column says what is correct in {names} alike. {HOW_TO_SAY}")
    return first, second
