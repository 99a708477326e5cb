"""Why queries fail, and which ones both, neither or one of two pipelines answers correctly."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.analysis.pairing import check_evaluations
from rageval_report.errors import (
    AlignmentError,
    DataError,
    UnknownNameError,
)
from rageval_report.reports.sentences import counted
from rageval_report.results import Result
from rageval_report.scores import Correct, Scored, correctness
from rageval_report.scores.align import align, match_queries
from rageval_report.scores.correct import (
    HOW_TO_SAY,
    CorrectNotion,
    answers_by,
    describe_notions,
    find_notion,
    shared_notions,
    words_with_refusals,
    yes_or_no,
)
from rageval_report.stats.base import check_level
from rageval_report.stats.means import interval_of_count
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
    """The cause of each query's failure: a name of `CAUSES`, "fine", or "unknown"."""
    right, wrong = _yes_and_no(correctness(evaluation, correct))
    within = _gold_found(evaluation, f"@{k}")
    if within is None:
        known = ", ".join(evaluation.metrics)
        raise DataError(f"breakdown needs the metric hit@{k} or recall@{k}; metrics: {known}")
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
    """The number of failed queries by cause: each counts under the first thing that went wrong."""
    counts = CauseCounts.of(evaluation, failure_causes(evaluation, k=k, correct=correct))
    n_unknown, unmeasured, rows = counts.by_cause[UNKNOWN], counts.unmeasured, []
    for cause, what in {FINE: "nothing went wrong", **CAUSES}.items():
        n = counts.by_cause[cause]
        share = _share(n, counts.n_queries - n_unknown, confidence_level)
        unknown = pd.NA, math.nan, math.nan, math.nan
        rows.append((cause, what, *(unknown if cause in unmeasured else (n, *share))))
    columns = ("cause", "what", "n", "share", "ci_low", "ci_high")
    notes = [
        f"{cause} is not measured, as no query is scored on {names[0]!r}: {instead}"
        for cause, (names, instead) in _MEASURES.items()
        if cause in unmeasured
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
        pd.DataFrame(rows, columns=columns).astype({"n": "Int64"}),
        {"k": k, "correct": rule, "confidence_level": confidence_level},
        tuple(notes),
        headline=columns,
    )


def retrieval_by_generation(
    evaluation: Scored, *, k: int = 5, correct: Correct | CorrectNotion | None = None
) -> Result:
    """Retrieval passed or failed, by the answer right or wrong."""
    answers, within = correctness(evaluation, correct), _gold_found(evaluation, f"@{k}")
    if within is None:
        raise DataError(f"retrieval_by_generation needs the metric hit@{k} or recall@{k}")
    (right, wrong), rows, n_unknown = _yes_and_no(answers), [], len(answers)
    for word, holds in zip(("passed (gold", "failed (gold not"), _yes_and_no(within), strict=True):
        n_right, n_wrong = int((right & holds).sum()), int((wrong & holds).sum())
        n = n_right + n_wrong
        n_unknown -= n
        rows.append((f"{word} in the first {k})", n_right, n_wrong, n, *_share(n_right, n, 0.95)))
    columns = ("retrieval", "correct", "incorrect", "n", "share_correct", "ci_low", "ci_high")
    left_out = f"{counted(n_unknown, 'query is', 'queries are')} left out: a score is missing"
    return Result(
        f"Retrieval and answers of {evaluation.name}",
        pd.DataFrame(rows, columns=columns),
        {"k": k, "confidence_level": 0.95},
        (left_out,) if n_unknown else (),
    )


def _share(n_true: int, n: int, level: float) -> tuple[float, float, float]:
    """A share with its limits; NaN of nothing."""
    check_level(level)
    if not n:
        return math.nan, math.nan, math.nan
    share = interval_of_count(n_true, n, level)
    return share.estimate, share.low, share.high


def _gold_found(evaluation: Scored, cutoff: str) -> pd.Series | None:
    """Whether any gold is among the results; None if no metric says so."""
    known_as = {metric.known_as for metric in evaluation.metrics.values()}
    name = next((stem + cutoff for stem in _RANKING if stem + cutoff in known_as), None)
    if name is None:
        return None
    values = _numbers(evaluation, name)
    return yes_or_no(values > 0, np.isnan(values), evaluation.scores.index)


def _numbers(evaluation: Scored, name: str) -> FloatArray:
    """The scores of a metric under any of its names; NaN throughout if it is not there."""
    known = {metric.known_as: metric.name for metric in evaluation.metrics.values()}
    if name in known:
        return evaluation.scores[known[name]].to_numpy(dtype=np.float64)
    return np.full(len(evaluation.scores), np.nan)


def _yes_and_no(answers: pd.Series) -> tuple[BoolArray, BoolArray]:
    """Where the answer is yes, and where it is no; neither where it is unknown."""
    yes = answers.array.to_numpy(dtype=np.bool_, na_value=False)
    return yes, ~(yes | answers.isna().to_numpy())


# The first columns of the table, which it always has; the others only if they have a query.
_N_KNOWN = 4


def outcome_table(
    evaluation: Scored,
    other: Scored,
    correct: Correct | CorrectNotion | None = None,
    *,
    other_correct: Correct | CorrectNotion | None = None,
    on: str | None = None,
) -> pd.DataFrame:
    """The ids of the queries that both, neither, or only one of two runs answers correctly."""
    names = [
        run.name for run in check_evaluations((evaluation, other), "(other)", "evaluation", "other")
    ]
    if on is not None:
        other = match_queries(other, evaluation, on)
    pair = align(evaluation.scores.index, other.scores.index)
    if not len(pair.ids):
        raise AlignmentError(f"{evaluation.name!r} and {other.name!r} share no query id")
    notions = notions_of((evaluation, other), correct, other_correct)
    ours, theirs = (
        answers_by(run, notion).reindex(pair.ids)
        for run, notion in zip((evaluation, other), notions, strict=True)
    )
    known = (ours.notna() & theirs.notna()).to_numpy()
    first, second = (side.fillna(False).to_numpy(dtype=bool) for side in (ours, theirs))
    # Both answers are correct, neither, the first, the second, and not known.
    masks = (first & second, ~first & ~second, first & ~second, ~first & second)
    common = [pair.ids[mask] for mask in (*(known & mask for mask in masks), ~known)]
    ids = [own.tolist() for own in (*common, pair.only_baseline, pair.only_candidate)]
    by_outcome = dict(zip(outcome_columns(*names), ids, strict=True))
    return outcome_frame(by_outcome, notes=notes_on_notions((evaluation, other), notions))


def outcome_columns(first: str, second: str) -> tuple[str, ...]:
    """The columns of `outcome_table`: of queries of both runs, then of those that one run has."""
    return (
        *("both_correct", "both_incorrect", f"only_{first}_correct", f"only_{second}_correct"),
        *("unscored", f"only_in_{first}", f"only_in_{second}"),
    )


def outcome_frame(
    ids: Mapping[str, Sequence[str]],
    counts: Mapping[str, int] | None = None,
    *,
    notes: Sequence[str] = (),
) -> pd.DataFrame:
    """The ids of the `outcome_columns` as a table; `counts` if there are more queries than ids."""
    numbers = counts or {name: len(own) for name, own in ids.items()}
    shown = [name for i, name in enumerate(ids) if i < _N_KNOWN or numbers[name]]
    # Padded here, because pandas would pad with NaN instead of None.
    rows = itertools.zip_longest(*(ids[name] for name in shown))
    table = pd.DataFrame(list(rows), columns=shown, dtype=object)
    table.attrs |= {"n": {name: numbers[name] for name in shown}, "notes": list(notes)}
    return table


def notes_on_notions(runs: Sequence[Scored], notions: Sequence[CorrectNotion]) -> list[str]:
    """What is correct in two runs, and whether that is a guess."""
    guesses = dict.fromkeys(notion.note for notion in notions if notion.note)
    return [describe_notions(runs, notions), *guesses]


def notions_of(
    runs: tuple[Scored, Scored],
    correct: Correct | CorrectNotion | None,
    other_correct: Correct | CorrectNotion | None = None,
) -> tuple[CorrectNotion, CorrectNotion]:
    """What a correct answer of each run is; `DataError` if nothing says it in both."""
    if other_correct is not None:
        notions = [find_notion(*own) for own in zip(runs, (correct, other_correct), strict=True)]
    else:
        notions = [*(shared_notions(runs, correct) or (None, None))]
    first, second = notions
    if first is None or second is None:
        names = " and ".join(repr(run.name) for run in runs)
        raise DataError(f"no column says what is correct in {names} alike. {HOW_TO_SAY}")
    return first, second
