"""demo: what the other commands show, on example data."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import click

from rageval_report._registry import load
from rageval_report.analysis.comparing.comparison import Comparison, compare
from rageval_report.cli.demo import FOLDER, LIVE_FOLDER, DemoArguments
from rageval_report.cli.output import Output
from rageval_report.demo import demo_evaluations, write_demo_files
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.plots import save_plot
from rageval_report.results import Result

_LIMIT = 4
_INTRODUCTION = """\
Two pipelines, a keyword search (bm25) and its successor (hybrid), answered the same 200 questions
about the services of an invented island's council. Everything below is made from their scores.
"""


class _ShowLive(Protocol):
    """As `rageval_report.cli.demo_live.show_live`."""

    def __call__(self, folder: Path, *, quiet: bool) -> None: ...


def demo(options: DemoArguments) -> None:
    """Write the files of the demo, and print what the commands make of them."""
    if options.live:
        # Loaded by name: it needs the extra "server", and the rest of the demo does not.
        show_live: _ShowLive = load("rageval_report.cli.demo_live:show_live")
        show_live(options.folder or LIVE_FOLDER, quiet=options.quiet)
        return
    folder = options.folder or FOLDER
    files = write_demo_files(folder)
    baseline, candidate = demo_evaluations()
    comparison = compare(baseline, candidate)
    old, new = map(str, files)
    if not options.quiet:
        click.echo(_INTRODUCTION)
        _show(baseline, comparison, old, new)
    pictures = _draw(folder, baseline, comparison)
    click.echo(f"Written to {folder}: {', '.join(path.name for path in [*files, *pictures])}\n")
    click.echo(_next_steps(old, new))


def _show(baseline: RAGPipelineEvaluation, comparison: Comparison, old: str, new: str) -> None:
    output = Output.to_standard_output()
    failures = baseline.failures("faithfulness", 0.5)
    steps: dict[str, Result] = {
        f"report {old}": baseline.evaluation_report(),
        f"failures {old} --metric faithfulness --threshold 0.5 --limit {_LIMIT}": output.limit_rows(
            failures, _LIMIT
        ),
        f"compare {old} {new}": comparison,
        f"compare {old} {new} --metric exact_match --by question_type": comparison.slices(
            "question_type", "exact_match"
        ),
    }
    for command, result in steps.items():
        click.echo(f"$ rageval-report {command}\n")
        output.write({command: result})
        click.echo("\n")


def _draw(folder: Path, baseline: RAGPipelineEvaluation, comparison: Comparison) -> list[Path]:
    pictures = [folder / f"{name}.png" for name in ("distribution", "forest", "differences")]
    save_plot(baseline, "distribution", pictures[0], "context_relevance")
    save_plot(comparison, "forest", pictures[1])
    save_plot(comparison, "differences", pictures[2], "reciprocal_rank")
    return pictures


def _next_steps(old: str, new: str) -> str:
    return (
        "Try next:\n"
        f"  rageval-report compare {old} {new} --regressions exact_match\n"
        "  rageval-report report YOUR_SCORES.csv"
    )
