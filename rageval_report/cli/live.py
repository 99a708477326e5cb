"""The live demo: a server is started, asked, scored and compared, all on this machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rageval_report
from rageval_report._registry import load
from rageval_report.cli.output import Output
from rageval_report.files.writing import write_atomically

if TYPE_CHECKING:
    from rageval_report import RAGPipelineEvaluation

QUERIES = "queries.jsonl"
COMPARED = ("recall@5", "reciprocal_rank", "exact_match", "token_f1", "false_refusal")
METRICS = (*COMPARED, "latency_ms")  # two runs one after the other say nothing of who is faster

# One query in ten meets a server that fails at first: asked again, it answers.
_FAULTS = {"500": 0.05, "drop": 0.05}
_KS = (1, 3)
_INTRODUCTION = """\
A small RAG server runs at {url}: it finds by BM25 among {n} documents, and
answers with sentences of them. One request in ten fails on purpose, and is made again. The server
is asked {asked} questions twice, with one document for an answer (k1), and with three (k3).
"""
_FEW = 5


def show_live(folder: Path, *, quiet: bool) -> None:
    """Run the whole chain: serve, ask, score, report, compare.

    Parameters
    ----------
    folder : Path
        Where queries and runs go; earlier ones of the demo are replaced.
    quiet : bool
        Whether to say only where the files are.
    """
    server = load("rageval_report.demo.server")
    rag = server.ExtractiveRag(server.demo_documents())
    queries = _written(folder, server.demo_queries())
    with server.ReferenceServer(rag, faults=server.Faults(_FAULTS)) as running:
        if not quiet:
            n = len(server.demo_documents())
            asked = len(server.demo_queries())
            click.echo(_INTRODUCTION.format(url=running.url, n=n, asked=asked))
        runs = [_run(running.url, queries, folder, k) for k in _KS]
    if not quiet:
        _show(runs)
    click.echo(_next(folder))


def _written(folder: Path, queries: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(query, ensure_ascii=False) for query in queries)
    return write_atomically(folder / QUERIES, "\n".join(lines) + "\n")


def _run(url: str, queries: Path, folder: Path, k: int) -> RAGPipelineEvaluation:
    """Ask with k documents, score, and save."""
    runner = load("rageval_report.runner")
    name = f"k{k}"
    shutil.rmtree(folder / name, ignore_errors=True)
    body = {"question": "{question}", "k": k}
    section = {"url": f"{url}/answer", "body": body, "config_url": f"{url}/config"}
    config = runner.config_from({"name": name, "warm_up": 4, "http": section})
    with runner.target_from(config) as target:
        finished = runner.collect_answers(queries, target, folder / name, config, sleep=_at_once)
    records = rageval_report.read_records(finished.records, unretrieved_citations="keep")
    evaluation = rageval_report.score(records, METRICS, name=name)
    evaluation.save(folder / f"{name}.json")
    return evaluation


def _at_once(_: float) -> None:
    """A server on this machine that fails on purpose is well again at once."""


def _show(runs: Sequence[RAGPipelineEvaluation]) -> None:
    output = Output(".txt")
    old, new = runs
    results = {
        "report": new.evaluation_report(),
        "failures": output.shown(new.failures("exact_match", 1), _FEW),
        "compare": rageval_report.compare(old, new, metrics=COMPARED),
    }
    for name, result in results.items():
        output.write({name: result})
        click.echo("\n")


def _next(folder: Path) -> str:
    old, new = (folder / f"k{k}.json" for k in _KS)
    return (
        f"Written to {folder}: {QUERIES}, a folder and a file of scores for each run\n\n"
        "Try next:\n"
        f"  rageval-report compare {old} {new}\n"
        "  rageval-report serve\n"
        "  rageval-report eval --url http://127.0.0.1:8001/answer -o run \\\n"
        f"    --records {folder / QUERIES}"
    )
