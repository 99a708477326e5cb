"""judge: records judged by rubrics, or two pipelines' answers compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
import pandas as pd

from rageval_report.cli.group import INTERRUPTED, OK
from rageval_report.cli.judge.judge import JudgeArguments
from rageval_report.cli.judge.setup import estimate_result, judge_setup
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output, check_files
from rageval_report.errors import JudgeError
from rageval_report.files.writing import write_atomically
from rageval_report.judges import (
    Judged,
    Preferences,
    Rubric,
    estimate,
    estimate_preference,
    prefer,
    read_rubric,
)
from rageval_report.judges.options import JudgeOptions
from rageval_report.metrics.scoring import JudgedEvaluation, score_and_judge
from rageval_report.readers.record_files import read_records
from rageval_report.results import Result
from rageval_report.runner.judge_setup import (
    JudgeSetup,
    judges_results,
    noise_results,
    preference_results,
)
from rageval_report.runner.staged_scoring import judge_until
from rageval_report.scores.write import csv_text

_DEFAULT = ("faithfulness", "answer_relevancy")


def judge(options: JudgeArguments) -> int:
    """Estimate, judge, or compare with a baseline."""
    output = replace(Output.of(options), verbose=True)  # what was scored, and at which cost
    if options.queries is not None:
        check_files(Path(options.queries), force=options.force)
    setup = judge_setup(options, is_rehearsal=options.dry_run)
    if options.dry_run:
        output.write({"estimate": _estimate(options, setup)})
        return OK
    if options.against:
        return _compare(options, setup, output)
    return _judge_records(options, setup, output)


def _read(options: JudgeArguments, path: str) -> pd.DataFrame:
    return read_records(path, query_id=options.query_id, unretrieved_citations="keep")


def _estimate(options: JudgeArguments, setup: JudgeSetup) -> Result:
    rubric = _preference_rubric(options) if options.against else None
    if rubric is None:
        chats = setup.chats()
        frame = estimate(
            _read(options, options.records),
            setup.rubrics(_DEFAULT),
            chats,
            n_repeats=setup.repeats,
            cache=setup.cache(),
            prices=setup.prices(chats),
            retry_unusable=setup.section.retry_unusable,
        )
        return estimate_result(setup, chats, frame)
    chats = setup.chats()
    frame = estimate_preference(
        _read(options, str(options.against)),
        _read(options, options.records),
        chats,
        rubric=rubric,
        cache=setup.cache(),
        prices=setup.prices(chats),
        retry_unusable=setup.section.retry_unusable,
    )
    note_on_orders = "each query is asked in both orders; answers that are the same cost nothing"
    return estimate_result(setup, chats, frame, note_on_orders)


def _preference_rubric(options: JudgeArguments) -> Rubric | str:
    """The rubric that compares two answers."""
    if options.judges or (options.n_repeats or 1) > 1:
        raise click.UsageError("--against asks for a preference; leave out --judge and --n-repeats")
    if len(options.rubrics) > 1:
        raise click.UsageError("--against takes one --rubric, of the kind preference")
    return next(map(read_rubric, options.rubrics), "preference")


def _judge_records(options: JudgeArguments, setup: JudgeSetup, output: Output) -> int:
    scored, stopping = _scored(options, setup)
    evaluation = scored.evaluation
    tables = {
        **stopping,
        **judges_results(evaluation, scored.judged),
        **noise_results(scored.judged),
    }
    output.write({evaluation.name: evaluation.evaluation_report(), **tables})
    if options.queries is not None:
        note(f"wrote {evaluation.save(options.queries)}")
    _check_judged(scored.judged)
    return INTERRUPTED if scored.is_interrupted else OK


def _scored(
    options: JudgeArguments, setup: JudgeSetup
) -> tuple[JudgedEvaluation, dict[str, Result]]:
    """The judged records, and the table of the stopping rules if there are any."""
    chats = setup.chats()
    records, rubrics = _read(options, options.records), setup.rubrics(_DEFAULT)
    name = options.name or _stem(options.records)
    judging: JudgeOptions = {
        **setup.how(chats),
        "n_repeats": setup.repeats,
        "generator": options.generator,
    }
    if not options.stop_when:
        return score_and_judge(records, rubrics, name=name, chat=chats, judging=judging), {}
    scored, stopping = judge_until(
        *(records, rubrics, chats, options.stop_when),
        judging=judging,
        baseline=options.baseline,
        looks=options.looks,
        seed=options.seed,
        name=name,
        tell=note,
    )
    return scored, {"stopping": stopping}


def _compare(options: JudgeArguments, setup: JudgeSetup, output: Output) -> int:
    rubric = _preference_rubric(options)
    chats = setup.chats()
    candidate = _read(options, options.records)
    preferences = prefer(
        _read(options, str(options.against)), candidate, chats, rubric=rubric, **setup.how(chats)
    )
    results = preference_results(
        preferences,
        baseline=_stem(str(options.against)),
        candidate=options.name or _stem(options.records),
        question=candidate.get("question"),
    )
    output.write(results)
    if options.queries is not None:
        text = csv_text(preferences.frame.reset_index())
        note(f"wrote {write_atomically(options.queries, text)}")
    _check_judged(preferences)
    return INTERRUPTED if preferences.is_interrupted else OK


def _check_judged(judged: Judged | Preferences | None) -> None:
    """If nothing at all was judged, the reason is the last line."""
    if judged is not None and judged.failure is not None:
        raise JudgeError(judged.failure)


def _stem(path: str) -> str:
    return "records" if path == "-" else Path(path).name.partition(".")[0]
