"""How a rubric is applied to one record, and which records it applies to.

One more kind of rubric is a function here with its line in `PROCEDURES`, a name in
`rageval_report.judges.rubric.RubricKind`, and its form there.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from rageval_report.errors import DataError
from rageval_report.judges.parsing import (
    Choice,
    Truth,
    read_claims,
    read_grade,
    read_preference,
    read_truth,
    read_verdicts,
)
from rageval_report.judges.rubric import JudgedRecord, Rubric, RubricKind, is_filled
from rageval_report.judges.sessions import AskStep, JudgeStep, NotAskedError, NoVerdictError
from rageval_report.records.cells import is_missing
from rageval_report.scores.states import ERROR, FAILED, MISSING, NOT_APPLICABLE, SCORED

# Chinese and Japanese sentences end without a blank.
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s*")
_MOST_REASONS = 5
SAME_ANSWERS = "the answers are the same"  # a tie without a call


@dataclass(frozen=True)
class Verdict:
    """The outcome of judging one record: a score from 0 to 1, or why there is none."""

    score: float
    reason: str | None = None
    state: str = SCORED


def verdict_on(rubric: Rubric, record: JudgedRecord, ask: AskStep) -> Verdict:
    """The verdict on a record, or why there is none."""
    try:
        return verdict_without_judging(rubric, record) or judge_record(rubric, record, ask)
    except NoVerdictError as exc:
        return Verdict(math.nan, str(exc), FAILED)
    except NotAskedError as exc:
        return Verdict(math.nan, str(exc), MISSING)


def judge_record(rubric: Rubric, record: JudgedRecord, ask: AskStep) -> Verdict:
    """The verdict on a record to which the rubric applies."""
    return PROCEDURES[rubric.kind](rubric, record, ask)


def _judge_grade(rubric: Rubric, record: JudgedRecord, ask: AskStep) -> Verdict:
    read = partial(read_grade, scale=rubric.scale, material=rubric.material(record))
    stand_in: tuple[float, str | None] = (0.5, None)
    return Verdict(*ask(JudgeStep(rubric.message(record), read, stand_in)))


def _judge_yes_no(rubric: Rubric, record: JudgedRecord, ask: AskStep) -> Verdict:
    read = partial(read_truth, material=rubric.material(record))
    stand_in: Truth = (True, None)
    is_true, reason = ask(JudgeStep(rubric.message(record), read, stand_in))
    return Verdict(float(is_true), reason)


def _judge_preference(rubric: Rubric, record: JudgedRecord, ask: AskStep) -> Verdict:
    """0 for the first of two answers, 1 for the second, 0.5 for a tie."""
    if str(record["first"]).strip() == str(record["second"]).strip():
        return Verdict(0.5, SAME_ANSWERS)
    read = partial(read_preference, material=rubric.material(record))
    stand_in: tuple[Choice, str | None] = ("tie", None)
    choice, reason = ask(JudgeStep(rubric.message(record), read, stand_in))
    return Verdict({"first": 0.0, "tie": 0.5, "second": 1.0}[choice], reason)


def _judge_claims(rubric: Rubric, record: JudgedRecord, ask: AskStep) -> Verdict:
    """The share of claims that are supported; the reason lists the others."""
    texts = [record[name] for name in rubric.needs if name in ("answer", "reference")]
    text = texts[0] if texts else ""
    # Of several references the first, as the prompt of context_recall asks.
    whole = text if isinstance(text, str) else " ".join(map(str, text[:1]))
    # A guess at the claims, to estimate the cost; a text without sentences has none.
    sentences = [sentence for sentence in _SENTENCE_END.split(whole) if sentence.strip()]
    read = partial(read_claims, material=rubric.material(record))
    claims = ask(JudgeStep(rubric.extraction(record), read, sentences)) if sentences else []
    # 0 of 0 claims is not a bad answer; RAGChecker counts it as 0.
    if not claims:
        return Verdict(math.nan, "there is no claim to verify", NOT_APPLICABLE)
    verdicts = _ask_verdicts(rubric, {**record, "claims": claims}, len(claims), ask)
    supported = [is_supported for is_supported, _ in verdicts]
    reason = _list_failing("claims not supported", list(map(repr, claims)), verdicts)
    return Verdict(sum(supported) / len(supported), reason)


def _judge_contexts(rubric: Rubric, record: JudgedRecord, ask: AskStep) -> Verdict:
    """The share of the contexts that are useful, or how early the useful ones come."""
    n = len(record["contexts"])
    verdicts = _ask_verdicts(rubric, record, n, ask)
    ranks = [rank for rank, (is_useful, _) in enumerate(verdicts, 1) if is_useful]
    score = len(ranks) / n
    if rubric.combine == "average_precision":
        # The mean, over the useful ones, of the share of useful ones up to there.
        precisions = [n_useful / rank for n_useful, rank in enumerate(ranks, 1)]
        score = sum(precisions) / len(precisions) if precisions else 0.0
    names = [f"[{number}]" for number in range(1, n + 1)]
    return Verdict(score, _list_failing("contexts of no use", names, verdicts))


def _ask_verdicts(rubric: Rubric, record: JudgedRecord, n: int, ask: AskStep) -> list[Truth]:
    read = partial(read_verdicts, n=n, material=rubric.material(record))
    stand_in: list[Truth] = [(True, None)] * n
    return ask(JudgeStep(rubric.message(record), read, stand_in))


def _list_failing(fault: str, names: Sequence[str], verdicts: Sequence[Truth]) -> str:
    failing = [
        name + (f" ({reason})" if reason else "")
        for name, (is_fine, reason) in zip(names, verdicts, strict=True)
        if not is_fine
    ]
    if not failing:
        return f"none of {len(names)} {fault}"
    more = len(failing) - _MOST_REASONS
    rest = f"; and {more} more" if more > 0 else ""
    listed = "; ".join(failing[:_MOST_REASONS])
    return f"{len(failing)} of {len(names)} {fault}: {listed}{rest}"


PROCEDURES: dict[RubricKind, Callable[[Rubric, JudgedRecord, AskStep], Verdict]] = {
    "grade": _judge_grade,
    "yes_no": _judge_yes_no,
    "claims": _judge_claims,
    "contexts": _judge_contexts,
    "preference": _judge_preference,
}


# -- which records a rubric applies to, and why not to the others


def as_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dicts."""
    names = [str(name) for name in table]
    return [dict(zip(names, row, strict=True)) for row in table.itertuples(index=False, name=None)]


def check_fields(rubric: Rubric, records: pd.DataFrame) -> None:
    """Check that the records contain the fields of a rubric, before anything is asked."""
    answered = records
    if ERROR in records:
        answered = records[~records[ERROR].map(has_failed).astype(bool)]
    missing = [name for name in rubric.needs if name not in records or _is_empty(answered[name])]
    if missing:
        available = [str(name) for name in records if not _is_empty(records[name])]
        raise DataError(
            f"{rubric.name} cannot be judged: the records have no {' and no '.join(missing)} (0 of "
            f"{len(records)}); available fields: {', '.join(available)}"
        )


def _is_empty(column: pd.Series) -> bool:
    """Whether a column has cells that are all missing; no rows, as all failed, are not that."""
    return len(column) > 0 and all(map(is_missing, column))


def has_failed(error: object) -> bool:
    """Whether the cell of the column ``error`` says that the pipeline failed."""
    return isinstance(error, str) and bool(error.strip())


def is_blank(field: str, value: object) -> bool:
    """Whether a field is missing, blank or an empty list; an empty answer was said, and counts."""
    if field == "answer" and isinstance(value, str):
        return False
    return not is_filled(value)


def verdict_without_judging(rubric: Rubric, record: JudgedRecord) -> Verdict | None:
    """The verdict on a record that is not to be judged; None if it is."""
    missing = [name for name in rubric.needs if is_blank(name, record.get(name))]
    if not missing:
        return None
    error = record.get(ERROR)
    if has_failed(error):
        return Verdict(math.nan, str(error), FAILED)
    # An answer that is not there is a gap in the data; without a reference or contexts there is
    # nothing to compare the answer with, so that the rubric does not apply.
    if "answer" in missing:
        return Verdict(math.nan, "there is no answer", MISSING)
    verb = "are" if missing[0] == "contexts" else "is"
    return Verdict(math.nan, f"there {verb} no {' and no '.join(missing)}", NOT_APPLICABLE)


def gap_notes(rubrics: Iterable[Rubric], rows: Sequence[JudgedRecord]) -> tuple[str, ...]:
    """Notes on how many records a rubric is not judged on, and why."""
    notes = []
    for rubric in rubrics:
        verdicts = [verdict_without_judging(rubric, row) for row in rows]
        reasons = Counter(
            "the pipeline failed" if verdict.state == FAILED else str(verdict.reason)
            for verdict in verdicts
            if verdict is not None
        )
        if reasons:
            counted = ", ".join(f"{reason} ({n})" for reason, n in reasons.items())
            n_gaps = reasons.total()
            notes.append(
                f"{rubric.name} is not judged on {n_gaps} of {len(rows)} records: {counted}"
            )
    return tuple(notes)
