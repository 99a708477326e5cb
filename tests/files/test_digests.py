"""Digests: any flipped bit is seen."""

from hashlib import blake2b

from rageval_report.files.digests import open_line, seal_line

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
