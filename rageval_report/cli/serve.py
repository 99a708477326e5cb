"""The options of serve."""

from __future__ import annotations

import click

from rageval_report.cli.command import Command, option
from rageval_report.cli.options import QuietOption
from rageval_report.cli.parsing import parse_share


class ServeArguments(QuietOption):
    """Run a small RAG server, to try things without a model.

    It searches by BM25 and answers with sentences of the documents. POST {"question": "..."} to
    /answer, or to /stream for server-sent events; then

    rageval-report eval --url http://127.0.0.1:8001/answer --records queries.jsonl -o run
    """

    documents: str | None = option(
        "--documents",
        metavar="PATH",
        help="A folder of .txt and .md files; those of the demo if omitted.",
    )
    host: str = option("--host", default="127.0.0.1", help="The address to listen on.")
    names: tuple[str, ...] = option(
        "--allow-host",
        multiple=True,
        metavar="NAME",
        help="A name by which clients may address it, besides localhost and IP addresses; repeat "
        "for several.",
    )
    port: int = option(
        "--port",
        type=click.IntRange(0, 65535),
        default=8001,
        help="The port to listen on; 0 for any free port.",
    )
    k: int = option("--k", default=3, help="Number of documents to retrieve.")
    faults: tuple[tuple[str, float], ...] = option(
        "--fault",
        multiple=True,
        parse=parse_share,
        metavar="NAME=SHARE",
        help="Fail on purpose, for a share of the requests: slow, 500, 429, garbage, html, empty, "
        "huge, drop, hang-up, refusal.",
    )
    seed: int = option("--seed", default=0, help="Seed that decides which requests fail.")
    delay: float = option(
        "--delay",
        type=click.FloatRange(0),
        default=0.0,
        show_default=False,
        help="Seconds before each answer.",
    )
    slow: float = option(
        "--slow", type=click.FloatRange(0), default=5.0, help="Seconds that the fault slow takes."
    )
    seconds: float | None = option(
        "--seconds", type=click.FloatRange(0), help="Stop after this time; at Ctrl-C if omitted."
    )
    question: str | None = option(
        "--ask", metavar="QUESTION", help="Answer this question and exit; no server is started."
    )


serve = Command(
    ServeArguments,
    "rageval_report.cli.serve_body:serve",
    examples=(
        'rageval-report serve --ask "Do guide dogs travel free of charge?"',
        "rageval-report serve --port 0 --seconds 0.1 --fault 500=0.05 --fault slow=0.01",
    ),
)
