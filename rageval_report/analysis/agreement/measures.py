"""The measures of agreement, each with its interval and the word for it by a known benchmark."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from rageval_report.analysis.agreement.correlations import CorrelationKind, correlation
from rageval_report.analysis.agreement.rating_scale import RatingScale, ScaleKind
from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.stats.agreement import (
    MeasurementLevel,
    Weights,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
)
from rageval_report.stats.base import Interval
from rageval_report.stats.means import mean_interval
from rageval_report.types import FloatArray

JUDGE_AND_PEOPLE = "judge and people"
PEOPLE = "people with each other"

_LEVEL_OF_SCALE: dict[ScaleKind, MeasurementLevel] = {
    "binary": "nominal",
    "nominal": "nominal",
    "ordinal": "ordinal",
    "continuous": "interval",
}


@dataclass(frozen=True, slots=True)
class IntervalSettings:
    """The settings of the intervals of a calibration."""

    confidence_level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0

    def as_dict(self) -> dict[str, object]:
        """The settings as a result shows them."""
        return {
            "confidence_level": self.confidence_level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }


@dataclass(frozen=True, eq=False)
class AgreementFigure:
    """One row of a calibration: a named estimate with its interval."""

    part: str
    name: str
    interval: Interval
    n: int
    reading: str = ""
    source: str = ""
    verdict: str | None = None

    def row(self) -> dict[str, object]:
        """The row of the frame."""
        return {
            "part": self.part,
            "figure": self.name,
            "estimate": self.interval.estimate,
            "ci_low": self.interval.low,
            "ci_high": self.interval.high,
            "n": self.n,
            "reading": self.reading or None,
            "source": self.source or None,
            "method": self.interval.method,
            "verdict": self.verdict,
        }


# -- in words


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Words for the sizes of a coefficient, each with the smallest value it applies to."""

    source: str
    steps: tuple[tuple[float, str], ...]

    def word(self, value: float) -> str:
        """The word for a value; empty for NaN.

        Examples
        --------
        >>> LANDIS_KOCH.word(0.65), LANDIS_KOCH.word(-0.1), KRIPPENDORFF.word(0.7)
        ('substantial', 'poor', 'tentative')
        """
        if math.isnan(value):
            return ""
        return next(word for least, word in reversed(self.steps) if value >= least)


_ANY = -math.inf
LANDIS_KOCH = Benchmark(
    "Landis & Koch 1977",
    (
        *((_ANY, "poor"), (0.0, "slight"), (0.2, "fair"), (0.4, "moderate")),
        *((0.6, "substantial"), (0.8, "almost perfect")),
    ),
)
KRIPPENDORFF = Benchmark(
    "Krippendorff 2004", ((_ANY, "unreliable"), (0.667, "tentative"), (0.8, "reliable"))
)
COHEN = Benchmark("Cohen 1988", ((_ANY, "none"), (0.1, "small"), (0.3, "medium"), (0.5, "large")))


# -- two ratings of each query


@dataclass(frozen=True, eq=False)
class RatingPair:
    """Two ratings of the same queries, without gaps, and their scale."""

    a: FloatArray
    b: FloatArray
    scale: RatingScale
    settings: IntervalSettings

    @property
    def categories(self) -> list[float]:
        """All possible ratings."""
        return [float(category) for category in self.scale.categories]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of agreement: the scales it is for, how it is computed and how it is read."""

    name: str
    kinds: tuple[ScaleKind, ...]
    compute: Callable[[RatingPair], Interval]
    benchmark: Benchmark | None = None


def _percent(pair: RatingPair) -> Interval:
    same = (pair.a == pair.b).astype(np.float64)
    level = pair.settings.confidence_level
    return mean_interval(same, bounds=(0.0, 1.0), confidence_level=level)


def _kappa(pair: RatingPair, weights: Weights | None = None) -> Interval:
    level = pair.settings.confidence_level
    return cohen_kappa(pair.a, pair.b, weights, categories=pair.categories, confidence_level=level)


def _ac1(pair: RatingPair) -> Interval:
    level = pair.settings.confidence_level
    return gwet_ac1(pair.a, pair.b, categories=pair.categories, confidence_level=level)


def _ac2(pair: RatingPair) -> Interval:
    level = pair.settings.confidence_level
    return gwet_ac2(pair.a, pair.b, "quadratic", categories=pair.categories, confidence_level=level)


def _alpha(pair: RatingPair) -> Interval:
    return alpha_of(np.column_stack([pair.a, pair.b]), pair.scale, pair.settings)


def _correlation(pair: RatingPair, kind: CorrelationKind) -> Interval:
    return correlation(pair.a, pair.b, kind, confidence_level=pair.settings.confidence_level)


_NAMES: tuple[ScaleKind, ...] = ("binary", "nominal", "ordinal")
_STEPS: tuple[ScaleKind, ...] = ("ordinal",)
_NUMBERS: tuple[ScaleKind, ...] = ("continuous",)

# One more measure is one line.
MEASURES: tuple[Measure, ...] = (
    Measure("percent agreement", _NAMES, _percent),
    Measure("Cohen's kappa", _NAMES, _kappa, LANDIS_KOCH),
    Measure("Cohen's kappa, linear", _STEPS, partial(_kappa, weights="linear"), LANDIS_KOCH),
    Measure("Cohen's kappa, quadratic", _STEPS, partial(_kappa, weights="quadratic"), LANDIS_KOCH),
    Measure("Gwet's AC1", _NAMES, _ac1, LANDIS_KOCH),
    Measure("Gwet's AC2, quadratic", _STEPS, _ac2, LANDIS_KOCH),
    Measure("Pearson correlation", _NUMBERS, partial(_correlation, kind="pearson"), COHEN),
    Measure("Spearman correlation", _NUMBERS, partial(_correlation, kind="spearman"), COHEN),
    Measure("Kendall's tau-b", _NUMBERS, partial(_correlation, kind="kendall")),
    Measure("Krippendorff's alpha", (*_NAMES, "continuous"), _alpha, KRIPPENDORFF),
)


def alpha_of(table: FloatArray, scale: RatingScale, settings: IntervalSettings) -> Interval:
    """Krippendorff's alpha at the measurement level of the scale."""
    return krippendorff_alpha(
        table,
        _LEVEL_OF_SCALE[scale.kind],
        confidence_level=settings.confidence_level,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )


def agreement_figures(part: str, pair: RatingPair) -> list[AgreementFigure]:
    """The measures that are for the scale of two ratings.

    Parameters
    ----------
    part : str
        The heading of the rows.
    pair : RatingPair
        Two ratings of the same queries.
    """
    measures = [measure for measure in MEASURES if pair.scale.kind in measure.kinds]
    return [
        _figure(part, measure.name, measure.compute(pair), pair.a.size, measure.benchmark)
        for measure in measures
    ]


def _figure(
    part: str, name: str, interval: Interval, n: int, benchmark: Benchmark | None
) -> AgreementFigure:
    reading = benchmark.word(interval.estimate) if benchmark else ""
    source = benchmark.source if benchmark and reading else ""
    return AgreementFigure(part, name, interval, n, reading, source)


# -- several raters


def people_figures(
    ratings: Ratings, scale: RatingScale, settings: IntervalSettings
) -> Iterator[AgreementFigure]:
    """The agreement of people with each other: the most that can be expected of a judge.

    Parameters
    ----------
    ratings : Ratings
        Two raters or more; else there are no rows.
    scale : RatingScale
        The scale of judge and people.
    settings : IntervalSettings
        The settings of the intervals.
    """
    rated = np.column_stack([scale.label_categories(column) for column in ratings.table.T])
    has_several = (~np.isnan(rated)).sum(axis=1) > 1
    if not has_several.any():
        return
    table, n = rated[has_several], int(has_several.sum())
    yield from group_figures(PEOPLE, table, scale, settings)
    # If this is below people's own alpha, the judge agrees with them less than they with each
    # other.
    joined = np.column_stack([table, scale.judge_categories(ratings.judge)[has_several]])
    with_judge = alpha_of(joined, scale, settings)
    yield _figure(PEOPLE, "alpha, the judge as one more", with_judge, n, KRIPPENDORFF)


def group_figures(
    part: str, table: FloatArray, scale: RatingScale, settings: IntervalSettings
) -> Iterator[AgreementFigure]:
    """The agreement of several raters with each other.

    Parameters
    ----------
    part : str
        The heading of the rows.
    table : ndarray of shape (n_queries, n_raters)
        Categories; NaN if there is none. Each query has two or more.
    scale, settings
        As in `people_figures`.
    """
    if scale.kind != "continuous":
        percent = _pairwise_agreement(table, settings)
        yield _figure(part, "percent agreement", percent, len(table), None)
        yield _fleiss(part, table, scale, settings)
    alpha = alpha_of(table, scale, settings)
    yield _figure(part, "Krippendorff's alpha", alpha, len(table), KRIPPENDORFF)


def _pairwise_agreement(table: FloatArray, settings: IntervalSettings) -> Interval:
    """The mean over queries of the share of pairs of raters who agree."""
    same = np.zeros(len(table))
    pairs = np.zeros(len(table))
    for first, second in itertools.combinations(table.T, 2):
        is_pair = ~(np.isnan(first) | np.isnan(second))
        pairs += is_pair
        same += is_pair & (first == second)
    return mean_interval(
        same / pairs,
        bounds=(0.0, 1.0),
        kind="proportion" if table.shape[1] > 2 else "binary",
        confidence_level=settings.confidence_level,
    )


def _fleiss(
    part: str, table: FloatArray, scale: RatingScale, settings: IntervalSettings
) -> AgreementFigure:
    """Fleiss' kappa of the queries with the usual number of labels; it needs an equal number."""
    n_labels = (~np.isnan(table)).sum(axis=1)
    usual = int(np.bincount(n_labels).argmax())
    rated = table[n_labels == usual]
    counts = np.column_stack([(rated == category).sum(axis=1) for category in scale.categories])
    kappa = fleiss_kappa(counts, confidence_level=settings.confidence_level)
    return _figure(part, "Fleiss' kappa", kappa, len(rated), LANDIS_KOCH)


def interval_notes(figures: Sequence[AgreementFigure]) -> list[str]:
    """The notes of the intervals, each once with the figures it applies to."""
    names_by_note: dict[str, list[str]] = {}
    for figure in figures:
        for note in figure.interval.notes:
            names_by_note.setdefault(note, []).append(figure.name)
    return [f"{', '.join(dict.fromkeys(names))}: {note}" for note, names in names_by_note.items()]
