"""The bytes of a file of rankings: read at once, checked to be text, and cut at ends of lines."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import ReaderError
from rageval_report.files.inputs import Contents, FileInput, open_input, shorten_path
from rageval_report.types import WordArray

Bytes = NDArray[np.uint8]
Places = NDArray[np.integer]

WORD = 8

GZIP = b"\x1f\x8b"
# Five tools keep this mark in the first query's id and lose its first judgment without a word.
BOM = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Bytes below the tab appear in no text file; a wrong file, such as Parquet, has them early.
_CONTROL = re.compile(rb"[\x00-\x08]")
_NEWLINE = ord("\n")
# The limits of other gzip files, see `rageval_report.files.source`.
_MAX_EXPANSION = 300
_HARMLESS = 1 << 28
# One line of a terminal.
_SHOWN = 80

# Appended to the text, so that its last line ends, and eight bytes can be read from any place.
PADDING = b"\n" + bytes(WORD)

# Bytes worked on at a time: they stay in the processor's cache.
_CHUNK = 1 << 20

# Words cut out of one copy of the text around them.
_WORDS = 256

# The newline that ends a chunk is looked for in its last sixteenth.
_TAIL = 16

# By the length of a word: which of eight bytes belong to it.
_KEPT = np.array([(1 << 8 * n) - 1 for n in range(WORD + 1)], np.uint64)


@dataclass(frozen=True, eq=False)
class Text:
    """The text of a file.

    Parameters
    ----------
    path : str
        The file, for messages.
    data : ndarray of uint8
        Its bytes, UTF-8 without a byte-order mark, and the padding.
    end : int
        Where the text ends, including its last newline, which may come from the padding.
    """

    path: str
    data: Bytes
    end: int

    def chunks(self, start: int) -> Iterator[tuple[int, int]]:
        """The pieces of the text from `start` on, each of whole lines."""
        width = _CHUNK
        while start < self.end:
            stop = min(start + width, self.end)
            tail = max(start, stop - width // _TAIL - 1)
            # Only the tail is copied for rfind: lines are far shorter than a sixteenth of a chunk.
            cut = tail + self.data[tail:stop].tobytes().rfind(b"\n") + 1
            if cut == tail:  # no newline: the line is longer
                width *= 2
                continue
            yield start, cut
            start, width = cut, _CHUNK

    def n_lines(self, start: int) -> int:
        """How many lines there are from `start` on."""
        chunks = (self.data[first:end] for first, end in self.chunks(start))
        return sum(int(np.count_nonzero(chunk == _NEWLINE)) for chunk in chunks)

    def line_at(self, start: int) -> bytes:
        """The line that starts at a place, including its newline."""
        width = _SHOWN
        while start + width < self.end and not (self.data[start : start + width] == _NEWLINE).any():
            width *= 2
        line, newline, _ = self.data[start : start + width].tobytes().partition(b"\n")
        return line + newline

    def words(self, starts: Places, lengths: Places) -> list[bytes]:
        """The bytes of words."""
        words: list[bytes] = []
        for first in range(0, len(starts), _WORDS):
            base = int(starts[first : first + _WORDS].min())
            places = starts[first : first + _WORDS].astype(np.int64) - base
            ends = places + lengths[first : first + _WORDS]
            near = self.data[base : base + int(ends.max())].tobytes()
            words += [
                near[place:end] for place, end in zip(places.tolist(), ends.tolist(), strict=True)
            ]
        return words

    def eights(self, starts: Places, lengths: Places, *, after: int = 0) -> Iterator[WordArray]:
        """Words, eight bytes at a time, the first byte lowest; a shorter word ends in zeros.

        The first `after` bytes, a multiple of eight, are skipped.
        """
        every_eight = self.every_eight()
        shortest, longest = (int(lengths.min()), int(lengths.max())) if len(lengths) else (0, 0)
        for done in range(after, max(longest, 1), WORD):
            ahead = done if shortest >= done else (lengths > done) * np.int64(done)
            eight = every_eight[starts + ahead] if done else every_eight[starts]
            if shortest == longest:
                yield eight & _KEPT[min(longest - done, WORD)]
            else:
                yield eight & _KEPT.take(lengths.astype(np.int64) - done, mode="clip")

    @property
    def kind_of_place(self) -> type[np.integer]:
        """The smaller of two integer types that can hold every place."""
        # Half the memory per row for every file below 4 GB.
        return np.uint32 if len(self.data) < 1 << 32 else np.int64

    def every_eight(self) -> WordArray:
        """The eight bytes from each place on, as one number; a view, not a copy."""
        return np.ndarray(len(self.data) - WORD + 1, "<u8", self.data, strides=(1,))

    def error(self, place: int, message: str, advice: str = "") -> ReaderError:
        """The error that names and quotes the line of a byte, and says what to do."""
        before = self.data[:place].tobytes()
        start = before.rfind(b"\n") + 1
        shown = self.data[start : self.end].tobytes().partition(b"\n")[0].decode().rstrip("\r")
        shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
        shown = f"{shown!r}. {advice}" if advice else repr(shown)
        return ReaderError(f"{message}, in {shown}", self.path, 1 + before.count(b"\n"))

    def line(self, place: int) -> int:
        """The number, from 1, of the line of a byte."""
        return 1 + int(np.count_nonzero(self.data[:place] == _NEWLINE))


def read_text(path: FileInput | Contents) -> Text:
    r"""The text of a file, plain or gzipped.

    Raises
    ------
    ReaderError
        If the file does not exist, is damaged, or is not text in UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.txt"
    ...     _ = path.write_bytes(b"\xef\xbb\xbfq1 Q0 d7 1 0.9 bm25")
    ...     text = read_text(path)
    >>> text.data[:2].tobytes(), text.end  # the last line got its newline
    (b'q1', 20)
    """
    opened = path if isinstance(path, Contents) else open_input(path)
    name = opened.name if isinstance(opened, Contents) else shorten_path(str(opened))
    try:
        data = _padded_bytes(opened)
    except _ExpansionError as exc:
        raise ReaderError(str(exc), name) from exc
    except FileNotFoundError as exc:
        raise ReaderError("the file does not exist", name) from exc
    except (EOFError, zlib.error, gzip.BadGzipFile) as exc:
        message = f"the gzip file is damaged ({exc}); copy or download it again"
        raise ReaderError(message, name) from exc
    except (OSError, UnicodeEncodeError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise ReaderError(f"the file cannot be read: {reason}", name) from exc
    return _text(name, data)


def text_of(name: str, utf8: bytes) -> Text:
    r"""The text of bytes that were read elsewhere, such as from standard input.

    Parameters
    ----------
    name : str
        The name of their source, for messages.
    utf8 : bytes
        The whole content.

    Examples
    --------
    >>> text_of("standard input", b"q1 Q0 d7 1 0.9 bm25\n").end
    20
    """
    return _text(name, np.frombuffer(utf8 + PADDING, np.uint8))


def _text(name: str, data: Bytes) -> Text:
    """The text of padded bytes, which must be UTF-8."""
    head = data[: len(BOM)].tobytes()
    # Windows' Notepad and PowerShell save UTF-16; its zero bytes would only give a riddle as an
    # error.
    if head.startswith(_WIDE_MARKS):
        raise ReaderError("expected UTF-8; got UTF-16: save the file as UTF-8", name)
    if head == BOM:
        data = data[len(BOM) :]
    end = len(data) - len(PADDING)
    text = Text(name, data, end + int(end > 0 and data[end - 1] != _NEWLINE))
    refuse_other_bytes(text)
    return text


class _ExpansionError(Exception):
    """A gzip file expands too much."""


def _padded_bytes(opened: Path | Contents) -> Bytes:
    """The bytes of a file and the padding, without a second copy if the file is plain."""
    if isinstance(opened, Contents):
        return np.frombuffer(_unpack(opened.data) + PADDING, np.uint8)
    with opened.open("rb") as file:
        size = os.fstat(file.fileno()).st_size  # 0 for a pipe
        data = np.empty(size + len(PADDING), np.uint8)
        # Read straight into the padded array: bytes plus padding would hold the file twice.
        n_read = file.readinto(data[:size].data)
        rest = file.read()
    if rest or n_read < size or data[: len(GZIP)].tobytes() == GZIP:
        whole = data[:n_read].tobytes() + rest
        return np.frombuffer(_unpack(whole) + PADDING, np.uint8)
    data[size:] = np.frombuffer(PADDING, np.uint8)
    return data


def _unpack(content: bytes) -> bytes:
    """The content, unpacked if it is gzipped."""
    if not content.startswith(GZIP):
        return content
    limit = max(_HARMLESS, _MAX_EXPANSION * len(content))
    with gzip.GzipFile(fileobj=BytesIO(content)) as file:
        # One byte more than allowed shows that there is more, without reading it.
        unpacked = file.read(limit + 1)
    if len(unpacked) > limit:
        raise _ExpansionError(
            f"the gzip file expands to more than {_MAX_EXPANSION} times its size; unpack it first "
            "if this is intended"
        )
    return unpacked


def refuse_other_bytes(text: Text) -> None:
    """Raise an error if the text has control characters or is not UTF-8."""
    for start, end in text.chunks(0):
        chunk = text.data[start:end]
        if chunk.min() < ord("\t"):
            control = _CONTROL.search(chunk.tobytes())
            place = start + (control.start() if control else 0)
            message = f"expected text; got the byte {text.data[place : place + 1].tobytes()!r}"
            raise ReaderError(message, text.path, text.line(place))
        # ASCII is UTF-8, and finding the largest byte is much faster than decoding.
        if chunk.max() < 0x80:
            continue
        try:
            chunk.tobytes().decode("utf-8")
        except UnicodeDecodeError as exc:
            line = text.line(start + exc.start)
            raise ReaderError(
                f"expected UTF-8; {exc.reason}. Convert the file, for example with iconv -f cp1252 "
                "-t utf-8",
                text.path,
                line,
            ) from exc
