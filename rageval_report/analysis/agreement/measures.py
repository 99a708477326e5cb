"""The measures of agreement, each with its interval and the word that its benchmark has for it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from rageval_report.analysis.agreement.correlations import correlation
from rageval_report.analysis.agreement.rating_scale import RatingScale, ScaleKind
from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.stats.agreement.ac1 import gwet_ac1, gwet_ac2
from rageval_report.stats.agreement.alpha import krippendorff_alpha
from rageval_report.stats.agreement.kappas import cohen_kappa, fleiss_kappa
from rageval_report.stats.base import Interval
from rageval_report.stats.means.intervals import mean_interval
from rageval_report.types import FloatArray

JUDGE_AND_PEOPLE = "judge and people"
PEOPLE = "people with each other"

_IN_ALPHA = {"binary": "nominal", "continuous": "interval"}


@dataclass(frozen=True, slots=True)
class IntervalSettings:
    """What the intervals need."""

    confidence_level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0

    def told(self) -> dict[str, object]:
        """As settings of a result."""
        return {
            "confidence_level": self.confidence_level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }


@dataclass(frozen=True, eq=False)
class AgreementFigure:
    """One row of a calibration."""

    part: str
    name: str
    interval: Interval
    n: int
    reading: str = ""
    source: str = ""
    verdict: str | None = None

    def row(self) -> dict[str, object]:
        """As a row of the frame."""
        one = self.interval
        return {
            "part": self.part,
            "figure": self.name,
            "estimate": one.estimate,
            "ci_low": one.low,
            "ci_high": one.high,
            "n": self.n,
            "reading": self.reading or None,
            "source": self.source or None,
            "method": one.method,
            "verdict": self.verdict,
        }


# -- in words


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Words for a coefficient, from its smallest value up."""

    source: str
    steps: tuple[tuple[float, str], ...]

    def word(self, value: float) -> str:
        """The word for a value; none where there is no value.

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
    """Two ratings of the same queries, complete, and the scale that they are on."""

    a: FloatArray
    b: FloatArray
    scale: RatingScale
    settings: IntervalSettings

    @property
    def categories(self) -> list[float]:
        """All that could be given."""
        return [float(one) for one in self.scale.categories]


Compute = Callable[[RatingPair], Interval]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of agreement: on which scales it stands, how it is computed and read."""

    name: str
    kinds: tuple[ScaleKind, ...]
    compute: Compute
    benchmark: Benchmark | None = None


def _percent(pair: RatingPair) -> Interval:
    same = (pair.a == pair.b).astype(np.float64)
    level = pair.settings.confidence_level
    return mean_interval(same, method="wilson", confidence_level=level)


def _kappa(pair: RatingPair, weights: str | None = None) -> Interval:
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


def _correlation(pair: RatingPair, kind: str) -> Interval:
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
    """Krippendorff's alpha at the level of the scale."""
    return krippendorff_alpha(
        table,
        _IN_ALPHA.get(scale.kind, scale.kind),
        confidence_level=settings.confidence_level,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )


def agreement_figures(part: str, pair: RatingPair) -> list[AgreementFigure]:
    """Every measure that suits the scale.

    Parameters
    ----------
    part : str
        Under which heading the rows stand.
    pair : RatingPair
        Two ratings of the same queries.
    """
    found = [(one, one.compute(pair)) for one in MEASURES if pair.scale.kind in one.kinds]
    return [_figure(part, one.name, told, pair.a.size, one.benchmark) for one, told in found]


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
    """How far people agree with each other: the most that can be asked of a judge.

    Parameters
    ----------
    ratings : Ratings
        With two raters or more; else there is nothing to tell.
    scale : RatingScale
        The scale of judge and people.
    settings : IntervalSettings
        Of the intervals.
    """
    rated = np.column_stack([scale.labelled(column) for column in ratings.table.T])
    several = (~np.isnan(rated)).sum(axis=1) > 1
    if not several.any():
        return
    table, n = rated[several], int(several.sum())
    if scale.kind != "continuous":
        yield _figure(PEOPLE, "percent agreement", _pairwise(table, settings), n, None)
        yield from _fleiss(table, scale, settings)
    alpha = alpha_of(table, scale, settings)
    yield _figure(PEOPLE, "Krippendorff's alpha", alpha, n, KRIPPENDORFF)
    joined = np.column_stack([table, scale.judged(ratings.judge)[several]])
    with_judge = alpha_of(joined, scale, settings)
    yield _figure(PEOPLE, "alpha, the judge as one more", with_judge, n, KRIPPENDORFF)


def _pairwise(table: FloatArray, settings: IntervalSettings) -> Interval:
    """The mean over queries of the share of pairs of raters who say the same."""
    same = np.zeros(len(table))
    pairs = np.zeros(len(table))
    for one, other in itertools.combinations(table.T, 2):
        there = ~(np.isnan(one) | np.isnan(other))
        pairs += there
        same += there & (one == other)
    return mean_interval(
        same / pairs, bounds=(0.0, 1.0), confidence_level=settings.confidence_level
    )


def _fleiss(
    table: FloatArray, scale: RatingScale, settings: IntervalSettings
) -> Iterator[AgreementFigure]:
    """Fleiss' kappa of the queries that have as many labels as most have; it bears no other."""
    n_labels = (~np.isnan(table)).sum(axis=1)
    usual = int(np.bincount(n_labels).argmax())
    rated = table[n_labels == usual]
    counts = np.column_stack([(rated == one).sum(axis=1) for one in scale.categories])
    found = fleiss_kappa(counts, confidence_level=settings.confidence_level)
    yield _figure(PEOPLE, "Fleiss' kappa", found, len(rated), LANDIS_KOCH)


def interval_notes(figures: Sequence[AgreementFigure]) -> list[str]:
    """What the intervals themselves say, once each."""
    told: dict[str, list[str]] = {}
    for one in figures:
        for note in one.interval.notes:
            told.setdefault(note, []).append(one.name)
    return [f"{', '.join(dict.fromkeys(names))}: {note}" for note, names in told.items()]
