"""The page of scans: the tables of all queries, the worst queries, below five megabytes."""

import functools
import json
import re

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.errors import DataError, UnknownNameError, UnknownOptionError
from rageval_report.evaluation.scanning import collected_scores, kept_rows, pages
from rageval_report.scale import pieces
from tests.evaluation.scanning import conftest
from tests.evaluation.scanning.conftest import scores_frame, write_parquet


@pytest.fixture
def frames():
    return [
        frame.assign(answer=[f"{name} answers {n}" for n in range(len(frame))])
        for name, frame in zip(
            "ab", (scores_frame(), scores_frame(seed=1, shift=0.06)), strict=True
        )
    ]


scans_of = functools.partial(conftest.scans_of, names="ab")


# Without what costs time here and is tested elsewhere: slices, pictures and resampled intervals.
PLAIN = {"by": [], "pictures": False, "interval": "t"}


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
    assert report.verdicts == expected.verdicts
    assert any("failures are of" in verdict.text for verdict in report.verdicts)
    assert report.notes == ("the page shows all 700 queries", *expected.notes)
    assert '<h2 id="queries-heading">All queries</h2>' in report.to_html()
    assert_same_tables(report, expected, rtol=1e-12)
    assert_same_answers(report, expected)
    data, other = page_data(report.to_html()), page_data(expected.to_html())
    assert sorted(data["ids"]) == sorted(other["ids"])


@pytest.mark.parametrize(
    "options", [{"correct": ("similarity", 0.6)}, {"correct": "exact_match", "k": 5}, {"k": 5}]
)
def test_the_rule_and_the_cutoff_of_a_page_count_as_in_memory(frames, tmp_path, options):
    scan, run = scans_of(frames, tmp_path)[0], RAGPipelineEvaluation("a", frames[0])
    report, expected = (each.report(**PLAIN, **options) for each in (scan, run))
    assert report.verdicts == expected.verdicts
    assert_same_tables(report, expected, rtol=1e-12)
    assert_same_answers(report, expected)
    with pytest.raises(DataError, match="breakdown needs the metric hit@3 or recall@3"):
        scan.report(k=3)


def assert_same_tables(report, expected, rtol=1e-9):
    """The tables of memory in their order; only what was read is told of files, not of frames."""
    ours, theirs = (
        [table for table in tables_of(each) if not table.title.startswith("What ")]
        for each in (report, expected)
    )
    assert [table.title for table in ours] == [table.title for table in theirs]
    for found, known in zip(ours, theirs, strict=True):
        assert found.notes == known.notes
        pd.testing.assert_frame_equal(found.frame, known.frame, rtol=rtol)


def assert_same_answers(report, expected):
    """Each query that the page shows is right or wrong, and fails for the cause, as in memory."""
    for kind in ("answers", "causes"):
        found, known = (getattr(each.queries, kind) for each in (report, expected))
        assert [each is None for each in found] == [each is None for each in known][: len(found)]
        for ours, theirs in zip(found, known, strict=False):
            if ours is not None:
                pd.testing.assert_series_equal(ours, theirs.loc[ours.index], check_dtype=False)


def views_of(report):
    """What the page draws, by the key of the section."""
    return {section.key: section.views for section in report.sections if section.views}


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
    assert report.verdicts == expected.verdicts
    assert report.notes[1:] == expected.notes
    assert_same_tables(report, expected)
    assert_same_answers(report, expected)
    shown = page_data(report.to_html())["ids"]
    worse = compare(*runs).regressions("exact_match").index
    assert set(worse) <= set(shown)
    assert report.notes[0] == (
        f"the page shows {len(shown)} of 700 queries: the 1000 worst of b on each metric, and as "
        "many of those that became wrong and right; tables and pictures are of all"
    )


RULES = [
    {},
    {"correct": ("similarity", 0.6)},
    {"correct": {"recall@5": 0.4, "similarity": 0.5}, "k": 5},
    {"correct": lambda rows: rows["similarity"] > rows["latency_ms"] / 1000},
]


@pytest.mark.parametrize(
    ("options", "engine"),
    [*((rule, "stream") for rule in RULES), (RULES[2], "join"), (RULES[3], "duckdb")],
)
def test_what_changed_and_why_queries_fail_are_as_in_memory(frames, tmp_path, options, engine):
    runs = conftest.memory_of(frames, names="ab")
    moved = frames
    if engine != "stream":  # which takes ids in order
        moved = [frame.sample(frac=1, random_state=3) for frame in frames]
    scans = scans_of(moved, tmp_path, engine=engine)
    expected, report = (
        compare(*each, metrics=["recall@5", "similarity", "latency_ms"]).report(**PLAIN, **options)
        for each in (runs, scans)
    )
    assert report.verdicts == expected.verdicts
    assert_same_tables(report, expected)
    assert_same_answers(report, expected)
    # The cards have the same queries in the same order, their words and their bars.
    for section in ("outcomes", "causes"):
        assert views_of(report)[section] == views_of(expected)[section]
    shown = set(page_data(report.to_html())["ids"])
    [changed] = views_of(report)["outcomes"]
    assert {card.query_id for group in changed.groups for card in group.cards} <= shown


def test_the_queries_that_became_wrong_are_on_the_page_the_largest_fall_first(
    frames, tmp_path, monkeypatch
):
    monkeypatch.setattr(pages, "MOST_WORST", 4)
    before, after = (frame.set_index("query_id") for frame in frames)
    report = compare(*scans_of(frames, tmp_path), metrics="recall@5").report(
        **PLAIN, correct=("recall@5", 0.6)
    )
    change = after["recall@5"] - before["recall@5"]
    is_right = [each["recall@5"] >= 0.6 - 1e-9 for each in (before, after)]
    wrong = change[is_right[0] & ~is_right[1]].sort_values(kind="stable").index[:4]
    right = (-change[~is_right[0] & is_right[1]]).sort_values(kind="stable").index[:4]
    worst = change.sort_values(kind="stable").index[:4]
    shown = page_data(report.to_html())["ids"]
    assert set(shown) == {*wrong, *right, *worst}
    [changed] = views_of(report)["outcomes"]
    cards = [[card.query_id for card in group.cards] for group in changed.groups]
    assert cards == [list(wrong[:3]), list(right[:2])]
    counts = {segment.label: segment.n for segment in changed.segments}
    assert counts["became wrong"] == (is_right[0] & ~is_right[1]).sum()
    assert sum(counts.values()) == 700


def test_without_a_rule_the_page_has_the_largest_rises_and_falls(frames, tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "MOST_WORST", 20)
    # Metrics without a range: a change counts as a share of the largest one.
    bare = [
        frame[["query_id", "latency_ms", "question"]].assign(tokens=frame["latency_ms"] ** 0.5)
        for frame in frames
    ]
    expected = compare(*conftest.memory_of(bare, names="ab")).report(**PLAIN)
    report = compare(*scans_of(bare, tmp_path)).report(**PLAIN)
    assert views_of(report)["outcomes"] == views_of(expected)["outcomes"]
    [changed] = views_of(report)["outcomes"]
    assert [group.heading for group in changed.groups] == ["The largest falls", "The largest rises"]
    assert report.notes[1:] == expected.notes
    assert "fell and rose most over all metrics" in report.notes[0]


def test_the_answers_of_each_of_several_candidates_are_counted(frames, tmp_path):
    names = ("a", "b", "c")
    runs = conftest.memory_of(three_of(frames), names)
    scans = conftest.scans_of(three_of(frames), tmp_path, names)
    for options in ({}, {"correct": ("recall@5", 0.6), "k": 5}):
        expected, report = (compare(*each).report(**PLAIN, **options) for each in (runs, scans))
        assert report.verdicts == expected.verdicts
        assert_same_tables(report, expected)
        titles = [table.title for table in tables_of(report)]
        assert "The answers of a and c" in titles
        assert sum(title.startswith("Why ") for title in titles) == 3
        assert views_of(report)["causes"] == views_of(expected)["causes"]


def test_tables_in_which_nothing_changed_have_a_page(frames, tmp_path):
    scans = scans_of([frames[0], frames[0]], tmp_path)
    runs = conftest.memory_of([frames[0], frames[0]], names="ab")
    report, expected = (compare(*each).report(by=[]) for each in (scans, runs))
    assert report.verdicts == expected.verdicts
    assert_same_tables(report, expected)
    assert views_of(report)["outcomes"] == views_of(expected)["outcomes"]
    assert "0 became right and 0 became wrong" in report.to_html()


def test_a_page_knows_right_answers_by_a_metric_that_is_not_compared(frames, tmp_path):
    runs = [RAGPipelineEvaluation(name, frame) for name, frame in zip("ab", frames, strict=True)]
    found, expected = (
        compare(*pair, metrics="similarity").report(pictures=False).queries.answers
        for pair in (scans_of(frames, tmp_path), runs)
    )
    for ours, theirs in zip(found, expected, strict=True):
        pd.testing.assert_series_equal(ours, theirs.loc[ours.index], check_dtype=False)
        assert set(ours) == {"right", "wrong", "unknown"}


# -- rankings


def three_of(frames):
    third = scores_frame(seed=2, shift=0.03).drop(index=[7, 650])
    return [*frames, third.assign(answer="c answers")]


def ranked_scans(frames, folder, **options):
    return [
        RAGPipelineEvaluation.scan(write_parquet(frame, folder / f"{name}.parquet"), **options)
        for name, frame in zip("abc", three_of(frames), strict=True)
    ]


@pytest.mark.parametrize("engine", ["stream", "duckdb"])
def test_a_page_of_a_ranking_has_the_tables_of_memory(frames, tmp_path, engine):
    runs = [RAGPipelineEvaluation(n, f) for n, f in zip("abc", three_of(frames), strict=True)]
    expected = rank(*runs).report(by="topic", pictures=False)
    report = rank(*ranked_scans(frames, tmp_path, engine=engine)).report(by="topic", pictures=False)
    assert (report.title, report.subtitle) == (expected.title, expected.subtitle)
    assert report.headline == expected.headline
    assert report.verdicts == expected.verdicts
    theirs = {table.title: table for table in tables_of(expected)}
    ours = [table for table in tables_of(report) if table.title != "What was read"]
    titles = [table.title for table in ours]
    # Of files, the page says what was read; in memory, what the pipelines were asked.
    assert titles == [title for title in theirs if title != "What the pipelines were asked"]
    assert any(title.startswith("Pareto front over") for title in titles)
    assert sum(title.startswith("Why ") for title in titles) == 3
    for table in ours:
        pd.testing.assert_frame_equal(table.frame, theirs[table.title].frame, rtol=1e-9)
    data, other = page_data(report.to_html()), page_data(expected.to_html())
    assert sorted(data["ids"]) == sorted(set(other["ids"]) - {"q00007", "q00650"})
    for name in ("pipelines", "pairs", "answers"):
        assert len(data[name]) == len(other[name])
    assert (data["pipelines"], data["pairs"]) == (other["pipelines"], other["pairs"])


def test_a_page_of_a_ranking_shows_the_queries_that_differ_most(frames, tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "MOST_WORST", 20)
    ranking = rank(*ranked_scans(frames, tmp_path), metrics=["similarity", "latency_ms"])
    report = ranking.report()
    shown = page_data(report.to_html())["ids"]
    expected = set()
    for metric in ("similarity", "latency_ms"):
        scores = pd.concat([f.set_index("query_id")[metric] for f in three_of(frames)], axis=1)
        spread = (scores.max(axis=1) - scores.min(axis=1))[scores.notna().all(axis=1)]
        expected |= set(spread.sort_values(ascending=False).index[:20])
    assert set(shown) == expected
    assert report.notes[0] == (
        f"the page shows {len(expected)} of 698 queries: the 20 of each metric on which the "
        "pipelines differ most; tables and pictures are of all"
    )


@pytest.mark.parametrize(
    ("n_metrics", "n_pipelines", "most"), [(1, 2, 1000), (10, 3, 1000), (10, 20, 150), (40, 20, 9)]
)
def test_a_page_of_a_ranking_never_holds_too_many_scores(n_metrics, n_pipelines, most):
    assert pages._most_of_each(n_metrics, n_pipelines) == most
    # Each metric may keep other queries, and shows all metrics of all pipelines of them.
    assert most * n_metrics * n_metrics * n_pipelines <= 300_000


def test_the_rule_and_the_cutoff_of_a_page_of_a_ranking_count_as_in_memory(frames, tmp_path):
    runs = [RAGPipelineEvaluation(n, f) for n, f in zip("abc", three_of(frames), strict=True)]
    scans = ranked_scans(frames, tmp_path)
    for options in ({"correct": ("similarity", 0.5)}, {"correct": "exact_match", "k": 5}):
        found, expected = (
            rank(*each, metrics="recall@5").report(pictures=False, **options)
            for each in (scans, runs)
        )
        assert found.verdicts == expected.verdicts
        theirs = {table.title: table for table in tables_of(expected)}
        causes = [table for table in tables_of(found) if table.title.startswith("Why ")]
        assert len(causes) == 3
        for table in causes:
            pd.testing.assert_frame_equal(table.frame, theirs[table.title].frame, check_exact=True)
        data, other = (page_data(page.to_html()) for page in (found, expected))
        assert data["answers"] != []
        assert sorted(data) == sorted(other)
    with pytest.raises(DataError, match="breakdown needs the metric hit@3 or recall@3"):
        rank(*scans, metrics="recall@5").report(k=3)


def test_the_pictures_of_a_page_of_a_ranking_can_be_left_out(frames, tmp_path):
    ranking = rank(*ranked_scans(frames, tmp_path), metrics=["recall@5", "latency_ms"])
    drawn, bare = (ranking.report(pictures=pictures) for pictures in (True, False))
    pictures = [sum(len(part.pictures) for part in page.sections) for page in (drawn, bare)]
    assert pictures == [1, 0]


def test_a_page_without_a_front_says_why(frames, tmp_path, monkeypatch):
    ranking = rank(*ranked_scans(frames, tmp_path), metrics=["recall@5", "latency_ms"])
    monkeypatch.setattr(collected_scores, "MOST_SCORES", 10_000)
    report = ranking.report()
    assert not any("Pareto" in table.title for table in tables_of(report))
    assert any(
        note.startswith("the page has no Pareto front: a Pareto front draws resamples")
        for note in report.notes
    )


def test_options_of_a_page_of_a_ranking_that_do_not_exist_are_refused(frames, tmp_path):
    ranking = rank(*ranked_scans(frames, tmp_path), metrics="recall@5")
    with pytest.raises(UnknownOptionError, match="has no option 'titel'"):
        ranking.report(titel="x")


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
    # Above the queries, too, so that nobody takes the counts of the filters for those of all.
    assert f'<p class="lede" dir="auto">The {report.notes[0][4:]}.</p>' in html
    assert '<h2 id="queries-heading">Queries</h2>' in html
    assert f"texts of queries are cut after {report.longest_text} characters" in report.notes


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["scan", "comparison", "ranking"])
def test_a_page_opens_without_script_errors(frames, tmp_path, opened, kind):
    expect = pytest.importorskip("playwright.sync_api").expect
    scans = scans_of(frames, tmp_path)
    subjects = {"scan": scans[0], "comparison": compare(*scans), "ranking": rank(*scans)}
    report = subjects[kind].report()
    path = tmp_path / "page.html"
    report.save(path)
    page = opened(path)  # which complains of any error of a script
    rows = page.locator(".queries .toggle")
    assert rows.count() > 11
    page.get_by_role("searchbox").fill("q00012")
    expect(rows).to_have_count(1)


@pytest.mark.parametrize(
    "options",
    [
        {"clusters": "topic"},
        {"clusters": {f"q{number:05d}": f"doc {number % 40}" for number in range(700)}},
        {"correction": "westfall-young", "n_resamples": 99},
    ],
)
def test_a_page_has_the_tables_of_memory_whatever_the_units_and_correction(
    frames, tmp_path, options
):
    found, expected = (
        compare(*runs, **options).report(by="topic", pictures=False)
        for runs in (scans_of(frames, tmp_path), conftest.memory_of(frames, names="ab"))
    )
    by_title = {table.title: table for table in tables_of(expected)}
    shared = [table for table in tables_of(found) if table.title in by_title]
    # The comparison, the outcomes, two of causes, the slices, and two of means.
    assert len(shared) == 7
    for table in shared:
        same = by_title[table.title]
        assert table.notes == same.notes
        columns = [name for name in same.frame if "adjusted" not in name and name != "verdict"]
        pd.testing.assert_frame_equal(table.frame[columns], same.frame[columns], rtol=1e-9)
    units = "the intervals of each pipeline's own means assume independent queries"
    assert (units in found.notes) == (units in expected.notes)


def test_wrong_options_of_a_page_are_refused(frames, tmp_path):
    scans = scans_of(frames, tmp_path)
    with pytest.raises(UnknownOptionError, match="has no option 'titel'"):
        scans[0].report(titel="x")
    with pytest.raises(UnknownOptionError, match="has no option 'clusters'"):
        compare(*scans).report(clusters="topic")
    with pytest.raises(DataError, match="longest_text must be an integer >= 1; got 0"):
        scans[0].report(longest_text=0)
    with pytest.raises(DataError, match="breakdown needs the metric hit@3 or recall@3"):
        compare(*scans).report(k=3)
    with pytest.raises(UnknownNameError, match="recal"):
        compare(*scans).report(correct=("recal", 0.5))
