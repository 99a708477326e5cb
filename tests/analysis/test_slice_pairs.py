import numpy as np
import pandas as pd

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.slice_pairs import GroupedRows


def test_the_largest_group_is_first_and_rows_keep_their_order():
    labels = pd.Series(["b", "a", "c", "a", "c", "a"])
    grouped = GroupedRows.of(labels)
    assert [(label, rows.tolist()) for label, rows in grouped] == [
        ("a", [1, 3, 5]),
        ("c", [2, 4]),
        ("b", [0]),
    ]
    assert [grouped.rows[part].tolist() for part in grouped.parts] == [[1, 3, 5], [2, 4], [0]]


def test_equally_large_groups_stand_in_the_order_of_their_names():
    # Not of the rows: shuffled rows give the same table, and so does a scan in any order.
    assert GroupedRows.of(pd.Series(["z", "a", "m"])).labels == ("a", "m", "z")


def test_no_rows_have_no_groups():
    assert list(GroupedRows.of(pd.Series([], dtype=str))) == []


def test_a_slice_has_the_numbers_of_its_queries_compared_alone():
    """Rows in another order in the candidate, queries that one run lacks, and missing scores."""
    rng = np.random.default_rng(0)
    n = 90
    scores = rng.uniform(0, 1, (2, n))
    scores[rng.random((2, n)) < 0.1] = np.nan
    ids = np.array([f"q{i}" for i in range(n)])
    topics = rng.choice(["x", "y", "z"], n)
    order = rng.permutation(n)[:80]
    baseline = pd.DataFrame({"query_id": ids, "topic": topics, "recall": scores[0]})
    candidate = pd.DataFrame({"query_id": ids[order], "recall": scores[1][order]})
    runs = RAGPipelineEvaluation("a", baseline), RAGPipelineEvaluation("b", candidate)
    table = compare(*runs).slices("topic").frame.set_index("topic")
    for topic, rows in baseline.groupby("topic"):
        inside = candidate["query_id"].isin(rows["query_id"])
        alone = compare(
            RAGPipelineEvaluation("a", rows.drop(columns="topic")),
            RAGPipelineEvaluation("b", candidate[inside]),
        ).frame.iloc[0]
        for name in ("n", "n_dropped", "difference", "ci_low", "ci_high", "pvalue", "wins"):
            assert table.loc[topic, name] == alone[name], (topic, name)
