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

LONG = "The operator switched the machine off at noon because it was hot."


def evaluation(name="rag", **columns):
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


def told(series):
    return [None if cell is pd.NA else bool(cell) for cell in series]


# -- the order


def test_a_judge_who_finds_all_right_is_not_contradicted_by_an_exact_match():
    result = judged([5, 5, 5, 5])
    report = result.evaluation_report()
    assert result.scores["exact_match"].tolist() == [0, 0, 0, 0]
    assert report["nr_correct_queries"] == 4
    opening = "correct: judged answer_correctness >= 0.5; 4 of 4 queries are correct"
    assert report.correct == opening
    assert result.report(pictures=False).verdicts[0].text.startswith(opening)
    answer = f"{result.name}: 4 of 4 queries are correct (judged answer_correctness >= 0.5)."
    assert str(report).splitlines()[0] == answer


def test_the_caller_outranks_a_label_and_a_label_outranks_a_judge():
    columns = {"human_correct": [True, False], "answer_correctness": [0.0, 0.0]}
    run = evaluation(**columns)
    assert find_notion(run).origin == "people"
    assert told(run.correct) == [True, False]
    assert told(correctness(run, ("answer_correctness", 0.0))) == [True, True]


def test_a_sheet_that_people_filled_in_decides_in_words():
    sheet = evaluation(
        scored_exact_match=[0, 1, 0],
        answer_correct=["yes", "no", ""],
        citations_correct=["yes", "yes", "yes"],
        recall=[1, 1, 1],
    )
    assert find_notion(sheet).words == "a person's label, answer_correct"
    assert told(sheet.correct) == [True, False, None]


def test_labels_of_a_few_queries_do_not_decide():
    run = evaluation(human_label=["yes", "", "", ""], answer_correctness=[0.9, 0.1, 0.9, 0.9])
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
    run = evaluation(reference=[LONG, LONG, "Yes"], exact_match=[0, 0, 0], token_f1=[0.8, 0.7, 1])
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
    run = evaluation(
        answer_correctness=[0.9, 0.1, None, 0.0, None],
        hallucinated_answer=[None, None, 0, 0, 1],
        false_refusal=[0, 0, None, None, None],
    )
    assert told(run.correct) == [True, False, True, True, False]
    assert run.evaluation_report().correct == (
        "correct: answer_correctness >= 0.5, or a right refusal; 3 of 5 queries are correct"
    )


def test_a_function_and_a_column_decide_alone():
    run = evaluation(
        recall=[1.0, 1.0],
        hallucinated_answer=[0, 0],
        mine=pd.array([True, None], dtype="boolean"),
    )
    run = RAGPipelineEvaluation("rag", run.data, roles={"mine": "detail"})
    assert told(correctness(run, "mine")) == [True, None]
    assert told(correctness(run, lambda rows: rows["recall"] < 0.5)) == [False, False]


# -- one notion in all places


def test_every_report_counts_the_same_correct_queries():
    columns = {
        "exact_match": [0, 0, 0, 0, 0, 0, 0],
        "answer_correctness": [0.9, 0.8, 0.1, 0.7, 0.2, 0.6, 0.9],
        "recall@5": [1, 1, 0, 1, 1, 1, 1],
    }
    ours, theirs = evaluation("ours", **columns), evaluation("theirs", **columns)
    assert ours.evaluation_report()["nr_correct_queries"] == 5
    assert ours.gate("correct >= 0.7").frame["value"].tolist() == [pytest.approx(5 / 7)]
    assert int(ours.breakdown().frame.set_index("cause").loc["fine", "n"]) == 5
    assert ours.retrieval_by_generation().frame["correct"].sum() == 5
    outcomes = ours.comparative_detailed_summary(theirs)
    assert outcomes["both_correct"].notna().sum() == 5
    [row] = (
        rank(ours, theirs)
        .weighted(objectives=["accuracy"])
        .contributions.frame.query("pipeline == 'ours'")["value"]
        .tolist()
    )
    assert row == pytest.approx(5 / 7)
    assert "5 of 7" in compare(ours, theirs).report(pictures=False).verdicts[0].text


def test_two_pipelines_are_judged_by_a_column_that_both_have():
    both = {"exact_match": [1, 0]}
    ours = evaluation("ours", answer_correctness=[0.9, 0.9], **both)
    theirs = evaluation("theirs", **both)
    assert shared_notions([ours, theirs]) is None  # an exact match would contradict our judge
    with pytest.raises(DataError, match="in 'ours' and 'theirs' alike"):
        ours.comparative_detailed_summary(theirs)
    labelled = [
        evaluation(name, correctness=[0.9, 0.9], human_label=labels)
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
    run = evaluation(recall=[0.5], latency_ms=[20.0], hallucination=[0.5], checked=["yes"])
    assert find_notion(run, rule).words == words
