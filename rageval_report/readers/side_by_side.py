"""Two pipelines side by side in one table, as `comparative_detailed_report` writes them.

The columns are ``query_id``, the details of the first pipeline, the columns of the first pipeline
and those of the second one: ``<pipeline>_<column>``. They are saved as any kind of table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.frameworks.haystack_pairs import (
    columns_of_run,
    pair_of_runs,
    read_header,
)
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Catalogue, normalise_name
from rageval_report.scores.query_ids import QUERY_ID, QUESTION

_NAME = "side_by_side"
_TWO = 2
# The details that belong to the query: both pipelines have them. Others are of the first one.
_OF_QUERY = frozenset(
    (
        *QUESTION,
        *("reference", "references", "ground_truth", "ground_truths", "ground_truth_answer"),
        *("ground_truth_answers", "relevant", "answerable", "topic", "category", "gold_answer"),
    )
)


class _PipelinePair(NamedTuple):
    """The names of two pipelines, and the names of their columns without them."""

    first: str
    second: str
    of_first: tuple[str, ...]
    of_second: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """The columns of both, as in the table."""
        return [
            *(f"{self.first}_{name}" for name in self.of_first),
            *(f"{self.second}_{name}" for name in self.of_second),
        ]

    @property
    def common(self) -> list[str]:
        """The names that both have."""
        return [name for name in self.of_first if name in self.of_second]


def _sides_of(header: Sequence[str]) -> _PipelinePair | None:
    """The two pipelines whose columns end the table, block by block; the shortest names."""
    if len(header) <= _TWO or header[0] != QUERY_ID:
        return None
    best: tuple[tuple[int, int], _PipelinePair] | None = None
    for second in _prefixes(header[-1]):
        middle = _start_of_block(header, len(header), second)
        for first in _prefixes(header[middle - 1]) if middle > 1 else ():
            start = _start_of_block(header, middle, first)
            sides = _PipelinePair(
                *(first, second),
                tuple(name.removeprefix(f"{first}_") for name in header[start:middle]),
                tuple(name.removeprefix(f"{second}_") for name in header[middle:]),
            )
            n_known = sum(Catalogue().find(name) is not None for name in sides.common)
            key = (len(sides.common), -len(first))
            if n_known and first != second and (best is None or key > best[0]):
                best = key, sides
    return None if best is None else best[1]


def _prefixes(column: str) -> Iterator[str]:
    for place in range(1, len(column) - 1):
        if column[place] == "_":
            yield column[:place]


def _start_of_block(header: Sequence[str], end: int, prefix: str) -> int:
    """The position of the first of the columns before `end` that have a prefix."""
    start = end
    while start > 1 and header[start - 1].startswith(f"{prefix}_"):
        start -= 1
    return start


def _is_certain(sides: _PipelinePair, header: Sequence[str]) -> bool:
    """Whether the prefixes are the names of two pipelines, and not parts of metrics' names."""
    if any(Catalogue().find(column) is not None for column in sides.columns):
        return False
    common = [f"{side}_{name}" for side in (sides.first, sides.second) for name in sides.common]
    shared = list(header[: len(header) - len(sides.columns)])
    try:
        pair = read_header([*shared, *common]).pair
    except ShapeError:  # one metric, and prefixes that may be anything
        return False
    return pair is not None and (pair.first, pair.second) == (sides.first, sides.second)


def doubt_of_sides(header: Sequence[str]) -> list[str]:
    """A note if the columns of a plain table may be those of two pipelines."""
    sides = _sides_of(header)
    if sides is None or _is_certain(sides, header):
        return []
    return [
        f"{named(sides.columns)} are read as metrics of one pipeline; if they are those of the "
        f"pipelines {sides.first!r} and {sides.second!r}, pass reader={_NAME!r}, "
        f"runs={f'{sides.first},{sides.second}'!r}"
    ]


def _recognise(source: Source) -> float:
    header = header_of(source)
    sides = _sides_of(header)
    # Above Haystack's own reader, which does not know whose the details are.
    return 0.96 if sides is not None and _is_certain(sides, header) else 0.0


def read_side_by_side(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    runs: str | Iterable[str] | None = None,
) -> list[ScoreFile]:
    """Read a table of two pipelines whose names are the prefixes of their columns."""
    header = header_of(source)
    sides = _sides_by_name(header, runs) if runs is not None else _sides_of(header)
    if sides is None:
        raise source.error(
            "expected the columns of two pipelines at the end of the table, <pipeline>_<metric>; "
            f"columns: {named(header, 12)}. Name the pipelines: runs='first,second'"
        )
    table = read_table(source, columns=columns, query_id=query_id)
    return [_one_side(table, sides, side, query_id) for side in (sides.first, sides.second)]


def _sides_by_name(header: Sequence[str], runs: str | Iterable[str]) -> _PipelinePair:
    names = tuple(name.strip() for name in (runs.split(",") if isinstance(runs, str) else runs))
    if len(names) != _TWO or len(set(names)) < _TWO or not all(names):
        raise DataError(
            f"runs must be the names of two pipelines, such as 'bm25,hyde'; got {runs!r}"
        )
    pair_of_runs(header, *names)  # which says what is missing
    of_first, of_second = (tuple(columns_of_run(header, name, names)) for name in names)
    return _PipelinePair(names[0], names[1], of_first, of_second)


def _one_side(table: ScoreFile, sides: _PipelinePair, side: str, query_id: str | None) -> ScoreFile:
    """The rows of one pipeline: what belongs to the query, and its own columns."""
    theirs = set(sides.columns)
    others = [name for name in map(str, table.frame) if name not in theirs]
    is_second = side == sides.second
    own = {
        f"{side}_{name}": name
        for name in (sides.of_second if is_second else sides.of_first)
        if f"{side}_{name}" in table.frame
    }
    of_first = [
        name
        for name in others
        if normalise_name(name) not in _OF_QUERY and name not in (QUERY_ID, query_id)
    ]
    kept = [name for name in others if not (is_second and name in of_first)]
    # A detail of the first pipeline may have the name of one of its metrics.
    own = {column: name if name not in kept else column for column, name in own.items()}
    frame = table.frame[[*kept, *own]].rename(columns=own)
    notes = [
        f"two pipelines, by the prefixes of their columns: {sides.first!r} and {sides.second!r}. "
        "If all columns are of one pipeline, choose the reader of the kind of file, such as "
        "reader='csv'"
    ]
    if is_second and of_first:
        notes.append(
            f"{named(of_first)} may be of {sides.first!r} only; to have those of {side!r}, write "
            "the report with keep_columns=[...]"
        )
    notes += _absent_note(frame[list(own.values())], side)
    return replace(
        table,
        frame=frame,
        pipeline=side,
        notes=(*table.notes, *notes),
        is_one_pipeline=True,
    )


def _absent_note(own: pd.DataFrame, side: str) -> list[str]:
    """A note on queries of which a pipeline has nothing, because the other one had more."""
    n_absent = int(own.isna().all(axis=1).sum())
    if not n_absent:
        return []
    noun = "query has" if n_absent == 1 else "queries have"
    return [
        f"{n_absent} {noun} nothing of {side!r}: unscored, or not in that pipeline; the report "
        "does not say which"
    ]


SIDE_BY_SIDE = Reader(
    _NAME,
    "two pipelines side by side: a comparative_detailed_report in any kind of table",
    _recognise,
    read_side_by_side,
    ("columns", "encoding", "query_id", "runs"),
    example="comparative_report.csv",
)
