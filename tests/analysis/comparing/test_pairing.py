"""The pairs behind a comparison: ids, metrics and clusters that both runs have or lack."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import AlignmentError, DataError, UnknownNameError


def run(name, ids=None, metrics=None, **columns):
    n = len(next(iter(columns.values())))
    ids = [f"q{i}" for i in range(n)] if ids is None else ids
    return RAGPipelineEvaluation(name, {"query_id": ids, **columns}, metrics=metrics)


def test_several_ids_of_one_run_are_counted_in_the_plural():
    a = run("a", ["q1", "q2", "q3", "q4"], recall=[0.1, 0.2, 0.3, 0.4])
    b = run("b", ["q4", "q1"], recall=[0.4, 0.2])
    assert "2 queries are in 'a' only: 'q2', 'q3'" in compare(a, b).notes
    assert not any("in 'b' only" in note for note in compare(a, b).notes)


def test_metrics_of_the_candidate_alone_are_noted():
    a = run("a", recall=[0.1, 0.2], mrr=[0.5, 0.6])
    b = run("b", recall=[0.1, 0.2], bleu=[0.1, 0.2], rouge=[0.1, 0.2], reciprocal_rank=[0.5, 1.0])
    notes = compare(a, b).notes
    [alone] = [note for note in notes if "not compared" in note]
    assert alone == "metrics in 'b' only, not compared: bleu, rouge"  # mrr is the reciprocal rank


def test_a_long_list_of_metrics_is_cut():
    many = {f"own_{i}": [0.1, 0.5] for i in range(12)}
    a, b = run("a", recall=[0.1, 0.2], **many), run("b", recall=[0.1, 0.2])
    [alone] = [note for note in compare(a, b).notes if "not compared" in note]
    assert alone.endswith("own_8, own_9")


def test_a_metric_that_was_asked_for_must_be_in_both_runs():
    a, b = run("a", recall=[0.1, 0.2], mrr=[0.5, 0.6]), run("b", recall=[0.1, 0.2])
    with pytest.raises(UnknownNameError, match="'mrr'"):
        compare(a, b, metrics=["recall", "mrr"])
    assert compare(a, b, metrics="recall").frame["metric"].tolist() == ["recall"]


def test_runs_that_share_no_metric_say_what_each_has():
    a, b = run("a", recall=[0.1]), run("b", bleu=[0.1])
    with pytest.raises(AlignmentError, match="metrics of the first: 'recall', of the second: 'ble"):
        compare(a, b)


def test_clusters_may_be_labels_by_query_in_any_order():
    rng = np.random.default_rng(0)
    values, changed = rng.random(12), rng.random(12)
    topics = [f"t{i % 6}" for i in range(12)]
    a, b = run("a", recall=values, topic=topics), run("b", recall=changed)
    by_column = compare(a, b, clusters="topic")
    by_query = pd.Series(topics, index=[f"q{i}" for i in range(12)])
    by_series = compare(a, b, clusters=by_query.sample(frac=1, random_state=1))
    by_mapping = compare(a, b, clusters={**by_query, "another": "t9"})
    for other in (by_series, by_mapping):
        pd.testing.assert_frame_equal(other.frame, by_column.frame)
    assert by_column.settings["clusters"] == "topic"
    assert by_series.settings["clusters"] == by_mapping.settings["clusters"] == "given"
    assert "clusters" not in compare(a, b).settings


def test_the_clusters_of_a_column_belong_to_the_ids_of_the_baseline():
    values = [0.1, 0.2, 0.3, 0.4, 0.1, 0.1, 0.3]
    changed = [0.3, 0.1, 0.53, 0.9, 0.2, 0.17, 0.6]
    a = run("a", recall=values, topic=["x", "x", "y", "z", "u", "v", "w"])
    b = run("b", [f"q{i}" for i in reversed(range(7))], recall=changed[::-1])
    row = compare(a, b, clusters="topic").frame.iloc[0]
    assert row["difference"] == pytest.approx(np.mean(changed) - np.mean(values))
    # Six sums that rise, two of them by 0.1: the pattern of equal signs counts half on both sides.
    assert row["pvalue"] == pytest.approx(1 / 64)


@pytest.mark.parametrize("label", [None, "", "  ", float("nan")])
def test_a_label_without_content_is_missing(label):
    a, b = run("a", recall=[0.1, 0.2], topic=["x", label]), run("b", recall=[0.1, 0.3])
    with pytest.raises(DataError, match="'q1' have none"):
        compare(a, b, clusters="topic")


def test_a_query_that_is_not_compared_needs_no_cluster():
    a = run("a", recall=[0.1, 0.2, 0.4], topic=["x", None, "x"])
    b = run("b", ["q0", "q2"], recall=[0.1, 0.3])
    assert compare(a, b, clusters="topic").frame["n"].tolist() == [2]


def test_a_label_that_is_not_a_number_is_missing():
    a, b = run("a", recall=[0.1, 0.2, 0.4]), run("b", recall=[0.1, 0.3, 0.3])
    labels = {"q0": 1.0, "q1": float("nan")}
    with pytest.raises(DataError, match="'q1', 'q2' have none"):
        compare(a, b, clusters=labels)


@pytest.mark.parametrize(
    ("other", "hint"),
    [
        ({"recall": [0.1]}, "Make one with RAGPipelineEvaluation"),
        ("b.csv", "Make one with RAGPipelineEvaluation"),
        (0.5, "Make one with RAGPipelineEvaluation"),
        (("b",), "Unpack the list"),
    ],
)
def test_what_is_no_evaluation_is_told_how_to_become_one(other, hint):
    with pytest.raises(DataError, match=hint):
        compare(run("a", recall=[0.1]), other)


def test_the_name_that_appears_twice_is_said():
    runs = [run(name, recall=[0.1, 0.2]) for name in ("c", "b", "a", "b")]
    with pytest.raises(DataError, match="two runs are named 'b'"):
        compare(*runs)


def test_equal_questions_under_several_ids_are_told():
    scores = np.linspace(0.1, 0.9, 40)
    questions = [f"what is {i % 10}?" for i in range(40)]
    a, b = (run(name, recall=scores, question=questions) for name in "ab")
    note = (
        "40 of 40 queries have the same question as another id, so they are not independent; pass "
        "clusters='question'"
    )
    assert note in compare(a, b).notes
    assert note in " ".join(str(compare(a, b)).split())
    assert note not in compare(a, b, clusters="question").notes
    c, d = (run(name, recall=scores, question=[f"q{i}" for i in range(40)]) for name in "cd")
    assert not any("question" in told for told in compare(c, d).notes)


def test_questions_with_half_a_surrogate_pair_are_compared():
    frame = pd.DataFrame({"query_id": list("abcdefgh"), "recall": np.linspace(0, 1, 8)})
    frame["question"] = pd.Series([f"why {i}? \ud800" for i in range(8)], dtype=object)
    runs = [RAGPipelineEvaluation(name, frame) for name in ("old", "new")]
    assert compare(*runs).frame["verdict"].tolist() == ["identical"]
