"""monitor: the runs of a folder, or files in the order of time, are watched."""

from __future__ import annotations

import click

from rageval_report import run_history
from rageval_report.cli.group import FAILED, OK
from rageval_report.cli.history_body import runs_of_files, scanned_runs
from rageval_report.cli.monitor import MonitorArguments
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output, check_files, write_picture
from rageval_report.plots import save_plot


def monitor(options: MonitorArguments) -> int:
    """Read the runs, watch them, and write the table; 1 if there is an alarm."""
    output = Output.of(options)
    check_files(options.picture, force=options.force)
    result = run_history.monitor(
        scanned_runs(options) or runs_of_files(options.runs, options),
        reference=options.reference,
        metrics=options.metrics or None,
        by=options.by,
        tolerance={name: _parse_tolerance(name, text) for name, text in options.tolerance.items()},
        pipeline=options.pipeline,
        alpha=options.alpha,
        clusters=options.clusters,
    )
    if options.picture is not None:
        write_picture(options.picture, lambda path: save_plot(result, "monitor", path))
        note(f"wrote {options.picture}")
    output.write({result.title: result})
    return FAILED if result.has_alarm else OK


def _parse_tolerance(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = f"--tolerance {name}={text}: write METRIC=X, such as faithfulness=0.02."
        raise click.UsageError(message) from None
