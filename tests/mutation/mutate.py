"""Change the code a little, many times, and count how often the tests notice.

    python tests/mutation/mutate.py stats comparison --sample 200 --seed 1 -o found.json
    python tests/mutation/mutate.py --again found.json      # its survivors once more
    python tests/mutation/mutate.py --files 2 --sample 25 --seed today --seconds 30 --floor 50

A *mutant* is the package with one small change (`mutants.py` lists the kinds). The tests in the
mirror of its file, and the examples in it, that reach the changed statement run, the fastest first,
until one fails: the mutant is *noticed*. If none fails it *survived*: a fault that nobody would
notice, or a change that changes nothing. A run that takes five times the time of its tests counts
as noticed. The score is noticed / reached: a lower bound, for other tests might notice more, and
code that runs in another process that a test starts is not changed.

A room is a folder or a file of the package, or a name of `ROOMS`. Mutants that are known to change
nothing stand in `equivalents.toml`, each with its reason; an entry that names no mutant is an
error. Each mutant runs in a fork that has the heavy libraries and imports the package anew, the
changed module from memory: a run that is killed leaves the tree as it was. Exit code 1 if the
score is below `--floor` or nothing was reached.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import importlib.machinery
import importlib.util
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

ENVIRONMENT = {
    "CI": "true",
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
    "NUMBA_DISABLE_JIT": "1",  # compiled functions would not see changed code
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "rageval_report"
EQUIVALENTS = Path(__file__).with_name("equivalents.toml")
# Rooms that are some files of a folder; any other is a folder or a file of the package.
ROOMS = {
    "comparison": (
        "analysis/compare.py",
        "analysis/paired_metric.py",
        "analysis/pairing.py",
        "analysis/verdicts.py",
    ),
    "retrieval": (
        "metrics/joining.py",
        "metrics/ranking_scores.py",
        "metrics/retrieval.py",
        "metrics/trec_files.py",
    ),
}
EVERY_ROOM = ("stats", "comparison", "scores", "retrieval")
LIBRARIES = (
    "_hypothesis_pytestplugin",
    "scipy.stats",
    "matplotlib",
    "jinja2",
    "click",
    "pyarrow.parquet",
)
PYTEST = "-q -p no:cacheprovider -p no:rageval_report.pytest -p no:xdist -p no:anyio".split()
PYTEST += [
    "--capture=sys",
    "--rootdir",
    str(ROOT),
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
]
OUTCOMES = ("noticed", "survived", "not reached", "not run")
if __name__ == "__main__" and any(os.environ.get(k) != v for k, v in ENVIRONMENT.items()):
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT)}
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)

import coverage  # noqa: E402 - what is imported here reads the environment
import hypothesis  # noqa: E402
import pytest  # noqa: E402
from mutants import Mutant, changed, mutants_of  # noqa: E402


@dataclass
class Finding:
    """A mutant, what became of it, and the test that noticed it."""

    room: str
    mutant: Mutant
    outcome: str = "not run"
    test: str = ""


# -- which mutants and which tests


def files_of(room: str) -> list[str]:
    """The files of a room, from the root of the repository."""
    places = [PACKAGE / place for place in ROOMS.get(room, (room,))]
    missing = [str(place) for place in places if not place.exists()]
    if missing:
        raise SystemExit(f"room {room!r}: there is no {', '.join(missing)}")
    files = [file for one in places for file in ([one] if one.is_file() else one.rglob("*.py"))]
    return sorted(file.relative_to(ROOT).as_posix() for file in files)


def equivalents(path: Path = EQUIVALENTS) -> set[tuple[str, str, str, str, int]]:
    """The keys of the mutants that change nothing.

    Raises
    ------
    SystemExit
        If an entry has no reason or names no mutant.
    """
    keys = set()
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", []):
        if not entry.get("reason", "").strip():
            raise SystemExit(f"{path.name}: an entry lacks its reason: {entry}")
        names = ("file", "function", "old", "new")
        key = (*(entry[name] for name in names), entry.get("occurrence", 0))
        source = ROOT / entry["file"]
        known = mutants_of(entry["file"], source.read_text("utf-8")) if source.exists() else []
        if key not in {one.key for one in known}:
            raise SystemExit(f"{path.name}: no mutant is {key}; correct the entry or take it out")
        keys.add(key)
    return keys


def chosen(options: argparse.Namespace) -> list[Finding]:
    """A seeded sample of the mutants of each room, or the survivors of a report."""
    left_out, again, found = equivalents(), None, []
    if options.again:
        report = json.loads(Path(options.again).read_text(encoding="utf-8"))
        lines = [one for one in report if one["outcome"] == "survived"]
        options.rooms = [*dict.fromkeys(one["room"] for one in lines)]
        names = ("file", "function", "old", "new", "occurrence")
        again = {tuple(one["mutant"][name] for name in names) for one in lines}
    for room in options.rooms or EVERY_ROOM:
        draw, files = random.Random(f"{options.seed}:{room}"), files_of(room)
        if options.files and not again:
            files = draw.sample(files, min(options.files, len(files)))
        every = [
            one for file in files for one in mutants_of(file, (ROOT / file).read_text("utf-8"))
        ]
        every = [one for one in every if one.key not in left_out]
        if again:
            every = [one for one in every if one.key in again]
        else:
            every = draw.sample(every, min(options.sample, len(every)))
        found += [Finding(room, one) for one in every]
    random.Random(options.seed).shuffle(found)  # so that an early end cuts all rooms alike
    return found


def mirror(file: str) -> list[str]:
    """The examples of a file of the package, and the tests of its room that have its name.

    Without such tests those that hold its name as a word, or all.
    """
    inside = Path(file).relative_to(PACKAGE.name)
    every = sorted((ROOT / "tests" / inside.parts[0]).rglob("test_*.py"))
    named = [path for path in every if path.stem.startswith(f"test_{inside.stem}")]
    word = re.compile(rf"\b{inside.stem}\b")
    holding = [] if named else [path for path in every if word.search(path.read_text("utf-8"))]
    return [file, *(path.relative_to(ROOT).as_posix() for path in named or holding or every)]


# -- in a fork


class Watch:
    """A plugin of pytest: which tests run, which failed, and how long each took."""

    def __init__(self, tests: Iterable[str] | None = None, cover: coverage.Coverage | None = None):
        self.tests, self.cover = None if tests is None else list(tests), cover
        self.failed: list[str] = []
        self.seconds: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        # Before the finder of pytest, which went to the front: it loads what is named to it.
        sys.meta_path.sort(key=lambda finder: not isinstance(finder, ChangedModule))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.tests is not None:
            named = {item.nodeid: item for item in items}
            items[:] = [named[test] for test in self.tests if test in named]

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self.cover is not None:
            self.cover.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed or report.skipped:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(f"{report.nodeid} cannot be collected")


def measure(paths: list[str], files: list[str]) -> dict[str, object]:
    """Which lines of the files each test that passes reaches, and how long it takes."""
    cover = coverage.Coverage(data_file=None, include=[str(ROOT / file) for file in files])
    watch = Watch(cover=cover)
    cover.start()
    code = pytest.main([*PYTEST, *paths], plugins=[watch])
    cover.stop()
    data, lines = cover.get_data(), {}
    for file in files:
        for line, tests in data.contexts_by_lineno(str(ROOT / file)).items():
            lines.setdefault(file, {})[line] = tests
    seconds = {test: s for test, s in watch.seconds.items() if test not in watch.failed}
    faults = [one for one in watch.failed if "collected" in one]
    return {"lines": lines, "seconds": seconds, "code": int(code), "faults": faults}


class ChangedModule:
    """Finds the one changed module, and hands its code over from memory."""

    def __init__(self, mutant: Mutant) -> None:
        self.path = str(ROOT / mutant.file)
        name = mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        tree = changed(Path(self.path).read_text("utf-8"), mutant.number)
        code = compile(tree, self.path, "exec", dont_inherit=True)
        self.name, self.loader = name, importlib.machinery.SourceFileLoader(name, self.path)
        self.loader.get_code = lambda _: code

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self.loader)


def test_mutant(mutant: Mutant, tests: list[str]) -> str:
    """The first test that notices a mutant, or nothing."""
    try:
        sys.meta_path.insert(0, ChangedModule(mutant))
    except SyntaxError:
        return "it does not compile"
    watch = Watch(tests)
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    code = pytest.main([*PYTEST, "-x", *files], plugins=[watch])
    return "" if code == 0 else next(iter(watch.failed), f"pytest ended with {int(code)}")


test_mutant.__test__ = False  # no test of pytest


def forked(work: Callable[..., object], seconds: float, *arguments: object) -> object:
    """What a function returns in a process of its own; None if it ends badly or takes too long."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    folder = tempfile.mkdtemp(prefix="mutant-")
    process = context.Process(target=_settled, args=(theirs, folder, seconds, work, arguments))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(30 + 6 * seconds) else None
    except EOFError:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
        shutil.rmtree(folder, ignore_errors=True)


def _settled(channel: object, folder: str, seconds: float, work: object, arguments: tuple) -> None:
    """In the fork: limits, a folder and a group of its own, and no output."""
    os.setpgid(0, 0)
    # Processor time, for a busy machine must not turn a survivor into one that was noticed.
    limit = int(2 + 5 * seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TMPDIR"] = tempfile.tempdir = folder
    channel.send(work(*arguments))


# -- the run


@dataclass
class Reached:
    """Which tests reach which lines, and how long they take."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[tuple[str, int], set[str]] = field(default_factory=dict)

    def add(self, measured: dict[str, dict]) -> None:
        self.seconds.update(measured["seconds"])
        for file, lines in measured["lines"].items():
            for line, tests in lines.items():
                self.lines.setdefault((file, line), set()).update(tests)

    def tests_of(self, mutant: Mutant, limit: float) -> list[str]:
        """The fastest tests that reach a mutant, as many as take no longer than a limit."""
        found = set().union(*(self.lines.get((mutant.file, line), ()) for line in mutant.lines))
        near = set(mirror(mutant.file))
        if "" in found:  # reached by importing: all tests near it
            found = {test for test in self.seconds if test.partition("::")[0] in near}
        tests, total = [], 0.0
        for test in sorted(
            found & self.seconds.keys(), key=lambda test: (self.seconds[test], test)
        ):
            total += self.seconds[test]
            if tests and total > limit:
                break
            tests.append(test)
        return tests


def run(found: list[Finding], options: argparse.Namespace) -> None:
    """Find out what becomes of each mutant, until the time is over."""
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    hypothesis.settings.register_profile(  # the first failing example, not the smallest
        "ci", hypothesis.settings.get_profile("ci"), phases=[hypothesis.Phase.generate]
    )
    files = sorted({one.mutant.file for one in found})
    paths = [*dict.fromkeys(path for file in files for path in mirror(file))]
    gc.freeze()  # or each fork would copy what its collector touches
    reached = Reached()
    with ThreadPoolExecutor(options.jobs) as pool:
        for path, measured in zip(
            paths, pool.map(lambda path: forked(measure, 600, [path], files), paths), strict=True
        ):
            if measured is None or measured["faults"]:
                raise SystemExit(f"{path} could not be run: {measured and measured['faults']}")
            reached.add(measured)
        end = time.monotonic() + options.seconds

        def judge(one: Finding) -> None:
            if time.monotonic() > end:
                return
            tests = reached.tests_of(one.mutant, options.limit)
            if not tests:
                one.outcome = "not reached"
                return
            seconds = sum(reached.seconds[test] for test in tests)
            test = forked(test_mutant, seconds, one.mutant, tests)
            one.test = "it took too long, or ended the process" if test is None else test
            one.outcome = "noticed" if one.test else "survived"
            if not one.test:
                print(one.mutant, flush=True)

        list(pool.map(judge, found))


def score_of(found: list[Finding]) -> float:
    """Mutants that were noticed, in percent of those that a test reaches; NaN of none."""
    counts = Counter(one.outcome for one in found)
    n_reached = counts["noticed"] + counts["survived"]
    return 100 * counts["noticed"] / n_reached if n_reached else float("nan")


def report(found: list[Finding], options: argparse.Namespace) -> int:
    """Print the table; the exit code."""
    if options.output:
        lines = [{**asdict(one), "mutant": asdict(one.mutant)} for one in found]
        Path(options.output).write_text(json.dumps(lines, indent=1), encoding="utf-8")
    print(f"{'':16}" + "".join(f"{name:>13}" for name in ("mutants", *OUTCOMES, "score %")))
    for room in [*dict.fromkeys(one.room for one in found)]:
        group = [one for one in found if one.room == room]
        counts = Counter(one.outcome for one in group)
        numbers = [len(group), *(counts[name] for name in OUTCOMES)]
        print(f"{room:16}" + "".join(f"{n:>13}" for n in numbers) + f"{score_of(group):>13.1f}")
    score = score_of(found)
    is_low = options.floor > 0 and not score >= options.floor
    print(f"all together {score:.1f} %, seed {options.seed}, floor {options.floor:g} %")
    return int(is_low)


def parsed(arguments: list[str]) -> argparse.Namespace:
    line = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = line.add_argument
    add("rooms", nargs="*", help=f"default: {' '.join(EVERY_ROOM)}")
    add("--sample", type=int, default=100, help="mutants of each room")
    add("--files", type=int, help="draw the sample from as many files of each room")
    add("--seed", default="0", help="of the sample; `today` for another one every day")
    add("--again", metavar="REPORT", help="the survivors of a report")
    add("--seconds", type=float, default=1e9, help="for the mutants, once tests are measured")
    add("--limit", type=float, default=1e9, help="seconds of tests for one mutant")
    add("--floor", type=float, default=0.0, help="the lowest score in percent that is accepted")
    add("--jobs", type=int, default=1)
    add("-o", "--output", metavar="REPORT", help="write all mutants and outcomes as JSON")
    options = line.parse_args(arguments)
    if options.seed == "today":
        options.seed = time.strftime("%Y-%m-%d", time.gmtime())
    return options


def main(arguments: list[str]) -> int:
    options = parsed(arguments)
    found = chosen(options)
    run(found, options)
    return report(found, options)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
