"""The weighted score of one run, and the part of each objective in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import pandas as pd

from rageval_report.analysis.ranking.lineup import Lineup
from rageval_report.analysis.ranking.objective_definitions import (
    OBJECTIVES,
    WEIGHTS,
    Objective,
    is_statistic_of_metrics,
    parse_objective,
)
from rageval_report.analysis.ranking.weighted import weighted_scores
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Catalogue, Scored

ObjectiveMapping: TypeAlias = Mapping[str, Objective | str | Sequence[str]]

WHOLE = "weighted score"

_PARTS = ("objective", "weight", "effective_weight", "value", "contribution", "made_of")
_HEADLINE = ("objective", "value", "ci_low", "ci_high", "weight", "contribution")


def weighted_score(
    evaluation: Scored,
    weights: Mapping[str, float] | None = None,
    objectives: ObjectiveMapping | None = None,
) -> Result:
    """The weighted score of one run, and the part of each objective in it.

    Parameters
    ----------
    evaluation : Scored
        The run.
    weights, objectives : mapping, optional
        As for `rageval_report.rank`; the default ones if omitted. An objective under the name of a
        default one replaces it.

    Returns
    -------
    Result
        One row for the whole, with its interval, and one row per objective: its weight, its
        effective weight without the objectives that have no data, its value from 0 to 1, and its
        contribution.

    Raises
    ------
    DataError
        If no objective has data.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a", "b"], "faithfulness": [1.0, 0.5], "recall@5": [0.5, 0.0]}
    >>> run = RAGPipelineEvaluation("rag", data)
    >>> result = weighted_score(run, {"faithfulness": 2, "recall@5": 1})
    >>> result.frame.set_index("objective")["contribution"].round(3).to_dict()
    {'weighted score': 0.583, 'faithfulness': 0.5, 'recall@5': 0.083}
    """
    # By hand, because `line_up` refuses a single run.
    lineup = Lineup(
        runs=(evaluation,),
        ids=evaluation.scores.index,
        rows=(None,),
        metrics={name: (metric,) for name, metric in evaluation.metrics.items()},
        notes=(),
    )
    scores = weighted_scores(
        lineup, *_add_defaults(weights or {}, objectives or {}, evaluation.metrics)
    )
    first = scores.frame.iloc[0]
    whole = {
        "objective": WHOLE,
        "value": first["score"],
        "contribution": first["score"],
        "ci_low": first["ci_low"],
        "ci_high": first["ci_high"],
    }
    parts = scores.contributions.frame[list(_PARTS)].to_dict("records")
    frame = pd.DataFrame([whole, *parts], columns=[*_PARTS, "ci_low", "ci_high"])
    title = f"Weighted score of {evaluation.name}"
    return Result(title, frame, scores.settings, scores.notes, headline=_HEADLINE)


def check_weights(
    weights: Mapping[str, float],
    objectives: Mapping[str, object] | None = None,
    metrics: Iterable[str] = (),
) -> None:
    """Check weights before there are scores.

    Parameters
    ----------
    weights : mapping of str to float
        By objective or metric.
    objectives : mapping, optional
        The user's own objectives.
    metrics : iterable of str
        Names of metrics that are not in the catalogue.

    Raises
    ------
    UnknownNameError
        If one is neither an objective nor a metric.
    DataError
        If one is negative or not finite, or all of them are 0.

    Examples
    --------
    >>> check_weights({"accuracy": 2, "recall@5": 1})
    """
    known = {*OBJECTIVES, *(objectives or ()), *metrics}
    catalogue = Catalogue()
    for name, weight in weights.items():
        if is_statistic_of_metrics(name):
            parse_objective(name)  # raises if it is none
        elif name not in known and catalogue.find(name) is None:
            raise UnknownNameError("objective or metric", name, known)
        if not 0.0 <= weight < math.inf:
            raise DataError(f"the weight of {name!r} must be a number >= 0; got {weight}")
    if weights and not sum(weights.values()) > 0.0:
        raise DataError("the weights of the objectives are all 0; at least one must be above 0")


def _add_defaults(
    weights: Mapping[str, float],
    objectives: ObjectiveMapping,
    metrics: Iterable[str],
) -> tuple[Mapping[str, float] | None, ObjectiveMapping | None]:
    """The weights and objectives, with the default ones unless all are the user's own."""
    if not objectives:
        return weights or None, None
    if weights or objectives.keys() <= OBJECTIVES.keys():
        defaults = {
            name: _with_known_metrics(objective, metrics) for name, objective in OBJECTIVES.items()
        }
        return weights or WEIGHTS, {**defaults, **objectives}
    return None, objectives


def _with_known_metrics(objective: Objective, metrics: Iterable[str]) -> Objective:
    """A default objective without the metrics that only another framework's files have."""
    catalogue, own = Catalogue(), set(metrics)
    known = [name for name in objective.metrics if name in own or catalogue.find(name) is not None]
    return replace(objective, metrics=tuple(known))
