"""Which setting matters: the effect of each factor of a grid of pipelines, query by query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NoReturn

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
from rageval_report.errors import DataError, doubts_of, named
from rageval_report.reports.sentences import join_names
from rageval_report.scores import Metric, Scored
from rageval_report.scores.catalogue.dialects import dialect_settings

SettingValue = str | int | float | bool | None
Cell = tuple[SettingValue, ...]

_HEADLINE = (
    *("metric", "factor", "reference", "level", "n", "baseline_mean", "candidate_mean"),
    *("difference", "ci_low", "ci_high", "pvalue_adjusted"),
)
_HOW = "RAGPipelineEvaluation(name, data, config={'top_k': 5})"


@dataclass(frozen=True, eq=False, repr=False)
class MainEffects(Comparison):
    """The effect of each factor of a grid: one row per metric, factor and level."""

    def report(self, **_options: object) -> NoReturn:
        """Raises `DataError`: a page shows pipelines, not factors."""
        raise DataError(
            "a page shows pipelines: rank(...).report() or compare(...).report() of two of them"
        )


def main_effects(
    evaluations: Sequence[Scored],
    factors: str | Iterable[str] | None = None,
    *,
    metrics: str | Iterable[str] | None = None,
    test: str = "auto",
    correction: str = "holm",
    confidence_level: float = 0.95,
    seed: int = 0,
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
    test, correction, confidence_level, seed, n_resamples, clusters
        As for `rageval_report.compare`; a column of clusters is one of the first pipeline's
        details. The correction is over all rows of the table.

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
    runs = check_evaluations(list(evaluations), "main_effects(evaluations)", "evaluations")
    grid = Grid.of(runs, factors)
    plan = ComparisonPlan(confidence_level, n_resamples, seed, test)
    labels, pairings = {}, []
    for factor, (first, *others) in grid.levels.items():
        reference = grid.average({factor: first})
        for level in others:
            pairings.append(pair_runs(reference, grid.average({factor: level}), metrics))
            labels[pairings[-1].candidate.name] = factor, str(first), str(level)
    plan = replace(plan, units=resolve_units(pairings[0].baseline, clusters))
    title = f"Effects of {join_names([*grid.levels])}"
    comparison = compare_pairings(title, tuple(pairings), plan, correction=correction)
    frame = comparison.frame
    for place, column in enumerate(("factor", "reference", "level")):
        frame.insert(place, column, [labels[name][place] for name in frame["candidate"]])
    # By metric: the question is which setting matters for it.
    by_metric = pd.factorize(frame["metric"])[0].argsort(kind="stable")
    notes = (*doubts_of(runs), *unnamed_clusters(runs[0], clusters), *grid.notes())
    settings = {**comparison.settings, **clusters_setting(clusters), **dialect_settings(runs)}
    return MainEffects(
        title,
        frame.iloc[by_metric].reset_index(drop=True),
        settings,
        (*notes, *comparison.notes),
        headline=_HEADLINE,
        pairings=comparison.pairings,
        plan=comparison.plan,
    )


@dataclass(frozen=True, eq=False)
class Grid:
    """Pipelines by their settings, every combination once."""

    levels: dict[str, tuple[SettingValue, ...]]
    cells: dict[Cell, Scored]
    ids: pd.Index

    @classmethod
    def of(cls, runs: Sequence[Scored], factors: str | Iterable[str] | None = None) -> Grid:
        """The grid of these pipelines; a `DataError` if they are none."""
        configs = {run.name: _settings_of(run) for run in runs}
        names = _factors(configs, factors)
        cells: dict[Cell, Scored] = {}
        for run in runs:
            cell = tuple(configs[run.name][name] for name in names)
            if cell in cells:
                raise DataError(
                    f"{run.name!r} and {cells[cell].name!r} have the same settings: "
                    f"{_words(zip(names, cell, strict=True))}; leave one out, or name all factors: "
                    "factors=[...]"
                )
            cells[cell] = run
        values = [tuple(dict.fromkeys(column)) for column in zip(*cells, strict=True)]
        absent = [cell for cell in product(*values) if cell not in cells]
        if absent:
            missing = [_words(zip(names, cell, strict=True)) for cell in absent]
            raise DataError(
                f"evaluations must have every combination of {join_names(names)}; "
                f"{len(missing)} of {len(missing) + len(cells)} are missing: {named(missing)}. If "
                "these are not the settings that were varied, name those: factors=[...]"
            )
        ids = runs[0].scores.index
        for run in runs[1:]:
            ids = ids.intersection(run.scores.index, sort=False)
        if not len(ids):
            raise DataError(
                "evaluations must be on the same queries; no query id is in all of them"
            )
        return cls(dict(zip(names, values, strict=True)), cells, ids)

    def _scale(self, name: str) -> Metric:
        """A metric with the kind and the bounds that hold for all pipelines that have it."""
        runs = [run for run in self.cells.values() if name in run.metrics]
        [[metric, *_]] = on_one_scale(runs, [tuple(run.metrics[name] for run in runs)])
        return metric

    def average(self, chosen: Mapping[str, SettingValue]) -> EvaluationSubset:
        """The mean of each query over all pipelines with these settings."""
        runs = [
            run
            for cell, run in self.cells.items()
            if chosen.items() <= dict(zip(self.levels, cell, strict=True)).items()
        ]
        names = [name for name in runs[0].metrics if all(name in run.metrics for run in runs)]
        # Without skipping NaN: the mean of fewer pipelines would be one of other settings.
        total = runs[0].scores.loc[self.ids, names]
        total = total + sum(run.scores.loc[self.ids, names] for run in runs[1:])
        metrics = {}
        for name in names:
            scale = self._scale(name)
            # A mean of several 0 and 1 is a share.
            kind = "proportion" if scale.kind == "binary" and len(runs) > 1 else scale.kind
            metrics[name] = replace(runs[0].metrics[name], kind=kind, bounds=scale.bounds)
        details = runs[0].details.loc[self.ids]
        return EvaluationSubset(_words(chosen.items()), total / len(runs), details, metrics)

    def notes(self) -> Iterator[str]:
        """How many pipelines there are, and the queries that not all of them have."""
        shape = " x ".join(f"{len(values)} of {name}" for name, values in self.levels.items())
        yield f"{len(self.cells)} pipelines: {shape}, every combination once"
        if any(len(run.scores) > len(self.ids) for run in self.cells.values()):
            yield f"{len(self.ids)} queries are in all pipelines; the others are left out"


def _settings_of(run: Scored) -> dict[str, SettingValue]:
    """The settings of a pipeline that are one value each."""
    config = getattr(run, "config", None) or {}
    plain = (str, int, float, bool, type(None))
    return {str(name): value for name, value in config.items() if isinstance(value, plain)}


def _factors(
    configs: Mapping[str, Mapping[str, SettingValue]], factors: str | Iterable[str] | None
) -> list[str]:
    """The names of the factors, each with a value in every pipeline."""
    known = list(dict.fromkeys(name for config in configs.values() for name in config))
    varied = [
        name for name in known if len({repr(config.get(name)) for config in configs.values()}) > 1
    ]
    chosen = varied
    if factors is not None:
        chosen = [factors] if isinstance(factors, str) else list(factors)
    for name in chosen:
        lacking = [run for run, config in configs.items() if name not in config]
        if lacking:
            raise DataError(
                f"factors: {name!r} is not in the config of {named(lacking)}; the settings that "
                f"are: {named(known, 12) or 'none'}"
            )
        if name not in varied:
            raise DataError(f"factors: {name!r} has one value in all evaluations; it has no effect")
    if not chosen:
        raise DataError(
            f"evaluations must differ in a setting of their config, such as {_HOW}; theirs: "
            f"{named(known) or 'none'}"
        )
    return chosen


def _words(settings: Iterable[tuple[str, SettingValue]]) -> str:
    """Settings as text: top_k=5, reranker=on."""
    return ", ".join(f"{name}={value}" for name, value in settings)
