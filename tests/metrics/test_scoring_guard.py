"""The guard of `score`, `score_rankings`, judged sets and large runs."""

import pandas as pd
import pytest

import rageval_report as rr
from rageval_report.errors import DataError, is_doubt
from rageval_report.metrics.judged_sets import evaluate_judged_set
from rageval_report.metrics.record_guard import doubts_about_records
from rageval_report.records import record_table


def rows_of(n=8, gold="doc{}", retrieved="doc{}", **fields):
    return [
        {
            "query_id": f"q{i}",
            "question": f"Question {i}?",
            "reference": f"Answer {i}",
            "answer": f"Answer {i % 3}",
            "relevant": [gold.format(i)],
            "retrieved": [retrieved.format(i), retrieved.format(i + 1)],
            **fields,
        }
        for i in range(n)
    ]


def checks_in(notes):
    return [note.rpartition("[")[2].rstrip("]") for note in notes if is_doubt(note)]


def test_score_doubts_ids_of_two_forms_and_says_what_to_type():
    evaluation = rr.score(rows_of(gold="doc{}", retrieved="doc{}#1"), ["recall@2"])
    assert checks_in(evaluation.notes) == ["ids_differ"]
    assert "0 of 8 gold ids (0%) were retrieved, and 8 (100%) after" in evaluation.notes[0]
    changes = "retrieved:cut:#"
    assert f"match_ids={changes!r}" in evaluation.notes[0]
    again = rr.score(rows_of(gold="doc{}", retrieved="doc{}#1"), ["recall@2"], match_ids=changes)
    assert again.get_aggregated_scores("recall@2") == 1.0
    assert again.notes[0] == "ids are compared after retrieved:cut:#"


def test_strict_raises_before_a_judge_is_asked():
    def chat(prompt):
        raise AssertionError(prompt)

    rows = rows_of(gold="Doc{}", contexts=["text"])
    with pytest.raises(DataError, match=r"strict: 1 doubt .*\(ids_differ\).*--match-ids case"):
        rr.score(rows, ["recall@2", "faithfulness"], chat=chat, strict=True)
    allowed = rr.score(rows, "recall@2", strict=True, allow="ids_differ")
    assert allowed.notes[0].startswith("allowed by ids_differ: 0 of 8 gold ids")


def test_only_fields_that_a_metric_needs_are_doubted():
    rows = rows_of(gold="Doc{}", answer="")
    assert checks_in(rr.score(rows, "recall@2").notes) == ["ids_differ"]
    assert checks_in(rr.score(rows, "exact_match").notes) == ["no_answer"]
    both = rr.score(rows, ["recall@2", "exact_match"]).notes
    assert checks_in(both) == ["ids_differ", "no_answer"]


@pytest.mark.parametrize("answer", ["", "  \n", None])
def test_empty_answers_are_doubted(answer):
    (doubt,) = doubts_about_records(record_table(rows_of(answer=answer)))
    assert doubt.check == "no_answer"
    assert doubt.message.startswith("8 of 8 answers are empty: 'q0', 'q1', 'q2', 'q3', 'q4'")


def test_a_failed_query_or_one_without_an_answer_is_no_evidence():
    assert doubts_about_records(record_table(rows_of(answer="", error="timeout"))) == []
    assert doubts_about_records(record_table(rows_of(answer="", answerable=False))) == []


@pytest.mark.parametrize("answer", ["Rate limit reached.", "<html>502 Bad Gateway</html>"])
def test_the_same_answer_to_all_questions_is_doubted(answer):
    (doubt,) = doubts_about_records(record_table(rows_of(12, answer=answer)))
    assert doubt.check == "same_answer"
    assert answer in doubt.message
    assert doubts_about_records(record_table(rows_of(9, answer=answer))) == []


# -- rankings


def run_and_qrels(doc="D{}", n=30):
    run = {f"q{i}": {doc.format(j): 1 / (j + 1) for j in range(i + 1, i + 20)} for i in range(n)}
    return run, {f"q{i}": {f"d{i + 3}": 1, f"x{i}": 0} for i in range(n)}


def as_frames(run, qrels):
    frames = []
    for table, number in ((run, "score"), (qrels, "relevance")):
        rows = [(query, doc, value) for query, docs in table.items() for doc, value in docs.items()]
        frames.append(pd.DataFrame(rows, columns=["query_id", "doc_id", number]))
    return frames


def as_files(run, qrels, folder):
    (folder / "a.run").write_text(
        "".join(f"{q} Q0 {d} 1 {s} t\n" for q, docs in run.items() for d, s in docs.items())
    )
    (folder / "q.txt").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items())
    )
    return folder / "a.run", folder / "q.txt"


@pytest.mark.parametrize("form", ["dicts", "frames", "files", "lists"])
def test_rankings_of_any_form_are_doubted_and_matched(form, tmp_path):
    run, qrels = run_and_qrels()
    if form == "frames":
        run, qrels = as_frames(run, qrels)
    elif form == "files":
        run, qrels = as_files(run, qrels, tmp_path)
    elif form == "lists":
        run = {query: list(docs) for query, docs in run.items()}
    evaluation = rr.score_rankings(run, qrels, ["mrr"])
    assert checks_in(evaluation.notes) == ["ids_differ"]
    matched = rr.score_rankings(run, qrels, ["mrr"], match_ids="case", strict=True)
    # Document i + 3 is third in the ranking of query i.
    assert matched.get_aggregated_scores("mrr") == pytest.approx(1 / 3)
    assert "ids are compared after case" in matched.notes
    with pytest.raises(DataError, match="ids_differ"):
        rr.score_rankings(run, qrels, ["mrr"], strict=True)


# -- judged sets, large runs


def test_a_judged_set_is_doubted_in_its_table_too():
    rows = rows_of(gold="Doc{}")
    for row in rows:
        row["relevant"] = dict.fromkeys(row["relevant"], 2)
    result = evaluate_judged_set(rows, generation="exact_match")
    assert checks_in(result.evaluation.notes) == checks_in(result.table.notes) == ["ids_differ"]
    matched = evaluate_judged_set(rows, generation="exact_match", match_ids="case", strict=True)
    assert matched.evaluation.get_aggregated_scores("recall@10") == 1.0
    with pytest.raises(DataError, match="ids_differ"):
        evaluate_judged_set(rows, generation="exact_match", strict=True)


# -- two levels of ids
