"""A list of files, a folder, or a glob, as the files that it stands for."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rageval_report.errors import ArgumentKindError, DataError, describe_kind, named
from rageval_report.files.inputs import is_file, is_folder, shorten_path
from rageval_report.readers.run_folders import RESULT_FILES
from rageval_report.scores.saved_tables import COMPANION

# Endings of score files and rankings; other files of a folder, such as README.md, are skipped.
SUFFIXES = (
    *(".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".xls"),
    *(".run", ".trec", ".res", ".eval"),
)
_GZIP = ".gz"
_MAGIC = re.compile(r"[*?\[]")
# A folder of a partitioned table, as Hive, Spark, Dask and DuckDB write it: month=2026-01.
_PARTITION = re.compile(r"[^=]+=.*")


@dataclass(frozen=True)
class FileList:
    """The files that a list, a folder, a glob or one path stands for."""

    files: tuple[Path, ...]
    skipped: tuple[Path, ...]
    origin: str
    name: str

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence if files of a folder were skipped."""
        if not self.skipped:
            return ()
        names = named(path.name for path in self.skipped)
        return (f"{self.name}: skipped because of their endings: {names}",)


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
    _check_repeats(files, parameter)
    skipped = tuple(path for part in lists for path in part.skipped)
    return FileList(files, skipped, "list", f"a list of {len(members)}")


def is_glob(text: str) -> bool:
    """Whether a text is a pattern, and not the name of a file or folder that exists."""
    # Only the last test asks the disk: most texts are no pattern.
    return bool(_MAGIC.search(text)) and not is_file(Path(text)) and not is_folder(Path(text))


def _expand_path(text: str, parameter: str) -> FileList:
    path = Path(text)
    if is_glob(text):
        return _expand_glob(text, parameter)
    if text and is_folder(path):
        return _expand_folder(path, parameter)
    return FileList((path,), (), "file", shorten_path(text))


# -- folders


def _expand_folder(folder: Path, parameter: str) -> FileList:
    try:
        visible = [path for path in sorted(folder.iterdir()) if _is_visible(path)]
    except OSError as exc:
        raise DataError(f"{parameter}: the folder {folder} cannot be read: {exc.strerror}") from exc
    files = [path for path in visible if not is_folder(path)]
    results = [path for path in files if path.name in RESULT_FILES]
    if len(results) == 1:
        return FileList((results[0],), (), "file", str(results[0]))
    partitions = [path for path in visible if _is_partition(path)]
    # The files of a partitioned table stand in its partitions only.
    scores = [path for path in files if is_score_file(path.name)] or [*_partition_files(partitions)]
    if not scores:
        names = named(path.name for path in visible)
        raise DataError(
            f"{parameter}: the folder {shorten_path(str(folder))} contains no file of scores "
            f"({', '.join(SUFFIXES)}); it "
            f"{f'contains {names}' if names else 'is empty'}"
        )
    skipped = [path for path in files if not is_score_file(path.name)]
    return FileList(tuple(scores), tuple(skipped), "folder", shorten_path(str(folder)))


def _partition_files(partitions: Iterable[Path]) -> Iterator[Path]:
    for folder in partitions:
        inside = [path for path in sorted(folder.iterdir()) if _is_visible(path)]
        yield from (path for path in inside if is_score_file(path.name) and not is_folder(path))
        yield from _partition_files(path for path in inside if _is_partition(path))


def _is_visible(path: Path) -> bool:
    """Whether a file is for readers: not hidden, no mark of Spark, no description of a table."""
    return is_visible_name(path.name)


def is_visible_name(name: str) -> bool:
    """Whether a name is that of a file for readers: not hidden, no description of a table."""
    return not name.startswith((".", "_")) and not name.endswith(COMPANION)


def _is_partition(path: Path) -> bool:
    return is_partition_name(path.name) and is_folder(path)


def is_partition_name(name: str) -> bool:
    """Whether a folder of this name is a part of a partitioned table."""
    return bool(_PARTITION.fullmatch(name))


def is_score_file(name: str) -> bool:
    """Whether a file is one of scores or rankings, by the ending of its name."""
    return name.lower().removesuffix(_GZIP).endswith(SUFFIXES)


# -- globs


def _expand_glob(pattern: str, parameter: str) -> FileList:
    root, rest = _fixed_part(pattern)
    try:
        matches = sorted(path for path in root.glob(rest) if _is_visible(path))
    except (OSError, ValueError, NotImplementedError) as exc:
        raise DataError(f"{parameter}: the pattern {pattern!r} is not valid: {exc}") from exc
    files = tuple(path for path in matches if not is_folder(path))
    if not files:
        raise DataError(
            f"{parameter}: no file matches the pattern {shorten_path(pattern)!r}; "
            f"{_content_of(root)}"
        )
    return FileList(files, (), "glob", shorten_path(pattern))


def _fixed_part(pattern: str) -> tuple[Path, str]:
    """The folder before the first part with a wildcard, and the rest."""
    parts = Path(pattern).parts
    n_fixed = next(place for place, part in enumerate(parts) if _MAGIC.search(part))
    return Path(*parts[:n_fixed]), "/".join(parts[n_fixed:])


def _content_of(folder: Path) -> str:
    if not is_folder(folder):
        return f"the folder {folder} does not exist"
    names = sorted(path.name for path in folder.iterdir() if _is_visible(path))
    return f"the folder {folder} contains {named(names)}" if names else f"{folder} is empty"


# -- lists


def _check_repeats(files: Iterable[Path], parameter: str) -> None:
    counts = Counter(Path(os.path.normpath(path)) for path in files)
    repeated = [str(path) for path, n in counts.items() if n > 1]
    if repeated:
        raise DataError(f"{parameter}: these files appear more than once: {named(repeated)}")
