"""Processes that have imported and collected everything, and fork for each question.

A warmed process answers "do these tests pass with this source?" in the time that the tests take:
a fork has all modules and all collected tests, puts the changed code into the functions of the one
module, and runs the tests in its own memory. No file is written, so nothing is left when a process
is killed. A change outside functions (a default value, a constant, a field of a class) shows only
when the module is imported: such mutants are answered by forks of a bare process, which has loaded
pytest and the large libraries but not the package, and imports the changed source itself.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "rageval_report"
# Hypothesis is loaded before pytest is: its own assertions are not rewritten.
IGNORED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
PYTEST = (
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:rageval_report.pytest",
    "--capture=sys",
    "--rootdir",
    str(ROOT),
    *IGNORED,
)
SURVIVED, KILLED, FRESH, BROKEN = 0, 1, 64, 70
MEMORY = 4 << 30  # bytes that one mutant may take beyond what the warmed process has
POLL = 0.004


@dataclass(frozen=True)
class Question:
    """Run these tests with this source of a file; an empty file changes nothing."""

    tests: tuple[str, ...]
    seconds: float  # of processor time that the tests need without the change
    file: str = ""
    source: bytes = b""


@dataclass(frozen=True)
class Measure:
    """Run each of these tests alone and write to a file which lines it reaches, and how long."""

    tests: tuple[str, ...]
    path: str


@dataclass(frozen=True)
class Answer:
    """`code` as above, or None for a time-out; `test` is the one that failed."""

    code: int | None
    test: str = ""


# -- the processes


def bare_server(channel: Connection) -> None:
    """Answer questions in processes that import the package themselves."""
    _serve(channel, _answer_fresh, prepare=_load_libraries)


def _load_libraries() -> None:
    for library in ("numpy", "pandas", "scipy.stats", "matplotlib", "jinja2", "click"):
        importlib.import_module(library)


def collected_servers(
    channels: list[Connection], paths: Iterable[str], files: Iterable[str], log: str
) -> None:
    """Collect the tests of these paths, then answer on each channel from a process of its own."""
    _without_output(log)
    code = pytest.main([*PYTEST, *paths], plugins=[_Collected(channels, list(files))])
    sys.stdout.flush()
    os._exit(int(code) or BROKEN)


class _Collected:
    """Takes over from pytest once the tests are collected."""

    def __init__(self, channels: list[Connection], files: list[str]) -> None:
        self.channels, self.files = channels, files
        self.failures: list[str] = []

    def pytest_configure(self, config: pytest.Config) -> None:
        _quick_examples()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            return False  # pytest says on its own which files could not be collected
        for file in self.files:
            importlib.import_module(_module_name(file))
        self.items = {item.nodeid: item for item in session.items}
        self.functions = _functions_by_code()
        self.caches = _caches()
        servers = []
        for channel in self.channels:
            server = os.fork()
            if server == 0:
                _serve(channel, self.answer)
                os._exit(0)
            servers.append(server)
        for channel in self.channels:
            channel.send(sorted(self.items))
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(0.2)
        for server in servers:
            os.kill(server, signal.SIGKILL)
        os._exit(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failures.append(report.nodeid)

    def answer(self, question: Question | Measure, said: Callable[[str], None]) -> int:
        """Runs in a fork of its own."""
        if isinstance(question, Measure):
            self.measure(question)
            return SURVIVED
        if question.file and not self.put_in(question):
            return FRESH
        for cache in self.caches:
            cache.cache_clear()
        items = [self.items[test] for test in question.tests]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failures:
                said(self.failures[0])
                return KILLED
        return SURVIVED

    def put_in(self, question: Question) -> bool:
        """Put the changed code into the functions of a module; False where that is no way."""
        path = ROOT / question.file
        old = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        new = compile(question.source, str(path), "exec", dont_inherit=True)
        if not _same_but_nested(old, new):
            return False
        n_changed = 0
        for old_code, new_code in _changed_codes(old, new):
            for function in self.functions.get(old_code, ()):
                try:
                    function.__code__ = new_code
                except ValueError:  # other variables of the function around it
                    return False
                n_changed += 1
        return n_changed > 0

    def measure(self, question: Measure) -> None:
        """Run each test with nothing kept from the one before, and note the lines it reaches."""
        watch = coverage.Coverage(data_file=None, config_file=False, source=[str(ROOT / PACKAGE)])
        found: dict[str, dict[str, Any]] = {}
        outcomes = _Outcomes()
        watch.start()
        for test in question.tests:
            item = self.items[test]
            item.config.pluginmanager.register(outcomes, "outcomes")
            for cache in self.caches:
                cache.cache_clear()
            watch.switch_context(test)
            outcomes.clear()
            start = time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            seconds = time.process_time() - start
            item.config.pluginmanager.unregister(outcomes)
            found[test] = {"passed": outcomes.passed(), "seconds": seconds, "lines": {}}
        watch.stop()
        data = watch.get_data()
        for name in data.measured_files():
            file = Path(name).relative_to(ROOT).as_posix()
            for line, tests in data.contexts_by_lineno(name).items():
                for test in filter(None, tests):
                    found[test]["lines"].setdefault(file, []).append(line)
        Path(question.path).write_text(json.dumps(found), encoding="utf-8")


class _Outcomes:
    """Whether the one test that ran passed."""

    def __init__(self) -> None:
        self.outcomes: list[str] = []

    def clear(self) -> None:
        self.outcomes.clear()

    def passed(self) -> bool:
        return self.outcomes == ["passed"] * 3

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.outcomes.append(report.outcome)


class _Chosen:
    """Runs the tests of a question, in its order, until one fails."""

    def __init__(self, question: Question, said: Callable[[str], None]) -> None:
        self.question, self.tests, self.said = question, question.tests, said
        self.failures: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        # Before the finder of pytest, which went to the front: it loads files that are named to it,
        # and every module of a package that has a plug-in.
        sys.meta_path.sort(key=lambda finder: not isinstance(finder, _ChangedModule))

    def pytest_configure(self, config: pytest.Config) -> None:
        _quick_examples()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failures.append(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        if session.testsfailed:
            self.said("a file of tests that could not be collected")
            os._exit(KILLED)
        collected = {item.nodeid: item for item in session.items}
        # Ids of parametrised tests may hold what the change moved: such a test is not the same.
        items = [collected[test] for test in self.tests if test in collected]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failures:
                self.said(self.failures[0])
                os._exit(KILLED)
        os._exit(SURVIVED if items else KILLED)


def _answer_fresh(question: Question | Measure, said: Callable[[str], None]) -> int:
    assert isinstance(question, Question)
    if question.file:  # before pytest starts, because its conftest files import the package
        sys.meta_path.insert(0, _ChangedModule(question))
    files = dict.fromkeys(str(ROOT / test.partition("::")[0]) for test in question.tests)
    code = pytest.main([*PYTEST, *files], plugins=[_Chosen(question, said)])
    return KILLED if question.file else int(code) or BROKEN


class _ChangedModule(importlib.abc.MetaPathFinder):
    """Finds the one changed module, and hands its source over from memory."""

    def __init__(self, question: Question) -> None:
        self.name, self.path = _module_name(question.file), str(ROOT / question.file)
        self.source = question.source

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=_FromMemory(self))


class _FromMemory(importlib.machinery.SourceFileLoader):
    def __init__(self, changed: _ChangedModule) -> None:
        super().__init__(changed.name, changed.path)
        self.source = changed.source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, self.path, "exec", dont_inherit=True)


# -- a fork for each question


def _serve(
    channel: Connection,
    answer: Callable[[Question | Measure, Callable[[str], None]], int],
    prepare: Callable[[], None] = lambda: None,
) -> None:
    """Answer until the asking process is gone; `prepare` runs before the first answer."""
    parent = os.getppid()
    prepared = False
    while True:
        while not channel.poll(0.5):
            if os.getppid() != parent:
                return
        try:
            question = channel.recv()
        except EOFError:
            return
        if not prepared:
            prepare()
            prepared = True
        channel.send(_forked(question, answer, parent))


def _forked(
    question: Question | Measure,
    answer: Callable[[Question | Measure, Callable[[str], None]], int],
    parent: int,
) -> Answer:
    """The answer of a fork, which ends with it or with its time."""
    folder = tempfile.mkdtemp(prefix="mutant-")
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        code = BROKEN
        try:
            _settle(question, folder)
            code = answer(question, lambda test: _say(mouth, test))
        except BaseException:
            _say(mouth, traceback.format_exc()[-1500:])
        os._exit(code)
    os.close(mouth)
    wall = 30 + 20 * question.seconds if isinstance(question, Question) else 3600
    status = _waited(child, time.monotonic() + wall, parent)
    with os.fdopen(ear, encoding="utf-8", errors="replace") as said:
        # A grandchild that lives on would keep the pipe open: `_waited` ended the whole group.
        test = said.read()
    shutil.rmtree(folder, ignore_errors=True)
    if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return Answer(None)
    # Whatever else ends a process, a crash included, is noticed by a run of the tests.
    return Answer(os.WEXITSTATUS(status) if os.WIFEXITED(status) else KILLED, test)


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for the time of a run."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        yield Path(folder)


def _settle(question: Question | Measure, folder: str) -> None:
    """Limits and a folder of its own for a fork."""
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if isinstance(question, Question):
        # Processor time, for a busy machine must not turn a survivor into a time-out.
        limit = int(2 + 5 * question.seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TMPDIR"] = tempfile.tempdir = folder
    _without_output(os.devnull)


def _say(mouth: int, test: str) -> None:
    os.write(mouth, test.encode()[:2000])


def _waited(child: int, deadline: float, parent: int) -> int | None:
    """The status of a process, or None once it is over its time; its children end with it."""
    status: int | None = None
    while True:
        done, found = os.waitpid(child, os.WNOHANG)
        if done:
            status = found
            break
        if time.monotonic() > deadline or os.getppid() != parent:
            break
        time.sleep(POLL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status


def _without_output(path: str) -> None:
    """What a process and its children print goes to a file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)


# -- code and functions


def _quick_examples() -> None:
    """Hypothesis looks for a failing example, and not for the smallest one."""
    profile = settings(
        settings.get_profile("ci"),
        phases=(Phase.explicit, Phase.generate),
        report_multiple_bugs=False,
    )
    settings.register_profile("mutation", profile)
    settings.load_profile("mutation")


def _module_name(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _functions_by_code() -> dict[CodeType, list[FunctionType]]:
    """The functions of the package that are alive, by their code."""
    inside = str(ROOT / PACKAGE)
    found: dict[CodeType, list[FunctionType]] = {}
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__.co_filename.startswith(inside):
            found.setdefault(function.__code__, []).append(function)
    return found


def _caches() -> list[Any]:
    """What `functools.cache` keeps of the package and its tests."""
    inside = str(ROOT)
    kept = []
    for cache in gc.get_objects():
        if type(cache) is functools._lru_cache_wrapper:
            code = getattr(getattr(cache, "__wrapped__", None), "__code__", None)
            if code is not None and code.co_filename.startswith(inside):
                kept.append(cache)
    return kept


def _nested(code: CodeType) -> list[CodeType]:
    return [value for value in code.co_consts if isinstance(value, CodeType)]


def _same_but_nested(old: CodeType, new: CodeType) -> bool:
    """Whether two pieces of code do the same, apart from functions defined in them."""

    def own(code: CodeType) -> tuple[object, ...]:
        plain = [repr(value) for value in code.co_consts if not isinstance(value, CodeType)]
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        return (code.co_code, plain, names, code.co_exceptiontable)

    return own(old) == own(new) and len(_nested(old)) == len(_nested(new))


def _changed_codes(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The pieces of code that differ, with what takes their place, from the outside in."""
    for old_code, new_code in zip(_nested(old), _nested(new), strict=False):
        if old_code != new_code:
            yield old_code, new_code
            yield from _changed_codes(old_code, new_code)


def changes_nothing(file: str, old: bytes, new: bytes) -> bool:
    """Whether two sources compile to the same code."""

    def same(left: CodeType, right: CodeType) -> bool:
        pairs = zip(_nested(left), _nested(right), strict=False)
        return _same_but_nested(left, right) and all(same(*pair) for pair in pairs)

    return same(*(compile(text, file, "exec", dont_inherit=True) for text in (old, new)))
