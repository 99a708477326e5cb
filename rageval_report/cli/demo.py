"""The command that shows on example data what the others do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import rageval_report
from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.output import Output

if TYPE_CHECKING:
    from rageval_report import Comparison, RAGPipelineEvaluation

FOLDER = Path("rageval-demo")
LIVE_FOLDER = FOLDER / "live"

_FEW = 4
_INTRODUCTION = """\
Two pipelines, a keyword search (bm25) and its successor (hybrid), answered the same 200 questions
about the services of an invented island's council. Everything below is made from their scores.
"""


@click.command(
    epilog=examples(
        "rageval-report demo",
        "rageval-report demo --output somewhere/else",
        "rageval-report demo --live --output live",
    )
)
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help=f"Where all files go, those of their names replaced; {FOLDER} where not given, with "
    f"--live {LIVE_FOLDER}.",
)
@click.option(
    "--live", is_flag=True, help="Ask a small server on this machine, and score its answers."
)
@click.option("--quiet", "-q", is_flag=True, help="Write the files, and say where they are only.")
def demo(folder: Path | None, live: bool, quiet: bool) -> None:
    """Show all of it on example data.

    Prints a report, failing queries and a comparison, and draws pictures. Needs no network, and no
    files of yours.
    """
    if live:
        load("rageval_report.cli.live:show_live")(folder or LIVE_FOLDER, quiet=quiet)
        return
    folder = folder or FOLDER
    data = load("rageval_report.demo:write_demo_files")(folder)
    baseline, candidate = load("rageval_report.demo:demo_evaluations")()
    comparison = rageval_report.compare(baseline, candidate)
    if not quiet:
        click.echo(_INTRODUCTION)
        _show(baseline, comparison, *(str(path) for path in data))
    pictures = _draw(folder, baseline, comparison)
    click.echo(f"Written to {folder}: {', '.join(path.name for path in [*data, *pictures])}\n")
    click.echo(_next(*(str(path) for path in data)))


def _show(baseline: RAGPipelineEvaluation, comparison: Comparison, old: str, new: str) -> None:
    output = Output(".txt")
    steps = {
        f"report {old}": baseline.evaluation_report(),
        f"failures {old} --metric faithfulness --threshold 0.5 --limit {_FEW}": output.shown(
            baseline.failures("faithfulness", 0.5), _FEW
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
    save = load("rageval_report.plots:save_plot")
    pictures = [folder / f"{name}.png" for name in ("distribution", "forest", "differences")]
    save(baseline, "distribution", pictures[0], "context_relevance")
    save(comparison, "forest", pictures[1])
    save(comparison, "differences", pictures[2], "reciprocal_rank")
    return pictures


def _next(old: str, new: str) -> str:
    return (
        "Try next:\n"
        f"  rageval-report compare {old} {new} --regressions exact_match\n"
        "  rageval-report report YOUR_SCORES.csv"
    )
