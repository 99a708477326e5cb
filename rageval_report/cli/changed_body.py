"""regressions, improvements and outcomes: the queries behind a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from rageval_report.analysis.comparing.comparison import compare
from rageval_report.analysis.scanned import is_scan
from rageval_report.cli.changed import (
    ImprovementsArguments,
    OutcomesArguments,
    RegressionsArguments,
)
from rageval_report.cli.compare_queries import changed_queries, changed_queries_of_scans
from rageval_report.cli.output import Output
from rageval_report.cli.pairs import described_runs, load_pair, notes_of_pair, open_pair
from rageval_report.cli.scans import ScanLoading, check_list_file, split_list_file
from rageval_report.cli.sources import Loading
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.results import Result
from rageval_report.scores.correct_notion import describe_notions, shared_notions

if TYPE_CHECKING:
    from rageval_report.evaluation.scanning.scanned_comparison import ScannedComparison

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
    if is_scanned:
        scanned = cast("ScannedComparison", comparison)
        k = output.most_rows(options.limit) or _MOST_CHANGED
        tables = changed_queries_of_scans(
            scanned, options.metric, better=better, k=k, path=list_file
        )
    else:
        tables = changed_queries(comparison, options.metric, better=better)
    notes = notes_of_pair(described_runs(evaluations, comparison), *files)
    _write_by_candidate(tables, notes, output, options.limit)


def outcomes(options: OutcomesArguments) -> None:
    """Write which queries both, one or none of two pipelines answer correctly."""
    output = Output.of(options)
    files = (options.baseline, options.candidates)
    names = [options.baseline, *options.candidates]
    ScanLoading(options, Loading.of(options)).check_whole(names, "outcomes")
    evaluations = load_pair(options, *files)
    baseline, *candidates = evaluations
    tables = {candidate.name: _outcomes(baseline, candidate) for candidate in candidates}
    _write_by_candidate(tables, notes_of_pair(evaluations, *files), output, options.limit)


def _outcomes(baseline: RAGPipelineEvaluation, candidate: RAGPipelineEvaluation) -> Result:
    table = baseline.comparative_detailed_summary(candidate)
    counts = ", ".join(f"{n} {name}" for name, n in table.notna().sum().items())
    runs = (baseline, candidate)
    # The table exists, so something says what is correct.
    notions = shared_notions(runs) or ()
    return Result(
        f"Which queries {baseline.name} and {candidate.name} answer correctly",
        table,
        {"baseline": baseline.name, "candidate": candidate.name},
        (
            describe_notions(runs, notions),
            *dict.fromkeys(notion.note for notion in notions if notion.note),
            counts,
        ),
    )


def _write_by_candidate(
    tables: Mapping[str, Result], notes: list[str], output: Output, limit: int | None
) -> None:
    limited = {
        name: output.limit_rows(result.with_notes(*notes), limit) for name, result in tables.items()
    }
    output.write(limited, "candidate")
