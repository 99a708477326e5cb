"""The page as a file: what stands in it, read by the parser of the standard library."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.reports.page import data_text

HOSTILE = [
    *("<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "</style><b>", "<!--"),
    *("javascript:alert(1)", '"><svg onload=alert(1)>', "\u202etxt.exe", "a\x00b", "\ud800"),
    *("{{ 7 * 7 }}", "]]>", "&lt;b&gt;", "\u2028\u2029", "=1+1", "$\\input{x}$"),
]


class Reader(HTMLParser):
    """Elements with their attributes, and the text of style, script and data."""

    def __init__(self, page: str):
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.raw: dict[str, str] = {}
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        is_data = tag == "script" and ("type", "application/json") in attributes
        self._inside = "data" if is_data else tag if tag in ("style", "script") else ""

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside:
            self.raw[self._inside] = self.raw.get(self._inside, "") + data


@pytest.fixture(scope="module")
def compared(compared_page):
    return Reader(compared_page.read_text(encoding="utf-8"))


def test_the_policy_lets_the_one_style_and_the_one_script_run(compared):
    [policy] = [
        attributes["content"]
        for tag, attributes in compared.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    told = dict(part.split(" ", 1) for part in policy.split("; "))
    assert told["default-src"] == "'none'"
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        digest = hashlib.sha256(compared.raw[kind].encode()).digest()
        assert told[f"{kind}-src"] == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert Counter(tag for tag, _ in compared.elements)["style"] == 1


def test_nothing_is_loaded_and_nothing_is_styled_or_scripted_in_place(compared):
    for tag, attributes in compared.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert not {"src", "style", "srcset", "action", "xlink:href"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")


def test_ids_are_unique_and_links_have_targets(compared):
    ids = [attributes["id"] for _, attributes in compared.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for tag, attributes in compared.elements if tag == "a"]
    assert links
    # An address with "=" is a view of the table of queries.
    assert {link.removeprefix("#") for link in links if "=" not in link} <= set(ids)
    assert [link for link in links if "=" in link]


@settings(max_examples=50)
@given(st.recursive(st.text() | st.sampled_from(HOSTILE), lambda part: st.lists(part)))
def test_data_come_back_and_cannot_end_their_element(document):
    text = data_text(document)
    assert not set("<>&\u2028\u2029") & set(text)
    text.encode("utf-8")  # no half of a character is left
    assert json.loads(text) == document


def hostile_run(name: str) -> RAGPipelineEvaluation:
    texts = [text for text in HOSTILE if text != "\ud800"]  # refused by the table's door
    n = len(texts)
    return RAGPipelineEvaluation(
        name,
        {
            "query_id": [f"<q{k}>\u202e" for k in range(n)],
            "question": texts,
            "answer": texts[::-1],
            "contexts": [texts[k : k + 3] for k in range(n)],
            "<topic>": ["</option>", "<b>"] * (n // 2) + ["<b>"] * (n % 2),
            "exact_match": [k % 2 for k in range(n)],
            "hit@5": [k % 3 > 0 for k in range(n)],
            "f1_reason": texts,
            "f1": [k / n for k in range(n)],
        },
    )


def test_hostile_texts_make_no_element():
    clean = compare(hostile_run("old"), hostile_run("new")).report(title="x")
    names = compare(hostile_run("<i>old"), hostile_run('new"><script>')).report(title="</title><b>")
    plain, other = Reader(clean.to_html()), Reader(names.to_html())
    tags = [tag for tag, _ in other.elements]
    assert tags == [tag for tag, _ in plain.elements]
    assert not {"i", "img"} & set(tags)
