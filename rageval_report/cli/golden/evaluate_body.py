"""golden evaluate: references, answers, judge, tables and gates of a judged set."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import click
import pandas as pd

from rageval_report.cli.golden.evaluate import EvaluateArguments
from rageval_report.cli.golden.items_out import write_items
from rageval_report.cli.golden.making_body import beir_questions, chat_function, chosen_queries
from rageval_report.cli.group import FAILED, INTERRUPTED, OK
from rageval_report.cli.judge.setup import judge_setup
from rageval_report.cli.notes import note, warn_of_doubts
from rageval_report.cli.output import Output
from rageval_report.cli.sources import read_query_ids
from rageval_report.errors import DataError, RagevalError, is_doubt
from rageval_report.files.archives import is_archive
from rageval_report.files.source import Source
from rageval_report.golden import golden_records, ground_truth, highly_relevant, read_golden
from rageval_report.judges.chats import Chat, as_chat
from rageval_report.judges.ledger import MICROS_PER_USD
from rageval_report.judges.options import CallOptions, JudgeOptions
from rageval_report.judges.sessions import BudgetedChat, budgeted_chat
from rageval_report.metrics.judged_sets import JudgedSetEvaluation, evaluate_judged_set
from rageval_report.readers.record_files import read_records
from rageval_report.results import Result
from rageval_report.runner import RunConfig, collect_answers, read_config, target_from
from rageval_report.runner.collecting import notes_of_run
from rageval_report.runner.judge_setup import JudgeSetup, judges_results, noise_results
from rageval_report.scores.guard import notes_with_doubts

REFERENCES, RUN, SCORES, REPORT = "truth.jsonl", "run", "scores.json", "report.html"

_DEFAULT_JUDGE = ("answer_correct",)


@dataclass(frozen=True, eq=False)
class AnsweredSet:
    """The records with the pipeline's answers, its configuration, and doubts about its replies."""

    records: pd.DataFrame
    config: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


def evaluate(options: EvaluateArguments) -> int:
    """Get the answers, score and judge them, and write the tables."""
    if len(options.judges) + len(options.rubrics) > 1:
        raise click.UsageError("Give one rubric: it says whether an answer is right.")
    setup = judge_setup(options)
    chats = [as_chat(chat_function(options.chat))] if options.chat else setup.chats()
    how = setup.judge_options(chats)
    # References are the work of one model, so that all judges compare with the same text.
    answered = _answer(options, chats[0], how)
    try:
        return _write(_evaluate(answered, setup, chats, how, options), options)
    except RagevalError:
        # Without results these are their only place, and they may name the cause.
        warn_of_doubts(answered.notes)
        raise


def _evaluate(
    answered: AnsweredSet,
    setup: JudgeSetup,
    chats: list[Chat],
    how: JudgeOptions,
    options: EvaluateArguments,
) -> JudgedSetEvaluation:
    """The scores and tables of the answers."""
    return evaluate_judged_set(
        answered.records,
        chat=chats,
        generation=setup.rubrics(_DEFAULT_JUDGE)[0],
        k=options.k,
        minimum=options.minimum,
        level=options.level,
        duplicates=options.duplicates,
        grade=options.grade,
        mapping=None if options.mapping is None else _read_mapping(options.mapping),
        name=options.folder.absolute().name,
        judging=how,
        config=answered.config,
        match_ids=options.match_ids,
        notes=answered.notes,
        strict=options.strict,
        allow=options.allow,
    )


# -- the answers


def _answer(options: EvaluateArguments, chat: Chat, how: JudgeOptions) -> AnsweredSet:
    """The answers of an earlier run, or those that the pipeline gives now.

    What references cost is taken from the budget in `how`.
    """
    records = _records_of_run(Path(options.place))
    ids = read_query_ids(options.query_ids, options.query_file)
    if records is not None:
        answers = chosen_queries(read_records(records, unretrieved_citations="keep"), ids)
        return AnsweredSet(answers, notes=_doubts_among(notes_of_run(records.parent)))
    config = _run_config(options)  # checked before a model is paid to write references
    questions = _questions(options, chat, how, ids)
    highly_relevant(questions, grade=options.grade)  # raises before the pipeline is asked
    folder = options.folder / RUN
    resume = (folder / "journal.jsonl").exists()
    with target_from(config) as target:
        finished = collect_answers(
            questions,
            target,
            folder,
            config,
            resume=resume,
            retry_failed=options.retry_failed and resume,
        )
    # Raised before a judge is asked; otherwise they stand in the results.
    notes_with_doubts(finished.notes, strict=options.strict, allow=options.allow)
    for message in finished.notes:
        if not is_doubt(message):
            note(message)
    answers = read_records(finished.records, unretrieved_citations="keep")
    return AnsweredSet(answers, finished.config, _doubts_among(finished.notes))


def _doubts_among(notes: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(is_doubt, notes))


def _records_of_run(folder: Path) -> Path | None:
    """The answers in the folder of a run; None if it is something else."""
    if not (folder / "run.json").is_file():
        return None
    records = [path for path in sorted(folder.glob("records.*")) if path.is_file()]
    if not records:
        raise DataError(f"{folder}: expected the records of a run; finish it with eval --resume")
    return records[0]


def _questions(
    options: EvaluateArguments, chat: Chat, how: JudgeOptions, ids: Sequence[str]
) -> pd.DataFrame:
    """The questions with references and gold; references that a model writes are kept in a file."""
    path = Path(options.place)
    has_references = path.is_file() and not is_archive(Source(path))
    source = path if has_references else options.folder / REFERENCES
    if not has_references and source.exists():
        note(f"the references are those of {source}; remove it to have them written again")
    elif not has_references:
        source.parent.mkdir(parents=True, exist_ok=True)
        _write_references(options, chat, how, source, ids)
    records = golden_records(read_golden(source), gold="ids")
    if ids:
        return chosen_queries(records, ids)
    # The references of a BEIR set were written for a sample already.
    if has_references and options.samples is not None and options.samples < len(records):
        # Sorted by id first: the order of the file does not decide what is drawn.
        records = records.sort_index().sample(options.samples, random_state=options.seed)
        records = records.sort_index()
    return records


def _write_references(
    options: EvaluateArguments, chat: Chat, how: JudgeOptions, path: Path, ids: Sequence[str]
) -> None:
    queries, corpus = beir_questions(
        options.place,
        split=options.split,
        grade=options.grade,
        samples=None if ids else options.samples,
        seed=options.seed,
        ids=ids,
    )
    with budgeted_chat(chat, "references", **_call_options(how)) as paid:
        items = ground_truth(
            queries,
            corpus,
            paid,
            grade=options.grade,
            first=options.first,
            journal=path.with_name(f"{path.name}.journal"),
        )
    write_items(items, path)
    _charge(paid, how)


def _call_options(how: JudgeOptions) -> CallOptions:
    """The options that do not belong to judging alone."""
    names = CallOptions.__annotations__
    return cast("CallOptions", {name: value for name, value in how.items() if name in names})


def _charge(paid: BudgetedChat, how: JudgeOptions) -> None:
    """Take what the references cost from the budget, where no ledger's file does it."""
    is_in_file = how.get("cache") is not None and how.get("max_cost_over", "cache") == "cache"
    if paid.left_usd is None or is_in_file or not paid.spent_usd:
        return
    note(f"the references cost {paid.spent_usd:.4g} USD at most, of the same budget")
    # Not 0, which is no budget: nothing costs less than this millionth, so that nothing is asked.
    how["max_cost"] = max(paid.left_usd, 1 / MICROS_PER_USD)


def _run_config(options: EvaluateArguments) -> RunConfig:
    pipelines = (options.url, options.function, options.config)
    if sum(pipeline is not None for pipeline in pipelines) != 1:
        raise click.UsageError("Give the pipeline: one of --url, --callable and --config.")
    sys.path.insert(0, str(Path.cwd()))  # users keep their function in the current folder
    if options.config is not None:
        return replace(read_config(options.config), records=None, samples=None)
    if options.url is not None:
        return RunConfig(target="http", settings={"http": {"url": options.url}})
    function = options.function or ""  # one of the three is set, see above
    return RunConfig(target="callable", settings={"callable": {"function": function}})


def _read_mapping(path: str) -> dict[str, str | list[str]]:
    source = Source(path)
    document = source.document
    if not isinstance(document, dict) or not all(map(_is_id_or_ids, document.values())):
        raise source.error("expected a JSON object: to each document id an id, or a list of ids")
    return {
        doc_id: list(map(str, ids)) if isinstance(ids, list) else str(ids)
        for doc_id, ids in document.items()
    }


def _is_id_or_ids(value: object) -> bool:
    ids = value if isinstance(value, list) else [value]
    return all(isinstance(item, str | int) and not isinstance(item, bool) for item in ids)


# -- the results


def _write(judged_set: JudgedSetEvaluation, options: EvaluateArguments) -> int:
    """Write all tables first, and evaluate the gates after them."""
    evaluation = judged_set.evaluation
    results: dict[str, Result] = {
        evaluation.name: evaluation.evaluation_report(),
        "retrieval by generation": judged_set.table,
        "queries": judged_set.queries,
        **judges_results(evaluation, judged_set.judged),
        **noise_results(judged_set.judged),
    }
    gate = evaluation.gate(*options.rules) if options.rules else None
    if gate is not None:
        results["gates"] = gate
    options.folder.mkdir(parents=True, exist_ok=True)
    scores, report = options.folder / SCORES, options.folder / REPORT
    evaluation.save(scores)
    Output.to(report, None, force=True).write_file(results)
    output = Output.to_standard_output(options.format_name, verbose=True)
    output.write({**results, "queries": output.limit_rows(judged_set.queries, None)})
    note(f"wrote {scores} and {report}")
    if judged_set.judged is not None and judged_set.judged.is_interrupted:
        return INTERRUPTED
    return OK if gate is None or gate.passed else FAILED
