"""How long a command has been working: a line on standard error, which goes away again.

Only a person at a terminal sees it, after the first second. It makes way for whatever else is
written, on either stream: for a note it goes and comes back, and while a progress bar is drawn, the
bar has the line.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO, cast

from rageval_report._command_process import clear_before_last_words

FIRST_SHOWN = 1  # seconds: a command that takes less needs no sign of life
_INTERVAL = 0.2  # seconds between two looks at the clock, so that no second is left out


@contextlib.contextmanager
def elapsed_time_shown(
    command: str,
    *,
    is_quiet: bool,
    clock: Callable[[], float] = time.monotonic,
    interval: float = _INTERVAL,
) -> Iterator[None]:
    """Show how long a command has been working, if a person looks at standard error.

    Parameters
    ----------
    command : str
        The name of the command.
    is_quiet : bool
        Whether the user chose --quiet.
    clock : callable
        It returns the time in seconds.
    interval : float
        The seconds between two looks at the clock.
    """
    if is_quiet or not _is_watched(sys.stderr):
        yield
        return
    line = ElapsedLine(command, sys.stderr, clock)
    streams = (sys.stdout, sys.stderr)
    sys.stdout, sys.stderr = (cast("TextIO", _MakingWay(stream, line)) for stream in streams)
    threading.Thread(target=line.keep_up_to_date, args=(interval,), daemon=True).start()
    try:
        yield
    finally:
        line.end()
        sys.stdout, sys.stderr = streams


def _is_watched(stream: TextIO | None) -> bool:
    """Whether a person sees what is written: CI systems may look like a terminal."""
    if os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()


class ElapsedLine:
    """A line of a terminal that says how long a command has been working.

    Parameters
    ----------
    command : str
        The name of the command.
    terminal : TextIO
        Where the line is shown.
    clock : callable
        It returns the time in seconds; the command starts now.
    """

    def __init__(self, command: str, terminal: TextIO, clock: Callable[[], float]):
        self._command = command
        self._terminal = terminal
        self._clock = clock
        self._start = clock()
        self._shown = ""
        self._is_free = True  # whether the cursor is at the beginning of a line
        self._over = threading.Event()
        # Reentrant: a destructor may write while a line is drawn.
        self._lock = threading.RLock()

    def keep_up_to_date(self, interval: float) -> None:
        """Draw the line again and again until the end.

        Parameters
        ----------
        interval : float
            The seconds between two looks at the clock.
        """
        while not self._over.wait(interval):
            self.draw()

    def draw(self) -> None:
        """Draw the line, unless it is too early, or something else has the line."""
        seconds = int(self._clock() - self._start)
        line = f"{self._command}: working for {duration_text(seconds)}"
        text = line[: _columns_of(self._terminal) - 1]  # a whole line would begin another
        with self._lock:
            is_hidden = seconds < FIRST_SHOWN or self._over.is_set() or not self._is_free
            if not is_hidden and text != self._shown:
                # As long as what it replaces: an hour has fewer letters than 59 minutes.
                self._put(f"\r{text.ljust(len(self._shown))}", shown=text)

    def write_beside(self, stream: TextIO, text: str) -> int:
        """Write a text in the place of the line, which comes back once the text is whole.

        Parameters
        ----------
        stream : TextIO
            Standard output or standard error.
        text : str
            The text. If a program reads it, such as a pager, the line stays away.

        Returns
        -------
        int
            The number of characters that were written.
        """
        with self._lock:
            if text:
                self.clear()
                self._is_free = text.endswith(("\n", "\r"))
                if not stream.isatty():
                    self._over.set()
            return stream.write(text)

    def clear(self) -> None:
        """Take the line away, if it is shown."""
        with self._lock:
            if self._shown:
                self._put(_blanks(self._shown), shown="")

    def end(self) -> None:
        """Take the line away, and never show it again."""
        with self._lock:
            self._over.set()
            self.clear()

    def _put(self, text: str, *, shown: str) -> None:
        try:
            self._terminal.write(text)
            self._terminal.flush()
        except (OSError, ValueError):  # the terminal is gone, and nobody looks
            self._over.set()
        self._shown = shown
        clear_before_last_words(_blanks(shown).encode() if shown else b"")


class _MakingWay:
    """A stream before whose texts the line is cleared; in all else it is the stream itself."""

    def __init__(self, stream: TextIO, line: ElapsedLine):
        self._stream = stream
        self._line = line

    def write(self, text: str) -> int:
        """Write a text where the line was."""
        return self._line.write_beside(self._stream, text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # what is written there passes by this class
            self._line.end()
        return getattr(self._stream, name)


def duration_text(seconds: int) -> str:
    """A duration for people, such as "12 s", "1 min 05 s" or "2 h 03 min".

    Parameters
    ----------
    seconds : int
        Whole seconds.

    Examples
    --------
    >>> [duration_text(seconds) for seconds in (12, 65, 7380)]
    ['12 s', '1 min 05 s', '2 h 03 min']
    """
    minutes, rest = divmod(seconds, 60)
    if minutes == 0:
        return f"{rest} s"
    hours, minutes_left = divmod(minutes, 60)
    return f"{minutes} min {rest:02d} s" if hours == 0 else f"{hours} h {minutes_left:02d} min"


def _columns_of(terminal: TextIO) -> int:
    try:
        columns = os.get_terminal_size(terminal.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or 80  # some terminals do not know their size


def _blanks(text: str) -> str:
    """What takes a text away that stands at the beginning of a line."""
    return f"\r{' ' * len(text)}\r"
