"""How the process of the command line takes Ctrl-C, and how it ends.

Python raises `KeyboardInterrupt` wherever the program is at that moment: in the middle of an
import, which then fails in a strange way, or in a callback, which prints and forgets it. So there
are three phases. While the command is loading and while it is ending, nothing can be lost: the
process says one line and ends at once. While a command works, `KeyboardInterrupt` is raised, so
that files are closed, processes are ended and answers in flight are kept. The exit code is 130.

This module imports little, because Ctrl-C while it is loading has to be caught as well.
"""

from __future__ import annotations

import os
import sys

_LINE = b"rageval-report: interrupted\n"
INTERRUPTED = 130  # as in shells: 128 and the number of the signal

try:
    import atexit
    import contextlib
    import gc
    import signal
    import threading
    import time
except KeyboardInterrupt:
    os.write(2, _LINE)
    os._exit(INTERRUPTED)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import NoReturn

# The first Ctrl-C keeps what is under way, the second does not wait for it, and the third ends the
# process whatever it does.
_MOST_RAISED = 2
# Seconds that threads and functions of other libraries have to end after the command itself.
_PATIENCE, _PATIENCE_AFTER_INTERRUPT = 30.0, 2.0
_RETRY = 0.01  # seconds until an interrupt that a callback swallowed is raised again


class _Process:
    """What has happened to this process so far."""

    is_begun = False  # otherwise it belongs to another program, and so do its signals
    handles_interrupts = False
    is_said = False
    n_interrupts = 0
    exit_code: int | None = None


def begin() -> None:
    """Take over Ctrl-C, unless it is ignored, as in a background job, or somebody else has it."""
    if _Process.is_begun:
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
        _Process.handles_interrupts = True
        sys.unraisablehook = _raise_again(sys.unraisablehook)
    _Process.is_begun = True
    # Registered first, so that it runs last, after the functions of all libraries.
    atexit.register(_leave_interpreter)


def begin_if_command_line() -> None:
    """Take over Ctrl-C if this process is the command line, and leave it to other programs."""
    # The interpreter calls a program "-m" while it is looking for the module to run.
    program = os.path.basename(sys.argv[0] if sys.argv else "")  # noqa: PTH119  (pathlib is slow)
    if program in ("-m", "rageval-report"):
        begin()


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed while the command worked, also if something swallowed it."""
    return _Process.n_interrupts > 0


def say_interrupted(line: Callable[[], None]) -> None:
    """Write the one line about the interruption, unless it is written already."""
    if not (_Process.is_said and _Process.is_begun):
        line()
        _Process.is_said = True


@contextlib.contextmanager
def raising_interrupts() -> Iterator[None]:
    """While a command works: raise `KeyboardInterrupt`."""
    with _handler(_raise):
        yield


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """While modules are imported and nothing is under way: end at once."""
    with _handler(_leave), _nothing_to_collect():
        yield


def end(code: int) -> NoReturn:
    """End the process; whatever still runs in it has some seconds to end by itself."""
    if not _Process.is_begun:
        sys.exit(code)
    _Process.exit_code = code
    patience = _PATIENCE_AFTER_INTERRUPT if code == INTERRUPTED else _PATIENCE
    threading.Thread(target=_leave_after, args=(patience,), daemon=True).start()
    sys.exit(code)


@contextlib.contextmanager
def _handler(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    if not _Process.handles_interrupts:
        yield
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _nothing_to_collect() -> Iterator[None]:
    """While modules are imported: look for no garbage, and leave out what is loaded afterwards.

    Classes, functions and modules stay until the process ends. Looking through them takes a tenth
    of the CPU time of importing pandas.
    """
    # Another program may load things and throw them away; that is its own business.
    if not (_Process.is_begun and gc.isenabled()):
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _leave(_number: int, _frame: FrameType | None) -> None:
    if not _Process.is_said:
        os.write(2, _LINE)
    os._exit(INTERRUPTED)


def _raise(number: int, frame: FrameType | None) -> None:
    _Process.n_interrupts += 1
    if _Process.n_interrupts > _MOST_RAISED:
        _leave(number, frame)
    raise KeyboardInterrupt


def _raise_again(show: Callable[[sys.UnraisableHookArgs], object]) -> Callable[..., object]:
    """A hook for exceptions that nothing can catch: those of callbacks and destructors."""

    def hook(unraisable: sys.UnraisableHookArgs) -> object:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            return show(unraisable)
        _Process.n_interrupts -= 1  # the same one comes again
        # Later and from elsewhere: raised here, it would end in this hook.
        timer = threading.Timer(_RETRY, _press_again)
        timer.daemon = True
        timer.start()
        return None

    return hook


def _press_again() -> None:
    # A signal to another thread would not wake the main thread while it waits. Windows has no
    # signals for threads, and its waits do not end at Ctrl-C either.
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def _leave_after(seconds: float) -> None:
    """End the process if it has not ended by itself."""
    time.sleep(seconds)
    others = (thread for thread in threading.enumerate() if not thread.daemon)
    names = ", ".join(thread.name for thread in others if thread is not threading.main_thread())
    running = names or "an exit function"
    text = f"rageval-report: ended while this was still running: {running}\n"
    if _Process.exit_code != INTERRUPTED:
        os.write(2, text.encode(errors="replace"))
    _leave_interpreter()


def _leave_interpreter() -> None:
    """End without taking the interpreter apart, which daemon threads and C libraries can block."""
    if _Process.exit_code is None:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(_Process.exit_code)
