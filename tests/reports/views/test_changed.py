"""What changed: outcomes, and the queries that changed most."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.pairing import overall_changes
from rageval_report.reports.views.changed import Changed, mark_new_words
from rageval_report.scores.names import shorten_names


def view_of(comparison):
    [section] = [own for own in comparison.report(pictures=False).sections if own.key == "outcomes"]
    return section.views[0]


def test_the_change_of_a_query_is_the_mean_over_its_metrics(comparison):
    # By hand from the two small pipelines: q3 has exact_match 0 to 1, hit@5 0 to 1, faithfulness
    # 0.33 to 0.83; latency has no range and does not count.
    changes = overall_changes(comparison.pairings[0])
    assert changes["q3"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert changes["q2"] == pytest.approx((-1 + 0 - 0.1) / 3)
    # q7 has no exact match on one side.
    assert changes["q7"] == pytest.approx((0 - 0.1) / 2)


def test_without_ranges_the_largest_change_is_one():
    runs = [
        RAGPipelineEvaluation(name, {"query_id": list("abc"), "latency_ms": values})
        for name, values in (("x", [100.0, 100.0, 100.0]), ("y", [300.0, 50.0, np.nan]))
    ]
    changes = overall_changes(compare(*runs).pairings[0])
    assert changes.tolist()[:2] == [-1.0, 0.25]
    assert np.isnan(changes["c"])


def test_outcomes_and_their_queries(comparison):
    view = view_of(comparison)
    assert view.sentence.startswith("Of 6 answers, 1 became right and 1 became wrong")
    assert {own.label: own.n for own in view.segments} == {
        "both right": 2,
        "became right": 1,
        "became wrong": 1,
        "both wrong": 2,
    }
    assert sum(float(own.width) for own in view.segments) == pytest.approx(100, abs=0.05)
    worst, best = view.groups
    assert [card.query_id for card in worst.cards] == ["q2"]
    assert [card.query_id for card in best.cards] == ["q3"]
    assert best.cards[0].after == (("it costs ", False), ("3", True), (" crowns", False))
    assert best.cards[0].expected == "3 crowns"
    assert best.cards[0].address == "#open=q3"
    assert worst.heading == "The one that became wrong"


def test_without_a_rule_the_largest_changes_are_shown(comparison):
    pairing = comparison.pairings[0]
    names = shorten_names(["bm25", "hybrid"])
    view = Changed.of(pairing, None, "", names)
    assert view.segments == ()
    assert [group.heading for group in view.groups] == ["The largest falls", "The largest rises"]
    assert view.groups[0].cards[0].query_id == "q2"
    changes = overall_changes(pairing)
    assert changes.idxmin() == "q2"


def test_equal_pipelines_have_no_such_section(bm25):
    twin = RAGPipelineEvaluation("twin", bm25.to_frame())
    comparison = compare(bm25, twin, metrics="faithfulness")
    assert Changed.of(comparison.pairings[0], None, "", shorten_names(["bm25", "twin"])) is None


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


def test_an_outcome_of_another_index_is_not_taken(comparison):
    outcome = pd.Series(dtype=object)
    view = Changed.of(comparison.pairings[0], outcome, "rule", shorten_names(["bm25", "hybrid"]))
    assert view is None
