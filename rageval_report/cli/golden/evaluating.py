"""The command that holds a pipeline against a judged set: truth, answers, judge, tables, gates."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rageval_report
from rageval_report._registry import load
from rageval_report.cli.golden.making import beir_questions, function_named
from rageval_report.cli.golden.writing import seed_option, write_items
from rageval_report.cli.group import INTERRUPTED, examples
from rageval_report.cli.judge.judging import Judging, judging_options, noise_results
from rageval_report.cli.notes import note
from rageval_report.cli.options import quiet_option
from rageval_report.cli.output import FORMATS, Output
from rageval_report.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.scoring.judged_sets import JudgedSetEvaluation

FAILED = 1

TRUTH, RUN, SCORES, REPORT = "truth.jsonl", "run", "scores.json", "report.html"
_JUDGE = ("answer_correct",)
_RUNNER = "rageval_report.runner"

EVALUATE_EXAMPLES = (
    "rageval-report golden evaluate nfcorpus.zip --callable my_rag:answer --chat my_chat:ask "
    "-o nfcorpus",
    "rageval-report golden evaluate graded.jsonl --callable my_rag:answer --chat my_chat:ask "
    "-o graded --rule 'mean(reachable_recall@10) >= 0'",
)


@dataclass(frozen=True)
class _Asked:
    """What was asked for: the pipeline, the drawing, the folder."""

    folder: Path
    url: str | None
    function: str | None
    config: str | None
    samples: int | None
    seed: int
    split: str | None
    grade: float
    first: int


def _pipeline_options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option("--url", "--rag-url", metavar="URL", help="The pipeline: a server."),
        click.option(
            "--callable", "function", metavar="MODULE:FUNCTION", help="Or a Python function."
        ),
        click.option("--config", metavar="FILE", help="Or settings in YAML, as `eval` takes them."),
        click.option("--samples", type=int, metavar="N", help="Of the queries; all if not given."),
        seed_option,
        click.option("--split", metavar="NAME", help="Of the judgments, as test."),
        click.option("--grade", type=float, default=2, show_default=True, help="The lowest high."),
        click.option(
            "--first", type=int, default=5, show_default=True, help="Documents behind a reference."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _counting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option("--k", type=int, default=10, show_default=True, help="Results that count."),
        click.option(
            "--minimum",
            type=float,
            default=0.8,
            show_default=True,
            help="Reachable recall from which on the documents were found.",
        ),
        click.option(
            "--count",
            type=click.Choice(["chunks", "documents"]),
            default="chunks",
            show_default=True,
            help="What the K results are, where several are of one document.",
        ),
        click.option(
            "--mapping", metavar="FILE", help="JSON: the pipeline's id, or ids, of a document."
        ),
        click.option(
            "--rule",
            "rules",
            multiple=True,
            metavar="RULE",
            help="A gate, as 'mean(answer_correct) >= 0.7'; held when all is scored.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(epilog=examples(*EVALUATE_EXAMPLES))
@click.argument("place", metavar="PLACE")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="FOLDER",
    help="Where references, answers, scores and report are kept; with it a stopped run goes on.",
)
@_pipeline_options
@_counting_options
@click.option("--chat", "chat", metavar="MODULE:FUNCTION", help="A function in place of a model.")
@judging_options("judge-")
@click.option(
    "--format", "format_name", type=click.Choice(list(FORMATS)), help="How tables are printed."
)
@quiet_option
def evaluate(
    place: str,
    chat: str | None,
    judging: Judging,
    rules: tuple[str, ...],
    mapping: str | None,
    format_name: str | None,
    quiet: bool,
    **given: Any,
) -> int:
    """Evaluate a pipeline on a judged set, as nfcorpus: retrieval and generation told apart.

    PLACE is a BEIR set (folder, zip archive or the name of a subset), whose references the model
    writes first; a golden set with graded documents; or the folder of a run of `eval`, whose
    answers are there already. The same model judges the answers. Every query is scored before a
    rule is held; ends with 1 where one does not hold.
    """
    del quiet  # `note` asks the context
    counting = {name: given.pop(name) for name in ("k", "minimum", "count")}
    asked = _Asked(**given)
    if len(judging.judges) + len(judging.rubrics) > 1:
        raise click.UsageError("Give one judge: it says whether an answer is right.")
    model = function_named(chat) if chat is not None else judging.chat()
    known = load("rageval_report.judges.chats:as_chat")(model)
    records, config = _answered(place, asked, known)
    found = load("rageval_report.scoring.judged_sets:evaluate_judged_set")(
        records,
        chat=known,
        generation=judging.chosen(_JUDGE)[0],
        grade=asked.grade,
        mapping=None if mapping is None else _mapping(mapping),
        name=asked.folder.absolute().name,
        judging={**judging.how(known.model), "n_repeats": judging.repeats},
        config=config,
        **counting,
    )
    return _written(found, asked.folder, rules, format_name)


# -- what is evaluated


def _answered(place: str, asked: _Asked, chat: Any) -> tuple[pd.DataFrame, dict[str, Any] | None]:
    """The records with the pipeline's answers, and how it says it is set up."""
    there = _records_in(Path(place))
    if there is not None:
        told = rageval_report.read_records(there, unretrieved_citations="keep")
        return told, None
    config = _config(asked)  # before a model is paid to write references
    truth = _truth(place, asked, chat)
    load("rageval_report.golden:highly_relevant")(truth, grade=asked.grade)  # before it is asked
    runner, folder = load(_RUNNER), asked.folder / RUN
    resume = (folder / "journal.jsonl").exists()
    with runner.target_from(config) as target:
        finished = runner.collect_answers(
            truth, target, folder, config, resume=resume, retry_failed=False
        )
    for one in finished.notes:
        note(one)
    records = rageval_report.read_records(finished.records, unretrieved_citations="keep")
    return records, finished.config


def _records_in(path: Path) -> Path | None:
    """The answers of a run's folder; None where PLACE is something else."""
    if not (path / "run.json").is_file():
        return None
    found = [one for one in sorted(path.glob("records.*")) if one.is_file()]
    if not found:
        raise DataError(f"{path}: expected the records of a run; finish it with eval --resume")
    return found[0]


def _truth(place: str, asked: _Asked, chat: Any) -> pd.DataFrame:
    """The questions with references and gold, written down where a model has to write them."""
    kept = asked.folder / TRUTH
    path = Path(place)
    if path.is_file() and not _is_beir(path):
        source = path
    else:
        if not kept.exists():
            asked.folder.mkdir(parents=True, exist_ok=True)
            _write_truth(place, asked, chat, kept)
        else:
            note(f"the references are those of {kept}; remove it to have them written again")
        source = kept
    items = load("rageval_report.golden:read_golden")(source)
    records: pd.DataFrame = load("rageval_report.golden:golden_records")(items, gold="ids")
    if source is path and asked.samples is not None and asked.samples < len(records):
        records = records.sample(asked.samples, random_state=asked.seed).sort_index()
    return records


def _is_beir(path: Path) -> bool:
    source = load("rageval_report.files.source:Source")(path)
    return bool(load("rageval_report.files.archives:is_archive")(source))


def _write_truth(place: str, asked: _Asked, chat: Any, kept: Path) -> None:
    chosen, corpus = beir_questions(
        place, split=asked.split, grade=asked.grade, samples=asked.samples, seed=asked.seed
    )
    items = load("rageval_report.golden:ground_truth")(
        chosen,
        corpus,
        chat,
        grade=asked.grade,
        first=asked.first,
        journal=kept.with_name(f"{kept.name}.journal"),
    )
    write_items(items, kept)


def _config(asked: _Asked) -> Any:
    given = [one for one in (asked.url, asked.function, asked.config) if one is not None]
    if len(given) != 1:
        raise click.UsageError("Give the pipeline: one of --url, --callable and --config.")
    runner = load(_RUNNER)
    sys.path.insert(0, str(Path.cwd()))  # a function is looked for in the user's own folder
    if asked.config is not None:
        return replace(runner.read_config(asked.config), records=None, samples=None)
    if asked.url is not None:
        return runner.RunConfig(target="http", settings={"http": {"url": asked.url}})
    settings = {"callable": {"function": asked.function}}
    return runner.RunConfig(target="callable", settings=settings)


def _mapping(path: str) -> dict[str, Any]:
    source = load("rageval_report.files.source:Source")(path)
    document = source.document
    if not isinstance(document, dict) or not all(map(_is_id_or_ids, document.values())):
        raise source.error("expected a JSON object: to each document id an id, or a list of ids")
    return {
        one: [str(each) for each in told] if isinstance(told, list) else str(told)
        for one, told in document.items()
    }


def _is_id_or_ids(told: object) -> bool:
    ids = told if isinstance(told, list) else [told]
    return all(isinstance(one, str | int) and not isinstance(one, bool) for one in ids)


# -- what is written


def _written(
    found: JudgedSetEvaluation, folder: Path, rules: tuple[str, ...], format_name: str | None
) -> int:
    """Tables first, all of them; then the gates."""
    evaluation = found.evaluation
    results = {
        evaluation.name: evaluation.evaluation_report(),
        "retrieval by generation": found.table,
        "queries": found.queries,
        **noise_results(found.judged),
    }
    gate = evaluation.gate(*rules) if rules else None
    if gate is not None:
        results["gates"] = gate
    folder.mkdir(parents=True, exist_ok=True)
    evaluation.save(folder / SCORES)
    Output(".html", folder / REPORT).write(results)
    output = Output(".txt" if format_name is None else FORMATS[format_name])
    shown = output.shown(found.queries, None)
    output.write({**results, "queries": shown})
    note(f"wrote {folder / SCORES} and {folder / REPORT}")
    if found.judged is not None and found.judged.is_interrupted:
        return INTERRUPTED
    return 0 if gate is None or gate.passed else FAILED
