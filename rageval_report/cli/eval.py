"""The command that asks a pipeline, then scores what it answered, and reports."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rageval_report
from rageval_report._registry import load
from rageval_report.cli.group import INTERRUPTED, examples
from rageval_report.cli.judging import Judging, judging_options, noise_results
from rageval_report.cli.notes import note
from rageval_report.cli.options import quiet_option
from rageval_report.cli.output import FORMATS, Output
from rageval_report.errors import DataError, JudgeError

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.judges import Rubric
    from rageval_report.judges.chats.over_http import HttpChat
    from rageval_report.runner import Finished, RunConfig
    from rageval_report.scoring import WithJudged

SCORES, REPORT = "scores.json", "report.html"
_LINES = (".jsonl", ".ndjson")

# What is computed where nothing is asked for: the metrics for which the fields are there.
_DEFAULTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("relevant", "retrieved"), ("recall@5", "ndcg@10", "reciprocal_rank")),
    (("reference", "answer"), ("exact_match", "token_f1")),
    (("relevant", "citations"), ("citation_f1",)),
    (("answerable", "answer"), ("false_refusal", "hallucinated_answer")),
    (("latency_ms",), ("latency_ms",)),
)

# The options of this command line that say what is asked, by target and setting.
_TARGET_OPTIONS = {
    "url": ("http", "url"),
    "method": ("http", "method"),
    "headers": ("http", "headers"),
    "body": ("http", "body"),
    "stream": ("http", "stream"),
    "health_url": ("http", "health_url"),
    "config_url": ("http", "config_url"),
    "function": ("callable", "function"),
    "line": ("command", "line"),
}
_RUN_OPTIONS = (
    *("name", "records", "concurrency", "rate", "warm_up", "samples", "seed", "table", "metrics"),
)


def _pairs(
    context: click.Context, option: click.Parameter, told: tuple[str, ...]
) -> dict[str, str]:
    """NAME=VALUE, each name once."""
    del context
    found = {}
    for one in told:
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise click.BadParameter(f"expected NAME=VALUE, got {one!r}", param=option)
        found[name.strip()] = value.strip()
    return found


def _json(context: click.Context, option: click.Parameter, told: str | None) -> Any:
    del context
    try:
        return None if told is None else json.loads(told)
    except ValueError as exc:
        raise click.BadParameter(f"expected JSON: {exc}", param=option) from exc


def _target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is asked, and how."""
    for option in reversed(
        (
            click.option("--url", "--rag-url", metavar="URL", help="A server that is asked."),
            click.option(
                "--callable",
                "function",
                metavar="MODULE:FUNCTION",
                help="A Python function of a question instead.",
            ),
            click.option(
                "--command", "line", metavar="LINE", help="A command that reads JSON Lines instead."
            ),
            click.option("--method", metavar="NAME", help="Of the request; POST where not given."),
            click.option(
                "--header",
                "headers",
                multiple=True,
                callback=_pairs,
                metavar="NAME=VALUE",
                help="A header; a key is named: 'Authorization=Bearer ${RAG_API_KEY}'.",
            ),
            click.option(
                "--body",
                callback=_json,
                metavar="JSON",
                help='What is sent; {question} is filled in. \'{"question": "{question}"}\' where '
                "not given.",
            ),
            click.option(
                "--path",
                "paths",
                multiple=True,
                callback=_pairs,
                metavar="FIELD=PATH",
                help="Where a field stands in the answer, as answer=choices.0.message.content or "
                "retrieved=sources.*.id.",
            ),
            click.option(
                "--stream",
                metavar="PATH",
                help="The answer comes as server-sent events; where its pieces stand in them.",
            ),
            click.option("--timeout", type=float, metavar="SECONDS", help="For one query."),
            click.option("--health-url", metavar="URL", help="What answers 200 when all is well."),
            click.option(
                "--config-url", metavar="URL", help="What tells how the server is set up."
            ),
        )
    ):
        command = option(command)
    return command


def _run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How fast, how many."""
    for option in reversed(
        (
            click.option("--name", metavar="NAME", help="The pipeline's; the folder's otherwise."),
            click.option("--concurrency", type=int, metavar="N", help="Queries at once; 4."),
            click.option("--rate", type=float, metavar="N", help="Requests a second at most."),
            click.option(
                "--warm-up", type=int, metavar="N", help="Queries asked before, unmeasured."
            ),
            click.option("--samples", type=int, metavar="N", help="Queries drawn at random; all."),
            click.option("--seed", type=int, metavar="N", help="For the draw; 0."),
            click.option("--resume", is_flag=True, help="Go on with the run in FOLDER."),
            click.option("--retry-failed", is_flag=True, help="And ask again what failed."),
            click.option(
                "--table", type=click.Choice(["parquet", "jsonl"]), help="How records are written."
            ),
        )
    ):
        command = option(command)
    return command


@click.command(
    name="eval",
    epilog=examples(
        "rageval-report eval --callable my_rag:answer --records queries.jsonl -o run",
        "rageval-report eval --callable my_rag:answer --records queries.jsonl -o run "
        "--samples 2 --seed 7 --metric recall@5 --metric exact_match",
        "rageval-report eval --config eval.yaml -o run",
    ),
)
@click.option(
    "--config", "config_path", metavar="FILE", help="Settings in YAML; options go before."
)
@click.option(
    "--records", metavar="FILE", help="The queries, with gold: .jsonl, .csv, .parquet ..."
)
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="FOLDER",
    help="Where the run is kept.",
)
@_target_options
@_run_options
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="What is computed; may be repeated. What the fields allow where not given.",
)
@judging_options("judge-")
@click.option(
    "--format", "format_name", type=click.Choice(list(FORMATS)), help="How the report is printed."
)
@quiet_option
def evaluate(
    config_path: str | None,
    folder: Path,
    resume: bool,
    retry_failed: bool,
    format_name: str | None,
    quiet: bool,
    judging: Judging,
    **given: Any,
) -> int:
    """Ask a pipeline every query, score its answers, and report.

    A server is asked with --url http://localhost:8001/answer. Every answer is on disk before the
    next question is asked; a run that was stopped goes on with --resume. With --judge
    faithfulness --model llama3.1 a chat model judges the answers in the same go. FOLDER then holds
    the records, run.json, scores.json for the other commands, and report.html.
    """
    del quiet  # `note` asks the context
    config = _config(config_path, given)
    _check_folder(folder, resume=resume or retry_failed)
    if config.target_name == "callable":
        sys.path.insert(0, str(Path.cwd()))  # a function is looked for in the user's own folder
    wanted = _wanted(config, judging)
    finished = _asked(config, folder, resume, retry_failed)
    found = _scored(finished, config, folder, wanted)
    evaluation = found.evaluation
    results = {evaluation.name: evaluation.evaluation_report(), **noise_results(found.judged)}
    evaluation.save(folder / SCORES)
    Output(".html", folder / REPORT).write(results)
    Output(".txt" if format_name is None else FORMATS[format_name]).write(results)
    note(f"wrote {finished.records}, {folder / 'run.json'} and {folder / SCORES}")
    return INTERRUPTED if found.is_interrupted else 0


@dataclass(frozen=True)
class _Wanted:
    """What is computed and judged, and by whom; known before the pipeline is asked."""

    computed: tuple[str, ...] = ()
    rubrics: tuple[Rubric, ...] = ()
    chat: HttpChat | None = None
    how: dict[str, Any] = field(default_factory=dict)


def _wanted(config: RunConfig, judging: Judging) -> _Wanted:
    """A wrong name or a missing key is told now, not after a thousand queries."""
    asked = [*config.metrics, *judging.chosen()]
    if not asked:
        return _Wanted()
    computed, rubrics = load("rageval_report.scoring:computed_and_judged")(asked)
    chat = judging.chat() if rubrics else None
    how = {} if chat is None else {**judging.how(chat.model), "n_repeats": judging.n_repeats}
    return _Wanted(tuple(computed), tuple(rubrics), chat, how)


def _config(path: str | None, given: Mapping[str, Any]) -> RunConfig:
    """The file's settings, and before them what stands on the command line."""
    runner = load("rageval_report.runner")
    config: RunConfig = runner.RunConfig() if path is None else runner.read_config(path)
    told = {key: given[key] for key in _RUN_OPTIONS if given[key] not in (None, ())}
    settings = {name: dict(section) for name, section in config.settings.items()}
    for option, (target, key) in _TARGET_OPTIONS.items():
        if given[option]:
            value = {"text": given[option]} if option == "stream" else given[option]
            settings.setdefault(target, {})[key] = value
    asked = [one for one in ("url", "function", "line") if given[one]]
    if len(asked) > 1:
        raise click.UsageError("Give one of --url, --callable and --command.")
    if asked:
        told["target"] = _TARGET_OPTIONS[asked[0]][0]
    config = replace(config, settings=settings, **told)
    _put_in_every(settings, config.target_name, given)
    return config


def _put_in_every(
    settings: dict[str, dict[str, Any]], target: str, given: Mapping[str, Any]
) -> None:
    """Settings that more than one target has."""
    section = settings.setdefault(target, {})
    if given["paths"]:
        section["response"] = {**section.get("response", {}), **given["paths"]}
    if given["timeout"] is not None:
        section["timeout"] = given["timeout"]


def _check_folder(folder: Path, *, resume: bool) -> None:
    if (folder / "journal.jsonl").exists() and not resume:
        raise DataError(
            f"{folder} holds a run already: go on with it by --resume, or choose another folder"
        )


def _asked(config: RunConfig, folder: Path, resume: bool, retry_failed: bool) -> Finished:
    if config.records is None:
        raise click.UsageError("Missing option '--records'.")
    runner = load("rageval_report.runner")
    queries = _queries(config.records)
    with runner.target_from(config) as target:
        try:
            finished: Finished = runner.run(
                queries, target, folder, config, resume=resume, retry_failed=retry_failed
            )
        except KeyboardInterrupt:
            note(f"stopped; what was answered is kept in {folder}: go on with --resume")
            raise
    for told in finished.notes:
        note(told)
    if finished.n_failed:
        note(f"ask those again with --retry-failed -o {folder}")
    return finished


def _queries(path: str) -> str | pd.DataFrame:
    """A file of lines is read line by line by the runner, anything else here, whole."""
    if Path(path).suffix.lower() in _LINES:
        return path
    table: pd.DataFrame = rageval_report.read_records(path)
    return table


def _scored(finished: Finished, config: RunConfig, folder: Path, wanted: _Wanted) -> WithJudged:
    records = rageval_report.read_records(finished.records, unretrieved_citations="keep")
    metrics = [*(_allowed(records) if not config.metrics else wanted.computed), *wanted.rubrics]
    if not metrics:
        raise DataError(
            f"the answers are in {finished.records}, but nothing can be computed from them: the "
            "queries have no relevant and no reference"
        )
    try:
        found: WithJudged = load("rageval_report.scoring:score_and_judge")(
            records,
            metrics,
            name=config.name or folder.absolute().name,
            tools=load("rageval_report.metrics.views:Tools")(duplicates="best"),
            chat=wanted.chat,
            judging=wanted.how,
            config=finished.config,
            created=finished.created,
        )
    except JudgeError:
        note(f"nothing could be judged; the answers are kept in {folder}: go on with --resume")
        raise
    return found


def _allowed(records: pd.DataFrame) -> list[str]:
    """The metrics for which the fields are there."""
    return [
        metric
        for fields, names in _DEFAULTS
        if all(one in records and records[one].notna().any() for one in fields)
        for metric in names
    ]
