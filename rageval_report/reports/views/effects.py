"""Which setting matters: the means of a grid of pipelines, and the effect of each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypedDict

import pandas as pd

from rageval_report.analysis.arguments import EvaluationSubset
from rageval_report.analysis.effects import MainEffects, main_effects
from rageval_report.analysis.verdicts import verdicts_of
from rageval_report.errors import DataError
from rageval_report.render.cell_text import number
from rageval_report.reports.ranking_sentences import RankedPipelines
from rageval_report.reports.sentences import correction_text
from rageval_report.reports.views.leaderboard import STEPS
from rageval_report.reports.views.slice_matrix import MatrixCell, MatrixRow
from rageval_report.reports.views.strip import hover_text
from rageval_report.scores import Scored
from rageval_report.scores.names import NameColumn, ShortNames


@dataclass(frozen=True)
class GridCell:
    """The mean of one pipeline, its letters and its shade."""

    text: str
    letters: str
    shade: int


@dataclass(frozen=True)
class MetricGrid:
    """The means of one metric by two settings."""

    metric: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[GridCell | None, ...]], ...]


@dataclass(frozen=True)
class Effects:
    """The effect of each setting, averaged over all others.

    Parameters
    ----------
    sentence : str
        What is compared, and what the colours mean.
    metrics : tuple of str
        The headings of the columns.
    rows : tuple of MatrixRow
        One per level of a setting, beside its first level.
    grids : tuple of MetricGrid
        The means of each metric; only if there are two settings.
    factors : tuple of str
        The settings.
    """

    template: ClassVar[str] = "effects.html.jinja"

    sentence: str
    metrics: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    grids: tuple[MetricGrid, ...]
    factors: tuple[str, ...]

    @classmethod
    def of(cls, effects: MainEffects, ranked: RankedPipelines) -> Effects:
        """The effects of a grid of pipelines.

        Parameters
        ----------
        effects : MainEffects
            The effects, tested.
        ranked : RankedPipelines
            The pipelines with their means.
        """
        level = float(str(effects.settings["confidence_level"]))
        correction = str(effects.settings["correction"])
        known = verdicts_of(effects.frame, alpha=1.0 - level, labels=ranked.labels)
        rows: dict[str, list[MatrixCell | None]] = {}
        n: dict[str, int] = {}
        labels = zip(*(effects.frame[key] for key in ("factor", "reference", "level")), strict=True)
        for verdict, (factor, first, other) in zip(known, labels, strict=True):
            heading = f"{factor}: {first} → {other}"
            cell = MatrixCell(
                _signed(verdict.difference),
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
    """The effects of the settings in the pipelines' names or configurations; None without a grid.

    Parameters
    ----------
    runs : sequence of Scored
        The pipelines.
    names : ShortNames
        Their short names, whose columns are settings such as ``top_k=3``.
    settings : mapping of str to object
        Those of the ranking.
    metrics : sequence of str
        The metrics of the ranking.
    """
    try:
        return main_effects(
            configured_runs(runs, names),
            factors_of(names),
            metrics=metrics,
            **settings_of_effects(settings),
        )
    except DataError:
        # Not every combination of settings is there, or no setting is known.
        return None


class EffectSettings(TypedDict):
    """How the effects of settings are tested."""

    correction: str
    confidence_level: float
    seed: int
    n_resamples: int


def settings_of_effects(settings: Mapping[str, object]) -> EffectSettings:
    """How the effects are tested, by the settings of the ranking."""
    return {
        "correction": _stepwise(str(settings["correction"])),
        "confidence_level": float(str(settings["confidence_level"])),
        "seed": int(str(settings["seed"])),
        "n_resamples": int(str(settings["n_resamples"])),
    }


def factors_of(names: ShortNames) -> list[str] | None:
    """The settings in the names of the pipelines; None if there are none."""
    return [column.heading for column in _varied(names)] if names.has_settings else None


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
        replace(
            own,
            config={column.heading: column.values[places[own.name]] for column in varied},
        )
        for own in subsets
    ]
    # The first level of a setting is the one that others are compared with.
    levels = {column.heading: _in_order(column.values) for column in varied}
    return sorted(
        configured,
        key=lambda own: [levels[name].index(value) for name, value in own.config.items()],
    )


def _stepwise(correction: str) -> str:
    return "holm" if correction == "westfall-young" else correction


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


def _grids(ranked: RankedPipelines) -> tuple[MetricGrid, ...]:
    """The means by two settings, one grid per metric; none if the names have no two settings."""
    varied = _varied(ranked.names)
    if len(varied) != 2 or not ranked.names.has_settings:
        return ()
    first, second = varied
    return tuple(_grid(ranked, name, first, second) for name in ranked.metrics)


def _grid(
    ranked: RankedPipelines, metric: str, first: NameColumn, second: NameColumn
) -> MetricGrid:
    rows = ranked.frame[ranked.frame["metric"] == metric].set_index("pipeline")
    places = {
        pair: name
        for name, pair in zip(
            ranked.names.names, zip(first.values, second.values, strict=True), strict=True
        )
    }
    columns = _in_order(second.values)
    return MetricGrid(
        ranked.label(metric),
        columns,
        tuple(
            (
                level,
                tuple(_grid_cell(rows, places.get((level, other))) for other in columns),
            )
            for level in _in_order(first.values)
        ),
    )


def _grid_cell(rows: pd.DataFrame, pipeline: str | None) -> GridCell | None:
    if pipeline is None or pipeline not in rows.index:
        return None
    means = rows["mean"].astype(float)
    mean = float(means[pipeline])
    share = (mean - means.min()) / ((means.max() - means.min()) or 1.0)
    if not bool(rows["greater_is_better"].iloc[0]):
        share = 1.0 - share
    shade = min(int(share * STEPS), STEPS - 1)
    return GridCell(number(mean), str(rows["letters"][pipeline]), shade)


def _in_order(values: Sequence[str]) -> tuple[str, ...]:
    """Distinct values, numbers by their size."""
    distinct = list(dict.fromkeys(values))
    try:
        return tuple(sorted(distinct, key=float))
    except ValueError:
        return tuple(distinct)
