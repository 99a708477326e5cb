"""Read a file line by line, again and again, and notice if it changes in between."""

from __future__ import annotations

from collections.abc import Iterator
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
