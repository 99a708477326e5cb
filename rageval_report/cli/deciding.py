"""rank, gate, plan: which pipeline to take, whether it may ship, how many queries that needs."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

import rageval_report as rr
from rageval_report.cli.command import command, group_of
from rageval_report.cli.options import Options
from rageval_report.cli.output import Output, check_files, note, write_file
from rageval_report.cli.sources import Loading, notes_of, open_runs
from rageval_report.errors import DataError

if TYPE_CHECKING:
    from rageval_report.analysis.gate import GateResult
    from rageval_report.analysis.gates_file import Gates
    from rageval_report.analysis.objectives import Objective
    from rageval_report.analysis.rules import Rule, Word

_UNDECIDED = "undecided"


@command("rank")
def rank(options: Options) -> None:
    """Rank several pipelines, metric by metric, on the queries that all of them scored.

    A FILE may be a folder, a glob in quotes ('runs/*.csv') or an address such as
    mlflow:/EXPERIMENT or sqlite:///FILE?table=NAME. With -o FILE.html, one page that says which
    pipeline to take.
    """
    is_weighed = bool(options.weighted or options.weights or options.objectives)
    views = {"pairs": options.pairs, "pareto": options.pareto}
    views["weighted"] = is_weighed and not options.pareto
    chosen = [name for name, is_chosen in views.items() if is_chosen]
    if len(chosen) > 1:
        raise click.UsageError("Choose one of --weighted, --pareto and --pairs.")
    view = chosen[0] if chosen else "rank"
    output = Output.of(options)
    is_page = view == "rank" and output.is_page(options)
    if options.by is not None and not is_page:
        raise click.UsageError("--by is for a page: -o FILE.html; slices has tables of groups.")
    ranking, notes = _ranking(options, view)
    if is_page:
        page = {"pictures": not options.no_pictures, "longest_text": options.longest_text}
        output.write_page(ranking.report(by=options.by, **page), notes)
        return
    weights = dict(options.weights) or None
    result: rr.Result = ranking
    if view == "pareto":
        result = ranking.pareto(_objectives(options), weights)
    elif view == "weighted":
        result = ranking.weighted(weights, _objectives(options))
    elif view == "pairs":
        result = ranking.pairs
    output.write(result.with_notes(*notes))


def _ranking(options: Options, view: str) -> tuple[rr.Ranking, list[str]]:
    checked = () if view in ("weighted", "pareto") else options.metrics
    runs = open_runs(options, options.files, checked, needed=_metrics_named(options))
    if len(runs) == 1:
        raise click.UsageError(
            f"rank needs at least two pipelines, and {options.files[0]} holds one, "
            f"{runs[0].name}; name another file."
        )
    ranking = rr.rank(*runs, **options.only("metrics", "clusters", *group_of("TESTS")))
    return ranking, notes_of(runs)


def _objectives(options: Options) -> dict[str, Objective] | list[str] | None:
    """The objectives; without weights, the named metrics are the objectives."""
    from rageval_report.analysis.objectives import parse_named_objectives

    as_objectives = () if options.weights else options.metrics
    return parse_named_objectives(options.objectives or as_objectives)


def _metrics_named(options: Options) -> list[str]:
    """The metrics that the options name; a weight may also belong to an objective."""
    objectives = _objectives(options) or []
    own = objectives if isinstance(objectives, dict) else {}
    names = [*([] if own else objectives), *dict(options.weights)]
    of_objectives = (metric for objective in own.values() for metric in objective.metrics)
    return [*options.metrics, *of_objectives, *(name for name in names if name not in own)]


# -- gate

_UNDECIDED_NOTES = {
    "fail": "undecided rules count as failed: exit code 3 (--undecided warn or pass lets them "
    "pass)",
    "warn": "undecided rules let pass (--undecided warn)",
    "pass": "undecided rules let pass (--undecided pass)",
}


@command("gate")
def gate(options: Options) -> int:
    """Check a pipeline against rules; exit code 1 if one fails, 3 if one is undecided.

    A rule is a figure, an operator (>= > <= < ==), a number. Figures: mean, median, p95 (any
    percentile), min, max, std, n, unscored, share_below(METRIC, T), share_above(METRIC, T),
    correct; ci_low and ci_high of these. Against a baseline: no_regression(METRIC, margin=M),
    difference, pvalue, pvalue_adjusted, wins, losses, ties. In a GitHub workflow, it also writes
    annotations and the summary of the step.
    """
    from rageval_report.reports.data import render_junit
    from rageval_report.reports.markdown import pull_request_comment

    output = Output.of(options)
    check_files(options.junit, options.comment, force=options.force)
    with _showing_the_place():
        result = _gate_result(options)
    is_brief = output.is_page_of_text and not options.verbose
    output.write(result.printed() if is_brief else result)
    # Made at most once, and only if the comment or GitHub needs it.
    comment = functools.cache(lambda: pull_request_comment(result, result.failing_queries()))
    if options.junit is not None:
        write_file(options.junit, render_junit(result))
    if options.comment is not None:
        write_file(options.comment, comment())
    _report_to_github(result, comment, options.undecided)
    if result.state == _UNDECIDED:
        note(_UNDECIDED_NOTES[options.undecided])
    return result.exit_code(options.undecided)


def _gate_result(options: Options) -> GateResult:
    gates = _gates(options)
    files = [options.file] if options.baseline is None else [options.baseline, options.file]
    runs = open_runs(options, files, every=False, needed=_ranking_metrics(gates.rules))
    *baseline, evaluation = runs
    return gates.check(evaluation, *baseline).with_notes(*notes_of(runs))


def _gates(options: Options) -> Gates:
    """The rules, and the settings of the file of gates and of the options."""
    from rageval_report.analysis.gates_file import Gates, read_gates
    from rageval_report.analysis.rules import parse_rule

    if not options.rules and options.gates_file is None:
        raise click.UsageError(
            "Say what must hold: --rule 'mean(faithfulness) >= 0.8', or --gates."
        )
    rules = tuple(parse_rule(text) for text in options.rules)
    gates = Gates(()) if options.gates_file is None else read_gates(options.gates_file)
    settings = options.only(
        *("missing", "confidence_level", "n_resamples", "seed", "clusters", "margin_method")
    )
    settings["correct"] = None if options.correct is None else options.correct.value
    chosen = {name: value for name, value in settings.items() if value is not None}
    return replace(gates, rules=(*gates.rules, *rules)).with_settings(**chosen)


def _ranking_metrics(rules: Iterable[Rule]) -> Iterator[str]:
    """The metrics of rankings that rules name."""
    from rageval_report.metrics.ranking_scores import VIEW
    from rageval_report.scores import Catalogue

    for rule in rules:
        for name in _names_in(rule.call):
            metric = Catalogue().search(name)
            if metric is not None and metric.needs == VIEW:
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
    from rageval_report.analysis.rules import IN_PYTHON, RuleError

    try:
        yield
    except RuleError as exc:
        for line in exc.pointer:
            click.echo(f"note: {line}", err=True)
        raise DataError(exc.headline.replace(IN_PYTHON, "--baseline FILE")) from exc


# -- what GitHub Actions shows of a gate: annotations, the summary and an output of the step

_KINDS = {"fail": "error", "warn": "warning", "pass": "notice"}
_MOST_ANNOTATIONS = 10  # of each kind: GitHub shows no more for one step


def _report_to_github(result: GateResult, comment: Callable[[], str], undecided: str) -> None:
    """Report the outcome, if the environment says that this is a step of a workflow."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotation_lines(result, undecided):
            click.echo(line, err=True)  # a workflow reads both streams; standard output is ours
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        _append(summary, comment())
    if outputs := os.environ.get("GITHUB_OUTPUT"):
        _append(outputs, f"passed={str(result.passed).lower()}\nstate={result.state}\n")


def annotation_lines(result: GateResult, undecided: str = "fail") -> list[str]:
    """The workflow commands: an error for a rule that does not hold, a warning if it might not.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> v1 = RAGPipelineEvaluation("v1", {"query_id": ["a"], "mrr": [0.5]})
    >>> annotation_lines(v1.gate("mean(mrr) > 0.9"))[0].partition("::mean")[0]
    '::error title=mean(mrr) > 0.9'
    """
    messages: dict[str, list[tuple[str, str]]] = {kind: [] for kind in _KINDS.values()}
    for outcome in result.outcomes:
        if outcome.state == _UNDECIDED:
            kind = _KINDS[undecided]
        elif not outcome.passed:
            kind = "error"
        elif outcome.straddles:
            kind = "warning"
        else:
            continue
        messages[kind].append((outcome.request.rule.text, outcome.why))
    return [line for kind, texts in messages.items() for line in _commands(kind, texts)]


def _commands(kind: str, messages: Sequence[tuple[str, str]]) -> Iterator[str]:
    shown = list(messages)
    if len(shown) > _MOST_ANNOTATIONS:
        title = f"{len(shown) - _MOST_ANNOTATIONS + 1} more gates"
        shown = [*shown[: _MOST_ANNOTATIONS - 1], (title, f"{title}: see the summary of this step")]
    for title, message in shown:
        name = _escape(title).replace(":", "%3A").replace(",", "%2C")
        yield f"::{kind} title={name}::{_escape(message)}"


def _escape(text: str) -> str:
    # The percent sign first, or it would escape the escapes.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _append(path: str, text: str) -> None:
    """Append to a file; if it cannot be written, a note says so, and the gate is not affected."""
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as exc:
        note(f"{path} cannot be written: {exc.strerror or exc}")


# -- plan


@command("plan")
def plan(options: Options) -> None:
    """Show how many queries a difference that matters needs.

    The FILE is the baseline. Without a file the plan is made from a published mean, or for right
    and wrong answers with a mean of 0.5.
    """
    from rageval_report.analysis.plan import plan as plan_queries

    output, loading = Output.of(options), Loading(options)
    baseline, pilot = (
        loading.load_runs([name], options.metrics)[0] if name else None
        for name in (options.file, options.candidate)
    )
    result = plan_queries(
        baseline,
        candidate=pilot,
        differences=options.differences or None,
        **options.only("metrics", "mean", "sd", "n", "correlation", "n_tests", "clusters"),
        **options.only("power", "confidence_level"),
    )
    output.write(result)
