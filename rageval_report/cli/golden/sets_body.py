"""golden check, sample, split, review and records: what is done with a golden set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from rageval_report.cli.golden.findings import golden_findings
from rageval_report.cli.golden.items_out import write_items
from rageval_report.cli.golden.sets import (
    CheckArguments,
    RecordsArguments,
    ReviewArguments,
    SampleArguments,
    SplitArguments,
)
from rageval_report.cli.group import FAILED, OK
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output, check_files, write_text
from rageval_report.datasets import dataset_counts
from rageval_report.errors import DataError, named
from rageval_report.golden import (
    CHECKS,
    Documents,
    GoldenItem,
    Limits,
    apply_review,
    check_golden,
    golden_records,
    read_golden,
    read_review,
    review_page,
    review_sheet,
    sample_golden,
    split_golden,
)
from rageval_report.records.golden import records_text
from rageval_report.records.golden_samples import shared_documents
from rageval_report.results import Result

_GOLD_COLUMNS = {"relevant", "relevant_spans", "relevant_texts"}


def check(options: CheckArguments) -> int:
    """Check the set, and write the findings."""
    output = Output.of(options)
    items = read_golden(options.file)
    skipped = [CHECKS[name] for name in options.skip]  # by function, as a check may have two names
    table = check_golden(
        items,
        documents=_documents(options.documents),
        checks=[name for name in CHECKS if CHECKS[name] not in skipped],
        limits=Limits(near=options.near, by=options.by),
    )
    findings = golden_findings(
        options.file,
        table,
        len(items),
        near=options.near,
        difference=options.difference,
        sd=options.sd,
        power=options.power,
    )
    failed = findings.has_error or (options.strict and len(findings.frame) > 0)
    output.write(
        {options.file: findings if output.renderer.for_programs else findings.as_sentences()}
    )
    return FAILED if failed else OK


def sample(options: SampleArguments) -> None:
    """Draw the questions, and write them."""
    check_files(options.path, force=options.force)
    items = sample_golden(
        read_golden(options.file),
        options.n,
        by=options.by or None,
        how=options.how,
        unanswerable_ratio=options.unanswerable_ratio,
        seed=options.seed,
    )
    write_items(items, options.path)


def split(options: SplitArguments) -> None:
    """Write the parts, and the table of what each has."""
    output = Output.of(options)
    shares = {name: _parse_share(name, share) for name, share in options.parts}
    check_files(*map(Path, shares), force=options.force)
    parts = split_golden(
        read_golden(options.file),
        shares,
        by=options.by or None,
        together=options.together,
        near=options.near,
        seed=options.seed,
    )
    empty = [name for name, items in parts.items() if not items]
    if empty:
        raise DataError(f"too few questions for so many parts: nothing is left for {named(empty)}")
    for name, items in parts.items():
        write_items(items, Path(name))
    counts = [
        dataset_counts(golden_records(items)).assign(part=name) for name, items in parts.items()
    ]
    result = Result(
        f"Parts of {Path(options.file).name}",
        pd.concat(counts, ignore_index=True),
        {
            "near": options.near,
            "seed": options.seed,
            "by": options.by,
            "together": options.together,
        },
        _leak_notes(parts),
        headline=("part", "by", "value", "n", "share"),
    )
    output.write({options.file: result})


def _leak_notes(parts: Mapping[str, list[GoldenItem]]) -> tuple[str, ...]:
    """A note if questions of several parts are about the same documents."""
    shared = shared_documents(parts)
    if not shared:
        return ()
    return (
        f"questions of several parts are about the same {len(shared)} documents: {named(shared)}; "
        "keep them in one part with --together document",
    )


def _parse_share(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as exc:
        raise DataError(f"--part {name}={text}: expected a share, such as dev.jsonl=0.3") from exc


def review(options: ReviewArguments) -> None:
    """Write the form to fill in, or apply the decisions of a form."""
    check_files(options.path, options.rejected, force=options.force)
    items = read_golden(options.file)
    if options.decisions is None:
        write_text(_review_form(items, options), options.path)
        return
    decisions = read_review(options.decisions)
    reviewed = apply_review(items, decisions, reviewer=options.reviewer)
    counts = reviewed.decisions["decision"].value_counts()
    note(", ".join(f"{n} {decision}" for decision, n in counts.items()))
    if not reviewed.items:
        raise DataError("every question was rejected; nothing is left to write")
    write_items(reviewed.items, options.path)
    if options.rejected is not None and reviewed.rejected:
        write_items(reviewed.rejected, options.rejected)


def _review_form(items: list[GoldenItem], options: ReviewArguments) -> str:
    suffix = ".csv" if options.path is None else options.path.suffix.lower()
    documents = _documents(options.documents)
    if suffix in (".html", ".htm"):
        return review_page(items, title=Path(options.file).stem, documents=documents)
    if suffix == ".csv":
        return review_sheet(items, documents=documents)
    raise DataError(f"{options.path}: end the name in .csv for a sheet, in .html for a page")


def _documents(folder: str | None) -> Documents | None:
    return None if folder is None else Documents(folder)


def records(options: RecordsArguments) -> None:
    """Write the questions as records."""
    check_files(options.path, force=options.force)
    table = golden_records(read_golden(options.file), gold=options.gold)
    if not _GOLD_COLUMNS & set(table):
        raise DataError(
            f"{options.file}: no question has gold of the kind {options.gold!r}; try another --gold"
        )
    write_text(records_text(table), options.path, f"{len(table)} questions")
