"""How a rubric is carried out on one record: a mark, yes or no, claims, a verdict a context.

One more is a function here and a line in `CARRIED_OUT`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rageval_report.judges.asking import AskStep, Step
from rageval_report.judges.parsing import read_claims, read_grade, read_truth, read_verdicts
from rageval_report.judges.rubric import Rubric
from rageval_report.scores.states import NOT_APPLICABLE, SCORED

Record = Mapping[str, Any]
Mark = tuple[float, str | None]
Truth = tuple[bool, str | None]

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*")
_SHOWN = 5


@dataclass(frozen=True)
class Verdict:
    """What became of one record.

    Parameters
    ----------
    score : float
        NaN where there is none.
    reason : str, optional
        What the judge said, or why there is no score.
    state : str
        One of `rageval_report.scores.states.STATES`.
    """

    score: float
    reason: str | None = None
    state: str = SCORED


Procedure = Callable[[Rubric, Record, AskStep], Verdict]


def grade(rubric: Rubric, record: Record, ask: AskStep) -> Verdict:
    """A mark, as a share of the scale."""
    read = partial(read_grade, scale=rubric.scale)
    return Verdict(*ask(Step[Mark](rubric.message(record), read, (0.5, None))))


def yes_no(rubric: Rubric, record: Record, ask: AskStep) -> Verdict:
    """1 for yes, 0 for no."""
    is_true, reason = ask(Step[Truth](rubric.message(record), read_truth, (True, None)))
    return Verdict(float(is_true), reason)


def claims(rubric: Rubric, record: Record, ask: AskStep) -> Verdict:
    """The share of claims that are supported; the others are told in the reason."""
    sentences = _sentences(rubric, record)
    asked = Step(rubric.extraction(record), read_claims, sentences)
    found = ask(asked) if sentences else []
    if not found:
        return Verdict(math.nan, "there is no claim to verify", NOT_APPLICABLE)
    n = len(found)
    message = rubric.message({**record, "claims": found})
    verdicts = ask(Step[list[Truth]](message, partial(read_verdicts, n=n), [(True, None)] * n))
    supported = [verdict for verdict, _ in verdicts]
    against = [
        f"{claim!r}" + (f" ({why})" if why else "")
        for claim, (verdict, why) in zip(found, verdicts, strict=True)
        if not verdict
    ]
    return Verdict(sum(supported) / n, _told(f"{n} claims", "not supported", against))


def contexts(rubric: Rubric, record: Record, ask: AskStep) -> Verdict:
    """The share of the contexts that are useful, or whether the useful ones stand first."""
    n = len(record["contexts"])
    read = partial(read_verdicts, n=n)
    verdicts = ask(Step[list[Truth]](rubric.message(record), read, [(True, None)] * n))
    useful = [verdict for verdict, _ in verdicts]
    against = [
        f"[{place}]" + (f" ({why})" if why else "")
        for place, (verdict, why) in enumerate(verdicts, 1)
        if not verdict
    ]
    return Verdict(COMBINED[rubric.combine](useful), _told(f"{n} contexts", "of no use", against))


def share(useful: Sequence[bool]) -> float:
    """The share of what is true.

    Examples
    --------
    >>> share([True, False])
    0.5
    """
    return sum(useful) / len(useful)


def average_precision(useful: Sequence[bool]) -> float:
    """The mean, over what is true, of the share of true ones up to it; 0 where nothing is.

    Examples
    --------
    >>> average_precision([True, False, True]), average_precision([False, False])
    (0.8333333333333333, 0.0)
    """
    ranks = [rank for rank, one in enumerate(useful, 1) if one]
    shares = [found / rank for found, rank in enumerate(ranks, 1)]
    return sum(shares) / len(shares) if shares else 0.0


COMBINED: dict[str, Callable[[Sequence[bool]], float]] = {
    "share": share,
    "average_precision": average_precision,
}
CARRIED_OUT: dict[str, Procedure] = {
    "grade": grade,
    "yes_no": yes_no,
    "claims": claims,
    "contexts": contexts,
}


def _sentences(rubric: Rubric, record: Record) -> list[str]:
    """What the claims of a record could be, to know about how much a verification sends."""
    texts = [record[one] for one in rubric.needs if one in ("answer", "reference")]
    text = texts[0] if texts else ""
    whole = text if isinstance(text, str) else " ".join(map(str, text[:1]))
    return [one for one in _SENTENCE.split(whole) if one.strip()]


def _told(of: str, how: str, against: list[str]) -> str:
    if not against:
        return f"none of {of} {how}"
    more = f"; and {len(against) - _SHOWN} more" if len(against) > _SHOWN else ""
    return f"{len(against)} of {of} {how}: {'; '.join(against[:_SHOWN])}{more}"
