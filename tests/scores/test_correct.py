import math

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank, score
from rageval_report.errors import DataError
from rageval_report.scores import correctness
from rageval_report.scores.correct import (
    find_notion,
    shared_notions,
    why_unknown,
)

COLUMNS = {
    "query_id": ["a", "b", "c", "d"],
    "exact_match": [1, 0, None, 1],
    "faithfulness": [0.9, 0.8, 0.95, None],
    "hallucination": [0.0, 0.4, 0.2, 0.1],
    "latency_ms": [100, 900, 300, 200],
    "is_ok": pd.array([True, False, None, True], dtype="boolean"),
    "grade": ["good", "bad", "good", None],
}


@pytest.fixture
def evaluation():
    return RAGPipelineEvaluation("hybrid", COLUMNS)


def told(series):
    """The series as a list, None where it cannot be told."""
    return [None if cell is pd.NA else bool(cell) for cell in series]


def test_exact_match_tells_where_nothing_is_said(evaluation):
    assert told(correctness(evaluation)) == [True, False, None, True]


def test_without_an_exact_match_the_error_shows_how_to_say_it():
    evaluation = RAGPipelineEvaluation("dense", {"query_id": ["a"], "recall": [1.0]})
    message = r"'dense' has no metric of correct answers\. Pass .* correct=\('faithf"
    with pytest.raises(DataError, match=message):
        correctness(evaluation)


def test_a_metric_alone_asks_for_its_best_score(evaluation):
    assert told(correctness(evaluation, "hallucination")) == [True, False, False, False]
    assert told(correctness(evaluation, "Groundedness")) == [False, False, False, None]


def test_a_metric_without_a_best_score_needs_a_threshold(evaluation):
    with pytest.raises(DataError, match=r"'latency_ms' has no best score; pass a threshold"):
        correctness(evaluation, "latency_ms")


def test_several_thresholds_must_all_hold(evaluation):
    rule = {"exact_match": 1, "hallucination": 0.1}
    assert told(correctness(evaluation, rule)) == [True, False, False, True]


@pytest.mark.parametrize(
    "cells", [[True, False, None], [1, 0, None], pd.array([1, 0, None], dtype="Int64")]
)
def test_a_detail_of_booleans_or_of_0_and_1_tells(cells):
    frame = pd.DataFrame({"query_id": ["a", "b", "c"], "recall": [1, 1, 1], "right_id": cells})
    evaluation = RAGPipelineEvaluation("x", frame)
    assert "right_id" in evaluation.details
    assert told(correctness(evaluation, "right_id")) == [True, False, None]


def test_a_column_of_words_does_not_tell(evaluation):
    with pytest.raises(DataError, match=r"'grade' must be true or false for each query\. Pass"):
        correctness(evaluation, "grade")


def test_a_function_of_the_rows_sees_scores_and_details(evaluation):
    def short_and_good(rows):
        return (rows["grade"] == "good") & (rows["latency_ms"] < 200)

    assert told(correctness(evaluation, short_and_good)) == [True, False, False, False]


def test_a_function_may_give_a_list_or_an_array(evaluation):
    assert told(correctness(evaluation, lambda rows: [True, False, None, True])) == [
        *(True, False, None, True)
    ]
    assert told(correctness(evaluation, lambda rows: np.array([1, 0, np.nan, 1]))) == [
        *(True, False, None, True)
    ]


def test_a_function_that_sorts_is_put_back_in_order_by_query(evaluation):
    def by_latency(rows):
        return rows.sort_values("latency_ms")["latency_ms"] < 250

    assert told(correctness(evaluation, by_latency)) == [True, False, False, True]


@pytest.mark.parametrize("answer", [True, [True], [], pd.Series([True] * 5)])
def test_a_function_that_gives_too_few_or_too_many_is_refused(evaluation, answer):
    with pytest.raises(
        DataError, match=r"must return one boolean per row \(4\); it returned [015]"
    ):
        correctness(evaluation, lambda rows: answer)


@pytest.mark.parametrize("threshold", [math.nan, math.inf, "0.5", None, True])
def test_a_threshold_is_a_finite_number(evaluation, threshold):
    with pytest.raises(DataError, match=r"a threshold must be a finite number; got"):
        correctness(evaluation, ("faithfulness", threshold))
    with pytest.raises(DataError, match=r"a threshold must be a finite number; got"):
        correctness(evaluation, {"faithfulness": threshold})


LONG = "The operator switched the machine off at noon because it was hot."


def evaluation_1(name="rag", **columns):
    n = len(next(iter(columns.values())))
    return RAGPipelineEvaluation(name, {"query_id": [f"q{i}" for i in range(n)], **columns})


def judged(grades, **fields):
    """Answers that a judge scored: grade 5 is a score of 1, grade 1 a score of 0."""
    replies = iter(grades)
    rows = [
        {"query_id": f"q{i}", "question": "Why?", "answer": f"Because {i}.", "reference": LONG}
        | {name: cells[i] for name, cells in fields.items()}
        for i in range(len(grades))
    ]

    def chat(_prompt):
        return f'{{"reason": "as it is", "grade": {next(replies)}}}'

    return score(rows, ["exact_match", "answer_correctness"], chat=chat)


def told_1(series):
    return [None if cell is pd.NA else bool(cell) for cell in series]


# -- the order


def test_a_judge_who_finds_all_right_is_not_contradicted_by_an_exact_match():
    result = judged([5, 5, 5, 5])
    report = result.evaluation_report()
    assert result.scores["exact_match"].tolist() == [0, 0, 0, 0]
    assert report["nr_correct_queries"] == 4
    opening = "correct: answer_correctness >= 0.5; 4 of 4 queries are correct"
    assert report.correct == opening
    assert result.report(pictures=False).verdicts[0].text.startswith(opening)
    answer = f"{result.name}: 4 of 4 queries are correct (answer_correctness >= 0.5)."
    assert str(report).splitlines()[0] == answer


def test_the_caller_outranks_a_label_and_a_label_outranks_a_judge():
    columns = {"human_correct": [True, False], "answer_correctness": [0.0, 0.0]}
    run = evaluation_1(**columns)
    assert find_notion(run).origin == "people"
    assert told_1(run.correct) == [True, False]
    assert told_1(correctness(run, ("answer_correctness", 0.0))) == [True, True]


def test_a_sheet_that_people_filled_in_decides_in_words():
    sheet = evaluation_1(
        scored_exact_match=[0, 1, 0],
        answer_correct=["yes", "no", ""],
        citations_correct=["yes", "yes", "yes"],
        recall=[1, 1, 1],
    )
    assert find_notion(sheet).words == "a person's label, answer_correct"
    assert told_1(sheet.correct) == [True, False, None]


def test_labels_of_a_few_queries_do_not_decide():
    run = evaluation_1(human_label=["yes", "", "", ""], answer_correctness=[0.9, 0.1, 0.9, 0.9])
    assert find_notion(run).column == "answer_correctness"


def test_the_rule_of_haystacks_frames_is_an_exact_match_of_one():
    """The data of the seed: rows with an exact match of 1 are correct, all others are not."""
    run = RAGPipelineEvaluation(
        "rag_pipeline_1",
        {
            "query_id": ["53c3b3e6", "225f87f7", "8ac473ec", "97d284ca"],
            "reciprocal_rank": [0.378064, 0.534964, 0.216058, 0.778642],
            "single_hit": [1, 1, 0, 1],
            "multi_hit": [0.706125, 0.454976, 0.445512, 0.250522],
            "context_relevance": [0.805466, 0.410251, 0.750070, 0.361332],
            "faithfulness": [0.135581, 0.695974, 0.749861, 0.041999],
            "semantic_answer_similarity": [0.971241, 0.159320, 0.019722, 1],
            "exact_match": [1, 0, 0, 0.5],
        },
    )
    report = run.evaluation_report()
    assert (report["nr_correct_queries"], report["nr_incorrect_queries"]) == (1, 3)
    assert report.correct == "correct: exact_match = 1; 1 of 4 queries are correct"


# -- exact match and long references


def test_with_long_references_nothing_is_said_to_be_correct():
    run = evaluation_1(reference=[LONG, LONG, "Yes"], exact_match=[0, 0, 0], token_f1=[0.8, 0.7, 1])
    report = run.evaluation_report()
    assert "nr_correct_queries" not in report
    assert report.correct == ""
    assert any("the references are long (a median of 12 words)" in note for note in report.notes)
    assert not any("correct:" in verdict.text for verdict in run.report(pictures=False).verdicts)
    with pytest.raises(DataError, match="exact_match misses right answers"):
        _ = run.correct


def test_a_judge_that_failed_everywhere_does_not_hand_over_to_an_exact_match():
    run = RAGPipelineEvaluation(
        "rag",
        {"query_id": ["a", "b"], "exact_match": [0, 1], "answer_correctness": [None, None]},
        metrics=["exact_match", "answer_correctness"],
    )
    assert find_notion(run) is None
    assert why_unknown(run).endswith("answer_correctness decides, and has no score")


# -- refusals


def test_a_right_refusal_is_correct_and_an_invented_answer_is_not():
    run = evaluation_1(
        answer_correctness=[0.9, 0.1, None, 0.0, None],
        hallucinated_answer=[None, None, 0, 0, 1],
        false_refusal=[0, 0, None, None, None],
    )
    assert told_1(run.correct) == [True, False, True, True, False]
    assert run.evaluation_report().correct == (
        "correct: answer_correctness >= 0.5, or a right refusal; 3 of 5 queries are correct"
    )


def test_a_function_and_a_column_decide_alone():
    run = evaluation_1(
        recall=[1.0, 1.0],
        hallucinated_answer=[0, 0],
        mine=pd.array([True, None], dtype="boolean"),
    )
    run = RAGPipelineEvaluation("rag", run.data, roles={"mine": "detail"})
    assert told_1(correctness(run, "mine")) == [True, None]
    assert told_1(correctness(run, lambda rows: rows["recall"] < 0.5)) == [False, False]


# -- one notion in all places


def test_every_report_counts_the_same_correct_queries():
    columns = {
        "exact_match": [0, 0, 0, 0, 0, 0, 0],
        "answer_correctness": [0.9, 0.8, 0.1, 0.7, 0.2, 0.6, 0.9],
        "recall@5": [1, 1, 0, 1, 1, 1, 1],
    }
    ours, theirs = evaluation_1("ours", **columns), evaluation_1("theirs", **columns)
    assert ours.evaluation_report()["nr_correct_queries"] == 5
    assert ours.gate("correct >= 0.7").frame["value"].tolist() == [pytest.approx(5 / 7)]
    assert int(ours.breakdown().frame.set_index("cause").loc["fine", "n"]) == 5
    assert ours.retrieval_by_generation().frame["correct"].sum() == 5
    outcomes = ours.comparative_detailed_summary(theirs)
    assert outcomes["both_correct"].notna().sum() == 5
    [row] = (
        rank(ours, theirs)
        .weighted(objectives=["accuracy"])
        .contributions.query("pipeline == 'ours'")["value"]
        .tolist()
    )
    assert row == pytest.approx(5 / 7)
    assert "5 of 7" in compare(ours, theirs).report(pictures=False).verdicts[0].text


def test_two_pipelines_are_judged_by_a_column_that_both_have():
    both = {"exact_match": [1, 0]}
    ours = evaluation_1("ours", answer_correctness=[0.9, 0.9], **both)
    theirs = evaluation_1("theirs", **both)
    assert shared_notions([ours, theirs]) is None  # an exact match would contradict our judge
    with pytest.raises(DataError, match="in 'ours' and 'theirs' alike"):
        ours.comparative_detailed_summary(theirs)
    labelled = [
        evaluation_1(name, correctness=[0.9, 0.9], human_label=labels)
        for name, labels in (("a", ["yes", "no"]), ("b", ["", ""]))
    ]
    assert [notion.column for notion in shared_notions(labelled)] == ["correctness"] * 2


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (("recall", 0.8), "recall >= 0.8"),
        (("latency_ms", 30), "latency_ms <= 30"),
        ({"recall": 0.5, "latency_ms": 30}, "recall >= 0.5 and latency_ms <= 30"),
        ("recall", "recall = 1"),
        ("hallucination", "hallucination = 0"),
        ("checked", "checked says so"),
    ],
)
def test_a_rule_in_words(rule, words):
    run = evaluation_1(recall=[0.5], latency_ms=[20.0], hallucination=[0.5], checked=["yes"])
    assert find_notion(run, rule).words == words
