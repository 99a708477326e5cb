"""A command as a target: it reads one JSON object per line, and writes one line for each.

The command runs in a process group of its own, so that Ctrl-C reaches only the runner, and so that
the processes that it starts end with it. Threads read its pipes, so that a deadline always holds.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import selectors
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from rageval_report.errors import DataError, PipelineError
from rageval_report.files.strict_json import load_json
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import ResponsePaths, TargetError, TargetReply, record_fields
from rageval_report.runner.targets import MOST_BYTES, Target, digest_of

_MESSAGES_SHOWN = 300  # the last bytes of standard error that an error message quotes
_LINE_SHOWN = 80
# Seconds between two looks at whether the process has ended: one that left its pipes to another
# process never closes them, and no pipe would tell.
_STEP = 0.1
_SHORTLY = 0.001
_PIECE = 1 << 16
_ADVICE = "Standard output is for answers only: let it write everything else to standard error"


@dataclass(frozen=True)
class CommandSettings:
    """How a command is run.

    Parameters
    ----------
    line : str or tuple of str
        The command, e.g. "python my_rag.py"; it is not run by a shell.
    response : ResponsePaths
        Where the fields are in an answer.
    fields : tuple of str
        The metadata that is sent besides ``query_id`` and ``question``.
    timeout : float, default 60
        Seconds that one answer may take.
    max_bytes : int, default 10 MB
        A larger answer is a failure.
    grace_period : float, default 5
        Seconds that the command has to end by itself after SIGTERM.

    Examples
    --------
    >>> CommandSettings("python my_rag.py", timeout=30.0).grace_period
    5.0
    """

    line: str | tuple[str, ...]
    response: ResponsePaths = field(default_factory=ResponsePaths)
    fields: tuple[str, ...] = ()
    timeout: float = 60.0
    max_bytes: int = MOST_BYTES
    grace_period: float = 5.0


class CommandTarget(Target):
    """A command that is started once per thread, and asked line by line."""

    settings_type = CommandSettings

    def __init__(self, settings: CommandSettings):
        line = settings.line
        try:
            self._words = shlex.split(line) if isinstance(line, str) else [*line]
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
            line = process.answer(request.encode(), self._settings.timeout)
            latency_ms = 1000 * (time.perf_counter() - started)
            document = _parse_answer(line, query)
        except TargetError:
            # What it writes next may belong to this question, and be taken for the next answer.
            end_processes([process])
            with contextlib.suppress(ValueError):
                self._processes.remove(process)
            raise
        fields = record_fields(document, self._settings.response)
        return TargetReply(fields, latency_ms, document)

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
        # With the lock, so that no thread starts one while `close` ends them.
        with self._lock:
            if self._is_closed:
                raise TargetError("the command was ended", "exited")
            running = LineProcess(self._words, self._settings)
            self._processes.append(running)
        self._local.process = running
        return running


def _parse_answer(line: bytes, query: Query) -> Any:
    try:
        document = load_json(line)
    except (ValueError, RecursionError) as exc:
        message = f"expected one JSON object per line; got {_quote(line)}"
        raise TargetError(message, "content") from exc
    # A command that loses a line answers the wrong question.
    answered = document.get("query_id") if isinstance(document, dict) else None
    if answered is not None and str(answered) != query.query_id:
        raise TargetError(
            f"the answer is for the query_id {str(answered)[:80]!r}; expected {query.query_id!r}",
            "content",
        )
    return document


def _quote(line: bytes) -> str:
    return repr(line[:_LINE_SHOWN].decode("utf-8", "replace").strip())


class LineProcess:
    """A running command that reads one line per question, and writes one line per answer."""

    def __init__(self, words: Sequence[str], settings: CommandSettings):
        self.grace_period, self._max_bytes = settings.grace_period, settings.max_bytes
        self.is_over = False  # ended, or about to be: it cannot be asked again
        try:
            self._process = subprocess.Popen(  # noqa: S603  (the user's own command, no shell)
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # Windows alone
            )
        except OSError as exc:
            raise PipelineError(f"{words[0]} cannot be started: {exc.strerror or exc}") from exc
        # Few, so that a command that writes without end waits for us.
        self._lines: queue.Queue[bytes | None] = queue.Queue(2)
        self._messages = b""
        self._under_way: set[IO[bytes]] = set()  # pipes of which a thread holds what it read
        self._is_gone = False  # killed, with all that its group held
        self._writer: threading.Thread | None = None
        self._readers = [
            _run(self._read_lines, self._process.stdout),
            _run(self._read_messages, self._process.stderr),
        ]

    def answer(self, line: bytes, timeout: float) -> bytes:
        """The line that the process writes for a line.

        Raises
        ------
        TargetError
            If it ends, is too late, or writes anything but one line of limited length.
        """
        deadline = time.monotonic() + timeout
        while self._lines.empty() and self._has_unread() and time.monotonic() < deadline:
            time.sleep(_SHORTLY)
        if not self._lines.empty():
            unasked = self._lines.get()
            if unasked is None:
                raise self._exit_error(deadline)
            raise TargetError(
                "expected one line per question; the command wrote more after its answer: "
                f"{_quote(unasked)}. {_ADVICE}",
                "content",
            )
        self._writer = _run(self._write, line + b"\n")  # it blocks if the command does not read
        received = self._next_line(deadline, timeout)
        if received is None or not (received.endswith(b"\n") or len(received) > self._max_bytes):
            raise self._exit_error(deadline)
        if len(received) > self._max_bytes:
            message = f"the answer is larger than max_bytes={self._max_bytes:,} bytes"
            raise TargetError(message, "size")
        if not self._lines.empty() and (more := self._lines.get()) is not None:
            raise TargetError(
                f"expected one line per question; got several, the second {_quote(more)}. "
                f"{_ADVICE}",
                "content",
            )
        return received

    def _next_line(self, deadline: float, timeout: float) -> bytes | None:
        """The next line; None if the process has ended."""
        while (left := deadline - time.monotonic()) > 0:
            # What it wrote just before it ended comes first.
            has_ended = self._process.poll() is not None
            with contextlib.suppress(queue.Empty):
                return self._lines.get(timeout=min(left, _STEP))
            if self.is_over:
                raise TargetError("the command was ended", "exited")
            if has_ended:
                return None
        is_unread = self._writer is not None and self._writer.is_alive()
        unread = "; the command has not read the whole question" if is_unread else ""
        message = f"no complete answer within timeout={timeout:g} seconds{unread}"
        raise TargetError(message, "timeout")

    def _exit_error(self, deadline: float) -> TargetError:
        """The error of a process that has closed its output; it mostly ends at once."""
        self.is_over = True
        try:
            code = self._process.wait(max(0.0, min(self.grace_period, deadline - time.monotonic())))
        except subprocess.TimeoutExpired:
            return TargetError("the command closed its output", "exited")
        self._readers[1].join(_STEP)
        output = " ".join(self._messages.decode("utf-8", "replace").split())
        message = f"the command ended with exit code {code}"
        return TargetError(message + (output and f": {output}"), "exited")

    def _write(self, line: bytes) -> None:
        stream = self._process.stdin
        with contextlib.suppress(OSError, ValueError):  # it reads no further, but may say why
            if stream is not None:
                stream.write(line)
                stream.flush()

    def _has_unread(self) -> bool:
        """Whether a thread has yet to read, or to hand on, what the command has written."""
        stream = self._process.stdout
        if stream is None or os.name == "nt":
            return False
        with contextlib.suppress(ValueError), selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            # In this order: what was read a moment ago is known to be under way.
            return bool(selector.select(0)) or stream in self._under_way
        return False  # the stream is closed

    def _pieces(self, stream: IO[bytes]) -> Iterator[bytes]:
        """What comes through a pipe, until it is closed or the process is gone."""
        with stream, selectors.DefaultSelector() as selector:
            if os.name != "nt":  # where a read cannot be left
                selector.register(stream, selectors.EVENT_READ)
            while True:
                self._under_way.discard(stream)
                while selector.get_map() and not selector.select(_STEP):
                    if self._is_gone:
                        return
                self._under_way.add(stream)
                piece = os.read(stream.fileno(), _PIECE)
                if not piece or self._is_gone:
                    return
                yield piece

    def _read_lines(self, stream: IO[bytes]) -> None:
        received = bytearray()
        for piece in self._pieces(stream):
            received += piece
            if b"\n" in piece:
                *lines, rest = received.split(b"\n")
                for line in lines:
                    self._put(bytes(line) + b"\n")
                received = bytearray(rest)
            if len(received) > self._max_bytes:
                break
        if received:
            self._put(bytes(received))
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        while not self.is_over:
            with contextlib.suppress(queue.Full):
                self._lines.put(line, timeout=_STEP)
                return

    def _read_messages(self, stream: IO[bytes]) -> None:
        """Read standard error: messages that nobody reads would stop the process after 64 KB."""
        for piece in self._pieces(stream):
            self._messages = (self._messages + piece)[-_MESSAGES_SHOWN:]

    def tell_to_end(self) -> None:
        """Ask it to end, and the processes that it started; a thread that waits for it stops."""
        self.is_over = True
        self._close_input()
        self._signal(signal.SIGTERM)

    def _close_input(self) -> None:
        # While a thread writes, closing would wait for it.
        if self._process.stdin and not (self._writer and self._writer.is_alive()):
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def end(self, deadline: float) -> None:
        """Wait until it has ended, and kill it if it has not before the deadline."""
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(max(0.0, deadline - time.monotonic()))
        finally:  # also after Ctrl-C; those that it started may still run although it has ended
            self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(self.grace_period)
            self._is_gone = True
            for thread in (self._writer, *self._readers):
                if thread is not None:
                    thread.join(3 * _STEP)
            self._close_input()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):  # all of them have ended
            if os.name == "nt":  # has neither groups nor signals that a process can handle
                self._process.kill()
            else:
                os.killpg(self._process.pid, number)


def end_processes(processes: Iterable[LineProcess]) -> None:
    """End processes, all at the same time: by SIGTERM, and after their grace period by SIGKILL."""
    running = list(processes)
    for process in running:
        process.tell_to_end()
    started = time.monotonic()
    with contextlib.ExitStack() as stack:  # none may stay behind, whatever interrupts
        for process in running:
            stack.callback(process.end, started + process.grace_period)


def _run(function: Any, argument: object) -> threading.Thread:
    # A daemon, because a pipe that another process holds may never be closed.
    thread = threading.Thread(target=function, args=(argument,), daemon=True)
    thread.start()
    return thread
