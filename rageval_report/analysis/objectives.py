"""Objectives of a ranking: how they are written, their data, and figures of pipelines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from rageval_report.analysis.arguments import IntervalSettings
from rageval_report.analysis.lineup import Lineup, ScoreBlock
from rageval_report.analysis.pairing import MissingTreatment
from rageval_report.errors import DataError, UnknownNameError, UnknownValueError
from rageval_report.scores import Catalogue, Metric, Scored, correct, normalise_name, resolver
from rageval_report.scores.catalogue.dialects import recorded_dialect
from rageval_report.stats import base, corrections, sign_flips
from rageval_report.stats.bootstrap import bootstrap_pvalue, expanded_limits, resampled_statistics
from rageval_report.stats.means import mean_interval
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import FEWEST_UNITS, Units, clustered_interval, fewest_units
from rageval_report.types import BoolArray, FloatArray

_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")
# Other words before brackets are part of the name of a metric, such as "f1(macro)".
_STATISTIC_OF = re.compile(r"(mean|median|p\d+(?:\.\d+)?)\s*\(([^()]*)\)")
_END = re.compile(r"(worst|best)\s*=\s*(.*)")
# A comma that is not within brackets.
_COMMA = re.compile(r",(?![^()]*\))")


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
AGAINST_THE_REFERENCE = ("answer_correctness", *correct.EXACT_MATCHES, "token_f1")
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


def parse_objective(text: str) -> Objective:
    """The objective in a text: metrics or a statistic of them, and the worst and best values."""
    pieces = [piece.strip() for piece in _COMMA.split(text)]
    ends = {match[1]: match[2] for match in map(_END.fullmatch, pieces) if match}
    for value in ends.values():
        if not math.isfinite(_number(value)):
            raise DataError(f"objective {text!r}: worst and best must be numbers; got {value!r}")
    metrics, statistic = [piece for piece in pieces if not _END.fullmatch(piece)], "mean"
    if len(metrics) == 1 and (call := _STATISTIC_OF.fullmatch(metrics[0])):
        statistic, metrics = call[1], [metric.strip() for metric in call[2].split(",")]
    if not metrics or not all(metrics) or any(map(_STATISTIC_OF.match, metrics)):
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
    return parse_objective(value) if isinstance(value, str) else Objective(tuple(value))


def parse_named_objectives(texts: Iterable[str]) -> dict[str, Objective] | list[str] | None:
    """The objectives of several texts NAME=OBJECTIVE; a list of names if all of them are names."""
    listed = [text.strip() for text in texts]
    if not any("=" in text or "," in text or _STATISTIC_OF.match(text) for text in listed):
        return listed or None
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
    return named


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
        # A default one may name metrics of other frameworks' files.
        others = (each for each in known.values() if each not in OBJECTIVES.values())
        for name in (name for objective in others for name in objective.metrics):
            if Catalogue().find(name) is None:  # misspelt, and not only missing in these runs
                resolver(metrics)(name)
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
        if name not in known and Catalogue().find(name) is None:
            raise UnknownNameError("objective or metric", name, known)
    if weights:
        _checked(weights)


def _number(value: Any) -> float:
    """A number, also from its text; NaN for anything else."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def metrics_of_any(runs: Sequence[Scored]) -> dict[str, Metric]:
    """The metrics of all pipelines, also those that some of them lack, as the first describes."""
    return {name: metric for run in reversed(runs) for name, metric in run.metrics.items()}


def _objective_name(metrics: Mapping[str, Metric], known: dict[str, Objective], name: str) -> str:
    """The objective of that name; else the metric, which becomes one."""
    spelled = normalise_name(name)
    if name in known or spelled in known:
        return name if name in known else spelled
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


_CORRECT = Metric("correct", title="Correct", group="generation", kind="binary")
# With fewer scores than this beyond a percentile, the bootstrap test of a difference shows
# differences by chance too often: simulated on log-normal latencies, see docs/evaluate.md.
_FEWEST_BEYOND = 5.0


@dataclass(frozen=True)
class RankSettings(IntervalSettings):
    """The checked settings of a ranking; see `rank`. `shown` are those that are only shown."""

    correction: str = "holm"
    test: str = "auto"
    missing: MissingTreatment = "drop"
    shown: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "correction", corrections.check_correction(self.correction))

    @property
    def fewest_units(self) -> int:
        """The fewest queries, or clusters, that are tested."""
        return fewest_units(self.alpha)

    @property
    def stepwise(self) -> str:
        """The correction without shared flips: Westfall and Young's is Holm's."""
        return "holm" if self.correction == corrections.WESTFALL_YOUNG else self.correction


# -- objectives with their data


@dataclass(frozen=True, eq=False)
class Part:
    """One metric of an objective, on the queries that every pipeline scored."""

    block: ScoreBlock
    statistic: str
    ends: tuple[float, float] | None
    drawn: FloatArray

    @classmethod
    def of(cls, objective: Objective, block: ScoreBlock) -> Part:
        """A metric of an objective, without resamples."""
        default = objective_of_metric(block.metric)
        worst, best = _ends(block.metric) or (default.worst, default.best)
        worst = worst if objective.worst is None else objective.worst
        best = best if objective.best is None else objective.best
        ends = None if worst is None or best is None else (worst, best)
        return cls(block, objective.statistic, ends, np.empty((0, len(block.names))))

    @cached_property
    def observed(self) -> FloatArray:
        """The statistic of each pipeline on the queries."""
        scores, quantile = self.block.complete, quantile_of(self.statistic)
        if quantile is None:
            # In ascending order, so that the order of the queries does not move the last digit.
            return np.asarray(np.sort(scores, axis=0).mean(axis=0))
        if quantile == 0.5:  # np.quantile rounds the median of two scores differently
            return np.asarray(np.median(scores, axis=0))
        return np.asarray(np.quantile(scores, quantile, axis=0))

    @property
    def fewest(self) -> int:
        """The number of queries that a test needs: for p95 100, five of them beyond it."""
        quantile = quantile_of(self.statistic)
        if quantile is None or quantile == 0.5:
            return FEWEST_UNITS
        beyond = min(quantile, 1.0 - quantile)
        return max(FEWEST_UNITS, math.ceil(_FEWEST_BEYOND / beyond - 1e-9))

    @property
    def greater_is_better(self) -> bool:
        """The direction: that of worst and best if they are known, else the metric's."""
        ends = self.ends
        return self.block.metric.greater_is_better if ends is None else ends[1] > ends[0]

    @property
    def scale(self) -> tuple[float, float]:
        """The worst and the best value; an error if these are unknown."""
        if self.ends is None:
            name = self.block.metric.name
            raise DataError(
                f"{name!r} has no bounds, so the values that count as 0 and 1 are unknown; write "
                f"objectives={{{name!r}: Objective({name!r}, best=..., worst=...)}}"
            )
        return self.ends

    @property
    def own_scale(self) -> str:
        """The values that count as 0 and as 1, unless they are the metric's bounds."""
        is_usual = self.ends is None or set(self.ends) == set(_ends(self.block.metric) or ())
        return "" if is_usual else "0 at {:g}, 1 at {:g}".format(*self.scale)

    def shares(self, values: FloatArray) -> FloatArray:
        """Values between 0 at the worst and 1 at the best."""
        worst, best = self.scale
        shares: FloatArray = np.clip((values - worst) / (best - worst), 0.0, 1.0)
        return shares


def _ends(metric: Metric) -> tuple[float, float] | None:
    """The worst and the best bound; a similarity below 0 counts as 0."""
    if metric.bounds is None:
        return None
    low, high = metric.bounds
    low = 0.0 if -1.0 <= low < 0.0 and high == 1.0 else low
    return (low, high) if metric.greater_is_better else (high, low)


@dataclass(frozen=True, eq=False)
class Aim:
    """An objective of a ranking, its weight and its metrics; none, and why, if it has no data."""

    name: str
    weight: float
    parts: tuple[Part, ...]
    missing: str = ""
    notions: tuple[correct.CorrectNotion, ...] = ()  # what is correct, if the objective counts that

    @property
    def description(self) -> str:
        """Its statistic and metrics, such as "mean of recall@5, ndcg@10"."""
        names = [part.block.metric.name for part in self.parts]
        if self.notions:  # whether an answer is correct stands first
            words = dict.fromkeys(notion.words for notion in self.notions)
            names[0] = f"{names[0]} ({', '.join(words)})"
        return f"{self.parts[0].statistic} of {', '.join(names)}" if names else self.missing

    @property
    def is_spent(self) -> bool:
        """Whether it is about latency, cost or tokens."""
        return all(part.block.metric.group == "performance" for part in self.parts)


@dataclass(frozen=True, eq=False)
class Aims:
    """The objectives of some pipelines with their data, and how their differences are tested."""

    lineup: Lineup
    every: tuple[Aim, ...]
    settings: RankSettings

    @classmethod
    def of(
        cls,
        lineup: Lineup,
        settings: RankSettings,
        objectives: ObjectivesArgument = None,
        weights: Mapping[str, float] | None = None,
    ) -> Aims:
        """The objectives with their data, on the queries and on resamples of them."""
        known, chosen = choose_objectives(lineup.runs, objectives, weights)
        every = [_aim(lineup, name, known, weight) for name, weight in chosen.items()]
        parts = [part for aim in every for part in aim.parts]
        if not parts:
            reasons = "; ".join(f"{aim.name}: {aim.missing}" for aim in every)
            raise DataError(
                f"no objective has data in every pipeline ({reasons}); name their metrics, such as "
                "objectives={'quality': ['recall@5', 'faithfulness']}"
            )
        drawn = resampled_statistics(
            [part.block.values for part in parts],
            [quantile_of(part.statistic) for part in parts],
            clusters=parts[0].block.units.codes,
            **settings.draws,
        )
        # A resample may contain no scored query of some metric.
        columns = iter(np.moveaxis(drawn[~np.isnan(drawn).any(axis=(1, 2))], 1, 0))
        with_draws = tuple(
            replace(aim, parts=tuple(replace(part, drawn=next(columns)) for part in aim.parts))
            for aim in every
        )
        return cls(lineup, with_draws, settings)

    @property
    def with_data(self) -> list[Aim]:
        """Those with data in every pipeline."""
        return [aim for aim in self.every if aim.parts]

    def figure(self, name: str, aims: Sequence[Aim], *, as_shares: bool = True) -> Figure:
        """The weighted mean of some objectives; or a single metric in its own unit."""
        weights = np.array([aim.weight for aim in aims]) / np.sum([aim.weight for aim in aims])
        weighed = list(zip(aims, weights.tolist(), strict=True))
        terms = tuple(
            (part, weight / len(aim.parts)) for aim, weight in weighed for part in aim.parts
        )
        made_of = " + ".join(f"{weight:.3f} {a.name} ({a.description})" for a, weight in weighed)
        made_of = made_of if len(aims) > 1 else aims[0].description
        return Figure(name, terms, self.settings, as_shares, made_of)

    def shown_settings(self, **first: object) -> dict[str, object]:
        """The settings of a result."""
        return {
            **first,
            "confidence_level": self.settings.confidence_level,
            "missing": self.lineup.missing,
            "correction": self.settings.stepwise,
            **self.settings.draws,
        }

    def notes(self) -> list[str]:
        """The objectives that are left out."""
        left_out = [f"{aim.name} ({aim.missing})" for aim in self.every if not aim.parts]
        return [f"objectives without data, left out: {'; '.join(left_out)}"] if left_out else []


def _aim(lineup: Lineup, name: str, known: Mapping[str, Objective], weight: float) -> Aim:
    objective, blocks = known[name], dict[str, ScoreBlock]()
    notions: tuple[correct.CorrectNotion, ...] = ()
    replaced: tuple[str, ...] = ()
    dialects = [recorded_dialect(run) for run in lineup.runs]
    # ragbench counts no correct answers.
    is_averaged = any(dialect is not None and dialect.name == "ragbench" for dialect in dialects)
    if objective.counts_correct and not is_averaged:
        notions = correct.shared_notions(lineup.runs) or ()
        # An exact match that does not say what is correct misses right answers in other words.
        replaced = AGAINST_THE_REFERENCE if notions else correct.EXACT_MATCHES
    if notions:
        answers = []
        for run, rows, notion in zip(lineup.runs, lineup.rows, notions, strict=True):
            column = correct.answers_by(run, notion).to_numpy(dtype=np.float64, na_value=np.nan)
            answers.append(column if rows is None else column[rows])
        blocks[_CORRECT.name] = lineup.block_of(_CORRECT, np.column_stack(answers))
    for metric in _present_metrics(lineup, objective, known):
        if lineup.metrics[metric][0].known_as not in replaced:
            blocks[metric] = lineup.block(metric)
    parts = tuple(
        Part.of(objective, block)
        for block in blocks.values()
        if not block.empty and len(block.complete)
    )
    if not parts:
        some = [n for n, own in metrics_of_any(lineup.runs).items() if concerns(objective, own)]
        names = [*blocks, *some]
        why = f"{names[0]} is not scored in every pipeline" if names else "no metric for it"
        return Aim(name, weight, (), why)
    return Aim(name, weight, parts, "", notions)


def _present_metrics(
    lineup: Lineup, objective: Objective, known: Mapping[str, Objective]
) -> list[str]:
    """The metrics of an objective that every pipeline has, in the order of the table."""
    shared = {name: metrics[0] for name, metrics in lineup.metrics.items()}
    present = [name for name, metric in shared.items() if concerns(objective, metric)]
    if present or not objective.group:
        return present
    return [
        name
        for name, metric in shared.items()
        if metric.group == objective.group
        # Without bounds a metric has no place between 0 and 1.
        and metric.bounds is not None
        and not any(concerns(other, metric) for other in known.values())
    ]


# -- figures


@dataclass(frozen=True, eq=False)
class Figure:
    """A number of each pipeline: metrics by weight, from 0 to 1 each; or one in its own unit."""

    name: str
    terms: tuple[tuple[Part, float], ...]
    settings: RankSettings
    as_shares: bool = True
    made_of: str = ""

    @cached_property
    def values(self) -> FloatArray:
        """The number of each pipeline, on the queries."""
        return self._combined([part.observed for part, _ in self.terms])

    @cached_property
    def drawn(self) -> FloatArray:
        """The same on each resample: one row per resample, one column per pipeline."""
        return self._combined([part.drawn for part, _ in self.terms])

    def _combined(self, statistics: Sequence[FloatArray]) -> FloatArray:
        if not self.as_shares:
            return statistics[0]
        terms = zip(self.terms, statistics, strict=True)
        return np.asarray(sum(weight * part.shares(each) for (part, weight), each in terms))

    @property
    def slopes(self) -> list[tuple[Part, float]]:
        """By how much the figure changes with each metric."""
        if not self.as_shares:
            return [(part, 1.0) for part, _ in self.terms]
        return [(part, weight / (part.scale[1] - part.scale[0])) for part, weight in self.terms]

    @property
    def greater_is_better(self) -> bool:
        """The direction."""
        return self.as_shares or self.terms[0][0].greater_is_better

    @property
    def sign(self) -> float:
        """1 if higher is better, -1 if lower is."""
        return 1.0 if self.greater_is_better else -1.0

    @cached_property
    def by_query(self) -> FloatArray | None:
        """What each query contributes: one row per query; None if the figure is not a mean."""
        for part, _ in self.terms:
            if part.statistic != "mean":
                return None
            if self.as_shares:  # a mean beyond the worst or the best counts as that
                means, ends = part.block.complete.mean(axis=0), part.scale
                if ((means < min(ends)) | (means > max(ends))).any():
                    return None
        total = np.zeros((int(self._used.sum()), len(self.values)))
        for part, slope in self.slopes:
            rows = part.block.is_complete
            scores = np.where(rows[:, None], part.block.values, 0.0)[self._used]
            total += slope * len(total) / rows.sum() * scores
        return total

    @cached_property
    def _used(self) -> BoolArray:
        """The rows that every pipeline scored on any of the metrics."""
        scored = [part.block.is_complete for part, _ in self.terms]
        return np.asarray(np.any(scored, axis=0), dtype=bool)

    @cached_property
    def units(self) -> Units:
        """The independent units of the rows of `by_query`."""
        return self.terms[0][0].block.units.select(self._used)

    @cached_property
    def n(self) -> int:
        """The number of units; of a figure that is not a mean, those of its rarest metric."""
        if self.by_query is not None:
            return self.units.count(len(self.by_query))
        return min(part.block.n_units for part, _ in self.terms)

    @cached_property
    def too_few(self) -> str:
        """Why there is no test: too few queries or clusters. Empty if there is a test."""
        if self.by_query is not None:
            is_short = self.n < FEWEST_UNITS
            return f"{self.n}; at least {FEWEST_UNITS} are needed" if is_short else ""
        for part, _ in self.terms:
            if part.block.n_units < part.fewest:
                what = f" for {part.statistic} of {part.block.metric.name}"
                text = f"{part.block.n_units}; at least {part.fewest} are needed"
                return f"{text}{what if part.fewest > FEWEST_UNITS else ''}"
        return ""

    @property
    def tie(self) -> float:
        """The largest difference between two values that is only rounding."""
        return base.TIE_TOLERANCE * max(1.0, float(np.abs(self.values).max(initial=0.0)))

    def is_same(self, *places: int) -> bool:
        """Whether some pipelines, or all, are equal on the queries and on every resample."""
        rows = np.vstack([self.values, self.drawn])
        return bool(np.ptp(rows[:, places] if places else rows, axis=1).max() <= self.tie)

    def pvalue_better(self, first: int, second: int) -> float:
        """The one-sided p-value that the second pipeline is better."""
        if self.too_few or not self.sign * (self.values[second] - self.values[first]) > self.tie:
            return 1.0
        if self.by_query is None:
            gains = self.sign * (self.drawn[:, second] - self.drawn[:, first])
            return min(1.0, bootstrap_pvalue(gains, self.n, self.tie))
        pairs = self._pairs(self.sign * self.by_query, first, second)
        return sign_flips.sign_flip_pvalue(pairs.units, alternative="greater")

    def pvalue(self, first: int, second: int) -> float:
        """The two-sided p-value."""
        if self.is_same(first, second):
            return 1.0
        if self.sign * self.values[second] < self.sign * self.values[first]:
            first, second = second, first
        return min(1.0, 2.0 * self.pvalue_better(first, second))

    @property
    def _draws(self) -> dict[str, Any]:
        return {**self.settings.draws, "n_resamples": max(1, len(self.drawn))}

    def _pairs(self, by_query: FloatArray, first: int, second: int) -> Pairs:
        clusters = self.units if self.units.are_clusters else None
        return Pairs.of(by_query[:, first], by_query[:, second], clusters)

    def mean_limits(self) -> FloatArray:
        """The lower and the upper limits of each pipeline."""
        level, bounds = self.settings.confidence_level, self._bounds
        if self.by_query is None:
            return np.array(expanded_limits(self.drawn, self.n, level))
        own: dict[str, Any] = {"confidence_level": level, "bounds": bounds}
        if self.units.are_clusters:
            codes = np.asarray(self.units.codes)
            intervals = [clustered_interval(column, codes, **own) for column in self.by_query.T]
        else:
            own |= {"kind": "real" if bounds is None else "proportion", **self._draws}
            intervals = [mean_interval(column, **own) for column in self.by_query.T]
        shifts = self.values - [interval.estimate for interval in intervals]
        return np.array([(each.low, each.high) for each in intervals]).T + shifts

    @cached_property
    def _bounds(self) -> tuple[float, float] | None:
        """What a query can contribute at least and at most; None if a metric has no bounds."""
        low = high = 0.0
        n_used = int(self._used.sum())
        for part, slope in self.slopes:
            bounds, n = part.block.metric.bounds, int(part.block.is_complete.sum())
            if bounds is None:
                return None
            ends = [slope * n_used / n * bound for bound in bounds]
            # A query that is not scored contributes nothing.
            ends += [0.0] if n < n_used else []
            low, high = low + min(ends), high + max(ends)
        return low, high
