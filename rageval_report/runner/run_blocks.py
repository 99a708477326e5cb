"""The records of a run, some at a time, so that few of a hundred thousand are held at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report._registry import load
from rageval_report.errors import DataError
from rageval_report.files.json_lines import json_objects
from rageval_report.records import FIELDS, record_table
from rageval_report.records.table import UnplacedGold
from rageval_report.runner.column_kinds import ANSWER_COLUMNS
from rageval_report.runner.file_lines import LineByLine

Rows = list[dict[str, Any]]

# Fields that are texts, even where they look like JSON.
_TEXTS = frozenset(name for name, kind in ANSWER_COLUMNS.items() if kind == "text") | {"question"}
_READ = frozenset(FIELDS) - _TEXTS


def record_blocks(
    path: str | Path, *, most_rows: int = 1000, unplaced_gold: UnplacedGold = "error"
) -> Iterator[pd.DataFrame]:
    r"""The records of a run in their order, a table of some rows at a time.

    Parameters
    ----------
    path : str or Path
        ``records.parquet`` or ``records.jsonl``, as a run writes it.
    most_rows : int, default 1000
        How many rows a table has at most.
    unplaced_gold : {"error", "drop"}
        As for `rageval_report.records.record_table`.

    Yields
    ------
    DataFrame
        Checked as by `rageval_report.records.record_table`. All have the same columns: put one
        under the other they are the whole file. Citations of what was not retrieved are kept.

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
        raise DataError(f"most_rows must be at least 1; got {most_rows!r}")
    blocks = _of_parquet if Path(path).suffix == ".parquet" else _of_lines
    for frame in blocks(Path(path), most_rows):
        yield record_table(frame, unretrieved_citations="keep", unplaced_gold=unplaced_gold)


def _of_lines(path: Path, most_rows: int) -> Iterator[pd.DataFrame]:
    """What no row of a block has is a column of nothing, because others of the run have it."""
    names = list(dict.fromkeys(name for _, row in json_objects(LineByLine(path)) for name in row))
    rows = (row for _, row in json_objects(LineByLine(path)))
    while block := list(islice(rows, most_rows)):
        yield pd.DataFrame({name: _column([row.get(name) for row in block]) for name in names})


def _of_parquet(path: Path, most_rows: int) -> Iterator[pd.DataFrame]:
    source = LineByLine(path)
    try:
        file = load("pyarrow.parquet").ParquetFile(path, pre_buffer=False)
        for batch in file.iter_batches(most_rows):
            columns = batch.to_pydict()
            yield pd.DataFrame({name: _column(_read(name, columns[name])) for name in columns})
    except (load("pyarrow").ArrowException, OSError) as exc:
        told = str(exc).strip().partition("\n")[0]
        raise source.error(f"this Parquet file is damaged: {told}") from exc


def _column(cells: list[Any]) -> pd.Series:
    return pd.Series(cells, dtype=object).infer_objects()


def _read(name: str, cells: list[Any]) -> list[Any]:
    return [_value(cell) for cell in cells] if name in _READ else cells


def _value(cell: Any) -> Any:
    """Lists and objects that stand in a column of several kinds are written as JSON there."""
    if not isinstance(cell, str) or not cell.startswith(("{", "[")):
        return cell
    try:
        return json.loads(cell)
    except ValueError:
        return cell
