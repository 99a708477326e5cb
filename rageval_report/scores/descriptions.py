"""Fits the description of each metric to the scores of a table: its scale, its kind, its title.

Judges of Azure, MLflow and others grade from 1 to 5 what Ragas and Haystack score from 0 to 1 under
the same name, and some tools write percent. The scores are kept as they are in the file; the bounds
of the metric become those of the scale. Runs with different bounds are not compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple, NoReturn

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.scores.cells import VERDICT_WORDS, ScoreRange
from rageval_report.scores.metric import (
    WORDS,
    Catalogue,
    Kind,
    Metric,
    Override,
    extremes_of,
    infer_metric,
    is_binary,
    normalise_name,
    override_metric,
    title_of,
)
from rageval_report.scores.roles import MetricColumn, resolver
from rageval_report.types import FloatArray

UNIT: ScoreRange = (0.0, 1.0)
_MARKS: ScoreRange = (1.0, 5.0)
_PERCENT: ScoreRange = (0.0, 100.0)
# Larger values than a mark has, on any usual scale of marks.
_HIGHEST_MARK = 10.0
# The highest mark of a column is at least this; 1.5 is a wrong score between 0 and 1.
LEAST_TOP = 2.0
_GRADED = frozenset(WORDS["metrics"]["graded"].split())

# Beside these metrics of the answer "f1" is the F1 of the answer's words; beside metrics of
# retrieval it is the F1 of retrieval.
_ANSWER_METRICS = frozenset(("answer_correctness", "exact_match", "exact_match_squad"))


class FittedMetric(NamedTuple):
    """A metric with the bounds of its scores, and a note if the catalogue has others."""

    metric: Metric
    note: str | None = None


class SharedScale(NamedTuple):
    """The kind and the bounds of a metric in all pipelines of a file."""

    kind: Kind
    bounds: ScoreRange | None


def describe_metrics(
    columns: Mapping[str, MetricColumn],
    block: FloatArray,
    ids: pd.Series,
    *,
    by_caller: Mapping[str, Override],
    by_file: Mapping[str, Override],
    scales: Mapping[str, SharedScale],
    by_name: bool,
) -> tuple[dict[str, Metric], list[str]]:
    """The description of each metric: catalogue or scores, changed by the file, then the caller.

    `block` has a column of scores per metric; `by_name` says that no format lists the metrics, so
    that "f1" may be either of two.
    """
    arrays = dict(zip(columns, block.T, strict=True))
    known = {name: _infer_metric(name, own, arrays[name]) for name, own in columns.items()}
    notes: list[str] = []
    for name, column in columns.items():
        if column.words & VERDICT_WORDS:  # a pass is better, whatever the column is called
            known[name] = replace(known[name], greater_is_better=True, direction_is_known=True)
    of_file = {name: change for name, change in by_file.items() if normalise_name(name) in known}
    resolve, overridden = resolver(known), set()
    for name, change in (*of_file.items(), *by_caller.items()):
        column_name = resolve(name)
        known[column_name] = override_metric(known[column_name], change)
        overridden.add(column_name)
    for name, change in by_caller.items():
        # A description may say itself if the metric counts in a correction.
        if not isinstance(change, Metric) and "in_family" not in change:
            known[resolve(name)] = replace(known[resolve(name)], in_family=True)
    with_bounds = stated_bounds(of_file, by_caller)
    for name, column in columns.items():
        if column.is_listed:
            known[name] = replace(known[name], in_family=True)
        is_guess = column.known is None and name not in overridden
        if is_guess and not known[name].greater_is_better:
            notes.append(
                f"{name!r} is not a known metric; because of its name, lower is taken as better"
            )
        if name in with_bounds:
            continue
        if name in scales:
            known[name] = replace(known[name], kind=scales[name].kind, bounds=scales[name].bounds)
        else:
            fitted = fit_scale(known[name], arrays[name], ids, is_known=column.known is not None)
            known[name] = fitted.metric
            notes += [fitted.note] if fitted.note else []
    if by_name:
        notes += _decide_f1(known, overridden)
    for name, metric in known.items():
        known[name] = match_kind(metric, arrays[name])
        if known[name].kind != metric.kind:
            notes.append(
                f"{name!r} should be 0 or 1, but some scores lie between them: it is read as a "
                "proportion"
            )
    titles = Counter(metric.title for metric in known.values())
    for name, metric in known.items():
        if titles[metric.title] > 1:
            known[name] = replace(metric, title=f"{metric.title} ({name})")
    return known, notes


def _infer_metric(name: str, column: MetricColumn, values: FloatArray) -> Metric:
    """The description of a metric in the catalogue, else inferred from its name and cells."""
    metric = column.known or infer_metric(name, values)
    if column.known is None and column.are_shares:
        # 90 % becomes 0.9, so the title must not show a "%".
        metric = replace(metric, title=title_of(name.replace("%", "")))
    return replace(metric, in_family=column.is_in_family)


def match_kind(metric: Metric, values: FloatArray) -> Metric:
    """The metric; a binary one becomes a proportion if some scores lie between 0 and 1."""
    is_matching = metric.kind != "binary" or is_binary(values)
    return metric if is_matching else replace(metric, kind="proportion")


def _decide_f1(known: dict[str, Metric], described: Collection[str]) -> list[str]:
    """Make "f1" the F1 of the answer beside metrics of the answer alone; a note if it is."""
    columns = {metric.known_as: name for name, metric in known.items()}
    name, token_f1 = columns.pop("f1", None), Catalogue().find("token_f1")
    is_retrieval = any(known[other].group == "retrieval" for other in columns.values())
    # Whoever described the column has decided already.
    if name is None or token_f1 is None or name in described or is_retrieval:
        return []
    if _ANSWER_METRICS.isdisjoint(columns) or token_f1.name in columns:
        return []
    known[name] = replace(token_f1, name=name)
    return [f"{name!r} is read as the F1 of the answer's words, not of retrieval"]


# -- scales


def stated_bounds(*descriptions: object) -> dict[str, ScoreRange]:
    """The bounds that mappings of descriptions state, by normalised name; the last one wins.

    Examples
    --------
    >>> stated_bounds({"Recall@5": {"bounds": (0, 100)}, "mrr": "higher"}, None)
    {'recall@5': (0.0, 100.0)}
    """
    bounds: dict[str, ScoreRange] = {}
    for description in descriptions:
        for name, change in description.items() if isinstance(description, Mapping) else ():
            stated = change.get("bounds") if isinstance(change, Mapping) else None
            stated = change.bounds if isinstance(change, Metric) else stated
            try:
                low, high = map(float, stated or ())
            except (TypeError, ValueError):  # refused where the description is applied
                continue
            bounds[normalise_name(str(name))] = low, high
    return bounds


def fit_scale(
    metric: Metric, values: FloatArray, ids: pd.Series, *, is_known: bool
) -> FittedMetric:
    """The metric with the bounds of the scale of its scores; a note if the catalogue has others.

    Raises
    ------
    DataError
        If the scores lie beyond the bounds, and several scales are possible.

    Examples
    --------
    >>> known = Metric("groundedness", kind="proportion")
    >>> scores, ids = np.array([4.0, 1.0]), pd.Series(["q1", "q2"])
    >>> fit_scale(known, scores, ids, is_known=True).metric.bounds
    (1.0, 5.0)
    """
    low, high = extremes_of(values)
    are_marks = low >= _MARKS[0] and high <= _MARKS[1]
    option = bounds_option(metric)
    as_marks = FittedMetric(
        replace(metric, kind="ordinal", bounds=_MARKS),
        f"the scores of {metric.name!r} are read as marks from 1 to 5. If they are on another "
        f"scale, say so: {option}",
    )
    if not is_known:
        is_graded = bool(_GRADED & set(re.split(r"[^a-z]+", metric.name)))
        is_open = metric.kind == "ordinal" and metric.bounds is None
        return as_marks if is_open and is_graded and are_marks else FittedMetric(metric)
    if metric.bounds != UNIT or not LEAST_TOP <= high <= _PERCENT[1] or low < 0:
        return FittedMetric(metric)
    is_judged = metric.compute is None and metric.kind == "proportion"
    if high <= _HIGHEST_MARK and not is_judged:  # a count; the check of the bounds refuses it
        return FittedMetric(metric)
    is_small = (values > 0) & ((values < 1) | ((values == 1) & (high > _HIGHEST_MARK)))
    highest = int(np.nanargmax(values))
    if is_small.any():
        refuse_two_scales(metric.name, values, ids, int(np.flatnonzero(is_small)[0]), highest)
    if high > _HIGHEST_MARK:
        return FittedMetric(
            replace(metric, kind="real", bounds=_PERCENT),
            f"the scores of {metric.name!r} are read as percent, from 0 to 100: the largest is "
            f"{high:g}. If they are on another scale, say so: {option}",
        )
    if are_marks:
        return as_marks
    raise DataError(
        f"metric {metric.name!r} is known with scores from 0 to 1, but has {low:g} at "
        f"{ids.iloc[int(np.nanargmin(values))]!r} and {high:g} at {ids.iloc[highest]!r}. Say on "
        f"which scale they are: {option}"
    )


def bounds_option(metric: Metric) -> str:
    """The option that says the bounds of a metric, for the end of a message."""
    return f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"


def refuse_two_scales(
    name: str, values: FloatArray, ids: pd.Series, first: int, second: int
) -> NoReturn:
    """Refuse a metric whose scores are on two scales: two cells, and the option that decides."""
    raise DataError(
        f"metric {name!r} has scores on two scales: {values[first]:g} at {ids.iloc[first]!r} and "
        f"{values[second]:g} at {ids.iloc[second]!r}. Bring them to one scale, or say that they "
        f"are on one: metrics={{{name!r}: {{'bounds': (low, high)}}}}"
    )
