"""The strip: what stands in each row, and where."""

import math
from dataclasses import replace

import pytest

from rageval_report import METRICS, compare
from rageval_report.analysis.verdicts import comparison_verdicts
from rageval_report.demo import demo_evaluations
from rageval_report.reports.views.scales import Scale, own_scale, round_up
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


def test_the_shared_axis_is_said_once_above_the_first_metric_that_has_it(strip):
    assert [bool(group.ticks) for group in strip.groups] == [False, True, False, False]


def test_a_metric_of_another_unit_has_its_own_axis_turned_if_less_is_better(strip):
    rows = rows_of(strip)
    assert [tick.text for tick in rows["latency_ms"].ticks] == ["+300", "0", "-300"]
    assert not rows["recall@5"].ticks
    assert [tick.text for tick in rows["latency_ms"].own_ticks] == ["1,200", "0"]
    assert rows["latency_ms"].note == "lower is better"


def test_an_equivalent_interval_lies_in_its_margin(strip):
    row = rows_of(strip)["faithfulness"]
    start, width = map(float, row.margin)
    assert 50 - start == pytest.approx(width / 2, abs=0.02)
    assert start < float(row.limits[1]) < start + width
    assert rows_of(strip)["recall@5"].margin is None


def test_the_statistics_are_one_hover_away(strip, comparison):
    frame = comparison.frame.set_index("metric")
    for name, row in rows_of(strip).items():
        assert f"{frame.loc[name, 'n']} queries" in row.hover
        assert "95 % CI" in row.hover
        assert "holm p" in row.hover


def test_long_names_leave_the_marks_without_names(comparison):
    metrics = {ours.name: ours for ours, _ in comparison.pairings[0].metrics}
    verdicts = comparison_verdicts(comparison)
    short = Strip.of(
        verdicts, metrics, shorten_names(["bm25", "hybrid"]), level=0.95, correction="none"
    )
    assert short.marks == ("bm25", "hybrid")
    assert short.columns == ("bm25", "hybrid")
    names = shorten_names(["a quite long name of it", "another name, as long"])
    long = replace(short, baseline=names.short[0], candidate=names.short[1])
    assert (long.marks, long.columns) == (("before", "after"), ("Baseline", "Candidate"))
    assert "none p" not in short.groups[0].rows[0].hover


def test_too_few_queries_draw_the_difference_alone():
    first, second = demo_evaluations()
    few = [type(run)(run.name, run.to_frame().head(5)) for run in (first, second)]
    strip = strip_of(compare(*few, metrics="recall@5"))
    [group] = strip.groups
    [row] = group.rows
    assert group.shown in ("not tested", "identical")
    left, middle, right = row.limits
    assert left == middle == right


@pytest.mark.parametrize("value", [1e-9, 0.02, 0.203, 1.0, 7.3, 387.1, 99_999.0])
def test_a_round_limit_is_just_above(value):
    assert value * (1 - 1e-6) <= round_up(value) <= 2 * value
    assert len(f"{round_up(value):.6g}".replace(".", "").strip("0")) <= 2 or value < 1e-4


def test_limits_of_nothing_are_those_of_one():
    assert round_up(0.0) == round_up(math.nan) == round_up(math.inf) == 1.0


def test_a_metric_with_bounds_keeps_them():
    recall = METRICS["recall"]
    assert own_scale([0.2, 0.3], recall.bounds, greater_is_better=True) == Scale(0.0, 1.0)
    below = own_scale([-3.0, -1.0], None, greater_is_better=True)
    assert (below.left, below.right) == (-3.0, 0.0)


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
