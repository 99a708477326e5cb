"""`Report`: the parts of a report, and the files that they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rageval_report._registry import Registry
from rageval_report.files.writing import check_free, write_atomically
from rageval_report.reports.parts import Section, Verdict
from rageval_report.reports.queries import QueryTable

Form: TypeAlias = Callable[["Report"], str]

FORMS: Registry[Form] = Registry(
    "kind of report file",
    {
        ".htm": "rageval_report.reports.page:page",
        ".html": "rageval_report.reports.page:page",
        ".md": "rageval_report.reports.texts:markdown",
        ".tex": "rageval_report.reports.texts:latex",
        ".txt": "rageval_report.reports.texts:text",
    },
)


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Verdicts, tables, pictures, slices and queries of one evaluation or comparison.

    Parameters
    ----------
    title : str
        Over everything.
    subtitle : str
        What was evaluated, in a line.
    verdicts : tuple of Verdict
        What a reader should take away.
    sections : tuple of Section
        Tables and pictures in order.
    queries : QueryTable
        Every query; shown by the page alone.
    notes : tuple of str
        What a reader must know of the whole.
    longest_text : int, optional
        Longer texts of queries are cut on the page, with a note; kept whole where None.
    """

    title: str
    subtitle: str
    verdicts: tuple[Verdict, ...]
    sections: tuple[Section, ...]
    queries: QueryTable
    notes: tuple[str, ...] = ()
    longest_text: int | None = None

    def to_html(self) -> str:
        """One page that needs no other file, no network, and no server."""
        return FORMS[".html"](self)

    def to_markdown(self) -> str:
        """The verdicts and tables in Markdown."""
        return FORMS[".md"](self)

    def to_latex(self) -> str:
        """The verdicts and tables as a document of LaTeX (booktabs) that compiles as it is."""
        return FORMS[".tex"](self)

    def to_text(self) -> str:
        """The verdicts and tables as plain text."""
        return FORMS[".txt"](self)

    def save(self, path: str | Path, *, force: bool = True) -> Path:
        """Write the report; the suffix chooses the form.

        Parameters
        ----------
        path : str or Path
            Ends in .html, .htm, .md, .tex or .txt. Queries and pictures are in the page only.
        force : bool
            Whether a file that is there is replaced, as pandas does; False keeps it.

        Returns
        -------
        Path
            Where it was written.

        Raises
        ------
        UnknownNameError
            If the suffix stands for no form.
        DataError
            If the file is there and may not be replaced, or cannot be written.
        """
        form = FORMS[Path(path).suffix.lower() or str(path)]
        check_free(path, force=force)
        told = form(self)
        return write_atomically(path, told if told.endswith("\n") else f"{told}\n")

    def __repr__(self) -> str:
        return (
            f"Report({self.title!r}, {len(self.verdicts)} verdicts, {len(self.sections)} sections, "
            f"{len(self.queries.ids)} queries)"
        )
