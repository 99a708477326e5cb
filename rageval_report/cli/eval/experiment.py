"""The options of experiment: those of eval, and what is varied."""

from __future__ import annotations

from rageval_report.cli.command import Command, option
from rageval_report.cli.eval.eval import EvalArguments
from rageval_report.cli.parsing import parse_pairs


class ExperimentArguments(EvalArguments):
    """Evaluate a pipeline with every combination of some settings.

    --vary top_k=5,10 --vary rerank=true,false evaluates four combinations, each in a folder of its
    own in FOLDER; then come the leaderboard, and the effect of each setting, query by query. A
    server is sent the settings beside the question, or where {top_k} is in --body, --header or
    --url; a function gets them as keywords; a command where {top_k} is in its words. An experiment
    that was stopped goes on with --resume, also with more values.
    """

    varied: dict[str, str] = option(
        "--vary",
        multiple=True,
        required=True,
        parse_all=parse_pairs,
        metavar="NAME=VALUE,...",
        help="A setting and its values: numbers, true, false, null, or texts; may be repeated.",
    )


experiment = Command(
    ExperimentArguments,
    "rageval_report.cli.eval.experiment_body:experiment",
    name="experiment",
    examples=(
        "rageval-report experiment --callable my_rag:answer --records queries.jsonl "
        "--vary top_k=1,2 --metric recall@5 --metric exact_match -o tried",
    ),
)
