"""Digests of several byte strings, and the one form of JSON that they are taken of."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from rageval_report.files.strict_json import replace_lone_surrogates

# 16 bytes: the chance that damage keeps a digest of this size is below 1 in 10**38.
_SIZE = 16


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
