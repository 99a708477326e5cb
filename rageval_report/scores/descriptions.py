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
from rageval_report.scores.cells import VERDICT_WORDS
from rageval_report.scores.column_scale import ScoreRange
from rageval_report.scores.metric import (
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
from rageval_report.scores.roles import ColumnRoles, resolver
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

_F1, _TOKEN_F1 = "f1", "token_f1"
# Beside these metrics of the answer "f1" is the F1 of the answer's words; beside precision and
# recall it is the F1 of retrieval.
_ANSWER_METRICS = frozenset(("answer_correctness", "exact_match", "exact_match_squad"))
_RETRIEVAL_PARTS = frozenset(("precision", "recall"))


class FittedMetric(NamedTuple):
    """A metric with the bounds of its scores, and a note if the catalogue has others."""

    metric: Metric
    note: str | None = None


class SharedScale(NamedTuple):
    """The kind and the bounds of a metric in all pipelines of a file."""

    kind: Kind
    bounds: ScoreRange | None


def describe_metrics(
    columns: ColumnRoles,
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
    known = _infer_metrics(columns, block)
    notes = _turn_verdicts(columns, known)
    by_file = {name: change for name, change in by_file.items() if normalise_name(name) in known}
    overridden = set()
    for name, change in (*by_file.items(), *by_caller.items()):
        column = resolver(known)(name)
        known[column] = override_metric(known[column], change)
        overridden.add(column)
    in_family = {resolver(known)(name) for name, change in by_caller.items() if _is_silent(change)}
    for name in columns.listed_by_caller | in_family:
        known[name] = replace(known[name], in_family=True)
    notes += [
        f"{name!r} is not a known metric; because of its name, lower is taken as better"
        for name, metric in columns.known.items()
        if metric is None and name not in overridden and not known[name].greater_is_better
    ]
    with_bounds = {*stated_bounds(by_file, by_caller), *columns.scales}
    for position, (name, metric) in enumerate(known.items()):
        if name in scales and name not in with_bounds:
            known[name] = replace(metric, kind=scales[name].kind, bounds=scales[name].bounds)
        elif name not in with_bounds:
            is_known = columns.known[name] is not None
            known[name], note = fit_scale(metric, block[:, position], ids, is_known=is_known)
            notes += [note] if note else []
    if by_name:
        notes += _decide_f1(known, overridden)
    for position, (name, metric) in enumerate(known.items()):
        known[name] = match_kind(metric, block[:, position])
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


def _is_silent(change: Override) -> bool:
    """Whether a description does not say itself if the metric counts in a correction."""
    is_said = isinstance(change, Mapping) and "in_family" in change
    return not isinstance(change, Metric) and not is_said


def _infer_metrics(columns: ColumnRoles, block: FloatArray) -> dict[str, Metric]:
    """The description of each metric in the catalogue, else inferred from its name and cells."""
    known = {
        name: replace(
            metric or infer_metric(name, block[:, position]),
            in_family=columns.is_in_family(name),
        )
        for position, (name, metric) in enumerate(columns.known.items())
    }
    for name in columns.shares:
        if columns.known[name] is None:  # 90 % becomes 0.9, so the title must not show a "%"
            known[name] = replace(known[name], title=title_of(name.replace("%", "")))
    for name, scale in columns.scales.items():
        known[name] = replace(known[name], kind="ordinal", bounds=scale)
    return known


def _turn_verdicts(columns: ColumnRoles, known: dict[str, Metric]) -> list[str]:
    """Make higher better where cells say "pass" or "fail", whatever the name says."""
    notes = []
    for name, words in columns.words.items():
        if not words & VERDICT_WORDS:
            continue
        if not known[name].greater_is_better:
            notes.append(
                f"{name!r} holds verdicts such as {min(words)!r}: a pass is better, although lower "
                "is better for the metric of this name"
            )
        known[name] = replace(known[name], greater_is_better=True, direction_is_known=True)
    return notes


def match_kind(metric: Metric, values: FloatArray) -> Metric:
    """The metric; a binary one becomes a proportion if some scores lie between 0 and 1."""
    if metric.kind != "binary" or is_binary(values):
        return metric
    return replace(metric, kind="proportion")


def _decide_f1(known: dict[str, Metric], described: Collection[str]) -> list[str]:
    """Make "f1" the F1 of the answer if all other metrics are of it; the reason as notes."""
    columns = {metric.known_as: name for name, metric in known.items()}
    neighbours = [columns[name] for name in sorted(_ANSWER_METRICS) if name in columns]
    name = columns.get(_F1)
    # Whoever described the column has decided already.
    if name is None or name in described or not neighbours:
        return []
    if _TOKEN_F1 in columns or _RETRIEVAL_PARTS & {*columns}:
        return []
    if any(other.group == "retrieval" and other.known_as != _F1 for other in known.values()):
        return [
            f"{name!r} may be a metric of retrieval or of the answer, because metrics of both are "
            f"in the table; it is read as retrieval. If it is the F1 of the answer, rename it to "
            f"{_TOKEN_F1!r}"
        ]
    token_f1 = Catalogue().find(_TOKEN_F1)
    if token_f1 is not None:
        known[name] = replace(token_f1, name=name)
    return [
        f"{name!r} appears beside {neighbours[0]!r}, so it is read as the F1 of the answer's words "
        f"({_TOKEN_F1}), not of retrieval"
    ]


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
                low, high = (float(bound) for bound in stated or ())
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
    if not is_known:
        is_graded = bool(_GRADED & set(re.split(r"[^a-z]+", metric.name)))
        if metric.kind == "ordinal" and metric.bounds is None and is_graded and are_marks:
            return _as_marks(metric)
        return FittedMetric(metric)
    if metric.bounds != UNIT or not LEAST_TOP <= high <= _PERCENT[1] or low < 0:
        return FittedMetric(metric)
    is_judged = metric.compute is None and metric.kind == "proportion"
    if high <= _HIGHEST_MARK and not is_judged:  # a count; the check of the bounds refuses it
        return FittedMetric(metric)
    is_small = (values > 0) & ((values < 1) | ((values == 1) & (high > _HIGHEST_MARK)))
    if is_small.any():
        places = int(np.flatnonzero(is_small)[0]), int(np.nanargmax(values))
        refuse_two_scales(metric.name, values, ids, *places)
    if high > _HIGHEST_MARK:
        return FittedMetric(
            replace(metric, kind="real", bounds=_PERCENT),
            f"the scores of {metric.name!r} are read as percent, from 0 to 100: the largest is "
            f"{high:g}. If they are on another scale, say so: {bounds_option(metric)}",
        )
    if are_marks:
        return _as_marks(metric)
    lowest = int(np.nanargmin(values))
    raise DataError(
        f"metric {metric.name!r} is known with scores from 0 to 1, but has {low:g} at "
        f"{ids.iloc[lowest]!r} and {high:g} at {ids.iloc[int(np.nanargmax(values))]!r}. Say on "
        f"which scale they are: {bounds_option(metric)}"
    )


def _as_marks(metric: Metric) -> FittedMetric:
    return FittedMetric(
        replace(metric, kind="ordinal", bounds=_MARKS),
        f"the scores of {metric.name!r} are read as marks from 1 to 5. If they are on another "
        f"scale, say so: {bounds_option(metric)}",
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
