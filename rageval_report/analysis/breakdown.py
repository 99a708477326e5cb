"""The cause of each query's failure: retrieval, ranking, generation, citation or refusal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Correct, Scored, correctness
from rageval_report.scores.correct_notion import (
    CorrectNotion,
    find_notion,
    words_with_refusals,
)
from rageval_report.stats import mean_interval

FINE = "fine"
UNKNOWN = "unknown"
# In the order in which they are checked: what went wrong first is the cause.
CAUSES = {
    "over-refusal": "an answerable question was refused",
    "under-refusal": "a question without an answer was answered",
    "retrieval": "no gold was retrieved",
    "ranking": "gold was retrieved, but not among the first k",
    "generation": "gold was in the context, and the answer is wrong",
    "citation": "the answer is right, and cites no gold",
}
_WHOLE_RANKING = ("hit", "recall", "reachable_recall")
_OTHERS = {FINE: "nothing went wrong", UNKNOWN: "a score that decides is missing"}


def failure_causes(
    evaluation: Scored, *, k: int = 5, correct: Correct | CorrectNotion | None = None
) -> pd.Series:
    """The cause of each query's failure.

    Parameters
    ----------
    evaluation : Scored
        With as many of these metrics as available: ``hit@k`` (or ``recall@k``), ``hit`` (or
        ``recall``) over the whole ranking, ``citation_hit``, ``false_refusal``,
        ``hallucinated_answer``; and the metric of a correct answer.
    k : int
        The number of results from which the answer was generated.
    correct : see `correctness`, optional
        What a correct answer is; if omitted, as in `correctness`.

    Returns
    -------
    Series of str, index query_id
        A name of `CAUSES`, "fine", or "unknown" if a score that decides is missing.

    Raises
    ------
    DataError
        If there is neither ``hit@k`` nor ``recall@k``, or it is unknown what a correct answer is.
    """
    right = correctness(evaluation, correct)
    within = _gold_found(evaluation, f"@{k}")
    if within is None:
        raise DataError(
            f"breakdown needs the metric hit@{k} or recall@{k}; metrics: "
            f"{', '.join(evaluation.metrics)}"
        )
    anywhere = _gold_found(evaluation, "")
    refused_wrongly = _is_one(evaluation, "false_refusal")
    answered_wrongly = _is_one(evaluation, "hallucinated_answer")
    uncited = _is_zero(evaluation, "citation_hit")
    wrong = _is_true(~right)
    causes = pd.Series(UNKNOWN, index=evaluation.scores.index, name="cause", dtype=object)
    rules = {
        "over-refusal": refused_wrongly,
        "under-refusal": answered_wrongly,
        # Before retrieval, because a question without an answer has no gold to retrieve.
        FINE: _is_unanswerable(evaluation) & ~answered_wrongly,
        "retrieval": wrong
        & _is_true(~within)
        # Without a metric of the whole ranking, gold beyond the first k cannot be seen.
        & _is_true(~(within if anywhere is None else anywhere)),
        "ranking": wrong & _is_true(~within) & _is_true(anywhere),
        "generation": wrong & _is_true(within),
        "citation": _is_true(right) & uncited,
    }
    for cause, holds in rules.items():
        causes[(causes == UNKNOWN) & holds] = cause
    causes[(causes == UNKNOWN) & _is_true(right)] = FINE
    return causes


def breakdown(
    evaluation: Scored,
    *,
    k: int = 5,
    correct: Correct | CorrectNotion | None = None,
    confidence_level: float = 0.95,
) -> Result:
    """The number of failed queries by cause: each is counted under the first thing that went wrong.

    Parameters
    ----------
    evaluation, k, correct
        As in `failure_causes`.
    confidence_level : float
        The level of the intervals of the shares (Wilson).

    Returns
    -------
    Result
        One row per cause: ``cause``, ``what``, ``n``, ``share`` (of the queries whose cause is
        known), ``ci_low``, ``ci_high``; missing values if no metric measures the cause.
    """
    causes = failure_causes(evaluation, k=k, correct=correct)
    known = causes[causes != UNKNOWN]
    unmeasured = _unmeasured_causes(evaluation)
    rows = [
        _unmeasured_row(cause, what)
        if cause in unmeasured
        else _cause_row(known, cause, what, confidence_level)
        for cause, what in {FINE: _OTHERS[FINE], **CAUSES}.items()
    ]
    frame = pd.DataFrame(rows).astype({"n": "Int64"})
    notes = list(unmeasured.values())
    if n_unknown := len(causes) - len(known):
        notes.append(
            f"the cause of {n_unknown} of {len(causes)} queries is unknown: {_OTHERS[UNKNOWN]}"
        )
    return Result(
        f"Why {evaluation.name} fails",
        frame,
        {
            "k": k,
            "correct": _rule_text(evaluation, correct),
            "confidence_level": confidence_level,
        },
        tuple(notes),
        headline=("cause", "what", "n", "share", "ci_low", "ci_high"),
    )


def retrieval_by_generation(
    evaluation: Scored, *, k: int = 5, correct: Correct | CorrectNotion | None = None
) -> Result:
    """Retrieval passed or failed, by the answer right or wrong.

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
    within = _gold_found(evaluation, f"@{k}")
    if within is None:
        raise DataError(f"retrieval_by_generation needs the metric hit@{k} or recall@{k}")
    rows = [
        _answer_row(f"{word} (gold {'' if passed else 'not '}in the first {k})", right[holds])
        for word, passed, holds in (
            ("passed", True, _is_true(within)),
            ("failed", False, _is_true(~within)),
        )
    ]
    n_unknown = int((right.isna() | within.isna()).sum())
    notes = (f"{n_unknown} queries are left out, as a score is missing",) if n_unknown else ()
    return Result(
        f"Retrieval and answers of {evaluation.name}",
        pd.DataFrame(rows),
        {"k": k, "confidence_level": 0.95},
        notes,
    )


def check_cause(cause: str) -> str:
    """The cause, if it is a known one."""
    known: Sequence[str] = [*CAUSES, FINE, UNKNOWN]
    if cause not in known:
        raise UnknownNameError("cause of failure", cause, known)
    return cause


# -- the scores


def _rule_text(evaluation: Scored, correct: Correct | CorrectNotion | None) -> str:
    """The rule for the signature; a function by its name, not its address."""
    notion = find_notion(evaluation, correct)
    return "" if notion is None else words_with_refusals(evaluation, notion)


def _gold_found(evaluation: Scored, cutoff: str) -> pd.Series | None:
    """Whether any gold is among the results; None if no metric says so."""
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


def _is_unanswerable(evaluation: Scored) -> pd.Series:
    """Whether a question has no answer, so that a refusal is right."""
    return _column(evaluation, "hallucinated_answer").notna()


def _is_true(holds: pd.Series | None) -> pd.Series | bool:
    """The values with unknown as False; None is False throughout."""
    return False if holds is None else holds.fillna(False).astype(bool)


# -- rows


def _cause_row(
    known: pd.Series, cause: str, what: str, confidence_level: float
) -> dict[str, object]:
    has_cause = (known == cause).to_numpy(dtype=float)
    share = mean_interval(
        has_cause, method="wilson" if has_cause.size else "auto", confidence_level=confidence_level
    )
    return {
        "cause": cause,
        "what": what,
        "n": int(has_cause.sum()),
        "share": share.estimate,
        "ci_low": share.low,
        "ci_high": share.high,
    }


def _unmeasured_row(cause: str, what: str) -> dict[str, object]:
    nan = float("nan")
    return {
        "cause": cause,
        "what": what,
        "n": pd.NA,
        "share": nan,
        "ci_low": nan,
        "ci_high": nan,
    }


def _answer_row(word: str, right: pd.Series) -> dict[str, object]:
    known = right.dropna().to_numpy(dtype=float)
    share = mean_interval(known, method="wilson" if known.size else "auto")
    return {
        "retrieval": word,
        "correct": int(known.sum()),
        "incorrect": int(known.size - known.sum()),
        "n": known.size,
        "share_correct": share.estimate,
        "ci_low": share.low,
        "ci_high": share.high,
    }


def _unmeasured_causes(evaluation: Scored) -> dict[str, str]:
    """The causes that no score measures, each with a note on how such queries are counted."""
    refusal = "such queries count under other causes"
    metrics_of = {
        "over-refusal": (("false_refusal",), refusal),
        "under-refusal": (("hallucinated_answer",), refusal),
        "ranking": (_WHOLE_RANKING, "ranking counts as retrieval"),
        "citation": (("citation_hit",), "such queries count as fine"),
    }
    return {
        cause: f"{cause} is not measured, as no query is scored on {names[0]!r}: {instead}"
        for cause, (names, instead) in metrics_of.items()
        if not any(_column(evaluation, name).notna().any() for name in names)
    }
