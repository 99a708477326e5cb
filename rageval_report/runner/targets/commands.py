"""A command as a target: it reads one JSON object per line, and writes one line for each."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from rageval_report.errors import DataError, PipelineError
from rageval_report.files.strict_json import load_json
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import ResponsePaths, TargetReply, record_fields
from rageval_report.runner.target_errors import TargetError
from rageval_report.runner.targets.base import MOST_BYTES, Target, digest_of
from rageval_report.runner.targets.processes import LineProcess, end_processes


@dataclass(frozen=True)
class CommandSettings:
    """How a command is run.

    Parameters
    ----------
    line : str or tuple of str
        The command and its arguments; it is not run in a shell.
    response : ResponsePaths
        The paths of the fields in its replies.
    fields : tuple of str
        Names of metadata that it gets besides ``query_id`` and ``question``.
    timeout : float
        Seconds that a query may take; then the process is ended, and started again.
    max_bytes : int, default 10 MB
        A line that is longer is a failure.
    grace_period : float
        Seconds that the process has to end after SIGTERM; then it is killed, with all processes
        that it started.
    """

    line: str | tuple[str, ...]
    response: ResponsePaths = field(default_factory=ResponsePaths)
    fields: tuple[str, ...] = ()
    timeout: float = 60.0
    max_bytes: int = MOST_BYTES
    grace_period: float = 5.0


class CommandTarget(Target):
    """A command that is started once per thread, and asked line by line.

    Parameters
    ----------
    settings : CommandSettings
        How it is run.

    Raises
    ------
    DataError
        If the line names no command.

    Examples
    --------
    >>> line = ("python3", "-uc", "while input(): print('[]')")
    >>> with CommandTarget(CommandSettings(line)) as target:
    ...     target.ask(Query(0, "a", "Why?", {}))
    Traceback (most recent call last):
    ...
    rageval_report.runner.target_errors.TargetError: expected a text or an object; got []
    """

    settings_type = CommandSettings

    def __init__(self, settings: CommandSettings):
        line = settings.line
        try:
            self._words = shlex.split(line) if isinstance(line, str) else list(line)
        except ValueError as exc:
            raise DataError(f"line: the command {line!r} cannot be parsed: {exc}") from exc
        if not self._words:
            raise DataError("line must be a command, e.g. 'python my_rag.py'; it is empty")
        self._settings = settings
        # A process per thread: lines of several threads on one pipe would mix.
        self._local = threading.local()
        self._processes: list[LineProcess] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def ask(self, query: Query) -> TargetReply:
        """Write the question, and read the answer."""
        request = json.dumps(query.request_fields(self._settings.fields), default=str)
        process = self._running_process()
        started = time.perf_counter()
        try:
            line, first = process.answer(request.encode(), self._settings.timeout)
            latency_ms = 1000 * (time.perf_counter() - started)
            document = _document(line)
            _check_query_id(document, query)
        except TargetError:
            # What it writes next may belong to this question, and be taken for the next answer.
            self._end(process)
            raise
        fields = record_fields(document, self._settings.response)
        return TargetReply(fields, latency_ms, 1000 * first, document=document)

    def identity(self) -> dict[str, Any]:
        """The name of the command, and a digest of its arguments, which may contain keys."""
        settings = self._settings
        digest = digest_of(self._words, asdict(settings.response), settings.fields)
        return {"target": "command", "command": self._words[0], "settings": digest}

    def check(self) -> None:
        """Check that the command exists."""
        if shutil.which(self._words[0]) is None:
            raise PipelineError(f"the command {self._words[0]!r} does not exist; check its path")

    def close(self) -> None:
        """End all processes; no further question can be asked."""
        with self._lock:
            self._is_closed = True
        end_processes(list(self._processes))
        self._processes.clear()

    def _running_process(self) -> LineProcess:
        running: LineProcess | None = getattr(self._local, "process", None)
        if running is not None and not running.is_over:
            return running
        settings = self._settings
        # With the lock, so that no thread starts one while `close` ends them.
        with self._lock:
            if self._is_closed:
                raise TargetError("the command was ended", "exited")
            running = LineProcess(
                self._words, max_bytes=settings.max_bytes, grace_period=settings.grace_period
            )
            self._processes.append(running)
        self._local.process = running
        return running

    def _end(self, process: LineProcess) -> None:
        end_processes([process])
        with contextlib.suppress(ValueError):
            self._processes.remove(process)


def _document(line: bytes) -> Any:
    try:
        return load_json(line)
    except (ValueError, RecursionError) as exc:
        quoted = line[:80].decode("utf-8", "replace").strip()
        raise TargetError(f"expected one JSON object per line; got {quoted!r}", "content") from exc


def _check_query_id(document: Any, query: Query) -> None:
    """Check the id in an answer, if it has one: a command that loses a line answers the wrong one.

    Raises
    ------
    TargetError
        If it is not the id of the query.
    """
    answered = document.get("query_id") if isinstance(document, dict) else None
    if answered is not None and str(answered) != query.query_id:
        raise TargetError(
            f"the answer is for the query_id {str(answered)[:80]!r}; expected {query.query_id!r}",
            "content",
        )
