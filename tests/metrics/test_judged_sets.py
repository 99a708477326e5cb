"""A pipeline on a judged set, as ADR-013: retrieval and generation told apart, gates held last."""

from __future__ import annotations

import pytest

from rageval_report import score
from rageval_report.datasets import load_dataset
from rageval_report.errors import DataError, RagevalWarning
from rageval_report.golden import highly_relevant
from rageval_report.judges.chats import ScriptedChat
from rageval_report.metrics.judged_sets import evaluate_judged_set

# Found and right, found and wrong, lost and right, lost and wrong, no answer at all.
ROWS = [
    {"query_id": "q1", "relevant": {"a": 2, "z": 1}, "retrieved": ["a", "x"], "answer": "Yes."},
    {"query_id": "q2", "relevant": {"a": 2, "b": 2}, "retrieved": ["b", "a"], "answer": "Maybe."},
    {"query_id": "q3", "relevant": {"a": 2}, "retrieved": ["x", "z"], "answer": "Yes."},
    {"query_id": "q4", "relevant": {"a": 2, "b": 2}, "retrieved": ["a"], "answer": "No."},
    {"query_id": "q5", "relevant": {"a": 2}, "error": "timeout: no answer"},
    {"query_id": "q6", "relevant": {"a": 1}, "retrieved": ["a"], "answer": "Yes."},
]
RECORDS = [{"question": f"Is it {row['query_id']}?", "reference": "Yes.", **row} for row in ROWS]


def judge_of_yes():
    """A judge in ADR-013's words: TRUE where the answer is Yes."""
    return ScriptedChat(
        lambda message: "**TRUE**" if "Yes." in message.user.split("answer>")[1] else "FALSE."
    )


def cells(found):
    columns = ["retrieval", "n", "correct", "incorrect", "unscored"]
    return [tuple(row) for row in found.table.frame[columns].to_numpy().tolist()]


def test_retrieval_and_generation_are_told_apart():
    found = evaluate_judged_set(RECORDS, generation="exact_match")
    assert cells(found) == [
        ("found", 2, 1, 1, 0),
        ("not found", 2, 1, 1, 0),
        ("not scored", 1, 0, 0, 1),
        ("all", 5, 2, 2, 1),
    ]


def test_a_judge_that_says_true_or_false_fills_the_table():
    found = evaluate_judged_set(RECORDS, chat=judge_of_yes())
    by_string = evaluate_judged_set(RECORDS, generation="exact_match")
    assert cells(found) == cells(by_string)
    assert list(found.evaluation.metrics)[-1] == "answer_correct"
    assert found.judged is not None


def test_recall_that_no_ranking_can_reach_is_said(real_data):
    """14, 15, 16, 20 and 21 expected documents, ten places: 10/14 ... 10/21 by arithmetic."""
    with pytest.warns(RagevalWarning, match="no questions"):
        records = highly_relevant(load_dataset("beir", real_data("beir_nfcorpus_qrels")))
    sizes = records["highly_relevant_count"]
    chosen = records.loc[[sizes.index[sizes == n][0] for n in (14, 15, 16, 20, 21)]]
    answered = chosen.assign(
        retrieved=[list(one) for one in chosen["relevant"]], answer="Yes.", reference="Yes."
    )
    found = evaluate_judged_set(answered, generation="exact_match")
    scores = found.evaluation.scores
    assert scores["recall@10"].round(3).tolist() == [0.714, 0.667, 0.625, 0.5, 0.476]
    assert scores["reachable_recall@10"].tolist() == [1.0] * 5
    assert cells(found)[0] == ("found", 5, 5, 0, 0)
    best = sum(10 / n for n in (14, 15, 16, 20, 21)) / 5
    assert any(f"cannot exceed {best:.3f}" in one for one in found.table.notes)


@pytest.mark.parametrize(("duplicates", "recall"), [("keep", 0.5), ("best", 1.0)])
def test_two_chunks_of_one_document_are_two_results_or_one(duplicates, recall):
    row = {**RECORDS[1], "retrieved": ["a", "a", "b"]}
    found = evaluate_judged_set([row], generation="exact_match", k=2, duplicates=duplicates)
    assert found.evaluation.scores["recall@2"].tolist() == [recall]
    has_note = any("chunks of one document" in one for one in found.table.notes)
    assert has_note == (duplicates == "keep")


@pytest.mark.parametrize(
    ("options", "recall"),
    [({}, 0.5), ({"duplicates": "best"}, 1.0), ({"level": "chunk"}, 0.0)],
)
def test_judged_documents_are_found_by_the_chunks_of_documents(options, recall):
    passages = [{"document_id": name[0], "node_id": name} for name in ("a1", "a2", "b1")]
    row = {**RECORDS[1], "retrieved": passages}
    found = evaluate_judged_set([row], generation="exact_match", k=2, **options)
    assert found.evaluation.scores["recall@2"].tolist() == [recall]
    assert found.table.settings["level"] == options.get("level", "document")
    inferred = any("at the level of documents" in note for note in found.table.notes)
    assert inferred == ("level" not in options)


def test_judged_chunks_with_grades_are_counted_at_either_level():
    gold = [
        {"doc_id": "a", "chunk_id": "a1", "relevance": 2},
        {"doc_id": "a", "chunk_id": "a2", "relevance": 2},
        {"doc_id": "b", "chunk_id": "b1", "relevance": 1},  # not highly relevant
    ]
    passages = [{"doc_id": "b", "chunk_id": "b1"}, {"doc_id": "a", "chunk_id": "a2"}]
    row = {**RECORDS[1], "relevant": gold, "retrieved": passages}
    for level, expected in (("chunk", (2, 0.5)), ("document", (1, 1.0))):
        found = evaluate_judged_set([row], generation="exact_match", level=level)
        assert tuple(found.queries.frame[["expected", "recall"]].iloc[0]) == expected


SECTIONS = [
    {
        **RECORDS[1],
        "relevant": [
            {"doc_id": "guide", "chunk_id": "1", "relevance": 2},
            {"doc_id": "guide", "chunk_id": "2", "relevance": 2},
            {"doc_id": "notes", "chunk_id": "3", "relevance": 1},
        ],
        "retrieved": [{"doc_id": "guide", "chunk_id": "1"}, {"doc_id": "notes", "chunk_id": "1"}],
        "citations": [
            {"doc_id": "guide", "chunk_id": "1"},
            {"doc_id": "notes", "chunk_id": "1"},
            {"doc_id": "guide", "chunk_id": "1"},
            {"doc_id": "notes", "chunk_id": "3"},
        ],
    }
]


def test_citations_are_scored_by_document_and_section():
    """By hand: of four citations guide/1 twice and notes/3 are gold, notes/1 is not."""
    found = evaluate_judged_set(SECTIONS, generation="exact_match").evaluation
    row = found.scores.iloc[0]
    assert row["section_accuracy"] == 3 / 4
    assert row["citation_precision"] == 2 / 3  # of three different passages
    assert row["citation_recall"] == 2 / 3
    names = ["citation_precision", "citation_recall", "section_accuracy"]
    by_score = score(SECTIONS, names)
    assert found.scores[names].equals(by_score.scores)
    assert set(found.scores.columns[:3]) == set(names)
    assert any("gold and citations carry both ids" in note for note in found.notes)


def test_questions_without_an_answer_are_left_out():
    rows = [RECORDS[1], {**RECORDS[0], "answerable": False}]
    found = evaluate_judged_set(rows, generation="exact_match")
    assert found.evaluation.scores.index.tolist() == ["q2"]
    assert any("1 without a highly relevant document" in note for note in found.table.notes)


def test_ids_of_the_pipeline_are_mapped_and_what_has_none_stays_expected():
    row = {**RECORDS[1], "retrieved": ["note-7", "note-8"]}
    found = evaluate_judged_set(
        [row], generation="exact_match", mapping={"a": ["note-7", "note-9"]}
    )
    assert found.evaluation.scores["recall@10"].tolist() == [0.5]
    assert any("1 expected documents are not in the mapping" in one for one in found.table.notes)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"k": 0}, "k must be an integer >= 1"),
        ({"minimum": 0}, "minimum must be above 0"),
        ({"generation": "recall@10"}, "is a metric of retrieval or citations"),
        ({"generation": "section_accuracy"}, "is a metric of retrieval or citations"),
        ({"grade": 3}, "no query has a document of grade 3"),
        ({"generation": "answer_correct"}, "needs a judge"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, told):
    with pytest.raises(DataError, match=told):
        evaluate_judged_set(RECORDS, **{"generation": "exact_match", **options})


def test_records_that_nobody_answered_are_refused():
    asked = [{"query_id": "a", "relevant": {"a": 2}, "reference": "Yes."}]
    with pytest.raises(DataError, match="records must have a column 'retrieved'"):
        evaluate_judged_set(asked, generation="exact_match")
