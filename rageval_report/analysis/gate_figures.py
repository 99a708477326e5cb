"""The figures that a rule can ask for, such as ``mean``, ``p95`` or ``no_regression``.

A figure is a function of a `GateColumn` (one metric's scores), of a `GatedRun` (a whole pipeline)
or of a `ComparedPair` (one metric of a baseline and a candidate), and of the numbers in the rule;
it returns a `Measurement`: a value and, if there is one, the interval around it. One more figure is
one function and one line, here or in another package::

    def spread(column: GateColumn) -> Measurement:
        return column.measurement(column.scores.maximum - column.scores.minimum)

    FIGURES.add("spread", GateFigure("the largest score minus the smallest", spread))
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, TypedDict, get_args

import numpy as np
import pandas as pd

from rageval_report._registry import Registry
from rageval_report.analysis import arguments, paired_metric, tables
from rageval_report.analysis.pairing import Pairing, require_bounds
from rageval_report.errors import DataError, check_choice
from rageval_report.scores import Catalogue, Correct, Metric, Scored
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.correct import (
    HOW_TO_SAY,
    CorrectCounts,
    CorrectNotion,
    answers_by,
    find_notion,
    why_unknown,
)
from rageval_report.scores.states import NOT_APPLICABLE, not_applicable
from rageval_report.stats import equivalence, means
from rageval_report.stats.base import Interval
from rageval_report.stats.columns import Column
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import QUERIES, Units, clustered_interval, clustered_standard_error
from rageval_report.types import BoolArray, FloatArray

GateMissing = Literal["drop", "worst"]
GATE_MISSING: tuple[GateMissing, ...] = get_args(GateMissing)

NO_REGRESSION = "no_regression"
MARGIN_METHOD = "margin_method"
LIMITS = ("ci_low", "ci_high")
"""The ends of the interval of a metric's mean, or of another figure: ``ci_low(difference(f1))``."""

ValueRange = tuple[float, float]
_PERCENTILE = re.compile(r"p(?P<percentile>\d+(?:\.\d+)?)")
_CORRECT = Metric("correct", kind="binary", bounds=(0.0, 1.0))


@dataclass(frozen=True)
class GateSettings(arguments.IntervalSettings):
    """The settings that can move a figure; see `rageval_report.analysis.gate.gate`."""

    missing: GateMissing = "drop"
    correct: Correct | CorrectNotion | None = None
    clusters: arguments.Clusters | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("missing", self.missing, GATE_MISSING)


class RunGateKeywords(TypedDict, total=False):
    """The settings of the gates of one run."""

    missing: GateMissing
    confidence_level: float
    n_resamples: int
    seed: int
    correct: Correct | None
    clusters: arguments.Clusters | None


class GateKeywords(RunGateKeywords, total=False):
    """The settings of gates; the method of margins is not used without a baseline."""

    margin_method: equivalence.MarginMethod


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure's value, with its interval and the number of scores behind it."""

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    n_unscored: int = 0
    notes: tuple[str, ...] = ()
    too_few: str = ""
    n_clusters: int = 0
    estimate: float = math.nan
    without_spread: str = ""
    is_impossible: bool = False
    test: equivalence.EquivalenceResult | None = None

    def marked(self, values: str) -> Measurement:
        """The same; if its interval has no width, because these values are all equal."""
        return replace(self, without_spread=values) if self.low == self.high else self


# -- one pipeline


@dataclass(frozen=True, eq=False)
class GateColumn:
    """One metric of a pipeline, as figures take it."""

    run: GatedRun
    metric: Metric
    scores: Column
    n: int
    n_unscored: int
    n_not_applicable: int = 0
    each: FloatArray | None = None
    units: Units = QUERIES
    worst: float = math.nan

    @cached_property
    def n_clusters(self) -> int:
        """The number of clusters of the scored queries; 0 if each query counts by itself."""
        return 0 if self.each is None else self.units.select(~np.isnan(self.each)).count(self.n)

    def measurement(
        self, value: float, low: float = math.nan, high: float = math.nan
    ) -> Measurement:
        """A value of this column, with its interval if there is one."""
        metric, notes = self.metric, tuple[str, ...]()
        if metric.bounds is not None and is_share_elsewhere(metric) and self.scores.maximum <= 1.0:
            bounds = f"its bounds are {metric.bounds[0]:g} to {metric.bounds[1]:g}"
            hint = "if the scores are shares, leave the bounds out"
            notes = (f"{bounds}, but no score is above 1; {hint}",)
        counts = (self.n, self.n_unscored)
        return Measurement(value, low, high, *counts, notes, n_clusters=self.n_clusters)

    def measurement_of(self, interval: Interval, values: str = "scores") -> Measurement:
        """The estimate of an interval of this column, with the interval and its notes."""
        measured = self.measurement(interval.estimate, interval.low, interval.high)
        notes = interval.notes if self.scores.n else ()
        return replace(measured, notes=(*measured.notes, *notes)).marked(values)

    def mean_interval(self) -> Interval:
        """Their mean with its interval."""
        known = self.metric, self.scores
        if self.each is None or not self.scores.n:
            return arguments.interval_of_mean(*known, self.run.settings)
        error = clustered_standard_error(self._filled(self.each), np.asarray(self.units.codes))
        return arguments.interval_of_clusters(*known, error, self.run.settings)

    def share_interval(self, holds: Callable[[FloatArray], BoolArray]) -> Interval:
        """The share of the scores of which something holds, with its interval."""
        n_holding = int(self.scores.counts[holds(self.scores.values)].sum())
        if self.each is None:
            return self._share(n_holding, self.scores.n)
        scores = self._filled(self.each)
        each = np.where(np.isnan(scores), math.nan, holds(scores))
        return self._share(n_holding, self.scores.n, each)

    def unscored_interval(self) -> Interval:
        """The share of the queries without a score, with its interval."""
        each = None if self.each is None else np.isnan(self.each).astype(np.float64)
        return self._share(self.n_unscored, self.n + self.n_unscored, each)

    def _share(self, n_holding: int, n: int, each: FloatArray | None = None) -> Interval:
        level = self.run.settings.confidence_level
        if each is None or not n:
            return means.interval_of_count(n_holding, n, level)
        codes, bounds = np.asarray(self.units.codes), (0.0, 1.0)
        return clustered_interval(each, codes, confidence_level=level, bounds=bounds)

    def _filled(self, each: FloatArray) -> FloatArray:
        return np.where(np.isnan(each), self.worst, each)

    def percentile(self, percentile: float) -> float:
        """A percentile of the scores by the rule of their dialect; NaN if there are none."""
        method = percentile_method(self.run.sample)
        return float(means.percentiles_of(self.scores, (percentile,), method=method)[0])


@dataclass(frozen=True, eq=False)
class GatedRun:
    """A pipeline, the settings of its gate, and the independent units of its queries."""

    evaluation: Scored
    settings: GateSettings
    units: Units = QUERIES
    comparison: paired_metric.ComparisonLike | None = None
    pairing: Pairing | None = None

    @property
    def name(self) -> str:
        """The pipeline's name."""
        return self.evaluation.name

    @property
    def sample(self) -> Scored:
        """The evaluation, or some rows of a scan with the metrics of all."""
        return tables.table_of(self.evaluation).sample

    def pair(self, metric: Metric) -> ComparedPair:
        """The row of the comparison that a metric has."""
        if self.comparison is None or self.pairing is None:
            raise DataError("a difference needs a baseline: compare(baseline, candidate).gate(...)")
        return ComparedPair(self.comparison, self.pairing, metric)

    def column(self, metric: Metric) -> GateColumn:
        """One metric's scores; a `DataError` if a missing one has no worst possible value."""
        table, name, run = tables.table_of(self.evaluation), metric.name, self.evaluation
        scores, each, units = table.column(metric), None, QUERIES
        if arguments.is_scan(run) and not self.units.are_clusters:
            scan: Any = run
            states = scan.count_unscored([name]).states.get(name, {})
            n_not_applicable = states.get(NOT_APPLICABLE, 0)
        else:
            own = run.scores[name]
            is_about = own.notna().to_numpy() | ~not_applicable(own, run.details, name)
            n_not_applicable = int((~is_about).sum())
            if self.units.are_clusters:
                each, units = own.to_numpy()[is_about], self.units.select(is_about)
        n_unscored = table.n_queries - scores.n - n_not_applicable
        return self._column(metric, scores, n_unscored, n_not_applicable, each, units)

    def correct_column(self) -> GateColumn:
        """Whether the answers are correct, 1 or 0."""
        if self.units.are_clusters:
            answers = self.is_correct()
            counts, each = CorrectCounts.of(answers), answers.to_numpy(float, na_value=math.nan)
        else:
            counts, each = self.count_correct(self.notion()), None
        n_of = np.array([counts.n_incorrect, counts.n_correct], dtype=np.float64)
        scores = Column.of_counts(np.flatnonzero(n_of).astype(np.float64), n_of[n_of > 0])
        return self._column(_CORRECT, scores, counts.n_unscored, 0, each, self.units)

    def _column(
        self,
        metric: Metric,
        scores: Column,
        n_unscored: int,
        n_not_applicable: int,
        each: FloatArray | None,
        units: Units,
    ) -> GateColumn:
        n, worst = scores.n, math.nan
        if self.settings.missing == "worst" and n_unscored:
            worst = require_bounds(metric)[0 if metric.greater_is_better else 1]
            scores = with_more(scores, worst, n_unscored)
        counts = (n, n_unscored, n_not_applicable)
        return GateColumn(self, metric, scores, *counts, each, units, worst)

    def notion(self) -> CorrectNotion:
        """What a correct answer is, by the gate's rule or else the run's own."""
        sample = self.sample
        notion = find_notion(sample, self.settings.correct)
        if notion is None:
            why = why_unknown(sample) or f"{sample.name!r} has no metric of correct answers"
            raise DataError(f"{why}. {HOW_TO_SAY}")
        return notion

    def count_correct(self, notion: CorrectNotion) -> CorrectCounts:
        """How many queries are answered correctly."""
        run: Any = self.evaluation
        counts: CorrectCounts = (
            run.count_correct(notion)
            if arguments.is_scan(run)
            else CorrectCounts.of(answers_by(run, notion))
        )
        return counts

    def is_correct(self) -> pd.Series:
        """Whether each query was answered correctly."""
        return answers_by(self.evaluation, self.notion())


def with_more(column: Column, value: float, n: int) -> Column:
    """A column with more numbers, all of them equal."""
    values, places = np.unique(np.append(column.values, value), return_inverse=True)
    counts = np.bincount(places, np.append(column.counts, float(n))).astype(np.float64)
    if column.is_exact:
        return Column.of_counts(values, counts)
    total, added = column.n + n, column.n * n / (column.n + n) * (column.mean - value) ** 2
    mean = (column.mean * column.n + value * n) / total
    squares = column.variance * (column.n - 1) + added
    return Column(values, counts, mean, math.sqrt(squares / (total - 1)), is_exact=False)


# -- a baseline and a candidate


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """One metric of a baseline and a candidate: a row of a comparison, and its scores."""

    comparison: paired_metric.ComparisonLike
    pairing: Pairing
    metric: Metric

    @cached_property
    def row(self) -> pd.Series:
        """The row of the comparison's table."""
        frame = self.comparison.frame
        is_metric = frame["metric"] == self.metric.name
        return frame[is_metric & (frame["candidate"] == self.pairing.candidate.name)].iloc[0]

    @cached_property
    def by_unit(self) -> Pairs:
        """One pair per independent unit, with missing scores treated as in the comparison."""
        plan, known = self.comparison.plan, self.pairing.metrics
        twin = next(theirs for ours, theirs in known if ours.name == self.metric.name)
        return self.pairing.measured(self.metric, twin, plan.missing, plan.units).pairs

    def measurement(
        self, value: float, low: float = math.nan, high: float = math.nan
    ) -> Measurement:
        """A value of this pair, with its interval if there is one."""
        n_clusters = self.by_unit.n if self.comparison.plan.units.are_clusters else 0
        counts = (int(self.row["n"]), int(self.row["n_dropped"]))
        return Measurement(value, low, high, *counts, n_clusters=n_clusters)

    def tested(self, measurement: Measurement) -> Measurement:
        """The same, marked if there are too few units for a test."""
        plan, n = self.comparison.plan, self.by_unit.n
        if n == 0 or n >= plan.fewest_units:
            return measurement
        why = f"too few {plan.units.word} for a test: {n}, at least {plan.fewest_units} are needed"
        return replace(measurement, too_few=why)


# -- the figures

# Which queries stand behind a rule that failed: those whose scores lie on the wrong side of the
# threshold; those whose scores the figure counts, below or above the threshold in its brackets;
# those without a score; those with a wrong answer; those on which the candidate is worse.
QueriesBehind = Literal[
    "scores", "scores below", "scores above", "unscored", "wrong answers", "regressions"
]


def difference_range(metric: Metric) -> ValueRange | None:
    """The possible differences of a metric."""
    if metric.bounds is None:
        return None
    width = metric.bounds[1] - metric.bounds[0]
    return -width, width


def is_share_elsewhere(metric: Metric) -> bool:
    """Whether a metric has scores on a scale such as 0 to 100 that others have as shares."""
    if metric.bounds is None or metric.bounds[1] <= 1.0:
        return False
    known = Catalogue().find(metric.known_as)
    if known is None:
        return metric.bounds == (0.0, 100.0)
    return known.kind in ("binary", "proportion")


@dataclass(frozen=True, slots=True)
class GateFigure:
    """A figure that a rule may ask for."""

    description: str
    measure: Callable[..., Measurement]
    of: Literal["column", "run", "pair"] = "column"
    parameters: tuple[str, ...] = ("metric",)
    value_range: Callable[[Metric], ValueRange | None] = lambda _metric: None
    queries: QueriesBehind | None = None
    counts_missing: bool = False
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)


def _share_below(column: GateColumn, threshold: float) -> Measurement:
    return column.measurement_of(column.share_interval(lambda scores: scores < threshold))


def _share_above(column: GateColumn, threshold: float) -> Measurement:
    return column.measurement_of(column.share_interval(lambda scores: scores > threshold))


def _share_unscored(column: GateColumn) -> Measurement:
    measured, n = column.measurement_of(column.unscored_interval()), column.n_not_applicable
    more = (f"{n} more are not applicable",) if n else ()
    return replace(measured, notes=(*measured.notes, *more))


def _share_correct(run: GatedRun) -> Measurement:
    column = run.correct_column()
    return column.measurement_of(column.share_interval(lambda scores: scores > 0.0), "answers")


def _percentile(column: GateColumn, percentile: float) -> Measurement:
    value = column.percentile(percentile)
    # No sample limits the smallest and the largest score that it did not draw.
    if not 0 < percentile < 100:
        return column.measurement(value)
    if column.n_clusters:
        note = "the interval of a percentile assumes independent queries, not clusters"
        return replace(column.measurement(value), notes=(note,), is_impossible=True)
    level = column.run.settings.confidence_level
    interval = means.quantile_interval(column.scores, percentile / 100, confidence_level=level)
    return column.measurement(value, interval.low, interval.high)


def _tested(pair: ComparedPair, *columns: str) -> Measurement:
    numbers = (float(pair.row[name]) for name in columns)
    return pair.tested(pair.measurement(*numbers).marked("differences"))


def _count_of_pair(pair: ComparedPair, *, column: str) -> Measurement:
    # Without a pair the table counts 0 losses, and a rule such as "losses(f1) <= 5" would hold.
    return pair.measurement(float(pair.row[column]) if pair.row["n"] else math.nan)


def _no_regression(
    pair: ComparedPair, margin: float, margin_method: str | None = None
) -> Measurement:
    """The difference, and the test with its interval, which is not that of the comparison."""
    plan, pairs, rises = pair.comparison.plan, pair.by_unit, pair.metric.greater_is_better
    measured = pair.measurement(float(pair.row["difference"]))
    if pairs.n < plan.fewest_units:
        return pair.tested(measured)
    # The test asks whether its second side is not lower; if lower is better, the sides swap.
    test = paired_metric.compare_with_margin(
        *(pairs if rises else pairs.swapped(), pair.metric, margin),
        method=margin_method or plan.margin_method,
        alpha=plan.alpha_of_one,
        alternative="non-inferior",
    )
    low, high = (test.low, test.high) if rises else (-test.high, -test.low)
    return replace(measured, low=low, high=high, notes=test.notes, test=test)


_scores = partial(GateFigure, value_range=lambda metric: metric.bounds, queries="scores")
_share = partial(GateFigure, value_range=lambda _metric: (0.0, 1.0))
_count = partial(GateFigure, value_range=lambda _metric: (0.0, math.inf))
_counted_share = partial(_share, parameters=("metric", "threshold"))

FIGURES: Registry[GateFigure] = Registry(
    "figure",
    {
        "mean": _scores("the mean", lambda c: c.measurement_of(c.mean_interval())),
        "median": _scores("the median", partial(_percentile, percentile=50.0)),
        "min": _scores("the smallest score", lambda c: c.measurement(c.scores.minimum)),
        "max": _scores("the largest score", lambda c: c.measurement(c.scores.maximum)),
        "std": _count("the standard deviation", lambda c: c.measurement(c.scores.std)),
        "n": _count(
            *("the number of scored queries", lambda c: c.measurement(float(c.n))),
            counts_missing=True,
        ),
        "unscored": _share(
            *("the share of queries without a score", _share_unscored),
            queries="unscored",
            counts_missing=True,
        ),
        "share_below": _counted_share(
            "the share of scores below a threshold", _share_below, queries="scores below"
        ),
        "share_above": _counted_share(
            "the share of scores above a threshold", _share_above, queries="scores above"
        ),
        "correct": _share(
            *("the share of correct answers", _share_correct, "run", ()), queries="wrong answers"
        ),
    },
)
"""The figures of an evaluation by name; `percentile_figure` knows ``p95`` and all the others."""

_of_differences = partial(
    GateFigure, of="pair", value_range=difference_range, queries="regressions"
)
_pair_pvalue = partial(_share, of="pair", queries="regressions")


def _pair_count(queries: str, column: str, behind: QueriesBehind | None = None) -> GateFigure:
    """A count needs no test, so any number of queries will do."""
    measure = partial(_count_of_pair, column=column)
    return _count(f"the number of queries on which {queries}", measure, "pair", queries=behind)


PAIR_FIGURES: Registry[GateFigure] = Registry(
    "figure",
    {
        NO_REGRESSION: _of_differences(
            "the candidate is not worse by the margin or more (non-inferiority)",
            _no_regression,
            parameters=("metric", "margin?", "margin_method?"),
            choices={MARGIN_METHOD: equivalence.EQUIVALENCE_METHODS},
        ),
        "difference": _of_differences(
            "candidate minus baseline",
            lambda pair: _tested(pair, "difference", "ci_low", "ci_high"),
        ),
        "pvalue": _pair_pvalue(
            "the p-value of the difference", lambda pair: _tested(pair, "pvalue")
        ),
        "pvalue_adjusted": _pair_pvalue(
            "the same, adjusted over the comparison's table",
            lambda pair: _tested(pair, "pvalue_adjusted"),
        ),
        "wins": _pair_count("the candidate is better", "wins"),
        "losses": _pair_count("the candidate is worse", "losses", "regressions"),
        "ties": _pair_count("both are equal", "ties"),
    },
)
"""The figures that need a baseline, by name; those of an evaluation describe the candidate."""


def percentile_figure(name: str) -> GateFigure | None:
    """The figure for a name such as "p95" or "p99.9"; None for others, a `DataError` above 100."""
    match = _PERCENTILE.fullmatch(name)
    if match is None:
        return None
    [percentile] = arguments.check_percentiles([float(match["percentile"])])
    measure = partial(_percentile, percentile=percentile)
    return _scores(f"the percentile {percentile:g}", measure)
