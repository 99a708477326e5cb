"""One score per pipeline from weighted objectives, and the Pareto front of objectives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
import scipy

from rageval_report.analysis.lineup import Lineup
from rageval_report.analysis.objectives import (
    OBJECTIVES,
    QUALITY,
    SCORE,
    WEIGHTS,
    Aims,
    Figure,
    ObjectiveMapping,
    RankSettings,
)
from rageval_report.errors import DataError
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import FrontPlot, MetricNames, PlotOptions
from rageval_report.reports.sentences import correction_text, join_names, number, pvalue_text
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.corrections import adjust_pvalues
from rageval_report.stats.units import FEWEST_UNITS
from rageval_report.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEST, MAY_BE_BEST, WORSE = "best", "may be best", "worse"
WHOLE = "weighted score"
_FRONT = ("rank", "pipeline", "standing", "score", "ci_low", "ci_high")
_SHARES = ("share_of_resamples", "share_of_weights", "share_of_weights_shown")
_PARTS = ("objective", "weight", "effective_weight", "value", "contribution", "made_of")


@dataclass(frozen=True, eq=False, repr=False)
class WeightedScores(Result):
    """One row per pipeline, the highest score first."""

    objectives: pd.DataFrame | None = None
    pair_table: pd.DataFrame | None = None

    @property
    def pairs(self) -> Result:
        """Every pair of pipelines: the difference of the scores, its interval and its test."""
        frame = pd.DataFrame() if self.pair_table is None else self.pair_table
        correction = self.settings.get("correction")
        note = f"p-values are adjusted ({correction}) over these {len(frame)} pairs"
        return Result(
            "Differences of the weighted scores",
            frame,
            self.settings,
            (f"{note}; the intervals are not",) if correction != "none" and len(frame) > 1 else (),
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
            headline=("pipeline", *_PARTS[1:]),
            grouped_by="objective",
        )


def weighted_scores(aims: Aims) -> WeightedScores:
    """Combine the objectives of each pipeline into one weighted score; see `Ranking.weighted`."""
    settings, names, with_data = aims.settings, aims.lineup.names, aims.with_data
    for aim in with_data:  # each becomes a column of the frame
        if aim.name in (*_FRONT, *_SHARES):
            raise DataError(f"an objective cannot be named {aim.name!r}, which is another column")
    figures = [aims.figure(aim.name, [aim]) for aim in with_data]
    values, drawn = (
        np.stack(side, -1) for side in zip(*((f.values, f.drawn) for f in figures), strict=True)
    )
    weights = np.array([aim.weight for aim in with_data])
    weights /= weights.sum()
    margins = np.array([figure.margin for figure in figures])
    margin = aims.margins.get(SCORE, float(margins @ weights))
    whole = replace(aims.figure(WHOLE, with_data), margins={WHOLE: margin})
    shares, alone = _weights_shown(whole, values, drawn, aims.margins.get(SCORE, margins))
    tests = ScoreTests(whole, names, shares)
    low, high = whole.mean_limits()
    frame = pd.DataFrame(
        {
            "rank": 1 + (whole.values[:, None] - whole.values > TIE_TOLERANCE).sum(axis=0),
            "pipeline": list(names),
            "standing": tests.standings(),
            "score": whole.values,
            "ci_low": low,
            "ci_high": high,
            "share_of_resamples": winning_shares(whole.drawn, margin),
            "share_of_weights": simplex_shares(
                values, n_draws=settings.n_resamples, seed=settings.seed
            ),
            "share_of_weights_shown": alone,
            **dict(zip((aim.name for aim in with_data), (values * weights).T, strict=True)),
        }
    ).sort_values("rank", kind="stable", ignore_index=True)
    frame["verdict"] = pd.Series([tests.sentence(frame)], dtype=object).reindex(frame.index)
    return WeightedScores(
        "Weighted scores",
        frame,
        aims.shown_settings(weights={aim.name: aim.weight for aim in aims.every}),
        (*_notes(aims), *tests.notes()),
        headline=(*_FRONT, *_SHARES, *(aim.name for aim in with_data)),
        objectives=_contributions(aims, values),
        pair_table=pd.DataFrame(tests.rows()),
    )


def weighted_score(
    evaluation: Scored,
    weights: Mapping[str, float] | None = None,
    objectives: ObjectiveMapping | None = None,
) -> Result:
    """The weighted score of one run by objective; see `RAGPipelineEvaluation.weighted`."""
    known: dict[str, tuple[Metric, ...]] = {n: (m,) for n, m in evaluation.metrics.items()}
    lineup = Lineup((evaluation,), evaluation.scores.index, (None,), known)
    if objectives and (weights or objectives.keys() <= OBJECTIVES.keys()):
        # Beside the caller's own, the default ones.
        objectives, weights = {**OBJECTIVES, **objectives}, weights or WEIGHTS
    scores = weighted_scores(Aims.of(lineup, RankSettings(), objectives or None, weights or None))
    whole = scores.frame[["score", "ci_low", "ci_high"]].rename(columns={"score": "value"})
    whole = whole.assign(objective=WHOLE, contribution=whole["value"])
    rows = [*whole.to_dict("records"), *scores.contributions.frame.to_dict("records")]
    return Result(
        f"Weighted score of {evaluation.name}",
        pd.DataFrame(rows, columns=[*_PARTS, "ci_low", "ci_high"]),
        scores.settings,
        scores.notes,
        headline=("objective", "value", "ci_low", "ci_high", "weight", "contribution"),
    )


# -- the tests of all pairs


@dataclass(frozen=True, eq=False)
class ScoreTests:
    """The tests of a figure between all pipelines."""

    figure: Figure
    names: tuple[str, ...]
    weight_shares: FloatArray

    @cached_property
    def pvalues(self) -> FloatArray:
        """That two pipelines differ by more than the margin, before and after the correction."""
        size = len(self.names)
        pairs = np.array([self.figure.pvalue(*pair) for pair in combinations(range(size), 2)])
        adjusted = adjust_pvalues(pairs, self.figure.settings.stepwise) if pairs.size else pairs
        squares = np.full((2, size, size), np.nan)
        first, second = np.triu_indices(size, 1)
        squares[:, first, second] = squares[:, second, first] = pairs, adjusted
        return squares

    @property
    def beats(self) -> BoolArray:
        """Whether the pipeline of the row is shown to be better than that of the column."""
        values = self.figure.values
        shown: BoolArray = self.pvalues[1] <= self.figure.settings.alpha
        return shown & (values[:, None] > values)

    def standings(self) -> list[str]:
        """The standing of each pipeline beside the one with the highest score."""
        scores, beaten = self.figure.values, self.beats[self.figure.values.argmax()]
        behind = np.where(beaten, WORSE, MAY_BE_BEST)
        is_best = scores >= scores.max() - TIE_TOLERANCE
        return [str(word) for word in np.where(is_best, BEST, behind)]

    def rows(self) -> Iterator[dict[str, object]]:
        """The table of pairs; see `WeightedScores.pairs`."""
        figure, names, shares = self.figure, self.names, self.weight_shares
        values = figure.values.tolist()
        for i, j in combinations(range(len(names)), 2):
            low, high = figure.limits(i, j)
            ahead, behind = (j, i) if values[j] >= values[i] else (i, j)
            is_shown, few = bool(self.beats[ahead, behind]), f"too few: {figure.too_few}"
            better = f"{names[ahead]} has a higher score than {names[behind]}"
            yield {
                "baseline": names[i],
                "candidate": names[j],
                "n": figure.n,
                "baseline_score": values[i],
                "candidate_score": values[j],
                "difference": values[j] - values[i],
                "ci_low": low,
                "ci_high": high,
                "margin": figure.margin,
                "test": "paired bootstrap" if figure.by_query is None else "sign-flip",
                "pvalue": float(self.pvalues[0, i, j]),
                "pvalue_adjusted": float(self.pvalues[1, i, j]),
                "is_shown": is_shown,
                "share_of_weights_shown": float(shares[ahead, behind]),
                "share_of_weights_reversed": float(shares[behind, ahead]),
                "verdict": better if is_shown else few if figure.too_few else "undecided",
            }

    def sentence(self, frame: pd.DataFrame) -> str:
        """The verdict on the first of the table, as a person can repeat it."""
        first, leaders = frame.iloc[0], frame.loc[frame["rank"] == 1, "pipeline"]
        level = f"{100 * self.figure.settings.confidence_level:g} % CI"
        return (
            f"{join_names([*leaders])} {'has' if len(leaders) == 1 else 'share'} the highest "
            f"weighted score, {number(first['score'])} ({level} {number(first['ci_low'])} to "
            f"{number(first['ci_high'])}){''.join(f', {part}' for part in self._rivals(frame))}: "
            f"first in {percent(first['share_of_resamples'])} of the resamples of the queries, and "
            f"under {percent(first['share_of_weights'])} of all weights"
        )

    def _rivals(self, frame: pd.DataFrame) -> Iterator[str]:
        """Which pipelines the first is shown to be better than, and which not."""
        figure, by_standing = self.figure, frame.groupby("standing")["pipeline"].apply(list)
        if worse := by_standing.get(WORSE):
            by_more = f" by more than {number(figure.margin)}" if figure.margin else ""
            yield f"higher than that of {join_names(worse)}{by_more}"
        if undecided := by_standing.get(MAY_BE_BEST):
            names = join_names(undecided)
            few = f"too few {figure.units.word} for a test against {names}: {figure.too_few}"
            yield few if figure.too_few else f"but {names} may be as good"

    def notes(self) -> Iterator[str]:
        """How differences were tested."""
        figure = self.figure
        if len(self.names) > 1 and figure.by_query is None:
            yield "the score is not a mean over queries, so it is tested by a paired bootstrap"
        elif len(self.names) > 1:
            yield f"the score is a mean over {figure.n} {figure.units.word}, tested by sign-flips"


def percent(share: float) -> str:
    """A share in a sentence; 0 % and 100 % only if it is exactly that."""
    if 0.0 < share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if 0.99 < share < 1.0 else f"{100 * share:.0f} %"


def _notes(aims: Aims) -> Iterator[str]:
    total, shown = sum(aim.weight for aim in aims.with_data), []
    for aim in aims.with_data:
        # The values that count as 0 and as 1, unless they are the bounds.
        scales = dict.fromkeys(part.own_scale for part in aim.parts if part.own_scale)
        parts = "; ".join([aim.description, *scales])
        shown.append(f"{aim.name} {aim.weight:g} ({aim.weight / total:.3f}; {parts})")
    yield from aims.lineup.notes
    yield f"weights, with the effective weights in brackets: {', '.join(shown)}"
    yield from aims.notes()
    used = {part.block.metric.name for aim in aims.every for part in aim.parts}
    used |= {notion.column for aim in aims.every for notion in aim.notions}
    if unused := [name for name in aims.lineup.metrics if name not in used]:
        yield f"metrics in no objective: {', '.join(unused)}"


def _contributions(aims: Aims, values: FloatArray) -> pd.DataFrame:
    total, columns = sum(aim.weight for aim in aims.with_data), iter(values.T)
    parts = []
    for aim in aims.every:
        weight = aim.weight / total if aim.parts else 0.0
        value = next(columns) if aim.parts else np.nan
        part = {"objective": aim.name, "weight": aim.weight, "effective_weight": weight}
        part |= {"value": value, "contribution": value * weight, "made_of": aim.description}
        parts.append(pd.DataFrame({**part, "pipeline": aims.lineup.names}))
    return pd.concat(parts, ignore_index=True)


# -- all weights


def winning_shares(scores: FloatArray, margin: float = 0.0) -> FloatArray:
    """The share of rows in which each column has the highest score, up to a margin; ties shared."""
    if not len(scores):
        return np.full(scores.shape[1], np.nan)
    wins = scores >= scores.max(axis=1, keepdims=True) - max(margin, TIE_TOLERANCE)
    shares: FloatArray = (wins / wins.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def simplex_shares(values: FloatArray, *, n_draws: int = 9999, seed: int = 0) -> FloatArray:
    """The share of all possible weights under which each pipeline has the highest score."""
    if values.shape[1] == 1:
        return winning_shares(values.T)
    if values.shape[1] > 2:
        rng = np.random.default_rng(seed)
        return winning_shares(rng.dirichlet(np.ones(values.shape[1]), size=n_draws) @ values.T)
    # The scores are linear in the weight: between two crossings the leader does not change, so the
    # leader in the middle of such a piece wins all of it.
    slope, start = values[:, 0] - values[:, 1], values[:, 1]
    steeper, lower = slope[:, np.newaxis] - slope, start - start[:, np.newaxis]
    crossings = lower[steeper > TIE_TOLERANCE] / steeper[steeper > TIE_TOLERANCE]
    ends = np.unique([0.0, 1.0, *crossings[(crossings > 0) & (crossings < 1)]])
    middles = (ends[1:] + ends[:-1]) / 2
    scores = np.column_stack([middles, 1 - middles]) @ values.T
    top = np.array([winning_shares(row[np.newaxis]) for row in scores])
    shares: FloatArray = np.diff(ends) @ top
    return shares


def _weights_shown(
    whole: Figure, values: FloatArray, drawn: FloatArray, margin: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """The share of all weights under which a pipeline is better than each, and than all."""
    (size, n_objectives), settings, n = values.shape, whole.settings, whole.n
    pairs, alone = np.zeros((size, size)), np.zeros(size)
    if whole.too_few or n < FEWEST_UNITS or len(drawn) < 2:
        return pairs, alone
    rng = np.random.default_rng(settings.seed)
    weights = rng.dirichlet(np.ones(n_objectives), size=settings.n_resamples)
    limits = weights @ np.broadcast_to(margin, n_objectives)
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


# The standing of a pipeline: no other is ahead; one is ahead, which may be chance; it is dominated.
ON_FRONT, MAY_BE_ON_FRONT, DOMINATED = "on the front", "may be on the front", "dominated"


@dataclass(frozen=True, eq=False, repr=False)
class ParetoFront(Result):
    """One row per pipeline, those on the front first."""

    axes: tuple[Figure, ...] = ()
    dominance: pd.DataFrame | None = None

    @property
    def front(self) -> tuple[str, ...]:
        """The pipelines on the front of these queries; see the column standing, too."""
        return tuple(self.frame.loc[self.frame["on_front"], "pipeline"])

    def plot(
        self,
        kind: FrontPlot | Plot = "pareto",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the front; parameters as in `Ranking.plot`."""
        return plot(self, kind, *args, ax=ax, **options)


def pareto_front(aims: Aims, *, as_quality: bool) -> ParetoFront:
    """The pipelines that no other one dominates; see `Ranking.pareto`."""
    names, settings, axes = aims.lineup.names, aims.settings, _axes(aims, as_quality=as_quality)
    deciding = [axis for axis in axes if not axis.is_constant]
    observed = _dominates(deciding, [axis.values for axis in deciding], (len(names),))
    drawn = _dominates(deciding, [axis.drawn for axis in deciding], (0, len(names)))
    share = drawn.mean(axis=0) if len(drawn) else np.zeros(observed.shape)
    dominance = pd.DataFrame(
        {
            "pipeline": names[i],
            "other": names[j],
            "is_ahead": bool(observed[i, j]),
            "probability": float(share[i, j]),
            # Without an advantage on these queries there is nothing to test.
            "pvalue": _dominance_pvalue(deciding, i, j) if observed[i, j] else 1.0,
        }
        for i, j in permutations(range(len(names)), 2)
    )
    adjusted = adjust_pvalues(dominance["pvalue"].to_numpy(), settings.stepwise)
    dominance = dominance.assign(pvalue_adjusted=adjusted, dominates=adjusted <= settings.alpha)
    on_front: BoolArray = ~np.any(observed, axis=0)
    frame = _front_frame(names, axes, on_front, dominance)
    if deciding:
        frame["probability_on_front"] = (~drawn.any(axis=1)).mean(axis=0)
    order = np.lexsort((-axes[0].sign * axes[0].values, ~on_front))
    frame = frame.iloc[order].reset_index(drop=True)
    front = join_names(frame.loc[frame["on_front"], "pipeline"].tolist())
    how = dominance, deciding, settings.stepwise
    others = (_front_sentence(row, *how) for row in frame.to_dict("records")[1:])
    sentences = [f"on the front: {front}", *others]
    if not deciding:
        sentences[0] = "no objective distinguishes the pipelines: all are on the front"
    return ParetoFront(
        f"Pareto front over {join_names([axis.name for axis in axes])}",
        frame.assign(verdict=pd.Series(sentences, dtype=object)),
        aims.shown_settings(objectives={axis.name: axis.made_of for axis in axes}),
        (*aims.lineup.notes, *_front_notes(aims, axes, deciding)),
        headline=("pipeline", "standing", "probability_on_front", *(axis.name for axis in axes)),
        axes=axes,
        dominance=dominance,
    )


def _axes(aims: Aims, *, as_quality: bool) -> tuple[Figure, ...]:
    """One figure per objective; or one for quality as a whole, if there is also cost or latency."""
    alone, axes = aims.with_data, list[Figure]()
    spent = [aim for aim in alone if aim.is_spent]
    quality = [aim for aim in alone if not aim.is_spent]
    if as_quality and spent and len(quality) > 1:
        alone, axes = spent, [aims.figure(QUALITY, quality)]
    # A single metric stands in its own unit.
    axes += [aims.figure(aim.name, [aim], as_shares=len(aim.parts) > 1) for aim in alone]
    return tuple(axes)


def dominance_matrix(values: FloatArray, tie: FloatArray) -> BoolArray:
    """Whether each pipeline dominates each other one: better somewhere, worse nowhere."""
    size = values.shape[-2]
    result = np.zeros((*values.shape[:-2], size, size), dtype=bool)
    # One pipeline at a time: all pairs on all resamples at once would take k times the memory.
    for row in range(size):
        ahead = values[..., row : row + 1, :] - values
        result[..., row, :] = (ahead >= -tie).all(axis=-1) & (ahead > tie).any(axis=-1)
    return result


def _dominates(
    figures: Sequence[Figure], values: Sequence[FloatArray], shape: tuple[int, ...]
) -> BoolArray:
    """Whether the row dominates the column; of the shape that is named if nothing decides."""
    if not figures:
        return np.zeros((*shape, shape[-1]), dtype=bool)
    signs = np.array([figure.sign for figure in figures])
    tie = np.array([figure.tie for figure in figures])
    return dominance_matrix(np.stack(values, axis=-1) * signs, tie)


def _dominance_pvalue(figures: Sequence[Figure], first: int, second: int) -> float:
    """The p-value that the first pipeline dominates the second, beyond the margins."""
    differing = [figure for figure in figures if not figure.is_same(second, first)]
    if not differing:
        return 1.0
    not_worse = max(figure.pvalue_better(second, first) for figure in differing)
    with_margin = [figure for figure in differing if figure.margin]
    if len(with_margin) < len(differing):
        # Better without a margin on one of them, which is among the claims already.
        return not_worse
    beyond = min(figure.pvalue_better(second, first, figure.margin) for figure in with_margin)
    return min(1.0, max(not_worse, len(with_margin) * beyond))


def _front_frame(
    names: Sequence[str], axes: Sequence[Figure], on_front: BoolArray, dominance: pd.DataFrame
) -> pd.DataFrame:
    shown = dominance[dominance["dominates"]]
    above, below = (
        [", ".join(shown.loc[shown[side] == name, other]) for name in names]
        for side, other in (("other", "pipeline"), ("pipeline", "other"))
    )
    behind = np.where(np.array(above) != "", DOMINATED, MAY_BE_ON_FRONT)
    columns: dict[str, object] = {
        "pipeline": list(names),
        "standing": np.where(on_front, ON_FRONT, behind),
        "on_front": on_front,
        "probability_on_front": 1.0,
    }
    for axis in axes:
        columns[axis.name] = axis.values
        columns[f"{axis.name}_ci_low"], columns[f"{axis.name}_ci_high"] = axis.mean_limits()
    return pd.DataFrame({**columns, "dominated_by": above, "dominates": below})


def _front_sentence(
    row: Mapping[Any, Any], dominance: pd.DataFrame, figures: Sequence[Figure], correction: str
) -> str | None:
    """The sentence on a pipeline that another one is ahead of."""
    name, short = row["pipeline"], next((figure for figure in figures if figure.too_few), None)
    if row["on_front"]:
        return None
    rivals = dominance[(dominance["other"] == name) & dominance["is_ahead"]]
    rival = rivals.sort_values(["pvalue_adjusted", "probability"], ascending=[True, False])
    other, pvalue, share = rival[["pipeline", "pvalue_adjusted", "probability"]].iloc[0]
    test = f"{correction_text(correction)} p {pvalue_text(float(pvalue))}"
    resamples = f"in {percent(share)} of the resamples of the queries"
    if row["standing"] == DOMINATED:
        return f"{name} is dominated by {other} ({test}), and {resamples}"
    why = f"too few {short.units.word} for a test: {short.too_few}" if short else test
    return (
        f"{name} may be on the front: {other} is ahead of it on these queries, but is not "
        f"shown to be better on every objective ({why}, {resamples})"
    )


def _front_notes(aims: Aims, axes: Sequence[Figure], deciding: Sequence[Figure]) -> Iterator[str]:
    for axis in axes:
        yield f"{axis.name}: {axis.made_of}{'' if axis.sign > 0 else ', lower is better'}"
    yield from aims.notes()
    if constant := [axis.name for axis in axes if axis not in deciding]:
        yield f"equal for all pipelines, so that it decides nothing: {', '.join(constant)}"
    if short := next((axis for axis in deciding if axis.too_few), None):
        yield f"too few {short.units.word} for a test: {short.too_few}"
