"""The page of a report or a comparison: the file that -o FILE.html writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from rageval_report.cli.notes import warn_of_doubts
from rageval_report.cli.options import PageOptions
from rageval_report.cli.output import Output

if TYPE_CHECKING:
    from rageval_report.reports.report import Report


def goes_to_page(options: PageOptions, output: Output, *, is_table: bool = False) -> bool:
    """Whether a command writes a page, and not only its tables.

    Parameters
    ----------
    options : PageOptions
        What the page holds.
    output : Output
        Where the result goes; on standard output, HTML is only the tables.
    is_table : bool
        Whether the user asked for the tables by name.

    Raises
    ------
    click.UsageError
        If an option of the page is used, but no page is written.
    """
    is_page = output.path is not None and output.renderer.name == "html" and not is_table
    if (options.no_pictures or options.longest_text) and not is_page:
        raise click.UsageError("--no-pictures and --longest-text are for a page: -o FILE.html.")
    return is_page


def write_page(page: Report, output: Output, notes: Iterable[str]) -> None:
    """Write a page, and its doubts to standard error, as for every result.

    Parameters
    ----------
    page : Report
        The page.
    output : Output
        The file.
    notes : iterable of str
        Those of the result; the page shows them too.
    """
    warn_of_doubts(dict.fromkeys(notes))
    output.write_page(page.to_html())
