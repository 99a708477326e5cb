"""Each kind of failure once, so that every count can be told by hand."""

import pytest
from statsmodels.stats.proportion import proportion_confint

from rageval_report import RAGPipelineEvaluation, score

ROWS = {
    "query_id": ["fine", "lost", "late", "wrong", "uncited", "shy", "bold", "silent", "failed"],
    "hit@5": [1, 0, 0, 1, 1, 1, None, None, None],
    "hit": [1, 0, 1, 1, 1, 1, None, None, None],
    "exact_match": [1, 0, 0, 0, 1, 0, None, None, None],
    "citation_hit": [1, 0, 0, 1, 0, 0, None, None, None],
    "false_refusal": [0, 0, 0, 0, 0, 1, None, None, None],
    "hallucinated_answer": [None, None, None, None, None, None, 1, 0, None],
    "question": list("abcdefghi"),
}


@pytest.fixture
def evaluation():
    return RAGPipelineEvaluation("a", ROWS)


def counts(result):
    return dict(zip(result.frame["cause"], result.frame["n"], strict=True))


def test_shares_have_clopper_and_pearsons_interval(evaluation):
    # statsmodels 0.15: 2 of 8
    row = evaluation.breakdown().frame.set_index("cause").loc["fine"]
    low, high = proportion_confint(2, 8, method="beta")
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high))


def test_failures_can_be_filtered_by_their_cause(evaluation):
    result = evaluation.failures("exact_match", 1, cause="ranking")
    assert result.frame.index.tolist() == ["late"]
    assert "only failures of ranking" in result.notes


def test_without_the_whole_ranking_ranking_counts_as_retrieval():
    data = {"query_id": ["q"], "recall@5": [0.0], "exact_match": [0]}
    result = RAGPipelineEvaluation("a", data).breakdown()
    assert counts(result)["retrieval"] == 1
    assert any("ranking counts as retrieval" in note for note in result.notes)


def test_retrieval_and_answers_make_a_table_of_four(evaluation):
    frame = evaluation.retrieval_by_generation().frame
    assert frame[["correct", "incorrect"]].to_numpy().tolist() == [[2, 2], [0, 2]]
    assert frame["share_correct"].tolist() == [0.5, 0.0]


def test_shuffling_the_queries_moves_nothing(evaluation):
    shuffled = RAGPipelineEvaluation("a", evaluation.data.sample(frac=1, random_state=3))
    assert counts(shuffled.breakdown()) == counts(evaluation.breakdown())


def test_records_are_broken_down_from_end_to_end():
    gold = {"relevant": ["g"], "reference": ["Rome"], "answerable": True, "citations": ["g"]}
    rows = [
        {"query_id": "a", "retrieved": ["g"], "answer": "Rome", **gold},
        {"query_id": "b", "retrieved": ["x"], "answer": "Oslo", **gold},
        {"query_id": "c", "retrieved": list("uvwxyg"), "answer": "Oslo", **gold},
        {"query_id": "d", "retrieved": ["g"], "answer": "I don't know.", **gold},
    ]
    metrics = ["hit@5", "hit", "exact_match", "citation_hit", "false_refusal"]
    told = score(rows, metrics).breakdown().frame.query("n > 0")
    assert dict(zip(told["cause"], told["n"], strict=True)) == {
        "fine": 1,
        "over-refusal": 1,
        "retrieval": 1,
        "ranking": 1,
    }
