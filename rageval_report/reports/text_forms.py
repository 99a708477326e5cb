"""A report as Markdown, LaTeX or plain text: the rendered results, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rageval_report.render import latex as tex
from rageval_report.render import markdown as md
from rageval_report.render import plain_text as plain
from rageval_report.render.cell_text import LONGEST_SENTENCE
from rageval_report.render.display import shorten, wrap
from rageval_report.reports.parts import Section
from rageval_report.reports.report import Report
from rageval_report.reports.wording import Wording
from rageval_report.results import Result

_PREAMBLE = r"""% Compiles as it is; with XeLaTeX or LuaLaTeX if texts need other scripts.
\documentclass[10pt]{article}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \usepackage{textcomp}
\fi
\usepackage[a4paper,landscape,margin=15mm]{geometry}
\usepackage{booktabs}
\setlength{\parindent}{0pt}
\begin{document}"""


@dataclass(frozen=True)
class _Form:
    """How a form writes the parts of a report."""

    title: Callable[[str], str]
    heading: Callable[[str], str]
    paragraph: Callable[[str], str]
    item: Callable[[str], str]
    table: Callable[[Result], str]
    around_items: str = "{}"
    after_section: tuple[str, ...] = ()

    def items(self, texts: Iterable[str]) -> str:
        return self.around_items.format("\n".join(map(self.item, texts)))


def markdown(report: Report) -> str:
    """The report in Markdown: verdicts, tables, notes."""
    escape = md.escape_sentence
    form = _Form(
        lambda text: f"# {escape(text)}",
        lambda text: f"## {escape(text)}",
        escape,
        lambda text: f"- {escape(text)}",
        md.render_file,
    )
    return "\n\n".join(_blocks(report, form)) + "\n"


def text(report: Report) -> str:
    """The report as plain text, no line wider than a hundred columns."""
    form = _Form(
        lambda text: _underline(text, "="),
        lambda text: _underline(text, "-"),
        _paragraph,
        lambda text: _paragraph(text, "- "),
        plain.render_file,
    )
    return "\n\n".join(block.rstrip("\n") for block in _blocks(report, form)) + "\n"


def latex(report: Report) -> str:
    """The report as a document of LaTeX that compiles as it is."""
    escape = tex.escape_sentence
    form = _Form(
        lambda text: rf"\section*{{{escape(text)}}}",
        lambda text: rf"\subsection*{{{escape(text)}}}",
        escape,
        lambda text: rf"  \item {escape(text)}",
        # Without [!ht] a table may float far from its heading, or past TeX's limit of floats.
        lambda table: tex.render(table).replace(r"\begin{table}", r"\begin{table}[!ht]") + "\n\n",
        "\\begin{{itemize}}\n{}\n\\end{{itemize}}",
        # Sets the tables that still float before the next heading.
        (r"\clearpage",),
    )
    return "\n\n".join((_PREAMBLE, *_blocks(report, form), r"\end{document}")) + "\n"


def _blocks(report: Report, form: _Form) -> Iterator[str]:
    """The blocks of a report: title, answer, verdicts, sections, notes."""
    wording = report.wording
    yield from (form.title(report.title), form.paragraph(report.subtitle))
    if report.headline:
        yield form.paragraph(" ".join(report.headline.sentences))
    if report.verdicts:
        yield form.heading("Verdicts")
        yield form.items(wording.with_titles(verdict.text) for verdict in report.verdicts)
    for section in report.sections:
        if section.results:
            yield form.heading(section.heading)
            yield from map(form.table, _tables(section, wording))
            yield from form.after_section
    if report.notes:
        yield from (form.heading("Notes"), form.items(map(wording.with_titles, report.notes)))


def _underline(heading: str, mark: str) -> str:
    line = shorten(heading, plain.WIDTH)
    return f"{line}\n{mark * len(line)}"


def _paragraph(sentence: str, bullet: str = "") -> str:
    line = f"{bullet}{shorten(sentence, LONGEST_SENTENCE)}"
    return "\n".join(wrap(line, plain.WIDTH, hanging=len(bullet)))


def _tables(section: Section, wording: Wording) -> Iterator[Result]:
    """The results of a section without their verdicts, which are at the top of the report."""
    for result in section.results:
        has_verdicts = "verdict" in result.frame.columns
        frame = result.frame.drop(columns="verdict") if has_verdicts else result.frame
        notes = tuple(map(wording.with_titles, result.notes))
        # The table alone: the headline of a comparison, too, is at the top of the report.
        yield Result(
            *(result.title, wording.frame(frame), result.settings, notes),
            headline=result.headline,
            grouped_by=result.grouped_by,
        )
