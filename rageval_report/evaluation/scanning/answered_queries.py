"""Which queries both of two scanned pipelines answer correctly, neither, or only one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import numpy as np
import pandas as pd

from rageval_report._registry import import_arrow_module, import_parquet, import_pyarrow
from rageval_report.analysis.arguments import check_count
from rageval_report.analysis.comparing.answer_outcomes import (
    check_two_names,
    notes_on_notions,
    notions_of,
    outcome_columns,
    outcome_frame,
    outcome_masks,
)
from rageval_report.errors import AlignmentError
from rageval_report.evaluation.scanning.part_states import (
    PartEvaluation,
    columns_of_notion,
    columns_of_states,
)
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.evaluation.scanning.scanned_pair import ScannedTables
from rageval_report.files.writing import write_with
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.score_rows import ArrowTexts, ScoreRows
from rageval_report.scores import Correct
from rageval_report.scores.correct_notion import CorrectNotion, answers_by
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import BoolArray

MOST_ANSWERED = 1000
_OUTCOME = "outcome"
# How many of the columns are of queries that both tables have.
_N_COMMON = 5


@dataclass(frozen=True)
class AnsweredQueries:
    """How many queries have each outcome, and the first of them by their ids.

    Parameters
    ----------
    counts : tuple of int
        The numbers of queries, in the order of `outcome_columns`.
    firsts : tuple of tuple of str
        The first ids of each, by code point, so that no order of the rows decides.
    most : int
        How many ids are kept of each.
    files : tuple of str
        Where the outcomes of all queries were written, part by part.
    """

    counts: tuple[int, ...]
    firsts: tuple[tuple[str, ...], ...]
    most: int
    files: tuple[str, ...] = ()

    def __add__(self, other: AnsweredQueries) -> AnsweredQueries:
        """Those of both parts."""
        return AnsweredQueries(
            tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            tuple(
                tuple(sorted((*ours, *theirs))[: self.most])
                for ours, theirs in zip(self.firsts, other.firsts, strict=True)
            ),
            self.most,
            (*self.files, *other.files),
        )


@dataclass(frozen=True)
class AnswersInPart:
    """Divides queries by which of two answers are correct.

    Parameters
    ----------
    columns : tuple of str
        The names of the outcomes.
    sides : (PartEvaluation, PartEvaluation)
        What makes evaluations of rows, with the details that the rules need.
    notions : (CorrectNotion, CorrectNotion)
        What is correct in either table.
    most : int
        How many ids are kept of each outcome.
    folder : str, optional
        Where the outcomes of all queries are written.
    """

    columns: tuple[str, ...]
    sides: tuple[PartEvaluation, PartEvaluation]
    notions: tuple[CorrectNotion, CorrectNotion]
    most: int
    folder: str | None = None

    def __call__(self, rows: PairedRows) -> AnsweredQueries:
        """The queries of some rows."""
        ids = self.ids(rows)
        firsts = tuple(_first_ids(each, self.most) for each in ids)
        answered = AnsweredQueries(tuple(map(len, ids)), firsts, self.most)
        if self.folder is None or not any(answered.counts):
            return answered
        path = str(Path(self.folder, f"{uuid4().hex}.parquet"))
        _write_part(dict(zip(self.columns, ids, strict=True)), path)
        return replace(answered, files=(path,))

    def ids(self, rows: PairedRows) -> list[ArrowTexts]:
        """The ids of each outcome, in the order of the rows."""
        common, arrow = rows.before.ids, import_pyarrow()
        masks = outcomes_of_rows(self.sides, self.notions, rows)
        alone = [rows.only_before.ids, rows.only_after.ids]
        return [*(common.filter(arrow.array(mask)) for mask in masks), *alone]


def outcomes_of_rows(
    sides: tuple[PartEvaluation, PartEvaluation],
    notions: tuple[CorrectNotion, CorrectNotion],
    rows: PairedRows,
) -> tuple[BoolArray, ...]:
    """Which of some common queries have each outcome, as `outcome_masks` gives them.

    Parameters
    ----------
    sides, notions
        As in `AnswersInPart`.
    rows : PairedRows
        Some rows.
    """
    return outcome_masks(
        _answers(sides[0], notions[0], rows.before), _answers(sides[1], notions[1], rows.after)
    )


def _answers(side: PartEvaluation, notion: CorrectNotion, rows: ScoreRows) -> pd.Series:
    if not len(rows):
        return pd.Series([], dtype="boolean")
    # A function of the caller may look at the ids.
    return answers_by(side.of(rows, with_ids=callable(notion.rule)), notion)


def details_of_answers(side: PartEvaluation, notion: CorrectNotion) -> tuple[str, ...]:
    """The columns of details that decide which answers are correct.

    Parameters
    ----------
    side : PartEvaluation
        What makes evaluations of rows.
    notion : CorrectNotion
        What is correct in its table.
    """
    names = side.detail_names
    return tuple(dict.fromkeys((*columns_of_states(names), *columns_of_notion(notion, names))))


def _first_ids(ids: ArrowTexts, most: int) -> tuple[str, ...]:
    """The first ids by code point, which is the order of Arrow too."""
    compute = import_arrow_module("compute")
    places = compute.select_k_unstable(ids, most, [(QUERY_ID, "ascending")])
    return tuple(ids.take(places).to_pylist())


def answered_queries(
    before: ScanProfile,
    after: ScanProfile,
    engine: Engine,
    correct: Correct | None = None,
    *,
    k: int = MOST_ANSWERED,
    path: str | Path | None = None,
) -> pd.DataFrame:
    """The ids by outcome; see `EvaluationScan.comparative_detailed_summary`.

    Parameters
    ----------
    before, after : ScanProfile
        What one pass over either table found.
    engine : Engine
        What reads them side by side.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is.
    k : int
        The most ids of a column.
    path : str or Path, optional
        A Parquet file for the outcomes of all queries.

    Raises
    ------
    AlignmentError
        If the tables share no query.
    DataError
        If nothing says what is correct in both.
    """
    most = check_count("k", k)
    tables = ScannedTables(before.described, after.described, engine)
    heads = (before.described.head, after.described.head)
    columns = outcome_columns(*check_two_names(*heads))
    notions = notions_of(heads, correct)
    pairs = zip(tables.parts, notions, strict=True)
    details = [details_of_answers(side, notion) for side, notion in pairs]
    with TemporaryDirectory(prefix="rageval-report-") as folder:
        partial = AnswersInPart(columns, tables.parts, notions, most, folder if path else None)
        answered = tables.fold_scores(partial, (details[0], details[1]))
        if not any(answered.counts[:_N_COMMON]):
            raise AlignmentError(f"{heads[0].name!r} and {heads[1].name!r} share no query id")
        if path is not None:
            _join_parts(answered.files, Path(path))
    table = outcome_frame(
        dict(zip(columns, answered.firsts, strict=True)),
        dict(zip(columns, answered.counts, strict=True)),
        notes=notes_on_notions(heads, notions),
    )
    table.attrs["engine"] = engine.name
    return table


# -- all of them, in a file


def _write_part(ids: dict[str, ArrowTexts], path: str) -> None:
    arrow = import_pyarrow()
    codes = np.repeat(np.arange(len(ids)), [len(each) for each in ids.values()])
    names = arrow.array(np.array(list(ids), dtype=object), type=arrow.string())
    joined = arrow.chunked_array([each.cast(arrow.large_string()) for each in ids.values()])
    table = arrow.table({QUERY_ID: joined, _OUTCOME: names.take(arrow.array(codes))})
    import_parquet().write_table(table, path)


def _join_parts(files: tuple[str, ...], path: Path) -> None:
    """One file of all parts, put in its place when it is whole."""
    parquet = import_parquet()

    def write(temporary: str) -> None:
        with parquet.ParquetWriter(temporary, parquet.read_schema(files[0])) as writer:
            for part in files:
                writer.write_table(parquet.read_table(part))

    write_with(path, write)
