"""What the templates of the page of two pipelines show: where it stands, and which words it has."""

import pytest

from rageval_report import compare
from rageval_report.analysis.pairing import overall_changes
from rageval_report.demo import demo_evaluations
from rageval_report.reports.views import mark_new_words


def views_of(report, key):
    [section] = [own for own in report.sections if own.key == key]
    return section.views


@pytest.fixture(scope="module")
def demo():
    margin = {"faithfulness": 0.08, "answer_relevancy": 0.06}
    return compare(*demo_evaluations(), margin=margin)


@pytest.fixture(scope="module")
def report(demo):
    return demo.report(by="question_type", pictures=False)


@pytest.fixture(scope="module")
def strip(report):
    return views_of(report, "comparison")[0]


@pytest.fixture(scope="module")
def rows(strip):
    return {row["verdict"].metric: row for group in strip["groups"] for row in group["rows"]}


# -- the strip


def test_verdicts_of_a_kind_are_together_and_the_worst_come_first(strip, rows):
    assert [(group["shown"], len(group["rows"])) for group in strip["groups"]] == [
        *(("worse", 1), ("better", 3), ("equivalent", 2), ("undecided", 2)),
    ]
    assert len(rows) == 8


def test_right_is_better_in_every_row(rows):
    for row in rows.values():
        left, middle, right = map(float, row["limits"])
        assert left <= middle <= right
        before, after = map(float, row["places"])
        assert (middle > 50) == (after > before) == (row["verdict"].improvement > 0)


def test_the_interval_is_where_the_axis_says(strip, rows):
    row = rows["recall@5"]
    [axis] = [group["ticks"] for group in strip["groups"] if group["ticks"]]
    # A straight line through two of the labels of the axis.
    (x0, v0), _, (x1, v1) = (map(float, tick) for tick in axis)
    numbers = row["verdict"].ci_low, row["verdict"].difference, row["verdict"].ci_high
    found = [v0 + (float(place) - x0) * (v1 - v0) / (x1 - x0) for place in row["limits"]]
    assert found == pytest.approx(numbers, abs=1e-4)


def test_a_metric_of_another_unit_has_its_own_axis_turned_if_less_is_better(rows):
    latency = rows["latency_ms"]
    assert [text for _, text in latency["ticks"]] == ["+300", "0", "-300"]
    assert latency["own_ticks"] == ("1,200", "0")
    assert latency["note"] == "lower is better"
    assert not rows["recall@5"]["ticks"]


def test_each_of_several_candidates_has_its_strip_under_its_verdict(strip):
    first, second = demo_evaluations()
    same = type(first)("bm25 again", first.to_frame())
    report = compare(first, same, second).report(pictures=False)
    assert [own["heading"] for own in views_of(report, "comparison")] == [
        "hybrid is better than bm25 on 1 of 8 metrics and worse on Latency (ms).",
        "bm25 again and bm25 have the same scores on every query.",
    ]
    page = report.to_html()
    assert page.count('<details class="pair-fold" open>') == 1
    assert page.count('<details class="pair-fold"') == 2
    assert strip["heading"] == ""


# -- groups and causes


def test_each_group_has_a_row_and_each_metric_a_column(demo, report):
    [matrix] = views_of(report, "slices")
    frame = demo.slices("question_type").frame
    labels = [row["label"] for row in matrix["rows"]]
    assert labels == ["all queries", *frame["question_type"].unique()]
    assert len(matrix["metrics"]) == 8
    for row in matrix["rows"][1:]:
        assert row["n"] == frame.loc[frame["question_type"] == row["label"], "n"].max()
        assert row["address"] == f"#slice.question_type={row['label']}"


def test_causes_are_side_by_side(report):
    [causes] = views_of(report, "causes")
    [results] = [own.results for own in report.sections if own.key == "causes"]
    first, second = (result.frame.set_index("cause")["n"].to_dict() for result in results)
    shown = {row["title"]: [bar["n"] for bar in row["bars"]] for row in causes["rows"]}
    names = {"Retrieval": "retrieval", "Generation": "generation", "Nothing": "fine"}
    assert shown == {title: [first[name], second[name]] for title, name in names.items()}
    failing = second["retrieval"] + second["generation"]
    assert causes["sentence"].startswith(f"{failing} queries of hybrid fail; most often")


# -- what changed


def test_the_change_of_a_query_is_the_mean_over_its_metrics(comparison):
    # By hand from the two small pipelines: q3 has exact_match 0 to 1, hit@5 0 to 1, faithfulness
    # 0.33 to 0.83; latency has no range and does not count.
    changes = overall_changes(comparison.pairings[0])
    assert changes["q3"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert changes["q2"] == pytest.approx((-1 + 0 - 0.1) / 3)
    # q7 has no exact match on one side.
    assert changes["q7"] == pytest.approx((0 - 0.1) / 2)


def test_outcomes_and_their_queries(comparison):
    [view] = views_of(comparison.report(pictures=False), "outcomes")
    assert view["sentence"].startswith("Of 6 answers, 1 became right and 1 became wrong")
    counts = {"both right": 2, "became right": 1, "became wrong": 1, "both wrong": 2}
    assert {own["label"]: own["n"] for own in view["segments"]} == counts
    assert sum(own["width"] for own in view["segments"]) == pytest.approx(1)
    worst, best = view["groups"]
    assert [card["address"] for card in worst["cards"]] == ["#open=q2"]
    assert [card["address"] for card in best["cards"]] == ["#open=q3"]
    words = [("it costs ", False), ("3", True), (" crowns", False)]
    assert best["cards"][0]["after"] == words
    assert best["cards"][0]["expected"] == "3 crowns"
    assert worst["heading"] == "The one that became wrong"


@pytest.mark.parametrize(
    ("before", "after", "new"),
    [
        ("a b c", "a b c", []),
        ("a b c", "x y", ["x y"]),
        ("料金は三千円です", "料金は五千円です", ["五"]),
        ("", "all", []),
        ("one", "", []),
    ],
)
def test_words_that_are_not_in_the_other_answer_are_marked(before, after, new):
    pieces = mark_new_words(before, after)
    assert [text for text, is_new in pieces if is_new] == new
    assert "".join(text for text, _ in pieces) == after
