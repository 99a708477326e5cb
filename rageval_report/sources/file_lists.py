"""A list of files, a folder, or a glob, as the files that it stands for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple

from rageval_report.errors import ArgumentKindError, DataError, describe_kind, named
from rageval_report.files.inputs import is_file, is_folder, shorten_path
from rageval_report.readers.run_folders import RESULT_FILES
from rageval_report.scores.saved_tables import COMPANION

# Endings of score files and rankings; other files of a folder, such as README.md, are skipped.
SUFFIXES = (
    *(".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".xls"),
    *(".run", ".trec", ".res", ".eval"),
)
MAGIC = re.compile(r"[*?\[]")


class FileList(NamedTuple):
    """The files that a list, a folder, a glob or one path stands for."""

    files: tuple[Path, ...]
    skipped: tuple[Path, ...]
    origin: str
    name: str

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence if files of a folder were skipped."""
        names = named(path.name for path in self.skipped)
        return (f"{self.name}: skipped because of their endings: {names}",) if names else ()


def list_files(
    value: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], parameter: str = "path"
) -> FileList:
    """The files that a path, a folder, a glob, or a list of these stands for."""
    if isinstance(value, str | os.PathLike):
        return _expand_path(os.fsdecode(value), parameter)
    members = list(value)
    for member in members:
        if not isinstance(member, str | os.PathLike):
            raise ArgumentKindError(
                f"{parameter} must be a list of paths; it contains {describe_kind(member)}"
            )
    if not members:
        raise DataError(f"{parameter} is an empty list; expected at least one file")
    lists = [_expand_path(os.fsdecode(member), parameter) for member in members]
    files = tuple(path for part in lists for path in part.files)
    check_repeats(files, parameter)
    skipped = tuple(path for part in lists for path in part.skipped)
    return FileList(files, skipped, "list", f"a list of {len(members)}")


def check_repeats(files: Iterable[Path], parameter: str) -> None:
    """Check that no file appears twice."""
    paths = [os.path.normpath(path) for path in files]
    repeated = dict.fromkeys(path for path in paths if paths.count(path) > 1)
    if repeated:
        raise DataError(f"{parameter}: these files appear more than once: {named(repeated)}")


def is_glob(text: str) -> bool:
    """Whether a text is a pattern, and not the name of a file or folder that exists."""
    # Only the last test asks the disk: most texts are no pattern.
    return bool(MAGIC.search(text)) and not is_file(Path(text)) and not is_folder(Path(text))


def is_visible_name(name: str) -> bool:
    """Whether a file is for readers: not hidden, no mark of Spark, no description of a table."""
    return not name.startswith((".", "_")) and not name.endswith(COMPANION)


def is_partition_name(name: str) -> bool:
    """Whether a folder is a part of a table that Hive, Spark, Dask or DuckDB wrote: month=1."""
    return "=" in name[1:]


def is_score_file(name: str) -> bool:
    """Whether a file is one of scores or rankings, by the ending of its name."""
    return name.lower().removesuffix(".gz").endswith(SUFFIXES)


def choose_files(inside: Iterable[PurePath]) -> tuple[list[PurePath], list[PurePath]]:
    """Of the files below a folder those with scores, and those that are skipped."""
    visible = [
        path
        for path in inside
        if is_visible_name(path.name) and all(map(is_partition_name, path.parts[:-1]))
    ]
    scores = [path for path in visible if is_score_file(path.name)]
    # The files of a partitioned table stand in its partitions only.
    top = [path for path in scores if len(path.parts) == 1]
    return top or scores, [path for path in visible if path not in scores]


def partition_of(folders: Sequence[str]) -> dict[str, str]:
    """The columns that the names of folders state, as ``month=2026-01`` does."""
    pairs = (folder.partition("=") for folder in folders)
    return {name: value for name, equals, value in pairs if name and equals}


def stem_of_place(text: str) -> str:
    """The name of a place: its last part without wildcards and without its ending."""
    parts = [part for part in PurePosixPath(text).parts if not MAGIC.search(part)]
    name = parts[-1] if parts else ""
    return PurePosixPath(name[:-3] if name.lower().endswith(".gz") else name).stem or "pipeline"


def _expand_path(text: str, parameter: str) -> FileList:
    path = Path(text)
    if is_glob(text):
        return _expand_glob(text, parameter)
    if not text or not is_folder(path):
        return FileList((path,), (), "file", shorten_path(text))
    names: list[PurePath] = []
    try:
        for place, folders, files in os.walk(path, onerror=_raise):
            folders[:] = sorted(name for name in folders if is_partition_name(name))
            names += [Path(place, name).relative_to(path) for name in sorted(files)]
    except OSError as exc:
        raise DataError(f"{parameter}: the folder {path} cannot be read: {exc.strerror}") from exc
    results = [name for name in names if str(name) in RESULT_FILES]
    if len(results) == 1:
        return FileList((path / results[0],), (), "file", str(path / results[0]))
    scores, skipped = choose_files(names)
    if not scores:
        raise DataError(
            f"{parameter}: the folder {shorten_path(text)} contains no file of scores "
            f"({', '.join(SUFFIXES)}); it {_content_of(path)}"
        )
    chosen, others = (tuple(path / name for name in part) for part in (scores, skipped))
    return FileList(chosen, others, "folder", shorten_path(str(path)))


def _raise(exc: OSError) -> None:
    raise exc


def _expand_glob(pattern: str, parameter: str) -> FileList:
    parts = Path(pattern).parts
    n_fixed = next(place for place, part in enumerate(parts) if MAGIC.search(part))
    root, rest = Path(*parts[:n_fixed]), "/".join(parts[n_fixed:])
    try:
        matches = sorted(path for path in root.glob(rest) if is_visible_name(path.name))
    except (OSError, ValueError, NotImplementedError) as exc:
        raise DataError(f"{parameter}: the pattern {pattern!r} is not valid: {exc}") from exc
    files = tuple(path for path in matches if not is_folder(path))
    if not files:
        content = f"the folder {root} {_content_of(root)}"
        raise DataError(
            f"{parameter}: no file matches the pattern {shorten_path(pattern)!r}; {content}"
        )
    return FileList(files, (), "glob", shorten_path(pattern))


def _content_of(folder: Path) -> str:
    if not is_folder(folder):
        return "does not exist"
    names = sorted(path.name for path in folder.iterdir() if is_visible_name(path.name))
    return f"contains {named(names)}" if names else "is empty"
