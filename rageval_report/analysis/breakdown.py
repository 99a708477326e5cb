"""Why queries fail: retrieval, ranking, generation, citation or refusal, each query once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Correct, Scored, correctness
from rageval_report.stats import mean_interval

FINE = "fine"
UNKNOWN = "unknown"
# In the order in which they are asked: what went wrong first is the cause.
CAUSES = {
    "over-refusal": "an answerable question was refused",
    "under-refusal": "a question without an answer was answered",
    "retrieval": "no gold was retrieved",
    "ranking": "gold was retrieved, but not among the first k",
    "generation": "gold was in the context, and the answer is wrong",
    "citation": "the answer is right, and cites no gold",
}
_WHOLE_RANKING = ("hit", "recall", "reachable_recall")
_OTHERS = {FINE: "nothing went wrong", UNKNOWN: "the scores that tell are missing"}


def failure_causes(evaluation: Scored, *, k: int = 5, correct: Correct | None = None) -> pd.Series:
    """The cause of each query's failure.

    Parameters
    ----------
    evaluation : Scored
        With as many of these metrics as are known: ``hit@k`` (or ``recall@k``), ``hit`` (or
        ``recall``) over the whole ranking, ``citation_hit``, ``false_refusal``,
        ``hallucinated_answer``; and what tells a correct answer.
    k : int
        How many results the answer was made of.
    correct : see `correctness`, optional
        What a correct answer is; exact match where nothing is said.

    Returns
    -------
    Series of str, index query_id
        A name of `CAUSES`, "fine", or "unknown" where a score that decides is missing.

    Raises
    ------
    DataError
        If there is neither ``hit@k`` nor ``recall@k``, or nothing tells a correct answer.
    """
    right = correctness(evaluation, correct)
    within = _found(evaluation, f"@{k}")
    if within is None:
        raise DataError(
            f"whether gold was in the context is told by 'hit@{k}' or 'recall@{k}'; metrics: "
            f"{', '.join(evaluation.metrics)}"
        )
    anywhere = _found(evaluation, "")
    refused_wrongly = _is_one(evaluation, "false_refusal")
    answered_wrongly = _is_one(evaluation, "hallucinated_answer")
    uncited = _is_zero(evaluation, "citation_hit")
    wrong = _true(~right)
    told = pd.Series(UNKNOWN, index=evaluation.scores.index, name="cause", dtype=object)
    rules = {
        "over-refusal": refused_wrongly,
        "under-refusal": answered_wrongly,
        FINE: _answerable_not(evaluation) & ~answered_wrongly,
        "retrieval": wrong & _true(~within) & _true(~(within if anywhere is None else anywhere)),
        "ranking": wrong & _true(~within) & _true(anywhere),
        "generation": wrong & _true(within),
        "citation": _true(right) & uncited,
    }
    for cause, holds in rules.items():
        told[(told == UNKNOWN) & holds] = cause
    told[(told == UNKNOWN) & _true(right)] = FINE
    return told


def breakdown(
    evaluation: Scored,
    *,
    k: int = 5,
    correct: Correct | None = None,
    confidence_level: float = 0.95,
) -> Result:
    """How many queries fail, and why: each query is counted under the first thing that went wrong.

    Parameters
    ----------
    evaluation, k, correct
        As in `failure_causes`.
    confidence_level : float
        Of the intervals of the shares (Wilson).

    Returns
    -------
    Result
        One row a cause: ``cause``, ``what``, ``n``, ``share`` (of the queries that can be told),
        ``ci_low``, ``ci_high``; none of them where no metric tells the cause.
    """
    causes = failure_causes(evaluation, k=k, correct=correct)
    known = causes[causes != UNKNOWN]
    unmeasured = _unmeasured(evaluation)
    rows = [
        _unknown_share(cause, what)
        if cause in unmeasured
        else _share(known, cause, what, confidence_level)
        for cause, what in {FINE: _OTHERS[FINE], **CAUSES}.items()
    ]
    frame = pd.DataFrame(rows).astype({"n": "Int64"})
    notes = list(unmeasured.values())
    if n_unknown := len(causes) - len(known):
        notes.append(f"{n_unknown} of {len(causes)} queries cannot be told: {_OTHERS[UNKNOWN]}")
    return Result(
        f"Why {evaluation.name} fails",
        frame,
        {
            "k": k,
            "correct": _told_rule(correct),
            "confidence_level": confidence_level,
        },
        tuple(notes),
        headline=("cause", "what", "n", "share", "ci_low", "ci_high"),
    )


def retrieval_by_generation(
    evaluation: Scored, *, k: int = 5, correct: Correct | None = None
) -> Result:
    """Retrieval passed or failed, against the answer right or wrong: where the failures lie.

    Parameters
    ----------
    evaluation, k, correct
        As in `failure_causes`.

    Returns
    -------
    Result
        Two rows, ``retrieval`` passed and failed: ``correct``, ``incorrect``, ``n``, and
        ``share_correct`` with its interval.
    """
    right = correctness(evaluation, correct)
    within = _found(evaluation, f"@{k}")
    if within is None:
        raise DataError(f"retrieval is told by 'hit@{k}' or 'recall@{k}'; neither is there")
    rows = [
        _answers(f"{word} (gold {'' if passed else 'not '}in the first {k})", right[holds])
        for word, passed, holds in (
            ("passed", True, _true(within)),
            ("failed", False, _true(~within)),
        )
    ]
    untold = int((right.isna() | within.isna()).sum())
    notes = (f"{untold} queries cannot be told",) if untold else ()
    return Result(
        f"Retrieval and answers of {evaluation.name}",
        pd.DataFrame(rows),
        {"k": k, "confidence_level": 0.95},
        notes,
    )


def check_cause(cause: str) -> str:
    """The cause, if it is one."""
    known: Sequence[str] = [*CAUSES, FINE, UNKNOWN]
    if cause not in known:
        raise UnknownNameError("cause of failure", cause, known)
    return cause


# -- what the scores tell


def _told_rule(correct: Correct | None) -> str:
    """The rule for the signature; a function is told by its name, not by where it lies."""
    if correct is None:
        return "exact_match"
    return getattr(correct, "__name__", "a function") if callable(correct) else str(correct)


def _found(evaluation: Scored, cutoff: str) -> pd.Series | None:
    """Whether any gold is among the results, as far as a metric tells."""
    known = {metric.known_as: metric.name for metric in evaluation.metrics.values()}
    for stem in _WHOLE_RANKING:
        name = known.get(stem + cutoff)
        if name is not None:
            values = evaluation.scores[name]
            return (values > 0).astype("boolean").mask(values.isna())
    return None


def _column(evaluation: Scored, name: str) -> pd.Series:
    known = {metric.known_as: metric.name for metric in evaluation.metrics.values()}
    if name in known:
        return evaluation.scores[known[name]]
    return pd.Series(np.nan, index=evaluation.scores.index)


def _is_one(evaluation: Scored, name: str) -> pd.Series:
    return _column(evaluation, name) > 0.5


def _is_zero(evaluation: Scored, name: str) -> pd.Series:
    return _column(evaluation, name) <= 0.0


def _answerable_not(evaluation: Scored) -> pd.Series:
    """The questions without an answer, which only a refusal can serve."""
    return _column(evaluation, "hallucinated_answer").notna()


def _true(holds: pd.Series | None) -> pd.Series | bool:
    """What is known to hold; unknown does not."""
    return False if holds is None else holds.fillna(False).astype(bool)


# -- rows


def _share(known: pd.Series, cause: str, what: str, confidence_level: float) -> dict[str, object]:
    is_it = (known == cause).to_numpy(dtype=float)
    share = mean_interval(
        is_it, method="wilson" if is_it.size else "auto", confidence_level=confidence_level
    )
    return {
        "cause": cause,
        "what": what,
        "n": int(is_it.sum()),
        "share": share.estimate,
        "ci_low": share.low,
        "ci_high": share.high,
    }


def _unknown_share(cause: str, what: str) -> dict[str, object]:
    nan = float("nan")
    return {
        "cause": cause,
        "what": what,
        "n": pd.NA,
        "share": nan,
        "ci_low": nan,
        "ci_high": nan,
    }


def _answers(word: str, right: pd.Series) -> dict[str, object]:
    told = right.dropna().to_numpy(dtype=float)
    share = mean_interval(told, method="wilson" if told.size else "auto")
    return {
        "retrieval": word,
        "correct": int(told.sum()),
        "incorrect": int(told.size - told.sum()),
        "n": told.size,
        "share_correct": share.estimate,
        "ci_low": share.low,
        "ci_high": share.high,
    }


def _unmeasured(evaluation: Scored) -> dict[str, str]:
    """The causes that no score tells, each with what becomes of such queries."""
    refusal = "such queries count under what else went wrong"
    told_by = {
        "over-refusal": (("false_refusal",), refusal),
        "under-refusal": (("hallucinated_answer",), refusal),
        "ranking": (_WHOLE_RANKING, "ranking counts as retrieval"),
        "citation": (("citation_hit",), "such queries count as fine"),
    }
    return {
        cause: f"{cause} is not measured, as no query is scored on {names[0]!r}: {instead}"
        for cause, (names, instead) in told_by.items()
        if not any(_column(evaluation, name).notna().any() for name in names)
    }
