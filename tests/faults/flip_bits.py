"""Flips bits in files of every kind and cuts them, and counts what a reader then makes of them.

    python tests/faults/flip_bits.py --n 10000 --seed 0

Every damage must end in one of: nothing changed; it was reported; an entry is asked for again. A
number, a state or a text that changed without a word is silent, and must not happen.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from attack import Found, main

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import RagevalError
from rageval_report.judges import Cache, Reply
from rageval_report.runner.run_journal import RunJournal

N_ROWS = 40
HEADER = {"id": "a", "created_at": "2026-08-01", "asked": {"seed": 0, "url": "http://localhost"}}
PARTS = ("name", "config", "metrics", "scores", "details")  # of an evaluation
KEYS = [n.to_bytes(16, "big") for n in range(N_ROWS)]
Entries = dict[Any, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of file: its name, how it is written, and what a reader makes of it.

    `read` returns the entries by name and what was reported; an entry that is None is one that
    would be asked for again.
    """

    name: str
    write: Callable[[Path], object]
    read: Callable[[Path], tuple[Entries, list[str]]]
    asks_again: bool = True


def write_cache(path: Path) -> None:
    with Cache(path) as cache:
        for n, key in enumerate(KEYS):
            text = f"{n}/10 " + "because " * (n % 7) * (200 if n == 6 else 1)
            cache.put(key, Reply(text, n, None if n % 3 else 1), judge="tone", model="m")


def read_cache(path: Path) -> tuple[Entries, list[str]]:
    with Cache(path) as cache:
        return {key: cache.get(key) for key in KEYS}, []


def write_journal(path: Path) -> None:
    with RunJournal(path, HEADER, N_ROWS) as journal:
        for row in range(N_ROWS):
            entry = {"row": row, "query_id": f"q{row}", "answer": f"Answer {row}. é"}
            journal.append(entry if row % 4 else {**entry, "answer": None, "error": "timeout"})


def read_journal(path: Path) -> tuple[Entries, list[str]]:
    with RunJournal(path, HEADER, N_ROWS) as journal:
        journal.expect_lines(1 + N_ROWS)  # as run.json says it
        return {row: journal.entry(row) for row in range(N_ROWS)}, journal.damage


def write_scores(path: Path) -> None:
    rows = {
        "query_id": [f"q{n}" for n in range(N_ROWS)],
        "recall@5": [n / N_ROWS if n % 5 else None for n in range(N_ROWS)],
        "faithfulness": [float(n % 2) for n in range(N_ROWS)],
        "faithfulness_state": ["failed" if n == 3 else "scored" for n in range(N_ROWS)],
        "question": [f"What is {n}? é" for n in range(N_ROWS)],
    }
    RAGPipelineEvaluation("hybrid", rows, config={"top_k": 5}).save(path)


def read_scores(path: Path) -> tuple[Entries, list[str]]:
    loaded = RAGPipelineEvaluation.load(None, path)
    parts = (getattr(loaded, name) for name in PARTS)
    texts = [repr(one.to_dict() if hasattr(one, "to_dict") else one) for one in parts]
    return dict(enumerate(texts)), list(loaded.notes)


KINDS = {
    "cache": Kind("judges.sqlite", write_cache, read_cache),
    "journal of a run": Kind("journal.jsonl", write_journal, read_journal),
    "saved Parquet": Kind("a.parquet", write_scores, read_scores, asks_again=False),
}


def damaged(data: bytes, rng: Random) -> bytes:
    """The bytes with one bit flipped or, one time in five, without their end."""
    if rng.random() < 0.2:
        return data[: rng.randrange(len(data))]
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def outcome(kind: Kind, path: Path, expected: Entries, usual: list[str]) -> str:
    """What a reader makes of a file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            entries, notes = kind.read(path)
        except RagevalError:
            return "reported"
    wrong = [name for name, entry in entries.items() if entry != expected[name]]
    if kind.asks_again and any(entries[name] is not None for name in wrong):
        return "SILENT"  # even if something was reported: it would be scored
    if caught or set(notes) - set(usual):
        return "reported"
    return ("asked again" if kind.asks_again else "SILENT") if wrong else "unchanged"


def flip(name: str, kind: Kind, n: int, rng: Random, found: Found) -> None:
    """Damage a file so many times."""
    with tempfile.TemporaryDirectory() as text:
        whole, folder = Path(text, "whole"), Path(text, "damaged")
        whole.mkdir()
        kind.write(whole / kind.name)
        data = (whole / kind.name).read_bytes()
        shutil.copytree(whole, folder)
        expected, usual = kind.read(folder / kind.name)
        for _ in range(n):
            shutil.rmtree(folder)  # a database may have left files beside it
            shutil.copytree(whole, folder)
            content = damaged(data, rng)
            (folder / kind.name).write_bytes(content)
            said = outcome(kind, folder / kind.name, expected, usual)
            found.counts[f"{name}: {said}"] += 1
            if said == "SILENT":
                found.fault(f"{name}: a damage was silent", content)


def attack(n: int, seed: int) -> Found:
    """So many damages, over all kinds."""
    rng, found = Random(seed), Found()
    for name, kind in KINDS.items():
        flip(name, kind, -(-n // len(KINDS)), rng, found)
    return found


if __name__ == "__main__":
    sys.exit(main(__doc__, attack, 10_000))
