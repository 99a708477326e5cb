"""Inline pictures: no styles, no foreign links, ids of their own, text as text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.reports.pictures import Picture


@pytest.fixture(scope="module")
def forest(comparison):
    return Picture("forest", comparison, "improvements").svg("p1")


def test_no_style_and_no_name_space_is_left(forest):
    assert "style=" not in forest
    assert "<style" not in forest
    assert "xlink" not in forest
    assert "xmlns" not in forest
    assert "http" not in forest


def test_text_is_text_in_the_colour_of_the_page(forest):
    texts = list(ET.fromstring(forest).iter("text"))
    assert "Faithfulness" in {element.text for element in texts}
    assert "currentColor" in {element.get("fill") for element in texts}
    assert "#010203" not in forest
    assert "#f1f2f3" not in forest


def test_every_reference_has_its_target(forest):
    root = ET.fromstring(forest)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    asked = re.findall(r'(?:href="#|url\(#)([^")]+)', forest)
    assert len(ids) == len(set(ids))
    assert set(asked) <= set(ids)
    assert all(one.startswith("p1-") for one in ids)


def test_two_pictures_share_no_id(comparison):
    ids = [
        set(re.findall(r'id="([^"]+)"', Picture("forest", comparison, "x").svg(prefix)))
        for prefix in ("a", "b")
    ]
    assert not ids[0] & ids[1]


@pytest.mark.parametrize(
    "name", ["</svg><script>", "a\x00b\x0b", '$x^2$ & "q"', "\u202egnp", "]]>"]
)
def test_hostile_names_stay_text(name):
    ids = [f"q{n}" for n in range(6)]
    old = RAGPipelineEvaluation(name, {"query_id": ids, "f1": [0.1, 0.2, 0.3, 0.1, 0.2, 0.5]})
    new = RAGPipelineEvaluation("new", {"query_id": ids, "f1": [0.2, 0.3, 0.3, 0.4, 0.2, 0.6]})
    drawn = Picture("forest", compare(old, new), name).svg("p")
    assert {element.tag for element in ET.fromstring(drawn).iter()} <= {
        *("svg", "g", "path", "text", "tspan", "use", "defs", "clipPath", "rect")
    }
