"""What the commands on golden sets share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.cli.notes import note

if TYPE_CHECKING:
    from rageval_report.golden import GoldenItem

seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="For what is drawn at random."
)
force_option = click.option("--force", is_flag=True, help="Replace FILE where there is one.")


def by_option(default: tuple[str, ...] = ()) -> Callable[..., Any]:
    """``--by``, the metadata that make types; without a default query_type, if items say it."""
    return click.option(
        "--by",
        multiple=True,
        default=default,
        show_default=True if default else "query_type, if the questions have it",
        metavar="KEY",
        help="What makes a type: a key of the metadata, or answerable; may be repeated.",
    )


def read_items(file: str) -> list[GoldenItem]:
    """The questions of a golden set."""
    items: list[GoldenItem] = load("rageval_report.golden:read_golden")(file)
    return items


def write_items(items: Sequence[GoldenItem], path: Path | None) -> None:
    """Write a golden set to a file, or to standard output."""
    if path is None:
        click.echo(load("rageval_report.datasets.golden_items:golden_text")(items), nl=False)
    else:
        load("rageval_report.golden:write_golden")(path, items)
        note(f"wrote {len(items)} questions to {path}")
