"""Golden sets are written to a file, or to standard output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from rageval_report.cli.notes import note
from rageval_report.golden import GoldenItem, write_golden
from rageval_report.records.golden import golden_text


def write_items(items: Sequence[GoldenItem], path: Path | None) -> None:
    """Write a golden set to a file, or to standard output if it is None."""
    if path is None:
        click.echo(golden_text(items), nl=False)
    else:
        write_golden(path, items)
        note(f"wrote {len(items)} questions to {path}")
