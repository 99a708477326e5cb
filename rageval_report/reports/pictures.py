"""Plots as pieces of a page: inline SVG with text as text, that follows the colours of the page.

A page with a strict security policy takes no style attributes, so what matplotlib writes as styles
becomes attributes of their own; what is drawn in the colour of text takes the page's; every id gets
the picture's own prefix, because a page has one space of ids for all of its pictures.
"""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import matplotlib as mpl

from rageval_report.plots.files import draw_figure
from rageval_report.plots.style import BETTER, WORSE

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
# Colours that no plot uses stand for those of text and of paper, until the page's replace them.
_INK, _PAPER = "#010203", "#f1f2f3"
_COLOURS = {_INK: "currentColor", _PAPER: "var(--page)"}
_TEXT_COLOURS = {BETTER.lower(): "var(--better)", WORSE.lower(): "var(--worse)"}
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "rageval_report",
    "figure.facecolor": _PAPER,
    "axes.facecolor": _PAPER,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK
    ),
}
# What the page says for all pictures, or what says nothing.
_LEFT_OUT = frozenset(("font-family", "stroke-dashoffset"))
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
# What XML 1.0 does not allow, whoever named a pipeline so.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, eq=False)
class Picture:
    """A plot that is drawn when the page is written.

    Parameters
    ----------
    kind : str
        A name of the table ``rageval_report.plots.PLOTS``.
    subject : object
        What is drawn.
    caption : str
        What it shows, for those who do not see it.
    options : dict
        The plot's own.
    """

    kind: str
    subject: Any
    caption: str
    options: dict[str, Any] = field(default_factory=dict)

    def svg(self, prefix: str) -> str:
        """The picture as an element ``<svg>``.

        Parameters
        ----------
        prefix : str
            Before every id, so that no two pictures of a page share one.
        """
        with mpl.rc_context(_STYLE), warnings.catch_warnings():
            # The page's own fonts draw the text; that matplotlib's lack a script is no news.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure = draw_figure(self.subject, self.kind, **self.options)
            written = io.StringIO()
            figure.savefig(written, format="svg", metadata={"Date": None}, transparent=True)
        return inline(written.getvalue(), prefix, self.caption)


def inline(document: str, prefix: str, caption: str) -> str:
    """A document of SVG as an element for a page.

    Parameters
    ----------
    document : str
        As matplotlib writes it.
    prefix : str
        Before every id.
    caption : str
        Its accessible name.

    Examples
    --------
    >>> drawn = '<svg xmlns="http://www.w3.org/2000/svg"><g style="fill: #010203"/></svg>'
    >>> inline(drawn, "p1", "A dot")
    '<svg class="picture" role="img" aria-label="A dot"><g fill="currentColor" /></svg>'
    """
    root = ET.fromstring(_NOT_XML.sub("\ufffd", document))  # noqa: S314  (our own, just written)
    linked = set(_linked(root))
    for element in root.iter():
        _harmonise(element, prefix, linked)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("metadata", "style") or (child.tag == "defs" and not len(child)):
                parent.remove(child)
    size = {"viewBox": root.attrib["viewBox"]} if "viewBox" in root.attrib else {}
    root.attrib.clear()
    root.attrib.update({"class": "picture", **size, "role": "img", "aria-label": _plain(caption)})
    return ET.tostring(root, encoding="unicode")


def _plain(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _linked(root: ET.Element) -> Iterator[str]:
    """The ids that something in the picture refers to."""
    for element in root.iter():
        if _LINK in element.attrib:
            yield element.attrib[_LINK].removeprefix("#")
        for value in element.attrib.values():
            yield from _REFERENCE.findall(value)


def _harmonise(element: ET.Element, prefix: str, linked: set[str]) -> None:
    """One element without name spaces, styles, foreign ids and needless digits."""
    element.tag = element.tag.rpartition("}")[2]
    told = dict(element.attrib)
    element.attrib.clear()
    if told.get("id") not in linked:
        told.pop("id", None)
    link = told.pop(_LINK, None)
    for name, value in (*told.items(), *_styles(told.get("style", ""))):
        if name == "id":
            value = f"{prefix}-{value}"
        if name != "style" and name not in _LEFT_OUT:
            element.set(name, _attribute(value, prefix))
    if element.tag == "text" and "fill" in element.attrib:
        hue = element.attrib["fill"]
        element.set("fill", _TEXT_COLOURS.get(hue.lower(), hue))
    if link is not None:
        element.set("href", f"#{prefix}-{link.removeprefix('#')}")
    if element.text is not None and not element.text.strip():
        element.text = None
    if element.tail is not None and not element.tail.strip():
        element.tail = None


def _styles(style: str) -> Iterator[tuple[str, str]]:
    for part in style.split(";"):
        name, colon, value = part.partition(":")
        if colon:
            yield name.strip(), value.strip()


def _attribute(value: str, prefix: str) -> str:
    value = _REFERENCE.sub(rf"url(#{prefix}-\1)", value)
    value = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)
    return _COLOURS.get(value, value.replace("\n", "").strip())
