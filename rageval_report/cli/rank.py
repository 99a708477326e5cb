"""The options of rank."""

from __future__ import annotations

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.options import (
    CorrectOption,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
    TestOptions,
    TriedOption,
)
from rageval_report.cli.parsing import parse_named_margins


class RankArguments(
    MetricsOption, TestOptions, TriedOption, CorrectOption, LoadingOptions, OutputOptions
):
    """Rank several pipelines, metric by metric.

    Pipelines that share a letter are not distinguishable on the queries that all of them scored. A
    file may hold one pipeline or several; pipelines are named after their files, or as NAME=FILE
    says.
    """

    files: tuple[str, ...] = argument(nargs=-1, metavar="FILE...")
    clusters: str | None = option(
        "--clusters",
        metavar="COLUMN",
        help="Column of clusters: queries with the same value are not independent.",
    )
    weighted: bool = option(
        "--weighted",
        help="Show one score from weighted objectives, and how much the order depends on the "
        "weights.",
    )
    pareto: bool = option(
        "--pareto",
        help="Show which pipelines no other pipeline beats on quality, cost and latency.",
    )
    pairs: bool = option("--pairs", help="Show every pair of pipelines with its difference.")
    weights: tuple[str, ...] = option(
        "--weight",
        multiple=True,
        metavar="NAME=W",
        help="The weight of an objective or a metric, for --weighted (which it implies) and "
        "--pareto.",
    )
    margins: tuple[dict[str, float], ...] = option(
        "--margin",
        multiple=True,
        parse=parse_named_margins,
        metavar="NAME=NUMBER",
        help="The difference in a metric or an objective that is too small to matter, such as "
        "latency_ms=50, or in the weighted score, score=0.01; only larger differences are shown.",
    )
    objectives: tuple[str, ...] = option(
        "--objective",
        multiple=True,
        metavar="NAME[=METRIC,...]",
        help="An objective and its metrics, or a statistic of them and the values that count as 0 "
        "and 1, such as speed=p95(latency_ms),worst=5000,best=0; may be repeated.",
    )


rank = Command(
    RankArguments,
    "rageval_report.cli.rank_body:rank",
    examples=(
        "rageval-report rank bm25.csv hybrid.csv reranked.csv",
        "rageval-report rank bm25.csv hybrid.csv reranked.csv --metric faithfulness --pairs",
        "rageval-report rank bm25.csv hybrid.csv --weight faithfulness=2 --weight recall@5=1",
        "rageval-report rank bm25.csv hybrid.csv reranked.csv --tried 20",
        "rageval-report rank bm25.run dense.run --qrels qrels.txt --metric ndcg@10",
        "rageval-report rank bm25.csv hybrid.csv --pareto --objective quality=faithfulness,recall@5"
        " --objective latency_ms",
        "rageval-report rank bm25.csv hybrid.csv --weighted --margin latency_ms=50",
    ),
)
