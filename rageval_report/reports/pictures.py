"""Plots as inline SVG for a page: text stays text, and colours follow the page's theme."""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import matplotlib as mpl
from matplotlib.text import Text

from rageval_report.plots.canvas import BETTER, WORSE
from rageval_report.plots.saving import draw_figure
from rageval_report.reports.wording import NO_WORDING, Wording

_LINK = "{http://www.w3.org/1999/xlink}href"
# Colours that no plot uses stand for those of text and of paper; `_COLOURS` replaces them.
_INK, _PAPER = "#010203", "#f1f2f3"
_COLOURS = {_INK: "currentColor", _PAPER: "var(--page)"}
_TEXT_COLOURS = {BETTER.lower(): "var(--better)", WORSE.lower(): "var(--worse)"}
_STYLE: Any = {
    "svg.fonttype": "none",
    # With a fixed salt the same picture has the same ids, and the page the same bytes.
    "svg.hashsalt": "rageval_report",
    "figure.facecolor": _PAPER,
    "axes.facecolor": _PAPER,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK
    ),
}
# What the page's style sets for all pictures, or what has no effect.
_LEFT_OUT = frozenset(("font-family", "stroke-dashoffset"))
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
# CSS has a shorthand for all properties of a font, SVG has no such attribute. Older versions of
# matplotlib write it all the same.
_FONT = re.compile(
    r"(?:(?P<style>italic|oblique) )?(?:(?P<variant>small-caps) )?(?:(?P<weight>\d+) )?"
    r"(?P<size>[\d.]+px) "
)
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
# Characters that XML 1.0 does not allow, which the name of a pipeline may contain.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, eq=False)
class Picture:
    """A plot that is drawn when the page is written."""

    kind: str
    subject: object
    caption: str
    options: Mapping[str, object] = field(default_factory=dict)

    def svg(self, prefix: str, wording: Wording = NO_WORDING) -> str:
        """The picture as an element ``<svg>``."""
        with mpl.rc_context(_STYLE), warnings.catch_warnings():
            # The browser's fonts draw the text, so it does not matter what matplotlib's fonts lack.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure = draw_figure(self.subject, self.kind, **self.options)
            for text in figure.findobj(Text):
                text.set_text(wording.with_titles(text.get_text()))
            svg = io.StringIO()
            figure.savefig(svg, format="svg", metadata={"Date": None}, transparent=True)
        return inline_svg(svg.getvalue(), prefix, self.caption)


def inline_svg(document: str, prefix: str, caption: str) -> str:
    """An SVG document as an element of a page."""
    root = ET.fromstring(_NOT_XML.sub("\ufffd", document))  # noqa: S314  (our own, just written)
    linked_ids = set(_linked_ids(root))
    for element in root.iter():
        _simplify(element, prefix, linked_ids)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("metadata", "style") or (child.tag == "defs" and not len(child)):
                parent.remove(child)
    size = {"viewBox": root.attrib["viewBox"]} if "viewBox" in root.attrib else {}
    root.attrib.clear()
    root.attrib.update(
        {"class": "picture", **size, "role": "img", "aria-label": _xml_text(caption)}
    )
    return ET.tostring(root, encoding="unicode")


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _linked_ids(root: ET.Element) -> Iterator[str]:
    """The ids to which something in the picture refers."""
    for element in root.iter():
        if _LINK in element.attrib:
            yield element.attrib[_LINK].removeprefix("#")
        for value in element.attrib.values():
            yield from _REFERENCE.findall(value)


def _simplify(element: ET.Element, prefix: str, linked_ids: set[str]) -> None:
    """Remove name spaces, styles, unused ids and needless digits from an element."""
    element.tag = element.tag.rpartition("}")[2]
    attributes = dict(element.attrib)
    element.attrib.clear()
    if attributes.get("id") not in linked_ids:
        attributes.pop("id", None)
    link = attributes.pop(_LINK, None)
    for name, value in (*attributes.items(), *_styles(attributes.get("style", ""))):
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
        name, colon, value = (piece.strip() for piece in part.partition(":"))
        font = _FONT.match(value) if name == "font" else None
        if font is not None:
            yield from ((f"font-{key}", text) for key, text in font.groupdict().items() if text)
        elif colon:
            yield name, value


def _attribute(value: str, prefix: str) -> str:
    value = _REFERENCE.sub(rf"url(#{prefix}-\1)", value)
    value = _NUMBER.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), value)
    return _COLOURS.get(value, value.replace("\n", "").strip())
