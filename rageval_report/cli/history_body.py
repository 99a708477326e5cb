"""history and changes: the runs of a folder, or files in the order of time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from rageval_report import run_history
from rageval_report.analysis.history import History
from rageval_report.cli.history import ChangesArguments, HistoryArguments
from rageval_report.cli.monitor import MonitorArguments
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output, check_files, write_picture
from rageval_report.cli.scans import ScanLoading
from rageval_report.cli.sources import Loading
from rageval_report.errors import DataError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.files.inputs import hide_password
from rageval_report.plots import save_plot
from rageval_report.results import Result
from rageval_report.scores import Scored
from rageval_report.sources.file_lists import is_glob
from rageval_report.sources.opening import address_of


def history(options: HistoryArguments) -> None:
    """Read the runs, test them, and write the trends."""
    output = Output.of(options)
    check_files(options.picture, force=options.force)
    trends = _trends(options)
    if options.picture is not None:
        write_picture(options.picture, lambda path: save_plot(trends, "trends", path))
        note(f"wrote {options.picture}")
    if options.changes:
        note("history --changes is now the command changes")
    result: Result = trends.changes() if options.changes else trends
    output.write({result.title: result})


def changes(options: ChangesArguments) -> None:
    """Read the runs, test them, and write what changed."""
    output = Output.of(options)
    result = _trends(options).changes()
    output.write({result.title: result})


def _trends(options: HistoryArguments | ChangesArguments) -> History:
    return run_history.history(
        scanned_runs(options) or runs_of_files(options.runs, options),
        baseline=options.baseline,
        metrics=options.metrics or None,
        pipeline=options.pipeline,
        fixed=options.fixed or None,
        correction=options.correction,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        seed=options.seed,
        clusters=options.clusters,
    )


def scanned_runs(
    options: HistoryArguments | ChangesArguments | MonitorArguments,
) -> run_history.Store | None:
    """The runs as scans; None if the files are read whole.

    The files of the only folder or glob are a run each, or the folders in it. Of several arguments
    each is a run: a file, or a folder of the parts of one table.
    """
    loading = Loading.of(options)
    texts = options.runs
    is_folder = len(texts) == 1 and _is_several(texts[0])
    if is_folder and loading.files != "parts" and address_of(texts[0]) is None:
        texts = _tables_of(texts[0])
    scans = ScanLoading(options, loading).open(texts)
    if not scans:
        return None
    store = run_history.to_store(scans)
    return run_history.with_origin(store, options.runs[0]) if is_folder else store


def _tables_of(where: str) -> tuple[str, ...]:
    """The tables of a folder or glob.

    If there are none, the folder or glob itself: the code that reads it then raises the error.
    """
    try:
        return tuple(run_history.list_tables(where))
    except DataError:
        return (where,)


def read_run_folder(folder: str, loading: Loading) -> run_history.Store:
    """The run files of a folder, as the options of loading say."""
    return run_history.read_runs(folder, **loading.keywords())


def _is_several(name: str) -> bool:
    """Whether a name stands for several runs: a folder, a glob or an address."""
    return Path(name).is_dir() or is_glob(name) or address_of(name) is not None


def load_repeated_runs(
    names: Sequence[str], loading: Loading, metrics: Sequence[str]
) -> list[Scored]:
    """The runs of one folder, or one run per file."""
    if len(names) == 1 and _is_several(names[0]):
        return [run.evaluation for run in read_run_folder(names[0], loading).runs]
    return list(loading.load_runs(names, metrics))


def runs_of_files(
    files: tuple[str, ...], options: HistoryArguments | ChangesArguments | MonitorArguments
) -> run_history.Store | list[RAGPipelineEvaluation]:
    """The runs of the only folder, or the evaluations of the files, in the order of time.

    Raises
    ------
    UsageError
        If a folder is named beside something else, or with a reader.
    """
    loading = Loading.of(options, options.metrics)
    folders = [name for name in files if _is_several(name)]
    if not folders:
        return loading.load_runs(files)
    if len(files) > 1:
        what = "a folder" if Path(folders[0]).is_dir() else "a glob or an address"
        raise click.UsageError(
            f"{hide_password(folders[0])} is {what}; name it alone, or files only."
        )
    if loading.reader is not None:
        raise click.UsageError("--reader is for files; a folder holds run files.")
    return read_run_folder(folders[0], loading)
