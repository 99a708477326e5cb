"""The options of verify, which checks files by their digests."""

from __future__ import annotations

from rageval_report.cli.command import Command, argument
from rageval_report.cli.options import OutputOptions


class VerifyArguments(OutputOptions):
    """Check whether files are as they were written.

    A PATH is a cache of judges, a journal, a run file, a saved table with its description, or a
    folder of such files. The exit code is 1 if one is damaged. Files of earlier versions have no
    digests and are listed as not protected. Nothing is changed.
    """

    paths: tuple[str, ...] = argument(nargs=-1, metavar="PATH...")


verify = Command(
    VerifyArguments,
    "rageval_report.cli.verify_body:verify",
    examples=(
        "rageval-report verify .",
        "rageval-report verify bm25.csv --format json",
    ),
)
