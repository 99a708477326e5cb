"""Commands that misbehave at random: each question ends with an answer or an error, and in time.

    python tests/faults/hanging_commands.py --n 500 --seed 1

Every question goes to a command that does one of `DEEDS`, with a text of 1 to 1,000,000 characters.
It must end as the table says, at most `LATE` seconds after its time-out; afterwards no process, no
open file and no thread may be left.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attack import Found, main

from rageval_report.runner.commands import CommandSettings, CommandTarget
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import TargetError

LONGEST = 1_000_000
TIMEOUT = 1.0  # seconds; for commands that never answer
PATIENCE = 120.0  # seconds; for commands that do, on a machine however busy
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
READS_SLOWLY = """
line = b''
while not line.endswith(b'\\n'):
    line += os.read(0, 20_000)
    time.sleep(0.002)
answer(line)
"""
WRITES_SLOWLY = """
text = json.dumps({'answer': json.loads(sys.stdin.readline())['question']}) + '\\n'
for i in range(0, len(text), 50_000):
    print(text[i : i + 50_000], end='', flush=True)
    time.sleep(0.002)
"""
# What a command does, and how its question ends; "answer" is the right answer.
DEEDS = {
    "answers": ("for line in EACH(): answer(line)", "answer"),
    "reads slowly": (READS_SLOWLY, "answer"),
    "writes slowly": (WRITES_SLOWLY, "answer"),
    "writes messages": (
        "for line in EACH(): sys.stderr.write('m' * 500_000); answer(line)",
        "answer",
    ),
    "does not read": ("time.sleep(30)", "timeout"),
    "reads and is silent": ("sys.stdin.read(); time.sleep(30)", "timeout"),
    "closes its input": ("os.close(0); time.sleep(30)", "timeout"),
    "closes its output": ("os.close(1); time.sleep(30)", "exited"),
    "ends at once": ("os._exit(3)", "exited"),
    "ends with half an answer": ("print('{\"ans', end='', flush=True); os._exit(3)", "exited"),
    "writes before it reads": (
        "print('x' * 1_000_000, flush=True)\nfor line in EACH(): answer(line)",
        "content",
    ),
    "never stops writing": ("while True: sys.stdout.write('x' * 100_000)", "size"),
    "never stops writing lines": ("while True: sys.stdout.write('{}\\n' * 10_000)", "content"),
    "never stops writing messages": ("while True: sys.stderr.write('m' * 100_000)", "timeout"),
    "ignores SIGTERM": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(30)",
        "timeout",
    ),
    "has a child that holds the pipes": ("child(); os._exit(3)", "exited"),
    # It has left the group and is out of reach; it ends by itself after 30 seconds.
    "has a child in its own session": ("child(start_new_session=True); os._exit(3)", "exited"),
    "answers and has children": ("child(); child()\nfor line in EACH(): answer(line)", "answer"),
}


def judge(deed: str, outcome: str, seconds: float, found: Found) -> None:
    """Note how a question ended, and whether it may."""
    expected = DEEDS[deed][1]
    found.counts[f"{deed}: {outcome}"] += 1
    late = seconds - (TIMEOUT if expected == "timeout" else PATIENCE)
    if late > LATE:
        found.fault(f"{deed}: {late:.1f} s after the time-out")
    if outcome != expected:
        found.fault(f"{deed}: {outcome}")


def ask_once(deed: str, length: int, found: Found) -> None:
    """Start a command, ask it, and close it."""
    program, expected = DEEDS[deed]
    settings = CommandSettings(
        (sys.executable, "-c", BEGINNING + program, MARK),
        timeout=TIMEOUT if expected == "timeout" else PATIENCE,
        grace_period=0.3,
    )
    question = "é?" * (length // 2) + "!" * (length % 2)
    started = time.monotonic()
    with CommandTarget(settings) as target:
        try:
            reply = target.ask(Query(0, "q", question, {}))
            outcome = "answer" if reply.fields["answer"] == question else "another answer"
        except TargetError as exc:
            outcome = exc.kind
    judge(deed, outcome, time.monotonic() - started, found)


def left_processes() -> int:
    """The processes that carry the mark and have not ended."""
    n = 0
    for folder in Path("/proc").iterdir():
        try:
            n += MARK.encode() in (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # no process, or one that has just ended
            continue
    return n


def open_files() -> Counter[str]:
    """What this process has open."""
    names: Counter[str] = Counter()
    for place in Path("/proc/self/fd").iterdir():
        try:
            names[str(place.readlink())] += 1
        except OSError:  # the folder itself, which has been read
            continue
    return names


def attack(n: int, seed: int) -> Found:
    """Ask so many questions, each deed at least once if there are enough, and look what is left."""
    rng, found = random.Random(seed), Found()
    deeds = [*DEEDS, *rng.choices(list(DEEDS), k=n)][:n]
    lengths = [int(LONGEST ** rng.random()) for _ in deeds]
    files, threads = open_files(), threading.active_count()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask_once, deeds, lengths, [found] * n))
    # What has left its group holds its pipe, and the thread that reads it, until it ends by itself.
    allowed, end = deeds.count("has a child in its own session"), time.monotonic() + LATE
    while True:
        left = {
            "processes": left_processes(),
            "threads": threading.active_count() - threads,
            "open files": (open_files() - files).total(),
        }
        if max(left.values()) <= allowed:
            return found
        if time.monotonic() > end:  # a killed process needs a moment to go
            found.fault(f"left: {left}; {allowed} of each may be")
            return found
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main(__doc__, attack, 500))
