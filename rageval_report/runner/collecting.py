"""Collect the answers of a pipeline: ask every query, record each answer, write the records."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rageval_report._version import __version__
from rageval_report.errors import MOST_NAMED, DataError, is_doubt
from rageval_report.files.writing import write_atomically, write_with
from rageval_report.runner.asking import WorkerPool
from rageval_report.runner.query_source import (
    Queries,
    Query,
    asking_order,
    queries_of,
    sample_mask,
)
from rageval_report.runner.replies import doubts_about_replies
from rageval_report.runner.run_config import RunConfig
from rageval_report.runner.run_journal import RunJournal
from rageval_report.runner.targets import TARGETS, FunctionTarget, Target
from rageval_report.types import Sleep

JOURNAL, RUN = "journal.jsonl", "run.json"
RECORDS = "records.jsonl"
# The columns that a run fills, in order.
ANSWER_COLUMNS = (
    "answer retrieved retrieved_sections retrieved_scores retrieved_spans contexts citations "
    "cited_sections latency_ms prompt_tokens completion_tokens cost_usd model attempts asked_at "
    "error error_kind"
).split()
_ALWAYS = ("answer", "latency_ms", "error", "error_kind")


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
    ...     run.n_failed, run.n_answered
    (1, 0)
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


@dataclass(frozen=True)
class Stages:
    """The stages of a run that may end before all queries are asked.

    Parameters
    ----------
    sizes : sequence of int
        After how many queries, in a random order, is looked whether it is enough.
    watch : callable
        Takes the records of a stage, and returns whether it is enough.
    identity : mapping
        What must be equal when the run is resumed.
    """

    sizes: Sequence[int]
    watch: Callable[[Sequence[dict[str, Any]]], bool]
    identity: Mapping[str, Any] = field(default_factory=dict)


def collect_answers(
    queries: object,
    target: Target | Callable[[str], Any],
    folder: str | Path,
    config: RunConfig | None = None,
    *,
    resume: bool = False,
    retry_failed: bool = False,
    sleep: Sleep | None = None,
    stages: Stages | None = None,
) -> FinishedRun:
    """Ask a pipeline every query, and store its answers as records.

    Parameters
    ----------
    queries : path, frame, dict of lists, or list of dicts
        One row per query: id, question, and anything else, such as gold. The
        pipeline gets the question, and those other fields that the settings of the target name;
        never the gold.
    target : Target or callable
        The pipeline, or a function of a question that returns the answer or a mapping with
        ``answer``, ``retrieved``, ``contexts``, ``citations``.
    folder : str or Path
        The folder of the run: ``journal.jsonl`` is written during the run, ``records.jsonl`` and
        ``run.json`` at its end.
    config : RunConfig, optional
        The speed, the retries, the number of queries.
    resume : bool
        Whether to continue the run in the folder; queries with an entry are not asked again.
    retry_failed : bool
        Whether to continue the run in the folder and ask its failed queries again.
    sleep : callable, optional
        Waits the given number of seconds between attempts.
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
    source = queries_of(queries)
    # The sample is drawn before anything is written and again when resuming: same seed, same
    # queries.
    chosen = sample_mask(source, config.samples, config.seed)
    target = target if isinstance(target, Target) else FunctionTarget.of(target)
    run = _Run(source, chosen, config, stages, target)
    with run.open_journal(Path(folder), resume or retry_failed) as journal:
        done = journal.entries.keys() - (journal.failed if retry_failed else ())
        rows = np.asarray(chosen & ~journal.mask(done))
        pool = WorkerPool(target, config, journal, sleep)
        snapshot: dict[str, Any] = {}
        n_new = 0
        if rows.any() or stages is not None:
            snapshot, n_new = run.ask(pool, rows)
        return run.finish(journal, snapshot, n_new, pool.replies)


def target_from(config: RunConfig) -> Target:
    """Create the target of a configuration.

    Parameters
    ----------
    config : RunConfig
        The settings.

    Raises
    ------
    DataError
        If no target is named, a setting is wrong, or a key is missing.

    Examples
    --------
    >>> config = RunConfig(settings={"callable": {"function": "json:dumps"}})
    >>> target_from(config).identity()["function"]
    'json:dumps'
    """
    name = config.target_name
    return TARGETS[name].of_settings(config.sections.get(name, {}), name)


@dataclass(frozen=True)
class _Run:
    """The queries of a run, a mask of those that are asked, and how."""

    queries: Queries
    chosen: np.ndarray
    config: RunConfig
    stages: Stages | None
    target: Target

    def open_journal(self, folder: Path, resume: bool) -> RunJournal:
        path = folder / JOURNAL
        if path.exists() and not resume:
            raise DataError(
                f"{folder} already contains a run: continue it with resume=True, or choose another "
                "folder"
            )
        # What must be equal when a run is resumed. Speed and retries are left out, because they do
        # not change an answer.
        identity: dict[str, Any] = {
            "the pipeline": self.target.identity(),
            "the queries": {"n": len(self.queries), "hash": self.queries.fingerprint},
            "samples": self.config.samples,
            "seed": self.config.seed,
        }
        if self.stages is not None:
            identity["the stopping rules"] = dict(self.stages.identity)
        header = {"id": uuid.uuid4().hex[:8], "created_at": _now(), "asked": identity}
        journal = RunJournal(path, header, len(self.queries))
        n_lines = _earlier_document(folder).get("journal_lines")
        if type(n_lines) is int:
            journal.expect_lines(n_lines)
        return journal

    def ask(self, pool: WorkerPool, rows: np.ndarray) -> tuple[dict[str, Any], int]:
        """Ask the queries; the configuration that the pipeline reports, and how many were asked."""
        journal = pool.journal
        try:
            # A server that is down is reported as one error, not as failures of queries.
            self.target.check()
            snapshot = self.target.snapshot()
            n_new = 0
            for part in self._parts():
                todo = np.zeros_like(rows)
                todo[part] = rows[part]
                n_new += int(todo.sum())
                if todo.any():
                    chosen = (query for query in self.queries if todo[query.row])
                    pool.ask_all(chosen, int(todo.sum()))
                if self.stages is not None and self.stages.watch(self._records(part, journal)):
                    break
        # BaseException, because Ctrl-C before the first answer leaves an empty journal as well.
        except BaseException:
            # A run that could not begin must not occupy its folder.
            journal.delete_if_empty()
            raise
        return snapshot, n_new

    def _parts(self) -> list[np.ndarray]:
        """The rows that are asked one after the other: all at once, or stage by stage."""
        if self.stages is None:
            return [np.flatnonzero(self.chosen)]
        order = asking_order(self.queries.draw_keys, self.chosen, self.config.seed)
        return np.split(order, [size for size in self.stages.sizes if size < order.size])

    def _records(self, part: np.ndarray, journal: RunJournal) -> list[dict[str, Any]]:
        """The records of the queries of a stage, in the order of asking."""
        queries = [self.queries.rows[row] for row in part.tolist()]
        return [{**query.kept_fields(), **(journal.entry(query.row) or {})} for query in queries]

    def finish(
        self, journal: RunJournal, snapshot: dict[str, Any], n_new: int, replies: list[object]
    ) -> FinishedRun:
        """Write the records and ``run.json``."""
        folder = journal.path.parent
        earlier = _earlier_document(folder)
        kinds = (entry.get("error_kind", "") for entry in journal.failed.values())
        finished = FinishedRun(
            folder=folder,
            records=_write_records(folder / RECORDS, self.queries.rows, journal),
            n=journal.n_done,
            n_new=n_new,
            failures=dict(Counter(kinds).most_common()),
            notes=tuple(_notes(journal, replies, notes_of_run(folder))),
            config=snapshot or earlier.get("config", {}),
            created=journal.header.get("created_at"),
        )
        text = json.dumps(
            self._document(finished, journal), indent=2, ensure_ascii=False, default=str
        )
        # Written last, so that it never counts records that are not there yet; private, because it
        # holds the address of the pipeline and its configuration.
        write_atomically(folder / RUN, text + "\n", private=True)
        return finished

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
            "journal_lines": journal.n_lines,
            "notes": list(finished.notes),
            "metadata": {
                "samples": config.samples,
                "seed": config.seed,
                "concurrency": config.concurrency,
                "retries": config.retries,
            },
        }


def _write_records(path: Path, queries: Sequence[Query], journal: RunJournal) -> Path:
    """Write one row per query with an entry, atomically."""

    def write(temporary: str) -> None:
        with Path(temporary).open("w", encoding="utf-8") as file:
            for query in queries:
                entry = journal.entry(query.row)
                if entry is not None:
                    answered = {name: entry.get(name) for name in ANSWER_COLUMNS}
                    cells = {**query.kept_fields(), **answered}
                    row = {
                        name: cell
                        for name, cell in cells.items()
                        if cell is not None or name in _ALWAYS
                    }
                    file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")

    return write_with(path, write)


# -- notes


def _notes(journal: RunJournal, replies: list[object], earlier: Sequence[str]) -> Iterator[str]:
    """What a reader of the records should know."""
    if replies:
        yield from (doubt.note for doubt in doubts_about_replies(replies, journal.names))
    else:  # nothing was asked now, so what was seen earlier still holds
        yield from filter(is_doubt, earlier)
    failed = journal.failed.values()
    if failed:
        kinds = Counter(str(entry.get("error_kind", "")) for entry in failed).most_common()
        listed = ", ".join(f"{kind} {n}{_refusal(kind, failed)}" for kind, n in kinds)
        yield f"{len(failed)} of {journal.n_done} have no answer: {listed}"
    if journal.is_cut:
        yield "the journal ended in the middle of a line; that query was asked again"
    if journal.damage:
        rest = len(journal.damage) - MOST_NAMED
        listed = ", ".join(journal.damage[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
        yield f"{JOURNAL} is damaged: {listed}; what is lost was asked again"


def _refusal(kind: str, failed: Iterable[Mapping[str, Any]]) -> str:
    """The message of a server that refused; "refused" alone reads like a declined answer."""
    if kind != "refused":
        return ""
    first = next(entry for entry in failed if entry.get("error_kind") == kind)
    return f" ({str(first.get('error')).removeprefix(f'{kind}: ')})"


def notes_of_run(folder: Path) -> list[str]:
    """The notes of an earlier part of the run."""
    notes = _earlier_document(folder).get("notes", [])
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []


def _earlier_document(folder: Path) -> dict[str, Any]:
    try:
        document = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
