"""The command that looks for what is wrong with a golden set."""

from __future__ import annotations

import click

from rageval_report._registry import load
from rageval_report.cli.golden.writing import by_option, read_items
from rageval_report.cli.group import examples
from rageval_report.cli.options import output_options
from rageval_report.cli.output import FOR_PROGRAMS, Output

FAILED = 1

_WING = "rageval_report.golden"

CHECK_EXAMPLES = (
    "rageval-report golden check golden.jsonl",
    "rageval-report golden check golden.jsonl --documents docs --difference 0.05",
)


@click.command(epilog=examples(*CHECK_EXAMPLES))
@click.argument("file", metavar="FILE")
@click.option("--documents", metavar="FOLDER", help="The files that spans and ids name.")
@click.option(
    "--skip",
    multiple=True,
    metavar="CHECK",
    help="A check to leave out, as near_duplicates or balance; repeatable.",
)
@click.option("--near", type=float, default=0.8, show_default=True, help="Similarity of questions.")
@by_option(("query_type", "domain"))
@click.option(
    "--difference",
    type=float,
    default=0.05,
    show_default=True,
    metavar="D",
    help="The difference between two pipelines that the set should show.",
)
@click.option(
    "--sd",
    type=float,
    default=0.4,
    show_default=True,
    help="Standard deviation of the differences of a query; compare prints effect sizes of yours.",
)
@click.option("--power", type=float, default=0.8, show_default=True, help="Of the test.")
@click.option("--strict", is_flag=True, help="End with 1 on warnings too.")
@output_options
def check(
    file: str,
    documents: str | None,
    skip: tuple[str, ...],
    near: float,
    by: tuple[str, ...],
    difference: float,
    sd: float,
    power: float,
    strict: bool,
    output: Output,
) -> int:
    """Look for what is wrong with a golden set, and whether it is large enough.

    Ends with 1 where there is an error.
    """
    items = read_items(file)
    checks = load(f"{_WING}:CHECKS")
    left_out = [checks[name] for name in skip]
    held = None if documents is None else load(f"{_WING}:Documents")(documents)
    found = load(f"{_WING}:check_golden")(
        items,
        documents=held,
        checks=[name for name in checks if checks[name] not in left_out],
        limits=load(f"{_WING}:Limits")(near=near, by=by),
    )
    findings = load("rageval_report.cli.golden.findings:findings_of")(
        file, found, len(items), near=near, difference=difference, sd=sd, power=power
    )
    failed = findings.has_error or (strict and len(findings.frame) > 0)
    output.write({file: findings if output.kind in FOR_PROGRAMS else findings.in_words()})
    return FAILED if failed else 0
