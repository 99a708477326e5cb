"""The settings of eval's file, overridden by the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rageval_report.analysis.objectives import objective_of
from rageval_report.cli.eval.eval import EvalArguments
from rageval_report.cli.parsing import metrics_in_rule, parse_correct_rule
from rageval_report.cli.sources import check_directions, read_query_ids
from rageval_report.errors import DataError
from rageval_report.metrics.performance import check_prices
from rageval_report.runner import RunConfig
from rageval_report.runner.eval_config import EvalConfig, gates_of
from rageval_report.scores import Catalogue, Correct


def override_config(config: EvalConfig, options: EvalArguments) -> EvalConfig:
    """The settings, overridden by the options of the command line.

    Raises
    ------
    UsageError
        If two targets are named, or queries come from two places.
    """
    if options.records and options.datasets:
        raise click.UsageError("Give one of --records and --datasets.")
    objectives = {name: objective_of(text) for name, text in options.objectives.items()}
    weights = {name: _parse_weight(name, weight) for name, weight in options.weights.items()}
    return replace(
        config,
        run=_override_run(config.run, options),
        datasets=options.datasets or (() if options.records else config.datasets),
        split=options.split or config.split,
        query_ids=read_query_ids(options.query_ids, options.query_file) or config.query_ids,
        folder=options.folder or config.folder,
        resume=options.resume or config.resume,
        retry_failed=options.retry_failed or config.retry_failed,
        gates=config.gates if options.gates_file is None else gates_of(options.gates_file),
        groups=None if options.metrics else config.groups,
        prices={**config.prices, **check_prices(options.pipeline_prices)},
        weights=weights or config.weights,
        objectives={**config.objectives, **objectives},
        is_weighted=bool(config.is_weighted or options.weighted or weights or objectives),
        level=options.level or config.level,
        duplicates=options.duplicates or config.duplicates,
        no_relevant=options.no_relevant or config.no_relevant,
        dialect=options.dialect or config.dialect,
        match_ids=options.match_ids or config.match_ids,
        strict=options.strict or config.strict,
        allow=options.allow or config.allow,
        stop_when=options.stop_when or config.stop_when,
        baseline=options.baseline or config.baseline,
        looks=options.looks or config.looks,
        correct=config.correct if options.correct is None else _parse_correct(options.correct),
    )


def _parse_correct(text: str) -> Correct:
    """The rule for a correct answer; a threshold on the wrong side of a known metric is refused."""
    names, catalogue = metrics_in_rule(text), Catalogue()
    known = {name: metric for name in names if (metric := catalogue.find(name)) is not None}
    if len(known) == len(names):
        check_directions(text, known)
    return parse_correct_rule(text)


def _parse_weight(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = f"--weight {name}={text}: write NAME=W, such as faithfulness=2."
        raise click.UsageError(message) from None


def _override_run(config: RunConfig, options: EvalArguments) -> RunConfig:
    settings: dict[str, dict[str, Any]] = config.sections
    for target, section in _target_settings(options).items():
        if section:
            settings.setdefault(target, {}).update(section)
    _put_stream(settings, options)
    targets = {"http": options.url, "callable": options.function, "command": options.line}
    chosen = [target for target, value in targets.items() if value]
    if len(chosen) > 1:
        raise click.UsageError("Give one of --url, --callable and --command.")
    overrides: dict[str, Any] = {
        "name": options.name,
        "records": options.records,
        "concurrency": options.concurrency,
        "rate": options.rate,
        "warm_up": options.warm_up,
        "samples": options.samples,
        "seed": options.seed,
        "table": options.table,
        "metrics": options.metrics or None,
        "target": chosen[0] if chosen else None,
    }
    overrides = {name: value for name, value in overrides.items() if value is not None}
    config = replace(config, settings=settings, **overrides)
    if config.target is None and not settings:
        raise click.UsageError(
            "Name the pipeline to ask: give --url, --callable or --command, or --config with a "
            "file that has a section http, callable or command."
        )
    _put_shared(settings, config.target_name, options)
    return config


def _target_settings(options: EvalArguments) -> dict[str, dict[str, Any]]:
    """The settings of each target that are on the command line."""
    settings: dict[str, dict[str, Any]] = {
        "http": {
            "url": options.url,
            "method": options.method,
            "headers": options.headers,
            "body": options.body,
            "health_url": options.health_url,
            "config_url": options.config_url,
        },
        "callable": {"function": options.function},
        "command": {"line": options.line},
    }
    return {
        target: {key: value for key, value in section.items() if value}
        for target, section in settings.items()
    }


def _put_stream(settings: dict[str, dict[str, Any]], options: EvalArguments) -> None:
    """Override the settings of events key by key."""
    stream = {"text": options.stream, "done": options.stream_end}
    overrides = {key: value for key, value in stream.items() if value is not None}
    if overrides:
        section = settings.setdefault("http", {})
        section["stream"] = {**(section.get("stream") or {}), **overrides}


def _put_shared(settings: dict[str, dict[str, Any]], target: str, options: EvalArguments) -> None:
    """Override the settings that several targets have."""
    section = settings.setdefault(target, {})
    if options.paths:
        section["response"] = {**section.get("response", {}), **options.paths}
    if options.timeout is not None:
        section["timeout"] = options.timeout


def check_queries(config: EvalConfig) -> None:
    """Check that the settings name queries.

    Raises
    ------
    UsageError
        If they name none.
    """
    if not config.datasets and config.run.records is None:
        raise click.UsageError("Missing option '--records' or '--datasets'.")


def required_folder(config: EvalConfig) -> Path:
    """The folder of the run.

    Raises
    ------
    UsageError
        If neither the command line nor the file names it.
    DataError
        If it is a file.
    """
    if config.folder is None:
        raise click.UsageError("Missing option '-o' / '--output', or runs_dir and name in a file.")
    if config.folder.is_file():
        raise DataError(f"{config.folder} is a file; name a folder")
    return config.folder
