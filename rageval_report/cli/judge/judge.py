"""The options of judge."""

from __future__ import annotations

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.judge.options import JudgingOptions
from rageval_report.cli.options import OutputOptions, StopOptions


class JudgeArguments(StopOptions, JudgingOptions, OutputOptions):
    """Let a chat model judge records by rubrics.

    RECORDS holds one row per query: question, answer, contexts, reference. Keys come from the
    environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, AWS_BEARER_TOKEN_BEDROCK; a
    server of your own gets the key that you name. Verdicts are kept in a cache, so that after
    Ctrl-C the same command goes on; when the budget is spent, it does with a higher --max-cost.
    """

    records: str = argument(metavar="RECORDS")
    against: str | None = option(
        "--against",
        metavar="FILE",
        help="Records of a baseline: judge whose answers are better, asking in both orders.",
    )
    name: str | None = option(
        "--name", metavar="NAME", help="The name of the pipeline; if omitted, that of the file."
    )
    generator: str | None = option(
        "--generator", metavar="MODEL", help="The model that wrote the answers."
    )
    query_id: str = option(
        "--query-id",
        default="query_id",
        show_default=False,
        metavar="COLUMN",
        help="The column of query ids.",
    )
    judge_timeout: float | None = option(
        "--timeout", metavar="SECONDS", help="Timeout of one call of the judge; 120 if omitted."
    )
    judge_concurrency: int | None = option(
        "--concurrency",
        metavar="N",
        help="Number of calls of the judge at the same time; 8 if omitted.",
    )
    seed: int = option(
        "--seed", default=0, metavar="N", help="Seed of the random order with --stop-when."
    )
    dry_run: bool = option("--dry-run", help="Call no model; show the calls and tokens needed.")
    queries: str | None = option(
        "--queries",
        metavar="FILE",
        help="Write one row per query: .json (a run file), .csv, .jsonl, ...",
    )


judge = Command(
    JudgeArguments,
    "rageval_report.cli.judge.judge_body:judge",
    examples=(
        "rageval-report judge records.jsonl --judge faithfulness --model llama3.1 --dry-run",
        "rageval-report judge records.jsonl --rubric tone.yaml --base-url http://localhost:8000/v1 "
        "--model qwen3 --price 0.15:0.6 --dry-run",
        "rageval-report judge records.jsonl --judge faithfulness --model llama3.1 --dry-run "
        "--stop-when 'ci_low(faithfulness) >= 0.8' --or 'ci_high(faithfulness) <= 0.8'",
    ),
)
