"""Zip archives, read member by member; names that escape and zip bombs are refused."""

from __future__ import annotations

import os
import struct
import sys
import zipfile
import zlib
from contextlib import AbstractContextManager
from io import BytesIO
from typing import Any, BinaryIO, Protocol, cast

from rageval_report._registry import load
from rageval_report.errors import MissingDependencyError, ReaderError, named
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json, replace_lone_surrogates

_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_ENCRYPTED = 0x1

# Python's own reader of zstd; below 3.14 its backport, which the extra installs.
_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_ZSTD_EXTRA = "inspect"

# An archive that expands to more than 300 times its size is refused as a zip bomb: scores and logs
# compress 10 to 50 times, a bomb 1,000 times. Up to 256 MB it is harmless at any ratio.
_MAX_EXPANSION = 300
_HARMLESS = 1 << 28

# The fixed part of a local header; it ends with the lengths of the file name and the extra field.
_LOCAL_HEADER = struct.Struct("<26xHH")

# What Python raises for a damaged directory of an archive.
_DAMAGE_ERRORS = (
    zipfile.BadZipFile,
    NotImplementedError,
    OSError,
    OverflowError,
    ValueError,
    struct.error,
)


class _Zstd(Protocol):
    """What is used of the module that reads zstd."""

    ZstdError: type[Exception]

    def ZstdFile(self, file: BytesIO) -> AbstractContextManager[BinaryIO]:  # noqa: N802
        """Open compressed bytes."""


def is_archive(source: Source) -> bool:
    """Whether a file starts with the signature of a zip archive."""
    return source.head.startswith(_MAGIC)


class Archive:
    r"""A zip archive whose members are stored, deflated, or compressed with zstd."""

    def __init__(self, source: Source):
        self._source = source
        self._size, self._members = self._read_directory()
        self._check_names()
        self._check_sizes()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members, in the order of the archive, without folders."""
        return tuple(name for name in self._members if not name.endswith("/"))

    def read(self, name: str) -> bytes:
        """The content of a member.

        Raises
        ------
        ReaderError
            If there is no such member, or it is encrypted, damaged, or compressed otherwise.
        MissingDependencyError
            If it is compressed with zstd, and no package that reads zstd is installed.
        """
        if name not in self._members:
            raise self._source.error(f"the archive has no member {name!r}")
        member = self._members[name]
        if member.flag_bits & _ENCRYPTED:
            raise self._error(
                name, "is encrypted; unpack the archive and pack it again without a password"
            )
        content = self._decompress(member)
        # Python's own check does not run here, because members are read by hand for zstd.
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise self._error(name, "is damaged; copy or download the archive again")
        return content

    def document(self, name: str) -> Any:
        """The JSON document in a member."""
        try:
            text, _ = replace_lone_surrogates(self.read(name).decode("utf-8-sig"))
            return parse_json(text)
        except UnicodeDecodeError as exc:
            raise self._error(name, "is not text in UTF-8") from exc
        except NotJSONError as exc:
            place = "" if exc.line is None else f", line {exc.line}"
            raise self._error(name, f"cannot be read{place}: {exc}") from exc

    # -- the directory

    def _read_directory(self) -> tuple[int, dict[str, zipfile.ZipInfo]]:
        """The size of the archive, and its members; of two with the same name the last counts."""
        try:
            with self._open() as file, zipfile.ZipFile(file) as archive:
                members = {member.filename: member for member in archive.infolist()}
                return file.seek(0, os.SEEK_END), members
        except _DAMAGE_ERRORS as exc:
            raise self._source.error(
                f"this zip archive cannot be opened; it may be cut: copy it again ({exc})"
            ) from exc

    def _open(self) -> BinaryIO:
        source = self._source.path_or_buffer()
        return source if isinstance(source, BytesIO) else source.open("rb")

    def _check_names(self) -> None:
        escaping = [name for name in self._members if _escapes(name)]
        if escaping:
            raise self._source.error(
                f"the archive contains paths outside its root: {named(escaping)}; it is not read"
            )

    def _check_sizes(self) -> None:
        total = sum(member.file_size for member in self._members.values())
        if total > max(_HARMLESS, _MAX_EXPANSION * self._size):
            raise self._source.error(
                f"the archive of {self._size:,} bytes expands to {total:,} bytes, more than "
                f"{_MAX_EXPANSION} times its size; unpack it first if this is intended"
            )

    # -- one member

    def _decompress(self, member: zipfile.ZipInfo) -> bytes:
        """The content of a member, at most one byte longer than the directory states."""
        packed = self._read_packed(member)
        limit = member.file_size + 1  # the byte too many shows that the stated size is wrong
        method = member.compress_type
        try:
            if method == _STORED:
                return packed
            if method == _DEFLATED:
                # Negative: zip members are raw deflate without a zlib header.
                return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, limit)
            if method == _ZSTANDARD:
                return _decompress_zstd(packed, limit)
        except (zlib.error, EOFError, OSError, ValueError) as exc:
            raise self._error(member.filename, f"is damaged ({exc}); copy it again") from exc
        raise self._error(
            member.filename,
            f"is compressed by method {method}; only stored, deflated and zstd members can be read",
        )

    def _read_packed(self, member: zipfile.ZipInfo) -> bytes:
        """The bytes of a member as they are in the file, still compressed."""
        try:
            with self._open() as file:
                file.seek(member.header_offset)
                # The local header's own lengths: they may differ from those in the directory.
                n_name, n_extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
                file.seek(n_name + n_extra, os.SEEK_CUR)
                return file.read(member.compress_size)
        except (struct.error, OSError, ValueError, OverflowError) as exc:
            raise self._error(member.filename, "is cut off; copy the archive again") from exc

    def _error(self, name: str, problem: str) -> ReaderError:
        return self._source.error(f"the member {name!r} of the archive {problem}")


def _escapes(name: str) -> bool:
    """Whether a member would be unpacked outside the target folder."""
    plain = name.replace("\\", "/")  # an archive made on Windows may have either
    return plain.startswith("/") or plain[1:2] == ":" or ".." in plain.split("/")


def _decompress_zstd(packed: bytes, limit: int) -> bytes:
    """Decompress the first `limit` bytes of one or several frames."""
    try:
        zstd = cast("_Zstd", load(_ZSTD))
    except MissingDependencyError as exc:
        raise MissingDependencyError(_ZSTD, _ZSTD_EXTRA) from exc
    try:
        with zstd.ZstdFile(BytesIO(packed)) as file:
            return file.read(limit)
    except zstd.ZstdError as exc:
        raise ValueError(str(exc)) from exc
