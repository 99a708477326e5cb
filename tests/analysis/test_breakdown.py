"""Each kind of failure once, so that every count can be told by hand."""

import pytest
from statsmodels.stats.proportion import proportion_confint

from rageval_report import RAGPipelineEvaluation, score
from rageval_report.errors import DataError, UnknownNameError

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


def test_each_failure_is_counted_under_the_first_thing_that_went_wrong(evaluation):
    assert counts(evaluation.breakdown()) == {
        "fine": 2,
        "over-refusal": 1,
        "under-refusal": 1,
        "retrieval": 1,
        "ranking": 1,
        "generation": 1,
        "citation": 1,
    }


def test_a_query_that_cannot_be_told_is_noted_and_in_no_share(evaluation):
    result = evaluation.breakdown()
    assert "the cause of 1 of 9 queries is unknown" in result.notes[-1]
    assert result.frame["share"].sum() == pytest.approx(1.0)


def test_shares_have_clopper_and_pearsons_interval(evaluation):
    # statsmodels 0.15: 2 of 8
    row = evaluation.breakdown().frame.set_index("cause").loc["fine"]
    low, high = proportion_confint(2, 8, method="beta")
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high))


def test_failures_can_be_filtered_by_their_cause(evaluation):
    result = evaluation.failures("exact_match", 1, cause="ranking")
    assert result.frame.index.tolist() == ["late"]
    assert "only failures of ranking" in result.notes


def test_an_unknown_cause_is_told_the_nearest(evaluation):
    with pytest.raises(UnknownNameError, match="Did you mean 'ranking'"):
        evaluation.failures("exact_match", 1, cause="rankng")


def test_without_the_whole_ranking_ranking_counts_as_retrieval():
    data = {"query_id": ["q"], "recall@5": [0.0], "exact_match": [0]}
    result = RAGPipelineEvaluation("a", data).breakdown()
    assert counts(result)["retrieval"] == 1
    assert any("ranking counts as retrieval" in note for note in result.notes)


def test_a_cause_that_no_metric_tells_is_not_counted_as_0():
    data = {"query_id": ["q", "r"], "recall@5": [0.0, 1.0], "exact_match": [0, 1]}
    result = RAGPipelineEvaluation("a", data).breakdown()
    untold = result.frame[result.frame["n"].isna()]
    assert untold["cause"].tolist() == ["over-refusal", "under-refusal", "ranking", "citation"]
    assert untold[["share", "ci_low", "ci_high"]].isna().all(axis=None)
    assert result.frame["n"].sum() == 2


def test_a_cause_that_no_metric_tells_is_printed_as_a_dash_and_noted():
    data = {"query_id": ["q"], "hit@5": [1], "hit": [1], "exact_match": [1], "citation_hit": [1]}
    data |= {"false_refusal": [0], "hallucinated_answer": [None]}
    result = RAGPipelineEvaluation("a", data).breakdown()
    [line] = [line for line in str(result).splitlines() if line.startswith("under-refusal")]
    assert line.split()[-3:] == ["–", "–", "–"]
    assert result.notes == (
        "under-refusal is not measured, as no query is scored on 'hallucinated_answer': such "
        "queries count under other causes",
    )


def test_without_any_metric_of_retrieval_nothing_can_be_told():
    with pytest.raises(DataError, match="needs the metric hit@5 or recall@5"):
        RAGPipelineEvaluation("a", {"query_id": ["q"], "exact_match": [0]}).breakdown()


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


def test_a_rule_that_is_a_function_is_signed_by_its_name():
    def exact(rows):
        return rows["exact_match"] == 1

    signature = RAGPipelineEvaluation("a", ROWS, correct=exact).breakdown().signature
    assert "correct:the function exact says so|" in signature
