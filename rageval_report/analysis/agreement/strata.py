"""QueryGroups of queries within which labels are drawn, and the queries to label next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.analysis.agreement.calibration_tables import text_columns
from rageval_report.analysis.agreement.means import rest_of
from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.stats.base import check_seed
from rageval_report.types import FloatArray, IndexArray

# "judge", a column of the details, or the group of each query by its id.
Strata: TypeAlias = str | pd.Series | Mapping[str, object]
QueryGroups: TypeAlias = npt.NDArray[np.object_]

BY_JUDGE = "judge"
# Up to this many scores of a judge are groups; more are cut into groups of about equal size.
_MOST_LEVELS, _BINS = 5, 4
# An interval needs two labels in each group.
_FEWEST = 2


def groups_of(evaluation: Scored, ratings: Ratings, strata: Strata) -> QueryGroups:
    """The group of each query of an evaluation.

    Parameters
    ----------
    evaluation : Scored
        Its details may hold the groups.
    ratings : Ratings
        The judge's scores.
    strata : str, Series or mapping
        "judge": one group per score of the judge if there are few, else four groups of about
        equal size by its score. Else a column of the details, or the groups by query id.

    Raises
    ------
    UnknownNameError
        If the details have no such column.
    DataError
        If a judged query has no group.
    """
    if isinstance(strata, str) and strata == BY_JUDGE:
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
    levels = np.unique(scores)
    if levels.size <= _MOST_LEVELS:
        return np.array([f"judge {score:g}" for score in judge], dtype=object)
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, _BINS + 1)))
    numbers = np.clip(np.searchsorted(edges, judge, side="right") - 1, 0, edges.size - 2)
    names = [f"judge {low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    return np.array([names[number] for number in numbers], dtype=object)


def queries_to_label(
    evaluation: Scored,
    metric: Metric,
    ratings: Ratings,
    groups: QueryGroups,
    n: int,
    *,
    strata: str,
    lam: float,
    seed: int,
) -> Result:
    """The queries to label next, for the narrowest interval of the corrected mean.

    Parameters
    ----------
    evaluation, metric, ratings
        Those of a calibration.
    groups : ndarray of shape (n_queries,)
        The group of each query.
    n : int
        The number of queries to label.
    strata : str
        The name of the groups, for the note on what to pass to `calibrate` then.
    lam : float
        The weight of the judge.
    seed : int
        The seed of the random draw within each group.

    Returns
    -------
    Result
        Index ``query_id``, in the order in which to label; ``stratum``, ``judge``, and the texts
        that the details have.

    Raises
    ------
    DataError
        If `n` is below 1, or above the number of queries without a label, or every query has one.

    Notes
    -----
    Neyman's allocation: a group gets labels in proportion to its queries times the standard
    deviation of what the judge leaves to be corrected, estimated from the labels so far with one
    more error of each direction in all. Within a group the draw is random, which the corrected mean
    needs. For six simulated judges and 30 to 150 known labels the standard error was on average 0
    to 6 % above the smallest possible one, that of an allocation which knows the judge's errors,
    and up to 7 % below that of a random sample. Where both verdicts err alike there is nothing to
    gain, and it was up to 1.1 % above.
    """
    free = ratings.is_judged & ~ratings.both
    if not free.any():
        raise DataError(
            "every query with a score of the judge has a label; there is none to choose"
        )
    if isinstance(n, bool) or not 1 <= int(n) == n <= free.sum():
        raise DataError(
            f"n must be an integer from 1 to {int(free.sum())}, the number of queries without a "
            f"label; got {n!r}"
        )
    rng = np.random.default_rng(check_seed(seed))
    # By id, so that the order in which the queries stand does not decide which ones are drawn.
    by_id = np.argsort(ratings.ids.astype(str).to_numpy(), kind="stable")
    names = list(dict.fromkeys(groups[by_id][ratings.is_judged[by_id]].tolist()))
    counts = allocate(_pull(ratings, groups, names, lam), _state(ratings, groups, names), n)
    chosen: list[int] = []
    for name, count in zip(names, counts, strict=True):
        members = by_id[(free & (groups == name))[by_id]]
        chosen.extend(rng.choice(members, count, replace=False).tolist())
    rows = np.array(chosen)[rng.permutation(len(chosen))]
    texts = text_columns(evaluation, metric)
    index = ratings.ids[rows].rename("query_id")
    frame = pd.DataFrame({"stratum": groups[rows], "judge": ratings.judge[rows]}, index=index)
    split = ", ".join(f"{count} of {name}" for name, count in zip(names, counts, strict=True))
    return Result(
        f"Queries to label next: {evaluation.name}, {metric.name}",
        pd.concat([frame, texts.reindex(index)], axis=1),
        {"n": int(n), "seed": seed, "strata": strata},
        (
            f"labels by group: {split}",
            f"pass strata={strata!r} to calibrate then: these labels are a random sample within "
            "each group, not of all queries",
        ),
        headline=("stratum", "judge", *(name for name in ("question",) if name in texts)),
    )


def _pull(ratings: Ratings, groups: QueryGroups, names: Sequence[str], lam: float) -> FloatArray:
    """The queries of each group times the standard deviation of what is left to correct."""
    both = ratings.both
    n_judged = int(ratings.is_judged.sum())
    pulls = []
    for name in names:
        inside = groups == name
        rest = rest_of(ratings.labels[both & inside], ratings.judge[both & inside], lam)
        share = float((ratings.is_judged & inside).sum()) / n_judged
        low, high = (0.0, 1.0) if not rest.size else (-1.0, 1.0)
        mean = (rest.sum() + share * (low + high)) / (rest.size + 2.0 * share)
        squares = ((rest - mean) ** 2).sum() + share * ((low - mean) ** 2 + (high - mean) ** 2)
        pulls.append(share * math.sqrt(squares / (rest.size + 2.0 * share)))
    return np.array(pulls)


def _state(ratings: Ratings, groups: QueryGroups, names: Sequence[str]) -> IndexArray:
    """For each group the labels that it has, and the queries without one; two rows."""
    free = ratings.is_judged & ~ratings.both
    inside = [groups == name for name in names]
    return np.array(
        [
            [int((ratings.both & group).sum()) for group in inside],
            [int((free & group).sum()) for group in inside],
        ]
    )


def allocate(pull: FloatArray, state: IndexArray, n: int) -> list[int]:
    """How many of the next n labels each group gets, the labels that it has considered.

    Parameters
    ----------
    pull : ndarray of shape (n_groups,)
        What the groups get labels in proportion to.
    state : ndarray of shape (2, n_groups)
        The labels that each group has, and its queries without one.
    n : int
        The labels to give.

    Examples
    --------
    >>> allocate(np.array([3.0, 1.0]), np.array([[10, 10], [90, 90]]), 20)
    [20, 0]
    >>> allocate(np.array([3.0, 1.0]), np.array([[0, 0], [90, 5]]), 40)
    [35, 5]
    """
    has, free = state.copy()
    counts = np.zeros(len(pull), dtype=int)
    for _ in range(n):
        # A label of the group with the largest variance per label, that is the greatest gain; first
        # the groups without the two that an interval needs.
        gain = np.where(has < _FEWEST, np.inf, pull**2 / np.maximum(has, 1) / (has + 1.0))
        gain = np.where(free > 0, gain, -1.0)
        best = int(np.argmax(gain))
        has[best] += 1
        free[best] -= 1
        counts[best] += 1
    return counts.tolist()
