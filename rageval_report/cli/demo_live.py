"""The live demo: start a server, ask it, score and compare its answers, all on this machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rageval_report.analysis.compare import compare
from rageval_report.cli.output import Output
from rageval_report.demo.server import (
    ExtractiveRag,
    Faults,
    ReferenceServer,
    demo_documents,
    demo_queries,
)
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.files.writing import write_atomically
from rageval_report.metrics.scoring import score
from rageval_report.readers.record_files import read_records
from rageval_report.results import Result
from rageval_report.runner import collect_answers, config_from, target_from

QUERIES = "queries.jsonl"
COMPARED = ("recall@5", "reciprocal_rank", "exact_match", "token_f1", "false_refusal")
METRICS = (*COMPARED, "latency_ms")  # not compared: the two runs do not share the machine's load

# One query in ten meets a server that fails at first, and answers when it is asked again.
_FAULTS = {"500": 0.05, "drop": 0.05}
_KS = (1, 3)
_INTRODUCTION = """\
A small RAG server runs at {url}: it searches {n} documents with BM25, and
answers with sentences from them. One request in ten fails on purpose, and is sent again. The server
is asked {n_queries} questions twice: with one document per answer (k1), and with three (k3).
"""
_LIMIT = 5


def show_live(folder: Path, *, quiet: bool) -> None:
    """Run the whole chain: serve, ask, score, report, compare.

    Parameters
    ----------
    folder : Path
        The folder for queries and runs; earlier ones of the demo are replaced.
    quiet : bool
        Whether to print only where the files are.
    """
    documents, queries = demo_documents(), demo_queries()
    path = _write_queries(folder, queries)
    with ReferenceServer(ExtractiveRag(documents), faults=Faults(_FAULTS)) as running:
        if not quiet:
            click.echo(
                _INTRODUCTION.format(url=running.url, n=len(documents), n_queries=len(queries))
            )
        evaluations = [_evaluate(running.url, path, folder, k) for k in _KS]
    if not quiet:
        _show(evaluations)
    click.echo(_next_steps(folder))


def _write_queries(folder: Path, queries: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(query, ensure_ascii=False) for query in queries)
    return write_atomically(folder / QUERIES, "\n".join(lines) + "\n")


def _evaluate(url: str, queries: Path, folder: Path, k: int) -> RAGPipelineEvaluation:
    """Ask with k documents, score, and save."""
    name = f"k{k}"
    shutil.rmtree(folder / name, ignore_errors=True)
    body = {"question": "{question}", "k": k}
    section = {"url": f"{url}/answer", "body": body, "config_url": f"{url}/config"}
    config = config_from({"name": name, "warm_up": 4, "http": section})
    with target_from(config) as target:
        finished = collect_answers(queries, target, folder / name, config, sleep=_do_not_sleep)
    records = read_records(finished.records, unretrieved_citations="keep")
    evaluation = score(records, METRICS, name=name)
    evaluation.save(folder / f"{name}.json")
    return evaluation


def _do_not_sleep(_: float) -> None:
    """Ask again at once: a local server that fails on purpose needs no time to recover."""


def _show(evaluations: Sequence[RAGPipelineEvaluation]) -> None:
    output = Output.to_standard_output(verbose=True)
    old, new = evaluations
    results: dict[str, Result] = {
        "report": new.evaluation_report(),
        "failures": output.limit_rows(new.failures("exact_match", 1), _LIMIT),
        "compare": compare(old, new, metrics=COMPARED),
    }
    for name, result in results.items():
        output.write({name: result})
        click.echo("\n")


def _next_steps(folder: Path) -> str:
    old, new = (folder / f"k{k}.json" for k in _KS)
    return (
        f"Written to {folder}: {QUERIES}, a folder and a file of scores for each run\n\n"
        "Try next:\n"
        f"  rageval-report compare {old} {new}\n"
        "  rageval-report serve\n"
        "  rageval-report eval --url http://127.0.0.1:8001/answer -o run \\\n"
        f"    --records {folder / QUERIES}"
    )
