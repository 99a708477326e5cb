"""Digests differ where bytes move from one part to the next."""

from hashlib import blake2b

from rageval_report.files.digests import digest_of_parts


def test_the_digest_is_that_of_blake2b():
    # The second witness is hashlib: the lengths of the parts before each part.
    parts = b"".join(len(part).to_bytes(8, "big") + part for part in (b"ab", b"c"))
    assert digest_of_parts([b"ab", b"c"]) == blake2b(parts, digest_size=16).digest()
    assert digest_of_parts([b"a", b"bc"]) != digest_of_parts([b"ab", b"c"])
