"""`Report`: the parts of a report, and how it is written into a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rageval_report._registry import Registry
from rageval_report.files.writing import check_free, write_atomically
from rageval_report.reports.parts import ReportVerdict, Section
from rageval_report.reports.query_table import QueryTable
from rageval_report.reports.sentences import Headline
from rageval_report.reports.wording import NO_WORDING, Wording

Form: TypeAlias = Callable[["Report"], str]

FORMS: Registry[Form] = Registry(
    "kind of report file",
    {
        ".htm": "rageval_report.reports.page:page",
        ".html": "rageval_report.reports.page:page",
        ".md": "rageval_report.reports.text_forms:markdown",
        ".tex": "rageval_report.reports.text_forms:latex",
        ".txt": "rageval_report.reports.text_forms:text",
    },
)


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Verdicts, tables, pictures, slices and queries of one evaluation or comparison.

    Parameters
    ----------
    title : str
        The title above everything.
    subtitle : str
        What was evaluated, in one line.
    verdicts : tuple of ReportVerdict
        The conclusions, one sentence each.
    sections : tuple of Section
        Tables and pictures in order.
    queries : QueryTable
        Every query; only the HTML page shows them.
    notes : tuple of str
        What a reader must know about the whole report.
    longest_text : int, optional
        Longer texts of queries are cut on the page, with a note; no text is cut if omitted.
    headline : Headline, optional
        The answer, above everything; without one the page begins with the verdicts.
    wording : Wording, optional
        What the page calls metrics and pipelines; their own names if omitted.
    some_queries : str
        Which queries the page shows; empty if it shows all.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
    >>> report = RAGPipelineEvaluation("hybrid", data).report(pictures=False)
    >>> report.title, report.to_html()[:15]
    ('Evaluation of hybrid', '<!doctype html>')
    >>> report.to_markdown().splitlines()[0], report.to_text().splitlines()[0]
    ('# Evaluation of hybrid', 'Evaluation of hybrid')
    >>> "begin{document}" in report.to_latex()
    True
    """

    title: str
    subtitle: str
    verdicts: tuple[ReportVerdict, ...]
    sections: tuple[Section, ...]
    queries: QueryTable
    notes: tuple[str, ...] = ()
    longest_text: int | None = None
    headline: Headline | None = None
    wording: Wording = NO_WORDING
    some_queries: str = ""

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
            Ends in .html, .htm, .md, .tex or .txt. Only the HTML page has queries and pictures.
        force : bool
            Whether an existing file is replaced, as pandas does; else it is an error.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        UnknownNameError
            If the suffix is not one of them.
        DataError
            If the file exists and may not be replaced, or cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from rageval_report import RAGPipelineEvaluation
        >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = RAGPipelineEvaluation("hybrid", data).report(pictures=False)
        ...     report.save(f"{folder}/report.html").name
        'report.html'
        """
        form = FORMS[Path(path).suffix.lower() or str(path)]
        check_free(path, force=force)
        text = form(self)
        return write_atomically(path, text if text.endswith("\n") else f"{text}\n")

    def __repr__(self) -> str:
        return (
            f"Report({self.title!r}, {len(self.verdicts)} verdicts, {len(self.sections)} sections, "
            f"{len(self.queries.ids)} queries)"
        )
