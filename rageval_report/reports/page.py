"""A report as one page of HTML that needs nothing but itself.

The page carries its style, its script and its data. Its security policy lets the one style and the
one script run that were written with it, known by their hashes, and lets nothing be loaded from
anywhere. Texts of the evaluation are data to it: escaped by the template, or JSON that the script
shows as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from rageval_report._version import __version__
from rageval_report.render.cells import LONGEST_TOLD
from rageval_report.render.display import shortened
from rageval_report.render.table import Table, table_of
from rageval_report.reports.parts import Section
from rageval_report.reports.pictures import Picture
from rageval_report.reports.report import Report
from rageval_report.results import Result

_HERE = "rageval_report.reports"
# One after the other they are one script: what each needs stands before it.
_SCRIPTS = ("words.js", "data.js", "view.js", "detail.js", "page.js")
_LONGEST_CELL = 200
_LAST = ("pipelines", "made")  # what stands below the queries

# What could end the element that holds the data, or is no character: as JSON's own escapes.
_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, eq=False)
class ShownResult:
    """A result as the template shows it."""

    key: str
    title: str
    table: Table
    notes: tuple[str, ...]
    signature: str


@dataclass(frozen=True, eq=False)
class ShownPicture:
    """A picture as the template shows it."""

    caption: str
    svg: Markup


@dataclass(frozen=True, eq=False)
class ShownSection:
    """A section as the template shows it."""

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
        What is written.
    """
    style, script = _package_text("page.css"), "\n".join(map(_package_text, _SCRIPTS))
    sections = [_section(section) for section in report.sections]
    return _template().render(
        title=_line(report.title),
        subtitle=_line(report.subtitle),
        verdicts=[(one.tone, _line(one.text)) for one in report.verdicts],
        sections=[one for one in sections if one.key not in _LAST],
        last_sections=[one for one in sections if one.key in _LAST],
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


def data_text(document: Any) -> str:
    r"""JSON that may stand in an element of a page.

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
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@lru_cache(maxsize=8)
def _package_text(name: str) -> str:
    return resources.files(_HERE).joinpath(name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_package_text("page.html.jinja"))


def _section(section: Section) -> ShownSection:
    return ShownSection(
        section.key,
        section.heading,
        tuple(_result(one, f"{section.key}-{n}") for n, one in enumerate(section.results, 1)),
        tuple(
            None if one is None else _picture(one, f"{section.key}-picture-{n}")
            for n, one in enumerate(section.pictures, 1)
        ),
        section.folded,
    )


def _picture(picture: Picture, key: str) -> ShownPicture:
    svg = Markup(picture.svg(key))  # noqa: S704  (every text in it was escaped when it was written)
    return ShownPicture(_line(picture.caption), svg)


def _result(result: Result, key: str) -> ShownResult:
    return ShownResult(
        key,
        _line(result.title),
        table_of(result, longest=_LONGEST_CELL),
        tuple(map(_line, result.notes)),
        _line(result.signature) if result.settings else "",
    )


def _line(text: str) -> str:
    return shortened(text, LONGEST_TOLD)
