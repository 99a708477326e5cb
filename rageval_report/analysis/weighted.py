"""One score per pipeline from weighted objectives: which differ, and whatever the weights are.

A figure that is a mean over queries is tested as `rageval_report.compare` tests a metric: by the
signs of the paired differences of its parts per query. Any other figure, such as one with a median,
a percentile or a value beyond the worst that counts, is tested on bootstrap resamples of the
queries; for a percentile there must be enough queries beyond it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd
import scipy

from rageval_report.analysis.lineup import Lineup
from rageval_report.analysis.objectives import (
    OBJECTIVES,
    SCORE,
    WEIGHTS,
    Aim,
    Aims,
    ObjectiveMapping,
    Part,
    RankSettings,
)
from rageval_report.errors import DataError
from rageval_report.reports.sentences import correction_text, join_names, number, pvalue_text
from rageval_report.results import Result
from rageval_report.scores import Catalogue, Metric, Scored
from rageval_report.stats.base import TIE_TOLERANCE, Interval
from rageval_report.stats.bootstrap import bootstrap_pvalue, expanded_limits
from rageval_report.stats.columns import Column
from rageval_report.stats.corrections import adjust_pvalues
from rageval_report.stats.means import mean_interval
from rageval_report.stats.pairs import Pairs, paired_interval
from rageval_report.stats.sign_flips import sign_flip_pvalue
from rageval_report.stats.units import FEWEST_UNITS, QUERIES, Units, clustered_interval
from rageval_report.types import BoolArray, FloatArray

BEST, MAY_BE_BEST, WORSE = "best", "may be best", "worse"
WHOLE = "weighted score"
BOOTSTRAP = "paired bootstrap"
_FRONT = ("rank", "pipeline", "standing", "score", "ci_low", "ci_high")
_SHARES = ("share_of_resamples", "share_of_weights", "share_of_weights_shown")


# -- figures: numbers of each pipeline that are made of metrics


@dataclass(frozen=True, eq=False)
class Term:
    """One metric of a figure, and by how much the figure changes with it.

    ``is_share`` says whether values beyond the worst and the best are cut.
    """

    part: Part
    slope: float
    is_share: bool

    @property
    def is_linear(self) -> bool:
        """Whether the figure is a mean over queries as far as this metric decides."""
        if self.part.statistic != "mean":
            return False
        if not self.is_share or self.part.worst is None or self.part.best is None:
            return True
        means = self.part.block.complete.mean(axis=0)
        low, high = sorted((self.part.worst, self.part.best))
        return bool(((means >= low) & (means <= high)).all())


def share_terms(aim: Aim, weight: float) -> tuple[Term, ...]:
    """The terms of an objective between 0 and 1, the mean of its metrics, with this weight."""
    return tuple(
        Term(part, weight / len(aim.parts) / (part.best - part.worst), is_share=True)
        for part in aim.parts
        if part.best is not None and part.worst is not None
    )


def margin_of(name: str, terms: Sequence[Term], margins: Mapping[str, float]) -> float:
    """The margin of a figure: its own, or what the margins of its metrics add up to."""
    of_metrics = (abs(term.slope) * margins.get(term.part.block.metric.name, 0.0) for term in terms)
    return margins[name] if name in margins else float(sum(of_metrics))


@dataclass(frozen=True, eq=False)
class Figure:
    """A number of each pipeline, on the queries and on resamples of them.

    Parameters
    ----------
    name, made_of : str
        Such as "latency", and "median of latency_ms".
    values : ndarray of shape (n_pipelines,)
        The number.
    drawn : ndarray of shape (n_resamples, n_pipelines)
        The same on each resample.
    greater_is_better : bool
        The direction.
    terms : tuple of Term
        The metrics of which it is made.
    margin : float
        The difference that is too small to matter.
    seed : int
        For intervals that draw.
    """

    name: str
    values: FloatArray
    drawn: FloatArray
    greater_is_better: bool
    terms: tuple[Term, ...]
    margin: float = 0.0
    seed: int = 0
    made_of: str = ""

    @cached_property
    def by_query(self) -> FloatArray | None:
        """What each query contributes: one row per query; None if the figure is not a mean.

        Up to a number that all pipelines share, its mean is the figure. A query that a metric does
        not score contributes nothing to it, and the others accordingly more.
        """
        if not all(term.is_linear for term in self.terms):
            return None
        total = np.zeros((int(self._used.sum()), len(self.values)))
        for term in self.terms:
            block, rows = term.part.block, term.part.block.is_complete
            scores = np.where(rows[:, None], block.values, 0.0)[self._used]
            total += term.slope * len(total) / rows.sum() * scores
        return total

    @cached_property
    def _used(self) -> BoolArray:
        """The rows that every pipeline scored on any of the metrics."""
        scored = [term.part.block.is_complete for term in self.terms]
        return np.asarray(np.any(scored, axis=0), dtype=bool)

    @cached_property
    def units(self) -> Units:
        """The independent units of the rows of `by_query`."""
        return self.terms[0].part.block.units.select(self._used) if self.terms else QUERIES

    @cached_property
    def n(self) -> int:
        """The number of units; of a figure that is not a mean, those of its rarest metric."""
        if self.by_query is not None:
            return self.units.count(len(self.by_query))
        return min((term.part.block.n_units for term in self.terms), default=0)

    @cached_property
    def too_few(self) -> str:
        """Why there is no test: the units are too few; empty if they suffice."""
        if self.by_query is not None:
            is_short = self.n < FEWEST_UNITS
            return f"{self.n}; at least {FEWEST_UNITS} are needed" if is_short else ""
        for part in (term.part for term in self.terms):
            if part.block.n_units < part.fewest:
                what = f" for {part.statistic} of {part.block.metric.name}"
                text = f"{part.block.n_units}; at least {part.fewest} are needed"
                return f"{text}{what if part.fewest > FEWEST_UNITS else ''}"
        return ""

    @property
    def turned(self) -> FloatArray:
        """The values with the sign that makes higher better."""
        return self.values if self.greater_is_better else -self.values

    @property
    def tie(self) -> float:
        """The largest difference between two values that is only rounding."""
        return TIE_TOLERANCE * max(1.0, float(np.abs(self.values).max(initial=0.0)))

    @property
    def is_constant(self) -> bool:
        """Whether all pipelines are equal on every resample, so that it decides nothing."""
        spread = np.ptp(self.drawn, axis=1).max(initial=0.0)
        return bool(max(np.ptp(self.values), spread) <= self.tie)

    def is_identical(self, first: int, second: int) -> bool:
        """Whether two pipelines are equal on the queries and on every resample."""
        spread = np.abs(self.drawn[:, second] - self.drawn[:, first]).max(initial=0.0)
        return bool(max(abs(self.values[second] - self.values[first]), spread) <= self.tie)

    def pvalue_better(self, first: int, second: int, margin: float = 0.0) -> float:
        """The one-sided p-value that the second pipeline is better by more than a margin.

        1 if it is not better on these queries, or if they are too few for a test.
        """
        is_ahead = self.turned[second] - self.turned[first] > max(margin, self.tie)
        if not is_ahead or self.too_few:
            return 1.0
        sign = 1.0 if self.greater_is_better else -1.0
        if self.by_query is None:
            gains = sign * (self.drawn[:, second] - self.drawn[:, first])
            return min(1.0, bootstrap_pvalue(gains, self.n, margin + self.tie))
        pairs = self._pairs(sign * self.by_query, first, second)
        return sign_flip_pvalue(pairs.units, alternative="greater", shift=margin)

    def pvalue(self, first: int, second: int) -> float:
        """The two-sided p-value; never smaller with a margin than without."""
        if self.is_identical(first, second):
            return 1.0
        if self.turned[second] < self.turned[first]:
            first, second = second, first
        sides = [self.pvalue_better(first, second, margin) for margin in {0.0, self.margin}]
        return min(1.0, 2.0 * max(sides))

    def limits(self, first: int, second: int, level: float) -> tuple[float, float]:
        """The interval of the difference, second minus first."""
        if self.too_few:
            return float("nan"), float("nan")
        if self.by_query is None:
            low, high = expanded_limits(self.drawn[:, second] - self.drawn[:, first], self.n, level)
            return float(low), float(high)
        interval = paired_interval(
            self._pairs(self.by_query, first, second),
            confidence_level=level,
            n_resamples=max(1, len(self.drawn)),
            seed=self.seed,
        )
        return interval.low, interval.high

    def _pairs(self, by_query: FloatArray, first: int, second: int) -> Pairs:
        clusters = self.units if self.units.are_clusters else None
        return Pairs.of(by_query[:, first], by_query[:, second], clusters)

    def mean_limits(self, level: float) -> tuple[FloatArray, FloatArray]:
        """The interval of each pipeline's figure, by the same rule as that of any mean.

        A figure that is no mean over queries has the expanded percentiles of its resamples.
        """
        if self.by_query is None:
            return expanded_limits(self.drawn, self.n, level)
        low, high = np.empty(len(self.values)), np.empty(len(self.values))
        for place, contributions in enumerate(self.by_query.T):
            interval = self._interval(contributions, level)
            shift = self.values[place] - interval.estimate
            low[place], high[place] = interval.low + shift, interval.high + shift
        return low, high

    def _interval(self, contributions: FloatArray, level: float) -> Interval:
        bounds = self._bounds
        if self.units.are_clusters:
            codes = np.asarray(self.units.codes)
            return clustered_interval(contributions, codes, confidence_level=level, bounds=bounds)
        return mean_interval(
            Column.of(contributions),
            confidence_level=level,
            bounds=bounds,
            kind="real" if bounds is None else "proportion",
            n_resamples=max(1, len(self.drawn)),
            seed=self.seed,
        )

    @cached_property
    def _bounds(self) -> tuple[float, float] | None:
        """What a query can contribute at least and at most; None if a metric has no bounds."""
        low = high = 0.0
        n_used = int(self._used.sum())
        for term in self.terms:
            bounds, n = term.part.block.metric.bounds, int(term.part.block.is_complete.sum())
            if bounds is None:
                return None
            ends = sorted(term.slope * n_used / n * bound for bound in bounds)
            # A query that is not scored contributes nothing.
            ends += [0.0] if n < n_used else []
            low, high = low + min(ends), high + max(ends)
        return low, high


# -- the weighted score


@dataclass(frozen=True, eq=False, repr=False)
class WeightedScores(Result):
    """One row per pipeline, the highest score first.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    objectives : DataFrame
        One row per objective and pipeline: objective, weight, effective_weight, made_of, pipeline,
        value (between 0 and 1), contribution; those without data have NaN.
    tests : ScoreTests, optional
        The tests of all pairs of pipelines.
    """

    objectives: pd.DataFrame | None = None
    tests: ScoreTests | None = None

    @cached_property
    def pairs(self) -> Result:
        """Every pair of pipelines: the difference of the scores, its interval and its test.

        Columns: baseline, candidate, n, baseline_score, candidate_score, difference, ci_low,
        ci_high, margin, test, pvalue and pvalue_adjusted (that the difference is no larger than the
        margin), is_shown, share_of_weights_shown and share_of_weights_reversed (under which the
        difference is shown in this direction, in the opposite one), verdict.
        """
        rows = [] if self.tests is None else [*self.tests.rows()]
        corrected = self.settings.get("correction")
        note = (
            f"p-values are adjusted ({corrected}) over these {len(rows)} pairs; the intervals are "
            "not"
        )
        return Result(
            "Differences of the weighted scores",
            pd.DataFrame(rows),
            self.settings,
            (note,) if corrected != "none" and len(rows) > 1 else (),
            headline=(
                *("baseline", "candidate", "n", "difference", "ci_low", "ci_high"),
                *("pvalue_adjusted", "is_shown", "share_of_weights_shown"),
            ),
        )

    @property
    def contributions(self) -> Result:
        """The part of each objective in each pipeline's score."""
        return Result(
            "What the weighted scores are made of",
            pd.DataFrame() if self.objectives is None else self.objectives,
            self.settings,
            headline=("pipeline", "weight", "effective_weight", "value", "contribution", "made_of"),
            grouped_by="objective",
        )


def weighted_scores(aims: Aims) -> WeightedScores:
    """Combine the objectives of each pipeline into one weighted score; see `Ranking.weighted`."""
    settings, with_data, names = aims.settings, aims.with_data, aims.lineup.names
    for aim in with_data:  # each becomes a column of the frame
        if aim.name in (*_FRONT, *_SHARES):
            raise DataError(f"an objective cannot be named {aim.name!r}, which is another column")
    values, drawn = (
        np.stack(side, -1) for side in zip(*(aim.shares for aim in with_data), strict=True)
    )
    effective = np.array([aim.weight for aim in with_data])
    effective /= effective.sum()
    limits = np.array(
        [margin_of(aim.name, share_terms(aim, 1.0), aims.margins) for aim in with_data]
    )
    weighed = zip(with_data, effective.tolist(), strict=True)
    figure = Figure(
        *(WHOLE, values @ effective, drawn @ effective, True),
        tuple(term for aim, weight in weighed for term in share_terms(aim, weight)),
        margin=aims.margins.get(SCORE, float(limits @ effective)),
        seed=settings.seed,
    )
    pairs, alone = _shares_of_weights_shown(
        *(values, drawn, aims.margins.get(SCORE, limits)), figure, settings
    )
    tests = ScoreTests.of(figure, names, settings, pairs)
    low, high = figure.mean_limits(settings.confidence_level)
    contributions = values * effective
    frame = pd.DataFrame(
        {
            "rank": 1 + _count_ahead(figure.values),
            "pipeline": list(names),
            "standing": tests.standings(),
            "score": figure.values,
            "ci_low": low,
            "ci_high": high,
            "share_of_resamples": winning_shares(figure.drawn, figure.margin),
            "share_of_weights": simplex_shares(
                values, n_draws=settings.n_resamples, seed=settings.seed
            ),
            "share_of_weights_shown": alone,
            **{aim.name: contributions[:, place] for place, aim in enumerate(with_data)},
        }
    ).sort_values("rank", kind="stable", ignore_index=True)
    sentences = [tests.sentence(frame), *[None] * (len(frame) - 1)]
    return WeightedScores(
        "Weighted scores",
        frame.assign(verdict=pd.Series(sentences, dtype=object)),
        aims.shown_settings(weights={aim.name: aim.weight for aim in aims.every}),
        (*_notes(aims, effective), *tests.notes()),
        headline=(*_FRONT, *_SHARES, *(aim.name for aim in with_data)),
        objectives=_contribution_rows(aims, values, effective),
        tests=tests,
    )


def weighted_score(
    evaluation: Scored,
    weights: Mapping[str, float] | None = None,
    objectives: ObjectiveMapping | None = None,
) -> Result:
    """The weighted score of one run, and the part of each objective in it.

    Parameters
    ----------
    evaluation : Scored
        The run.
    weights, objectives : mapping, optional
        As for `rageval_report.rank`; the default ones if omitted. An objective under the name of a
        default one replaces it.

    Returns
    -------
    Result
        One row for the whole, with its interval, and one row per objective: its weight, its
        effective weight without the objectives that have no data, its value from 0 to 1, and its
        contribution.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a", "b"], "faithfulness": [1.0, 0.5], "recall@5": [0.5, 0.0]}
    >>> run = RAGPipelineEvaluation("rag", data)
    >>> result = weighted_score(run, {"faithfulness": 2, "recall@5": 1})
    >>> result.frame.set_index("objective")["contribution"].round(3).to_dict()
    {'weighted score': 0.583, 'faithfulness': 0.5, 'recall@5': 0.083}
    """
    known: dict[str, tuple[Metric, ...]] = {n: (m,) for n, m in evaluation.metrics.items()}
    lineup = Lineup((evaluation,), evaluation.scores.index, (None,), known)
    own: ObjectiveMapping = objectives or {}
    if own and (weights or own.keys() <= OBJECTIVES.keys()):
        # Beside the caller's own, the default ones, without metrics of other frameworks' files.
        catalogue, weights = Catalogue(), weights or WEIGHTS
        defaults = {
            name: replace(
                default,
                metrics=tuple(m for m in default.metrics if m in known or catalogue.find(m)),
            )
            for name, default in OBJECTIVES.items()
        }
        own = {**defaults, **own}
    scores = weighted_scores(Aims.of(lineup, RankSettings(), own or None, weights or None))
    whole = scores.frame[["score", "ci_low", "ci_high"]].rename(columns={"score": "value"})
    whole = whole.assign(objective=WHOLE, contribution=whole["value"])
    columns = ("objective", "weight", "effective_weight", "value", "contribution", "made_of")
    parts = scores.contributions.frame[list(columns)]
    frame = pd.DataFrame(
        [*whole.to_dict("records"), *parts.to_dict("records")],
        columns=[*columns, "ci_low", "ci_high"],
    )
    return Result(
        f"Weighted score of {evaluation.name}",
        frame,
        scores.settings,
        scores.notes,
        headline=("objective", "value", "ci_low", "ci_high", "weight", "contribution"),
    )


@dataclass(frozen=True, eq=False)
class ScoreTests:
    """The tests of a figure between all pipelines.

    Parameters
    ----------
    figure : Figure
        The figure.
    names : tuple of str
        The pipelines.
    settings : RankSettings
        The correction and the level.
    pvalue, pvalue_adjusted : ndarray of shape (n_pipelines, n_pipelines)
        That the two pipelines differ by more than the margin; symmetric, with NaN on the diagonal.
    weight_shares : ndarray of the same shape
        The share of all weights under which the row is shown to be better than the column.
    """

    figure: Figure
    names: tuple[str, ...]
    settings: RankSettings
    pvalue: FloatArray
    pvalue_adjusted: FloatArray
    weight_shares: FloatArray = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def of(
        cls,
        figure: Figure,
        names: tuple[str, ...],
        settings: RankSettings,
        weight_shares: FloatArray,
    ) -> ScoreTests:
        """Test all pairs; one is shown to differ only beyond the figure's margin."""
        pairs = np.array([figure.pvalue(*pair) for pair in combinations(range(len(names)), 2)])
        adjusted = adjust_pvalues(pairs, settings.stepwise) if pairs.size else pairs
        squares = np.full((2, len(names), len(names)), np.nan)
        first, second = np.triu_indices(len(names), 1)
        squares[:, first, second] = squares[:, second, first] = pairs, adjusted
        return cls(figure, names, settings, squares[0], squares[1], weight_shares)

    @property
    def beats(self) -> BoolArray:
        """Whether the pipeline of the row is shown to be better than that of the column."""
        values = self.figure.turned
        shown: BoolArray = self.pvalue_adjusted <= self.settings.alpha
        return shown & (values[:, None] > values[None, :])

    def standings(self) -> list[str]:
        """The standing of each pipeline beside the one with the highest score."""
        scores = self.figure.values
        best = int(scores.argmax())
        is_first = scores >= scores[best] - TIE_TOLERANCE
        return [
            BEST if first else WORSE if beaten else MAY_BE_BEST
            for first, beaten in zip(is_first.tolist(), self.beats[best].tolist(), strict=True)
        ]

    def rows(self) -> Iterator[dict[str, object]]:
        """The table of pairs; see `WeightedScores.pairs`."""
        figure, names, beats = self.figure, self.names, self.beats
        for i, j in combinations(range(len(names)), 2):
            low, high = figure.limits(i, j, 1.0 - self.settings.alpha)
            ahead, behind = (j, i) if figure.values[j] >= figure.values[i] else (i, j)
            yield {
                "baseline": names[i],
                "candidate": names[j],
                "n": figure.n,
                "baseline_score": float(figure.values[i]),
                "candidate_score": float(figure.values[j]),
                "difference": float(figure.values[j] - figure.values[i]),
                "ci_low": low,
                "ci_high": high,
                "margin": figure.margin,
                "test": BOOTSTRAP if figure.by_query is None else "sign-flip",
                "pvalue": float(self.pvalue[i, j]),
                "pvalue_adjusted": float(self.pvalue_adjusted[i, j]),
                "is_shown": bool(beats[ahead, behind]),
                "share_of_weights_shown": float(self.weight_shares[ahead, behind]),
                "share_of_weights_reversed": float(self.weight_shares[behind, ahead]),
                # The first of the sentence is the better one.
                "verdict": self._pair_sentence(
                    (ahead, behind), (low, high) if ahead == j else (-high, -low)
                ),
            }

    # -- sentences

    def _pvalue_text(self, pvalue: float) -> str:
        return f"{correction_text(self.settings.stepwise)} p {pvalue_text(pvalue)}"

    def _pair_sentence(self, pair: tuple[int, int], limits: tuple[float, float]) -> str:
        """That the first is better than the second, or that no difference is shown."""
        figure, (ahead, behind) = self.figure, pair
        first, second = self.names[ahead], self.names[behind]
        if figure.too_few:
            word = figure.units.word
            return f"too few {word} for a test of {first} and {second}: {figure.too_few}"
        size = number(abs(float(figure.values[ahead] - figure.values[behind])))
        level = f"{100 * (1 - self.settings.alpha):g} % CI"
        how = f"{size} ({level} {number(limits[0])} to {number(limits[1])})"
        beyond = f" beyond the margin of {number(figure.margin)}" if figure.margin else ""
        unit = figure.units.word if figure.units.are_clusters else "paired queries"
        test = f"{self._pvalue_text(float(self.pvalue_adjusted[pair]))}, {figure.n} {unit}"
        if self.beats[pair]:
            return f"{first} has a higher weighted score than {second}{beyond}, by {how}, {test}"
        return (
            f"no difference of the weighted scores of {first} and {second} is shown{beyond}: "
            f"{how}, {test}"
        )

    def sentence(self, frame: pd.DataFrame) -> str:
        """The verdict on the first of the table, as a person can repeat it."""
        first, leaders = frame.iloc[0], frame.loc[frame["rank"] == 1, "pipeline"]
        verb, each = ("has", "") if len(leaders) == 1 else ("share", " each")
        return (
            f"{join_names([*leaders])} {verb} the highest weighted score, {number(first['score'])} "
            f"({100 * self.settings.confidence_level:g} % CI {number(first['ci_low'])} to "
            f"{number(first['ci_high'])}){''.join(f', {part}' for part in self._rivals(frame))}: "
            f"first in {percent(first['share_of_resamples'])} of the resamples of the queries, and "
            f"under {percent(first['share_of_weights'])} of all weights{each}"
        )

    def _rivals(self, frame: pd.DataFrame) -> Iterator[str]:
        """Which pipelines the first is shown to be better than, and which not."""
        figure, best = self.figure, self.names.index(frame["pipeline"].iloc[0])
        worse, open_ = (
            list(frame.loc[frame["standing"] == word, "pipeline"]) for word in (WORSE, MAY_BE_BEST)
        )
        margin = number(figure.margin) if figure.margin else ""
        if worse:
            pvalue = max(self.pvalue_adjusted[best, self.names.index(name)] for name in worse)
            by_more = f" by more than {margin}" if margin else ""
            yield (
                f"higher than that of {join_names(worse)}{by_more} "
                f"({self._pvalue_text(float(pvalue))})"
            )
        if open_ and figure.too_few:
            what = f"too few {figure.units.word} for a test against {join_names(open_)}"
            yield f"{what}: {figure.too_few}"
        elif open_:
            within = f" within the margin of {margin}" if margin else ""
            yield f"but {join_names(open_)} may be as good{within}"

    def notes(self) -> Iterator[str]:
        """How differences were tested, and under which weights the order that is shown holds."""
        figure = self.figure
        if len(self.names) < 2:
            return
        if figure.by_query is None:
            yield (
                "the score is not a mean over queries (a median, a percentile, or a value beyond "
                "the worst that counts, is part of it), so its differences are tested by a "
                f"{BOOTSTRAP}"
            )
        else:
            each = "cluster by cluster" if figure.units.are_clusters else "query by query"
            yield (
                f"the score is a mean over {figure.n} {figure.units.word}, so its differences are "
                f"tested by their signs, {each}"
            )
        if self.beats.any():
            yield (
                "the differences that are shown here are shown under at least "
                f"{percent(self.weight_shares[self.beats].min())} of all weights each, in the same "
                "direction"
            )


def percent(share: float) -> str:
    """A share in a sentence; 0 % and 100 % only if it is exactly that.

    Examples
    --------
    >>> percent(0.523), percent(0.9999), percent(1.0)
    ('52 %', 'more than 99 %', '100 %')
    """
    if 0.0 < share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if 0.99 < share < 1.0 else f"{100 * share:.0f} %"


def _notes(aims: Aims, effective: FloatArray) -> Iterable[str]:
    shown = [
        f"{aim.name} {aim.weight:g} ({weight:.3f}; {_with_scale(aim)})"
        for aim, weight in zip(aims.with_data, effective, strict=True)
    ]
    yield from aims.lineup.notes
    yield (
        "a score is a sum over the objectives: the effective weight times a value between 0 "
        "(worst) and 1 (best)"
    )
    yield f"weights, with the effective weights in brackets: {', '.join(shown)}"
    yield from aims.notes()
    used = {part.block.metric.name for aim in aims.every for part in aim.parts}
    used |= {notion.column for aim in aims.every for notion in aim.notions}
    unused = [name for name in aims.lineup.metrics if name not in used]
    if unused:
        yield f"metrics in no objective: {', '.join(unused)}"


def _with_scale(aim: Aim) -> str:
    """What it is made of, with the values that count as 0 and as 1 unless they are the bounds."""
    scales = dict.fromkeys(part.scale for part in aim.parts if part.scale is not None)
    return "; ".join([aim.description, *(f"0 at {low:g}, 1 at {high:g}" for low, high in scales)])


def _contribution_rows(aims: Aims, values: FloatArray, effective: FloatArray) -> pd.DataFrame:
    known, rows = iter(zip(values.T, effective.tolist(), strict=True)), []
    for aim in aims.every:
        nothing = np.full(len(aims.lineup.names), np.nan)
        column, weight = next(known) if aim.parts else (nothing, 0.0)
        for value, name in zip(column.tolist(), aims.lineup.names, strict=True):
            rows.append(
                {
                    "objective": aim.name,
                    "weight": aim.weight,
                    "effective_weight": weight,
                    "made_of": aim.description,
                    "pipeline": name,
                    "value": value,
                    "contribution": value * weight,
                }
            )
    return pd.DataFrame(rows)


# -- all weights


def _count_ahead(scores: FloatArray) -> np.ndarray:
    ahead: np.ndarray = (scores[:, np.newaxis] - scores > TIE_TOLERANCE).sum(axis=0)
    return ahead


def winning_shares(scores: FloatArray, margin: float = 0.0) -> FloatArray:
    """The share of rows in which each column has the highest score, up to a margin; ties shared.

    Examples
    --------
    >>> winning_shares(np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([0.75, 0.25])
    """
    if not len(scores):
        return np.full(scores.shape[1], np.nan)
    top = scores.max(axis=1, keepdims=True)
    wins = (scores >= top - max(margin, TIE_TOLERANCE)).astype(np.float64)
    wins /= wins.sum(axis=1, keepdims=True)
    shares: FloatArray = wins.mean(axis=0)
    return shares


def simplex_shares(values: FloatArray, *, n_draws: int = 9999, seed: int = 0) -> FloatArray:
    """The share of all possible weights under which each pipeline has the highest score.

    Parameters
    ----------
    values : ndarray of shape (n_pipelines, n_objectives)
        Higher is better.
    n_draws, seed : int
        For more than two objectives: random weights, uniform (Dirichlet with all parameters 1).

    Examples
    --------
    >>> simplex_shares(np.array([[1.0, 0.0], [0.0, 0.5]])).round(4)
    array([0.6667, 0.3333])
    """
    if values.shape[1] == 1:
        return winning_shares(values.T)
    if values.shape[1] > 2:
        rng = np.random.default_rng(seed)
        return winning_shares(rng.dirichlet(np.ones(values.shape[1]), size=n_draws) @ values.T)
    # The scores are linear in the weight: between two crossings the leader does not change, so the
    # leader in the middle of such a piece wins all of it.
    slope, start = values[:, 0] - values[:, 1], values[:, 1]
    steeper = slope[:, np.newaxis] - slope
    lower = start - start[:, np.newaxis]
    crossings = lower[steeper > TIE_TOLERANCE] / steeper[steeper > TIE_TOLERANCE]
    inside = crossings[(crossings > 0) & (crossings < 1)]
    ends = np.unique(np.concatenate([[0.0, 1.0], inside]))
    middles = (ends[1:] + ends[:-1]) / 2
    scores = np.column_stack([middles, 1 - middles]) @ values.T
    top = np.array([winning_shares(row[np.newaxis]) for row in scores])
    shares: FloatArray = np.diff(ends) @ top
    return shares


def _shares_of_weights_shown(
    values: FloatArray,
    drawn: FloatArray,
    margin: FloatArray | float,
    figure: Figure,
    settings: RankSettings,
) -> tuple[FloatArray, FloatArray]:
    """The share of all weights under which a pipeline is shown to be better: than each, than all.

    Each of the random weights is tested by the t approximation with the covariance of the
    resamples, Bonferroni-adjusted for the number of pairs.
    """
    size, n_objectives = values.shape
    pairs, alone = np.zeros((size, size)), np.zeros(size)
    if figure.too_few or figure.n < FEWEST_UNITS or len(drawn) < 2:
        return pairs, alone
    rng, n = np.random.default_rng(settings.seed), figure.n
    weights = rng.dirichlet(np.ones(n_objectives), size=settings.n_resamples)
    limits = weights @ margin if isinstance(margin, np.ndarray) else np.full(len(weights), margin)
    n_pairs = 1 if settings.stepwise == "none" else max(1, size * (size - 1) // 2)
    # As in `rageval_report.stats.bootstrap.expanded_limits`.
    tail = settings.alpha / n_pairs / 2
    critical = scipy.special.stdtrit(n - 1, 1.0 - tail) * np.sqrt(n / (n - 1))
    for i in range(size):
        is_alone = np.full(len(weights), size > 1)
        for j in (other for other in range(size) if other != i):
            covariance = np.atleast_2d(np.cov(drawn[:, i] - drawn[:, j], rowvar=False))
            variance = np.einsum("ri,ij,rj->r", weights, covariance, weights)
            excess = weights @ (values[i] - values[j]) - limits
            is_shown = excess > critical * np.sqrt(np.maximum(variance, 0.0)) + TIE_TOLERANCE
            pairs[i, j] = is_shown.mean()
            is_alone &= is_shown
        alone[i] = is_alone.mean()
    return pairs, alone
