"""How a rubric is applied to one record: a grade, yes or no, claims, or a verdict per context.

One more kind of rubric is a function here with its line in `PROCEDURES`, a name in
`rageval_report.judges.rubric.RubricKind` and a form in `rageval_report.judges.forms.FORMS`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rageval_report.judges.parsing import read_claims, read_grade, read_truth, read_verdicts
from rageval_report.judges.rubric import Combination, JudgedRecord, Rubric, RubricKind
from rageval_report.judges.steps import AskStep, JudgeStep
from rageval_report.scores.states import NOT_APPLICABLE, SCORED

Grade = tuple[float, str | None]
Truth = tuple[bool, str | None]

# Chinese and Japanese sentences end without a blank.
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s*")
_MOST_REASONS = 5


@dataclass(frozen=True)
class Verdict:
    """The outcome of judging one record.

    Parameters
    ----------
    score : float
        From 0 to 1; NaN if there is none.
    reason : str, optional
        The judge's reasoning, or why there is no score.
    state : str
        One of `rageval_report.scores.states.STATES`.
    """

    score: float
    reason: str | None = None
    state: str = SCORED


Procedure = Callable[[Rubric, JudgedRecord, AskStep], Verdict]


def judge_grade(rubric: Rubric, record: JudgedRecord, ask: AskStep) -> Verdict:
    """A grade, as a share of the scale."""
    read = partial(read_grade, scale=rubric.scale)
    return Verdict(*ask(JudgeStep[Grade](rubric.message(record), read, (0.5, None))))


def judge_yes_no(rubric: Rubric, record: JudgedRecord, ask: AskStep) -> Verdict:
    """1 for yes, 0 for no."""
    is_true, reason = ask(JudgeStep[Truth](rubric.message(record), read_truth, (True, None)))
    return Verdict(float(is_true), reason)


def judge_claims(rubric: Rubric, record: JudgedRecord, ask: AskStep) -> Verdict:
    """The share of claims that are supported; the reason lists the others."""
    sentences = _sentences(rubric, record)
    # A text without sentences has no claims, so that nothing needs to be asked.
    extraction = JudgeStep(rubric.extraction(record), read_claims, sentences)
    claims = ask(extraction) if sentences else []
    # 0 of 0 claims is not a bad answer; RAGChecker counts it as 0.
    if not claims:
        return Verdict(math.nan, "there is no claim to verify", NOT_APPLICABLE)
    verdicts = _ask_verdicts(rubric, {**record, "claims": claims}, len(claims), ask)
    unsupported = [
        repr(claim) + (f" ({reason})" if reason else "")
        for claim, (is_supported, reason) in zip(claims, verdicts, strict=True)
        if not is_supported
    ]
    supported = [is_supported for is_supported, _ in verdicts]
    return Verdict(
        compute_share(supported),
        _count_failing(len(claims), "claims", "not supported", unsupported),
    )


def judge_contexts(rubric: Rubric, record: JudgedRecord, ask: AskStep) -> Verdict:
    """The share of the contexts that are useful, or how early the useful ones come."""
    n = len(record["contexts"])
    verdicts = _ask_verdicts(rubric, record, n, ask)
    useless = [
        f"[{number}]" + (f" ({reason})" if reason else "")
        for number, (is_useful, reason) in enumerate(verdicts, 1)
        if not is_useful
    ]
    score = COMBINATIONS[rubric.combine]([is_useful for is_useful, _ in verdicts])
    return Verdict(score, _count_failing(n, "contexts", "of no use", useless))


def _ask_verdicts(rubric: Rubric, record: JudgedRecord, n: int, ask: AskStep) -> list[Truth]:
    read = partial(read_verdicts, n=n)
    return ask(JudgeStep[list[Truth]](rubric.message(record), read, [(True, None)] * n))


def compute_share(verdicts: Sequence[bool]) -> float:
    """The share of true verdicts.

    Examples
    --------
    >>> compute_share([True, False])
    0.5
    """
    return sum(verdicts) / len(verdicts)


def compute_average_precision(verdicts: Sequence[bool]) -> float:
    """The mean, over the true verdicts, of the share of true ones up to there; 0 without any.

    Examples
    --------
    >>> compute_average_precision([True, False, True]), compute_average_precision([False, False])
    (0.8333333333333333, 0.0)
    """
    ranks = [rank for rank, verdict in enumerate(verdicts, 1) if verdict]
    precisions = [n_true / rank for n_true, rank in enumerate(ranks, 1)]
    return sum(precisions) / len(precisions) if precisions else 0.0


COMBINATIONS: dict[Combination, Callable[[Sequence[bool]], float]] = {
    "share": compute_share,
    "average_precision": compute_average_precision,
}
PROCEDURES: dict[RubricKind, Procedure] = {
    "grade": judge_grade,
    "yes_no": judge_yes_no,
    "claims": judge_claims,
    "contexts": judge_contexts,
}


def _sentences(rubric: Rubric, record: JudgedRecord) -> list[str]:
    """The sentences of the judged text: a guess at its claims, to estimate the cost."""
    texts = [record[name] for name in rubric.needs if name in ("answer", "reference")]
    text = texts[0] if texts else ""
    # Of several references the first, as the prompt of context_recall asks.
    whole = text if isinstance(text, str) else " ".join(map(str, text[:1]))
    return [sentence for sentence in _SENTENCE_END.split(whole) if sentence.strip()]


def _count_failing(n: int, things: str, fault: str, failing: list[str]) -> str:
    if not failing:
        return f"none of {n} {things} {fault}"
    listed = "; ".join(failing[:_MOST_REASONS])
    more = len(failing) - _MOST_REASONS
    rest = f"; and {more} more" if more > 0 else ""
    return f"{len(failing)} of {n} {things} {fault}: {listed}{rest}"
