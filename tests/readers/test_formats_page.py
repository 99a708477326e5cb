"""The table of frameworks on the page about formats names every reader."""

from __future__ import annotations

import re
from pathlib import Path

from rageval_report.readers import READERS

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
PLAIN_TABLES = {"csv", "tsv", "json", "jsonl", "parquet", "excel", "long"}
REFUSED = {"rankings"}  # below the table, with what to do instead


def test_every_reader_of_a_framework_has_a_row():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    names = [re.split(r"[,(]", line.strip("| ").partition("|")[0]) for line in rows]
    listed = {letters(name.replace("-q", "")) for parts in names for name in parts}
    readers = set(READERS) - PLAIN_TABLES - REFUSED
    assert [name for name in sorted(readers) if letters(name) not in listed] == []


def letters(name):
    return re.sub(r"[^a-z0-9]", "", name.lower())
