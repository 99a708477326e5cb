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
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, TypedDict, get_args

import numpy as np
import pandas as pd

from rageval_report._registry import Registry
from rageval_report.analysis.arguments import (
    Clusters,
    check_percentiles,
    interval_of_mean,
    is_scan,
)
from rageval_report.analysis.paired_metric import ComparisonLike, compare_with_margin
from rageval_report.analysis.pairing import Pairing, require_bounds
from rageval_report.analysis.report import UnscoredQueries, interval_of_clusters
from rageval_report.analysis.tables import table_of
from rageval_report.errors import DataError, check_choice
from rageval_report.scores import Catalogue, Correct, Metric, Scored, correctness
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.correct import HOW_TO_SAY
from rageval_report.scores.correct_notion import (
    CorrectCounts,
    CorrectNotion,
    answers_by,
    find_notion,
    why_unknown,
)
from rageval_report.scores.states import NOT_APPLICABLE, not_applicable
from rageval_report.stats.base import Interval, check_level, check_resamples, check_seed
from rageval_report.stats.columns import Column
from rageval_report.stats.equivalence import EQUIVALENCE_METHODS, EquivalenceResult, MarginMethod
from rageval_report.stats.means import (
    PercentileMethod,
    interval_of_count,
    percentiles_of,
    quantile_interval,
)
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


@dataclass(frozen=True, slots=True)
class GateSettings:
    """The settings that can move a figure; see `rageval_report.analysis.gate.gate`."""

    missing: GateMissing = "drop"
    confidence_level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0
    correct: Correct | CorrectNotion | None = None
    clusters: Clusters | None = None

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, GATE_MISSING)
        check_level(self.confidence_level)
        check_resamples(self.n_resamples)
        check_seed(self.seed)


class RunGateKeywords(TypedDict, total=False):
    """The fields of `GateSettings` as keywords."""

    missing: GateMissing
    confidence_level: float
    n_resamples: int
    seed: int
    correct: Correct | None
    clusters: Clusters | None


class GateKeywords(RunGateKeywords, total=False):
    """The same, and the method of margins, which is not used without a baseline."""

    margin_method: MarginMethod


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure's value, with its interval and the number of scores behind it.

    Parameters
    ----------
    value : float
        NaN if it cannot be computed.
    low, high : float
        The interval around the value; NaN if there is none.
    n, n_unscored : int
        The number of scores behind the value; the number of queries that have no score although
        the metric applies to them.
    notes : tuple of str
        What a reader must know.
    too_few : str
        Why there are too few queries for a rule on the value, although there is one; else empty.
    n_clusters : int
        The number of clusters to which the scores belong; 0 if each query counts by itself.
    estimate : float
        What the interval is around, if `value` is a limit of it.
    without_spread : str
        What is equal, such as "scores", if that is why the interval has no width; else empty.
    is_impossible : bool
        Whether more scores would not give an interval either; the first note says why.
    """

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

    def marked(self, values: str) -> Measurement:
        """The same; if its interval has no width, because these values are all equal."""
        return replace(self, without_spread=values) if self.low == self.high else self


# -- one pipeline


@dataclass(frozen=True, eq=False)
class GateColumn:
    """One metric of a pipeline, as figures take it.

    Parameters
    ----------
    metric : Metric
        What is known of it.
    n, n_unscored, n_not_applicable : int
        Queries that are scored; that should be and are not; to which the metric does not apply.
    settings : GateSettings
        The settings of the gate.
    scores : Column
        The scores; with missing="worst" also the worst possible one for each that is missing.
    percentile_method : {"linear", "exclusive", "upper"}
        The rule of percentiles, that of the dialect of the pipeline's scores.
    values : ndarray, optional
        The scores one by one, where `units` says which of them belong together.
    units : Units
        The independent units of the queries that are scored, then of those that should be.
    """

    metric: Metric
    n: int
    n_unscored: int
    n_not_applicable: int
    settings: GateSettings
    scores: Column
    percentile_method: PercentileMethod = "linear"
    values: FloatArray | None = None
    units: Units = QUERIES

    def measurement(
        self, value: float, low: float = math.nan, high: float = math.nan
    ) -> Measurement:
        """A value of this column, with its interval if there is one."""
        metric, notes = self.metric, tuple[str, ...]()
        if metric.bounds is not None and is_share_elsewhere(metric) and self.scores.maximum <= 1.0:
            bounds = f"its bounds are {metric.bounds[0]:g} to {metric.bounds[1]:g}"
            hint = "if the scores are shares, leave the bounds out"
            notes = (f"{bounds}, but no score is above 1; {hint}",)
        measured = Measurement(value, low, high, self.n, self.n_unscored, notes)
        return replace(measured, n_clusters=self.n_clusters)

    def measurement_of(self, interval: Interval) -> Measurement:
        """The estimate of an interval of this column, with the interval and its notes."""
        measured = self.measurement(interval.estimate, interval.low, interval.high)
        notes = interval.notes if self.scores.n else ()
        return replace(measured, notes=(*measured.notes, *notes)).marked("scores")

    @cached_property
    def n_clusters(self) -> int:
        """The number of clusters of the scored queries; 0 if each query counts by itself."""
        return self.units.select(slice(self.n)).count(self.n) if self.units.are_clusters else 0

    def mean_interval(self) -> Interval:
        """Their mean with its interval."""
        level = self.settings.confidence_level
        if self.values is None or not self.values.size:
            return interval_of_mean(
                self.metric,
                self.scores,
                confidence_level=level,
                n_resamples=self.settings.n_resamples,
                seed=self.settings.seed,
            )
        codes = np.asarray(self.units.select(slice(self.values.size)).codes)
        interval = interval_of_clusters(
            self.metric,
            float(self.values.min()),
            clustered_standard_error(self.values, codes),
            confidence_level=level,
        )
        # Clusters move no mean, not even by its last digit.
        return replace(interval, estimate=self.scores.mean)

    def share_interval(self, holds: Callable[[FloatArray], BoolArray]) -> Interval:
        """The share of the scores of which something holds, with its interval."""
        n_holding = int(self.scores.counts[holds(self.scores.values)].sum())
        each = None if self.values is None else holds(self.values)
        return share_interval((n_holding, self.scores.n), self.settings, self.units, each)

    def unscored_interval(self) -> Interval:
        """The share of the queries without a score, with its interval."""
        counts = (self.n_unscored, self.n + self.n_unscored)
        each = np.repeat([False, True], [self.n, self.n_unscored])
        return share_interval(counts, self.settings, self.units, each)

    def percentile(self, percentile: float) -> float:
        """A percentile of the scores; NaN if there are none."""
        return float(percentiles_of(self.scores, (percentile,), method=self.percentile_method)[0])


def share_interval(
    counts: tuple[int, int],
    settings: GateSettings,
    units: Units = QUERIES,
    each: BoolArray | FloatArray | None = None,
) -> Interval:
    """The interval of a share, from how many there are of all, or from each query in clusters."""
    level = settings.confidence_level
    if not units.are_clusters or each is None or not each.size:
        return interval_of_count(*counts, level)
    # The units may go on after the scores.
    codes = np.asarray(units.select(slice(each.size)).codes)
    bounds = (0.0, 1.0)
    return clustered_interval(each.astype(float), codes, confidence_level=level, bounds=bounds)


@dataclass(frozen=True, eq=False)
class GatedRun:
    """A pipeline, the settings of its gate, and the independent units of its queries."""

    evaluation: Scored
    settings: GateSettings
    units: Units = QUERIES

    @property
    def sample(self) -> Scored:
        """The evaluation, or some rows of a scan with the metrics of all."""
        return table_of(self.evaluation).sample

    def select_rows(self, select: Callable[[GatedRun], Any]) -> Any:
        """What a function selects of the queries of the run."""
        return select(self)

    def column(self, metric: Metric) -> GateColumn:
        """One metric's scores; a `DataError` if a missing one has no worst possible value."""
        table, name, run = table_of(self.evaluation), metric.name, self.evaluation
        scores, scan = table.column(metric), is_scan(run)
        anything: Any = run
        unscored = (
            anything.count_unscored([name]) if scan else UnscoredQueries.of(run, [name])
        ).states.get(name, Counter())
        n, n_not_applicable = scores.n, unscored.get(NOT_APPLICABLE, 0)
        n_unscored = table.n_queries - n - n_not_applicable
        fills = self.settings.missing == "worst" and n_unscored > 0
        worst = require_bounds(metric)[0 if metric.greater_is_better else 1] if fills else math.nan
        column = GateColumn(
            *(metric, n, n_unscored, n_not_applicable, self.settings),
            with_more(scores, worst, n_unscored) if fills else scores,
            percentile_method(table.sample),
        )
        if not self.units.are_clusters:
            return column
        each = run.scores[name]
        is_missing = each.isna().to_numpy()
        is_gap = is_missing & ~not_applicable(each, run.details, name)
        rows = np.concatenate([np.flatnonzero(~is_missing), np.flatnonzero(is_gap)])
        values = each.to_numpy()[rows[: n + fills * n_unscored]]
        filled = np.where(np.isnan(values), worst, values)
        return replace(column, values=filled, units=self.units.select(rows))

    def correct_share(self) -> Measurement:
        """The share of correct answers, with its interval."""
        fills, units, each = self.settings.missing == "worst", QUERIES, None
        if self.units.are_clusters:
            is_correct = self.is_correct()
            is_unknown = is_correct.isna().to_numpy()
            n, n_unscored = int((~is_unknown).sum()), int(is_unknown.sum())
            rows = np.argsort(is_unknown, kind="stable")[: n + fills * n_unscored]
            units = self.units.select(rows)
            each = is_correct.fillna(value=False).to_numpy(dtype=float)[rows]
            n_correct = int(each.sum())
        else:
            counts = self.count_correct(self.notion())
            n_correct, n_unscored = counts.n_correct, counts.n_unscored
            n = n_correct + counts.n_incorrect
        of_all = (n_correct, n + fills * n_unscored)
        interval = share_interval(of_all, self.settings, units, each)
        n_clusters = 0 if each is None else units.select(slice(n)).count(n)
        # Answers that were filled in as wrong are counted as unscored, not as scored.
        return Measurement(
            *(interval.estimate, interval.low, interval.high, n, n_unscored), n_clusters=n_clusters
        )

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
            run.count_correct(notion) if is_scan(run) else CorrectCounts.of(answers_by(run, notion))
        )
        return counts

    def is_correct(self) -> pd.Series:
        """Whether each query was answered correctly, by the gate's rule or else the run's own."""
        return correctness(self.evaluation, self.settings.correct)


def with_more(column: Column, value: float, n: int) -> Column:
    """A column with more numbers, all of them equal.

    Examples
    --------
    >>> more = with_more(Column.of([0.5, 1.0]), 0.0, 2)
    >>> more.values, more.counts, more.mean
    (array([0. , 0.5, 1. ]), array([2., 1., 1.]), 0.375)
    """
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
    """One metric of a baseline and a candidate: a row of a comparison, and its scores.

    Parameters
    ----------
    comparison : ComparisonLike
        The comparison.
    pairing : Pairing
        The baseline beside this candidate.
    metric : Metric
        The metric as the baseline knows it.
    """

    comparison: ComparisonLike
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
        return self.pairing.independent_pairs(self.metric, twin, plan.missing, plan.units)

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

    def non_inferiority(
        self, margin: float, margin_method: str | None = None
    ) -> EquivalenceResult | None:
        """The test that the candidate is not worse by the margin; None if there are too few units.

        The method is that of the rule, or else that of the comparison.
        """
        plan, pairs = self.comparison.plan, self.by_unit
        if pairs.n < plan.fewest_units:
            return None
        # The test asks whether its second side is not lower; if lower is better, the sides swap.
        return compare_with_margin(
            pairs if self.metric.greater_is_better else pairs.swapped(),
            self.metric,
            margin,
            method=margin_method or plan.margin_method,
            alpha=plan.alpha_of_one,
            alternative="non-inferior",
        )


# -- the figures

# Which queries stand behind a rule that failed: those whose scores lie on the wrong side of the
# threshold; those whose scores the figure counts, below or above the threshold in its brackets;
# those without a score; those with a wrong answer; those on which the candidate is worse.
QueriesBehind = Literal[
    "scores", "scores below", "scores above", "unscored", "wrong answers", "regressions"
]


def score_range(metric: Metric) -> ValueRange | None:
    """The possible scores of a metric, which are those of their mean, extremes and percentiles."""
    return metric.bounds


def share_range(_metric: Metric) -> ValueRange:
    """The possible shares, and p-values."""
    return 0.0, 1.0


def count_range(_metric: Metric) -> ValueRange:
    """The possible counts, and standard deviations."""
    return 0.0, math.inf


def difference_range(metric: Metric) -> ValueRange | None:
    """The possible differences of a metric."""
    if metric.bounds is None:
        return None
    width = metric.bounds[1] - metric.bounds[0]
    return -width, width


def is_share_elsewhere(metric: Metric) -> bool:
    """Whether a metric has scores on a larger scale, such as 0 to 100, that others have as shares.

    Examples
    --------
    >>> is_share_elsewhere(Metric("faithfulness", bounds=(0, 100)))
    True
    >>> is_share_elsewhere(Metric("faithfulness", bounds=(0, 1)))
    False
    """
    if metric.bounds is None or metric.bounds[1] <= 1.0:
        return False
    known = Catalogue().find(metric.known_as)
    if known is None:
        return metric.bounds == (0.0, 100.0)
    return known.kind in ("binary", "proportion")


@dataclass(frozen=True, slots=True)
class GateFigure:
    """A figure that a rule may ask for.

    Parameters
    ----------
    description : str
        In words, for the list of figures.
    measure : callable
        Takes a `GateColumn`, a `GatedRun` or a `ComparedPair`, and the other parameters by name.
    of : {"column", "run", "pair"}
        Which of the three `measure` takes.
    parameters : tuple of str
        The arguments in the brackets, in order; a name that ends in "?" may be omitted.
    value_range : callable
        The possible values, by the metric, or None if they are unknown: a threshold outside them
        is a mistake.
    queries : str, optional
        Which queries are shown if a rule on this figure fails; None if no query is to blame more
        than another. "scores" also says that the value is on the scale of the scores, so that a
        rule may be checked against the metric's direction.
    counts_missing : bool
        Whether the figure counts missing scores itself, so that missing="worst" does not change it.
    choices : mapping of str to sequence of str
        The parameters that are words and not numbers, each with the words that it can be.
    """

    description: str
    measure: Callable[..., Measurement]
    of: Literal["column", "run", "pair"] = "column"
    parameters: tuple[str, ...] = ("metric",)
    value_range: Callable[[Metric], ValueRange | None] = lambda _metric: None
    queries: QueriesBehind | None = None
    counts_missing: bool = False
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)


def _mean(column: GateColumn) -> Measurement:
    return column.measurement_of(column.mean_interval())


def _share_below(column: GateColumn, threshold: float) -> Measurement:
    return column.measurement_of(column.share_interval(lambda scores: scores < threshold))


def _share_above(column: GateColumn, threshold: float) -> Measurement:
    return column.measurement_of(column.share_interval(lambda scores: scores > threshold))


def _share_unscored(column: GateColumn) -> Measurement:
    measurement = column.measurement_of(column.unscored_interval())
    n = column.n_not_applicable
    more = (f"{n} more are not applicable",) if n else ()
    return replace(measurement, notes=(*measurement.notes, *more))


def _share_correct(run: GatedRun) -> Measurement:
    return run.correct_share().marked("answers")


def _percentile(column: GateColumn, percentile: float) -> Measurement:
    value = column.percentile(percentile)
    # No sample limits the smallest and the largest score that it did not draw.
    if not 0 < percentile < 100:
        return column.measurement(value)
    if column.n_clusters:
        note = "the interval of a percentile assumes independent queries, not clusters"
        return replace(column.measurement(value), notes=(note,), is_impossible=True)
    level = column.settings.confidence_level
    interval = quantile_interval(column.scores, percentile / 100, confidence_level=level)
    return column.measurement(value, interval.low, interval.high)


def _difference(pair: ComparedPair) -> Measurement:
    numbers = (float(pair.row[name]) for name in ("difference", "ci_low", "ci_high"))
    return pair.tested(pair.measurement(*numbers).marked("differences"))


def _pvalue(pair: ComparedPair, *, column: str = "pvalue") -> Measurement:
    return pair.tested(pair.measurement(float(pair.row[column])))


def _count_of_pair(pair: ComparedPair, *, column: str) -> Measurement:
    # Without a pair the table counts 0 losses, and a rule such as "losses(f1) <= 5" would hold.
    return pair.measurement(float(pair.row[column]) if pair.row["n"] else math.nan)


def _no_regression(
    pair: ComparedPair, margin: float, margin_method: str | None = None
) -> Measurement:
    """The difference with the interval of the test, which is not that of the comparison."""
    difference = float(pair.row["difference"])
    test = pair.non_inferiority(margin, margin_method)
    if test is None:
        return pair.tested(pair.measurement(difference))
    # Where lower is better the test exchanged the sides: its interval is baseline minus candidate.
    low, high = (test.low, test.high) if pair.metric.greater_is_better else (-test.high, -test.low)
    return replace(pair.measurement(difference, low, high), notes=test.notes)


_scores = partial(GateFigure, value_range=score_range, queries="scores")
_share = partial(GateFigure, value_range=share_range)
_count = partial(GateFigure, value_range=count_range)
_share_of_scores = partial(_share, parameters=("metric", "threshold"))

FIGURES: Registry[GateFigure] = Registry(
    "figure",
    {
        "mean": _scores("the mean", _mean),
        "median": _scores("the median", partial(_percentile, percentile=50.0)),
        "min": _scores("the smallest score", lambda c: c.measurement(c.scores.minimum)),
        "max": _scores("the largest score", lambda c: c.measurement(c.scores.maximum)),
        "std": _count("the standard deviation", lambda c: c.measurement(c.scores.std)),
        "n": _count(
            "the number of scored queries",
            lambda c: c.measurement(float(c.n)),
            counts_missing=True,
        ),
        "unscored": _share(
            "the share of queries without a score",
            _share_unscored,
            queries="unscored",
            counts_missing=True,
        ),
        "share_below": _share_of_scores(
            "the share of scores below a threshold", _share_below, queries="scores below"
        ),
        "share_above": _share_of_scores(
            "the share of scores above a threshold", _share_above, queries="scores above"
        ),
        "correct": _share(
            "the share of correct answers",
            _share_correct,
            of="run",
            parameters=(),
            queries="wrong answers",
        ),
    },
)
"""The figures of an evaluation by name; `percentile_figure` knows ``p95`` and all the others."""

_pair_difference = partial(
    GateFigure, of="pair", value_range=difference_range, queries="regressions"
)
_pair_pvalue = partial(_share, of="pair", queries="regressions")
_pair_count = partial(_count, of="pair")

PAIR_FIGURES: Registry[GateFigure] = Registry(
    "figure",
    {
        NO_REGRESSION: _pair_difference(
            "the candidate is not worse by the margin or more (non-inferiority)",
            _no_regression,
            parameters=("metric", "margin?", "margin_method?"),
            choices={MARGIN_METHOD: EQUIVALENCE_METHODS},
        ),
        "difference": _pair_difference("candidate minus baseline", _difference),
        "pvalue": _pair_pvalue("the p-value of the difference", _pvalue),
        "pvalue_adjusted": _pair_pvalue(
            "the same, adjusted over the comparison's table",
            partial(_pvalue, column="pvalue_adjusted"),
        ),
        # Counts need no test, so any number of queries will do.
        "wins": _pair_count(
            "the number of queries on which the candidate is better",
            partial(_count_of_pair, column="wins"),
        ),
        "losses": _pair_count(
            "the number of queries on which the candidate is worse",
            partial(_count_of_pair, column="losses"),
            queries="regressions",
        ),
        "ties": _pair_count(
            "the number of queries on which both are equal",
            partial(_count_of_pair, column="ties"),
        ),
    },
)
"""The figures that need a baseline, by name; those of an evaluation describe the candidate."""


def percentile_figure(name: str) -> GateFigure | None:
    """The figure for a name such as "p95" or "p99.9"; None for others, a `DataError` above 100.

    Examples
    --------
    >>> percentile_figure("p95").description, percentile_figure("mean")
    ('the percentile 95', None)
    """
    match = _PERCENTILE.fullmatch(name)
    if match is None:
        return None
    [percentile] = check_percentiles([float(match["percentile"])])
    measure = partial(_percentile, percentile=percentile)
    return _scores(f"the percentile {percentile:g}", measure)
