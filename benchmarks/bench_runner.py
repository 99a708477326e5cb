"""The runner against the reference server: overhead, kills, memory.

    python benchmarks/bench_runner.py

1. 1,000 queries, 32 at once: wall and CPU time a query of the runner's process, and of a bare loop
   of the same threads over the same HTTP library that keeps nothing. The server is a process of
   its own.
2. 1,000 queries, 5 % injected faults, the process killed three times at random moments: answers
   lost, answers doubled, and how often the server was asked.
3. Peak memory of runs of 10,000, 50,000 and 100,000 queries, 32 at once: of a function that gives
   12 KB an answer, and of the reference server; before, once all are asked, once the records are
   written, and once they are scored a block at a time.
4. Peak memory of `rageval-report eval --metric exact_match`, from the first question to the page,
   of the same sizes and the same function; its scores and its page in megabytes.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
from timing import markdown

from rageval_report.demo.server import ExtractiveRag, Faults, ReferenceServer, demo_documents
from rageval_report.runner import RunConfig, collect_answers
from rageval_report.runner.targets import HttpSettings, HttpTarget

N, THREADS, ROUNDS = 1000, 32, 5
SIZES = (10_000, 50_000, 100_000)
FAULTS = {"500": 0.02, "429": 0.01, "drop": 0.01, "hang-up": 0.01}

KILLED = """
import sys
from rageval_report.runner import RunConfig, collect_answers
from rageval_report.runner.targets import HttpSettings, HttpTarget

folder, url = sys.argv[1:]
config = RunConfig(concurrency=32, retries=9)
with HttpTarget(HttpSettings(url)) as target:
    collect_answers(folder + "/queries.jsonl", target, folder + "/run", config, resume=True)
"""

LARGE = """
import sys
from pathlib import Path
from rageval_report import read_records
from rageval_report.runner import RunConfig, collect_answers, target_from
from rageval_report.metrics.record_scores import score_records

def peak():  # getrusage would tell the parent's, if that is more
    [line] = [text for text in Path("/proc/self/status").open() if text.startswith("VmHWM")]
    return int(line.split()[1]) / 1024

while_asking = [peak()]

def note():
    while_asking.append(peak())
    del while_asking[1:-1]

def answer(question):
    note()
    return {"answer": "A" * 2000, "contexts": ["c" * 2000] * 5, "retrieved": list("abcde")}

queries, folder, table, url = sys.argv[1:]
config = RunConfig(concurrency=32, settings={"http": {"url": url}})
if url:
    with target_from(config) as target:
        ask = target.ask
        target.ask = lambda query: (note(), ask(query))[1]
        finished = collect_answers(queries, target, folder, config)
else:
    finished = collect_answers(queries, answer, folder, config)
written = peak()
scores = score_records(read_records(finished.records), ["exact_match", "recall@5"]).scores
if len(scores) != finished.n_answered:
    raise RuntimeError(f"{finished.n_failed} failed, {len(scores)} scored")
print(*(f"{megabytes:.1f}" for megabytes in (*while_asking, written, peak())))
"""

EVALUATED = """
from pathlib import Path
from rageval_report.cli import main

try:
    main()
except SystemExit as ended:
    if ended.code:
        raise
[line] = [text for text in Path("/proc/self/status").open() if text.startswith("VmHWM")]
print(f"{int(line.split()[1]) / 1024:.1f}")
"""

MODULE = """
def answer(question):
    return {"answer": "A" * 2000, "contexts": ["c" * 2000] * 5, "retrieved": list("abcde")}
"""


class Server:
    """The reference server in a separate process."""

    def __init__(self) -> None:
        line = [sys.executable, "-m", "rageval_report", "demo", "serve", "--port", "0", "-q"]
        self._process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> str:
        return self._process.stdout.readline().split()[-1]

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()


def questions(n: int) -> list[dict[str, Any]]:
    gold = {"reference": "No.", "relevant": ["bins"]}
    return [
        {"query_id": f"q{i}", "question": f"Is a fee due for bin {i}?"} | gold for i in range(n)
    ]


def written(folder: Path, n: int) -> Path:
    path = folder / "queries.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in questions(n)))
    return path


def bare(url: str, rows: list[dict[str, Any]]) -> None:
    """The same requests with the same HTTP library, and nothing else."""
    waiting, lock = iter(rows), threading.Lock()
    limits = httpx2.Limits(max_connections=THREADS, max_keepalive_connections=THREADS)
    with httpx2.Client(limits=limits) as client:

        def work() -> None:
            while True:
                with lock:
                    row = next(waiting, None)
                if row is None:
                    return
                client.post(url, json={"question": row["question"]}).json()

        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def ours(url: str, rows: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder, HttpTarget(HttpSettings(url)) as target:
        finished = collect_answers(rows, target, folder, RunConfig(concurrency=THREADS))
        if finished.n_answered != len(rows):
            raise RuntimeError(f"{finished.n_failed} failed: {finished.failures}")


def overhead() -> list[tuple[str, ...]]:
    spent = {"bare loop": [], "runner": []}
    with Server() as url:
        for _ in range(ROUNDS + 1):
            for name, ask in (("bare loop", bare), ("runner", ours)):
                wall, cpu = time.perf_counter(), time.process_time()
                ask(url, questions(N))
                spent[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    best = {name: [min(column) for column in zip(*t[1:], strict=True)] for name, t in spent.items()}
    return [
        (name, *(f"{1000 * seconds / N:.2f}" for seconds in times)) for name, times in best.items()
    ]


class CountedFaults(Faults):
    """Faults that are counted when a request meets them."""

    def __init__(self, shares: dict[str, float]):
        super().__init__(shares)
        self.met: Counter[str | None] = Counter()

    def draw(self, question: str) -> str | None:
        fault = super().draw(question)
        self.met[fault] += 1
        return fault


def kills(seed: int = 0) -> dict[str, object]:
    """Kill the run three times, let it finish, and count requests, faults and records."""
    rng, faults = random.Random(seed), CountedFaults(FAULTS)
    rag = ExtractiveRag(demo_documents())
    with tempfile.TemporaryDirectory() as name, ReferenceServer(rag, faults=faults) as server:
        folder, url = Path(name), f"{server.url}/answer"
        written(folder, N)
        journal, killed_at = folder / "run" / "journal.jsonl", []
        for _ in range(3):
            killed_at.append(_kill_after(folder, url, journal, rng.randint(100, 300)))
        subprocess.run([sys.executable, "-c", KILLED, name, url], check=True)
        rows = [
            json.loads(line) for line in (folder / "run/records.jsonl").read_text().splitlines()
        ]
        entries = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    answer_counts = Counter(entry["query_id"] for entry in entries)
    ids = Counter(row["query_id"] for row in rows)
    n_requests, n_faults = faults.met.total(), faults.met.total() - faults.met[None]
    return {
        "killed after": killed_at,
        "requests that the server had": n_requests,
        "faults among them": f"{n_faults} ({n_faults / n_requests:.1%})",
        "answered and not written, for the kill": faults.met[None] - len(entries),
        "records": len(rows),
        "lost": N - len(ids),
        "doubled records": sum(n > 1 for n in ids.values()),
        "doubled answers": sum(n > 1 for n in answer_counts.values()),
        "unanswered": sum("error" in row for row in rows),
        "asked again after a fault": sum(row["attempts"] > 1 for row in rows),
    }


def _kill_after(folder: Path, url: str, journal: Path, more: int) -> int:
    """Kill the run after so many further answers; returns the number in the journal."""
    before = lines_in(journal)
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(folder), url])
    while lines_in(journal) < before + more and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return lines_in(journal) - 1


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def memory() -> list[tuple[str, ...]]:
    """The peak memory after each part of a run, each in a fresh process."""
    cases = [("function, jsonl", ""), ("function, parquet", "")]
    with Server() as url:
        cases.append(("server, parquet", url))
        return [_measure_memory(what, url, n) for what, url in cases for n in SIZES]


def _measure_memory(what: str, url: str, n: int) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as name:
        path = written(Path(name), n)
        table = what.rpartition(" ")[2]
        line = [sys.executable, "-c", LARGE, str(path), f"{name}/run", table, url]
        began = time.perf_counter()
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)
        seconds = time.perf_counter() - began
        size = (Path(name) / "run" / "journal.jsonl").stat().st_size
    return (what, f"{n:,}", *done.stdout.split(), f"{size / 2**20:,.0f}", f"{seconds:.0f}")


def command_memory() -> list[tuple[str, ...]]:
    """The peak memory of the whole command, each in a fresh process."""
    return [_measure_command(n) for n in SIZES]


def _measure_command(n: int) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as name:
        path, folder = written(Path(name), n), Path(name) / "run"
        (Path(name) / "large_rag.py").write_text(MODULE)
        words = f"eval --callable large_rag:answer --records {path} -o {folder} --concurrency 32"
        line = [sys.executable, "-c", EVALUATED, *words.split(), "--metric", "exact_match", "-q"]
        began = time.perf_counter()
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True, cwd=name)
        seconds = time.perf_counter() - began
        sizes = [(folder / file).stat().st_size for file in ("scores.json", "report.html")]
    peak = done.stdout.split()[-1]
    return (f"{n:,}", peak, *(f"{size / 2**20:,.0f}" for size in sizes), f"{seconds:.0f}")


def main() -> None:
    print(markdown(["1,000 queries, 32 at once", "wall ms a query", "CPU ms a query"], overhead()))
    print()
    for name, value in kills().items():
        print(f"{name}: {value}")
    print()
    header = ["peak MB", "queries", "at start", "asked", "written", "scored in blocks"]
    print(markdown([*header, "journal MB", "seconds"], memory()))
    print()
    header = ["queries of eval", "peak MB", "scores.json MB", "report.html MB", "seconds"]
    print(markdown(header, command_memory()))


if __name__ == "__main__":
    main()
