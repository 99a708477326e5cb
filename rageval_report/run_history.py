"""A folder of run files becomes a history: trends and changes over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from rageval_report.analysis.arguments import Clusters, scans_among
from rageval_report.analysis.history import DatedRun, History, trends
from rageval_report.analysis.monitor import Monitoring, monitor_batches
from rageval_report.analysis.paired_metric import ComparisonPlan
from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.evaluation import RAGPipelineEvaluation, read_scores
from rageval_report.files.inputs import is_file, is_folder, shorten_path
from rageval_report.files.source import Source
from rageval_report.reports.sentences import join_names
from rageval_report.scores.run_file import FORMAT
from rageval_report.sources.base import FilesArgument
from rageval_report.sources.files import (
    address_of,
    is_glob,
    is_visible_name,
)
from rageval_report.stats.base import check_level, check_probability, check_resamples, check_seed

if TYPE_CHECKING:
    from rageval_report.evaluation import LoadKeywords
    from rageval_report.scale.scan import EvaluationScan

_MOST_NAMED = 5


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


RunsArgument: TypeAlias = (
    "str | Path | Store | Iterable[RAGPipelineEvaluation] | Iterable[EvaluationScan]"
)


def history(
    runs: RunsArgument,
    *,
    baseline: str | None = None,
    metrics: str | Iterable[str] | None = None,
    pipeline: str | None = None,
    fixed: Iterable[str] | None = None,
    test: str = "auto",
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
        `rageval_report.read_scores`, with one run per file. Or a store that `read_runs` returned.
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
        As in `rageval_report.compare`; the correction is over all tests of the table. Intervals
        invert the test; of more than a hundred changes they are t intervals.
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
        ``change``, its interval and p-values, ``since_previous`` ("better", "worse", "undecided",
        "identical", "too few", "not compared"); ``baseline``, ``difference_n``, ``difference``, its
        interval and p-values, ``since_baseline``; ``first_regression``; ``differs`` (settings that
        make the scores of this run incomparable with those before), ``differs_from_baseline``;
        ``kind``, ``greater_is_better``, ``ci_method``, ``verdict`` (in the row of the last run).

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
    a run does not state breaks no line; `History.changes` says that it is unknown.

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
    dated_runs, notes = _runs_of_pipeline(to_store(runs), pipeline)
    result = trends(
        dated_runs,
        baseline=baseline,
        metrics=metrics,
        fixed=fixed,
        correction=correction,
        plan=ComparisonPlan(
            test=test,
            confidence_level=check_level(confidence_level),
            n_resamples=check_resamples(n_resamples),
            seed=check_seed(seed),
        ),
        clusters=clusters,
    )
    return result.with_notes(*notes)


def monitor(
    runs: RunsArgument,
    *,
    reference: str | None = None,
    metrics: str | Iterable[str] | None = None,
    tolerance: float | Mapping[str, float] = 0.0,
    pipeline: str | None = None,
    alpha: float = 0.05,
    clusters: Clusters | None = None,
) -> Monitoring:
    """Watch scores of production, batch by batch, for means that are worse than in a reference run.

    Parameters
    ----------
    runs : str, Path, Store, or iterable of RAGPipelineEvaluation or of scans
        The reference and the batches: a folder of run files, evaluations, or scans of files larger
        than the memory, as for `rageval_report.history`, in the order of time.
    reference : str, optional
        The run that was good, by its name; runs before it are left out. If omitted, the first one.
    metrics : str or iterable of str, optional
        The metrics, by any of their names; if omitted, all of the reference that have bounds.
    tolerance : float or mapping of str to float
        How much worse than the reference does not matter: one number, or one per metric.
    pipeline : str, optional
        Only the runs of this pipeline, by the name inside the files.
    alpha : float
        The probability of a false alarm in the whole life, of all metrics together.
    clusters : str, Series or mapping, optional
        Queries that belong together and are not independent, such as those of a conversation: the
        name of a details column, which every run has, or a cluster label by query id. Each cluster
        then counts once, as the mean of its queries, and must be in one batch alone.

    Returns
    -------
    Monitoring
        One row per metric: ``metric``, ``title``, ``alarm``, ``since`` (the batch since which the
        mean is worse), ``alarm_at``, ``n`` and ``mean`` (since then), ``reference_n``,
        ``reference_mean``, ``limit`` (a mean beyond it is worse), ``evidence``, ``needed``,
        ``verdict``. Its attribute `batches` has one row per metric and batch.

    Raises
    ------
    UnknownNameError
        If no run has the name of the reference, or the reference lacks a metric.
    DataError
        If there is no batch, no metric with bounds, a query without a cluster, or a cluster in
        several batches.

    Notes
    -----
    The batches need not have the same queries as the reference. The mean of the reference is
    uncertain too, so that the limit is an end of its interval, which takes half of `alpha`; the
    other half is for the batches. A new batch can be added and looked at whenever it comes: the
    alarm is false with a probability of at most `alpha` in the whole life, if the queries are
    independent. Scores that depend on each other, such as those of one conversation, break this,
    unless `clusters` names what they belong to: the means of whole clusters are independent and
    have the same bounds. The question is then about the mean of clusters' means, not about the mean
    over queries; if all clusters are equally large it is the same.

    Examples
    --------
    >>> def batch(day, score):
    ...     ids = [f"{day}-{n}" for n in range(60)]
    ...     rows = {"query_id": ids, "faithfulness": [score, 1.0] * 30}
    ...     return RAGPipelineEvaluation(f"day {day}", rows, created=f"2026-08-0{day}")
    >>> result = monitor([batch(1, 0.9), batch(2, 0.9), batch(3, 0.2), batch(4, 0.2)])
    >>> result.has_alarm, result.frame["since"].tolist(), result.frame["alarm_at"].tolist()
    (True, ['day 3'], ['day 3'])
    """
    dated, notes = _runs_of_pipeline(to_store(runs), pipeline)
    names = [run.name for run in dated]
    if reference is not None and reference not in names:
        raise UnknownNameError("run", reference, names)
    first = 0 if reference is None else names.index(reference)
    result = monitor_batches(
        dated[first],
        dated[first + 1 :],
        metrics=None if metrics is None else [metrics] if isinstance(metrics, str) else [*metrics],
        tolerance=tolerance,
        alpha=check_probability("alpha", alpha),
        clusters=clusters,
    )
    return result.with_notes(*notes)


def to_store(runs: RunsArgument) -> Store:
    """The runs of a folder, or evaluations, in the order of time; a store as it is."""
    if isinstance(runs, Store):
        return runs
    return read_runs(runs) if isinstance(runs, str | Path) else _store_of(runs)


def read_runs(
    folder: str | Path,
    *,
    files: FilesArgument = "auto",
    **options: Unpack[LoadKeywords],
) -> Store:
    """Read the run files of a folder, the oldest run first.

    Parameters
    ----------
    folder : str or Path
        The folder; folders inside it are not searched. If it holds no run file, its other files of
        scores are read, as those of a glob or an address are.
    files : {"auto", "evaluations", "parts", ...}
        As for `RAGPipelineEvaluation.load`; with "auto" each file is a run.
    **options
        As for `RAGPipelineEvaluation.load`: ``query_id``, ``metrics``, ``correct``, ``duplicates``,
        ``totals``, ``strict``, ``roles``, ``allow``, and the options of the reader.

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
    where, shown = Path(folder), shorten_path(str(folder))
    is_elsewhere = is_glob(str(folder)) or address_of(str(folder)) is not None
    if is_elsewhere and not is_folder(where):
        return _read_other_files(folder, files, options)
    if not is_folder(where):
        what = "this is a file" if is_file(where) else "it does not exist"
        raise DataError(f"{shown}: expected a folder of run files; {what}")
    try:
        members = sorted(path for path in where.iterdir() if is_visible_name(path.name))
    except OSError as exc:
        raise DataError(f"{shown}: the folder cannot be read: {exc.strerror}") from exc
    dated: list[tuple[datetime, str, DatedRun]] = []
    problems, others, undated = list[str](), list[str](), list[str]()
    for path in members:
        try:
            if not _is_run_file(path):
                others.append(path.name)
                continue
            run = RAGPipelineEvaluation.load(None, path, reader="run_file", **options)
        except ReaderError as exc:
            problems.append(f"{path.name}: {exc.message}")
            continue
        if run.created is None:
            undated.append(path.name)
        # Copying or checking out a file changes this time, so it is the last resort.
        moment = run.created or datetime.fromtimestamp(path.stat().st_mtime, UTC)
        kept = DatedRun.of(run, name=Source(path).stem, created=moment, config=run.config)
        dated.append((moment, path.name, kept))
    if not dated:
        # The error of a damaged run file is the one that helps.
        if others and not problems:
            return _read_other_files(folder, files, options)
        problem = f"no run file can be read; {'; '.join(problems[:_MOST_NAMED])}"
        problem = problem if problems else "the folder is empty"
        raise DataError(f'{shown}: {problem}; write one with evaluation.save("runs/monday.json")')
    notes = [f"left out: {problem}" for problem in problems]
    if others:
        notes.append(f"skipped files that are not run files: {join_names(others, _MOST_NAMED)}")
    if undated:
        notes.append(
            "these files do not state when they were run, so the time when they were written is "
            f"used: {join_names(undated, _MOST_NAMED)}; save(..., created=...) writes it into them"
        )
    # The name decides between runs of one second, so that the order is the same every time.
    in_order = sorted(dated, key=lambda run: run[:2])
    return Store(tuple(run for _, _, run in in_order), tuple(notes))


def _is_run_file(path: Path) -> bool:
    """Whether it is a run file: its start says so, even if the file is cut, else its content."""
    if path.is_dir() or not path.name.lower().endswith((".json", ".json.gz")):
        return False
    source = Source(path)
    if FORMAT.encode() in source.head:
        return True
    document = source.document_or_none()
    return isinstance(document, dict) and document.get("format") == FORMAT


# -- files of any format, and scans


def _read_other_files(where: str | Path, files: FilesArgument, options: Any) -> Store:
    """The runs of files of any format; each file is a run, unless the caller says otherwise."""
    how: FilesArgument = "evaluations" if files == "auto" else files
    return _store_of(read_scores(where, files=how, **options).values())


def _store_of(runs: Iterable[object]) -> Store:
    """Evaluations or scans, in the order of their times if all have one, else as they are."""
    listed = list(runs)
    evaluations: Sequence[Any] = scans_among(listed, "history()") or listed
    if evaluations is listed:
        for run in listed:
            if not isinstance(run, RAGPipelineEvaluation):
                raise DataError(
                    f"runs must be a folder of run files, or evaluations; got {type(run).__name__}"
                )
    names = number_repeats([run.name for run in evaluations])
    dated = [
        DatedRun.of(run, name=name, created=run.created, config=run.config)
        for run, name in zip(evaluations, names, strict=True)
    ]
    if all(run.created for run in dated):
        return Store(tuple(sorted(dated, key=attrgetter("created"))), ())
    note = "not all runs state when they were made; they are kept in the order of the call"
    return Store(tuple(dated), (note,))


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


def _runs_of_pipeline(store: Store, pipeline: str | None) -> tuple[list[DatedRun], tuple[str, ...]]:
    """The runs of one pipeline, with the notes; one more if there are several pipelines."""
    counts = Counter(run.evaluation.name for run in store.runs)
    if pipeline is not None:
        if pipeline not in counts:
            raise UnknownNameError("pipeline among these runs", pipeline, counts)
        chosen = [run for run in store.runs if run.evaluation.name == pipeline]
        return chosen, store.notes
    notes = store.notes
    if len(counts) > 1 and max(counts.values()) > 1:
        listed = ", ".join(f"{name} ({n})" for name, n in counts.items())
        notes += (f"these are runs of several pipelines: {listed}; choose one with pipeline=...",)
    return list(store.runs), notes
