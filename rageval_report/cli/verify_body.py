"""verify: the files, what they hold, and what is damaged."""

from __future__ import annotations

import click

from rageval_report.cli.group import FAILED, OK
from rageval_report.cli.output import Output
from rageval_report.cli.verify import VerifyArguments
from rageval_report.verification.verify import verify as verify_files


def verify(options: VerifyArguments) -> int:
    """Write the table of files; 1 if one is damaged."""
    if not options.paths:
        raise click.UsageError("Name a file or a folder: rageval-report verify PATH.")
    output = Output.of(options)
    result = verify_files(*options.paths)
    output.write({result.title: result})
    return OK if result.is_whole else FAILED
