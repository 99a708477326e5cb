"""A command as a target: it reads a JSON object a line, and writes one back for each."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from rageval_report.errors import DataError, PipelineError
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import ResponsePaths, TargetReply, record_fields
from rageval_report.runner.target_errors import TargetError
from rageval_report.runner.targets.base import MOST_BYTES, Target, digest_of

_PIECE = 1 << 16
_LAST_WORDS = 300
_PATIENCE = 5.0  # seconds that a process gets to end by itself


@dataclass(frozen=True)
class CommandSettings:
    """How a command is run.

    Parameters
    ----------
    line : str or tuple of str
        The command and its arguments; no shell is between.
    response : ResponsePaths
        Where the fields stand in what it writes.
    fields : tuple of str
        Names of metadata that it is told beside ``query_id`` and ``question``.
    timeout : float
        Seconds that a query may take; the process is ended then, and started again.
    max_bytes : int, default 10 MB
        A line that is longer is a failure.
    """

    line: str | tuple[str, ...]
    response: ResponsePaths = field(default_factory=ResponsePaths)
    fields: tuple[str, ...] = ()
    timeout: float = 60.0
    max_bytes: int = MOST_BYTES


class CommandTarget(Target):
    """A command that is started once a thread, and asked line by line.

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
            raise DataError(f"the command {line!r} cannot be read: {exc}") from exc
        if not self._words:
            raise DataError("expected a command, as 'python my_rag.py'; got none")
        self._settings = settings
        self._here = threading.local()
        self._all: list[_Process] = []

    def ask(self, query: Query) -> TargetReply:
        """Write the question, read the answer."""
        told = json.dumps(query.request_fields(self._settings.fields), default=str)
        process = self._process()
        started = time.perf_counter()
        try:
            line, first = process.answer(told)
        except TargetError:
            self._let_go(process)
            raise
        latency_ms = 1000 * (time.perf_counter() - started)
        return TargetReply(
            record_fields(_document(line), self._settings.response), latency_ms, first
        )

    def identity(self) -> dict[str, Any]:
        """The command's name; of its arguments, which may hold keys, a digest."""
        told = self._settings
        digest = digest_of(self._words, asdict(told.response), told.fields)
        return {"target": "command", "command": self._words[0], "settings": digest}

    def check(self) -> None:
        """Look whether there is such a command."""
        if shutil.which(self._words[0]) is None:
            raise PipelineError(f"no command is named {self._words[0]!r}; is the path right?")

    def close(self) -> None:
        """End all processes."""
        for process in list(self._all):
            self._let_go(process)

    def _process(self) -> _Process:
        running: _Process | None = getattr(self._here, "process", None)
        if running is None or running.is_over:
            running = self._here.process = _Process(self._words, self._settings)
            self._all.append(running)
        return running

    def _let_go(self, process: _Process) -> None:
        process.close()
        with contextlib.suppress(ValueError):
            self._all.remove(process)


class _Process:
    """One process, its answers read with a time limit."""

    def __init__(self, words: list[str], settings: CommandSettings):
        self._settings = settings
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        self.is_over = False
        try:
            self._process = subprocess.Popen(  # noqa: S603  (the user's own command, no shell)
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                bufsize=0,
                start_new_session=True,  # Ctrl-C is for the runner, which ends it in good order
            )
        except OSError as exc:
            self._said.close()
            raise PipelineError(f"{words[0]} cannot be started: {exc.strerror or exc}") from exc

    def answer(self, line: str) -> tuple[bytes, float]:
        """The line that it writes back, and the milliseconds to its first byte."""
        started = time.monotonic()
        deadline = started + self._settings.timeout
        stdin, stdout = _pipe(self._process.stdin), _pipe(self._process.stdout)
        try:
            stdin.write(line.encode() + b"\n")
        except OSError as exc:
            raise self._exited() from exc
        found, first = bytearray(), None
        while not found.endswith(b"\n"):
            found += self._piece(stdout, deadline)
            first = first or 1000 * (time.monotonic() - started)
            if len(found) > self._settings.max_bytes:
                limit = self._settings.max_bytes
                raise TargetError(f"the answer is larger than max_bytes={limit:,} bytes", "size")
        if found.count(b"\n") > 1:
            raise TargetError("expected one line for a question; got several", "content")
        return bytes(found), first or 0.0

    def _piece(self, stdout: IO[bytes], deadline: float) -> bytes:
        ready, _, _ = select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            told = f"no whole answer within timeout={self._settings.timeout:g} seconds"
            raise TargetError(told, "timeout")
        piece = os.read(stdout.fileno(), _PIECE)
        if not piece:
            raise self._exited()
        return piece

    def _exited(self) -> TargetError:
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return TargetError("the command closed its output", "exited")
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - _LAST_WORDS))
        said = " ".join(self._said.read().decode("utf-8", "replace").split())
        return TargetError(f"the command ended with {code}" + (said and f": {said}"), "exited")

    def close(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        with contextlib.suppress(OSError):
            _pipe(self._process.stdin).close()
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()
        self._said.close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise TypeError("a process that is asked has pipes")
    return stream


def _document(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as exc:
        shown = line[:80].decode("utf-8", "replace").strip()
        raise TargetError(f"expected a JSON object a line; got {shown!r}", "content") from exc
