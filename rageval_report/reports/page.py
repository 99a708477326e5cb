"""A report as a page of HTML, as Markdown and as plain text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup, escape

from rageval_report._version import __version__
from rageval_report.errors import is_doubt
from rageval_report.reports import markdown as md
from rageval_report.reports import plain
from rageval_report.reports.cells import LONGEST_SENTENCE, shorten, wrap
from rageval_report.reports.html import environment, minus, package_text
from rageval_report.reports.report import Report, Section
from rageval_report.reports.tables import table_of
from rageval_report.reports.wording import Wording
from rageval_report.results import Result

# Joined in this order they are one script: each uses only what the ones before it define.
_SCRIPTS = ("words.js", "data.js", "view.js", "detail.js", "pair.js", "page.js")
_LONGEST_CELL = 200
_LAST = ("pipelines", "made")  # the sections below the queries

# Written as JSON escapes: what could end the element that holds the data, and halves of characters.
_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def page(report: Report) -> str:
    """The page of a report."""
    style, script = package_text("page.css"), "\n".join(map(package_text, _SCRIPTS))
    data, wording = data_text(report.queries.document(report.longest_text)), report.wording
    sections = [_shown_section(section, wording) for section in report.sections]

    def sentence(text: str) -> str:
        return _line(wording.sentence(text))

    verdicts = [(own.tone, sentence(own.text)) for own in report.verdicts]
    doubts = [sentence(own.text) for own in report.verdicts if is_doubt(own.text)]
    return (
        environment()
        .get_template("page.html.jinja")
        .render(
            title=_line(report.title),
            subtitle=_line(report.subtitle),
            headline=report.headline,
            emphasise=partial(_emphasise, tuple(wording.labels.values())),
            doubts=doubts if report.headline else [],
            verdicts=[] if report.headline else verdicts,
            sections=[section for section in sections if section["key"] not in _LAST],
            last_sections=[section for section in sections if section["key"] in _LAST],
            shared_names=wording.names.shared_sentence,
            legend=wording.names.legend,
            notes=list(map(sentence, report.notes)),
            policy=policy(style, script),
            style=Markup(style),  # noqa: S704  (a file of the package)
            script=Markup(script),  # noqa: S704  (files of the package)
            data=Markup(data),  # noqa: S704
            n_queries=len(report.queries.ids),
            some_queries=sentence(report.some_queries),
            version=__version__,
        )
    )


def policy(style: str, script: str) -> str:
    """The security policy of a page with this style and this script."""
    digests = (hashlib.sha256(text.encode()).digest() for text in (script, style))
    script_src, style_src = (f"'sha256-{base64.b64encode(own).decode()}'" for own in digests)
    return (
        f"default-src 'none'; script-src {script_src}; style-src {style_src}; base-uri 'none'; "
        "form-action 'none'"
    )


def data_text(document: object) -> str:
    """JSON that is safe inside an element of a page."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


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
    views = []
    for view in section.views:
        template = environment().get_template(f"{view['template']}.html.jinja")
        html = Markup(template.render(view=view))  # noqa: S704  (escaped by Jinja)
        views.append({"html": html, "heading": view.get("heading", "")})
    pictures: list[dict[str, Any] | None] = []
    for n, own in enumerate(section.pictures, 1):
        # The texts of a picture were escaped when it was written.
        svg = Markup(own.svg(f"{section.key}-picture-{n}", wording)) if own else ""  # noqa: S704
        pictures.append({"caption": _line(own.caption), "svg": svg} if own else None)
    return {
        "key": section.key,
        "heading": section.heading,
        "folded": section.folded,
        "numbers": section.numbers,
        "results": [_shown_result(result, wording) for result in section.results],
        "pictures": pictures,
        "views": views,
    }


def _shown_result(result: Result, wording: Wording) -> dict[str, Any]:
    table = table_of(result, longest=_LONGEST_CELL)
    # Whoever meets a short name in the table finds the full one below it, unless the page has it.
    legend = () if set(table.names.names) <= set(wording.names.names) else table.names.legend
    return {
        "title": _line(wording.sentence(result.title)),
        "table": wording.table(table),
        "sentences": [_line(wording.sentence(text)) for text in result.sentences],
        "notes": [_line(text) for text in (*legend, *map(wording.sentence, result.notes))],
        "signature": _line(result.signature) if result.settings else "",
    }


def _line(text: str) -> str:
    return shorten(text, LONGEST_SENTENCE)


# -- the other forms


@dataclass(frozen=True)
class _Form:
    """How a form writes the parts of a report."""

    title: Callable[[str], str]
    heading: Callable[[str], str]
    paragraph: Callable[[str], str]
    item: Callable[[str], str]
    table: Callable[[Result], str]


def markdown(report: Report) -> str:
    """The report in Markdown: verdicts, tables, notes."""
    plain_text = md.escape_sentence
    title, heading, item = (
        lambda text, mark=mark: mark + plain_text(text) for mark in ("# ", "## ", "- ")
    )
    return _written(report, _Form(title, heading, plain_text, item, md.render_file))


def text(report: Report) -> str:
    """The report as plain text, no line wider than a hundred columns."""
    title, heading = (partial(_underline, mark=mark) for mark in "=-")
    item = partial(_paragraph, bullet="- ")
    return _written(report, _Form(title, heading, _paragraph, item, plain.render_file))


def _written(report: Report, form: _Form) -> str:
    """The report in a form: title, answer, verdicts, sections, notes."""

    def listed(heading: str, texts: Iterable[str]) -> list[str]:
        items = "\n".join(form.item(report.wording.with_titles(own)) for own in texts)
        return [form.heading(heading), items] if items else []

    answer = [" ".join(report.headline.sentences)] if report.headline else []
    blocks = [form.title(report.title), *map(form.paragraph, (report.subtitle, *answer))]
    blocks += listed("Verdicts", (verdict.text for verdict in report.verdicts))
    for section in report.sections:
        if section.results:
            tables = (form.table(_table_alone(own, report.wording)) for own in section.results)
            blocks += [form.heading(section.heading), *tables]
    blocks += listed("Notes", report.notes)
    return "\n\n".join(block.rstrip("\n") for block in blocks) + "\n"


def _table_alone(result: Result, wording: Wording) -> Result:
    """A result without its verdicts and its headline, which are at the top of the report."""
    frame = wording.frame(result.frame.drop(columns="verdict", errors="ignore"))
    notes = tuple(map(wording.with_titles, result.notes))
    about = (result.title, frame, result.settings, notes)
    return Result(*about, result.headline, result.grouped_by)


def _underline(heading: str, mark: str) -> str:
    line = shorten(heading, plain.WIDTH)
    return f"{line}\n{mark * len(line)}"


def _paragraph(sentence: str, bullet: str = "") -> str:
    return "\n".join(wrap(f"{bullet}{_line(sentence)}", plain.WIDTH, hanging=len(bullet)))
