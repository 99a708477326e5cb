"""Table 3, the results: a title, a tidy frame at full precision, settings and notes.

A result is where computing ends: `analysis` makes it, `render` and `plots` take it. It rounds
nothing, and it says how its numbers were made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from rageval_report._registry import load
from rageval_report._version import __version__

SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """One finding, or a table of them.

    Parameters
    ----------
    title : str
        What the table shows.
    frame : DataFrame
        One row a finding, at full precision; take a copy with `to_frame`.
    settings : mapping of str to object
        Every setting that can move a number.
    notes : tuple of str
        What a reader must know: what was dropped and why, what was guessed.
    headline : tuple of str
        The columns that a narrow page shows, in order; all of them where empty.
    grouped_by : str
        The column whose values head the groups of rows; none where empty.

    Examples
    --------
    >>> result = Result("Means", pd.DataFrame({"metric": ["recall"], "mean": [0.5]}), {"seed": 0})
    >>> result.signature.startswith("seed:0|version:")
    True
    """

    title: str
    frame: pd.DataFrame
    settings: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    grouped_by: str = ""

    @property
    def signature(self) -> str:
        """The settings as one short text that two results can be compared by."""
        told = {**self.settings, "version": __version__}
        return "|".join(f"{key}:{_told(told[key])}" for key in sorted(told))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdicts, a sentence each, where the table has any; a table of queries has none."""
        if "verdict" not in self.frame.columns or self.frame.index.name is not None:
            return ()
        return tuple(str(verdict) for verdict in self.frame["verdict"].dropna())

    def with_notes(self, *notes: str) -> Self:
        """The same result with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def to_frame(self) -> pd.DataFrame:
        """A copy of the table."""
        return self.frame.copy()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, numbers and texts; NaN becomes None."""
        table = _with_named_index(self.frame)
        return {
            "schema_version": SCHEMA_VERSION,
            "title": self.title,
            "settings": {key: _plain(value) for key, value in self.settings.items()},
            "signature": self.signature,
            "notes": list(self.notes),
            "columns": [str(column) for column in table.columns],
            "rows": _plain_rows(table),
        }

    def to_markdown(self) -> str:
        """The table in Markdown, with its notes."""
        return self._rendered("markdown")

    def to_html(self) -> str:
        """The table as a piece of HTML that needs no script and no style sheet."""
        return self._rendered("html")

    def to_latex(self) -> str:
        """The table in LaTeX (booktabs)."""
        return self._rendered("latex")

    def to_json(self) -> str:
        """Everything as JSON."""
        return self._rendered("json")

    def to_csv(self) -> str:
        """The table as comma-separated values, at full precision."""
        return self._rendered("csv")

    def save(self, path: str | Path, *, force: bool = True) -> Path:
        """Write the result; the suffix chooses the format (.md .html .tex .json .csv .txt).

        Parameters
        ----------
        path : str or Path
            The file; its folder is made where it is not there.
        force : bool
            Whether a file that is there is replaced, as pandas does; False keeps it.

        Raises
        ------
        UnknownNameError
            If the suffix stands for no format.
        DataError
            If the file is there and may not be replaced, or cannot be written.
        """
        written: Path = load("rageval_report.render:save")(self, path, force=force)
        return written

    def _rendered(self, format_name: str) -> str:
        text: str = load("rageval_report.render:render")(self, format_name)
        return text

    def __str__(self) -> str:
        return self._rendered("text")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def _told(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(_told(part) for part in value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_told(part)}" for key, part in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(value: object) -> Any:
    """A value that JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | pd.Series):
        return [_plain(part) for part in value.tolist()]
    if isinstance(value, list | tuple | set):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, bool | int | str) else str(value)


def _plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    columns = [str(column) for column in frame.columns]
    cells = zip(*(frame.iloc[:, place] for place in range(len(columns))), strict=True)
    return [dict(zip(columns, map(_plain, row), strict=True)) for row in cells]


def _with_named_index(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with its index as columns, where the index means something."""
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index(named) if named else frame
