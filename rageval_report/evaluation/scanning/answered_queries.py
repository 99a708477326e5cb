"""Which queries both of two scanned pipelines answer correctly, neither, or only one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

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
from rageval_report.evaluation.scanning.matched_tables import (
    ids_of_lone_queries,
    ids_of_table_among,
    matching_engine,
)
from rageval_report.evaluation.scanning.part_files import folder_of_parts, write_part
from rageval_report.evaluation.scanning.part_states import (
    PartEvaluation,
    columns_of_notion,
    columns_of_states,
)
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.evaluation.scanning.scanned_pair import ScannedTables
from rageval_report.evaluation.scanning.tables_in_files import check_table_path, write_tables
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.pieces import ArrowTable
from rageval_report.scale.score_rows import ArrowTexts, ScoreRows
from rageval_report.scores import Correct
from rageval_report.scores.correct_notion import CorrectNotion, answers_by
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.text_matching import lone_id, no_common_text
from rageval_report.types import BoolArray

MOST_ANSWERED = 1000
_OUTCOME = "outcome"
# How many ids are looked up at once.
_MOST_LOOKED_UP = 1 << 20
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
        part = _table_of(dict(zip(self.columns, ids, strict=True)))
        return replace(answered, files=(write_part(self.folder, part),))

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
    # A rule may look at the ids, which those of the second table need not be.
    after = replace(rows.after, ids=rows.before.ids)
    return outcome_masks(
        _answers(sides[0], notions[0], rows.before), _answers(sides[1], notions[1], after)
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
    on: str | None = None,
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
        A file for the outcomes of all queries, .parquet or .csv.
    on : str, optional
        A column of texts that matches the queries.

    Raises
    ------
    AlignmentError
        If the tables share no query, or no text.
    DataError
        If nothing says what is correct in both.
    """
    most, target = check_count("k", k), check_table_path(path)
    heads = (before.described.head, after.described.head)
    columns = outcome_columns(*check_two_names(*heads))
    sides = (before.described, after.described)
    tables = ScannedTables(*sides, matching_engine(on, sides, engine))
    notions = notions_of(heads, correct)
    pairs = zip(tables.parts, notions, strict=True)
    details = [details_of_answers(side, notion) for side, notion in pairs]
    with folder_of_parts(target) as folder:
        partial = AnswersInPart(columns, tables.parts, notions, most, folder)
        answered = tables.fold_scores(partial, (details[0], details[1]))
        if not any(answered.counts[:_N_COMMON]):
            names = (heads[0].name, heads[1].name)
            if on is not None:
                raise no_common_text(on, *names)
            raise AlignmentError(f"{names[0]!r} and {names[1]!r} share no query id")
        if on is not None and answered.counts[-1]:
            answered = _with_lone_names(answered, tables, columns[-1])
        if target is not None:
            _join_parts(answered.files, target)
    table = outcome_frame(
        dict(zip(columns, answered.firsts, strict=True)),
        dict(zip(columns, answered.counts, strict=True)),
        notes=notes_on_notions(heads, notions),
    )
    table.attrs["engine"] = engine.name
    return table


# -- queries that the second table has alone, if ids do not match


def _with_lone_names(
    answered: AnsweredQueries, tables: ScannedTables, outcome: str
) -> AnsweredQueries:
    """The same with the names that these queries have in memory; see `lone_id`."""
    before, name = tables.before, tables.names[1]
    shown = ids_of_lone_queries(before, name, answered.firsts[-1])
    parquet = import_parquet()
    for files in _with_few_ids(answered.files, outcome):
        parts = [parquet.read_table(file) for file in files]
        lone = [own for part in parts for own in _ids_with(part, outcome)]
        taken = ids_of_table_among(before, lone)
        for file, part in zip(files, parts, strict=True) if taken else ():
            parquet.write_table(_renamed(part, outcome, name, taken), file)
    return replace(answered, firsts=(*answered.firsts[:-1], shown))


def _with_few_ids(files: Sequence[str], outcome: str) -> Iterator[list[str]]:
    """The files in groups, each with about as many ids of an outcome as fit into memory."""
    group: list[str] = []
    n_ids = 0
    for file in files:
        group.append(file)
        n_ids += len(_ids_with(import_parquet().read_table(file), outcome))
        if n_ids >= _MOST_LOOKED_UP:
            yield group
            group, n_ids = [], 0
    if n_ids:
        yield group


def _ids_with(table: ArrowTable, outcome: str) -> list[str]:
    is_of_outcome = import_arrow_module("compute").equal(table.column(_OUTCOME), outcome)
    ids: list[str] = table.column(QUERY_ID).filter(is_of_outcome).to_pylist()
    return ids


def _renamed(table: ArrowTable, outcome: str, name: str, taken: frozenset[str]) -> ArrowTable:
    pairs = zip(table.column(QUERY_ID).to_pylist(), table.column(_OUTCOME).to_pylist(), strict=True)
    ids = [lone_id(name, own, taken=known == outcome and own in taken) for own, known in pairs]
    field = table.schema.field(0)
    return table.set_column(0, field, [import_pyarrow().array(ids, type=field.type)])


# -- all of them, in a file


def _table_of(ids: dict[str, ArrowTexts]) -> ArrowTable:
    arrow = import_pyarrow()
    codes = np.repeat(np.arange(len(ids)), [len(each) for each in ids.values()])
    names = arrow.array(np.array(list(ids), dtype=object), type=arrow.string())
    joined = arrow.chunked_array([each.cast(arrow.large_string()) for each in ids.values()])
    return arrow.table({QUERY_ID: joined, _OUTCOME: names.take(arrow.array(codes))})


def _join_parts(files: tuple[str, ...], path: Path) -> None:
    """One file of all parts, put in its place when it is whole."""
    parquet = import_parquet()
    write_tables(path, map(parquet.read_table, files), parquet.read_schema(files[0]))
