"""Commands that run in forked processes, in which something goes wrong at a chosen moment.

A process beside the tests imports the package once. For each command it forks a child, so that a
command starts at once, and its trouble falls into its work and not into its imports.

A moment is counted in calls that read, write or rename something (`OUTSIDE`), not in seconds: it
is the same on every machine, however busy.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 120.0  # seconds for one command, on a machine however busy
# Names of the C functions by which a process touches files, databases and sockets.
OUTSIDE = frozenset(
    "open write writelines read readline replace rename unlink fsync flock close mkdir truncate "
    "ftruncate chmod fchown execute commit connect sendall send recv recv_into stat".split()
)
_IN_MEMORY = (io.StringIO, io.BytesIO, str)  # a str has "replace", too


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, or minus the signal; its output; its outside calls."""

    code: int | None  # None: it had to be killed, because it did not end
    output: str
    calls: dict[str, int]  # how often each name of `OUTSIDE` was called
    seconds: float


class ForkedCommands:
    """Runs commands in forked processes; use it in a ``with`` block."""

    def __enter__(self) -> ForkedCommands:
        package = str(Path(__file__).parents[2])
        paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads, "PYTHONPATH": paths, "NO_PROXY": "127.0.0.1"},
        )
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(self, words: list[str], folder: Path, **trouble: Any) -> Ended:
        """Run a command in a folder; `trouble` is that of `Trouble`."""
        request = {"words": words, "folder": str(folder), "trouble": trouble}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Ended(**json.loads(self._process.stdout.readline()))


# -- in the process that forks


def serve() -> None:
    """Fork a child for each line of standard input, and answer how it ended."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            sys.stdout.write(json.dumps(_fork(request)) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:  # whoever asked was killed
            os._exit(1)


def _fork(request: dict[str, Any]) -> dict[str, Any]:
    output, output_of_child = os.pipe()
    count, count_of_child = os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.close(output)
        os.close(count)
        for number in (1, 2):
            os.dup2(output_of_child, number)
        os.close(output_of_child)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        # The objects of the parent know that their descriptors were something else.
        sys.stdout, sys.stderr = (
            os.fdopen(n, "w", encoding="utf-8", closefd=False) for n in (1, 2)
        )
        _run_and_leave(request, count_of_child)
    os.close(output_of_child)
    os.close(count_of_child)
    kill_after = request["trouble"].get("kill_after")
    text, in_time = _read_until_end(output, started + (kill_after or PATIENCE))
    if not in_time:
        os.kill(pid, signal.SIGKILL)
        rest, _ = _read_until_end(output, started + 2 * PATIENCE)
        text += rest
    _, status = os.waitpid(pid, 0)
    calls = os.read(count, 10_000)
    os.close(output)
    os.close(count)
    hung = not in_time and kill_after is None
    return {
        "code": None if hung else os.waitstatus_to_exitcode(status),
        "output": text.decode(errors="replace"),
        "calls": json.loads(calls or "{}"),
        "seconds": time.monotonic() - started,
    }


def _read_until_end(pipe: int, end: float) -> tuple[bytes, bool]:
    """What a child writes until it ends; whether it ended before a moment."""
    content = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return content, False
        piece = os.read(pipe, 65536)
        if not piece:
            return content, True
        content += piece


def _run_and_leave(request: dict[str, Any], count: int) -> None:
    """In the child: run the command, write down its outside calls, and exit."""
    os.chdir(request["folder"])
    trouble = Trouble(**request["trouble"])
    code: object = 70
    try:
        trouble.begin()
        code = _run(request["words"])
    except SystemExit as exc:
        code = exc.code
    except BaseException as exc:
        sys.excepthook(type(exc), exc, exc.__traceback__)
    finally:
        trouble.end()
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(count, json.dumps(trouble.calls).encode())
        os._exit(code if isinstance(code, int) else 0)


def _run(words: list[str]) -> int:
    if words[0] == "save":  # a method and no command
        from rageval_report import RAGPipelineEvaluation
        from rageval_report.errors import DataError

        source, *targets = words[1:]
        evaluation = RAGPipelineEvaluation.load("saved", source)
        try:
            for target in targets:
                evaluation.save(target, force=True)
        except DataError as exc:
            sys.stderr.write(f"{exc}\n")
            return 2
        return 0
    from rageval_report.cli import main

    sys.argv = ["rageval-report", *words]
    main()
    return 0


# -- in the child


@dataclass
class Trouble:
    """What goes wrong in a process, and when.

    Parameters
    ----------
    kill_at : pair of str and int, optional
        The process is killed before this call: a name of `OUTSIDE`, and which one, from 1.
    kill_after : float, optional
        The process is killed from outside after so many seconds.
    most_bytes : int, optional
        No file can grow beyond this size, as if the disk were full there.
    kill_at_most_bytes : bool
        Whether the process is then killed, in the middle of a file, instead of getting an error.
    jump_at, jump_by : pair of str and int, float
        The clock of the day jumps by so many seconds at this call.
    mistake : str, optional
        The name of one of `MISTAKES`: code that is wrong on purpose.
    """

    kill_at: tuple[str, int] | None = None
    kill_after: float | None = None
    most_bytes: int | None = None
    kill_at_most_bytes: bool = False
    jump_at: tuple[str, int] | None = None
    jump_by: float = 0.0
    mistake: str | None = None
    calls: dict[str, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Set the trouble up."""
        if self.mistake is not None:
            MISTAKES[self.mistake]()
        if self.jump_at is not None:
            _patch_clock()
        if self.most_bytes is not None:
            import resource

            handler = signal.SIG_DFL if self.kill_at_most_bytes else signal.SIG_IGN
            signal.signal(signal.SIGXFSZ, handler)
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.most_bytes, self.most_bytes))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # One step of a counter cannot be divided between threads.
        self._counters = {name: itertools.count(1) for name in OUTSIDE}
        self._kill_at, self._jump_at = (
            pair and tuple(pair) for pair in (self.kill_at, self.jump_at)
        )
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    def end(self) -> None:
        """Stop counting."""
        sys.setprofile(None)
        threading.setprofile(None)

    def _look(self, frame: object, event: str, function: Any) -> None:
        if event != "c_call":
            return
        name = getattr(function, "__name__", None)
        if name not in OUTSIDE or isinstance(getattr(function, "__self__", None), _IN_MEMORY):
            return
        self.calls[name] = n = next(self._counters[name])
        if (name, n) == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if (name, n) == self._jump_at:
            _clock["offset"] = self.jump_by


_clock = {"offset": 0.0}
_time, _time_ns = time.time, time.time_ns


def _patch_clock() -> None:
    """Let the clock of the day, and nothing else, show another time."""
    import datetime

    class Datetime(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime.datetime:
            return datetime.datetime.fromtimestamp(time.time(), tz)

    time.time = lambda: _time() + _clock["offset"]
    time.time_ns = lambda: _time_ns() + int(_clock["offset"] * 1e9)
    for name, module in list(sys.modules.items()):
        if name.startswith("rageval_report") and vars(module).get("datetime") is datetime.datetime:
            module.datetime = Datetime


# -- mistakes, each of which the fault room would notice


def _keep_time_by_the_clock_of_the_day() -> None:
    time.monotonic = lambda: time.time()


def _write_in_place() -> None:
    from rageval_report.files import writing

    def write(target: Path, fill: Callable[[str], object], **_: object) -> None:
        fill(str(target))

    writing._replace = write


def _forget_answers() -> None:
    from rageval_report.runner import run_journal

    written = run_journal.write_whole
    lines: list[bytes] = []

    def write_later(file: Any, line: bytes) -> None:
        lines.append(line)
        if len(lines) > 20:  # in a buffer, as an ordinary file would
            written(file, b"".join(lines))
            lines.clear()

    run_journal.write_whole = write_later


def _forget_replies() -> None:
    from rageval_report.judges.cache import Cache

    Cache.put = lambda *args, **options: None


MISTAKES: dict[str, Callable[[], None]] = {
    "keeps time by the clock of the day": _keep_time_by_the_clock_of_the_day,
    "writes in place": _write_in_place,
    "keeps answers in a buffer": _forget_answers,
    "keeps no replies": _forget_replies,
}


def _import_everything() -> None:
    """Import what the commands need, so that forked children have it."""
    import importlib

    import rageval_report
    from rageval_report.cli.group import COMMANDS

    COMMANDS.loaded()
    ours = "runner.evaluate runner.experiment runner.scoring golden judges"
    ours += " runner.collecting scores.write metrics.judged_sets metrics.scoring"
    for name in ours.split():  # the commands import them when they run
        importlib.import_module(f"rageval_report.{name}")
    for name in ("httpx2", "httpx", "tenacity", "pyarrow.parquet", "jinja2", "tabulate", "sqlite3"):
        try:
            importlib.import_module(name)
        except ImportError:  # an extra; without it a command may do with something else
            continue
    assert rageval_report.__name__


if __name__ == "__main__":
    _import_everything()
    serve()
