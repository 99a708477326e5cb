"""Zip archives, read member by member; names that escape and zip bombs are refused."""

from __future__ import annotations

import sys
import zipfile
import zlib
from copy import copy
from io import BytesIO
from typing import Any

from rageval_report._registry import load
from rageval_report.errors import ReaderError, named
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json, replace_lone_surrogates

_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_ZSTANDARD = 93
# Python's own reader of zstd; below 3.14 its backport, which the extra installs.
_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"

# An archive that expands to more than 300 times its size is refused as a zip bomb: scores and logs
# compress 10 to 50 times, a bomb 1,000 times. Up to 256 MB it is harmless at any ratio.
_MAX_EXPANSION = 300
_HARMLESS = 1 << 28


def is_archive(source: Source) -> bool:
    """Whether a file starts with the signature of a zip archive."""
    return source.head.startswith(_MAGIC)


class Archive:
    r"""A zip archive; of two members with the same name the last counts."""

    def __init__(self, source: Source):
        self._source = source
        try:
            with zipfile.ZipFile(source.path_or_buffer()) as archive:
                self._members = {member.filename: member for member in archive.infolist()}
        except Exception as exc:  # on damaged archives Python raises nearly any error
            raise source.error(
                f"this zip archive cannot be opened; it may be cut: copy it again ({exc})"
            ) from exc
        escaping = [name for name in self._members if _escapes(name)]
        if escaping:
            raise source.error(
                f"the archive contains paths outside its root: {named(escaping)}; it is not read"
            )
        size = source.size if source.plain_path else len(source.data)
        total = sum(member.file_size for member in self._members.values())
        if total > max(_HARMLESS, _MAX_EXPANSION * size):
            raise source.error(
                f"the archive of {size:,} bytes expands to {total:,} bytes, more than "
                f"{_MAX_EXPANSION} times its size; unpack it first if this is intended"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members, without folders."""
        return tuple(name for name in self._members if not name.endswith("/"))

    def read(self, name: str) -> bytes:
        """The content of a member; an error if there is none, or it is damaged or encrypted."""
        if name not in self._members:
            raise self._source.error(f"the archive has no member {name!r}")
        member = self._members[name]
        zstd = load(_ZSTD) if member.compress_type == _ZSTANDARD else None
        try:
            with zipfile.ZipFile(self._source.path_or_buffer()) as archive:
                content = archive.read(name) if zstd is None else _unpack(zstd, archive, member)
        except Exception as exc:
            raise self._error(name, f"is damaged, or locked ({exc}); copy it again") from exc
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

    def _error(self, name: str, problem: str) -> ReaderError:
        return self._source.error(f"the member {name!r} of the archive {problem}")


def _escapes(name: str) -> bool:
    """Whether a member would be unpacked outside the target folder."""
    plain = name.replace("\\", "/")  # an archive made on Windows may have either
    return plain.startswith("/") or plain[1:2] == ":" or ".." in plain.split("/")


def _unpack(zstd: Any, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The content of a member of one or several frames of zstd."""
    packed = copy(member)
    # As if it were stored, so that Python returns the bytes as they are in the file.
    packed.compress_type, packed.file_size = zipfile.ZIP_STORED, member.compress_size
    del packed.CRC
    with archive.open(packed) as file, zstd.ZstdFile(BytesIO(file.read())) as frames:
        content: bytes = frames.read(member.file_size + 1)
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile("its size or its checksum is wrong")
    return content
