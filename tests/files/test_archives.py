from __future__ import annotations

import io
import struct
import sys
import zipfile
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_report.errors import RagevalError, ReaderError
from rageval_report.files import archives
from rageval_report.files.archives import Archive
from rageval_report.files.source import Source

ZSTD = 93
ZSTD_MODULE = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def zipped(members, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def packed_by_hand(name, packed, content_size, crc, method, flags=0):
    """A zip archive of one member, each field as in the format's specification (APPNOTE 6.3.10)."""
    raw = name.encode()
    shared = struct.pack(
        "<HHHHHIIIHH", 20, flags, method, 0, 0, crc, *(len(packed), content_size), len(raw), 0
    )
    local = b"PK\x03\x04" + shared + raw + packed
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + shared + struct.pack("<HHHII", 0, 0, 0, 0, 0)
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(entry + raw), len(local), 0)
    return local + entry + raw + end


def zstd_member(name, content):
    zstd = pytest.importorskip(ZSTD_MODULE)
    half = len(content) // 2
    frames = zstd.compress(content[:half]) + zstd.compress(content[half:])
    return packed_by_hand(name, frames, len(content), zlib.crc32(content), ZSTD)


@pytest.fixture
def archive(write):
    return lambda content: Archive(Source(write(content)))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_as_python_s_own_zipfile_reads_them(archive, method):
    content = zipped({"a.json": '{"a": 1}', "b/c.txt": "x" * 5000}, method)
    found = archive(content)
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert found.names == tuple(file.namelist())
        assert [found.read(name) for name in found.names] == [*map(file.read, file.namelist())]


def test_zstd_members_of_several_frames_are_read(archive):
    assert archive(zstd_member("a.json", b'{"a": [1, 2]}')).document("a.json") == {"a": [1, 2]}


def test_of_two_members_of_one_name_the_last_one_counts(archive):
    buffer = io.BytesIO(zipped({"a": "old"}))
    with zipfile.ZipFile(buffer, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("a", "new")
    found = archive(buffer.getvalue())
    assert (found.names, found.read("a")) == (("a",), b"new")


def test_folders_are_no_members(archive):
    assert archive(zipped({"samples/": "", "samples/a": "1"})).names == ("samples/a",)


@pytest.mark.parametrize("name", ["a/../../up.json", "/etc/passwd", "C:/up.json", "..\\up"])
def test_a_name_that_leads_out_of_the_archive_is_refused(archive, name):
    with pytest.raises(ReaderError, match="the archive contains paths outside its root"):
        archive(zipped({"header.json": "{}", name: "{}"}))


def test_an_archive_that_says_it_swells_beyond_limits_is_refused(archive, monkeypatch):
    monkeypatch.setattr(archives, "_HARMLESS", 1 << 20)
    content = zipped({"a": bytes(1 << 21)})
    assert len(content) * 300 < 1 << 21
    with pytest.raises(
        ReaderError, match="expands to 2,097,152 bytes, more than 300 times its size"
    ):
        archive(content)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, ZSTD])
def test_a_member_that_hides_its_size_is_not_read_as_whole(archive, method):
    content = bytes(5_000_000)
    if method == ZSTD:
        packed = pytest.importorskip(ZSTD_MODULE).compress(content)
    else:
        packer = zlib.compressobj(wbits=-15)
        packed = packer.compress(content) + packer.flush()
    found = archive(packed_by_hand("a", packed, 10, zlib.crc32(content), method))
    with pytest.raises(ReaderError, match="the member 'a' of the archive is damaged"):
        found.read("a")


def test_a_member_whose_checksum_is_wrong_is_damaged(archive):
    found = archive(packed_by_hand("a", b"abc", 3, 12345, zipfile.ZIP_STORED))
    with pytest.raises(ReaderError, match="is damaged"):
        found.read("a")


def test_an_encrypted_member_is_told(archive):
    found = archive(packed_by_hand("a", b"abc", 3, zlib.crc32(b"abc"), 0, flags=1))
    with pytest.raises(ReaderError, match="'a' of the archive is damaged, or locked"):
        found.read("a")


def test_another_compression_is_told(archive):
    with pytest.raises(ReaderError, match="'a' of the archive is damaged, or locked"):
        archive(packed_by_hand("a", b"abc", 3, 0, 97)).read("a")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"a": 1', "'a' of the archive cannot be read, line 1: the JSON ends in the middle"),
        (b'{"a": 1,\n "a": 2}', "an object has the key 'a' more than once"),
        (b"\xff\xfe{}", "is not text in UTF-8"),
    ],
)
def test_a_member_that_is_no_json_is_told_with_its_name(archive, content, told):
    with pytest.raises(ReaderError, match=told):
        archive(zipped({"a": content})).document("a")


def test_a_cut_archive_is_told(archive):
    with pytest.raises(ReaderError, match="cannot be opened; it may be cut"):
        archive(zipped({"a": "1" * 500})[:-30])


def mutable_archives():
    yield zipped({"header.json": '{"a": 1}', "samples/a.json": '{"b": 2}' * 20})
    try:
        yield zstd_member("header.json", b'{"a": 1}')
    except pytest.skip.Exception:
        return


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.sampled_from(list(mutable_archives())),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 8), st.binary(max_size=4)), max_size=4),
)
def test_an_archive_with_changed_bytes_is_read_or_refused(tmp_path, content, edits):
    for place, n_lost, piece in edits:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + n_lost :]
    (tmp_path / "a").write_bytes(content or b"?")
    try:
        found = Archive(Source(tmp_path / "a"))
        for name in found.names:
            assert isinstance(found.read(name), bytes)
    except RagevalError:
        return
