"""Digests, by which a damaged line is recognised.

A digest finds accidents: bits that flipped, lines that were cut, removed, copied or moved. It is
not a signature: somebody who changes a file on purpose can compute the digest anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from rageval_report.files.strict_json import replace_lone_surrogates

# 16 bytes: the chance that damage keeps a digest of this size is below 1 in 10**38.
_SIZE = 16
_SEAL = re.compile(rb', "line": (\d{1,15}), "digest": "([0-9a-f]{32})"\}')


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


def _line_digest(numbered: bytes, salt: bytes) -> bytes:
    return digest_of_parts([salt, numbered]).hex().encode("ascii")
