"""Pipelines in order, and the effect of each of their settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import pandas as pd

from rageval_report.analysis.arguments import EvaluationSubset
from rageval_report.analysis.effects import MainEffects, main_effects
from rageval_report.analysis.verdicts import verdicts_of
from rageval_report.errors import DataError
from rageval_report.render.cell_text import confidence, interval, number
from rageval_report.reports.ranking_sentences import RankedPipelines
from rageval_report.reports.sentences import correction_text, counted, signed
from rageval_report.reports.views.strip import (
    MatrixCell,
    MatrixRow,
    Scale,
    Tick,
    hover_text,
    own_scale,
)
from rageval_report.scores import Metric, Scored
from rageval_report.scores.names import NameColumn, ShortNames

STEPS = 6
"""The number of shades from the lowest mean of a metric to the highest."""

# With more metrics there is no room for intervals beside the means.
_MOST_WITH_INTERVALS = 4
# What 390 px, a usual telephone, have room for as a table; more is one card per pipeline there.
_MOST_SETTINGS_ON_A_PHONE, _MOST_METRICS_ON_A_PHONE = 2, 3
_MARKS = {"best": "best", "worse": "worse"}


@dataclass(frozen=True)
class Leaderboard:
    """Pipelines in the order of their average place, in front and behind."""

    template: ClassVar[str] = "leaderboard.html.jinja"

    headings: tuple[str, ...]
    columns: tuple[SimpleNamespace, ...]
    groups: tuple[SimpleNamespace, ...]
    has_intervals: bool
    level: str

    @property
    def is_wide(self) -> bool:
        """Whether a telephone has no room for the table, so that it shows cards in its place."""
        return (
            len(self.headings) > _MOST_SETTINGS_ON_A_PHONE
            or len(self.columns) > _MOST_METRICS_ON_A_PHONE
        )

    @classmethod
    def of(
        cls, ranked: RankedPipelines, metrics: Mapping[str, Metric], *, level: object
    ) -> Leaderboard:
        """The leaderboard of a ranking."""
        by_metric = {
            name: ranked.frame[ranked.frame["metric"] == name].set_index("pipeline")
            for name in ranked.metrics
        }
        scales = {name: _scale(rows, metrics[name]) for name, rows in by_metric.items()}
        name_columns = _name_columns(ranked.names)
        words = (level, ranked)
        groups = tuple(
            SimpleNamespace(
                heading=f"{heading}: {len(pipelines)}",
                rows=tuple(
                    _row(pipeline, name_columns, by_metric, scales, words) for pipeline in pipelines
                ),
            )
            for heading, pipelines in (
                ("May be as good as the best", ranked.in_front),
                ("Worse than the best on at least one metric", ranked.behind),
            )
            if pipelines
        )
        return cls(
            tuple(column.heading or "Pipeline" for column in name_columns),
            tuple(
                _column(ranked.label(name), metrics[name], scales[name], rows)
                for name, rows in by_metric.items()
            ),
            groups,
            len(by_metric) <= _MOST_WITH_INTERVALS,
            confidence(level),
        )


def _name_columns(names: ShortNames) -> tuple[NameColumn, ...]:
    """The settings in the names as columns; the short names if there are none."""
    return names.columns if names.has_settings else (NameColumn("", names.short),)


def _scale(rows: pd.DataFrame, metric: Metric) -> Scale:
    """An axis that holds every interval, cut to round numbers; the better end is on the right."""
    values = rows[["mean", "ci_low", "ci_high"]].to_numpy(dtype=float)
    known = values[~pd.isna(values)]
    if not len(known):
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
    return float(
        f"{next(part * power for part in (1, 0.5, 0.2) if width / (part * power) >= 2):.6g}"
    )


def _column(title: str, metric: Metric, scale: Scale, rows: pd.DataFrame) -> SimpleNamespace:
    best = rows.loc[rows["standing"] == "best", "mean"]
    ends = (Tick("0", f"{scale.left:g}"), Tick("100", f"{scale.right:g}"))
    note = "" if metric.greater_is_better else "lower is better"
    return SimpleNamespace(
        title=title,
        note=note,
        ticks=ends,
        best=scale.place(float(best.iloc[0])) if len(best) else "100",
    )


def _row(
    pipeline: str,
    name_columns: Sequence[NameColumn],
    by_metric: Mapping[str, pd.DataFrame],
    scales: Mapping[str, Scale],
    words: tuple[object, RankedPipelines],
) -> SimpleNamespace:
    level, ranked = words
    place = ranked.names.names.index(pipeline)
    return SimpleNamespace(
        name=ranked.names.of(pipeline),
        parts=tuple(column.values[place] for column in name_columns),
        cells=tuple(
            _cell(
                rows.loc[[pipeline]].iloc[0],
                rows["mean"],
                scales[name],
                level,
                name in ranked.equal_on,
            )
            if pipeline in rows.index
            else None
            for name, rows in by_metric.items()
        ),
    )


def _cell(
    row: pd.Series, means: pd.Series, scale: Scale, level: object, are_equal: bool
) -> SimpleNamespace:
    mean, low, high = (float(row[key]) for key in ("mean", "ci_low", "ci_high"))
    ends = sorted((scale.share(low), scale.share(high))) if not math.isnan(low) else None
    return SimpleNamespace(
        text=number(mean),
        letters=str(row["letters"]),
        mark="undecided" if are_equal else _MARKS.get(str(row["standing"]), "undecided"),
        shade=_shade(mean, means, scale),
        places=None
        if ends is None
        else (f"{100 * ends[0]:.2f}", scale.place(mean), f"{100 * ends[1]:.2f}"),
        hover=f"mean {number(mean)}, {confidence(level)} {interval(low, high)}, "
        f"{counted(int(row['n']), 'query', 'queries')}; shown to be better than "
        f"{counted(int(row['beats']), 'pipeline')}, worse than {int(row['beaten_by'])}",
    )


def _shade(mean: float, means: pd.Series, scale: Scale) -> int:
    """The step of a mean between the worst and the best of its metric."""
    worst, best = sorted((float(means.min()), float(means.max())))
    if worst == best:
        return 0
    share = (mean - worst) / (best - worst)
    if scale.left > scale.right:
        share = 1.0 - share
    return min(int(share * STEPS), STEPS - 1)


@dataclass(frozen=True)
class Effects:
    """The effect of each setting, averaged over all others."""

    template: ClassVar[str] = "effects.html.jinja"

    sentence: str
    metrics: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    grids: tuple[SimpleNamespace, ...]
    factors: tuple[str, ...]

    @classmethod
    def of(cls, effects: MainEffects, ranked: RankedPipelines) -> Effects:
        """The effects of a grid of pipelines."""
        level = float(str(effects.settings["confidence_level"]))
        correction = str(effects.settings["correction"])
        known = verdicts_of(effects.frame, alpha=1.0 - level, labels=ranked.labels)
        rows: dict[str, list[MatrixCell | None]] = {}
        n: dict[str, int] = {}
        labels = zip(*(effects.frame[key] for key in ("factor", "reference", "level")), strict=True)
        for verdict, (factor, first, other) in zip(known, labels, strict=True):
            heading = f"{factor}: {first} → {other}"
            cell = MatrixCell(
                signed(verdict.difference),
                verdict.shown if verdict.shown in ("better", "worse") else "undecided",
                hover_text(verdict, level, correction),
            )
            rows.setdefault(heading, []).append(cell)
            n[heading] = verdict.n
        metrics = tuple(dict.fromkeys(verdict.label for verdict in known))
        factors = tuple(dict.fromkeys(effects.frame["factor"].astype(str)))
        return cls(
            "The mean difference that a setting makes, over all values of the others. Colour only "
            f"where it is shown ({correction_text(correction)} over "
            f"{effects.settings['family_size']} tests).",
            metrics,
            tuple(MatrixRow(name, n[name], tuple(cells)) for name, cells in rows.items()),
            _grids(ranked) if len(factors) == 2 else (),
            factors,
        )


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
            configured_runs(runs, names),
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


def configured_runs(runs: Sequence[Scored], names: ShortNames) -> Sequence[EvaluationSubset]:
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
    places = {name: place for place, name in enumerate(names.names)}
    configured = [
        replace(own, config={column.heading: column.values[places[own.name]] for column in varied})
        for own in subsets
    ]
    # The first level of a setting is the one that others are compared with.
    levels = {column.heading: _in_order(column.values) for column in varied}
    return sorted(
        configured,
        key=lambda own: [levels[name].index(value) for name, value in own.config.items()],
    )


def _grids(ranked: RankedPipelines) -> tuple[SimpleNamespace, ...]:
    """The means by two settings, one grid per metric; none if the names have no two settings."""
    varied = _varied(ranked.names)
    if len(varied) != 2 or not ranked.names.has_settings:
        return ()
    first, second = varied
    return tuple(_grid(ranked, name, first, second) for name in ranked.metrics)


def _grid(
    ranked: RankedPipelines, metric: str, first: NameColumn, second: NameColumn
) -> SimpleNamespace:
    rows = ranked.frame[ranked.frame["metric"] == metric].set_index("pipeline")
    places = {
        pair: name
        for name, pair in zip(
            ranked.names.names, zip(first.values, second.values, strict=True), strict=True
        )
    }
    columns = _in_order(second.values)
    return SimpleNamespace(
        metric=ranked.label(metric),
        columns=columns,
        rows=tuple(
            (level, tuple(_grid_cell(rows, places.get((level, other))) for other in columns))
            for level in _in_order(first.values)
        ),
    )


def _grid_cell(rows: pd.DataFrame, pipeline: str | None) -> SimpleNamespace | None:
    if pipeline is None or pipeline not in rows.index:
        return None
    means = rows["mean"].astype(float)
    mean = float(means[pipeline])
    share = (mean - means.min()) / ((means.max() - means.min()) or 1.0)
    if not bool(rows["greater_is_better"].iloc[0]):
        share = 1.0 - share
    shade = min(int(share * STEPS), STEPS - 1)
    return SimpleNamespace(text=number(mean), letters=str(rows["letters"][pipeline]), shade=shade)


def _in_order(values: Sequence[str]) -> tuple[str, ...]:
    """Distinct values, numbers by their size."""
    distinct = list(dict.fromkeys(values))
    try:
        return tuple(sorted(distinct, key=float))
    except ValueError:
        return tuple(distinct)
