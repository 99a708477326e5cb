"""Change the code a little, many times, and count how often the tests notice.

    python tests/mutation/mutate.py --rooms stats comparison --sample 200 --seed 1
    python tests/mutation/mutate.py --rooms stats --only pairs/paired.py --all -o found.json
    python tests/mutation/mutate.py --rooms stats --again found.json      # its survivors once more
    python tests/mutation/mutate.py --rooms stats scores --near --files 4 --sample 60 --budget 45

A *mutant* is the package with one small change (`mutants.py` lists the kinds). The tests that
reach its line run, those first that killed another mutant of the same function and then the fastest
first, until one fails: the mutant is *killed*. If none fails it *survived*: a fault that nobody
would notice, or a change that changes nothing. A run that takes five times the processor time of
its tests, or exhausts the memory, is *timed out* and counts as killed. A mutant whose line no test
reaches is *not covered*, and counts neither way. The score is killed / covered.

A room is a folder of the package with the tests that mirror it (`ROOMS` has those that differ).
Which test reaches which lines is measured once and kept in `.mutation/`; a change of a file of
tests measures that file again, a change of the package everything. `--near` takes of the tests
only the mirror of each file and its own examples: quick, and the score is a lower bound.
Code that runs in another process that a test starts is not changed: a lower bound too.

Mutants that are known to change nothing stand in `equivalents.toml`, each with its reason, and are
not run; an entry that matches no mutant is an error, and `--equivalents` runs them all: one that a
test kills is an error. Changed sources live in memory only, so that a run that is killed leaves the
tree as it was. `--again` takes the survivors of a report and runs them once more.

Exit code 0; 1 if the score of all rooms together is below `--floor`, or the run cannot start; 2 if
an entry of the list is not equivalent. A mutant for which the budget left no time is *not run*.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ENVIRONMENT = {
    "CI": "true",
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
    "NUMBA_DISABLE_JIT": "1",  # compiled functions would not see changed code
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__" and any(os.environ.get(k) != v for k, v in ENVIRONMENT.items()):
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT)}
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)

import warm  # noqa: E402 - what it imports reads the environment
from mutants import Mutant, lines_that_read, mutants_of  # noqa: E402

PACKAGE = ROOT / warm.PACKAGE
KEPT = ROOT / ".mutation" / "lines.json"
EQUIVALENTS = Path(__file__).with_name("equivalents.toml")

RETRIEVAL = ("joining", "ranking_scores", "retrieval", "trec_files")
COMPARISON = ("compare", "paired_metric", "pairing", "verdicts")
# The folder of a room in the package, or its files, and its tests if these are not its mirror.
ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "comparison": (
        tuple(f"analysis/{name}.py" for name in COMPARISON),
        (
            "tests/analysis/comparing",
            "tests/analysis/test_family.py",
            "tests/cli/test_cli_compare.py",
        ),
    ),
    "retrieval": (
        tuple(f"metrics/{name}.py" for name in RETRIEVAL),
        ("tests/metrics",),
    ),
}
OUTCOMES = ("killed", "timed out", "survived", "not covered", "not run")


@dataclass(frozen=True)
class Room:
    """Folders or files of the package and the paths of their tests."""

    name: str
    places: tuple[str, ...]
    tests: tuple[str, ...]

    @classmethod
    def named(cls, name: str) -> Room:
        places, tests = ROOMS.get(name, ((name,), ()))
        for place in places:
            if not (PACKAGE / place).exists():
                raise SystemExit(f"--rooms: the package has no folder {place!r}")
        mirror = f"tests/{places[0]}"
        mirrored = (mirror,) if not tests and (ROOT / mirror).exists() else tests
        inside = tuple(f"{PACKAGE.name}/{place}" for place in places)
        return cls(name, inside, (*mirrored, *inside))

    def files(self) -> list[str]:
        places = [ROOT / place for place in self.places]
        inside = [
            path
            for place in places
            for path in ([place] if place.is_file() else place.rglob("*.py"))
        ]
        return [path.relative_to(ROOT).as_posix() for path in sorted(inside)]


@dataclass
class Finding:
    """A mutant, and what became of it."""

    room: str
    mutant: Mutant
    outcome: str = "not run"
    test: str = ""
    seconds: float = 0.0
    tests: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        one = self.mutant
        place = {"room": self.room, "file": one.file, "line": one.line, "function": one.function}
        change = {"kind": one.kind, "old": one.old, "new": one.new, "occurrence": one.occurrence}
        return {**place, **change, "outcome": self.outcome, "test": self.test}

    def __str__(self) -> str:
        one = self.mutant
        where = f"{one.file}:{one.line} {one.function or '(outside functions)'}: {one.kind}"
        return f"{where}\n    - {one.old}\n    + {one.new}"


# -- which mutants


def chosen_mutants(rooms: list[Room], options: argparse.Namespace) -> list[Finding]:
    """A seeded sample of the mutants of each room, without those that are known to be equivalent.

    Raises
    ------
    SystemExit
        If an entry of the list of equivalents matches no mutant.
    """
    known = read_equivalents(EQUIVALENTS)
    found = []
    for room in rooms:
        draw = random.Random(f"{options.seed}:{room.name}")
        files = [file for file in room.files() if any(part in file for part in options.only)]
        every = {file: mutants_of(file, (ROOT / file).read_bytes()) for file in room.files()}
        mutants = [one for file in files for one in every[file]]
        equivalent = matched(known, every)
        mutants = [one for one in mutants if (one.key in equivalent) == options.equivalents]
        if options.again:
            wanted = survivors_of(options.again)
            mutants = [one for one in mutants if one.key in wanted]
        if options.files:
            some = draw.sample(files, min(options.files, len(files)))
            mutants = [one for one in mutants if one.file in some]
        if not (options.all or options.again or options.equivalents):
            mutants = draw.sample(mutants, min(options.sample, len(mutants)))
        found += [Finding(room.name, one) for one in mutants if not is_unchanged(one)]
    return found


def is_unchanged(mutant: Mutant) -> bool:
    """Whether Python compiles a mutant to what it compiles the original to."""
    source = (ROOT / mutant.file).read_bytes()
    return warm.changes_nothing(mutant.file, source, mutant.applied_to(source))


def read_equivalents(path: Path) -> list[dict[str, str]]:
    """The entries of the list: `file`, `function`, `old`, `new` and `reason`."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    for entry in entries:
        lacks = {"file", "function", "old", "new", "reason"} - entry.keys()
        if lacks or not entry["reason"].strip():
            raise SystemExit(f"{path}: an entry lacks {', '.join(sorted(lacks)) or 'a reason'}")
    return entries


def matched(
    entries: list[dict[str, str]], every: dict[str, list[Mutant]]
) -> set[tuple[str, str, str, str, int]]:
    """The keys of the mutants that entries name; each entry of these files must name one."""
    keys = set()
    for entry in entries:
        if entry["file"] not in every:
            continue
        wanted = tuple(entry[name] for name in ("file", "function", "old", "new"))
        named = {one.key for one in every[entry["file"]] if one.key[:4] == wanted}
        if "occurrence" in entry:
            named = {key for key in named if key[4] == entry["occurrence"]}
        if not named:
            raise SystemExit(
                f"{EQUIVALENTS.name}: no mutant is {entry['old']!r} -> {entry['new']!r} in "
                f"{entry['function']} of {entry['file']}; correct the entry or take it out"
            )
        keys |= named
    return keys


def survivors_of(path: str) -> set[tuple[object, ...]]:
    """The keys of the mutants that survived in a report that `-o` wrote."""
    found = json.loads(Path(path).read_text(encoding="utf-8"))["mutants"]
    names = ("file", "function", "old", "new", "occurrence")
    return {tuple(one[name] for name in names) for one in found if one["outcome"] == "survived"}


# -- which tests


class Reached:
    """Which tests reach which lines of the package, and how long they take."""

    def __init__(self, measured: dict[str, dict[str, object]]) -> None:
        self.seconds = {test: one["seconds"] for test, one in measured.items() if one["passed"]}
        self.lines: dict[tuple[str, int], list[str]] = {}
        for test in self.seconds:
            for file, lines in measured[test]["lines"].items():
                for line in lines:
                    self.lines.setdefault((file, line), []).append(test)
        self.files = {file for file, _ in self.lines}

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests that cover a mutant, the fastest first."""
        places = [(mutant.file, line) for line in mutant.lines]
        found = self._reaching(places)
        found = found or self._reaching([(mutant.file, line) for line in mutant.fallback_lines])
        if mutant.reads:
            for file in self.files:
                reading = lines_that_read(mutant.reads, (ROOT / file).read_bytes())
                found |= self._reaching([(file, line) for line in reading])
        return sorted(found, key=lambda test: (self.seconds[test], test))

    def _reaching(self, places: list[tuple[str, int]]) -> set[str]:
        return {test for place in places for test in self.lines.get(place, ())}


def digest(paths: list[Path]) -> str:
    """One text for the names and contents of files."""
    seen = hashlib.sha256()
    for path in sorted(paths):
        seen.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return seen.hexdigest()


def measured(tests: list[str], servers: Servers, folder: Path) -> dict[str, dict[str, object]]:
    """The lines that each test reaches: kept ones where neither package nor tests changed."""
    everything = digest([*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("conftest.py")])
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    by_file: dict[str, list[str]] = {}
    for test in tests:
        by_file.setdefault(test.partition("::")[0], []).append(test)
    marks = {file: everything + digest([ROOT / file]) for file in by_file}
    found = {file: kept[file][1] for file in by_file if kept.get(file, [""])[0] == marks[file]}
    missing = [
        file for file in by_file if file not in found or set(found[file]) != {*by_file[file]}
    ]
    shares = [missing[start :: servers.n] for start in range(servers.n)]

    def measure(number: int) -> None:
        names = tuple(test for file in shares[number] for test in by_file[file])
        if names:
            path = folder / f"{number}.json"
            servers.ask(number, warm.Measure(names, str(path)))
            lines = json.loads(path.read_text(encoding="utf-8"))
            found.update({file: {t: lines[t] for t in by_file[file]} for file in shares[number]})

    in_threads(measure, servers.n)
    kept.update({file: [marks[file], found[file]] for file in missing})
    KEPT.parent.mkdir(exist_ok=True)
    unfinished = KEPT.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(kept, separators=(",", ":")), encoding="utf-8")
    unfinished.replace(KEPT)
    return {test: one for file in by_file for test, one in found[file].items()}


def nearest(files: list[str]) -> list[str]:
    """The mirrors of files of the package, and their own examples."""
    mirrors = []
    for file in map(Path, files):
        inside = file.relative_to(PACKAGE.name)
        tests = [ROOT / "tests" / folder for folder in (inside.parent, *inside.parent.parents)]
        named = [path for folder in tests for path in folder.glob(f"test_{inside.stem}*.py")]
        mirrors += named[:1] or [tests[0]]
    found = [path.relative_to(ROOT).as_posix() for path in mirrors if path.exists()]
    return [*dict.fromkeys(found), *files]


# -- the processes that run the tests


class Servers:
    """Warmed processes, a pair for each job: one with the tests collected, one bare."""

    def __init__(self, n: int, paths: list[str], files: list[str], log: Path) -> None:
        self.n, self.log = n, log
        context = multiprocessing.get_context("fork")
        self.bare, self.collected, theirs = [], [], []
        self.processes: list[int] = []
        for _ in range(n):
            ours, other = context.Pipe()
            self.processes.append(forked(lambda other=other: warm.bare_server(other)))
            self.bare.append(ours)
        for _ in range(n):
            ours, other = context.Pipe()
            self.collected.append(ours)
            theirs.append(other)
        start = (theirs, paths, files, str(log))
        self.processes.append(forked(lambda: warm.collected_servers(*start)))
        self.tests = self._collected_tests()

    def _collected_tests(self) -> list[str]:
        names: list[str] = []
        for channel in self.collected:
            while not channel.poll(0.2):
                if os.waitpid(self.processes[-1], os.WNOHANG)[0]:
                    self.processes.pop()
                    self.stop()
                    raise SystemExit("the tests could not be collected:\n" + self.log.read_text())
            names = channel.recv()
        return names

    def ask(self, number: int, question: warm.Question | warm.Measure) -> warm.Answer:
        """The answer of the collected process, or of the bare one where that cannot know."""
        self.collected[number].send(question)
        answer = self.collected[number].recv()
        if answer.code == warm.FRESH:
            answer = self.ask_bare(number, question)
        return self._sound(answer)

    def ask_bare(self, number: int, question: warm.Question) -> warm.Answer:
        self.bare[number].send(question)
        return self._sound(self.bare[number].recv())

    def _sound(self, answer: warm.Answer) -> warm.Answer:
        if answer.code == warm.BROKEN:
            raise RuntimeError(f"the process that runs the tests failed: {answer.test}")
        return answer

    def stop(self) -> None:
        for process in self.processes:
            os.kill(process, signal.SIGKILL)


def forked(work: object) -> int:
    process = os.fork()
    if process == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(0)
    return process


def in_threads(work: object, n: int) -> None:
    """Run `work(number)` in threads; an error in one of them is raised."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(n_,), daemon=True) for n_ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


# -- the run


def run(
    found: list[Finding], servers: Servers, reached: Reached, deadline: float, limit: float
) -> None:
    """Find out what becomes of each mutant, until the time is over."""
    waiting = iter(found)
    lock = threading.Lock()
    killers: dict[tuple[str, str], list[str]] = {}
    done = Counter[str]()

    def work(number: int) -> None:
        while True:
            with lock:
                one = next(waiting, None)
            if one is None or time.monotonic() > deadline:
                return
            place = (one.mutant.file, one.mutant.function)
            tests = reached.tests_of(one.mutant)
            earlier = [test for test in killers.get(place, ()) if test in tests]
            tests = within([*dict.fromkeys([*earlier, *tests])], reached, limit)
            judge(one, tests, number, servers, reached)
            with lock:
                done[one.outcome] += 1
                if one.outcome == "killed" and one.test:
                    mine = killers.setdefault(place, [])
                    mine[:] = [one.test, *(test for test in mine if test != one.test)][:8]
                show_progress(one, done, len(found))

    in_threads(work, servers.n)


def within(tests: list[str], reached: Reached, limit: float) -> list[str]:
    """The first tests that take no longer than a limit together; one at least."""
    total, kept = 0.0, []
    for test in tests:
        total += reached.seconds[test]
        if kept and total > limit:
            break
        kept.append(test)
    return kept


def judge(one: Finding, tests: list[str], number: int, servers: Servers, reached: Reached) -> None:
    """Run the tests of a mutant and note what became of it."""
    if not tests:
        one.outcome = "not covered"
        return
    source = one.mutant.applied_to((ROOT / one.mutant.file).read_bytes())
    seconds = sum(reached.seconds[test] for test in tests)
    start = time.monotonic()
    answer = servers.ask(number, warm.Question(tuple(tests), seconds, one.mutant.file, source))
    names = {None: "timed out", warm.SURVIVED: "survived"}
    one.outcome, one.test = names.get(answer.code, "killed"), answer.test
    one.seconds, one.tests = time.monotonic() - start, tests


def check_fresh_process(servers: Servers, reached: Reached) -> None:
    """A test of each kind must pass unchanged in a process that imports the package anew."""
    quick = sorted(reached.seconds, key=reached.seconds.__getitem__)[:20]
    seconds = sum(reached.seconds[test] for test in quick)
    answer = servers.ask_bare(0, warm.Question(tuple(quick), seconds))
    if answer.code != warm.SURVIVED:
        raise SystemExit(f"tests fail in a bare process without any change: {answer}")


def show_progress(one: Finding, done: Counter[str], n: int) -> None:
    """A survivor as soon as it is found, so that a run that is ended early has said something."""
    if one.outcome == "survived":
        print(one, flush=True)
    if sys.stderr.isatty() or sum(done.values()) % 50 == 0:
        counts = ", ".join(f"{done[name]} {name}" for name in OUTCOMES if done[name])
        print(f"{sum(done.values())} of {n}: {counts}", file=sys.stderr, flush=True)


# -- what is said


def score_of(found: list[Finding]) -> float:
    """Killed mutants, those timed out among them, in percent of the covered ones; NaN of none."""
    counts = Counter(one.outcome for one in found)
    killed = counts["killed"] + counts["timed out"]
    covered = killed + counts["survived"]
    return 100 * killed / covered if covered else float("nan")


def table(found: list[Finding], by_file: bool) -> Iterator[str]:
    """A line for each room, and one for each file if wanted."""
    yield f"{'':40}" + "".join(f"{name:>13}" for name in ("mutants", *OUTCOMES, "score %"))
    groups: dict[str, list[Finding]] = {}
    for one in found:
        groups.setdefault(one.room, []).append(one)
        if by_file:
            groups.setdefault(one.mutant.file.removeprefix(f"{PACKAGE.name}/"), []).append(one)
    for name, group in groups.items():
        counts = Counter(one.outcome for one in group)
        numbers = [len(group), *(counts[outcome] for outcome in OUTCOMES)]
        cells = "".join(f"{number:>13}" for number in numbers)
        yield f"{name:40}{cells}{score_of(group):>13.1f}"


def parsed(arguments: list[str]) -> argparse.Namespace:
    line = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = line.add_argument
    add("--rooms", nargs="+", default=["stats", "comparison", "scores", "retrieval"])
    add("--only", nargs="+", default=[""], help="parts of the paths of files to change")
    add("--sample", type=int, default=100, help="mutants of each room")
    add("--files", type=int, help="draw the sample from as many files of each room")
    add("--seed", default="0", help="of the sample; `today` for another one every day")
    add("--all", action="store_true", help="every mutant, no sample")
    add("--again", metavar="REPORT", help="the survivors of a report")
    add("--equivalents", action="store_true", help="run those known to change nothing")
    add("--near", action="store_true", help="only the mirror and the examples of each file")
    add(
        "--budget",
        type=float,
        default=float("inf"),
        help="seconds for the mutants, once tests are measured",
    )
    add("--limit", type=float, default=float("inf"), help="seconds of tests for one mutant")
    add("--floor", type=float, default=0.0, help="the lowest score in percent that is accepted")
    add("--jobs", type=int, default=1)
    add("--by-file", action="store_true", help="a line for each file too")
    add("-o", "--output", metavar="REPORT", help="write all mutants and outcomes as JSON")
    options = line.parse_args(arguments)
    if options.seed == "today":
        options.seed = time.strftime("%Y-%m-%d", time.gmtime())
    return options


def main(arguments: list[str]) -> int:
    options = parsed(arguments)
    rooms = [Room.named(name) for name in options.rooms]
    found = chosen_mutants(rooms, options)
    if not found:
        raise SystemExit("no mutant is chosen")
    random.Random(options.seed).shuffle(found)  # so that a budget cuts all rooms alike
    files = sorted({one.mutant.file for one in found})
    names = {one.room for one in found}
    paths = [path for room in rooms if room.name in names for path in room.tests]
    paths = nearest(files) if options.near else [*dict.fromkeys(paths)]
    with warm.scratch_folder() as folder:
        servers = Servers(options.jobs, paths, files, folder / "log.txt")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
        try:
            reached = Reached(measured(servers.tests, servers, folder))
            if not all(one.mutant.lines for one in found):
                check_fresh_process(servers, reached)
            deadline = time.monotonic() + options.budget
            run(found, servers, reached, deadline, options.limit)
        finally:
            servers.stop()
    return report(found, options)


def report(found: list[Finding], options: argparse.Namespace) -> int:
    """Print the table; the exit code."""
    found.sort(key=lambda one: (one.room, one.mutant.file, one.mutant.line, one.mutant.start))
    if options.output:
        mutants = [one.as_dict() for one in found]
        Path(options.output).write_text(json.dumps({"mutants": mutants}, indent=1))
    print(*table(found, options.by_file), sep="\n")
    print(f"seed {options.seed}; timed out counts as killed; score = killed / covered")
    if options.equivalents:
        wrong = [one for one in found if one.outcome in {"killed", "timed out"}]
        print(*(f"not equivalent, {one.test} notices it: {one}" for one in wrong), sep="\n")
        return 2 if wrong else 0
    # If nothing was covered or run the score is NaN, which is not above a floor either.
    low = options.floor > 0 and not score_of(found) >= options.floor
    if low:
        print(f"all together {score_of(found):.1f} %: below the floor of {options.floor:g} %")
    return 1 if low else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
