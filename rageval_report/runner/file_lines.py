"""A file that is gone through often and never held: its lines, and whether it is still the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rageval_report.errors import ReaderError
from rageval_report.files.source import Source
from rageval_report.files.strict_json import replace_lone_surrogates

Version = tuple[int, int, int]


class LineByLine(Source):
    r"""A file of JSON Lines of which no more than a line is held, however small it is.

    One that is gzipped, or not UTF-8, is read whole, as by `Source`.

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
        """The lines, their ends as line feeds."""
        path = self.plain_path
        if path is None or not self._is_plain_utf8:
            yield from super().lines()
            return
        with path.open(encoding="utf-8-sig", newline=None) as file:
            for line in file:
                yield replace_lone_surrogates(line)[0]


def version_of(path: Path) -> Version:
    """What changes when a file is written or replaced: its number, size and time.

    Raises
    ------
    ReaderError
        If there is no such file.
    """
    try:
        found = path.stat()
    except OSError as exc:
        raise ReaderError(f"the file cannot be read: {exc.strerror or exc}", path) from exc
    return found.st_ino, found.st_size, found.st_mtime_ns
