"""The queries on which it matters most which of several pipelines is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd

from rageval_report.analysis.lineup import ScoreBlock
from rageval_report.render.cell_text import number
from rageval_report.reports.ranking_sentences import RankedPipelines
from rageval_report.reports.views.changed import view_address
from rageval_report.reports.views.query_texts import query_texts
from rageval_report.reports.views.scales import own_scale
from rageval_report.scores import Scored

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
    ranked: RankedPipelines,
    block: ScoreBlock,
    query_id: str,
    row: int,
    runs: Mapping[str, Scored],
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
