"""The command that runs the reference server."""

from __future__ import annotations

import json
import threading
from typing import Any

import click

from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import quiet_option
from rageval_report.cli.rules import parsed


def share_of(told: str) -> tuple[str, float]:
    """NAME=SHARE of a fault.

    Examples
    --------
    >>> share_of("500=0.05")
    ('500', 0.05)
    """
    name, _, share = told.partition("=")
    try:
        return name.strip(), float(share)
    except ValueError as exc:
        raise click.BadParameter(f"expected NAME=SHARE, as 500=0.05; got {told!r}") from exc


@click.command(
    epilog=examples(
        'rageval-report serve --ask "Do guide dogs travel free of charge?"',
        "rageval-report serve --port 0 --seconds 0.1 --fault 500=0.05 --fault slow=0.01",
    )
)
@click.option(
    "--documents", metavar="PATH", help="A folder of .txt and .md files; a demo's where not given."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where it listens.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="0 for any."
)
@click.option(
    "--k", type=int, default=3, show_default=True, help="How many documents are retrieved."
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    callback=parsed(share_of),
    metavar="NAME=SHARE",
    help="Go wrong on purpose: slow, 500, 429, garbage, html, empty, huge, drop, hang-up, refusal.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Which requests go wrong.")
@click.option("--delay", type=click.FloatRange(0), default=0.0, help="Seconds before each answer.")
@click.option(
    "--slow", type=click.FloatRange(0), default=5.0, show_default=True, help="How slow slow is."
)
@click.option("--seconds", type=click.FloatRange(0), help="Stop after so long; else at Ctrl-C.")
@click.option("--ask", "question", metavar="QUESTION", help="Answer this, and do not serve.")
@quiet_option
def serve(
    documents: str | None,
    k: int,
    faults: tuple[tuple[str, float], ...],
    seed: int,
    seconds: float | None,
    question: str | None,
    quiet: bool,
    **listening: Any,
) -> None:
    """Run a small RAG server, to try things on without a model.

    It searches by BM25 and answers with sentences of the documents. POST {"question": "..."} to
    /answer, or to /stream for server-sent events; then

    rageval-report eval --url http://127.0.0.1:8001/answer --records queries.jsonl -o run
    """
    del quiet  # `note` asks the context
    server = load("rageval_report.demo.server")
    found = server.demo_documents() if documents is None else server.read_documents(documents)
    rag = server.ExtractiveRag(found, k)
    if question is not None:
        click.echo(json.dumps(rag.answer(question), indent=2, ensure_ascii=False))
        return
    wrong = server.Faults(dict(faults), seed=seed)
    with server.ReferenceServer(rag, faults=wrong, **listening) as running:
        click.echo(f"{len(found)} documents at {running.url}/answer")
        note("stop it with Ctrl-C")
        threading.Event().wait(seconds)
