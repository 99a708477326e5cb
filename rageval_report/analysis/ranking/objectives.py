"""The objectives of several pipelines, with their data: what each is made of, on which queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rageval_report.analysis.ranking.lineup import Lineup, ScoreBlock
from rageval_report.analysis.ranking.objective_definitions import (
    AGAINST_THE_REFERENCE,
    OBJECTIVES,
    WEIGHTS,
    Objective,
    ObjectivesArgument,
    is_statistic_of_metrics,
    objective_of,
    parse_objective,
    quantile_of,
)
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import Catalogue, Metric, Scored, normalise_name, resolver
from rageval_report.scores.catalogue.dialects import recorded_dialect
from rageval_report.scores.correct_notion import (
    EXACT_MATCHES,
    CorrectNotion,
    answers_by,
    shared_notions,
)
from rageval_report.stats.units import FEWEST_UNITS
from rageval_report.types import FloatArray

_CORRECT = Metric("correct", title="Correct", group="generation", kind="binary")

# With fewer scores than this beyond a percentile, the bootstrap test of a difference shows
# differences by chance too often: see `ObjectivePart.fewest`.
_FEWEST_BEYOND = 5.0


@dataclass(frozen=True, eq=False)
class ObjectivePart:
    """One metric of an objective, on the queries that every pipeline scored.

    Parameters
    ----------
    block : ScoreBlock
        The scores.
    statistic : str
        The statistic over the queries, as in `Objective`.
    worst, best : float or None
        The values that count as 0 and as 1; None if neither the metric nor the objective has them.
    """

    block: ScoreBlock
    statistic: str
    worst: float | None
    best: float | None

    @property
    def fewest(self) -> int:
        """The number of queries that a test of its difference needs.

        For a percentile, five scores are to be expected beyond it: 100 queries for p95.
        """
        # Simulated on log-normal latencies: see docs/evaluate.md.
        quantile = quantile_of(self.statistic)
        if quantile is None or quantile == 0.5:
            return FEWEST_UNITS
        beyond = min(quantile, 1.0 - quantile)
        return max(FEWEST_UNITS, math.ceil(_FEWEST_BEYOND / beyond - 1e-9))

    @property
    def greater_is_better(self) -> bool:
        """The direction: that of worst and best if they are known, else the metric's."""
        if self.worst is None or self.best is None:
            return self.block.metric.greater_is_better
        return self.best > self.worst

    @property
    def scale(self) -> tuple[float, float] | None:
        """The worst and the best value, if they are not the metric's bounds."""
        if self.worst is None or self.best is None:
            return None
        ends = self.worst, self.best
        return None if set(ends) == set(_ends(self.block.metric)) else ends

    def shares(self, values: FloatArray) -> FloatArray:
        """Between 0 at the worst and 1 at the best.

        Raises
        ------
        DataError
            If the worst or the best value is unknown.
        """
        if self.worst is None or self.best is None:
            name = self.block.metric.name
            raise DataError(
                f"{name!r} has no bounds, so the values that count as 0 and 1 are unknown; write "
                f"objectives={{{name!r}: Objective({name!r}, best=..., worst=...)}}"
            )
        shares: FloatArray = (values - self.worst) / (self.best - self.worst)
        return np.clip(shares, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Aim:
    """An objective of a ranking: its weight and its metrics; no metrics if it has no data."""

    name: str
    weight: float
    parts: tuple[ObjectivePart, ...]
    missing: str = ""
    notions: tuple[CorrectNotion, ...] = ()
    """What is correct, if that is what the objective counts."""

    @property
    def description(self) -> str:
        """Its statistic and metrics, such as "mean of recall@5, ndcg@10"."""
        names = [self._label(part.block.metric) for part in self.parts]
        return f"{self.parts[0].statistic} of {', '.join(names)}" if names else self.missing

    def _label(self, metric: Metric) -> str:
        if metric is not _CORRECT:
            return _metric_label(metric)
        words = dict.fromkeys(notion.words for notion in self.notions)
        return f"{metric.name} ({', '.join(words)})"

    @property
    def description_with_scale(self) -> str:
        """The same, with the values that count as 0 and as 1 unless they are the bounds."""
        scales = dict.fromkeys(part.scale for part in self.parts if part.scale is not None)
        return "; ".join(
            [self.description, *(f"0 at {worst:g}, 1 at {best:g}" for worst, best in scales)]
        )


def _metric_label(metric: Metric) -> str:
    is_obvious = metric.greater_is_better or metric.group == "performance"  # such as latency
    return metric.name if is_obvious else f"{metric.name} (lower is better)"


def resolve_objectives(
    lineup: Lineup,
    objectives: ObjectivesArgument = None,
    weights: Mapping[str, float] | None = None,
) -> list[Aim]:
    """The objectives with their weights, and the metrics of the pipelines that they use.

    Parameters
    ----------
    lineup : Lineup
        The pipelines.
    objectives : mapping of str to Objective, str or sequence of str; or names; optional
        A mapping defines each objective; names choose among the default ones and the metrics.
    weights : mapping of str to float, optional
        By objective, or by metric, which is then an objective by itself. Objectives without a
        weight are left out. If omitted, the default weights if all have one, else equal weights.

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
    known, chosen = choose_objectives(lineup.runs, objectives, weights)
    return [_aim(lineup, name, known, weight) for name, weight in chosen.items()]


def choose_objectives(
    runs: Sequence[Scored],
    objectives: ObjectivesArgument = None,
    weights: Mapping[str, float] | None = None,
) -> tuple[dict[str, Objective], dict[str, float]]:
    """The objectives that are known, and the weights of those that are chosen, without data.

    Parameters
    ----------
    runs : sequence of Scored
        The pipelines; only their metrics are looked at.
    objectives, weights
        As in `resolve_objectives`.

    Returns
    -------
    tuple
        The objectives by name, and the weights by objective, in order.

    Raises
    ------
    DataError, UnknownNameError
        As in `resolve_objectives`.
    """
    known = _known_objectives(runs, objectives)
    return known, _weights(runs, known, objectives, weights)


def _known_objectives(
    runs: Sequence[Scored], objectives: ObjectivesArgument
) -> dict[str, Objective]:
    if not isinstance(objectives, Mapping):
        return dict(OBJECTIVES)
    own = {name: objective_of(value) for name, value in objectives.items()}
    for objective in own.values():
        _check_metrics(runs, objective)
    return own


def _check_metrics(runs: Sequence[Scored], objective: Objective) -> None:
    resolve, catalogue = resolver(_all_metrics(runs)), Catalogue()
    for metric in objective.metrics:
        if catalogue.find(metric) is None:  # misspelt, and not only missing in these runs
            resolve(metric)


def _all_metrics(runs: Sequence[Scored]) -> dict[str, Metric]:
    """The metrics of all pipelines, also those that some of them lack."""
    # Reversed, so that the description of the first run wins.
    return {name: metric for run in reversed(runs) for name, metric in run.metrics.items()}


def _weights(
    runs: Sequence[Scored],
    known: dict[str, Objective],
    objectives: ObjectivesArgument,
    weights: Mapping[str, float] | None,
) -> dict[str, float]:
    """The weight of each objective, checked; a metric among the names becomes an objective."""
    requested: Mapping[str, float]
    if weights is not None:
        requested = weights
    elif objectives is None:
        requested = WEIGHTS
    else:
        are_default = all(name in WEIGHTS for name in objectives)
        requested = {name: WEIGHTS[name] if are_default else 1.0 for name in objectives}
    chosen = {
        _objective_name(runs, known, name): _check_weight(name, weight)
        for name, weight in requested.items()
    }
    if not chosen or not sum(chosen.values()) > 0:
        raise DataError(
            "the weights of the objectives are all 0; at least one must be above 0, such as "
            "{'faithfulness': 2, 'cost': 1}"
        )
    return {name: weight for name, weight in chosen.items() if weight > 0}


def _check_weight(name: str, weight: object) -> float:
    try:
        number = float(weight)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if isinstance(weight, bool) or not (math.isfinite(number) and number >= 0):
        raise DataError(f"the weight of {name!r} must be a number >= 0; got {weight!r}")
    return number


def _objective_name(runs: Sequence[Scored], known: dict[str, Objective], name: str) -> str:
    """The objective of that name; else the metric, which becomes one."""
    spelled = normalise_name(name)
    if name in known or spelled in known:
        return name if name in known else spelled
    if is_statistic_of_metrics(name):
        known[name] = parse_objective(name)
        _check_metrics(runs, known[name])
        return name
    metrics = _all_metrics(runs)
    try:
        metric = resolver(metrics)(name)
    except UnknownNameError:
        raise UnknownNameError("objective or metric", name, {*known, *metrics}) from None
    known[metric] = _objective_of(metrics[metric])
    return metric


def _objective_of(metric: Metric) -> Objective:
    """A metric as an objective; with the scale of a default one if it is that one's only metric."""
    for objective in OBJECTIVES.values():
        if len(objective.metrics) == 1 and _is_one_of(metric, _spellings(objective)):
            return replace(objective, metrics=(metric.name,), group="")
    return Objective(metric.name)


# -- the data of an objective


def _aim(lineup: Lineup, name: str, known: Mapping[str, Objective], weight: float) -> Aim:
    objective = known[name]
    notions: tuple[CorrectNotion, ...] = ()
    replaced: tuple[str, ...] = ()
    if objective.counts_correct and not _averages_graded_answers(lineup):
        notions = shared_notions(lineup.runs) or ()
        # An exact match that does not say what is correct misses right answers in other words.
        replaced = AGAINST_THE_REFERENCE if notions else EXACT_MATCHES
    blocks = {}
    if notions:
        blocks[_CORRECT.name] = lineup.block_of(_CORRECT, _correct_answers(lineup, notions))
    for metric in _present_metrics(lineup, objective, known):
        if lineup.metrics[metric][0].known_as not in replaced:
            blocks[metric] = lineup.block(metric)
    with_data = [block for block in blocks.values() if _has_all_data(block, lineup)]
    if not with_data:
        return Aim(name, weight, (), _why_missing(objective, blocks, lineup))
    return Aim(name, weight, tuple(_part(objective, block) for block in with_data), "", notions)


def _averages_graded_answers(lineup: Lineup) -> bool:
    """Whether the scores are those of ragbench, which counts no correct answers."""
    dialects = (recorded_dialect(run) for run in lineup.runs)
    return any(dialect is not None and dialect.name == "ragbench" for dialect in dialects)


def _correct_answers(lineup: Lineup, notions: Sequence[CorrectNotion]) -> FloatArray:
    """1 for a correct answer, 0 for a wrong one, NaN if unknown; one column per pipeline."""
    columns = [
        answers_by(run, notion).to_numpy(dtype=np.float64, na_value=np.nan)
        for run, notion in zip(lineup.runs, notions, strict=True)
    ]
    pairs = zip(columns, lineup.rows, strict=True)
    return np.column_stack([column if rows is None else column[rows] for column, rows in pairs])


def _has_all_data(block: ScoreBlock, lineup: Lineup) -> bool:
    return len(block.names) == len(lineup.runs) and bool(len(block.complete))


def _present_metrics(
    lineup: Lineup, objective: Objective, known: Mapping[str, Objective]
) -> list[str]:
    """The metrics of an objective that every pipeline has, in the order of the table."""
    spellings = _spellings(objective)
    named = [name for name, shared in lineup.metrics.items() if _is_one_of(shared[0], spellings)]
    if named or not objective.group:
        return named
    of_any_objective = set().union(*map(_spellings, known.values()))
    return [
        name
        for name, (metric, *_) in lineup.metrics.items()
        if metric.group == objective.group
        # Without bounds a metric has no place between 0 and 1.
        and metric.bounds is not None
        and not _is_one_of(metric, of_any_objective)
    ]


def _spellings(objective: Objective) -> set[str]:
    """The names of an objective's metrics, as they are written and as the catalogue has them."""
    catalogue = Catalogue()
    entries = [catalogue.find(name) for name in objective.metrics]
    return {
        *(normalise_name(name) for name in objective.metrics),
        *(metric.known_as for metric in entries if metric is not None),
    }


def _is_one_of(metric: Metric, names: set[str]) -> bool:
    return bool({metric.name, metric.known_as} & names)


def _why_missing(objective: Objective, blocks: Mapping[str, ScoreBlock], lineup: Lineup) -> str:
    for block in blocks.values():
        if block.empty:
            return f"{block.metric.name} is missing in {', '.join(block.empty)}"
        return f"no query has {block.metric.name} in every pipeline"
    spellings = _spellings(objective)
    for name, metric in _all_metrics(lineup.runs).items():
        if _is_one_of(metric, spellings):
            lacking = [run.name for run in lineup.runs if name not in run.metrics]
            return f"{name} is missing in {', '.join(lacking)}"
    return "no metric for it"


def _part(objective: Objective, block: ScoreBlock) -> ObjectivePart:
    low, high = _ends(block.metric)
    worst, best = (low, high) if block.metric.greater_is_better else (high, low)
    if block.metric.bounds is None:
        default = _objective_of(block.metric)
        worst, best = default.worst, default.best
    return ObjectivePart(
        block,
        objective.statistic,
        worst if objective.worst is None else objective.worst,
        best if objective.best is None else objective.best,
    )


def _ends(metric: Metric) -> tuple[float | None, float | None]:
    """The bounds; a similarity below 0 counts as 0."""
    if metric.bounds is None:
        return None, None
    low, high = metric.bounds
    return (0.0 if -1.0 <= low < 0.0 and high == 1.0 else low), high
