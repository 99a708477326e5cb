"""JSON Lines: one object per line; every error names the file and the line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json

_LONGEST_QUOTE = 60


def numbered_lines(source: Source) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers.

    Parameters
    ----------
    source : Source
        The file.
    """
    for number, line in enumerate(source.lines(), 1):
        if not line.isspace():
            yield number, line


def json_objects(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""The objects of a JSON Lines file, with their line numbers.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ReaderError
        If a line is not a JSON object; the error names the file and the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "gold.jsonl"
    ...     _ = path.write_text('{"qid": "a"}\n\n{"qid": "b"}\n')
    ...     list(json_objects(Source(path)))
    [(1, {'qid': 'a'}), (3, {'qid': 'b'})]
    """
    for number, line in numbered_lines(source):
        try:
            document = parse_json(line)
        except NotJSONError as exc:
            raise source.error(_reason(line, exc), line=number) from exc
        if not isinstance(document, dict):
            quoted = line.strip()[:_LONGEST_QUOTE]
            raise source.error(f"expected one JSON object per line; got {quoted!r}", line=number)
        yield number, document


def _reason(line: str, exc: NotJSONError) -> str:
    if not exc.is_cut:
        return str(exc)
    return (
        f"the record is cut: {line[:_LONGEST_QUOTE]!r}. Write the file again, or delete this line "
        "to read the others"
    )
