"""Metrics of the catalogue on another scale than there: 1 to 5 or 0 to 100 in place of 0 to 1.

Judges of Azure, MLflow and others grade from 1 to 5 what Ragas and Haystack score from 0 to 1 under
the same name, and some tools write percent. The scores are kept as they are in the file; the bounds
of the metric become those of the scale. Runs with different bounds are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, NoReturn

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.scores.column_scale import ScoreRange
from rageval_report.scores.extremes import extremes_of
from rageval_report.scores.metric import Kind, Metric, Override, normalise_name
from rageval_report.types import FloatArray

UNIT: ScoreRange = (0.0, 1.0)
_MARKS: ScoreRange = (1.0, 5.0)
_PERCENT: ScoreRange = (0.0, 100.0)
# Larger values than a mark has, on any usual scale of marks.
_HIGHEST_MARK = 10.0
# The highest mark of a column is at least this; 1.5 is a wrong score between 0 and 1.
LEAST_TOP = 2.0
# The names of other metrics that Azure's and MLflow's judges grade from 1 to 5.
_GRADED = frozenset("fluency relevance retrieval similarity helpfulness completeness".split())


class FittedMetric(NamedTuple):
    """A metric with the bounds of its scores, and a note if the catalogue has others."""

    metric: Metric
    note: str | None


class SharedScale(NamedTuple):
    """The kind and the bounds of a metric in all pipelines of a file."""

    kind: Kind
    bounds: ScoreRange | None


def stated_bounds(*descriptions: object) -> dict[str, ScoreRange]:
    """The bounds that descriptions of metrics state, by normalised name; the last one wins.

    Parameters
    ----------
    *descriptions : mapping of str to Metric, dict, "higher" or "lower"
        Anything else describes nothing.

    Examples
    --------
    >>> stated_bounds({"Recall@5": {"bounds": (0, 100)}, "mrr": "higher"}, None)
    {'recall@5': (0.0, 100.0)}
    """
    bounds: dict[str, ScoreRange] = {}
    for description in descriptions:
        if isinstance(description, Mapping):
            for name, change in description.items():
                pair = _bounds_of(change)
                if pair is not None:
                    bounds[normalise_name(str(name))] = pair
    return bounds


def _bounds_of(change: Override) -> ScoreRange | None:
    stated = change.bounds if isinstance(change, Metric) else None
    if isinstance(change, Mapping):
        stated = change.get("bounds")
    try:
        low, high = (float(bound) for bound in stated or ())
    except (TypeError, ValueError):  # refused where the description is applied
        return None
    return low, high


def fit_scale(
    metric: Metric, values: FloatArray, ids: pd.Series, *, is_known: bool
) -> FittedMetric:
    """The metric with the bounds of the scale on which its scores are.

    Parameters
    ----------
    metric : Metric
        The description of the metric, with bounds that nobody stated for this file.
    values : ndarray of shape (n_queries,)
        The scores; NaN where unscored.
    ids : Series of str
        The query ids, for messages.
    is_known : bool
        Whether the metric is in the catalogue.

    Raises
    ------
    DataError
        If the scores lie beyond the bounds, and several scales are possible.

    Examples
    --------
    >>> ids = pd.Series(["q1", "q2"])
    >>> known = Metric("groundedness", kind="proportion")
    >>> fitted = fit_scale(known, np.array([4.0, 1.0]), ids, is_known=True)
    >>> fitted.metric.bounds, fitted.metric.kind
    ((1.0, 5.0), 'ordinal')
    >>> fitted.note.partition(".")[0]
    "the scores of 'groundedness' are read as marks from 1 to 5"
    """
    if not len(values):
        return FittedMetric(metric, None)
    if not is_known:
        return _fit_unknown(metric, values)
    low, high = extremes_of(values)
    if metric.bounds != UNIT or not LEAST_TOP <= high <= _PERCENT[1] or low < 0:
        return FittedMetric(metric, None)
    is_judged = metric.compute is None and metric.kind == "proportion"
    if high <= _HIGHEST_MARK and not is_judged:  # a count; the check of the bounds refuses it
        return FittedMetric(metric, None)
    is_small = (values > 0) & ((values < 1) | ((values == 1) & (high > _HIGHEST_MARK)))
    if is_small.any():
        refuse_two_scales(
            *(metric.name, values, ids),
            *(int(np.flatnonzero(is_small)[0]), int(np.nanargmax(values))),
        )
    if high > _HIGHEST_MARK:
        note = (
            f"the scores of {metric.name!r} are read as percent, from 0 to 100: the largest is "
            f"{high:g}. If they are on another scale, say so: {bounds_option(metric)}"
        )
        return FittedMetric(replace(metric, kind="real", bounds=_PERCENT), note)
    if low >= _MARKS[0] and high <= _MARKS[1]:
        return FittedMetric(replace(metric, kind="ordinal", bounds=_MARKS), _marks_note(metric))
    lowest = int(np.nanargmin(values))
    raise DataError(
        f"metric {metric.name!r} is known with scores from 0 to 1, but has {low:g} at "
        f"{ids.iloc[lowest]!r} and {high:g} at {ids.iloc[int(np.nanargmax(values))]!r}. Say on "
        f"which scale they are: {bounds_option(metric)}"
    )


def _fit_unknown(metric: Metric, values: FloatArray) -> FittedMetric:
    words = set(re.split(r"[^a-z]+", metric.name))
    if not (metric.kind == "ordinal" and metric.bounds is None and words & _GRADED):
        return FittedMetric(metric, None)
    low, high = extremes_of(values)
    if low >= _MARKS[0] and high <= _MARKS[1]:
        return FittedMetric(replace(metric, bounds=_MARKS), _marks_note(metric))
    return FittedMetric(metric, None)


def _marks_note(metric: Metric) -> str:
    return (
        f"the scores of {metric.name!r} are read as marks from 1 to 5. If they are on another "
        f"scale, say so: {bounds_option(metric)}"
    )


def bounds_option(metric: Metric) -> str:
    """The option that says the bounds of a metric, for the end of a message."""
    return f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"


def refuse_two_scales(
    name: str, values: FloatArray, ids: pd.Series, first: int, second: int
) -> NoReturn:
    """Refuse a metric whose scores are on two scales: two cells, and the option that decides.

    Parameters
    ----------
    name : str
        The name of the metric.
    values : ndarray of shape (n,)
        Its scores.
    ids : Series of str
        The place of each score.
    first, second : int
        The positions of two scores that are on different scales.

    Raises
    ------
    DataError
        Always.

    Examples
    --------
    >>> refuse_two_scales("sas", np.array([0.5, 80.0]), pd.Series(["q1", "q2"]), 0, 1)
    Traceback (most recent call last):
        ...
    rageval_report.errors.DataError: metric 'sas' has scores on two scales: 0.5 at 'q1' and 80 at \
'q2'. Bring them to one scale, or say that they are on one: metrics={'sas': {'bounds': (low, high)}}
    """
    raise DataError(
        f"metric {name!r} has scores on two scales: {values[first]:g} at {ids.iloc[first]!r} and "
        f"{values[second]:g} at {ids.iloc[second]!r}. Bring them to one scale, or say that they "
        f"are on one: metrics={{{name!r}: {{'bounds': (low, high)}}}}"
    )
