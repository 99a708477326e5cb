"""Data sets whose questions are the rows of a table: a file, a folder, or the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rageval_report._registry import import_parquet, import_pyarrow, load
from rageval_report.datasets.base import DatasetPart, DatasetRequest, RecordFields
from rageval_report.errors import DataError, ReaderError, named
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source
from rageval_report.types import JsonObject

Flatten = Callable[[Any], list[JsonObject]]  # the content of a file becomes rows
ToRecord = Callable[[Any], RecordFields]

_PARQUET = b"PAR1"
_SUFFIXES = (".json", ".jsonl", ".parquet", ".json.gz", ".jsonl.gz")

# How file names call each split.
_SPLITS = {
    "train": ("train",),
    "validation": ("validation", "dev", "val"),
    "dev": ("dev", "validation", "val"),
    "test": ("test",),
}


@dataclass(frozen=True)
class Hub:
    """Where the ``datasets`` library finds a data set.

    Parameters
    ----------
    repository : str
        Such as "namespace/name".
    config : str, optional
        The configuration; the subset, for a set that has subsets.
    revision : str, optional
        The branch.
    is_nested : bool
        Whether a row contains several questions. If not, only sampled rows are read.
    """

    repository: str
    config: str | None = None
    revision: str | None = None
    is_nested: bool = False


def table_parts(
    flatten: Flatten, record: ToRecord, hub: Hub, split: str
) -> Callable[[DatasetRequest], list[DatasetPart]]:
    """A function that loads a data set of one table.

    Parameters
    ----------
    flatten : callable
        Returns rows, one per question, from the content of a file.
    record : callable
        Returns the record of a row.
    hub : Hub
        Where the set is in the network.
    split : str
        The split to fetch if the request names none.
    """

    def parts(request: DatasetRequest) -> list[DatasetPart]:
        if request.subset is not None:
            raise DataError(f"{request.name} has no subsets; got {request.subset!r}")
        if request.path is None:
            return [_hub_part(request.title, hub, request.split or split, flatten, record)]
        return _local_parts(request.path, request.split, flatten, record)

    return parts


def subset_parts(
    flatten: Flatten, record: ToRecord, hub: Hub, split: str, subsets: tuple[str, ...]
) -> Callable[[DatasetRequest], list[DatasetPart]]:
    """A function that loads a data set of several tables: the requested subset, or all.

    Parameters
    ----------
    flatten, record, hub, split
        As in `table_parts`.
    subsets : tuple of str
        The names of its subsets.
    """

    def parts(request: DatasetRequest) -> list[DatasetPart]:
        chosen = (request.subset,) if request.subset else subsets
        if request.path is None:
            hubs = [replace(hub, config=subset) for subset in chosen]
            name, hub_split = request.name, request.split or split
            return [
                _hub_part(f"{name}/{hub.config}", hub, hub_split, flatten, record) for hub in hubs
            ]
        folders = [request.path / subset for subset in chosen if (request.path / subset).is_dir()]
        return [
            part
            for path in folders or [request.path]
            for part in _local_parts(path, request.split, flatten, record)
        ]

    return parts


def _hub_part(name: str, hub: Hub, split: str, flatten: Flatten, record: ToRecord) -> DatasetPart:
    rows = hub_rows(hub, split)
    return (
        _part(name, list(rows), flatten, record)
        # A nested row holds many questions, so rows and questions cannot be matched by number.
        if hub.is_nested
        else DatasetPart(name, rows, record)
    )


def hub_rows(hub: Hub, split: str) -> Sequence[Any]:
    """The rows of a split, from the network or from the cache of the ``datasets`` library.

    Raises
    ------
    MissingDependencyError
        If the ``datasets`` library is not installed.
    DataError
        If the set cannot be fetched: no network, or no such split.
    """
    fetch = load("datasets:load_dataset")
    try:
        rows: Sequence[Any] = fetch(hub.repository, hub.config, split=split, revision=hub.revision)
    except (OSError, ValueError, RuntimeError) as exc:  # the bases of every error of that library
        place = hub.repository if hub.config is None else f"{hub.repository}, {hub.config}"
        raise DataError(
            f"the split {split!r} of {place} cannot be fetched: {_first_line(exc)}. Without a "
            "network, download a copy and pass its path"
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
    """The files of a split in a folder; all files, if they belong to one split."""
    files = sorted(file for file in folder.rglob("*") if file.name.endswith(_SUFFIXES))
    if split is not None:
        words = _SPLITS.get(split, (split,))
        files = [file for file in files if any(word in file.name.lower() for word in words)]
    if not files:
        of_split = "" if split is None else f" of the split {split!r}"
        message = f"expected files{of_split} ending in {', '.join(_SUFFIXES)}; found none"
        raise ReaderError(message, folder)
    # Train and test in one sample would not be the set that anybody else measures on.
    splits = {_split_of(file) for file in files}
    if len(splits) > 1:
        remedy = "pass split=, or the path of one file"
        raise ReaderError(f"files of several splits: {named(sorted(splits))}; {remedy}", folder)
    return files


def _split_of(file: Path) -> str:
    name = file.name.lower()
    matches = (split for split, words in _SPLITS.items() if any(word in name for word in words))
    return next(matches, file.name)


def read_document(path: Path) -> Any:
    """The content of a file: a JSON document, or a list of rows from JSON Lines or Parquet.

    Raises
    ------
    ReaderError
        If the file has another format.
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


def _parquet_rows(path: Path) -> list[JsonObject]:
    arrow, parquet = import_pyarrow(), import_parquet()
    try:
        rows: list[JsonObject] = parquet.read_table(path).to_pylist()
    except (arrow.ArrowException, OSError) as exc:
        raise ReaderError(f"the Parquet file cannot be read: {_first_line(exc)}", path) from exc
    return rows


def _part(name: str, content: Any, flatten: Flatten, record: ToRecord) -> DatasetPart:
    try:
        return DatasetPart(name, flatten(content), record)
    except DataError as exc:
        raise exc if isinstance(exc, ReaderError) else ReaderError(str(exc), name) from exc
