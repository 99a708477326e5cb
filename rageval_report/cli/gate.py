"""The command that holds a pipeline to its gates, and tells a CI system what became of them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rageval_report
from rageval_report._registry import load
from rageval_report.cli.github import tell_github
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import correct_option, loading_options, output_options
from rageval_report.cli.output import Output, check_free
from rageval_report.cli.rules import correct_rule
from rageval_report.cli.sources import Loading
from rageval_report.errors import DataError
from rageval_report.files.writing import write_atomically

if TYPE_CHECKING:
    from rageval_report.analysis.gates.grammar import Rule
    from rageval_report.analysis.gates.result import GateResult

FAILED = 1

_GATES = "rageval_report.analysis.gates"
_IN_PYTHON = "compare(baseline, candidate).gate(...)"


@click.command(
    epilog=examples(
        "rageval-report gate hybrid.csv --rule 'ci_low(recall@5) >= 0.7'",
        "rageval-report gate hybrid.csv --rule 'unscored(faithfulness) <= 10%' "
        "--rule 'p95(latency_ms) <= 3000'",
        "rageval-report gate hybrid.csv --gates gates.toml --junit gates.xml --comment gates.md",
        "rageval-report gate hybrid.csv --baseline bm25.csv "
        "--rule 'no_regression(faithfulness, margin=0.02)'",
    )
)
@click.argument("file", metavar="FILE")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="RULE",
    help="As 'mean(faithfulness) >= 0.8'; may be repeated.",
)
@click.option(
    "--gates",
    "gates_file",
    metavar="FILE",
    help="Rules and settings in a file, .toml or .yaml; options given here go before it.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    help="What FILE is compared with: for no_regression, difference, pvalue, wins, losses, ties.",
)
@click.option(
    "--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML as well."
)
@click.option(
    "--comment",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write Markdown for a pull request as well, with the queries to look at.",
)
@click.option(
    "--missing",
    type=click.Choice(["drop", "worst"]),
    help="What an unscored query becomes: left out (the default), or the worst possible score.",
)
@click.option(
    "--confidence-level",
    type=float,
    metavar="LEVEL",
    help="Of the intervals, and 1 - LEVEL the error rate of no_regression; 0.95 where not given.",
)
@click.option("--n-resamples", type=int, metavar="N", help="For intervals that resample; 9999.")
@click.option("--seed", type=int, help="For what is drawn at random; 0.")
@correct_option
@loading_options
@output_options
@click.pass_context
def gate(
    context: click.Context,
    /,
    file: str,
    rules: tuple[str, ...],
    gates_file: str | None,
    baseline: str | None,
    junit: Path | None,
    comment: Path | None,
    loading: Loading,
    output: Output,
    **settings: Any,
) -> int:
    """Hold a pipeline to rules; ends with 1 where one does not hold.

    A rule is a figure, an operator, a number. Figures: mean, median, p95 (any percentile), min,
    max, std, n, unscored, share_below(METRIC, T), share_above(METRIC, T), correct; ci_low and
    ci_high of a mean or of any of these. Against a baseline: no_regression(METRIC, margin=M),
    difference, pvalue, pvalue_adjusted, wins, losses, ties. Operators: >= > <= < ==.

    In a workflow of GitHub it annotates and appends to the step's summary.
    """
    for path in (junit, comment):
        if path is not None:
            check_free(path, force=bool(context.params.get("force")))
    asked = _asked(rules, gates_file, settings, loading)
    result = _pointing(_gated, file, baseline, asked, loading)
    output.write({result.title: result})
    _write_beside(result, junit, comment)
    return 0 if result.passed else FAILED


@dataclass(frozen=True)
class _Asked:
    """The rules, and what the file of gates and the options say besides."""

    rules: tuple[Rule, ...]
    settings: dict[str, Any]


def _asked(
    rules: tuple[str, ...], gates_file: str | None, given: dict[str, Any], loading: Loading
) -> _Asked:
    if not rules and gates_file is None:
        raise click.UsageError(
            "Say what must hold: --rule 'mean(faithfulness) >= 0.8', or --gates."
        )
    parse = load(f"{_GATES}.grammar:parse_rule")
    written = [_pointing(parse, rule) for rule in rules]
    if gates_file is None:
        in_file, settings = (), {}
    else:
        found = _pointing(load(f"{_GATES}.gates_file:read_gates"), gates_file)
        in_file, settings = found.rules, found.settings
    settings = {**settings, **{name: one for name, one in given.items() if one is not None}}
    if loading.correct is not None:
        settings["correct"] = correct_rule(loading.correct)
    return _Asked((*in_file, *written), settings)


def _gated(file: str, baseline: str | None, asked: _Asked, loading: Loading) -> GateResult:
    told = [file] if baseline is None else [baseline, file]
    runs = loading.load_all(told)
    notes = [f"{run.name}: {one}" for run in runs for one in run.notes]
    if baseline is None:
        return runs[0].gate(*asked.rules, **asked.settings).with_notes(*notes)
    settings = dict(asked.settings)
    correct = settings.pop("correct", None)
    comparison = rageval_report.compare(*runs, **settings)
    return comparison.gate(*asked.rules, correct=correct).with_notes(*notes)


def _pointing(do: Any, *arguments: Any) -> Any:
    """Do it; where a rule is wrong, show it with a caret under the character before the error."""
    wrong = load(f"{_GATES}.grammar:RuleError")
    try:
        return do(*arguments)
    except wrong as exc:
        for line in exc.pointer:
            click.echo(f"note: {line}", err=True)
        raise DataError(exc.headline.replace(_IN_PYTHON, "--baseline FILE")) from exc


def _write_beside(result: GateResult, junit: Path | None, comment: Path | None) -> None:
    """What CI systems read: a file of JUnit, a comment, and what GitHub shows."""
    comment_text = functools.cache(lambda: _comment(result))
    if junit is not None:
        write_atomically(junit, load("rageval_report.render.junit:render")(result))
        note(f"wrote {junit}")
    if comment is not None:
        write_atomically(comment, comment_text())
        note(f"wrote {comment}")
    tell_github(result, comment_text)


def _comment(result: GateResult) -> str:
    write = load("rageval_report.render.pull_request:pull_request_comment")
    text: str = write(result, result.failing_queries())
    return text
