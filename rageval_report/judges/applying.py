"""Which records a rubric applies to, and why not to the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from rageval_report.errors import DataError
from rageval_report.judges.procedures import Verdict
from rageval_report.judges.rubric import Rubric
from rageval_report.records.cells import is_missing
from rageval_report.scores.states import ERROR, FAILED, MISSING, NOT_APPLICABLE

Record = Mapping[str, Any]
_ANSWER = "answer"


def check_fields(rubric: Rubric, records: pd.DataFrame) -> None:
    """Refuse records that lack a whole field, before anybody is asked.

    An empty list is data: nothing was retrieved. A record whose pipeline failed says nothing of
    what the others lack.

    Raises
    ------
    DataError
        If a field that the rubric needs is not there, or holds nothing in any record.
    """
    answered = records[~_failed(records)]
    missing = [one for one in rubric.needs if one not in records or _is_void(answered[one])]
    if not missing:
        return
    there = [str(one) for one in records if not _is_void(records[one])]
    raise DataError(
        f"{rubric.name} cannot be judged: the records have no {' and no '.join(missing)} (0 of "
        f"{len(records)}); fields that are there: {', '.join(there)}"
    )


def _failed(records: pd.DataFrame) -> pd.Series:
    if ERROR not in records:
        return pd.Series(False, index=records.index)
    return records[ERROR].map(lambda one: isinstance(one, str) and bool(one.strip())).astype(bool)


def _is_void(column: pd.Series) -> bool:
    """Whether there are cells, and none holds anything."""
    return len(column) > 0 and all(map(is_missing, column))


def gap_notes(rubrics: Iterable[Rubric], rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """On how many records a rubric is not judged, and for want of what.

    Examples
    --------
    >>> rubric = Rubric("tone", "Is it polite?", "{answer}")
    >>> gap_notes([rubric], [{"answer": "Yes."}, {"answer": None}, {"error": "timeout"}])
    ('tone is not judged on 2 of 3 records: there is no answer (1), the pipeline failed (1)',)
    """
    notes = []
    for rubric in rubrics:
        told = [unjudged(rubric, row) for row in rows]
        whys = Counter(_why(one) for one in told if one is not None)
        if whys:
            counted = ", ".join(f"{why} ({n})" for why, n in whys.items())
            n = sum(whys.values())
            notes.append(f"{rubric.name} is not judged on {n} of {len(rows)} records: {counted}")
    return tuple(notes)


def _why(told: Verdict) -> str:
    return "the pipeline failed" if told.state == FAILED else str(told.reason)


def unjudged(rubric: Rubric, record: Record) -> Verdict | None:
    """Why a record is not to be judged; None where it is.

    A failed pipeline gave no answer: that is a failure. Without a reference or contexts there is
    nothing to hold the answer against: the rubric does not apply.

    Examples
    --------
    >>> rubric = Rubric("tone", "Is it polite?", "{answer}")
    >>> unjudged(rubric, {"answer": None, "error": "timeout"}).state
    'failed'
    """
    lacking = [one for one in rubric.needs if _is_nothing(one, record.get(one))]
    if not lacking:
        return None
    error = record.get(ERROR)
    if isinstance(error, str) and error.strip():
        return Verdict(math.nan, error, FAILED)
    if _ANSWER in lacking:
        return Verdict(math.nan, "there is no answer", MISSING)
    return Verdict(math.nan, f"there is no {' and no '.join(lacking)}", NOT_APPLICABLE)


def _is_nothing(field: str, value: Any) -> bool:
    """Whether a field is missing, or an empty list; an empty answer is an answer."""
    if is_missing(value):
        return True
    if isinstance(value, list | tuple):
        return not any(str(one).strip() for one in value)
    return field != _ANSWER and isinstance(value, str) and not value.strip()
