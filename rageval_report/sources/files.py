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
from dataclasses import replace
from itertools import takewhile
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from rageval_report.errors import (
    ArgumentKindError,
    DataError,
    MissingDependencyError,
    RagevalError,
    UnknownNameError,
    describe_kind,
    named,
)
from rageval_report.files.inputs import (
    STANDARD_INPUT,
    hide_password,
    is_file,
    is_folder,
    shorten_path,
)
from rageval_report.files.source import Source
from rageval_report.readers.run_folders import RESULT_FILES
from rageval_report.readers.table_files import source_of
from rageval_report.scores import Scored
from rageval_report.scores.saved_tables import COMPANION
from rageval_report.scores.write import save_scores
from rageval_report.sources import SOURCES
from rageval_report.sources.base import (
    OpenedSources,
    RunFacts,
    SavedContent,
    ScoreSource,
    SourceAddress,
    optional_package,
    split_address,
)

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
    overwrite: bool = False,
) -> Path | str:
    """Write an evaluation to a file or an address."""
    address = address_of(path)
    if address is None:
        return save_scores(evaluation, path, **vars(content), force=force)
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


_FORM = "SCHEME://PLACE/FILE, a folder or a glob, where the file system has folders"
_ON_THE_WEB = ("http", "https")
# What to install for a scheme beside fsspec, where fsspec cannot read it alone.
_PACKAGES = {
    **dict.fromkeys(("abfs", "abfss", "az"), "adlfs"),
    **dict.fromkeys(("gcs", "gs"), "gcsfs"),
    **dict.fromkeys(("http", "https"), "fsspec[http]"),
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    "hf": "huggingface_hub",
    "oci": "ocifs",
    "sftp": "paramiko",
}
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


class _RemotePlace(NamedTuple):
    """A place in a file system of fsspec, the files that it stands for, and those left out."""

    address: SourceAddress
    system: Any
    path: str
    files: list[str]
    skipped: list[str]

    def folders_below(self, path: str) -> tuple[str, ...]:
        """The folders between the place and a file in it."""
        root = PurePosixPath(self.path.strip("/")).parts
        return PurePosixPath(path.strip("/")).parts[len(root) : -1]

    def copy(self, path: str, folder: Path) -> Path:
        """Copy a file into a folder of this machine, with what describes it."""
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / _name_of(path)
        self.system.get_file(path, str(target))
        has_companion = target.suffix.lower() in (".csv", ".tsv") and "?" not in path
        if has_companion and self.system.exists(f"{path}{COMPANION}"):
            self.system.get_file(f"{path}{COMPANION}", f"{target}{COMPANION}")
        return target


def open_remote_files(address: SourceAddress) -> OpenedSources:
    """The files that an address stands for, copied to this machine."""
    with _remote_place(address) as place:
        sources = []
        for path in place.files:
            is_alone = address.scheme in _ON_THE_WEB or path == place.path
            name = address.name if is_alone else f"{address.scheme}://{path.lstrip('/')}"
            folder = TemporaryFolder()
            copy = place.copy(path, folder.path)
            sources.append(FetchedFile(copy, folder, address, name=name))
    notes: tuple[str, ...] = ()
    if place.skipped:
        skipped = named(map(_name_of, place.skipped))
        notes = (f"{address.name}: skipped because of their endings: {skipped}",)
    opened = OpenedSources(tuple(sources), address.name, stem_of_place(place.path), notes=notes)
    if not MAGIC.search(place.path):
        opened = in_partitions(opened, [place.folders_below(path) for path in place.files])
    if len(sources) == 1 and not opened.partitions:
        return OpenedSources(opened.sources, sources[0].name, sources[0].stem, notes=notes)
    return opened


def copy_remote_files(address: SourceAddress) -> tuple[TemporaryFolder, Path]:
    """The files that an address stands for, copied to this machine."""
    with _remote_place(address) as place:
        folder = TemporaryFolder()
        # An address of the web may have a signature, and stands for one file, which has a name.
        is_on_the_web = address.scheme in _ON_THE_WEB
        inside = folder.path / ("file" if is_on_the_web else _safe_name(stem_of_place(place.path)))
        for path in place.files:
            place.copy(path, inside.joinpath(*map(_safe_name, place.folders_below(path))))
    return folder, inside


@contextmanager
def _remote_place(address: SourceAddress) -> Iterator[_RemotePlace]:
    if not address.place:
        raise address.error(f"no file is named; expected {_FORM}")
    core = optional_package("fsspec.core")
    try:
        system, path = core.url_to_fs(address.text)
        yield _RemotePlace(address, system, path, *_files_of(address, system, path))
    except RagevalError:
        raise
    except ImportError as exc:
        package = _PACKAGES.get(address.scheme, str(exc.name or "fsspec"))
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


def _files_of(address: SourceAddress, system: Any, path: str) -> tuple[list[str], list[str]]:
    """The files of scores that a place stands for, and the files that are skipped."""
    # A web server has no folders and no globs.
    if address.scheme in _ON_THE_WEB:
        return [path], []
    if MAGIC.search(path) and not system.exists(path):
        matches = [file for file in system.glob(path) if is_visible_name(_name_of(file))]
        files = sorted(file for file in matches if not system.isdir(file))
        if not files:
            raise address.error("no file matches the pattern")
        return files, []
    if not system.isdir(path):
        return [path], []
    n_root = len(PurePosixPath(path.strip("/")).parts)
    inside: dict[PurePath, str] = {
        PurePosixPath(*PurePosixPath(file.strip("/")).parts[n_root:]): file
        for file in sorted(system.find(path))
    }
    scores, skipped = choose_files(inside)
    if not scores:
        content = f"contains {named(file.name for file in skipped)}" if skipped else "is empty"
        raise address.error(f"the folder contains no file of scores; it {content}")
    return [inside[file] for file in scores], [inside[file] for file in skipped]


def _name_of(path: str) -> str:
    """The name of a file, also of an address of the web with a query."""
    whole = urlsplit(path).path if "://" in path else path
    return _safe_name(unquote(PurePosixPath(whole).name)) or "file"


def _safe_name(name: str) -> str:
    """A name without what would lead out of a folder."""
    return re.sub(r"[/\\\0]|^\.+$", "_", name)


REMOTE_FILES = ScoreSource("remote files", "files through fsspec", _FORM, open_remote_files)
