"""The weighted score of one run: what its objectives are worth, and what each adds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import pandas as pd

from rageval_report.analysis.ranking.lineup import Lineup
from rageval_report.analysis.ranking.objectives import OBJECTIVES, WEIGHTS, Objective
from rageval_report.analysis.ranking.weighted import weighted_scores
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Catalogue, Scored

Objectives: TypeAlias = Mapping[str, Objective | str | Sequence[str]]

WHOLE = "weighted score"

_PARTS = ("objective", "weight", "effective_weight", "value", "contribution", "made_of")
_HEADLINE = ("objective", "value", "ci_low", "ci_high", "weight", "contribution")


def weighted_score(
    evaluation: Scored,
    weights: Mapping[str, float] | None = None,
    objectives: Objectives | None = None,
) -> Result:
    """The weighted score of one run, with what it is made of.

    Parameters
    ----------
    evaluation : Scored
        The run.
    weights, objectives : mapping, optional
        As for `rageval_report.rank`; the default ones where not given. An objective under the name
        of a default one stands in its place.

    Returns
    -------
    Result
        A row for the whole, with its interval, and a row an objective: its weight, the weight that
        counts once objectives without data are left out, its value from 0 to 1, and what it adds.

    Raises
    ------
    DataError
        If no objective has data.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a", "b"], "faithfulness": [1.0, 0.5], "recall@5": [0.5, 0.0]}
    >>> run = RAGPipelineEvaluation("rag", data)
    >>> told = weighted_score(run, {"faithfulness": 2, "recall@5": 1})
    >>> told.frame.set_index("objective")["contribution"].round(3).to_dict()
    {'weighted score': 0.583, 'faithfulness': 0.5, 'recall@5': 0.083}
    """
    lineup = Lineup(
        runs=(evaluation,),
        ids=evaluation.scores.index,
        rows=(None,),
        metrics={name: (metric,) for name, metric in evaluation.metrics.items()},
        notes=(),
    )
    found = weighted_scores(
        lineup, *_completed(weights or {}, objectives or {}, evaluation.metrics)
    )
    first = found.frame.iloc[0]
    whole = {
        "objective": WHOLE,
        "value": first["score"],
        "contribution": first["score"],
        "ci_low": first["ci_low"],
        "ci_high": first["ci_high"],
    }
    parts = found.contributions.frame[list(_PARTS)].to_dict("records")
    frame = pd.DataFrame([whole, *parts], columns=[*_PARTS, "ci_low", "ci_high"])
    title = f"Weighted score of {evaluation.name}"
    return Result(title, frame, found.settings, found.notes, headline=_HEADLINE)


def check_weights(
    weights: Mapping[str, float],
    objectives: Mapping[str, object] | None = None,
    metrics: Iterable[str] = (),
) -> None:
    """Refuse weights that make no sense, while the scores are not there yet.

    Parameters
    ----------
    weights : mapping of str to float
        By objective or metric.
    objectives : mapping, optional
        Objectives of the user's own.
    metrics : iterable of str
        Names of metrics that no catalogue has.

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
        if name not in known and catalogue.find(name) is None:
            raise UnknownNameError("objective or metric", name, known)
        if not 0.0 <= weight < math.inf:
            raise DataError(f"the weight of {name!r} must be a number of at least 0; got {weight}")
    if weights and not sum(weights.values()) > 0.0:
        raise DataError("the weights of the objectives are all 0; at least one must be above 0")


def _completed(
    weights: Mapping[str, float],
    objectives: Objectives,
    metrics: Iterable[str],
) -> tuple[Mapping[str, float] | None, Objectives | None]:
    """Weights and objectives with the default ones beside them, unless all are the user's own."""
    if not objectives:
        return weights or None, None
    if weights or objectives.keys() <= OBJECTIVES.keys():
        whole = {name: _of_known(one, metrics) for name, one in OBJECTIVES.items()}
        return weights or WEIGHTS, {**whole, **objectives}
    return None, objectives


def _of_known(objective: Objective, metrics: Iterable[str]) -> Objective:
    """A default objective without the metrics that only files of another framework have."""
    catalogue, there = Catalogue(), set(metrics)
    named = [one for one in objective.metrics if one in there or catalogue.find(one) is not None]
    return replace(objective, metrics=tuple(named))
