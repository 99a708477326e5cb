"""A report as Markdown, LaTeX or plain text: the results one after the other, as each is rendered.

The tables of these files hold every row; the queries and the pictures are in the page only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rageval_report.render import latex as tex
from rageval_report.render import markdown as md
from rageval_report.render import text as plain
from rageval_report.render.cells import LONGEST_TOLD
from rageval_report.render.display import shortened, wrapped
from rageval_report.reports.parts import Section
from rageval_report.reports.report import Report
from rageval_report.results import Result

_PREAMBLE = r"""% Compiles as it is; where texts need other scripts, with XeLaTeX or LuaLaTeX.
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
        What is written.
    """
    parts = [f"# {md.told(report.title)}", md.told(report.subtitle)]
    if report.verdicts:
        parts += ["## Verdicts", "\n".join(f"- {md.told(one.text)}" for one in report.verdicts)]
    for section in _with_tables(report):
        parts += [f"## {md.told(section.heading)}", *map(md.whole, _once_said(section))]
    if report.notes:
        parts += ["## Notes", "\n".join(f"- {md.told(note)}" for note in report.notes)]
    return "\n\n".join(parts) + "\n"


def text(report: Report) -> str:
    """The report as plain text, no line wider than a hundred columns.

    Parameters
    ----------
    report : Report
        What is written.
    """
    blocks = [_underlined(report.title, "="), "\n".join(_paragraph(report.subtitle))]
    if report.verdicts:
        lines = [line for one in report.verdicts for line in _paragraph(one.text, bullet=True)]
        blocks += [_underlined("Verdicts", "-"), "\n".join(lines)]
    for section in _with_tables(report):
        blocks += [_underlined(section.heading, "-"), *map(plain.whole, _once_said(section))]
    if report.notes:
        lines = [line for note in report.notes for line in _paragraph(note, bullet=True)]
        blocks += [_underlined("Notes", "-"), "\n".join(lines)]
    return "\n\n".join(block.rstrip("\n") for block in blocks) + "\n"


def latex(report: Report) -> str:
    """The report as a document of LaTeX that compiles as it is.

    Parameters
    ----------
    report : Report
        What is written.
    """
    parts = [
        _PREAMBLE,
        rf"\section*{{{tex.told(report.title)}}}",
        tex.told(report.subtitle),
    ]
    if report.verdicts:
        parts += [r"\subsection*{Verdicts}", _items([one.text for one in report.verdicts])]
    for section in _with_tables(report):
        parts.append(rf"\subsection*{{{tex.told(section.heading)}}}")
        for result in _once_said(section):
            # A table that may float far from its heading, or past TeX's limit of waiting ones.
            parts += [tex.render(result).replace(r"\begin{table}", r"\begin{table}[!ht]"), ""]
        parts.append(r"\clearpage")
    if report.notes:
        parts += [r"\subsection*{Notes}", _items(list(report.notes))]
    return "\n\n".join([*parts, r"\end{document}"]) + "\n"


def _items(texts: list[str]) -> str:
    lines = "\n".join(rf"  \item {tex.told(one)}" for one in texts)
    return rf"\begin{{itemize}}{chr(10)}{lines}{chr(10)}\end{{itemize}}"


def _with_tables(report: Report) -> Iterator[Section]:
    return (section for section in report.sections if section.results)


def _once_said(section: Section) -> Iterator[Result]:
    """The results without the verdicts, which stand at the top of the report."""
    for result in section.results:
        has_verdicts = "verdict" in result.frame.columns
        yield (
            replace(result, frame=result.frame.drop(columns="verdict")) if has_verdicts else result
        )


def _underlined(heading: str, mark: str) -> str:
    told = shortened(heading, plain.WIDTH)
    return f"{told}\n{mark * len(told)}"


def _paragraph(sentence: str, *, bullet: bool = False) -> list[str]:
    told = shortened(sentence, LONGEST_TOLD)
    return wrapped(f"- {told}" if bullet else told, plain.WIDTH, hanging=2 if bullet else 0)
