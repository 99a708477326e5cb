"""From which size on files are read part by part."""

import os

import pytest

from rageval_report.errors import DataError
from rageval_report.scale import machine_memory
from rageval_report.scale.machine_memory import (
    format_size,
    memory_of_machine,
    parse_size,
    streaming_limit,
)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.delenv("RAGEVAL_STREAM_ABOVE", raising=False)


def test_the_limit_is_a_third_of_the_memory(monkeypatch):
    monkeypatch.setattr(machine_memory, "memory_of_machine", lambda: 16_000_000_000)
    limit = streaming_limit()
    assert limit.n_bytes == 16_000_000_000 // 3
    assert limit.reason == "a third of the memory (16.0 GB)"


def test_the_memory_is_that_of_the_system():
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < memory_of_machine() <= pages


@pytest.mark.parametrize(("text", "expected"), [("1000000\n", 1_000_000), ("max\n", None)])
def test_a_container_has_the_memory_that_it_may_use(monkeypatch, tmp_path, text, expected):
    limit = tmp_path / "memory.max"
    limit.write_text(text)
    missing = tmp_path / "none"
    monkeypatch.setattr(machine_memory, "_CONTAINER_LIMITS", (missing, limit))
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert memory_of_machine() == (expected or pages)


def test_where_the_memory_is_not_known_the_size_decides_nothing(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    assert memory_of_machine() is None
    assert streaming_limit() is None


def test_the_environment_goes_before_the_memory(monkeypatch):
    monkeypatch.setenv("RAGEVAL_STREAM_ABOVE", "1.5 MB")
    assert streaming_limit().n_bytes == 1_500_000
    assert streaming_limit().reason == "RAGEVAL_STREAM_ABOVE=1.5 MB"
    monkeypatch.setenv("RAGEVAL_STREAM_ABOVE", "a lot")
    with pytest.raises(DataError, match="RAGEVAL_STREAM_ABOVE must be a size such as 500MB or 2GB"):
        streaming_limit()


@pytest.mark.parametrize(
    ("text", "n_bytes"), [("0", 0), ("7", 7), ("7B", 7), ("2kb", 2000), ("3 GB", 3e9), ("1T", 1e12)]
)
def test_sizes_have_units_of_a_thousand(text, n_bytes):
    assert parse_size(text, "size") == n_bytes


@pytest.mark.parametrize("text", ["", "GB", "-1", "1e3", "1 GiB", "nan", "1,5GB", "1..5GB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(DataError, match="size must be a size such as"):
        parse_size(text, "size")


def test_a_shown_size_is_read_back_within_its_digits():
    for n_bytes in (1, 999, 1000, 123_456, 999_949, 999_950, 7 * 10**9, 3 * 10**12):
        shown = format_size(n_bytes).replace("bytes", "B")
        assert parse_size(shown, "size") == pytest.approx(n_bytes, rel=0.051)
