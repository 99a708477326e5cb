"""Flips bits in files of every kind and cuts them, and counts what a reader then makes of them.

    python tests/faults/flip_bits.py --n 10000 --seed 0

Every damage must end in one of: nothing changed; it was reported; an entry is asked for again. A
number, a state or a text that changed without a word is silent, and must not happen.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import RagevalError
from rageval_report.judges import Cache, Reply
from rageval_report.runner.run_journal import RunJournal

UNCHANGED, REPORTED, ASKED_AGAIN, SILENT = "unchanged", "reported", "asked again", "SILENT"
N_ROWS = 40
HEADER = {"id": "a", "created_at": "2026-08-01", "asked": {"seed": 0, "url": "http://localhost"}}


@dataclass(frozen=True)
class Kind:
    """A kind of file: how it is made, which file is damaged, and what a reader makes of it.

    `read` returns the entries by name and what was reported; an entry that is None is one that
    would be asked for again.
    """

    make: Callable[[Path], object]
    damaged: str
    read: Callable[[Path], tuple[dict[object, object], list[str]]]
    asks_again: bool = True


# -- the cache


def keys() -> list[bytes]:
    return [n.to_bytes(16, "big") for n in range(N_ROWS)]


def make_cache(folder: Path) -> None:
    with Cache(folder / "judges.sqlite") as cache:
        for n, key in enumerate(keys()):
            text = f"{n}/10 " + "because " * (n % 7) * (200 if n == 6 else 1)
            cache.put(key, Reply(text, n, None if n % 3 else 1), judge="tone", model="m")


def read_cache(folder: Path) -> tuple[dict[object, object], list[str]]:
    with Cache(folder / "judges.sqlite") as cache:
        return {key: cache.get(key) for key in keys()}, []


# -- journals


def make_journal(folder: Path) -> None:
    with RunJournal(folder / "journal.jsonl", HEADER, N_ROWS) as journal:
        for row in range(N_ROWS):
            entry = {"row": row, "query_id": f"q{row}", "answer": f"Answer {row}. é"}
            journal.append(entry if row % 4 else {**entry, "answer": None, "error": "timeout"})
        for row in range(0, N_ROWS, 8):  # asked again
            journal.append({"row": row, "query_id": f"q{row}", "answer": "At last."})


def read_journal(folder: Path) -> tuple[dict[object, object], list[str]]:
    with RunJournal(folder / "journal.jsonl", HEADER, N_ROWS) as journal:
        journal.expect_lines(1 + N_ROWS + N_ROWS // 8)  # as run.json says it
        return {row: journal.entry(row) for row in range(N_ROWS)}, journal.damage


# -- evaluations


def evaluation() -> RAGPipelineEvaluation:
    rows = {
        "query_id": [f"q{n}" for n in range(N_ROWS)],
        "recall@5": [n / N_ROWS if n % 5 else None for n in range(N_ROWS)],
        "faithfulness": [float(n % 2) for n in range(N_ROWS)],
        "faithfulness_state": ["failed" if n == 3 else "scored" for n in range(N_ROWS)],
        "question": [f"What is {n}? é" for n in range(N_ROWS)],
        "topic": ["" if n % 3 else None for n in range(N_ROWS)],
    }
    return RAGPipelineEvaluation("hybrid", rows, config={"top_k": 5})


def make_saved(name: str) -> Callable[[Path], object]:
    return lambda folder: evaluation().save(folder / name)


def read_saved(name: str) -> Callable[[Path], tuple[dict[object, object], list[str]]]:
    def read(folder: Path) -> tuple[dict[object, object], list[str]]:
        loaded = RAGPipelineEvaluation.load(None, folder / name)
        content: dict[object, object] = {
            "name": loaded.name,
            "config": repr(loaded.config),
            "metrics": repr(loaded.metrics),
            "scores": repr(loaded.scores.to_dict()),
            "details": repr(loaded.details.to_dict()),
        }
        return content, list(loaded.notes)

    return read


KINDS = {
    "cache": Kind(make_cache, "judges.sqlite", read_cache),
    "journal of a run": Kind(make_journal, "journal.jsonl", read_journal),
    "saved Parquet": Kind(
        make_saved("a.parquet"), "a.parquet", read_saved("a.parquet"), asks_again=False
    ),
}


# -- damage


def damage(data: bytes, random: Random) -> bytes:
    """The bytes with one bit flipped or, one time in five, without their end."""
    if random.random() < 0.2:
        return data[: random.randrange(len(data))]
    changed = bytearray(data)
    changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


def outcome(kind: Kind, folder: Path, expected: dict[object, object], usual: list[str]) -> str:
    """What a reader makes of the files in a folder."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            entries, notes = kind.read(folder)
        except RagevalError:
            return REPORTED
    is_reported = bool(caught) or bool([note for note in notes if note not in usual])
    wrong = [name for name, entry in entries.items() if entry != expected[name]]
    if kind.asks_again and any(entries[name] is not None for name in wrong):
        return SILENT  # even if something was reported: it would be scored
    if is_reported:
        return REPORTED
    if not wrong:
        return UNCHANGED
    return ASKED_AGAIN if kind.asks_again else SILENT


def flip(kind: Kind, n: int, random: Random) -> tuple[Counter[str], list[Any]]:
    """The outcomes of `n` damages, and the damaged contents that were silent."""
    counts: Counter[str] = Counter()
    silent = []
    with tempfile.TemporaryDirectory() as name:
        whole, folder = Path(name, "whole"), Path(name, "damaged")
        whole.mkdir()
        kind.make(whole)
        data = (whole / kind.damaged).read_bytes()
        shutil.copytree(whole, folder)
        expected, usual = kind.read(folder)
        for _ in range(n):
            shutil.rmtree(folder)
            shutil.copytree(whole, folder)
            changed = damage(data, random)
            (folder / kind.damaged).write_bytes(changed)
            found = outcome(kind, folder, expected, usual)
            counts[found] += 1
            if found == SILENT:
                silent.append(changed)
    return counts, silent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--n", type=int, default=10_000, help="damages, over all kinds")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random, n_silent, start = Random(options.seed), 0, time.perf_counter()
    n_each = -(-options.n // len(KINDS))
    for name, kind in KINDS.items():
        counts, _ = flip(kind, n_each, random)
        n_silent += counts[SILENT]
        listed = ", ".join(f"{counts[key]} {key}" for key in (UNCHANGED, REPORTED, ASKED_AGAIN))
        sys.stdout.write(f"{name:20} {n_each} damages: {listed}, {counts[SILENT]} silent\n")
    seconds = time.perf_counter() - start
    sys.stdout.write(f"{n_each * len(KINDS)} damages, {n_silent} silent, {seconds:.0f} s\n")
    return 1 if n_silent else 0


if __name__ == "__main__":
    raise SystemExit(main())
