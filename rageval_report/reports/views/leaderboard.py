"""The leaderboard as a heat table: pipelines in rows, metrics in columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from rageval_report.render.cell_text import confidence, interval, number
from rageval_report.reports.ranking_sentences import RankedPipelines
from rageval_report.reports.sentences import counted
from rageval_report.reports.views.scales import Scale, own_scale
from rageval_report.reports.views.strip import Tick
from rageval_report.scores import Metric
from rageval_report.scores.names import NameColumn, ShortNames

STEPS = 6
"""The number of shades from the lowest mean of a metric to the highest."""

# With more metrics there is no room for intervals beside the means.
_MOST_WITH_INTERVALS = 4
# What 390 px, a usual telephone, have room for as a table; more is one card per pipeline there.
_MOST_SETTINGS_ON_A_PHONE, _MOST_METRICS_ON_A_PHONE = 2, 3
_MARKS = {"best": "best", "worse": "worse"}


@dataclass(frozen=True)
class HeatCell:
    """One mean of the leaderboard.

    Parameters
    ----------
    text : str
        The mean.
    letters : str
        Of pipelines that share one, no difference is shown.
    mark : str
        "best", "worse" or "undecided": may be as good as the best.
    shade : int
        0 for the lowest mean of the metric, up to `STEPS` - 1 for the best one.
    places : (str, str, str) or None
        The interval and the mean on the axis of the metric, in percent.
    hover : str
        The statistics in one line.
    """

    text: str
    letters: str
    mark: str
    shade: int
    places: tuple[str, str, str] | None
    hover: str


@dataclass(frozen=True)
class HeatColumn:
    """One metric of the leaderboard: its title, its axis, and where its best mean is."""

    title: str
    note: str
    ticks: tuple[Tick, ...]
    best: str


@dataclass(frozen=True)
class HeatRow:
    """One pipeline of the leaderboard."""

    name: str
    parts: tuple[str, ...]
    cells: tuple[HeatCell | None, ...]


@dataclass(frozen=True)
class HeatGroup:
    """Pipelines under one heading."""

    heading: str
    rows: tuple[HeatRow, ...]


@dataclass(frozen=True)
class Leaderboard:
    """Pipelines in the order of their average place, in front and behind.

    Parameters
    ----------
    headings : tuple of str
        The settings in the names, as columns; one heading "Pipeline" if there are none.
    columns : tuple of HeatColumn
        The metrics.
    groups : tuple of HeatGroup
        Those in front first.
    has_intervals : bool
        Whether the means have intervals beside them.
    level : str
        What the intervals are called.
    """

    template: ClassVar[str] = "leaderboard.html.jinja"

    headings: tuple[str, ...]
    columns: tuple[HeatColumn, ...]
    groups: tuple[HeatGroup, ...]
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
        """The leaderboard of a ranking.

        Parameters
        ----------
        ranked : RankedPipelines
            Which pipelines are in front.
        metrics : mapping of str to Metric
            What is known of each metric, by its name.
        level : float
            The confidence level of the intervals.
        """
        by_metric = {
            name: ranked.frame[ranked.frame["metric"] == name].set_index("pipeline")
            for name in ranked.metrics
        }
        scales = {name: _scale(rows, metrics[name]) for name, rows in by_metric.items()}
        name_columns = _name_columns(ranked.names)
        words = (level, ranked)
        groups = tuple(
            HeatGroup(
                f"{heading}: {len(pipelines)}",
                tuple(
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
    """A round number that divides a width into two to five parts.

    Examples
    --------
    >>> _step(0.25), _step(0.4), _step(320.0)
    (0.1, 0.1, 100.0)
    """
    if not (math.isfinite(width) and width > 0):
        return 0.1
    power = 10.0 ** math.floor(math.log10(width))
    return float(
        f"{next(part * power for part in (1, 0.5, 0.2) if width / (part * power) >= 2):.6g}"
    )


def _column(title: str, metric: Metric, scale: Scale, rows: pd.DataFrame) -> HeatColumn:
    best = rows.loc[rows["standing"] == "best", "mean"]
    ends = (Tick("0", f"{scale.left:g}"), Tick("100", f"{scale.right:g}"))
    note = "" if metric.greater_is_better else "lower is better"
    return HeatColumn(title, note, ends, scale.place(float(best.iloc[0])) if len(best) else "100")


def _row(
    pipeline: str,
    name_columns: Sequence[NameColumn],
    by_metric: Mapping[str, pd.DataFrame],
    scales: Mapping[str, Scale],
    words: tuple[object, RankedPipelines],
) -> HeatRow:
    level, ranked = words
    place = ranked.names.names.index(pipeline)
    return HeatRow(
        ranked.names.of(pipeline),
        tuple(column.values[place] for column in name_columns),
        tuple(
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
) -> HeatCell:
    mean, low, high = (float(row[key]) for key in ("mean", "ci_low", "ci_high"))
    ends = sorted((scale.share(low), scale.share(high))) if not math.isnan(low) else None
    return HeatCell(
        number(mean),
        str(row["letters"]),
        "undecided" if are_equal else _MARKS.get(str(row["standing"]), "undecided"),
        _shade(mean, means, scale),
        None
        if ends is None
        else (f"{100 * ends[0]:.2f}", scale.place(mean), f"{100 * ends[1]:.2f}"),
        f"mean {number(mean)}, {confidence(level)} {interval(low, high)}, "
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
