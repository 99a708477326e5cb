"""The cause of each query's failure: retrieval, ranking, generation, citation or refusal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import is_scan
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Correct, Scored, correctness
from rageval_report.scores.correct import yes_or_no
from rageval_report.scores.correct_notion import (
    CorrectNotion,
    find_notion,
    words_with_refusals,
)
from rageval_report.stats.base import Interval, check_level
from rageval_report.stats.means import interval_of_count, mean_interval
from rageval_report.types import BoolArray, FloatArray

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
_HALF = 0.5  # a score of 0 or 1 is yes above it
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
    # The first that holds is the cause.
    causes = np.select([*rules.values(), right], [*rules, FINE], UNKNOWN).astype(object)
    return pd.Series(causes, index=evaluation.scores.index, name="cause", dtype=object)


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
        The level of the intervals of the shares.

    Returns
    -------
    Result
        One row per cause: ``cause``, ``what``, ``n``, ``share`` (of the queries whose cause is
        known), ``ci_low``, ``ci_high``; missing values if no metric measures the cause.
    """
    anything: Any = evaluation
    if is_scan(anything):
        evaluation, counts = anything.head, anything.count_causes(k, correct)
    else:
        counts = CauseCounts.of(evaluation, failure_causes(evaluation, k=k, correct=correct))
    return breakdown_of_counts(
        evaluation, counts, k=k, correct=correct, confidence_level=confidence_level
    )


@dataclass(frozen=True)
class CauseCounts:
    """How many queries have each cause, from any part of the queries.

    Parameters
    ----------
    n_queries : int
        The number of all queries.
    by_cause : Counter of str
        Their numbers by cause, those whose cause is unknown among them.
    unmeasured : frozenset of str
        The causes that no score of these queries measures.

    Examples
    --------
    >>> first = CauseCounts(2, Counter({"fine": 2}), frozenset({"citation"}))
    >>> second = CauseCounts(1, Counter({"citation": 1}), frozenset())
    >>> total = first + second
    >>> total.n_queries, total.by_cause["citation"], total.unmeasured
    (3, 1, frozenset())
    """

    n_queries: int
    by_cause: Counter[str]
    unmeasured: frozenset[str]

    @classmethod
    def of(cls, evaluation: Scored, causes: pd.Series) -> CauseCounts:
        """The counts of some queries.

        Parameters
        ----------
        evaluation : Scored
            Their scores.
        causes : Series of str
            What `failure_causes` gave for them.
        """
        unmeasured = frozenset(_unmeasured_causes(evaluation))
        return cls(len(causes), Counter(causes.tolist()), unmeasured)

    def __add__(self, other: CauseCounts) -> CauseCounts:
        """The counts of both parts."""
        return CauseCounts(
            self.n_queries + other.n_queries,
            self.by_cause + other.by_cause,
            self.unmeasured & other.unmeasured,
        )


def breakdown_of_counts(
    evaluation: Scored,
    counts: CauseCounts,
    *,
    k: int = 5,
    correct: Correct | CorrectNotion | None = None,
    confidence_level: float = 0.95,
) -> Result:
    """The table of `breakdown`, of queries that are counted already.

    Parameters
    ----------
    evaluation : Scored
        The pipeline; only its metrics and some of its queries are needed.
    counts : CauseCounts
        The counts.
    k, correct, confidence_level
        As in `breakdown`.
    """
    n_unknown = counts.by_cause[UNKNOWN]
    n_known = counts.n_queries - n_unknown
    rows = [
        _unmeasured_row(cause, what)
        if cause in counts.unmeasured
        else {"cause": cause, "what": what}
        | _share_columns(counts.by_cause[cause], n_known, confidence_level)
        for cause, what in {FINE: _OTHERS[FINE], **CAUSES}.items()
    ]
    frame = pd.DataFrame(rows).astype({"n": "Int64"})
    notes = [_unmeasured_note(cause) for cause in _MEASURES if cause in counts.unmeasured]
    if n_unknown:
        notes.append(
            f"the cause of {n_unknown} of {counts.n_queries} queries is unknown: {_OTHERS[UNKNOWN]}"
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
    right, within = _answers_and_retrieval(evaluation, k, correct)
    return retrieval_table(evaluation, RetrievalCounts.of(right, within), k=k)


@dataclass(frozen=True)
class RetrievalCounts:
    """How many queries are answered correctly with and without gold, from any part of them.

    Parameters
    ----------
    passed, failed : tuple of (int, int)
        The numbers of correct and of wrong answers with gold among the results, and without.
    n_unknown : int
        The number of queries of which one of both is unknown.
    """

    passed: tuple[int, int]
    failed: tuple[int, int]
    n_unknown: int

    @classmethod
    def of(cls, right: pd.Series, within: pd.Series) -> RetrievalCounts:
        """The counts of some queries.

        Parameters
        ----------
        right, within : Series of boolean
            Whether each answer is correct, and whether gold is among the results; NA if unknown.
        """
        is_known = (right.notna() & within.notna()).to_numpy(dtype=bool)
        is_right, is_within = (
            side.fillna(False).to_numpy(dtype=bool)[is_known] for side in (right, within)
        )
        passed, failed = (
            (int((is_right & holds).sum()), int((~is_right & holds).sum()))
            for holds in (is_within, ~is_within)
        )
        return cls(passed, failed, int((~is_known).sum()))

    def __add__(self, other: RetrievalCounts) -> RetrievalCounts:
        """The counts of both parts."""
        return RetrievalCounts(
            (self.passed[0] + other.passed[0], self.passed[1] + other.passed[1]),
            (self.failed[0] + other.failed[0], self.failed[1] + other.failed[1]),
            self.n_unknown + other.n_unknown,
        )


def retrieval_counts(
    evaluation: Scored, *, k: int = 5, correct: Correct | CorrectNotion | None = None
) -> RetrievalCounts:
    """The counts of `retrieval_by_generation`; parameters as there."""
    return RetrievalCounts.of(*_answers_and_retrieval(evaluation, k, correct))


def retrieval_table(evaluation: Scored, counts: RetrievalCounts, *, k: int = 5) -> Result:
    """The table of `retrieval_by_generation`, of queries that are counted already.

    Parameters
    ----------
    evaluation : Scored
        The pipeline.
    counts : RetrievalCounts
        The counts.
    k : int
        As there.
    """
    rows = [
        _answer_row(f"{word} (gold {'' if word == 'passed' else 'not '}in the first {k})", numbers)
        for word, numbers in (("passed", counts.passed), ("failed", counts.failed))
    ]
    n = counts.n_unknown
    return Result(
        f"Retrieval and answers of {evaluation.name}",
        pd.DataFrame(rows),
        {"k": k, "confidence_level": 0.95},
        (f"{n} queries are left out, as a score is missing",) if n else (),
    )


def _answers_and_retrieval(
    evaluation: Scored, k: int, correct: Correct | CorrectNotion | None
) -> tuple[pd.Series, pd.Series]:
    """Whether each answer is correct, and whether gold is among the first results."""
    right = correctness(evaluation, correct)
    within = _gold_found(evaluation, f"@{k}")
    if within is None:
        raise DataError(f"retrieval_by_generation needs the metric hit@{k} or recall@{k}")
    return right, within


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
            values = evaluation.scores[name].to_numpy(dtype=np.float64)
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


# -- rows


def _share_columns(n_true: int, n: int, confidence_level: float) -> dict[str, object]:
    share = _share(n_true, n, confidence_level)
    return {"n": n_true, "share": share.estimate, "ci_low": share.low, "ci_high": share.high}


def _share(n_true: int, n: int, confidence_level: float = 0.95) -> Interval:
    """The interval of a share; NaN of nothing."""
    level = check_level(confidence_level)
    return interval_of_count(n_true, n, level) if n else mean_interval([])


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


def _answer_row(word: str, numbers: tuple[int, int]) -> dict[str, object]:
    n_correct, n_incorrect = numbers
    n = n_correct + n_incorrect
    share = _share(n_correct, n)
    return {
        "retrieval": word,
        "correct": n_correct,
        "incorrect": n_incorrect,
        "n": n,
        "share_correct": share.estimate,
        "ci_low": share.low,
        "ci_high": share.high,
    }


_REFUSAL = "such queries count under other causes"
# What measures each cause, and how queries are counted where nothing does.
_MEASURES = {
    "over-refusal": (("false_refusal",), _REFUSAL),
    "under-refusal": (("hallucinated_answer",), _REFUSAL),
    "ranking": (_WHOLE_RANKING, "ranking counts as retrieval"),
    "citation": (("citation_hit",), "such queries count as fine"),
}


def _unmeasured_causes(evaluation: Scored) -> Iterator[str]:
    """The causes that no score measures."""
    for cause, (names, _) in _MEASURES.items():
        if all(np.isnan(_numbers(evaluation, name)).all() for name in names):
            yield cause


def _unmeasured_note(cause: str) -> str:
    names, instead = _MEASURES[cause]
    return f"{cause} is not measured, as no query is scored on {names[0]!r}: {instead}"
