"""Which records a rubric applies to, and why not to the others."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
    """Refuse records that lack a whole field.

    Raises
    ------
    DataError
        If a field that the rubric needs is not there.
    """
    missing = [one for one in rubric.needs if one not in records]
    if missing:
        raise DataError(
            f"{rubric.name} cannot be judged: the records have no {' and no '.join(missing)}; "
            f"fields that are there: {', '.join(map(str, records))}"
        )


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
