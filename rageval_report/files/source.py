"""A file, or standard input, as bytes, as text, or as a JSON document, each computed on demand."""

from __future__ import annotations

import contextlib
import difflib
import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from io import BytesIO, StringIO
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from rageval_report.errors import ReaderError
from rageval_report.files import strict_json
from rageval_report.files.encoding import (
    NotTextError,
    binary_kind,
    decode_text,
    head_text,
    text_kind,
)
from rageval_report.files.inputs import STANDARD_INPUT, Contents, FileInput, input_name, open_input
from rageval_report.files.strict_json import NotJSONError, parse_record

Finding = TypeVar("Finding")

_GZIP = b"\x1f\x8b"
_HEAD = 1 << 16

# Of a file of at least 32 MB the first lines show the format.
LARGE = 1 << 25

# A gzip file that expands to more than 300 times its size is refused as a decompression bomb:
# tables compress 10 to 50 times, a bomb 1,000 times. Up to 256 MB it is harmless at any ratio.
_MAX_EXPANSION = 300
_HARMLESS = 1 << 28


class Source:
    r"""The content of a file, unpacked if it is gzipped, in any encoding.

    Parameters
    ----------
    path : str, PathLike, bytes, bytearray, memoryview, or open file
        The path of the file, where "-" is standard input; or its contents; or an open file, which
        is read once, from its position to its end.
    encoding : str, optional
        The encoding of its text; recognised if omitted.

    Raises
    ------
    ReaderError
        If the file does not exist, is a folder, is empty, or cannot be read.
    ArgumentKindError
        If `path` is none of these.
    DataError
        If a text cannot be a path, or an open file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.csv"
    ...     _ = path.write_text("query_id,recall\nq1,0.5\n")
    ...     Source(path).stem, Source(path).text.splitlines()
    ('run', ['query_id,recall', 'q1,0.5'])
    >>> source = Source(b'{"recall": 0.5}')
    >>> source.text, source.utf8, source.data, source.head, source.size, source.is_text
    ('{"recall": 0.5}', b'{"recall": 0.5}', b'{"recall": 0.5}', b'{"recall": 0.5}', 15, True)
    >>> source.starts_like_json, source.json_text, source.document, source.document_or_none()
    (True, '{"recall": 0.5}', {'recall': 0.5}, {'recall': 0.5})
    >>> source.path, source.plain_path, source.folder, source.notes, source.looks_like
    (None, None, None, (), 'JSON')
    >>> source.sample == source.data, list(source.lines()), source.line_of(3)
    (True, ['{"recall": 0.5}'], 1)
    >>> type(source.path_or_buffer()).__name__, str(source.error("no ids", line=1))
    ('BytesIO', '<bytes>, line 1: no ids')
    """

    _contents: Contents | None
    _notes: list[str]
    _findings: dict[Callable[[Source], Any], Any]

    def __init__(self, path: FileInput, *, encoding: str | None = None):
        self.is_standard_input = isinstance(path, str | Path) and str(path) == STANDARD_INPUT
        opened = Path(STANDARD_INPUT) if self.is_standard_input else open_input(path)
        if isinstance(opened, Contents):
            self._set_contents(opened, encoding)
        else:
            self._contents = None
            self._path, self.name, self.encoding = opened, input_name(path), encoding
            self._notes, self._findings = [], {}
        if not self._raw_head:
            is_read = self._contents is not None and not self._contents.name.startswith("<byte")
            hint = "; if it was read before, go back to its start: seek(0)" if is_read else ""
            raise self.error(f"the file is empty{hint}")

    def _set_contents(self, contents: Contents, encoding: str | None = None) -> None:
        """Set all fields of a source without a path."""
        self.is_standard_input = False
        self._contents = contents
        self._path, self.name = Path(), contents.name
        # Text that the caller has decoded is UTF-8 here, whatever its file was.
        self.encoding = "utf-8" if contents.is_text else encoding
        self._notes, self._findings = [], {}

    def once(self, look: Callable[[Source], Finding]) -> Finding:
        """What a function finds in this source, computed once."""
        if look not in self._findings:
            self._findings[look] = look(self)
        finding: Finding = self._findings[look]
        return finding

    def error(self, message: str, line: int | None = None) -> ReaderError:
        """An error with the file's name and the line in front of the message."""
        return ReaderError(message, path=self.name, line=line)

    @property
    def stem(self) -> str:
        """The file's name without folder and suffix; names the pipeline if nothing else does."""
        if self.is_standard_input:
            return "stdin"
        if self._contents is not None:
            return self._contents.stem
        name = self._path.name
        # scores.csv.gz is "scores", not "scores.csv".
        return Path(name[:-3] if name.lower().endswith(".gz") else name).stem

    # -- bytes

    @property
    def plain_path(self) -> Path | None:
        """The path, for callers that open the file; None if it is gzipped or has no path."""
        return None if self._is_gzipped else self.path

    @property
    def folder(self) -> Path | None:
        """The folder of the file; None for standard input and contents without a path."""
        return None if self.path is None else self.path.parent

    @property
    def path(self) -> Path | None:
        """The path of the file; None for standard input and contents without a path."""
        return None if self.is_standard_input or self._contents is not None else self._path

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the content."""
        if not self._is_gzipped:
            return self._raw_head
        try:
            # 31: gzip's header, the largest window. A cut stream is fine here, gzip.GzipFile would
            # raise.
            return zlib.decompressobj(wbits=31).decompress(self._raw_head, _HEAD)
        except zlib.error as exc:
            raise self._damage_error(exc) from exc

    @cached_property
    def data(self) -> bytes:
        """The whole content, in memory."""
        raw = self._read_from_disk() if self.path else self._raw_contents
        return self._unzip(raw) if self._is_gzipped else raw

    def path_or_buffer(self) -> Path | BytesIO:
        """The content in a form in which a library can seek."""
        return self.plain_path or BytesIO(self.data)

    @cached_property
    def _raw_head(self) -> bytes:
        return self._read_head() if self.path else self._raw_contents[:_HEAD]

    @cached_property
    def _raw_contents(self) -> bytes:
        return sys.stdin.buffer.read() if self._contents is None else self._contents.data

    @property
    def _is_gzipped(self) -> bool:
        return self._raw_head.startswith(_GZIP)

    def _read_head(self) -> bytes:
        try:
            if self._path.is_dir():
                raise self.error("expected a file; this is a folder: give the path of a file in it")
            with self._path.open("rb") as file:
                return file.read(_HEAD)
        except (OSError, UnicodeEncodeError) as exc:
            raise self._access_error(exc) from exc

    def _read_from_disk(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as exc:
            raise self._access_error(exc) from exc

    def _access_error(self, exc: OSError | UnicodeEncodeError) -> ReaderError:
        if isinstance(exc, FileNotFoundError):
            return self.error(f"there is no such file{hint_for_missing(self._path)}")
        return self.error(f"the file cannot be read: {getattr(exc, 'strerror', exc)}")

    def _unzip(self, raw: bytes) -> bytes:
        limit = max(_HARMLESS, _MAX_EXPANSION * len(raw))
        try:
            with gzip.GzipFile(fileobj=BytesIO(raw)) as file:
                # One byte more than allowed shows that there is more, without reading it.
                content = file.read(limit + 1)
        except EOFError as exc:
            raise self.error("the gzip file is cut; copy or download it again") from exc
        except (OSError, zlib.error) as exc:
            raise self._damage_error(exc) from exc
        if len(content) > limit:
            raise self.error(
                f"the gzip file expands to more than {_MAX_EXPANSION} times its size; "
                "unpack it first if this is intended"
            )
        if not content:
            raise self.error("the file is empty")
        return content

    def _damage_error(self, exc: Exception) -> ReaderError:
        return self.error(f"the gzip file is damaged ({exc}); copy or download it again")

    # -- text

    @cached_property
    def is_text(self) -> bool:
        """Whether the first bytes can be text."""
        return binary_kind(self.head, self.encoding) is None

    @property
    def looks_like(self) -> str:
        """What the content looks like, for an error message."""
        return binary_kind(self.head, self.encoding) or text_kind(self.head)

    @cached_property
    def utf8(self) -> bytes:
        """The content as UTF-8 without a byte order mark; `data` itself if it is that already."""
        if not self.is_text:
            raise self.error(f"expected text; this looks like {self.looks_like}")
        try:
            decoded = decode_text(self.data, self.encoding)
        except NotTextError as exc:
            raise self.error(str(exc), line=exc.line) from exc
        if decoded.note is not None:
            self._notes.append(decoded.note)
        return decoded.utf8

    @cached_property
    def sample(self) -> bytes:
        """As `utf8`, but only the first lines of a large file: enough to recognise its format."""
        end = self.head.rfind(b"\n") + 1 if self.size > LARGE and self.head.isascii() else 0
        return self.head[:end] or self.utf8

    @cached_property
    def text(self) -> str:
        """The content as text, line ends unchanged."""
        return self.utf8.decode("utf-8")

    def lines(self) -> Iterator[str]:
        """The lines of a JSON text, each ending in a line feed."""
        return iter(StringIO(self.json_text, newline=None))

    @cached_property
    def size(self) -> int:
        """The size in bytes of the file on the disk, or of the contents."""
        if self.path is None:
            return len(self._raw_contents)
        return self.path.stat().st_size

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed or corrected in the text so far."""
        return tuple(self._notes)

    def line_of(self, offset: int, text: bytes | None = None) -> int:
        """The line, counted from 1, of a byte in `utf8`, or in another text with its lines."""
        if not offset:  # of most headers, for which a large file need not be read
            return 1
        before = (self.utf8 if text is None else text)[:offset]
        # A lone carriage return ends a line too.
        return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")

    # -- JSON

    @cached_property
    def starts_like_json(self) -> bool:
        """Whether the text starts with a JSON object or array."""
        return self.is_text and strict_json.starts_like_json(head_text(self.head))

    @cached_property
    def json_text(self) -> str:
        """The text, with lone surrogates in its escapes replaced."""
        text, n_replaced = strict_json.replace_lone_surrogates(self.text)
        if n_replaced:
            self._notes.append(f"{n_replaced} half characters in the JSON are replaced by U+FFFD")
        return text

    @cached_property
    def document(self) -> Any:
        """The content as one JSON document."""
        try:
            return strict_json.parse_json(self.json_text)
        except strict_json.NotJSONError as exc:
            raise self.error(str(exc), line=exc.line) from exc

    def document_or_none(self) -> Any:
        """The JSON document; None if the content is not one."""
        return self.once(_document_or_none)


def _document_or_none(source: Source) -> Any:
    try:
        return source.document if source.starts_like_json else None
    except ReaderError:
        return None


# -- JSON Lines

_LONGEST_QUOTE = 60


def json_objects(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""The objects of a JSON Lines file, with their line numbers; blank lines are passed over."""
    for number, line in enumerate(source.lines(), 1):
        if line.isspace():
            continue
        try:
            document = parse_record(line)
        except NotJSONError as exc:
            cut = (
                f"the record is cut: {line[:_LONGEST_QUOTE]!r}. Write the file again, or delete "
                "this line to read the others"
            )
            raise source.error(cut if exc.is_cut else str(exc), line=number) from exc
        if not isinstance(document, dict):
            quoted = line.strip()[:_LONGEST_QUOTE]
            message = f"expected one JSON object per line; got {quoted!r}"
            raise source.error(message, line=number)
        yield number, document


# -- the name that was meant, where a file does not exist

_MOST_NAMES = 5000  # of a folder; comparing more would be slow


def hint_for_missing(path: Path) -> str:
    """What to add to the error about a file that does not exist."""
    with contextlib.suppress(OSError, ValueError):
        if not path.parent.is_dir():
            return f". The folder {path.parent} does not exist either"
        by_stem = {_stem(other): other for other in islice(path.parent.iterdir(), _MOST_NAMES)}
        near = difflib.get_close_matches(_stem(path), by_stem, n=1, cutoff=0.65)
        if near:
            return f". Did you mean {str(by_stem[near[0]])!r}?"
    return ""


def _stem(path: Path) -> str:
    return path.name.lower().partition(".")[0] or path.name.lower()
