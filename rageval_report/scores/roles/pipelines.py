"""Finds the pipelines that the rows of a wide table belong to, and divides the rows.

A table with one row per query holds one pipeline. If the questions repeat, and a column such as
"model" tells the repeated rows apart, the rows are those of several pipelines; a mean over all of
them would describe none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.scores.metric import Catalogue, normalise_name
from rageval_report.scores.query_ids import (
    QUERY_ID,
    SURE_ID_NAMES,
    all_different,
    first_named,
    id_column_of,
    plain_text,
    question_text,
)
from rageval_report.scores.roles.column_role import Confidence, Role, Roles, columns_with_role
from rageval_report.scores.roles.usual_names import (
    PIPELINE_NAMES,
    SURE_PIPELINE_NAMES,
    is_counter_name,
    is_pipeline_name,
    meaning_of,
)
from rageval_report.scores.texts import TEXTS

# A column with more values than this does not name pipelines: nobody compares a thousand of them,
# and texts of a table with repeated rows would be taken for names.
_MOST_PIPELINES = 1000
# Two or three questions that repeat beside two or three topics are a coincidence.
_FEWEST_QUERIES = 3
# The first rows of a column decide whether it may name pipelines at all.
_SAMPLE = 2000


class PipelineDoubtError(DataError):
    """The rows may belong to one pipeline or to several, and nothing in the table decides it.

    Parameters
    ----------
    message : str
        Both readings, and what to type for each.
    columns : tuple of str
        The columns that may name pipelines.
    """

    def __init__(self, message: str, columns: Sequence[str] = ()):
        super().__init__(message)
        self.columns = tuple(columns)


@dataclass(frozen=True)
class PipelineColumns:
    """The columns whose cells name the pipeline of each row.

    Parameters
    ----------
    columns : tuple of str
        Several if only together they tell the repeated rows apart.
    confidence : {"certain", "likely"}
        "certain" if the caller or the name of the column says so.
    why : str
        The reason, to be read after a colon.
    row_ids : str, optional
        A column of ids that numbers the rows, not the queries; the questions identify the queries.
    """

    columns: tuple[str, ...]
    confidence: Confidence
    why: str
    row_ids: str | None = None

    def labels(self, frame: pd.DataFrame) -> pd.Series:
        """The name of the pipeline of each row.

        Raises
        ------
        DataError
            If a row names no pipeline.
        """
        for column in self.columns:
            blank = frame[column].isna() | (frame[column].astype(str).str.strip() == "")
            if blank.any():
                rows = np.flatnonzero(blank.to_numpy()).tolist()
                raise DataError(
                    f"column {column!r} names the pipeline of each row; rows {named(rows)}, "
                    f"counted from 0, have a blank. Fill them, or pass "
                    f"{_stated([column], 'detail')}"
                )
        if len(self.columns) == 1:
            return frame[self.columns[0]].astype(str)
        parts = [[f"{column}={cell}" for cell in frame[column]] for column in self.columns]
        return pd.Series([" ".join(row) for row in zip(*parts, strict=True)], index=frame.index)

    def note(self, n_pipelines: int) -> str:
        """What was decided, and how to overrule it."""
        columns = named(self.columns)
        verb = "holds" if len(self.columns) == 1 else "hold"
        text = f"column {columns} {verb} the pipelines ({n_pipelines}): {self.why}"
        if self.row_ids is not None:
            text += (
                f"; the query ids are derived from the questions, because column "
                f"{self.row_ids!r} numbers the rows"
            )
        return text


def split_pipelines(
    frame: pd.DataFrame, name: str, *, query_id: str | None = None, roles: Roles | None = None
) -> tuple[dict[str, pd.DataFrame], PipelineColumns | None]:
    """The rows of each pipeline of a wide table.

    Parameters
    ----------
    frame : DataFrame
        One row per query and pipeline; the column names are unique strings.
    name : str
        The name of the pipeline if there is only one.
    query_id : str, optional
        The column of ids.
    roles : mapping of str to str, optional
        The roles that the caller states.

    Returns
    -------
    dict of str to DataFrame
        By the name of the pipeline, in the order of the rows.
    PipelineColumns or None
        The columns that name the pipelines; None if all rows are one pipeline.

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
    row_ids = pipelines.row_ids
    if row_ids is not None:
        # Under its own name it would be taken for the ids of the queries again.
        frame = frame.rename(columns={row_ids: _free_name(frame, "row_number")})
    parts = {str(label): rows for label, rows in frame.groupby(labels.to_numpy(), sort=False)}
    if isinstance(frame.index, pd.RangeIndex):  # any other index may hold the ids of the queries
        parts = {label: rows.reset_index(drop=True) for label, rows in parts.items()}
    return parts, pipelines


def stated_name(frame: pd.DataFrame) -> str | None:
    """The name in a column such as "pipeline", if all its cells hold the same text."""
    for label in map(str, frame.columns):
        if normalise_name(label) in SURE_PIPELINE_NAMES and _are_texts(frame[label].iloc[:_SAMPLE]):
            names = frame[label].dropna().unique().tolist()
            if len(names) == 1 and str(names[0]).strip() and frame[label].notna().all():
                return str(names[0])
    return None


def _free_name(frame: pd.DataFrame, name: str) -> str:
    while name in frame:
        name += "_"
    return name


def find_pipelines(
    frame: pd.DataFrame, *, query_id: str | None = None, roles: Roles | None = None
) -> PipelineColumns | None:
    """The columns that name the pipeline of each row; None if all rows are one pipeline.

    Parameters
    ----------
    frame, query_id, roles
        As in `split_pipelines`.

    Raises
    ------
    DataError
        If it is doubtful whether the rows are one pipeline or several.
    """
    stated = tuple(columns_with_role(roles, "pipeline"))
    keys = _QueryKeys.of(frame, query_id, roles)
    if stated:
        row_ids = keys.ids if keys.ids_number_rows(stated) else None
        return PipelineColumns(stated, "certain", "roles= says so", row_ids)
    candidates = _Candidates.among(frame, keys, roles or {})
    if not candidates.by_name and not candidates.by_cells:
        return None  # before the ids and questions are hashed, which takes time
    for key in keys.in_turn():
        if key.repeats:
            decided = _decide(candidates, key)
            if decided is not None:
                return decided
    return _decide_without_repeats(candidates)


# -- what identifies a query


@dataclass(frozen=True)
class _QueryKey:
    """A column that identifies the queries, in every row."""

    column: str
    cells: pd.Series
    row_ids: str | None = None

    @property
    def repeats(self) -> bool:
        """Whether a query has several rows."""
        return not all_different(pd.Index(self.cells))

    def is_unique_with(self, frame: pd.DataFrame, columns: Sequence[str]) -> bool:
        """Whether each query has at most one row per value of the columns."""
        parts = {str(i): frame[column].astype(str) for i, column in enumerate(columns)}
        return not pd.DataFrame({"key": self.cells, **parts}).duplicated().any()


@dataclass(frozen=True)
class _QueryKeys:
    """The ids and the questions of a table."""

    frame: pd.DataFrame
    ids: str | None
    question: str | None

    @classmethod
    def of(cls, frame: pd.DataFrame, query_id: str | None, roles: Roles | None) -> _QueryKeys:
        stated = columns_with_role(roles, "id")
        names = [*stated, *([query_id] if query_id else [QUERY_ID])]
        normalised = tuple(normalise_name(name) for name in names)
        exact = next((name for name in names if name in frame), None)
        ids = exact or first_named(frame.columns, normalised) or id_column_of(frame.columns)
        return cls(frame, ids, question_text(frame))

    def in_turn(self) -> Iterator[_QueryKey]:
        """The ids, then the questions, in which repeats may show if the ids number the rows."""
        if self.ids is not None:
            yield _QueryKey(self.ids, _hashable(self.frame[self.ids]))
        elif self.question is None and not isinstance(self.frame.index, pd.RangeIndex):
            yield _QueryKey("index", self.frame.index.to_series().astype(str))
        if self.question is not None:
            questions = self._questions()
            # Blank questions are equal, and say nothing about the queries.
            if all(questions.tolist()):
                yield _QueryKey(self.question, questions, self.ids)

    def _questions(self) -> pd.Series:
        cells = self.frame[str(self.question)]
        texts = ["" if _is_blank(cell) else plain_text(str(cell)) for cell in cells.tolist()]
        return pd.Series(texts, index=cells.index, dtype=object)

    def ids_number_rows(self, pipelines: Sequence[str]) -> bool:
        """Whether no id appears in two pipelines, while questions do."""
        if self.ids is None or self.question is None or not self.frame[self.ids].is_unique:
            return False
        questions = _QueryKey(self.question, self._questions())
        return questions.repeats and questions.is_unique_with(self.frame, pipelines)


def _hashable(cells: pd.Series) -> pd.Series:
    """The cells; as texts if one is a list or an object."""
    if cells.dtype == np.float16:  # of which pandas makes no index
        return cells.astype(np.float64)
    if cells.dtype == object and not all(map(pd.api.types.is_hashable, cells.tolist())):
        return cells.astype(str)
    return cells


# -- what may name pipelines


@dataclass(frozen=True)
class _Candidates:
    """The columns that may name pipelines: by their usual names, and by their cells only."""

    frame: pd.DataFrame
    by_name: tuple[str, ...]
    by_cells: tuple[str, ...]

    @classmethod
    def among(cls, frame: pd.DataFrame, keys: _QueryKeys, roles: Mapping[str, Role]) -> _Candidates:
        """The columns that are neither ids nor questions, and have no role yet."""
        catalogue = Catalogue()
        labels = [
            label
            for label in map(str, frame.columns)
            if label not in (keys.ids, keys.question) and label not in roles
        ]
        by_name = [label for label in labels if is_pipeline_name(label) and _names(frame[label])]
        by_cells = [
            label
            for label in labels
            if not is_pipeline_name(label)
            and not is_counter_name(label)
            and normalise_name(label) not in TEXTS
            and meaning_of(label) in _MAY_DIVIDE
            and _may_name(frame[label])
            and catalogue.find(label) is None
        ]
        by_name.sort(key=lambda label: PIPELINE_NAMES.index(normalise_name(label)))
        return cls(frame, tuple(by_name), tuple(by_cells))

    @property
    def sure(self) -> str | None:
        """The column whose name means pipelines and nothing else."""
        return next(
            (label for label in self.by_name if normalise_name(label) in SURE_PIPELINE_NAMES), None
        )


# The meanings of names that pipelines may be called by: "top_k" divides a grid of experiments.
_MAY_DIVIDE = (None, "a setting", "versions", "labels")


def _names(cells: pd.Series) -> bool:
    """Whether the cells of a column with a usual name may be names of pipelines."""
    # Numbered runs are repeats of one pipeline, or scores: whoever means pipelines says so.
    if not _are_texts(cells.iloc[:_SAMPLE]) or _are_digits(cells.iloc[:_SAMPLE]):
        return False
    # As many values as rows: the ids of runs or traces.
    return 1 < _count_values(cells) <= min(_MOST_PIPELINES, max(len(cells) - 1, 2))


def _may_name(cells: pd.Series) -> bool:
    """Whether the cells of a column with another name may be names of pipelines, or a setting."""
    sample = cells.iloc[:_SAMPLE]
    is_number = pd.api.types.is_numeric_dtype(sample.dtype)
    # A metric of small whole numbers would tell repeated rows apart by chance; settings have names.
    if is_number and meaning_of(str(cells.name)) is None:
        return False
    if not is_number and not _are_texts(sample):
        return False
    return 1 < _count_values(sample) <= max(len(sample) // 2, 1)


def _are_texts(cells: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells):
        return False
    return all(isinstance(cell, str) or _is_blank(cell) for cell in cells.tolist())


def _is_blank(cell: object) -> bool:
    # Not pandas' isna, which answers with an array if a cell is a list.
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))


def _is_blank_text(cell: object) -> bool:
    return _is_blank(cell) or (isinstance(cell, str) and not cell.strip())


def _count_values(cells: pd.Series) -> int:
    """The number of different values; as texts, because a cell may be a list."""
    # Not by astype, which decodes bytes.
    return len(set(map(str, cells.dropna().tolist())))


def _are_digits(cells: pd.Series) -> bool:
    return all(str(cell).strip().isdigit() for cell in cells.dropna().tolist())


# -- the decision


def _decide(candidates: _Candidates, key: _QueryKey) -> PipelineColumns | None:
    """The columns that tell the repeated rows of a query apart."""
    frame = candidates.frame
    finding = f"column {key.column!r} repeats"
    explaining = [label for label in candidates.by_name if key.is_unique_with(frame, [label])]
    if explaining:
        _check_alike(candidates, explaining, finding)
        why = f"with it no {key.column!r} appears twice, and its name says so"
        return PipelineColumns((explaining[0],), "certain", why, key.row_ids)
    counters = [label for label in map(str, frame.columns) if is_counter_name(label)]
    for label in candidates.by_name:
        if any(key.is_unique_with(frame, [label, other]) for other in counters if other != label):
            why = "its name says so; the rows that repeat within it are numbered"
            return PipelineColumns((label,), "certain", why, key.row_ids)
    # "query_id" identifies queries, whatever the questions are; "id" may be the number of the row.
    are_ids_trusted = key.row_ids is not None and normalise_name(key.row_ids) in SURE_ID_NAMES
    by_cells = [
        label
        for label in candidates.by_cells
        if not are_ids_trusted
        and _divides_most(frame, label, key)
        and key.is_unique_with(frame, [label])
    ]
    if by_cells:
        _check_alike(candidates, by_cells, finding)
        if pd.api.types.is_numeric_dtype(frame[by_cells[0]].dtype):
            raise _doubt(finding, by_cells, frame)
        why = f"with it no {key.column!r} appears twice"
        return PipelineColumns((by_cells[0],), "likely", why, key.row_ids)
    if candidates.sure is not None:
        return PipelineColumns((candidates.sure,), "certain", "its name says so", key.row_ids)
    settings = [label for label in candidates.by_cells if meaning_of(label) == "a setting"]
    together = [*candidates.by_name, *settings]
    is_grid = len(together) > 1 and key.is_unique_with(frame, together)
    if candidates.by_name or is_grid:
        raise _doubt(finding, together if is_grid else candidates.by_name, frame)
    return None


def _check_alike(candidates: _Candidates, columns: Sequence[str], finding: str) -> None:
    """Refuse columns that divide the rows in different ways, unless the first has a sure name."""
    first, *others = columns
    differing = [label for label in others if not _same_groups(candidates.frame, first, label)]
    if differing and first != candidates.sure:
        raise _doubt(finding, [first, *differing], candidates.frame)


def _divides_most(frame: pd.DataFrame, label: str, key: _QueryKey) -> bool:
    """Whether there is a row for each value and most queries, and not by chance."""
    n_queries = key.cells.nunique()
    if n_queries < _FEWEST_QUERIES or any(map(_is_blank_text, frame[label].tolist())):
        return False
    rows_per_query = len(frame) / n_queries
    # A few questions that appear twice in a set do not make pipelines of their categories.
    return rows_per_query >= max(1.5, 0.5 * _count_values(frame[label]))


def _decide_without_repeats(candidates: _Candidates) -> PipelineColumns | None:
    """No query has two rows: only a column of a sure name can say that there are pipelines."""
    if candidates.sure is not None:
        return PipelineColumns((candidates.sure,), "certain", "its name says so")
    frame = candidates.frame
    doubtful = [
        label for label in candidates.by_name if 2 * _count_values(frame[label]) <= len(frame)
    ]
    if doubtful:
        raise _doubt("no query appears twice", doubtful, frame)
    return None


def _same_groups(frame: pd.DataFrame, first: str, second: str) -> bool:
    """Whether two columns divide the rows alike."""
    pairs = frame[[first, second]].astype(str).drop_duplicates()
    return bool(pairs[first].is_unique and pairs[second].is_unique)


def _doubt(finding: str, columns: Sequence[str], frame: pd.DataFrame) -> PipelineDoubtError:
    """The error with both readings, and what to type for each."""
    examples = []
    for column in columns[:5]:
        values = frame[column].astype(str).drop_duplicates()
        more = f" and {len(values) - 3} more" if len(values) > 3 else ""
        examples.append(f"{column!r} ({', '.join(map(repr, values[:3]))}{more})")
    first = columns[0]
    are = "column" if len(columns) == 1 else "columns"
    together = f", or {_stated(columns, 'pipeline')} together" if len(columns) > 1 else ""
    message = (
        f"roles: the rows may belong to one pipeline or to several, because {finding} and {are} "
        f"{', '.join(examples)} may name pipelines. Say which it is: "
        f"{_stated([first], 'pipeline')} for one pipeline per value{together}, "
        f"or {_stated(columns, 'detail')} for one pipeline in all"
    )
    return PipelineDoubtError(message, columns)


def _stated(columns: Sequence[str], role: Role) -> str:
    """The argument that gives columns a role."""
    return f"roles={dict.fromkeys(columns[:5], role)}"
