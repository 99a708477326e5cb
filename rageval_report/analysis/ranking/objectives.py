"""What pipelines are chosen by: objectives made of metrics, turned so that 1 is best and 0 worst.

The defaults and their weights are those of the weighted score of ragbench's later versions, with
three changes: a cost that is not known is missing, never free; an objective without data is left
out and said to be; and accuracy takes what the reference told beside what was judged. An objective
that names metrics takes those that are there; where none of them is, it takes the metrics of its
group that no other objective names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rageval_report.analysis.ranking.lineup import Lineup, ScoreBlock
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import Catalogue, Metric, normalise_name, resolver
from rageval_report.stats.resampled import STATISTICS
from rageval_report.types import FloatArray

Statistic = Literal["mean", "median"]


@dataclass(frozen=True, slots=True)
class Objective:
    """What an objective is made of: the mean of its metrics, each between 0 and 1.

    Parameters
    ----------
    metrics : tuple of str, or str
        Its metrics by any of their names; those that are there count alike.
    group : str
        The group of metrics that stands in where none of them is there; none where empty.
    statistic : {"mean", "median"}
        What is taken of the queries.
    worst, best : float, optional
        The values that count as 0 and as 1, and all beyond them; the metric's bounds where not
        given. A metric without bounds needs them.

    Examples
    --------
    >>> Objective("cost_usd", best=0.0, worst=0.05).metrics
    ('cost_usd',)
    """

    metrics: tuple[str, ...] | str
    group: str = ""
    statistic: Statistic = "mean"
    worst: float | None = None
    best: float | None = None

    def __post_init__(self) -> None:
        names = (self.metrics,) if isinstance(self.metrics, str) else tuple(self.metrics)
        object.__setattr__(self, "metrics", names)
        if not names:
            raise DataError("an objective needs at least one metric")
        if self.statistic not in STATISTICS:
            raise UnknownNameError("statistic of an objective", self.statistic, STATISTICS)
        if self.worst is not None and self.worst == self.best:
            raise DataError(f"best and worst of an objective must differ; both are {self.best:g}")


ObjectivesArgument = Mapping[str, Objective | str | Sequence[str]] | Sequence[str] | None

# Correctness where no judge told it, and beside one where it did; ragbench has neither of them.
_AGAINST_THE_REFERENCE = ("exact_match", "exact_match_squad", "token_f1")
_RATES = ("abstention_false_positive_rate", "abstention_false_negative_rate")

OBJECTIVES: dict[str, Objective] = {
    "accuracy": Objective(
        (
            *("answer_correctness", *_AGAINST_THE_REFERENCE, "answer_relevancy"),
            *("unanswerable_accuracy", "false_refusal", "hallucinated_answer", *_RATES),
        ),
        "generation",
    ),
    "faithfulness": Objective("faithfulness"),
    "citation": Objective(
        ("citation_precision", "citation_recall", "section_accuracy"), "citation"
    ),
    "retrieval": Objective(
        (
            *("recall@1", "recall@3", "recall@5", "recall@10", "precision@1", "precision@3"),
            *("precision@5", "reciprocal_rank", "ndcg@10"),
        ),
        "retrieval",
    ),
    "cost": Objective("cost_usd", best=0.0, worst=0.10),
    "latency": Objective("latency_ms", statistic="median", best=0.0, worst=30_000.0),
}
WEIGHTS: dict[str, float] = {
    "accuracy": 0.30,
    "faithfulness": 0.20,
    "citation": 0.20,
    "retrieval": 0.15,
    "cost": 0.10,
    "latency": 0.05,
}
QUALITY = ("accuracy", "faithfulness", "citation", "retrieval")


@dataclass(frozen=True, eq=False)
class ObjectivePart:
    """One metric of an objective, on the queries that every pipeline scored.

    Parameters
    ----------
    block : ScoreBlock
        The scores.
    statistic : {"mean", "median"}
        What is taken of them.
    worst, best : float or None
        What counts as 0 and as 1; None where neither the metric nor the objective says it.
    """

    block: ScoreBlock
    statistic: Statistic
    worst: float | None
    best: float | None

    @property
    def greater_is_better(self) -> bool:
        """The direction, by the ends where they are known."""
        if self.worst is None or self.best is None:
            return self.block.metric.greater_is_better
        return self.best > self.worst

    @property
    def scale(self) -> tuple[float, float] | None:
        """The worst and the best, where the metric's bounds do not say them."""
        if self.worst is None or self.best is None:
            return None
        ends = self.worst, self.best
        return None if set(ends) == set(_ends(self.block.metric)) else ends

    def shares(self, values: FloatArray) -> FloatArray:
        """Between 0 at the worst and 1 at the best.

        Raises
        ------
        DataError
            If it is not known what is worst, or best.
        """
        if self.worst is None or self.best is None:
            name = self.block.metric.name
            raise DataError(
                f"{name!r} has no bounds, so it is not known what counts as 0 and as 1; say so: "
                f"objectives={{{name!r}: Objective({name!r}, best=..., worst=...)}}"
            )
        moved: FloatArray = (values - self.worst) / (self.best - self.worst)
        return np.clip(moved, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Aim:
    """An objective of all pipelines: its weight, and its metrics; none where there is no data."""

    name: str
    weight: float
    parts: tuple[ObjectivePart, ...]
    missing: str = ""

    @property
    def told(self) -> str:
        """What it is made of, as "mean of recall@5 and ndcg@10"."""
        names = [_told_metric(part.block.metric) for part in self.parts]
        return f"{self.parts[0].statistic} of {', '.join(names)}" if names else self.missing

    @property
    def told_with_ends(self) -> str:
        """The same, with what counts as 0 and as 1 where the metrics' own bounds do not say it."""
        scales = dict.fromkeys(part.scale for part in self.parts if part.scale is not None)
        return "; ".join([self.told, *(f"0 at {worst:g}, 1 at {best:g}" for worst, best in scales)])


def _told_metric(metric: Metric) -> str:
    spent = metric.group == "performance"  # of which everybody knows which way is better
    return metric.name if metric.greater_is_better or spent else f"{metric.name} (lower is better)"


def resolve_objectives(
    lineup: Lineup,
    objectives: ObjectivesArgument = None,
    weights: Mapping[str, float] | None = None,
) -> list[Aim]:
    """The objectives that are meant, with their weights and the metrics that they find.

    Parameters
    ----------
    lineup : Lineup
        The pipelines.
    objectives : mapping of str to Objective, str or sequence of str; or names; optional
        A mapping says what each is made of; names choose among the default ones and the metrics.
    weights : mapping of str to float, optional
        By objective, or by metric, which is then an objective by itself. Objectives without a
        weight are left out. Where not given, the default ones if all have one, else all alike.

    Returns
    -------
    list of Aim
        In order; one without data in every pipeline has no parts.

    Raises
    ------
    DataError
        If a weight is negative or not finite, or all of them are 0.
    UnknownNameError
        If a name is neither an objective nor a metric.
    """
    known = _known(lineup, objectives)
    chosen = _weights(lineup, known, objectives, weights)
    return [_aim(lineup, name, known, weight) for name, weight in chosen.items()]


def _known(lineup: Lineup, objectives: ObjectivesArgument) -> dict[str, Objective]:
    if not isinstance(objectives, Mapping):
        return dict(OBJECTIVES)
    made = {
        name: one if isinstance(one, Objective) else Objective(_names(one))
        for name, one in objectives.items()
    }
    resolve, catalogue = resolver(_metrics(lineup)), Catalogue()
    for one in made.values():
        for metric in one.metrics:
            if catalogue.find(metric) is None:  # a misspelt metric is no missing one
                resolve(metric)
    return made


def _names(told: str | Sequence[str]) -> tuple[str, ...]:
    return (told,) if isinstance(told, str) else tuple(told)


def _metrics(lineup: Lineup) -> dict[str, Metric]:
    """Every metric of any pipeline: one that some lack is missing, not misspelt."""
    return {name: metric for run in reversed(lineup.runs) for name, metric in run.metrics.items()}


def _weights(
    lineup: Lineup,
    known: dict[str, Objective],
    objectives: ObjectivesArgument,
    weights: Mapping[str, float] | None,
) -> dict[str, float]:
    """The weight of each objective, checked; metrics that are named become objectives."""
    asked: Mapping[str, float]
    if weights is not None:
        asked = weights
    elif objectives is None:
        asked = WEIGHTS
    else:
        are_default = all(name in WEIGHTS for name in objectives)
        asked = {name: WEIGHTS[name] if are_default else 1.0 for name in objectives}
    chosen = {
        _objective_name(lineup, known, name): _weight(name, one) for name, one in asked.items()
    }
    if not chosen or not sum(chosen.values()) > 0:
        raise DataError(
            "the weights of the objectives are all 0; at least one must be above 0, as "
            "{'faithfulness': 2, 'cost': 1}"
        )
    return {name: weight for name, weight in chosen.items() if weight > 0}


def _weight(name: str, weight: object) -> float:
    try:
        number = float(weight)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(weight, bool) or not (np.isfinite(number) and number >= 0):
        raise DataError(f"the weight of {name!r} must be a number of at least 0; got {weight!r}")
    return number


def _objective_name(lineup: Lineup, known: dict[str, Objective], name: str) -> str:
    """The objective of that name; else the metric, which becomes one."""
    spelled = normalise_name(name)
    if name in known or spelled in known:
        return name if name in known else spelled
    metrics = _metrics(lineup)
    try:
        metric = resolver(metrics)(name)
    except UnknownNameError:
        raise UnknownNameError("objective or metric", name, {*known, *metrics}) from None
    known[metric] = _alone(metrics[metric])
    return metric


def _alone(metric: Metric) -> Objective:
    """A metric as an objective, with the ends of the default one that it makes alone, if any."""
    for one in OBJECTIVES.values():
        if len(one.metrics) == 1 and _is_one_of(metric, _spellings(one)):
            return replace(one, metrics=(metric.name,), group="")
    return Objective(metric.name)


# -- the data of an objective


def _aim(lineup: Lineup, name: str, known: Mapping[str, Objective], weight: float) -> Aim:
    objective = known[name]
    found = _found(lineup, objective, known)
    blocks = {one: lineup.block(one) for one in found}
    full = [block for block in blocks.values() if _is_full(block, lineup)]
    if not full:
        return Aim(name, weight, (), _why_missing(objective, blocks, lineup))
    return Aim(name, weight, tuple(_part(objective, block) for block in full))


def _is_full(block: ScoreBlock, lineup: Lineup) -> bool:
    return len(block.names) == len(lineup.runs) and bool(len(block.complete))


def _found(lineup: Lineup, objective: Objective, known: Mapping[str, Objective]) -> list[str]:
    """The metrics of an objective that every pipeline has, in the order of the table."""
    wanted = _spellings(objective)
    named = [name for name, shared in lineup.metrics.items() if _is_one_of(shared[0], wanted)]
    if named or not objective.group:
        return named
    taken = set().union(*map(_spellings, known.values()))
    return [
        name
        for name, (metric, *_) in lineup.metrics.items()
        if metric.group == objective.group
        and metric.bounds is not None
        and not _is_one_of(metric, taken)
    ]


def _spellings(objective: Objective) -> set[str]:
    """The names of an objective's metrics, as they are written and as the catalogue has them."""
    catalogue = Catalogue()
    found = [catalogue.find(name) for name in objective.metrics]
    return {
        *(normalise_name(name) for name in objective.metrics),
        *(metric.known_as for metric in found if metric is not None),
    }


def _is_one_of(metric: Metric, names: set[str]) -> bool:
    return bool({metric.name, metric.known_as} & names)


def _why_missing(objective: Objective, blocks: Mapping[str, ScoreBlock], lineup: Lineup) -> str:
    for block in blocks.values():
        if block.empty:
            return f"{block.metric.name} is not known of {', '.join(block.empty)}"
        return f"no query has {block.metric.name} of every pipeline"
    wanted = _spellings(objective)
    for name, metric in _metrics(lineup).items():
        if _is_one_of(metric, wanted):
            lacking = [run.name for run in lineup.runs if name not in run.metrics]
            return f"{name} is not known of {', '.join(lacking)}"
    return "no metric for it"


def _part(objective: Objective, block: ScoreBlock) -> ObjectivePart:
    low, high = _ends(block.metric)
    worst, best = (low, high) if block.metric.greater_is_better else (high, low)
    return ObjectivePart(
        block,
        objective.statistic,
        worst if objective.worst is None else objective.worst,
        best if objective.best is None else objective.best,
    )


def _ends(metric: Metric) -> tuple[float | None, float | None]:
    """The bounds; a similarity below 0 is none, and counts as 0."""
    if metric.bounds is None:
        return None, None
    low, high = metric.bounds
    return (0.0 if -1.0 <= low < 0.0 and high == 1.0 else low), high
