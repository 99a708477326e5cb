"""Which setting of ranked scans matters: averages of their scores, query by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rageval_report.analysis.comparing.comparison import comparison_of_rows
from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonPlan,
    PairedMetric,
    compare_together,
)
from rageval_report.analysis.main_effects import (
    LevelPair,
    MainEffects,
    SettingsGrid,
    averaged_metric,
    effects_of_comparison,
)
from rageval_report.errors import DataError
from rageval_report.evaluation.scanning.pair_states import (
    MetricPairState,
    does_not_apply,
    logarithms_of,
)
from rageval_report.evaluation.scanning.part_states import PartEvaluation
from rageval_report.names.short_names import ShortNames
from rageval_report.reports.views.effects import (
    EffectSettings,
    configured_runs,
    factors_of,
    settings_of_effects,
)
from rageval_report.scale.aligned_rows import AlignedRows
from rageval_report.scale.mergeable import StateByName
from rageval_report.scores import Metric, Scored
from rageval_report.scores.catalogue.dialects import dialect_settings
from rageval_report.stats.states.pair_state import PairState
from rageval_report.types import BoolArray, FloatArray

PipelinePlaces = tuple[int, ...]


@dataclass(frozen=True)
class LevelAverage:
    """One side of an effect: the average of all pipelines with one level."""

    name: str


@dataclass(frozen=True, eq=False)
class ScannedEffect:
    """A level of a setting beside its first level; a `PairingLike`.

    Parameters
    ----------
    pair : LevelPair
        The setting and the levels.
    places : (tuple of int, tuple of int)
        The places of the tables with the first level, and with the other one.
    metrics : list of (Metric, Metric)
        The metrics as either average has them.
    """

    pair: LevelPair
    places: tuple[PipelinePlaces, PipelinePlaces]
    metrics: list[tuple[Metric, Metric]]

    @property
    def baseline(self) -> LevelAverage:
        """The average of the first level."""
        return LevelAverage(self.pair.names[0])

    @property
    def candidate(self) -> LevelAverage:
        """The average of the other level."""
        return LevelAverage(self.pair.names[1])

    def notes(self) -> tuple[str, ...]:
        """None: both averages are over the queries that all tables have."""
        return ()


@dataclass(frozen=True)
class EffectStates:
    """Makes the state of each effect of settings and metric of several tables.

    Parameters
    ----------
    metrics : dict of str to tuple of Metric
        Each metric as each table knows it.
    effects : dict of str to (tuple of int, tuple of int)
        The places of the tables that are averaged on either side, by the name of the effect.
    sides : tuple of PartEvaluation
        What makes evaluations of rows, for the states of scores.
    """

    metrics: Mapping[str, tuple[Metric, ...]]
    effects: Mapping[str, tuple[PipelinePlaces, PipelinePlaces]]
    sides: tuple[PartEvaluation, ...]

    def __call__(self, rows: AlignedRows) -> StateByName:
        """The states of some rows, by effect and metric."""
        return StateByName(
            {
                (effect, name): state
                for name, known in self.metrics.items()
                for effect, state in self._states_of(rows, known)
            }
        )

    def _states_of(
        self, rows: AlignedRows, known: Sequence[Metric]
    ) -> list[tuple[str, MetricPairState]]:
        """The state of each effect on one metric."""
        scores = [part.scores[own.name] for part, own in zip(rows.common, known, strict=True)]
        absent = [
            does_not_apply(side, part, own.name)
            for side, part, own in zip(self.sides, rows.common, known, strict=True)
        ]
        return [
            (effect, _state_of(scores, absent, places, known[0]))
            for effect, places in self.effects.items()
        ]


def _state_of(
    scores: Sequence[FloatArray],
    absent: Sequence[BoolArray | None],
    places: tuple[PipelinePlaces, PipelinePlaces],
    metric: Metric,
) -> MetricPairState:
    """The state of the averages of some tables beside those of others."""
    before, after = (_average([scores[place] for place in side]) for side in places)
    # An average is missing unless the metric applies in none of its tables.
    concerned = [absent[place] for side in places for place in side]
    n_absent = 0
    if all(each is not None for each in concerned):
        applies = ~np.all(np.array(concerned), axis=0)
        n_absent = int((~applies).sum())
        before, after = before[applies], after[applies]
    is_spent = metric.group == "performance"
    return MetricPairState(
        PairState.of(before, after),
        n_absent,
        logarithms=PairState.of(*logarithms_of(before, after)) if is_spent else None,
    )


def _average(columns: Sequence[FloatArray]) -> FloatArray:
    """The mean of each query; NaN if a table did not score it, as in memory."""
    total = columns[0]
    for column in columns[1:]:
        total = total + column
    mean: FloatArray = total / len(columns)
    return mean


@dataclass(frozen=True, eq=False)
class EffectPlan:
    """The effects of the settings of some tables, not yet read.

    Parameters
    ----------
    grid : SettingsGrid
        The tables by their settings.
    effects : list of ScannedEffect
        What is compared.
    settings : EffectSettings
        How it is tested.
    """

    grid: SettingsGrid
    effects: list[ScannedEffect]
    settings: EffectSettings

    @classmethod
    def of(
        cls,
        heads: Sequence[Scored],
        order: Sequence[int],
        names: ShortNames,
        metrics: Mapping[str, tuple[Metric, ...]],
        settings: Mapping[str, object],
    ) -> EffectPlan | None:
        """What is compared; None if not every combination of settings is there.

        Parameters
        ----------
        heads : sequence of Scored
            The first rows of each table.
        order : sequence of int
            The places of the tables in the order of the page, which decides the first levels.
        names : ShortNames
            The short names of the pipelines, whose columns are settings.
        metrics : mapping of str to tuple of Metric
            The metrics that are ranked, as each table knows them.
        settings : mapping of str to object
            Those of the ranking.
        """
        try:
            runs = configured_runs([heads[place] for place in order], names)
            grid = SettingsGrid.of_settings(runs, factors_of(names))
        except DataError:
            return None
        listed = [head.name for head in heads]
        effects = []
        for pair in grid.level_pairs():
            before, after = (
                tuple(listed.index(run.name) for run in grid.select(chosen))
                for chosen in pair.chosen
            )
            shared = [
                (_average_of(known, before), _average_of(known, after))
                for known in metrics.values()
            ]
            effects.append(ScannedEffect(pair, (before, after), shared))
        return cls(grid, effects, settings_of_effects(settings))

    @property
    def first(self) -> str:
        """The name of the first pipeline of the grid."""
        return next(iter(self.grid.cells.values())).name

    @property
    def places(self) -> dict[str, tuple[PipelinePlaces, PipelinePlaces]]:
        """The places of the tables on either side of each effect, by its name."""
        return {effect.candidate.name: effect.places for effect in self.effects}

    def result(
        self,
        states: Mapping[tuple[str, str], MetricPairState],
        n_common: int,
        sizes: Sequence[int],
        notes: Sequence[str],
        engine: str,
    ) -> MainEffects:
        """The effects, tested.

        Parameters
        ----------
        states : mapping of (str, str) to MetricPairState
            The state of each effect and metric.
        n_common : int
            The number of queries that all tables have.
        sizes : sequence of int
            The number of queries of each table.
        notes : sequence of str
            What goes before all other notes.
        engine : str
            What read the tables.
        """
        plan = ComparisonPlan(
            confidence_level=self.settings["confidence_level"],
            n_resamples=self.settings["n_resamples"],
            seed=self.settings["seed"],
        )
        paired = [
            PairedMetric(effect.pair.names, ours, states[effect.candidate.name, ours.name].known())
            for effect in self.effects
            for ours, _ in effect.metrics
        ]
        comparison = comparison_of_rows(
            self.grid.title,
            self.effects,
            compare_together(paired, plan),
            plan,
            correction=self.settings["correction"],
            n_queries=n_common,
        )
        return effects_of_comparison(
            comparison,
            self.grid,
            {**dialect_settings(list(self.grid.cells.values())), "engine": engine},
            (*notes, *self.grid.notes_on_sizes(n_common, sizes)),
        )


def _average_of(known: Sequence[Metric], places: PipelinePlaces) -> Metric:
    # Named by the ranking, so that it counts in the family of the correction.
    return replace(averaged_metric(known[places[0]], len(places)), in_family=True)
