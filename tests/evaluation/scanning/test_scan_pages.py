"""The page of scans: the tables of all queries, the worst queries, below five megabytes."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import DataError, UnknownOptionError
from rageval_report.evaluation.scanning import kept_rows, pages
from rageval_report.scale import pieces
from tests.evaluation.scanning.conftest import scores_frame, write_parquet


@pytest.fixture
def frames():
    return [
        frame.assign(answer=[f"{name} answers {n}" for n in range(len(frame))])
        for name, frame in zip(
            "ab", (scores_frame(), scores_frame(seed=1, shift=0.06)), strict=True
        )
    ]


def scans_of(frames, folder, **options):
    return [
        RAGPipelineEvaluation.scan(write_parquet(frame, folder / f"{name}.parquet"), **options)
        for name, frame in zip("ab", frames, strict=True)
    ]


def page_data(html):
    """The data of the table of queries."""
    text = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    return json.loads(text.group(1))


def tables_of(report):
    return [result for section in report.sections for result in section.results]


def test_a_page_of_all_queries_has_the_tables_of_memory(frames, tmp_path):
    expected = RAGPipelineEvaluation("a", frames[0]).report()
    report = scans_of(frames, tmp_path)[0].report()
    assert (report.title, report.subtitle) == (expected.title, expected.subtitle)
    # Why queries fail is not known of a scan.
    causes = [verdict for verdict in expected.verdicts if "failures are of" in verdict.text]
    assert report.verdicts == tuple(v for v in expected.verdicts if v not in causes)
    assert report.notes == ("the page shows all 700 queries", *expected.notes)
    theirs = {table.title: table for table in tables_of(expected)}
    for table in tables_of(report)[:2]:
        assert table.notes == theirs[table.title].notes
        pd.testing.assert_frame_equal(table.frame, theirs[table.title].frame, rtol=1e-12)
    data, other = page_data(report.to_html()), page_data(expected.to_html())
    assert sorted(data["ids"]) == sorted(other["ids"])


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
def test_a_page_shows_the_worst_queries_of_each_metric(frames, tmp_path, monkeypatch, engine):
    monkeypatch.setattr(kept_rows.WorstOfEach, "most", 20)
    monkeypatch.setattr(kept_rows.WorstOfEach.__init__, "__defaults__", (20,))
    monkeypatch.setattr(pages, "MOST_WORST", 20)
    scan = scans_of(frames, tmp_path, engine=engine)[0]
    shown = set(page_data(scan.report(pictures=False).to_html())["ids"])
    assert 20 <= len(shown) <= 100
    rows = frames[0].set_index("query_id")
    for metric, ascending in (("similarity", True), ("latency_ms", False), ("recall@5", True)):
        # Of equal scores the first ids are shown.
        ordered = rows.sort_index().sort_values(metric, ascending=ascending, kind="stable")
        assert set(ordered.index[:20]) <= shown


def test_a_page_of_a_comparison_has_the_tables_of_memory(frames, tmp_path):
    runs = [RAGPipelineEvaluation(name, frame) for name, frame in zip("ab", frames, strict=True)]
    expected = compare(*runs).report(by="topic")
    report = compare(*scans_of(frames, tmp_path)).report(by="topic")
    assert report.headline == expected.headline
    ours = {table.title: table for table in tables_of(report)}
    for table in tables_of(expected):
        if table.title in ours and "metric" in table.frame:
            pd.testing.assert_frame_equal(ours[table.title].frame, table.frame, rtol=1e-9)
    assert {f"Evaluation of {name}" for name in "ab"} <= set(ours)
    assert "b against a, by topic" in ours
    shown = set(page_data(report.to_html())["ids"])
    worse = compare(*runs).regressions("exact_match").index
    assert set(worse) <= shown
    assert any("queries: the 1000 worst of b on each metric" in note for note in report.notes)


def test_a_page_of_large_tables_is_small(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "ROWS_OF_PART", 1 << 17)
    n, rng = 60_000, np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "query_id": [f"q{number:06d}" for number in range(n)],
            **{f"recall@{k}": rng.integers(0, k + 1, n) / k for k in (1, 3, 5, 10, 20)},
            **{f"similarity_{k}": rng.random(n) for k in range(5)},
            "question": [f"question {number} " + "word " * 60 for number in range(n)],
            "answer": [f"answer {number} " + "text " * 200 for number in range(n)],
        }
    )
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet", 20_000))
    report = scan.report()
    html = report.to_html()
    assert len(html.encode()) < 5_000_000
    assert report.notes[0].startswith("the page shows ")
    assert "the 1000 worst on each metric; tables and pictures are of all" in report.notes[0]
    assert f"texts of queries are cut after {report.longest_text} characters" in report.notes


@pytest.mark.browser
@pytest.mark.parametrize("is_comparison", [False, True])
def test_a_page_opens_without_script_errors(frames, tmp_path, opened, is_comparison):
    expect = pytest.importorskip("playwright.sync_api").expect
    scans = scans_of(frames, tmp_path)
    report = compare(*scans).report() if is_comparison else scans[0].report()
    path = tmp_path / "page.html"
    report.save(path)
    page = opened(path)  # which complains of any error of a script
    rows = page.locator(".queries .toggle")
    assert rows.count() > 11
    page.get_by_role("searchbox").fill("q00012")
    expect(rows).to_have_count(1)


def test_wrong_options_of_a_page_are_refused(frames, tmp_path):
    scans = scans_of(frames, tmp_path)
    with pytest.raises(UnknownOptionError, match="has no option 'titel'"):
        scans[0].report(titel="x")
    with pytest.raises(UnknownOptionError, match="has no option 'clusters'"):
        compare(*scans).report(clusters="topic")
    with pytest.raises(DataError, match="longest_text must be an integer >= 1; got 0"):
        scans[0].report(longest_text=0)
    with pytest.raises(DataError, match=r"correct= of report\(\) needs every score"):
        compare(*scans).report(correct=("recall@5", 0.5))
