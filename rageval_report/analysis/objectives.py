"""Objectives by which pipelines are chosen: metrics, on a scale from 0 (worst) to 1 (best).

The defaults and their weights are those of the weighted score of ragbench's later versions, with
three changes: an unknown cost is missing, never free; an objective without data is left out, with a
note; and accuracy counts the correct queries, by the rule of all reports, instead of averaging what
compares answers with references (with the dialect of ragbench it averages). An objective that names
metrics uses those that are present; if none of them is, it uses the metrics of its group that no
other objective names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from rageval_report.errors import DataError, UnknownNameError, UnknownValueError
from rageval_report.scores import Catalogue, Metric, Scored, normalise_name, resolver
from rageval_report.scores.correct import EXACT_MATCHES

_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")
# Other words before brackets are part of the name of a metric, such as "f1(macro)".
_STATISTIC_OF = re.compile(r"(mean|median|p\d+(?:\.\d+)?)\s*\(([^()]*)\)")
_END = re.compile(r"(worst|best)\s*=\s*(.*)")
# A comma that is not within brackets.
_COMMA = re.compile(r",(?![^()]*\))")
# The figures that can have a margin of their own.
SCORE, QUALITY = "score", "quality"


def quantile_of(statistic: str) -> float | None:
    """The quantile that a statistic is, between 0 and 1; None for the mean."""
    if statistic == "mean":
        return None
    match = _PERCENTILE.fullmatch("p50" if statistic == "median" else str(statistic))
    if match is None:
        raise UnknownValueError("statistic", statistic, ("mean", "median", "p95"))
    percentile = float(match[1])
    if not 0.0 < percentile < 100.0:
        raise DataError(
            f"statistic: a percentile must be between 0 and 100, such as p95; got {statistic!r}"
        )
    return percentile / 100.0


@dataclass(frozen=True, slots=True)
class Objective:
    """The definition of an objective: the mean of its metrics, each between 0 and 1.

    Parameters
    ----------
    metrics : tuple of str, or str
        Its metrics, by any of their names; those that are present have equal weights.
    group : str
        The group of metrics that is used if none of them is present; empty for none.
    statistic : str
        The statistic over the queries: "mean", "median", or a percentile such as "p95".
    worst, best : float, optional
        The values that count as 0 and as 1, as do all beyond them; the metric's bounds if omitted,
        or for cost_usd and latency_ms the values of the default objectives. Another metric without
        bounds needs them.
    counts_correct : bool
        Whether the share of correct queries, if it is known which are, takes the place of the
        metrics that compare the answer with the reference.

    Examples
    --------
    >>> Objective("cost_usd", best=0.0, worst=0.05).metrics
    ('cost_usd',)
    """

    metrics: tuple[str, ...] | str
    group: str = ""
    statistic: str = "mean"
    worst: float | None = None
    best: float | None = None
    counts_correct: bool = False

    def __post_init__(self) -> None:
        names = (self.metrics,) if isinstance(self.metrics, str) else tuple(self.metrics)
        object.__setattr__(self, "metrics", names)
        if not names:
            raise DataError("an objective needs at least one metric")
        quantile_of(self.statistic)  # raises for another word
        if self.worst is not None and self.worst == self.best:
            raise DataError(f"best and worst must differ; both are {self.best:g}")


ObjectiveMapping = Mapping[str, Objective | str | Sequence[str]]
ObjectivesArgument = ObjectiveMapping | Sequence[str] | None

# What says how far an answer agrees with the reference.
AGAINST_THE_REFERENCE = ("answer_correctness", *EXACT_MATCHES, "token_f1")
_REFUSALS = (
    *("unanswerable_accuracy", "false_refusal", "hallucinated_answer"),
    *("abstention_false_positive_rate", "abstention_false_negative_rate"),
)
_RETRIEVAL = (
    *("recall@1", "recall@3", "recall@5", "recall@10", "precision@1", "precision@3"),
    *("precision@5", "reciprocal_rank", "ndcg@10"),
)
_CITATION = ("citation_precision", "citation_recall", "section_accuracy")

OBJECTIVES: dict[str, Objective] = {
    "accuracy": Objective(
        (*AGAINST_THE_REFERENCE, "answer_relevancy", *_REFUSALS), "generation", counts_correct=True
    ),
    "faithfulness": Objective("faithfulness"),
    "citation": Objective(_CITATION, "citation"),
    "retrieval": Objective(_RETRIEVAL, "retrieval"),
    # The worst values are ragbench's thresholds: 10 US cents, and 30 seconds from end to end.
    "cost": Objective("cost_usd", best=0.0, worst=0.10),
    "latency": Objective("latency_ms", statistic="median", best=0.0, worst=30_000.0),
}
WEIGHTS = dict(zip(OBJECTIVES, (0.30, 0.20, 0.20, 0.15, 0.10, 0.05), strict=True))


# -- how objectives are written


def is_statistic_of_metrics(text: str) -> bool:
    """Whether a text has the form of a statistic of metrics, and not of a name."""
    return _STATISTIC_OF.match(text.strip()) is not None


def parse_objective(text: str) -> Objective:
    """The objective in a text: metrics, or a statistic of metrics; and the worst and best values.

    Examples
    --------
    >>> objective = parse_objective("p95(latency_ms), worst=5000, best=0")
    >>> objective.statistic, objective.metrics, objective.worst
    ('p95', ('latency_ms',), 5000.0)
    """
    pieces = [piece.strip() for piece in _COMMA.split(text)]
    ends = {match[1]: match[2] for match in map(_END.fullmatch, pieces) if match}
    for value in ends.values():
        if not math.isfinite(_number(value)):
            raise DataError(f"objective {text!r}: worst and best must be numbers; got {value!r}")
    metrics, statistic = [piece for piece in pieces if not _END.fullmatch(piece)], "mean"
    if len(metrics) == 1 and (call := _STATISTIC_OF.fullmatch(metrics[0])):
        statistic, metrics = call[1], [metric.strip() for metric in call[2].split(",")]
    if not metrics or not all(metrics) or any(map(is_statistic_of_metrics, metrics)):
        raise DataError(
            "an objective must be metrics, or one statistic of metrics, such as recall@5,ndcg@10 "
            f"or p95(latency_ms),worst=5000,best=0; got {text!r}"
        )
    worst, best = (float(ends[name]) if name in ends else None for name in ("worst", "best"))
    return Objective(tuple(metrics), statistic=statistic, worst=worst, best=best)


def objective_of(value: Objective | str | Sequence[str]) -> Objective:
    """An objective as it is, or from its text, or from the names of its metrics."""
    if isinstance(value, Objective):
        return value
    if not isinstance(value, str) and not any(map(is_statistic_of_metrics, value)):
        return Objective(tuple(value))
    return parse_objective(value if isinstance(value, str) else ", ".join(value))


def parse_named_objectives(texts: Iterable[str]) -> dict[str, Objective] | list[str] | None:
    """The objectives of several texts NAME=OBJECTIVE; a list of names if all of them are names."""
    listed = [text.strip() for text in texts]
    named: dict[str, Objective] = {}
    for text in listed:
        name, equals, rest = (part.strip() for part in text.partition("="))
        # Within brackets, or behind a comma, "=" belongs to worst=... or best=...
        if not equals or re.search("[(,]", name):
            # A name alone is that of a default objective, as in a list of names.
            named[text] = OBJECTIVES[text] if text in OBJECTIVES else parse_objective(text)
        elif not name or not rest:
            raise DataError(
                f"objective {text!r}: write NAME=METRIC,METRIC, NAME=p95(METRIC) or NAME"
            )
        else:
            named[name] = parse_objective(rest)
    return named if any("=" in text or "," in text for text in listed) else listed or None


# -- which objectives are chosen


def choose_objectives(
    runs: Sequence[Scored],
    objectives: ObjectivesArgument = None,
    weights: Mapping[str, float] | None = None,
) -> tuple[dict[str, Objective], dict[str, float]]:
    """The objectives that are known, and the weight of each chosen one, from the metrics alone."""
    known, metrics = dict(OBJECTIVES), metrics_of_any(runs)
    if isinstance(objectives, Mapping):
        known = {name: objective_of(value) for name, value in objectives.items()}
        for objective in known.values():
            # A default one may name metrics of other frameworks' files.
            if objective not in OBJECTIVES.values():
                _check_metrics(metrics, objective)
    if weights is None:
        weights = WEIGHTS
        if objectives is not None:
            own = weights if all(name in weights for name in objectives) else {}
            weights = {name: own.get(name, 1.0) for name in objectives}
    names = {name: _objective_name(metrics, known, name) for name in weights}
    chosen = {names[name]: weight for name, weight in _checked(weights).items()}
    return known, {name: weight for name, weight in chosen.items() if weight > 0}


def _checked(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights as numbers from 0 on, one of them above 0."""
    checked = {name: _number(weight) for name, weight in weights.items()}
    for name, weight in checked.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise DataError(f"the weight of {name!r} must be a number >= 0; got {weights[name]!r}")
    if not sum(checked.values()) > 0:
        raise DataError(
            "the weights of the objectives are all 0; at least one must be above 0, such as "
            "{'faithfulness': 2, 'cost': 1}"
        )
    return checked


def check_weights(
    weights: Mapping[str, float],
    objectives: Mapping[str, object] | None = None,
    metrics: Iterable[str] = (),
) -> None:
    """Check weights before there are scores, by objectives and metrics of the caller's own."""
    known = {*OBJECTIVES, *(objectives or ()), *metrics}
    for name in weights:
        if is_statistic_of_metrics(name):
            parse_objective(name)  # raises if it is none
        elif name not in known and Catalogue().find(name) is None:
            raise UnknownNameError("objective or metric", name, known)
    if weights:
        _checked(weights)


def check_margins(
    margins: Mapping[str, float] | None,
    metrics: Mapping[str, Metric],
    objectives: Iterable[str] = (),
) -> dict[str, float]:
    """The margins by metric, objective or figure ("score", "quality"), by the pipelines' names."""
    figures, checked = {SCORE, QUALITY, *objectives}, dict[str, float]()
    for name, margin in (margins or {}).items():
        if not (isinstance(margin, Real) and math.isfinite(_number(margin)) and margin > 0):
            raise DataError(f"margins: that of {name!r} must be a number above 0; got {margin!r}")
        try:
            own = name if name in figures else resolver(metrics)(name)
        except UnknownNameError:
            raise UnknownNameError("metric or objective", name, {*metrics, *figures}) from None
        checked[own] = float(margin)
    return checked


def _number(value: Any) -> float:
    """A number, also from its text; NaN for anything else."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _check_metrics(metrics: Mapping[str, Metric], objective: Objective) -> None:
    for name in objective.metrics:
        if Catalogue().find(name) is None:  # misspelt, and not only missing in these runs
            resolver(metrics)(name)


def metrics_of_any(runs: Sequence[Scored]) -> dict[str, Metric]:
    """The metrics of all pipelines, also those that some of them lack, as the first describes."""
    return {name: metric for run in reversed(runs) for name, metric in run.metrics.items()}


def _objective_name(metrics: Mapping[str, Metric], known: dict[str, Objective], name: str) -> str:
    """The objective of that name; else the metric, which becomes one."""
    spelled = normalise_name(name)
    if name in known or spelled in known:
        return name if name in known else spelled
    if is_statistic_of_metrics(name):
        known[name] = parse_objective(name)
        _check_metrics(metrics, known[name])
        return name
    try:
        metric = resolver(metrics)(name)
    except UnknownNameError:
        raise UnknownNameError("objective or metric", name, {*known, *metrics}) from None
    known[metric] = objective_of_metric(metrics[metric])
    return metric


def objective_of_metric(metric: Metric) -> Objective:
    """A metric as an objective; with the scale of a default one if it is that one's only metric."""
    for objective in OBJECTIVES.values():
        if len(objective.metrics) == 1 and concerns(objective, metric):
            return replace(objective, metrics=(metric.name,), group="")
    return Objective(metric.name)


def concerns(objective: Objective, metric: Metric) -> bool:
    """Whether a metric is one of those of an objective, under any of its names."""
    entries = map(Catalogue().find, objective.metrics)
    names = {*map(normalise_name, objective.metrics), *(each.known_as for each in entries if each)}
    return not names.isdisjoint((metric.name, metric.known_as))
