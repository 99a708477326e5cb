"""The commands on golden sets: check, sample, split, review; making them stands beside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.cli.golden_making import MAKING_EXAMPLES, generate, ground_truth
from rageval_report.cli.golden_writing import by_option, force_option, seed_option, write_items
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import output_options, quiet_option
from rageval_report.cli.output import Output, check_free
from rageval_report.cli.rules import pair_of, parsed
from rageval_report.errors import DataError, named
from rageval_report.files.writing import write_atomically

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.golden import GoldenItem

FAILED = 1

_WING = "rageval_report.golden"
_PLANNING = "rageval_report.stats.planning"
_SHOWN = ("severity", "check", "query_id", "other", "told")

_CHECK = (
    "rageval-report golden check golden.jsonl",
    "rageval-report golden check golden.jsonl --documents docs --difference 0.05",
)
_SAMPLE = ("rageval-report golden sample golden.jsonl --n 4 --by query_type -o sample.jsonl",)
_SPLIT = ("rageval-report golden split golden.jsonl --part dev.jsonl=0.25 --part test.jsonl=0.75",)
_REVIEW = (
    "rageval-report golden review golden.jsonl -o review.html",
    "rageval-report golden review golden.jsonl --decisions review.csv -o reviewed.jsonl",
)


@click.group(
    epilog=examples(*_CHECK, *_SAMPLE, *_SPLIT, *MAKING_EXAMPLES, *_REVIEW),
)
def golden() -> None:
    """Check, part, make and review golden sets.

    A golden set holds an object a line: question, references, gold; see docs/golden.md.
    """


golden.add_command(generate)
golden.add_command(ground_truth)


def _read(file: str) -> list[GoldenItem]:
    items: list[GoldenItem] = load(f"{_WING}:read_golden")(file)
    return items


@golden.command(epilog=examples(*_CHECK))
@click.argument("file", metavar="FILE")
@click.option("--documents", metavar="FOLDER", help="The files that spans and ids name.")
@click.option("--skip", multiple=True, metavar="CHECK", help="A check to leave out; repeatable.")
@click.option("--near", type=float, default=0.8, show_default=True, help="Similarity of questions.")
@by_option(("query_type", "domain"))
@click.option(
    "--difference",
    type=float,
    default=0.05,
    show_default=True,
    metavar="D",
    help="The difference between two pipelines that the set should show.",
)
@click.option(
    "--sd",
    type=float,
    default=0.4,
    show_default=True,
    help="Standard deviation of the differences of a query; compare prints effect sizes of yours.",
)
@click.option("--power", type=float, default=0.8, show_default=True, help="Of the test.")
@click.option("--strict", is_flag=True, help="End with 1 on warnings too.")
@output_options
def check(
    file: str,
    documents: str | None,
    skip: tuple[str, ...],
    near: float,
    by: tuple[str, ...],
    difference: float,
    sd: float,
    power: float,
    strict: bool,
    output: Output,
) -> int:
    """Look for what is wrong with a golden set, and whether it is large enough.

    Ends with 1 where there is an error.
    """
    items = _read(file)
    checks = load(f"{_WING}:CHECKS")
    left_out = [checks[name] for name in skip]
    held = None if documents is None else load(f"{_WING}:Documents")(documents)
    frame = load(f"{_WING}:check_golden")(
        items,
        documents=held,
        checks=[name for name in checks if checks[name] not in left_out],
        limits=load(f"{_WING}:Limits")(near=near, by=by),
    )
    planned, told = _planned(len(items), difference, sd, power)
    frame = load("pandas:concat")([frame, planned], ignore_index=True)
    settings = {"near": near, "difference": difference, "sd": sd, "power": power}
    title = f"Golden set {Path(file).name}: {len(items)} questions, {len(frame)} findings"
    result = load("rageval_report:Result")(title, frame, settings, (told,), headline=_SHOWN)
    output.write({file: result})
    return FAILED if len(frame) and (strict or "error" in set(frame["severity"])) else 0


def _planned(n: int, difference: float, sd: float, power: float) -> tuple[pd.DataFrame, str]:
    """Whether so many questions can show the difference, and what they can show."""
    if not (difference > 0 and sd > 0):
        raise DataError(f"--difference and --sd must be above 0; got {difference:g} and {sd:g}")
    needed = load(f"{_PLANNING}:required_n")(difference / sd, power)
    shows = load(f"{_PLANNING}:minimum_detectable_difference")
    least = f", differences from {shows(sd, n, power=power):.3g} on" if n > 1 else " nothing"
    told = (
        f"{n} questions show{least} with power {power:g} where a query's differences "
        f"have a standard deviation of {sd:g}; {difference:g} takes {needed}"
    )
    row = {"check": "size", "severity": "warning", "query_id": "", "other": "", "value": needed}
    rows = [{**row, "told": told}] if n < needed else []
    columns = ["check", "severity", "query_id", "other", "value", "told"]
    frame: pd.DataFrame = load("pandas:DataFrame")(rows, columns=columns)
    return frame, told


@golden.command(epilog=examples(*_SAMPLE))
@click.argument("file", metavar="FILE")
@click.option("--n", type=int, required=True, help="How many questions to draw.")
@by_option(("query_type",))
@click.option(
    "--how",
    type=click.Choice(["proportional", "equal"]),
    default="proportional",
    show_default=True,
    help="As many of each type as it has of the set, or of each the same.",
)
@seed_option
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), metavar="FILE")
@force_option
@quiet_option
def sample(
    file: str, n: int, by: tuple[str, ...], how: str, seed: int, path: Path | None, **rest: Any
) -> None:
    """Draw questions, type by type; the same ones whatever the order of the file."""
    if path is not None:
        check_free(path, force=rest["force"])
    drawn = load(f"{_WING}:sample_golden")(_read(file), n, by=by, how=how, seed=seed)
    write_items(drawn, path)


@golden.command(epilog=examples(*_SPLIT))
@click.argument("file", metavar="FILE")
@click.option(
    "--part",
    "parts",
    callback=parsed(pair_of),
    multiple=True,
    required=True,
    metavar="FILE=SHARE",
    help="A file to write and its share; the shares add up to 1.",
)
@by_option(("query_type",))
@click.option("--together", multiple=True, metavar="KEY", help="Equal values stay in one part.")
@click.option("--near", type=float, default=0.8, show_default=True, help="Such stay in one part.")
@seed_option
@click.option("--force-parts", is_flag=True, help="Replace the files of the parts.")
@output_options
def split(
    file: str,
    parts: tuple[tuple[str, str], ...],
    by: tuple[str, ...],
    together: tuple[str, ...],
    near: float,
    seed: int,
    force_parts: bool,
    output: Output,
) -> None:
    """Part a golden set; near-duplicates stay in one part. Says what each part has."""
    shares = {name: _share(name, told) for name, told in parts}
    for name in shares:
        check_free(Path(name), force=force_parts)
    found = load(f"{_WING}:split_golden")(
        _read(file), shares, by=by, together=together, near=near, seed=seed
    )
    empty = [name for name, items in found.items() if not items]
    if empty:
        raise DataError(f"too few questions for so many parts: nothing is left for {named(empty)}")
    for name, items in found.items():
        write_items(items, Path(name))
    counts = load("rageval_report.datasets:dataset_counts")
    frames = [
        counts(load(f"{_WING}:golden_records")(items)).assign(part=name)
        for name, items in found.items()
    ]
    frame = load("pandas:concat")(frames, ignore_index=True)
    settings = {"near": near, "seed": seed, "by": by, "together": together}
    shown = ("part", "by", "value", "n", "share")
    result = load("rageval_report:Result")
    output.write({file: result(f"Parts of {Path(file).name}", frame, settings, headline=shown)})


def _share(name: str, told: str) -> float:
    try:
        return float(told)
    except ValueError as exc:
        raise DataError(f"--part {name}={told}: expected a share, as dev.jsonl=0.3") from exc


@golden.command(epilog=examples(*_REVIEW))
@click.argument("file", metavar="FILE")
@click.option(
    "--decisions",
    metavar="REVIEW",
    help="The filled sheet (.csv), or what the page saved (.json): apply it, and write the set.",
)
@click.option("--reviewer", default="", metavar="NAME", help="Who decided; kept with each item.")
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A sheet (.csv) or a page (.html) to fill; with --decisions the reviewed set (.jsonl).",
)
@force_option
@quiet_option
def review(file: str, decisions: str | None, reviewer: str, path: Path | None, **rest: Any) -> None:
    """Have people accept, edit or reject each question, and read back what they decided."""
    if path is not None:
        check_free(path, force=rest["force"])
    items = _read(file)
    if decisions is None:
        _write_form(items, path, Path(file).stem)
        return
    said = load(f"{_WING}:read_review")(decisions)
    done = load(f"{_WING}:apply_review")(items, said, reviewer=reviewer)
    counts = done.decisions["decision"].value_counts()
    note(", ".join(f"{n} {decision}" for decision, n in counts.items()))
    write_items(done.items, path)


def _write_form(items: list[GoldenItem], path: Path | None, title: str) -> None:
    if path is not None and path.suffix.lower() in (".html", ".htm"):
        text = load(f"{_WING}:review_page")(items, title=title)
    elif path is None or path.suffix.lower() == ".csv":
        text = load(f"{_WING}:review_sheet")(items)
    else:
        raise DataError(f"{path}: end the name in .csv for a sheet, in .html for a page")
    if path is None:
        click.echo(text, nl=False)
    else:
        write_atomically(path, text)
        note(f"wrote {path}")
