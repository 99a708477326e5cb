"""What Tab completes: files, and the metrics and columns of the files that the line names already.

The names are read from the first rows alone, so a file of any size answers at once. Whatever is
wrong with a file, there are no suggestions from it.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from rageval_report._registry import import_parquet

WORDS = "rageval_report.words"  # of click's context: the words after the command
_HEAD_BYTES = 256 * 1024
_LARGEST_JSON = 8 << 20  # a document is read whole, or not at all
_MOST_ROWS = 20
_DELIMITERS = ",;\t|"
_IDS = {"queryid", "id", "qid", "exampleid", "questionid"}
_NUMBERS = ("int", "uint", "float", "double", "halffloat", "bool", "decimal")
_NOTHING = {"", "na", "nan", "null", "none", "true", "false"}  # no number, and no text either

Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
Columns: TypeAlias = dict[str, bool]  # whether the cells of each column are numbers, by its name


def complete_files(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Files, which the shell lists itself."""
    return [CompletionItem(incomplete, type="file")]


def complete_metrics(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The columns of numbers of the files on the line."""
    return _items(context, incomplete, are_numbers=True)


def complete_columns(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The other columns of the files on the line."""
    return _items(context, incomplete, are_numbers=False)


def _items(context: click.Context, incomplete: str, *, are_numbers: bool) -> list[CompletionItem]:
    names: dict[str, None] = {}
    for path in _paths(context):
        for name, is_number in columns_of(path).items():
            if is_number == are_numbers and name.lower().startswith(incomplete.lower()):
                names.setdefault(name)
    return [CompletionItem(name) for name in names]


def _paths(context: click.Context) -> Iterator[Path]:
    """The files that the line names: of a folder, the first one."""
    # The words, and not the arguments: click stops to read them at an option without a value.
    for word in context.meta.get(WORDS, []):
        path = Path(word)
        if not path.exists():  # NAME=FILE::PIPELINE
            path = Path((word.partition("=")[2] or word).partition("::")[0])
        if path.is_dir():
            yield from sorted(path.iterdir())[:1]
        elif path.is_file():
            yield path


def columns_of(path: Path) -> Columns:
    r"""The columns of a file, by its first rows.

    Parameters
    ----------
    path : Path
        A table or a run file; a file that cannot be read has no columns.

    Returns
    -------
    dict of str to bool
        Whether the cells are numbers, for each column by name; columns of ids are left out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("query_id,recall@5,topic\nq1,0.5,law\n")
    ...     columns_of(path)
    {'recall@5': True, 'topic': False}
    """
    suffix = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    try:
        if suffix == "parquet":
            return _of_parquet(path)
        rows = _json_rows(path) if suffix in ("json", "jsonl", "ndjson") else _text_rows(path)
        return _of_rows(rows)
    except (OSError, ValueError, csv.Error, EOFError, RecursionError):
        return {}


def _of_parquet(path: Path) -> Columns:
    if importlib.util.find_spec("pyarrow") is None:
        return {}
    schema = import_parquet().read_schema(path)
    return {
        field.name: str(field.type).startswith(_NUMBERS)
        for field in schema
        if _is_shown(field.name)
    }


def _of_rows(rows: Iterable[dict[str, Any]]) -> Columns:
    columns: Columns = {}
    for row in rows:
        for name, cell in row.items():
            is_number = _is_number(cell)
            if is_number is not None and _is_shown(name):
                columns[name] = columns.get(name, True) and is_number
    return columns


def _is_shown(name: str) -> bool:
    return "".join(filter(str.isalnum, name.lower())) not in _IDS and not name.startswith("__")


def _is_number(cell: object) -> bool | None:
    """Whether a cell is a number; None if it says nothing about its column."""
    if cell is None or isinstance(cell, dict | list):
        return None
    if isinstance(cell, bool | int | float):
        return True
    try:
        float(str(cell))
    except ValueError:
        return True if str(cell).strip().lower() in ("true", "false") else _text(str(cell))
    return None if str(cell).strip().lower() in _NOTHING else True


def _text(cell: str) -> bool | None:
    return None if cell.strip().lower() in _NOTHING else False


def _head(path: Path) -> str:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return file.read(_HEAD_BYTES).decode("utf-8-sig", "replace")


def _text_rows(path: Path) -> Iterator[dict[str, Any]]:
    text = _head(path)
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    for row in islice(csv.DictReader(io.StringIO(text), delimiter=delimiter), _MOST_ROWS):
        yield {name: cell for name, cell in row.items() if name is not None}


def _json_rows(path: Path) -> Iterator[dict[str, Any]]:
    if "jsonl" in path.name or "ndjson" in path.name:
        documents = list(_json_lines(path))
    elif path.stat().st_size > _LARGEST_JSON:
        return
    else:
        document = json.loads(path.read_bytes())
        parts = document.values() if isinstance(document, dict) else [document]
        documents = next((part for part in parts if _is_table(part)), [])
    for row in documents[:_MOST_ROWS]:
        if isinstance(row, dict):
            yield {**row, **(row["scores"] if isinstance(row.get("scores"), dict) else {})}


def _json_lines(path: Path) -> Iterator[Any]:
    for line in _head(path).splitlines()[:_MOST_ROWS]:
        try:
            yield json.loads(line)
        except ValueError:  # a blank line, or the last one of the first bytes
            continue


def _is_table(part: object) -> bool:
    return isinstance(part, list) and bool(part) and isinstance(part[0], dict)
