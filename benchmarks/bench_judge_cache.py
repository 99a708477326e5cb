"""What the cache of judges costs: a hit, a verdict that is kept, its size, several processes.

    python benchmarks/bench_judge_cache.py [--verdicts 100000] [--processes 2]

Beside it a dict that is written to JSON, the plainest cache there is, and a whole `judge` run whose
answers are all there. Reasons are 150 letters long, as models give them; times are wall seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import string
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import markdown, seconds

from rageval_report.judges import Cache, Message, Reply, ScriptedChat, judge
from rageval_report.judges.cache import reply_key

WRITER = """
import sys
from bench_judge_cache import kept
store_replies(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
"""


def replies(n: int, seed: int = 0) -> list[Reply]:
    draw = random.Random(seed)
    letters = "".join(draw.choices(string.ascii_letters + "    ", k=200_000))
    places = [draw.randrange(len(letters) - 150) for _ in range(n)]
    verdicts = ({"reasoning": letters[at : at + 150], "score": 1 + at % 5} for at in places)
    return [Reply(json.dumps(verdict), 900, 60) for verdict in verdicts]


def key_of(i: int) -> bytes:
    return i.to_bytes(16, "big")


def store_replies(path: str, n: int, first: int = 0) -> float:
    """Seconds to store n replies one by one, as judging does."""
    new_replies = replies(n)
    with Cache(path) as cache:
        start = time.perf_counter()
        for i, reply in enumerate(new_replies, first):
            cache.put(key_of(i), reply, judge="coherence", model="m")
        return time.perf_counter() - start


def hits(path: str, n: int) -> float:
    """Seconds to look up n stored replies in random order."""
    order = random.Random(1).sample(range(n), n)
    with Cache(path) as cache:
        start = time.perf_counter()
        stored = [cache.get(key_of(i)) for i in order]
        spent = time.perf_counter() - start
    assert None not in stored
    return spent


def key_seconds(n: int) -> float:
    message = Message("x" * 4000, "You judge.", {"type": "object"})
    start = time.perf_counter()
    for i in range(n):
        reply_key(model="m", settings={}, message=message, judge="j", version="1", repeat=i)
    return time.perf_counter() - start


def from_json(path: Path, n: int) -> tuple[float, float, int]:
    """Seconds to write all replies as one JSON document and to read them; its size."""
    texts = {key_of(i).hex(): reply.text for i, reply in enumerate(replies(n))}
    start = time.perf_counter()
    path.write_text(json.dumps(texts))
    middle = time.perf_counter()
    json.loads(path.read_text())
    return middle - start, time.perf_counter() - middle, path.stat().st_size


def at_once(path: str, n: int, processes: int) -> tuple[float, int]:
    """Seconds until several processes have kept n replies each in one file; how many are there."""
    words = [sys.executable, "-c", WRITER, path, str(n)]
    start = time.perf_counter()
    running = [
        subprocess.Popen([*words, str(who * n)], cwd=Path(__file__).parent)
        for who in range(processes)
    ]
    assert [process.wait() for process in running] == [0] * processes
    spent = time.perf_counter() - start
    with Cache(path) as cache:
        return spent, sum(cache.counts().values())


def whole_run(path: str, n: int) -> tuple[float, float]:
    """Seconds of judge on n records, first with a model that takes no time, then all cached."""
    rows = [{"query_id": f"q{i}", "question": f"{i}?", "answer": "x" * 500} for i in range(n)]
    chat = ScriptedChat(['{"reasoning": "as I see it", "score": 4}'] * n)
    spent = []
    for _ in range(2):
        start = time.perf_counter()
        judge(rows, "coherence", chat, cache=path)
        spent.append(time.perf_counter() - start)
    assert len(chat.asked) == n
    return spent[0], spent[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--verdicts", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    n, few = options.verdicts, max(1, options.verdicts // 10)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/judges.sqlite"
        writing, reading = store_replies(path, n), hits(path, n)
        size = Path(path).stat().st_size
        dumped, parsed, json_size = from_json(Path(folder) / "judges.json", n)
        both, there = at_once(f"{folder}/shared.sqlite", few, options.processes)
        asking, cached = whole_run(f"{folder}/run.sqlite", few)
    rows = [
        [f"keep {n:,} verdicts", seconds(writing), seconds(writing / n)],
        [f"{n:,} hits in any order", seconds(reading), seconds(reading / n)],
        [f"{few:,} keys of prompts of 4,000 letters", *_both(key_seconds(few), few)],
        [f"{few:,} verdicts each by {options.processes} processes at once", *_both(both, there)],
        [f"judge {few:,} records, a model that takes no time", *_both(asking, few)],
        [f"judge {few:,} records, all in the cache", *_both(cached, few)],
        [f"write {n:,} verdicts as one JSON document", *_both(dumped, n)],
        ["read them", *_both(parsed, n)],
    ]
    print(markdown(["what", "whole", "each"], rows))
    print(f"\nsize: {size:,} bytes, {size / n:.0f} a verdict; as JSON {json_size:,}")
    print(
        f"kept by {options.processes} processes at once: {there:,} of {options.processes * few:,}"
    )


def _both(spent: float, n: int) -> tuple[str, str]:
    return seconds(spent), seconds(spent / n)


if __name__ == "__main__":
    main()
