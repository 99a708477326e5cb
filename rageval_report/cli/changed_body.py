"""regressions, improvements and outcomes: the queries behind a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import click
import pandas as pd

from rageval_report.analysis.arguments import is_scan
from rageval_report.analysis.compare import compare
from rageval_report.cli.changed import (
    ImprovementsArguments,
    OutcomesArguments,
    RegressionsArguments,
)
from rageval_report.cli.compare_queries import changed_queries
from rageval_report.cli.output import Output
from rageval_report.cli.pairs import notes_of_pair, open_pair
from rageval_report.cli.scans import check_list_file, split_list_file
from rageval_report.results import Result

# Of scans, for programs, which get all rows of tables in memory.
_MOST_CHANGED = 1000


def regressions(options: RegressionsArguments) -> None:
    """Write the queries on which each candidate is worse than the baseline."""
    _write_changed(options, better=False)


def improvements(options: ImprovementsArguments) -> None:
    """Write the queries on which each candidate is better than the baseline."""
    _write_changed(options, better=True)


def _write_changed(options: RegressionsArguments | ImprovementsArguments, *, better: bool) -> None:
    options, list_file = split_list_file(options)
    output = Output.of(options)
    files = (options.baseline, options.candidates)
    evaluations = open_pair(options, *files, (options.metric,))
    comparison = compare(*evaluations, metrics=(options.metric,), on=options.on)
    is_scanned = is_scan(evaluations[0])
    check_list_file(list_file, is_scanned=is_scanned)
    k = output.most_rows(options.limit) or _MOST_CHANGED if is_scanned else None
    tables = changed_queries(comparison, options.metric, better=better, k=k, path=list_file)
    notes = notes_of_pair(evaluations, *files)
    _write_by_candidate(tables, notes, output, options.limit)


def outcomes(options: OutcomesArguments) -> None:
    """Write which queries both, one or none of two pipelines answer correctly."""
    options, list_file = split_list_file(options)
    output = Output.of(options)
    files = (options.baseline, options.candidates)
    baseline, *candidates = evaluations = open_pair(options, *files)
    is_scanned = is_scan(baseline)
    check_list_file(list_file, is_scanned=is_scanned)
    if list_file is not None and len(candidates) > 1:
        raise click.UsageError(f"-o {list_file} holds the list of one candidate; name one.")
    of_scans: dict[str, Any] = {}
    if is_scanned:
        k = output.most_rows(options.limit) or _MOST_CHANGED
        of_scans = {"k": k, "path": list_file}
    tables = {
        candidate.name: _outcomes(
            baseline.name,
            candidate.name,
            options.on,
            cast("Any", baseline).comparative_detailed_summary(
                candidate, on=options.on, **of_scans
            ),
        )
        for candidate in candidates
    }
    _write_by_candidate(tables, notes_of_pair(evaluations, *files), output, options.limit)


def _outcomes(baseline: str, candidate: str, on: str | None, table: pd.DataFrame) -> Result:
    """The table as a result, with the number of queries of each column."""
    numbers: Mapping[str, int] = table.attrs["n"]
    notes = [*table.attrs["notes"], ", ".join(f"{n} {name}" for name, n in numbers.items())]
    if len(table) < max(numbers.values()):
        notes.append(f"the first {len(table)} of each column are listed, in the order of their ids")
    settings = {"baseline": baseline, "candidate": candidate}
    if on is not None:
        settings["on"] = on
    if "engine" in table.attrs:
        settings["engine"] = table.attrs["engine"]
    title = f"Which queries {baseline} and {candidate} answer correctly"
    return Result(title, table, settings, tuple(notes))


def _write_by_candidate(
    tables: Mapping[str, Result], notes: list[str], output: Output, limit: int | None
) -> None:
    limited = {
        name: output.limit_rows(result.with_notes(*notes), limit) for name, result in tables.items()
    }
    output.write(limited, "candidate")
