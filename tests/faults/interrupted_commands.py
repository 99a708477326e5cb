"""Ctrl-C at random moments: each command ends with code 130 and one line, and its files are whole.

    python tests/faults/interrupted_commands.py --n 400 --seed 1

Every trial starts one of `CASES` as a process of its own and sends SIGINT at a random moment of
its life. It must end within `PATIENCE` seconds: with code 130, one line on standard error that says
so and no traceback; or with code 0 if it was faster. A file that it writes is absent or whole,
every line of a journal is whole, and a run that was interrupted can be resumed to its end. While
Python imports the command, and after it, the interpreter itself answers to SIGINT with a traceback;
such trials are counted as "before".
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from attack import Found, main

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
    """A command, the file that it may write whole, and whether it runs and can be resumed."""

    words: tuple[str, ...]
    file: str = ""
    is_run: bool = False


LOOP = f"{sys.executable} loop.py"
CASES = {
    "help": Case(("--help",)),
    "report": Case(("report", "old.csv", "-o", "report.html"), "report.html"),
    "compare": Case(("compare", "old.csv", "new.csv", "-o", "c.json"), "c.json"),
    "plot": Case(("plot", "old.csv", "-o", "p.png"), "p.png"),
    "export": Case(("export", "old.csv", "-o", "e.jsonl"), "e.jsonl"),
    "eval": Case(
        (
            *("eval", "--command", LOOP, "--records", "queries.jsonl"),
            *("--metric", "latency_ms", "-o", "run"),
        ),
        is_run=True,
    ),
}


def write_inputs(folder: Path) -> None:
    for n, name in enumerate(("old", "new")):
        rows = (f"q{i},{(i * 7 + n) % 10 / 10},{(i * 3 + n) % 2}" for i in range(200))
        text = "\n".join(["query_id,recall,exact_match", *rows])
        (folder / f"{name}.csv").write_text(text + "\n")
    rows = ({"query_id": f"q{i}", "question": f"Why {i}?"} for i in range(N_QUERIES))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "loop.py").write_text(PROGRAM)


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


def wrong_files(case: Case, folder: Path, size: int) -> str | None:
    """What is wrong with the files of a trial, if anything; `size` is that of a whole one."""
    path, journal = folder / case.file, folder / "run" / "journal.jsonl"
    if case.file and path.exists() and path.stat().st_size < 0.9 * size:
        return f"{case.file} is not whole: {path.stat().st_size} of {size} bytes"
    if not case.is_run or not journal.exists():
        return None
    text = journal.read_text()
    if not text.endswith("\n"):
        return "the last line of the journal is not whole"
    words = [*COMMAND, *case.words, "--resume"]
    resumed = subprocess.run(words, cwd=folder, capture_output=True, timeout=10 * PATIENCE)
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    answered = {row["row"] for row in rows if "row" in row}
    if resumed.returncode or len(answered) != N_QUERIES or not journal.read_text().startswith(text):
        return f"it cannot be resumed: code {resumed.returncode}, {resumed.stderr[-500:]!r}"
    return None


def trial(case: Case, folder: Path, moment: float, size: int) -> tuple[str, str | None]:
    """Interrupt a command; what the trial counts as, and what is wrong."""
    process = start(case.words, folder)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    try:
        _, stderr = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        _, stderr = process.communicate()
        return "fault", f"still running; {stderr[-500:]!r}"
    kind, fault = fault_of(process.returncode, stderr.decode(errors="replace"))
    return kind, fault or wrong_files(case, folder, size)


def attack(n: int, seed: int, names: tuple[str, ...] = tuple(CASES)) -> Found:
    """Interrupt so many processes."""
    rng, found, seconds, sizes = random.Random(seed), Found(), {}, {}
    with tempfile.TemporaryDirectory() as text:
        for number in range(-len(names), n):  # the first of each says how long it takes
            name = names[number % len(names)]
            case, folder = CASES[name], Path(text, f"trial {number}")
            folder.mkdir()
            write_inputs(folder)
            started = time.monotonic()
            moment = rng.uniform(0, seconds[name]) if number >= 0 else 10 * PATIENCE
            kind, fault = trial(case, folder, moment, sizes.get(name, 0))
            if number < 0:
                seconds[name] = time.monotonic() - started
                sizes[name] = (folder / case.file).stat().st_size
                continue
            if fault is not None:
                found.fault(f"{name} at {moment:.3f} s: {fault}")
            found.counts[f"{name}: {kind}"] += 1
    return found


if __name__ == "__main__":
    sys.exit(main(__doc__, attack, 400))
