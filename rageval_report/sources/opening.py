"""What the user names, opened: a file, a folder, a glob, a list of these, or an address."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from rageval_report.errors import DataError, MissingDependencyError, UnknownNameError, named
from rageval_report.files.inputs import STANDARD_INPUT, hide_password, is_file, is_folder
from rageval_report.files.source import Source
from rageval_report.readers.table_inputs import source_of
from rageval_report.scores import Scored
from rageval_report.scores.write import save_scores
from rageval_report.sources.base import (
    OpenedSources,
    RunFacts,
    SavedContent,
    SourceAddress,
    split_address,
)
from rageval_report.sources.file_lists import (
    MAGIC,
    check_repeats,
    is_glob,
    list_files,
    partition_of,
    stem_of_place,
)
from rageval_report.sources.table import SOURCES

_STEM = "pipeline"


def open_sources(
    value: object, *, encoding: str | None = None, parameter: str = "path"
) -> OpenedSources:
    """The files, contents or tables that the user named."""
    if isinstance(value, str | os.PathLike):
        return _open_text(os.fsdecode(value), encoding, parameter)
    if (
        isinstance(value, Sequence)
        and not isinstance(value, bytes | bytearray | memoryview)
        and value
        and all(isinstance(member, str | os.PathLike) for member in value)
    ):
        members = [os.fsdecode(member) for member in value]
        opened = [_open_text(text, encoding, parameter) for text in members]
        return _join(opened, members, parameter)
    source = source_of(value, encoding=encoding, parameter=parameter)
    return OpenedSources((source,), source.name, source.stem)


def address_of(value: object) -> SourceAddress | None:
    """The address that a text is; None for a path, and for a file that exists."""
    address = split_address(value) if isinstance(value, str) else None
    if address is None or is_file(Path(address.text)):
        return None
    if address.scheme in SOURCES:
        return address
    if "://" in address.text:
        raise UnknownNameError("score source", address.scheme, SOURCES)
    return None


def name_of(text: str) -> str:
    """The name of the pipeline that a path, a folder, a glob or an address stands for."""
    address = split_address(text)
    if address is not None and address.scheme in SOURCES:
        return address.parameters.get("table") or stem_of_place(address.place)
    if not is_glob(text):
        name = Path(text).name
        return Path(name[:-3] if name.lower().endswith(".gz") else name).stem or _STEM
    # The last folder of the pattern that has no wildcard.
    fixed = list(takewhile(lambda part: not MAGIC.search(part), Path(text).parts[:-1]))
    return Path(*fixed).resolve().name or _STEM


def _open_text(text: str, encoding: str | None, parameter: str) -> OpenedSources:
    address = address_of(text)
    if address is not None:
        opened = SOURCES[address.scheme].open(address)
        for source in opened.sources:
            if source.path is not None:  # a copy of a file, whose encoding the caller may know
                source.encoding = encoding
        return opened
    if text == STANDARD_INPUT or not text or not (is_glob(text) or is_folder(Path(text))):
        source = source_of(text, encoding=encoding, parameter=parameter)
        return OpenedSources((source,), source.name, source.stem)
    listed = list_files(text, parameter)
    stem = name_of(text) if listed.origin == "glob" else Path(text).resolve().name
    opened = OpenedSources(
        tuple(Source(path, encoding=encoding) for path in listed.files),
        *(listed.name, stem or _STEM),
        notes=listed.notes,
    )
    # The columns in the names of the folders below the one that the user named.
    return in_partitions(
        opened,
        [
            [part for part in path.parts[:-1] if f"{part.partition('=')[0]}=" not in text]
            for path in listed.files
        ],
    )


def in_partitions(opened: OpenedSources, folders: Sequence[Sequence[str]]) -> OpenedSources:
    """The sources, as parts of one table if the names of their folders state columns."""
    partitions = tuple(map(partition_of, folders))
    if not any(partitions):
        return opened
    why = "their folders name the partitions of one table"
    return replace(opened, files="parts", why=why, partitions=partitions)


def _join(opened: Sequence[OpenedSources], members: Sequence[str], parameter: str) -> OpenedSources:
    sources = tuple(source for part in opened for source in part.sources)
    check_repeats((source.path for source in sources if source.path is not None), parameter)
    partitions = [dict(p) for part in opened for p in part.partitions or [{}] * len(part.sources)]
    facts = [f for part in opened for f in part.facts or [RunFacts()] * len(part.sources)]
    # What the names of the files begin with, without numbers at the end.
    letters = zip(*map(name_of, members), strict=False)
    common = [column[0] for column in takewhile(lambda column: len({*column}) == 1, letters)]
    return OpenedSources(
        sources,
        f"a list of {len(members)}: {named(map(hide_password, members), 3)}",
        "".join(common).rstrip("-_. 0123456789") or _STEM,
        notes=tuple(dict.fromkeys(note for part in opened for note in part.notes)),
        partitions=tuple(partitions) if any(partitions) else (),
        facts=tuple(facts),
    )


def save_evaluation(
    evaluation: Scored,
    path: str | Path,
    content: SavedContent,
    *,
    force: bool = True,
    neutralise_formulas: bool = False,
    overwrite: bool = False,
) -> Path | str:
    """Write an evaluation to a file or an address."""
    address = address_of(path)
    if address is None:
        return save_scores(
            *(evaluation, path),
            **vars(content),
            force=force,
            neutralise_formulas=neutralise_formulas,
        )
    save = SOURCES[address.scheme].save
    if save is None:
        writable = [name for name in SOURCES if _can_be_written(name)]
        raise DataError(
            f"{address.name}: scores can be read from {address.scheme}, but not written; save to a "
            f"file or to {named(writable, 10)}"
        )
    return save(evaluation, address, content, overwrite)


def _can_be_written(name: str) -> bool:
    """Whether scores can be saved to a source; not to one that lacks its package."""
    try:
        return SOURCES[name].save is not None
    except MissingDependencyError:
        return False
