"""score and eval: records, rankings and traces are scored; a pipeline is asked first."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import click

import rageval_report as rr
from rageval_report.cli.command import command
from rageval_report.cli.judge import estimate_result, estimate_settings, judge_setup
from rageval_report.cli.options import (
    Options,
    stated_flags,
)
from rageval_report.cli.output import INTERRUPTED, Output, check_files, note, write_file
from rageval_report.cli.sources import (
    PipelineSource,
    check_unique_names,
    parse_sources,
    read_query_ids,
)
from rageval_report.errors import DataError, JudgeError, named

if TYPE_CHECKING:
    from rageval_report.analysis.effects import SettingValue
    from rageval_report.runner.eval_config import EvalConfig
    from rageval_report.runner.eval_queries import QuerySource
    from rageval_report.runner.evaluate import EvaluationRun
    from rageval_report.runner.experiment import Experiment
    from rageval_report.runner.judge_setup import JudgeSetup

# -- score


class _ScoredKind(NamedTuple):
    """A kind of thing that can be scored: the options it takes, and those it needs."""

    options: str
    needed: str


_SHARED = "metrics no_relevant duplicates dialect match_ids"
_KINDS = {
    "rankings": _ScoredKind(
        f"runs qrels ties relevance_level drop_self {_SHARED}", "runs qrels metrics"
    ),
    "traces": _ScoredKind("gold trace k gates missing dialect match_ids report_path", "gold trace"),
    "records": _ScoredKind(f"records level {_SHARED}", "records"),
}


@command("score")
def score(options: Options) -> int:
    """Score records with answers, rankings with judgments, or traces with a gold set.

    Without --metric, records are scored with all metrics that their fields allow. Traces have
    gates: the exit code is 1 if one fails. NAME=FILE names a pipeline; several give one report
    each.
    """
    output = Output.of(options)
    kind = _kind_of(options)
    if options.queries is not None:
        if len(options.runs or options.records) > 1:
            raise click.UsageError("--queries is for one run; score the others one by one.")
        check_files(options.queries, force=options.force)
    if kind == "traces":
        return _score_traces(options, output)
    sources = _named_sources(options, kind)
    score_source = _score_ranking if kind == "rankings" else _score_records
    evaluations = [score_source(source, options) for source in sources]
    reports = [evaluation.evaluation_report() for evaluation in evaluations]
    output = replace(output, verbose=True)  # what was scored, and at which cost
    output.write(*reports, names=[evaluation.name for evaluation in evaluations])
    _save_queries(evaluations[0], options.queries)
    return 0


def _save_queries(evaluation: rr.RAGPipelineEvaluation, path: Path | None) -> None:
    if path is not None:
        note(f"wrote {evaluation.save(path)}")


def _kind_of(options: Options) -> str:
    """The kind that the options on the command line belong to."""
    stated = {name: stated_flags(kind.options.split()) for name, kind in _KINDS.items()}
    every = {flag for flags in stated.values() for flag in flags}
    if not every:
        raise click.UsageError(
            "Say what to score: --run, --qrels and --metric, or --records, or --gold and --trace."
        )
    matches = [name for name, flags in stated.items() if every == set(flags)]
    if not matches:
        kind = max(stated, key=lambda name: len(stated[name]))
        other = min(every - set(stated[kind]))
        raise click.UsageError(
            f"{stated[kind][0]} scores {kind}, and {other} does not belong to them; give the "
            "options of one kind."
        )
    for name in _KINDS[matches[0]].needed.split():
        if not options.get(name):
            flag = {"runs": "run", "metrics": "metric"}.get(name, name)
            raise click.UsageError(f"Missing option '--{flag}'.")
    return matches[0]


def _named_sources(options: Options, kind: str) -> list[PipelineSource]:
    """The files, each with a name of its own."""
    from rageval_report.readers.ranking_files import ranking_name

    name_of: Callable[[PipelineSource], str] = (
        (lambda source: ranking_name(source.path))
        if kind == "rankings"
        else (lambda source: source.stem)
    )
    sources = [
        replace(source, name=source.name or name_of(source))
        for source in parse_sources(options.runs or options.records)
    ]
    check_unique_names(source.name for source in sources)
    return sources


def _score_ranking(source: PipelineSource, options: Options) -> rr.RAGPipelineEvaluation:
    keywords = ("ties", "relevance_level", "no_relevant", "duplicates", "dialect")
    return rr.score_rankings(
        source.path,
        options.qrels,
        list(options.metrics),
        name=source.name,
        drop_self=options.drop_self,
        match_ids=options.match_ids,
        strict=options.strict,
        allow=options.allow,
        **options.only(*keywords),
    )


def _score_records(source: PipelineSource, options: Options) -> rr.RAGPipelineEvaluation:
    """The metrics that are named, or else those that the fields of the records allow."""
    from rageval_report.runner.eval_queries import allowed_metrics

    table = rr.read_records(source.path, unretrieved_citations="keep")
    metrics = list(options.metrics) or allowed_metrics(table, dialect=options.dialect)
    if not metrics:
        raise DataError(
            f"{source.path}: nothing can be computed: expected retrieved and relevant, or answer "
            f"and reference, among the fields; found {named(table.columns, 12)}. If a model is to "
            "judge: rageval-report judge FILE"
        )
    return rr.score(
        table,
        metrics,
        name=source.name or source.stem,
        match_ids=options.match_ids,
        strict=options.strict,
        allow=options.allow,
        **options.only("level", "duplicates", "no_relevant", "dialect"),
    )


def _score_traces(options: Options, output: Output) -> int:
    from rageval_report.metrics import score_traces

    check_files(options.report_path, force=options.force)
    result = score_traces(
        *(options.gold, options.trace, options.k, options.gates),
        **options.only("missing", "dialect"),
        strict=options.strict,
        allow=options.allow,
    )
    output.write(result, names=[result.title])
    if options.report_path is not None:
        write_file(options.report_path, json.dumps(result.report(), indent=2) + "\n")
    _save_queries(result.evaluation, options.queries)
    return 0 if result.passed else 1


# -- eval


@command("eval")
def evaluate(options: Options) -> int:
    """Ask a pipeline every query, score its answers, and report.

    Every answer is on disk before the next question is asked; a run that was stopped goes on with
    --resume. FOLDER then holds the records, run.json, scores.json for the other commands, and
    report.html. With --vary, every combination of some settings is evaluated, each in a folder of
    its own; then come the leaderboard and the effect of each setting.
    """
    from rageval_report.runner.evaluate import run_evaluation
    from rageval_report.runner.experiment import check_grid, run_experiment

    config, setup = _settings(options)
    folder = _required_folder(config)
    if config.target_name == "callable":
        sys.path.insert(0, str(Path.cwd()))  # users keep their function in the current folder
    output = replace(Output.to(None, options.format_name), verbose=True)
    if options.varied:
        values = {name: _values_of(text) for name, text in options.varied.items()}
        grid = check_grid(values)
        if options.dry_run:
            return _rehearse_grid(grid, config, folder)
        return _write_experiment(run_experiment(grid, config, setup, note), output)
    if options.dry_run:
        return _rehearse(config, setup, output)
    return _write_evaluation(run_evaluation(config, setup, note), output)


def _write_evaluation(run: EvaluationRun, output: Output) -> int:
    """Write the tables to standard output, and say which files there are."""
    from rageval_report.runner.collecting import RUN
    from rageval_report.runner.evaluate import REPORT, SCORES

    results = {run.evaluation.name: run.evaluation.evaluation_report(), **run.tables}
    output.write(*results.values(), names=results)
    folder, records = run.folder, run.record_source
    if isinstance(folder, Path) and isinstance(records, Path):
        files = (records.name, RUN, SCORES, REPORT)
        note(f"wrote {', '.join(str(folder / name) for name in files)}")
    if run.failure is not None:
        raise JudgeError(
            f"the judge failed; the answers and what was computed are kept in {folder}: go on with "
            f"--resume. The cause: {run.failure}"
        )
    if run.is_interrupted:
        return INTERRUPTED
    return 0 if run.gates is None else run.gates.exit_code()


def _write_experiment(tried: Experiment, output: Output) -> int:
    results = dict(_tables(tried))
    output.write(*results.values(), names=results)
    return 0 if tried.is_complete and all(run.passed for run in tried.runs.values()) else 1


def _tables(tried: Experiment) -> Iterator[tuple[str, rr.Result]]:
    yield "experiment", tried.summary()
    if len(tried.runs) > 1:
        yield "ranking", tried.rank()
    if any(len(values) > 1 for values in tried.grid.values()):
        try:
            yield "effects", tried.effects()
        except DataError as exc:  # a combination is missing; the rest is worth showing
            note(str(exc))


def _values_of(text: str) -> list[SettingValue]:
    """The values in a text: numbers, true, false and null as in JSON; all others are texts."""
    return [_value_of(part.strip()) for part in text.split(",")]


def _value_of(text: str) -> SettingValue:
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return value if value is None or isinstance(value, str | int | float) else text


# -- the settings of eval's file, overridden by the command line


def _settings(options: Options) -> tuple[EvalConfig, JudgeSetup]:
    from rageval_report.runner.eval_config import EvalConfig, read_eval_config

    of_file = EvalConfig() if options.config is None else read_eval_config(options.config)
    config = _overridden(of_file, options)
    setup = judge_setup(options, config.judge)
    if options.no_judge:
        setup = replace(setup, section=replace(setup.section, enabled=False))
    if not config.datasets and config.queries is None:
        raise click.UsageError("Missing option '--records' or '--datasets'.")
    return config, setup


# What replaces a setting of the same name, if the command line has it.
_REPLACED = (
    *("split", "resume", "retry_failed", "level", "duplicates", "no_relevant", "dialect"),
    *("match_ids", "strict", "allow", "stop_when", "baseline"),
)


def _overridden(config: EvalConfig, options: Options) -> EvalConfig:
    from rageval_report.analysis.objectives import objective_of
    from rageval_report.metrics.performance import check_prices
    from rageval_report.runner.eval_config import gates_of

    if options.records and options.datasets:
        raise click.UsageError("Give one of --records and --datasets.")
    objectives = {}
    for text in options.objectives:
        name, equals, value = text.partition("=")
        if not (equals and name.strip()):
            raise click.UsageError(f"--objective {text!r}: write NAME=METRIC,...")
        objectives[name.strip()] = objective_of(value.strip())
    weights = dict(options.weights)
    replaced = {name: value for name in _REPLACED if (value := options.get(name))}
    return replace(
        _run_overridden(config, options),
        **replaced,
        queries=options.records or config.queries,
        datasets=options.datasets or (() if options.records else config.datasets),
        query_ids=read_query_ids(options) or config.query_ids,
        folder=options.path or config.folder,
        gates=config.gates if options.gates_file is None else gates_of(options.gates_file),
        metrics=options.metrics or config.metrics,
        groups=None if options.metrics else config.groups,
        prices={**config.prices, **check_prices(dict(options.pipeline_prices))},
        weights=weights or config.weights,
        objectives={**config.objectives, **objectives},
        is_weighted=bool(config.is_weighted or options.weighted or weights or objectives),
        correct=_correct(options, config),
    )


def _correct(options: Options, config: EvalConfig) -> Any:
    """The rule for a correct answer; a threshold on the wrong side of a known metric is refused."""
    from rageval_report.scores import Catalogue

    if options.correct is None:
        return config.correct
    names, catalogue = options.correct.metrics, Catalogue()
    known = {name: metric for name in names if (metric := catalogue.find(name)) is not None}
    if len(known) == len(names):
        options.correct.check(known)
    return options.correct.value


def _run_overridden(config: EvalConfig, options: Options) -> EvalConfig:
    settings: dict[str, dict[str, Any]] = config.sections
    http = {
        "url": options.url,
        "method": options.http_method,
        "headers": dict(options.headers),
        "body": options.body,
        "health_url": options.health_url,
        "config_url": options.config_url,
    }
    sections: dict[str, dict[str, Any]] = {
        "http": http,
        "callable": {"function": options.function},
        "command": {"line": options.line},
    }
    for target, section in sections.items():
        stated = {key: value for key, value in section.items() if value}
        if stated:
            settings.setdefault(target, {}).update(stated)
    targets = {"http": options.url, "callable": options.function, "command": options.line}
    chosen = [target for target, value in targets.items() if value]
    if len(chosen) > 1:
        raise click.UsageError("Give one of --url, --callable and --command.")
    overrides = options.only("name", "concurrency", "samples", "seed")
    overrides["target"] = chosen[0] if chosen else None
    changes: dict[str, Any] = {key: value for key, value in overrides.items() if value is not None}
    config = replace(config, settings=cast("Any", settings), **changes)
    if config.target is None and not settings:
        raise click.UsageError(
            "Name the pipeline to ask: give --url, --callable or --command, or --config with a "
            "file that has a section http, callable or command."
        )
    section = settings.setdefault(config.target_name, {})  # of settings that several targets have
    if options.paths:
        section["response"] = {**section.get("response", {}), **options.paths}
    if options.timeout is not None:
        section["timeout"] = options.timeout
    return config


def _required_folder(config: EvalConfig) -> Path:
    if config.folder is None:
        raise click.UsageError("Missing option '-o' / '--output', or runs_dir and name in a file.")
    if config.folder.is_file():
        raise DataError(f"{config.folder} is a file; name a folder")
    return config.folder


# -- what would be asked, without asking

# A stand-in for the answer of a query that was not asked yet, so that calls can be counted.
_STAND_IN = {"answer": "An answer.", "contexts": ["A context."]}
_COUNTS = ("judge_model", "judge", "n_queries", "n_not_judged", "n_calls")
_UNKNOWN = ("n_cached", "prompt_tokens", "completion_tokens", "cost_usd", "max_cost_usd")


def _rehearse_grid(grid: Any, config: EvalConfig, folder: Path) -> int:
    from rageval_report.runner.experiment import cells_of, vary

    cells = cells_of(grid)
    if config.target_name != "callable":  # the user's module is not run
        for cell in cells.values():
            vary(config, cell)  # a setting that reaches no template is an error now
    note(f"{len(cells)} combinations would be evaluated in {folder}: {', '.join(cells)}")
    return 0


def _rehearse(config: EvalConfig, setup: JudgeSetup, output: Output) -> int:
    """Show what would be asked of the pipeline, and of the judge if there is one."""
    import pandas as pd

    from rageval_report.runner import target_from
    from rageval_report.runner.collecting import RECORDS
    from rageval_report.runner.evaluate import prepare

    prepared = prepare(config, setup, note)
    queries, plan = prepared.queries, prepared.plan
    if config.target_name != "callable":  # making that one runs the user's module
        target_from(queries.config).close()  # its mistakes are found now
    rows = _drawn_rows(queries)
    path = _required_folder(config) / RECORDS
    records = path if path.exists() else None
    notes = ["nothing was asked"]
    if records is not None:
        notes.append(f"{records} holds answers: with --resume these are not asked again")
    frame = pd.DataFrame([{"target": config.target_name, "n_queries": len(rows)}])
    results = {"pipeline": rr.Result("The pipeline", frame, queries.about, tuple(notes))}
    if plan.chats:
        results["judge"] = _judge_estimate(rows, records, plan, setup)
    output.write(*results.values(), names=results, what="part")
    return 0


def _drawn_rows(source: QuerySource) -> list[dict[str, Any]]:
    """The queries that are drawn, as rows."""
    from rageval_report.runner.query_source import queries_of, sample_mask

    queries = queries_of(source.queries)
    is_drawn = sample_mask(queries, source.config.samples, source.config.seed)
    return [query.row_as_given for query in queries if is_drawn[query.row]]


def _judge_estimate(
    rows: Sequence[dict[str, Any]], records: Path | None, plan: Any, setup: JudgeSetup
) -> rr.Result:
    from rageval_report.judges import estimate
    from rageval_report.records import record_table
    from rageval_report.runner.eval_queries import allowed_rubrics

    table = record_table(
        [{**row, **_STAND_IN} for row in rows]
        if records is None
        else rr.read_records(records, unretrieved_citations="keep"),
        unretrieved_citations="keep",
    )
    frame = estimate(
        table,
        list(plan.rubrics) or allowed_rubrics(table),
        plan.chats,
        n_repeats=setup.repeats,
        cache=setup.cache(),
        prices=setup.prices(plan.chats),
    )
    if records is not None:
        return estimate_result(setup, plan.chats, frame)
    return rr.Result(
        "Estimate",
        frame.assign(**dict.fromkeys(_UNKNOWN, math.nan)),
        estimate_settings(setup, plan.chats),
        (
            "there are no answers yet: calls are counted as if every query was answered from "
            "contexts; tokens and cost are known once FOLDER holds answers, such as those of a "
            "run with --samples 20 --no-judge",
        ),
        headline=tuple(name for name in _COUNTS if name in frame),
    )
