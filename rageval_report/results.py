"""Table 3, the results: a title, a tidy frame at full precision, settings and notes.

`analysis` creates results; `render` and `plots` take them. A result holds full precision and states
how its numbers were made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from rageval_report._registry import load
from rageval_report._version import __version__
from rageval_report.errors import doubts_first

SCHEMA_VERSION = 1
_MOST_NOTES = 3  # what is printed; a result keeps all


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A table of findings with its title, settings and notes.

    Parameters
    ----------
    title : str
        The title of the table.
    frame : DataFrame
        One row per finding, at full precision; `to_frame` returns a copy.
    settings : mapping of str to object
        Every setting that can change a number.
    notes : tuple of str
        What a reader must know: rows that were dropped and why, guesses that were made. Doubts
        about a number go first.
    headline : tuple of str
        The columns that a narrow page shows, in order; if empty, all of them.
    grouped_by : str
        The column whose values are the headings of groups of rows; if empty, there are no groups.

    Examples
    --------
    >>> result = Result("Means", pd.DataFrame({"metric": ["recall"], "mean": [0.5]}), {"seed": 0})
    >>> result.signature.startswith("seed:0|version:")
    True
    >>> result.sentences, result.summary
    ((), '')
    """

    title: str
    frame: pd.DataFrame
    settings: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    grouped_by: str = ""

    def __post_init__(self) -> None:
        # Here, because notes are added in many places, and a doubt must not stand at their end.
        object.__setattr__(self, "notes", doubts_first(self.notes))

    @property
    def signature(self) -> str:
        """The settings and the version as one short text, equal for results of equal settings."""
        settings = {**self.settings, "version": __version__}
        return "|".join(f"{key}:{_format_setting(settings[key])}" for key in sorted(settings))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdicts, one sentence each; a table of queries has none."""
        if "verdict" not in self.frame.columns or self.frame.index.name is not None:
            return ()
        return tuple(str(verdict) for verdict in self.frame["verdict"].dropna())

    @property
    def summary(self) -> str:
        """The answer in one plain sentence, shown above the verdicts; empty if there is none."""
        return ""

    def printed(self) -> Result:
        """What is printed and shown in notebooks: the whole result, or its answer.

        Examples
        --------
        >>> result = Result("Means", pd.DataFrame({"mean": [0.5]}))
        >>> result.printed() is result
        True
        """
        return self

    def with_notes(self, *notes: str) -> Self:
        """The same result with more notes.

        Examples
        --------
        >>> result = Result("Means", pd.DataFrame({"mean": [0.5]}))
        >>> result.with_notes("two queries are unscored").notes
        ('two queries are unscored',)
        """
        return replace(self, notes=(*self.notes, *notes))

    def to_frame(self) -> pd.DataFrame:
        """A copy of the table.

        Examples
        --------
        >>> Result("Means", pd.DataFrame({"metric": ["recall"], "mean": [0.5]})).to_frame()
           metric  mean
        0  recall   0.5
        """
        return self.frame.copy()

    def to_dict(self) -> dict[str, Any]:
        """The whole result as dicts, lists, numbers and texts; NaN becomes None.

        Examples
        --------
        >>> Result("Means", pd.DataFrame({"metric": ["recall"], "mean": [None]})).to_dict()["rows"]
        [{'metric': 'recall', 'mean': None}]
        """
        table = _move_index_to_columns(self.frame)
        return {
            "schema_version": SCHEMA_VERSION,
            "title": self.title,
            "settings": {key: _to_json_value(value) for key, value in self.settings.items()},
            "signature": self.signature,
            "notes": list(self.notes),
            "columns": [str(column) for column in table.columns],
            "rows": _to_json_rows(table),
        }

    def to_markdown(self) -> str:
        """The table in Markdown, with its notes.

        Examples
        --------
        >>> result = Result("Means", pd.DataFrame({"metric": ["recall"], "mean": [0.5]}))
        >>> print(result.to_markdown().partition("`")[0])
        ### Means
        <BLANKLINE>
        | metric   |   mean |
        |:---------|-------:|
        | recall   |  0.500 |
        """
        return _render(self, "markdown")

    def to_html(self) -> str:
        """The table as an HTML fragment that needs no script and no style sheet.

        Examples
        --------
        >>> html = Result("Means", pd.DataFrame({"metric": ["recall"], "mean": [0.5]})).to_html()
        >>> html.count("<td"), "<script" in html
        (1, False)
        """
        return _render(self, "html")

    def to_latex(self) -> str:
        """The table in LaTeX (booktabs).

        Examples
        --------
        >>> latex = Result("Means", pd.DataFrame({"metric": ["recall"], "mean": [0.5]})).to_latex()
        >>> "toprule" in latex
        True
        """
        return _render(self, "latex")

    def to_json(self) -> str:
        """The whole result as JSON.

        Examples
        --------
        >>> result = Result("Means", pd.DataFrame({"metric": ["recall"], "mean": [0.5]}))
        >>> result.to_json().splitlines()[1].strip()
        '"schema_version": 1,'
        """
        return _render(self, "json")

    def to_csv(self) -> str:
        """The table as comma-separated values, at full precision.

        Examples
        --------
        >>> print(Result("Means", pd.DataFrame({"metric": ["recall"], "mean": [0.5]})).to_csv())
        metric,mean
        recall,0.5
        <BLANKLINE>
        """
        return _render(self, "csv")

    def save(self, path: str | Path, *, force: bool = True) -> Path:
        """Write the result; the suffix chooses the format (.md .html .tex .json .csv .txt).

        Parameters
        ----------
        path : str or Path
            The file; its folder is created if needed.
        force : bool
            Whether an existing file is replaced, as pandas does; False keeps it.

        Raises
        ------
        UnknownNameError
            If no format has the suffix.
        DataError
            If the file exists and may not be replaced, or cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Result("Means", pd.DataFrame({"mean": [0.5]})).save(f"{folder}/means.csv")
        ...     path.read_text(encoding="utf-8").split()
        ['mean', '0.5']
        """
        written: Path = _renderer("rageval_report.reports.formats:save")(self, path, force=force)
        return written

    def __str__(self) -> str:
        return _render(self.printed(), "text")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.printed().to_html()

    def _repr_markdown_(self) -> str:
        return self.printed().to_markdown()


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Result):
    """What of a result is printed: a sentence, a table that ends with verdicts, and a few notes.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`. The setting "headings" has headings of columns.
    answer : str
        The answer in one plain sentence.
    rows_left_out : int
        The number of rows that the whole result has besides.
    """

    answer: str = ""
    rows_left_out: int = 0

    @property
    def signature(self) -> str:
        """Nothing: the settings stand in the whole result."""
        return ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Nothing: the verdicts stand in the table."""
        return ()

    @property
    def summary(self) -> str:
        """The answer."""
        return self.answer


def answer_of(
    result: Result,
    sentence: str,
    frame: pd.DataFrame | None = None,
    *,
    columns: tuple[str, ...] | None = None,
    grouped_by: str | None = None,
    headings: Mapping[str, str] | None = None,
) -> Answer:
    """The answer of a result: a sentence, its table or another one, and the first three notes."""
    shown = {} if headings is None else {"headings": headings}
    return Answer(
        "",
        result.frame if frame is None else frame,
        {**result.settings, **shown},
        doubts_first(result.notes)[:_MOST_NOTES],
        result.headline if columns is None else columns,
        result.grouped_by if grouped_by is None else grouped_by,
        answer=sentence,
    )


class QueryFrame(pd.DataFrame):
    """Rows of queries: a DataFrame that notebooks show like a `Result`, with texts cut to a line.

    It is a DataFrame in every respect, and nothing in it is cut. Whatever is selected, sorted or
    added gives another one, which is shown in the same way as long as its index is ``query_id``;
    with any other index (after ``reset_index``, ``describe``, ``groupby``) it is shown as pandas
    shows it. A column is a plain Series, and ``pd.DataFrame(frame)`` is a plain DataFrame. Printed
    text, ``display.notebook_repr_html = False`` and ``.style`` are those of pandas.

    ``assert_frame_equal`` asks the left table to be of the class of the right one: compare
    ``pd.DataFrame(frame)``, or put this one at the left.

    Examples
    --------
    >>> ids = pd.Index(["q1", "q2"], name="query_id")
    >>> frame = QueryFrame({"recall": [0.5, 1.0]}, index=ids)
    >>> isinstance(frame, pd.DataFrame), type(frame.head(1)).__name__
    (True, 'QueryFrame')
    """

    @property
    def _constructor(self) -> type[QueryFrame]:
        return QueryFrame

    def _repr_html_(self) -> str | None:
        if (
            self.index.name != "query_id"
            or self.columns.nlevels > 1
            or not pd.get_option("display.notebook_repr_html")
        ):
            plain: str | None = pd.DataFrame(self)._repr_html_()  # type: ignore[operator]
            return plain
        shown: str = _renderer("rageval_report.reports.html:table_of_queries")(self)
        return shown


def _render(result: Result, format_name: str) -> str:
    text: str = _renderer("rageval_report.reports.formats:render")(result, format_name)
    return text


def _renderer(place: str) -> Callable[..., Any]:
    """A function that renders; they take results, so this module cannot import them at its top."""
    function: Callable[..., Any] = load(place)
    return function


def _format_setting(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(_format_setting(part) for part in value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_format_setting(part)}" for key, part in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _to_json_value(value: object) -> Any:
    """The value as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): _to_json_value(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | pd.Series):
        return [_to_json_value(part) for part in value.tolist()]
    if isinstance(value, list | tuple | set):
        return [_to_json_value(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, bool | int | str) else str(value)


def _to_json_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    columns = [str(column) for column in frame.columns]
    cells = zip(*(frame.iloc[:, position] for position in range(len(columns))), strict=True)
    return [dict(zip(columns, map(_to_json_value, row), strict=True)) for row in cells]


def _move_index_to_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with its index as columns, if the index has a name."""
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index(named) if named else frame
