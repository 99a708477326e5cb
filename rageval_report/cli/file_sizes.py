"""How large the files of a command are, and what is said if that is much for the memory."""

from __future__ import annotations

from collections.abc import Iterable

import click

from rageval_report.cli.machine_memory import format_size, streaming_limit
from rageval_report.cli.notes import note
from rageval_report.errors import DataError
from rageval_report.files.inputs import STANDARD_INPUT
from rageval_report.sources.file_lists import list_files
from rageval_report.sources.opening import address_of


def too_large(paths: Iterable[str]) -> str | None:
    """Why files are read part by part, as a clause; None if they are small enough.

    Parameters
    ----------
    paths : iterable of str
        Files, folders and globs; what is none of them counts as nothing.

    Returns
    -------
    str or None
        As "the files have 12.3 GB, more than a third of the memory (16.0 GB)".
    """
    limit = streaming_limit()
    n_bytes = sum(map(_size_of, paths))
    if limit is None or n_bytes <= limit.n_bytes:
        return None
    return f"the files have {format_size(n_bytes)}, more than {limit.reason}"


def note_on_memory(paths: Iterable[str]) -> None:
    """A note if a command that reads files whole may run out of memory.

    Parameters
    ----------
    paths : iterable of str
        As in `too_large`.
    """
    why = too_large(paths)
    if why is not None:
        context = click.get_current_context(silent=True)
        command = "this" if context is None else context.info_name
        note(
            f"{why}, and {command} reads files whole; if the memory is not enough, give it a part "
            "of the queries"
        )


def _size_of(path: str) -> int:
    if path == STANDARD_INPUT or address_of(path) is not None:
        return 0
    try:
        return sum(file.stat().st_size for file in list_files(path).files)
    except (OSError, DataError):
        return 0  # reading it says what is wrong
