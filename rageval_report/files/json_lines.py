"""JSON Lines: one object per line; every error names the file and the line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_record

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
