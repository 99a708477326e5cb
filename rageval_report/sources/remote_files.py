"""Files in object stores and on servers, through fsspec: "s3://", "gs://", "hf://", "https://"."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from rageval_report.errors import MissingDependencyError, RagevalError, named
from rageval_report.files.source import Source
from rageval_report.scores.saved_tables import COMPANION
from rageval_report.sources.base import OpenedSources, ScoreSource, SourceAddress, optional_package
from rageval_report.sources.file_lists import is_partition_name, is_score_file, is_visible_name

_FORM = "SCHEME://PLACE/FILE, a folder or a glob, where the file system has folders"
_MAGIC = re.compile(r"[*?\[]")
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


@dataclass(frozen=True, repr=False)
class RemotePlace:
    """A place in a file system of fsspec."""

    address: SourceAddress
    system: Any
    path: str

    @property
    def is_on_the_web(self) -> bool:
        """Whether it is a page of a web server, which has no folders and no globs."""
        return self.address.scheme in _ON_THE_WEB

    def files(self) -> tuple[list[str], list[str]]:
        """The files of scores that the place stands for, and the files that are skipped."""
        if self.is_on_the_web:
            return [self.path], []
        if _MAGIC.search(self.path) and not self.system.exists(self.path):
            return self._matching_files(), []
        if self.system.isdir(self.path):
            return self._files_of_folder()
        return [self.path], []

    def _matching_files(self) -> list[str]:
        matches = [path for path in self.system.glob(self.path) if is_visible_name(_name_of(path))]
        files = sorted(path for path in matches if not self.system.isdir(path))
        if not files:
            raise self.address.error("no file matches the pattern")
        return files

    def _files_of_folder(self) -> tuple[list[str], list[str]]:
        visible = [
            path
            for path in sorted(self.system.find(self.path))
            if is_visible_name(_name_of(path)) and self._is_of_table(path)
        ]
        scores = [path for path in visible if is_score_file(_name_of(path))]
        if not scores:
            inside = named(map(_name_of, visible))
            raise self.address.error(
                "the folder contains no file of scores; it "
                + (f"contains {inside}" if inside else "is empty")
            )
        # The files of a partitioned table stand in its partitions only.
        top = [path for path in scores if not self.folders_below(path)]
        return top or scores, [path for path in visible if path not in scores]

    def _is_of_table(self, path: str) -> bool:
        return all(map(is_partition_name, self.folders_below(path)))

    def folders_below(self, path: str) -> tuple[str, ...]:
        """The folders between the place and a file in it."""
        root = PurePosixPath(self.path.strip("/")).parts
        return PurePosixPath(path.strip("/")).parts[len(root) : -1]

    def name_of(self, path: str) -> str:
        """The address of a file, for messages."""
        if self.is_on_the_web or path == self.path:
            return self.address.name
        return f"{self.address.scheme}://{path.lstrip('/')}"

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
        files, skipped = place.files()
        sources = tuple(_fetch(place, path) for path in files)
    partitions = tuple(_partition_of(place.folders_below(path)) for path in files)
    notes: tuple[str, ...] = ()
    if skipped:
        skipped_names = named(map(_name_of, skipped))
        notes = (f"{address.name}: skipped because of their endings: {skipped_names}",)
    opened = OpenedSources(sources, address.name, _stem_of(place.path), notes=notes)
    if len(files) == 1 and not any(partitions):
        return OpenedSources(sources, sources[0].name, sources[0].stem, notes=notes)
    if not any(partitions) or _MAGIC.search(place.path):
        return opened
    return OpenedSources(
        *(sources, opened.name, opened.stem),
        files="parts",
        notes=notes,
        why="their folders name the partitions of one table",
        partitions=partitions,
    )


def copy_remote_files(address: SourceAddress) -> tuple[TemporaryFolder, Path]:
    """The files that an address stands for, copied to this machine."""
    with _remote_place(address) as place:
        folder = TemporaryFolder()
        # An address of the web may have a signature, and stands for one file, which has a name.
        inside = folder.path / ("file" if place.is_on_the_web else _safe_name(_stem_of(place.path)))
        for path in place.files()[0]:
            place.copy(path, inside.joinpath(*map(_safe_name, place.folders_below(path))))
    return folder, inside


@contextmanager
def _remote_place(address: SourceAddress) -> Iterator[RemotePlace]:
    if not address.place:
        raise address.error(f"no file is named; expected {_FORM}")
    core = optional_package("fsspec.core")
    try:
        system, path = core.url_to_fs(address.text)
        yield RemotePlace(address, system, path)
    except RagevalError:
        raise
    except ImportError as exc:
        package = _PACKAGES.get(address.scheme, str(exc.name or "fsspec"))
        line = f"{sys.executable} -m pip install '{package}'"
        raise MissingDependencyError(package, line=line) from exc
    except FileNotFoundError as exc:
        raise address.error("there is no such file") from _harmless(exc, address)
    except Exception as exc:
        # Each file system has errors of its own, of packages that are unknown here.
        shown = " ".join(str(exc).split()).replace(address.text, address.name)[:_LONGEST_ERROR]
        raise address.error(f"cannot be read: {type(exc).__name__}: {shown}") from _harmless(
            exc, address
        )


def _harmless(exc: Exception, address: SourceAddress) -> Exception | None:
    """The exception as a cause; None if the address has a signature, which it may repeat."""
    return exc if address.name == address.text else None


def _fetch(place: RemotePlace, path: str) -> FetchedFile:
    folder = TemporaryFolder()
    copy = place.copy(path, folder.path)
    return FetchedFile(copy, folder, place.address, name=place.name_of(path))


def _name_of(path: str) -> str:
    """The name of a file, also of an address of the web with a query."""
    whole = urlsplit(path).path if "://" in path else path
    return _safe_name(unquote(PurePosixPath(whole).name)) or "file"


def _safe_name(name: str) -> str:
    """A name without what would lead out of a folder."""
    return re.sub(r"[/\\\0]|^\.+$", "_", name)


def _stem_of(path: str) -> str:
    parts = [part for part in PurePosixPath(path).parts if not _MAGIC.search(part)]
    return PurePosixPath(parts[-1]).stem if parts else "pipeline"


def _partition_of(folders: Sequence[str]) -> dict[str, str]:
    pairs = (folder.partition("=") for folder in folders)
    return {name: value for name, _, value in pairs if name}


REMOTE_FILES = ScoreSource("remote files", "files through fsspec", _FORM, open_remote_files)
