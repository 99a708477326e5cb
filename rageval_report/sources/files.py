"""What the user names, opened: a file, a folder, a glob, a list of these, or an address.

Files in object stores and on servers are copied to this machine by fsspec: "s3://", "https://".
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from rageval_report._registry import load
from rageval_report.errors import (
    ArgumentKindError,
    DataError,
    MissingDependencyError,
    RagevalError,
    UnknownNameError,
    describe_kind,
    named,
)
from rageval_report.files.inputs import hide_password, is_file, is_folder, shorten_path
from rageval_report.files.source import Source
from rageval_report.readers.run_folders import RESULT_FILES
from rageval_report.readers.table_files import source_of
from rageval_report.scores.saved_tables import COMPANION
from rageval_report.sources import SOURCES
from rageval_report.sources.base import (
    OpenedSources,
    RunFacts,
    ScoreSource,
    SourceAddress,
    split_address,
)

# Endings of score files and rankings; other files of a folder, such as README.md, are skipped.
SUFFIXES = (
    *(".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".xls"),
    *(".run", ".trec", ".res", ".eval"),
)
MAGIC = re.compile(r"[*?\[]")
_STEM = "pipeline"


class FileList(NamedTuple):
    """The files that a list, a folder, a glob or one path stands for, and what was skipped."""

    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()


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
    return FileList(files, tuple(note for part in lists for note in part.notes))


def _check_repeats(files: Iterable[Path], parameter: str) -> None:
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


def _choose_files(inside: Iterable[PurePath]) -> tuple[list[PurePath], list[PurePath]]:
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


def _skipped_note(name: str, skipped: Iterable[PurePath]) -> tuple[str, ...]:
    names = named(path.name for path in skipped)
    return (f"{name}: skipped because of their endings: {names}",) if names else ()


def _stem_of(name: str) -> str:
    """The name of a file without its endings: "scores.csv.gz" is "scores"."""
    return PurePosixPath(name[:-3] if name.lower().endswith(".gz") else name).stem or _STEM


def _expand_path(text: str, parameter: str) -> FileList:
    path = Path(text)
    if is_glob(text):
        return _expand_glob(text, parameter)
    if not text or not is_folder(path):
        return FileList((path,))
    names: list[PurePath] = []
    for place, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if is_partition_name(name))
        names += [Path(place, name).relative_to(path) for name in sorted(files)]
    results = [name for name in names if str(name) in RESULT_FILES]
    if len(results) == 1:
        return FileList((path / results[0],))
    scores, skipped = _choose_files(names)
    if not scores:
        raise DataError(
            f"{parameter}: the folder {shorten_path(text)} contains no file of scores "
            f"({', '.join(SUFFIXES)}); it {_content_of(path)}"
        )
    found = tuple(path / name for name in scores)
    return FileList(found, _skipped_note(shorten_path(str(path)), skipped))


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
    return FileList(files)


def _content_of(folder: Path) -> str:
    if not is_folder(folder):
        return "does not exist"
    names = sorted(path.name for path in folder.iterdir() if is_visible_name(path.name))
    return f"contains {named(names)}" if names else "is empty"


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
        return address.parameters.get("table") or _stem_of_place(address.place)
    if not is_glob(text):
        return _stem_of(Path(text).name)
    # The last folder of the pattern that has no wildcard.
    fixed = list(takewhile(lambda part: not MAGIC.search(part), Path(text).parts[:-1]))
    return Path(*fixed).resolve().name or _STEM


def _stem_of_place(place: str) -> str:
    """The name of a place: its last part without wildcards and without its ending."""
    parts = [part for part in PurePosixPath(place).parts if not MAGIC.search(part)]
    return _stem_of(parts[-1]) if parts else _STEM


def _open_text(text: str, encoding: str | None, parameter: str) -> OpenedSources:
    address = address_of(text)
    if address is not None:
        opened = SOURCES[address.scheme].open(address)
        for source in opened.sources:
            if source.path is not None:  # a copy of a file, whose encoding the caller may know
                source.encoding = encoding
        return opened
    if not text or not (is_glob(text) or is_folder(Path(text))):
        source = source_of(text, encoding=encoding, parameter=parameter)
        return OpenedSources((source,), source.name, source.stem)
    files, notes = list_files(text, parameter)
    stem = name_of(text) if is_glob(text) else Path(text).resolve().name or _STEM
    sources = tuple(Source(path, encoding=encoding) for path in files)
    return OpenedSources(sources, shorten_path(str(Path(text))), stem, notes=notes)


def _join(opened: Sequence[OpenedSources], members: Sequence[str], parameter: str) -> OpenedSources:
    sources = tuple(source for part in opened for source in part.sources)
    _check_repeats((source.path for source in sources if source.path is not None), parameter)
    facts = [f for part in opened for f in part.facts or [RunFacts()] * len(part.sources)]
    # What the names of the files begin with, without numbers at the end.
    common = os.path.commonprefix([*map(name_of, members)])  # noqa: RUF071  no paths
    return OpenedSources(
        sources,
        f"a list of {len(members)}: {named(map(hide_password, members), 3)}",
        common.rstrip("-_. 0123456789") or _STEM,
        notes=tuple(dict.fromkeys(note for part in opened for note in part.notes)),
        facts=tuple(facts),
    )


# -- files of other machines

_FORM = "SCHEME://PLACE/FILE, a folder or a glob, where the file system has folders"
_ON_THE_WEB = ("http", "https")
_LONGEST_ERROR = 300


class TemporaryFolder:
    """A folder that is removed when the last object that holds it is gone, or at the end."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="rageval-"))
        # Not TemporaryDirectory: it warns if it is removed with its last holder.
        self._remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class FetchedFile(Source):
    """A copy of a file, in a folder that lasts as long as this object."""

    def __init__(
        self,
        path: Path,
        folder: TemporaryFolder,
        address: SourceAddress,
        *,
        name: str,
        stem: str | None = None,
    ):
        if not path.stat().st_size:
            raise address.error(f"{name} is empty")
        super().__init__(path)
        self.name = name
        self._folder_of_copy = folder
        self._stem = stem

    @property
    def stem(self) -> str:
        """The name of the pipeline if the content does not state one."""
        return self._stem or super().stem


class _Copies(NamedTuple):
    """The copies of remote files by their paths, all below one place; and what was left out."""

    folder: TemporaryFolder
    place: Path
    files: dict[str, Path]
    notes: tuple[str, ...]
    is_folder: bool


def open_remote_files(address: SourceAddress) -> OpenedSources:
    """The files that an address stands for, copied to this machine."""
    copies = _copy(address)
    is_alone = len(copies.files) == 1 and not copies.is_folder
    sources = [
        FetchedFile(
            copy,
            copies.folder,
            address,
            name=address.name if is_alone else f"{address.scheme}://{path.lstrip('/')}",
        )
        for path, copy in copies.files.items()
    ]
    stem = sources[0].stem if len(sources) == 1 else _stem_of_place(address.place)
    return OpenedSources(tuple(sources), address.name, stem, notes=copies.notes)


def copy_remote_files(address: SourceAddress) -> tuple[TemporaryFolder, Path]:
    """The files that an address stands for, copied to this machine."""
    copies = _copy(address)
    return copies.folder, copies.place


def _copy(address: SourceAddress) -> _Copies:
    folder = TemporaryFolder()
    # An address of the web may have a signature, and stands for one file, which has a name.
    is_on_the_web = address.scheme in _ON_THE_WEB
    place = folder.path / ("file" if is_on_the_web else _safe_name(_stem_of_place(address.place)))
    files = {}
    with _file_system(address) as (system, path):
        inside, skipped = _files_of(address, system, path)
        for remote, relative in inside.items():
            copy = place.joinpath(*map(_safe_name, relative.parts))
            copy.parent.mkdir(parents=True, exist_ok=True)
            system.get_file(remote, str(copy))
            is_described = copy.suffix.lower() in (".csv", ".tsv") and "?" not in remote
            if is_described and system.exists(f"{remote}{COMPANION}"):
                system.get_file(f"{remote}{COMPANION}", f"{copy}{COMPANION}")
            files[remote] = copy
        return _Copies(
            folder, place, files, _skipped_note(address.name, skipped), list(files) != [path]
        )


@contextmanager
def _file_system(address: SourceAddress) -> Iterator[tuple[Any, str]]:
    """The file system of fsspec that an address names, and the path in it."""
    if not address.place:
        raise address.error(f"no file is named; expected {_FORM}")
    core = load("fsspec.core")
    try:
        yield core.url_to_fs(address.text)
    except RagevalError:
        raise
    except ImportError as exc:
        # fsspec names the package: "Install s3fs to access S3".
        package = (re.findall(r"[Ii]nstall (\w+)", str(exc)) or [exc.name or "fsspec[full]"])[0]
        line = f"{sys.executable} -m pip install '{package}'"
        raise MissingDependencyError(package, line=line) from exc
    # Each file system has errors of its own, of packages that are unknown here.
    except Exception as exc:
        shown = " ".join(str(exc).split()).replace(address.text, address.name)[:_LONGEST_ERROR]
        message = f"cannot be read: {type(exc).__name__}: {shown}"
        if isinstance(exc, FileNotFoundError):
            message = "there is no such file"
        # An address with a signature may be repeated in the exception.
        raise address.error(message) from exc if address.name == address.text else None


def _files_of(
    address: SourceAddress, system: Any, path: str
) -> tuple[dict[str, PurePath], list[PurePath]]:
    """The files that a place stands for with their places below it, and those left out."""
    # A web server has no folders and no globs.
    if address.scheme in _ON_THE_WEB:
        name = _safe_name(unquote(PurePosixPath(urlsplit(path).path).name)) or "file"
        return {path: PurePosixPath(name)}, []
    if MAGIC.search(path) and not system.exists(path):
        files: dict[str, PurePath] = {
            file: PurePosixPath(PurePosixPath(file).name)
            for file in sorted(system.glob(path))
            if is_visible_name(PurePosixPath(file).name) and not system.isdir(file)
        }
        if not files:
            raise address.error("no file matches the pattern")
        return files, []
    if not system.isdir(path):
        return {path: PurePosixPath(PurePosixPath(path).name)}, []
    root = path.strip("/")
    inside: dict[PurePath, str] = {
        PurePosixPath(file.strip("/").removeprefix(root).lstrip("/")): file
        for file in sorted(system.find(path))
    }
    scores, skipped = _choose_files(inside)
    if not scores:
        content = f"contains {named(file.name for file in skipped)}" if skipped else "is empty"
        raise address.error(f"the folder contains no file of scores; it {content}")
    return {inside[file]: file for file in scores}, skipped


def _safe_name(name: str) -> str:
    """A name without what would lead out of a folder."""
    return re.sub(r"[/\\\0]|^\.+$", "_", name)


REMOTE_FILES = ScoreSource("remote files", "files through fsspec", _FORM, open_remote_files)
