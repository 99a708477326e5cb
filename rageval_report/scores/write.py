"""Writes the rows of an evaluation: to files that read back, to frames, to sheets for reviewers."""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path
from typing import Any, Literal, Unpack

import pandas as pd

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.files.outgoing_text import neutralise_formula
from rageval_report.files.strict_json import NotJSONError, parse_json
from rageval_report.files.writing import check_free, locked_folder, write_atomically, write_with
from rageval_report.scores.query_ids import (
    ANSWER,
    CONTEXTS,
    QUERY_ID,
    QUESTION,
    REFERENCE,
    first_named,
)
from rageval_report.scores.run_file import SavedFacts, run_document
from rageval_report.scores.saved_columns import plain_value, text_cell
from rageval_report.scores.saved_tables import (
    COMPANION,
    TABLE_FORMAT,
    TABLE_KEY,
    columns_of_details,
    describe_table,
)
from rageval_report.scores.table import Scored

_RUN_FILE, _JSON_LINES, _PARQUET = ".json", ".jsonl", ".parquet"
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_SUFFIXES = (*_DELIMITERS, _JSON_LINES, _RUN_FILE, _PARQUET)
_INDENTED: dict[str, Any] = {"ensure_ascii": False, "indent": 1}

# The columns of a review sheet: blank ones for the reviewer, and the texts by their usual names.
BLANKS = ("answer_correct", "citations_correct", "faithfulness", "notes")
_SHEET_TEXTS = {
    "question": QUESTION,
    "reference": REFERENCE,
    "answer": ANSWER,
    "contexts": CONTEXTS,
    "citations": ("citations", "cited"),
}


def save_scores(
    evaluation: Scored,
    path: str | Path,
    *,
    force: bool = True,
    **facts: Unpack[SavedFacts],
) -> Path:
    """Write one row per query, and a description with which it reads back as the same evaluation.

    Parameters
    ----------
    evaluation : Scored
        The evaluation to write. A detail named like a metric, or ``query_id``, gets the ending
        "_detail" in the file.
    path : str or Path
        The suffix chooses the format: .csv, .tsv, .jsonl, .parquet; and .json for a run file. The
        description of a .csv or .tsv is a second file, which ends in ".meta.json".
    force : bool
        Whether an existing file is replaced, as pandas does; False keeps it.
    **facts
        ``config``, ``notes``, ``created``, ``correct`` and ``results`` of the evaluation. A
        function as the rule for a correct answer is named only, as a file cannot hold it.

    Raises
    ------
    UnknownNameError
        If no format has the suffix.
    DataError
        If the file exists and may not be replaced, or cannot be written, or the format has no way
        to write a column of details.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise UnknownNameError("format of a score file", suffix or str(path), sorted(_SUFFIXES))
    check_free(path, force=force)
    if suffix == _PARQUET:
        return _write_parquet(evaluation, path, **facts)
    if suffix == _RUN_FILE:
        return write_atomically(path, scores_text(evaluation, suffix, **facts))
    if suffix == _JSON_LINES:
        return write_atomically(path, _jsonl_text(evaluation, **facts))
    companion = Path(f"{path}{COMPANION}")
    check_free(companion, force=force)
    _check_companion(companion)
    rows, document = describe_table(evaluation, "text", **facts)
    document["delimiter"] = _DELIMITERS[suffix]
    text = csv_text(rows, _DELIMITERS[suffix])
    if "\x00" in text:
        raise DataError(
            f"{path}: a cell holds a NUL character, which delimited text cannot hold; save as "
            ".jsonl or .json"
        )
    with locked_folder(companion.parent):  # two writers would mix their tables and descriptions
        # First, so that a table never stands beside a description that is not known to be its own.
        write_atomically(companion, json.dumps(document, **_INDENTED) + "\n")
        return write_atomically(path, text)


def check_spreadsheet_format(suffix: str) -> None:
    """Check that formulas can be neutralised in a format: other programs compute nothing."""
    if suffix not in _DELIMITERS:
        raise DataError(
            f"neutralise_formulas is for {' and '.join(_DELIMITERS)}, which spreadsheets open; "
            f"{suffix} needs no apostrophes"
        )


def _check_companion(path: Path) -> None:
    """Check that no file of somebody else has the name of the companion."""
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, NotJSONError):
        document = None
    is_ours = isinstance(document, dict) and document.get("format") == TABLE_FORMAT
    if path.exists() and not is_ours:
        raise DataError(
            f"{path} would be replaced by the description of the scores, but holds something else; "
            "move it, or save as .jsonl, .parquet or .json"
        )


def scores_text(
    evaluation: Scored,
    suffix: str,
    *,
    neutralise_formulas: bool = False,
    **facts: Unpack[SavedFacts],
) -> str:
    r"""The text of a score file, without the second file that describes a .csv or .tsv.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    >>> scores_text(evaluation, ".csv")
    'query_id,recall\na,0.5\n'
    """
    if neutralise_formulas:
        check_spreadsheet_format(suffix)
    if suffix == _RUN_FILE:
        return json.dumps(run_document(evaluation, **facts), **_INDENTED) + "\n"
    if suffix == _JSON_LINES:
        return _jsonl_text(evaluation, **facts)
    rows, _ = describe_table(evaluation, "text", **facts)
    return csv_text(rows, _DELIMITERS[suffix], neutralise_formulas=neutralise_formulas)


def csv_text(rows: pd.DataFrame, delimiter: str = ",", *, neutralise_formulas: bool = False) -> str:
    r"""A table as delimited text, with lists and objects as JSON in their cells.

    Examples
    --------
    >>> csv_text(pd.DataFrame({"id": ["a"], "contexts": [["x", "y"]]}))
    'id,contexts\na,"[""x"", ""y""]"\n'
    """
    objects = [str(name) for name in rows if rows[name].dtype == object]
    cells = rows.assign(**{name: rows[name].map(text_cell) for name in objects})
    if neutralise_formulas:
        texts = [
            str(name) for name in cells if not pd.api.types.is_numeric_dtype(cells[name].dtype)
        ]
        neutral = {n: cells[n].map(neutralise_formula, na_action="ignore") for n in texts}
        cells = cells.assign(**neutral).rename(columns=lambda name: neutralise_formula(str(name)))

    def write(quoting: Literal[0, 2]) -> str:
        text = io.StringIO(newline="")
        cells.to_csv(text, index=False, sep=delimiter, lineterminator="\n", quoting=quoting)
        return text.getvalue()

    text = write(csv.QUOTE_MINIMAL)
    # The writer does not quote it, but readers take it for the end of a line.
    return write(csv.QUOTE_NONNUMERIC) if "\r" in text else text


def _jsonl_text(evaluation: Scored, **facts: Unpack[SavedFacts]) -> str:
    rows, document = describe_table(evaluation, "json", **facts)
    columns = {str(name): [plain_value(cell) for cell in rows[name].tolist()] for name in rows}
    cells = zip(*columns.values(), strict=True)
    records: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in cells]
    if records:
        # In the first row and not in a line of its own: each line stays a query, for any program.
        records[0][TABLE_KEY] = document
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _write_parquet(evaluation: Scored, path: str | Path, **facts: Unpack[SavedFacts]) -> Path:
    # Before the file is begun, so that a missing extra is named and nothing is written.
    arrow, parquet = import_pyarrow(), import_parquet()
    rows, document = describe_table(evaluation, "arrow", **facts)
    table = arrow.Table.from_pandas(rows, preserve_index=False)
    description = json.dumps(document).encode("ascii")
    table = table.replace_schema_metadata(
        {**(table.schema.metadata or {}), TABLE_KEY.encode(): description}
    )
    return write_with(path, partial(parquet.write_table, table, write_page_checksum=True))


def score_rows(evaluation: Scored) -> pd.DataFrame:
    """One row per query: ``query_id``, the details, the metrics; names that clash get an ending."""
    details = evaluation.details.rename(columns=columns_of_details(evaluation))
    return pd.concat([details, evaluation.scores], axis=1).rename_axis(QUERY_ID).reset_index()


# -- sheets for people who check answers


def review_sheet(evaluation: Scored) -> pd.DataFrame:
    """One row per query: its texts, the scores as "scored_<metric>", and blanks for the reviewer.

    A text that a spreadsheet would take for a formula starts with an apostrophe.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a"], "user_input": ["=1+1?"], "faithfulness": [0.5]}
    >>> review_sheet(RAGPipelineEvaluation("hybrid", data)).loc[0, "question"]
    "'=1+1?"
    """
    details, ids = evaluation.details, map(str, evaluation.scores.index)
    columns: dict[str, object] = {QUERY_ID: [neutralise_formula(query_id) for query_id in ids]}
    for name, names in _SHEET_TEXTS.items():
        column = first_named(map(str, details), names)
        if column is not None:
            cells = details[column].tolist()
            columns[name] = [neutralise_formula(_cell_text(cell)) for cell in cells]
    for name in evaluation.metrics:
        # The prefix keeps the machine's scores apart from the blank columns of the same name.
        columns[f"scored_{name}"] = evaluation.scores[name].to_numpy()
    return pd.DataFrame({**columns, **dict.fromkeys(BLANKS, "")})


def _cell_text(cell: object) -> str:
    plain = plain_value(cell)
    if isinstance(plain, list):
        return "\n".join(str(part) for part in plain)
    return "" if plain is None else str(plain)
