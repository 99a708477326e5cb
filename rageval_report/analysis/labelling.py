"""What labels of people are for: which queries to label next, how many, and what they correct."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.analysis.agreement import text_columns
from rageval_report.analysis.ratings import CLOSE, Ratings
from rageval_report.errors import AlignmentError, DataError, UnknownNameError
from rageval_report.reports.sentences import number
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.scores.align import align
from rageval_report.stats.base import Interval, check_seed
from rageval_report.stats.pairs import paired_interval
from rageval_report.stats.prediction_powered import ENOUGH_TO_TUNE, ppi_difference, variance_of_rest
from rageval_report.types import BoolArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from rageval_report.analysis.calibrate import Calibration

# "judge", a column of the details, or the group of each query by its id.
Strata: TypeAlias = str | pd.Series | Mapping[str, object]
QueryGroups: TypeAlias = npt.NDArray[np.object_]

NAIVE, LABELLED, CORRECTED = "judge alone", "people alone", "corrected (PPI++)"
# Up to this many scores of a judge are groups; more are cut into groups of about equal size.
_MOST_LEVELS, _BINS = 5, 4
_PLANNED = (25, 50, 100, 200, 400)
_FEWEST = 2  # an interval needs two labels in each group
# With fewer labels that differ from the judge, their spread cannot be estimated.
_FEWEST_MOVED = 5
# `ppi_mean` uses the judge with few labels if its interval is so much of that of the labels alone.
_SHORTER = 0.9


def rare_corrections(labels: FloatArray, judge: FloatArray, lam: float) -> str:
    """A warning if too few labels differ from the judge for a valid interval; else empty."""
    n_different = int((np.abs(labels - judge) > CLOSE).sum())
    # With a weight below 1, labels that equal the judge's score still show a spread, unless all of
    # these are the same.
    if n_different >= _FEWEST_MOVED or (lam != 1.0 and np.ptp(judge) > CLOSE):
        return ""
    return (
        f"only {n_different} of {labels.size} labels differ from the judge, which makes the "
        "interval too narrow"
    )


# -- which queries to label next


def groups_of(evaluation: Scored, ratings: Ratings, strata: Strata) -> QueryGroups:
    """The group of each query: by the judge's score, a column of the details, or by query id."""
    if isinstance(strata, str) and strata == "judge":
        return _groups_of_scores(ratings.judge)
    if isinstance(strata, str) and strata not in evaluation.details:
        raise UnknownNameError("column of the details", strata, map(str, evaluation.details))
    values = evaluation.details[strata] if isinstance(strata, str) else pd.Series(strata)
    groups = values.reindex(ratings.ids)
    missing = ratings.ids[ratings.is_judged & groups.isna().to_numpy()]
    if len(missing):
        raise DataError(
            f"strata: {len(missing)} judged queries have no group, e.g. {missing[0]!r}; give them "
            "a group of their own"
        )
    return groups.astype(str).to_numpy(dtype=object)


def _groups_of_scores(judge: FloatArray) -> QueryGroups:
    scores = judge[~np.isnan(judge)]
    if np.unique(scores).size <= _MOST_LEVELS:
        return np.array([f"judge {score:g}" for score in judge], dtype=object)
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, _BINS + 1)))
    places = np.clip(np.searchsorted(edges, judge, side="right") - 1, 0, edges.size - 2)
    names = [f"judge {low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    return np.array(names, dtype=object)[places]


def queries_to_label(calibration: Calibration, n: int, *, strata: Strata, seed: int) -> Result:
    """The queries to label next, for the narrowest interval of the corrected mean."""
    evaluation, ratings = calibration.evaluation, calibration.ratings
    groups, rng = groups_of(evaluation, ratings, strata), np.random.default_rng(check_seed(seed))
    corrected, free = calibration.means.corrected, ratings.unlabelled
    lam = 1.0 if corrected is None or math.isnan(corrected.lam) else corrected.lam
    if not free.any():
        raise DataError(
            "every query with a score of the judge has a label; there is none to choose"
        )
    if isinstance(n, bool) or not 1 <= int(n) == n <= free.sum():
        raise DataError(
            f"n must be an integer from 1 to {int(free.sum())}, the number of queries without a "
            f"label; got {n!r}"
        )
    # By id, so that the order in which the queries stand does not decide which ones are drawn.
    by_id = np.argsort(ratings.ids.astype(str).to_numpy(), kind="stable")
    names = list(dict.fromkeys(groups[by_id][ratings.is_judged[by_id]].tolist()))
    inside = [groups == name for name in names]
    state = np.array([[int((rows & own).sum()) for own in inside] for rows in (ratings.both, free)])
    pull = np.array([_pull(ratings, own, lam) for own in inside])
    counts, chosen = allocate(pull, state, n), list[int]()
    for own, count in zip(inside, counts, strict=True):
        members = by_id[(free & own)[by_id]]
        chosen.extend(rng.choice(members, count, replace=False).tolist())
    rows = np.array(chosen)[rng.permutation(len(chosen))]
    texts, index = (
        text_columns(evaluation, calibration.metric),
        ratings.ids[rows].rename("query_id"),
    )
    frame = pd.DataFrame({"stratum": groups[rows], "judge": ratings.judge[rows]}, index=index)
    split = ", ".join(f"{count} of {name}" for name, count in zip(names, counts, strict=True))
    by = strata if isinstance(strata, str) else "by query id"
    return Result(
        f"Queries to label next: {evaluation.name}, {calibration.metric.name}",
        pd.concat([frame, texts.reindex(index)], axis=1),
        {"n": int(n), "seed": seed, "strata": by},
        (
            f"labels by group: {split}",
            f"pass strata={by!r} to calibrate then: these labels are a random sample within "
            "each group, not of all queries",
        ),
        headline=("stratum", "judge", *(name for name in ("question",) if name in texts)),
    )


def _pull(ratings: Ratings, inside: BoolArray, lam: float) -> float:
    """The share of a group times the standard deviation of what is left to correct in it."""
    rated = ratings.both & inside
    rest = ratings.labels[rated] - lam * ratings.judge[rated]
    share = float((ratings.is_judged & inside).sum()) / int(ratings.is_judged.sum())
    low, high = (-1.0, 1.0) if rest.size else (0.0, 1.0)
    n = rest.size + 2.0 * share
    mean = (rest.sum() + share * (low + high)) / n
    squares = ((rest - mean) ** 2).sum() + share * ((low - mean) ** 2 + (high - mean) ** 2)
    return float(share * math.sqrt(squares / n))


def allocate(pull: FloatArray, state: IndexArray, n: int) -> list[int]:
    """How many of the next n labels each group gets, in proportion to its pull."""
    has, free = state.copy()
    for _ in range(n):
        # A label of the group with the largest variance per label, that is the greatest gain; first
        # the groups without the two that an interval needs.
        gain = np.where(has < _FEWEST, np.inf, pull**2 / np.maximum(has, 1) / (has + 1.0))
        best = int(np.argmax(np.where(free > 0, gain, -1.0)))
        has[best] += 1
        free[best] -= 1
    counts: list[int] = (has - state[0]).tolist()
    return counts


# -- how many labels


def label_plan(calibration: Calibration, labels: Iterable[int] | None) -> Result:
    """The interval of the mean for numbers of labels, with the judge and without."""
    from scipy.special import stdtrit

    metric, ratings = calibration.metric, calibration.ratings
    level, most = calibration.plan.confidence_level, int(ratings.is_judged.sum())
    rows = []
    if ratings.n < 2:
        raise DataError("a plan needs at least 2 queries that are rated by both")
    for count in [n for n in _PLANNED if n <= most] if labels is None else labels:
        if isinstance(count, bool) or int(count) != count or not 2 <= count <= most:
            raise DataError(
                f"labels must be integers from 2 to {most}, the number of queries that the judge "
                f"scored; got {count!r}"
            )
        alone, corrected, of_interval = _expected_errors(ratings, int(count), metric.bounds)
        reach = float(stdtrit(count - 1, 0.5 + level / 2.0))
        worth = count * (alone / corrected) ** 2 if corrected else math.nan
        rows.append((int(count), reach * alone, reach * of_interval, worth))
    return Result(
        f"Labels for {metric.name} of {calibration.evaluation.name}",
        pd.DataFrame(rows, columns=["labels", "half_width_alone", "half_width_corrected", "worth"]),
        {"metric": metric.name, "confidence_level": level, "n_queries": most},
        (
            f"estimated from {ratings.n} queries rated by both; half_width: of the interval of "
            "the mean of all queries",
            "worth: the number of labels that would do the same without a judge",
        ),
    )


def _expected_errors(
    ratings: Ratings, n_labels: int, bounds: tuple[float, float] | None
) -> tuple[float, float, float]:
    """The expected standard errors of people's mean, of the corrected one, and of its interval."""
    people, judge = ratings.labels[ratings.both], ratings.judge[ratings.both]
    all_scores = ratings.judge[ratings.is_judged]
    n_others, spread = all_scores.size - n_labels, float(all_scores.var(ddof=1))
    alone = math.sqrt(float(people.var(ddof=1)) / n_labels)
    # The judge's weight is tuned if there are enough labels, else 1, or 0 with fewer others.
    lam = 1.0 if n_others >= n_labels else 0.0
    if n_labels >= ENOUGH_TO_TUNE and n_others >= 2 and spread:
        covariance = float(np.cov(people, judge, ddof=1)[0, 1])
        lam = float(np.clip(covariance / ((1.0 + n_labels / n_others) * spread), 0.0, 1.0))
    if lam == 0.0 or n_others < 2 or not spread:
        return alone, alone, alone
    rest = people - lam * judge
    mean, variance = float(rest.mean()), float(rest.var(ddof=1))
    of_judge = lam**2 * spread / n_others
    corrected = math.sqrt(of_judge + variance / n_labels)
    of_interval = math.sqrt(of_judge + variance_of_rest(mean, variance, n_labels, lam, bounds))
    is_tuned = bounds is None or n_labels >= ENOUGH_TO_TUNE
    if not is_tuned and of_interval > _SHORTER * alone:
        return alone, alone, alone
    return alone, corrected, of_interval


# -- the difference of two pipelines


def difference_of(baseline: Calibration, candidate: Calibration) -> Result:
    """The difference of two pipelines, corrected using people's labels."""
    metric, lam, settings = baseline.metric, baseline.lam, baseline.plan
    first, second, plan = baseline.ratings, candidate.ratings, asdict(settings)
    names, aligned = (
        (baseline.evaluation.name, candidate.evaluation.name),
        align(first.ids, second.ids),
    )

    def beside(ours: FloatArray, theirs: FloatArray) -> FloatArray:
        return np.vstack([aligned.baseline(pd.Series(ours)), aligned.candidate(pd.Series(theirs))])

    judge, labels = beside(first.judge, second.judge), beside(first.labels, second.labels)
    is_judged = ~np.isnan(judge).any(axis=0)
    is_labelled = is_judged & ~np.isnan(labels).any(axis=0)
    n, n_judged, rest = int(is_labelled.sum()), int(is_judged.sum()), is_judged & ~is_labelled
    if n < 2:
        raise AlignmentError(
            f"expected at least 2 queries with labels of both {names[0]!r} and {names[1]!r}; "
            f"got {n}"
        )
    judged, labelled, both = judge[:, is_judged], labels[:, is_labelled], judge[:, is_labelled]
    differences: list[tuple[str, int, float, float, Interval]] = [
        (figure, sides.shape[1], *sides.mean(axis=1).tolist(), paired_interval(*sides, **plan))
        for figure, sides in ((NAIVE, judged), (LABELLED, labelled))
    ]
    notes = [
        f"{n} queries with labels of both pipelines, of {n_judged} that the judge scored for both"
    ]
    warnings, used = list[str](), lam
    if rest.sum() >= 2:
        sides = zip(labelled, both, judge[:, rest], strict=True)
        corrected = ppi_difference(*sides, lam=lam, confidence_level=settings.confidence_level)
        used = corrected.lam
        # The difference itself is corrected, so there are no corrected means of the two sides.
        differences.append((CORRECTED, n_judged, math.nan, math.nan, corrected))
        if warning := rare_corrections(labelled[1] - labelled[0], both[1] - both[0], used):
            warnings.append(f"the corrected difference: {warning}")
    else:
        notes.append("the judge scored no others: people's own difference needs no correction")
    columns = ["figure", "n", "baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high"]
    frame = pd.DataFrame(
        [(*row, gap.estimate, gap.low, gap.high, gap.method) for *row, gap in differences],
        columns=[*columns, "method"],
    )
    if (
        len(differences) > 2
        and _is_significant(differences[0][-1])
        and not _is_significant(differences[2][-1])
    ):
        notes.append(
            f"only the judge sees a difference on {metric.name}; people's labels do not confirm "
            "it: use the corrected difference"
        )
    if n < 10:
        notes.append(f"only {n} labelled queries; with 100 the judge's scores help more")
    verdicts = [f"{row[0]}: {_verdict(row[-1], names[1], metric)}" for row in differences]
    return Result(
        f"{names[1]} against {names[0]} on {metric.name}: judge and people",
        frame.assign(verdict=verdicts),
        {**plan, "metric": metric.name, "lam": used},
        (*notes, *warnings),
        headline=tuple(columns),
    )


def _is_significant(difference: Interval) -> bool:
    return difference.low > 0 or difference.high < 0


def _verdict(difference: Interval, candidate: str, metric: Metric) -> str:
    level = f"{100 * difference.confidence_level:g} % CI"
    limits = f"{level} {number(difference.low)} to {number(difference.high)}"
    if not _is_significant(difference):
        return f"undecided on {metric.name} ({number(difference.estimate)}, {limits})"
    way = "better" if (difference.estimate > 0) == metric.greater_is_better else "worse"
    size = number(abs(difference.estimate))
    return f"{candidate} is {way} on {metric.name} by {size} ({limits})"
