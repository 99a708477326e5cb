"""Arrow tables divided into buckets, which are written to a file when they are too many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from rageval_report._registry import import_arrow_module, import_pyarrow
from rageval_report.scale.pieces import ArrowTable


class SpilledTables:
    """Tables of equal columns, a few rows at a time, for each of some buckets.

    Parameters
    ----------
    path : Path
        The file for what is too much.
    n_buckets : int
        The number of buckets.
    most_bytes : int
        How many bytes are kept in memory.

    Examples
    --------
    >>> import pyarrow
    >>> with SpilledTables(Path("unused"), 2, 1000) as spilled:
    ...     spilled.add([pyarrow.table({"x": [1]}), pyarrow.table({"x": [2, 3]})])
    ...     spilled.pop(1).column("x").to_pylist()
    [2, 3]
    """

    def __init__(self, path: Path, n_buckets: int, most_bytes: int):
        self._path, self._most_bytes = path, most_bytes
        self._waiting: list[list[ArrowTable]] = [[] for _ in range(n_buckets)]
        self._starts: list[list[int]] = [[] for _ in range(n_buckets)]
        self._n_bytes = 0
        self._file: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, tables: Sequence[ArrowTable]) -> None:
        """Add a table to each bucket, in the order of the buckets."""
        for waiting, table in zip(self._waiting, tables, strict=True):
            if len(table):
                waiting.append(table)
                self._n_bytes += table.nbytes
        if self._n_bytes > self._most_bytes:
            self._write()

    def _write(self) -> None:
        arrow, ipc = import_pyarrow(), import_arrow_module("ipc")
        with arrow.OSFile(str(self._path), "ab") as file:
            for waiting, starts in zip(self._waiting, self._starts, strict=True):
                if waiting:
                    starts.append(file.tell())
                    table = arrow.concat_tables(waiting).combine_chunks()
                    waiting.clear()
                    with ipc.new_stream(file, table.schema) as writer:
                        writer.write_table(table)
        self._n_bytes = 0

    def pop(self, bucket: int) -> ArrowTable | None:
        """All rows of a bucket, which is then forgotten; None if it has none."""
        arrow, ipc = import_pyarrow(), import_arrow_module("ipc")
        tables = []
        if self._starts[bucket] and self._file is None:
            self._file = arrow.OSFile(str(self._path), "rb")
        for start in self._starts[bucket]:
            self._file.seek(start)
            tables.append(ipc.open_stream(self._file).read_all())
        tables += self._waiting[bucket]
        self._waiting[bucket] = []
        return arrow.concat_tables(tables).combine_chunks() if tables else None
