"""The cause of each query's failure: retrieval, ranking, generation, citation or refusal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import engine_setting, is_scan
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Correct, Scored, correctness
from rageval_report.scores.correct import yes_or_no
from rageval_report.scores.correct_notion import CorrectNotion, find_notion, words_with_refusals
from rageval_report.stats.base import check_level
from rageval_report.stats.means import interval_of_count, mean_interval
from rageval_report.types import BoolArray, FloatArray

FINE, UNKNOWN = "fine", "unknown"
# In the order in which they are checked: what went wrong first is the cause.
CAUSES = {
    "over-refusal": "an answerable question was refused",
    "under-refusal": "a question without an answer was answered",
    "retrieval": "no gold was retrieved",
    "ranking": "gold was retrieved, but not among the first k",
    "generation": "gold was in the context, and the answer is wrong",
    "citation": "the answer is right, and cites no gold",
}
_RANKING = ("hit", "recall", "reachable_recall")
# What measures a cause, and how queries are counted where nothing does.
_MEASURES = {
    "over-refusal": (("false_refusal",), "such queries count under other causes"),
    "under-refusal": (("hallucinated_answer",), "such queries count under other causes"),
    "ranking": (_RANKING, "ranking counts as retrieval"),
    "citation": (("citation_hit",), "such queries count as fine"),
}
_HALF = 0.5  # a score of 0 or 1 is yes above it


def failure_causes(
    evaluation: Scored, *, k: int = 5, correct: Correct | CorrectNotion | None = None
) -> pd.Series:
    """The cause of each query's failure: a name of `CAUSES`, "fine", or "unknown".

    It needs ``hit@k`` or ``recall@k`` and what a correct answer is, and uses ``hit`` or ``recall``
    over the whole ranking, ``citation_hit``, ``false_refusal`` and ``hallucinated_answer``.
    """
    answers = correctness(evaluation, correct)
    within = _gold_found(evaluation, f"@{k}")
    if within is None:
        raise DataError(
            f"breakdown needs the metric hit@{k} or recall@{k}; metrics: "
            f"{', '.join(evaluation.metrics)}"
        )
    right, wrong = _yes_and_no(answers)
    is_within, is_beyond = _yes_and_no(within)
    # Without a metric of the whole ranking, gold beyond the first k cannot be seen.
    anywhere = _gold_found(evaluation, "")
    is_anywhere, is_nowhere = _yes_and_no(within if anywhere is None else anywhere)
    invented = _numbers(evaluation, "hallucinated_answer")
    rules = {
        "over-refusal": _numbers(evaluation, "false_refusal") > _HALF,
        "under-refusal": invented > _HALF,
        # Before retrieval, because a question without an answer has no gold to retrieve.
        FINE: ~np.isnan(invented),
        "retrieval": wrong & is_beyond & is_nowhere,
        "ranking": wrong & is_beyond & is_anywhere,
        "generation": wrong & is_within,
        "citation": right & (_numbers(evaluation, "citation_hit") <= 0.0),
    }
    causes = np.select([*rules.values(), right], [*rules, FINE], UNKNOWN).astype(object)
    return pd.Series(causes, index=evaluation.scores.index, name="cause", dtype=object)


def check_cause(cause: str) -> str:
    """The cause, if it is a known one."""
    known = [*CAUSES, FINE, UNKNOWN]
    if cause not in known:
        raise UnknownNameError("cause of failure", cause, known)
    return cause


@dataclass(frozen=True)
class CauseCounts:
    """How many queries have each cause, and the causes that no score measures."""

    n_queries: int
    by_cause: Counter[str]
    unmeasured: frozenset[str]

    @classmethod
    def of(cls, evaluation: Scored, causes: pd.Series) -> CauseCounts:
        """The counts of queries whose causes `failure_causes` gave."""
        unmeasured = (
            cause
            for cause, (names, _) in _MEASURES.items()
            if all(np.isnan(_numbers(evaluation, name)).all() for name in names)
        )
        return cls(len(causes), Counter(causes.tolist()), frozenset(unmeasured))


def breakdown(
    evaluation: Scored,
    *,
    k: int = 5,
    correct: Correct | CorrectNotion | None = None,
    confidence_level: float = 0.95,
) -> Result:
    """The number of failed queries by cause: each is counted under the first thing that went wrong.

    The shares are those of the queries whose cause is known.
    """
    anything: Any = evaluation
    if is_scan(anything):
        evaluation, counts = anything.head, anything.count_causes(k, correct)
    else:
        counts = CauseCounts.of(evaluation, failure_causes(evaluation, k=k, correct=correct))
    n_unknown = counts.by_cause[UNKNOWN]
    rows: list[dict[str, object]] = []
    for cause, what in {FINE: "nothing went wrong", **CAUSES}.items():
        share = _share(counts.by_cause[cause], counts.n_queries - n_unknown, confidence_level)
        row: dict[str, object] = {"n": counts.by_cause[cause], "share": share[0]}
        row |= {"ci_low": share[1], "ci_high": share[2]}
        if cause in counts.unmeasured:
            row = {"n": pd.NA, **dict.fromkeys(("share", "ci_low", "ci_high"), np.nan)}
        rows.append({"cause": cause, "what": what, **row})
    notes = [
        f"{cause} is not measured, as no query is scored on {names[0]!r}: {instead}"
        for cause, (names, instead) in _MEASURES.items()
        if cause in counts.unmeasured
    ]
    if n_unknown:
        notes.append(
            f"the cause of {n_unknown} of {counts.n_queries} queries is unknown: a score that "
            "decides is missing"
        )
    notion = find_notion(evaluation, correct)
    rule = "" if notion is None else words_with_refusals(evaluation, notion)
    return Result(
        f"Why {evaluation.name} fails",
        pd.DataFrame(rows).astype({"n": "Int64"}),
        {
            "k": k, "correct": rule, "confidence_level": confidence_level,
            **engine_setting(anything),
        },
        tuple(notes),
        headline=("cause", "what", "n", "share", "ci_low", "ci_high"),
    )


def retrieval_by_generation(
    evaluation: Scored, *, k: int = 5, correct: Correct | CorrectNotion | None = None
) -> Result:
    """Retrieval passed or failed, by the answer right or wrong."""
    right, within = correctness(evaluation, correct), _gold_found(evaluation, f"@{k}")
    if within is None:
        raise DataError(f"retrieval_by_generation needs the metric hit@{k} or recall@{k}")
    (is_right, is_wrong), (is_within, is_beyond) = _yes_and_no(right), _yes_and_no(within)
    rows, n_unknown = [], len(right)
    for word, holds in (("passed (gold ", is_within), ("failed (gold not ", is_beyond)):
        n_right, n_wrong = int((is_right & holds).sum()), int((is_wrong & holds).sum())
        estimate, low, high = _share(n_right, n_right + n_wrong)
        n_unknown -= n_right + n_wrong
        rows.append(
            {
                "retrieval": f"{word}in the first {k})",
                "correct": n_right,
                "incorrect": n_wrong,
                "n": n_right + n_wrong,
                "share_correct": estimate,
                "ci_low": low,
                "ci_high": high,
            }
        )
    verb = "query is" if n_unknown == 1 else "queries are"
    return Result(
        f"Retrieval and answers of {evaluation.name}",
        pd.DataFrame(rows),
        {"k": k, "confidence_level": 0.95},
        (f"{n_unknown} {verb} left out: a score is missing",) if n_unknown else (),
    )


def _share(n_true: int, n: int, level: float = 0.95) -> tuple[float, float, float]:
    """A share with its limits; NaN of nothing."""
    share = interval_of_count(n_true, n, check_level(level)) if n else mean_interval([])
    return share.estimate, share.low, share.high


def _gold_found(evaluation: Scored, cutoff: str) -> pd.Series | None:
    """Whether any gold is among the results; None if no metric says so."""
    known = {metric.known_as: metric.name for metric in evaluation.metrics.values()}
    for stem in _RANKING:
        if stem + cutoff in known:
            values = _numbers(evaluation, stem + cutoff)
            return yes_or_no(values > 0, np.isnan(values), evaluation.scores.index)
    return None


def _numbers(evaluation: Scored, name: str) -> FloatArray:
    """The scores of a metric under any of its names; NaN throughout if it is not there."""
    known = {metric.known_as: metric.name for metric in evaluation.metrics.values()}
    if name in known:
        return evaluation.scores[known[name]].to_numpy(dtype=np.float64)
    return np.full(len(evaluation.scores), np.nan)


def _yes_and_no(answers: pd.Series) -> tuple[BoolArray, BoolArray]:
    """Where the answer is yes, and where it is no; neither where it is unknown."""
    array = answers.array
    yes = array.to_numpy(dtype=np.bool_, na_value=False)
    return yes, ~(yes | np.asarray(array.isna()))
