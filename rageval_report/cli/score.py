"""The options of score and score-traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.options import MatchingOptions, OutputOptions, RetrievalOptions

if TYPE_CHECKING:
    from rageval_report.metrics.joining import Ties
    from rageval_report.metrics.traces import MissingTraces
    from rageval_report.scores.catalogue.dialects import DialectName


class ScoreArguments(RetrievalOptions, MatchingOptions, OutputOptions):
    """Score records with answers, or rankings with judgments.

    Rankings are scored against judgments: --run bm25.run --qrels qrels.txt --metric ndcg@10
    --metric recall@5. Records have their answers: --records answered.jsonl --metric exact_match.
    """

    # Those of the earlier score --gold, which is the command score-traces now.
    gold: str | None = option("--gold", metavar="FILE", hidden=True)
    trace: str | None = option("--trace", metavar="FILE", hidden=True)
    k: int = option("--k", default=5, hidden=True)
    gates: str | None = option("--gates", metavar="NAME=T,...", hidden=True)
    missing: MissingTraces = option(
        "--missing",
        type=click.Choice(["answered", "refusal", "skip"]),
        default="answered",
        hidden=True,
    )
    report_path: Path | None = option("--report", metavar="FILE", hidden=True)
    runs: tuple[str, ...] = option(
        "--run",
        multiple=True,
        metavar="FILE",
        help="A ranking in TREC's format; NAME=FILE names it; may be repeated, with one report "
        "each.",
    )
    qrels: str | None = option(
        "--qrels", metavar="FILE", help="The judgments of the rankings: TREC's, or BEIR's."
    )
    metrics: tuple[str, ...] = option(
        "--metric",
        multiple=True,
        metavar="NAME",
        help="A metric such as ndcg@10, recall@5, mrr, and for records exact_match; may be "
        "repeated. If omitted, records are scored with all metrics that their fields allow.",
    )
    records: tuple[str, ...] = option(
        "--records",
        multiple=True,
        metavar="FILE",
        help="Records with answers: .jsonl, .csv, .parquet; NAME=FILE names them; may be repeated.",
    )
    ties: Ties | None = option(
        "--ties",
        type=click.Choice(["docid", "input", "error"]),
        help="How documents of equal score are ordered: as in trec_eval (if omitted), as in the "
        "file, or not at all.",
    )
    relevance_level: float | None = option(
        "--relevance-level",
        metavar="GRADE",
        help="Lowest grade that counts as relevant; 1 if omitted.",
    )
    drop_self: bool = option(
        "--drop-self", help="Leave out documents whose id is that of their query, as BEIR does."
    )
    queries: str | None = option(
        "--queries", metavar="FILE", help="Write one row per query: .csv, .json, .jsonl, ..."
    )


class ScoreTracesArguments(MatchingOptions, OutputOptions):
    """Score traces against a gold set, with gates.

    GOLD is JSON Lines with qid, answerable, gold_claim_substr and gold_citations. TRACE is JSON
    Lines of the pipeline with qid, retrieved_ids, and answer_json with claim and citations; - reads
    it from standard input. The exit code is 1 if a gate fails.
    """

    gold: str = argument(metavar="GOLD")
    trace: str = argument(metavar="TRACE")
    k: int = option("--k", default=5, help="The cutoff of the recall.")
    gates: str | None = option(
        "--gates",
        metavar="NAME=T,...",
        help="Minimum of precision, chr and recall, and maximum of under and over; if omitted, "
        "the thresholds of this package.",
    )
    missing: MissingTraces = option(
        "--missing",
        type=click.Choice(["answered", "refusal", "skip"]),
        default="answered",
        help="How to count a gold question without a trace.",
    )
    report_path: Path | None = option(
        "--report", metavar="FILE", help="Also write the figures and gates as JSON."
    )
    dialect: DialectName | None = option(
        "--dialect",
        type=click.Choice(["datapizza", "haystack", "ragbench", "wfgy"]),
        help="Names, denominators and rules of another system, so that its numbers come out.",
    )
    queries: str | None = option(
        "--queries", metavar="FILE", help="Write one row per query: .csv, .json, .jsonl, ..."
    )


score = Command(
    ScoreArguments,
    "rageval_report.cli.score_body:score",
    examples=(
        "rageval-report score --records answered.jsonl --metric recall@5 --metric exact_match",
        "rageval-report score --run bm25.run --qrels qrels.txt --metric ndcg@10",
    ),
)
score_traces = Command(
    ScoreTracesArguments,
    "rageval_report.cli.score_traces_body:score_traces",
    name="score-traces",
    examples=(
        "rageval-report score-traces gold.jsonl trace.jsonl",
        "rageval-report score-traces gold.jsonl trace.jsonl --k 5 "
        "--gates precision=0.50,chr=0.50,under=0.50,over=0.50 --report report.json",
    ),
)
