"""What the templates of a page show of a ranking: leaderboard, effects, pairs, widest spread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import EvaluationSubset
from rageval_report.analysis.effects import MainEffects, main_effects
from rageval_report.analysis.lineup import ScoreBlock
from rageval_report.analysis.rank import Ranking
from rageval_report.analysis.verdicts import MetricVerdict, of_shown, pair_text, verdicts_of
from rageval_report.errors import DataError
from rageval_report.reports.cells import confidence, interval, number
from rageval_report.reports.query_table import DIGITS, query_texts
from rageval_report.reports.ranking_sentences import RankedPipelines
from rageval_report.reports.sentences import correction_text, counted, signed
from rageval_report.reports.views import (
    Scale,
    View,
    Words,
    hover_text,
    matrix_cell,
    own_scale,
    view_address,
)
from rageval_report.scores import Metric, Scored
from rageval_report.scores.names import NameColumn, ShortNames
from rageval_report.scores.shown import BETTER, WORSE

_STEPS = 6  # shades from the worst mean of a metric to the best
# With more metrics there is no room for intervals beside the means.
_MOST_WITH_INTERVALS = 4
# What 390 px, a usual telephone, have room for as a table; more is one card per pipeline there.
_MOST_SETTINGS_ON_A_PHONE, _MOST_METRICS_ON_A_PHONE = 2, 3


# -- the leaderboard


def leaderboard(ranked: RankedPipelines, metrics: Mapping[str, Metric], level: object) -> View:
    """Pipelines in the order of their average place, in front and behind."""
    columns = {name: _column(ranked, metrics[name], level) for name in ranked.metrics}
    # The settings in the names have columns of their own.
    names = ranked.names
    parts = names.columns if names.has_settings else (NameColumn("", names.short),)
    groups = [
        {
            "heading": f"{heading}: {len(pipelines)}",
            "rows": [
                {
                    "parts": [part.values[names.names.index(pipeline)] for part in parts],
                    "cells": [column["cells"].get(pipeline) for column in columns.values()],
                }
                for pipeline in pipelines
            ],
        }
        for heading, pipelines in (
            ("May be as good as the best", ranked.in_front),
            ("Worse than the best on at least one metric", ranked.behind),
        )
        if pipelines
    ]
    return {
        "template": "leaderboard",
        "headings": [part.heading or "Pipeline" for part in parts],
        "columns": list(columns.values()),
        "groups": groups,
        "has_intervals": len(columns) <= _MOST_WITH_INTERVALS,
        "is_wide": len(parts) > _MOST_SETTINGS_ON_A_PHONE
        or len(columns) > _MOST_METRICS_ON_A_PHONE,
        "level": confidence(level),
    }


def _column(ranked: RankedPipelines, metric: Metric, level: object) -> dict[str, Any]:
    """One metric: its axis, and a cell for each pipeline."""
    rows = ranked.frame[ranked.frame["metric"] == metric.name].set_index("pipeline")
    scale = _scale(rows, metric)
    best = rows.loc[rows["standing"] == "best", "mean"]

    def cell(row: Any) -> View:
        ends = sorted((scale.share(row.ci_low), scale.share(row.ci_high)))
        mark = row.standing if row.standing in ("best", "worse") else "undecided"
        return {
            "text": number(row.mean),
            "letters": row.letters,
            "mark": "undecided" if metric.name in ranked.equal_on else mark,
            "shade": _shade(row.mean, rows["mean"], is_up=metric.greater_is_better),
            "places": None if math.isnan(row.ci_low) else (ends[0], scale.place(row.mean), ends[1]),
            "hover": f"mean {number(row.mean)}, {confidence(level)} "
            f"{interval(row.ci_low, row.ci_high)}, {counted(int(row.n), 'query', 'queries')}; "
            f"shown to be better than {counted(int(row.beats), 'pipeline')}, "
            f"worse than {int(row.beaten_by)}",
        }

    return {
        "title": ranked.label(metric.name),
        "note": "" if metric.greater_is_better else "lower is better",
        "ticks": (("0", f"{scale.left:g}"), ("100", f"{scale.right:g}")),
        "best": scale.place(float(best.iloc[0])) if len(best) else "100",
        "cells": {row.Index: cell(row) for row in rows.itertuples()},
    }


def _scale(rows: pd.DataFrame, metric: Metric) -> Scale:
    """An axis that holds every interval, cut to round numbers; the better end is on the right."""
    values = rows[["mean", "ci_low", "ci_high"]].to_numpy(dtype=float)
    known = values[~np.isnan(values)]
    if not known.size:
        return own_scale([], metric.bounds, greater_is_better=metric.greater_is_better)
    low, high = float(known.min()), float(known.max())
    step = _step(high - low)
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    low, high = round(low, 10), round(high if high > low else low + step, 10)
    return Scale(low, high) if metric.greater_is_better else Scale(high, low)


def _step(width: float) -> float:
    """A round number that divides a width into two to five parts."""
    if not (math.isfinite(width) and width > 0):
        return 0.1
    power = 10.0 ** math.floor(math.log10(width))
    step = next(part * power for part in (1, 0.5, 0.2) if width / (part * power) >= 2)
    return float(f"{step:.6g}")


def _shade(mean: float, means: pd.Series, *, is_up: bool) -> int:
    """The step of a mean between the worst and the best of its metric."""
    low, high = float(means.min()), float(means.max())
    if low == high:
        return 0
    share = (mean - low) / (high - low)
    return min(int((share if is_up else 1.0 - share) * _STEPS), _STEPS - 1)


# -- the effect of each setting


def effects_view(effects: MainEffects, ranked: RankedPipelines) -> View:
    """The effect of each setting, averaged over all others."""
    words = float(str(effects.settings["confidence_level"])), str(effects.settings["correction"])
    known = verdicts_of(effects.frame, alpha=1.0 - words[0], labels=ranked.labels)
    rows: dict[str, dict[str, Any]] = {}
    labels = zip(*(effects.frame[key] for key in ("factor", "reference", "level")), strict=True)
    for verdict, (factor, first, other) in zip(known, labels, strict=True):
        heading = f"{factor}: {first} → {other}"
        cell = matrix_cell(verdict, words, signed(verdict.difference), "better", "worse")
        rows.setdefault(heading, {"label": heading, "cells": []})["cells"].append(cell)
    factors = list(dict.fromkeys(effects.frame["factor"].astype(str)))
    return {
        "template": "effects",
        "sentence": "The mean difference that a setting makes, over all values of the others. "
        f"Colour only where it is shown ({correction_text(words[1])} over "
        f"{effects.settings['family_size']} tests).",
        "metrics": list(dict.fromkeys(verdict.label for verdict in known)),
        "rows": list(rows.values()),
        "grids": _grids(ranked) if len(factors) == 2 else [],
        "factors": factors,
    }


def effects_of(
    runs: Sequence[Scored],
    names: ShortNames,
    settings: Mapping[str, object],
    metrics: Sequence[str],
) -> MainEffects | None:
    """The effects of the settings of the pipelines; None without a grid."""
    correction = str(settings["correction"])
    factors = [column.heading for column in _varied(names)] if names.has_settings else None
    try:
        return main_effects(
            _configured(runs, names),
            factors,
            metrics=metrics,
            correction="holm" if correction == "westfall-young" else correction,
            confidence_level=float(str(settings["confidence_level"])),
            seed=int(str(settings["seed"])),
            n_resamples=int(str(settings["n_resamples"])),
        )
    except DataError:
        # Not every combination of settings is there, or no setting is known.
        return None


def _varied(names: ShortNames) -> list[NameColumn]:
    """The parts in which the names differ; a short name also has those that all share."""
    return [column for column in names.columns if len(set(column.values)) > 1]


def _configured(runs: Sequence[Scored], names: ShortNames) -> Sequence[EvaluationSubset]:
    """The runs with the settings in their names, if they have such settings."""
    subsets = [
        EvaluationSubset(
            run.name, run.scores, run.details, dict(run.metrics), getattr(run, "config", {}) or {}
        )
        for run in runs
    ]
    varied = _varied(names)
    if not (names.has_settings and all(column.heading for column in varied)):
        return subsets
    values = {
        name: {column.heading: column.values[place] for column in varied}
        for place, name in enumerate(names.names)
    }
    # The first level of a setting is the one that others are compared with.
    levels = {column.heading: _in_order(column.values) for column in varied}
    return sorted(
        (replace(own, config=values[own.name]) for own in subsets),
        key=lambda own: [levels[name].index(value) for name, value in own.config.items()],
    )


def _grids(ranked: RankedPipelines) -> list[View]:
    """The means by two settings, one grid per metric; none if the names have no two settings."""
    varied = _varied(ranked.names)
    if len(varied) != 2 or not ranked.names.has_settings:
        return []
    pairs = zip(*(own.values for own in varied), strict=True)
    places = dict(zip(pairs, ranked.names.names, strict=True))
    first, second = (_in_order(own.values) for own in varied)
    grids: list[View] = []
    for name in ranked.metrics:
        rows = ranked.frame[ranked.frame["metric"] == name].set_index("pipeline")
        is_up = bool(rows["greater_is_better"].iloc[0])
        cells = {
            row.Index: {
                "text": number(row.mean),
                "letters": row.letters,
                "shade": _shade(row.mean, rows["mean"], is_up=is_up),
            }
            for row in cast("Iterable[Any]", rows.itertuples())
        }
        lines = [
            (level, [cells.get(places.get((level, other))) for other in second]) for level in first
        ]
        grids.append({"metric": ranked.label(name), "columns": second, "rows": lines})
    return grids


def _in_order(values: Sequence[str]) -> list[str]:
    """Distinct values, numbers by their size."""
    distinct = list(dict.fromkeys(values))
    try:
        return sorted(distinct, key=float)
    except ValueError:
        return distinct


# -- every pair


def pair_verdicts(
    ranking: Ranking, labels: Mapping[str, str] | None = None
) -> list[list[MetricVerdict]]:
    """The verdicts of every pair of pipelines, one per metric, in the order of `Ranking.pairs`."""
    if not ranking.tests:
        return []
    frame = ranking.pairs.frame
    known = [ranking.blocks[name].metric for name in frame["metric"]]
    fields = ("greater_is_better", "kind", "direction_is_known")
    frame = frame.assign(**{field: [getattr(own, field) for own in known] for field in fields})
    pairs: dict[tuple[str, str], list[MetricVerdict]] = {}
    for verdict in verdicts_of(frame, alpha=ranking.alpha, labels=labels):
        pairs.setdefault((verdict.baseline, verdict.candidate), []).append(verdict)
    return list(pairs.values())


def pair_matrix(ranked: RankedPipelines, pairs: Sequence[Sequence[MetricVerdict]]) -> View:
    """The metrics on which each row is shown to be better and worse than each column."""
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for pair in pairs:
        better, worse = (len(of_shown(pair, shown)) for shown in (BETTER, WORSE))
        counts[pair[0].candidate, pair[0].baseline] = better, worse
        counts[pair[0].baseline, pair[0].candidate] = worse, better

    def cell(row: str, column: str) -> View:
        better, worse = counts.get((row, column), (0, 0))
        tone = "both" if better and worse else "better" if better else "worse" if worse else "none"
        address = view_address(**{"base": column, "with": row})
        return {"better": better, "worse": worse, "tone": tone, "address": address}

    everyone = ranked.pipelines
    return {
        "template": "pair_matrix",
        "marks": [ranked.names.mark_of(name) for name in everyone],
        "names": [ranked.names.of(name) for name in everyone],
        "rows": [
            [None if row == column else cell(row, column) for column in everyone]
            for row in everyone
        ],
    }


def pairs_document(
    ranked: RankedPipelines, pairs: Sequence[Sequence[MetricVerdict]], words: Words
) -> list[dict[str, Any]]:
    """Every pair for the script of the page, with its sentences in both directions."""
    return [
        {
            "pair": [
                ranked.pipelines.index(side) for side in (pair[0].baseline, pair[0].candidate)
            ],
            "texts": [
                pair_text(side, ranked.names) for side in (pair, [own.turned() for own in pair])
            ],
            "rows": [_row_document(verdict, words) for verdict in pair],
        }
        for pair in pairs
    ]


def _row_document(verdict: MetricVerdict, words: Words) -> dict[str, Any]:
    numbers = (*verdict.means, verdict.difference, verdict.ci_low, verdict.ci_high)
    return {
        "metric": verdict.label,
        "up": verdict.greater_is_better,
        "share": verdict.is_share,
        "shown": verdict.shown,
        "numbers": [None if math.isnan(x) else float(f"{x:.{DIGITS}g}") for x in numbers],
        "counts": [verdict.wins, verdict.ties, verdict.losses],
        "hover": [hover_text(side, *words) for side in (verdict, verdict.turned())],
    }


# -- the queries on which the pipelines differ most

_MOST_CARDS, _FEWEST_PIPELINES = 4, 3


def widest_spread(
    ranked: RankedPipelines,
    blocks: Mapping[str, ScoreBlock],
    ids: pd.Index,
    runs: Sequence[Scored],
) -> View | None:
    """The queries whose scores on one metric differ most; None if no score differs."""
    # As shares of their axes, so that metrics of different scales can be compared.
    shares = {
        name: _shares(blocks[name])
        for name in ranked.metrics
        if blocks[name].metric.group != "performance" and blocks[name].complete.size
    }
    spread = {name: np.ptp(own, axis=1) for name, own in shares.items()}
    name = max(spread, key=lambda name: float(spread[name].mean()), default=None)
    if name is None or not spread[name].mean() > 0 or len(runs) < _FEWEST_PIPELINES:
        return None
    kept = ids[blocks[name].is_complete]
    # Stable: of equal spreads the query that comes first in the files.
    order = np.argsort(-spread[name], kind="stable")[:_MOST_CARDS].tolist()
    by_name = {run.name: run for run in runs}
    return {
        "template": "widest_spread",
        "metric": ranked.label(name),
        "cards": [
            _card(ranked, blocks[name], str(kept[row]), row, shares[name][row], by_name)
            for row in order
            if spread[name][row] > 0
        ],
        "n_pipelines": len(blocks[name].names),
        "n_queries": len(kept),
    }


def _shares(block: ScoreBlock) -> np.ndarray:
    scale = own_scale(block.complete.ravel().tolist(), block.metric.bounds)
    shares: np.ndarray = (block.complete - scale.left) / (scale.right - scale.left)
    return shares


def _card(
    ranked: RankedPipelines,
    block: ScoreBlock,
    query_id: str,
    row: int,
    shares: np.ndarray,
    runs: Mapping[str, Scored],
) -> View:
    scores = dict(zip(block.names, block.complete[row].tolist(), strict=True))
    heights = dict(zip(block.names, shares.tolist(), strict=True))
    order = [name for name in ranked.pipelines if name in scores]
    sign = 1.0 if block.metric.greater_is_better else -1.0
    # Of equal scores the first one, in the order of the leaderboard.
    best = max(order, key=lambda name: sign * scores[name])
    worst = min(order, key=lambda name: sign * scores[name])
    tones = {worst: "worse", best: "better"}
    texts = {name: query_texts(runs[name], query_id) for name in (best, worst)}
    return {
        "title": texts[best]["question"] or texts[worst]["question"] or query_id,
        "expected": texts[best]["reference"] or texts[worst]["reference"],
        "answers": [
            (tones[name], ranked.names.mark_of(name), number(scores[name]), texts[name]["answer"])
            for name in (best, worst)
        ],
        "bars": [
            {
                "height": f"{max(100.0 * heights[name], 2.0):.1f}",
                "tone": tones.get(name, "before"),
                "label": f"{ranked.names.of(name)} {number(scores[name])}",
            }
            for name in order
        ],
        "address": view_address(open=query_id),
    }
