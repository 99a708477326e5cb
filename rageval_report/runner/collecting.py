"""A run: every query is asked, its answer kept, and the records written when all are done."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rageval_report._version import __version__
from rageval_report.errors import DataError
from rageval_report.files.writing import write_atomically
from rageval_report.records.table import UnplacedGold
from rageval_report.runner.query_source import Queries, Query, queries_of, sample_mask
from rageval_report.runner.record_files import table_kind, write_records
from rageval_report.runner.run_blocks import record_blocks
from rageval_report.runner.run_config import RunConfig
from rageval_report.runner.run_journal import RunJournal
from rageval_report.runner.targets import TARGETS, Target
from rageval_report.runner.targets.functions import FunctionTarget
from rageval_report.runner.worker_threads import WorkerPool
from rageval_report.types import Sleep

JOURNAL, RUN = "journal.jsonl", "run.json"


@dataclass(frozen=True)
class FinishedRun:
    """What a run came to.

    Parameters
    ----------
    folder : Path
        Holds the journal, the records and ``run.json``.
    records : Path
        The records, a row a query.
    n : int
        How many queries were asked, in this and earlier parts of the run.
    n_new : int
        How many of them now.
    failures : dict of str to int
        How many have no answer, by the kind of failure.
    notes : tuple of str
        What should be known of it.
    config : dict
        How the pipeline says it is set up; null where it does not say.
    created : str
        When the run began, ISO 8601.
    """

    folder: Path
    records: Path
    n: int
    n_new: int
    failures: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    created: str | None = None

    @property
    def n_failed(self) -> int:
        """How many queries have no answer."""
        return sum(self.failures.values())

    @property
    def n_answered(self) -> int:
        """How many queries were answered."""
        return self.n - self.n_failed

    def blocks(
        self, *, most_rows: int = 1000, unplaced_gold: UnplacedGold = "error"
    ) -> Iterator[pd.DataFrame]:
        """The records, a checked table of some rows at a time, as `record_blocks` gives them."""
        return record_blocks(self.records, most_rows=most_rows, unplaced_gold=unplaced_gold)


def collect_answers(
    queries: object,
    target: Target | Callable[[str], Any],
    folder: str | Path,
    config: RunConfig | None = None,
    *,
    resume: bool = False,
    retry_failed: bool = False,
    sleep: Sleep | None = None,
) -> FinishedRun:
    """Ask a pipeline every query, and keep what it answers as records.

    Parameters
    ----------
    queries : path, frame, dict of lists, or list of dicts
        A row a query: id, question, and whatever else is known, as gold. A JSON Lines file is
        read line by line. The pipeline is shown the question, and of the rest what the target's
        settings name; never the gold.
    target : Target or callable
        What is asked, or a function of a question that returns the answer or a mapping with
        ``answer``, ``retrieved``, ``contexts``, ``citations``.
    folder : str or Path
        Where the run is kept: ``journal.jsonl`` while it goes on, then ``records.parquet`` (or
        ``.jsonl``) and ``run.json``.
    config : RunConfig, optional
        How fast, what is tried again, how many queries.
    resume : bool
        Whether to go on with the run that the folder holds: what is answered is not asked again.
    retry_failed : bool
        Whether to go on and ask the failed ones again too.
    sleep : callable, optional
        Waits so many seconds between attempts.

    Returns
    -------
    FinishedRun
        Where the records are, and how many have no answer.

    Raises
    ------
    DataError
        If the queries are wrong, the folder holds a run already or another one, or the disk is
        full.
    PipelineError
        If the pipeline cannot be asked, or too many queries in a row fail. What was answered
        before is kept.

    Notes
    -----
    An answer is in the journal before its thread asks the next: a process that is killed loses
    at most those in flight. It is handed to the operating system, not forced to the disk, so that
    a machine that loses its power may lose a little more.

    Examples
    --------
    >>> import tempfile
    >>> rows = [{"query_id": "a", "question": "Why?"}, {"query_id": "b", "question": "How?"}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     finished = collect_answers(rows, lambda question: f"{question} So.", folder)
    ...     finished.n_answered, finished.n_failed
    (2, 0)
    """
    config = config or RunConfig()
    kind = table_kind(config.table)
    asked = queries_of(queries)
    started = _Started(asked, sample_mask(len(asked), config.samples, config.seed), config)
    target = target if isinstance(target, Target) else FunctionTarget.of(target)
    with started.journal(target, Path(folder), resume or retry_failed) as journal:
        rows = started.waiting(journal, retry_failed)
        about = {} if not rows.any() else started.ask(target, journal, rows, sleep)
        return started.finish(journal, kind, about, int(rows.sum()))


def target_from(config: RunConfig) -> Target:
    """The target that a configuration names.

    Parameters
    ----------
    config : RunConfig
        With one section of settings, or several and a name.

    Raises
    ------
    UnknownNameError
        If no target has that name, or a setting is not known.
    DataError
        If a setting is wrong.

    Examples
    --------
    >>> settings = {"http": {"url": "http://localhost:8001/answer"}}
    >>> target_from(RunConfig(settings=settings)).identity()["method"]
    'POST'
    """
    name = config.target_name
    kind = TARGETS[name]
    return kind.of_settings(config.settings.get(name, {}), name)


@dataclass(frozen=True)
class _Started:
    """The queries of a run, and which of them are asked."""

    queries: Queries
    chosen: np.ndarray
    config: RunConfig

    def journal(self, target: Target, folder: Path, resume: bool) -> RunJournal:
        path = folder / JOURNAL
        if path.exists() and not resume:
            raise DataError(
                f"{folder} holds a run already: go on with it by resume=True, or choose another "
                "folder"
            )
        asked = {
            "the pipeline": target.identity(),
            "the queries": {"n": len(self.queries), "hash": self.queries.fingerprint},
            "samples": self.config.samples,
            "seed": self.config.seed,
        }
        header = {"id": uuid.uuid4().hex[:8], "created_at": _now(), "asked": asked}
        return RunJournal(path, header, len(self.queries))

    def waiting(self, journal: RunJournal, retry_failed: bool) -> np.ndarray:
        """Which queries are still to be asked."""
        done = journal.done & ~journal.failures if retry_failed else journal.done
        return np.asarray(self.chosen & ~done)

    def ask(
        self, target: Target, journal: RunJournal, rows: np.ndarray, sleep: Sleep | None
    ) -> dict[str, Any]:
        """Ask them, and say how the pipeline says it is set up."""
        asking = WorkerPool(target, self.config, sleep)
        try:
            target.prepare(self.config.concurrency)
            target.check()
            snapshot = target.snapshot()
            asking.warm_up(islice(self._those(self.chosen), self.config.warm_up))
            asking.ask_all(self._those(rows), journal, int(rows.sum()))
        except BaseException:
            journal.let_go()
            raise
        return snapshot

    def _those(self, mask: np.ndarray) -> Iterator[Query]:
        queries = islice(self.queries, len(self.queries))  # a file may have grown since
        return (query for query in queries if mask[query.row])

    def finish(
        self, journal: RunJournal, kind: str, about: dict[str, Any], n_new: int
    ) -> FinishedRun:
        folder = journal.path.parent
        records = write_records(folder, kind, self.queries, journal)
        failures = self._failures(journal)
        notes = self._notes(journal, failures)
        finished = FinishedRun(
            folder,
            records,
            journal.n_done,
            n_new,
            failures,
            notes,
            about or _earlier(folder),
            journal.header.get("created_at"),
        )
        document = self._document(finished, journal)
        text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
        write_atomically(folder / RUN, text + "\n")
        return finished

    def _failures(self, journal: RunJournal) -> dict[str, int]:
        rows = np.flatnonzero(journal.failures).tolist()
        kinds = Counter((journal.entry(row) or {}).get("error_kind", "") for row in rows)
        return dict(kinds.most_common())

    def _notes(self, journal: RunJournal, failures: dict[str, int]) -> tuple[str, ...]:
        notes = []
        if failures:
            told = ", ".join(f"{kind} {n}{_said(journal, kind)}" for kind, n in failures.items())
            notes.append(f"{sum(failures.values())} of {journal.n_done} have no answer: {told}")
        if journal.is_cut:
            notes.append("the journal ended in the middle of a line; that query was asked again")
        return tuple(notes)

    def _document(self, finished: FinishedRun, journal: RunJournal) -> dict[str, Any]:
        header, config = journal.header, self.config
        return {
            "id": header.get("id"),
            "name": config.name or f"eval-{header.get('id')}",
            "created_at": finished.created,
            "completed_at": _now(),
            "version": __version__,
            "config": finished.config,
            "target": header["asked"]["the pipeline"],
            "query_set": header["asked"]["the queries"],
            "about": config.about,
            "question_count": finished.n,
            "error_count": finished.n_failed,
            "errors": finished.failures,
            "records": finished.records.name,
            "notes": list(finished.notes),
            "metadata": {
                "samples": config.samples,
                "seed": config.seed,
                "concurrency": config.concurrency,
                "rate": config.rate,
                "warm_up": config.warm_up,
                "retries": asdict(config.retries),
            },
        }


def _said(journal: RunJournal, kind: str) -> str:
    """What a server said that refused; the word alone reads as if it had declined to answer."""
    if kind != "refused":
        return ""
    entries = (journal.entry(row) or {} for row in np.flatnonzero(journal.failures).tolist())
    first = next(one for one in entries if one.get("error_kind") == kind)
    return f" ({str(first.get('error')).removeprefix(f'{kind}: ')})"


def _earlier(folder: Path) -> dict[str, Any]:
    """How the pipeline was set up when the run was last written, where nothing was asked now."""
    try:
        found = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found.get("config", {}) if isinstance(found, dict) else {}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
