"""The commands on golden sets: sample, split, review, records; the others stand beside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.cli.golden.checking import CHECK_EXAMPLES, check
from rageval_report.cli.golden.evaluating import EVALUATE_EXAMPLES, evaluate
from rageval_report.cli.golden.making import MAKING_EXAMPLES, generate, ground_truth
from rageval_report.cli.golden.writing import (
    by_option,
    force_option,
    read_items,
    seed_option,
    write_items,
)
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import output_options, quiet_option
from rageval_report.cli.output import Output, check_free
from rageval_report.cli.rules import pair_of, parsed
from rageval_report.errors import DataError, named
from rageval_report.files.writing import write_atomically

if TYPE_CHECKING:
    from rageval_report.golden import GoldenItem

_WING = "rageval_report.golden"

_SAMPLE = ("rageval-report golden sample golden.jsonl --n 4 --by query_type -o sample.jsonl",)
_SPLIT = ("rageval-report golden split golden.jsonl --part dev.jsonl=0.25 --part test.jsonl=0.75",)
_REVIEW = (
    "rageval-report golden review golden.jsonl -o review.html",
    "rageval-report golden review golden.jsonl --decisions review.csv -o reviewed.jsonl",
)


_RECORDS = ("rageval-report golden records golden.jsonl --gold texts -o asked.jsonl",)


@click.group(
    epilog=examples(
        *CHECK_EXAMPLES,
        *_SAMPLE,
        *_SPLIT,
        *MAKING_EXAMPLES,
        *_REVIEW,
        *_RECORDS,
        *EVALUATE_EXAMPLES,
    ),
)
def golden() -> None:
    """Check, part, make and review golden sets.

    A golden set holds an object a line: question, references, gold; see docs/golden.md.
    """


golden.add_command(check)
golden.add_command(generate)
golden.add_command(ground_truth)
golden.add_command(evaluate)


@golden.command(epilog=examples(*_SAMPLE))
@click.argument("file", metavar="FILE")
@click.option("--n", type=int, required=True, help="How many questions to draw.")
@by_option()
@click.option(
    "--how",
    type=click.Choice(["proportional", "equal"]),
    default="proportional",
    show_default=True,
    help="As many of each type as it has of the set, or of each the same.",
)
@click.option(
    "--unanswerable-ratio",
    type=float,
    metavar="SHARE",
    help="The share that has no answer, as 0.3; as in the set if not given.",
)
@seed_option
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), metavar="FILE")
@force_option
@quiet_option
def sample(
    file: str,
    n: int,
    by: tuple[str, ...],
    how: str,
    unanswerable_ratio: float | None,
    seed: int,
    path: Path | None,
    **rest: Any,
) -> None:
    """Draw questions, type by type; the same ones whatever the order of the file."""
    if path is not None:
        check_free(path, force=rest["force"])
    drawn = load(f"{_WING}:sample_golden")(
        read_items(file),
        n,
        by=by or None,
        how=how,
        unanswerable_ratio=unanswerable_ratio,
        seed=seed,
    )
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
@by_option()
@click.option(
    "--together",
    multiple=True,
    metavar="KEY",
    help="Equal values stay in one part: "
    "a key of the metadata, or document, which the gold names too.",
)
@click.option("--near", type=float, default=0.8, show_default=True, help="Such stay in one part.")
@seed_option
@output_options
def split(
    file: str,
    parts: tuple[tuple[str, str], ...],
    by: tuple[str, ...],
    together: tuple[str, ...],
    near: float,
    seed: int,
    output: Output,
) -> None:
    """Part a golden set; near-duplicates stay in one part. Says what each part has."""
    shares = {name: _share(name, told) for name, told in parts}
    for name in shares:
        check_free(Path(name), force=output.force)
    found = load(f"{_WING}:split_golden")(
        read_items(file), shares, by=by or None, together=together, near=near, seed=seed
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
    title = f"Parts of {Path(file).name}"
    result = load("rageval_report:Result")(title, frame, settings, _leaks(found), headline=shown)
    output.write({file: result})


def _leaks(parts: dict[str, list[GoldenItem]]) -> tuple[str, ...]:
    shared = load(f"{_WING}.sampling:shared_documents")(parts)
    if not shared:
        return ()
    told = f"questions of several parts are about the same {len(shared)} documents"
    return (f"{told}: {named(shared)}; keep them in one part with --together document",)


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
@click.option(
    "--documents", metavar="FOLDER", help="The files that were asked about: passages are shown."
)
@click.option(
    "--rejected", type=click.Path(path_type=Path), metavar="FILE", help="Keep what was rejected."
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
def review(
    file: str,
    decisions: str | None,
    documents: str | None,
    rejected: Path | None,
    reviewer: str,
    path: Path | None,
    **rest: Any,
) -> None:
    """Have people accept, edit or reject each question, and read back what they decided."""
    for place in (path, rejected):
        if place is not None:
            check_free(place, force=rest["force"])
    items = read_items(file)
    if decisions is None:
        held = None if documents is None else load(f"{_WING}:Documents")(documents)
        _write_form(items, path, Path(file).stem, held)
        return
    said = load(f"{_WING}:read_review")(decisions)
    done = load(f"{_WING}:apply_review")(items, said, reviewer=reviewer)
    counts = done.decisions["decision"].value_counts()
    note(", ".join(f"{n} {decision}" for decision, n in counts.items()))
    if not done.items:
        raise DataError("every question was rejected; nothing is left to write")
    write_items(done.items, path)
    if rejected is not None and done.rejected:
        write_items(done.rejected, rejected)


@golden.command(epilog=examples(*_RECORDS))
@click.argument("file", metavar="FILE")
@click.option(
    "--gold",
    type=click.Choice(["auto", "ids", "spans", "texts", "documents"]),
    default="auto",
    show_default=True,
    help="What tells what is relevant: documents takes the files of spans as ids.",
)
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), metavar="FILE")
@force_option
@quiet_option
def records(file: str, gold: str, path: Path | None, **rest: Any) -> None:
    """Write the questions with the gold that your pipeline can be held against.

    A set made by `generate` has places in files. A pipeline that gives ids of documents is held
    against documents, one that gives chunks with their texts against texts.
    """
    if path is not None:
        check_free(path, force=rest["force"])
    table = load(f"{_WING}:golden_records")(read_items(file), gold=gold)
    if not {"relevant", "relevant_spans", "relevant_texts"} & set(table):
        raise DataError(f"{file}: no question has gold of the kind {gold!r}; try another --gold")
    text = load("rageval_report.datasets.golden_sets:records_text")(table)
    if path is None:
        click.echo(text, nl=False)
    else:
        write_atomically(path, text)
        note(f"wrote {len(table)} questions to {path}")


def _write_form(
    items: list[GoldenItem], path: Path | None, title: str, documents: Mapping[str, str] | None
) -> None:
    if path is not None and path.suffix.lower() in (".html", ".htm"):
        text = load(f"{_WING}:review_page")(items, title=title, documents=documents)
    elif path is None or path.suffix.lower() == ".csv":
        text = load(f"{_WING}:review_sheet")(items, documents=documents)
    else:
        raise DataError(f"{path}: end the name in .csv for a sheet, in .html for a page")
    if path is None:
        click.echo(text, nl=False)
    else:
        write_atomically(path, text)
        note(f"wrote {path}")
