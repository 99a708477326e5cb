"""A report as Markdown, LaTeX or plain text: the rendered results, one after the other.

The tables have every row; only the HTML page has the queries and the pictures.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def markdown(report: Report) -> str:
    """The report in Markdown: verdicts, tables, notes.

    Parameters
    ----------
    report : Report
        The report to write.
    """
    parts = [f"# {md.escape_sentence(report.title)}", md.escape_sentence(report.subtitle)]
    if report.headline:
        parts.append(md.escape_sentence(" ".join(report.headline.sentences)))
    if report.verdicts:
        lines = [f"- {md.escape_sentence(verdict)}" for verdict in _verdicts(report)]
        parts += ["## Verdicts", "\n".join(lines)]
    for section in _with_tables(report):
        parts += [
            f"## {md.escape_sentence(section.heading)}",
            *map(md.render_file, _tables(section, report.wording)),
        ]
    if report.notes:
        lines = [f"- {md.escape_sentence(note)}" for note in _notes(report)]
        parts += ["## Notes", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def text(report: Report) -> str:
    """The report as plain text, no line wider than a hundred columns.

    Parameters
    ----------
    report : Report
        The report to write.
    """
    blocks = [_underline(report.title, "="), "\n".join(_paragraph(report.subtitle))]
    if report.headline:
        blocks.append("\n".join(_paragraph(" ".join(report.headline.sentences))))
    if report.verdicts:
        lines = [line for text in _verdicts(report) for line in _paragraph(text, bullet=True)]
        blocks += [_underline("Verdicts", "-"), "\n".join(lines)]
    for section in _with_tables(report):
        blocks += [
            _underline(section.heading, "-"),
            *map(plain.render_file, _tables(section, report.wording)),
        ]
    if report.notes:
        lines = [line for note in _notes(report) for line in _paragraph(note, bullet=True)]
        blocks += [_underline("Notes", "-"), "\n".join(lines)]
    return "\n\n".join(block.rstrip("\n") for block in blocks) + "\n"


def latex(report: Report) -> str:
    """The report as a document of LaTeX that compiles as it is.

    Parameters
    ----------
    report : Report
        The report to write.
    """
    parts = [
        _PREAMBLE,
        rf"\section*{{{tex.escape_sentence(report.title)}}}",
        tex.escape_sentence(report.subtitle),
    ]
    if report.headline:
        parts.append(tex.escape_sentence(" ".join(report.headline.sentences)))
    if report.verdicts:
        parts += [r"\subsection*{Verdicts}", _items(_verdicts(report))]
    for section in _with_tables(report):
        parts.append(rf"\subsection*{{{tex.escape_sentence(section.heading)}}}")
        for result in _tables(section, report.wording):
            # Without [!ht] a table may float far from its heading, or past TeX's limit of floats.
            parts += [tex.render(result).replace(r"\begin{table}", r"\begin{table}[!ht]"), ""]
        # Sets the tables that still float before the next heading.
        parts.append(r"\clearpage")
    if report.notes:
        parts += [r"\subsection*{Notes}", _items(_notes(report))]
    return "\n\n".join([*parts, r"\end{document}"]) + "\n"


def _items(texts: list[str]) -> str:
    lines = "\n".join(rf"  \item {tex.escape_sentence(text)}" for text in texts)
    return rf"\begin{{itemize}}{chr(10)}{lines}{chr(10)}\end{{itemize}}"


def _with_tables(report: Report) -> Iterator[Section]:
    return (section for section in report.sections if section.results)


def _verdicts(report: Report) -> list[str]:
    return [report.wording.with_titles(verdict.text) for verdict in report.verdicts]


def _notes(report: Report) -> list[str]:
    return [report.wording.with_titles(note) for note in report.notes]


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


def _underline(heading: str, mark: str) -> str:
    line = shorten(heading, plain.WIDTH)
    return f"{line}\n{mark * len(line)}"


def _paragraph(sentence: str, *, bullet: bool = False) -> list[str]:
    line = shorten(sentence, LONGEST_SENTENCE)
    return wrap(f"- {line}" if bullet else line, plain.WIDTH, hanging=2 if bullet else 0)
