"""demo: what the other commands show, on example data."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path
from typing import Protocol

import click

from rageval_report._registry import EXTRAS, load
from rageval_report.analysis.compare import Comparison, compare
from rageval_report.cli.demo import FOLDER, LIVE_FOLDER, DemoArguments
from rageval_report.cli.output import Output, write_picture
from rageval_report.demo import demo_evaluations, write_demo_files
from rageval_report.errors import RagevalError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.files.writing import write_atomically
from rageval_report.plots import save_plot
from rageval_report.render.plain_text import WIDTH
from rageval_report.results import Result

_LIMIT = 4
# What the live demo imports beyond the core: a client for HTTP, and a search for the server.
_LIVE_PACKAGES = ("httpcore2", "httpx2", "tenacity", "bm25s")
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
        _check_extras()
        # Loaded by name: it needs extras, and the rest of the demo does not.
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
    page = comparison.report().to_html().encode()
    report = write_atomically(folder / "report.html", page)
    pictures = _draw(folder, baseline, comparison)
    names = [path.name for path in (*files, report, *pictures)]
    written = f"Written to {folder}: {', '.join(names)}"
    click.echo(textwrap.fill(written, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n")
    click.echo(_next_steps(report, old, new))


def _check_extras() -> None:
    """Refuse the live demo at once if packages are missing, and name all of them.

    Raises
    ------
    RagevalError
        With the line that installs the extras.
    """
    missing = [name for name in _LIVE_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        extras = ",".join(sorted({EXTRAS[name] for name in missing}))
        raise RagevalError(
            f"demo --live needs packages that are not installed ({', '.join(missing)}): "
            f'pip install "rageval-report[{extras}]"'
        )


def _show(baseline: RAGPipelineEvaluation, comparison: Comparison, old: str, new: str) -> None:
    output = Output.to_standard_output()
    failures = baseline.failures("faithfulness", 0.5)
    steps: dict[str, Result] = {
        f"report {old}": baseline.evaluation_report(),
        f"failures {old} --metric faithfulness --threshold 0.5 --limit {_LIMIT}": output.limit_rows(
            failures, _LIMIT
        ),
        f"compare {old} {new}": comparison,
        f"slices {old} {new} --by question_type --metric exact_match": comparison.slices(
            "question_type", "exact_match"
        ),
    }
    for command, result in steps.items():
        click.echo(f"$ rageval-report {command}\n")
        output.write({command: result})
        click.echo("\n")


def _draw(folder: Path, baseline: RAGPipelineEvaluation, comparison: Comparison) -> list[Path]:
    # Not "forest.png" and so on, which README draws beside the scores.
    names = ("distribution", "forest", "differences")
    distribution, forest, differences = (folder / f"demo_{name}.png" for name in names)
    write_picture(
        distribution, lambda path: save_plot(baseline, "distribution", path, "context_relevance")
    )
    write_picture(forest, lambda path: save_plot(comparison, "forest", path))
    write_picture(
        differences, lambda path: save_plot(comparison, "differences", path, "reciprocal_rank")
    )
    return [distribution, forest, differences]


def _next_steps(report: Path, old: str, new: str) -> str:
    return (
        f"Open {report} in a browser: verdicts, pictures, and every query.\n\n"
        "Try next:\n"
        f"  rageval-report regressions {old} {new} --metric exact_match\n"
        "  rageval-report report YOUR_SCORES.csv\n"
        "  rageval-report compare YOUR_OLD_SCORES.csv YOUR_SCORES.csv -o comparison.html"
    )
