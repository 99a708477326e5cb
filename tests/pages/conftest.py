"""What tests of pages share."""

from __future__ import annotations

import pytest

from rageval_report._registry import Registry


@pytest.fixture(autouse=True)
def _tables_as_they_were(monkeypatch):
    """A page that adds a reader or a metric adds it for the length of its test."""
    add, added = Registry.add, []

    def add_and_note(table, name, member):
        added.append((table, name, table._entries.get(name)))
        add(table, name, member)

    monkeypatch.setattr(Registry, "add", add_and_note)
    yield
    for table, name, before in reversed(added):
        if before is None:
            del table._entries[name]
        else:
            table._entries[name] = before
