"""plot: the subject that a kind of plot draws, and its picture in a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, cast

import click

from rageval_report.analysis.arguments import is_scan
from rageval_report.analysis.calibrate import calibrate
from rageval_report.analysis.compare import Comparison, compare
from rageval_report.analysis.rank import Ranking, rank
from rageval_report.cli.notes import note
from rageval_report.cli.output import check_files, write_picture
from rageval_report.cli.plot import DrawArguments
from rageval_report.cli.scans import ScanLoading
from rageval_report.cli.sources import Loading
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.plots import PLOTS, save_plot
from rageval_report.plots.kinds import Plot, PlotSubject
from rageval_report.run_history import history, monitor

Evaluations: TypeAlias = list[RAGPipelineEvaluation]
Drawing: TypeAlias = tuple[object, dict[str, object]]  # the subject, and keywords of the plot
Drawer: TypeAlias = Callable[[Evaluations, DrawArguments], Drawing]


def plot(options: DrawArguments) -> None:
    """Load the pipelines, make the subject of the plot, and draw it."""
    check_files(options.path, force=options.force)
    entry = PLOTS[options.kind]
    options_of_plot = {
        "threshold": options.threshold,
        "percentiles": options.percentiles,
        "scale": options.scale,
        "candidate": options.candidate,
    }
    settings: dict[str, object] = {
        name: value for name, value in options_of_plot.items() if value is not None
    }
    _check_settings(entry, [*settings, *(["by"] if options.by is not None else [])])
    settings |= entry.metric_options(options.metrics)
    evaluations = _open(entry, options)
    subject, more = _DRAWINGS[entry.subject](evaluations, options)
    keywords: dict[str, Any] = {**settings, **more}
    if is_scan(subject):
        # It draws itself, from the counts of its scores.
        own_kind: Any = type(subject)
        entry = replace(entry, draw=partial(own_kind.plot, kind=entry))
    write_picture(options.path, lambda path: save_plot(subject, entry, path, **keywords))
    note(f"wrote {options.path}")


def _open(entry: Plot, options: DrawArguments) -> Evaluations:
    """The evaluations, or scans where the files are read part by part and the plot allows it."""
    loading = Loading.of(options)
    opening = ScanLoading(options, loading)
    if entry.name not in _OF_SCANS:
        opening.check_whole(options.files, f"the plot {entry.name!r}")
    elif scans := opening.open(options.files, options.metrics):
        return cast("Evaluations", scans)  # `_OF_SCANS` names the plots whose drawers take them
    load_files = loading.load_runs if entry.subject in _OF_RUNS else loading.load_every
    return load_files(options.files, options.metrics)


def _check_settings(entry: Plot, names: list[str]) -> None:
    for name in names:
        if name not in entry.parameters:
            raise click.UsageError(f"--{name} does not belong to the plot {entry.name!r}.")


# -- the subjects


def _single(evaluations: Evaluations, options: DrawArguments) -> Drawing:
    if len(evaluations) > 1:
        raise click.UsageError(
            f"The plot {options.kind!r} draws one pipeline; got {len(evaluations)} pipelines."
        )
    return evaluations[0], {}


def _compare(evaluations: Evaluations, options: DrawArguments) -> Comparison:
    if len(evaluations) < 2:
        raise click.UsageError(f"The plot {options.kind!r} draws a comparison: name a second file.")
    return compare(*evaluations, metrics=options.metrics or None)


def _comparison(evaluations: Evaluations, options: DrawArguments) -> Drawing:
    return _compare(evaluations, options), {}


def _slices(evaluations: Evaluations, options: DrawArguments) -> Drawing:
    if options.by is None:
        raise click.UsageError(f"The plot {options.kind!r} needs the groups: --by COLUMN.")
    if len(evaluations) == 1:
        return evaluations[0], {"by": options.by}
    return _compare(evaluations, options).slices(options.by), {}


def _trends(evaluations: Evaluations, _options: DrawArguments) -> Drawing:
    return history(evaluations), {}


def _monitoring(evaluations: Evaluations, options: DrawArguments) -> Drawing:
    return monitor(evaluations, by=options.by), {}


def _rank(evaluations: Evaluations, options: DrawArguments) -> Ranking:
    if len(evaluations) < 2:
        raise click.UsageError(f"The plot {options.kind!r} draws a ranking: name a second file.")
    return rank(*evaluations)


def _ranking(evaluations: Evaluations, options: DrawArguments) -> Drawing:
    return _rank(evaluations, options), {}


def _front(evaluations: Evaluations, options: DrawArguments) -> Drawing:
    ranking = _rank(evaluations, options)
    return ranking.pareto(options.metrics) if options.metrics else ranking, {}


def _calibration(evaluations: Evaluations, options: DrawArguments) -> Drawing:
    if len(evaluations) != 2 or not options.metrics:
        raise click.UsageError(
            f"The plot {options.kind!r} draws a judge against people: JUDGED PEOPLE --metric NAME; "
            "if people's labels have another name, use calibrate --plot."
        )
    judged, people = evaluations
    return calibrate(judged, options.metrics[0], people), {}


# Their FILEs are runs, which may be of one pipeline and have one name.
_OF_RUNS: frozenset[PlotSubject] = frozenset({"history", "monitoring"})

# What scans draw without every score in memory.
_OF_SCANS = frozenset({"box", "distribution", "forest", "slices"})
_OF_SCANS |= {"heat", "leaderboard", "strip"}

_DRAWINGS: dict[PlotSubject, Drawer] = {
    "calibration": _calibration,
    "comparison": _comparison,
    "evaluation": _single,
    "front": _front,
    "history": _trends,
    "monitoring": _monitoring,
    "ranking": _ranking,
    "slices": _slices,
}
