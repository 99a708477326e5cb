"""The queries that changed, and what is shown beside them."""

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import DataError


def run(name, ids=None, **columns):
    n = len(next(iter(columns.values())))
    ids = [f"q{i}" for i in range(n)] if ids is None else ids
    return RAGPipelineEvaluation(name, {"query_id": ids, **columns})


def test_differences_are_candidate_minus_baseline_by_query():
    a = run("a", ["q1", "q2", "q3", "q4"], recall=[0.25, 0.5, 1.0, None])
    b = run("b", ["q4", "q3", "q2", "q1"], recall=[0.5, 0.5, 0.75, 1.0])
    found = compare(a, b).differences("recall")
    assert found.to_dict() == {"q1": 0.75, "q2": 0.25, "q3": -0.5}
    assert found.name == "difference"
    assert found.index.name == "query_id"


def test_the_largest_change_comes_first_and_equal_ones_stay_in_order():
    a = run("a", recall=[0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    b = run("b", recall=[0.25, 0.75, 0.0, 0.25, 1.0, 0.5])
    comparison = compare(a, b)
    worse = comparison.regressions("recall")
    assert worse["difference"].to_dict() == {"q2": -0.5, "q0": -0.25, "q3": -0.25}
    assert worse["b_recall"].tolist() == [0.0, 0.25, 0.25]
    better = comparison.improvements("recall")
    assert better["difference"].to_dict() == {"q4": 0.5, "q1": 0.25}


def test_rounding_is_no_change_and_wins_and_losses_agree():
    third = 0.1 + 0.2  # 0.30000000000000004
    a, b = run("a", recall=[0.3, third, 0.5]), run("b", recall=[third, 0.3, 0.5 + 1e-9])
    comparison = compare(a, b)
    assert comparison.regressions("recall").empty
    assert comparison.improvements("recall").index.tolist() == ["q2"]
    row = comparison.frame.iloc[0]
    assert (row["wins"], row["ties"], row["losses"]) == (1, 2, 0)


def test_details_stand_once_where_both_agree():
    a = run("a", recall=[0.9, 0.8], question=["1", "2"], answer=["x", "y"], own=["o", "p"])
    b = run("b", recall=[0.1, 0.2], question=["1", "2"], answer=["x", "Y"], other=["r", "s"])
    frame = compare(a, b).regressions("recall")
    shown = ["a_recall", "b_recall", "difference", "question", "a_answer", "b_answer"]
    assert frame.columns.tolist() == [*shown, "own", "other"]
    assert frame.loc["q1", ["a_answer", "b_answer", "own", "other"]].tolist() == [
        "y",
        "Y",
        "p",
        "s",
    ]


# -- the table as a whole


@pytest.mark.parametrize("margin", [0.0, -0.1, float("nan"), float("inf")])
def test_a_margin_must_be_above_zero(margin):
    a, b = run("a", recall=[0.5, 0.25]), run("b", recall=[0.25, 0.5])
    with pytest.raises(DataError, match="margin must be a number above 0"):
        compare(a, b, margin=margin)
    with pytest.raises(DataError, match="margin must be a number above 0"):
        compare(a, b, margin={"recall": margin})
    assert compare(a, b, margin=1e-9).settings["margin"] == 1e-9


def test_the_pvalues_of_equivalence_are_corrected_too():
    rng = np.random.default_rng(0)
    before = rng.uniform(0.3, 0.6, (40, 2))
    after = before + rng.normal(0, 0.05, (40, 2))
    a = run("a", recall=before[:, 0], mrr=before[:, 1])
    b = run("b", recall=after[:, 0], mrr=after[:, 1])
    column = "equivalence_pvalue_adjusted"
    alone = [
        compare(a, b, metrics=name, margin=0.02).frame[column].iloc[0] for name in ("recall", "mrr")
    ]
    for correction in ("bonferroni", "none", "holm", "westfall-young"):
        found = compare(a, b, margin=0.02, correction=correction).frame[column].to_numpy()
        smallest, largest = np.sort(alone)
        expected = {
            "none": alone,
            "bonferroni": np.minimum(2 * np.array(alone), 1),
        }.get(correction)
        if expected is None:  # Holm, which stands in for Westfall and Young's
            stepped = {smallest: 2 * smallest, largest: max(2 * smallest, largest)}
            expected = [stepped[p] for p in alone]
        assert found == pytest.approx(expected)
