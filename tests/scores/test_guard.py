"""Doubts that scores alone raise, and what becomes of doubts: notes, errors, allowed notes."""

import numpy as np
import pandas as pd
import pytest

import rageval_report as rr
from rageval_report.errors import DataError, UnknownValueError, is_doubt
from rageval_report.scores.guard import (
    Doubt,
    doubts_about_scores,
)

N = 40
VARYING = [0.25, 0.75] * (N // 2)


def evaluation_of(n=N, **columns):
    data = {name: cells[:n] for name, cells in columns.items()}
    return rr.RAGPipelineEvaluation("hybrid", {"query_id": [f"q{i}" for i in range(n)], **data})


def checks_of(evaluation):
    return [doubt.check for doubt in doubts_about_scores(evaluation.scores, evaluation.metrics)]


@pytest.mark.parametrize(
    ("name", "neighbour", "value"),
    [
        ("recall@5", "mrr", 0.0),
        ("ndcg_cut_10", "map", 0.0),
        ("hit_rate@3", "precision@3", 0.0),
        ("exact_match", "token_f1", 0.0),
        ("rouge_l", "bleu", 0.0),
        ("rouge_l", "bleu", 1.0),
        ("my_score", "my_other_score", 0.0),
    ],
)
def test_a_metric_that_is_constant_at_a_bound_while_a_neighbour_varies_is_doubted(
    name, neighbour, value
):
    evaluation = evaluation_of(**{name: [value] * N, neighbour: VARYING})
    assert checks_of(evaluation) == ["constant_metric"]
    (note,) = evaluation.notes
    assert note.startswith(f"Doubt: {next(iter(evaluation.metrics))} is {value:g} for all 40")
    assert "evaluation.failures(" in note
    assert "rageval-report failures FILE --metric" in note


@pytest.mark.parametrize(
    "columns",
    [
        {"recall@5": VARYING, "mrr": VARYING},
        {"recall@5": [0.5] * N, "mrr": VARYING},  # not at a bound
        {"recall@5": [0.0] * N},  # without a neighbour
        {"recall@5": [0.0] * N, "faithfulness": VARYING},  # a neighbour of another group
        {"recall@5": [0.0] * N, "latency_ms": VARYING},
        {"recall@5": VARYING, "recall@100": [1.0] * N, "mrr": VARYING},  # a large cutoff
        {"mrr": [1.0] * N, "recall@5": VARYING},  # the first document is right for all
        {"latency_ms": [0.0] * N, "cost_usd": VARYING},
        {"recall@5": [0.0] * (N - 1) + [1.0], "mrr": VARYING},
        {"recall@5": [np.nan] * N, "mrr": VARYING},
    ],
)
def test_nothing_else_is_doubted(columns):
    assert checks_of(evaluation_of(**columns)) == []


def test_few_queries_are_no_evidence():
    zeros = {"recall@5": [0.0] * N, "mrr": VARYING}
    assert checks_of(evaluation_of(9, **zeros)) == []
    assert checks_of(evaluation_of(10, **zeros)) == ["constant_metric"]
    ones = {"bleu": [1.0] * N, "rouge_l": VARYING}
    assert checks_of(evaluation_of(29, **ones)) == []
    assert checks_of(evaluation_of(30, **ones)) == ["constant_metric"]


def test_metrics_that_are_constant_at_the_same_value_share_a_doubt():
    columns = {"recall@5": [0.0] * N, "recall@10": [0.0] * N, "mrr": VARYING}
    (note,) = evaluation_of(**columns).notes
    assert "recall@5, recall@10 are 0 for all 40 scored queries, while mrr varies" in note


@pytest.mark.parametrize(
    ("name", "value"), [("faithfulness", 0.5), ("answer_relevancy", 0.0), ("context_relevance", 1)]
)
def test_a_judge_that_gives_the_same_mark_to_all_is_doubted(name, value):
    columns = {name: [value] * N, "context_precision": VARYING, "answer_correctness": VARYING}
    assert checks_of(evaluation_of(**columns)) == ["same_mark"]


def test_the_best_mark_for_all_is_doubted_only_beside_a_neighbour_that_varies():
    assert checks_of(evaluation_of(faithfulness=[1.0] * N)) == []
    assert checks_of(evaluation_of(faithfulness=[1.0] * N, answer_relevancy=VARYING)) == [
        "same_mark"
    ]
    few = {"faithfulness": [1.0] * N, "answer_relevancy": VARYING}
    assert checks_of(evaluation_of(20, **few)) == []


def test_a_rubric_of_the_user_is_a_judge_too():
    scores = pd.DataFrame({"tone": [3.0] * 12})
    metrics = {"tone": rr.Metric("tone", kind="ordinal", bounds=(1, 5))}
    assert doubts_about_scores(scores, metrics) == []
    (doubt,) = doubts_about_scores(scores, metrics, judged=["tone"])
    assert doubt.check == "same_mark"


# -- notes and errors

DOUBT = Doubt("no_answer", "8 of 9 answers are empty", "Check the pipeline")


def test_doubts_go_before_other_notes_in_every_result():
    evaluation = evaluation_of(**{"recall@5": [0.0] * N, "mrr": VARYING}).with_notes("a new note")
    other = evaluation.with_name("dense")
    report = evaluation.evaluation_report()
    assert is_doubt(report.notes[0])
    assert report.to_dict()["notes"][0].startswith("Doubt: recall@5")
    assert "\nDoubt: recall@5 is 0" in str(report)
    assert "Note: Doubt" not in str(report) + report.to_html() + report.to_latex()
    comparison = rr.compare(evaluation, other)
    gates = evaluation.gate("mean(mrr) >= 0.2", "mean(recall@5) >= 0")
    assert not any("recall@5" in note for note in evaluation.gate("mean(mrr) >= 0.2").notes)
    for result in (comparison, rr.rank(evaluation, other), gates):
        assert result.notes[0].startswith("Doubt: hybrid: recall@5 is 0")
    assert [is_doubt(note) for note in comparison.notes[:3]] == [True, True, False]


def test_strict_makes_doubts_an_error_that_lists_them(tmp_path):
    columns = {"recall@5": [0.0] * N, "mrr": VARYING, "faithfulness": [0.5] * N}
    data = {"query_id": range(N), **columns}
    pattern = r"strict: 2 doubts .*\(constant_metric, same_mark\).*recall@5 is 0.*--allow"
    with pytest.raises(DataError, match=pattern):
        rr.RAGPipelineEvaluation("hybrid", data, strict=True)
    path = evaluation_of(**columns).save(tmp_path / "scores.csv")
    with pytest.raises(DataError, match=rf"scores\.csv: {pattern}"):
        rr.read_scores(path, strict=True)
    with pytest.raises(DataError, match=rf"scores\.csv: {pattern}"):
        rr.RAGPipelineEvaluation.load(None, path, strict=True)


def test_an_allowed_check_gives_an_ordinary_note(tmp_path):
    columns = {"recall@5": [0.0] * N, "mrr": VARYING}
    path = evaluation_of(**columns).save(tmp_path / "scores.jsonl")
    (evaluation,) = rr.read_scores(path, strict=True, allow="constant_metric").values()
    assert evaluation.notes[0].startswith("allowed by constant_metric: recall@5 is 0 for all 40")
    assert not any(map(is_doubt, evaluation.notes))


def test_a_check_that_does_not_exist_is_refused():
    data = {"query_id": [1], "mrr": [1.0]}
    with pytest.raises(UnknownValueError, match="Did you mean 'constant_metric'"):
        rr.RAGPipelineEvaluation("hybrid", data, allow="constant_metrics")


def test_doubts_are_saved_and_read_back_once(tmp_path):
    columns = {"recall@5": [0.0] * N, "mrr": VARYING}
    evaluation = evaluation_of(**columns).with_notes(DOUBT.note)
    (again,) = rr.read_scores(evaluation.save(tmp_path / "run.json")).values()
    assert sorted(filter(is_doubt, again.notes)) == sorted(filter(is_doubt, evaluation.notes))
    assert again.save(tmp_path / "again.json").read_text() == (tmp_path / "run.json").read_text()
    with pytest.raises(DataError, match="no_answer"):
        rr.read_scores(tmp_path / "run.json", strict=True)
    (allowed,) = rr.read_scores(
        tmp_path / "run.json", strict=True, allow=["no_answer", "constant_metric"]
    ).values()
    assert "allowed by no_answer: 8 of 9 answers are empty. Check the pipeline" in allowed.notes
