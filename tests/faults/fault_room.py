"""Jobs are killed, run out of disk, lose their server or their clock, and are run again.

Usage::

    python tests/faults/fault_room.py --kills 300 --seed 1 --seconds 600

Each scenario runs one of `JOBS` in a new folder, disturbs it once to three times by one of
`TROUBLES`, at a random moment, and runs it again until it ends. Then nothing may be lost, doubled
or torn:

- Every file with its final name is whole, at any time: the one that was there before, or the one
  that a run without trouble writes.
- In the end all files are those of a run without trouble, and no
  temporary file is left.
- What was answered and kept is not asked for again; a kill loses only answers in flight.
- No traceback, and no command that does not end.

If one of these does not hold, the exit code is 1. ``--kills`` is the number of scenarios with a
kill; half as many have another trouble. It stops after ``--seconds``.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fault_jobs import IN_FLIGHT, JOBS, N_FAILED, Job, Outputs
from forked_commands import Ended, ForkedCommands
from mortal_servers import MortalServer

HOUR = 3600.0
BUG = 70
TEMPORARY = ".rageval-tmp"
SHORT_TIMEOUT = 5  # seconds; for the request that is never answered


@dataclass(frozen=True)
class Reference:
    """A run of a job without trouble."""

    before: Outputs
    after: Outputs
    calls: dict[str, int]
    seconds: float
    n_asked: int
    sizes: tuple[int, ...]  # of the files that it wrote


@dataclass
class Findings:
    """What was done, and what did not hold."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class FaultRoom:
    """Runs scenarios; use it in a ``with`` block."""

    def __init__(self, scratch: Path, *, mistake: str | None = None):
        self.scratch = scratch
        self.mistake = mistake
        self.findings = Findings()
        self._references: dict[str, Reference] = {}
        self._n_folders = 0

    def __enter__(self) -> FaultRoom:
        self._stack = contextlib.ExitStack()
        self.server = self._stack.enter_context(MortalServer())
        self.commands = self._stack.enter_context(ForkedCommands())
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def new_folder(self) -> Path:
        self._n_folders += 1
        folder = self.scratch / f"scenario-{self._n_folders}"
        folder.mkdir(parents=True)
        return folder

    def reference(self, job: Job) -> Reference:
        """What the job does without trouble."""
        if job.name not in self._references:
            # The first run may write bytecode, which are calls that no later run makes.
            self._run_undisturbed(job)
            self._references[job.name] = self._run_undisturbed(job)
        return self._references[job.name]

    def _run_undisturbed(self, job: Job) -> Reference:
        self.server.reset()
        folder = self.new_folder()
        job.prepare(folder)
        before = job.outputs(folder)
        inputs = set(folder.rglob("*"))
        ended = self.commands.run(job.words(self.server.url, False), folder)
        assert ended.code == 0, ended.output
        written = {path for path in folder.rglob("*") if path.is_file()} - inputs
        sizes = {path.stat().st_size for path in written} | {4096}
        return Reference(
            before,
            job.outputs(folder),
            ended.calls,
            ended.seconds,
            self.server.n_asked,
            tuple(sorted(sizes)),
        )

    def run(self, job: Job, trouble: str, seed: int) -> None:
        """Run a scenario, and look at what it leaves."""
        reference = self.reference(job)
        kind = TROUBLES[trouble]
        self.server.reset()
        self.findings.counts[job.name, trouble] += 1
        scenario = Scenario(self, job, reference, kind, random.Random(seed), self.findings.seen)
        with kind.place(self.new_folder()) as folder:
            job.prepare(folder)
            try:
                scenario.play(folder)
            except Exception as exc:  # of reading what is left
                scenario.faults.append(f"{type(exc).__name__}: {exc}")
        for fault in scenario.faults:
            self.findings.faults.append(f"{job.name}, {trouble}, seed {seed}: {fault}")


@dataclass
class Scenario:
    """One job in one folder, disturbed and run again."""

    room: FaultRoom
    job: Job
    reference: Reference
    kind: Kind
    rng: random.Random
    seen: Counter[str]
    faults: list[str] = field(default_factory=list)
    n_kills: int = 0

    def play(self, folder: Path) -> None:
        again = False
        for _ in range(self.rng.randint(1, 3) if self.kind.is_kill else 1):
            ended = self._run(folder, again=again, **self.kind.choose(self))
            self._check_end(ended)
            self._check_files(folder)
            again = True
            if ended.code == 0:  # it was faster than its trouble
                break
        self.room.server.dies_at = self.room.server.is_silent_at = None
        self.room.server.revive()
        self.kind.give_space(folder)
        self._finish(folder)

    def _finish(self, folder: Path) -> None:
        """Run once more, without trouble, and compare."""
        server, job = self.room.server, self.job
        n_kept = job.n_kept(folder) if job.n_kept else 0
        n_lost = server.answered.total() - n_kept
        if self.kind.is_kill and job.n_kept and n_lost > IN_FLIGHT * self.n_kills:
            self.faults.append(f"{n_lost} answers are lost after {self.n_kills} kills")
        self.seen["answers in flight that were lost"] += max(0, n_lost)
        before = server.answered.total()
        ended = self._run(folder, again=True)
        if ended.code != 0:
            self.faults.append(f"the last run ended with {ended.code}: {ended.output[-500:]}")
        n_asked = server.answered.total() - before
        if job.n_kept and n_asked != self.reference.n_asked - n_kept:
            self.faults.append(
                f"{n_kept} of {self.reference.n_asked} answers were kept, and {n_asked} asked for"
            )
        outputs = self.kind.simplify(job.outputs(folder))
        expected = self.kind.simplify(self.reference.after)
        self.faults.extend(
            f"{name} is not that of a run without trouble: {outputs.get(name)!s:.300}"
            for name in expected
            if outputs.get(name) != expected[name]
        )
        left = [path.name for path in folder.rglob("*") if TEMPORARY in path.name]
        if left:
            self.faults.append(f"temporary files are left: {left}")

    def _run(self, folder: Path, *, again: bool, **trouble: Any) -> Ended:
        words = [*self.job.words(self.room.server.url, again), *trouble.pop("more_words", [])]
        self.seen["runs"] += 1
        return self.room.commands.run(words, folder, mistake=self.room.mistake, **trouble)

    def _check_end(self, ended: Ended) -> None:
        code = ended.code
        if code is None:
            self.faults.append(f"it did not end: {ended.output[-300:]}")
        elif code < 0:
            self.n_kills += 1
            self.seen["kills"] += 1
            if not self.kind.is_kill:
                self.faults.append(f"signal {-code}")
        elif code != 0:
            self.seen["errors"] += 1
        if code == BUG or "Traceback" in ended.output:
            self.faults.append(f"a traceback: {ended.output[-800:]}")
        if code not in (0, None) and code not in self.kind.codes and code >= 0:
            self.faults.append(f"exit code {code}: {ended.output[-500:]}")

    def _check_files(self, folder: Path) -> None:
        """Every file is whole: the one from before, or the one of a run without trouble."""
        before, after = map(self.kind.simplify, (self.reference.before, self.reference.after))
        for name, value in self.kind.simplify(self.job.outputs(folder)).items():
            self.seen["files read back"] += 1
            is_allowed = value in (before.get(name), after[name])
            if not is_allowed and not (self.kind.may_be_partial and is_part_of(value, after[name])):
                self.faults.append(f"{name} is torn: {value!s:.300}")


def is_part_of(value: Any, expected: Any) -> bool:
    """Whether scores or rows are those expected, but for some that are missing or have failed."""
    if isinstance(expected, dict) and isinstance(value, dict):
        return value.keys() <= expected.keys() and all(
            cell is None
            or is_part_of(cell, expected[key])
            # The summary of a run in which more queries have failed.
            or (key == N_FAILED and cell > expected[key])
            for key, cell in value.items()
        )
    if isinstance(expected, list) and isinstance(value, list) and len(value) == len(expected):
        return all(
            row == right or (isinstance(row, dict) and row.get("error") is not None)
            for row, right in zip(value, expected, strict=True)
        )
    return bool(value == expected)


# -- kinds of trouble


@dataclass(frozen=True)
class Kind:
    """A kind of trouble: how its moment is chosen, and what is allowed with it."""

    choose: Callable[[Scenario], dict[str, Any]]
    is_kill: bool = False
    needs_server: bool = False
    codes: tuple[int, ...] = ()
    may_be_partial: bool = False
    on_small_disk: bool = False
    more_attempts: bool = False

    @contextlib.contextmanager
    def place(self, folder: Path) -> Iterator[Path]:
        """The folder; on a small disk of its own if the kind needs one."""
        if not self.on_small_disk:
            yield folder
            return
        mount(folder, "size=64m")
        try:
            yield folder
        finally:
            subprocess.run(["umount", str(folder)], check=True)

    def give_space(self, folder: Path) -> None:
        """Make the small disk large again."""
        if self.on_small_disk:
            mount(folder, "remount,size=64m")

    def simplify(self, outputs: Outputs) -> Outputs:
        """Leave out how often a question was asked, if the trouble makes that differ."""
        if not self.more_attempts or "run/records.jsonl" not in outputs:
            return outputs
        rows = [
            {key: row[key] for key in row if key != "attempts"}
            for row in outputs["run/records.jsonl"]
        ]
        return {**outputs, "run/records.jsonl": rows}


def mount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)


def can_mount(scratch: Path) -> bool:
    """Whether small disks can be mounted here: Linux, as root."""
    folder = scratch / "mounted"
    folder.mkdir()
    try:
        mount(folder, "size=64k")
    except (OSError, subprocess.CalledProcessError):
        return False
    subprocess.run(["umount", str(folder)], check=True)
    return True


def _any_call(scenario: Scenario) -> tuple[str, int]:
    # First a name, then an occurrence: renames are few, and reads are many.
    calls = scenario.reference.calls
    name = scenario.rng.choice(sorted(calls))
    return name, scenario.rng.randint(1, calls[name])


def _any_size(scenario: Scenario) -> int:
    return scenario.rng.randint(1, scenario.rng.choice(scenario.reference.sizes))


def _jump(scenario: Scenario, direction: int) -> dict[str, Any]:
    hours = scenario.rng.uniform(1, 30) * direction
    return {"jump_at": _any_call(scenario), "jump_by": hours * HOUR}


def _die(scenario: Scenario, resets: int | None) -> dict[str, Any]:
    server = scenario.room.server
    server.dies_at = scenario.rng.randint(1, scenario.reference.n_asked)
    server.resets = resets
    return {}


def _be_silent(scenario: Scenario) -> dict[str, Any]:
    """One request is never answered, and while its client waits the clock goes back."""
    scenario.room.server.is_silent_at = scenario.rng.randint(1, scenario.reference.n_asked)
    timeout = {"eval": "--timeout", "judge": "--timeout"}.get(scenario.job.name, "--judge-timeout")
    return {**_jump(scenario, -1), "more_words": [timeout, str(SHORT_TIMEOUT)]}


def _small_disk(scenario: Scenario) -> dict[str, Any]:
    # Room for the inputs, and for a part of what is written.
    size = scenario.rng.randint(1, max(8, sum(scenario.reference.sizes) // 4096)) * 4096
    folder = scenario.room.scratch / f"scenario-{scenario.room._n_folders}"
    used = os.statvfs(folder)
    used_bytes = (used.f_blocks - used.f_bfree) * used.f_frsize
    mount(folder, f"remount,size={used_bytes + size}")
    return {}


_DISK = {"codes": (2,), "may_be_partial": True}
TROUBLES = {
    "kill in a call": Kind(lambda s: {"kill_at": _any_call(s)}, is_kill=True),
    "kill in a file": Kind(
        lambda s: {"most_bytes": _any_size(s), "kill_at_most_bytes": True},
        is_kill=True,
    ),
    "kill by the clock": Kind(
        lambda s: {"kill_after": s.rng.random() * s.reference.seconds}, is_kill=True
    ),
    "file too large": Kind(lambda s: {"most_bytes": _any_size(s)}, **_DISK),
    "disk full": Kind(_small_disk, on_small_disk=True, **_DISK),
    "clock forward": Kind(lambda s: _jump(s, 1)),
    "clock back": Kind(lambda s: _jump(s, -1)),
    "server resets": Kind(lambda s: _die(s, 1), needs_server=True, more_attempts=True),
    "server dies": Kind(
        lambda s: _die(s, None),
        needs_server=True,
        codes=(2,),
        may_be_partial=True,
        more_attempts=True,
    ),
    "silent server, clock back": Kind(_be_silent, needs_server=True, more_attempts=True),
}
KILLS = tuple(name for name, kind in TROUBLES.items() if kind.is_kill)


def jobs_for(trouble: str) -> list[Job]:
    """The jobs that a trouble can meet."""
    jobs = list(JOBS.values())
    if trouble == "silent server, clock back":
        return [JOBS["eval"], JOBS["judge"]]
    return [job for job in jobs if job.n_kept] if TROUBLES[trouble].needs_server else jobs


def play(kills: int, seed: int, seconds: float, scratch: Path) -> Findings:
    """As many scenarios as wanted, while there is time; all kinds in turn."""
    others = [name for name in TROUBLES if name not in KILLS]
    if not can_mount(scratch):
        others.remove("disk full")
    end = time.monotonic() + seconds
    with FaultRoom(scratch) as room:
        troubles = {True: itertools.cycle(others), False: itertools.cycle(KILLS)}
        for number in range(kills + kills // 2):
            if time.monotonic() > end:
                break
            trouble = next(troubles[number % 3 == 2])
            job = random.Random(seed + number).choice(jobs_for(trouble))
            room.run(job, trouble, seed + number)
            _tidy(scratch)
    return room.findings


def _tidy(scratch: Path) -> None:
    for folder in scratch.iterdir():
        subprocess.run(["rm", "-rf", str(folder)], check=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        findings = play(arguments.kills, arguments.seed, arguments.seconds, Path(scratch))
    for (job, trouble), n in sorted(findings.counts.items()):
        sys.stdout.write(f"{n:6}  {job}: {trouble}\n")
    sys.stdout.write(f"{findings.counts.total():6}  scenarios\n")
    for name, n in sorted(findings.seen.items()):
        sys.stdout.write(f"{n:6}  {name}\n")
    for fault in findings.faults:
        sys.stdout.write(f"FAULT  {fault}\n")
    return 1 if findings.faults else 0


if __name__ == "__main__":
    sys.exit(main())
