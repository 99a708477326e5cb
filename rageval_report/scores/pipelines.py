"""Finds the pipelines that the rows of a wide table belong to, and divides the rows.

A table with one row per query holds one pipeline. If the questions repeat, and a column such as
"model" tells the repeated rows apart, the rows are those of several pipelines; a mean over all of
them would describe none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.scores.metric import WORDS, Catalogue, normalise_name
from rageval_report.scores.query_ids import (
    QUERY_ID,
    SURE_ID_NAMES,
    all_different,
    first_named,
    id_column_of,
    is_counter_name,
    plain_text,
    question_text,
)
from rageval_report.scores.roles import Confidence, Role, Roles, columns_with_role, meaning_of
from rageval_report.scores.states import is_missing

_PIPELINE_NAMES = WORDS["columns"]["pipeline"].split()
_SURE_NAMES = frozenset(WORDS["columns"]["sure_pipeline"].split())
# The meanings of names that pipelines may be called by: "top_k" divides a grid of experiments.
_MAY_DIVIDE = (None, "a setting", "versions", "labels")

# A column with more values than this does not name pipelines: nobody compares a thousand of them,
# and texts of a table with repeated rows would be taken for names.
_MOST_PIPELINES = 1000
# Two or three questions that repeat beside two or three topics are a coincidence.
_FEWEST_QUERIES = 3
# The first rows of a column decide whether it may name pipelines at all.
_SAMPLE = 2000


class PipelineDoubtError(DataError):
    """The rows may belong to one pipeline or to several; the message says what to type for each."""

    def __init__(self, message: str, columns: Sequence[str] = ()):
        super().__init__(message)
        self.columns = tuple(columns)


@dataclass(frozen=True)
class PipelineColumns:
    """The columns whose cells name the pipeline of each row, and why they do."""

    columns: tuple[str, ...]  # several if only together they tell the repeated rows apart
    confidence: Confidence
    why: str  # to be read after a colon
    row_ids: str | None = None  # ids that number the rows; the questions identify the queries

    def labels(self, frame: pd.DataFrame) -> pd.Series:
        """The name of the pipeline of each row."""
        for column in self.columns:
            rows = _blank_rows(frame[column])
            if rows:
                raise DataError(
                    f"column {column!r} names the pipeline of each row; rows {named(rows)}, "
                    f"counted from 0, have a blank. Fill them, or pass "
                    f"{_stated([column], 'detail')}"
                )
        parts = frame[list(self.columns)].astype(str)
        if len(self.columns) > 1:
            parts = parts.apply(lambda cells: f"{cells.name}=" + cells)
        return parts.agg(" ".join, axis=1)

    def note(self, n_pipelines: int) -> str:
        """What was decided, and how to overrule it."""
        verb = "holds" if len(self.columns) == 1 else "hold"
        text = f"column {named(self.columns)} {verb} the pipelines ({n_pipelines}): {self.why}"
        if self.row_ids is not None:
            text += (
                f"; queries are matched by their questions, because column {self.row_ids!r} "
                "numbers the rows"
            )
        return text


def split_pipelines(
    frame: pd.DataFrame, name: str, *, query_id: str | None = None, roles: Roles | None = None
) -> tuple[dict[str, pd.DataFrame], PipelineColumns | None]:
    """The rows of each pipeline by its name, and the columns that name them; `name` for one.

    Raises
    ------
    DataError
        If it is doubtful whether the rows are one pipeline or several.

    Examples
    --------
    >>> frame = pd.DataFrame({"qid": [1, 1], "model": ["a", "b"], "recall": [0.5, 1.0]})
    >>> parts, columns = split_pipelines(frame, "scores")
    >>> list(parts), columns.columns
    (['a', 'b'], ('model',))
    """
    pipelines = find_pipelines(frame, query_id=query_id, roles=roles)
    if pipelines is None:
        return {name: frame}, None
    labels = pipelines.labels(frame)
    if pipelines.row_ids is not None:
        # Under its own name it would be taken for the ids of the queries again.
        frame = frame.rename(columns={pipelines.row_ids: "row_number"})
    parts = {str(label): rows for label, rows in frame.groupby(labels.to_numpy(), sort=False)}
    if isinstance(frame.index, pd.RangeIndex):  # any other index may hold the ids of the queries
        parts = {label: rows.reset_index(drop=True) for label, rows in parts.items()}
    return parts, pipelines


def stated_name(frame: pd.DataFrame) -> str | None:
    """The name in a column such as "pipeline", if all its cells hold the same text."""
    for label in map(str, frame.columns):
        if normalise_name(label) in _SURE_NAMES and _are_texts(frame[label].iloc[:_SAMPLE]):
            names = frame[label].unique().tolist()
            if len(names) == 1 and isinstance(names[0], str) and names[0].strip():
                return names[0]
    return None


def find_pipelines(
    frame: pd.DataFrame, *, query_id: str | None = None, roles: Roles | None = None
) -> PipelineColumns | None:
    """The columns that name the pipeline of each row; None if all rows are one pipeline."""
    table = _DividedTable(frame, query_id, roles or {})
    stated = tuple(columns_with_role(roles, "pipeline"))
    if stated:
        row_ids = table.ids if table.ids_number_rows(stated) else None
        return PipelineColumns(stated, "certain", "roles= says so", row_ids)
    if not table.by_name and not table.by_cells:
        return None  # before the ids and questions are hashed, which takes time
    for key in table.query_keys():
        decided = None if all_different(pd.Index(key.cells)) else table.decide(key)
        if decided is not None:
            return decided
    # No query has two rows: only a column of a sure name can say that there are pipelines.
    if table.sure is not None:
        return PipelineColumns((table.sure,), "certain", "its name says so")
    doubtful = [name for name in table.by_name if 2 * _count_values(frame[name]) <= len(frame)]
    if doubtful:
        raise table.doubt("no query appears twice", doubtful)
    return None


class _QueryKey(NamedTuple):
    """A column that identifies the queries, in every row."""

    column: str
    cells: pd.Series
    row_ids: str | None = None


class _DividedTable:
    """The columns of a table that may identify queries, and those that may name pipelines."""

    def __init__(self, frame: pd.DataFrame, query_id: str | None, roles: Roles):
        self.frame = frame
        wanted = [*columns_with_role(roles, "id"), query_id or QUERY_ID]
        exact = next((name for name in wanted if name in frame), None)
        near = first_named(frame.columns, tuple(map(normalise_name, wanted)))
        self.ids = exact or near or id_column_of(frame.columns)
        self.question = question_text(frame)
        taken = {self.ids, self.question, *roles}
        labels = [label for label in map(str, frame.columns) if label not in taken]
        named_so = [label for label in labels if _are_names(frame[label])]
        self.by_name = sorted(named_so, key=_rank_of_name)  # the surest first
        # The column whose name means pipelines and nothing else.
        sure = (name for name in self.by_name if normalise_name(name) in _SURE_NAMES)
        self.sure = next(sure, None)
        self.by_cells = [label for label in labels if _may_name(frame[label])]

    def query_keys(self) -> Iterator[_QueryKey]:
        """The ids, then the questions, in which repeats may show if the ids number the rows."""
        if self.ids is not None:
            yield _QueryKey(self.ids, self.frame[self.ids].astype(str))
        elif self.question is None and not isinstance(self.frame.index, pd.RangeIndex):
            yield _QueryKey("index", self.frame.index.to_series().astype(str))
        if self.question is not None:
            questions = self._questions(self.question)
            # Blank questions are equal, and say nothing about the queries.
            if all(questions.tolist()):
                yield _QueryKey(self.question, questions, self.ids)

    def _questions(self, column: str) -> pd.Series:
        cells = self.frame[column]
        texts = ["" if is_missing(cell) else plain_text(str(cell)) for cell in cells.tolist()]
        return pd.Series(texts, index=cells.index, dtype=object)

    def ids_number_rows(self, pipelines: Sequence[str]) -> bool:
        """Whether no id appears in two pipelines, while questions do."""
        if self.ids is None or self.question is None or not self.frame[self.ids].is_unique:
            return False
        key = _QueryKey(self.question, self._questions(self.question))
        return not key.cells.is_unique and self._is_unique(key, *pipelines)

    def _is_unique(self, key: _QueryKey, *columns: str) -> bool:
        """Whether each query has at most one row per value of the columns."""
        parts = {str(i): self.frame[column].astype(str) for i, column in enumerate(columns)}
        return not pd.DataFrame({"key": key.cells, **parts}).duplicated().any()

    def decide(self, key: _QueryKey) -> PipelineColumns | None:
        """The columns that tell the repeated rows of a query apart."""
        finding = f"column {key.column!r} repeats"
        explaining = [label for label in self.by_name if self._is_unique(key, label)]
        if explaining:
            self._check_alike(explaining, finding)
            why = f"with it no {key.column!r} appears twice, and its name says so"
            return PipelineColumns((explaining[0],), "certain", why, key.row_ids)
        counters = [label for label in map(str, self.frame.columns) if is_counter_name(label)]
        for label in self.by_name:
            if any(self._is_unique(key, label, other) for other in counters if other != label):
                why = "its name says so; the rows that repeat within it are numbered"
                return PipelineColumns((label,), "certain", why, key.row_ids)
        # "query_id" identifies queries, whatever the questions are; "id" may number the rows.
        are_trusted = key.row_ids is not None and normalise_name(key.row_ids) in SURE_ID_NAMES
        by_cells = [] if are_trusted else [c for c in self.by_cells if self._divides_most(c, key)]
        if by_cells:
            self._check_alike(by_cells, finding)
            if pd.api.types.is_numeric_dtype(self.frame[by_cells[0]].dtype):
                raise self.doubt(finding, by_cells)
            why = f"with it no {key.column!r} appears twice"
            return PipelineColumns((by_cells[0],), "likely", why, key.row_ids)
        if self.sure is not None:
            return PipelineColumns((self.sure,), "certain", "its name says so", key.row_ids)
        settings = [label for label in self.by_cells if meaning_of(label) == "a setting"]
        together = [*self.by_name, *settings]
        is_grid = len(together) > 1 and self._is_unique(key, *together)
        if self.by_name or is_grid:
            raise self.doubt(finding, together if is_grid else self.by_name)
        return None

    def _divides_most(self, label: str, key: _QueryKey) -> bool:
        """Whether there is a row for each value and most queries, and not by chance."""
        n_queries, cells = key.cells.nunique(), self.frame[label]
        if n_queries < _FEWEST_QUERIES or _blank_rows(cells):
            return False
        # A few questions that appear twice in a set do not make pipelines of their categories.
        is_most = len(self.frame) / n_queries >= max(1.5, 0.5 * _count_values(cells))
        return is_most and self._is_unique(key, label)

    def _check_alike(self, columns: Sequence[str], finding: str) -> None:
        """Refuse columns that divide the rows in different ways, unless the first is sure."""
        texts = self.frame[list(columns)].astype(str)
        codes = {label: tuple(pd.factorize(texts[label])[0]) for label in columns}
        differing = [label for label in columns if codes[label] != codes[columns[0]]]
        if differing and columns[0] != self.sure:
            raise self.doubt(finding, [columns[0], *differing])

    def doubt(self, finding: str, columns: Sequence[str]) -> PipelineDoubtError:
        """The error with both readings, and what to type for each."""
        examples = (f"{c!r} ({named(self.frame[c].astype(str).unique(), 3)})" for c in columns[:5])
        are = "column" if len(columns) == 1 else "columns"
        together = f", or {_stated(columns, 'pipeline')} together" if len(columns) > 1 else ""
        message = (
            f"roles: the rows may belong to one pipeline or to several, because {finding} and "
            f"{are} {', '.join(examples)} may name pipelines. Say which it is: "
            f"{_stated(columns[:1], 'pipeline')} for one pipeline per value{together}, "
            f"or {_stated(columns, 'detail')} for one pipeline in all"
        )
        return PipelineDoubtError(message, columns)


def _stated(columns: Sequence[str], role: Role) -> str:
    """The argument that gives columns a role."""
    return f"roles={dict.fromkeys(columns[:5], role)}"


def _rank_of_name(column: str) -> int:
    """The place of a name among the usual ones, the surest first; -1 if it is none of them."""
    name = normalise_name(column)
    return _PIPELINE_NAMES.index(name) if name in _PIPELINE_NAMES else -1


def _are_names(cells: pd.Series) -> bool:
    """Whether a column has a usual name of pipelines, and cells that may be names of them."""
    sample = cells.iloc[:_SAMPLE]
    if _rank_of_name(str(cells.name)) < 0 or not _are_texts(sample):
        return False
    # Numbered runs are repeats of one pipeline, or scores: whoever means pipelines says so.
    if all(str(cell).strip().isdigit() for cell in sample.dropna().tolist()):
        return False
    # As many values as rows: the ids of runs or traces.
    return 1 < _count_values(cells) <= min(_MOST_PIPELINES, max(len(cells) - 1, 2))


def _may_name(cells: pd.Series) -> bool:
    """Whether a column with another name may name pipelines, or be a setting, by its cells."""
    name, sample = str(cells.name), cells.iloc[:_SAMPLE]
    meaning = meaning_of(name)
    if _rank_of_name(name) >= 0 or is_counter_name(name) or meaning not in _MAY_DIVIDE:
        return False
    # A metric of small whole numbers would tell repeated rows apart by chance; settings have names.
    is_number = pd.api.types.is_numeric_dtype(sample.dtype)
    is_possible = meaning is not None if is_number else _are_texts(sample)
    are_few = is_possible and 1 < _count_values(sample) <= max(len(sample) // 2, 1)
    return are_few and Catalogue().find(name) is None


def _blank_rows(cells: pd.Series) -> list[int]:
    """The rows, counted from 0, without a cell or with white space only."""
    blank = cells.isna() | (cells.astype(str).str.strip() == "")
    rows: list[int] = np.flatnonzero(blank.to_numpy()).tolist()
    return rows


def _are_texts(cells: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells):
        return False
    return all(isinstance(cell, str) or is_missing(cell) for cell in cells.tolist())


def _count_values(cells: pd.Series) -> int:
    return len(set(map(str, cells.dropna().tolist())))
