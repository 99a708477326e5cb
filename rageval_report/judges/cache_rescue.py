"""Finds the rows of a damaged cache that are whole, by reading the pages of the file.

SQLite gives up on a file with one bad page, or reads past it. The pages are read here one by one,
as the description of SQLite's file format [1] has them, and the digest of each row shows whether
it is as it was written. So nothing needs to be known about the damage.

References
----------
.. [1] https://www.sqlite.org/fileformat2.html, "B-tree Pages", "Record Format" and "WAL"
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

Value: TypeAlias = bytes | str | int | float | None

_LEAF, _INNER = 0x0A, 0x02  # pages of a table without row ids
_PAGE_SIZES = tuple(1 << power for power in range(9, 17))
_FILE_HEADER = 100  # bytes in front of the first page
_LOG_HEADER, _FRAME_HEADER = 32, 24
_MOST_COLUMNS = 64
_INTEGER_SIZES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def rows_in(path: Path) -> Iterator[tuple[Value, ...]]:
    """Everything in a file that looks like a row, from the pages and the write-ahead log.

    Parameters
    ----------
    path : Path
        A file of SQLite; the log is the file with the ending "-wal" beside it.

    Raises
    ------
    OSError
        If the file cannot be read.

    Notes
    -----
    The rows must be checked: a page that is not used any more holds old ones, and a damaged page
    may hold anything.

    Examples
    --------
    >>> import sqlite3, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     database = sqlite3.connect(folder + "/a.sqlite")
    ...     _ = database.execute("CREATE TABLE t (key BLOB PRIMARY KEY, n INT) WITHOUT ROWID")
    ...     _ = database.execute("INSERT INTO t VALUES (x'61', 2)")
    ...     database.commit()
    ...     database.close()
    ...     list(rows_in(Path(folder, "a.sqlite")))
    [(b'a', 2)]
    """
    data = path.read_bytes()
    log_path = path.with_name(f"{path.name}-wal")
    log = log_path.read_bytes() if log_path.exists() else b""
    # The size of the pages stands in the header, which may be what is damaged. With a wrong one
    # hardly anything looks like a row.
    for size in _PAGE_SIZES:
        pages = {
            number + 1: data[start : start + size]
            for number, start in enumerate(range(0, len(data), size))
        }
        yield from _rows_of(pages)
        newer = _pages_of_log(log, size)
        if newer:
            yield from _rows_of({**pages, **newer})


def _pages_of_log(log: bytes, size: int) -> dict[int, bytes]:
    """The newest pages in the write-ahead log."""
    pages = {}
    step = _FRAME_HEADER + size
    for start in range(_LOG_HEADER, len(log) - step + 1, step):
        number = int.from_bytes(log[start : start + 4], "big")
        pages[number] = log[start + _FRAME_HEADER : start + step]
    return pages


def _rows_of(pages: Mapping[int, bytes]) -> Iterator[tuple[Value, ...]]:
    for number, page in pages.items():
        header = _FILE_HEADER if number == 1 else 0
        if len(page) < header + 12 or page[header] not in (_LEAF, _INNER):
            continue
        is_inner = page[header] == _INNER
        first = header + (12 if is_inner else 8)
        n_cells = int.from_bytes(page[header + 3 : header + 5], "big")
        for place in range(first, min(first + 2 * n_cells, len(page) - 1), 2):
            cell = int.from_bytes(page[place : place + 2], "big") + (4 if is_inner else 0)
            try:
                yield _parse_record(_payload(pages, page, cell))
            except (_NotARowError, IndexError, struct.error):
                continue


class _NotARowError(Exception):
    """These bytes are not a row."""


def _payload(pages: Mapping[int, bytes], page: bytes, place: int) -> bytes:
    """The bytes of a row; those that do not fit into the page are in a chain of others."""
    length, start = _varint(page, place)
    usable = len(page)
    most = (usable - 12) * 64 // 255 - 23
    if length <= most:
        return page[start : start + length]
    least = (usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (usable - 4)
    local = local if local <= most else least
    payload = bytearray(page[start : start + local])
    following = int.from_bytes(page[start + local : start + local + 4], "big")
    seen = set()
    while len(payload) < length:
        if following in seen or following not in pages:
            raise _NotARowError
        seen.add(following)
        overflow = pages[following]
        payload += overflow[4 : 4 + length - len(payload)]
        following = int.from_bytes(overflow[:4], "big")
    return bytes(payload)


def _parse_record(payload: bytes) -> tuple[Value, ...]:
    end, place = _varint(payload, 0)
    kinds = []
    while place < end:
        kind, place = _varint(payload, place)
        kinds.append(kind)
        if len(kinds) > _MOST_COLUMNS:
            raise _NotARowError
    values: list[Value] = []
    for kind in kinds:
        size = _size_of(kind)
        if place + size > len(payload):
            raise _NotARowError
        values.append(_value(kind, payload[place : place + size]))
        place += size
    if not values:
        raise _NotARowError
    return tuple(values)


def _size_of(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    return 8 if kind == 7 else _INTEGER_SIZES.get(kind, 0)


def _value(kind: int, data: bytes) -> Value:
    if kind >= 12:
        return data if kind % 2 == 0 else data.decode("utf-8", "replace")
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    if kind in _INTEGER_SIZES:
        return int.from_bytes(data, "big", signed=True)
    return {8: 0, 9: 1}.get(kind)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """An integer of one to nine bytes, and the place behind it."""
    value = 0
    for n in range(9):
        byte = data[place + n]
        if n == 8:
            return value << 8 | byte, place + 9
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            return value, place + n + 1
    raise _NotARowError
