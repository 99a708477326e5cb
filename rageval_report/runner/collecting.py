"""Collect the answers of a pipeline: ask every query, record each answer, write the records."""

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
from rageval_report.errors import MOST_NAMED, DataError, is_doubt
from rageval_report.files.digests import file_digest, is_whole, sealed_document
from rageval_report.files.writing import write_atomically
from rageval_report.records.table import UnplacedGold
from rageval_report.runner.first_answers import CheckFirst, FirstAnswers
from rageval_report.runner.hidden_values import HIDDEN_VALUES, doubts_about_hidden
from rageval_report.runner.query_source import Queries, Query, queries_of, sample_mask
from rageval_report.runner.record_files import table_kind, write_records
from rageval_report.runner.reply_keys import (
    SampledReply,
    doubts_about_replies,
    notes_on_id_places,
)
from rageval_report.runner.run_blocks import record_blocks
from rageval_report.runner.run_config import RunConfig
from rageval_report.runner.run_journal import RunJournal
from rageval_report.runner.staged_asking import Stages
from rageval_report.runner.targets import TARGETS, Target
from rageval_report.runner.targets.functions import FunctionTarget
from rageval_report.runner.worker_threads import WorkerPool
from rageval_report.types import IndexArray, Sleep

JOURNAL, RUN = "journal.jsonl", "run.json"


@dataclass(frozen=True)
class FinishedRun:
    """The result of a run.

    Parameters
    ----------
    folder : Path
        The folder with the journal, the records and ``run.json``.
    records : Path
        The file of records, one row per query.
    n : int
        The number of queries that were asked, including earlier parts of the run.
    n_new : int
        The number of queries that were asked now.
    failures : dict of str to int
        The number of queries without an answer, by the kind of failure.
    notes : tuple of str
        What a reader of the records should know.
    config : dict
        The configuration that the pipeline reports; null where it does not report one.
    created : str
        The start of the run, ISO 8601.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     records = Path(folder, "records.jsonl")
    ...     _ = records.write_text('{"query_id": "a", "question": "Who?"}', encoding="utf-8")
    ...     run = FinishedRun(Path(folder), records, n=1, n_new=1, failures={"timeout": 1})
    ...     run.n_failed, run.n_answered, [len(block) for block in run.blocks()]
    (1, 0, [1])
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
        """The number of queries without an answer."""
        return sum(self.failures.values())

    @property
    def n_answered(self) -> int:
        """The number of queries with an answer."""
        return self.n - self.n_failed

    def blocks(
        self, *, most_rows: int = 1000, unplaced_gold: UnplacedGold = "error"
    ) -> Iterator[pd.DataFrame]:
        """The records in checked tables of limited length, as from `record_blocks`."""
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
    check_first: CheckFirst | None = None,
    stages: Stages | None = None,
) -> FinishedRun:
    """Ask a pipeline every query, and store its answers as records.

    Parameters
    ----------
    queries : path, frame, dict of lists, or list of dicts
        One row per query: id, question, and anything else, such as gold. A JSON Lines file is
        read line by line. The pipeline gets the question, and those other fields that the settings
        of the target name; never the gold.
    target : Target or callable
        The pipeline, or a function of a question that returns the answer or a mapping with
        ``answer``, ``retrieved``, ``contexts``, ``citations``.
    folder : str or Path
        The folder of the run: ``journal.jsonl`` is written during the run, ``records.parquet`` (or
        ``.jsonl``) and ``run.json`` at its end.
    config : RunConfig, optional
        The speed, the retries, the number of queries.
    resume : bool
        Whether to continue the run in the folder; queries with an entry are not asked again.
    retry_failed : bool
        Whether to continue the run in the folder and ask its failed queries again.
    sleep : callable, optional
        Waits the given number of seconds between attempts.
    check_first : callable, optional
        Takes the records of the first 20 answers, those of earlier parts of the run included, and
        the doubts about the keys of the replies; if it raises, nothing more is asked, and the
        answers so far are kept.
    stages : Stages, optional
        Queries are asked in a random order, in stages, until these say that it is enough. If
        omitted, all queries are asked in the order of the file.

    Returns
    -------
    FinishedRun
        The files of the run, and the number of failures.

    Raises
    ------
    DataError
        If the queries are invalid, the folder contains a run and neither `resume` nor
        `retry_failed` is set, that run had different settings, or the disk is full.
    PipelineError
        If the pipeline cannot be reached, or too many queries in a row fail. The answers so far
        are kept.

    Notes
    -----
    An answer is in the journal before its thread asks the next query: a process that is killed
    loses at most the answers in flight. The journal is not forced to the disk, so a power failure
    may lose a little more.

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
    source = queries_of(queries)
    # The sample is drawn before anything is written and again when resuming: same seed, same
    # queries.
    chosen = sample_mask(source, config.samples, config.seed)
    started = _StartedRun(source, chosen, config, stages)
    target = target if isinstance(target, Target) else FunctionTarget.of(target)
    with started.open_journal(target, Path(folder), resume or retry_failed) as journal:
        rows = started.find_unanswered(journal, retry_failed)
        samples: list[SampledReply] = []
        first = None if check_first is None else FirstAnswers(check_first, samples)
        snapshot: dict[str, Any] = {}
        n_new = 0
        if rows.any() or stages is not None:
            pool = WorkerPool(target, config, sleep, samples, first)
            snapshot, n_new = started.ask(pool, journal, rows)
        return started.finish(journal, kind, snapshot, n_new, samples)


def target_from(config: RunConfig) -> Target:
    """Create the target of a configuration.

    Parameters
    ----------
    config : RunConfig
        With the settings of one target, or of several and the name of one.

    Raises
    ------
    UnknownNameError
        If no target has that name, or a setting is not known.
    DataError
        If a setting has a wrong value.

    Examples
    --------
    >>> settings = {"http": {"url": "http://localhost:8001/answer"}}
    >>> target_from(RunConfig(settings=settings)).identity()["method"]
    'POST'
    """
    name = config.target_name
    kind = TARGETS[name]
    return kind.of_settings(config.sections.get(name, {}), name)


@dataclass(frozen=True)
class _StartedRun:
    """The queries of a run, and a mask of those that are asked."""

    queries: Queries
    chosen: np.ndarray
    config: RunConfig
    stages: Stages | None = None

    def open_journal(self, target: Target, folder: Path, resume: bool) -> RunJournal:
        path = folder / JOURNAL
        if path.exists() and not resume:
            raise DataError(
                f"{folder} already contains a run: continue it with resume=True, or choose another "
                "folder"
            )
        # What must be equal when a run is resumed. Speed and retries are left out, because they do
        # not change an answer.
        settings: dict[str, Any] = {
            "the pipeline": target.identity(),
            "the queries": {"n": len(self.queries), "hash": self.queries.fingerprint},
            "samples": self.config.samples,
            "seed": self.config.seed,
        }
        if self.stages is not None:
            settings["the stopping rules"] = dict(self.stages.identity)
        header = {"id": uuid.uuid4().hex[:8], "created_at": _now(), "asked": settings}
        journal = RunJournal(path, header, len(self.queries))
        n_lines = _earlier_document(folder).get("journal_lines")
        if type(n_lines) is int:
            journal.expect_lines(n_lines)
        return journal

    def find_unanswered(self, journal: RunJournal, retry_failed: bool) -> np.ndarray:
        """A mask of the queries that are still to be asked."""
        done = journal.done & ~journal.failures if retry_failed else journal.done
        return np.asarray(self.chosen & ~done)

    def ask(
        self,
        pool: WorkerPool,
        journal: RunJournal,
        rows: np.ndarray,
    ) -> tuple[dict[str, Any], int]:
        """Ask the queries; the configuration that the pipeline reports, and how many were asked."""
        target = pool.target
        if pool.first_answers is not None:
            self._add_earlier(pool.first_answers, journal)
        try:
            target.prepare(self.config.concurrency)
            # Before the warm-up, so that a server that is down is reported as one error, not as
            # failures of queries.
            target.check()
            snapshot = target.snapshot()
            pool.warm_up(islice(self._select_queries(self.chosen), self.config.warm_up))
            n_new = self._ask_in_stages(pool, journal, rows)
        # BaseException, because Ctrl-C before the first answer leaves an empty journal as well.
        except BaseException:
            # A run that could not begin must not occupy its folder.
            journal.delete_if_empty()
            raise
        return snapshot, n_new

    def _ask_in_stages(self, pool: WorkerPool, journal: RunJournal, rows: np.ndarray) -> int:
        """Ask all queries at once, or part after part until it is enough; returns how many."""
        if self.stages is None:
            pool.ask_all(self._select_queries(rows), journal, int(rows.sum()))
            return int(rows.sum())
        n_new = 0
        for part in self.stages.parts(self.queries.draw_keys, self.chosen, self.config.seed):
            in_part = np.zeros_like(rows)
            in_part[part] = True
            todo = in_part & rows
            if todo.any():
                pool.ask_all(self._select_queries(todo), journal, int(todo.sum()))
                n_new += int(todo.sum())
            if self.stages.watch(self._records_of(part, journal)):
                break
        return n_new

    def _records_of(self, part: IndexArray, journal: RunJournal) -> list[dict[str, Any]]:
        """The records of some queries, in the order of the rows."""
        in_part = np.zeros_like(self.chosen)
        in_part[part] = True
        records = {
            query.row: {**query.kept_fields(), **(journal.entry(query.row) or {})}
            for query in self._select_queries(in_part)
        }
        return [records[row] for row in part.tolist()]

    def _add_earlier(self, first: FirstAnswers, journal: RunJournal) -> None:
        """Add the answers of an earlier part of the run, which may be enough for the check."""
        answered = self._select_queries(self.chosen & journal.done & ~journal.failures)
        for query in islice(answered, first.n):
            first.add(query, journal.entry(query.row) or {})

    def _select_queries(self, mask: np.ndarray) -> Iterator[Query]:
        queries = islice(self.queries, len(self.queries))  # a file may have grown since
        return (query for query in queries if mask[query.row])

    def finish(
        self,
        journal: RunJournal,
        kind: str,
        snapshot: dict[str, Any],
        n_new: int,
        samples: list[SampledReply],
    ) -> FinishedRun:
        folder = journal.path.parent
        records = write_records(folder, kind, self.queries, journal)
        failures = self._failures(journal)
        doubts = [doubt.note for doubt in doubts_about_replies(samples, journal.names)]
        if not samples:  # nothing was asked now, so what was seen earlier still holds
            doubts = [note for note in notes_of_run(folder) if _is_about_replies(note)]
        places = notes_on_id_places(samples) if samples else _earlier_notes_on_places(folder)
        notes = (*doubts, *self._doubts_about_hidden(journal), *places)
        notes += self._notes(journal, failures)
        finished = FinishedRun(
            folder,
            records,
            journal.n_done,
            n_new,
            failures,
            notes,
            snapshot or _earlier_snapshot(folder),
            journal.header.get("created_at"),
        )
        document = self._document(finished, journal)
        # Written last, so that it never counts records that are not there yet; private, because it
        # holds the address of the pipeline and its configuration.
        sealed = sealed_document(document)
        text = json.dumps(sealed, indent=2, ensure_ascii=False, default=str)
        write_atomically(folder / RUN, text + "\n", private=True)
        return finished

    def _failures(self, journal: RunJournal) -> dict[str, int]:
        rows = np.flatnonzero(journal.failures).tolist()
        kinds = Counter((journal.entry(row) or {}).get("error_kind", "") for row in rows)
        return dict(kinds.most_common())

    def _doubts_about_hidden(self, journal: RunJournal) -> list[str]:
        if HIDDEN_VALUES not in journal.names:
            return []
        answered = np.flatnonzero(journal.done & ~journal.failures).tolist()
        entries = (journal.entry(row) or {} for row in answered)
        return [doubt.note for doubt in doubts_about_hidden(entries)]

    def _notes(self, journal: RunJournal, failures: dict[str, int]) -> tuple[str, ...]:
        notes = []
        if failures:
            kinds = ", ".join(
                f"{kind} {n}{_refusal(journal, kind)}" for kind, n in failures.items()
            )
            notes.append(f"{sum(failures.values())} of {journal.n_done} have no answer: {kinds}")
        if journal.is_cut:
            notes.append("the journal ended in the middle of a line; that query was asked again")
        if journal.damage:
            notes.append(
                f"{JOURNAL} is damaged: {_first_of(journal.damage)}; what is lost was asked again"
            )
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
            # With these, records that changed and lines that are cut off can be found.
            "records_digest": file_digest(finished.records),
            "journal_lines": journal.n_lines,
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


def _is_about_replies(note: str) -> bool:
    # What was hidden is in the journal, and is counted anew.
    return is_doubt(note) and not note.endswith(f"[{HIDDEN_VALUES}]")


def _refusal(journal: RunJournal, kind: str) -> str:
    """The message of a server that refused; "refused" alone reads like a declined answer."""
    if kind != "refused":
        return ""
    entries = (journal.entry(row) or {} for row in np.flatnonzero(journal.failures).tolist())
    first = next(entry for entry in entries if entry.get("error_kind") == kind)
    return f" ({str(first.get('error')).removeprefix(f'{kind}: ')})"


def _earlier_notes_on_places(folder: Path) -> list[str]:
    """The notes of an earlier part of the run on where ids were read."""
    return [note for note in notes_of_run(folder) if note.startswith("ids: ")]


def notes_of_run(folder: Path) -> list[str]:
    """The notes of an earlier part of the run."""
    notes = _earlier_document(folder).get("notes", [])
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []


def _earlier_snapshot(folder: Path) -> dict[str, Any]:
    """The configuration that was reported earlier; needed if nothing was asked now."""
    config: dict[str, Any] = _earlier_document(folder).get("config", {})
    return config


def _earlier_document(folder: Path) -> dict[str, Any]:
    try:
        document = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    # What a damaged file says is not taken over; the journal has everything but the snapshot.
    return document if isinstance(document, dict) and is_whole(document) is not False else {}


def _first_of(problems: list[str]) -> str:
    rest = len(problems) - MOST_NAMED
    return ", ".join(problems[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
