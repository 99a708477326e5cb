"""The type of a reader, the type of its result, and what several readers need."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from rageval_report.errors import (
    DataError,
    UnknownNameError,
    did_you_mean,
    named,
    where_option_belongs,
)
from rageval_report.files.source import Source
from rageval_report.metrics.ranking_options import RankingOptions
from rageval_report.scores.catalogue.dialects import DIALECT, DialectName, dialect_of_name
from rageval_report.scores.correct import Correct
from rageval_report.scores.metric import Override, normalise_name
from rageval_report.scores.query_ids import TEXTS
from rageval_report.scores.query_rows import Totals, position_of_row
from rageval_report.scores.roles import Confidence
from rageval_report.scores.table import id_column_of, question_text
from rageval_report.types import IndexArray, JsonObject

# A reader with at least this mark may read the file; one below it is only named in the error.
ACCEPTED = 0.5
_DECIMAL, _WHOLE = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?"), re.compile(r"[-+]?\d+")


# The names of columns that several readers know, by reader and role.
_DATA = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
OTHER_KINDS: list[dict[str, str]] = _DATA.pop("kinds")
KNOWN_NAMES: dict[str, dict[str, list[str]]] = {
    part: {role: text.split() for role, text in names.items()} for part, names in _DATA.items()
}

# The columns of a table by name, a list of cells each.
CellsByColumn = dict[str, list[Any]]

RepeatedValues = Literal["error", "mean"]


class ReaderOptions(RankingOptions, total=False):
    """The options of the built-in readers; each reader takes those that its format needs.

    `rageval_report.readers.read` checks at run time that the chosen reader takes an option. A
    reader of another distribution may take options of its own, which a type checker cannot know:
    pass them as ``**{"option": value}``. Those of a ranking are in `RankingOptions`.

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
    runs : str or iterable of str, optional
        The names of the two runs of Haystack's comparative report, in one text or apart; one name
        if all columns are of one run.
    sheet : str or int, optional
        The name of a workbook's sheet, or its position counted from 0.

    Examples
    --------
    >>> options: ReaderOptions = {"delimiter": ";", "decimal": ","}
    >>> options["delimiter"]
    ';'
    """

    columns: Iterable[str] | None
    decimal: Literal[".", ","] | None
    delimiter: str | None
    encoding: str | None
    repeats: RepeatedValues
    runs: str | Iterable[str] | None
    sheet: str | int | None


class FileKeywords(ReaderOptions, total=False):
    """How a file is read: the options of its reader, and what holds for every format.

    Parameters
    ----------
    reader : str or Reader, optional
        A name in the table ``READERS``; if omitted, the format is recognised by the content.
    query_id : str, optional
        The column of ids, whose cells are read as text; readers of formats that fix their ids
        ignore it.
    metrics : iterable of str, or mapping, optional
        The metrics of a ranking; other readers read all metrics of the file.
    duplicates : str, default "error"
        What to do with a document that appears twice in a ranking; other readers keep all rows.
    """

    reader: str | Reader | None
    query_id: str | None
    metrics: object
    duplicates: str


@dataclass(frozen=True, eq=False)
class ScoreFile:
    """The rows of one pipeline as they are in the file; `score_table` checks them.

    Parameters
    ----------
    frame : DataFrame
        One row per query; ids and texts as they are in the file.
    pipeline : str
        The name of the pipeline.
    metrics : mapping of str to Metric, dict, "higher" or "lower"
        What the file itself says about its metrics, by column.
    metric_columns : tuple of str, optional
        The columns that are metrics, if the format says so; if None, names and cells decide.
    notes : tuple of str
        What was guessed, corrected or left out.
    config : mapping
        The settings of the pipeline, if the file holds them.
    created : datetime, optional
        When the pipeline was run, if the file says so.
    correct : optional
        The rule for a correct answer, if the file says so.
    detail_names : mapping of str to str
        The columns that are details under another name, because a metric has it.
    results : mapping of str to dict
        Tables that the file holds beside the scores, as JSON.
    written_by : str
        The program that wrote the file and its version, if the file says so.
    pipeline_columns : tuple of str
        The columns that named the pipelines of the file.
    pipeline_confidence : {"certain", "likely", "doubtful"}
        How sure it is that these columns name pipelines.
    is_one_pipeline : bool
        Whether the format itself says that all rows belong to one pipeline; otherwise a column such
        as "model" may divide them.
    totals : {"auto", "drop", "keep"}
        What `score_table` does with rows whose ids name totals; "keep" if the format itself says
        that each row is a query.
    line_of_row : callable, optional
        Takes the position of a row and returns its line in the file, for notes and errors.
    source : Source, optional
        The file, to say what it is if it holds no scores; `rageval_report.readers.read` sets it.
    place_of_row : callable, optional
        Takes the position of a row and returns its place in words, if the rows are of several
        files.
    origin : str
        The name of the file for errors, if the caller named a folder or a list.

    Examples
    --------
    >>> file = ScoreFile(pd.DataFrame({"query_id": ["a"], "recall": [0.5]}), "hybrid")
    >>> file.pipeline, file.place(0)
    ('hybrid', 'row 1')
    """

    frame: pd.DataFrame
    pipeline: str
    metrics: Mapping[str, Override] = field(default_factory=dict)
    metric_columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    created: datetime | None = None
    correct: Correct | None = None
    detail_names: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, JsonObject] = field(default_factory=dict)
    written_by: str = ""
    pipeline_columns: tuple[str, ...] = ()
    pipeline_confidence: Confidence = "certain"
    is_one_pipeline: bool = False
    totals: Totals = "auto"
    line_of_row: Callable[[int], int] | None = None
    source: Source | None = None
    place_of_row: Callable[[int], str] | None = None
    origin: str = ""

    def place(self, row: int) -> str:
        """The name of a row, counted from 0, in notes and errors: its line, or its position."""
        if self.place_of_row is not None:
            return self.place_of_row(row)
        if self.line_of_row is None:
            return position_of_row(row)
        return f"line {self.line_of_row(row)}"

    def with_rows(self, frame: pd.DataFrame, positions: Sequence[int] | IndexArray) -> ScoreFile:
        """The file with some of its rows, which keep their places in it.

        Parameters
        ----------
        frame : DataFrame
            The rows.
        positions : sequence of int
            Where the rows stood in the file, counted from 0.

        Returns
        -------
        ScoreFile
            The file with these rows only.
        """
        line, place = self.line_of_row, self.place_of_row
        return replace(
            self,
            frame=frame,
            line_of_row=line and (lambda row: line(int(positions[row]))),
            place_of_row=place and (lambda row: place(int(positions[row]))),
        )


@dataclass(frozen=True)
class Reader:
    """How files of one format are recognised and read.

    Parameters
    ----------
    name : str
        The name in the table `READERS`, and in messages.
    sentence : str
        What it reads, for the list of formats and for error messages.
    recognise : callable
        Takes a `Source` and returns a mark between 0 and 1: how surely the content has this
        format. The reader with the highest mark reads the file, if the mark is at least 0.5.
    read : callable
        Takes a `Source` and the options, and returns a list of `ScoreFile`, one per pipeline.
    options : tuple of str
        The options that `read` takes; "encoding" is that of the `Source`, and not passed on.
    header : callable, optional
        Takes a `Source` and returns the names of the columns; only readers of plain tables have it.
    example : str
        A usual name of such a file, for the list of formats.

    Examples
    --------
    >>> from rageval_report.readers import READERS
    >>> READERS["csv"].name, "delimiter" in READERS["csv"].options
    ('csv', True)
    """

    name: str
    sentence: str
    recognise: Callable[[Source], float]
    read: Callable[..., list[ScoreFile]]
    options: tuple[str, ...] = ()
    header: Callable[[Source], list[str]] | None = None
    example: str = ""


def in_dialect(file: ScoreFile, dialect: DialectName | None, system: DialectName) -> ScoreFile:
    """A file whose metrics are described as in the dialect of its system; the file for None."""
    rules = dialect_of_name(dialect)
    if rules is None:
        return file
    if rules.name != system:
        raise DataError(
            f'dialect must be "{system}", because {system} wrote the file; got "{rules.name}"'
        )
    described = {str(name): rules.find(str(name)) for name in file.frame}
    known = {name: metric for name, metric in described.items() if metric is not None}
    return replace(
        file,
        metrics={**file.metrics, **known},
        notes=(*file.notes, f"dialect: names and percentiles of {rules.system}"),
        config={**file.config, DIALECT: rules.name},
    )


def check_options(name: str, reader: Reader, options: Mapping[str, object]) -> dict[str, object]:
    """The options to pass to the reader's `read`, which must take them."""
    for option in options:
        if option not in reader.options:
            hint = did_you_mean(option, reader.options)
            known = ", ".join(reader.options) or "none"
            raise DataError(
                f"the {name} reader has no option {option!r}.{hint} Options: {known}."
                f"{where_option_belongs(option)}"
            )
    return {option: value for option, value in options.items() if option != "encoding"}


def single_pipeline(
    source: Source,
    frame: pd.DataFrame,
    notes: Iterable[str] = (),
    line_of_row: Callable[[int], int] | None = None,
) -> list[ScoreFile]:
    """The only pipeline of a file, named after the file."""
    if not len(frame):
        raise source.error("the file has column names, but no rows")
    return [ScoreFile(frame, source.stem, notes=tuple(notes), line_of_row=line_of_row)]


def select_columns(
    present: Iterable[str], columns: Iterable[str] | None, query_id: str | None
) -> list[str]:
    """The columns to read, in the order of the file: those asked for and the ids or questions."""
    every = list(present)
    if columns is None:
        return every
    requested = {columns} if isinstance(columns, str) else set(columns)
    for name in sorted(requested):
        if name not in every:
            raise UnknownNameError("column", name, every)
    # Rows without an id or a question could not be paired with another run's.
    key = query_id or id_column_of(every) or question_text(pd.DataFrame(columns=every))
    return [name for name in every if name in requested or name == key]


def id_columns(present: Iterable[str], query_id: str | None) -> list[str]:
    """The columns of ids, whose cells are names even if they look like numbers."""
    every = list(present)
    key = query_id or id_column_of(every)
    # An id 007 must not become 7, nor 1.10 become 1.1.
    return [name for name in every if name == key or normalise_name(name).endswith("_id")]


def text_columns(present: Iterable[str], query_id: str | None) -> list[str]:
    """The columns of texts, such as ids and answers: an answer "1.50" is not a number."""
    every = list(present)
    ids = id_columns(every, query_id)
    return [name for name in every if name in ids or normalise_name(name) in TEXTS]


def check_unique_names(source: Source, names: Iterable[str], line: int | None = None) -> None:
    """Refuse column names that appear twice, because one of the columns would be lost."""
    duplicates = repeated_names(names)
    if duplicates:
        raise source.error(
            f"column names must be unique; these appear more than once: {named(duplicates)}. "
            "Rename or drop one of them.",
            line=line,
        )


def check_no_data_in_header(source: Source, names: Sequence[str], line: int | None = None) -> None:
    """Refuse a header that is a row of data, because its query would be lost."""
    numbers = [name for name in names if _DECIMAL.fullmatch(name)]
    if not numbers:
        whole = [name for name in names if _WHOLE.fullmatch(name)]
        # As floats, because Python reads no integer of more than 4,300 digits.
        counts_up = all(float(name) < float(following) for name, following in pairwise(whole))
        if len(whole) > 1 and 2 * len(whole) >= len(names) - 1 and not counts_up:
            numbers = whole
    if numbers:
        raise source.error(
            f"expected names of columns; found numbers, such as {numbers[0]!r}. Add a header.",
            line=line,
        )


def repeated_names(names: Iterable[str]) -> list[str]:
    """The names that appear more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def distinct_names(names: Iterable[str]) -> list[str]:
    """The names made different: the second of two equal names gets a visible "#2"."""
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        seen[name] += 1
        # Visible, because the reader of a report should see that a file had two of them.
        distinct.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return distinct
