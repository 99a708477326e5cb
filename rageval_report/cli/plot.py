"""The command that draws a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rageval_report
from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import loading_options, metric_option, quiet_option
from rageval_report.cli.output import check_free
from rageval_report.cli.rules import numbers_of, parsed
from rageval_report.cli.sources import Loading
from rageval_report.plots import PLOTS

if TYPE_CHECKING:
    from rageval_report import RAGPipelineEvaluation

Drawn = tuple[Any, dict[str, Any]]  # the subject, and what the plot is told beside it

_KINDS = ", ".join(PLOTS)
_OF_RUNS = "trends"
_FRONT = "pareto"
_CALIBRATION = "agreement"
_MOST_METRICS = {_CALIBRATION: 1, "differences": 1, "groups": 1, _FRONT: 2, "scatter": 2}


@click.command(
    epilog=examples(
        "rageval-report plot bm25.csv --kind distribution --metric faithfulness -o spread.png",
        "rageval-report plot bm25.csv hybrid.csv --kind forest -o forest.svg",
        "rageval-report plot bm25.csv hybrid.csv --kind differences --metric mrr -o change.pdf",
        "rageval-report plot bm25.csv --kind slices --by domain --metric recall@5 -o slices.png",
    )
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--kind",
    default="distribution",
    show_default=True,
    metavar="KIND",
    help=f"{_KINDS}. What compares takes a baseline and candidates.",
)
@metric_option
@click.option("--by", metavar="COLUMN", help="The groups, for slices.")
@click.option("--threshold", type=float, metavar="T", help="A line, for distribution.")
@click.option(
    "--percentiles",
    callback=parsed(numbers_of),
    metavar="P,P,...",
    help="Lines, for distribution, 0 to 100.",
)
@click.option("--scale", metavar="SCALE", help="Of a forest: own, range or baseline.")
@click.option("--candidate", metavar="NAME", help="Which candidate, for differences.")
@loading_options
@click.option(
    "-o",
    "--output",
    "path",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The picture; its suffix chooses the format: .png .svg .pdf",
)
@click.option("--force", is_flag=True, help="Replace FILE where there is one.")
@quiet_option
def plot(
    files: tuple[str, ...],
    kind: str,
    metrics: tuple[str, ...],
    by: str | None,
    loading: Loading,
    path: Path,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Draw a picture into a file.

    Of one pipeline, or of candidates beside a baseline. No window is opened.
    """
    del quiet  # `note` asks the context
    check_free(path, force=force)
    told = {name: value for name, value in options.items() if value is not None}
    _check_options(kind, told if by is None else {**told, "by": by})
    arguments = _metric_arguments(kind, metrics)
    load_files = loading.load_runs if kind == _OF_RUNS else loading.load_every
    runs = load_files(files, metrics)
    subject, more = _SUBJECTS.get(kind, _compared)(kind, runs, metrics, by)
    save = load("rageval_report.plots:save_plot")
    save(subject, kind, path, *arguments, force=force, **more, **told)
    note(f"wrote {path}")


def _check_options(kind: str, told: dict[str, Any]) -> None:
    known = PLOTS[kind].parameters
    for name in told:
        if name not in known:
            raise click.UsageError(f"--{name} does not belong to the plot {kind!r}.")


def _metric_arguments(kind: str, metrics: tuple[str, ...]) -> tuple[Any, ...]:
    """The metrics as the plot takes them: x and y, one, or a list."""
    most = _MOST_METRICS.get(kind, len(metrics))
    if len(metrics) > most:
        raise click.UsageError(f"The plot {kind!r} takes at most {most} --metric.")
    if kind == "scatter":
        return metrics
    if kind in (_FRONT, _CALIBRATION):  # whose metrics are chosen before it is drawn
        return ()
    return (metrics[0] if len(metrics) == 1 else metrics,) if metrics else ()


# -- what is drawn of the runs that were named


def _alone(
    kind: str, runs: list[RAGPipelineEvaluation], _metrics: tuple[str, ...], _by: str | None
) -> Drawn:
    if len(runs) > 1:
        raise click.UsageError(f"The plot {kind!r} draws one pipeline; got {len(runs)} pipelines.")
    return runs[0], {}


def _beside(
    kind: str, runs: list[RAGPipelineEvaluation], _metrics: tuple[str, ...], _by: str | None
) -> Drawn:
    if kind == "scatter" and len(runs) > 2:
        raise click.UsageError(f"The plot {kind!r} draws up to two pipelines; got {len(runs)}.")
    more = runs[1:] if len(runs) > 2 else runs[1] if len(runs) == 2 else None
    return runs[0], {} if more is None else {"other": more}


def _compared(
    kind: str, runs: list[RAGPipelineEvaluation], metrics: tuple[str, ...], _by: str | None
) -> Drawn:
    if len(runs) < 2:
        raise click.UsageError(f"The plot {kind!r} draws a comparison: name a second file.")
    return rageval_report.compare(runs[0], *runs[1:], metrics=metrics or None), {}


def _sliced(
    kind: str, runs: list[RAGPipelineEvaluation], metrics: tuple[str, ...], by: str | None
) -> Drawn:
    if by is None:
        raise click.UsageError(f"The plot {kind!r} needs the groups: --by COLUMN.")
    if len(runs) == 1:
        return runs[0], {"by": by}
    comparison, _ = _compared(kind, runs, metrics, by)
    return comparison.slices(by), {}


def _in_time(
    _kind: str, runs: list[RAGPipelineEvaluation], _metrics: tuple[str, ...], _by: str | None
) -> Drawn:
    return load("rageval_report.run_history.runs:history")(runs), {}


def _ranked(
    kind: str, runs: list[RAGPipelineEvaluation], metrics: tuple[str, ...], _by: str | None
) -> Drawn:
    if len(runs) < 2:
        raise click.UsageError(f"The plot {kind!r} draws a ranking: name a second file.")
    ranking = rageval_report.rank(*runs)
    return ranking.pareto(metrics) if kind == _FRONT and metrics else ranking, {}


def _calibrated(
    kind: str, runs: list[RAGPipelineEvaluation], metrics: tuple[str, ...], _by: str | None
) -> Drawn:
    if len(runs) != 2 or not metrics:
        raise click.UsageError(
            f"The plot {kind!r} draws a judge against people: JUDGED PEOPLE --metric NAME; where "
            "people's labels are named otherwise, calibrate --plot."
        )
    return rageval_report.calibrate(runs[0], metrics[0], runs[1]), {}


_SUBJECTS: dict[str, Callable[..., Drawn]] = {
    _CALIBRATION: _calibrated,
    "box": _alone,
    "correlation": _alone,
    "distribution": _alone,
    "ecdf": _beside,
    "groups": _ranked,
    "leaderboard": _ranked,
    _FRONT: _ranked,
    "scatter": _beside,
    "slices": _sliced,
    _OF_RUNS: _in_time,
}
