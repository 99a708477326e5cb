"""The records of a run in blocks, so that only a few of many are in memory at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.errors import DataError
from rageval_report.files.json_lines import json_objects
from rageval_report.files.strict_json import load_json
from rageval_report.records import FIELDS, record_table
from rageval_report.records.table import UnplacedGold
from rageval_report.runner.column_kinds import ANSWER_COLUMNS
from rageval_report.runner.file_lines import LineByLine

# Fields that are texts, even if they look like JSON.
_TEXTS = frozenset(name for name, kind in ANSWER_COLUMNS.items() if kind == "text") | {"question"}
_JSON_FIELDS = frozenset(FIELDS) - _TEXTS


def record_blocks(
    path: str | Path, *, most_rows: int = 1000, unplaced_gold: UnplacedGold = "error"
) -> Iterator[pd.DataFrame]:
    r"""The records of a run in order, as tables of limited length.

    Parameters
    ----------
    path : str or Path
        The file ``records.parquet`` or ``records.jsonl`` of a run.
    most_rows : int, default 1000
        The largest number of rows in a table.
    unplaced_gold : {"error", "drop"}
        As for `rageval_report.records.record_table`.

    Yields
    ------
    DataFrame
        Checked by `rageval_report.records.record_table`. All have the same columns, and their
        concatenation is the whole file. Citations of documents not retrieved are kept.

    Raises
    ------
    DataError
        If `most_rows` is below 1.
    ReaderError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "records.jsonl"
    ...     _ = path.write_text("".join(f'{{"query_id": "{n}", "answer": "A"}}\n' for n in "abc"))
    ...     [block.index.tolist() for block in record_blocks(path, most_rows=2)]
    [['a', 'b'], ['c']]
    """
    if most_rows < 1:
        raise DataError(f"most_rows must be an integer >= 1; got {most_rows!r}")
    read_blocks = _parquet_blocks if Path(path).suffix == ".parquet" else _json_lines_blocks
    for frame in read_blocks(Path(path), most_rows):
        yield record_table(frame, unretrieved_citations="keep", unplaced_gold=unplaced_gold)


def _json_lines_blocks(path: Path, most_rows: int) -> Iterator[pd.DataFrame]:
    """Blocks with the same columns each: a first pass collects the names of all rows."""
    names = list(dict.fromkeys(name for _, row in json_objects(LineByLine(path)) for name in row))
    rows = (row for _, row in json_objects(LineByLine(path)))
    while block := list(islice(rows, most_rows)):
        yield pd.DataFrame({name: _column([row.get(name) for row in block]) for name in names})


def _parquet_blocks(path: Path, most_rows: int) -> Iterator[pd.DataFrame]:
    source, arrow = LineByLine(path), import_pyarrow()
    try:
        # pre_buffer would read whole row groups ahead into memory, which the blocks are there to
        # avoid.
        file = import_parquet().ParquetFile(path, pre_buffer=False)
        for batch in file.iter_batches(most_rows):
            columns = batch.to_pydict()
            yield pd.DataFrame({name: _column(_decode(name, columns[name])) for name in columns})
    except (arrow.ArrowException, OSError) as exc:
        reason = str(exc).strip().partition("\n")[0]
        raise source.error(f"this Parquet file is damaged: {reason}") from exc


def _column(cells: list[Any]) -> pd.Series:
    # By way of objects: pd.Series alone would make floats of integers beside None.
    return pd.Series(cells, dtype=object).infer_objects()


def _decode(name: str, cells: list[Any]) -> list[Any]:
    return [_decode_cell(cell) for cell in cells] if name in _JSON_FIELDS else cells


def _decode_cell(cell: Any) -> Any:
    """Decode lists and objects, which a column of mixed kinds contains as JSON."""
    if not isinstance(cell, str) or not cell.startswith(("{", "[")):
        return cell
    try:
        return load_json(cell)
    except (ValueError, RecursionError):
        return cell
