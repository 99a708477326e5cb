"""A command as a target: it reads one JSON object per line, and writes one line for each."""

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
_STDERR_SHOWN = 300  # the last bytes of standard error that an error message quotes
_GRACE_PERIOD = 5.0  # seconds that a process has to end by itself


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
    """

    line: str | tuple[str, ...]
    response: ResponsePaths = field(default_factory=ResponsePaths)
    fields: tuple[str, ...] = ()
    timeout: float = 60.0
    max_bytes: int = MOST_BYTES


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
        self._processes: list[_Process] = []

    def ask(self, query: Query) -> TargetReply:
        """Write the question, and read the answer."""
        request = json.dumps(query.request_fields(self._settings.fields), default=str)
        process = self._running_process()
        started = time.perf_counter()
        try:
            line, first = process.answer(request)
        except TargetError:
            self._end(process)
            raise
        latency_ms = 1000 * (time.perf_counter() - started)
        document = _document(line)
        return TargetReply(
            *(record_fields(document, self._settings.response), latency_ms, first),
            document=document,
        )

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
        """End all processes."""
        for process in list(self._processes):
            self._end(process)

    def _running_process(self) -> _Process:
        running: _Process | None = getattr(self._local, "process", None)
        if running is None or running.is_over:
            running = self._local.process = _Process(self._words, self._settings)
            self._processes.append(running)
        return running

    def _end(self, process: _Process) -> None:
        process.close()
        with contextlib.suppress(ValueError):
            self._processes.remove(process)


class _Process:
    """One process, whose answers are read with a time limit."""

    def __init__(self, words: list[str], settings: CommandSettings):
        self._settings = settings
        # A file, not a pipe: a pipe that nobody reads fills up after 64 KB and stops the command.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        self.is_over = False
        try:
            self._process = subprocess.Popen(  # noqa: S603  (the user's own command, no shell)
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                bufsize=0,
                start_new_session=True,  # Ctrl-C must reach only the runner, which ends the process
            )
        except OSError as exc:
            self._stderr.close()
            raise PipelineError(f"{words[0]} cannot be started: {exc.strerror or exc}") from exc

    def answer(self, line: str) -> tuple[bytes, float]:
        """The line that it writes, and the milliseconds to its first byte."""
        started = time.monotonic()
        deadline = started + self._settings.timeout
        stdin, stdout = _pipe(self._process.stdin), _pipe(self._process.stdout)
        try:
            stdin.write(line.encode() + b"\n")
        except OSError as exc:
            raise self._exit_error() from exc
        received, first = bytearray(), None
        while not received.endswith(b"\n"):
            received += self._read_piece(stdout, deadline)
            first = first or 1000 * (time.monotonic() - started)
            if len(received) > self._settings.max_bytes:
                limit = self._settings.max_bytes
                raise TargetError(f"the answer is larger than max_bytes={limit:,} bytes", "size")
        # A second line would be taken for the answer to the next question.
        if received.count(b"\n") > 1:
            raise TargetError("expected one line per question; got several", "content")
        return bytes(received), first or 0.0

    def _read_piece(self, stdout: IO[bytes], deadline: float) -> bytes:
        # A read of a pipe has no time limit of its own.
        ready, _, _ = select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            message = f"no complete answer within timeout={self._settings.timeout:g} seconds"
            raise TargetError(message, "timeout")
        # os.read returns what is there; a file's read would wait for the full size.
        piece = os.read(stdout.fileno(), _PIECE)
        if not piece:
            raise self._exit_error()
        return piece

    def _exit_error(self) -> TargetError:
        try:
            code = self._process.wait(_GRACE_PERIOD)
        except subprocess.TimeoutExpired:
            return TargetError("the command closed its output", "exited")
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - _STDERR_SHOWN))
        output = " ".join(self._stderr.read().decode("utf-8", "replace").split())
        message = f"the command ended with exit code {code}" + (output and f": {output}")
        return TargetError(message, "exited")

    def close(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        with contextlib.suppress(OSError):
            # End of input is the polite way to end a filter; the signals follow for those that
            # ignore it.
            _pipe(self._process.stdin).close()
        self._process.terminate()
        try:
            self._process.wait(_GRACE_PERIOD)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()
        self._stderr.close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise TypeError("the process has no pipe")
    return stream


def _document(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as exc:
        quoted = line[:80].decode("utf-8", "replace").strip()
        raise TargetError(f"expected one JSON object per line; got {quoted!r}", "content") from exc
