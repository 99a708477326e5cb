"""Numbers the rows of a table that have the same key, so that each key occurs once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rageval_report.errors import DataError
from rageval_report.scale.pieces import Piece
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.unique_ids import Fingerprints
from rageval_report.scores.fingerprints import fingerprints_of
from rageval_report.types import WordArray

# Their keys are kept in memory, about a hundred bytes each.
MOST_REPEATED = 1_000_000


def number_repeats(table: ScanTable) -> tuple[Piece, ...]:
    """The pieces of a table, which know how often a key that occurs several times came before.

    The keys are read once, and a second time if any occurs several times.

    Parameters
    ----------
    table : ScanTable
        A table whose shape has `MatchKeys`.

    Raises
    ------
    DataError
        If more than a million rows have a key that occurs several times.
    """
    with Fingerprints() as prints:
        for rows in table.rows(()):
            prints.add(rows.ids)
        suspects = prints.repeated()
    if not suspects.size:
        return table.pieces
    counts = _counts_by_piece(table, suspects)
    # Different keys may have the same fingerprint.
    total = sum(counts, Counter())
    n_before = dict.fromkeys((key for key, n in total.items() if n > 1), 0)
    numbered: list[Any] = []
    for piece, own in zip(table.pieces, counts, strict=True):
        known: Any = piece
        numbered.append(
            replace(known, repeats={key: n_before[key] for key in own if key in n_before})
        )
        for key in numbered[-1].repeats:
            n_before[key] += own[key]
    return tuple(numbered)


def _counts_by_piece(table: ScanTable, suspects: WordArray) -> Sequence[Counter[str]]:
    """How often each key of these fingerprints occurs in each piece."""
    counts: list[Counter[str]] = []
    n_rows = 0
    for piece in table.pieces:
        counts.append(Counter())
        for rows in table.shape.rows(piece, ()):
            places = np.flatnonzero(np.isin(fingerprints_of(rows.ids), suspects))
            n_rows += places.size
            if n_rows > MOST_REPEATED:
                raise DataError(
                    f"{table.name}: more than {MOST_REPEATED:,} rows have a text in the column "
                    "that matches the queries which other rows have too; match by a column that "
                    "says more, or bring the scan into memory with .collect()"
                )
            counts[-1].update(rows.ids.take(places).to_pylist())
    return counts
