"""inspect: how files are read, one table after the other."""

from __future__ import annotations

import click

from rageval_report.cli.inspect import InspectArguments
from rageval_report.cli.output import Output
from rageval_report.cli.sources import Loading, parse_source
from rageval_report.inspection import inspect as inspect_file


def inspect(options: InspectArguments) -> None:
    """Write what is read from each file, how, and what is doubted."""
    if not options.files:
        raise click.UsageError("Name a file: rageval-report inspect FILE.")
    output = Output.of(options)
    loading = Loading.of(options)
    results = {}
    for text in options.files:
        inspection = inspect_file(
            parse_source(text).path,
            reader=loading.reader,
            query_id=loading.query_id,
            metrics=loading.overrides or options.metrics or None,
            duplicates=loading.duplicates,
            totals=loading.totals,
            roles=loading.roles or None,
            **loading.reader_options,
        )
        results[inspection.title] = inspection
    output.write(results)
