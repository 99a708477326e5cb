"""Which records a rubric applies to, and why not to the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import pandas as pd

from rageval_report.errors import DataError
from rageval_report.judges.procedures import Verdict
from rageval_report.judges.rubric import JudgedRecord, Rubric
from rageval_report.records.cells import is_missing
from rageval_report.scores.states import ERROR, FAILED, MISSING, NOT_APPLICABLE

_ANSWER = "answer"


def check_fields(rubric: Rubric, records: pd.DataFrame) -> None:
    """Check that the records contain the fields of a rubric, before anything is asked.

    An empty list is a value: nothing was retrieved. A record whose pipeline failed does not show
    which fields the others have.

    Raises
    ------
    DataError
        If a field that the rubric needs does not exist, or is missing in every record.
    """
    # A pipeline that failed throughout has no answers either, but then its errors are the reason to
    # give.
    answered = records[~_have_failed(records)]
    missing = [
        name for name in rubric.needs if name not in records or _is_all_missing(answered[name])
    ]
    if not missing:
        return
    available = [str(name) for name in records if not _is_all_missing(records[name])]
    raise DataError(
        f"{rubric.name} cannot be judged: the records have no {' and no '.join(missing)} (0 of "
        f"{len(records)}); available fields: {', '.join(available)}"
    )


def _have_failed(records: pd.DataFrame) -> pd.Series[bool]:
    if ERROR not in records:
        return pd.Series(False, index=records.index)
    return records[ERROR].map(has_failed).astype(bool)


def has_failed(error: object) -> bool:
    """Whether the cell of the column ``error`` says that the pipeline failed."""
    return isinstance(error, str) and bool(error.strip())


def _is_all_missing(column: pd.Series) -> bool:
    """Whether the column has cells, and all of them are missing."""
    # No rows at all, because every query failed, is not a missing field.
    return len(column) > 0 and all(map(is_missing, column))


def gap_notes(rubrics: Iterable[Rubric], rows: Sequence[JudgedRecord]) -> tuple[str, ...]:
    """Notes on how many records a rubric is not judged on, and why.

    Examples
    --------
    >>> rubric = Rubric("tone", "Is it polite?", "{answer}")
    >>> gap_notes([rubric], [{"answer": "Yes."}, {"answer": None}, {"error": "timeout"}])
    ('tone is not judged on 2 of 3 records: there is no answer (1), the pipeline failed (1)',)
    """
    notes = []
    for rubric in rubrics:
        verdicts = [verdict_without_judging(rubric, row) for row in rows]
        reasons = Counter(_gap_reason(verdict) for verdict in verdicts if verdict is not None)
        if reasons:
            counted = ", ".join(f"{reason} ({n})" for reason, n in reasons.items())
            n_gaps = reasons.total()
            notes.append(
                f"{rubric.name} is not judged on {n_gaps} of {len(rows)} records: {counted}"
            )
    return tuple(notes)


def _gap_reason(verdict: Verdict) -> str:
    return "the pipeline failed" if verdict.state == FAILED else str(verdict.reason)


def verdict_without_judging(rubric: Rubric, record: JudgedRecord) -> Verdict | None:
    """The verdict on a record that is not to be judged; None if it is.

    Examples
    --------
    >>> rubric = Rubric("tone", "Is it polite?", "{answer}")
    >>> verdict_without_judging(rubric, {"answer": None, "error": "timeout"}).state
    'failed'
    """
    missing = [name for name in rubric.needs if is_blank(name, record.get(name))]
    if not missing:
        return None
    error = record.get(ERROR)
    if has_failed(error):
        return Verdict(math.nan, str(error), FAILED)
    # An answer that is not there is a gap in the data; a missing reference only means that this
    # rubric does not apply.
    if _ANSWER in missing:
        return Verdict(math.nan, "there is no answer", MISSING)
    # Without a reference or contexts there is nothing to compare the answer with.
    verb = "are" if missing[0] == "contexts" else "is"
    return Verdict(math.nan, f"there {verb} no {' and no '.join(missing)}", NOT_APPLICABLE)


def is_blank(field: str, value: object) -> bool:
    """Whether a field is missing, or an empty list; an empty answer is an answer."""
    if is_missing(value):
        return True
    if isinstance(value, list | tuple):
        return not any(str(item).strip() for item in value)
    # An empty answer is what the pipeline said, so it is judged; an empty reference says nothing.
    return field != _ANSWER and isinstance(value, str) and not value.strip()
