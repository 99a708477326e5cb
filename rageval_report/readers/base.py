"""What a reader is, and what it hands over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypedDict

import pandas as pd

from rageval_report.errors import ReaderError, UnknownNameError, named
from rageval_report.files.source import Source
from rageval_report.scores.metric import Override, normalise_name
from rageval_report.scores.table import id_column_of, question_text
from rageval_report.scores.texts import TEXTS

# From this mark on, a reader takes a file for its own; below, it is only among the nearest.
ACCEPTED = 0.5


# The columns of a table by name, a list of cells each.
CellsByColumn = dict[str, list[Any]]

RepeatedValues = Literal["error", "mean"]


class ReaderOptions(TypedDict, total=False):
    """The options of the built-in readers; each reader takes those that its format needs.

    `rageval_report.readers.read` checks at run time that the chosen reader takes an option. A
    reader of another distribution may take options of its own, which a type checker cannot know:
    pass them as ``**{"option": value}``.

    Parameters
    ----------
    columns : iterable of str, optional
        The columns to read besides the ids.
    decimal : {".", ","}, optional
        The decimal sign of a table of delimited text.
    delimiter : str, optional
        The character that separates the fields of a table of delimited text.
    encoding : str, optional
        The encoding of a text file, such as "utf-16-le".
    repeats : {"error", "mean"}
        What to do if a query of a long table has several values of one metric.
    sheet : str or int, optional
        The name of a workbook's sheet, or its position counted from 0.
    """

    columns: Iterable[str] | None
    decimal: Literal[".", ","] | None
    delimiter: str | None
    encoding: str | None
    repeats: RepeatedValues
    sheet: str | int | None


@dataclass(frozen=True, eq=False)
class ScoreFile:
    """One pipeline's rows as a reader found them; `score_table` checks them.

    Parameters
    ----------
    frame : DataFrame
        One row a query; ids and texts as they stand in the file.
    pipeline : str
        The pipeline's name.
    metrics : mapping of str to Metric, dict, "higher" or "lower"
        What the file itself says of its metrics, by column.
    metric_columns : tuple of str, optional
        The columns that are metrics, where the format says so; None leaves it to names and cells.
    notes : tuple of str
        What was guessed, mended or left out.
    config : mapping
        How the pipeline was set up, as far as the file says.
    created : datetime, optional
        When the pipeline was run, where the file says it.
    """

    frame: pd.DataFrame
    pipeline: str
    metrics: Mapping[str, Override] = field(default_factory=dict)
    metric_columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    created: datetime | None = None


@dataclass(frozen=True)
class Reader:
    """How files of one format are known and read.

    Parameters
    ----------
    name : str
        The name in the table `READERS`.
    sentence : str
        What it reads, for lists and error messages.
    recognise : callable
        From a `Source` to a mark between 0 and 1: how surely the content is of this format.
        A half is the least that counts, and the highest mark of all readers wins.
    read : callable
        From a `Source` and the options to a list of `ScoreFile`, one a pipeline.
    options : tuple of str
        The options that `read` understands.
    header : callable, optional
        From a `Source` to the names of the columns, of readers of tables.
    example : str
        What such a file is usually called, for lists.
    fault : callable, optional
        From a `Source` that it nearly knows to the error that says what is wrong with it.
    """

    name: str
    sentence: str
    recognise: Callable[[Source], float]
    read: Callable[..., list[ScoreFile]]
    options: tuple[str, ...] = ()
    header: Callable[[Source], list[str]] | None = None
    example: str = ""
    fault: Callable[[Source], ReaderError | None] | None = None


def single_pipeline(
    source: Source, frame: pd.DataFrame, notes: Iterable[str] = ()
) -> list[ScoreFile]:
    """The file of one pipeline, named after the file itself."""
    if not len(frame):
        raise source.error("it names columns, but holds no row")
    return [ScoreFile(frame, source.stem, notes=tuple(notes))]


def select_columns(
    present: Iterable[str], wanted: Iterable[str] | None, query_id: str | None
) -> list[str]:
    """The columns to keep, in the file's order: those asked for, and the ids or questions.

    Raises
    ------
    UnknownNameError
        If a column is asked for that is not there.

    Examples
    --------
    >>> select_columns(["id", "question", "recall", "mrr"], ["mrr"], None)
    ['id', 'mrr']
    """
    every = list(present)
    if wanted is None:
        return every
    asked = {wanted} if isinstance(wanted, str) else set(wanted)
    for name in sorted(asked):
        if name not in every:
            raise UnknownNameError("column", name, every)
    key = query_id or id_column_of(every) or question_text(pd.DataFrame(columns=every))
    return [name for name in every if name in asked or name == key]


def id_columns(present: Iterable[str], query_id: str | None) -> list[str]:
    """The columns whose cells are names, not numbers, whatever they look like.

    Examples
    --------
    >>> id_columns(["id", "doc_id", "recall"], None)
    ['id', 'doc_id']
    """
    every = list(present)
    key = query_id or id_column_of(every)
    return [name for name in every if name == key or name.lower().endswith("_id")]


def text_columns(present: Iterable[str], query_id: str | None) -> list[str]:
    """The columns of ids, questions, answers and the like: an answer 1.50 is no number.

    Examples
    --------
    >>> text_columns(["id", "Answer", "recall"], None)
    ['id', 'Answer']
    """
    every = list(present)
    ids = id_columns(every, query_id)
    return [name for name in every if name in ids or normalise_name(name) in TEXTS]


def check_unique_names(source: Source, names: Iterable[str], line: int | None = None) -> None:
    """Refuse column names that stand there twice: one of the columns would be lost."""
    twice = repeated_names(names)
    if twice:
        raise source.error(
            f"column names must be unique; seen more than once: {named(twice)}. "
            "Rename or drop one of them.",
            line=line,
        )


def repeated_names(names: Iterable[str]) -> list[str]:
    """The names that are there more than once.

    Examples
    --------
    >>> repeated_names(["a", "b", "a"])
    ['a']
    """
    return [name for name, count in Counter(names).items() if count > 1]


def distinct_names(names: Iterable[str]) -> list[str]:
    """Names that differ: the second of two equal ones gets a visible "#2".

    Examples
    --------
    >>> distinct_names(["gpt", "gpt", "llama"])
    ['gpt', 'gpt #2', 'llama']
    """
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return found
