"""The options of golden generate and golden ground-truth, which ask a chat model."""

from __future__ import annotations

from pathlib import Path

import click

from rageval_report.cli.command import Command, Options, argument, option
from rageval_report.cli.options import ForceOption, QueryIdsOption, SeedOption


class WriterOptions(Options):
    """The chat model that writes."""

    provider: str | None = option(
        "--provider",
        metavar="NAME",
        help="The provider of the model, such as openai; if omitted, RAG_EVAL_PROVIDER.",
    )
    model: str | None = option(
        "--model", metavar="NAME", help="The model; if omitted, RAG_EVAL_<PROVIDER>_MODEL."
    )
    base_url: str | None = option(
        "--base-url", metavar="URL", help="URL of the server, if it is not the provider's own."
    )
    chat: str | None = option(
        "--chat",
        metavar="MODULE:FUNCTION",
        help="A Python function that takes a text and gives one, in place of a provider.",
    )


class MakingOptions(SeedOption, WriterOptions, ForceOption):
    """Journal, prompts, and the file that is written."""

    journal: str | None = option(
        "--journal",
        metavar="FILE",
        help="The file that keeps replies, so that a stopped run can go on; if omitted, "
        "FILE.journal beside -o.",
    )
    prompts: str | None = option(
        "--prompts", metavar="FILE", help="A file with your own prompts, TOML."
    )
    path: Path = option(
        "-o", "--output", required=True, metavar="FILE", help="The golden set to write, JSON Lines."
    )


class GenerateArguments(MakingOptions):
    """Have a chat model write a golden set from documents.

    It writes questions, answers, wrong answers and questions without an answer, each with its
    provenance. Have people review them: golden review.
    """

    documents: str = argument(metavar="FOLDER")
    factoid: int = option("--factoid", default=10, help="Number of questions about one passage.")
    multi_hop: int = option(
        "--multi-hop", default=0, help="Number of questions that need two passages."
    )
    unanswerable: int = option(
        "--unanswerable", default=0, help="Number of questions without an answer."
    )
    negatives: int = option(
        "--negatives", default=2, help="Number of wrong answers to each question."
    )
    shown: str | None = option(
        "--examples", metavar="FILE", help="A golden set whose questions serve as examples."
    )
    existing: str | None = option(
        "--existing", metavar="FILE", help="A golden set whose questions are not asked again."
    )
    concurrency: int = option(
        "--concurrency",
        type=click.IntRange(1, 64),
        default=4,
        help="Number of drafts at the same time; the set does not depend on it.",
    )
    longest: int = option(
        "--longest", default=1500, help="Maximum length of a passage in characters."
    )
    shortest: int = option(
        "--shortest", default=200, help="Minimum length of a passage in characters."
    )
    filters: tuple[str, ...] = option(
        "--filter",
        multiple=True,
        metavar="NAME",
        help="A filter to apply: length, self_contained, supported, not_leaking; may be repeated. "
        "All filters if omitted.",
    )
    rejected: Path | None = option(
        "--rejected", metavar="FILE", help="Write the rejected drafts to a CSV file."
    )


class GroundTruthArguments(QueryIdsOption, MakingOptions):
    """Have a chat model write references for a BEIR set, from its highly relevant documents.

    PATH_OR_SUBSET is a folder or zip archive, or the name of a subset to download, such as
    nfcorpus.
    """

    place: str = argument(metavar="PATH_OR_SUBSET")
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
    samples: int | None = option(
        "--samples", metavar="N", help="Number of queries to draw; all if omitted."
    )
    # The earlier spelling of --query; elsewhere --query-id names a column.
    earlier_ids: tuple[str, ...] = option("--query-id", multiple=True, metavar="ID", hidden=True)


generate = Command(
    GenerateArguments,
    "rageval_report.cli.golden.making_body:generate",
    examples=[
        "rageval-report golden generate docs --factoid 4 --multi-hop 1 --unanswerable 1 "
        "--chat my_chat:ask -o drafts.jsonl",
    ],
)
ground_truth = Command(
    GroundTruthArguments,
    "rageval_report.cli.golden.making_body:ground_truth",
    name="ground-truth",
    examples=[
        "rageval-report golden ground-truth nfcorpus.zip --chat my_chat:ask --samples 2 "
        "-o nfcorpus.jsonl",
    ],
)
