"""demo: what the other commands show, on example data, or live with a small server."""

from __future__ import annotations

import importlib.util
import json
import shutil
import textwrap
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import rageval_report as rr
from rageval_report._registry import EXTRAS
from rageval_report.cli.command import Family, command
from rageval_report.cli.options import Options
from rageval_report.cli.output import Output, note
from rageval_report.errors import RagevalError

FOLDER = Path("rageval-demo")

_LIMIT = 4
# What the live demo imports beyond the core: a client for HTTP, and a search for the server.
_LIVE_PACKAGES = ("httpcore2", "httpx2", "tenacity", "bm25s")
_INTRODUCTION = """\
Two pipelines, a keyword search (bm25) and its successor (hybrid), answered the same 200 questions
about the services of an invented island's council. Everything below is made from their scores.
"""


@command("demo show")
def show(options: Options) -> None:
    """Show the main features on example data.

    Prints a report, failing queries and a comparison, draws pictures, and writes a page to open in
    a browser: report.html. Needs no network, and no files of yours; files of the same names are
    replaced. With --live, a small server on this machine is asked, and its answers are scored.
    """
    if options.live:
        _show_live(options.path or FOLDER / "live", quiet=options.quiet)
    else:
        _show_files(options.path or FOLDER, quiet=options.quiet)


def _show_files(folder: Path, *, quiet: bool) -> None:
    from rageval_report.demo import demo_evaluations, write_demo_files
    from rageval_report.files.writing import write_atomically
    from rageval_report.reports.plain import WIDTH

    files = write_demo_files(folder)
    baseline, candidate = demo_evaluations()
    comparison = rr.compare(baseline, candidate)
    old, new = map(str, files)
    if not quiet:
        click.echo(_INTRODUCTION)
        output = Output.to(None)
        failures = output.limit_rows(baseline.failures("faithfulness", 0.5), _LIMIT)
        slices = comparison.slices("question_type", "exact_match")
        for line, result in (
            (f"report {old}", baseline.evaluation_report()),
            (f"failures {old} --metric faithfulness --threshold 0.5 --limit {_LIMIT}", failures),
            (f"compare {old} {new}", comparison),
            (f"slices {old} {new} --by question_type --metric exact_match", slices),
        ):
            click.echo(f"$ rageval-report {line}\n")
            output.write(result)
            click.echo("\n")
    report = write_atomically(folder / "report.html", comparison.report().to_html())
    pictures = _draw(folder, baseline, comparison)
    names = [path.name for path in (*files, report, *pictures)]
    written = f"Written to {folder}: {', '.join(names)}"
    click.echo(textwrap.fill(written, WIDTH, break_long_words=False, break_on_hyphens=False))
    click.echo(
        f"\nOpen {report} in a browser: verdicts, pictures, and every query.\n\n"
        "Try next:\n"
        f"  rageval-report regressions {old} {new} --metric exact_match\n"
        "  rageval-report report YOUR_SCORES.csv\n"
        "  rageval-report compare YOUR_OLD_SCORES.csv YOUR_SCORES.csv -o comparison.html"
    )


def _draw(
    folder: Path, baseline: rr.RAGPipelineEvaluation, comparison: rr.Comparison
) -> list[Path]:
    from rageval_report.plots import save_plot

    # Not "forest.png" and so on, which README draws beside the scores.
    paths = [folder / f"demo_{name}.png" for name in ("distribution", "forest", "differences")]
    save_plot(baseline, "distribution", paths[0], "context_relevance")
    save_plot(comparison, "forest", paths[1])
    save_plot(comparison, "differences", paths[2], "reciprocal_rank")
    return paths


# -- live: start a server, ask it, score and compare its answers, all on this machine

_COMPARED = ("recall@5", "reciprocal_rank", "exact_match", "token_f1", "false_refusal")
_METRICS = (*_COMPARED, "latency_ms")  # not compared: the two runs do not share the machine's load
# One query in ten meets a server that fails at first, and answers when it is asked again.
_FAULTS = {"500": 0.05, "drop": 0.05}
_KS = (1, 3)
_LIVE_INTRODUCTION = """\
A small RAG server runs at {url}: it searches {n} documents with BM25, and
answers with sentences from them. One request in ten fails on purpose, and is sent again. The server
is asked {n_queries} questions twice: with one document per answer (k1), and with three (k3).
"""


def _show_live(folder: Path, *, quiet: bool) -> None:
    """Run the whole chain: serve, ask, score, report, compare; earlier runs are replaced."""
    from rageval_report.demo.server import (
        ExtractiveRag,
        Faults,
        ReferenceServer,
        demo_documents,
        demo_queries,
    )
    from rageval_report.files.writing import write_atomically

    _check_extras()
    documents, queries = demo_documents(), demo_queries()
    lines = (json.dumps(query, ensure_ascii=False) for query in queries)
    path = write_atomically(folder / "queries.jsonl", "\n".join(lines) + "\n")
    with ReferenceServer(ExtractiveRag(documents), faults=Faults(_FAULTS)) as running:
        if not quiet:
            counts = {"n": len(documents), "n_queries": len(queries)}
            click.echo(_LIVE_INTRODUCTION.format(url=running.url, **counts))
        evaluations = [_evaluate(running.url, path, folder, k) for k in _KS]
    if not quiet:
        _print_live(evaluations)
    old, new = (folder / f"k{k}.json" for k in _KS)
    click.echo(
        f"Written to {folder}: {path.name}, a folder and a file of scores for each run\n\n"
        "Try next:\n"
        f"  rageval-report compare {old} {new}\n"
        "  rageval-report demo serve\n"
        "  rageval-report eval --url http://127.0.0.1:8001/answer -o run \\\n"
        f"    --records {path}"
    )


def _check_extras() -> None:
    """Refuse the live demo at once if packages are missing, and name all of them."""
    missing = [name for name in _LIVE_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        extras = ",".join(sorted({EXTRAS[name] for name in missing}))
        raise RagevalError(
            f"demo --live needs packages that are not installed ({', '.join(missing)}): "
            f'pip install "rageval-report[{extras}]"'
        )


def _evaluate(url: str, queries: Path, folder: Path, k: int) -> rr.RAGPipelineEvaluation:
    """Ask with k documents, score, and save."""
    from rageval_report.runner import RunConfig, collect_answers, target_from

    name = f"k{k}"
    shutil.rmtree(folder / name, ignore_errors=True)
    body = {"question": "{question}", "k": k}
    section = {"url": f"{url}/answer", "body": body, "config_url": f"{url}/config"}
    config = RunConfig(name, settings={"http": section})
    with target_from(config) as target:
        # A local server that fails on purpose needs no time to recover.
        finished = collect_answers(queries, target, folder / name, config, sleep=lambda _: None)
    records = rr.read_records(finished.records, unretrieved_citations="keep")
    evaluation = rr.score(records, _METRICS, name=name)
    evaluation.save(folder / f"{name}.json")
    return evaluation


def _print_live(evaluations: Sequence[rr.RAGPipelineEvaluation]) -> None:
    output = Output.to(None)
    old, new = evaluations
    failures = output.limit_rows(new.failures("exact_match", 1), _LIMIT + 1)
    for result in (
        *(new.evaluation_report(), failures),
        rr.compare(old, new, metrics=_COMPARED),
    ):
        output.write(result)
        click.echo("\n")


@command("demo serve")
def serve(options: Options) -> None:
    """Run a small RAG server, to try things without a model.

    It searches by BM25 and answers with sentences of the documents. POST {"question": "..."} to
    /answer, or to /stream for server-sent events; then rageval-report eval --url
    http://127.0.0.1:8001/answer --records queries.jsonl -o run
    """
    from rageval_report.demo.server import (
        ExtractiveRag,
        Faults,
        ReferenceServer,
        demo_documents,
        read_documents,
    )

    documents = demo_documents() if options.documents is None else read_documents(options.documents)
    rag = ExtractiveRag(documents, options.k)
    if options.question is not None:
        click.echo(json.dumps(rag.answer(options.question), indent=2, ensure_ascii=False))
        return
    keywords: dict[str, Any] = {
        name: options.get(name) for name in ("host", "port", "delay", "slow", "names")
    }
    server = ReferenceServer(
        rag, faults=Faults(dict(options.faults), seed=options.seed), **keywords
    )
    with server as running:
        click.echo(f"{len(documents)} documents at {running.url}/answer")
        note("stop it with Ctrl-C")
        threading.Event().wait(options.seconds)


demo = Family(
    "demo",
    """
    Show the main features on example data; or run a small RAG server.

    Without a command: show.
    """,
    [show, serve],
    default="show",
)
