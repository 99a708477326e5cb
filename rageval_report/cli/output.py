"""Where results go: standard output or a file, in one of the formats of `rageval_report.render`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_report._registry import load
from rageval_report.cli.notes import note
from rageval_report.errors import DataError
from rageval_report.files.writing import check_free as check_free
from rageval_report.files.writing import write_atomically
from rageval_report.render import RENDERERS

if TYPE_CHECKING:
    from rageval_report.results import Result

# The formats by name, as the suffix of the file that they would be.
FORMATS = {
    "table": ".txt",
    "markdown": ".md",
    "html": ".html",
    "latex": ".tex",
    "json": ".json",
    "csv": ".csv",
}
FOR_PROGRAMS = frozenset((".csv", ".json", ".tsv"))

_FEW = 20


@dataclass(frozen=True)
class Output:
    """Where results go, and as what.

    Parameters
    ----------
    kind : str
        A suffix of the table `rageval_report.render.RENDERERS`.
    path : Path, optional
        The file; standard output where None.
    force : bool
        Whether files that are there may be replaced.
    """

    kind: str
    path: Path | None = None
    force: bool = False

    @classmethod
    def to(cls, path: Path | None, format_name: str | None, *, force: bool = False) -> Output:
        """The output that a user asked for, checked before anything is computed.

        Raises
        ------
        DataError
            If the file is there and may not be replaced, or its suffix says nothing.
        """
        path = None if path is not None and str(path) == "-" else path
        if path is not None:
            check_free(path, force=force)
        if format_name is not None:
            return cls(FORMATS[format_name], path, force)
        return cls(".txt" if path is None else _kind_of(path), path, force)

    def shown(self, result: Result, limit: int | None) -> Result:
        """The rows that are shown: a few for people, all for programs, where no limit is given."""
        rows = limit or (len(result.frame) if self.kind in FOR_PROGRAMS else _FEW)
        left_out = len(result.frame) - rows
        if left_out <= 0:
            return result
        told = f"the first {rows} of {len(result.frame)} rows are shown; more with --limit"
        return replace(result, frame=result.frame.head(rows)).with_notes(told)

    def write(self, results: Mapping[str, Result], what: str = "pipeline") -> None:
        """Write the results, one after the other.

        Parameters
        ----------
        results : mapping of str to Result
            By the name that tells them apart.
        what : str
            What these names are; the column that holds them where tables are joined.
        """
        if self.kind in (".csv", ".tsv"):  # a table of values has no room for them
            for said in dict.fromkeys(one for result in results.values() for one in result.notes):
                note(said)
        written = load("rageval_report.cli.writing:written")
        text = written(results, self.kind, what, width=self._width)
        whole = text if text.endswith("\n") else f"{text}\n"
        if self.path is None:
            click.echo(whole, nl=False)
        else:
            write_atomically(self.path, whole)
            note(f"wrote {self.path}")

    @property
    def _width(self) -> int | None:
        """The terminal's width, where a person looks at one."""
        is_screen = self.kind == ".txt" and self.path is None and sys.stdout.isatty()
        return shutil.get_terminal_size().columns if is_screen else None


def _kind_of(path: Path) -> str:
    kind = path.suffix.lower()
    known = [suffix for entry in RENDERERS.values() for suffix in entry.suffixes]
    if kind not in known:
        raise DataError(
            f"{path}: its name does not say what to write; end it in {' '.join(known)}, or choose "
            "with --format"
        )
    return kind
