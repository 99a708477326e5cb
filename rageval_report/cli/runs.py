"""history and noise: runs of one pipeline in the order of time, or repeated without a change."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rageval_report as rr
from rageval_report.cli.command import Family, command
from rageval_report.cli.options import Options
from rageval_report.cli.output import Output, check_files, draw
from rageval_report.cli.sources import Loading, scans_of
from rageval_report.errors import DataError

if TYPE_CHECKING:
    from rageval_report.analysis.history import History
    from rageval_report.run_history import Store
    from rageval_report.scores import Scored


@command("history trend")
def trend(options: Options) -> None:
    """Show the trend of each metric over the runs in a folder.

    A RUN is a folder of run files (those of evaluation.save and export), or each run a file of
    scores, the oldest first, a glob in quotes ('runs/*.csv') or an address such as
    mlflow:/EXPERIMENT. Runs are ordered by their field "created", or else by the time of the file.
    Each is tested against the run before it and against the baseline.
    """
    output = Output.of(options)
    check_files(options.picture, force=options.force)
    trends = _trends(options)
    draw(trends, "trends", options.picture)
    output.write(trends)


@command("history changes")
def changes(options: Options) -> None:
    """Show what changed from run to run.

    One row per run: its queries, its gold set and its configuration, beside those of the run before
    it. The runs are named as for trend.
    """
    output = Output.of(options)
    output.write(_trends(options).changes())


@command("history monitor")
def monitor(options: Options) -> int:
    """Watch batches of scores for a mean that gets worse; exit code 1 if there is an alarm.

    The runs are the reference, which was good, and after it the batches in the order of time. The
    probability of a false alarm is 5 % in the whole life, of all metrics together, however
    often you look.
    """
    output = Output.of(options)
    check_files(options.picture, force=options.force)
    result = rr.monitor(
        _scanned_runs(options) or _runs_of_files(options),
        **options.only("reference", "metrics", "pipeline", "alpha", "clusters"),
        tolerance=dict(options.tolerance),
    )
    draw(result, "monitor", options.picture)
    output.write(result)
    return 1 if result.has_alarm else 0


history = Family(
    "history",
    """
    Follow runs of one pipeline over time: trend, changes, alarms.

    Without a command: the trend.
    """,
    [trend, changes, monitor],
    default="trend",
)


def _trends(options: Options) -> History:
    keywords = ("baseline", "metrics", "pipeline", "fixed", "correction", "confidence_level")
    return rr.history(
        _scanned_runs(options) or _runs_of_files(options),
        **options.only(*keywords, "n_resamples", "seed", "clusters"),
    )


def _is_several(name: str) -> bool:
    """Whether a name stands for several runs: a folder, a glob or an address."""
    from rageval_report.sources.files import address_of, is_glob

    return Path(name).is_dir() or is_glob(name) or address_of(name) is not None


def _scanned_runs(options: Options) -> Store | None:
    """The runs as scans; None if the files are read whole."""
    from rageval_report import run_history
    from rageval_report.sources.files import address_of, list_files

    texts: Sequence[str] = options.runs
    is_folder = len(texts) == 1 and _is_several(texts[0])
    if is_folder and options.files_as != "parts" and address_of(texts[0]) is None:
        with contextlib.suppress(DataError):  # the code that reads the folder raises it
            texts = tuple(map(str, list_files(texts[0]).files))
    scans = scans_of(options, Loading(options), texts)
    if not scans:
        return None
    return run_history.to_store(scans)


def _runs_of_files(options: Options) -> Store | list[rr.RAGPipelineEvaluation]:
    """The runs of the only folder, or the evaluations of the files, in the order of time."""
    from rageval_report.files.inputs import hide_password

    loading = Loading(options, options.metrics)
    folders = [name for name in options.runs if _is_several(name)]
    if not folders:
        return loading.load_runs(options.runs)
    if len(options.runs) > 1:
        what = "a folder" if Path(folders[0]).is_dir() else "a glob or an address"
        raise click.UsageError(
            f"{hide_password(folders[0])} is {what}; name it alone, or files only."
        )
    if loading.reader is not None:
        raise click.UsageError("--reader is for files; a folder holds run files.")
    return _read_run_folder(folders[0], loading)


def _read_run_folder(folder: str, loading: Loading) -> Store:
    read: Any = rr.read_runs  # the keywords are those of any reader
    store: Store = read(folder, **loading.keywords())
    return store


# -- noise


@command("noise repeats")
def repeats(options: Options) -> None:
    """Show how much scores vary between runs of one pipeline.

    The files are repeated runs on the same queries, with nothing changed between them, or one
    folder of run files. --queries shows in how many runs each query is answered correctly, the
    least stable first.
    """
    output = Output.of(options)
    runs = _repeated_runs(options, () if options.stability else options.metrics)
    if options.stability:
        rule = None if options.correct is None else options.correct.value
        table = rr.repeats(*runs, correct=rule).stability()
        output.write(output.limit_rows(table, options.limit))
        return
    output.write(rr.repeats(*runs, **options.only("metrics", "confidence_level")))


@command("noise variance")
def variance(options: Options) -> None:
    """Show the noise of a mean from queries, runs and judges.

    The files are runs of one pipeline on the same queries, or one folder of run files. Scores by
    several judges count by judge. The interval of each mean counts all sources of noise; --sources
    shows how large each is.
    """
    output = Output.of(options)
    noise_of = rr.variance(
        *_repeated_runs(options, options.metrics),
        runs=_names(options.run_names),
        judges=_names(options.judge_names),
        **options.only("metrics", "confidence_level"),
    )
    output.write(noise_of.sources() if options.sources else noise_of)


noise = Family(
    "noise",
    "Measure the noise of repeated runs: how far scores, answers and judges vary by themselves.",
    [repeats, variance],
)


def _repeated_runs(options: Options, metrics: Sequence[str]) -> list[Scored]:
    """The runs of one folder, or one run per file."""
    loading = Loading(options)
    if len(options.files) == 1 and _is_several(options.files[0]):
        return [run.evaluation for run in _read_run_folder(options.files[0], loading).runs]
    return list(loading.load_runs(options.files, metrics))


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]
