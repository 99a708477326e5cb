"""Marks in files that say who wrote them, so that the next run may replace its own output.

A mark has a checksum of the rest of the file. A file that was edited, or that only quotes a marked
one, does not pass for our own. Formats that hold nothing but values (CSV, TSV) cannot carry a mark.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rageval_report._version import __version__

_NAME = b"rageval-report"
_HASH_DIGITS = 16
_TOKEN = re.escape(_NAME) + rb" [0-9][0-9A-Za-z.+]{0,40} ([0-9a-f]{16})"
_LARGEST = 256 << 20  # bytes; nothing that carries a mark is larger
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_END = 12  # bytes of the chunk IEND, the last one


@dataclass(frozen=True)
class _Style:
    """How a format carries a mark.

    Parameters
    ----------
    place : callable
        Given the content, the position of the mark in it; None if there is none.
    before, after : bytes
        What stands around the name, the version and the checksum.
    """

    place: Callable[[bytes], int | None]
    before: bytes
    after: bytes

    def write(self, token: bytes) -> bytes:
        """The whole mark."""
        return self.before + token + self.after

    def marks_in(self, content: bytes) -> Iterator[re.Match[bytes]]:
        """What looks like a mark of this style."""
        pattern = re.escape(self.before) + _TOKEN + re.escape(self.after)
        return re.finditer(pattern, content)


class _PngStyle(_Style):
    """A text chunk of PNG, which has its length before and a checksum of its own behind."""

    def write(self, token: bytes) -> bytes:
        data = self.before + token
        length = len(data) - len(b"tEXt")
        return length.to_bytes(4, "big") + data + zlib.crc32(data).to_bytes(4, "big")

    def marks_in(self, content: bytes) -> Iterator[re.Match[bytes]]:
        return re.finditer(rb"(?s:....)" + re.escape(self.before) + _TOKEN + rb"(?s:....)", content)


def _at_end(content: bytes) -> int:
    return len(content)


def _in_first_object(content: bytes) -> int | None:
    """The place after the first brace of JSON, if its object has members."""
    opening = re.match(rb"\s*(?:\[\s*)?\{(?=\s*\")", content)
    return None if opening is None else opening.end()


def _before_end_of_png(content: bytes) -> int | None:
    return len(content) - _PNG_END if content.startswith(_PNG_SIGNATURE) else None


_COMMENT = _Style(_at_end, b"<!-- ", b" -->\n")
_PERCENT = _Style(_at_end, b"% ", b"\n")
# By the names of `rageval_report.render.RENDERERS`, and the suffixes of pictures.
_STYLES: dict[str, _Style] = {
    "html": _COMMENT,
    "json": _Style(_in_first_object, b'\n  "generator": "', b'",'),
    "junit": _COMMENT,
    "latex": _PERCENT,
    "markdown": _COMMENT,
    "text": _Style(_at_end, b"\nWritten by ", b"\n"),
    ".pdf": _PERCENT,
    ".png": _PngStyle(_before_end_of_png, b"tEXtSoftware\0", b""),
    ".svg": _COMMENT,
}


def can_be_marked(kind: str) -> bool:
    """Whether files of a format carry a mark.

    Parameters
    ----------
    kind : str
        A name of `rageval_report.render.RENDERERS`, or the suffix of a picture.

    Examples
    --------
    >>> can_be_marked("html"), can_be_marked(".png"), can_be_marked("csv")
    (True, True, False)
    """
    return kind in _STYLES


def marked(content: bytes, kind: str) -> bytes:
    """The content of a file with a mark that says who wrote it.

    Parameters
    ----------
    content : bytes
        The whole file.
    kind : str
        As for `can_be_marked`; the content of other formats is returned as it is.

    Examples
    --------
    >>> page = marked(b"# Means", "markdown")
    >>> page.startswith(b"# Means"), is_marked(page), is_marked(page + b"more")
    (True, True, False)
    """
    style = _STYLES.get(kind)
    place = None if style is None else style.place(content)
    if style is None or place is None:
        return content
    token = b"%s %s %s" % (_NAME, __version__.encode(), _checksum(content))
    return content[:place] + style.write(token) + content[place:]


def is_marked(content: bytes) -> bool:
    """Whether a file has a mark, and is as it was when it was marked.

    Parameters
    ----------
    content : bytes
        The whole file, of any format.
    """
    return unmarked(content) != content


def unmarked(content: bytes) -> bytes:
    """The content of a file as it was before it was marked.

    Parameters
    ----------
    content : bytes
        The whole file, of any format; it is returned as it is if it has no mark, or was changed.

    Examples
    --------
    >>> unmarked(marked(b"# Means", "markdown"))
    b'# Means'
    """
    for style in set(_STYLES.values()):
        marks = list(style.marks_in(content))
        # Texts in a file may quote other marks; its own is the first or the last.
        for mark in (*marks[:1], *marks[1:][-1:]):
            rest = content[: mark.start()] + content[mark.end() :]
            if _checksum(rest) == mark[1]:
                return rest
    return content


def is_own_file(path: str | Path) -> bool:
    """Whether a file is one that this library wrote and marked, and that nobody changed.

    Parameters
    ----------
    path : str or Path
        A file; False if there is none, or if it cannot be read.
    """
    try:
        if not Path(path).is_file() or Path(path).stat().st_size > _LARGEST:
            return False
        return is_marked(Path(path).read_bytes())
    except OSError:
        return False


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest()[:_HASH_DIGITS].encode()
