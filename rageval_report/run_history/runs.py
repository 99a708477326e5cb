"""A folder of run files is the store: read, put in the order of time, and told as a history.

`rageval_report.analysis.history.trends` does the arithmetic, on runs that are loaded and in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from rageval_report.analysis.comparing.metric_comparison import ComparisonPlan
from rageval_report.analysis.history.changes import DatedRun
from rageval_report.analysis.history.trends import History, trends
from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.files.source import Source
from rageval_report.scores.run_file import FORMAT
from rageval_report.stats.base import check_level, check_resamples, check_seed

_RUN_FILE = "run_file"  # the reader of run files
_SUFFIXES = (".json", ".json.gz")
_MOST_NAMED = 5
_UNTOLD = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Store:
    """What stood in a folder of run files.

    Parameters
    ----------
    runs : tuple of DatedRun
        In the order of time.
    notes : tuple of str
        What was passed over, and where times came from.
    """

    runs: tuple[DatedRun, ...]
    notes: tuple[str, ...]


def history(
    runs: str | Path | Store | Iterable[RAGPipelineEvaluation],
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
) -> History:
    """How the scores of a pipeline went from run to run.

    Parameters
    ----------
    runs : str, Path, Store, or iterable of RAGPipelineEvaluation
        A folder of run files, as ``evaluation.save("runs/monday.json")`` writes them; a run is
        named after its file. Or what `read_runs` read of one. Or evaluations: in the order of
        their times where all have one, else in the order given; of one name, they are numbered.
    baseline : str, optional
        The run that later ones are held against, by its name; the first one where not given.
    metrics : str or iterable of str, optional
        By any of their names; all that any run has where nothing is asked.
    pipeline : str, optional
        Only the runs of this pipeline, by the name inside the files.
    fixed : iterable of str, optional
        Fields of the configuration that must be equal for two runs to be compared, as
        ``["judge_model"]``. Where not given, those whose names speak of a judge, an evaluator, a
        data set or a gold set.
    test, correction, confidence_level, n_resamples, seed
        As in `rageval_report.compare`; the correction is over all tests of the table.
    interval : str
        Of the changes. "auto" is the inversion of the test where there are up to a hundred of them,
        else the t interval; or a name of the table ``rageval_report.stats.PAIRED_INTERVALS``.

    Returns
    -------
    History
        One row a metric and a run: ``metric``, ``title``, ``run``, ``place`` (in the order of time,
        from 0), ``created``, ``query_set``, ``segment`` (a number more after each break), ``n``,
        ``n_unscored``, ``mean``, ``ci_low``, ``ci_high``; ``previous``, ``change_n`` (pairs),
        ``change``, its interval and p-values, ``since_previous`` ("better", "worse", "none shown",
        "identical", "too few", "not compared"); ``baseline``, ``difference_n``, ``difference``, its
        interval and p-values, ``since_baseline``; ``first_regression``; ``differs`` (what makes
        this run's scores mean something else than those before), ``unknown`` (what may),
        ``differs_from_baseline``; ``marks`` (all of that in few words); ``kind``,
        ``greater_is_better``, ``ci_method``, ``verdict`` (in the last run's row).

    Raises
    ------
    DataError
        If the folder is not there, cannot be looked into, or holds no run file that can be read.
    UnknownNameError
        If the baseline, a metric, the pipeline, a field or a method is not known.

    Notes
    -----
    Runs are paired by query id, on the queries that had the same reference in both. Where the gold
    set changed, the line breaks: means before and after are of other questions. Where a field of
    `fixed`, or a metric's direction or bounds, differs, nothing is tested. A field that a run does
    not tell is unknown, never equal.

    Examples
    --------
    >>> ids = [f"q{i}" for i in range(8)]
    >>> nights = [
    ...     RAGPipelineEvaluation(
    ...         "hybrid", {"query_id": ids, "exact_match": [score] * 8}, created=f"2026-08-0{night}"
    ...     )
    ...     for night, score in ((1, 1), (2, 1), (3, 0))
    ... ]
    >>> found = history(nights)
    >>> found.frame[["run", "mean", "change"]].values.tolist()
    [['hybrid', 1.0, nan], ['hybrid (2)', 1.0, 0.0], ['hybrid (3)', 0.0, -1.0]]
    """
    store = _store_of(runs)
    chosen, notes = _of_pipeline(store, pipeline)
    plan = ComparisonPlan(
        test=test,
        interval=interval,
        confidence_level=check_level(confidence_level),
        n_resamples=check_resamples(n_resamples),
        seed=check_seed(seed),
    )
    found = trends(
        chosen, baseline=baseline, metrics=metrics, fixed=fixed, correction=correction, plan=plan
    )
    origin = (*store.notes, *notes)
    return replace(found.with_notes(*origin), origin=origin)


def _store_of(runs: str | Path | Store | Iterable[RAGPipelineEvaluation]) -> Store:
    if isinstance(runs, Store):
        return runs
    return read_runs(runs) if isinstance(runs, str | Path) else _given(runs)


def read_runs(folder: str | Path, **options: Any) -> Store:
    """Read the run files of a folder, the oldest run first.

    Parameters
    ----------
    folder : str or Path
        Folders inside it are not looked into.
    **options
        As for `RAGPipelineEvaluation.load`, as ``metrics=``.

    Returns
    -------
    Store
        Each run named after its file; what is no run file, or cannot be read, is told in a note.

    Raises
    ------
    DataError
        If the folder is not there or cannot be looked into, or no run is left.

    Notes
    -----
    The time of a run is its field ``created``; of a file without it, when the file was last
    written, which a note tells. Runs of one time stand in the order of their names.
    """
    where = Path(folder)
    found = [_read(path, options) for path in _files_in(where)]
    dated = sorted(
        (one for one in found if one.run is not None), key=lambda one: (one.moment, one.path.name)
    )
    if not dated:
        raise DataError(f"{where}: {_nothing_told(found)}")
    runs = tuple(one.run for one in dated if one.run is not None)
    return Store(runs, tuple(_store_notes(found)))


@dataclass(frozen=True, eq=False)
class _Found:
    """A file of the folder: a run, or why it cannot be read, or neither, being something else."""

    path: Path
    run: DatedRun | None = None
    moment: datetime = _UNTOLD
    is_dated: bool = True
    trouble: str = ""


def _files_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        what = "this is a file" if folder.exists() else "there is none of this name"
        raise DataError(f"{folder}: expected a folder of run files; {what}")
    try:
        return sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    except OSError as exc:
        raise DataError(f"{folder}: the folder cannot be looked into: {exc.strerror}") from exc


def _read(path: Path, options: dict[str, Any]) -> _Found:
    if path.is_dir() or not path.name.lower().endswith(_SUFFIXES):
        return _Found(path)
    try:
        source = Source(path)
        if not _is_run_file(source):
            return _Found(path)
        run = RAGPipelineEvaluation.load(None, path, reader=_RUN_FILE, **options)
    except ReaderError as exc:
        return _Found(path, trouble=f"{path.name}: {exc.message}")
    moment = run.created or datetime.fromtimestamp(path.stat().st_mtime, UTC)
    dated = _dated(run, source.stem, moment)
    return _Found(path, dated, moment, is_dated=run.created is not None)


def _is_run_file(source: Source) -> bool:
    """By its opening, so that one that breaks off is known too; else by what it holds."""
    if FORMAT.encode() in source.head:
        return True
    document = source.document_or_none()
    return isinstance(document, dict) and document.get("format") == FORMAT


def _dated(run: RAGPipelineEvaluation, name: str, moment: datetime | None) -> DatedRun:
    return DatedRun.of(run, name=name, created=moment, config=run.config)


def _store_notes(found: Sequence[_Found]) -> Iterator[str]:
    troubles = [one.trouble for one in found if one.trouble]
    yield from (f"left out: {told}" for told in troubles)
    others = [one.path.name for one in found if one.run is None and not one.trouble]
    if others:
        yield f"no run files, passed over: {_few(others)}"
    undated = [one.path.name for one in found if not one.is_dated]
    if undated:
        yield (
            "when they were run these files do not tell, and their time of writing is taken: "
            f"{_few(undated)}; save(..., created=...) writes it into them"
        )


def _nothing_told(found: Sequence[_Found]) -> str:
    how = 'write them with evaluation.save("runs/monday.json")'
    if not found:
        return f"the folder is empty; it should hold run files: {how}"
    troubles = [one.trouble for one in found if one.trouble]
    if troubles:
        more = f"; and {len(troubles) - 1} more" if len(troubles) > 1 else ""
        return f"no run file can be read; {troubles[0]}{more}"
    return f"no run file among {_few([one.path.name for one in found])}; {how}"


def _few(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    shown = ", ".join(names[:_MOST_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown


# -- evaluations at hand


def _given(runs: Iterable[RAGPipelineEvaluation]) -> Store:
    given = list(runs)
    for one in given:
        if not isinstance(one, RAGPipelineEvaluation):
            raise DataError(
                "a history is of a folder of run files, or of evaluations; "
                f"got {type(one).__name__}"
            )
    dated = [
        _dated(run, name, run.created)
        for run, name in zip(given, numbered([run.name for run in given]), strict=True)
    ]
    if all(run.created is not None for run in dated):
        return Store(tuple(sorted(dated, key=_moment)), ())
    return Store(tuple(dated), ("not all runs tell when they were made; as given, in order",))


def _moment(run: DatedRun) -> datetime:
    return run.created or _UNTOLD


def numbered(names: Sequence[str]) -> list[str]:
    """The names, a number at those that were there before.

    Examples
    --------
    >>> numbered(["hybrid", "bm25", "hybrid"])
    ['hybrid', 'bm25', 'hybrid (2)']
    """
    taken: set[str] = set()
    found = []
    for name in names:
        tries = (name if n == 1 else f"{name} ({n})" for n in count(1))
        one = next(told for told in tries if told not in taken)
        taken.add(one)
        found.append(one)
    return found


def _of_pipeline(store: Store, pipeline: str | None) -> tuple[list[DatedRun], list[str]]:
    """The runs of one pipeline; a word where there are several, each of several runs."""
    counts = Counter(run.evaluation.name for run in store.runs)
    if pipeline is not None:
        if pipeline not in counts:
            raise UnknownNameError("pipeline among these runs", pipeline, counts)
        return [run for run in store.runs if run.evaluation.name == pipeline], []
    if len(counts) > 1 and max(counts.values()) > 1:
        told = ", ".join(f"{name} ({n})" for name, n in counts.items())
        return list(store.runs), [f"these are runs of {told}; one at a time with pipeline=..."]
    return list(store.runs), []
