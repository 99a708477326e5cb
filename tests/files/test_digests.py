"""Digests: any flipped bit is seen, and what is whole is never taken for damaged."""

import json
from hashlib import blake2b

from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.files.digests import document_digest, is_whole, open_line, seal_line
from rageval_report.files.digests import sealed_document as sealed

LINE = seal_line(b'{"row": 0, "query_id": "q1", "answer": "a \\"digest\\": \\"b\\""}', 2, b"salt")


def test_each_flipped_bit_and_each_cut_of_a_line_is_seen():
    for place in range(len(LINE) - 1):
        damaged = bytearray(LINE)
        damaged[place] ^= 1 << (place % 8)
        assert open_line(bytes(damaged), b"salt") is None
        assert open_line(LINE[:place], b"salt") is None
    assert open_line(LINE, b"other") is None
    assert open_line(LINE.rstrip(b"\n") + b"\r\n", b"salt") is not None


def test_the_digest_is_that_of_blake2b():
    # The second witness is hashlib: the lengths of the parts before each part.
    numbered = b'{"row": 0, "line": 2'
    parts = b"".join(len(part).to_bytes(8, "big") + part for part in (b"", numbered))
    expected = blake2b(parts, digest_size=16).hexdigest().encode()
    assert seal_line(b'{"row": 0}', 2) == numbered + b', "digest": "' + expected + b'"}\n'
    entry = b'{"digest": "mine", "line": 7}'
    assert open_line(seal_line(entry, 3)) == (entry, 3)


@settings(max_examples=40)
@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text(), min_size=1))
def test_a_document_is_whole_after_it_was_written_and_read(document):
    document.pop("digest", None)
    assert is_whole(json.loads(json.dumps(sealed(document), indent=2, sort_keys=True)))
    assert not is_whole({**sealed(document), "one more": 1})
    # Readers replace half a character, so the digest is the same before and after.
    assert document_digest({"a": "\ud83d"}) == document_digest({"a": "\ufffd"})
