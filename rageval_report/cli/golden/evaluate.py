"""The options of golden evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.judge.options import JudgingOptions
from rageval_report.cli.options import (
    FOLDER,
    FormatOption,
    MatchingOptions,
    QueryIdsOption,
    SeedOption,
)

if TYPE_CHECKING:
    from rageval_report.metrics.judged_sets import Repeats
    from rageval_report.records.levels import LevelOption


class EvaluateArguments(QueryIdsOption, SeedOption, MatchingOptions, JudgingOptions, FormatOption):
    """Evaluate a pipeline on a judged set, such as nfcorpus: retrieval and generation separately.

    PLACE is a BEIR set (folder, zip archive or the name of a subset), whose references the model
    writes first; a golden set with graded documents; or the folder of a run of `eval`, which holds
    the answers already. The same model judges the answers, or several do: the first --judge-model
    writes the references, and each judges. Every query is scored before a rule is evaluated; the
    exit code is 1 if a rule fails.
    """

    place: str = argument(metavar="PLACE")
    folder: Path = option(
        "-o",
        "--output",
        type=FOLDER,
        required=True,
        metavar="FOLDER",
        help="The folder for references, answers, scores and report; a stopped run goes on in it.",
    )
    url: str | None = option(
        "--url", "--rag-url", metavar="URL", help="The pipeline, if it is a server."
    )
    function: str | None = option(
        "--callable", metavar="MODULE:FUNCTION", help="The pipeline, if it is a Python function."
    )
    config: str | None = option(
        "--config", metavar="FILE", help="The pipeline's settings in YAML, as `eval` takes them."
    )
    retry_failed: bool = option(
        "--retry-failed", help="Ask the pipeline again for the queries that failed in FOLDER."
    )
    samples: int | None = option(
        "--samples", metavar="N", help="Number of queries to draw; all if omitted."
    )
    split: str | None = option("--split", metavar="NAME", help="Split of the qrels, such as test.")
    grade: float | None = option(
        "--grade",
        metavar="GRADE",
        help="Lowest grade that counts as highly relevant; if omitted, 2, or the highest grade of "
        "the set if that is lower.",
    )
    first: int = option(
        "--first", default=5, help="Number of documents that a reference answer is written from."
    )
    k: int = option("--k", default=10, help="Number of results that count.")
    minimum: float = option(
        "--minimum", default=0.8, help="Reachable recall at which retrieval counts as successful."
    )
    level: LevelOption = option(
        "--level",
        type=click.Choice(["auto", "chunk", "document"]),
        default="auto",
        help="Level of the ids that are compared, if results carry two.",
    )
    duplicates: Repeats = option(
        "--duplicates",
        type=click.Choice(["keep", "best"]),
        default="keep",
        help="Whether two chunks of one document are two of the K results, or one.",
    )
    mapping: str | None = option(
        "--mapping",
        metavar="FILE",
        help="JSON: the id, or list of ids, that the pipeline uses for each document.",
    )
    rules: tuple[str, ...] = option(
        "--rule",
        multiple=True,
        metavar="RULE",
        help="A gate, such as 'mean(answer_correct) >= 0.7'; evaluated after scoring. May be "
        "repeated.",
    )
    chat: str | None = option(
        "--chat", metavar="MODULE:FUNCTION", help="A Python function in place of a model."
    )


evaluate = Command(
    EvaluateArguments,
    "rageval_report.cli.golden.evaluate_body:evaluate",
    examples=(
        "rageval-report golden evaluate nfcorpus.zip --callable my_rag:answer --chat my_chat:ask "
        "-o nfcorpus",
        "rageval-report golden evaluate graded.jsonl --callable my_rag:answer --chat my_chat:ask "
        "-o graded --rule 'mean(reachable_recall@10) >= 0'",
    ),
)
