"""`RAGPipelineEvaluation` of Haystack's proposal, and what became of it, row by row.

The four rows are those of the proposal; means and percentiles are worked out from them by hand, the
percentiles with Python's statistics module as a second witness.
"""

from __future__ import annotations

import math
import statistics

import pytest

from rageval_report import RAGPipelineEvaluation, score
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.judges import ScriptedChat, judge
from rageval_report.scores import METRICS

DATA = {
    "query_id": ["53c3b3e6", "225f87f7", "8ac473ec", "97d284ca"],
    "reciprocal_rank": [0.378064, 0.534964, 0.216058, 0.778642],
    "single_hit": [1, 1, 0, 1],
    "multi_hit": [0.706125, 0.454976, 0.445512, 0.250522],
    "context_relevance": [0.805466, 0.410251, 0.750070, 0.361332],
    "faithfulness": [0.135581, 0.695974, 0.749861, 0.041999],
    "semantic_answer_similarity": [0.971241, 0.159320, 0.019722, 1.0],
    "exact_match": [1, 0, 0, 0],
}
TITLES = (
    *("Reciprocal Rank", "Single Hit", "Multi Hit", "Context Relevance", "Faithfulness"),
    *("Semantic Answer Similarity", "Exact Match"),
)


@pytest.fixture
def run():
    return RAGPipelineEvaluation("hyde", DATA)


def test_the_report_has_seven_titles_and_the_counts_of_correct_queries(run):
    report = run.evaluation_report()
    assert list(report) == [*TITLES, "nr_correct_queries", "nr_incorrect_queries"]
    assert report["Reciprocal Rank"] == pytest.approx(0.476932)
    assert report["Single Hit"] == 0.75
    assert report["Multi Hit"] == pytest.approx(0.46428375)
    assert report["Context Relevance"] == pytest.approx(0.58177975)
    assert report["Faithfulness"] == pytest.approx(0.40585375)  # there None
    assert report["Semantic Answer Similarity"] == pytest.approx(0.53757075)
    assert report["Exact Match"] == 0.25
    assert (report["nr_correct_queries"], report["nr_incorrect_queries"]) == (1, 3)
    assert dict(run.classification_report()) == dict(report)


def test_every_metric_has_an_aggregate_by_any_of_its_names(run):
    for name in ("reciprocal_rank", "Reciprocal Rank", "reciprocal rank", "reciprocal-rank"):
        assert run.get_aggregated_scores(name) == pytest.approx(0.476932)
    assert run.get_aggregated_scores("faithfulness") == pytest.approx(0.40585375)
    assert run.get_aggregated_scores()["single_hit"] == 0.75
    with pytest.raises(UnknownNameError, match="Did you mean"):
        run.get_aggregated_scores("faithfullness")


def test_missing_scores_of_binary_metrics_are_left_out_and_counted():
    run = RAGPipelineEvaluation("a", {**DATA, "single_hit": [1, None, 0, 1]})
    row = run.evaluation_report().frame.set_index("metric").loc["single_hit"]
    assert (row["mean"], row["n"], row["n_unscored"]) == (pytest.approx(2 / 3), 3, 1)


def test_columns_may_be_spelled_with_blanks_and_titles():
    blanks = {name.replace("_", " "): cells for name, cells in DATA.items() if name != "query_id"}
    run = RAGPipelineEvaluation("a", {"query_id": DATA["query_id"], **blanks})
    assert list(run.evaluation_report())[:7] == list(TITLES)


def test_detailed_scores_are_those_of_the_queries_asked_for(run):
    frame = run.get_detailed_scores("reciprocal_rank", ["97d284ca", "53c3b3e6"])
    assert frame["reciprocal_rank"].tolist() == [0.778642, 0.378064]
    with pytest.raises(DataError, match="no-such"):
        run.get_detailed_scores("reciprocal_rank", ["no-such"])


def test_thresholds_are_quartiles_and_the_mean(run):
    row = run.find_thresholds("reciprocal_rank").frame.iloc[0]
    assert row[["p25", "p50", "p75"]].tolist() == pytest.approx([0.3375625, 0.456514, 0.5958835])
    assert row["mean"] == pytest.approx(0.476932)
    faithful = run.find_thresholds("faithfulness").frame.iloc[0]
    expected = statistics.quantiles(DATA["faithfulness"], n=4, method="inclusive")
    assert faithful[["p25", "p50", "p75"]].tolist() == pytest.approx(expected)
    assert expected == pytest.approx([0.1121855, 0.4157775, 0.70944575])


def test_the_percentiles_of_the_statistics_module_are_an_option(run):
    row = run.find_thresholds("reciprocal_rank", method="exclusive").frame.iloc[0]
    expected = statistics.quantiles(DATA["reciprocal_rank"], n=4)
    assert row[["p25", "p50", "p75"]].tolist() == pytest.approx(expected)
    assert expected == pytest.approx([0.2565595, 0.456514, 0.7177225])
    one = RAGPipelineEvaluation("a", {"query_id": ["q"], "recall": [0.5]})
    assert one.find_thresholds().frame.iloc[0][["p25", "p75"]].tolist() == [0.5, 0.5]


def test_scores_below_a_threshold_are_strictly_below_and_never_missing():
    ranks = [*DATA["reciprocal_rank"], 0.5, None]
    run = RAGPipelineEvaluation("a", {"query_id": list("abcdef"), "reciprocal_rank": ranks})
    below = run.get_scores_below_threshold("reciprocal_rank", 0.5)
    assert list(below.index) == ["c", "a"]  # rows 3 and 1, the worst first


def second(**changes):
    order = [2, 0, 1, 3]  # another order of the rows
    data = {name: [cells[place] for place in order] for name, cells in DATA.items()}
    return RAGPipelineEvaluation("bm25", {**data, **changes})


def test_the_detailed_summary_pairs_queries_by_id_and_pads_with_missing(run):
    """hyde is correct on the first query only, bm25 on the second of its own order: 53c3b3e6."""
    other = second(exact_match=[0, 1, 1, 0])
    table = run.comparative_detailed_summary(other)
    assert list(table) == [
        *("both_correct", "both_incorrect", "only_hyde_correct", "only_bm25_correct")
    ]
    cells = {name: [cell for cell in table[name] if cell is not None] for name in table}
    assert cells == {
        "both_correct": ["53c3b3e6"],
        "both_incorrect": ["8ac473ec", "97d284ca"],
        "only_hyde_correct": [],
        "only_bm25_correct": ["225f87f7"],
    }
    assert len(table) == 2  # the length of the longest column, with None and not "None"
    assert "None" not in table.to_numpy().ravel().tolist()


def test_what_is_correct_may_be_any_metric_with_a_threshold(run):
    assert run.with_correct(("faithfulness", 0.5)).evaluation_report()["nr_correct_queries"] == 2
    assert run.with_correct("single_hit").evaluation_report()["nr_correct_queries"] == 3


def test_repeated_ids_are_an_error():
    with pytest.raises(DataError, match="53c3b3e6"):
        RAGPipelineEvaluation("a", {**DATA, "query_id": ["53c3b3e6"] * 2 + ["b", "c"]})


def test_a_text_of_several_ids_is_refused_with_the_lengths():
    with pytest.raises(DataError, match="query_id"):
        RAGPipelineEvaluation("a", {**DATA, "query_id": ["53c3b3e6 225f87f7 8ac473ec 97d284ca"]})


# -- the reports of EvaluationRunResult


# -- its evaluators

ROWS = [
    {"query_id": "a", "relevant": {"d1": 1, "d2": 1}, "retrieved": ["x", "d1", "d2"]},
    {"query_id": "b", "relevant": {"d3": 1}, "retrieved": []},
    {"query_id": "n", "relevant": {}, "retrieved": ["x"]},
]


def test_evaluators_have_their_formulas_and_zeros():
    names = {
        "document_mrr": [1 / 2, 0.0, 0.0],
        "document_map": [(1 / 2 + 2 / 3) / 2, 0.0, 0.0],
        "document_recall_single_hit": [1.0, 0.0, 0.0],
        "document_recall_multi_hit": [1.0, 0.0, 0.0],
    }
    scores = score(ROWS, list(names), dialect="haystack").scores
    for column, expected in zip(scores, names.values(), strict=True):
        assert scores[column].tolist() == pytest.approx(expected)
    ours = score(ROWS, ["reciprocal_rank", "average_precision"]).scores
    assert math.isnan(ours.loc["n", "reciprocal_rank"])  # without gold there is no score


def test_ndcg_has_linear_gains_and_each_truth_once():
    """Truths at ranks 2 and 3 of 3: (1/log2 3 + 1/log2 4) / (1 + 1/log2 3)."""
    value = score(ROWS[:1], "document_ndcg", dialect="haystack").scores.iloc[0, 0]
    expected = (1 / math.log2(3) + 1 / 2) / (1 + 1 / math.log2(3))
    assert value == pytest.approx(expected)


def test_exact_match_is_equality_without_normalisation():
    rows = [
        {"query_id": "a", "answer": "Oslo", "reference": "Oslo"},
        {"query_id": "b", "answer": "oslo", "reference": "Oslo"},
    ]
    scores = score(rows, "exact_match", dialect="haystack").scores
    assert scores.iloc[:, 0].tolist() == [1.0, 0.0]


def test_the_two_meanings_of_a_hit_have_names_of_their_own():
    rows = [{"query_id": "a", "relevant": ["d1", "d2"], "retrieved": ["x", "d1"]}]
    names = ["document_recall_single_hit", "document_recall_multi_hit", "single_hit", "multi_hit"]
    scores = score(rows, names).scores.iloc[0]
    # any right one; half of the truths; the first is wrong; half of the results are right
    assert scores.tolist() == [1.0, 0.5, 0.0, 0.5]
    assert len({METRICS[name].description for name in names}) == 4


def test_a_failed_judge_call_is_missing_and_counted():
    rows = [{"query_id": name, "question": "?", "answer": "a", "contexts": ["c"]} for name in "ab"]
    replies = ['{"reasoning": "so", "score": 5}', "sorry", "sorry"]
    judged = judge(rows, "coherence", ScriptedChat(replies), concurrency=1)
    assert judged.scores["coherence"].iloc[0] == 1.0
    assert math.isnan(judged.scores["coherence"].iloc[1])
    assert judged.states["coherence_state"].tolist() == ["scored", "failed"]
