"""Every pair of pipelines, and the queries on which pipelines differ most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from rageval_report.analysis.lineup import ScoreBlock
from rageval_report.analysis.rank import Ranking
from rageval_report.analysis.verdicts import MetricVerdict, of_shown, pair_text, verdicts_of
from rageval_report.render.cell_text import number
from rageval_report.reports.query_table import DIGITS, query_texts
from rageval_report.reports.ranking_sentences import RankedPipelines
from rageval_report.reports.views.strip import hover_text, own_scale, view_address
from rageval_report.scores import Scored
from rageval_report.scores.names import ShortNames
from rageval_report.scores.shown import BETTER, WORSE


@dataclass(frozen=True)
class PairCell:
    """The number of metrics on which the row is shown to be better, and worse."""

    better: int
    worse: int
    address: str

    @property
    def tone(self) -> str:
        """What is shown: "better", "worse", "both" or "none"."""
        if self.better and self.worse:
            return "both"
        return "better" if self.better else "worse" if self.worse else "none"


@dataclass(frozen=True)
class PairMatrix:
    """Pipelines in rows and columns, in the order of the leaderboard."""

    template: ClassVar[str] = "pair_matrix.html.jinja"

    marks: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[tuple[PairCell | None, ...], ...]

    @classmethod
    def of(cls, ranked: RankedPipelines, pairs: Sequence[Sequence[MetricVerdict]]) -> PairMatrix:
        """The matrix of all pairs."""
        counts: dict[tuple[str, str], tuple[int, int]] = {}
        for pair in pairs:
            n_better, n_worse = len(of_shown(pair, BETTER)), len(of_shown(pair, WORSE))
            first, second = pair[0].baseline, pair[0].candidate
            counts[second, first] = (n_better, n_worse)
            counts[first, second] = (n_worse, n_better)
        rows = tuple(
            tuple(
                None
                if row == column
                else PairCell(*counts.get((row, column), (0, 0)), _address(row, column))
                for column in ranked.pipelines
            )
            for row in ranked.pipelines
        )
        return cls(
            tuple(ranked.names.mark_of(name) for name in ranked.pipelines),
            tuple(ranked.names.of(name) for name in ranked.pipelines),
            rows,
        )


def pairs_document(
    ranked: RankedPipelines,
    pairs: Sequence[Sequence[MetricVerdict]],
    *,
    level: object,
    correction: str,
) -> list[dict[str, Any]]:
    """Every pair for the script of the page, with its sentences in both directions."""
    places = {name: place for place, name in enumerate(ranked.pipelines)}
    return [
        {
            "pair": [places[pair[0].baseline], places[pair[0].candidate]],
            "texts": list(both_pair_texts(pair, ranked.names)),
            "rows": [_row_document(verdict, (level, correction)) for verdict in pair],
        }
        for pair in pairs
    ]


def _row_document(verdict: MetricVerdict, words: tuple[object, str]) -> dict[str, Any]:
    values = (*verdict.means, verdict.difference, verdict.ci_low, verdict.ci_high)
    return {
        "metric": verdict.label,
        "up": verdict.greater_is_better,
        "share": verdict.is_share,
        "shown": verdict.shown,
        "numbers": [_rounded(value) for value in values],
        "counts": [verdict.wins, verdict.ties, verdict.losses],
        "hover": [hover_text(verdict, *words), hover_text(verdict.turned(), *words)],
    }


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.{DIGITS}g}")


def _address(row: str, column: str) -> str:
    return view_address(**{"base": column, "with": row})


def pair_verdicts(
    ranking: Ranking, labels: Mapping[str, str] | None = None
) -> list[list[MetricVerdict]]:
    """The verdicts of every pair of pipelines, one per metric, in the order of `Ranking.pairs`."""
    if not ranking.tests:
        return []
    frame = ranking.pairs.frame
    metrics = {name: ranking.blocks[name].metric for name in ranking.tests}
    frame = frame.assign(
        greater_is_better=frame["metric"].map(lambda name: metrics[name].greater_is_better),
        kind=frame["metric"].map(lambda name: metrics[name].kind),
        direction_is_known=frame["metric"].map(lambda name: metrics[name].direction_is_known),
    )
    pairs: dict[tuple[str, str], list[MetricVerdict]] = {}
    for verdict in verdicts_of(frame, alpha=ranking.alpha, labels=labels):
        pairs.setdefault((verdict.baseline, verdict.candidate), []).append(verdict)
    return list(pairs.values())


def both_pair_texts(verdicts: Sequence[MetricVerdict], names: ShortNames) -> tuple[str, str]:
    """The headlines of a pair: of the second beside the first, and the other way round."""
    return pair_text(verdicts, names), pair_text([own.turned() for own in verdicts], names)


_MOST_CARDS = 4
_FEWEST_PIPELINES = 3
_BEST, _WORST = "better", "worse"


@dataclass(frozen=True)
class WidestSpread:
    """The queries whose scores on one metric differ most between the pipelines."""

    template: ClassVar[str] = "widest_spread.html.jinja"

    metric: str
    cards: tuple[SimpleNamespace, ...]
    n_pipelines: int
    n_queries: int

    @classmethod
    def of(
        cls,
        ranked: RankedPipelines,
        blocks: Mapping[str, ScoreBlock],
        ids: pd.Index,
        runs: Sequence[Scored],
    ) -> WidestSpread | None:
        """The queries to show; None with two pipelines, or if no score differs."""
        name = _metric_of_widest_spread(ranked, blocks)
        if name is None or len(runs) < _FEWEST_PIPELINES:
            return None
        block = blocks[name]
        spread = _shares(block).max(axis=1) - _shares(block).min(axis=1)
        kept = ids[block.is_complete]
        # Stable: of equal spreads the query that comes first in the files.
        order = np.argsort(-spread, kind="stable")[:_MOST_CARDS]
        by_name = {run.name: run for run in runs}
        return cls(
            ranked.label(name),
            tuple(
                _card(ranked, block, str(kept[row]), int(row), by_name)
                for row in order
                if spread[row] > 0
            ),
            len(block.names),
            len(kept),
        )


def _metric_of_widest_spread(
    ranked: RankedPipelines, blocks: Mapping[str, ScoreBlock]
) -> str | None:
    """The metric of quality whose scores differ most, on average over the queries."""
    widths = {
        name: float(np.ptp(_shares(blocks[name]), axis=1).mean())
        for name in ranked.metrics
        if blocks[name].metric.group != "performance" and blocks[name].complete.size
    }
    widest = max(widths, key=lambda name: widths[name], default=None)
    return widest if widest is not None and widths[widest] > 0 else None


def _shares(block: ScoreBlock) -> np.ndarray:
    """The scores as shares of their axis, so that metrics of different scales can be compared."""
    scale = own_scale(block.complete.ravel().tolist(), block.metric.bounds, greater_is_better=True)
    shares: np.ndarray = (block.complete - scale.left) / (scale.right - scale.left)
    return shares


def _card(
    ranked: RankedPipelines, block: ScoreBlock, query_id: str, row: int, runs: Mapping[str, Scored]
) -> SimpleNamespace:
    scores = dict(zip(block.names, block.complete[row].tolist(), strict=True))
    heights = dict(zip(block.names, _shares(block)[row].tolist(), strict=True))
    order = [name for name in ranked.pipelines if name in scores]
    sign = 1.0 if block.metric.greater_is_better else -1.0
    # Of equal scores the first one, in the order of the leaderboard.
    best = max(order, key=lambda name: sign * scores[name])
    worst = min(order, key=lambda name: sign * scores[name])
    tones = {worst: _WORST, best: _BEST}
    texts = {name: query_texts(runs[name], query_id) for name in (best, worst)}
    step = 100.0 / len(order)
    return SimpleNamespace(
        query_id=query_id,
        question=texts[best]["question"] or texts[worst]["question"],
        expected=texts[best]["reference"] or texts[worst]["reference"],
        answers=[
            (tones[name], ranked.names.mark_of(name), number(scores[name]), texts[name]["answer"])
            for name in (best, worst)
        ],
        bars=[
            SimpleNamespace(
                x=f"{step * (place + 0.15):.2f}",
                width=f"{step * 0.7:.2f}",
                height=f"{max(100.0 * heights[name], 2.0):.1f}",
                tone=tones.get(name, "before"),
                label=f"{ranked.names.of(name)} {number(scores[name])}",
            )
            for place, name in enumerate(order)
        ],
        address=view_address(open=query_id),
    )
