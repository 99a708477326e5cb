"""The options of rank."""

from __future__ import annotations

from rageval_report.cli.command import Command, Options, argument, option
from rageval_report.cli.options import (
    CorrectOption,
    EngineOptions,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
    PageOptions,
    TestOptions,
    TriedOption,
)
from rageval_report.cli.parsing import parse_named_margins


class PipelinesOption(Options):
    """The pipelines, and which of their queries are independent."""

    files: tuple[str, ...] = argument(nargs=-1, metavar="FILE...")
    clusters: str | None = option(
        "--clusters",
        metavar="COLUMN",
        help="Column of clusters: queries with the same value are not independent.",
    )


class MarginsOption(Options):
    """Which differences are too small to matter."""

    margins: tuple[dict[str, float], ...] = option(
        "--margin",
        multiple=True,
        parse=parse_named_margins,
        metavar="NAME=NUMBER",
        help="The difference in a metric or an objective that is too small to matter, such as "
        "latency_ms=50, or in the weighted score, score=0.01; only larger differences are shown.",
    )


class ObjectiveOptions(MarginsOption):
    """What pipelines are weighed by."""

    weights: tuple[str, ...] = option(
        "--weight",
        multiple=True,
        metavar="NAME=W",
        help="The weight of an objective or a metric; may be repeated.",
    )
    objectives: tuple[str, ...] = option(
        "--objective",
        multiple=True,
        metavar="NAME[=METRIC,...]",
        help="An objective and its metrics, or a statistic of them and the values that count as 0 "
        "and 1, such as speed=p95(latency_ms),worst=9,best=0; may be repeated.",
    )


class RankArguments(
    PipelinesOption,
    MarginsOption,
    MetricsOption,
    TestOptions,
    TriedOption,
    CorrectOption,
    EngineOptions,
    LoadingOptions,
    PageOptions,
    OutputOptions,
):
    """Rank several pipelines, metric by metric.

    The queries are those that all pipelines scored. A
    file may hold one pipeline or several; pipelines are named after their files, or as NAME=FILE
    says. FILE may also be a folder, a glob in quotes ('runs/*.csv'), or an address such as
    mlflow:/EXPERIMENT, s3://BUCKET/runs or sqlite:///FILE?table=NAME.

    With -o FILE.html, one page that says which pipeline to take: the leaderboard as a heat table,
    what quality costs, which setting matters, every pair and every query.

    The commands pairs, weighted and pareto show each pair, one score from several objectives, and
    the pipelines that no other beats.
    """

    by: str | None = option("--by", metavar="COLUMN", help="Column of slices on the page.")
    weighted: bool = option("--weighted", help="Now the command weighted.", hidden=True)
    pareto: bool = option("--pareto", help="Now the command pareto.", hidden=True)
    pairs: bool = option("--pairs", help="Now the command pairs.", hidden=True)
    weights: tuple[str, ...] = option(
        "--weight", multiple=True, help="Now an option of weighted.", hidden=True
    )
    objectives: tuple[str, ...] = option(
        "--objective", multiple=True, help="Now an option of weighted.", hidden=True
    )


class PairsArguments(
    PipelinesOption,
    MarginsOption,
    MetricsOption,
    TestOptions,
    TriedOption,
    EngineOptions,
    LoadingOptions,
    OutputOptions,
):
    """Show the difference of every pair of pipelines.

    The p-values are corrected over all pairs and metrics, as those of rank.
    """


class WeightedArguments(
    PipelinesOption,
    ObjectiveOptions,
    MetricsOption,
    TestOptions,
    TriedOption,
    CorrectOption,
    EngineOptions,
    LoadingOptions,
    OutputOptions,
):
    """Rank pipelines by one score from weighted objectives.

    It also shows how much the order depends on the weights. Without --weight, all objectives weigh
    the same; without --objective, --metric names them.
    """


class ParetoArguments(
    PipelinesOption,
    ObjectiveOptions,
    MetricsOption,
    TestOptions,
    CorrectOption,
    EngineOptions,
    LoadingOptions,
    OutputOptions,
):
    """Show the pipelines that no other beats on quality and cost.

    A pipeline is on the front if no other one is as good on every objective and better on one of
    them. --metric or --objective names the objectives.
    """


rank = Command(
    RankArguments,
    "rageval_report.cli.rank_body:rank",
    examples=(
        "rageval-report rank bm25.csv hybrid.csv reranked.csv",
        "rageval-report rank bm25.csv hybrid.csv reranked.csv --margin latency_ms=50",
        "rageval-report rank bm25.csv hybrid.csv reranked.csv --tried 20",
        "rageval-report rank bm25.run dense.run --qrels qrels.txt --metric ndcg@10",
    ),
)
pairs = Command(
    PairsArguments,
    "rageval_report.cli.rank_body:pairs",
    examples=("rageval-report pairs bm25.csv hybrid.csv reranked.csv --metric faithfulness",),
)
weighted = Command(
    WeightedArguments,
    "rageval_report.cli.rank_body:weighted",
    examples=(
        "rageval-report weighted bm25.csv hybrid.csv",
        "rageval-report weighted bm25.csv hybrid.csv --weight faithfulness=2 --weight recall@5=1",
        "rageval-report weighted bm25.csv hybrid.csv --margin latency_ms=50",
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
