"""Zip archives, read member by member: no name escapes, no member swells without limit."""

from __future__ import annotations

import os
import struct
import sys
import zipfile
import zlib
from io import BytesIO
from typing import Any, BinaryIO

from rageval_report._registry import load
from rageval_report.errors import MissingDependencyError, ReaderError, named
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json, replace_lone_surrogates

_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_ENCRYPTED = 0x1

# Python's own reader of zstd; below 3.14 its backport, which the extra brings.
_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_ZSTD_EXTRA = "inspect"

# An archive that swells more than this, beyond a size that is harmless anyway, is a bomb.
_LARGEST_SWELLING = 300
_HARMLESS = 1 << 28

# Of a local header the fixed part, and where the lengths of the parts behind it stand.
_LOCAL_HEADER = struct.Struct("<26xHH")

# What the directory of a damaged archive makes Python raise.
_FAULTS = (
    zipfile.BadZipFile,
    NotImplementedError,
    OSError,
    OverflowError,
    ValueError,
    struct.error,
)


def is_archive(source: Source) -> bool:
    """Whether a file begins like a zip archive.

    Parameters
    ----------
    source : Source
        The file.
    """
    return source.head.startswith(_MAGIC)


class Archive:
    r"""A zip archive whose members are stored, deflated or zstd.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ReaderError
        If it is no zip archive, damaged or cut, a member's name is absolute or leads out of the
        archive, or the members would swell to more than 300 times its size.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.eval"
    ...     with zipfile.ZipFile(path, "w") as file:
    ...         file.writestr("header.json", '{"status": "success"}')
    ...     archive = Archive(Source(path))
    ...     archive.names, archive.document("header.json")
    (('header.json',), {'status': 'success'})
    """

    def __init__(self, source: Source):
        self._source = source
        self._size, self._members = self._directory()
        self._check_names()
        self._check_sizes()

    @property
    def names(self) -> tuple[str, ...]:
        """The members, in the order of the archive; folders are none."""
        return tuple(name for name in self._members if not name.endswith("/"))

    def read(self, name: str) -> bytes:
        """The content of a member.

        Raises
        ------
        ReaderError
            If there is no such member, or it is encrypted, damaged, or compressed in another way.
        MissingDependencyError
            If it is zstd, and no package that reads it is installed.
        """
        if name not in self._members:
            raise self._source.error(f"the archive has no member {name!r}")
        member = self._members[name]
        if member.flag_bits & _ENCRYPTED:
            raise self._fault(name, "is encrypted; unpack the archive and pack it without password")
        content = self._inflated(member)
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise self._fault(name, "is damaged; copy or download the archive again")
        return content

    def document(self, name: str) -> Any:
        """The JSON document that a member holds.

        Raises
        ------
        ReaderError
            As `read`, and if it is no JSON in UTF-8.
        """
        try:
            text, _ = replace_lone_surrogates(self.read(name).decode("utf-8-sig"))
            return parse_json(text)
        except UnicodeDecodeError as exc:
            raise self._fault(name, "is no text in UTF-8") from exc
        except NotJSONError as exc:
            place = "" if exc.line is None else f", line {exc.line}"
            raise self._fault(name, f"cannot be read{place}: {exc}") from exc

    # -- the directory

    def _directory(self) -> tuple[int, dict[str, zipfile.ZipInfo]]:
        """The size of the archive, and its members; of two of one name the last one counts."""
        try:
            with self._opened() as file, zipfile.ZipFile(file) as archive:
                members = {member.filename: member for member in archive.infolist()}
                return file.seek(0, os.SEEK_END), members
        except _FAULTS as exc:
            raise self._source.error(
                f"this zip archive cannot be opened; is it cut? Copy it again ({exc})"
            ) from exc

    def _opened(self) -> BinaryIO:
        opened = self._source.path_or_buffer()
        return opened if isinstance(opened, BytesIO) else opened.open("rb")

    def _check_names(self) -> None:
        escaping = [name for name in self._members if _escapes(name)]
        if escaping:
            raise self._source.error(
                f"members of the archive lead out of it: {named(escaping)}; it is not read"
            )

    def _check_sizes(self) -> None:
        total = sum(member.file_size for member in self._members.values())
        if total > max(_HARMLESS, _LARGEST_SWELLING * self._size):
            raise self._source.error(
                f"the archive of {self._size:,} bytes swells to {total:,}, more than "
                f"{_LARGEST_SWELLING} times its size; unpack it first if that is meant"
            )

    # -- one member

    def _inflated(self, member: zipfile.ZipInfo) -> bytes:
        """The content, and at most one byte more than the directory says there is."""
        packed = self._packed(member)
        limit = member.file_size + 1
        method = member.compress_type
        try:
            if method == _STORED:
                return packed
            if method == _DEFLATED:
                return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, limit)
            if method == _ZSTANDARD:
                return _from_zstd(packed, limit)
        except (zlib.error, EOFError, OSError, ValueError) as exc:
            raise self._fault(member.filename, f"is damaged ({exc}); copy it again") from exc
        raise self._fault(
            member.filename,
            f"is compressed by method {method}; stored, deflated and zstd members can be read",
        )

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        """The bytes of a member as they stand in the file."""
        try:
            with self._opened() as file:
                file.seek(member.header_offset)
                n_name, n_extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
                file.seek(n_name + n_extra, os.SEEK_CUR)
                return file.read(member.compress_size)
        except (struct.error, OSError, ValueError, OverflowError) as exc:
            raise self._fault(member.filename, "is cut off; copy the archive again") from exc

    def _fault(self, name: str, told: str) -> ReaderError:
        return self._source.error(f"the member {name!r} of the archive {told}")


def _escapes(name: str) -> bool:
    """Whether a member would land outside the folder that the archive is unpacked in."""
    plain = name.replace("\\", "/")
    return plain.startswith("/") or plain[1:2] == ":" or ".." in plain.split("/")


def _from_zstd(packed: bytes, limit: int) -> bytes:
    """The first bytes of one or several frames."""
    try:
        zstd = load(_ZSTD)
    except MissingDependencyError as exc:
        raise MissingDependencyError(_ZSTD, _ZSTD_EXTRA) from exc
    try:
        with zstd.ZstdFile(BytesIO(packed)) as file:
            return bytes(file.read(limit))
    except zstd.ZstdError as exc:
        raise ValueError(str(exc)) from exc
