"""The options of demo."""

from __future__ import annotations

from pathlib import Path

from rageval_report.cli.command import Command, Options, option

FOLDER = Path("rageval-demo")
LIVE_FOLDER = FOLDER / "live"


class DemoArguments(Options):
    """Show the main features on example data.

    Prints a report, failing queries and a comparison, draws pictures, and writes a page to open in
    a browser: report.html. Needs no network, and no files of yours.
    """

    folder: Path | None = option(
        "-o",
        "--output",
        metavar="FOLDER",
        help="The folder for all files; files of the same names are replaced. If omitted, "
        f"{FOLDER}, or {LIVE_FOLDER} with --live.",
    )
    live: bool = option("--live", help="Ask a small server on this machine, and score its answers.")
    quiet: bool = option("--quiet", "-q", help="Write the files, and print only where they are.")


demo = Command(
    DemoArguments,
    "rageval_report.cli.demo_body:demo",
    examples=(
        "rageval-report demo",
        "rageval-report demo --output somewhere/else",
        "rageval-report demo --live --output live",
    ),
)
