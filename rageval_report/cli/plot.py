"""plot: the subject that a kind of plot draws, and its picture in a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import click

import rageval_report as rr
from rageval_report.cli.command import command
from rageval_report.cli.options import Options
from rageval_report.cli.output import check_files, note
from rageval_report.cli.sources import Loading, check_whole, open_runs

if TYPE_CHECKING:
    from rageval_report.plots.kinds import Plot

Drawing: TypeAlias = tuple[object, dict[str, object]]  # the subject, and keywords of the plot
_SETTINGS = ("threshold", "percentiles", "scale", "candidate")


@command("plot")
def plot(options: Options) -> None:
    """Draw a picture into a file.

    The picture shows one pipeline, or candidates beside a baseline. No window is opened.
    """
    from rageval_report.analysis.arguments import is_scan
    from rageval_report.plots import PLOTS, save_plot

    check_files(options.path, force=options.force)
    entry = PLOTS[options.kind]
    settings = {n: value for n, value in options.only(*_SETTINGS).items() if value is not None}
    for name in [*settings, *(["by"] if options.by is not None else [])]:
        if name not in entry.parameters:
            raise click.UsageError(f"--{name} does not belong to the plot {entry.name!r}.")
    settings |= entry.metric_options(options.metrics)
    subject, more = _DRAWINGS[entry.subject](_open(entry, options), options)
    if is_scan(subject):  # it draws itself, from the counts of its scores
        own_kind: Any = type(subject)
        entry = replace(entry, draw=partial(own_kind.plot, kind=entry))
    save_plot(subject, entry, options.path, **{**settings, **more})
    note(f"wrote {options.path}")


def _open(entry: Plot, options: Options) -> list[Any]:
    """The evaluations, or scans where the files are read part by part and the plot allows it."""
    if entry.name in _OF_SCANS:
        return list(open_runs(options, options.files, options.metrics))
    check_whole(options, options.files, f"the plot {entry.name!r}")
    loading = Loading(options)
    read = loading.load_runs if entry.subject in _OF_RUNS else loading.load_every
    return list(read(options.files, options.metrics))


# -- the subjects


def _single(runs: list[Any], options: Options) -> Drawing:
    if len(runs) > 1:
        raise click.UsageError(
            f"The plot {options.kind!r} draws one pipeline; got {len(runs)} pipelines."
        )
    return runs[0], {}


def _several(runs: list[Any], options: Options, what: str) -> list[Any]:
    if len(runs) < 2:
        raise click.UsageError(f"The plot {options.kind!r} draws a {what}: name a second file.")
    return runs


def _comparison(runs: list[Any], options: Options) -> Drawing:
    return rr.compare(*_several(runs, options, "comparison"), **options.only("metrics")), {}


def _slices(runs: list[Any], options: Options) -> Drawing:
    if options.by is None:
        raise click.UsageError(f"The plot {options.kind!r} needs the groups: --by COLUMN.")
    if len(runs) == 1:
        return runs[0], {"by": options.by}
    return rr.compare(*runs, **options.only("metrics")).slices(options.by), {}


def _ranking(runs: list[Any], options: Options) -> Drawing:
    return rr.rank(*_several(runs, options, "ranking")), {}


def _front(runs: list[Any], options: Options) -> Drawing:
    ranking = rr.rank(*_several(runs, options, "ranking"))
    return ranking.pareto(options.metrics) if options.metrics else ranking, {}


def _calibration(runs: list[Any], options: Options) -> Drawing:
    if len(runs) != 2 or not options.metrics:
        raise click.UsageError(
            f"The plot {options.kind!r} draws a judge against people: JUDGED PEOPLE --metric NAME; "
            "if people's labels have another name, use judge calibrate --plot."
        )
    judged, people = runs
    return rr.calibrate(judged, options.metrics[0], people), {}


# Their FILEs are runs, which may be of one pipeline and have one name.
_OF_RUNS = frozenset({"history", "monitoring"})
# What scans draw without every score in memory.
_OF_SCANS = frozenset({"distribution", "forest", "slices"})
_OF_SCANS |= {"heat", "leaderboard", "strip"}

_DRAWINGS: dict[str, Callable[[list[Any], Options], Drawing]] = {
    "calibration": _calibration,
    "comparison": _comparison,
    "evaluation": _single,
    "front": _front,
    "history": lambda runs, _options: (rr.history(runs), {}),
    "monitoring": lambda runs, _options: (rr.monitor(runs), {}),
    "ranking": _ranking,
    "slices": _slices,
}
