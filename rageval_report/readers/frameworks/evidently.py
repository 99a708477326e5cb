"""Evidently: the frame of a data set with descriptors, and with the tests of each row."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pandas as pd

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import none_if_nan, text_or_none
from rageval_report.readers.frameworks.format import SURE, at
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
    is_ours = _is_report(source.document_or_none()) or _tests_in(header_of(source))
    return SURE if is_ours else 0.0


def _is_report(document: object) -> bool:
    metrics = at(document, "metrics")
    return is_records(metrics) and all(
        metric.keys() >= {"id", "metric_name", "value"} for metric in metrics
    )


def _tests_in(names: Iterable[str]) -> list[_RowTest]:
    present = list(names)
    matches = ((name, _TEST.fullmatch(name)) for name in present)
    return [
        _RowTest(name, match["column"], match["condition"])
        for name, match in matches
        if match and match["column"] in present
    ]


def _read_evidently(source: Source) -> list[ScoreFile]:
    """Read the frame of an Evidently data set with tests: one pipeline, named after the file."""
    if _is_report(source.document_or_none()):
        raise source.error(
            "this is an Evidently report, which contains aggregates only; save the rows of its "
            "data set: dataset.as_dataframe().to_csv(...)"
        )
    table = read_table(source)
    frame, tests = table.frame, _tests_in(map(str, table.frame))
    summaries = _summaries(frame, tests)
    judged = {test.column for test in tests} | {
        str(name).removesuffix(_REASONING) for name in frame if str(name).endswith(_REASONING)
    }
    reasons = {name: _reasons(frame, name, tests) for name in map(str, frame) if name in judged}
    used = {*(test.name for test in tests), *(f"{name}{_REASONING}" for name in reasons)}
    added: dict[str, list[str | None]] = {
        name: [f"{cell} of tests" for cell in frame[name].tolist()] for name in summaries
    }
    added |= {f"{name}{REASON}": cells for name, cells in reasons.items()}
    kept = frame.drop(columns=[name for name in frame if name in used])
    kept = kept.assign(**{name: pd.Series(cells, dtype=object) for name, cells in added.items()})
    notes = [f"{test.column}: threshold {test.condition!r} stored in the file" for test in tests]
    if summaries:
        listed = ", ".join(repr(name) for name in summaries)
        notes.append(f"{listed} summarises tests and counts a missing score as failed: a detail")
    directions = _directions(frame, tests)
    return [ScoreFile(kept, source.stem, metrics=directions, notes=(*table.notes, *notes))]


def _reasons(frame: pd.DataFrame, name: str, tests: Sequence[_RowTest]) -> list[str | None]:
    """The explanation of the judge and the tests that passed; without a score, no tests."""
    scores = frame[name].tolist()
    reasoning = f"{name}{_REASONING}"
    explanations = frame[reasoning].tolist() if reasoning in frame else [None] * len(scores)
    own = [(test, frame[test.name].tolist()) for test in tests if test.column == name]
    reasons = []
    for row, score in enumerate(scores):
        parts = [text_or_none(explanations[row])]
        if none_if_nan(score) is not None:
            # Evidently (0.7.23) writes False for the test of a missing score, which is not a failed
            # test.
            parts += [f"{_verdict(cells[row])}: {test.condition}" for test, cells in own]
        reasons.append("; ".join(part for part in parts if part) or None)
    return reasons


def _verdict(passed: object) -> str:
    words = {"True": "passed", "False": "failed"}
    return words.get(str(passed), "no verdict") if isinstance(passed, bool | str) else "no verdict"


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


def _directions(frame: pd.DataFrame, tests: Sequence[_RowTest]) -> dict[str, Override]:
    """The directions that the limits of a column of numbers imply, if all of them agree."""
    words: dict[str, set[str]] = {}
    for test in tests:
        if pd.api.types.is_numeric_dtype(frame[test.column].dtype):
            words.setdefault(test.column, set()).add(test.condition.split(" ", 1)[0])
    return {
        name: _DIRECTIONS[next(iter(own))]
        for name, own in words.items()
        if len(own) == 1 and own <= _DIRECTIONS.keys()
    }


EVIDENTLY = Reader(
    "evidently",
    "Evidently: the rows of a data set with descriptors and tests (CSV, JSON, Parquet)",
    _recognise,
    _read_evidently,
    ("encoding",),
    example="rows.csv",
)
