"""serve: the small RAG server of the demo."""

from __future__ import annotations

import json
import threading

import click

from rageval_report.cli.notes import note
from rageval_report.cli.serve import ServeArguments
from rageval_report.demo.server import (
    ExtractiveRag,
    Faults,
    ReferenceServer,
    demo_documents,
    read_documents,
)


def serve(options: ServeArguments) -> None:
    """Answer one question, or listen until the time is up."""
    documents = demo_documents() if options.documents is None else read_documents(options.documents)
    rag = ExtractiveRag(documents, options.k)
    if options.question is not None:
        click.echo(json.dumps(rag.answer(options.question), indent=2, ensure_ascii=False))
        return
    server = ReferenceServer(
        rag,
        faults=Faults(dict(options.faults), seed=options.seed),
        host=options.host,
        port=options.port,
        delay=options.delay,
        slow=options.slow,
        names=options.names,
    )
    with server as running:
        click.echo(f"{len(documents)} documents at {running.url}/answer")
        note("stop it with Ctrl-C")
        threading.Event().wait(options.seconds)
