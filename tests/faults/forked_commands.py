"""Commands that run in forked processes, in which something goes wrong at a chosen moment.

A process beside the tests imports this module once and forks for each command, so that a command
starts at once, and its trouble falls into its work and not into its imports. A moment is counted in
calls that read, write or rename something (`OUTSIDE`), not in seconds: it is the same on every
machine, however busy.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import forkserver
from pathlib import Path
from typing import Any
from unittest import mock

from rageval_report import RAGPipelineEvaluation
from rageval_report.cli import main as command_line
from rageval_report.cli.group import COMMANDS
from rageval_report.errors import DataError

COMMANDS.loaded()
for _name in (
    *("runner.evaluate", "runner.scoring", "runner.collecting", "judges", "scores.write"),
    *("metrics.judged_sets", "metrics.scoring", "files.writing"),
):
    importlib.import_module(f"rageval_report.{_name}")
for _name in ("httpx2", "tenacity", "pyarrow.parquet", "jinja2", "tabulate", "sqlite3"):
    with contextlib.suppress(ImportError):
        importlib.import_module(_name)

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["forked_commands"])
HERE = Path(__file__).parent
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


def run_command(words: list[str], folder: Path, **trouble: Any) -> Ended:
    """Run a command in a folder; `trouble` is that of `Trouble`, or `kill_after` seconds."""
    kill_after = trouble.pop("kill_after", None)
    with tempfile.TemporaryDirectory() as name:
        arguments = (words, str(folder), name, trouble)
        with mock.patch.dict(os.environ, PYTHONPATH=f"{HERE}{os.pathsep}{HERE.parents[1]}"):
            forkserver.ensure_running()
        process = CONTEXT.Process(target=_run_and_leave, args=arguments)
        started = time.monotonic()
        process.start()
        process.join(PATIENCE if kill_after is None else kill_after)
        is_alive = process.is_alive()
        process.kill()
        process.join()
        seconds = time.monotonic() - started
        output, calls = Path(name, "output"), Path(name, "calls")
        return Ended(
            None if is_alive and kill_after is None else process.exitcode,
            output.read_text("utf-8", "replace") if output.exists() else "",
            json.loads(calls.read_text()) if calls.exists() else {},
            seconds,
        )


# -- in the child


def _run_and_leave(words: list[str], folder: str, scratch: str, options: dict[str, Any]) -> None:
    """Run the command, write down its outside calls, and exit."""
    os.chdir(folder)
    descriptor = os.open(f"{scratch}/output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in (1, 2):
        os.dup2(descriptor, number)
    # The objects of the parent know that their descriptors were something else.
    sys.stdout, sys.stderr = (os.fdopen(n, "w", encoding="utf-8", closefd=False) for n in (1, 2))
    trouble, code = Trouble(**options), 70
    try:
        trouble.begin()
        code = _run(words)
    except SystemExit as exc:
        code = exc.code or 0
    except BaseException as exc:
        sys.excepthook(type(exc), exc, exc.__traceback__)
    finally:
        trouble.end()
        sys.stdout.flush()
        sys.stderr.flush()
        with contextlib.suppress(OSError):  # no file may grow
            Path(scratch, "calls").write_text(json.dumps(trouble.calls))
        os._exit(code if isinstance(code, int) else 1)


def _run(words: list[str]) -> int:
    if words[0] != "save":
        sys.argv = ["rageval-report", *words]
        command_line()
        return 0
    evaluation = RAGPipelineEvaluation.load("saved", words[1])  # a method and no command
    try:
        for target in words[2:]:
            evaluation.save(target, force=True)
    except DataError as exc:
        sys.stderr.write(f"{exc}\n")
        return 2
    return 0


@dataclass
class Trouble:
    """What goes wrong in a process, and when.

    It is killed before a call: a name of `OUTSIDE`, and which one, from 1. Or no file can grow
    beyond a size, as if the disk were full there; the process is then killed, in the middle of a
    file, or gets an error. A mistake is the name of one of `MISTAKES`: code that is wrong on
    purpose.
    """

    kill_at: tuple[str, int] | None = None
    most_bytes: int | None = None
    dies_there: bool = False
    mistake: str | None = None
    calls: dict[str, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Set the trouble up."""
        if self.mistake is not None:
            MISTAKES[self.mistake]()
        if self.most_bytes is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL if self.dies_there else signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.most_bytes, self.most_bytes))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # One step of a counter cannot be divided between threads.
        self._counters = {name: itertools.count(1) for name in OUTSIDE}
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    def end(self) -> None:
        """Stop counting."""
        sys.setprofile(None)
        threading.setprofile(None)

    def _look(self, frame: object, event: str, function: Any) -> None:
        name = getattr(function, "__name__", None) if event == "c_call" else None
        if name not in OUTSIDE or isinstance(getattr(function, "__self__", None), _IN_MEMORY):
            return
        self.calls[name] = n = next(self._counters[name])
        if (name, n) == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


# -- mistakes, each of which the fault room would notice


def _write_in_place() -> None:
    from rageval_report.files import writing

    writing._replace = lambda target, fill, **_: fill(str(target))


def _forget_replies() -> None:
    from rageval_report.judges.cache import Cache

    Cache.put = lambda *args, **options: None


MISTAKES: dict[str, Callable[[], None]] = {
    "writes in place": _write_in_place,
    "keeps no replies": _forget_replies,
}
