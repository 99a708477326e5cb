"""The pairs behind a comparison: ids, metrics and clusters that both runs have or lack."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare


def run(name, ids=None, metrics=None, **columns):
    n = len(next(iter(columns.values())))
    ids = [f"q{i}" for i in range(n)] if ids is None else ids
    return RAGPipelineEvaluation(name, {"query_id": ids, **columns}, metrics=metrics)


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
