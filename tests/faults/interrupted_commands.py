"""Ctrl-C at random moments: each command ends with code 130 and one line, and its files are whole.

Usage::

    python tests/faults/interrupted_commands.py --trials 400 --seed 1
    python tests/faults/interrupted_commands.py --trials 100 --seed 2 --load 20

Every trial starts one of `COMMANDS` as a process of its own and sends SIGINT at a random moment of
its life, from its start to its end. It must end within `PATIENCE` seconds: with code 130, one line
on standard error that says so and no traceback; or with code 0 if it was faster. A file that it
writes is absent or whole, every line of a journal is whole, and a run that was interrupted can be
resumed to its end. If one of these does not hold, the exit code is 1.

Before the command works, while Python imports it, and after it, the interpreter itself answers to
SIGINT with a traceback; such trials are counted as "before". `--load` keeps so many processes busy.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 60.0
COMMAND = (sys.executable, "-m", "rageval_report")
PROGRAM = """
import json, sys, time
for line in sys.stdin:
    time.sleep(0.01)
    print(json.dumps({"answer": json.loads(line)["question"]}), flush=True)
"""
N_QUERIES = 40


@dataclass(frozen=True)
class Case:
    """A command, the files that it may write whole, and the folder of its run, if it has one."""

    words: tuple[str, ...]
    files: tuple[str, ...] = ()
    run: str | None = None
    is_endless: bool = False


def cases(folder: Path) -> dict[str, Case]:
    """The commands by name; their inputs are written to the folder."""
    for n, name in enumerate(("old", "new")):
        rows = (f"q{i},{(i * 7 + n) % 10 / 10},{(i * 3 + n) % 2}" for i in range(200))
        text = "\n".join(["query_id,recall,exact_match", *rows])
        (folder / f"{name}.csv").write_text(text + "\n")
    rows = ({"query_id": f"q{i}", "question": f"Why {i}?"} for i in range(N_QUERIES))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "loop.py").write_text(PROGRAM)
    line = f"{sys.executable} loop.py"
    asking = ("eval", "--command", line, "--records", "queries.jsonl", "--metric", "latency_ms")
    return {
        "version": Case(("--version",)),
        "help": Case(("--help",)),
        "report": Case(("report", "old.csv")),
        "report to a file": Case(("report", "old.csv", "-o", "report.html"), ("report.html",)),
        "compare": Case(("compare", "old.csv", "new.csv", "-o", "c.json"), ("c.json",)),
        "plot": Case(("plot", "old.csv", "-o", "p.png"), ("p.png",)),
        "export": Case(("export", "old.csv", "-o", "e.jsonl"), ("e.jsonl",)),
        "serve": Case(("demo", "serve", "--port", "0"), is_endless=True),
        "eval": Case((*asking, "-o", "run"), run="run"),
    }


@dataclass
class Outcomes:
    """How the trials ended."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0


def start(words: tuple[str, ...], folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell starts a job in the background with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def fault_of(code: int, stderr: str) -> tuple[str, str | None]:
    """What a trial counts as, and what is wrong with it, if anything."""
    lines = [line for line in stderr.splitlines() if line.startswith("rageval-report:")]
    is_loud = "Traceback" in stderr or "Exception ignored" in stderr
    if ", in invoke" not in stderr and not lines and (code == -signal.SIGINT or is_loud):
        return "before", None
    if is_loud:
        return "fault", f"a traceback, code {code}:\n{stderr[-1500:]}"
    if code == 0:
        return "finished", None
    # Python ends itself by the signal if it came while a class was made by `exec`; shells say 130.
    if code not in (130, -signal.SIGINT):
        return "fault", f"code {code}: {stderr[-500:]!r}"
    if len(lines) != 1 or not lines[0].startswith("rageval-report: interrupted"):
        return "fault", f"expected one line about the interruption; got {stderr[-500:]!r}"
    return "interrupted", None


def wrong_files(case: Case, folder: Path, whole: dict[str, bytes]) -> str | None:
    """What is wrong with the files of a trial, if anything."""
    for name in case.files:
        path = folder / name
        if path.exists() and path.stat().st_size < 0.9 * len(whole[name]):
            return f"{name} is not whole: {path.stat().st_size} of {len(whole[name])} bytes"
    journal = folder / (case.run or "") / "journal.jsonl"
    if case.run is None or not journal.exists():
        return None
    text = journal.read_text()
    if not text.endswith("\n"):
        return "the last line of the journal is not whole"
    kept = [json.loads(line) for line in text.splitlines()]
    resumed = subprocess.run(
        [*COMMAND, *case.words, "--resume"], cwd=folder, capture_output=True, timeout=10 * PATIENCE
    )
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    answered = {row["row"] for row in rows if "row" in row}
    if resumed.returncode != 0 or len(answered) != N_QUERIES or rows[: len(kept)] != kept:
        return f"it cannot be resumed: code {resumed.returncode}, {resumed.stderr[-500:]!r}"
    return None


def stress(n_trials: int, seed: int, names: list[str] | None = None) -> Outcomes:
    """Interrupt so many processes."""
    random_ = random.Random(seed)
    outcomes = Outcomes()
    with tempfile.TemporaryDirectory() as text:
        first = Path(text)
        table = cases(first)
        names = names or list(table)
        seconds, whole = {}, {}
        for name in names:  # how long each takes, and what it writes
            seconds[name] = time_of(table[name], first)
            whole.update({file: (first / file).read_bytes() for file in table[name].files})
        for n in range(n_trials):
            name = names[n % len(names)]
            folder = first / f"trial {n}"
            folder.mkdir()
            cases(folder)
            run_trial(name, table[name], folder, random_.uniform(0, seconds[name]), whole, outcomes)
    return outcomes


def time_of(case: Case, folder: Path) -> float:
    started = time.monotonic()
    process = start(case.words, folder)
    if case.is_endless:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=10 * PATIENCE)
    if process.returncode != (130 if case.is_endless else 0):
        raise RuntimeError(f"{case.words} does not work: {stderr.decode()[-500:]}")
    return time.monotonic() - started


def run_trial(
    name: str, case: Case, folder: Path, moment: float, whole: dict[str, bytes], outcomes: Outcomes
) -> None:
    process = start(case.words, folder)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    started = time.monotonic()
    try:
        _, stderr = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        _, stderr = process.communicate()
        outcomes.faults.append(f"{name} at {moment:.3f} s: still running; {stderr[-500:]!r}")
        outcomes.counts[name, "fault"] += 1
        return
    outcomes.slowest = max(outcomes.slowest, time.monotonic() - started)
    kind, fault = fault_of(process.returncode, stderr.decode(errors="replace"))
    fault = fault or wrong_files(case, folder, whole)
    if fault is not None:
        outcomes.faults.append(f"{name} at {moment:.3f} s: {fault}")
        kind = "fault"
    outcomes.counts[name, kind] += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--load", type=int, default=0, help="number of busy processes beside it")
    parser.add_argument("--only", action="append", help="the name of a command; repeat for several")
    arguments = parser.parse_args()
    words = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(words) for _ in range(arguments.load)]
    try:
        outcomes = stress(arguments.trials, arguments.seed, arguments.only)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    for (name, kind), n in sorted(outcomes.counts.items()):
        sys.stdout.write(f"{n:6}  {name}: {kind}\n")
    sys.stdout.write(f"slowest end after SIGINT: {outcomes.slowest:.2f} s\n")
    for fault in outcomes.faults:
        sys.stdout.write(f"FAULT  {fault}\n")
    return 1 if outcomes.faults else 0


if __name__ == "__main__":
    sys.exit(main())
