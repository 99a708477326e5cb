"""score-traces: the traces of a pipeline against a gold set, with gates."""

from __future__ import annotations

import json
from pathlib import Path

from rageval_report.cli.group import FAILED, OK
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output, check_files, write_text
from rageval_report.cli.score import ScoreTracesArguments
from rageval_report.metrics import trace_results as traces


def score_traces(options: ScoreTracesArguments) -> int:
    """Score the traces, and write figures, gates and diagnosis."""
    output = Output.of(options)
    queries = None if options.queries is None else Path(options.queries)
    check_files(options.report_path, queries, force=options.force)
    result = traces.score_traces(
        *(options.gold, options.trace, options.k, options.gates),
        missing=options.missing,
        dialect=options.dialect,
        strict=options.strict,
        allow=options.allow,
    )
    output.write({result.title: result, "diagnosis": result.diagnosis})
    if options.report_path is not None:
        write_text(json.dumps(result.report(), indent=2) + "\n", options.report_path)
    if queries is not None:
        note(f"wrote {result.evaluation.save(queries)}")
    return OK if result.passed else FAILED
