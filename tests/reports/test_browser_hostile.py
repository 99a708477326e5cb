"""Texts that mean harm, and many of them, in headless Chromium."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare

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


def test_no_text_is_cut_unless_asked(large_page):
    assert '"cut":0' in large_page.read_text(encoding="utf-8")
