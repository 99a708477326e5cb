"""JSON Lines: one object per line; every error names the file and the line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json, parse_json_together

# More lines do not stay in the cache of one core until their objects are read.
_LINES_AT_ONCE = 256
_LONGEST_QUOTE = 60
# Long lines are parsed in smaller pieces.
_MOST_CHARACTERS = 1 << 20


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


def json_objects(
    source: Source, *, lines_at_once: int = _LINES_AT_ONCE
) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""The objects of a JSON Lines file, with their line numbers.

    Parameters
    ----------
    source : Source
        The file.
    lines_at_once : int
        How many lines are parsed together; fewer take less memory and more time.

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
    for piece in _pieces(numbered_lines(source), lines_at_once):
        documents = _objects_together(piece)
        if documents is None:
            yield from _objects_alone(source, piece)
        else:
            yield from (
                (number, document) for (number, _), document in zip(piece, documents, strict=True)
            )


def json_records(source: Source) -> Iterator[list[dict[str, Any]]]:
    r"""The objects of a JSON Lines file in lists, which takes less time than one by one.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ReaderError
        As `json_objects`.

    Examples
    --------
    >>> list(json_records(Source(b'{"qid": "a"}\n{"qid": "b"}\n')))
    [[{'qid': 'a'}], [{'qid': 'b'}]]
    """
    for piece in _pieces(numbered_lines(source), _LINES_AT_ONCE):
        documents = _objects_together(piece)
        if documents is None:
            documents = [document for _, document in _objects_alone(source, piece)]
        yield documents


def _objects_together(piece: Sequence[tuple[int, str]]) -> list[dict[str, Any]] | None:
    """The objects of some lines; None if a line is not an object."""
    documents = parse_json_together([line for _, line in piece])
    return documents if documents is not None and {*map(type, documents)} == {dict} else None


def _objects_alone(
    source: Source, piece: Iterable[tuple[int, str]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The numbers and objects of some lines, up to the first that is not an object."""
    for number, line in piece:
        document = _parse_line(source, number, line)
        if not isinstance(document, dict):
            quoted = line.strip()[:_LONGEST_QUOTE]
            message = f"expected one JSON object per line; got {quoted!r}"
            raise source.error(message, line=number)
        yield number, document


def _pieces(lines: Iterator[tuple[int, str]], most_lines: int) -> Iterator[list[tuple[int, str]]]:
    """The lines in pieces, the first of one line, because many callers want the first line only."""
    n_lines = 1
    while piece := _next_piece(lines, n_lines):
        yield piece
        n_lines = min(2 * n_lines, most_lines)


def _next_piece(lines: Iterator[tuple[int, str]], n_lines: int) -> list[tuple[int, str]]:
    """So many lines, or fewer if they are long."""
    piece, n_characters = [], 0
    for number, line in islice(lines, n_lines):
        piece.append((number, line))
        n_characters += len(line)
        if n_characters > _MOST_CHARACTERS:
            break
    return piece


def _parse_line(source: Source, number: int, line: str) -> Any:
    try:
        return parse_json(line)
    except NotJSONError as exc:
        raise source.error(_reason(line, exc), line=number) from exc


def _reason(line: str, exc: NotJSONError) -> str:
    if not exc.is_cut:
        return str(exc)
    return (
        f"the record is cut: {line[:_LONGEST_QUOTE]!r}. Write the file again, or delete this line "
        "to read the others"
    )
