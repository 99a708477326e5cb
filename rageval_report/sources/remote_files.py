"""Files in object stores and on servers, through fsspec: "s3://", "gs://", "hf://", "https://"."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from rageval_report.errors import MissingDependencyError, RagevalError, named
from rageval_report.files.source import Source
from rageval_report.scores.saved_tables import COMPANION
from rageval_report.sources.base import OpenedSources, ScoreSource, SourceAddress, optional_package
from rageval_report.sources.file_lists import MAGIC, choose_files, is_visible_name, stem_of_place
from rageval_report.sources.opening import in_partitions

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
    inside = {
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
