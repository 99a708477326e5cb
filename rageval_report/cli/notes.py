"""Notes and complaints on standard error, one line each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable

import click

from rageval_report._registry import load
from rageval_report.errors import DOUBT, is_doubt


def _role_options(match: re.Match[str]) -> str:
    """The options for ``roles={'column': 'role', ...}``."""
    pairs = re.findall(r"'(.+?)': '(\w+)'", match[0])
    return " ".join(f"--role {shlex.quote(f'{column}={role}')}" for column, role in pairs)


# The option that names each kind of target.
_TARGET_OPTIONS = {"http": "--url", "callable": "--callable", "command": "--command"}

# The library gives its advice in Python; these patterns put it in terms of the command line. A test
# calls the library for a message for each of them, and fails if a pattern no longer matches.
ADVICE: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"metrics=\{.*?: \{'bounds': \(low, high\)\}\}", "--bounds NAME=LOW:HIGH"),
    (r"metrics=\{'([^']+)': \{'bounds': \((-?[\d.]+), (-?[\d.]+)\)\}\}", r"--bounds \1=\2:\3"),
    (r"metrics=\{'(.+?)': '(lower|higher)'\}", r"--\2 \1"),
    (r"roles=\{'.+?': '\w+'(?:, '.+?': '\w+')*\}", _role_options),
    (r"metrics=\[\.\.\.\]", "--metric NAME"),
    (r"objectives=\{.*?: Objective\(.*?best=\.\.\., worst=\.\.\.\)\}", "--bounds NAME=LOW:HIGH"),
    (r"objectives=\{'(\w+)': \['(.+?)', '(.+?)'\]\}", r"--objective \1=\2,\3"),
    (r"correct=\('(.+?)', \.\.\.\)", r"--correct with \1, <= or >=, and a number"),
    (
        r"Pass the rule for a correct answer: correct=.*",
        "Pass the rule for a correct answer: --correct exact_match, --correct 'faithfulness>=0.8', "
        "several separated by commas, or a column of booleans.",
    ),
    (r"pass correct=\.\.\.", "pass --correct RULE"),
    (r"query_id=\.\.\.", "--query-id COLUMN"),
    (r"reader=\.\.\.", "--reader NAME"),
    (r"reader='(\w+)'", r"--reader \1"),
    (r"\b(delimiter|encoding|runs|sheet)=", r"--option \1="),
    (r"\bdecimal='([.,])'", r"--option decimal=\1"),
    (r'repeats="mean"', "--option repeats=mean"),
    (
        r'load the table with read_scores and duplicates="mean"',
        "read the file with --engine memory --duplicates mean",
    ),
    (r'duplicates="(mean|best|keep)"', r"--duplicates \1"),
    (r'level="(chunk|document)"', r"--level \1"),
    (r'totals="(drop|keep)"', r"--totals \1"),
    (r"missing='drop'", "--missing drop"),
    (r"give bounds, e\.g\. \(0, 1\)", "pass --bounds NAME=0:1"),
    (r"choose one with interval=", "choose one with --interval"),
    (r'scale="baseline"', "--scale baseline"),
    (r"read_scores\(\w+, qrels=.*?\), or on the command line ", ""),
    (r'pass values="scores"', "pass --option values=scores"),
    (r"\bqrels=(?=[ ,])", "--qrels"),
    (r'ties="(docid|input)"', r"--ties \1"),
    (r"pass split=", "pass --split"),
    (r"name the right one with label=", "name the right one with --label"),
    (r"give its ends with label_bounds=", "give its ends with --label-bounds LOW:HIGH"),
    (r"calibrate with threshold= or categories=", "pass --threshold or --categories"),
    (r"choose one with pipeline=\.\.\.", "choose one with --pipeline NAME"),
    (r"pick one with pipeline=, or read all with read_scores", "pick one as FILE::PIPELINE"),
    (r"Its (documents: load_corpus|questions are records: \w+)\(.+?\)\. (?=Its|To)", ""),
    (
        r'evaluation\.save\("scores\.csv"\) writes them, on the command line score with',
        "score with",
    ),
    (r"Join them with the questions: score\(.*?\]\)\. Or write", "Write"),
    (
        r"such as prices=\{'(.+?)': \(sent, received\)\}",
        r"such as --pipeline-price \1=SENT:RECEIVED",
    ),
    (r"prices=\{.+?: \(sent, received\)\}", "--price SENT:RECEIVED"),
    (r"retry_unusable=True", "--retry-unusable"),
    (r'max_cost_over="run"', "--max-cost-over run"),
    (r"model=\.\.\.", "--model NAME"),
    (r"retry_failed=True, folder='(.+)'", r"--retry-failed -o \1"),
    (r"resume=True", "--resume"),
    (r"the (http|callable|command) target", lambda match: _TARGET_OPTIONS[match[1]]),
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
    (r'path="failures\.parquet" writes all', "-o failures.parquet writes all"),
    (r"bring (?:them|one) into memory: scan\.collect\(\)", "use --engine memory"),
    (r"give each its own name$", "give each its own name, as NAME=FILE"),
    (r"\buse tried=(\d+)", r"use --tried \1"),
    (r"change it with correct=$", "change it with --correct RULE"),
    (
        r"Give correlation=, or a pilot run as candidate=",
        "Give --correlation, or a pilot run with --candidate",
    ),
)


def note(text: str) -> None:
    """Write something that is not an error, unless the user chose --quiet."""
    context = click.get_current_context(silent=True)
    if context is None or not context.params.get("quiet"):
        click.echo(f"note: {_one_line(for_command_line(text))}", err=True)


def warn_of_doubts(notes: Iterable[str]) -> None:
    """Write the doubts among some notes, also with --quiet: a number may be wrong."""
    for text in notes:
        if is_doubt(text):
            click.echo(f"doubt: {_one_line(for_command_line(text.removeprefix(DOUBT)))}", err=True)


def complain(text: str) -> None:
    """Write what is wrong and what to do."""
    click.echo(f"rageval-report: {_one_line(for_command_line(text))}", err=True)


def for_command_line(text: str) -> str:
    """A message of the library, with its advice in terms of the command line.

    Examples
    --------
    >>> for_command_line("old.csv exists already; replace it with force=True")
    'old.csv exists already; replace it with --force'
    """
    for pattern, advice in ADVICE:
        text = re.sub(pattern, advice, text)
    return text


def _one_line(text: str) -> str:
    # Loaded by name: a command line that says nothing must not pay for importing the renderers.
    shorten: Callable[[str], str] = load("rageval_report.cli.one_line:one_line")
    return shorten(text)
