"""Notes and complaints on standard error, one line each."""

from __future__ import annotations

import re
from collections.abc import Callable

import click

from rageval_report._registry import load

# The library gives its advice in Python; these patterns put it in terms of the command line.
_ADVICE = (
    (r"metrics=\{.*?: \{'bounds': \(low, high\)\}\}", "--bounds NAME=LOW:HIGH"),
    (r"metrics=\{'(.+?)': '(lower|higher)'\}", r"--\2 \1"),
    (r"metrics=\[\.\.\.\]", "--metric NAME"),
    (r"correct=\('(.+?)', \.\.\.\)", r"--correct with \1, <= or >=, and a number"),
    (
        r"Pass the rule for a correct answer: correct=.*",
        "Pass the rule for a correct answer: --correct exact_match, --correct 'faithfulness>=0.8', "
        "several with commas between, or a column of booleans.",
    ),
    (r"query_id=\.\.\.", "--query-id COLUMN"),
    (r"reader=\.\.\.", "--reader NAME"),
    (r"reader='(\w+)'", r"--reader \1"),
    (r"(delimiter|encoding|sheet)=", r"--option \1="),
    (r'repeats="mean"', "--option repeats=mean"),
    (r'duplicates="mean"', "--duplicates mean"),
    (r"missing='drop'", "--missing drop"),
    (r"give bounds, e\.g\. \(0, 1\)", "pass --bounds NAME=0:1"),
    (r"pick one with pipeline=, or read all with read_scores", "pick one as FILE::PIPELINE"),
    (r"prices=\{.+?: \(sent, received\)\}", "--price SENT:RECEIVED"),
    (r"model=\.\.\.", "--model NAME"),
    (r"structured=False", "--no-schema"),
    (r"replace it with force=True", "replace it with --force"),
    (
        r"score\(read_records\(path\), metrics\)",
        "rageval-report score --records FILE, or rageval-report judge FILE",
    ),
    (
        r"Pass the chat model that judges: score\(.*\)$",
        "let a model judge with rageval-report judge FILE --judge NAME",
    ),
    (
        r"prefer\(baseline, candidate, chat\)",
        "rageval-report judge CANDIDATE --against BASELINE",
    ),
    (r"give each its own name$", "give each its own name, as NAME=FILE"),
)


def note(text: str) -> None:
    """Write something that is not an error, unless the user chose --quiet."""
    context = click.get_current_context(silent=True)
    if context is None or not context.params.get("quiet"):
        click.echo(f"note: {_one_line(text)}", err=True)


def complain(text: str) -> None:
    """Write what is wrong and what to do."""
    for pattern, advice in _ADVICE:
        text = re.sub(pattern, advice, text)
    click.echo(f"rageval-report: {_one_line(text)}", err=True)


def _one_line(text: str) -> str:
    # Loaded by name: a command line that says nothing must not pay for importing the renderers.
    clean: Callable[[str], str] = load("rageval_report.render.display:clean")
    return clean(text)
