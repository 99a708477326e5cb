"""A file of rankings part after part, each of whole queries; the parts share one room.

What a part takes is taken once, so memory does not grow with the file, and stays in the cache of
the processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rageval_report.rankings.trec.bytes import BOM, PADDING, Text, refuse_other_bytes
from rageval_report.rankings.trec.columns import Format, columns_of_chunk
from rageval_report.rankings.trec.lists import Table
from rageval_report.rankings.trec.scan import Scanner

# Read at a time.
_WIDTH = 1 << 20


def parts_of(path: str | Path, form: Format, scanner: Scanner | None) -> Iterator[Table]:
    """The rows of a plain file, some neighbouring queries at a time.

    Parameters
    ----------
    path : str or Path
        The file; not compressed.
    form : Format
        How its lines are laid out, the query first.
    scanner : Scanner, optional
        The compiled walk over lines.

    Yields
    ------
    Table
        Rows, which hold until the next are asked for. Their text is only a part, so lines that
        an error names are not those of the file.

    Raises
    ------
    ReaderError
        If a line cannot be read.
    OSError
        If the file cannot be read.
    """
    room, is_last = bytearray(_WIDTH + len(PADDING)), False
    with Path(path).open("rb", buffering=0) as file:
        filled = _without_mark(room, file.readinto(memoryview(room)[: len(BOM)]))
        while not is_last:
            if filled >= len(room) - len(PADDING):
                room = room[:filled] + bytearray(filled + len(PADDING))
            n_read = file.readinto(memoryview(room)[filled : -len(PADDING)])
            filled, is_last = filled + n_read, not n_read
            if is_last:
                room[filled : filled + 1], filled = b"\n", filled + 1
            end = room.rfind(b"\n", 0, filled) + 1
            text = Text(str(path), np.frombuffer(room, np.uint8), end)
            refuse_other_bytes(text)
            columns = columns_of_chunk(text, 0, end, form, scanner)
            n_blocks = len(columns.block) - (not is_last)  # the last query may go on
            if n_blocks > 0:
                yield Table(text, columns.first_blocks(n_blocks))
            if not is_last and len(columns.block):
                end = int(columns.query_start[-1])
            rest = filled - end
            room[:rest], filled = room[end:filled], rest


def _without_mark(room: bytearray, n_read: int) -> int:
    """How many of the first bytes stay: none if they are a byte-order mark."""
    return 0 if room.startswith(BOM) else n_read
