"""A file, or standard input, as bytes, as text, or as a JSON document, each made when asked for."""

from __future__ import annotations

import codecs
import gzip
import sys
import zlib
from collections.abc import Iterator
from functools import cached_property
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from rageval_report.errors import ReaderError
from rageval_report.files import strict_json
from rageval_report.files.encoding import (
    NotTextError,
    binary_kind,
    decode_text,
    head_text,
    text_kind,
)

STANDARD_INPUT = "-"

_GZIP = b"\x1f\x8b"
_HEAD = 1 << 16
_STEP = 1 << 20

# From this size on, what can be read in parts is, and shows how far it is.
LARGE = 1 << 25

# A file that swells more than this, beyond a size that is harmless anyway, is a bomb, not scores.
_LARGEST_SWELLING = 300
_HARMLESS = 1 << 28


class Source:
    r"""What a reader reads: the content of a file, without gzip, in any encoding.

    Parameters
    ----------
    path : str or Path
        The file; "-" is standard input.
    encoding : str, optional
        The encoding of its text; recognised where not given.

    Raises
    ------
    ReaderError
        If there is no such file, or it is a folder, empty, or may not be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.csv"
    ...     _ = path.write_text("query_id,recall\nq1,0.5\n")
    ...     Source(path).stem, Source(path).text.splitlines()
    ('run', ['query_id,recall', 'q1,0.5'])
    """

    def __init__(self, path: str | Path, *, encoding: str | None = None):
        self.is_standard_input = str(path) == STANDARD_INPUT
        self.name = "standard input" if self.is_standard_input else str(path)
        self.encoding = encoding
        self._path = Path(path)
        self._notes: list[str] = []
        if not self._raw_head:
            raise self.error("the file is empty")

    def error(self, message: str, line: int | None = None) -> ReaderError:
        """The error to raise: the message with the file's name and the line."""
        return ReaderError(message, path=self.name, line=line)

    @property
    def stem(self) -> str:
        """The file's name without folder and suffixes: the pipeline's, if nothing else names it."""
        if self.is_standard_input:
            return "stdin"
        name = self._path.name
        return Path(name[:-3] if name.lower().endswith(".gz") else name).stem

    # -- bytes

    @property
    def plain_path(self) -> Path | None:
        """The file, for who opens it himself; None where it is gzipped or standard input."""
        return None if self.is_standard_input or self._is_gzipped else self._path

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the content."""
        if not self._is_gzipped:
            return self._raw_head
        try:
            return zlib.decompressobj(wbits=31).decompress(self._raw_head, _HEAD)
        except zlib.error as exc:
            raise self._damaged(exc) from exc

    @cached_property
    def data(self) -> bytes:
        """The whole content, held in memory."""
        raw = self._raw_standard_input if self.is_standard_input else self._read_from_disk()
        return self._unzipped(raw) if self._is_gzipped else raw

    def path_or_buffer(self) -> Path | BytesIO:
        """The content for a library that wants to seek in it."""
        return self.plain_path or BytesIO(self.data)

    @cached_property
    def _raw_head(self) -> bytes:
        return self._raw_standard_input[:_HEAD] if self.is_standard_input else self._peeked()

    @cached_property
    def _raw_standard_input(self) -> bytes:
        return sys.stdin.buffer.read()

    @property
    def _is_gzipped(self) -> bool:
        return self._raw_head.startswith(_GZIP)

    def _peeked(self) -> bytes:
        if self._path.is_dir():
            raise self.error("expected a file; this is a folder: name a file in it")
        try:
            with self._path.open("rb") as file:
                return file.read(_HEAD)
        except OSError as exc:
            raise self._unreadable(exc) from exc

    def _read_from_disk(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as exc:
            raise self._unreadable(exc) from exc

    def _unreadable(self, exc: OSError) -> ReaderError:
        if isinstance(exc, FileNotFoundError):
            return self.error("there is no such file")
        return self.error(f"the file cannot be read: {exc.strerror or exc}")

    def _unzipped(self, raw: bytes) -> bytes:
        limit = max(_HARMLESS, _LARGEST_SWELLING * len(raw))
        try:
            with gzip.GzipFile(fileobj=BytesIO(raw)) as file:
                content = file.read(limit + 1)
        except EOFError as exc:
            raise self.error("the gzip file ends in the middle; copy or download it again") from exc
        except (OSError, zlib.error) as exc:
            raise self._damaged(exc) from exc
        if len(content) > limit:
            raise self.error(
                f"the gzip file swells to more than {_LARGEST_SWELLING} times its size; "
                "unpack it first if that is meant"
            )
        if not content:
            raise self.error("the file is empty")
        return content

    def _damaged(self, exc: Exception) -> ReaderError:
        return self.error(f"the gzip file is damaged ({exc}); copy or download it again")

    # -- text

    @cached_property
    def is_text(self) -> bool:
        """Whether the first bytes may be text at all."""
        return binary_kind(self.head, self.encoding) is None

    @property
    def looks_like(self) -> str:
        """What the content seems to be, for an error message."""
        return binary_kind(self.head, self.encoding) or text_kind(self.head)

    @cached_property
    def utf8(self) -> bytes:
        """The content as UTF-8 without a byte order mark; the very bytes of `data` where it is."""
        if not self.is_text:
            raise self.error(f"expected text; this looks like {self.looks_like}")
        try:
            found = decode_text(self.data, self.encoding)
        except NotTextError as exc:
            raise self.error(str(exc), line=exc.line) from exc
        if found.note is not None:
            self._notes.append(found.note)
        return found.utf8

    @cached_property
    def sample(self) -> bytes:
        """As `utf8`, but of a large file only the first lines: enough to tell its format."""
        if self.size < LARGE or self.encoding is not None or not self.is_text:
            return self.utf8
        lines, end, _ = head_text(self.head).rpartition("\n")
        return (lines + end).encode("utf-8", "surrogatepass") if end else self.utf8

    @cached_property
    def text(self) -> str:
        """The content as text, line ends as they are."""
        return self.utf8.decode("utf-8")

    def lines(self) -> Iterator[str]:
        """The lines of a JSON text one by one, their ends as line feeds; no large file is held.

        A file that is not UTF-8 is read whole, because its encoding is told by all of it.
        """
        if self.plain_path is None or self.size < LARGE or not self._is_plain_utf8:
            yield from StringIO(self.json_text, newline=None)
            return
        n_mended = 0
        with self._path.open(encoding="utf-8-sig", newline=None) as file:
            for line in file:
                mended, n = strict_json.replace_lone_surrogates(line)
                n_mended += n
                yield mended
        self._note_half_characters(n_mended)

    @cached_property
    def size(self) -> int:
        """The bytes of the file as it lies on the disk; those of standard input."""
        if self.is_standard_input:
            return len(self._raw_standard_input)
        return self._path.stat().st_size

    @cached_property
    def _is_plain_utf8(self) -> bool:
        """Whether the file is UTF-8 without NUL, looked at in steps."""
        if not self.is_text or self.encoding not in (None, "utf-8", "utf-8-sig"):
            return False
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            with self._path.open("rb") as file:
                while chunk := file.read(_STEP):
                    if "\x00" in decoder.decode(chunk):
                        return False
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        return True

    def _note_half_characters(self, n_mended: int) -> None:
        if n_mended:
            self._notes.append(f"{n_mended} half characters in the JSON are shown as U+FFFD")

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed or mended in the text that was asked for."""
        return tuple(self._notes)

    def line_of(self, offset: int) -> int:
        """The line, counted from 1, of a byte of `utf8`; a lone carriage return ends one too."""
        before = self.utf8[:offset]
        return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")

    # -- JSON

    @cached_property
    def starts_like_json(self) -> bool:
        """Whether the text opens with a JSON object or array."""
        return self.is_text and strict_json.starts_like_json(head_text(self.head))

    @cached_property
    def json_text(self) -> str:
        """The text, with whole characters in its escapes."""
        text, n_mended = strict_json.replace_lone_surrogates(self.text)
        self._note_half_characters(n_mended)
        return text

    @cached_property
    def document(self) -> Any:
        """The content as one JSON document.

        Raises
        ------
        ReaderError
            If it is none: the line, and whether the file ends in the middle.
        """
        try:
            return strict_json.parse_json(self.json_text)
        except strict_json.NotJSONError as exc:
            raise self.error(str(exc), line=exc.line) from exc

    def document_or_none(self) -> Any:
        """The JSON document; None where the content is none."""
        return self._document_or_none

    @cached_property
    def _document_or_none(self) -> Any:
        if not self.starts_like_json or self._is_large_file_of_lines:
            return None
        try:
            return self.document
        except ReaderError:
            return None

    @cached_property
    def _is_large_file_of_lines(self) -> bool:
        """Whether the first line is a document by itself, so that the large rest need not be read.

        A line longer than the head says nothing.
        """
        first, end, rest = head_text(self.head).partition("\n")
        if self.size < LARGE or not (end and rest.strip()):
            return False
        try:
            strict_json.parse_json(first)
        except strict_json.NotJSONError:
            return False
        return True
