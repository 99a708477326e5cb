"""A report as one page of HTML that needs nothing but itself.

The page contains its style, its script and its data. Its security policy allows only that style
and that script, by their hashes, and loads nothing from anywhere. Texts of the evaluation are data:
the template escapes them, or they are JSON that the script shows as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from rageval_report._version import __version__
from rageval_report.render.cell_text import LONGEST_SENTENCE
from rageval_report.render.display import shorten
from rageval_report.render.text_table import TextTable, table_of
from rageval_report.reports.parts import Section
from rageval_report.reports.pictures import Picture
from rageval_report.reports.report import Report
from rageval_report.results import Result

_HERE = "rageval_report.reports"
# Joined in this order they are one script: each uses only what the ones before it define.
_SCRIPTS = ("words.js", "data.js", "view.js", "detail.js", "page.js")
_LONGEST_CELL = 200
_LAST = ("pipelines", "made")  # the sections below the queries

# Written as JSON escapes: what could end the element that holds the data, and halves of characters.
_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, eq=False)
class ShownResult:
    """A result, prepared for the template."""

    key: str
    title: str
    table: TextTable
    notes: tuple[str, ...]
    signature: str


@dataclass(frozen=True, eq=False)
class ShownPicture:
    """A picture, prepared for the template."""

    caption: str
    svg: Markup


@dataclass(frozen=True, eq=False)
class ShownSection:
    """A section, prepared for the template."""

    key: str
    heading: str
    results: tuple[ShownResult, ...]
    pictures: tuple[ShownPicture | None, ...]
    folded: bool


def page(report: Report) -> str:
    """The page of a report.

    Parameters
    ----------
    report : Report
        The report to write.
    """
    style, script = _package_text("page.css"), "\n".join(map(_package_text, _SCRIPTS))
    sections = [_shown_section(section) for section in report.sections]
    return _template().render(
        title=_line(report.title),
        subtitle=_line(report.subtitle),
        verdicts=[(verdict.tone, _line(verdict.text)) for verdict in report.verdicts],
        sections=[section for section in sections if section.key not in _LAST],
        last_sections=[section for section in sections if section.key in _LAST],
        notes=[_line(note) for note in report.notes],
        policy=policy(style, script),
        style=Markup(style),  # noqa: S704  (a file of the package)
        script=Markup(script),  # noqa: S704  (files of the package)
        data=Markup(data_text(report.queries.document(report.longest_text))),  # noqa: S704
        n_queries=len(report.queries.ids),
        version=__version__,
    )


def policy(style: str, script: str) -> str:
    """The security policy of a page with this style and this script.

    Examples
    --------
    >>> policy("", "").split("; ")[0]
    "default-src 'none'"
    """
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
    r"""JSON that is safe inside an element of a page.

    Parameters
    ----------
    document : object
        Plain lists, dicts, numbers and texts.

    Examples
    --------
    >>> print(data_text(["</script>", "&"]))
    ["\u003c/script\u003e","\u0026"]
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@lru_cache(maxsize=8)
def _package_text(name: str) -> str:
    return resources.files(_HERE).joinpath(name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _template() -> Template:
    # Strict, so that a misspelt name in the template is an error and not an empty place.
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_package_text("page.html.jinja"))


def _shown_section(section: Section) -> ShownSection:
    return ShownSection(
        section.key,
        section.heading,
        tuple(
            _shown_result(result, f"{section.key}-{n}")
            for n, result in enumerate(section.results, 1)
        ),
        tuple(
            None if picture is None else _shown_picture(picture, f"{section.key}-picture-{n}")
            for n, picture in enumerate(section.pictures, 1)
        ),
        section.folded,
    )


def _shown_picture(picture: Picture, key: str) -> ShownPicture:
    svg = Markup(picture.svg(key))  # noqa: S704  (every text in it was escaped when it was written)
    return ShownPicture(_line(picture.caption), svg)


def _shown_result(result: Result, key: str) -> ShownResult:
    table = table_of(result, longest=_LONGEST_CELL)
    return ShownResult(
        key,
        _line(result.title),
        table,
        # Whoever meets a short name in the table finds the full one below it.
        tuple(map(_line, (*table.names.legend, *result.notes))),
        _line(result.signature) if result.settings else "",
    )


def _line(text: str) -> str:
    return shorten(text, LONGEST_SENTENCE)
