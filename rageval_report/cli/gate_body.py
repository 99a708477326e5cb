"""gate: evaluate rules on a pipeline, and report the outcome to a CI system."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import click

from rageval_report.analysis.gate import UNDECIDED, GateResult
from rageval_report.analysis.gate_figures import GateKeywords
from rageval_report.analysis.gates_file import Gates, read_gates
from rageval_report.analysis.rules import IN_PYTHON, Rule, RuleError, Word, parse_rule
from rageval_report.cli.gate import GateArguments
from rageval_report.cli.github import report_to_github
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output, check_files, write_text
from rageval_report.cli.pairs import notes_of
from rageval_report.cli.parsing import parse_correct_rule
from rageval_report.cli.scans import ScanLoading
from rageval_report.cli.sources import Loading
from rageval_report.errors import DataError
from rageval_report.metrics.ranking_scores import VIEW as RANKINGS
from rageval_report.render.data import render_junit
from rageval_report.render.markdown import pull_request_comment
from rageval_report.scores.metric import Catalogue

if TYPE_CHECKING:
    from rageval_report.evaluation import RAGPipelineEvaluation
    from rageval_report.scale.scan import EvaluationScan

_UNDECIDED_NOTES = {
    "fail": "undecided rules count as failed: exit code 3 (--undecided warn or pass lets them "
    "pass)",
    "warn": "undecided rules let pass (--undecided warn)",
    "pass": "undecided rules let pass (--undecided pass)",
}


def gate(options: GateArguments) -> int:
    """Evaluate the rules, and write their outcome to every requested output."""
    output = Output.of(options)
    check_files(options.junit, options.comment, force=options.force)
    with _showing_the_place():
        result = _evaluate(options, _request(options))
    is_brief = output.is_page_of_text and not options.verbose
    output.write({result.title: result.printed() if is_brief else result})
    # Made at most once, and only if the comment or GitHub needs it.
    comment = functools.cache(lambda: pull_request_comment(result, result.failing_queries()))
    if options.junit is not None:
        write_text(render_junit(result), options.junit, kind="junit")
    if options.comment is not None:
        write_text(comment(), options.comment, kind="markdown")
    report_to_github(result, comment, undecided=options.undecided)
    if result.state == UNDECIDED:
        note(_UNDECIDED_NOTES[options.undecided])
    return result.exit_code(options.undecided)


def _request(options: GateArguments) -> Gates:
    """The rules, and the settings of the file of gates and of the options."""
    if not options.rules and options.gates_file is None:
        raise click.UsageError(
            "Say what must hold: --rule 'mean(faithfulness) >= 0.8', or --gates."
        )
    rules = tuple(parse_rule(text) for text in options.rules)
    gates = Gates(()) if options.gates_file is None else read_gates(options.gates_file)
    overrides = {
        "missing": options.missing,
        "confidence_level": options.confidence_level,
        "n_resamples": options.n_resamples,
        "seed": options.seed,
        "clusters": options.clusters,
        "margin_method": options.margin_method,
        "correct": None if options.correct is None else parse_correct_rule(options.correct),
    }
    settings = {name: value for name, value in overrides.items() if value is not None}
    all_gates = replace(gates, rules=(*gates.rules, *rules))
    return all_gates.with_settings(**cast("GateKeywords", settings))


def _evaluate(options: GateArguments, gates: Gates) -> GateResult:
    files = [options.file] if options.baseline is None else [options.baseline, options.file]
    loading = Loading.of(options, _metrics_of(gates.rules))
    scans = ScanLoading(options, loading).open(files)
    runs: Sequence[RAGPipelineEvaluation | EvaluationScan] = scans or loading.load_all(files)
    *baseline, evaluation = runs
    result = gates.check(evaluation, *baseline)
    return result.with_notes(*notes_of(runs))


def _metrics_of(rules: Iterable[Rule]) -> Iterator[str]:
    """The metrics of rankings that rules name."""
    for rule in rules:
        for name in _names_in(rule.call):
            metric = Catalogue().search(name)
            if metric is not None and metric.needs == RANKINGS:
                yield name


def _names_in(call: Word) -> Iterator[str]:
    for argument in call.arguments or ():
        if argument.arguments is not None:
            yield from _names_in(argument)
        elif argument.keyword is None:
            yield argument.text


@contextlib.contextmanager
def _showing_the_place() -> Iterator[None]:
    """If a rule is wrong, show it with a caret under the character where the error is."""
    try:
        yield
    except RuleError as exc:
        for line in exc.pointer:
            click.echo(f"note: {line}", err=True)
        raise DataError(exc.headline.replace(IN_PYTHON, "--baseline FILE")) from exc
