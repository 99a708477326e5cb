"""The queries that changed, and what is shown beside them."""

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import DataError, UnknownNameError


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


def test_rounding_of_small_scores_is_that_of_one():
    comparison = compare(run("a", recall=[1e-3, 0.5e-3]), run("b", recall=[1e-3 + 5e-13, 0.0]))
    assert comparison.improvements("recall").empty
    assert comparison.regressions("recall").index.tolist() == ["q1"]
    assert comparison.frame["ties"].tolist() == [1]


def test_rounding_is_relative_to_the_size_of_the_scores():
    a = run("a", latency_ms=[1e9, 5e8, 4.0])
    b = run("b", latency_ms=[1e9 + 1e-4, 5e8 + 1.0, 4.0])
    assert compare(a, b).regressions("latency_ms").index.tolist() == ["q1"]


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


def test_details_belong_to_the_queries_that_changed():
    a = run("a", ["q1", "q2", "q3"], recall=[0.9, 0.8, 0.7], answer=["a1", "a2", "a3"])
    b = run("b", ["q3", "q1", "q2"], recall=[0.1, 0.9, 0.5], answer=["b3", "b1", "b2"])
    frame = compare(a, b).regressions("recall")
    assert frame.index.tolist() == ["q3", "q2"]
    assert frame["a_answer"].tolist() == ["a3", "a2"]
    assert frame["b_answer"].tolist() == ["b3", "b2"]


def test_a_candidate_is_found_by_its_name():
    a, b, c = (
        run(name, recall=[value, 0.5]) for name, value in zip("abc", (0.5, 0.25, 1.0), strict=True)
    )
    comparison = compare(a, b, c)
    assert comparison.differences("recall", "b").tolist() == [-0.25, 0.0]
    assert comparison.differences("recall", "c").tolist() == [0.5, 0.0]
    with pytest.raises(UnknownNameError, match="candidate"):
        comparison.differences("recall", "d")
    with pytest.raises(DataError, match="several candidates: b, c"):
        comparison.differences("recall")


def test_an_only_candidate_may_be_named_or_not():
    comparison = compare(run("a", recall=[0.5]), run("b", recall=[0.75]))
    assert comparison.differences("recall").tolist() == [0.25]
    assert comparison.differences("recall", "b").tolist() == [0.25]
    with pytest.raises(UnknownNameError):
        comparison.differences("recall", "a")


def test_a_metric_may_have_another_name_in_the_candidate():
    comparison = compare(run("a", mrr=[0.5, 0.25]), run("b", reciprocal_rank=[0.25, 1.0]))
    assert comparison.differences("mrr").tolist() == [-0.25, 0.75]
    assert comparison.regressions("reciprocal_rank").index.tolist() == ["q0"]
    with pytest.raises(UnknownNameError):
        comparison.differences("recall")


# -- the table as a whole


def test_the_headline_names_candidates_only_if_there_are_several():
    a, b, c = (run(name, recall=[0.5, 0.25]) for name in "abc")
    assert "candidate" not in compare(a, b).headline
    assert "candidate" in compare(a, b, c).headline
    assert compare(a, b, c).title == "b, c against a"


def test_a_table_of_one_test_has_no_note_of_a_correction():
    six, back = [0.5, 0.25, 0.1, 0.3, 0.7, 0.9], [0.9, 0.7, 0.3, 0.1, 0.25, 0.5]
    a, b = run("a", recall=six), run("b", recall=back)
    assert not any("adjusted" in note for note in compare(a, b).notes)
    two = run("a", recall=six, mrr=back), run("b", recall=back, mrr=six)
    assert "p-values are adjusted (holm) over the 2 tests of this table" in compare(*two).notes


def test_a_metric_without_a_pair_is_no_test_of_the_family():
    six, back = [0.5, 0.25, 0.1, 0.3, 0.7, 0.9], [0.9, 0.7, 0.3, 0.1, 0.25, 0.5]
    a = run("a", recall=six, mrr=[*six[:3], None, None, None])
    b = run("b", recall=back, mrr=[None, None, None, *back[3:]])
    assert compare(a, b).settings["family_size"] == 1


def test_a_metric_with_too_few_pairs_is_no_test_of_the_family():
    six, back = [0.5, 0.25, 0.1, 0.3, 0.7, 0.9], [0.9, 0.7, 0.3, 0.1, 0.25, 0.5]
    a = run("a", recall=six, mrr=[*six[:5], None])
    b = run("b", recall=back, mrr=[*back[:5], None])
    assert compare(a, b).settings["family_size"] == 1
    assert compare(a, b, correction="westfall-young").frame["pvalue_adjusted"].isna().sum() == 1


def test_a_note_on_both_candidates_is_made_once():
    a = run("a", recall=[0.5, 0.25, 0.75], bleu=[0.1, 0.2, 0.3])
    b, c = (run(name, recall=[0.5, 0.25, 0.5]) for name in "bc")
    notes = compare(a, b, c).notes
    assert sum("metrics in 'a' only" in note for note in notes) == 1


@pytest.mark.parametrize("margin", [0.0, -0.1, float("nan"), float("inf")])
def test_a_margin_must_be_above_zero(margin):
    a, b = run("a", recall=[0.5, 0.25]), run("b", recall=[0.25, 0.5])
    with pytest.raises(DataError, match="margin must be a number above 0"):
        compare(a, b, margin=margin)
    with pytest.raises(DataError, match="margin must be a number above 0"):
        compare(a, b, margin={"recall": margin})
    assert compare(a, b, margin=1e-9).settings["margin"] == 1e-9


def test_a_margin_for_two_metrics_without_bounds_is_noted_in_the_plural():
    scores = {"latency_ms": [100.0, 200.0], "cost_usd": [0.5, 0.25]}
    notes = compare(run("a", **scores), run("b", **scores), margin=1).notes
    [note] = [note for note in notes if "different scales" in note]
    assert "(latency_ms, cost_usd have no bounds)" in note


def test_a_margin_for_metrics_of_one_range_is_not_noted():
    scores = {"recall": [0.5, 0.25], "mrr": [0.5, 0.25]}
    notes = compare(run("a", **scores), run("b", **scores), margin=0.1).notes
    assert not any("different scales" in note for note in notes)


def test_a_margin_for_one_metric_without_bounds_is_not_noted():
    scores = {"latency_ms": [100.0, 200.0]}
    notes = compare(run("a", **scores), run("b", **scores), margin=5).notes
    assert not any("different scales" in note for note in notes)


def test_a_margin_for_metrics_of_two_ranges_is_noted():
    known = {"rating": {"bounds": (1, 5)}}
    data = {"query_id": ["q0", "q1"], "recall": [0.5, 0.25], "rating": [4, 2]}
    one, other = (RAGPipelineEvaluation(name, data, metrics=known) for name in "ab")
    [note] = [note for note in compare(one, other, margin=0.1).notes if "scales" in note]
    assert "no bounds" not in note


def test_queries_can_be_matched_by_a_text():
    a = run("a", ["1", "2"], recall=[0.5, 0.25], question=["one?", "two?"])
    b = run("b", ["x", "y"], recall=[1.0, 0.5], question=["two?", "one?"])
    comparison = compare(a, b, on="question")
    assert comparison.differences("recall").to_dict() == {"1": 0.0, "2": 0.75}
    assert comparison.settings["on"] == "question"


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
