"""A report as a page of HTML, as Markdown, as LaTeX and as plain text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from rageval_report._version import __version__
from rageval_report.errors import is_doubt
from rageval_report.render import latex as tex
from rageval_report.render import markdown as md
from rageval_report.render import plain_text as plain
from rageval_report.render.cell_text import LONGEST_SENTENCE
from rageval_report.render.display import shorten, wrap
from rageval_report.render.text_table import TextTable, table_of
from rageval_report.reports.pictures import Picture
from rageval_report.reports.report import Report, Section
from rageval_report.reports.views import View
from rageval_report.reports.wording import Wording
from rageval_report.results import Result

_HERE = "rageval_report.reports"
# Joined in this order they are one script: each uses only what the ones before it define.
_SCRIPTS = ("words.js", "data.js", "view.js", "detail.js", "pair.js", "page.js")
_LONGEST_CELL = 200
_TONES = dict.fromkeys(("better", "best"), "better") | {
    "worse": "worse",
    **dict.fromkeys(("equivalent", "identical"), "equivalent"),
}
_HYPHEN = re.compile(r"(?<![\w.-])-(?=\.?\d)")
_LAST = ("pipelines", "made")  # the sections below the queries

# Written as JSON escapes: what could end the element that holds the data, and halves of characters.
_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def page(report: Report) -> str:
    """The page of a report."""
    style, script = _package_text("page.css"), "\n".join(map(_package_text, _SCRIPTS))
    wording, has_headline = report.wording, report.headline is not None
    sections = [_shown_section(section, wording) for section in report.sections]
    doubts = [verdict.text for verdict in report.verdicts if is_doubt(verdict.text)]
    return _template("page").render(
        title=_line(report.title),
        subtitle=_line(report.subtitle),
        headline=report.headline,
        emphasise=partial(_emphasise, tuple(wording.labels.values())),
        doubts=[_line(wording.sentence(text)) for text in doubts] if has_headline else [],
        verdicts=[]
        if has_headline
        else [(verdict.tone, _line(wording.sentence(verdict.text))) for verdict in report.verdicts],
        sections=[section for section in sections if section["key"] not in _LAST],
        last_sections=[section for section in sections if section["key"] in _LAST],
        shared_names=wording.names.shared_sentence,
        legend=wording.names.legend,
        notes=[_line(wording.sentence(note)) for note in report.notes],
        policy=policy(style, script),
        style=Markup(style),  # noqa: S704  (a file of the package)
        script=Markup(script),  # noqa: S704  (files of the package)
        data=Markup(data_text(report.queries.document(report.longest_text))),  # noqa: S704
        n_queries=len(report.queries.ids),
        some_queries=_line(wording.sentence(report.some_queries)),
        version=__version__,
    )


def policy(style: str, script: str) -> str:
    """The security policy of a page with this style and this script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def data_text(document: object) -> str:
    """JSON that is safe inside an element of a page."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@lru_cache(maxsize=32)
def _package_text(name: str) -> str:
    return resources.files(_HERE).joinpath("templates", name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    # Strict, so that a misspelt name in the template is an error and not an empty place.
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_package_text),
    )
    environment.filters |= {"minus": minus, "tone": _tone}
    return environment


def _template(name: str) -> Template:
    return _environment().get_template(f"{name}.html.jinja")


def minus(text: object) -> str:
    """A text with true minus signs before its numbers."""
    return _HYPHEN.sub("\N{MINUS SIGN}", str(text))


def _tone(shown: str) -> str:
    """The class of what is shown: "undecided" has no colour."""
    return _TONES.get(shown, "undecided")


def _emphasise(names: Sequence[str], text: str) -> Markup:
    """A sentence in which the names of metrics are strong."""
    if not names:
        return escape(minus(text))
    pattern = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pieces = re.split(rf"(?<!\w)({pattern})(?!\w)", minus(text))
    return Markup("").join(
        Markup("<b>{}</b>").format(piece) if place % 2 else piece
        for place, piece in enumerate(pieces)
    )


# What the template takes: a section with its results, pictures and views as mappings.


def _shown_section(section: Section, wording: Wording) -> dict[str, Any]:
    return {
        "key": section.key,
        "heading": section.heading,
        "folded": section.folded,
        "numbers": section.numbers,
        "results": [_shown_result(result, wording) for result in section.results],
        "pictures": [
            picture and _shown_picture(picture, f"{section.key}-picture-{n}", wording)
            for n, picture in enumerate(section.pictures, 1)
        ],
        "views": list(map(_shown_view, section.views)),
    }


def _shown_view(view: View) -> dict[str, Any]:
    html = Markup(_template(view["template"]).render(view=view))  # noqa: S704  (escaped by Jinja)
    return {"html": html, "heading": view.get("heading", "")}


def _shown_picture(picture: Picture, key: str, wording: Wording) -> dict[str, Any]:
    svg = Markup(picture.svg(key, wording))  # noqa: S704  (its texts were escaped when written)
    return {"caption": _line(picture.caption), "svg": svg}


def _shown_result(result: Result, wording: Wording) -> dict[str, Any]:
    table = table_of(result, longest=_LONGEST_CELL)
    return {
        "title": _line(wording.sentence(result.title)),
        "table": wording.table(table),
        "sentences": [_line(wording.sentence(text)) for text in result.sentences],
        # Whoever meets a short name in the table finds the full one below it.
        "notes": [*map(_line, (*_legend(table, wording), *map(wording.sentence, result.notes)))],
        "signature": _line(result.signature) if result.settings else "",
    }


def _legend(table: TextTable, wording: Wording) -> tuple[str, ...]:
    """The full names of a table's pipelines, unless the page itself has them."""
    return () if set(table.names.names) <= set(wording.names.names) else table.names.legend


def _line(text: str) -> str:
    return shorten(text, LONGEST_SENTENCE)


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
