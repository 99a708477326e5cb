"""export and formats: files of scores as other files, and the files that can be read."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from rageval_report.cli.export import EXPORTS, PARQUET, ExportArguments, FormatsArguments
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output, check_files, write_text
from rageval_report.cli.sources import Loading
from rageval_report.errors import DataError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.readers import READERS
from rageval_report.results import Result
from rageval_report.scores.write import (
    check_spreadsheet_format,
    csv_text,
    review_markdown,
    review_sheet,
    score_rows,
    scores_text,
)

_KIND_OF_SUFFIX = {".md": "markdown"}
# The kinds whose description is a file beside them, and those that `save` writes.
_DESCRIBED_BESIDE = ("csv", "tsv")
_SAVED = (*_DESCRIBED_BESIDE, PARQUET)


def export(options: ExportArguments) -> None:
    """Load the pipeline, and write it as the file that was chosen."""
    check_files(options.path, force=options.force)
    kind = options.kind or _kind_of(options.path)
    neutralises = options.neutralise_formulas and kind != "review"  # which always does
    if neutralises:
        check_spreadsheet_format(f".{kind}")
    [evaluation] = Loading.of(options).load_all([options.file], options.metrics)
    for message in evaluation.notes:
        note(message)
    if kind == PARQUET and not _has_suffix(options.path, PARQUET):
        raise DataError("Parquet is not text; name a file for it: -o scores.parquet")
    if options.path is not None and kind in _SAVED and _has_suffix(options.path, kind):
        path = evaluation.save(options.path, force=options.force, neutralise_formulas=neutralises)
        note(f"wrote {path}")
        return
    write_text(_text(evaluation, kind, neutralise_formulas=neutralises), options.path)
    if neutralises:
        note(
            "texts that a spreadsheet would compute begin with an apostrophe; a table without its "
            f"description is read with them: -o scores.{kind} writes the description"
        )
    if kind in _DESCRIBED_BESIDE:
        note(
            f"a table of {kind} does not say which columns are metrics; -o scores.{kind} writes "
            "that to a second file, and --to jsonl into the table"
        )


def _has_suffix(path: Path | None, kind: str) -> bool:
    return path is not None and path.suffix.lower() == f".{kind}"


def _text(evaluation: RAGPipelineEvaluation, kind: str, *, neutralise_formulas: bool) -> str:
    if kind == "review":
        return csv_text(review_sheet(evaluation))
    if kind == "review-markdown":
        return review_markdown(evaluation)
    if kind == "markdown":
        rows = score_rows(evaluation)
        return Result(f"Scores of {evaluation.name}", rows, {}, evaluation.notes).to_markdown()
    return scores_text(
        evaluation,
        f".{kind}",
        config=evaluation.config,
        notes=evaluation.notes,
        created=evaluation.created,
        correct=evaluation.correct_rule,
        neutralise_formulas=neutralise_formulas,
    )


def _kind_of(path: Path | None) -> str:
    if path is None:
        return "csv"
    suffix = path.suffix.lower()
    kind = _KIND_OF_SUFFIX.get(suffix, suffix.removeprefix("."))
    if kind not in EXPORTS:
        raise DataError(
            f"{path}: the file name does not tell the format; choose with --to: "
            f"{', '.join(EXPORTS)}"
        )
    return kind


def formats(options: FormatsArguments) -> None:
    """Write the table of readers."""
    readers = list(READERS.loaded().values())
    rows = {
        "reader": [reader.name for reader in readers],
        "reads": [reader.sentence for reader in readers],
        "example": [reader.example for reader in readers],
        "options": [", ".join(reader.options) for reader in readers],
        "verdict": [f"{reader.name}: {reader.sentence}" for reader in readers],
    }
    shown = ("reader", "example", "options")
    table = Result("Files of scores that are read", pd.DataFrame(rows), {}, headline=shown)
    Output.of(options).write({"formats": table})
