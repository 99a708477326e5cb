"""What the user names, opened: a file, a folder, a glob, a list of these, or an address."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from rageval_report.errors import DataError, MissingDependencyError, UnknownNameError, named
from rageval_report.files.inputs import (
    STANDARD_INPUT,
    hide_password,
    is_file,
    is_folder,
)
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
from rageval_report.sources.file_lists import FileList, is_glob, list_files
from rageval_report.sources.table import SOURCES

_STEM = "pipeline"
_MAGIC = "*?["


def open_sources(
    value: object, *, encoding: str | None = None, parameter: str = "path"
) -> OpenedSources:
    """The files, contents or tables that the user named."""
    members = _members(value)
    if members is not None:
        opened = [_open_text(text, encoding, parameter) for text in members]
        return _join(opened, members, parameter)
    text = _text_of(value)
    if text is not None:
        return _open_text(text, encoding, parameter)
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
        return address.parameters.get("table") or _stem(address.place)
    if is_glob(text):
        return _stem_of_glob(text)
    return _stem(text)


def _members(value: object) -> list[str] | None:
    """The members of a list of paths and addresses; None for anything else."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray | memoryview):
        return None
    texts = [_text_of(member) for member in value]
    if not texts or any(text is None for text in texts):
        return None  # a list of records, which `source_of` reads
    return [text for text in texts if text is not None]


def _text_of(value: object) -> str | None:
    return os.fsdecode(value) if isinstance(value, str | os.PathLike) else None


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
    sources = tuple(Source(path, encoding=encoding) for path in listed.files)
    stem = _stem_of_glob(text) if listed.origin == "glob" else Path(text).resolve().name
    partitions = tuple(_partition_of(path, text) for path in listed.files)
    opened = OpenedSources(sources, listed.name, stem or _STEM, notes=_notes(listed))
    if not any(partitions):
        return opened
    why = "their folders name the partitions of one table"
    return replace(opened, files="parts", why=why, partitions=partitions)


def _notes(listed: FileList) -> tuple[str, ...]:
    return () if listed.origin == "file" else listed.notes


def _join(opened: Sequence[OpenedSources], members: Sequence[str], parameter: str) -> OpenedSources:
    sources = tuple(source for part in opened for source in part.sources)
    _check_repeats(sources, parameter)
    partitions: tuple[dict[str, str], ...] = ()
    if any(part.partitions for part in opened):
        partitions = tuple(
            dict(columns)
            for part in opened
            for columns in part.partitions or ({},) * len(part.sources)
        )
    facts: tuple[RunFacts, ...] = ()
    if any(part.facts for part in opened):
        blank = RunFacts()
        facts = tuple(
            fact for part in opened for fact in part.facts or (blank,) * len(part.sources)
        )
    return OpenedSources(
        sources,
        f"a list of {len(members)}: {named(map(hide_password, members), 3)}",
        _common_stem(members),
        notes=tuple(dict.fromkeys(note for part in opened for note in part.notes)),
        partitions=partitions,
        facts=facts,
    )


def _check_repeats(sources: Iterable[Source], parameter: str) -> None:
    paths = [os.path.normpath(source.path) for source in sources if source.path is not None]
    repeated = dict.fromkeys(path for path in paths if paths.count(path) > 1)
    if repeated:
        raise DataError(f"{parameter}: these files appear more than once: {named(repeated)}")


def _partition_of(path: Path, text: str) -> dict[str, str]:
    """The columns in the names of the folders below the one that the user named."""
    parts = path.parts[:-1]
    pairs = (part.partition("=") for part in parts if "=" in part)
    return {name: value for name, equals, value in pairs if name and f"{name}{equals}" not in text}


# -- names


def _stem(text: str) -> str:
    name = Path(text).name
    return Path(name[:-3] if name.lower().endswith(".gz") else name).stem or _STEM


def _stem_of_glob(pattern: str) -> str:
    """The last folder of a pattern that has no wildcard."""
    fixed = []
    for part in Path(pattern).parts[:-1]:
        if any(character in part for character in _MAGIC):
            break
        fixed.append(part)
    return Path(*fixed).resolve().name if fixed else Path.cwd().name or _STEM


def _common_stem(members: Sequence[str]) -> str:
    """What the names of the files begin with, without numbers at the end."""
    names = [name_of(member) for member in members]
    columns = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in columns).rstrip("-_. 0123456789") or _STEM


# -- saving


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
            config=content.config,
            notes=content.notes,
            created=content.created,
            correct=content.correct,
            force=force,
            neutralise_formulas=neutralise_formulas,
            results=content.results,
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
