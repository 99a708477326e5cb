"""Two pipelines side by side in one table, as `comparative_detailed_report` writes them.

The columns are ``query_id``, the details of the first pipeline, the columns of the first pipeline
and those of the second one: ``<pipeline>_<column>``. They are saved as any kind of table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

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
# The details that belong to the query: both pipelines have them. Others are of the first one.
_OF_QUERY = frozenset(
    (
        *QUESTION,
        *("reference", "references", "ground_truth", "ground_truths", "ground_truth_answer"),
        *("ground_truth_answers", "relevant", "answerable", "topic", "category", "gold_answer"),
    )
)


class _Sides(NamedTuple):
    """The names of two pipelines, and the names of their columns without them."""

    names: tuple[str, str]
    columns: tuple[list[str], list[str]]

    @property
    def prefixed(self) -> list[str]:
        """The columns of both, as in the table."""
        sides = zip(self.names, self.columns, strict=True)
        return [f"{side}_{name}" for side, own in sides for name in own]

    @property
    def common(self) -> list[str]:
        """The names that both have."""
        return [name for name in self.columns[0] if name in self.columns[1]]


def _sides_of(header: Sequence[str]) -> _Sides | None:
    """The two pipelines whose columns end the table, block by block; the shortest names."""
    if len(header) < 3 or header[0] != QUERY_ID:
        return None
    candidates = []
    for second, middle in _blocks(header, len(header)):
        for first, start in _blocks(header, middle) if middle > 1 else ():
            parts = (
                [name.removeprefix(f"{first}_") for name in header[start:middle]],
                [name.removeprefix(f"{second}_") for name in header[middle:]],
            )
            sides = _Sides((first, second), parts)
            if first != second and any(Catalogue().find(name) for name in sides.common):
                candidates.append(((len(sides.common), -len(first)), sides))
    return max(candidates, key=lambda pair: pair[0])[1] if candidates else None


def _blocks(header: Sequence[str], end: int) -> Iterator[tuple[str, int]]:
    """The prefixes of the column before `end`, and where the columns with each of them begin."""
    column = header[end - 1]
    for place in range(1, len(column) - 1):
        if column[place] == "_":
            start = end
            while start > 1 and header[start - 1].startswith(column[: place + 1]):
                start -= 1
            yield column[:place], start


def _is_certain(sides: _Sides, header: Sequence[str]) -> bool:
    """Whether the prefixes are the names of two pipelines, and not parts of metrics' names."""
    if any(Catalogue().find(column) is not None for column in sides.prefixed):
        return False
    common = [f"{side}_{name}" for side in sides.names for name in sides.common]
    shared = list(header[: len(header) - len(sides.prefixed)])
    try:
        pair = read_header([*shared, *common]).pair
    except ShapeError:  # one metric, and prefixes that may be anything
        return False
    return pair is not None and (pair.first, pair.second) == sides.names


def doubt_of_sides(header: Sequence[str]) -> list[str]:
    """A note if the columns of a plain table may be those of two pipelines."""
    sides = _sides_of(header)
    if sides is None or _is_certain(sides, header):
        return []
    first, second = sides.names
    return [
        f"{named(sides.prefixed)} are read as metrics of one pipeline; if they are those of the "
        f"pipelines {first!r} and {second!r}, pass reader={_NAME!r}, runs={f'{first},{second}'!r}"
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
    sides = _sides_of(header) if runs is None else _sides_by_name(header, runs)
    if sides is None:
        raise source.error(
            "expected the columns of two pipelines at the end of the table, <pipeline>_<metric>; "
            f"columns: {named(header, 12)}. Name the pipelines: runs='first,second'"
        )
    table = read_table(source, columns=columns, query_id=query_id)
    return [_one_side(table, sides, place, query_id) for place in range(2)]


def _sides_by_name(header: Sequence[str], runs: str | Iterable[str]) -> _Sides:
    names = [name.strip() for name in (runs.split(",") if isinstance(runs, str) else runs)]
    if len(names) != 2 or len(set(names)) < 2 or not all(names):
        raise DataError(
            f"runs must be the names of two pipelines, such as 'bm25,hyde'; got {runs!r}"
        )
    first, second = names
    pair_of_runs(header, first, second)  # which says what is missing
    parts = (columns_of_run(header, first, names), columns_of_run(header, second, names))
    return _Sides((first, second), parts)


def _one_side(table: ScoreFile, sides: _Sides, place: int, query_id: str | None) -> ScoreFile:
    """The rows of one pipeline: what belongs to the query, and its own columns."""
    side, (first, second) = sides.names[place], sides.names
    kept = [name for name in map(str, table.frame) if name not in sides.prefixed]
    of_first = [
        name
        for name in kept
        if normalise_name(name) not in _OF_QUERY and name not in (QUERY_ID, query_id)
    ]
    if place:
        kept = [name for name in kept if name not in of_first]
    # A detail of the first pipeline may have the name of one of its metrics.
    own = {
        f"{side}_{name}": f"{side}_{name}" if name in kept else name
        for name in sides.columns[place]
        if f"{side}_{name}" in table.frame
    }
    notes = [
        f"two pipelines, by the prefixes of their columns: {first!r} and {second!r}. If all "
        "columns are of one pipeline, choose the reader of the kind of file, such as reader='csv'"
    ]
    if place and of_first:
        notes.append(
            f"{named(of_first)} may be of {first!r} only; to have those of {side!r}, write the "
            "report with keep_columns=[...]"
        )
    # Queries of which a pipeline has nothing, because the other one had more.
    n_absent = int(table.frame[list(own)].isna().all(axis=1).sum())
    if n_absent:
        noun = "query has" if n_absent == 1 else "queries have"
        notes.append(
            f"{n_absent} {noun} nothing of {side!r}: unscored, or not in that pipeline; the report "
            "does not say which"
        )
    frame = table.frame[[*kept, *own]].rename(columns=own)
    every_note = (*table.notes, *notes)
    return replace(table, frame=frame, pipeline=side, notes=every_note, is_one_pipeline=True)


SIDE_BY_SIDE = Reader(
    _NAME,
    "two pipelines side by side: a comparative_detailed_report in any kind of table",
    _recognise,
    read_side_by_side,
    ("columns", "encoding", "query_id", "runs"),
    example="comparative_report.csv",
)
