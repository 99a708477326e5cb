"""Writes the rows of an evaluation to a file that the readers can read back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.files.outgoing_text import neutralise_formula
from rageval_report.files.strict_json import NotJSONError, parse_json
from rageval_report.files.writing import (
    check_free,
    locked_folder,
    write_atomically,
    write_with,
)
from rageval_report.scores.correct import Correct
from rageval_report.scores.exact_values import plain_value
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.run_file import run_document
from rageval_report.scores.saved_columns import Medium, text_cell
from rageval_report.scores.saved_tables import (
    COMPANION,
    NEUTRALISED,
    NEUTRALISED_VERSION,
    PAGE_CHECKSUMS,
    ROW_DIGESTS,
    TABLE_FORMAT,
    TABLE_KEY,
    columns_of_details,
    describe_table,
    digest_of,
    row_digest,
    sealed_description,
)
from rageval_report.scores.table import Scored
from rageval_report.types import JsonObject

_INDENTED: dict[str, Any] = {"ensure_ascii": False, "indent": 1}


@dataclass(frozen=True)
class _Content:
    """What a file holds besides the scores and the details."""

    config: Mapping[str, Any] | None = None
    notes: Iterable[str] = ()
    created: datetime | None = None
    correct: Correct | None = None
    results: Mapping[str, JsonObject] | None = None

    def run_document(self, evaluation: Scored) -> dict[str, Any]:
        """The document of a run file."""
        return run_document(
            evaluation,
            config=self.config,
            notes=self.notes,
            created=self.created,
            correct=self.correct,
            results=self.results,
        )

    def describe_table(
        self, evaluation: Scored, medium: Medium
    ) -> tuple[pd.DataFrame, dict[str, Any]]:
        """The rows of a table, and their description."""
        return describe_table(
            *(evaluation, medium),
            config=self.config,
            notes=self.notes,
            created=self.created,
            correct=self.correct,
            results=self.results,
        )


def save_scores(
    evaluation: Scored,
    path: str | Path,
    *,
    config: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    created: datetime | None = None,
    correct: Correct | None = None,
    force: bool = True,
    neutralise_formulas: bool = False,
    results: Mapping[str, JsonObject] | None = None,
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
    config : mapping, optional
        The configuration of the pipeline.
    notes : iterable of str
        Guesses and corrections.
    created : datetime, optional
        When the pipeline was run.
    correct : optional
        The rule for a correct answer; a function is named only, as a file cannot hold it.
    force : bool
        Whether an existing file is replaced, as pandas does; False keeps it.
    neutralise_formulas : bool, default False
        Whether an apostrophe is put before texts that a spreadsheet would compute, of a .csv or
        .tsv; the description says so, and reading removes them.
    results : mapping of str to dict, optional
        Further tables as ``Result.to_dict`` gives them, such as the weighted score.

    Raises
    ------
    UnknownNameError
        If no format has the suffix.
    DataError
        If the file exists and may not be replaced, or cannot be written, or the format has no way
        to write a column of details.

    Examples
    --------
    >>> import tempfile
    >>> from rageval_report import RAGPipelineEvaluation
    >>> evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_scores(evaluation, folder + "/hybrid.csv")
    ...     print(path.read_text(), sorted(file.name for file in Path(folder).iterdir()))
    query_id,recall
    a,0.5
     ['hybrid.csv', 'hybrid.csv.meta.json']
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (*_DELIMITERS, JSON_LINES, RUN_FILE, PARQUET):
        known = sorted((*_DELIMITERS, JSON_LINES, RUN_FILE, PARQUET))
        raise UnknownNameError("format of a score file", suffix or str(path), known)
    if neutralise_formulas:
        check_spreadsheet_format(suffix)
    check_free(path, force=force)
    content = _Content(config, notes, created, correct, results)
    if suffix == PARQUET:
        return _write_parquet(evaluation, content, path)
    if suffix == RUN_FILE:
        document = content.run_document(evaluation)
        return write_with(path, lambda temporary: _write_run_file(document, temporary))
    if suffix == JSON_LINES:
        return write_atomically(path, _jsonl_text(*content.describe_table(evaluation, "json")))
    companion = companion_of(path)
    _check_companion(companion, force=force)
    text, document = _delimited_table(
        *(*content.describe_table(evaluation, "text"), suffix, path),
        neutralise_formulas=neutralise_formulas,
    )
    with locked_folder(companion.parent):  # two writers would mix their tables and descriptions
        # First, so that a table never stands beside a description that is not known to be its own.
        write_atomically(companion, json.dumps(document, **_INDENTED) + "\n")
        return write_atomically(path, text)


def check_spreadsheet_format(suffix: str) -> None:
    """Check that formulas can be neutralised in a format.

    Raises
    ------
    DataError
        If programs read it that compute nothing, and that would read the apostrophes.

    Examples
    --------
    >>> check_spreadsheet_format(".csv")
    """
    if suffix not in _DELIMITERS:
        raise DataError(
            f"neutralise_formulas is for {' and '.join(_DELIMITERS)}, which spreadsheets open; "
            f"{suffix} needs no apostrophes"
        )


def companion_of(path: str | Path) -> Path:
    """The file that describes a table of delimited text.

    Examples
    --------
    >>> companion_of("runs/hybrid.csv").name
    'hybrid.csv.meta.json'
    """
    return Path(f"{path}{COMPANION}")


def _check_companion(path: Path, *, force: bool) -> None:
    """Check that no file of somebody else has the name of the companion."""
    check_free(path, force=force)
    if not path.exists():
        return
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, NotJSONError):
        document = None
    if not isinstance(document, dict) or document.get("format") != TABLE_FORMAT:
        raise DataError(
            f"{path} would be replaced by the description of the scores, but holds something else; "
            "move it, or save as .jsonl, .parquet or .json"
        )


def scores_text(
    evaluation: Scored,
    suffix: str,
    *,
    config: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    created: datetime | None = None,
    correct: Correct | None = None,
    neutralise_formulas: bool = False,
) -> str:
    r"""The text of a score file, without the second file that describes a .csv or .tsv.

    Parameters
    ----------
    evaluation, config, notes, created, correct
        As for `save_scores`.
    suffix : {".csv", ".tsv", ".jsonl", ".json"}
        The format.
    neutralise_formulas : bool, default False
        As for `save_scores`; this text does not say that reading must remove the apostrophes.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    >>> scores_text(evaluation, ".csv")
    'query_id,recall\na,0.5\n'
    """
    if neutralise_formulas:
        check_spreadsheet_format(suffix)
    content = _Content(config, notes, created, correct)
    if suffix == RUN_FILE:
        return json.dumps(content.run_document(evaluation), **_INDENTED) + "\n"
    if suffix == JSON_LINES:
        return _jsonl_text(*content.describe_table(evaluation, "json"))
    rows, document = content.describe_table(evaluation, "text")
    return _delimited_table(
        *(rows, document, suffix, f"the {suffix} text"), neutralise_formulas=neutralise_formulas
    )[0]


def score_rows(evaluation: Scored) -> pd.DataFrame:
    """One row per query: ``query_id``, the details, the metrics; names that clash get an ending."""
    details = evaluation.details.rename(columns=columns_of_details(evaluation))
    return pd.concat([details, evaluation.scores], axis=1).rename_axis(QUERY_ID).reset_index()


def csv_text(rows: pd.DataFrame, delimiter: str = ",", *, neutralise_formulas: bool = False) -> str:
    r"""A table as delimited text, with lists and objects as JSON in their cells.

    Examples
    --------
    >>> csv_text(pd.DataFrame({"id": ["a"], "contexts": [["x", "y"]]}))
    'id,contexts\na,"[""x"", ""y""]"\n'
    """
    cells = rows.assign(**{name: rows[name].map(text_cell) for name in _object_columns(rows)})
    if neutralise_formulas:
        cells = _neutralised(cells)
    text = _delimited_text(cells, delimiter, csv.QUOTE_MINIMAL)
    if "\r" in text:  # the writer does not quote it, but readers take it for the end of a line
        text = _delimited_text(cells, delimiter, csv.QUOTE_NONNUMERIC)
    return text


def _neutralised(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells, and the names of their columns, that no spreadsheet computes."""
    columns = {
        str(name): cells[name].map(neutralise_formula, na_action="ignore")
        for name, dtype in cells.dtypes.items()
        if not pd.api.types.is_numeric_dtype(dtype)
        and not pd.api.types.is_datetime64_any_dtype(dtype)
    }
    return cells.assign(**columns).rename(columns=lambda name: neutralise_formula(str(name)))


def _delimited_text(rows: pd.DataFrame, delimiter: str, quoting: Literal[0, 2]) -> str:
    text = io.StringIO(newline="")
    rows.to_csv(text, index=False, sep=delimiter, lineterminator="\n", quoting=quoting)
    return text.getvalue()


def _delimited_table(
    rows: pd.DataFrame,
    document: dict[str, Any],
    suffix: str,
    path: str | Path,
    *,
    neutralise_formulas: bool,
) -> tuple[str, dict[str, Any]]:
    """The text of a table, and its description with the digest of the text."""
    delimiter = _DELIMITERS[suffix]
    text = csv_text(rows, delimiter, neutralise_formulas=neutralise_formulas)
    if "\x00" in text:
        raise DataError(
            f"{path}: a cell holds a NUL character, which delimited text cannot hold; save as "
            ".jsonl or .json"
        )
    digest = digest_of(text.encode("utf-8", "surrogatepass"))
    if neutralise_formulas:
        # Versions that do not know them would read the apostrophes as part of the texts.
        document = {**document, "format_version": NEUTRALISED_VERSION, "formulas": NEUTRALISED}
    return text, sealed_description({**document, "delimiter": delimiter, "digest": digest})


def _jsonl_text(rows: pd.DataFrame, document: Mapping[str, Any]) -> str:
    # In the first row and not in a line of its own: each line stays a query, for any program.
    records = _records(rows)
    if records:
        digests = "".join([row_digest(record, rows.columns) for record in records])
        records[0][TABLE_KEY] = sealed_description({**document, ROW_DIGESTS: digests})
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _write_run_file(document: Mapping[str, Any], path: str) -> None:
    """Write the text of `scores_text` piece by piece: in memory it takes ten times its length."""
    with Path(path).open("w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        json.dump(document, file, **_INDENTED)
        file.write("\n")


def _write_parquet(evaluation: Scored, content: _Content, path: str | Path) -> Path:
    # Before the file is begun, so that a missing extra is named and nothing is written.
    arrow, parquet = import_pyarrow(), import_parquet()
    try:
        rows, document = content.describe_table(evaluation, "arrow")
        table = arrow.Table.from_pandas(rows, preserve_index=False)
        sealed = sealed_description({**document, PAGE_CHECKSUMS: True})
        description = json.dumps(sealed).encode("ascii")
        metadata = {**(table.schema.metadata or {}), TABLE_KEY.encode(): description}
        table = table.replace_schema_metadata(metadata)
        return write_with(
            path,
            lambda temporary: parquet.write_table(table, temporary, write_page_checksum=True),
        )
    except (TypeError, ValueError, NotImplementedError) as exc:
        if isinstance(exc, DataError):
            raise
        raise DataError(f"{path}: Parquet has no type for these cells: {exc}") from exc


RUN_FILE, JSON_LINES, PARQUET = ".json", ".jsonl", ".parquet"
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def _object_columns(rows: pd.DataFrame) -> list[str]:
    """The columns whose cells may hold values other than numbers and texts."""
    plain = (pd.api.types.is_numeric_dtype, pd.api.types.is_datetime64_any_dtype)
    return [
        str(name)
        for name, dtype in rows.dtypes.items()
        if not isinstance(dtype, pd.StringDtype) and not any(is_of(dtype) for is_of in plain)
    ]


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    columns = {str(name): [plain_value(cell) for cell in rows[name].tolist()] for name in rows}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
