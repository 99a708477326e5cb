"""Digests, by which a damaged line, row or document is recognised.

A digest finds accidents: bits that flipped, lines that were cut, removed, copied or moved. It is
not a signature: somebody who changes a file on purpose can compute the digest anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rageval_report.files.strict_json import replace_lone_surrogates

DIGEST = "digest"  # the key of the digest in a JSON object
_CHUNK = 1 << 20
# 16 bytes: the chance that damage keeps a digest of this size is below 1 in 10**38.
_SIZE = 16
_SEAL = re.compile(rb', "line": (\d{1,15}), "digest": "([0-9a-f]{32})"\}')
_QUERY_ID = re.compile(rb'"query_id": ("(?:[^"\\]|\\.)*")')


def digest_of_parts(parts: Iterable[bytes]) -> bytes:
    """The digest of several byte strings; it differs if a byte moves from one to the next."""
    digest = blake2b(digest_size=_SIZE)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def canonical_json(value: Any) -> bytes:
    """The JSON of a value in one form: sorted keys, no spaces, no half characters."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return replace_lone_surrogates(text)[0].encode("ascii")


# -- lines


@dataclass(frozen=True)
class Line:
    """A line of a file whose lines have digests."""

    number: int
    place: int
    content: bytes

    @property
    def query_id(self) -> str | None:
        """The id in the line, if it can still be read."""
        match = _QUERY_ID.search(self.content)
        try:
            return None if match is None else str(json.loads(match[1]))
        except ValueError:
            return None

    @property
    def name(self) -> str:
        """The line and its query, for a message."""
        query_id = self.query_id
        return f"line {self.number}" + ("" if query_id is None else f" (query {query_id!r})")


def seal_line(entry: bytes, number: int, salt: bytes = b"") -> bytes:
    r"""A line with its number and a digest at its end."""
    numbered = b'%s, "line": %d' % (entry[:-1], number)
    return b'%s, "digest": "%s"}\n' % (numbered, _line_digest(numbered, salt))


def open_line(line: bytes, salt: bytes = b"") -> tuple[bytes, int] | None:
    """The entry of a line and its number; None if the digest is not that of the line."""
    body = line.rstrip(b"\r\n")
    start = body.rfind(b', "line": ')
    seal = None if start < 0 else _SEAL.fullmatch(body, start)
    if seal is None:
        return None
    numbered = body[: seal.start(2) - len(b', "digest": "')]
    if _line_digest(numbered, salt) != seal[2]:
        return None
    return body[:start] + b"}", int(seal[1])


def looks_sealed(line: bytes) -> bool:
    """Whether a line has, or had before it was damaged, a number or a digest."""
    return b', "line": ' in line or b', "digest": "' in line


def separate_lines(line: Line, salt: bytes = b"") -> Iterator[Line]:
    """The lines in a line: several, if the line feed between them was damaged."""
    ends = [seal.end() for seal in _SEAL.finditer(line.content)]
    if len(ends) < 2 or open_line(line.content, salt) is not None:
        yield line
        return
    start = 0
    for end in [*ends[:-1], len(line.content)]:
        yield Line(line.number, line.place + start, line.content[start:end])
        # Behind the damaged line feed.
        start = max(end, line.content.find(b"{", end))


def _line_digest(numbered: bytes, salt: bytes) -> bytes:
    return digest_of_parts([salt, numbered]).hex().encode("ascii")


class LineNumbers:
    """Compares the numbers in the digests of the lines with their order in the file."""

    def __init__(self) -> None:
        self.last = 0
        self._n_damaged = 0

    def count_damaged(self) -> None:
        """Count a line whose number cannot be known."""
        self._n_damaged += 1

    def check(self, number: int) -> str | None:
        """What is wrong with the number of the next line; None if nothing is."""
        if number <= self.last:
            return f"line {number} is there again, or was moved"
        problem = self.missing_until(number - 1)
        self.last, self._n_damaged = number, 0
        return problem

    def missing_until(self, last: int) -> str | None:
        """The lines that are missing if there were lines up to this one; None if there are none."""
        first = self.last + 1
        n_missing = last - self.n_lines
        if n_missing <= 0:
            return None
        if first == last:
            return f"line {first} is missing"
        return f"{n_missing} of the lines {first} to {last} are missing"

    @property
    def n_lines(self) -> int:
        """The number of lines so far, those that are damaged included."""
        return self.last + self._n_damaged

    def next(self) -> int:
        """The number of a new line."""
        self.last += 1 + self._n_damaged
        self._n_damaged = 0
        return self.last


# -- documents


def document_digest(document: Mapping[str, Any], *, without: Collection[str] = (DIGEST,)) -> str:
    """The digest of a JSON object, whatever the order of its keys."""
    parts: list[bytes] = []
    for key in sorted(document):
        if key not in without:
            parts += [canonical_json(key), canonical_json(document[key])]
    return digest_of_parts(parts).hex()


def sealed_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with its digest as the last member."""
    return {**document, DIGEST: document_digest(document)}


def is_whole(document: Mapping[str, Any]) -> bool | None:
    """Whether a JSON object is as it was written; None if it has no digest."""
    if DIGEST not in document:
        return None
    return bool(document[DIGEST] == document_digest(document))


def file_digest(path: str | Path) -> str:
    """The digest of the bytes of a file."""
    digest = blake2b(digest_size=_SIZE)
    with Path(path).open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
