"""What stands behind a calibration: the confusion matrix, the disagreements, the plan of labels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import special

from rageval_report.analysis.agreement.means import planned_errors
from rageval_report.analysis.agreement.measures import IntervalSettings
from rageval_report.analysis.agreement.rating_scale import RatingScale
from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.scores.query_ids import first_named
from rageval_report.scores.states import unscored_reasons
from rageval_report.scores.texts import ANSWER, QUESTION

_SAME = 1e-9


def confusion_table(
    evaluation: Scored, metric: Metric, ratings: Ratings, scale: RatingScale
) -> Result:
    """How often the judge gave what, where people gave what.

    Parameters
    ----------
    evaluation, metric, ratings, scale
        As of a calibration.

    Returns
    -------
    Result
        Index ``people``, a column ``judge <category>`` each, ``total``.

    Raises
    ------
    DataError
        If the ratings are continuous.
    """
    if not scale.categories.size:
        raise DataError(
            "these ratings are continuous, and have no confusion matrix; give a threshold, or the "
            "categories of their scale"
        )
    people, judge = scale.agreed(ratings.table), scale.judged(ratings.judge)
    there = ratings.both & ~np.isnan(people)
    names = [f"{one:g}" for one in scale.categories]
    counts = np.array(
        [
            [
                int((there & (people == row) & (judge == column)).sum())
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
        _told(metric, scale),
        (f"the same on {same} of {int(there.sum())} queries",),
    )


def disagreement_table(
    evaluation: Scored, metric: Metric, ratings: Ratings, scale: RatingScale
) -> Result:
    """The queries on which judge and people differ, the largest difference first.

    Parameters
    ----------
    evaluation, metric, ratings, scale
        As of a calibration.

    Returns
    -------
    Result
        Index ``query_id``; ``people``, ``judge``, ``difference``, the raters where there are
        several, the texts.
    """
    people, judge = scale.agreed(ratings.table), scale.judged(ratings.judge)
    differs = ratings.both & (np.abs(judge - people) > _SAME)  # NaN, raters evenly split, is not
    # Labels that were cut at a threshold are shown as they were given, like the scores.
    given = ratings.labels if scale.bins_labels else people
    difference = ratings.judge - given
    rows = np.flatnonzero(differs)
    order = rows[np.argsort(-np.abs(difference[rows]), kind="stable")]
    columns = {"people": given[order], "judge": ratings.judge[order]}
    columns["difference"] = difference[order]
    frame = pd.DataFrame(columns, index=ratings.ids[order].rename("query_id"))
    texts = _texts(evaluation, metric).reindex(frame.index)
    shown = [name for name in ("question", "reason") if name in texts]
    return Result(
        f"Where judge and people disagree: {evaluation.name}, {metric.name}",
        pd.concat([frame, _raters(ratings, order, frame.index), texts], axis=1),
        _told(metric, scale),
        (f"{len(order)} of {ratings.n} queries that both rated",),
        headline=("people", "judge", "difference", *shown),
    )


def _texts(evaluation: Scored, metric: Metric) -> pd.DataFrame:
    """Question, the judge's reason and the answer, as far as the details have them."""
    details = evaluation.details
    found: dict[str, pd.Series] = {}
    for name, names in (("question", QUESTION), ("answer", ANSWER)):
        column = first_named(map(str, details), names)
        if column is not None:
            found[name] = details[column]
    reasons = unscored_reasons(details, metric.name)
    if reasons.notna().any():
        found["reason"] = reasons
    return pd.DataFrame(found, index=details.index)


def _raters(ratings: Ratings, rows: np.ndarray, index: pd.Index) -> pd.DataFrame:
    """What each of several raters said."""
    if len(ratings.raters) == 1:
        return pd.DataFrame(index=index)
    names = [f"people_{name}" for name in ratings.raters]
    return pd.DataFrame(ratings.table[rows], index=index, columns=names)


def _told(metric: Metric, scale: RatingScale) -> dict[str, object]:
    told: dict[str, object] = {"metric": metric.name, "scale": scale.kind}
    return told if scale.threshold is None else {**told, "threshold": scale.threshold}


def label_plan(
    evaluation: Scored,
    metric: Metric,
    ratings: Ratings,
    plan: IntervalSettings,
    labels: Iterable[int],
) -> Result:
    """How sure the mean becomes with more labels, with the judge's help and without.

    Parameters
    ----------
    evaluation, metric, ratings, plan
        As of a calibration.
    labels : iterable of int
        Numbers of labels.

    Returns
    -------
    Result
        One row a number: ``labels``, ``half_width_alone``, ``half_width_corrected``, ``worth``.

    Raises
    ------
    DataError
        If a number makes no sense, or there are too few labels to tell a spread.
    """
    most = int(ratings.judged.sum())
    if ratings.n < 2:
        raise DataError("a plan needs the spread of labels, of two queries rated by both at least")
    counts = [_count(one, most) for one in labels]
    rows = [_plan_row(ratings, count, plan.confidence_level) for count in counts]
    return Result(
        f"Labels for {metric.name} of {evaluation.name}",
        pd.DataFrame(rows, columns=["labels", "half_width_alone", "half_width_corrected", "worth"]),
        {"metric": metric.name, "confidence_level": plan.confidence_level, "n_queries": most},
        (
            f"told from {ratings.n} queries rated by both; half_width: of the interval of the mean "
            "of all queries",
            "worth: so many labels without a judge would do the same",
        ),
    )


def _count(told: int, most: int) -> int:
    if isinstance(told, bool) or int(told) != told or not 2 <= told <= most:
        raise DataError(
            f"a number of labels must be whole, from 2 to the {most} queries that the judge "
            f"scored; got {told!r}"
        )
    return int(told)


def _plan_row(ratings: Ratings, count: int, level: float) -> dict[str, float]:
    alone, corrected = planned_errors(ratings, count)
    reach = float(special.stdtrit(count - 1, 0.5 + level / 2.0))
    return {
        "labels": count,
        "half_width_alone": reach * alone,
        "half_width_corrected": reach * corrected,
        "worth": count * (alone / corrected) ** 2 if corrected else float("nan"),
    }
