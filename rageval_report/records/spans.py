"""Gold that is a place in a file: find the retrieved chunk that contains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np


class Span(NamedTuple):
    """The characters of a file from `start` up to, not including, `end`."""

    filename: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """An id for a chunk that has no other."""
        return f"{self.filename}:{self.start}-{self.end}"


def first_holders(chunks: Sequence[Span | None], gold: Sequence[Span], overlap: float) -> list[int]:
    """For each gold span the rank, from 0, of the first chunk that contains it; -1 if none does.

    A chunk contains a span if they share `overlap` times the length of the shorter of the two: a
    chunk inside long evidence counts as well as short evidence inside a chunk.

    Examples
    --------
    >>> chunks = [Span("a.md", 0, 100), Span("a.md", 80, 180)]
    >>> first_holders(chunks, [Span("a.md", 90, 130), Span("b.md", 0, 9)], overlap=0.5)
    [1, -1]
    """
    ranks = [rank for rank, chunk in enumerate(chunks) if chunk is not None]
    if not ranks or not gold:
        return [-1] * len(gold)
    known = [chunk for chunk in chunks if chunk is not None]
    files, starts, ends = (np.array(part)[:, None] for part in zip(*known, strict=True))
    gold_files, gold_starts, gold_ends = (np.array(part) for part in zip(*gold, strict=True))
    common = np.minimum(ends, gold_ends) - np.maximum(starts, gold_starts)
    # Of the shorter of the two: a long gold span cannot fit into a small chunk, nor the reverse.
    shorter = np.minimum(ends - starts, gold_ends - gold_starts)
    holds = (files == gold_files) & (common > 0) & (common >= overlap * shorter)
    first = holds.argmax(axis=0)
    return [ranks[row] if holds[row, column] else -1 for column, row in enumerate(first)]


def map_gold_to_chunks(
    grades: Mapping[str, float], holders: Sequence[int], retrieved: Sequence[str]
) -> dict[str, float]:
    """Replace the id of each gold item by that of the chunk that contains it, if one does.

    A gold item is credited once, to the first chunk that contains it. Several items in one chunk
    become one, with the highest of their grades.

    Examples
    --------
    >>> map_gold_to_chunks({"x": 1.0, "y": 2.0, "z": 1.0}, [0, 0, -1], ["chunk 7", "chunk 9"])
    {'chunk 7': 2.0, 'z': 1.0}
    """
    credited: dict[str, float] = {}
    for (name, grade), rank in zip(grades.items(), holders, strict=True):
        key = name if rank < 0 else retrieved[rank]
        # Two gold spans in one chunk are one relevant result, with the better grade.
        credited[key] = max(grade, credited.get(key, grade))
    return credited
