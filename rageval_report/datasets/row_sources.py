"""Sets whose questions are the rows of a table: a file or a folder of one's own, or the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rageval_report._registry import load
from rageval_report.datasets.base import DatasetPart, DatasetRequest, Record, Row
from rageval_report.errors import DataError, ReaderError, named
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source

Flatten = Callable[[Any], list[Row]]
ToRecord = Callable[[Any], Record]

_PARQUET = b"PAR1"
_SUFFIXES = (".json", ".jsonl", ".parquet", ".json.gz", ".jsonl.gz")

# What a split is called in names of files.
_SPLITS = {
    "train": ("train",),
    "validation": ("validation", "dev", "val"),
    "dev": ("dev", "validation", "val"),
    "test": ("test",),
}


@dataclass(frozen=True)
class Hub:
    """Where a set lies in the network, for the ``datasets`` library.

    Parameters
    ----------
    repository : str
        As "namespace/name".
    config : str, optional
        Its configuration; the subset where a set has some.
    revision : str, optional
        The branch.
    is_nested : bool
        Whether a row holds several questions; others are read only where they are drawn.
    """

    repository: str
    config: str | None = None
    revision: str | None = None
    is_nested: bool = False


def table_parts(
    flatten: Flatten, record: ToRecord, hub: Hub, split: str
) -> Callable[[DatasetRequest], list[DatasetPart]]:
    """How a set of one table is loaded; `split` is the one where none is asked for.

    Parameters
    ----------
    flatten : callable
        Gives rows, a question each, of what a file holds.
    record : callable
        Gives the record of a row.
    hub : Hub
        Where the set lies in the network.
    split : str
        The split to take from the network where none is asked for.
    """

    def parts(asked: DatasetRequest) -> list[DatasetPart]:
        if asked.subset is not None:
            raise DataError(f"{asked.name} has no subsets; got {asked.subset!r}")
        if asked.path is None:
            return [_hub_part(asked.title, hub, asked.split or split, flatten, record)]
        return _local_parts(asked.path, asked.split, flatten, record)

    return parts


def subset_parts(
    flatten: Flatten, record: ToRecord, hub: Hub, split: str, subsets: tuple[str, ...]
) -> Callable[[DatasetRequest], list[DatasetPart]]:
    """How a set of several tables is loaded: the one asked for, or all that are there.

    Parameters
    ----------
    flatten, record, hub, split
        As in `table_parts`.
    subsets : tuple of str
        Those that exist.
    """

    def parts(asked: DatasetRequest) -> list[DatasetPart]:
        chosen = (asked.subset,) if asked.subset else subsets
        if asked.path is None:
            hubs = [replace(hub, config=subset) for subset in chosen]
            name, told = asked.name, asked.split or split
            return [_hub_part(f"{name}/{one.config}", one, told, flatten, record) for one in hubs]
        folders = [asked.path / subset for subset in chosen if (asked.path / subset).is_dir()]
        return [
            part
            for place in folders or [asked.path]
            for part in _local_parts(place, asked.split, flatten, record)
        ]

    return parts


def _hub_part(name: str, hub: Hub, split: str, flatten: Flatten, record: ToRecord) -> DatasetPart:
    rows = hub_rows(hub, split)
    return (
        _part(name, list(rows), flatten, record)
        if hub.is_nested
        else DatasetPart(name, rows, record)
    )


def hub_rows(hub: Hub, split: str) -> Sequence[Any]:
    """The rows of a split, from the network or from what was fetched before.

    Raises
    ------
    MissingDependencyError
        If the ``datasets`` library is not installed.
    DataError
        If the set cannot be had: no network, no such split.
    """
    fetch = load("datasets:load_dataset")
    try:
        rows: Sequence[Any] = fetch(hub.repository, hub.config, split=split, revision=hub.revision)
    except (OSError, ValueError, RuntimeError) as exc:  # every error of that library is one of them
        place = hub.repository if hub.config is None else f"{hub.repository}, {hub.config}"
        raise DataError(
            f"the split {split!r} of {place} cannot be fetched: {_first_line(exc)}. Without a "
            "network, load a copy of it by its path"
        ) from exc
    return rows


def _first_line(exc: Exception) -> str:
    return next(iter(str(exc).splitlines()), type(exc).__name__).rstrip(".")


# -- files


def _local_parts(
    path: Path, split: str | None, flatten: Flatten, record: ToRecord
) -> list[DatasetPart]:
    files = _files_in(path, split) if path.is_dir() else [path]
    return [_part(str(file), read_document(file), flatten, record) for file in files]


def _files_in(folder: Path, split: str | None) -> list[Path]:
    """The files of a folder that hold a split; all of them where only one kind is there."""
    files = sorted(file for file in folder.rglob("*") if file.name.endswith(_SUFFIXES))
    if split is not None:
        words = _SPLITS.get(split, (split,))
        files = [file for file in files if any(word in file.name.lower() for word in words)]
    if not files:
        what = "" if split is None else f" of the split {split!r}"
        told = f"expected files{what} ending in {', '.join(_SUFFIXES)}; found none"
        raise ReaderError(told, folder)
    found = {_split_of(file) for file in files}
    if len(found) > 1:
        told = named(sorted(found))
        what = "say which split, or give the path of one file"
        raise ReaderError(f"files of several splits: {told}; {what}", folder)
    return files


def _split_of(file: Path) -> str:
    name = file.name.lower()
    known = (split for split, words in _SPLITS.items() if any(one in name for one in words))
    return next(known, file.name)


def read_document(path: Path) -> Any:
    """What a file holds: a JSON document, or a list of rows from JSON Lines or Parquet.

    Raises
    ------
    ReaderError
        If it is none of these.
    """
    source = Source(path)
    if source.head.startswith(_PARQUET):
        return _parquet_rows(path)
    if not source.starts_like_json:
        raise source.error(
            f"expected JSON, JSON Lines or Parquet; this looks like {source.looks_like}"
        )
    document = source.document_or_none()
    return [row for _, row in json_objects(source)] if document is None else document


def _parquet_rows(path: Path) -> list[Row]:
    read, fault = load("pyarrow.parquet:read_table"), load("pyarrow:ArrowException")
    try:
        rows: list[Row] = read(path).to_pylist()
    except (fault, OSError) as exc:
        raise ReaderError(f"the Parquet file cannot be read: {_first_line(exc)}", path) from exc
    return rows


def _part(name: str, content: Any, flatten: Flatten, record: ToRecord) -> DatasetPart:
    try:
        return DatasetPart(name, flatten(content), record)
    except DataError as exc:
        raise exc if isinstance(exc, ReaderError) else ReaderError(str(exc), name) from exc
