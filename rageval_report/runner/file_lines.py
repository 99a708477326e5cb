"""Read a file line by line, again and again, and notice if it changes in between."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from rageval_report.errors import ReaderError
from rageval_report.files.source import Source
from rageval_report.files.strict_json import replace_lone_surrogates

Version = tuple[int, int, int]


class LineByLine(Source):
    r"""A JSON Lines file of which only one line at a time is in memory.

    A file that is gzipped, or not UTF-8, is read whole, as by `Source`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "queries.jsonl"
    ...     _ = path.write_text('{"qid": "a"}\n{"qid": "b"}\n')
    ...     list(LineByLine(path).lines())
    ['{"qid": "a"}\n', '{"qid": "b"}\n']
    """

    @cached_property
    def _is_plain_utf8(self) -> bool:
        """Whether the file is UTF-8 without NUL characters, checked in steps."""
        if not self.is_text or self.encoding not in (None, "utf-8", "utf-8-sig"):
            return False
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            with self._path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    if "\x00" in decoder.decode(chunk):
                        return False
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        return True

    def _note_lone_surrogates(self, n_replaced: int) -> None:
        if n_replaced:
            self._notes.append(f"{n_replaced} half characters in the JSON are replaced by U+FFFD")

    def lines(self) -> Iterator[str]:
        """The lines, each ending in a line feed."""
        path = self.plain_path
        # A gzipped file or another encoding has to be read whole; only plain UTF-8 can be read by
        # the line.
        if path is None or not self._is_plain_utf8:
            yield from super().lines()
            return
        # utf-8-sig drops the byte-order mark that Windows programs write.
        with path.open(encoding="utf-8-sig", newline=None) as file:
            for line in file:
                yield replace_lone_surrogates(line)[0]


def version_of(path: Path) -> Version:
    """The inode, size and time of a file, which change when it is written or replaced.

    Raises
    ------
    ReaderError
        If the file does not exist.
    """
    try:
        status = path.stat()
    except OSError as exc:
        raise ReaderError(f"the file cannot be read: {exc.strerror or exc}", path) from exc
    # The inode notices a file that was replaced by one of the same size within the clock's
    # resolution.
    return status.st_ino, status.st_size, status.st_mtime_ns
