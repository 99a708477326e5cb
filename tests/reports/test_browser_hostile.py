"""Texts that mean harm, and many of them, in headless Chromium."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.reports.query_table import TextPool

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

pytestmark = pytest.mark.browser

HOSTILE = [
    *("<script>alert(1)</script>", "</script><script>alert(2)</script>", "</style><b>bold</b>"),
    *("<img src=x onerror=alert(3)>", "javascript:alert(4)", "<a href='javascript:alert(5)'>x</a>"),
    *("\u202egpj.exe\u2066", "nul \x00 here", "half \ud800 here", "<!-- open", "{{ 7 * 7 }}"),
    *("<meta http-equiv=refresh content='0;url=https://example.org'>", "https://example.org/x.png"),
]


def run(name: str) -> RAGPipelineEvaluation:
    n = len(HOSTILE)
    frame = pd.DataFrame(
        {
            "query_id": [f"<i>{k}</i>" for k in range(n)],
            "question": pd.Series(HOSTILE, dtype=object),
            "answer": pd.Series([*HOSTILE[1:], "x" if name == "old" else "y"], dtype=object),
            "contexts": [[text, "javascript:alert(6)"] for text in HOSTILE],
            "<b>topic</b>": ["<option>", "</select>"] * (n // 2) + ["<option>"] * (n % 2),
            "exact_match": [k % 2 for k in range(n)],
            "hit@5": [1] * n,
            "faithfulness": [k / n for k in range(n)],
            "faithfulness_reason": pd.Series(HOSTILE, dtype=object),
        }
    )
    return RAGPipelineEvaluation(name, frame)


@pytest.fixture
def page(opened, tmp_path):
    runs = run("<script>alert(7)</script>"), run('new" onload="alert(8)')
    path = (
        compare(*runs).report(title="</title><script>alert(9)</script>").save(tmp_path / "h.html")
    )
    return opened(path)


def test_hostile_texts_are_shown_as_texts_and_do_nothing(page):
    for toggle in page.locator(".toggle").all():
        toggle.click()
    assert page.locator(".detail").count() == len(HOSTILE)
    told = page.locator("#explorer").inner_text()
    for text in HOSTILE[:6]:
        assert text in told
    assert page.locator("main i, main img, main iframe, main script").count() == 0
    assert page.locator("#explorer b").count() == 0
    links = page.locator("#explorer a").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('href'))"
    )
    assert all(link.startswith("#") for link in links)
    assert page.locator("main b", has_text="bold").count() == 0
    assert page.locator("script").count() == 2


def test_marks_of_direction_and_controls_are_named_and_turn_nothing_round(page):
    for toggle in page.locator(".toggle").all():
        toggle.click()
    named = set(page.locator(".code-point").all_inner_texts())
    assert {"U+202E", "U+2066", "U+0000", "U+D800"} <= named
    loose = page.evaluate("/[\\u202a-\\u202e\\u2066-\\u2069\\u0000]/.test(document.body.innerText)")
    assert loose is False


def test_names_of_pipelines_and_columns_filter_and_come_back(page):
    page.locator(".filters").get_by_label("<b>topic</b>", exact=True).select_option("</select>")
    n = page.locator(".toggle").count()
    assert n == len(HOSTILE) // 2
    page.reload()
    assert page.locator(".toggle").count() == n


def test_an_answer_of_a_megabyte_is_cut_until_it_is_asked_for(opened, tmp_path):
    words = " ".join(f"word{k % 977}" for k in range(130_000))
    data = {"query_id": ["q1", "q2"], "f1": [0.5, 1.0], "answer": [words, "short"]}
    old = RAGPipelineEvaluation("old", data)
    new = RAGPipelineEvaluation("new", {**data, "f1": [0.6, 1.0], "answer": [words + " end", "s"]})
    page = opened(compare(old, new).report(correct=("f1", 0.5)).save(tmp_path / "big.html"))
    assert len(words) > 1_000_000
    page.locator('.entry[data-id="q1"] .toggle').click()
    assert len(page.locator(".detail").inner_text()) < 10_000
    assert page.get_by_text("too long to mark their differences").is_visible()
    page.get_by_role("button", name="Show all").last.click()
    assert page.locator(".detail .text").last.text_content().endswith(" end")


def test_two_long_answers_of_one_word_changed_show_that_word(opened, tmp_path):
    words = [f"word{k}" for k in range(5000)]
    texts = [" ".join(words), " ".join([*words[:20], "another", *words[21:]])]
    old, new = (
        RAGPipelineEvaluation(n, {"query_id": ["q1"], "f1": [0.5], "answer": [text]})
        for n, text in zip(("old", "new"), texts, strict=True)
    )
    page = opened(compare(old, new).report(correct=("f1", 1)).save(tmp_path / "long.html"))
    page.locator('.entry[data-id="q1"] .toggle').click()
    assert page.locator("del").all_inner_texts() == ["word20"]
    assert page.locator("ins").all_inner_texts() == ["another"]


# -- ten thousand queries


N = 10_000


@pytest.fixture(scope="module")
def large_page(tmp_path_factory):
    """Two pipelines, ten metrics, texts and contexts; as benchmarks/bench_report.py has them."""
    rng = np.random.default_rng(0)
    words = np.array("the fee form office permit water ferry library waste dog crown day".split())
    passages = [" ".join(rng.choice(words, 40)) for _ in range(N // 5)]
    picks = rng.integers(0, len(words), (4, N, 10))
    texts = [[" ".join(row) for row in words[one].tolist()] for one in picks]

    def made(name: str, answers: list[str]) -> RAGPipelineEvaluation:
        columns: dict = {
            "query_id": [f"q{row:05d}" for row in range(N)],
            "question": texts[0],
            "reference": texts[1],
            "topic": ["ferry", "permits", "library", "water"] * (N // 4),
            "answer": answers,
            "contexts": [[passages[k] for k in row] for row in rng.integers(0, N // 5, (N, 3))],
            "exact_match": rng.integers(0, 2, N),
            "hit@5": rng.integers(0, 2, N),
            "recall@5": rng.integers(0, 6, N) / 5,
            **{f"metric_{k}": rng.random(N) for k in range(7)},
        }
        return RAGPipelineEvaluation(name, columns)

    report = compare(made("old", texts[2]), made("new", texts[3])).report(pictures=False, by=())
    return report.save(tmp_path_factory.mktemp("large") / "large.html")


def test_ten_thousand_queries_stay_below_8_mb(large_page):
    assert large_page.stat().st_size < 8_000_000


def test_of_ten_thousand_queries_only_a_page_is_in_the_document(opened, large_page):
    page = opened(large_page, "sort=query")
    assert page.get_by_role("status").first.inner_text() == "10,000 of 10,000 queries"
    assert page.locator(".toggle").count() == 50
    page.get_by_role("button", name="Next").click()
    assert page.locator(".entry").first.get_attribute("data-id") == "q00050"
    page.get_by_label("Rows on a page").select_option("500")
    assert page.locator(".toggle").count() == 500


def test_a_search_through_ten_thousand_queries_finds_the_one(opened, large_page):
    page = opened(large_page)
    page.get_by_role("searchbox").fill("q09999")
    expect(page.locator(".toggle")).to_have_count(1)
    assert page.locator(".entry").get_attribute("data-id") == "q09999"


def test_paper_says_how_many_of_ten_thousand_queries_it_holds(opened, large_page):
    page = opened(large_page)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".toggle").count() == 500
    assert page.get_by_text("The first 500 of 10,000 queries are printed").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".toggle").count() == 50


def test_no_text_is_cut_unless_asked(large_page):
    assert '"cut":0' in large_page.read_text(encoding="utf-8")
    assert TextPool().texts == []
