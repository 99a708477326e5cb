import numpy as np
import pandas as pd

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.tables import GroupedRows


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


def large_runs(seed=0):
    """Two groups of more than 4,096 queries, in which ratings move in opposite directions."""
    rng = np.random.default_rng(seed)
    n = 10_000
    topics = np.where(np.arange(n) < 4_600, "law", "tax")
    rating = rng.integers(2, 5, n)
    moved = rating + np.where(topics == "tax", 1, -1) * (rng.random(n) < 0.1)
    hit = (rng.random((2, n)) < 0.6).astype(float)
    order = rng.permutation(n)
    ids = np.array([f"q{i}" for i in range(n)])
    before = {"query_id": ids, "topic": topics, "rating": rating.astype(float), "hit": hit[0]}
    after = {"query_id": ids[order], "rating": moved[order].astype(float), "hit": hit[1][order]}
    return (
        RAGPipelineEvaluation("a", pd.DataFrame(before)),
        RAGPipelineEvaluation("b", pd.DataFrame(after)),
    )


def test_a_counted_slice_has_the_numbers_of_its_queries_compared_alone():
    baseline, candidate = large_runs()
    table = compare(baseline, candidate).slices("topic").frame
    ids = baseline.details.index
    for topic in ("law", "tax"):
        chosen = ids[baseline.details["topic"] == topic]
        runs = (
            RAGPipelineEvaluation(run.name, run.scores.loc[chosen].reset_index())
            for run in (baseline, candidate)
        )
        alone = compare(*runs).frame.set_index("metric")
        rows = table[table["topic"] == topic].set_index("metric")
        same = ["n", "baseline_mean", "candidate_mean", "difference", "pvalue", "ci_low", "ci_high"]
        same += ["wins", "ties", "losses"]
        for metric in ("rating", "hit"):
            for name in same:
                assert rows.loc[metric, name] == alone.loc[metric, name], (topic, metric, name)


def test_a_reversal_between_counted_slices_is_found():
    """One group gains as surely as the other loses: the smaller effect goes against all queries."""
    result = compare(*large_runs()).slices("topic", metrics="rating")
    table = result.frame
    ratings = table[table["metric"] == "rating"].set_index("topic")
    assert ratings.loc["tax", "difference"] > 0 > ratings.loc["law", "difference"]
    assert ratings.loc["law", "reversal_pvalue_adjusted"] < 1e-10
    assert ratings["verdict"].to_dict() == {"tax": "better", "law": "worse"}
    [sentence] = result.sentences
    assert sentence.startswith("where topic is law, b is worse on rating by ")


def test_a_column_is_sorted_as_its_rows_are():
    rng = np.random.default_rng(1)
    grouped = GroupedRows.of(pd.Series(rng.integers(0, 7, 500).astype(str)))
    column = rng.random(500)
    assert np.array_equal(grouped.sort(column), column[grouped.rows])
