"""The strip: what stands in each row, and where."""

import pytest

from rageval_report import compare
from rageval_report.analysis.verdicts import comparison_verdicts
from rageval_report.demo import demo_evaluations
from rageval_report.reports.views.strip import Strip
from rageval_report.scores.names import shorten_names


@pytest.fixture(scope="module")
def comparison():
    return compare(*demo_evaluations(), margin={"faithfulness": 0.08, "answer_relevancy": 0.06})


@pytest.fixture(scope="module")
def strip(comparison):
    return strip_of(comparison)


def strip_of(comparison):
    metrics = {ours.name: ours for ours, _ in comparison.pairings[0].metrics}
    verdicts = comparison_verdicts(comparison)
    names = shorten_names(["bm25", "hybrid"])
    return Strip.of(verdicts, metrics, names, level=0.95, correction="holm")


def rows_of(strip):
    return {row.verdict.metric: row for group in strip.groups for row in group.rows}


def test_verdicts_of_a_kind_are_together_and_the_worst_come_first(strip):
    assert [(group.shown, len(group.rows)) for group in strip.groups] == [
        *(("worse", 1), ("better", 3), ("equivalent", 2), ("undecided", 2)),
    ]
    assert len(rows_of(strip)) == 8


def test_right_is_better_in_every_row(strip):
    for row in rows_of(strip).values():
        left, middle, right = map(float, row.limits)
        assert left <= middle <= right
        assert (middle > 50) == (row.verdict.improvement > 0)
        before, after = map(float, row.places)
        assert (after > before) == (row.verdict.improvement > 0)


def test_the_interval_is_where_the_axis_says(strip):
    row = rows_of(strip)["recall@5"]
    [axis] = [group.ticks for group in strip.groups if group.ticks]
    # A straight line through two of the labels of the axis.
    (x0, v0), (x1, v1) = ((float(tick.place), float(tick.text)) for tick in (axis[0], axis[2]))
    for place, value in zip(
        row.limits, (row.verdict.ci_low, row.verdict.difference, row.verdict.ci_high), strict=True
    ):
        assert v0 + (float(place) - x0) * (v1 - v0) / (x1 - x0) == pytest.approx(value, abs=1e-4)


def test_a_metric_of_another_unit_has_its_own_axis_turned_if_less_is_better(strip):
    rows = rows_of(strip)
    assert [tick.text for tick in rows["latency_ms"].ticks] == ["+300", "0", "-300"]
    assert not rows["recall@5"].ticks
    assert [tick.text for tick in rows["latency_ms"].own_ticks] == ["1,200", "0"]
    assert rows["latency_ms"].note == "lower is better"


def test_each_of_several_candidates_has_its_strip_under_its_verdict():
    first, second = demo_evaluations()
    same = type(first)("bm25 again", first.to_frame())
    report = compare(first, same, second).report(pictures=False)
    [section] = [own for own in report.sections if own.key == "comparison"]
    assert [strip.heading for strip in section.views] == [
        "hybrid is better than bm25 on 1 of 8 metrics and worse on Latency (ms).",
        "bm25 again and bm25 have the same scores on every query.",
    ]
    page = report.to_html()
    assert page.count('<details class="pair-fold" open>') == 1
    assert page.count('<details class="pair-fold"') == 2
    [alone] = [
        own
        for own in compare(first, second).report(pictures=False).sections
        if own.key == "comparison"
    ]
    assert alone.views[0].heading == ""
