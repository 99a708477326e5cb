"""Which setting matters: the effect of each factor of a grid of pipelines, query by query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from typing import NoReturn

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import (
    Clusters,
    EvaluationSubset,
    clusters_setting,
    resolve_units,
    unnamed_clusters,
)
from rageval_report.analysis.compare import Comparison, compare_pairings
from rageval_report.analysis.paired_metric import ComparisonPlan
from rageval_report.analysis.pairing import check_evaluations, on_one_scale, pair_runs
from rageval_report.errors import DataError, doubts_of, explain_keywords, named
from rageval_report.scores import Metric, Scored
from rageval_report.scores.catalogue.dialects import dialect_settings
from rageval_report.scores.states import (
    MISSING,
    NOT_APPLICABLE,
    STATE,
    not_applicable,
    state_column_kind,
)
from rageval_report.stats.base import check_level, check_resamples, check_seed

SettingValue = str | int | float | bool | None
Cell = tuple[SettingValue, ...]

_CALL = "main_effects(evaluations)"
_HEADLINE = (
    *("metric", "factor", "reference", "level", "n", "baseline_mean", "candidate_mean"),
    *("difference", "ci_low", "ci_high", "pvalue_adjusted"),
)


@dataclass(frozen=True, eq=False, repr=False)
class MainEffects(Comparison):
    """The effect of each factor of a grid: one row per metric, factor and level.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by, pairings, plan
        As in `rageval_report.analysis.compare.Comparison`. A baseline is the first
        level of a factor, such as "top_k=5", with the means over all other settings.
    grid : Grid
        The pipelines by their settings.

    Notes
    -----
    Of each query, the scores of all pipelines with one level are averaged and compared with the
    average of all pipelines with the first level. Queries are the blocks: a query that is hard for
    every pipeline adds nothing to the noise. A query that one pipeline did not score is left out.
    """

    grid: Grid | None = None

    def interactions(self, metrics: str | Iterable[str] | None = None) -> Comparison:
        """Whether the effect of a level depends on the level of another factor.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The metrics; all that were compared if omitted.

        Returns
        -------
        Comparison
            One row per metric and pair of levels. ``baseline_mean`` is the effect of a level at the
            first level of the other factor, ``candidate_mean`` the effect at another level of it,
            ``difference`` the interaction.

        Raises
        ------
        DataError
            If there is only one factor.
        """
        grid = self._grid
        if len(grid.levels) < 2:
            raise DataError(
                f"interactions need two factors; the only one is {next(iter(grid.levels))!r}"
            )
        pairings = [
            pair_runs(before, after, metrics)
            for pair in combinations(grid.levels, 2)
            for before, after in grid.effect_pairs(*pair)
        ]
        return compare_pairings(
            f"Interactions of {_listed(grid.levels)}",
            tuple(pairings),
            replace(self.plan, margin=None),
            correction=str(self.settings["correction"]),
        )

    def report(self, **_options: object) -> NoReturn:
        """A page shows pipelines, not factors.

        Raises
        ------
        DataError
            Always; it names what has a page.
        """
        raise DataError(
            "a page shows pipelines: rank(...).report() or compare(...).report() of two of them"
        )

    @property
    def _grid(self) -> Grid:
        if self.grid is None:
            raise DataError("these effects have no grid; create them with main_effects()")
        return self.grid


@explain_keywords
def main_effects(
    evaluations: Sequence[Scored],
    factors: str | Iterable[str] | None = None,
    *,
    metrics: str | Iterable[str] | None = None,
    test: str = "auto",
    correction: str = "holm",
    confidence_level: float = 0.95,
    seed: int = 0,
    interval: str = "auto",
    n_resamples: int = 9999,
    clusters: Clusters | None = None,
) -> MainEffects:
    """The effect of each setting in a grid of pipelines that has every combination once.

    Parameters
    ----------
    evaluations : sequence of RAGPipelineEvaluation
        One per combination of settings, which are in their ``config``; all on the same queries.
    factors : str or iterable of str, optional
        Names in ``config``; if omitted, all whose values differ among the evaluations.
    metrics : str or iterable of str, optional
        The metrics; all common ones if omitted.
    test, correction, confidence_level, seed, interval, n_resamples, clusters
        As for `rageval_report.compare`; a column of clusters is one of the first pipeline's
        details. The correction is over all rows of the table.

    Returns
    -------
    MainEffects
        The columns of a comparison; ``factor``, ``reference`` and ``level`` are the first ones.

    Raises
    ------
    DataError
        If no setting differs, or a combination of settings is missing or repeated.

    References
    ----------
    .. [1] Box, Hunter and Hunter (2005). Statistics for experimenters, chapters 4 and 5.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> def cell(k, gain):
    ...     data = {"query_id": list("abcdef"), "recall": [gain + n / 10 for n in range(6)]}
    ...     return RAGPipelineEvaluation(f"k{k}-{gain}", data, config={"k": k, "gain": gain})
    >>> effects = main_effects([cell(k, gain) for k in (5, 10) for gain in (0.0, 0.25)])
    >>> effects.frame[["factor", "reference", "level", "difference"]].to_dict("records")
    [{'factor': 'k', 'reference': '5', 'level': '10', 'difference': 0.0}, \
{'factor': 'gain', 'reference': '0.0', 'level': '0.25', 'difference': 0.25}]
    """
    runs = list(evaluations)
    check_evaluations(runs, _CALL)
    grid = Grid.of(runs, factors)
    plan = ComparisonPlan(
        test=test,
        interval=interval,
        confidence_level=check_level(confidence_level),
        n_resamples=check_resamples(n_resamples),
        seed=check_seed(seed),
    )
    references = {
        factor: grid.average({factor: first}) for factor, (first, *_) in grid.levels.items()
    }
    pairings = [
        pair_runs(references[pair.factor], grid.average(pair.chosen[1]), metrics)
        for pair in grid.level_pairs()
    ]
    plan = replace(plan, units=resolve_units(pairings[0].baseline, clusters))
    comparison = compare_pairings(grid.title, tuple(pairings), plan, correction=correction)
    return effects_of_comparison(
        comparison,
        grid,
        {**clusters_setting(clusters), **dialect_settings(runs)},
        (*doubts_of(runs), *unnamed_clusters(runs[0], clusters), *grid.notes()),
    )


def effects_of_comparison(
    comparison: Comparison,
    grid: SettingsGrid,
    settings: Mapping[str, object],
    notes: Iterable[str],
) -> MainEffects:
    """The effects that a comparison of averages shows, metric by metric.

    Parameters
    ----------
    comparison : Comparison
        Each pair of levels of the grid, with the averages over all other settings.
    grid : SettingsGrid
        The pipelines by their settings.
    settings : mapping of str to object
        What else belongs into the signature.
    notes : iterable of str
        What goes before the notes of the comparison.
    """
    labels = {pair.names[1]: pair for pair in grid.level_pairs()}
    # By metric: the question is which setting matters for it.
    order = {name: place for place, name in enumerate(dict.fromkeys(comparison.frame["metric"]))}
    frame = comparison.frame.sort_values(
        "metric", key=lambda names: names.map(order), kind="stable"
    )
    frame = frame.reset_index(drop=True)
    for place, column in enumerate(("factor", "reference", "level")):
        values = [str(getattr(labels[name], column)) for name in frame["candidate"]]
        frame.insert(place, column, values)
    return MainEffects(
        comparison.title,
        frame,
        {**comparison.settings, **settings},
        (*notes, *comparison.notes),
        headline=_HEADLINE,
        pairings=comparison.pairings,
        plan=comparison.plan,
        grid=grid if isinstance(grid, Grid) else None,
    )


@dataclass(frozen=True)
class LevelPair:
    """A level of a factor beside its first level.

    Parameters
    ----------
    factor : str
        The setting.
    reference, level : str, int, float, bool or None
        The first value of the setting, and another one.
    """

    factor: str
    reference: SettingValue
    level: SettingValue

    @property
    def chosen(self) -> tuple[dict[str, SettingValue], dict[str, SettingValue]]:
        """The setting of the pipelines whose average is the baseline, and of the others."""
        return {self.factor: self.reference}, {self.factor: self.level}

    @property
    def names(self) -> tuple[str, str]:
        """The names of both averages, such as "top_k=5"."""
        first, second = (_words(chosen, tuple(chosen.values())) for chosen in self.chosen)
        return first, second


@dataclass(frozen=True, eq=False)
class SettingsGrid:
    """Pipelines by their settings, every combination once.

    Parameters
    ----------
    levels : dict of str to tuple
        The values of each factor, in the order of the pipelines.
    cells : dict of tuple to Scored
        Each pipeline under its settings, in the order of `levels`.
    """

    levels: dict[str, tuple[SettingValue, ...]]
    cells: dict[Cell, Scored]

    @classmethod
    def of_settings(
        cls, runs: Sequence[Scored], factors: str | Iterable[str] | None = None
    ) -> SettingsGrid:
        """The grid of these pipelines, whatever their queries are.

        Raises
        ------
        DataError
            If no setting differs, or a combination of settings is missing or repeated.
        """
        configs = {run.name: _settings_of(run) for run in runs}
        names = _factors(configs, factors)
        levels = {
            name: tuple(dict.fromkeys(config[name] for config in configs.values()))
            for name in names
        }
        cells: dict[Cell, Scored] = {}
        for run in runs:
            cell = tuple(configs[run.name][name] for name in names)
            if cell in cells:
                raise DataError(
                    f"{run.name!r} and {cells[cell].name!r} have the same settings: "
                    f"{_words(names, cell)}; leave one out, or name all factors: factors=[...]"
                )
            cells[cell] = run
        missing = [_words(names, cell) for cell in product(*levels.values()) if cell not in cells]
        if missing:
            raise DataError(
                f"evaluations must have every combination of {_listed(names)}; "
                f"{len(missing)} of {len(missing) + len(cells)} are missing: {named(missing)}. If "
                "these are not the settings that were varied, name those: factors=[...]"
            )
        return SettingsGrid(levels, cells)

    @property
    def title(self) -> str:
        """The title of the table of effects."""
        return f"Effects of {_listed(self.levels)}"

    def level_pairs(self) -> Iterator[LevelPair]:
        """Each level of each factor beside its first level."""
        for factor, (first, *others) in self.levels.items():
            for level in others:
                yield LevelPair(factor, first, level)

    def select(self, chosen: Mapping[str, SettingValue]) -> list[Scored]:
        """The pipelines with these settings."""
        places = {name: place for place, name in enumerate(self.levels)}
        return [
            run
            for cell, run in self.cells.items()
            if all(cell[places[name]] == level for name, level in chosen.items())
        ]

    def notes_on_sizes(self, n_common: int, sizes: Iterable[int]) -> Iterator[str]:
        """How many pipelines there are, and the queries that not all of them have.

        Parameters
        ----------
        n_common : int
            The number of queries that all pipelines have.
        sizes : iterable of int
            The number of queries of each.
        """
        shape = " x ".join(f"{len(values)} of {name}" for name, values in self.levels.items())
        yield f"{len(self.cells)} pipelines: {shape}, every combination once"
        lost = {size - n_common for size in sizes} - {0}
        if lost:
            yield (
                f"{n_common} queries are in all pipelines; up to {max(lost)} of a pipeline "
                "are left out"
            )


@dataclass(frozen=True, eq=False)
class Grid(SettingsGrid):
    """Pipelines in memory by their settings, every combination once.

    Parameters
    ----------
    levels, cells
        As in `SettingsGrid`.
    ids : Index
        The queries that all pipelines have.
    """

    ids: pd.Index

    @classmethod
    def of(cls, runs: Sequence[Scored], factors: str | Iterable[str] | None = None) -> Grid:
        """The grid of these pipelines.

        Raises
        ------
        DataError
            If no setting differs, a combination of settings is missing or repeated, or no query
            is in all of them.
        """
        settings = cls.of_settings(runs, factors)
        ids = runs[0].scores.index
        for run in runs[1:]:
            ids = ids.intersection(run.scores.index, sort=False)
        if not len(ids):
            raise DataError(
                "evaluations must be on the same queries; no query id is in all of them"
            )
        return cls(settings.levels, settings.cells, ids)

    @cached_property
    def scales(self) -> dict[str, Metric]:
        """Each metric with the kind and the bounds that hold for all pipelines that have it.

        Raises
        ------
        DataError
            If two pipelines disagree on the direction or the scale of a metric.
        """
        cells = self.cells.values()
        scales = {}
        for name in dict.fromkeys(name for run in cells for name in run.metrics):
            runs = [run for run in cells if name in run.metrics]
            [[scale, *_]] = on_one_scale(runs, [tuple(run.metrics[name] for run in runs)])
            scales[name] = scale
        return scales

    def _metric_of(self, run: Scored, name: str) -> Metric:
        scale = self.scales[name]
        return replace(run.metrics[name], kind=scale.kind, bounds=scale.bounds)

    def average(self, chosen: Mapping[str, SettingValue]) -> EvaluationSubset:
        """The mean of each query over all pipelines with these settings."""
        runs = self.select(chosen)
        names = [name for name in runs[0].metrics if all(name in run.metrics for run in runs)]
        # skipna: the mean of fewer pipelines would be one of other settings.
        frames = [run.scores.loc[self.ids, names] for run in runs]
        total = frames[0]
        for frame in frames[1:]:
            total = total + frame
        metrics = {
            name: averaged_metric(self._metric_of(runs[0], name), len(runs)) for name in names
        }
        return EvaluationSubset(
            _words(chosen, tuple(chosen.values())),
            total / len(runs),
            self._details(runs, names),
            metrics,
        )

    def effect_pairs(
        self, first: str, second: str
    ) -> Iterator[tuple[EvaluationSubset, EvaluationSubset]]:
        """The effect of each level of the second factor, at two levels of the first."""
        (reference, *others), (start, *ends) = self.levels[first], self.levels[second]
        for other, end in product(others, ends):
            yield (
                self._effect({first: reference}, second, start, end),
                self._effect({first: other}, second, start, end),
            )

    def notes(self) -> Iterator[str]:
        """How many pipelines there are, and the queries that not all of them have."""
        return self.notes_on_sizes(len(self.ids), (len(run.scores) for run in self.cells.values()))

    def _details(self, runs: Sequence[Scored], names: Sequence[str]) -> pd.DataFrame:
        """The details of the first run, with the states of averages: what applies to no run."""
        first = runs[0].details.loc[self.ids]
        own = [name for name in first if state_column_kind(str(name), names) is None]
        details = first[own]
        for name in names:
            applies = np.zeros(len(self.ids), dtype=bool)
            for run in runs:
                at_ids = run.scores.loc[self.ids, name], run.details.loc[self.ids]
                applies |= ~not_applicable(*at_ids, name)
            if not applies.all():
                states = np.where(applies, MISSING, NOT_APPLICABLE)
                details = details.assign(**{f"{name}{STATE}": states})
        return details

    def _effect(
        self, at: Mapping[str, SettingValue], factor: str, start: SettingValue, end: SettingValue
    ) -> EvaluationSubset:
        before, after = (self.average({**at, factor: level}) for level in (start, end))
        place = _words(at, tuple(at.values()))
        metrics = {name: _of_differences(metric) for name, metric in after.metrics.items()}
        return EvaluationSubset(
            f"{factor}={end} at {place}", after.scores - before.scores, after.details, metrics
        )


def _settings_of(run: Scored) -> dict[str, SettingValue]:
    """The settings of a pipeline that are one value each."""
    config = getattr(run, "config", None) or {}
    return {
        str(name): value
        for name, value in config.items()
        if value is None or isinstance(value, str | int | float | bool)
    }


def _factors(
    configs: Mapping[str, Mapping[str, SettingValue]], factors: str | Iterable[str] | None
) -> list[str]:
    """The names of the factors, each with a value in every pipeline."""
    known = list(dict.fromkeys(name for config in configs.values() for name in config))
    if factors is None:
        chosen = [name for name in known if _n_values(name, configs) > 1]
    else:
        chosen = [factors] if isinstance(factors, str) else list(factors)
    for name in chosen:
        lacking = [run for run, config in configs.items() if name not in config]
        if lacking:
            raise DataError(
                f"factors: {name!r} is not in the config of {named(lacking)}; the settings that "
                f"are: {named(known, 12) or 'none'}"
            )
        if _n_values(name, configs) < 2:
            raise DataError(f"factors: {name!r} has one value in all evaluations; it has no effect")
    if not chosen:
        raise DataError(
            "evaluations must differ in a setting of their config, such as "
            f"RAGPipelineEvaluation(name, data, config={{'top_k': 5}}); theirs: {named(known)}"
            if known
            else "evaluations must have their settings in config, such as "
            "RAGPipelineEvaluation(name, data, config={'top_k': 5}); they have none"
        )
    return chosen


def _n_values(name: str, configs: Mapping[str, Mapping[str, SettingValue]]) -> int:
    return len({repr(config.get(name)) for config in configs.values()})


def _listed(names: Iterable[str]) -> str:
    """Names as in a sentence: top_k, reranker and chunk_size."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _words(names: Iterable[str], cell: Cell) -> str:
    """Settings as text: top_k=5, reranker=on."""
    return ", ".join(f"{name}={value}" for name, value in zip(names, cell, strict=True))


def averaged_metric(metric: Metric, n: int) -> Metric:
    """The metric of a mean over pipelines: a mean of several 0 and 1 is a share."""
    return replace(metric, kind="proportion") if metric.kind == "binary" and n > 1 else metric


def _of_differences(metric: Metric) -> Metric:
    """The metric of an effect: a difference lies within the width of the bounds on both sides."""
    if metric.bounds is None:
        return replace(metric, kind="real")
    low, high = metric.bounds
    return replace(metric, kind="real", bounds=(low - high, high - low))
