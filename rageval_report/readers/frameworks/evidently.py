"""Evidently: the frame of a data set with descriptors, and with the tests of each row."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import none_if_nan, text_or_none
from rageval_report.readers.json_shapes import is_records
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Override
from rageval_report.scores.states import REASON

# The name of a test's column, and the direction that it implies.
_TEST = re.compile(
    r"(?P<column>.+?):? (?P<condition>(?:greater than|greater or equal to|less than|"
    r"less or equal to|not equals|equals|not in list|in list) .*)"
)
_DIRECTIONS: dict[str, Override] = {"greater": "higher", "less": "lower"}
_REASONING = " reasoning"


class _RowTest(NamedTuple):
    """A column of verdicts: its name, the tested column, and the condition for passing."""

    name: str
    column: str
    condition: str


def _recognise(source: Source) -> float:
    if _is_report(source.document_or_none()):
        return 0.95
    return 0.95 if _tests_in(header_of(source)) else 0.0


def _is_report(document: object) -> bool:
    metrics = document.get("metrics") if isinstance(document, dict) else None
    return is_records(metrics) and all(
        {"id", "metric_name", "value"} <= set(metric) for metric in metrics
    )


def _tests_in(names: Iterable[str]) -> list[_RowTest]:
    names = list(names)
    present = set(names)
    matches = ((name, _TEST.fullmatch(name)) for name in names)
    return [
        _RowTest(name, match["column"], match["condition"])
        for name, match in matches
        if match and match["column"] in present
    ]


def read_evidently(source: Source) -> list[ScoreFile]:
    """Read the frame of an Evidently data set with tests: one pipeline, named after the file.

    The verdict of a test becomes part of its score's reason; without a score it says nothing,
    because Evidently then writes False. The limit of a test gives the direction of its score.
    Reports contain aggregates only and are refused.

    Parameters
    ----------
    source : Source
        The file: CSV, JSON, JSON Lines, Parquet or Excel.

    Raises
    ------
    ReaderError
        If the file is a report, or not a table.
    """
    if _is_report(source.document_or_none()):
        raise source.error(
            "this is an Evidently report, which contains aggregates only; save the rows of its "
            "data set: dataset.as_dataframe().to_csv(...)"
        )
    table = read_table(source)
    frame = table.frame
    tests = _tests_in(map(str, frame))
    summaries = _summaries(frame, tests)
    reasons = {name: _reasons(frame, name, tests) for name in _judged_columns(frame, tests)}
    used = {*(test.name for test in tests), *(f"{name}{_REASONING}" for name in reasons)}
    kept = frame.drop(columns=[name for name in frame if name in used])
    added = {name: _as_detail(frame[name]) for name in summaries}
    added |= {f"{name}{REASON}": _texts(cells) for name, cells in reasons.items()}
    kept = kept.assign(**added)
    notes = (*table.notes, *_notes(tests, summaries))
    return [ScoreFile(kept, source.stem, metrics=_directions(frame, tests), notes=notes)]


def _judged_columns(frame: pd.DataFrame, tests: Sequence[_RowTest]) -> list[str]:
    """The columns that are tested or have a column of reasons."""
    names = [str(name) for name in frame]
    tested = {test.column for test in tests}
    return [name for name in names if name in tested or f"{name}{_REASONING}" in names]


def _reasons(frame: pd.DataFrame, name: str, tests: Sequence[_RowTest]) -> list[str | None]:
    """The explanation of the judge and the tests that passed; without a score, no tests."""
    scores = frame[name].tolist()
    reasoning = f"{name}{_REASONING}"
    explanations = frame[reasoning].tolist() if reasoning in frame else [None] * len(scores)
    own = [test for test in tests if test.column == name]
    verdicts = [frame[test.name].tolist() for test in own]
    reasons = []
    for row, score in enumerate(scores):
        parts = [text_or_none(explanations[row])]
        if none_if_nan(score) is not None:
            # Evidently (0.7.23) writes False for the test of a missing score, which is not a failed
            # test.
            parts += [_verdict(test, cells[row]) for test, cells in zip(own, verdicts, strict=True)]
        reasons.append("; ".join(part for part in parts if part) or None)
    return reasons


def _verdict(test: _RowTest, passed: object) -> str:
    words = {True: "passed", False: "failed", "True": "passed", "False": "failed"}
    word = words.get(passed) if isinstance(passed, bool | str) else None
    return f"{word or 'no verdict'}: {test.condition}"


def _summaries(frame: pd.DataFrame, tests: Sequence[_RowTest]) -> list[str]:
    """The columns that summarise the tests, and so count a missing score as a failure."""
    names = [test.name for test in tests]
    if not names or not all(pd.api.types.is_bool_dtype(frame[name].dtype) for name in names):
        return []
    passed = frame[names]
    share = passed.mean(axis=1)
    sums = (share, passed.sum(axis=1), share == 1, share > 0)
    others = [name for name in frame if name not in names and "summary" in str(name).lower()]
    return [str(name) for name in others if any(_is_same(frame[name], cells) for cells in sums)]


def _is_same(cells: pd.Series, other: pd.Series) -> bool:
    is_numeric = pd.api.types.is_numeric_dtype(cells.dtype)
    pairs = zip(cells.tolist(), other.tolist(), strict=True)
    return is_numeric and all(math.isclose(left, right) for left, right in pairs)


def _as_detail(cells: pd.Series) -> pd.Series:
    return _texts([f"{cell} of tests" for cell in cells.tolist()])


def _texts(cells: Sequence[str | None]) -> pd.Series:
    return pd.Series(cells, dtype=object)


def _directions(frame: pd.DataFrame, tests: Sequence[_RowTest]) -> Mapping[str, Override]:
    """The directions that the limits of a column of numbers imply, if all of them agree."""
    ways: dict[str, set[str]] = {}
    for test in tests:
        if pd.api.types.is_numeric_dtype(frame[test.column].dtype):
            ways.setdefault(test.column, set()).add(test.condition.split(" ", 1)[0])
    return {
        name: _DIRECTIONS[next(iter(way))]
        for name, way in ways.items()
        if len(way) == 1 and way <= set(_DIRECTIONS)
    }


def _notes(tests: Sequence[_RowTest], summaries: Sequence[str]) -> list[str]:
    notes = [f"{test.column}: threshold {test.condition!r} stored in the file" for test in tests]
    if summaries:
        listed = ", ".join(repr(name) for name in summaries)
        notes.append(f"{listed} summarises tests and counts a missing score as failed: a detail")
    return notes


EVIDENTLY = Reader(
    "evidently",
    "Evidently: the rows of a data set with descriptors and tests (CSV, JSON, Parquet)",
    _recognise,
    read_evidently,
    ("encoding",),
    example="rows.csv",
)
