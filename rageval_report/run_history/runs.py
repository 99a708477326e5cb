"""Reads the run files of a folder, sorts them by time, and makes a history of them.

`rageval_report.analysis.history.trends` does the arithmetic, on runs that are loaded and sorted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from rageval_report.analysis.arguments import Clusters, scans_among
from rageval_report.analysis.history.changes import DatedRun
from rageval_report.analysis.history.trends import History, trends
from rageval_report.analysis.paired_metric import ComparisonPlan
from rageval_report.errors import DataError, ReaderError, UnknownNameError, explain_keywords
from rageval_report.evaluation import RAGPipelineEvaluation, read_scores
from rageval_report.files.inputs import hide_password, is_file, is_folder, shorten_path
from rageval_report.files.source import Source
from rageval_report.rankings.inputs import DuplicateDocs
from rageval_report.readers.base import ReaderOptions
from rageval_report.scores import Correct
from rageval_report.scores.query_rows import Totals
from rageval_report.scores.roles.column_role import Roles
from rageval_report.scores.run_file import FORMAT
from rageval_report.scores.saved_tables import COMPANION
from rageval_report.scores.table import Duplicates, MetricsArgument
from rageval_report.sources.base import FilesArgument
from rageval_report.sources.file_lists import (
    is_glob,
    is_partition_name,
    is_score_file,
    is_visible_name,
    list_files,
)
from rageval_report.sources.opening import address_of, name_of
from rageval_report.stats.base import check_level, check_resamples, check_seed

if TYPE_CHECKING:
    from rageval_report.scale.scan import EvaluationScan

_RUN_FILE = "run_file"  # the reader of run files
_SUFFIXES = (".json", ".json.gz")
_MOST_NAMED = 5
_NO_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Store:
    """The runs in a folder of run files.

    Parameters
    ----------
    runs : tuple of DatedRun
        In the order of time.
    notes : tuple of str
        The files that were skipped, and the times that the files do not state.
    """

    runs: tuple[DatedRun, ...]
    notes: tuple[str, ...]


@explain_keywords
def history(
    runs: str | Path | Store | Iterable[RAGPipelineEvaluation] | Iterable[EvaluationScan],
    *,
    baseline: str | None = None,
    metrics: str | Iterable[str] | None = None,
    pipeline: str | None = None,
    fixed: Iterable[str] | None = None,
    test: str = "auto",
    interval: str = "auto",
    correction: str = "holm",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> History:
    """The scores of a pipeline from run to run, with a test of each change.

    Parameters
    ----------
    runs : str, Path, Store, or iterable of RAGPipelineEvaluation or of scans
        A folder of run files, which ``evaluation.save("runs/monday.json")`` writes; a run is named
        after its file. Or a folder without run files, a glob, or an address, as for
        `rageval_report.read_scores`, with one run per file. Or a store that `read_runs` returned,
        which with ``engine="auto"`` reads runs larger than the memory.
        Or evaluations, or scans of files larger than the memory (`RAGPipelineEvaluation.scan`): in
        the order of their times if all have one, else in the order of the iterable; equal names are
        numbered.
    baseline : str, optional
        The run that later ones are compared with, by its name; if omitted, the first one.
    metrics : str or iterable of str, optional
        The metrics, by any of their names; if omitted, all that any run has.
    pipeline : str, optional
        Only the runs of this pipeline, by the name inside the files.
    fixed : iterable of str, optional
        Fields of the configuration that must be equal for two runs to be compared, such as
        ``["judge_model"]``. If omitted, the fields whose names mention a judge, an evaluator, a
        data set or a gold set.
    test, correction, confidence_level, n_resamples, seed
        As in `rageval_report.compare`; the correction is over all tests of the table.
    interval : str
        The interval of the changes. "auto" inverts the test if there are at most a hundred of them,
        else it is the t interval; or a name of the table ``rageval_report.stats.PAIRED_INTERVALS``.
    clusters : str, Series or mapping, optional
        Queries that belong together and are not independent: the name of a details column, which
        every run has, or a cluster label by query id. Tests and intervals then count clusters. Not
        for scans.

    Returns
    -------
    History
        One row per metric and run: ``metric``, ``title``, ``run``, ``place`` (in the order of time,
        from 0), ``created``, ``query_set``, ``segment`` (increases after each break), ``n``,
        ``n_unscored``, ``mean``, ``ci_low``, ``ci_high``; ``previous``, ``change_n`` (pairs),
        ``change``, its interval and p-values, ``since_previous`` ("better", "worse", "none shown",
        "identical", "too few", "not compared"); ``baseline``, ``difference_n``, ``difference``, its
        interval and p-values, ``since_baseline``; ``first_regression``; ``differs`` (settings that
        make the scores of this run incomparable with those before), ``unknown`` (settings that may
        do so), ``differs_from_baseline``; ``marks`` (all of that in few words); ``kind``,
        ``greater_is_better``, ``ci_method``, ``verdict`` (in the row of the last run).

    Raises
    ------
    DataError
        If the folder does not exist, cannot be read, or holds no run file that can be read.
    UnknownNameError
        If the baseline, a metric, the pipeline, a field or a method is not known.

    Notes
    -----
    Runs are paired by query id, on the queries that had the same reference in both. Where the gold
    set changed, the line breaks, because the means before and after are of different questions. If
    a field of `fixed`, or a metric's direction or bounds, differs, nothing is tested. A field that
    a run does not state is unknown, never equal.

    Examples
    --------
    >>> ids = [f"q{i}" for i in range(8)]
    >>> nights = [
    ...     RAGPipelineEvaluation(
    ...         "hybrid", {"query_id": ids, "exact_match": [score] * 8}, created=f"2026-08-0{night}"
    ...     )
    ...     for night, score in ((1, 1), (2, 1), (3, 0))
    ... ]
    >>> history(nights).frame[["run", "mean", "change"]].values.tolist()
    [['hybrid', 1.0, nan], ['hybrid (2)', 1.0, 0.0], ['hybrid (3)', 0.0, -1.0]]
    """
    store = to_store(runs)
    dated_runs, notes = runs_of_pipeline(store, pipeline)
    plan = ComparisonPlan(
        test=test,
        interval=interval,
        confidence_level=check_level(confidence_level),
        n_resamples=check_resamples(n_resamples),
        seed=check_seed(seed),
    )
    result = trends(
        dated_runs,
        baseline=baseline,
        metrics=metrics,
        fixed=fixed,
        correction=correction,
        plan=plan,
        clusters=clusters,
    )
    origin = (*store.notes, *notes)
    return replace(result.with_notes(*origin), origin=origin)


def to_store(
    runs: str | Path | Store | Iterable[RAGPipelineEvaluation] | Iterable[EvaluationScan],
) -> Store:
    """The runs of a folder, or evaluations, in the order of time; a store as it is.

    Parameters
    ----------
    runs : str, Path, Store, or iterable of RAGPipelineEvaluation
        As for `history`.
    """
    if isinstance(runs, Store):
        return runs
    return read_runs(runs) if isinstance(runs, str | Path) else _store_evaluations(runs)


@explain_keywords
def read_runs(
    folder: str | Path,
    *,
    query_id: str | None = None,
    metrics: MetricsArgument = None,
    correct: Correct | None = None,
    duplicates: Duplicates | DuplicateDocs = "error",
    totals: Totals = "auto",
    strict: bool = False,
    roles: Roles | None = None,
    allow: str | Iterable[str] = (),
    files: FilesArgument = "auto",
    engine: str | None = None,
    memory_limit: str | None = None,
    **options: Unpack[ReaderOptions],
) -> Store:
    """Read the run files of a folder, the oldest run first.

    Parameters
    ----------
    folder : str or Path
        The folder; folders inside it are not searched. If it holds no run file, its other files of
        scores are read, as those of a glob or an address are.
    query_id, metrics, correct, duplicates, strict, allow, totals, roles, files, **options
        As for `RAGPipelineEvaluation.load`; with "auto" each file is a run.
    engine : str, optional
        Let an engine read the files, for runs larger than the memory: "auto", "duckdb", "dask" or
        "spark", as for `RAGPipelineEvaluation.scan`. Each file of the folder is a run. If it holds
        only folders, each of them is a run, and its files are the parts of one table.
    memory_limit : str, optional
        As for `RAGPipelineEvaluation.scan`.

    Returns
    -------
    Store
        The runs, each named after its file; a note names files that are not run files or cannot be
        read.

    Raises
    ------
    DataError
        If the folder does not exist or cannot be read, or holds no run.

    Notes
    -----
    The time of a run is its field ``created``. If a file does not state it, it is the time when the
    file was last written, and a note says so. Runs of equal time are sorted by their names.

    Examples
    --------
    >>> import tempfile
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["q1"], "recall": [0.5]}
    >>> run = RAGPipelineEvaluation("hybrid", data, created="2026-08-01T09:30:00+02:00")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run.save(f"{folder}/monday.json")
    ...     [run.name for run in read_runs(folder).runs]
    ['monday']
    """
    keywords: _RunKeywords = {
        "query_id": query_id,
        "metrics": metrics,
        "correct": correct,
        "duplicates": duplicates,
        "totals": totals,
        "strict": strict,
        "roles": roles,
        "allow": allow,
        **options,
    }
    if engine is not None:
        reading: _ScanKeywords = {
            "engine": engine,
            "memory_limit": memory_limit,
        }
        return _scan_runs(folder, files, keywords, reading)
    where = Path(folder)
    if _is_elsewhere(str(folder)):
        return _read_other_files(folder, files, keywords)

    def load(path: Path) -> RAGPipelineEvaluation:
        return RAGPipelineEvaluation.load(None, path, reader=_RUN_FILE, **keywords)

    folder_files = [_read_file(path, load) for path in _list_files(where)]
    dated = sorted(
        (file for file in folder_files if file.run is not None),
        # The name decides between runs of one second, so that the order is the same every time.
        key=lambda file: (file.moment, file.path.name),
    )
    if not dated:
        if _has_other_scores(where, folder_files):
            return _read_other_files(folder, files, keywords)
        raise DataError(f"{where}: {_no_run_message(folder_files)}")
    runs = tuple(file.run for file in dated if file.run is not None)
    return Store(runs, tuple(_store_notes(folder_files)))


class _RunKeywords(ReaderOptions, total=False):
    """What `read_runs` hands to the loading of each run."""

    query_id: str | None
    metrics: MetricsArgument
    correct: Correct | None
    duplicates: Duplicates | DuplicateDocs
    totals: Totals
    strict: bool
    roles: Roles | None
    allow: str | Iterable[str]


class _ScanKeywords(TypedDict):
    """What reads files part by part."""

    engine: str
    memory_limit: str | None


# What a scan does not do with rows, and what it is if the caller does not ask for it.
_WHOLE_ONLY = {"duplicates": "error", "totals": "auto"}
_OF_SCANS = ("query_id", "metrics", "correct", "roles", "strict", "allow")


def _scan_runs(
    where: str | Path, files: FilesArgument, keywords: _RunKeywords, reading: _ScanKeywords
) -> Store:
    """The runs of files that are read part by part."""
    unscanned = dict[str, Any](keywords)
    described = {name: unscanned.pop(name) for name in _OF_SCANS}
    refused = [name for name, value in unscanned.items() if value != _WHOLE_ONLY.get(name)]
    if refused:
        raise DataError(
            f"{refused[0]}= does not apply to runs that are read part by part "
            f"(engine={reading['engine']!r}); leave it out, or read them whole without engine="
        )
    tables = [str(where)] if files == "parts" else list_tables(where)
    scans = [
        RAGPipelineEvaluation.scan(table, name=name_of(table), **described, **reading)
        for table in tables
    ]
    return with_origin(_store_evaluations(scans), where)


def list_tables(where: str | Path) -> list[str]:
    """The tables of a folder or a glob, each of which is a run.

    Parameters
    ----------
    where : str or Path
        A folder of files, a folder of folders, or a glob.

    Returns
    -------
    list of str
        The files, in the order of their names; the folders if there are no files of scores beside
        them, because each then holds the parts of one table.

    Raises
    ------
    DataError
        If the folder does not exist, or there is no file of scores.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as runs:
    ...     for night in ("monday", "tuesday"):
    ...         Path(runs, night).mkdir()
    ...         _ = Path(runs, night, "part-0.csv").write_text("query_id,recall")
    ...     [Path(table).name for table in list_tables(runs)]
    ['monday', 'tuesday']
    """
    if not is_glob(str(where)) and not Path(where).exists():
        raise _no_folder(Path(where))
    if is_folder(Path(where)):
        members = sorted(path for path in Path(where).iterdir() if is_visible_name(path.name))
        folders = [str(path) for path in members if path.is_dir()]
        is_flat = any(is_score_file(path.name) for path in members if path.is_file())
        are_partitions = any(is_partition_name(Path(path).name) for path in folders)
        if folders and not is_flat and not are_partitions:
            return folders
    return [str(path) for path in list_files(where).files]


def _is_elsewhere(text: str) -> bool:
    """Whether a text is a glob or an address, and no folder."""
    return not is_folder(Path(text)) and (is_glob(text) or address_of(text) is not None)


def _has_other_scores(folder: Path, files: Sequence[_FolderFile]) -> bool:
    """Whether a folder without run files has other files of scores."""
    if any(file.problem for file in files):  # a damaged run file: its error is the one that helps
        return False
    try:
        return bool(list_files(folder).files)
    except DataError:
        return False


def _read_other_files(where: str | Path, files: FilesArgument, keywords: _RunKeywords) -> Store:
    """The runs of files of any format; each file is a run, unless the caller says otherwise."""
    how: FilesArgument = "evaluations" if files == "auto" else files
    runs = list(read_scores(where, files=how, **keywords).values())
    return with_origin(_store_evaluations(runs), where)


def with_origin(store: Store, where: str | Path) -> Store:
    """The same runs with a note on files that are not run files.

    Parameters
    ----------
    store : Store
        The runs.
    where : str or Path
        The folder, glob or address of their files.
    """
    note = f"{len(store.runs)} runs of {hide_password(str(where))}, in files that are not run files"
    return Store(store.runs, (*store.notes, note))


@dataclass(frozen=True, eq=False)
class _FolderFile:
    """A file of the folder: a run, or the reason why it cannot be read, or another file."""

    path: Path
    run: DatedRun | None = None
    moment: datetime = _NO_TIME
    is_dated: bool = True
    problem: str = ""


def _list_files(folder: Path) -> list[Path]:
    if is_file(folder):
        raise DataError(f"{folder}: expected a folder of run files; this is a file")
    if not is_folder(folder):
        raise _no_folder(folder)
    try:
        # A companion belongs to a table, which is named in its place.
        return sorted(
            path
            for path in folder.iterdir()
            if not path.name.startswith(".") and not path.name.endswith(COMPANION)
        )
    except OSError as exc:
        raise DataError(f"{folder}: the folder cannot be read: {exc.strerror}") from exc


def _no_folder(folder: Path) -> DataError:
    shown = shorten_path(str(folder))
    return DataError(f"{shown}: expected a folder of run files; it does not exist")


def _read_file(path: Path, load: Callable[[Path], RAGPipelineEvaluation]) -> _FolderFile:
    if path.is_dir() or not path.name.lower().endswith(_SUFFIXES):
        return _FolderFile(path)
    try:
        source = Source(path)
        if not _is_run_file(source):
            return _FolderFile(path)
        run = load(path)
    except ReaderError as exc:
        return _FolderFile(path, problem=f"{path.name}: {exc.message}")
    # Copying or checking out a file changes this time, so it is the last resort and a note says so.
    moment = run.created or datetime.fromtimestamp(path.stat().st_mtime, UTC)
    dated = _to_dated_run(run, source.stem, moment)
    return _FolderFile(path, dated, moment, is_dated=run.created is not None)


def _is_run_file(source: Source) -> bool:
    """Whether it is a run file: its start says so, even if the file is cut, else its content."""
    # A run file that is cut is reported as damaged; otherwise it would pass for another file.
    if FORMAT.encode() in source.head:
        return True
    document = source.document_or_none()
    return isinstance(document, dict) and document.get("format") == FORMAT


def _to_dated_run(run: RAGPipelineEvaluation, name: str, moment: datetime | None) -> DatedRun:
    return DatedRun.of(run, name=name, created=moment, config=run.config)


def _store_notes(files: Sequence[_FolderFile]) -> Iterator[str]:
    yield from (f"left out: {file.problem}" for file in files if file.problem)
    others = [file.path.name for file in files if file.run is None and not file.problem]
    if others:
        yield f"skipped files that are not run files: {_list_names(others)}"
    undated = [file.path.name for file in files if not file.is_dated]
    if undated:
        yield (
            "these files do not state when they were run, so the time when they were written is "
            f"used: {_list_names(undated)}; save(..., created=...) writes it into them"
        )


def _no_run_message(files: Sequence[_FolderFile]) -> str:
    advice = 'write them with evaluation.save("runs/monday.json")'
    if not files:
        return f"the folder is empty; it should hold run files: {advice}"
    problems = [file.problem for file in files if file.problem]
    if problems:
        more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
        return f"no run file can be read; {problems[0]}{more}"
    return f"no run file among {_list_names([file.path.name for file in files])}; {advice}"


def _list_names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    first = ", ".join(names[:_MOST_NAMED])
    return f"{first} and {more} more" if more > 0 else first


# -- evaluations, and scans


def _store_evaluations(
    runs: Iterable[RAGPipelineEvaluation] | Iterable[EvaluationScan],
) -> Store:
    listed = list[object](runs)
    evaluations: Sequence[Any] = scans_among(listed, "history()") or [
        run for run in listed if isinstance(run, RAGPipelineEvaluation)
    ]
    if len(evaluations) < len(listed):
        other = next(run for run in listed if not isinstance(run, RAGPipelineEvaluation))
        raise DataError(
            f"runs must be a folder of run files, or evaluations; got {type(other).__name__}"
        )
    names = number_repeats([evaluation.name for evaluation in evaluations])
    return _in_order_of_time(
        [
            _to_dated_run(evaluation, name, evaluation.created)
            for evaluation, name in zip(evaluations, names, strict=True)
        ]
    )


def _in_order_of_time(dated: Sequence[DatedRun]) -> Store:
    """The runs in the order of their times if all have one, else as they are."""
    if all(run.created is not None for run in dated):
        return Store(tuple(sorted(dated, key=_moment)), ())
    note = "not all runs state when they were made; they are kept in the order of the call"
    return Store(tuple(dated), (note,))


def _moment(run: DatedRun) -> datetime:
    return run.created or _NO_TIME


def number_repeats(names: Sequence[str]) -> list[str]:
    """The names, with a number added to each that occurred before.

    Examples
    --------
    >>> number_repeats(["hybrid", "bm25", "hybrid"])
    ['hybrid', 'bm25', 'hybrid (2)']
    """
    unique: dict[str, None] = {}
    for name in names:
        candidates = (name if n == 1 else f"{name} ({n})" for n in count(1))
        unique[next(candidate for candidate in candidates if candidate not in unique)] = None
    return list(unique)


def runs_of_pipeline(store: Store, pipeline: str | None) -> tuple[list[DatedRun], list[str]]:
    """The runs of one pipeline; a note if there are several pipelines of several runs.

    Parameters
    ----------
    store : Store
        The runs.
    pipeline : str, optional
        The name of the pipeline; all runs if omitted.

    Raises
    ------
    UnknownNameError
        If no run is of this pipeline.
    """
    counts = Counter(run.evaluation.name for run in store.runs)
    if pipeline is not None:
        if pipeline not in counts:
            raise UnknownNameError("pipeline among these runs", pipeline, counts)
        return [run for run in store.runs if run.evaluation.name == pipeline], []
    if len(counts) > 1 and max(counts.values()) > 1:
        listed = ", ".join(f"{name} ({n})" for name, n in counts.items())
        note = f"these are runs of several pipelines: {listed}; choose one with pipeline=..."
        return list(store.runs), [note]
    return list(store.runs), []
