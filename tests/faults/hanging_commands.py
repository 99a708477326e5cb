"""Commands that misbehave at random: each question ends with an answer or an error, and in time.

Usage::

    python tests/faults/hanging_commands.py --questions 500 --seed 1 --threads 8

Every question goes to a command that does one of `DEEDS`, with a text of 1 to 1,000,000 characters.
It must end as the table says, at most `LATE` seconds after its time-out; afterwards no process, no
open file and no thread may be left. If one of these does not hold, the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from rageval_report.runner.commands import CommandSettings, CommandTarget
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import TargetError

LONGEST = 1_000_000
TIMEOUT = 1.0  # seconds; for commands that never answer
PATIENCE = 120.0  # seconds; for commands that do, on a machine however busy
GRACE = 0.3
LATE = 60.0
# In the arguments of every process, so that those that are left can be found.
MARK = f"hanging_commands_of_{os.getpid()}"

BEGINNING = f"""
import json, os, signal, subprocess, sys, time
def answer(line):
    print(json.dumps({{"answer": json.loads(line)["question"]}}), flush=True)
def child(**options):
    words = [sys.executable, "-c", "import time; time.sleep(30)", {MARK!r}]
    return subprocess.Popen(words, **options)
EACH = lambda: iter(sys.stdin)
"""


@dataclass(frozen=True)
class Deed:
    """What a command does, and how its questions may end; "answer" is the right answer."""

    program: str
    outcomes: set[str]
    timeout: float = PATIENCE


DEEDS: dict[str, Deed] = {
    "answers": Deed("for line in EACH(): answer(line)", {"answer"}),
    "reads slowly": Deed(
        "line = b''\n"
        "while not line.endswith(b'\\n'):\n"
        "    line += os.read(0, 20_000)\n"
        "    time.sleep(0.002)\n"
        "answer(line)",
        {"answer"},
    ),
    "writes slowly": Deed(
        "for line in EACH():\n"
        "    text = json.dumps({'answer': json.loads(line)['question']}) + '\\n'\n"
        "    for i in range(0, len(text), 50_000):\n"
        "        sys.stdout.write(text[i : i + 50_000])\n"
        "        sys.stdout.flush()\n"
        "        time.sleep(0.002)",
        {"answer"},
    ),
    "writes messages": Deed(
        "for line in EACH(): sys.stderr.write('m' * 500_000); answer(line)", {"answer"}
    ),
    "does not read": Deed("time.sleep(30)", {"timeout"}, TIMEOUT),
    "reads and is silent": Deed("sys.stdin.read(); time.sleep(30)", {"timeout"}, TIMEOUT),
    "closes its input": Deed("os.close(0); time.sleep(30)", {"timeout"}, TIMEOUT),
    "closes its output": Deed("os.close(1); time.sleep(30)", {"exited"}),
    "closes everything": Deed("os.closerange(0, 3); time.sleep(30)", {"exited"}),
    "ends at once": Deed("os._exit(3)", {"exited"}),
    "ends with half an answer": Deed(
        "print('{\"ans', end='', flush=True); os._exit(3)", {"exited"}
    ),
    "writes before it reads": Deed(
        "print('x' * 1_000_000, flush=True)\nfor line in EACH(): answer(line)", {"content"}
    ),
    "never stops writing": Deed("while True: sys.stdout.write('x' * 100_000)", {"size"}),
    "never stops writing lines": Deed(
        "while True: sys.stdout.write('{}\\n' * 10_000)", {"content"}
    ),
    "never stops writing messages": Deed(
        "while True: sys.stderr.write('m' * 100_000)", {"timeout"}, TIMEOUT
    ),
    "writes 200 MB": Deed("sys.stdout.write('x' * 200_000_000)", {"size"}),
    "ignores SIGTERM": Deed(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(30)", {"timeout"}, TIMEOUT
    ),
    "has a child that holds the pipes": Deed("child(); os._exit(3)", {"exited"}),
    "has a child in a session of its own": Deed(
        "child(start_new_session=True); os._exit(3)", {"exited"}
    ),
    "answers and has children": Deed(
        "child(); child()\nfor line in EACH(): answer(line)", {"answer"}
    ),
}
# A child that has left its group is out of reach; it ends by itself after 30 seconds.
OUT_OF_REACH = {"has a child in a session of its own"}


@dataclass
class Outcomes:
    """How the questions of a run ended."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, deed: str, outcome: str, seconds: float) -> None:
        with self.lock:
            self.counts[deed, outcome] += 1
            over = seconds - DEEDS[deed].timeout
            if DEEDS[deed].timeout == TIMEOUT:
                self.slowest = max(self.slowest, over)
            if over > LATE:
                self.faults.append(f"{deed}: {over:.1f} s after the time-out")
            if outcome not in DEEDS[deed].outcomes:
                self.faults.append(f"{deed}: {outcome}")


def ask_once(deed: str, length: int, outcomes: Outcomes) -> None:
    """Start a command, ask it, and close it."""
    program = BEGINNING + DEEDS[deed].program
    settings = CommandSettings(
        (sys.executable, "-c", program, MARK), timeout=DEEDS[deed].timeout, grace_period=GRACE
    )
    question = "é?" * (length // 2) + "!" * (length % 2)
    started = time.monotonic()
    with CommandTarget(settings) as target:
        try:
            reply = target.ask(Query(0, "q", question, {}))
            outcome = "answer" if reply.fields["answer"] == question else "another answer"
        except TargetError as exc:
            outcome = exc.kind
    outcomes.add(deed, outcome, time.monotonic() - started)


def left_processes() -> list[str]:
    """The command lines of processes that carry the mark and have not ended."""
    lines = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # no process, or one that has just ended
            continue
        if MARK.encode() in words:
            lines.append(b" ".join(words)[-200:].decode(errors="replace"))
    return lines


def open_files() -> Counter[str]:
    """What this process has open."""
    names: Counter[str] = Counter()
    for place in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the folder itself, which has been read
            names[str(place.readlink())] += 1
    return names


def stress(n_questions: int, seed: int, threads: int = 8) -> Outcomes:
    """Ask so many questions, and look what is left."""
    random_ = random.Random(seed)
    outcomes = Outcomes()
    # Every deed at least once, if there are enough questions.
    deeds = [*DEEDS, *random_.choices(list(DEEDS), k=n_questions)][:n_questions]
    lengths = [int(LONGEST ** random_.random()) for _ in deeds]
    files = open_files()
    before = threading.active_count()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(ask_once, deeds, lengths, [outcomes] * len(deeds)))
    if threading.active_count() > before:
        outcomes.faults.append(f"{threading.active_count() - before} threads are left")
    left = open_files() - files
    if left:
        outcomes.faults.append(f"open files are left: {sorted(left)}")
    allowed = sum(n for (deed, _), n in outcomes.counts.items() if deed in OUT_OF_REACH)
    end = time.monotonic() + LATE
    while len(left_processes()) > allowed and time.monotonic() < end:
        time.sleep(0.1)  # a killed process needs a moment to go
    if len(left_processes()) > allowed:
        outcomes.faults.append(f"{len(left_processes())} processes are left; {allowed} may be")
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=8)
    arguments = parser.parse_args()
    outcomes = stress(arguments.questions, arguments.seed, arguments.threads)
    for (deed, outcome), n in sorted(outcomes.counts.items()):
        sys.stdout.write(f"{n:6}  {deed}: {outcome}\n")
    sys.stdout.write(f"slowest end after a time-out: {outcomes.slowest:.2f} s\n")
    for fault in outcomes.faults:
        sys.stdout.write(f"FAULT  {fault}\n")
    return 1 if outcomes.faults else 0


if __name__ == "__main__":
    sys.exit(main())
