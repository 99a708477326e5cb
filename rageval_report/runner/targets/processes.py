"""A process that is asked line by line, and that is never waited for beyond a deadline.

A pipe holds 64 KB on Linux. A process that writes before it reads would wait for its reader while
its reader waits for it, so both directions are served by one loop, which never blocks on a pipe.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Collection, Sequence
from typing import IO, Protocol

from rageval_report.errors import PipelineError
from rageval_report.runner.target_errors import TargetError

_PIECE = 1 << 16
_MESSAGES_SHOWN = 300  # the last bytes of standard error that an error message quotes
_LINE_SHOWN = 80  # the bytes of an unexpected line that an error message quotes
# Seconds between two looks at whether the process has ended: one that left its pipes to another
# process never closes them, and no pipe would tell.
_STEP = 0.1
_ADVICE = "Standard output is for answers only: let it write everything else to standard error"


class LineProcess:
    r"""A running command that reads one line per question, and writes one line per answer.

    Parameters
    ----------
    words : sequence of str
        The command and its arguments; it is not run in a shell.
    max_bytes : int
        An answer that is longer is a failure.
    grace_period : float
        Seconds that the process has to end by itself.

    Raises
    ------
    PipelineError
        If it cannot be started.

    Examples
    --------
    >>> process = LineProcess(["cat"], max_bytes=100, grace_period=1.0)
    >>> process.answer(b"Why?", timeout=60.0)[0]
    b'Why?\n'
    >>> end_processes([process])
    """

    def __init__(self, words: Sequence[str], *, max_bytes: int, grace_period: float):
        self.grace_period = grace_period
        self.is_over = False  # ended, or about to be: it cannot be asked again
        self._max_bytes = max_bytes
        self._lock = threading.Lock()  # held while a question is answered
        self._process = _start(words)
        self._input = open_end(_pipe(self._process.stdin), is_input=True)
        self._output = open_end(_pipe(self._process.stdout))
        self._messages_end = open_end(_pipe(self._process.stderr))
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ, self._read_output)
        self._selector.register(self._messages_end, selectors.EVENT_READ, self._read_messages)
        self._unsent = memoryview(b"")
        self._received, self._messages = bytearray(), bytearray()
        self._deadline = math.inf

    def answer(self, line: bytes, timeout: float) -> tuple[bytes, float]:
        """The line that the process writes for a line, and the seconds to its first byte.

        Parameters
        ----------
        line : bytes
            The question, without a line feed.
        timeout : float
            Seconds for writing the question and reading the answer together.

        Raises
        ------
        TargetError
            If it has no complete answer in time, the answer is too long or not one line, or the
            process ends. It must then not be asked again: a late line would be taken for the answer
            to the next question.
        """
        with self._lock:
            started = time.monotonic()
            self._deadline = started + timeout
            self._refuse_unasked_output()
            self._unsent = memoryview(line + b"\n")
            self._selector.register(self._input, selectors.EVENT_WRITE, self._write_input)
            first = None
            try:
                # A read takes at most one piece, so that a line feed can only be in the last one.
                while b"\n" not in self._received[-_PIECE:]:
                    self._serve_pipes(timeout)
                    if first is None and self._received:
                        first = time.monotonic() - started
            finally:
                self._stop_writing()
            return self._take_line(), first or 0.0

    def _refuse_unasked_output(self) -> None:
        """Raise an error if there is output that no question asked for."""
        self._serve_ready(0)
        if self._received:
            raise TargetError(
                "expected one line per question; the command wrote more after its answer: "
                f"{_quote(self._received)}. {_ADVICE}",
                "content",
            )

    def _serve_pipes(self, timeout: float) -> None:
        """Write and read what is possible now, or wait for it, at most for one step."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            n = len(self._unsent)
            unread = f"; the command has not read the last {n:,} bytes of the question" if n else ""
            message = f"no complete answer within timeout={timeout:g} seconds{unread}"
            raise TargetError(message, "timeout")
        is_served = self._serve_ready(min(left, _STEP))
        if self.is_over:
            raise TargetError("the command was ended", "exited")
        has_ended = not is_served and self._process.poll() is not None
        # What it wrote just before it ended comes first.
        if has_ended and not self._serve_ready(self._output.delay):
            raise self._exit_error()
        if len(self._received) > self._max_bytes:
            limit = f"max_bytes={self._max_bytes:,} bytes"
            raise TargetError(f"the answer is larger than {limit}", "size")

    def _serve_ready(self, seconds: float) -> bool:
        """Write and read what is possible within so many seconds; whether there was anything."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            key.data()
        return bool(ready)

    def _take_line(self) -> bytes:
        line, self._received = bytes(self._received), bytearray()
        if self._unsent:
            raise TargetError(
                "the command wrote a line before it had read the whole question: "
                f"{_quote(line)}. {_ADVICE}",
                "content",
            )
        # A second line would be taken for the answer to the next question.
        if not line.endswith(b"\n") or line.count(b"\n") > 1:
            first = _quote(line.partition(b"\n")[0])
            message = f"expected one line per question; got several, the first of them {first}"
            raise TargetError(f"{message}. {_ADVICE}", "content")
        return line

    # -- the pipes

    def _write_input(self) -> None:
        try:
            self._unsent = self._unsent[self._input.write(self._unsent[:_PIECE]) :]
        except OSError:  # it reads no further, but may still say why
            self._stop_writing()
            return
        if not self._unsent:
            self._stop_writing()

    def _stop_writing(self) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(self._input)

    def _read_output(self) -> None:
        piece = self._output.read()
        if piece == b"":
            raise self._exit_error()
        self._received += piece or b""

    def _read_messages(self) -> None:
        """Read standard error: messages that nobody reads would stop the process after 64 KB."""
        piece = self._messages_end.read()
        if piece == b"":
            self._selector.unregister(self._messages_end)
        self._messages = (self._messages + (piece or b""))[-_MESSAGES_SHOWN:]

    def _exit_error(self) -> TargetError:
        """The error of a process that has closed its output; it mostly ends at once."""
        if not self._wait(min(self.grace_period, self._deadline - time.monotonic())):
            return TargetError("the command closed its output", "exited")
        with selectors.DefaultSelector() as selector:
            selector.register(self._messages_end, selectors.EVENT_READ)
            while selector.select(self._messages_end.delay):
                piece = self._messages_end.read()
                if not piece:
                    break
                self._messages = (self._messages + piece)[-_MESSAGES_SHOWN:]
        output = " ".join(self._messages.decode("utf-8", "replace").split())
        message = f"the command ended with exit code {self._process.returncode}"
        return TargetError(message + (output and f": {output}"), "exited")

    # -- the end

    def tell_to_end(self) -> None:
        """Ask it to end, and the processes that it started; a thread that waits for it stops."""
        self.is_over = True
        _end_group(self._process, by_force=False)

    def close_input(self) -> None:
        """Tell it that no question follows, which is how a filter ends."""
        with self._lock:  # a thread that waits for an answer leaves it within a step
            self._input.close()

    def wait_until(self, deadline: float) -> None:
        """Wait until it has ended, or until the deadline."""
        self._wait(deadline - time.monotonic(), is_ending=True)

    def kill(self) -> None:
        """Kill it, and the processes that it started, as far as they are still in its group."""
        # Also if it has ended: those that it started may not have.
        _end_group(self._process, by_force=True)
        self._wait(self.grace_period, is_ending=True)
        with self._lock:
            self._selector.close()
            for end in (self._input, self._output, self._messages_end):
                end.close()

    def _wait(self, seconds: float, *, is_ending: bool = False) -> bool:
        """Whether the process has ended, after at most so many seconds."""
        deadline = time.monotonic() + seconds
        while self._process.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0 or (self.is_over and not is_ending):
                return False
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(min(left, _STEP))
        return True


def end_processes(processes: Collection[LineProcess]) -> None:
    """End processes, all at the same time: by SIGTERM, and after their grace period by SIGKILL.

    Both signals go to the process and to those that it started, except those that have left its
    process group. On Windows, only the process itself is ended.
    """
    try:
        for process in processes:
            process.tell_to_end()
        deadline = time.monotonic() + max((p.grace_period for p in processes), default=0.0)
        for process in processes:
            process.close_input()
        for process in processes:
            process.wait_until(deadline)
    finally:  # also after Ctrl-C: none may stay behind
        for process in processes:
            process.kill()


def _start(words: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603  (the user's own command, no shell)
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            # A group of its own, so that Ctrl-C reaches only the runner, and so that the processes
            # that the command starts can be ended with it.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # Windows alone
        )
    except OSError as exc:
        raise PipelineError(f"{words[0]} cannot be started: {exc.strerror or exc}") from exc


def _end_group(process: subprocess.Popen[bytes], *, by_force: bool) -> None:
    with contextlib.suppress(OSError):  # all of them have ended
        if os.name == "nt":  # has neither groups nor signals that a process can handle
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL if by_force else signal.SIGTERM)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise TypeError("the process has no pipe")
    return stream


def _quote(line: bytes | bytearray) -> str:
    return repr(line[:_LINE_SHOWN].decode("utf-8", "replace").strip())


# -- the ends of pipes


class PipeEnd(Protocol):
    """Our end of a pipe, which never blocks."""

    @property
    def delay(self) -> float:
        """Seconds after which everything that an ended process wrote has come to our end."""

    def fileno(self) -> int:
        """What a selector waits for."""

    def read(self) -> bytes | None:
        """What is there; None if nothing is there now, and no bytes if nothing will follow."""

    def write(self, data: memoryview) -> int:
        """Write as much as possible now, and return the number of bytes."""

    def close(self) -> None:
        """Close it."""


class _FileEnd:
    """A pipe as POSIX has it: it can be told not to block."""

    delay = 0.0

    def __init__(self, stream: IO[bytes]):
        self._stream, self._number = stream, stream.fileno()
        os.set_blocking(self._number, False)

    def fileno(self) -> int:
        return self._number

    def read(self) -> bytes | None:
        try:
            return os.read(self._number, _PIECE)
        except BlockingIOError:
            return None

    def write(self, data: memoryview) -> int:
        try:
            return os.write(self._number, data)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.close()


class _SocketEnd:
    """A socket and a thread that copies between it and the pipe: Windows waits for sockets only."""

    delay = 1.0  # the thread may have to wait for a busy machine

    def __init__(self, stream: IO[bytes], *, is_input: bool):
        self._socket, other = socket.socketpair()
        self._socket.setblocking(False)
        copy = _copy_to_pipe if is_input else _copy_from_pipe
        # A daemon, because a pipe that another process holds may never be closed.
        threading.Thread(target=copy, args=(other, stream), daemon=True).start()

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> bytes | None:
        try:
            return self._socket.recv(_PIECE)
        except BlockingIOError:
            return None
        except OSError:  # reset: the thread has ended
            return b""

    def write(self, data: memoryview) -> int:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        self._socket.close()


def _copy_from_pipe(connection: socket.socket, stream: IO[bytes]) -> None:
    with connection, stream, contextlib.suppress(OSError):
        while piece := stream.read(_PIECE):
            connection.sendall(piece)


def _copy_to_pipe(connection: socket.socket, stream: IO[bytes]) -> None:
    with connection, stream, contextlib.suppress(OSError):
        while piece := connection.recv(_PIECE):
            rest = memoryview(piece)
            while rest:
                rest = rest[stream.write(rest) :]


def open_end(stream: IO[bytes], *, is_input: bool = False) -> PipeEnd:
    """Our end of a pipe; `is_input` if the process reads what is written there."""
    return _SocketEnd(stream, is_input=is_input) if os.name == "nt" else _FileEnd(stream)
