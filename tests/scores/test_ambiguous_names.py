"""What a name means is decided by the metrics beside it; the rules are told in the tests."""

import pytest

from rageval_report import RAGPipelineEvaluation, score


def evaluated(**columns):
    return RAGPipelineEvaluation("a", {"query_id": ["q", "r"], **columns})


@pytest.mark.parametrize("beside", ["EM", "exact_match", "correctness", "squad_em"])
def test_an_f1_beside_metrics_of_the_answer_is_the_answers(beside):
    run = evaluated(**{beside: [1, 0], "f1": [1.0, 0.4]})
    metric = run.metrics["f1"]
    assert (metric.title, metric.group, metric.known_as) == ("Token F1", "generation", "token_f1")
    assert "is read as the F1 of the answer's words" in run.notes[-1]


@pytest.mark.parametrize(
    "columns",
    [
        {"recall@5": [1, 0]},
        {"faithfulness": [1, 0]},
        {"em": [1, 0], "precision": [1, 0], "recall": [1, 0]},
        {"em": [1, 0], "token_f1": [1, 0.4]},
    ],
)
def test_an_f1_of_which_nothing_else_is_said_is_that_of_retrieval(columns):
    run = evaluated(**columns, f1=[1.0, 0.4])
    assert run.metrics["f1"].group == "retrieval"
    assert not any("'f1'" in note for note in run.notes)


def test_an_f1_beside_metrics_of_both_kinds_is_said_to_be_ambiguous():
    run = evaluated(**{"em": [1, 0], "recall@5": [1, 0], "f1": [1.0, 0.4]})
    assert run.metrics["f1"].group == "retrieval"
    assert "'f1' may be a metric of retrieval or of the answer" in run.notes[-1]


def test_what_the_caller_says_of_an_f1_holds():
    rows = {"query_id": ["q"], "em": [1], "f1": [0.5]}
    run = RAGPipelineEvaluation("a", rows, metrics={"f1": {"group": "retrieval", "title": "F1"}})
    assert (run.metrics["f1"].title, run.metrics["f1"].group) == ("F1", "retrieval")


def test_an_f1_that_was_computed_of_rankings_stays_one():
    record = {"query_id": "q", "retrieved": ["a"], "relevant": ["a"], "answer": "x"}
    run = score([{**record, "reference": ["x"]}], ["f1", "exact_match"])
    assert run.metrics["f1"].group == "retrieval"


def test_titles_within_a_report_are_unique():
    report = evaluated(mrr=[1, 0.5], recip_rank=[1, 0.25]).evaluation_report()
    assert list(report) == ["Reciprocal Rank (mrr)", "Reciprocal Rank (recip_rank)"]
