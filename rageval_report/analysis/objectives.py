"""Objectives by which pipelines are chosen: made of metrics, on a scale from 0 (worst) to 1 (best).

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
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from rageval_report.analysis.lineup import Lineup, ScoreBlock
from rageval_report.errors import DataError, UnknownNameError, UnknownValueError
from rageval_report.scores import Catalogue, Metric, Scored, normalise_name, resolver
from rageval_report.scores.catalogue.dialects import recorded_dialect
from rageval_report.scores.correct_notion import (
    EXACT_MATCHES,
    CorrectNotion,
    answers_by,
    shared_notions,
)
from rageval_report.stats.base import check_level, check_resamples, check_seed
from rageval_report.stats.bootstrap import resampled_statistics
from rageval_report.stats.corrections import WESTFALL_YOUNG, check_correction
from rageval_report.stats.units import FEWEST_UNITS
from rageval_report.types import FloatArray

_CORRECT = Metric("correct", title="Correct", group="generation", kind="binary")
# With fewer scores than this beyond a percentile, the bootstrap test of a difference shows
# differences by chance too often: simulated on log-normal latencies, see docs/evaluate.md.
_FEWEST_BEYOND = 5.0
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")
# Other words before brackets are part of the name of a metric, such as "f1(macro)".
_STATISTIC_OF = re.compile(r"(mean|median|p\d+(?:\.\d+)?)\s*\(([^()]*)\)")
# A comma that is not within brackets.
_COMMA = re.compile(r",(?![^()]*\))")
# The figures that can have a margin of their own.
SCORE, QUALITY = "score", "quality"


def quantile_of(statistic: str) -> float | None:
    """The quantile that a statistic is, between 0 and 1; None for the mean.

    Examples
    --------
    >>> [quantile_of(name) for name in ("mean", "median", "p95", "p99.5")]
    [None, 0.5, 0.95, 0.995]
    """
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


ObjectivesArgument = Mapping[str, Objective | str | Sequence[str]] | Sequence[str] | None
ObjectiveMapping = Mapping[str, Objective | str | Sequence[str]]

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
    """Whether a text has the form of a statistic of metrics, and not of a name.

    Examples
    --------
    >>> is_statistic_of_metrics("p95(latency_ms)"), is_statistic_of_metrics("latency")
    (True, False)
    """
    return _STATISTIC_OF.match(text.strip()) is not None


def parse_objective(text: str) -> Objective:
    """The objective in a text: metrics, or a statistic of metrics; and the worst and best values.

    Examples
    --------
    >>> objective = parse_objective("p95(latency_ms), worst=5000, best=0")
    >>> objective.statistic, objective.metrics, objective.worst
    ('p95', ('latency_ms',), 5000.0)
    """
    ends: dict[str, float] = {}
    parts = []
    for piece in _COMMA.split(text):
        name, equals, value = (part.strip() for part in piece.partition("="))
        if equals and name in ("worst", "best"):
            ends[name] = _number(value)
            if not math.isfinite(ends[name]):
                raise DataError(
                    f"objective {text!r}: worst and best must be numbers; got {value!r}"
                )
        else:
            parts.append(piece.strip())
    call = _STATISTIC_OF.fullmatch(parts[0]) if len(parts) == 1 else None
    metrics = parts if call is None else [metric.strip() for metric in call[2].split(",")]
    if not metrics or not all(metrics) or any(map(is_statistic_of_metrics, metrics)):
        raise DataError(
            "an objective must be metrics, or one statistic of metrics, such as recall@5,ndcg@10 "
            f"or p95(latency_ms),worst=5000,best=0; got {text!r}"
        )
    return Objective(
        tuple(metrics),
        statistic="mean" if call is None else call[1],
        worst=ends.get("worst"),
        best=ends.get("best"),
    )


def objective_of(value: Objective | str | Sequence[str]) -> Objective:
    """An objective as it is, or from its text, or from the names of its metrics.

    Examples
    --------
    >>> objective_of(["recall@5", "ndcg@10"]).metrics, objective_of("median(f1)").statistic
    (('recall@5', 'ndcg@10'), 'median')
    """
    if isinstance(value, Objective):
        return value
    if not isinstance(value, str) and not any(map(is_statistic_of_metrics, value)):
        return Objective(tuple(value))
    return parse_objective(value if isinstance(value, str) else ", ".join(value))


def parse_named_objectives(texts: Iterable[str]) -> dict[str, Objective] | list[str] | None:
    """The objectives of several texts NAME=OBJECTIVE; a list of names if all of them are names.

    Examples
    --------
    >>> parse_named_objectives(["faithfulness", "latency"])
    ['faithfulness', 'latency']
    >>> list(parse_named_objectives(["speed=p95(latency_ms)", "faithfulness"]))
    ['speed', 'faithfulness']
    """
    named: dict[str, Objective] = {}
    listed = list(texts)
    for text in listed:
        name, equals, rest = (part.strip() for part in text.partition("="))
        # Within brackets, or behind a comma, "=" belongs to worst=... or best=...
        if not equals or re.search("[(,]", name):
            # A name alone is that of a default objective, as in a list of names.
            own = text.strip()
            named[own] = OBJECTIVES[own] if own in OBJECTIVES else parse_objective(own)
        elif not name or not rest:
            raise DataError(
                f"objective {text!r}: write NAME=METRIC,METRIC, NAME=p95(METRIC) or NAME"
            )
        else:
            named[name] = parse_objective(rest)
    if not any("=" in text or "," in text for text in listed):
        return [text.strip() for text in listed] or None
    return named


# -- which objectives are chosen


def choose_objectives(
    runs: Sequence[Scored],
    objectives: ObjectivesArgument = None,
    weights: Mapping[str, float] | None = None,
) -> tuple[dict[str, Objective], dict[str, float]]:
    """The objectives that are known, and the weight of each chosen one, from the metrics alone.

    Raises
    ------
    DataError
        If a weight is negative or not finite, or all of them are 0.
    UnknownNameError
        If a name is neither an objective nor a metric.
    """
    known = dict(OBJECTIVES)
    if isinstance(objectives, Mapping):
        known = {name: objective_of(value) for name, value in objectives.items()}
    for objective in known.values() if isinstance(objectives, Mapping) else ():
        _check_metrics(runs, objective)
    requested: Mapping[str, float] = WEIGHTS
    if weights is not None:
        requested = weights
    elif objectives is not None:
        are_default = all(name in WEIGHTS for name in objectives)
        requested = {name: WEIGHTS[name] if are_default else 1.0 for name in objectives}
    chosen = {
        _objective_name(runs, known, name): check_weight(name, weight)
        for name, weight in requested.items()
    }
    if not sum(chosen.values()) > 0:
        raise DataError(
            "the weights of the objectives are all 0; at least one must be above 0, such as "
            "{'faithfulness': 2, 'cost': 1}"
        )
    return known, {name: weight for name, weight in chosen.items() if weight > 0}


def check_weight(name: str, weight: object) -> float:
    """A weight, if it is a number from 0 on."""
    number = math.nan if isinstance(weight, bool) else _number(weight)
    if not (math.isfinite(number) and number >= 0):
        raise DataError(f"the weight of {name!r} must be a number >= 0; got {weight!r}")
    return number


def check_weights(
    weights: Mapping[str, float],
    objectives: Mapping[str, object] | None = None,
    metrics: Iterable[str] = (),
) -> None:
    """Check weights before there are scores, by objectives and metrics of the caller's own.

    Examples
    --------
    >>> check_weights({"accuracy": 2, "recall@5": 1})
    """
    known, catalogue = {*OBJECTIVES, *(objectives or ()), *metrics}, Catalogue()
    for name, weight in weights.items():
        if is_statistic_of_metrics(name):
            parse_objective(name)  # raises if it is none
        elif name not in known and catalogue.find(name) is None:
            raise UnknownNameError("objective or metric", name, known)
        check_weight(name, weight)
    if weights and not sum(weights.values()) > 0.0:
        raise DataError("the weights of the objectives are all 0; at least one must be above 0")


def check_margins(
    margins: Mapping[str, float] | None,
    metrics: Mapping[str, Metric],
    objectives: Iterable[str] = (),
) -> dict[str, float]:
    """The margins by metric, objective or figure ("score", "quality"), as the pipelines name them.

    Examples
    --------
    >>> from rageval_report.scores import METRICS
    >>> check_margins({"MRR": 0.05, "score": 0.01}, {"reciprocal_rank": METRICS["reciprocal_rank"]})
    {'reciprocal_rank': 0.05, 'score': 0.01}
    """
    figures, checked = {SCORE, QUALITY, *objectives}, {}
    for name, margin in (margins or {}).items():
        is_number = isinstance(margin, Real) and not isinstance(margin, bool)
        if not (is_number and math.isfinite(margin) and margin > 0):
            raise DataError(f"margins: that of {name!r} must be a number above 0; got {margin!r}")
        own = name
        if name not in figures:
            try:
                own = resolver(metrics)(name)
            except UnknownNameError:
                known = {*metrics, *figures}
                raise UnknownNameError("metric or objective", name, known) from None
        checked[own] = float(margin)
    return checked


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _check_metrics(runs: Sequence[Scored], objective: Objective) -> None:
    resolve, catalogue = resolver(_all_metrics(runs)), Catalogue()
    for metric in objective.metrics:
        if catalogue.find(metric) is None:  # misspelt, and not only missing in these runs
            resolve(metric)


def _all_metrics(runs: Sequence[Scored]) -> dict[str, Metric]:
    """The metrics of all pipelines, also those that some of them lack, as the first describes."""
    return {name: metric for run in reversed(runs) for name, metric in run.metrics.items()}


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


def _spellings(objective: Objective) -> set[str]:
    """The names of an objective's metrics, as they are written and as the catalogue has them."""
    entries = [Catalogue().find(name) for name in objective.metrics]
    written = {normalise_name(name) for name in objective.metrics}
    return written | {metric.known_as for metric in entries if metric is not None}


def _is_one_of(metric: Metric, names: set[str]) -> bool:
    return bool({metric.name, metric.known_as} & names)


# -- the data of objectives


@dataclass(frozen=True, eq=False)
class Part:
    """One metric of an objective, on the queries that every pipeline scored.

    Parameters
    ----------
    block : ScoreBlock
        The scores.
    statistic : str
        The statistic over the queries, as in `Objective`.
    worst, best : float or None
        The values that count as 0 and as 1; None if neither the metric nor the objective has them.
    drawn : ndarray of shape (n_resamples, n_pipelines)
        The statistic on resamples of the queries.
    """

    block: ScoreBlock
    statistic: str
    worst: float | None
    best: float | None
    drawn: FloatArray

    @classmethod
    def of(cls, objective: Objective, block: ScoreBlock) -> Part:
        """A metric of an objective, without resamples."""
        low, high = _ends(block.metric)
        worst, best = (low, high) if block.metric.greater_is_better else (high, low)
        if block.metric.bounds is None:
            default = _objective_of(block.metric)
            worst, best = default.worst, default.best
        worst = worst if objective.worst is None else objective.worst
        best = best if objective.best is None else objective.best
        return cls(block, objective.statistic, worst, best, np.empty((0, len(block.names))))

    @cached_property
    def observed(self) -> FloatArray:
        """The statistic of each pipeline on the queries."""
        scores, quantile = self.block.complete, quantile_of(self.statistic)
        # In ascending order, so that the order of the queries does not move the last digit.
        values: FloatArray = np.sort(scores, axis=0).mean(axis=0)
        if quantile == 0.5:  # np.quantile rounds the median of two scores differently
            values = np.median(scores, axis=0)
        elif quantile is not None:
            values = np.quantile(scores, quantile, axis=0)
        return values

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
        """Between 0 at the worst and 1 at the best; an error if these are unknown."""
        if self.worst is None or self.best is None:
            name = self.block.metric.name
            raise DataError(
                f"{name!r} has no bounds, so the values that count as 0 and 1 are unknown; write "
                f"objectives={{{name!r}: Objective({name!r}, best=..., worst=...)}}"
            )
        shares: FloatArray = (values - self.worst) / (self.best - self.worst)
        return np.clip(shares, 0.0, 1.0)


def _ends(metric: Metric) -> tuple[float | None, float | None]:
    """The bounds; a similarity below 0 counts as 0."""
    if metric.bounds is None:
        return None, None
    low, high = metric.bounds
    return (0.0 if -1.0 <= low < 0.0 and high == 1.0 else low), high


@dataclass(frozen=True, eq=False)
class Aim:
    """An objective of a ranking, its weight and its metrics; none, and why, if it has no data."""

    name: str
    weight: float
    parts: tuple[Part, ...]
    missing: str = ""
    notions: tuple[CorrectNotion, ...] = ()  # what is correct, if the objective counts that

    @property
    def description(self) -> str:
        """Its statistic and metrics, such as "mean of recall@5, ndcg@10"."""
        names = [self._label(part.block.metric) for part in self.parts]
        return f"{self.parts[0].statistic} of {', '.join(names)}" if names else self.missing

    def _label(self, metric: Metric) -> str:
        if metric is _CORRECT:
            words = dict.fromkeys(notion.words for notion in self.notions)
            return f"{metric.name} ({', '.join(words)})"
        is_obvious = metric.greater_is_better or metric.group == "performance"  # such as latency
        return metric.name if is_obvious else f"{metric.name} (lower is better)"

    @cached_property
    def shares(self) -> tuple[FloatArray, FloatArray]:
        """Between 0 at its worst and 1 at its best: of each pipeline, and on each resample."""
        observed = np.mean([part.shares(part.observed) for part in self.parts], axis=0)
        return observed, np.mean([part.shares(part.drawn) for part in self.parts], axis=0)


@dataclass(frozen=True)
class RankSettings:
    """How differences are tested, checked; see `rank`."""

    confidence_level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0
    correction: str = "holm"

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence_level", check_level(self.confidence_level))
        object.__setattr__(self, "n_resamples", check_resamples(self.n_resamples))
        object.__setattr__(self, "seed", check_seed(self.seed))
        check_correction(self.correction)

    @property
    def alpha(self) -> float:
        """The error rate."""
        return round(1.0 - self.confidence_level, 12)

    @property
    def stepwise(self) -> str:
        """The correction without shared flips: Westfall and Young's is Holm's."""
        return "holm" if self.correction == WESTFALL_YOUNG else self.correction


@dataclass(frozen=True, eq=False)
class Aims:
    """The objectives of some pipelines with their data, and how their differences are tested.

    Parameters
    ----------
    lineup : Lineup
        The pipelines.
    every : tuple of Aim
        The chosen objectives, in order.
    settings : RankSettings
        How differences are tested.
    margins : dict of str to float
        The differences that are too small to matter, checked.
    n_undefined : int
        The resamples that were dropped, as a metric had no scored query in them.
    """

    lineup: Lineup
    every: tuple[Aim, ...]
    settings: RankSettings
    margins: dict[str, float]
    n_undefined: int

    @classmethod
    def of(
        cls,
        lineup: Lineup,
        settings: RankSettings,
        objectives: ObjectivesArgument = None,
        weights: Mapping[str, float] | None = None,
        margins: Mapping[str, float] | None = None,
    ) -> Aims:
        """The objectives with their data, on the queries and on resamples of them.

        The queries, or the clusters of them, are drawn once for all metrics and pipelines, so that
        figures of several metrics keep the dependence between them.

        Raises
        ------
        DataError
            If no objective has data in every pipeline, or a weight or a margin makes no sense.
        UnknownNameError
            If a name is neither an objective nor a metric.
        """
        known, chosen = choose_objectives(lineup.runs, objectives, weights)
        every = [_aim(lineup, name, known, weight) for name, weight in chosen.items()]
        parts = [part for aim in every for part in aim.parts]
        if not parts:
            reasons = "; ".join(f"{aim.name}: {aim.missing}" for aim in every)
            raise DataError(
                f"no objective has data in every pipeline ({reasons}); name their metrics, such as "
                "objectives={'quality': ['recall@5', 'faithfulness']}"
            )
        metrics = {name: known_as[0] for name, known_as in lineup.metrics.items()}
        checked = check_margins(margins, metrics, chosen)
        drawn = resampled_statistics(
            [part.block.values for part in parts],
            [quantile_of(part.statistic) for part in parts],
            clusters=parts[0].block.units.codes,
            n_resamples=settings.n_resamples,
            seed=settings.seed,
        )
        undefined = np.isnan(drawn).any(axis=(1, 2))
        drawn = drawn[~undefined] if undefined.any() else drawn
        places = iter(range(len(parts)))
        with_draws = (
            replace(
                aim, parts=tuple(replace(part, drawn=drawn[:, next(places)]) for part in aim.parts)
            )
            for aim in every
        )
        return cls(lineup, tuple(with_draws), settings, checked, int(undefined.sum()))

    @property
    def with_data(self) -> list[Aim]:
        """Those with data in every pipeline."""
        return [aim for aim in self.every if aim.parts]

    def shown_settings(self, **first: object) -> dict[str, object]:
        """The settings of a result."""
        own = self.settings
        return {
            **first,
            "confidence_level": own.confidence_level,
            "missing": self.lineup.missing,
            "correction": own.stepwise,
            **({"margins": self.margins} if self.margins else {}),
            "n_resamples": own.n_resamples,
            "seed": own.seed,
        }

    def notes(self) -> list[str]:
        """The objectives that are left out, and the resamples that were dropped."""
        notes = []
        left_out = [f"{aim.name} ({aim.missing})" for aim in self.every if not aim.parts]
        if left_out:
            notes.append(f"objectives without data, left out: {'; '.join(left_out)}")
        if self.n_undefined:
            notes.append(
                f"{self.n_undefined} resamples are dropped, as they contain no scored query of "
                "some metric"
            )
        return notes


def _aim(lineup: Lineup, name: str, known: Mapping[str, Objective], weight: float) -> Aim:
    objective = known[name]
    notions: tuple[CorrectNotion, ...] = ()
    replaced: tuple[str, ...] = ()
    dialects = [recorded_dialect(run) for run in lineup.runs]
    # ragbench counts no correct answers.
    is_averaged = any(dialect is not None and dialect.name == "ragbench" for dialect in dialects)
    if objective.counts_correct and not is_averaged:
        notions = shared_notions(lineup.runs) or ()
        # An exact match that does not say what is correct misses right answers in other words.
        replaced = AGAINST_THE_REFERENCE if notions else EXACT_MATCHES
    blocks = {}
    if notions:
        blocks[_CORRECT.name] = lineup.block_of(_CORRECT, _correct_answers(lineup, notions))
    for metric in _present_metrics(lineup, objective, known):
        if lineup.metrics[metric][0].known_as not in replaced:
            blocks[metric] = lineup.block(metric)
    every = len(lineup.runs)
    parts = [
        Part.of(objective, block)
        for block in blocks.values()
        if len(block.names) == every and len(block.complete)
    ]
    if not parts:
        return Aim(name, weight, (), _why_missing(objective, blocks, lineup))
    return Aim(name, weight, tuple(parts), "", notions)


def _correct_answers(lineup: Lineup, notions: Sequence[CorrectNotion]) -> FloatArray:
    """1 for a correct answer, 0 for a wrong one, NaN if unknown; one column per pipeline."""
    columns = []
    for run, rows, notion in zip(lineup.runs, lineup.rows, notions, strict=True):
        column = answers_by(run, notion).to_numpy(dtype=np.float64, na_value=np.nan)
        columns.append(column if rows is None else column[rows])
    return np.column_stack(columns)


def _present_metrics(
    lineup: Lineup, objective: Objective, known: Mapping[str, Objective]
) -> list[str]:
    """The metrics of an objective that every pipeline has, in the order of the table."""
    spellings = _spellings(objective)
    shared = {name: metrics[0] for name, metrics in lineup.metrics.items()}
    present = [name for name, metric in shared.items() if _is_one_of(metric, spellings)]
    if present or not objective.group:
        return present
    of_any_objective = set().union(*map(_spellings, known.values()))
    return [
        name
        for name, metric in shared.items()
        if metric.group == objective.group
        # Without bounds a metric has no place between 0 and 1.
        and metric.bounds is not None
        and not _is_one_of(metric, of_any_objective)
    ]


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
