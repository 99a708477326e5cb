"""One score per pipeline from weighted objectives, and the Pareto front of objectives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.lineup import Lineup
from rageval_report.analysis.objectives import (
    OBJECTIVES,
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
from rageval_report.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEST, MAY_BE_BEST, WORSE = "best", "may be best", "worse"
WHOLE, QUALITY = "weighted score", "quality"
_COLUMNS = (
    *("rank", "pipeline", "standing", "score", "ci_low", "ci_high"),
    *("share_of_resamples", "share_of_weights"),
)
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
        if aim.name in _COLUMNS:
            raise DataError(f"an objective cannot be named {aim.name!r}, which is another column")
    values = np.stack([aims.figure(aim.name, [aim]).values for aim in with_data], axis=-1)
    weights = np.array([aim.weight for aim in with_data])
    weights /= weights.sum()
    whole = aims.figure(WHOLE, with_data)
    pairs = _pair_table(whole, names)
    low, high = whole.mean_limits()
    frame = pd.DataFrame(
        {
            "rank": 1 + (whole.values[:, None] - whole.values > TIE_TOLERANCE).sum(axis=0),
            "pipeline": list(names),
            "standing": _standings(whole, names, pairs),
            "score": whole.values,
            "ci_low": low,
            "ci_high": high,
            "share_of_resamples": winning_shares(whole.drawn),
            "share_of_weights": simplex_shares(
                values, n_draws=settings.n_resamples, seed=settings.seed
            ),
            **dict(zip((aim.name for aim in with_data), (values * weights).T, strict=True)),
        }
    ).sort_values("rank", kind="stable", ignore_index=True)
    sentence = _sentence(whole, frame)
    frame["verdict"] = pd.Series([sentence], dtype=object).reindex(frame.index)
    return WeightedScores(
        "Weighted scores",
        frame,
        aims.shown_settings(weights={aim.name: aim.weight for aim in aims.every}),
        tuple(_notes(aims, whole)),
        headline=(*_COLUMNS, *(aim.name for aim in with_data)),
        objectives=_contributions(aims, values),
        pair_table=pairs,
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


def _pair_table(whole: Figure, names: Sequence[str]) -> pd.DataFrame:
    """The table of pairs; see `WeightedScores.pairs`."""
    values, pairs = whole.values, list(combinations(range(len(names)), 2))
    pvalues = np.array([whole.pvalue(*pair) for pair in pairs])
    adjusted = adjust_pvalues(pvalues, whole.settings.stepwise) if pairs else pvalues
    rows = []
    for (i, j), pvalue, corrected in zip(pairs, pvalues, adjusted, strict=True):
        low, high = whole.limits(i, j)
        is_shown = bool(corrected <= whole.settings.alpha and values[i] != values[j])
        ahead, behind = (j, i) if values[j] >= values[i] else (i, j)
        few = f"too few: {whole.too_few}" if whole.too_few else "undecided"
        better = f"{names[ahead]} has a higher score than {names[behind]}"
        rows.append(
            {
                "baseline": names[i],
                "candidate": names[j],
                "n": whole.n,
                "baseline_score": float(values[i]),
                "candidate_score": float(values[j]),
                "difference": float(values[j] - values[i]),
                "ci_low": low,
                "ci_high": high,
                "test": "paired bootstrap" if whole.by_query is None else "sign-flip",
                "pvalue": float(pvalue),
                "pvalue_adjusted": float(corrected),
                "is_shown": is_shown,
                "verdict": better if is_shown else few,
            }
        )
    return pd.DataFrame(rows)


def _standings(whole: Figure, names: Sequence[str], pairs: pd.DataFrame) -> list[str]:
    """The standing of each pipeline beside the one with the highest score."""
    first, values = names[int(whole.values.argmax())], whole.values
    beaten = set[str]()
    if len(pairs):
        sides = pairs.loc[pairs["is_shown"], ["baseline", "candidate"]].to_numpy()
        beaten = {name for pair in sides if first in pair for name in pair}
    is_best = values >= values.max() - TIE_TOLERANCE
    behind = [WORSE if name in beaten else MAY_BE_BEST for name in names]
    return [BEST if best else word for best, word in zip(is_best, behind, strict=True)]


def _sentence(whole: Figure, frame: pd.DataFrame) -> str:
    """The verdict on the first of the table, as a person can repeat it."""
    first, leaders = frame.iloc[0], frame.loc[frame["rank"] == 1, "pipeline"]
    by_standing = frame.groupby("standing")["pipeline"].apply(list)
    level = f"{100 * whole.settings.confidence_level:g} % CI"
    text = (
        f"{join_names([*leaders])} {'has' if len(leaders) == 1 else 'share'} the highest "
        f"weighted score, {number(first['score'])} ({level} {number(first['ci_low'])} to "
        f"{number(first['ci_high'])})"
    )
    if worse := by_standing.get(WORSE):
        text += f", higher than that of {join_names(worse)}"
    if undecided := by_standing.get(MAY_BE_BEST):
        few = f"too few {whole.units.word} for a test against {join_names(undecided)}"
        as_good = f"but {join_names(undecided)} may be as good"
        text += f", {few}: {whole.too_few}" if whole.too_few else f", {as_good}"
    return (
        f"{text}: first in {percent(first['share_of_resamples'])} of the resamples of the queries, "
        f"and under {percent(first['share_of_weights'])} of all weights"
    )


def percent(share: float) -> str:
    """A share in a sentence; 0 % and 100 % only if it is exactly that."""
    if 0.0 < share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if 0.99 < share < 1.0 else f"{100 * share:.0f} %"


def _notes(aims: Aims, whole: Figure) -> Iterator[str]:
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
    if len(aims.lineup.names) > 1 and whole.by_query is None:
        yield "the score is not a mean over queries, so it is tested by a paired bootstrap"
    elif len(aims.lineup.names) > 1:
        yield f"the score is a mean over {whole.n} {whole.units.word}, tested by sign-flips"


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


def winning_shares(scores: FloatArray) -> FloatArray:
    """The share of rows in which each column has the highest score; ties are shared."""
    if not len(scores):
        return np.full(scores.shape[1], np.nan)
    wins = scores >= scores.max(axis=1, keepdims=True) - TIE_TOLERANCE
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


# -- the front

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
    deciding = [axis for axis in axes if not axis.is_same()]
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
    others = (_front_sentence(row, dominance, settings) for row in frame.to_dict("records")[1:])
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
    """The p-value that the first pipeline dominates the second."""
    differing = (figure for figure in figures if not figure.is_same(second, first))
    return max((figure.pvalue_better(second, first) for figure in differing), default=1.0)


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
    row: Mapping[Any, Any], dominance: pd.DataFrame, settings: RankSettings
) -> str | None:
    """The sentence on a pipeline that another one is ahead of."""
    name = row["pipeline"]
    if row["on_front"]:
        return None
    rivals = dominance[(dominance["other"] == name) & dominance["is_ahead"]]
    rival = rivals.sort_values(["pvalue_adjusted", "probability"], ascending=[True, False])
    other, pvalue, share = rival[["pipeline", "pvalue_adjusted", "probability"]].iloc[0]
    test = f"{correction_text(settings.stepwise)} p {pvalue_text(float(pvalue))}"
    resamples = f"in {percent(share)} of the resamples of the queries"
    if row["standing"] == DOMINATED:
        return f"{name} is dominated by {other} ({test}), and {resamples}"
    return (
        f"{name} may be on the front: {other} is ahead of it on these queries, but is not "
        f"shown to be better on every objective ({test}, {resamples})"
    )


def _front_notes(aims: Aims, axes: Sequence[Figure], deciding: Sequence[Figure]) -> Iterator[str]:
    for axis in axes:
        yield f"{axis.name}: {axis.made_of}{'' if axis.sign > 0 else ', lower is better'}"
    yield from aims.notes()
    if constant := [axis.name for axis in axes if axis not in deciding]:
        yield f"equal for all pipelines, so that it decides nothing: {', '.join(constant)}"
    if short := next((axis for axis in deciding if axis.too_few), None):
        yield f"too few {short.units.word} for a test: {short.too_few}"
