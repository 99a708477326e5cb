"""The other files of a run, in the folder of the file that is read."""

from __future__ import annotations

from rageval_report.errors import RagevalError
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source
from rageval_report.types import JsonObject

# A larger file is not read for details.
_MOST_BYTES = 1 << 28


def document_beside(source: Source, name: str) -> object:
    """The JSON document in a file of the same folder.

    None if there is no such file, or it cannot be read: the scores do not need it.
    """
    other = _source_beside(source, name)
    return None if other is None else other.document_or_none()


def lines_beside(source: Source, name: str) -> list[JsonObject]:
    """The objects of a JSON Lines file of the same folder; none if it cannot be read."""
    other = _source_beside(source, name)
    try:
        return [] if other is None else [record for _, record in json_objects(other)]
    except RagevalError:
        return []


def _source_beside(source: Source, name: str) -> Source | None:
    if source.folder is None:
        return None
    try:
        path = source.folder / name
        is_readable = path.is_file() and path.stat().st_size <= _MOST_BYTES
        return Source(path) if is_readable else None
    except (OSError, RagevalError):
        return None


def run_name(source: Source, *usual_names: str) -> str:
    """The name of the file, or of its folder if the file has one of the framework's usual names.

    Parameters
    ----------
    source : Source
        The file.
    *usual_names : str
        The names that the framework gives to the files of every run.
    """
    stems = {name.partition(".")[0] for name in usual_names}
    if source.stem in stems and source.folder is not None:
        return source.folder.absolute().name or source.stem
    return source.stem
