"""Tables of a calibration: the confusion matrix, the disagreements, the plan of labels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import scipy

from rageval_report.analysis.agreement.means import expected_errors
from rageval_report.analysis.agreement.measures import IntervalSettings
from rageval_report.analysis.agreement.rating_scale import RatingScale
from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.scores.query_ids import first_named
from rageval_report.scores.states import unscored_reasons
from rageval_report.scores.texts import ANSWER, QUESTION

# Labels that were converted from another scale carry rounding.
_SAME = 1e-9


def confusion_table(
    evaluation: Scored, metric: Metric, ratings: Ratings, scale: RatingScale
) -> Result:
    """How often the judge gave each category, by the category that people gave.

    Parameters
    ----------
    evaluation, metric, ratings, scale
        Those of a calibration.

    Returns
    -------
    Result
        Index ``people``, one column ``judge <category>`` per category, ``total``.

    Raises
    ------
    DataError
        If the ratings are continuous.
    """
    if not scale.categories.size:
        raise DataError(
            "continuous ratings have no confusion matrix; calibrate with threshold= or categories="
        )
    people = scale.agreed_labels(ratings.table)
    judge = scale.judge_categories(ratings.judge)
    is_rated = ratings.both & ~np.isnan(people)
    names = [f"{category:g}" for category in scale.categories]
    counts = np.array(
        [
            [
                int((is_rated & (people == row) & (judge == column)).sum())
                for column in scale.categories
            ]
            for row in scale.categories
        ]
    )
    frame = pd.DataFrame(
        counts,
        index=pd.Index(names, name="people"),
        columns=[f"judge {name}" for name in names],
    )
    same = int(np.trace(counts))
    return Result(
        f"Confusion of people and judge: {evaluation.name}, {metric.name}",
        frame.assign(total=counts.sum(axis=1)),
        _table_settings(metric, scale),
        (f"they agree on {same} of {int(is_rated.sum())} queries",),
    )


def disagreement_table(
    evaluation: Scored, metric: Metric, ratings: Ratings, scale: RatingScale
) -> Result:
    """The queries on which judge and people differ, the largest difference first.

    Parameters
    ----------
    evaluation, metric, ratings, scale
        Those of a calibration.

    Returns
    -------
    Result
        Index ``query_id``; ``people``, ``judge``, ``difference``, the raters if there are
        several, the texts.
    """
    people = scale.agreed_labels(ratings.table)
    judge = scale.judge_categories(ratings.judge)
    differs = ratings.both & (np.abs(judge - people) > _SAME)  # False for NaN
    # Labels to which a threshold was applied are shown unchanged, like the scores.
    labels = ratings.labels if scale.bins_labels else people
    difference = ratings.judge - labels
    rows = np.flatnonzero(differs)
    order = rows[np.argsort(-np.abs(difference[rows]), kind="stable")]
    columns = {"people": labels[order], "judge": ratings.judge[order]}
    columns["difference"] = difference[order]
    frame = pd.DataFrame(columns, index=ratings.ids[order].rename("query_id"))
    texts = text_columns(evaluation, metric).reindex(frame.index)
    shown = [name for name in ("question", "reason") if name in texts]
    return Result(
        f"Where judge and people disagree: {evaluation.name}, {metric.name}",
        pd.concat([frame, _rater_columns(ratings, order, frame.index), texts], axis=1),
        _table_settings(metric, scale),
        (f"{len(order)} of {ratings.n} queries that both rated",),
        headline=("people", "judge", "difference", *shown),
    )


def text_columns(evaluation: Scored, metric: Metric) -> pd.DataFrame:
    """Question, answer and the judge's reason, if the details have them."""
    details = evaluation.details
    columns: dict[str, pd.Series] = {}
    for name, names in (("question", QUESTION), ("answer", ANSWER)):
        column = first_named(map(str, details), names)
        if column is not None:
            columns[name] = details[column]
    reasons = unscored_reasons(details, metric.name)
    if reasons.notna().any():
        columns["reason"] = reasons
    return pd.DataFrame(columns, index=details.index)


def _rater_columns(ratings: Ratings, rows: np.ndarray, index: pd.Index) -> pd.DataFrame:
    """The labels of each of several raters."""
    if len(ratings.raters) == 1:
        return pd.DataFrame(index=index)
    names = [f"people_{name}" for name in ratings.raters]
    return pd.DataFrame(ratings.table[rows], index=index, columns=names)


def _table_settings(metric: Metric, scale: RatingScale) -> dict[str, object]:
    settings: dict[str, object] = {"metric": metric.name, "scale": scale.kind}
    return settings if scale.threshold is None else {**settings, "threshold": scale.threshold}


def label_plan(
    evaluation: Scored,
    metric: Metric,
    ratings: Ratings,
    plan: IntervalSettings,
    labels: Iterable[int],
) -> Result:
    """The interval of the mean for larger numbers of labels, with the judge and without.

    Parameters
    ----------
    evaluation, metric, ratings, plan
        Those of a calibration.
    labels : iterable of int
        Numbers of labels.

    Returns
    -------
    Result
        One row per number: ``labels``, ``half_width_alone``, ``half_width_corrected``, ``worth``.

    Raises
    ------
    DataError
        If a number makes no sense, or there are too few labels to estimate a spread.
    """
    most = int(ratings.is_judged.sum())
    if ratings.n < 2:
        raise DataError("a plan needs at least 2 queries that are rated by both")
    counts = [_check_count(label_count, most) for label_count in labels]
    rows = [_plan_row(ratings, count, plan.confidence_level, metric.bounds) for count in counts]
    return Result(
        f"Labels for {metric.name} of {evaluation.name}",
        pd.DataFrame(rows, columns=["labels", "half_width_alone", "half_width_corrected", "worth"]),
        {"metric": metric.name, "confidence_level": plan.confidence_level, "n_queries": most},
        (
            f"estimated from {ratings.n} queries rated by both; half_width: of the interval of "
            "the mean of all queries",
            "worth: the number of labels that would do the same without a judge",
        ),
    )


def _check_count(count: int, most: int) -> int:
    # True is an int in Python.
    if isinstance(count, bool) or int(count) != count or not 2 <= count <= most:
        raise DataError(
            f"labels must be integers from 2 to {most}, the number of queries that the judge "
            f"scored; got {count!r}"
        )
    return int(count)


def _plan_row(
    ratings: Ratings, count: int, level: float, bounds: tuple[float, float] | None
) -> dict[str, float]:
    alone, corrected, of_interval = expected_errors(ratings, count, bounds)
    reach = float(scipy.special.stdtrit(count - 1, 0.5 + level / 2.0))
    return {
        "labels": count,
        "half_width_alone": reach * alone,
        "half_width_corrected": reach * of_interval,
        "worth": count * (alone / corrected) ** 2 if corrected else float("nan"),
    }
