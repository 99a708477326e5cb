"""The options of rank."""

from __future__ import annotations

from rageval_report.cli.command import Command, Options, argument, option
from rageval_report.cli.options import (
    CorrectOption,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
    TestOptions,
    TriedOption,
)
from rageval_report.cli.parsing import parse_named_margins


class ObjectiveOptions(Options):
    """What pipelines are weighed by."""

    weights: tuple[str, ...] = option(
        "--weight",
        multiple=True,
        metavar="NAME=W",
        help="The weight of an objective or a metric; with rank it implies --weighted.",
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


class RankArguments(
    ObjectiveOptions,
    MetricsOption,
    TestOptions,
    TriedOption,
    CorrectOption,
    LoadingOptions,
    OutputOptions,
):
    """Rank several pipelines, metric by metric.

    Pipelines that share a letter are not distinguishable on the queries that all of them scored. A
    file may hold one pipeline or several; pipelines are named after their files, or as NAME=FILE
    says. FILE may also be a folder, a glob in quotes ('runs/*.csv'), or an address such as
    mlflow:/EXPERIMENT, s3://BUCKET/runs or sqlite:///FILE?table=NAME.
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
    pareto: bool = option("--pareto", help="Now the command pareto.", hidden=True)
    pairs: bool = option("--pairs", help="Show every pair of pipelines with its difference.")


class ParetoArguments(
    ObjectiveOptions, MetricsOption, TestOptions, CorrectOption, LoadingOptions, OutputOptions
):
    """Show the pipelines that no other beats on quality and cost.

    A pipeline is on the front if no other one is as good on every objective and better on one of
    them. --metric or --objective names the objectives.
    """

    files: tuple[str, ...] = argument(nargs=-1, metavar="FILE...")
    clusters: str | None = option(
        "--clusters",
        metavar="COLUMN",
        help="Column of clusters: queries with the same value are not independent.",
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
        "rageval-report rank bm25.csv hybrid.csv --weighted --margin latency_ms=50",
    ),
)
pareto = Command(
    ParetoArguments,
    "rageval_report.cli.rank_body:pareto",
    examples=(
        "rageval-report pareto bm25.csv hybrid.csv",
        "rageval-report pareto bm25.csv hybrid.csv reranked.csv "
        "--objective quality=faithfulness,recall@5 --objective latency_ms",
        "rageval-report pareto bm25.csv hybrid.csv --margin latency_ms=50",
    ),
)
