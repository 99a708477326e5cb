"""The command that scores a pipeline's traces against a gold set."""

from __future__ import annotations

import json
from pathlib import Path

import click

from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import output_options
from rageval_report.cli.output import Output, check_free
from rageval_report.files.writing import write_atomically

FAILED = 1


@click.command(
    epilog=examples(
        "rageval-report score --gold gold.jsonl --trace trace.jsonl",
        "rageval-report score --gold gold.jsonl --trace trace.jsonl --k 5 "
        "--gates precision=0.50,chr=0.50,under=0.50,over=0.50 --report report.json",
    )
)
@click.option(
    "--gold", required=True, metavar="FILE", help="The gold set, JSON Lines; gzipped or not."
)
@click.option(
    "--trace", required=True, metavar="FILE", help="The pipeline's traces, likewise; - reads stdin."
)
@click.option("--k", type=int, default=5, show_default=True, help="The cutoff of the recall.")
@click.option(
    "--gates",
    metavar="NAME=T,...",
    help="At least: precision, chr, recall; at most: under, over. Else the shipped gates.",
)
@click.option(
    "--missing",
    type=click.Choice(["answered", "refusal", "skip"]),
    default="answered",
    show_default=True,
    help="What a gold question without a trace is.",
)
@click.option(
    "--report",
    "report_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the figures and gates as JSON as well.",
)
@click.option("--queries", metavar="FILE", help="Write a row a question: .csv, .json, .jsonl, ...")
@output_options
def score(
    gold: str,
    trace: str,
    k: int,
    gates: str | None,
    missing: str,
    report_path: Path | None,
    queries: str | None,
    output: Output,
) -> int:
    """Score the traces of a pipeline against a gold set, and hold its gates.

    Ends with 1 where a gate fails.
    """
    for path in (report_path, None if queries is None else Path(queries)):
        if path is not None:
            check_free(path, force=False)
    result = load("rageval_report.traces:score_traces")(gold, trace, k, gates, missing=missing)
    output.write({result.title: result})
    if report_path is not None:
        write_atomically(report_path, json.dumps(result.report(), indent=2) + "\n")
        note(f"wrote {report_path}")
    if queries is not None:
        note(f"wrote {result.evaluation.save(queries)}")
    return 0 if result.passed else FAILED
